/* What the reader of a report must know of how its figures were made. */
#include "tree/tree_int.h"

#include "ranks/ranks.h"

#include <string.h>

/* Which of the user's rules changed labels, and how many; the shipped ones do so to most traces. */
static void note_rules(struct sonde_tree *t)
{
	const struct sonde_words *words = &t->cells->selection.labels;
	const struct sonde_label_rule *rule;
	size_t i;

	if (words->nr == 1 && strcmp(words->at[0], "known") == 0)
		return;

	for (i = 0; i < t->cells->label_rules.nr; i++) {
		rule = &t->cells->label_rules.at[i];
		if (rule->changed)
			sonde_note(&t->notes, "report.labels: '%.*s' changed %llu %s",
				SONDE_STR_ARG(rule->text), (unsigned long long)rule->changed,
				rule->changed == 1 ? "label" : "labels");
	}
}

/* What the cells themselves are not sure of. */
void sonde_tree__note_doubts(struct sonde_tree *t)
{
	const struct sonde_cells *c = t->cells;

	if (t->is_mixed)
		sonde_note(&t->notes,
			"devices of different kinds: percentages in the aggregate are weighted "
			"by multiprocessors × elapsed cycles, an approximation; those of scopes are "
			"exact");
	if (c->nr_damaged)
		sonde_note_loss(&t->notes, "%.*s; what could be decoded of that result is reported",
			SONDE_STR_ARG(c->damage));
	if (c->nr_damaged > 1)
		sonde_note_loss(&t->notes,
			"%llu results have damaged metrics: copy the captures again, or make them "
			"again",
			(unsigned long long)c->nr_damaged);
	if (c->nr_unseen)
		sonde_note(&t->notes,
			"%llu launches were too rare to be timed within the budget: they are counted, "
			"as (not timed), and their time is missing",
			(unsigned long long)c->nr_unseen);
	if (c->nr_untimed &&
		sonde_map_find(&c->metric_names, SONDE_STR(SONDE_METRIC_TIME)) != SONDE_NONE)
		sonde_note(&t->notes,
			"%llu results have no " SONDE_METRIC_TIME
			" and count as 0 ns: capture that metric too",
			(unsigned long long)c->nr_untimed);
}

void sonde_tree__note_cells(struct sonde_tree *t)
{
	sonde_notes_add(&t->notes, &t->cells->notes);
	note_rules(t);
	sonde_cells_explain(t->cells, &t->notes);
}

void sonde_tree__note_ways(struct sonde_tree *t, const bool *has)
{
	if (has[SONDE_MEASURED_KERNEL] &&
		(has[SONDE_MEASURED_RANGE] || has[SONDE_MEASURED_APP_RANGE]))
		sonde_note(&t->notes,
			"the inputs contain kernel results and replayed ranges; they answer "
			"different questions and are reported side by side, never summed");
	if (has[SONDE_MEASURED_RANGE] && has[SONDE_MEASURED_APP_RANGE])
		sonde_note(&t->notes, "the inputs contain ranges of range replay and of app-range "
				      "replay; they measure the same ranges differently and are "
				      "reported side by side, never summed");
}

/* Kernels of several tools are added up, as those of several ranks are; the reader must know. */
void sonde_tree__note_modes(struct sonde_tree *t)
{
	const struct sonde_cells *l = t->cells;
	struct sonde_str first = {NULL, 0}, mode;
	size_t i;

	for (i = 0; i < l->scopes.nr; i++) {
		const struct sonde_scope *s = &l->scopes.at[i];

		mode = l->inputs.at[l->processes.at[s->process].input].replay_mode;
		if (s->measured != SONDE_MEASURED_KERNEL || !mode.n)
			continue;
		if (first.n && !sonde_str_eq(first, mode)) {
			sonde_note(&t->notes,
				"the aggregate adds up captures made in different ways (%.*s, "
				"%.*s): if "
				"they are of the same work, look at the scopes instead",
				SONDE_STR_ARG(first), SONDE_STR_ARG(mode));
			return;
		}
		first = mode;
	}
}

/* Moments of different clocks are compared only where there are collectives. */
void sonde_tree__note_clocks(struct sonde_tree *t)
{
	struct sonde_buf line = {0};

	if (t->ranks && t->cells->has_times)
		sonde_clocks_say(&line, t->ranks);
	if (line.n && !line.failed)
		sonde_note(&t->notes, "%.*s", SONDE_STR_ARG(sonde_buf_view(&line)));
	sonde_buf_release(&line);
}
