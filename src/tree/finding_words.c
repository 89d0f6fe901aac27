/*
 * The words of findings: names of regions, what to do and what to run next, costs and gains in sentences.
 */
#include "tree/findings_int.h"

#include "base/argv.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#define LONG_LABEL 40 /* bytes; longer labels of the step are cut, because each sentence has them */
#define MUCH_LONGER 1.05 /* times longer: two times of the step are not one time measured twice */

static struct sonde_str keep_text(struct sonde_finder *x, struct sonde_buf *line)
{
	struct sonde_str kept = sonde_arena_dup(&x->out->arena, sonde_buf_view(line));

	x->failed |= line->failed || x->out->arena.failed;
	sonde_buf_clear(line);
	return kept;
}

void sonde_finder__keep(struct sonde_finder *x, struct sonde_finding *to, struct sonde_buf *line)
{
	to->says = keep_text(x, line);
	sonde_buf_release(line);
}

/* --- names --------------------------------------------------------------------------------------- */

static void put_labels(struct sonde_buf *out, const struct sonde_tree *t, uint32_t region)
{
	const struct sonde_region *g = &t->cells->regions.at[region];

	if (g->parent != SONDE_NONE) {
		put_labels(out, t, g->parent);
		sonde_buf_putc(out, '/');
	} else if (g->domain != SONDE_NONE) {
		sonde_buf_str(out, sonde_cells_str(t->cells, g->domain));
		sonde_buf_putc(out, '@');
	}
	sonde_buf_str(out, sonde_cells_str(t->cells, g->label));
}

void sonde_node_say(struct sonde_buf *out, const struct sonde_tree *t, const struct sonde_node *n)
{
	size_t before = out->n;

	put_labels(out, t, n->region);
	if (out->n == before)
		sonde_buf_puts(out, "the region without a name");
	sonde_buf_puts(out, sonde_region_kind_mark(sonde_node_region(t, n)->kind));
}

void sonde_finder__name_entry(struct sonde_finder *x)
{
	struct sonde_str label = x->out->step == SONDE_NONE ? SONDE_STR("") : sonde_node_label(x->t, &x->r->nodes.at[x->out->step]);
	size_t i, nr = label.n > LONG_LABEL ? LONG_LABEL : label.n;
	struct sonde_buf line = {0};
	bool is_step = !label.n;

	for (i = 0; i + 4 <= label.n; i++)
		is_step |= strncasecmp(&label.p[i], "step", 4) == 0;
	while (nr < label.n && nr && (label.p[nr] & 0xc0) == 0x80)
		nr--;
	sonde_buf_puts(&line, is_step ? "each step" : "each entry of ");
	sonde_buf_str(&line, is_step ? SONDE_STR("") : (struct sonde_str){label.p, nr});
	sonde_buf_puts(&line, !is_step && nr < label.n ? "..." : "");
	x->out->each = keep_text(x, &line);
	sonde_buf_release(&line);
}

/* --- what to do ---------------------------------------------------------------------------------- */

/*
 * The next word of a label: letters up to the next sign, digit or hump ("DataLoader" has two words). Returns false at
 * the end.
 */
static bool next_word(struct sonde_str label, size_t *at, struct sonde_str *word)
{
	size_t i = *at, from;

	while (i < label.n && !isalpha((unsigned char)label.p[i]))
		i++;
	for (from = i; i < label.n && isalpha((unsigned char)label.p[i]); i++)
		if (i > from && islower((unsigned char)label.p[i - 1]) && isupper((unsigned char)label.p[i]))
			break;
	*at = i;
	if (i > from)
		*word = (struct sonde_str){&label.p[from], i - from};
	return i > from;
}

static bool is_word(struct sonde_str word, const char *of)
{
	return word.n == strlen(of) && strncasecmp(word.p, of, word.n) == 0;
}

/*
 * Whether the words of a label are about loading data: "DataLoader", "load_batch", "fetch". A batch is loaded only if the
 * label ends with it ("next batch"), because labels tell its size ("decode batch 4") and modules are named after it.
 */
static bool says_loading(struct sonde_str label)
{
	static const char *const words[] = {"data", "dataloader", "dataset", "load", "loader", "loading", "fetch", "prefetch"};
	struct sonde_str word = {NULL, 0};
	size_t i = 0, k;

	while (next_word(label, &i, &word))
		for (k = 0; k < sizeof(words) / sizeof(*words); k++)
			if (is_word(word, words[k]))
				return true;
	return word.n && word.p + word.n == label.p + label.n && (is_word(word, "batch") || is_word(word, "batches"));
}

