/*
 * The gate: which limit each region has, and the result for all regions together.
 *
 * A gate that compared nothing has not passed. So it treats runs without regions or launches, limits that match no
 * region of both sides, and regions that the new side lacks differently from regions that were compared and are as fast
 * as before.
 */
#include "compare/diff_int.h"

#include "base/glob.h"

#include <math.h>

#define STATUS_DAMAGED	    1
#define STATUS_SLOWER	    3
#define STATUS_INSUFFICIENT 4
#define MOST_NAMED	    5 /* regions that decided */

const char *sonde_gate_name(enum sonde_gate g)
{
	static const char *const names[] = {NULL, "pass", "insufficient", "not_compared", "fail", "damaged"};

	return names[g];
}

int sonde_diff_status(const struct sonde_diff *d)
{
	switch (d->gate) {
	case SONDE_GATE_DAMAGED:
		return STATUS_DAMAGED;
	case SONDE_GATE_FAIL:
		return STATUS_SLOWER;
	case SONDE_GATE_NOT_COMPARED: /* no option turns a comparison of nothing into a pass */
		return STATUS_INSUFFICIENT;
	case SONDE_GATE_INSUFFICIENT:
		return d->options.allows_insufficient ? 0 : STATUS_INSUFFICIENT;
	default:
		return 0;
	}
}

/* --- regions ---------------------------------------------------------------------------------- */

/* The last limit with a glob that matches. If none does, the step has the limit without a glob. */
static const struct sonde_diff_limit *limit_of(const struct sonde_diff *d, const struct sonde_diff_region *r)
{
	const struct sonde_diff_limit *found = NULL;
	size_t i;

	for (i = 0; i < d->options.nr_limits; i++) {
		const struct sonde_diff_limit *l = &d->options.limits[i];

		if (l->glob.n ? sonde_str_glob(r->path, l->glob) : r->is_step && !(found && found->glob.n))
			found = l;
	}
	return found;
}

/* A new region cannot be slower than before, and a minor one decides nothing. */
static enum sonde_gate gate_of(const struct sonde_diff *d, const struct sonde_diff_region *r, uint8_t time)
{
	const struct sonde_diff_time *t = &r->times[time];
	bool is_slower = t->verdict == SONDE_VERDICT_SLOWER || t->verdict == SONDE_VERDICT_LIKELY_SLOWER, is_beyond, is_open;

	if (isnan(r->limit) || r->verdict == SONDE_VERDICT_ADDED || r->is_minor)
		return SONDE_GATE_NONE;
	is_beyond = is_slower && t->ratio - 1 > r->limit;
	if (is_beyond && (t->verdict == SONDE_VERDICT_SLOWER || d->options.accepts_single))
		return SONDE_GATE_FAIL;
	/* The verdict may be open although all of the interval is within the limit. With few entries the interval has no end. */
	is_open = t->verdict == SONDE_VERDICT_INSUFFICIENT && !(t->high - 1 <= r->limit);
	return is_beyond || is_open || !t->is_known || t->verdict == SONDE_VERDICT_REMOVED || r->is_half_gpu ? SONDE_GATE_INSUFFICIENT
													      : SONDE_GATE_PASS;
}

/* --- what was not compared -------------------------------------------------------------------- */

/* Appends "the new side (PATH)", without the path if the run has none. */
static void put_run(struct sonde_buf *b, const struct sonde_diff__match *m, size_t run)
{
	const struct sonde_cells *c = m->trees[run]->cells;

	sonde_buf_puts(b, run < m->nr_base ? "the base" : "the new side");
	if (c->inputs.nr && c->inputs.at[0].path.n)
		sonde_buf_printf(b, " (%.*s)", SONDE_STR_ARG(c->inputs.at[0].path));
}

/* Why a run has nothing to compare; NULL = it has something. `works`: some run launches something. */
static const char *lack_of(const struct sonde_report *r, bool works)
{
	uint64_t selected = r->launches + r->outside_launches;

	if (r->all_launches && !selected)
		return "report.nvtx and report.kernels select none of its launches";
	if (!r->nodes.nr)
		return selected ? "it has no region" : "it has no region and no launch";
	return works && !selected ? "it launches nothing on a GPU, but other runs do" : NULL;
}

