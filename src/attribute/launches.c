/*
 * The build: records → launches with places, after selection.
 *
 * Many launches share few places (a place is a distinct combination of open
 * label stacks), so the NVTX selection is decided once per place and the
 * kernel selection once per function.
 */
#include "attribute/launches_int.h"

#include "base/alloc.h"

#include <string.h>

_Static_assert(sizeof(struct sonde_launch) == 12, "there are millions of them");

uint32_t sonde_build__set(
	struct sonde_build *b, const uint32_t *members, size_t nr, uint32_t last)
{
	struct sonde_launches *l = b->l;
	size_t first = l->members.nr, base = b->r->sets.nr;
	struct sonde_set *set = last == SONDE_NONE || last < base ? NULL : &l->sets.at[last - base];

	if (!nr)
		return 0;
	if (set && set->nr == nr &&
		memcmp(&l->members.at[set->first], members, nr * sizeof(*members)) == 0)
		return last;
	l->arena.failed |= base + l->sets.nr + 1 >= SONDE_NONE || first + nr >= SONDE_NONE;
	if (l->arena.failed || !sonde_reserve(&l->arena, &l->members, first + nr) ||
		!sonde_reserve(&l->arena, &l->sets, l->sets.nr + 1))
		return 0;
	memcpy(&l->members.at[first], members, nr * sizeof(*members));
	l->members.nr += nr;
	l->sets.at[l->sets.nr++] = (struct sonde_set){.first = (uint32_t)first, .nr = (uint32_t)nr};
	return (uint32_t)(base + l->sets.nr - 1);
}

/* Adds a place with the `nr` stacks in `raw_stacks` from `first` on. */
static void add_place(struct sonde_build *b, uint32_t number, uint32_t first, size_t nr)
{
	size_t k, home = b->l->homes.nr;

	sonde_put(&b->arena, &b->raw, (struct sonde_place){.first = first, .nr = (uint32_t)nr});
	for (k = 0; k < nr; k++) {
		uint32_t region = b->stacks.at[b->raw_stacks.at[first + k]].region;

		if (b->seen_in[region] == number + 1)
			continue; /* once per region: a label started twice counts once */
		b->seen_in[region] = number + 1;
		sonde_put(&b->l->arena, &b->l->homes, region);
	}
	sonde_put(&b->l->arena, &b->l->places,
		(struct sonde_place){.first = (uint32_t)home, .nr = (uint32_t)(b->l->homes.nr - home)});
}

/* Returns the place of a set of open ranges, creating it if new. The stack below.place is replaced by below.stack. */
static uint32_t make_place(struct sonde_build *b, uint32_t set_number, struct sonde_placed_below below)
{
	const uint32_t *members;
	struct sonde_set set = sonde_launches_set(b->l, set_number, &members);
	uint32_t first = (uint32_t)b->raw_stacks.nr, number;
	size_t k;
	bool is_new;

	if (!sonde_reserve(&b->arena, &b->raw_stacks, first + set.nr + 1))
		return SONDE_NONE;
	for (k = 0; k < set.nr; k++) {
		uint32_t stack = b->stack_of[members[k]];

		if (k == 0 || stack != b->stack_of[members[k - 1]]) /* counts a label started twice (neighbours) once */
			b->raw_stacks.at[b->raw_stacks.nr++] = stack == below.place ? below.stack : stack;
	}
	k = b->raw_stacks.nr - first;
	number = sonde_build__key(&b->arena, &b->place_keys, &b->raw_stacks.at[first], k, &is_new);
	if (is_new)
		add_place(b, number, first, k);
	else
		b->raw_stacks.nr = first;
	return number;
}

/* Whether a launch is in a backward operator that is placed below another thread's stack. */
static bool works_for_another(const struct sonde_build *b, uint32_t set_number)
{
	const uint32_t *members;
	struct sonde_set set = sonde_launches_set(b->l, set_number, &members);
	uint32_t i;

	for (i = 0; i < set.nr; i++) {
		uint32_t n = b->backward_of[members[i]];

		if (n != SONDE_NONE && b->backward.at[n].lent && b->backward.at[n].stack != SONDE_NONE)
			return true;
	}
	return false;
}

static int make_places(struct sonde_build *b, struct sonde_err *err)
{
	const struct sonde_placed_below plain = {SONDE_NONE, SONDE_NONE, SONDE_NONE}, *below;
	size_t i, next = 0, nr = b->r->sets.nr + b->l->sets.nr;
	/* by set number, SONDE_NONE = not made yet */
	uint32_t *place_of = sonde_arena_alloc(&b->step, nr * sizeof(*place_of));

	b->seen_in = sonde_arena_calloc(&b->step, b->l->regions.nr, sizeof(*b->seen_in));
	if (sonde_build__status(b, err))
		return SONDE_ERR_NOMEM;
	memset(place_of, 0xff, nr * sizeof(*place_of));
	place_of[0] = make_place(b, 0, plain); /* the empty set becomes place 0 */
	for (i = 0; i < b->l->launches.nr; i++) {
		struct sonde_launch *launch = &b->l->launches.at[i];
		uint32_t *place = &place_of[launch->open];

		below = sonde_build__placed_below(b, i, &next);
		if (below) {
			launch->place = make_place(b, launch->open, *below);
		} else {
			if (*place == SONDE_NONE)
				*place = make_place(b, launch->open, plain);
			launch->place = *place;
		}
		launch->is_adopted |= b->backward.nr && works_for_another(b, launch->open);
	}
	return sonde_build__status(b, err);
}

