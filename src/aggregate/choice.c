/*
 * Which metrics and sections a report shows.
 *
 * Named ones exactly; with neither metrics nor sections named, everything the
 * capture measured, without device facts and their kin.
 */
#include "aggregate/tree_int.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* What narrow tables show when nobody chose metrics: the first of each row that is there. */
static const char *const headline[][3] = {
	{"sm__throughput.avg.pct_of_peak_sustained_elapsed", NULL, NULL},
	{"gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
		"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
		"dram__throughput.avg.pct_of_peak_sustained_elapsed"},
	{"sm__warps_active.avg.pct_of_peak_sustained_active", NULL, NULL},
};

static const char pseudo_section[] = "section0"; /* Nsight's name for metrics given by --metrics */

/* Up to three names near `word`, then how many there are in all. */
static void suggest(struct sonde_buf *out, struct sonde_str word, const struct sonde_map *names)
{
	uint32_t best[3] = {SONDE_NONE, SONDE_NONE, SONDE_NONE};
	unsigned max = word.n > 24 ? 10 : 2 + (unsigned)word.n / 3, d;
	unsigned score[3] = {max + 1, max + 1, max + 1};
	size_t i, k, nr = 0;

	for (i = 0; i < names->nr; i++) {
		struct sonde_str head = {
			names->keys[i].p, names->keys[i].n > word.n ? word.n : names->keys[i].n};

		d = sonde_str_distance(word, names->keys[i], max);
		if (d > max && word.n > 3 && sonde_str_eq(head, word))
			d = max; /* it begins like this */
		for (k = 3; k > 0 && d < score[k - 1]; k--)
			if (k < 3)
				score[k] = score[k - 1], best[k] = best[k - 1];
		if (k < 3 && d < score[k])
			score[k] = d, best[k] = (uint32_t)i;
	}
	for (k = 0; k < 3 && best[k] != SONDE_NONE; k++, nr++) {
		sonde_buf_puts(out, nr ? ", " : "; did you mean ");
		sonde_buf_str(out, names->keys[best[k]]);
	}
	sonde_buf_puts(out, nr ? "?" : "");
}

/* One kind of words to check: metrics or sections. */
struct wording {
	const char *what;
	const struct sonde_name_filter *filter;
	struct sonde_words words;
	const struct sonde_map *names; /* in the capture */
	bool by_default;
};

/* A word that matches nothing: an error if the user typed it, a note if a default did. */
static int unknown(
	struct sonde_tree *t, const struct wording *w, const char *word, struct sonde_err *err)
{
	const struct sonde_map *names = w->names;
	const char *what = w->what;
	struct sonde_buf b = {0};
	size_t i;
	int rc = 0;

	sonde_buf_printf(&b, "%s '%s' is not in the capture", what, word);
	suggest(&b, sonde_str_from(word), names);
	if (names->nr == 0) {
		sonde_buf_printf(&b, "; it has no %ss", what);
	} else if (names->nr <= 12) {
		sonde_buf_puts(&b, "; there are: ");
		for (i = 0; i < names->nr; i++) {
			sonde_buf_puts(&b, i ? ", " : "");
			sonde_buf_str(&b, names->keys[i]);
		}
	} else {
		sonde_buf_printf(&b, "; it has %zu %ss (sonde report --format json lists them)",
			names->nr, what);
	}
	if (w->by_default)
		sonde_note(&t->notes, "%s", b.failed ? what : b.p);
	else
		rc = sonde_err_set(err, SONDE_ERR_USAGE, "%s", b.failed ? what : b.p);
	sonde_buf_release(&b);
	return rc;
}

static int check_words(struct sonde_tree *t, const struct wording *w, struct sonde_err *err)
{
	size_t i, k;
	int rc = 0;

	for (i = 0; i < w->words.nr && rc == 0; i++) {
		for (k = 0; k < w->names->nr; k++)
			if (sonde_name_filter_word_takes(w->filter, i, w->names->keys[k]))
				break;
		if (k == w->names->nr)
			rc = unknown(t, w, w->words.at[i], err);
	}
	return rc;
}

