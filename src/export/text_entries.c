/* How long the entries of regions took, and which were the slowest. */
#include "export/text_int.h"

#include "base/alloc.h"
#include "tree/entries.h"

#include <math.h>

#define LEAST_LABEL 24
#define NR_SLOWEST  5
enum { MEDIAN = 1, MAX = 4, NR_TIMES = 7, WALL = NR_TIMES }; /* indexes of times_of(), and after them the wall time */

/* An entry that took longer than others of its region. */
struct slow {
	double excess_ns, ns, median_ns; /* excess_ns: time beyond the median */
	uint64_t begin_ns;
	uint32_t node;
	uint8_t judged; /* enum sonde_entry_time */
	const struct sonde_entry_load *load; /* NULL = too short for samples */
	uint32_t arguments; /* as in struct sonde_entry */
};

/* Fields that come from the arguments of entries: columns of the table, if a region has them. */
static const char *const given_fields[] = {"batch_mean", "tokens_per_s"};
#define NR_GIVEN_FIELDS (sizeof(given_fields) / sizeof(*given_fields))

struct slow_entries {
	struct sonde_entry_summary *of; /* by row of the listing */
	size_t nr;
	struct slow slowest[NR_SLOWEST]; /* the worst first */
	size_t nr_slowest;
};

static void times_of(double ms[NR_TIMES], const struct sonde_distribution *d)
{
	const double ns[NR_TIMES] = {
		d->min_ns, d->median_ns, d->p95_ns, d->p99_ns, d->max_ns, d->mean_ns, d->sd_ns};
	size_t i;

	for (i = 0; i < NR_TIMES; i++)
		ms[i] = ns[i] / 1e6;
}

/* Keeps the slowest entries. Among equals the first found stays first: outer regions, then by time. */
static void keep_slow(struct slow_entries *f, const struct slow *s)
{
	size_t i = f->nr_slowest;

	if (!(s->excess_ns > 0) ||
		(i == NR_SLOWEST && s->excess_ns <= f->slowest[NR_SLOWEST - 1].excess_ns))
		return;
	i -= i == NR_SLOWEST;
	for (; i > 0 && f->slowest[i - 1].excess_ns < s->excess_ns; i--)
		f->slowest[i] = f->slowest[i - 1];
	f->slowest[i] = *s;
	f->nr_slowest += f->nr_slowest < NR_SLOWEST;
}

static void find_slow(struct slow_entries *f, const struct sonde_cells *c,
	const struct sonde_entry_summary *s, uint32_t node)
{
	enum sonde_entry_time which = sonde_entry_summary_judge(s);
	double median = s->of[which].median_ns;
	size_t i, k;

	for (i = 0; i < s->runs.at.nr; i++)
		for (k = 0; k < s->runs.at.at[i].nr; k++) {
			const struct sonde_entry *e = &s->runs.at.at[i].at[k];
			double ns = (double)sonde_entry_ns(e, which);

			keep_slow(f, &(struct slow){ns - median, ns, median, e->begin_ns, node,
					    (uint8_t)which, sonde_cells_load(c, e), e->arguments});
		}
}

static bool find_entries(struct slow_entries *f, struct sonde_text_export *x, const struct sonde_report *r,
	const struct sonde_listing *l)
{
	size_t i;

	f->of = sonde_calloc(l->nr + 1, sizeof(*f->of));
	for (i = 0; f->of && i < l->nr; i++) {
		f->nr = i + 1;
		if (!sonde_entry_summary_build(&f->of[i], x->tree, r, &r->nodes.at[l->at[i]]))
			return false;
		find_slow(f, x->tree->cells, &f->of[i], l->at[i]);
	}
	return f->of != NULL;
}

static void release_slow(struct slow_entries *f)
{
	size_t i;

	for (i = 0; i < f->nr; i++)
		sonde_entry_summary_release(&f->of[i]);
	sonde_free(f->of);
}

static void put_region(struct sonde_text_export *x, struct sonde_table *t,
	const struct sonde_report *r, uint32_t node)
{
	const struct sonde_region *g = sonde_node_region(x->tree, &r->nodes.at[node]);

	sonde_table_region(t, g->id, g->kind);
	sonde_table_put(t, SONDE_STYLE_BOLD);
}

static const char *time_name(enum sonde_entry_time which)
{
	return which == SONDE_ENTRY_GPU ? "GPU" : "host";
}

static const struct sonde_field *find_field(const char *csv)
{
	const struct sonde_field *f = sonde_fields;

	while (!sonde_field_is(f, csv))
		f++;
	return f;
}

