/*
 * Whether the two sides may be compared at all. With another GPU or another way of measuring, figures mean different
 * things; other differences only get a warning.
 */
#include "base/alloc.h"
#include "catalogue/attributes.h"
#include "catalogue/metrics.h"
#include "tree/judge.h"
#include "compare/diff_int.h"

#include <math.h>

#define COVERAGE_POINTS 2.0

/* A property of a side's inputs, with all different words for it. */
typedef struct sonde_str word_of(const struct sonde_cells *c, size_t i);
struct property {
	const char *name;
	word_of *word;
	bool is_device; /* a word for each device, else for each input */
	bool refuses;
};

static struct sonde_str device_name_of(const struct sonde_cells *c, size_t i)
{
	return c->devices.at[i].name;
}

/*
 * Nsight Compute measures kernels one by one, with clocks and caches controlled. Other tools measure a program as it
 * runs.
 */
static struct sonde_str way_of(const struct sonde_cells *c, size_t i)
{
	return sonde_str_starts(c->inputs.at[i].source, "ncu") ? SONDE_STR("Nsight Compute")
							       : SONDE_STR("a timeline");
}

static struct sonde_str source_of(const struct sonde_cells *c, size_t i)
{
	return sonde_str_starts(c->inputs.at[i].source, "ncu") ? SONDE_STR("ncu")
							       : c->inputs.at[i].source;
}

static struct sonde_str replay_mode_of(const struct sonde_cells *c, size_t i)
{
	return sonde_str_starts(c->inputs.at[i].source, "ncu") ? c->inputs.at[i].replay_mode
							       : (struct sonde_str){NULL, 0};
}

static struct sonde_str tool_of(const struct sonde_cells *c, size_t i)
{
	return c->inputs.at[i].tool;
}

/* How ncu was told to treat clocks; empty = its command does not say. */
static struct sonde_str clocks_of(const struct sonde_cells *c, size_t i)
{
	struct sonde_str rest = c->inputs.at[i].command, word = {NULL, 0};

	while (rest.n) {
		word = sonde_str_cut(rest, ' ', &rest);
		if (sonde_str_starts(word, "--clock-control="))
			return word;
		if (sonde_str_is(word, "--clock-control"))
			return sonde_str_cut(rest, ' ', &rest);
	}
	return (struct sonde_str){NULL, 0};
}

static const struct property properties[] = {
	{"device", device_name_of, true, true},
	{"way of measuring", way_of, false, true},
	{"replay mode", replay_mode_of, false, true},
	{"source", source_of, false, false},
	{"tool", tool_of, false, false},
	{"clock control", clocks_of, false, false},
};

/* Adds each different word of the runs to `words` once. False when memory is short. */
static bool list_words(struct sonde_map *words, const struct property *p,
	const struct sonde_diff__match *m, size_t run, size_t end)
{
	size_t i;

	for (; run < end; run++) {
		const struct sonde_cells *c = m->trees[run]->cells;

		for (i = 0; i < (p->is_device ? c->devices.nr : c->inputs.nr); i++) {
			struct sonde_str w = p->word(c, i);

			if (w.n && sonde_map_add(words, w, NULL) == SONDE_NONE)
				return false;
		}
	}
	return true;
}

static bool is_same_set(const struct sonde_map *a, const struct sonde_map *b)
{
	size_t i;

	if (a->nr != b->nr)
		return false;
	for (i = 0; i < a->nr; i++)
		if (sonde_map_find(b, a->keys[i]) == SONDE_NONE)
			return false;
	return true;
}

static void join_words(struct sonde_buf *out, const struct sonde_map *words)
{
	size_t i;

	for (i = 0; i < words->nr; i++) {
		sonde_buf_puts(out, i ? ", " : "");
		sonde_buf_str(out, words->keys[i]);
	}
	if (!words->nr)
		sonde_buf_puts(out, "not known");
}

static void note_difference(struct sonde_diff *d, const struct property *p, const struct sonde_map *a,
	const struct sonde_map *b)
{
	struct sonde_buf base = {0}, now = {0};

	join_words(&base, a);
	join_words(&now, b);
	sonde_note(p->refuses ? &d->reasons : &d->warnings,
		"%s: %s in the base, %s in the new side", p->name, base.failed ? "" : base.p,
		now.failed ? "" : now.p);
	sonde_buf_release(&base);
	sonde_buf_release(&now);
}