static int by_column_name(const void *a, const void *b)
{
	return sonde_str_cmp(
		((const struct sonde_column *)a)->name, ((const struct sonde_column *)b)->name);
}

static int add_columns(struct sonde_tree *t, const bool *wanted, struct sonde_err *err)
{
	const struct sonde_records *r = t->launches->records;
	struct sonde_column *c;
	uint32_t i;

	for (i = 0; i < r->metrics.nr; i++) {
		if (!wanted[i])
			continue;
		c = sonde_vec_push(&t->columns);
		if (!c || !sonde_store_add(t->store, i))
			return sonde_err_nomem(err);
		*c = (struct sonde_column){.metric = i, .name = r->metrics.at[i].name};
		c->unit = sonde_metric_unit(c->name);
	}
	if (t->columns.nr)
		qsort(t->columns.at, t->columns.nr, sizeof(*t->columns.at), by_column_name);
	return 0;
}

/* Arrays that ncu draws as charts: as one figure they mean nothing. */
static void mark_charts(
	struct sonde_tree *t, const struct sonde_choice *c, const struct sonde_name_filter *metrics)
{
	size_t i;

	for (i = 0; i < t->columns.nr; i++) {
		struct sonde_column *column = &t->columns.at[i];
		bool is_named = c->metrics.nr && sonde_name_filter_takes(metrics, column->name);

		column->is_chart = !is_named &&
				   (sonde_str_starts(column->name, "derived__pct_occupancy_per_") ||
					   sonde_str_starts(column->name, "derived_tempMetric"));
	}
}

static uint32_t column_of(const struct sonde_tree *t, struct sonde_str name)
{
	struct sonde_column key = {.name = name}, *c;

	if (!t->columns.nr)
		return SONDE_NONE;
	c = bsearch(&key, t->columns.at, t->columns.nr, sizeof(key), by_column_name);
	return c ? (uint32_t)(c - t->columns.at) : SONDE_NONE;
}

uint32_t sonde_tree_column(const struct sonde_tree *t, const char *name)
{
	return column_of(t, sonde_str_from(name));
}

/* The sections `take` says, with those of their metrics that have a column. */
static int add_sections(struct sonde_tree *t, const bool *take, struct sonde_err *err)
{
	const struct sonde_records *r = t->launches->records;
	struct sonde_chosen_section *s;
	size_t i, k;

	for (i = 0; i < r->sections.nr; i++) {
		const struct sonde_section *from = &r->sections.at[i];

		s = take[i] ? sonde_vec_push(&t->sections) : NULL;
		if (take[i] && !s)
			return sonde_err_nomem(err);
		if (!s)
			continue;
		s->id = from->id;
		s->name = from->name;
		for (k = 0; k < from->metrics.nr; k++) {
			uint32_t column = column_of(t, sonde_records_str(r, from->metrics.at[k])),
				 *slot;

			if (column == SONDE_NONE)
				continue;
			slot = sonde_vec_push(&s->columns);
			if (!slot)
				return sonde_err_nomem(err);
			*slot = column;
		}
	}
	return 0;
}

static void add_headline(struct sonde_tree *t, uint32_t column)
{
	size_t i;

	for (i = 0; i < t->nr_headline; i++)
		if (t->headline[i] == column)
			return;
	if (column != SONDE_NONE && t->nr_headline < sizeof(t->headline) / sizeof(t->headline[0]))
		t->headline[t->nr_headline++] = column;
}

/* What one word of the user's takes: sums first, for a pattern may take more than fit. */
static void add_word(struct sonde_tree *t, const struct sonde_name_filter *f, size_t word)
{
	size_t i, pass;

	for (pass = 0; pass < 2; pass++)
		for (i = 0; i < t->columns.nr; i++) {
			struct sonde_str name = t->columns.at[i].name;

			if (sonde_str_ends(name, ".sum") == (pass == 0) &&
				sonde_name_filter_word_takes(f, word, name) &&
				!sonde_str_is(name, "gpu__time_duration.sum"))
				add_headline(t, (uint32_t)i);
		}
}