/* Whether some run has nothing to compare. No run is left out just to let the others pass. */
static bool check_runs(struct sonde_diff *d, const struct sonde_diff__match *m)
{
	bool works = false, has_empty = false;
	size_t i;

	for (i = 0; i < m->nr_runs; i++)
		works |= m->aggregates[i]->launches + m->aggregates[i]->outside_launches > 0;
	for (i = 0; i < m->nr_runs; i++) {
		const char *lack = lack_of(m->aggregates[i], works);
		struct sonde_buf b = {0};

		if (!lack)
			continue;
		has_empty = true;
		put_run(&b, m, i);
		sonde_note(&d->gate_reasons, "%s cannot be compared: %s", b.failed ? "a run" : b.p, lack);
		sonde_buf_release(&b);
	}
	return has_empty;
}

const struct sonde_diff_limit *sonde_diff_stray_limit(const struct sonde_diff *d)
{
	size_t i, k;

	/* If a run is empty or damaged, that is the problem and not the limit. */
	for (i = 0; i < d->options.nr_limits && !d->has_empty_run && d->gate != SONDE_GATE_DAMAGED && d->regions.nr; i++) {
		const struct sonde_diff_limit *l = &d->options.limits[i];

		for (k = 0; l->glob.n && k < d->regions.nr && !sonde_str_glob(d->regions.at[k].path, l->glob); k++)
			;
		if (l->glob.n && k == d->regions.nr)
			return l;
	}
	return NULL;
}

bool sonde_diff_lacks_step(const struct sonde_diff *d)
{
	size_t i;

	if (!d->options.step.n || !d->regions.nr)
		return false;
	for (i = 0; i < d->regions.nr && !sonde_str_eq(d->regions.at[i].path, d->options.step); i++)
		;
	return i == d->regions.nr;
}

/* Whether a limit belongs to a region of both sides that may decide. If not, adds the reason. */
static bool check_limit(struct sonde_diff *d, const struct sonde_diff_limit *l)
{
	const char *why = l->glob.n ? "no region matches"
				    : "no region that both sides have is entered more than once per run, so there is no step: name a region (GLOB=PCT)";
	size_t i;

	for (i = 0; i < d->regions.nr; i++) {
		const struct sonde_diff_region *r = &d->regions.at[i];

		if (l->glob.n ? !sonde_str_glob(r->path, l->glob) : !r->is_step)
			continue;
		if (sonde_diff__is_on_both(r) && !r->is_minor)
			return true;
		why = sonde_diff__is_on_both(r) ? "the matching region is entered only once per run, or takes less than 1 % of the time, so it cannot "
				      "decide the gate"
				    : "no matching region is on both sides";
	}
	if (l->glob.n)
		sonde_note(&d->gate_reasons, "--fail-above '%.*s=%g%%': %s", SONDE_STR_ARG(l->glob), 100 * l->above, why);
	else
		sonde_note(&d->gate_reasons, "--fail-above %g%%: %s", 100 * l->above, why);
	return false;
}

/* Figures of a part of the data may look better than those of all of it. */
static bool check_losses(struct sonde_diff *d, const char *side, const struct sonde_notes *notes)
{
	size_t i;

	for (i = 0; i < notes->texts.nr; i++)
		if (sonde_notes_is_loss(notes, i))
			sonde_note(&d->gate_reasons, "%s is incomplete: %.*s", side,
				SONDE_STR_ARG(notes->texts.keys[i]));
	return !notes->nr_losses;
}

/* --- all of it -------------------------------------------------------------------------------- */

static void raise_gate(struct sonde_diff *d, enum sonde_gate g)
{
	d->gate = g > d->gate ? g : d->gate;
}

/*
 * A limit of the step is also one of its iterations: they decide if their result is worse. Time between entries scatters
 * a lot, so iterations that are undecided count only if they seem slower than allowed.
 */