/* Whether a region or one around it, up to the step, loads data. */
static bool is_loading(const struct sonde_finder *x, uint32_t node)
{
	for (; node != SONDE_NONE && node != x->out->step; node = x->r->nodes.at[node].parent)
		if (says_loading(sonde_node_label(x->t, &x->r->nodes.at[node])))
			return true;
	return false;
}

/* Whether the user chose metrics, so that the report may have fewer than the capture. */
static bool has_chosen_metrics(const struct sonde_tree *t)
{
	const struct sonde_choice *c = &t->choice;

	return (c->metrics.nr && !c->metrics_by_default) || (c->sections.nr && !c->sections_by_default);
}

bool sonde_finder__lacks_calls(const struct sonde_finder *x)
{
	const struct sonde_tally *t = &x->t->cells->tally;

	return 2 * t->nr_outside_by[SONDE_OUTSIDE_NO_CALL] > t->nr_outside;
}

static bool has_memory(const struct sonde_finder *x)
{
	uint32_t i;

	for (i = 0; i < x->r->nodes.nr; i++)
		if (!isnan(x->r->nodes.at[i].times.memory.allocated))
			return true;
	return false;
}

static const char *choose_action(const struct sonde_finder *x, const struct sonde_finding *f)
{
	const struct sonde_cause_row *row = &sonde_causes[f->cause];

	if (f->cause == SONDE_CAUSE_UNLIMITED && has_chosen_metrics(x->t))
		return "leave out --metrics and --sections: what limits it is not among the metrics that were chosen";
	if (f->cause == SONDE_CAUSE_OUTSIDE && sonde_finder__lacks_calls(x))
		return "begin the recording before the program launches this work: with a warm-up step of the profiler, or `sonde run`";
	if (!x->is_torch)
		return row->action;
	return row->loading && is_loading(x, f->node) ? row->loading : row->torch ? row->torch : row->action;
}

/* The command that shows more. If Nsight Compute's counters have named the limiter, nobody needs to capture them again. */
static const char *choose_next(const struct sonde_finder *x, const struct sonde_finding *f)
{
	const struct sonde_cells *c = x->t->cells;
	size_t i;

	if (f->cause == SONDE_CAUSE_UNLIMITED && has_chosen_metrics(x->t))
		return "sonde report RUN";
	if (f->cause == SONDE_CAUSE_UNLIMITED || f->cause == SONDE_CAUSE_MEMORY || f->cause == SONDE_CAUSE_COMPUTE)
		return sonde_causes[f->cause].next;
	if (f->cause == SONDE_CAUSE_OUTSIDE && sonde_finder__lacks_calls(x))
		return "sonde report RUN --flat";
	if (f->cause == SONDE_CAUSE_ALLOC && !has_memory(x))
		return sonde_causes[SONDE_CAUSE_LAUNCH].next; /* --idle */
	for (i = 0; f->kernel != SONDE_NONE && i < c->inputs.nr; i++)
		if (sonde_str_starts(c->inputs.at[i].source, "ncu"))
			return c->stalls.nr ? "sonde report RUN --stalls" : "sonde report RUN --max-kernels 5";
	return sonde_causes[f->cause].next;
}

void sonde_finder__fill_texts(struct sonde_finder *x, struct sonde_finding *f)
{
	const struct sonde_cause_row *row = &sonde_causes[f->cause];
	struct sonde_str id = SONDE_STR(""), kernel = SONDE_STR("");
	struct sonde_buf line = {0};

	if (f->node != SONDE_NONE) {
		id = sonde_node_region(x->t, &x->r->nodes.at[f->node])->id;
		sonde_node_say(&line, x->t, &x->r->nodes.at[f->node]);
		f->where = keep_text(x, &line);
	} else {
		f->where = SONDE_STR("outside any range");
	}
	if (f->kernel != SONDE_NONE)
		kernel = sonde_tree_short_name(x->t, f->kernel);
	f->action = sonde_str_from(choose_action(x, f));
	sonde_cause_fill(&line, choose_next(x, f), id, kernel);
	f->next = keep_text(x, &line);
	if (row->change) {
		sonde_cause_fill(&line, row->change, id, kernel);
		f->change = keep_text(x, &line);
	}
	if (f->change.n) {
		sonde_buf_puts(&line, "run `sonde whatif RUN ");
		sonde_argv_show_word(&line, f->change);
		sonde_buf_puts(&line, "` to estimate it");
	} else {
		sonde_buf_puts(&line, f->cause == SONDE_CAUSE_UNLIMITED ? "it depends on what limits the kernel" : "sonde cannot replay such a change");
	}
	f->gain.why = keep_text(x, &line);
	sonde_buf_release(&line);
}

