/*
 * Explains why a report is empty or thin. This is decided over all inputs together, so that a
 * report of many captures and a report of their cells say the same.
 */
#include "attribute/regions.h"

#include "base/nearest.h"

#include <string.h>

const char *sonde_outside_key(enum sonde_outside o)
{
	static const char *const keys[] = {"no_range_open", "two_threads", "no_host_call"};

	return keys[o];
}

const char *sonde_outside_name(enum sonde_outside o)
{
	static const char *const names[] = {
		"no range open", "two threads have ranges open", "no host call in the trace"};

	return names[o];
}

size_t sonde_selection_nr_words(const struct sonde_selection *s)
{
	return s->nvtx_include.nr + s->nvtx_exclude.nr + s->kernel_include.nr +
	       s->kernel_exclude.nr;
}

void sonde_tally_add_function(struct sonde_tally *t, struct sonde_str name)
{
	size_t i;

	for (i = 0; i < t->nr_functions; i++)
		if (sonde_str_eq(t->functions[i], name))
			return;
	if (t->nr_functions < SONDE_MAX_FUNCTIONS)
		t->functions[t->nr_functions++] = name;
}

/* The label in an expression, without the domain, anchors and wildcards at the end. */
static struct sonde_str label_of(const char *expression)
{
	struct sonde_str rest, word = sonde_str_from(expression);

	sonde_str_cut(word, '@', &rest);
	word = rest.n ? rest : word;
	while (word.n && strchr("/]*", word.p[word.n - 1]))
		word.n--;
	while (word.n && word.p[0] == '[')
		word = (struct sonde_str){word.p + 1, word.n - 1};
	return word;
}

bool sonde_label_is_near(struct sonde_str label, const char *word)
{
	struct sonde_str want = label_of(word);
	const char *end = label.n > want.n + 2 ? label.p + label.n - want.n : NULL;
	size_t i;

	if (want.n && end && memcmp(end - 2, "::", 2) == 0 && memcmp(end, want.p, want.n) == 0)
		return true;
	for (i = 0; i < want.n && i < label.n && (want.p[i] | 0x20) == (label.p[i] | 0x20); i++)
		;
	if (i == want.n && i == label.n)
		return true;
	return sonde_nearest_is_short_for(want, label) || (want.n > 2 && sonde_str_distance(want, label, 2) <= (want.n > 3 ? 2 : 1));
}

/* Lists ids as a selection has them: there, start/end ranges have no mark of their own ("@@" at the end). */
static void list_regions(const struct sonde_emptiness *e, struct sonde_buf *out)
{
	size_t i;

	for (i = 0; i < e->nr_regions && i < 8; i++) {
		struct sonde_str id = e->regions[i].id;

		sonde_buf_puts(out, i ? ", " : "");
		id.n -= e->regions[i].kind == SONDE_REGION_START_END ? strlen("@@") : 0;
		sonde_buf_str(out, id);
	}
	if (i < e->nr_regions)
		sonde_buf_printf(out, " and %zu more", e->nr_regions - i);
}

/* Lists function names in the order of the capture: the names that a pattern could have matched. */
static void list_functions(const struct sonde_tally *t, struct sonde_buf *out)
{
	size_t i;

	for (i = 0; i < t->nr_functions && i < SONDE_MAX_FUNCTIONS - 1; i++)
		sonde_buf_printf(
			out, "%s%.*s", i ? ", " : "", SONDE_STR_ARG(t->functions[i]));
	sonde_buf_puts(out, i < t->nr_functions ? " and more" : "");
}

/* Says why the kernel selection leaves no launch. */
static void explain_kernels(const struct sonde_emptiness *e, struct sonde_notes *notes)
{
	bool has_ranges = e->selection->nvtx_include.nr || e->selection->nvtx_exclude.nr;
	struct sonde_buf names = {0};

	list_functions(e->tally, &names);
	sonde_note(notes, "%s; the kernels in this capture are: %s",
		has_ranges ? "no launch matches both the NVTX and the kernel selection"
		: e->selection->kernel_include.nr
			? "no launch matches the kernel selection (a whole name, one with * and "
			  "?, or regex:...)"
			: "the kernel selection excludes every launch",
		names.failed || !names.n ? "?" : names.p);
	sonde_buf_release(&names);
}