static bool has_field(const struct sonde_report *r, const struct sonde_listing *l, const char *csv)
{
	size_t i;

	for (i = 0; i < l->nr; i++)
		if (!isnan(sonde_field_number(find_field(csv), r, &r->nodes.at[l->at[i]])))
			return true;
	return false;
}

static void put_said(struct sonde_table *t, const struct sonde_report *r, const struct sonde_listing *l, uint32_t node)
{
	size_t i;

	for (i = 0; i < NR_GIVEN_FIELDS; i++)
		if (has_field(r, l, given_fields[i]))
			sonde_table_number(t, sonde_field_number(find_field(given_fields[i]), r, &r->nodes.at[node]), 2, "");
}

static void put_entry_row(struct sonde_text_export *x, struct sonde_table *t,
	const struct sonde_report *r, uint32_t node, const struct sonde_entry_summary *s)
{
	enum sonde_entry_time which = sonde_entry_summary_judge(s);
	double ms[NR_TIMES];
	size_t i;

	put_region(x, t, r, node);
	sonde_table_number(t, (double)s->runs.nr_entered, 0, "");
	sonde_scale_put(t, &x->scales[WALL], s->of[SONDE_ENTRY_WALL].median_ns / 1e6);
	sonde_table_words(t, time_name(which));
	times_of(ms, &s->of[which]);
	for (i = 0; i < NR_TIMES; i++)
		sonde_scale_put(t, &x->scales[i], ms[i]);
}

/* Chooses one unit for all times of a distribution. */
static void find_scales(struct sonde_text_export *x, const struct slow_entries *f)
{
	double ms[NR_TIMES];
	size_t i, k;

	for (k = 0; k <= WALL; k++)
		x->scales[k] = (struct sonde_scale){0};
	for (i = 0; i < f->nr; i++) {
		times_of(ms, &f->of[i].of[sonde_entry_summary_judge(&f->of[i])]);
		for (k = 0; k < NR_TIMES; k++)
			sonde_scale_add(&x->scales[k], ms[k]);
		sonde_scale_add(&x->scales[WALL], f->of[i].of[SONDE_ENTRY_WALL].median_ns / 1e6);
	}
	for (k = 0; k <= WALL; k++)
		sonde_scale_choose(&x->scales[k], x->scales[MAX].most, x->options->is_utf8);
}

/* Whether entries of a region still have work when the next one begins: their wall times have common time then. */
static bool is_overlapping(const struct sonde_entry_summary *s)
{
	size_t i, k;

	for (i = 0; i < s->runs.at.nr; i++) {
		const struct sonde_entry_run *run = &s->runs.at.at[i];

		for (k = 1; k < run->nr && run->step == 1; k++)
			if (run->at[k - 1].wall_ns != SONDE_NO_WALL && run->at[k].begin_ns < run->at[k - 1].begin_ns + run->at[k - 1].wall_ns)
				return true;
	}
	return false;
}

static bool has_overlap(const struct slow_entries *f)
{
	size_t i;

	for (i = 0; i < f->nr && !is_overlapping(&f->of[i]); i++)
		;
	return i < f->nr;
}

static int print_entries(struct sonde_text_export *x, const struct sonde_report *r,
	const struct sonde_listing *l, const struct slow_entries *f, struct sonde_err *err)
{
	static const char *const heads[NR_TIMES] = {
		"min ms", "median ms", "p95 ms", "p99 ms", "max ms", "mean ms", "sd ms"};
	static const unsigned drops[NR_TIMES] = {4, 0, 0, 2, 0, 3, 5};
	static const char *const before[] = {"0region", ">1entries", NULL}, *const judged[] = {"0time", NULL};
	struct sonde_table t = sonde_text__table(x->options, LEAST_LABEL);
	size_t i;
	int rc;

	find_scales(x, f);
	sonde_table_heads(&t, before);
	sonde_scale_column(&t, &x->scales[WALL], SONDE_STR("wall ms"), 1);
	sonde_table_heads(&t, judged);
	for (i = 0; i < NR_TIMES; i++)
		sonde_scale_column(&t, &x->scales[i], sonde_str_from(heads[i]), drops[i]);
	for (i = 0; i < NR_GIVEN_FIELDS; i++)
		if (has_field(r, l, given_fields[i]))
			sonde_table_column(&t, sonde_field_head(find_field(given_fields[i]), r), true, 1);
	for (i = 0; i < f->nr; i++) {
		if (!f->of[i].runs.nr_entries)
			continue;
		put_entry_row(x, &t, r, l->at[i], &f->of[i]);
		put_said(&t, r, l, l->at[i]);
	}
	rc = sonde_text__finish(x, &t, err);
	if (rc == 0 && has_overlap(f))
		sonde_sink_puts(x->to, "wall: from the beginning of an entry, waiting for the work of earlier entries included\n");
	return rc;
}

