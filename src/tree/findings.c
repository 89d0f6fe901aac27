/*
 * Finds what to change first. The step and the regions beside it are examined one by one. Each adds findings with their
 * costs, and then these are ranked.
 */
#include "tree/findings_int.h"

#include "base/alloc.h"
#include "base/argv.h"
#include "catalogue/attributes.h"
#include "tree/entries.h"
#include "tree/judge.h"
#include "tree/tree_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OFTEN	   3	/* a region with this many entries per scope is repeated, and matters more than a start-up */
#define LEAST_STEP 0.001 /* share of the run: a region with less is no step */
#define LEAST_PART 0.005 /* share of the run: beside the step, a smaller cost is no finding */
#define LEAST_TOP  0.001 /* share of the run: beside the step, a shorter region is not examined */
#define MOST_SAVED   0.75 /* share of the stake that counts if no replay computed a gain: hardly any change saves all */
/* A share of the stake: if a change that only resembles the advice gains less, that says nothing about the advice. */
#define FAR_BELOW  0.25
#define NOTHING_NS 500 /* a smaller gain is none: three digits of a ms do not show it */
/*
 * Work outside any range is a finding if it has this share of the GPU's time. It comes first if it has this share of its
 * own time and that of the regions together.
 */
#define MOST_OUTSIDE 0.5

uint64_t sonde_entry__wall_ns(const struct sonde_entry *e)
{
	uint64_t least = e->host_ns > e->span_ns ? e->host_ns : e->span_ns;

	return e->wall_ns == SONDE_NO_WALL ? least : e->wall_ns;
}

/*
 * The wall times of entries must not be added up: when work is launched ahead, entries overlap, because each waits for
 * those before it, and the sum would count that time twice.
 */
double sonde_node__wall_ns(const struct sonde_node *n)
{
	/* fmax of a NaN and a number is the number. */
	double on_device = n->times.busy_ns + n->times.idle_ns, wall = fmax(n->times.host_ns, on_device);

	return !isnan(wall) ? wall : n->time_ns > 0 ? n->time_ns : 0;
}

bool sonde_report__is_inside(const struct sonde_report *r, uint32_t inner, uint32_t node)
{
	while (inner != SONDE_NONE && inner != node)
		inner = r->nodes.at[inner].parent;
	return inner == node;
}

bool sonde_finder__has_work(const struct sonde_finder *x, uint32_t node)
{
	const struct sonde_cells *c = x->t->cells;
	const struct sonde_node *n = &x->r->nodes.at[node];
	uint32_t i;

	for (i = 0; !n->launches && i < c->scopes.nr; i++) {
		bool is_in_report = x->r->is_aggregate ? c->scopes.at[i].measured == x->r->measured : i == x->r->scope;
		const struct sonde_visit *v = is_in_report ? sonde_cells_visit(c, i, n->region) : NULL;

		if (v && v->times.span_ns > 0)
			return true;
	}
	return n->launches > 0;
}

uint32_t sonde_finder__descend(const struct sonde_finder *x, uint32_t node, size_t at)
{
	const struct sonde_node *nodes = x->r->nodes.at;
	uint32_t i, from = node;

	for (i = from + 1; i < x->r->nodes.nr && nodes[i].depth > nodes[from].depth; i++)
		if (nodes[i].parent == node && sonde_node__at(&nodes[i], at) > 0 &&
			sonde_node__at(&nodes[i], at) >= SONDE_MOST_OF_TIME * sonde_node__at(&nodes[node], at))
			node = i;
	return node;
}

/* --- making a finding --------------------------------------------------------------------------------- */

struct sonde_finding *sonde_finder__add(struct sonde_finder *x, enum sonde_cause cause, uint32_t node, struct sonde_finding_cost cost)
{
	double usual_ns = cost.ns * cost.usual;
	bool is_of_step = x->top == x->out->step && x->top != SONDE_NONE, is_in_step = is_of_step && usual_ns >= SONDE_LEAST_SHARE * x->top_ns;
	bool is_rare = is_of_step && !is_in_step && cost.ns - usual_ns >= SONDE_LEAST_SHARE * x->out->run_ns;
	struct sonde_finding *f;

