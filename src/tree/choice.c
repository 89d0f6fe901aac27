/* Which metrics and sections a report shows: fold/choice.h says how they are chosen. */
#include "base/alloc.h"
#include "base/glob.h"
#include "fold/sampled.h"
#include "tree/tree_int.h"

#include <stdlib.h>

static int by_column_name(const void *a, const void *b)
{
	return sonde_str_cmp(
		((const struct sonde_column *)a)->name, ((const struct sonde_column *)b)->name);
}

static bool add_columns(struct sonde_tree *t, const bool *wanted)
{
	const struct sonde_map *names = &t->cells->metric_names;
	uint32_t i;

	for (i = 0; i < names->nr; i++)
		if (wanted[i] && (!sonde_rollups_add(t->rollups, i) ||
					 !sonde_vec_put(&t->columns,
						 (struct sonde_column){.metric = i,
							 .sampled = SONDE_NONE,
							 .name = names->keys[i],
							 .unit = sonde_metric_unit(names->keys[i])})))
			return false;
	return true;
}

static bool is_sampled_wanted(const struct sonde_choice *choice,
	const struct sonde_name_filter *metrics, struct sonde_str name)
{
	if (choice->takes_all)
		return true;
	if (choice->metrics.nr && !choice->metrics_by_default &&
		sonde_name_filter_takes(metrics, name))
		return true;
	if (choice->metrics.nr && !choice->metrics_by_default && !choice->adds_default)
		return false;
	if (choice->sections.nr && !choice->sections_by_default)
		return false;
	return !choice->headline_only || sonde_choice_is_brief(name);
}

/* A sampled metric shares the column of the same metric of other inputs, or gets its own. */
static bool add_sampled(struct sonde_tree *t, const struct sonde_choice *choice,
	const struct sonde_name_filter *metrics)
{
	size_t i, k, nr = t->columns.nr;

	for (i = 0; i < sonde_sampled_nr_metrics(t->cells); i++) {
		struct sonde_column c = {.metric = SONDE_NONE,
			.sampled = (uint32_t)i,
			.name = sonde_str_from(sonde_sampled_metric_of(t->cells, i).name)};

		if (!sonde_sampled_is_there(t->cells, i) ||
			!is_sampled_wanted(choice, metrics, c.name))
			continue;
		for (k = 0; k < nr && !sonde_str_eq(t->columns.at[k].name, c.name); k++)
			;
		c.unit = sonde_metric_unit(c.name);
		if (k < nr)
			t->columns.at[k].sampled = c.sampled;
		else if (!sonde_vec_put(&t->columns, c))
			return false;
	}
	sonde_tree_sort_columns(t);
	return true;
}