/* --- costs and gains ----------------------------------------------------------------------------- */

void sonde_finder__say_cost(const struct sonde_finder *x, struct sonde_buf *line, const struct sonde_finding *of)
{
	const struct sonde_findings *f = x->out;
	const char *selected = f->is_selected_time ? "the selected " : "";

	if (of->is_in_step)
		sonde_buf_printf(line, "%.3f of %s%.3f ms of %.*s (%.0f%%)", of->step_ns / 1e6, selected,
			x->top_ns / (double)f->nr_entries / 1e6, SONDE_STR_ARG(f->each), 100 * of->share);
	else
		sonde_buf_printf(line, "%.3f of %s%.3f ms %s (%.0f%%)", of->run_ns / 1e6, selected, f->run_ns / 1e6,
			f->is_gpu_time ? "of GPU time" : "in ranges", 100 * of->share);
	if (x->top == x->out->step && x->top != SONDE_NONE && !of->is_in_step)
		sonde_buf_printf(line, ", mostly in %llu of %llu entries", (unsigned long long)x->nr_left_out, (unsigned long long)x->out->nr_entries);
}

/* Rounds to three digits of a ms. `+ 0.0` turns -0 into 0, so that a tiny loss has no sign. */
static double in_ms(double ns)
{
	return round(ns / 1e3) / 1e3 + 0.0;
}

/* The change as a word of a command. */
static void put_change(struct sonde_buf *out, const struct sonde_finding *of)
{
	sonde_buf_puts(out, " (");
	sonde_argv_show_word(out, of->change);
	sonde_buf_putc(out, ')');
}

/* Whether the change saves more than its cause costs in the step. */
static bool saves_other(const struct sonde_finding *of)
{
	return in_ms(of->gain.ns) > in_ms(of->step_ns);
}

bool sonde_finding_gains_between(const struct sonde_findings *f, const struct sonde_finding *of)
{
	return of->gain.of_ns > MUCH_LONGER * (f->step_ns + f->between_ns);
}

/* "5.566 ms of each step", or "5.566 ms from one step to the next". */
static void put_replayed_time(struct sonde_buf *out, const struct sonde_findings *f, const struct sonde_finding *of)
{
	bool is_apart = sonde_finding_gains_between(f, of);
	struct sonde_str one = f->each; /* "each ..." */

	one.p += strlen("each");
	one.n -= strlen("each");
	sonde_buf_printf(out, "%.3f ms %s%.*s%s", in_ms(of->gain.of_ns), is_apart ? "from one" : "of each", SONDE_STR_ARG(one),
		is_apart ? " to the next" : "");
}

void sonde_finding_say_gain(struct sonde_buf *out, const struct sonde_findings *f, const struct sonde_finding *of, bool names_change)
{
	const struct sonde_gain *g = &of->gain;

	if (isnan(g->ns)) {
		sonde_buf_printf(out, "not known: %.*s", SONDE_STR_ARG(of->gain.why));
		return;
	}
	if (sonde_finding_gains_nothing(of)) {
		sonde_buf_printf(out, "this change alone saves nothing (%.3f to %.3f ms of %.*s), which then waits for something else: %.*s",
			in_ms(g->low_ns), in_ms(g->high_ns), SONDE_STR_ARG(f->each), SONDE_STR_ARG(of->gain.why));
		if (names_change)
			put_change(out, of);
		return;
	}
	sonde_buf_printf(out, "saves %s%.3f of ", g->is_most ? "at most " : "", in_ms(g->ns));
	put_replayed_time(out, f, of);
	sonde_buf_printf(out, ", %.0f%% (%.3f to %.3f): %.*s", 100 * g->ns / g->of_ns, in_ms(g->low_ns), in_ms(g->high_ns),
		SONDE_STR_ARG(of->gain.why));
	if (names_change)
		put_change(out, of);
	if (saves_other(of))
		sonde_buf_puts(out, g->ns > 2 * of->step_ns ? ". Most of that is time with other causes, which the change saves, too"
							     : ". The change saves other time, too");
}