	if (!(cost.ns > 0) || (is_of_step ? !is_in_step && !is_rare : cost.ns < SONDE_LEAST_SHARE * x->top_ns) ||
		(!is_in_step && cost.ns < LEAST_PART * x->out->run_ns))
		return NULL;
	f = sonde_vec_push(&x->out->at);
	if (!f) {
		x->failed = true;
		return NULL;
	}
	*f = (struct sonde_finding){.cause = (uint8_t)cause,
		.node = node,
		.kernel = SONDE_NONE,
		.entries = node == SONDE_NONE ? 0 : x->r->nodes.at[node].instances,
		.is_in_step = is_in_step,
		.run_ns = cost.ns,
		.step_ns = is_in_step ? usual_ns / (double)x->out->nr_entries : NAN,
		.share = is_in_step ? usual_ns / x->top_ns : cost.ns / x->out->run_ns,
		.gain = {.ns = NAN, .low_ns = NAN, .high_ns = NAN, .of_ns = NAN},
		.savable_ns = usual_ns,
		.is_startup = x->is_startup || is_rare};
	return f;
}

void sonde_finder__prove(struct sonde_finding *to, struct sonde_evidence e)
{
	if (to->nr_evidence < SONDE_MAX_EVIDENCE && !isnan(e.value))
		to->evidence[to->nr_evidence++] = e;
}

void sonde_finder__prove_ms(struct sonde_finding *to, uint32_t node, const char *figure, double ns, const char *method)
{
	sonde_finder__prove(to, (struct sonde_evidence){node, SONDE_NONE, sonde_str_from(figure), ns / 1e6, NAN, "ms", method});
}

/* --- ranking -------------------------------------------------------------------------------------------- */

bool sonde_finding_gains_nothing(const struct sonde_finding *of)
{
	return of->gain.ns < NOTHING_NS;
}

double sonde_finding_counts(const struct sonde_findings *f, const struct sonde_finding *a)
{
	double gain = a->gain.ns * (double)f->nr_entries;

	if (isnan(gain))
		return MOST_SAVED * a->savable_ns;
	/*
	 * Not limited by the time in the synchronisation: after it, the GPU has nothing to do until the host has caught
	 * up.
	 */
	if (a->cause == SONDE_CAUSE_SYNC)
		return gain;
	/*
	 * A change may gain more than the finding is about, and no kernel really reaches its roofline: the gain counts
	 * up to the stake.
	 */
	return fmin(gain, a->savable_ns);
}

static int compare_findings(const void *pa, const void *pb, void *context)
{
	const struct sonde_finding *a = pa, *b = pb;
	double x = sonde_finding_counts(context, a), y = sonde_finding_counts(context, b);

	if (a->is_first != b->is_first)
		return a->is_first ? -1 : 1;
	if (sonde_finding_gains_nothing(a) != sonde_finding_gains_nothing(b))
		return sonde_finding_gains_nothing(a) ? 1 : -1;
	if (a->is_startup != b->is_startup)
		return a->is_startup ? 1 : -1;
	if (x != y)
		return x > y ? -1 : 1;
	if (a->run_ns != b->run_ns)
		return a->run_ns > b->run_ns ? -1 : 1;
	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	return a->cause < b->cause ? -1 : a->cause > b->cause;
}

/* Whether two findings may stand for each other: their costs are of the same thing, and both have something to gain. */
static bool is_alike(const struct sonde_finding *a, const struct sonde_finding *b)
{
	return a->cause == b->cause && a->is_in_step == b->is_in_step && a->is_startup == b->is_startup &&
	       sonde_finding_gains_nothing(a) == sonde_finding_gains_nothing(b);
}

