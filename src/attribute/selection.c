/*
 * The selection: which launches count, and which regions are shown.
 *
 * NVTX expressions match places, that is the stacks as they really were; kernel patterns
 * match names. Each distinct place and each distinct function is decided once.
 */
#include "attribute/launches_int.h"

#include "base/alloc.h"

/* What an NVTX filter takes. */
struct taken {
	struct sonde_arena arena;
	bool *takes; /* whether it takes launches in each place, then whether it takes entries of each stack */
	/* Scratch memory: the stacks of one place as the filter reads them. */
	SONDE_VEC(struct sonde_open_stack) stacks;
	SONDE_VEC(struct sonde_open_start) starts;
	SONDE_VEC(struct sonde_str) labels;
};

static void view_stack(const struct sonde_build *b, struct taken *v, uint32_t stack)
{
	const struct sonde_stack *s = &b->stacks.at[stack];
	struct sonde_str domain = s->domain == SONDE_NONE ? (struct sonde_str){NULL, 0}
							  : sonde_records_str(b->r, s->domain);
	size_t nr = 0, i;
	uint32_t up;

	if (s->kind == SONDE_START_END) {
		sonde_put(&v->arena, &v->starts, (struct sonde_open_start){domain, b->l->labels.keys[s->label]});
		return;
	}
	for (up = stack; up != SONDE_NONE; up = b->stacks.at[up].parent)
		nr++;
	sonde_put(&v->arena, &v->stacks, (struct sonde_open_stack){domain, NULL, nr});
	if (!sonde_reserve(&v->arena, &v->labels, v->labels.nr + nr))
		return;
	for (up = stack, i = nr; i-- > 0; up = b->stacks.at[up].parent)
		v->labels.at[v->labels.nr + i] = b->l->labels.keys[b->stacks.at[up].label];
	v->labels.nr += nr;
}

/* Whether the filter takes a launch with these stacks open. */
static bool takes_stacks(const struct sonde_build *b, struct taken *v, const uint32_t *stacks, size_t nr,
	const struct sonde_nvtx_filter *filter)
{
	struct sonde_open_ranges open;
	size_t i, at = 0;

	v->stacks.nr = v->starts.nr = v->labels.nr = 0;
	for (i = 0; i < nr; i++)
		view_stack(b, v, stacks[i]);
	if (v->arena.failed) /* labels may be missing */
		return false;
	for (i = 0; i < v->stacks.nr; i++) { /* done last: view_stack may move the labels when it adds some */
		v->stacks.at[i].labels = &v->labels.at[at];
		at += v->stacks.at[i].nr;
	}
	open = (struct sonde_open_ranges){v->stacks.at, v->stacks.nr, v->starts.at, v->starts.nr};
	return sonde_nvtx_filter_takes(filter, &open);
}

static void show_region(struct sonde_launches *l, uint32_t region)
{
	for (; region != SONDE_NONE && !l->regions.at[region].is_shown;
		region = l->regions.at[region].parent)
		l->regions.at[region].is_shown = true;
}

/*
 * Ranges without launches, from the source or from selection.known, are regions too. They are
 * selected by their own stack alone, as if no other range were open.
 */
static void decide_entered(const struct sonde_build *b, struct taken *v, const struct sonde_nvtx_filter *filter)
{
	bool *is_done = sonde_arena_calloc(&v->arena, b->stacks.nr, sizeof(*is_done));
	bool *takes = v->takes + b->l->places.nr;
	size_t i;

	for (i = 0; i < b->known.nr; i++)
		takes[b->known.at[i].stack] = takes_stacks(b, v, &b->known.at[i].stack, 1, filter);
	for (i = 0; is_done && i < b->r->ranges.nr; i++) {
		uint32_t stack = b->stack_of[i];

		if (is_done[stack] || !b->r->ranges.at[i].time.begin_ns)
			continue;
		is_done[stack] = true;
		takes[stack] = takes_stacks(b, v, &stack, 1, filter);
	}
}

