/*
 * May the two sides be compared at all? Another GPU or another way of measuring
 * makes the figures mean different things; other differences are worth a word.
 */
#include "compare/diff_int.h"

#include "tree/judge.h"

#include <math.h>

#define COVERAGE_POINTS 2.0

/* A property of a side's inputs, as a list of different words. */
typedef struct sonde_str word_of(const struct sonde_cells *c, size_t i);
struct property {
	const char *name;
	word_of *word;
	bool is_device; /* of each device, else of each input */
	bool refuses;
};

static struct sonde_str device_name_of(const struct sonde_cells *c, size_t i)
{
	return c->devices.at[i].name;
}

/* Nsight Compute measures kernels one by one with clocks and caches held; the others a program as
 * it runs. */
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

/* How ncu was told to treat clocks; empty = not said. */
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

/* Fills `words` with each different word of the runs once; false when memory is short. */
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

static void join(struct sonde_buf *out, const struct sonde_map *words)
{
	size_t i;

	for (i = 0; i < words->nr; i++) {
		sonde_buf_puts(out, i ? ", " : "");
		sonde_buf_str(out, words->keys[i]);
	}
	if (!words->nr)
		sonde_buf_puts(out, "not known");
}

static void tell(struct sonde_diff *d, const struct property *p, const struct sonde_map *a,
	const struct sonde_map *b)
{
	struct sonde_buf base = {0}, now = {0};

	join(&base, a);
	join(&now, b);
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

	/* Of a property one side does not know, nothing can be said. */
	if (ok && a.nr && b.nr && !is_same_set(&a, &b))
		tell(d, p, &a, &b);
	sonde_map_release(&a);
	sonde_map_release(&b);
	return ok;
}

/* --- what was asked for ----------------------------------------------------------------------- */

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

/* The same name may stand for figures made in different ways: with other weights, say. */
static void check_methods(struct sonde_diff *d, const struct sonde_diff__match *m)
{
	const struct sonde_tree *a = m->trees[0], *b;
	size_t run, i;

	for (run = m->nr_base; run < m->nr_runs; run++)
		for (b = m->trees[run], i = 0; i < a->nr_headline; i++) {
			const struct sonde_column *x = &a->columns.at[a->headline[i]], *y;
			uint32_t at = sonde_tree_find_column(b, x->name);

			y = at == SONDE_NONE ? x : &b->columns.at[at];
			if (x->methods[0] && y->methods[0] &&
				!sonde_str_is(sonde_str_from(x->methods[0]), y->methods[0]))
				sonde_note(&d->warnings,
					"method of %.*s: %s in the base, %s in the new side",
					SONDE_STR_ARG(x->name), x->methods[0], y->methods[0]);
		}
}

/* Percent of GPU time, or of launches, inside regions. */
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

/* The most scopes a run of the side has. */
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

bool sonde_diff__check_sides(struct sonde_diff *d, const struct sonde_diff__match *m)
{
	size_t i;

	for (i = 0; i < sizeof(properties) / sizeof(*properties); i++)
		if (!check_property(d, &properties[i], m))
			return false;
	if (!sonde_diff__check_clocks(d, m))
		return false;
	check_selection(d, m);
	check_methods(d, m);
	check_coverage(d, m);
	check_scopes(d, m);
	d->is_comparable = !d->reasons.texts.nr;
	return true;
}