/* Texts show a cause once: of the findings that are like finding `i`, the first with its cause, puts the largest there. */
static void put_largest_first(struct sonde_findings *f, size_t i)
{
	struct sonde_finding *at = f->at.at, largest;
	size_t k, best = i;

	for (k = 0; k < i; k++)
		if (at[k].cause == at[i].cause)
			return;
	for (k = i + 1; k < f->at.nr; k++)
		if (is_alike(&at[i], &at[k]) && at[k].run_ns > at[best].run_ns)
			best = k;
	largest = at[best];
	memmove(&at[i + 1], &at[i], (best - i) * sizeof(*at));
	at[i] = largest;
}

void sonde_findings_rank(struct sonde_findings *f)
{
	size_t i;

	if (f->at.nr)
		qsort_r(f->at.at, f->at.nr, sizeof(*f->at.at), compare_findings, f);
	for (i = 0; i < f->at.nr; i++)
		put_largest_first(f, i);
}

void sonde_finding_set_gain(struct sonde_findings *f, struct sonde_finding *to, const struct sonde_gain *gain)
{
	if (sonde_causes[to->cause].is_change_similar && gain->ns * (double)f->nr_entries < FAR_BELOW * to->savable_ns) {
		struct sonde_buf line = {0};

		sonde_buf_printf(&line, "sonde can replay only a change like it, which saves %.3f ms (", round(gain->ns / 1e3) / 1e3 + 0.0);
		sonde_argv_show_word(&line, to->change);
		sonde_buf_putc(&line, ')');
		to->gain.why = sonde_arena_dup(&f->arena, sonde_buf_view(&line));
		sonde_buf_release(&line);
		return;
	}
	to->gain = *gain;
	to->gain.why = sonde_arena_dup(&f->arena, gain->why);
}

/* --- which regions are examined ---------------------------------------------------------------------------- */

bool sonde_finder__is_torch(const struct sonde_cells *c)
{
	size_t i;

	for (i = 0; i < c->inputs.nr; i++)
		if (sonde_str_is(c->inputs.at[i].source, "kineto") || sonde_str_starts(c->inputs.at[i].tool, "torch"))
			return true;
	if (c->tally.has_torch)
		return true;
	for (i = 0; i < c->cells.nr; i++) /* partial reports of an older sonde do not have the flag */
		if (sonde_str_has(c->strings.keys[c->cells.at[i].kernel], "at::native", NULL))
			return true;
	return false;
}

static int find_chosen(struct sonde_finder *x, struct sonde_str id, struct sonde_err *err)
{
	struct sonde_str near = {NULL, 0};
	uint32_t i;

	for (i = 0; i < x->r->nodes.nr; i++) {
		struct sonde_str own = sonde_node_region(x->t, &x->r->nodes.at[i])->id;

		if (sonde_str_eq(own, id)) {
			x->out->step = i;
			return 0;
		}
		if ((!near.n || own.n < near.n) && sonde_str_ends_path(own, id))
			near = own;
	}
	return sonde_err_set(err, SONDE_ERR_USAGE, "report.step: there is no region '%.*s'; %s%.*s%s", SONDE_STR_ARG(id),
		near.n ? "did you mean '" : "`sonde regions -f json` lists their ids", SONDE_STR_ARG(near), near.n ? "'?" : "");
}

/*
 * How long all entries of a region would take if each took as long as the median entry. One slow entry of three (it
 * compiles, it allocates) then says nothing about a step. Without single entries it is their sum.
 */
static double measure_by_median(struct sonde_finder *x, const struct sonde_node *n)
{
	struct sonde_distribution wall = {0};
	struct sonde_entry_runs runs;
	double usual = sonde_node__wall_ns(n);

	if (!sonde_entry_runs_find(&runs, x->t, x->r, n) || !sonde_distribution_build(&wall, &runs, SONDE_ENTRY_WALL))
		x->failed = true;
	else if (wall.nr)
		usual = fmin(usual, wall.median_ns * (double)n->instances);
	sonde_entry_runs_release(&runs);
	return usual;
}