/* The number of verdicts in `takes`. */
static size_t nr_verdicts(const struct sonde_build *b)
{
	return b->l->places.nr + b->stacks.nr;
}

/* Fills `v`, which is all zero at first; the caller releases its arena. */
static int decide_places(const struct sonde_build *b, struct taken *v, const struct sonde_nvtx_filter *filter,
	struct sonde_err *err)
{
	uint32_t i;

	v->takes = sonde_arena_calloc(&v->arena, nr_verdicts(b), sizeof(*v->takes));
	if (sonde_arena_status(&v->arena, err))
		return SONDE_ERR_NOMEM;
	for (i = 0; i < b->l->places.nr; i++) {
		const struct sonde_place *raw = &b->raw.at[i];
		const uint32_t *stacks = raw->nr ? &b->raw_stacks.at[raw->first] : NULL;

		v->takes[i] = takes_stacks(b, v, stacks, raw->nr, filter);
	}
	decide_entered(b, v, filter);
	return sonde_arena_status(&v->arena, err);
}

/* Verdicts of the kernel filter. Replayed ranges have no kernels and are not filtered. */
struct verdicts {
	struct sonde_name_filter *filter;
	uint8_t *of; /* by function: 0 = not decided yet, 1 = not taken, 2 = taken */
};

static bool takes_kernel(
	const struct sonde_build *b, struct verdicts *v, const struct sonde_record *rec)
{
	const struct sonde_function *f = sonde_record_function(b->r, rec);
	uint8_t *known = &v->of[rec->function];

	if (!*known)
		*known = 1 + sonde_kernel_filter_takes(v->filter, sonde_records_str(b->r, f->name),
				     sonde_records_str(b->r, f->full_name));
	return *known == 2;
}

static void select_launches(struct sonde_build *b, const bool *takes, struct verdicts *v)
{
	struct sonde_launches *l = b->l;
	size_t i;

	for (i = 0; i < l->launches.nr; i++) {
		struct sonde_launch *launch = &l->launches.at[i];
		const struct sonde_record *rec = &b->r->records.at[i];
		uint64_t nr = rec->when == SONDE_NOW && !rec->is_between_windows ? sonde_record_launches(rec) : 0;

		if (rec->is_unchosen || rec->is_between_windows || rec->when == SONDE_AHEAD || !takes[launch->place] ||
			(rec->kind != SONDE_RESULT_RANGE && !takes_kernel(b, v, rec))) {
			launch->state = SONDE_LAUNCH_NOT_SELECTED;
			l->tally.nr_not_selected += nr;
		} else if (l->places.at[launch->place].nr == 0) {
			launch->state = SONDE_LAUNCH_OUTSIDE;
			l->tally.nr_outside += nr;
			l->tally.nr_outside_by[launch->cause] += nr;
		} else {
			l->tally.nr_taken += nr;
			l->tally.nr_adopted += launch->is_adopted && rec->when == SONDE_NOW;
		}
	}
}

static int verdicts_init(struct verdicts *v, const struct sonde_build *b,
	struct sonde_words include, struct sonde_words exclude, struct sonde_err *err)
{
	int rc = sonde_kernel_filter_build(&v->filter, include, exclude, err);

	v->of = rc ? NULL : sonde_calloc(b->r->functions.nr + 1, sizeof(*v->of));
	return rc == 0 && !v->of ? sonde_err_nomem(err) : rc;
}

static void verdicts_release(struct verdicts *v)
{
	sonde_name_filter_free(v->filter);
	sonde_free(v->of);
}

static int apply_selection(struct sonde_build *b, const bool *takes, struct sonde_err *err)
{
	const struct sonde_selection *s = &b->l->selection;
	struct verdicts v = {0};
	const struct sonde_words include = s->is_kernels_applied ? (struct sonde_words){0} : s->kernel_include;
	int rc = verdicts_init(&v, b, include, s->kernel_exclude, err);

	if (rc == 0)
		select_launches(b, takes, &v);
	verdicts_release(&v);
	return rc;
}