static bool check_property(
	struct sonde_diff *d, const struct property *p, const struct sonde_diff__match *m)
{
	struct sonde_map a = {0}, b = {0};
	bool ok =
		list_words(&a, p, m, 0, m->nr_base) && list_words(&b, p, m, m->nr_base, m->nr_runs);

	/* A property is not compared if one side does not know it. */
	if (ok && a.nr && b.nr && !is_same_set(&a, &b))
		note_difference(d, p, &a, &b);
	sonde_map_release(&a);
	sonde_map_release(&b);
	return ok;
}

/* --- selection, methods and coverage ---------------------------------------------------------- */

static void check_selection(struct sonde_diff *d, const struct sonde_diff__match *m)
{
	const struct sonde_selection *a = &m->trees[0]->cells->selection;
	size_t i;

	for (i = 1; i < m->nr_runs; i++) {
		const struct sonde_selection *b = &m->trees[i]->cells->selection;

		if (!sonde_words_are_same(a->nvtx_include, b->nvtx_include) ||
			!sonde_words_are_same(a->nvtx_exclude, b->nvtx_exclude) ||
			!sonde_words_are_same(a->kernel_include, b->kernel_include) ||
			!sonde_words_are_same(a->kernel_exclude, b->kernel_exclude))
			sonde_note(&d->reasons, "selection: the inputs were made with different "
						"--nvtx-… or --kernel-… selections");
		if (!sonde_words_are_same(a->labels, b->labels) || a->stack_only != b->stack_only ||
			a->own_threads != b->own_threads || a->no_origins != b->no_origins)
			sonde_note(&d->warnings, "label rules: report.labels, nesting, threads or "
						 "origins differ, so regions may not match");
	}
}

/* Figures of the same name may be made in different ways, for example with different weights. */
static void check_methods(struct sonde_diff *d, const struct sonde_diff__match *m)
{
	const struct sonde_tree *a = m->trees[0], *b;
	size_t run, i;

	for (run = m->nr_base; run < m->nr_runs; run++)
		for (b = m->trees[run], i = 0; i < a->nr_headline; i++) {
			const struct sonde_column *x = &a->columns.at[a->headline[i]], *y;
			uint32_t at = sonde_tree_column(b, x->name);

			y = at == SONDE_NONE ? x : &b->columns.at[at];
			if (x->methods[0] && y->methods[0] &&
				!sonde_str_is(sonde_str_from(x->methods[0]), y->methods[0]))
				sonde_note(&d->warnings,
					"method of %.*s: %s in the base, %s in the new side",
					SONDE_STR_ARG(x->name), x->methods[0], y->methods[0]);
		}
}

/* Percentage of GPU time that is in regions; without times, of launches. */
static double coverage_of(const struct sonde_diff__match *m, size_t run, size_t end)
{
	double all = 0, inside = 0;

	for (; run < end; run++) {
		const struct sonde_report *r = m->aggregates[run];
		bool has_time = r->time_ns + r->outside_time_ns > 0;

		inside += has_time ? r->time_ns : (double)r->launches;
		all += has_time ? r->time_ns + r->outside_time_ns
				: (double)(r->launches + r->outside_launches);
	}
	return all > 0 ? 100 * inside / all : NAN;
}

static void check_coverage(struct sonde_diff *d, const struct sonde_diff__match *m)
{
	double a = coverage_of(m, 0, m->nr_base), b = coverage_of(m, m->nr_base, m->nr_runs);

	if (fabs(a - b) > COVERAGE_POINTS)
		sonde_note(&d->warnings,
			"coverage: %.1f %% of the base is in regions, %.1f %% of the new side", a,
			b);
	if (isnan(a) != isnan(b))
		sonde_note(&d->warnings, "coverage: the %s launches nothing on a GPU",
			isnan(a) ? "base" : "new side");
}

/* The largest number of scopes that a run of the side has. */
static size_t count_scopes(const struct sonde_diff__match *m, size_t run, size_t end)
{
	size_t most = 0;

	for (; run < end; run++)
		most = m->aggregates[run]->nr_scopes > most ? m->aggregates[run]->nr_scopes : most;
	return most;
}

