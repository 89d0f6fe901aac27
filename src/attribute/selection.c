/*
 * The selection: which launches count, and which regions are shown.
 *
 * NVTX expressions look at places, the stacks as they really were; kernel
 * patterns at names. Both are decided once for each distinct one.
 */
#include "attribute/launches_int.h"

#include "base/alloc.h"

/* Scratch for showing a place to the NVTX filter. */
struct view {
	SONDE_VEC(struct sonde_open_stack) stacks;
	SONDE_VEC(struct sonde_open_start) starts;
	SONDE_VEC(struct sonde_str) labels;
};

static bool view_stack(const struct sonde_build *b, struct view *v, uint32_t stack)
{
	const struct sonde_stack *s = &b->stacks.at[stack];
	struct sonde_str domain = s->domain == SONDE_NONE ? (struct sonde_str){NULL, 0}
							  : sonde_records_str(b->r, s->domain);
	struct sonde_open_stack *open;
	struct sonde_open_start *start;
	size_t nr = 0, i;
	uint32_t up;

	if (s->kind == SONDE_START_END) {
		start = sonde_vec_push(&v->starts);
		if (start)
			*start = (struct sonde_open_start){
				domain, sonde_records_str(b->r, s->label)};
		return start != NULL;
	}
	for (up = stack; up != SONDE_NONE; up = b->stacks.at[up].parent)
		nr++;
	open = sonde_vec_push(&v->stacks);
	if (!open || !sonde_vec_reserve(&v->labels, v->labels.nr + nr))
		return false;
	*open = (struct sonde_open_stack){domain, NULL, nr};
	for (up = stack, i = nr; i-- > 0; up = b->stacks.at[up].parent)
		v->labels.at[v->labels.nr + i] = sonde_records_str(b->r, b->stacks.at[up].label);
	v->labels.nr += nr;
	return true;
}

static int view_place(
	const struct sonde_build *b, struct view *v, uint32_t place, struct sonde_open_ranges *out)
{
	const struct sonde_place *raw = &b->raw.at[place];
	size_t i, at = 0;

	v->stacks.nr = v->starts.nr = v->labels.nr = 0;
	for (i = 0; i < raw->nr; i++)
		if (!view_stack(b, v, b->raw_stacks.at[raw->first + i]))
			return -1;
	for (i = 0; i < v->stacks.nr; i++) { /* only now do the labels stay where they are */
		v->stacks.at[i].labels = &v->labels.at[at];
		at += v->stacks.at[i].nr;
	}
	*out = (struct sonde_open_ranges){v->stacks.at, v->stacks.nr, v->starts.at, v->starts.nr};
	return 0;
}

static void show_region(struct sonde_launches *l, uint32_t region)
{
	for (; region != SONDE_NONE && !l->regions.at[region].is_shown;
		region = l->regions.at[region].parent)
		l->regions.at[region].is_shown = true;
}

/*
 * Where the source knows of ranges without launches they are regions too, and
 * selected by their own stack: no other range needs to be open with them.
 */
static int show_entered(struct sonde_build *b, struct view *v,
	const struct sonde_nvtx_filter *filter, struct sonde_err *err)
{
	size_t i, nr = b->r->range_times.nr;
	bool *is_done = sonde_calloc(b->stacks.nr + 1, sizeof(*is_done));
	struct sonde_open_ranges open;

	if (!is_done)
		return sonde_err_nomem(err);
	for (i = 0; i < nr && i < b->r->ranges.nr; i++) {
		uint32_t stack = b->stack_of[i];

		if (is_done[stack] || !b->r->range_times.at[i].begin_ns)
			continue;
		is_done[stack] = true;
		v->stacks.nr = v->starts.nr = v->labels.nr = 0;
		if (!view_stack(b, v, stack)) {
			sonde_free(is_done);
			return sonde_err_nomem(err);
		}
		if (v->stacks.nr)
			v->stacks.at[0].labels = v->labels.at;
		open = (struct sonde_open_ranges){
			v->stacks.at, v->stacks.nr, v->starts.at, v->starts.nr};
		if (sonde_nvtx_filter_takes(filter, &open))
			show_region(b->l, b->stacks.at[stack].region);
	}
	sonde_free(is_done);
	return 0;
}

