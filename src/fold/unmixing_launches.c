/* Launches of a device → classes of launches, and which of them a cell is. */
#include "fold/unmixing_int.h"

#include "base/alloc.h"

#define MAX_TURNS 256
#define MAX_SIZES 16

bool sonde_unmixing__is_of_device(const struct sonde_unmixing *x, uint32_t scope)
{
	const struct sonde_scope *s = &x->f->l->scopes.at[scope];

	return s->device != SONDE_NONE && s->measured == SONDE_MEASURED_KERNEL &&
	       sonde_series_is_of(x->first, x->f->r, s->process, s->device);
}

/* The kind of launches of a kernel in a place; those that are not selected have no place. */
static uint32_t find_kind(struct sonde_unmixing *x, const uint32_t *key, uint32_t region)
{
	struct sonde_str bytes = {(const char *)key, 3 * sizeof(*key)};
	const struct sonde_unmixing_kind kind = {
		.name = key[2], .region = region, .entry = SONDE_NONE, .nr = 1};
	bool is_new;
	uint32_t number = sonde_map_keep(&x->keys, &x->arena, bytes, &is_new);

	return number != SONDE_NONE && is_new && !sonde_vec_put(&x->kinds, kind) ? SONDE_NONE : number;
}

/* Which launch of its kind in this entry it is. */
static uint32_t take_turn(struct sonde_unmixing_kind *k, uint32_t entry)
{
	bool is_next = entry != SONDE_NONE && k->entry == entry;

	k->turn = !is_next ? 0 : k->turn + 1 < MAX_TURNS ? k->turn + 1 : k->turn;
	k->entry = entry;
	k->nr = k->turn + 1 > k->nr ? k->turn + 1 : k->nr;
	return k->turn;
}

static bool add_launch(struct sonde_unmixing *x, const struct sonde_launch *launch)
{
	const struct sonde_launches *l = x->f->l;
	const struct sonde_record *rec = sonde_launch_record(l, launch);
	const struct sonde_place *place = &l->places.at[launch->place];
	bool is_selected = launch->state != SONDE_LAUNCH_NOT_SELECTED;
	const uint32_t key[3] = {
		launch->scope, is_selected ? launch->place : SONDE_NONE, sonde_launch_kernel(l, launch)};
	uint32_t region = place->nr ? l->homes.at[place->first] : SONDE_NONE, kind, entry;
	const uint32_t *members;
	struct sonde_set set = sonde_launches_set(l, launch->open, &members);

	if (rec->time.end_ns <= rec->time.start_ns)
		return true;
	entry = set.nr ? members[0] : SONDE_NONE;
	kind = find_kind(x, key, region);
	return kind != SONDE_NONE &&
	       sonde_vec_put(&x->launches,
		       (struct sonde_unmix_launch){.start_ns = (int64_t)rec->time.start_ns,
			       .end_ns = (int64_t)rec->time.end_ns,
			       .class = kind,
			       .entry = set.nr ? entry : SONDE_UNMIX_NONE}) &&
	       sonde_vec_put(&x->turns, take_turn(&x->kinds.at[kind], entry)) &&
	       sonde_vec_put(&x->opens, launch->open);
}

/*
 * The launches of a kind in one turn. Those that take twice as long as others do other work (the last
 * batch, a longer sequence), so each doubling is a class.
 */
struct turn {
	int64_t shortest, longest;
	uint32_t first; /* class */
};

static int64_t length_of(const struct sonde_unmix_launch *launch)
{
	return launch->end_ns - launch->start_ns;
}

static uint32_t doublings(int64_t shortest, int64_t length)
{
	uint32_t nr = 0;

	for (; nr + 1 < MAX_SIZES && length / 2 > shortest; nr++)
		length /= 2;
	return nr;
}

/* Gives launches their turn's number in place of their kind's, and turns their lengths. */
static void measure_turns(struct sonde_unmixing *x, struct turn *turns)
{
	size_t i;

	for (i = 0; i < x->launches.nr; i++) {
		struct sonde_unmix_launch *launch = &x->launches.at[i];
		struct turn *t;

		launch->class = x->kinds.at[launch->class].first + x->turns.at[i];
		t = &turns[launch->class];
		if (!t->shortest || length_of(launch) < t->shortest)
			t->shortest = length_of(launch);
		if (length_of(launch) > t->longest)
			t->longest = length_of(launch);
	}
}

static bool add_classes(struct sonde_unmixing *x, const struct sonde_unmixing_kind *kind, struct turn *t)
{
	const struct sonde_unmix_class class = {
		kind->name, kind->region == SONDE_NONE ? SONDE_UNMIX_NONE : kind->region};
	uint32_t nr = doublings(t->shortest, t->longest) + 1, i;

	t->first = (uint32_t)x->classes.nr;
	for (i = 0; i < nr; i++)
		if (!sonde_vec_put(&x->classes, class))
			return false;
	return true;
}

/* Classes of one kind follow each other: first those of its first turn, the short ones first. */
static bool number_classes(struct sonde_unmixing *x)
{
	size_t nr = 0, i, k;
	struct turn *turns;
	bool ok;

	for (i = 0; i < x->kinds.nr; i++) {
		x->kinds.at[i].first = (uint32_t)nr;
		nr += x->kinds.at[i].nr;
	}
	turns = sonde_calloc(nr + 1, sizeof(*turns));
	ok = turns;
	if (ok)
		measure_turns(x, turns);
	for (i = nr = 0; i < x->kinds.nr && ok; i++) {
		struct sonde_unmixing_kind *kind = &x->kinds.at[i];

		kind->first = (uint32_t)x->classes.nr;
		for (k = 0; k < kind->nr && ok; k++)
			ok = add_classes(x, kind, &turns[nr++]);
		kind->nr = (uint32_t)x->classes.nr - kind->first;
	}
	for (i = 0; i < x->launches.nr && ok; i++) {
		struct sonde_unmix_launch *launch = &x->launches.at[i];
		const struct turn *t = &turns[launch->class];

		launch->class = t->first + doublings(t->shortest, length_of(launch));
	}
	sonde_free(turns);
	return ok;
}

bool sonde_unmixing__launches(struct sonde_unmixing *x)
{
	const struct sonde_launches *l = x->f->l;
	size_t i;

	for (i = 0; i < l->launches.nr; i++)
		if (sonde_unmixing__is_of_device(x, l->launches.at[i].scope) && !add_launch(x, &l->launches.at[i]))
			return false;
	return number_classes(x);
}

bool sonde_unmixing__mark_cells(struct sonde_unmixing *x, uint32_t number)
{
	struct sonde_cells *c = x->f->c;
	uint32_t *original = sonde_calloc(c->strings.nr + 1, sizeof(*original));
	size_t i;

	if (!original)
		return false;
	for (i = 0; i < x->f->r->strings.nr; i++)
		if (x->f->string_of[i] != SONDE_NONE)
			original[x->f->string_of[i]] = (uint32_t)i;
	for (i = 0; i < c->cells.nr; i++) {
		struct sonde_cell *cell = &c->cells.at[i];
		const uint32_t key[3] = {cell->scope, cell->place, original[cell->kernel]};
		uint32_t kind = sonde_map_find(&x->keys, SONDE_BYTES(key));

		if (kind == SONDE_NONE)
			continue;
		cell->sampled = number;
		cell->first_class = x->kinds.at[kind].first;
		cell->nr_classes = x->kinds.at[kind].nr;
	}
	sonde_free(original);
	return true;
}