static void check_scopes(struct sonde_diff *d, const struct sonde_diff__match *m)
{
	size_t a = count_scopes(m, 0, m->nr_base), b = count_scopes(m, m->nr_base, m->nr_runs), i;

	d->nr_base_scopes = a;
	d->nr_new_scopes = b;
	if (a != b)
		sonde_note(&d->warnings,
			"scopes: a run of the base has %zu, one of the new side %zu (processes or "
			"ranks, with their devices)",
			a, b);
	for (i = 1; i < m->nr_runs; i++)
		if (m->aggregates[i]->measured != m->aggregates[0]->measured)
			sonde_note(&d->reasons,
				"measured: kernels on one side, replayed ranges on the other");
}

/*
 * Did the GPUs of both sides run at the same clocks? The highest clock of a device is an attribute, in every source that
 * has attributes. The real clock is a metric of Nsight Compute and of samples: it shows a GPU that was locked, capped or
 * hot.
 */

#define CLOCK_EFFECT 0.02 /* with a larger difference of clocks, times cannot be compared without a warning */

/* The mean of a device attribute over the devices of a side; NaN = not known. */
static double mean_attribute(
	const struct sonde_diff__match *m, size_t run, size_t end, const char *name)
{
	double sum = 0;
	size_t nr = 0, i, k;

	for (; run < end; run++) {
		const struct sonde_cells *c = m->trees[run]->cells;

		for (i = 0; i < c->devices.nr; i++)
			for (k = 0; k < c->devices.at[i].nr_attributes; k++) {
				const struct sonde_attribute *a = &c->devices.at[i].attributes[k];

				if (!sonde_str_is(a->name, name) || !(a->value > 0))
					continue;
				sum += a->value;
				nr++;
			}
	}
	return nr ? sum / (double)nr : NAN;
}

/* The outermost region that took longest. */
static uint32_t largest_root(const struct sonde_report *r)
{
	uint32_t best = SONDE_NONE, i;

	for (i = 0; i < r->nodes.nr; i++)
		if (r->nodes.at[i].parent == SONDE_NONE &&
			(best == SONDE_NONE || r->nodes.at[i].time_ns > r->nodes.at[best].time_ns))
			best = i;
	return best;
}

/* A clock measured while the largest outermost region ran: the mean over the runs that have the metric. */
static bool mean_clock(double *out, const struct sonde_diff__match *m, size_t run, size_t end,
	struct sonde_str name)
{
	double sum = 0, nr = 0;

	for (; run < end; run++) {
		uint32_t column = sonde_tree_column(m->trees[run], name),
			 root = largest_root(m->aggregates[run]);
		struct sonde_figures f;

		if (column == SONDE_NONE || root == SONDE_NONE)
			continue;
		if (sonde_figures_init(&f, m->trees[run], NULL))
			return false;
		sonde_tree_values(
			m->trees[run], m->aggregates[run], SONDE_PART_INCLUSIVE, root, &f);
		if (f.at[column].v > 0) {
			sum += f.at[column].v;
			nr++;
		}
		sonde_figures_release(&f);
	}
	*out = nr > 0 ? sum / nr : NAN;
	return true;
}

static void note_clock(struct sonde_diff *d, const char *what, double base_hz, double new_hz)
{
	if (fabs(base_hz - new_hz) > CLOCK_EFFECT * fmax(base_hz, new_hz))
		sonde_note(&d->warnings, "%s: %.0f MHz in the base, %.0f MHz in the new side", what,
			base_hz / 1e6, new_hz / 1e6);
}

/* Adds warnings about clocks. */
static bool check_clocks(struct sonde_diff *d, const struct sonde_diff__match *m)
{
	static const struct {
		const char *what, *attribute;
		const char *metrics[3];
	} clocks[] = {
		{"SM clock", SONDE_ATTR_CLOCK,
			{SONDE_METRIC_SM_CLOCK, SONDE_COUNTER_GPC_CYCLES ".avg.per_second",
				SONDE_COUNTER_SMSP_CYCLES ".avg.per_second"}},
		{"memory clock", SONDE_ATTR_MEMORY_CLOCK, {SONDE_COUNTER_DRAM_CYCLES ".avg.per_second"}}};
	size_t i, k;

	for (i = 0; i < sizeof(clocks) / sizeof(*clocks); i++) {
		double a = mean_attribute(m, 0, m->nr_base, clocks[i].attribute),
		       b = mean_attribute(m, m->nr_base, m->nr_runs, clocks[i].attribute);

		note_clock(d, i ? "highest memory clock" : "highest SM clock", a * 1e3, b * 1e3);
		for (k = 0; k < 3 && clocks[i].metrics[k]; k++) {
			struct sonde_str name = sonde_str_from(clocks[i].metrics[k]);

			if (!mean_clock(&a, m, 0, m->nr_base, name) ||
				!mean_clock(&b, m, m->nr_base, m->nr_runs, name))
				return false;
			note_clock(d, clocks[i].what, a, b);
		}
	}
	return true;
}