/* takes[place]: whether the NVTX selection takes launches there. */
static int decide_places(struct sonde_build *b, bool *takes, struct sonde_err *err)
{
	const struct sonde_selection *s = &b->l->selection;
	struct sonde_nvtx_filter *filter = NULL;
	struct sonde_open_ranges open;
	struct view v = {0};
	uint32_t i;
	int rc = sonde_nvtx_filter_build(&filter, s->nvtx_include, s->nvtx_exclude, err);

	for (i = 0; rc == 0 && i < b->l->places.nr; i++) {
		if (view_place(b, &v, i, &open) != 0)
			rc = sonde_err_nomem(err);
		else
			takes[i] = sonde_nvtx_filter_takes(filter, &open);
	}
	if (rc == 0)
		rc = show_entered(b, &v, filter, err);
	sonde_vec_release(&v.stacks);
	sonde_vec_release(&v.starts);
	sonde_vec_release(&v.labels);
	sonde_nvtx_filter_free(filter);
	return rc;
}

/* Verdicts of the kernel filter, remembered by the demangled name. */
struct verdicts {
	struct sonde_kernel_filter *filter;
	struct verdict {
		uint32_t name; /* function name it was decided for */
		uint8_t known; /* 0 = not yet, 1 = no, 2 = yes */
	} * of;		       /* by string number */
};

static bool takes_kernel(
	const struct sonde_build *b, struct verdicts *v, const struct sonde_record *rec)
{
	struct verdict *known = &v->of[rec->full_name];

	if (!known->known || known->name != rec->name) {
		known->name = rec->name;
		known->known =
			sonde_kernel_filter_takes(v->filter, sonde_records_str(b->r, rec->name),
				sonde_records_str(b->r, rec->full_name))
				? 2
				: 1;
	}
	return known->known == 2;
}

static void select_launches(struct sonde_build *b, const bool *takes, struct verdicts *v)
{
	struct sonde_launches *l = b->l;
	size_t i;

	for (i = 0; i < l->launches.nr; i++) {
		struct sonde_launch *launch = &l->launches.at[i];

		if (!takes[launch->place] || !takes_kernel(b, v, &b->r->records.at[i])) {
			launch->state = SONDE_LAUNCH_NOT_SELECTED;
			l->nr_not_selected++;
		} else if (l->places.at[launch->place].nr == 0) {
			launch->state = SONDE_LAUNCH_OUTSIDE;
			l->nr_outside++;
		} else {
			l->nr_taken++;
		}
	}
}

static int apply_selection(struct sonde_build *b, const bool *takes, struct sonde_err *err)
{
	const struct sonde_selection *s = &b->l->selection;
	struct verdicts v = {0};
	int rc = sonde_kernel_filter_build(&v.filter, s->kernel_include, s->kernel_exclude, err);

	v.of = rc ? NULL : sonde_calloc(b->r->strings.nr, sizeof(*v.of));
	if (rc == 0 && !v.of)
		rc = sonde_err_nomem(err);
	if (rc == 0)
		select_launches(b, takes, &v);
	sonde_kernel_filter_free(v.filter);
	sonde_free(v.of);
	return rc;
}

/* Whether the NVTX selection takes anything. */
static bool takes_any(const struct sonde_build *b, const bool *takes)
{
	size_t i;

	for (i = 1; i < b->l->places.nr; i++)
		if (takes[i])
			return true;
	for (i = 0; i < b->l->regions.nr; i++)
		if (b->l->regions.at[i].is_shown)
			return true;
	return false;
}

/* A region is shown if the NVTX selection takes any place in it; all are when it takes nothing. */
static void show_regions(struct sonde_build *b, const bool *takes, bool is_any)
{
	struct sonde_launches *l = b->l;
	uint32_t i, k;

	for (i = 0; i < l->places.nr; i++)
		for (k = 0; takes[i] && k < l->places.at[i].nr; k++)
			show_region(l, l->homes.at[l->places.at[i].first + k]);
	for (i = 0; !is_any && i < l->regions.nr; i++)
		l->regions.at[i].is_shown = true;
}

int sonde_build__select(struct sonde_build *b, bool *is_any, struct sonde_err *err)
{
	bool *takes = sonde_calloc(b->l->places.nr, sizeof(*takes));
	int rc = takes ? decide_places(b, takes, err) : sonde_err_nomem(err);

	if (rc == 0)
		rc = apply_selection(b, takes, err);
	if (rc == 0) {
		*is_any = takes_any(b, takes);
		show_regions(b, takes, *is_any);
	}
	sonde_free(takes);
	return rc;
}