/* Chosen metrics in the user's order; otherwise the usual ones that the capture has. */
static void choose_headline(
	struct sonde_tree *t, const struct sonde_choice *c, const struct sonde_name_filter *f)
{
	size_t i, k;

	for (i = 0; i < c->metrics.nr && !c->metrics_by_default; i++)
		add_word(t, f, i);
	for (i = 0; i < sizeof(headline) / sizeof(headline[0]) &&
		    !(c->metrics.nr && !c->metrics_by_default);
		i++)
		for (k = 0; k < 3 && headline[i][k]; k++)
			if (sonde_tree_column(t, headline[i][k]) != SONDE_NONE) {
				add_headline(t, sonde_tree_column(t, headline[i][k]));
				break;
			}
}

/* With nothing named: all but device facts, or only the usual columns. */
static bool is_wanted(struct sonde_str name, bool headline_only)
{
	size_t i, k;

	for (i = 0; headline_only && i < sizeof(headline) / sizeof(headline[0]); i++)
		for (k = 0; k < 3 && headline[i][k]; k++)
			if (sonde_str_is(name, headline[i][k]))
				return true;
	return !headline_only && !sonde_rule_for(name)->on_request;
}

/* Marks the metrics and sections that are wanted. */
static void mark(const struct sonde_tree *t, const struct sonde_choice *c,
	const struct sonde_name_filter *metrics, const struct sonde_name_filter *sections,
	bool *wanted, bool *take)
{
	const struct sonde_records *r = t->launches->records;
	bool all = c->metrics.nr == 0 && c->sections.nr == 0;
	size_t i, k;

	for (i = 0; i < r->metrics.nr; i++)
		wanted[i] = all ? is_wanted(r->metrics.at[i].name, c->headline_only)
				: c->metrics.nr &&
					    sonde_name_filter_takes(metrics, r->metrics.at[i].name);
	for (i = 0; i < r->sections.nr; i++) {
		const struct sonde_section *s = &r->sections.at[i];

		take[i] = all ? !sonde_str_is(s->id, pseudo_section)
			      : c->sections.nr && sonde_name_filter_takes(sections, s->id);
		for (k = 0; take[i] && !all && k < s->metrics.nr; k++) {
			uint32_t m = sonde_map_find(
				&r->metric_names, sonde_records_str(r, s->metrics.at[k]));

			if (m != SONDE_NONE)
				wanted[m] = true;
		}
	}
}

int sonde_tree__choose(struct sonde_tree *t, const struct sonde_choice *c, struct sonde_err *err)
{
	const struct sonde_records *r = t->launches->records;
	struct sonde_name_filter *metrics = NULL, *sections = NULL;
	bool *wanted = sonde_calloc(r->metrics.nr, sizeof(*wanted));
	bool *take = sonde_calloc(r->sections.nr, sizeof(*take));
	int rc = wanted && take ? 0 : sonde_err_nomem(err);

	if (rc == 0)
		rc = sonde_name_filter_build(&metrics, c->metrics, err);
	if (rc == 0)
		rc = sonde_name_filter_build(&sections, c->sections, err);
	if (rc == 0)
		rc = check_words(t,
			&(struct wording){"metric", metrics, c->metrics, &r->metric_names,
				c->metrics_by_default},
			err);
	if (rc == 0)
		rc = check_words(t,
			&(struct wording){"section", sections, c->sections, &r->section_ids,
				c->sections_by_default},
			err);
	if (rc == 0) {
		mark(t, c, metrics, sections, wanted, take);
		rc = add_columns(t, wanted, err);
		mark_charts(t, c, metrics);
	}
	if (rc == 0)
		rc = add_sections(t, take, err);
	if (rc == 0)
		choose_headline(t, c, metrics);
	sonde_name_filter_free(metrics);
	sonde_name_filter_free(sections);
	sonde_free(wanted);
	sonde_free(take);
	return rc;
}