bool sonde_diff__check_sides(struct sonde_diff *d, const struct sonde_diff__match *m)
{
	size_t i;

	for (i = 0; i < sizeof(properties) / sizeof(*properties); i++)
		if (!check_property(d, &properties[i], m))
			return false;
	if (!check_clocks(d, m))
		return false;
	check_selection(d, m);
	check_methods(d, m);
	check_coverage(d, m);
	check_scopes(d, m);
	d->is_comparable = !d->reasons.texts.nr;
	return true;
}

/*
 * The notes of the runs of each side, and one thing that only a comparison shows: ranks that some runs of a job have and
 * others lack. With a single run nothing is missing: it may be a capture of chosen ranks.
 */

#define MOST_RANKS (1u << 24) /* ranks of larger jobs are not checked */
#define MOST_NAMED 8

/* The ranks of a job of `size` that a run has; `is_there` NULL = the run has no ranks, or several jobs. */
struct ranks {
	uint32_t size;
	bool *is_there;
};

/* Finds the ranks of a run. False: no memory. */
static bool find_ranks(struct ranks *out, const struct sonde_cells *c)
{
	size_t i, nr = sonde_cells_nr_processes(c);

	for (i = 0; i < nr; i++) {
		const struct sonde_process *p = sonde_cells_process(c, i);

		if (!p->has_rank || p->rank >= p->world_size || p->world_size > MOST_RANKS)
			continue;
		if (!out->is_there) {
			out->size = p->world_size;
			out->is_there = sonde_calloc(out->size, sizeof(*out->is_there));
			if (!out->is_there)
				return false;
		}
		if (p->world_size != out->size) {
			sonde_free(out->is_there);
			*out = (struct ranks){0};
			return true;
		}
		out->is_there[p->rank] = true;
	}
	return true;
}

/* Notes the ranks that `one` lacks and that some other job of the same size in `all` has. */
static void note_missing_ranks(struct sonde_notes *notes, const struct ranks *one, const struct ranks *all, size_t nr)
{
	struct sonde_buf names = {0};
	size_t i, missing = 0;
	uint32_t rank;

	for (rank = 0; rank < one->size; rank++) {
		bool is_known = one->is_there[rank];

		for (i = 0; i < nr && !is_known; i++)
			if (all[i].size == one->size && all[i].is_there[rank])
				break;
		if (is_known || i == nr)
			continue;
		if (missing < MOST_NAMED)
			sonde_buf_printf(&names, "%s%u", missing ? ", " : "", rank);
		missing++;
	}
	if (missing)
		sonde_note_loss(notes, "%zu rank%s that other runs have %s missing: %s%s", missing,
			missing == 1 ? "" : "s", missing == 1 ? "is" : "are", names.failed ? "" : names.p,
			missing > MOST_NAMED ? " \u2026" : "");
	sonde_buf_release(&names);
}

static struct sonde_notes *notes_of(struct sonde_diff *d, const struct sonde_diff__match *m, size_t run)
{
	return run < m->nr_base ? &d->base_notes : &d->new_notes;
}

bool sonde_diff__take_notes(struct sonde_diff *d, const struct sonde_diff__match *m)
{
	struct ranks *ranks = sonde_calloc(m->nr_runs + 1, sizeof(*ranks));
	bool ok = ranks;
	size_t i;

	for (i = 0; i < m->nr_runs; i++)
		sonde_notes_add(notes_of(d, m, i), &m->trees[i]->notes);
	for (i = 0; i < m->nr_runs && ok; i++)
		ok = find_ranks(&ranks[i], m->trees[i]->cells);
	for (i = 0; i < m->nr_runs && ok; i++)
		if (ranks[i].is_there)
			note_missing_ranks(notes_of(d, m, i), &ranks[i], ranks, m->nr_runs);
	for (i = 0; i < m->nr_runs && ranks; i++)
		sonde_free(ranks[i].is_there);
	sonde_free(ranks);
	return ok;
}