/*
 * The repeated region whose usual entries have the most wall time; of equals the outer one. A step that torch.profiler
 * marks is the step even if it was captured only once.
 */
static void find_step(struct sonde_finder *x)
{
	double most = 0;
	uint32_t i;

	for (i = 0; i < x->r->nodes.nr && x->out->step == SONDE_NONE; i++)
		if (x->r->nodes.at[i].launches && x->r->nodes.at[i].instances &&
			sonde_str_starts(sonde_node_label(x->t, &x->r->nodes.at[i]), "ProfilerStep#"))
			x->out->step = i;
	if (x->out->step != SONDE_NONE)
		return;

	for (i = 0; i < x->r->nodes.nr && !x->failed; i++) {
		const struct sonde_node *n = &x->r->nodes.at[i];
		double sum = sonde_node__wall_ns(n), usual;

		if (n->instances < x->often || !sonde_finder__has_work(x, i) || sonde_label_is_operator(sonde_node_label(x->t, n)) || sum <= LEAST_STEP * x->out->run_ns || sum <= most)
			continue;
		usual = measure_by_median(x, n);
		if (usual > most) {
			most = usual;
			x->out->step = i;
		}
	}
}

/* Sets what the usual entries of a region cost. */
static void measure_usual(struct sonde_finder *x, uint32_t node)
{
	struct sonde_usual u;

	x->failed |= !sonde_usual__find(&u, x, node);
	x->nr_left_out = u.nr_left_out;
	x->around_ns = u.is_left_out && sonde_finder__has_work(x, node) ? sonde_usual__around(&u, &x->r->nodes.at[node]) : 0;
	sonde_usual__share(&x->usual, &u, x, node);
	sonde_usual__release(&u);
}

/* Finds what is wrong in one region: the step, or one beside it. */
static void examine_region(struct sonde_finder *x, uint32_t node)
{
	uint32_t step = x->out->step;

	x->top = node;
	measure_usual(x, node);
	x->top_ns = sonde_node__wall_ns(&x->r->nodes.at[node]) * (node == step ? x->usual.wall : 1);
	x->is_startup = x->is_chosen ? node != step
				     : step != SONDE_NONE && x->r->nodes.at[node].instances < x->often &&
					       !sonde_report__is_inside(x->r, step, node);
	if (node == step) {
		x->top_ns += x->between_ns;
		sonde_finder__between(x);
	}
	sonde_finder__idle(x);
	sonde_finder__work(x);
}

/*
 * Examines the step, then the regions beside it. An outermost region around the step is examined too if the step is at
 * most half of it, unless the user chose the step.
 */
static void examine_regions(struct sonde_finder *x)
{
	const struct sonde_node *nodes = x->r->nodes.at;
	uint32_t i, step = x->out->step;
	double step_ns = step == SONDE_NONE ? 0 : sonde_node__wall_ns(&nodes[step]) + x->all_between_ns;

	if (step != SONDE_NONE)
		examine_region(x, step);
	for (i = 0; i < x->r->nodes.nr && !x->failed; i++) {
		double wall = sonde_node__wall_ns(&nodes[i]);
		bool is_around = step != SONDE_NONE && sonde_report__is_inside(x->r, step, i);
		uint32_t parent = nodes[i].parent;

		if (i == step || wall < LEAST_TOP * x->out->run_ns || (is_around && (x->is_chosen || step_ns > wall / 2)))
			continue;
		if (parent == SONDE_NONE || (step != SONDE_NONE && !is_around && parent != step && sonde_report__is_inside(x->r, step, parent)))
			examine_region(x, i);
	}
}