static bool has_load(const struct slow_entries *f, size_t metric)
{
	size_t i;

	for (i = 0; i < f->nr_slowest; i++)
		if (f->slowest[i].load && !isnan(f->slowest[i].load->v[metric]))
			return true;
	return false;
}

/*
 * Puts how busy the device was in the entry: a slow entry may have waited, or done more. The error of a load is small and
 * compares entries with each other; what all have in common is only as exact as the figure of the region.
 */
static void put_loads(
	struct sonde_table *t, const struct slow_entries *f, const struct sonde_entry_load *load)
{
	size_t i;

	for (i = 0; i < SONDE_NR_LOADS; i++) {
		struct sonde_figure figure = sonde_load_figure(load, i);

		if (!has_load(f, i))
			continue;
		figure.error = NAN;
		sonde_figure_put(&t->cell, &figure, "%", t->is_utf8); /* "-" without a figure */
		sonde_table_put(t, SONDE_STYLE_PLAIN);
	}
}

static bool have_arguments(const struct slow_entries *f)
{
	size_t i;

	for (i = 0; i < f->nr_slowest; i++)
		if (f->slowest[i].arguments != SONDE_NONE)
			return true;
	return false;
}

static int print_slowest(struct sonde_text_export *x, const struct sonde_report *r,
	const struct slow_entries *f, struct sonde_err *err)
{
	static const char *const before[] = {"0slowest against their median", ">0at s", "0time", NULL};
	uint64_t first_ns = sonde_tree_first_ns(x->tree);
	struct sonde_table t = sonde_text__table(x->options, LEAST_LABEL);
	size_t i;
	int rc;

	sonde_table_heads(&t, before);
	sonde_scale_column(&t, &x->scales[MAX], SONDE_STR("took ms"), 0);
	sonde_scale_column(&t, &x->scales[MEDIAN], SONDE_STR("median ms"), 1);
	for (i = 0; i < SONDE_NR_LOADS; i++)
		if (has_load(f, i))
			sonde_table_column(&t, sonde_metric_head(sonde_str_from(sonde_load_metrics[i])), true, 2);
	if (have_arguments(f))
		sonde_table_column(&t, SONDE_STR("arguments"), false, 2);
	for (i = 0; i < f->nr_slowest; i++) {
		const struct slow *s = &f->slowest[i];

		put_region(x, &t, r, s->node);
		sonde_table_number(&t, (double)(s->begin_ns - first_ns) / 1e9, 6, "");
		sonde_table_words(&t, time_name(s->judged));
		sonde_scale_put(&t, &x->scales[MAX], s->ns / 1e6);
		sonde_scale_put(&t, &x->scales[MEDIAN], s->median_ns / 1e6);
		put_loads(&t, f, s->load);
		if (have_arguments(f))
			sonde_table_text(&t, sonde_tree_str(x->tree, s->arguments), SONDE_STYLE_PLAIN);
	}
	rc = sonde_text__finish(x, &t, err);
	if (rc == 0)
		sonde_sink_puts(x->to, SONDE_AT_SINCE);
	return rc;
}

int sonde_text__write_entries(
	struct sonde_text_export *x, const struct sonde_report *r, struct sonde_err *err)
{
	struct slow_entries f = {0};
	struct sonde_listing l;
	uint32_t step = 0;
	size_t i;
	int rc = sonde_listing_build(&l, x->tree, r, x->options, err);

	if (rc)
		return rc;
	if (!find_entries(&f, x, r, &l))
		rc = sonde_err_nomem(err);
	for (i = 0; i < f.nr; i++)
		step = f.of[i].runs.step > step ? f.of[i].runs.step : step;
	if (rc == 0 && !step)
		sonde_sink_puts(x->to, "\nThe capture has no times of single entries.\n");
	if (rc == 0 && step)
		rc = print_entries(x, r, &l, &f, err);
	if (rc == 0 && step > 1)
		sonde_sink_printf(x->to,
			"where a scope has more than %d entries of a region, only one in %u or fewer of them "
			"is used\n",
			SONDE_MAX_ENTRIES, step);
	if (rc == 0 && f.nr_slowest)
		rc = print_slowest(x, r, &f, err);
	release_slow(&f);
	sonde_listing_release(&l);
	return rc;
}