/* Whether anything but the place outside all ranges is taken. */
static bool takes_any(const struct sonde_build *b, const bool *takes)
{
	size_t i;

	for (i = 1; i < nr_verdicts(b); i++)
		if (takes[i])
			return true;
	return false;
}

/* A region is shown if the NVTX selection takes any place in it. */
static void show_regions(struct sonde_build *b, const bool *takes)
{
	struct sonde_launches *l = b->l;
	uint32_t i, k;

	for (i = 0; i < l->places.nr; i++)
		for (k = 0; takes[i] && k < l->places.at[i].nr; k++)
			show_region(l, l->homes.at[l->places.at[i].first + k]);
	for (i = 0; i < b->stacks.nr; i++)
		if (takes[l->places.nr + i])
			show_region(l, b->stacks.at[i].region);
}

/* If the profiler selected the launches by expressions in its own grammar, everything it captured is taken. */
static void take_captured(const struct sonde_build *b, bool *takes)
{
	size_t i;

	for (i = 0; b->l->selection.is_include_applied && sonde_nvtx_filter_is_nsights(b->filter) &&
		    i < b->l->places.nr;
		i++)
		takes[i] = true;
}

int sonde_build__select(struct sonde_build *b, struct sonde_err *err)
{
	struct taken v = {0};
	int rc = decide_places(b, &v, b->filter, err);

	if (rc == 0)
		take_captured(b, v.takes);
	if (rc == 0)
		rc = apply_selection(b, v.takes, err);
	if (rc == 0) {
		b->l->tally.takes_range = takes_any(b, v.takes);
		show_regions(b, v.takes);
	}
	sonde_arena_release(&v.arena);
	return rc;
}

/* Sets `*out` to whether an expression alone takes anything but the place outside all ranges. */
static int match_word_to_ranges(struct sonde_build *b, const char *const *at, bool *out, struct sonde_err *err)
{
	const struct sonde_words word = {at, 1}, none = {NULL, 0};
	struct sonde_nvtx_filter *filter = NULL;
	struct taken v = {0};
	int rc = sonde_nvtx_filter_build(&filter, word, none, err);

	if (rc == 0)
		rc = decide_places(b, &v, filter, err);
	*out = rc == 0 && takes_any(b, v.takes);
	sonde_nvtx_filter_free(filter);
	sonde_arena_release(&v.arena);
	return rc;
}

static int match_word_to_kernels(
	struct sonde_build *b, const char *const *at, bool *out, struct sonde_err *err)
{
	const struct sonde_words word = {at, 1}, none = {NULL, 0};
	struct verdicts v = {0};
	size_t i;
	int rc = verdicts_init(&v, b, word, none, err);

	*out = false;
	for (i = 0; rc == 0 && i < b->r->records.nr && !*out; i++)
		*out = b->r->records.at[i].kind != SONDE_RESULT_RANGE &&
		       takes_kernel(b, &v, &b->r->records.at[i]);
	verdicts_release(&v);
	return rc;
}

int sonde_build__match_words(struct sonde_build *b, struct sonde_err *err)
{
	const struct sonde_selection *s = &b->l->selection;
	const struct sonde_words lists[] = {
		s->nvtx_include, s->nvtx_exclude, s->kernel_include, s->kernel_exclude};
	struct sonde_tally *t = &b->l->tally;
	bool *is_matched = sonde_arena_calloc(
		&b->l->arena, sonde_selection_nr_words(s) + 1, sizeof(*is_matched));
	size_t i, k;
	int rc = sonde_build__status(b, err);

	t->is_matched = is_matched;
	for (i = 0; i < 4; i++)
		for (k = 0; k < lists[i].nr && rc == 0; k++, is_matched++)
			if (i < 2)
				rc = match_word_to_ranges(b, &lists[i].at[k], is_matched, err);
			else if (i == 3 || !s->is_kernels_applied) /* includes that ncu applied may not be patterns in our syntax */
				rc = match_word_to_kernels(b, &lists[i].at[k], is_matched, err);
	return rc;
}