/* If most of the GPU's work is in no range, anything said about ranges matters less. */
static void examine_outside(struct sonde_finder *x)
{
	double outside = x->r->outside_time_ns > 0 ? x->r->outside_time_ns : 0;
	double inside = x->r->time_ns > 0 ? x->r->time_ns : 0, wall = 0;
	struct sonde_buf line = {0};
	struct sonde_finding *f;
	uint32_t i;

	for (i = 0; i < x->r->nodes.nr; i++)
		wall += x->r->nodes.at[i].parent == SONDE_NONE ? sonde_node__wall_ns(&x->r->nodes.at[i]) : 0;
	x->top = SONDE_NONE;
	x->top_ns = outside + inside;
	if (outside < MOST_OUTSIDE * x->top_ns)
		return;
	f = sonde_finder__add(x, SONDE_CAUSE_OUTSIDE, SONDE_NONE, (struct sonde_finding_cost){outside, 1});
	if (!f)
		return;
	f->share = outside / x->top_ns;
	f->is_first = outside >= MOST_OUTSIDE * (outside + wall);
	sonde_finder__prove_ms(f, SONDE_NONE, "unattributed.total_ms", outside, "sum of the launches outside any range");
	sonde_buf_printf(&line, "%s: %.3f of %.3f ms of GPU time (%.0f%%)",
		sonde_finder__lacks_calls(x) ? "most of the GPU's work has no host call in the capture, so its ranges are not known"
					     : sonde_causes[f->cause].why, outside / 1e6, x->top_ns / 1e6,
		100 * f->share);
	sonde_finder__keep(x, f, &line);
}

/* The report that findings are about: the first aggregate, else the first scope. Replayed ranges are left out. */
static const struct sonde_report *choose_report(const struct sonde_tree *t)
{
	const struct sonde_report *first = NULL;
	size_t i;

	for (i = 0; i < t->reports.nr; i++) {
		const struct sonde_report *r = &t->reports.at[i];

		if (r->is_ranges || !(r->all_time_ns > 0))
			continue;
		if (r->is_aggregate)
			return r;
		first = first ? first : r;
	}
	return first;
}

/* How long a scope was in regions: from its first entry to the end of its last one. */
static double measure_scope(const struct sonde_finder *x, uint32_t scope)
{
	const struct sonde_cells *c = x->t->cells;
	uint64_t first = UINT64_MAX, last = 0;
	uint32_t i, k;

	for (i = 0; i < x->r->nodes.nr; i++) {
		const struct sonde_node *n = &x->r->nodes.at[i];
		const struct sonde_visit *v = n->parent == SONDE_NONE ? sonde_cells_visit(c, scope, n->region) : NULL;

		for (k = 0; v && k < v->nr_entries; k++) {
			const struct sonde_entry *e = &c->entries.at[v->first_entry + k];
			uint64_t end = e->begin_ns + sonde_entry__wall_ns(e);

			first = e->begin_ns < first ? e->begin_ns : first;
			last = end > last ? end : last;
		}
	}
	return last > first ? (double)(last - first) : 0;
}

/*
 * The wall time of all outermost regions. Single entries may be fewer than there were, if files of a capture were folded
 * or scopes were added up. Then the run was at least this long, whatever the remaining entries say.
 */
static double measure_roots(const struct sonde_finder *x)
{
	double sum = 0;
	uint32_t i;

	for (i = 0; i < x->r->nodes.nr; i++)
		if (x->r->nodes.at[i].parent == SONDE_NONE)
			sum += sonde_node__wall_ns(&x->r->nodes.at[i]);
	return sum;
}

/* Whether fewer single entries were kept than were counted. */
static bool has_lost_entries(const struct sonde_finder *x)
{
	const struct sonde_cells *c = x->t->cells;
	uint64_t nr = 0, nr_kept = 0;
	size_t i;

	for (i = 0; i < c->visits.nr; i++) {
		nr += c->visits.at[i].instances;
		nr_kept += (uint64_t)c->visits.at[i].nr_entries * c->visits.at[i].entry_step;
	}
	return nr_kept < nr;
}