static void judge_iteration(const struct sonde_diff *d, struct sonde_diff_region *r)
{
	const struct sonde_diff_time *t = &r->times[SONDE_DIFF_ITERATION];
	enum sonde_gate g;

	if (!t->is_known || !(t->ratio - 1 > r->limit))
		return;
	g = gate_of(d, r, SONDE_DIFF_ITERATION);
	if (g <= r->gate)
		return;
	r->gate = g;
	r->limit_time = SONDE_DIFF_ITERATION;
}

/* Fills in the limits and results of all regions. Returns how many regions with a limit were compared. */
static size_t judge_regions(struct sonde_diff *d)
{
	size_t i, nr = 0, nr_likely = 0;

	for (i = 0; i < d->regions.nr; i++) {
		struct sonde_diff_region *r = &d->regions.at[i];
		const struct sonde_diff_limit *l;

		l = limit_of(d, r);
		r->limit = l ? l->above : NAN;
		r->limit_time = l && l->has_time ? l->time : r->time;
		r->gate = gate_of(d, r, r->limit_time);
		if (l && !l->has_time)
			judge_iteration(d, r);
		nr_likely += r->times[r->limit_time].verdict == SONDE_VERDICT_LIKELY_SLOWER && r->gate == SONDE_GATE_INSUFFICIENT;
		raise_gate(d, r->gate);
		nr += sonde_diff__is_on_both(r) && !isnan(r->limit);
	}
	if (nr_likely)
		sonde_note(&d->gate_reasons,
			"%zu %s likely slower than allowed, but one capture per side cannot show how much runs differ: compare "
			"several runs per side (--base A1 A2 A3 --new B1 B2 B3), or let one capture decide with --single",
			nr_likely, nr_likely > 1 ? "regions are" : "region is");
	return nr;
}

static bool is_any_on_both(const struct sonde_diff *d)
{
	size_t i;

	for (i = 0; i < d->regions.nr; i++)
		if (sonde_diff__is_on_both(&d->regions.at[i]))
			return true;
	return false;
}

/* Names the regions that decided, with the reason of each. */
static void name_regions(struct sonde_diff *d)
{
	size_t i, nr = 0;

	for (i = 0; i < d->regions.nr && (d->gate == SONDE_GATE_FAIL || d->gate == SONDE_GATE_INSUFFICIENT); i++) {
		struct sonde_buf b = {0};

		if (d->regions.at[i].gate != d->gate || nr++ >= MOST_NAMED)
			continue;
		sonde_diff_gate_reason_put(&b, d, &d->regions.at[i]);
		if (!b.failed)
			sonde_note(&d->gate_regions, "%s", b.p);
		sonde_buf_release(&b);
	}
	if (nr > MOST_NAMED)
		sonde_note(&d->gate_regions, "%zu more regions are %s", nr - MOST_NAMED,
			d->gate == SONDE_GATE_FAIL ? "slower by more than their limits" : "undecided");
}

static void judge_all(struct sonde_diff *d, const struct sonde_diff__match *m)
{
	size_t nr_compared, i;
	bool has_empty, is_sure = !d->gate_reasons.texts.nr;

	nr_compared = judge_regions(d);
	if (!d->options.nr_limits)
		return;
	has_empty = d->has_empty_run = check_runs(d, m);
	if (!has_empty && !is_any_on_both(d))
		sonde_note(&d->gate_reasons, "no region is on both sides");
	else
		for (i = 0; i < d->options.nr_limits && !has_empty; i++)
			if (!check_limit(d, &d->options.limits[i]))
				is_sure = false;
	if (has_empty || !nr_compared)
		raise_gate(d, SONDE_GATE_NOT_COMPARED);
	else if (!is_sure)
		raise_gate(d, SONDE_GATE_INSUFFICIENT);
	if (d->options.takes_partial)
		return;
	is_sure = check_losses(d, "the base", &d->base_notes);
	if (!check_losses(d, "the new side", &d->new_notes) || !is_sure)
		raise_gate(d, SONDE_GATE_DAMAGED);
}

/* Invariant 20. */
void sonde_diff__gate(struct sonde_diff *d, const struct sonde_diff__match *m)
{
	judge_all(d, m);
	name_regions(d);
}