static void explain_emptiness(const struct sonde_emptiness *e, struct sonde_notes *notes)
{
	const struct sonde_selection *s = e->selection;
	const struct sonde_tally *t = e->tally;
	struct sonde_buf names = {0};

	if (!t->nr_launches && t->takes_range)
		; /* host times only: the line of coverage says so */
	else if (!t->nr_launches && !e->nr_regions)
		sonde_note(notes, "the capture contains no GPU work and no range");
	else if (!e->nr_regions)
		sonde_note(notes,
			"no NVTX range was open at any launch, so no launch is in a region%s "
			"(does the program push ranges on the thread that launches, and were "
			"they captured: ncu --nvtx, nsys --trace=nvtx, record_function?)",
			t->nr_outside ? "; see the table by kernel instead" : "");
	list_regions(e, &names);
	if (e->nr_regions && !t->takes_range && !names.failed)
		sonde_note(notes,
			"no %s matches the NVTX selection; the ranges in this capture are: %s",
			t->nr_launches ? "launch" : "range", names.p);
	else if (t->nr_launches && !t->nr_taken && !t->nr_outside &&
		 (s->kernel_include.nr || s->kernel_exclude.nr))
		explain_kernels(e, notes);
	sonde_buf_release(&names);
}

/* The only label near `word` (sonde_label_is_near); empty if there is none or several. */
static struct sonde_str near_label(const struct sonde_emptiness *e, const char *word)
{
	struct sonde_str near = {NULL, 0};
	size_t i;

	for (i = 0; i < e->nr_regions; i++) {
		struct sonde_str label = e->labels->keys[e->regions[i].label];

		if (!sonde_label_is_near(label, word))
			continue;
		if (near.n && !sonde_str_eq(near, label))
			return (struct sonde_str){NULL, 0};
		near = label;
	}
	return near;
}

static void note_ranges(const struct sonde_emptiness *e, const char *what, struct sonde_words words,
	const bool *is_matched, struct sonde_notes *notes)
{
	size_t i;

	for (i = 0; i < words.nr; i++) {
		struct sonde_str near;

		if (is_matched[i])
			continue;
		near = near_label(e, words.at[i]);
		sonde_note(notes, "NVTX %s '%s' matches no range%s%.*s%s", what, words.at[i],
			near.n ? ", did you mean '" : "", SONDE_STR_ARG(near), near.n ? "'?" : "");
	}
}

static size_t count_ranges(const struct sonde_emptiness *e)
{
	size_t i, nr = 0;

	for (i = 0; i < e->nr_scopes; i++)
		nr += e->scopes[i].measured != SONDE_MEASURED_KERNEL;
	return nr;
}

static void note_kernels(const struct sonde_emptiness *e, const char *what, struct sonde_words words,
	const bool *is_matched, struct sonde_notes *notes)
{
	bool has_kernels = count_ranges(e) < e->nr_scopes;
	size_t i;

	for (i = 0; i < words.nr; i++)
		if (!is_matched[i] && has_kernels)
			sonde_note(
				notes, "kernel %s '%s' matches no kernel", what, words.at[i]);
}

void sonde_emptiness_explain(const struct sonde_emptiness *e, struct sonde_notes *notes)
{
	const struct sonde_selection *s = e->selection;
	const struct sonde_tally *t = e->tally;
	const bool *is_matched = t->is_matched;

	explain_emptiness(e, notes);
	if (e->nr_regions)
		note_ranges(e, "include", s->nvtx_include, is_matched, notes);
	is_matched += s->nvtx_include.nr;
	if (e->nr_regions && !s->is_exclude_applied)
		note_ranges(e, "exclude", s->nvtx_exclude, is_matched, notes);
	is_matched += s->nvtx_exclude.nr;
	if (t->nr_taken && !s->is_kernels_applied) /* if no launch is taken at all, explain_emptiness says so */
		note_kernels(e, "include", s->kernel_include, is_matched, notes);
	is_matched += s->kernel_include.nr;
	if (t->nr_launches)
		note_kernels(e, "exclude", s->kernel_exclude, is_matched, notes);
	if (s->kernel_include.nr + s->kernel_exclude.nr && count_ranges(e))
		sonde_note(notes,
			"a replayed range is one result without kernels, so kernel filters do not change it; to filter "
			"its kernels, set pipeline.ncu.ncu_cli.kernel_name before capturing");
}