/* The time that shares beside the step are computed from: the time in ranges, or without entries the GPU's time. */
static void measure_run(struct sonde_finder *x)
{
	const struct sonde_cells *c = x->t->cells;
	const struct sonde_selection *s = &c->selection;
	uint32_t i;

	for (i = 0; i < c->scopes.nr; i++)
		if (x->r->is_aggregate ? c->scopes.at[i].measured == x->r->measured : i == x->r->scope)
			x->out->run_ns += measure_scope(x, i);
	if (x->out->run_ns > 0 && has_lost_entries(x))
		x->out->run_ns = fmax(x->out->run_ns, measure_roots(x));
	x->out->is_gpu_time = !(x->out->run_ns > 0);
	x->out->is_selected_time = x->out->is_gpu_time && s->kernel_include.nr + s->kernel_exclude.nr;
	if (x->out->is_gpu_time)
		x->out->run_ns = x->r->time_ns + (x->r->outside_time_ns > 0 ? x->r->outside_time_ns : 0);
}

static int find_all(struct sonde_finder *x, struct sonde_str step, struct sonde_err *err)
{
	int rc = 0;
	size_t i;

	measure_run(x);
	x->is_chosen = step.n > 0;
	if (step.n)
		rc = find_chosen(x, step, err);
	else
		find_step(x);
	if (rc)
		return rc;
	sonde_finder__name_entry(x);
	if (x->out->step != SONDE_NONE) {
		const struct sonde_node *n = &x->r->nodes.at[x->out->step];

		x->out->nr_entries = n->instances ? n->instances : 1;
		measure_usual(x, x->out->step);
		sonde_finder__measure_between(x, x->out->step);
		x->out->nr_left_out = x->nr_left_out;
		x->out->step_ns = sonde_node__wall_ns(n) * x->usual.wall / (double)x->out->nr_entries;
		x->out->between_ns = x->between_ns / (double)x->out->nr_entries;
	}
	examine_outside(x);
	examine_regions(x);
	sonde_findings_rank(x->out);
	if (x->out->at.nr > SONDE_MAX_FINDINGS)
		x->out->at.nr = SONDE_MAX_FINDINGS;
	for (i = 0; i < x->out->at.nr; i++)
		sonde_finder__fill_texts(x, &x->out->at.at[i]);
	return x->failed ? sonde_err_nomem(err) : 0;
}

int sonde_findings_build(struct sonde_findings **out, const struct sonde_tree *t, struct sonde_str step,
	struct sonde_err *err)
{
	const struct sonde_report *r = choose_report(t);
	struct sonde_finder x = {.t = t, .r = r, .culprit = SONDE_NONE, .is_torch = sonde_finder__is_torch(t->cells)};
	int rc;

	*out = NULL;
	if (!r)
		return 0;
	x.nr_sms = t->cells->devices.nr ? sonde_device_attribute(&t->cells->devices.at[0], SONDE_ATTR_SMS) : NAN;
	x.often = OFTEN * (uint64_t)(r->is_aggregate && r->nr_scopes ? r->nr_scopes : 1);
	x.out = sonde_calloc(1, sizeof(*x.out));
	if (!x.out)
		return sonde_err_nomem(err);
	x.out->report = r;
	x.out->step = SONDE_NONE;
	rc = sonde_figures_init(&x.figures, t, err);
	if (rc == 0)
		rc = find_all(&x, step, err);
	sonde_figures_release(&x.figures);
	if (rc)
		sonde_findings_free(x.out);
	else
		*out = x.out;
	return rc;
}

void sonde_findings_free(struct sonde_findings *f)
{
	if (!f)
		return;
	sonde_vec_release(&f->at);
	sonde_arena_release(&f->arena);
	sonde_free(f);
}