static int count_strays(struct sonde_build *b, struct sonde_err *err)
{
	struct sonde_launches *l = b->l;
	struct sonde_map keys = {0};
	struct sonde_stray *stray;
	size_t i;

	for (i = 0; i < l->launches.nr; i++) {
		const struct sonde_record *rec = &b->r->records.at[i];
		const struct sonde_caller *caller = sonde_record_caller(b->r, rec);
		uint32_t n;

		if (l->launches.at[i].state != SONDE_LAUNCH_OUTSIDE || rec->when != SONDE_NOW)
			continue;
		n = sonde_intern(&b->step, &keys, SONDE_BYTES(*caller), NULL);
		stray = sonde_slot(&l->arena, &l->strays, n);
		stray->process = caller->process;
		stray->thread = caller->thread;
		stray->launches += sonde_record_launches(rec);
	}
	return sonde_build__status(b, err);
}

/* Fills in the members of a launch that depend on its record alone. */
static void init_launch(struct sonde_build *b, uint32_t i, bool *is_known)
{
	const struct sonde_record *rec = &b->r->records.at[i];
	struct sonde_launch *launch = &b->l->launches.at[i];
	uint32_t name = sonde_record_function(b->r, rec)->name, scope = sonde_build__scope(b, rec);
	bool has_origin = rec->origin_kind == SONDE_ORIGIN_GRAPH ||
			  rec->origin_kind == SONDE_ORIGIN_BACKWARD;

	*launch = (struct sonde_launch){.open = rec->open, .scope = scope};
	b->l->tally.nr_launches += rec->when == SONDE_NOW && !rec->is_between_windows ? sonde_record_launches(rec) : 0;
	if (!is_known[name]) {
		is_known[name] = true;
		sonde_tally_add_function(&b->l->tally, sonde_records_str(b->r, name));
	}
	if (has_origin && !b->l->selection.no_origins)
		sonde_put(&b->arena, &b->placed_below, (struct sonde_placed_below){i, SONDE_NONE, SONDE_NONE});
}

static int init_launches(struct sonde_build *b, struct sonde_err *err)
{
	/* by string number: function name seen */
	bool *is_known = sonde_arena_calloc(&b->step, b->r->strings.nr + 1, sizeof(*is_known));
	uint32_t i;

	if (sonde_reserve(&b->l->arena, &b->l->launches, b->r->records.nr))
		b->l->launches.nr = b->r->records.nr;
	for (i = 0; i < b->l->launches.nr && !sonde_build__failed(b); i++)
		init_launch(b, i, is_known);
	for (i = 0; i < b->r->functions.nr; i++) {
		const struct sonde_function *f = (const void *)b->r->functions.keys[i].p;

		b->l->tally.has_torch |= sonde_str_has(sonde_records_str(b->r, f->full_name), "at::native", NULL);
	}
	return sonde_build__status(b, err);
}

static int explain_emptiness(struct sonde_build *b, struct sonde_err *err)
{
	struct sonde_launches *l = b->l;
	const struct sonde_emptiness e = {.selection = &l->selection,
		.tally = &l->tally,
		.regions = l->regions.at,
		.nr_regions = l->regions.nr,
		.scopes = l->scopes.at,
		.nr_scopes = l->scopes.nr,
		.labels = &l->labels};

	(void)err;
	l->nr_remarks = l->notes.texts.nr;
	sonde_emptiness_explain(&e, &l->notes);
	return 0;
}

static int build_launches(struct sonde_build *b, struct sonde_err *err)
{
	static int (*const steps[])(struct sonde_build *, struct sonde_err *) = {init_launches,
		sonde_build__labels, sonde_build__merge_serial, sonde_build__find_backward,
		sonde_build__adopt_launches, sonde_build__adopt_memory, sonde_build__regions,
		sonde_build__known, sonde_build__note_serial, sonde_build__scopes, make_places,
		sonde_build__select, sonde_build__presences, count_strays, sonde_build__match_words,
		explain_emptiness};
	size_t i;
	int rc = 0;

	for (i = 0; i < sizeof(steps) / sizeof(*steps) && rc == 0; i++) {
		rc = steps[i](b, err);
		sonde_arena_release(&b->step);
	}
	return rc;
}

static void release_build(struct sonde_build *b)
{
	sonde_nvtx_filter_free(b->filter);
	sonde_labels__release(&b->labels);
	sonde_arena_release(&b->arena);
}

int sonde_launches_build(struct sonde_launches **out, const struct sonde_records *records,
	const struct sonde_selection *selection, struct sonde_err *err)
{
	struct sonde_build b = {.r = records};
	int rc;

	*out = NULL;
	b.l = sonde_calloc(1, sizeof(*b.l));
	if (!b.l)
		return sonde_err_nomem(err);
	b.l->records = records;
	b.l->selection = *selection;
	rc = build_launches(&b, err);
	release_build(&b);
	if (rc)
		sonde_launches_free(b.l);
	else
		*out = b.l;
	return rc;
}

void sonde_launches_free(struct sonde_launches *l)
{
	if (!l)
		return;
	sonde_notes_release(&l->notes);
	sonde_arena_release(&l->arena);
	sonde_free(l);
}