/* Arrays that ncu draws as charts or beside each instruction: a single figure, their sum, means nothing. */
static bool is_array(struct sonde_str metric)
{
	static const char *const patterns[] = {"derived__pct_occupancy_per_*", "derived_tempMetric*",
		"derived__avg_thread_*", "derived__derivative_avg_thread_*", "derived__memory_*_nway"};
	size_t i;

	for (i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		if (sonde_str_glob(metric, sonde_str_from(patterns[i])))
			return true;
	return false;
}

static void mark_charts(
	struct sonde_tree *t, const struct sonde_choice *c, const struct sonde_name_filter *metrics)
{
	size_t i;

	for (i = 0; i < t->columns.nr; i++) {
		struct sonde_column *column = &t->columns.at[i];
		bool is_named = c->metrics.nr && sonde_name_filter_takes(metrics, column->name);

		column->is_chart = !is_named && is_array(column->name);
	}
}

void sonde_tree_sort_columns(struct sonde_tree *t)
{
	sonde_vec_sort(&t->columns, by_column_name);
}

uint32_t sonde_tree_column(const struct sonde_tree *t, struct sonde_str name)
{
	struct sonde_column key = {.name = name}, *c;

	if (!t->columns.nr)
		return SONDE_NONE;
	c = bsearch(&key, t->columns.at, t->columns.nr, sizeof(key), by_column_name);
	return c ? (uint32_t)(c - t->columns.at) : SONDE_NONE;
}

uint32_t sonde_tree_role(const struct sonde_tree *t, enum sonde_metric_role role)
{
	const struct sonde_role_metric *m = sonde_metric_roles[role].at;
	uint32_t column = SONDE_NONE;
	size_t i;

	for (i = 0; i < SONDE_ROLE_METRICS && m[i].name && column == SONDE_NONE; i++)
		column = sonde_tree_column(t, sonde_str_from(m[i].name));
	return column;
}

/* Adds the sections that `take` marks, with those of their metrics that have a column. */
static bool add_sections(struct sonde_tree *t, const bool *take)
{
	const struct sonde_cells *c = t->cells;
	struct sonde_chosen_section *s;
	size_t i, k;

	for (i = 0; i < c->sections.nr; i++) {
		const struct sonde_section *from = &c->sections.at[i];

		if (!take[i])
			continue;
		s = sonde_vec_push(&t->sections);
		if (!s)
			return false;
		s->id = from->id;
		s->name = from->name;
		for (k = 0; k < from->metrics.nr; k++) {
			uint32_t column = sonde_tree_column(t, sonde_cells_str(c, from->metrics.at[k]));

			if (column != SONDE_NONE && !sonde_vec_put(&s->columns, column))
				return false;
		}
	}
	return true;
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

/* Adds the metrics that one word of the user matches. Sums come first, because a pattern may match more than fit. */
static void add_word(struct sonde_tree *t, const struct sonde_name_filter *f, size_t word)
{
	size_t i, pass;

	for (pass = 0; pass < 2; pass++)
		for (i = 0; i < t->columns.nr; i++) {
			struct sonde_str name = t->columns.at[i].name;

			if (sonde_str_ends(name, ".sum") == (pass == 0) &&
				sonde_name_filter_word_takes(f, word, name) &&
				!sonde_str_is(name, SONDE_METRIC_TIME))
				add_headline(t, (uint32_t)i);
		}
}

/* The chosen metrics in the user's order; without a choice the usual ones that the capture has. */
static void choose_headline(
	struct sonde_tree *t, const struct sonde_choice *c, const struct sonde_name_filter *f)
{
	bool is_chosen = c->metrics.nr && !c->metrics_by_default;
	bool has_usual = !is_chosen || c->takes_all || c->adds_default;
	size_t i;

	for (i = 0; i < c->metrics.nr && is_chosen; i++)
		add_word(t, f, i);
	for (i = 0; i < SONDE_NR_ROLES && has_usual; i++)
		if (sonde_metric_roles[i].is_headline && sonde_tree_role(t, i) != SONDE_NONE)
			add_headline(t, sonde_tree_role(t, i));
}

/* Finds the metrics that figures can be made of: a partial report keeps only what was chosen for it. */
static void find_kept(const struct sonde_cells *c, bool *is_kept)
{
	size_t i, k;

	for (k = 0; k < c->kits.nr; k++)
		for (i = 0; i < c->metric_names.nr; i++)
			is_kept[i] |= c->kits.at[k].at[i] != SONDE_NONE;
}

/* Notes metrics that one input was folded without, although it has them and others were folded with them. */
static void note_gaps(struct sonde_tree *t)
{
	const struct sonde_cells *c = t->cells;
	size_t i, k;

	for (k = 0; k < c->kits.nr; k++) {
		const struct sonde_input *in = &c->inputs.at[c->kits.at[k].input];

		for (i = 0; i < t->columns.nr; i++) {
			uint32_t metric = t->columns.at[i].metric;

			if (metric == SONDE_NONE || !sonde_input_has(in, metric) ||
				c->kits.at[k].at[metric] != SONDE_NONE)
				continue;
			sonde_note(&t->notes,
				"%.*s was folded without %.*s, which other inputs have: figures of this "
				"metric lack its launches; fold all inputs with the same "
				"--metrics and --sections",
				SONDE_STR_ARG(in->path), SONDE_STR_ARG(t->columns.at[i].name));
			break;
		}
	}
}

static int mark_defaults(
	struct sonde_tree *t, const struct sonde_offer *offer, struct sonde_err *err)
{
	const struct sonde_choice none = {0};
	bool *is_default = sonde_calloc(offer->metrics->nr + 1, sizeof(*is_default));
	int rc = is_default ? sonde_choice_mark(&none, offer, is_default, NULL, err)
			    : sonde_err_nomem(err);
	size_t i;

	for (i = 0; i < t->columns.nr && rc == 0; i++) {
		uint32_t metric = t->columns.at[i].metric;

		t->columns.at[i].is_default = metric == SONDE_NONE || is_default[metric];
	}
	sonde_free(is_default);
	return rc;
}

/* The words of the choice, and the names that they may match. */
struct choosing {
	const struct sonde_choice *choice;
	struct sonde_name_filter *metrics, *sections;
	struct sonde_map section_ids;
	struct sonde_map names; /* all names that words may match: the capture's metrics, then sampled ones */
	bool *is_kept, *wanted, *take;
	bool *is_shown; /* by name: figures can be made of it */
	struct sonde_arena arena;
};

/* Sampled metrics belong to no launch, so the capture's list does not contain them. */
static bool list_names(struct choosing *x, const struct sonde_cells *c)
{
	size_t i;

	x->is_shown = sonde_arena_calloc(&x->arena,
		c->metric_names.nr + sonde_sampled_nr_metrics(c) + 1, sizeof(*x->is_shown));
	for (i = 0; x->is_shown && i < c->metric_names.nr; i++) {
		if (sonde_map_add(&x->names, c->metric_names.keys[i], NULL) == SONDE_NONE)
			return false;
		x->is_shown[i] = x->is_kept[i];
	}
	for (i = 0; x->is_shown && i < sonde_sampled_nr_metrics(c); i++) {
		uint32_t name;

		if (!sonde_sampled_is_there(c, i))
			continue;
		name = sonde_map_add(
			&x->names, sonde_str_from(sonde_sampled_metric_of(c, i).name), NULL);
		if (name == SONDE_NONE)
			return false;
		x->is_shown[name] = true;
	}
	return x->is_shown != NULL;
}

static int begin_choosing(struct choosing *x, const struct sonde_tree *t, struct sonde_err *err)
{
	const struct sonde_cells *c = t->cells;
	const struct sonde_choice *choice = x->choice;
	size_t i;
	int rc;

	x->is_kept = sonde_arena_calloc(&x->arena, c->metric_names.nr + 1, sizeof(*x->is_kept));
	x->wanted = sonde_arena_calloc(&x->arena, c->metric_names.nr + 1, sizeof(*x->wanted));
	x->take = sonde_arena_calloc(&x->arena, c->sections.nr + 1, sizeof(*x->take));
	rc = x->arena.failed ? sonde_err_nomem(err) : 0;
	for (i = 0; i < c->sections.nr && rc == 0; i++)
		if (sonde_map_add(&x->section_ids, c->sections.at[i].id, NULL) == SONDE_NONE)
			rc = sonde_err_nomem(err);
	if (rc == 0)
		rc = sonde_name_filter_build(&x->metrics, choice->metrics, err);
	if (rc == 0)
		rc = sonde_name_filter_build(&x->sections, choice->sections, err);
	if (rc == 0) {
		find_kept(c, x->is_kept);
		rc = list_names(x, c) ? 0 : sonde_err_nomem(err);
	}
	return rc;
}

/* Each word of the choice must match a metric or section. If one does not, the message suggests similar names. */

/* One kind of words to check: metrics or sections. */
struct wording {
	const char *what;
	const struct sonde_name_filter *filter;
	struct sonde_words words;
	const struct sonde_map *names; /* names in the capture */
	const bool *is_kept;	       /* by name: figures can be made of it; NULL = of all names */
	bool by_default;
};

/* Appends up to three names that are similar to `word`. */
static void suggest_names(struct sonde_buf *out, struct sonde_str word, const struct sonde_map *names)
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
			d = max; /* the name begins with the word */
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

/* A word that matches nothing: an error if the user typed it, a note if a default did. */
static int refuse_unknown(struct sonde_tree *t, const struct wording *w, const char *word,
	struct sonde_err *err)
{
	const struct sonde_map *names = w->names;
	const char *what = w->what;
	struct sonde_buf b = {0};
	size_t i;
	int rc = 0;

	sonde_buf_printf(&b, "%s '%s' is not in the capture", what, word);
	suggest_names(&b, sonde_str_from(word), names);
	if (names->nr == 0) {
		sonde_buf_printf(&b, "; it has no %ss", what);
	} else if (names->nr <= 12) {
		sonde_buf_puts(&b, "; it has: ");
		for (i = 0; i < names->nr; i++) {
			sonde_buf_puts(&b, i ? ", " : "");
			sonde_buf_str(&b, names->keys[i]);
		}
	} else {
		sonde_buf_printf(&b, "; it has %zu %ss (sonde report %s lists them)", names->nr,
			what, what[0] == 'm' ? "--list-metrics" : "--format json");
	}
	if (w->by_default)
		sonde_note(&t->notes, "%s", b.failed ? what : b.p);
	else
		rc = sonde_err_set(err, SONDE_ERR_USAGE, "%s", b.failed ? what : b.p);
	sonde_buf_release(&b);
	return rc;
}

/* The word matches a metric that was captured, but the partial report did not keep it. */
static int refuse_left_out(struct sonde_tree *t, const struct wording *w, const char *word,
	struct sonde_err *err)
{
	static const char text[] = "%s '%s' was left out when a partial report was made; make the partial "
				   "report again with --metrics, or report from the capture";

	if (!w->by_default)
		return sonde_err_set(err, SONDE_ERR_USAGE, text, w->what, word);
	sonde_note(&t->notes, text, w->what, word);
	return 0;
}

static int check_word(
	struct sonde_tree *t, const struct wording *w, size_t word, struct sonde_err *err)
{
	bool is_captured = false;
	size_t i;

	for (i = 0; i < w->names->nr; i++) {
		if (!sonde_name_filter_word_takes(w->filter, word, w->names->keys[i]))
			continue;
		if (!w->is_kept || w->is_kept[i])
			return 0;
		is_captured = true;
	}
	return (is_captured ? refuse_left_out : refuse_unknown)(t, w, w->words.at[word], err);
}

static int check_words(
	struct sonde_tree *t, const struct wording *w, struct sonde_err *err)
{
	size_t i;
	int rc = 0;

	for (i = 0; i < w->words.nr && rc == 0; i++)
		rc = check_word(t, w, i, err);
	return rc;
}

static int choose_columns(struct choosing *x, struct sonde_tree *t, struct sonde_err *err)
{
	const struct sonde_cells *c = t->cells;
	const struct sonde_choice *choice = x->choice;
	const struct wording metrics = {"metric", x->metrics, choice->metrics, &x->names,
		x->is_shown, choice->metrics_by_default};
	const struct wording sections = {"section", x->sections, choice->sections, &x->section_ids,
		NULL, choice->sections_by_default};
	const struct sonde_offer offer = {
		&c->metric_names, c->sections.at, c->sections.nr, &c->strings, false};
	size_t i;
	int rc = check_words(t, &metrics, err);

	if (rc == 0)
		rc = check_words(t, &sections, err);
	if (rc == 0)
		rc = sonde_choice_mark(choice, &offer, x->wanted, x->take, err);
	t->choice = *choice;
	for (i = 0; i < c->metric_names.nr; i++) {
		t->nr_left_out += !x->wanted[i];
		x->wanted[i] &= x->is_kept[i];
	}
	if (rc == 0 && (!add_columns(t, x->wanted) || !add_sampled(t, choice, x->metrics) ||
			       !add_sections(t, x->take)))
		rc = sonde_err_nomem(err);
	if (rc == 0)
		rc = mark_defaults(t, &offer, err);
	if (rc)
		return rc;
	note_gaps(t);
	mark_charts(t, choice, x->metrics);
	choose_headline(t, choice, x->metrics);
	return 0;
}

int sonde_tree__choose(
	struct sonde_tree *t, const struct sonde_choice *choice, struct sonde_err *err)
{
	struct choosing x = {.choice = choice};
	int rc = begin_choosing(&x, t, err);

	if (rc == 0)
		rc = choose_columns(&x, t, err);
	sonde_name_filter_free(x.metrics);
	sonde_name_filter_free(x.sections);
	sonde_map_release(&x.section_ids);
	sonde_map_release(&x.names);
	sonde_arena_release(&x.arena);
	return rc;
}
