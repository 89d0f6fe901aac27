/* Launches of a device → classes of launches, and the classes of each cell. */
#include "fold/unmixing_int.h"

#include "base/alloc.h"
#include "base/bisect.h"
#include "base/keysort.h"

#define MAX_TURNS 256
#define MAX_SIZES 16

bool sonde_unmixing__is_of_device(const struct sonde_unmixing *x, uint32_t scope)
{
	const struct sonde_scope *s = &x->f->l->scopes.at[scope];

	return s->device != SONDE_NONE && s->measured == SONDE_MEASURED_KERNEL &&
	       sonde_series_is_of(x->first, x->f->r, s->process, s->device);
}

/*
 * Returns the kind for a key, adding it if new. Launches that are not selected or not counted now have the place
 * SONDE_NONE. SONDE_NONE: no memory.
 */
static uint32_t find_kind(struct sonde_unmixing *x, const uint32_t *key, uint32_t region)
{
	struct sonde_str bytes = {(const char *)key, 3 * sizeof(*key)};
	const struct sonde_unmixing_kind kind = {
		.name = key[2], .region = region, .entry = SONDE_NONE, .nr = 1, .counts = key[0] != SONDE_NONE && key[1] != SONDE_NONE};
	bool is_new;
	uint32_t number = sonde_map_keep(&x->keys, &x->arena, bytes, &is_new);

	return number != SONDE_NONE && is_new && !sonde_vec_put(&x->kinds, kind) ? SONDE_NONE : number;
}

/* The turn of a launch: how many launches of its kind in this entry come before it, at most MAX_TURNS − 1. */
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
	bool counts = launch->state != SONDE_LAUNCH_NOT_SELECTED && rec->when == SONDE_NOW;
	const uint32_t key[3] = {
		launch->scope, counts ? launch->place : SONDE_NONE, sonde_launch_kernel(l, launch)};
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
 * The launches of a kind in one turn. Launches that take twice as long as others do other work (the last
 * batch, a longer sequence), so each doubling of the length is a class of its own.
 */
struct turn {
	int64_t shortest, longest;
	uint32_t first; /* its first class */
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

/* Replaces the kind's number in each launch by that of its turn, and finds the shortest and longest launch of each turn. */
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

/* Makes the classes and numbers them: those of one kind follow each other, by turn, and in a turn from short to long. */
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

/* Adds the launches of another capture: the samples contain their work, but none of our cells does. */
static bool add_beside(struct sonde_unmixing *x, const struct sonde_records *other, uint32_t number)
{
	size_t nr = x->launches.nr, i;

	for (i = 0; i < other->records.nr; i++) {
		const struct sonde_record *rec = &other->records.at[i];
		uint32_t process = sonde_record_caller(other, rec)->process, kernel = sonde_record_function(other, rec)->name;
		const uint32_t key[3] = {SONDE_NONE, number, kernel};
		uint32_t kind;

		if (rec->time.end_ns <= rec->time.start_ns ||
			!sonde_series_is_of(x->first, other, process, sonde_record_queue(other, rec)->device))
			continue;
		kind = find_kind(x, key, SONDE_NONE);
		if (kind == SONDE_NONE ||
			!sonde_vec_put(&x->launches,
				(struct sonde_unmix_launch){.start_ns = (int64_t)rec->time.start_ns,
					.end_ns = (int64_t)rec->time.end_ns,
					.class = kind,
					.entry = SONDE_UNMIX_NONE}) ||
			!sonde_vec_put(&x->turns, take_turn(&x->kinds.at[kind], SONDE_NONE)) ||
			!sonde_vec_put(&x->opens, 0))
			return false;
		x->kinds.at[kind].name = sonde_map_find(&x->f->r->strings, sonde_records_str(other, kernel));
	}
	return x->launches.nr == nr || sonde_vec_put(&x->others, other);
}

bool sonde_unmixing__launches(struct sonde_unmixing *x)
{
	const struct sonde_launches *l = x->f->l;
	const struct sonde_fold_request *q = x->f->request;
	size_t i;

	for (i = 0; i < l->launches.nr; i++)
		if (sonde_unmixing__is_of_device(x, l->launches.at[i].scope) && !add_launch(x, &l->launches.at[i]))
			return false;
	for (i = 0; i < q->nr_beside && x->launches.nr; i++)
		if (!add_beside(x, q->beside[i], (uint32_t)i))
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

/*
 * The clock of the SMs while each class of launches ran. Elapsed cycles count at all times,
 * so nothing is split: the clock of a launch is that of the samples during it.
 */

struct clocked { /* for sonde_keysort: the start must be the first member */
	int64_t start_ns, end_ns;
	double rate; /* cycles of all SMs per nanosecond */
};

struct clocks {
	SONDE_VEC(struct clocked) at; /* in order of time, without overlaps */
};

static bool find_clocks(struct clocks *c, const struct sonde_unmixing *x)
{
	const struct sonde_records *r = x->f->r;
	size_t i, k;

	for (i = 0; i < r->series.nr; i++) {
		const struct sonde_series *s = &r->series.at[i];
		uint32_t elapsed = sonde_series_counter(s, r, "sm.elapsed_cycles");

		if (elapsed == SONDE_NONE || !sonde_series__is_same_device(s, x->first))
			continue;
		for (k = 0; k < s->times.nr; k++) {
			const struct sonde_sample_time *t = &s->times.at[k];
			double rate = s->values.at[k * s->counters.nr + elapsed] /
				      (double)(t->end_ns - t->start_ns);

			if (rate > 0 && t->end_ns > t->start_ns &&
				!sonde_vec_put(&c->at,
					(struct clocked){(int64_t)t->start_ns, (int64_t)t->end_ns, rate}))
				return false;
		}
	}
	return true;
}

/* Sorts the clocks of all samplers by time. If two samples overlap, the first one counts. */
static bool sort_clocks(struct clocks *c)
{
	size_t i, nr = 0;

	if (!sonde_keysort(c->at.at, c->at.nr))
		return false;
	for (i = 0; i < c->at.nr; i++)
		if (!nr || c->at.at[i].start_ns >= c->at.at[nr - 1].end_ns)
			c->at.at[nr++] = c->at.at[i];
	c->at.nr = nr;
	return true;
}

/* The cycles of all SMs during a launch. For time without samples the mean clock is assumed. */
static double cycles_of(
	const struct clocks *c, const struct sonde_unmix_launch *l, double mean_rate)
{
	double cycles = 0, seen = 0;
	size_t i = 0;

	sonde_bisect(i, c->at.nr, mid, c->at.at[mid].end_ns <= l->start_ns);
	for (; i < c->at.nr && c->at.at[i].start_ns < l->end_ns; i++) {
		const struct clocked *s = &c->at.at[i];
		int64_t from = s->start_ns > l->start_ns ? s->start_ns : l->start_ns;
		int64_t to = s->end_ns < l->end_ns ? s->end_ns : l->end_ns;

		cycles += s->rate * (double)(to - from);
		seen += (double)(to - from);
	}
	return cycles + mean_rate * ((double)(l->end_ns - l->start_ns) - seen);
}

bool sonde_unmixing__clocks(struct sonde_unmixing *x)
{
	struct clocks c = {{0}};
	bool ok = find_clocks(&c, x) && sort_clocks(&c);
	size_t i;

	ok = ok && sonde_vec_reserve(&x->cycles, x->launches.nr + 1);
	if (ok && c.at.nr) {
		x->s->elapsed = sonde_calloc(x->classes.nr + 1, sizeof(*x->s->elapsed));
		ok = x->s->elapsed != NULL;
	}
	for (i = 0; ok && i < x->launches.nr; i++) {
		double cycles = cycles_of(&c, &x->launches.at[i], x->s->cycles_per_ns);

		x->cycles.at[x->cycles.nr++] = cycles;
		if (x->s->elapsed)
			x->s->elapsed[x->launches.at[i].class] += cycles;
	}
	sonde_vec_release(&c.at);
	return ok;
}

/*
 * Captures with windows (capture.window): the device is sampled all the time, and work that a program ran outside its
 * windows is in the samples but not among the launches. As background it would distort the counters inside the
 * windows too, so such samples are left out.
 *
 * All work of a program is known from the start of the first work launched in a window to the end of the last: work
 * launched before the window runs before the first, and work launched after it runs after the last. (This holds on one
 * stream. Unrecorded work of another stream that is still running in a window stays in the samples.)
 */

/*
 * The index of the first window of a process that ends after `ns`; if there is none, that of the next process's first
 * window.
 */
static size_t find_window(const struct sonde_window_time *at, size_t nr, uint32_t process, uint64_t ns)
{
	size_t low = 0;

	sonde_bisect(low, nr, mid,
		at[mid].process < process || (at[mid].process == process && at[mid].end_ns <= ns));
	return low;
}

static void extend_window(struct sonde_unmixing *x, const struct sonde_launch *launch)
{
	const struct sonde_records *r = x->f->r;
	const struct sonde_record *rec = sonde_launch_record(x->f->l, launch);
	uint32_t process = x->f->l->scopes.at[launch->scope].process;
	size_t i = find_window(r->windows.at, r->windows.nr, process, rec->call_ns);
	int64_t offset = sonde_unmixing__offset(x);
	uint64_t begin = rec->time.start_ns + (uint64_t)offset, end = rec->time.end_ns + (uint64_t)offset;
	struct sonde_window_time *known = i < r->windows.nr ? &x->recorded.at[i] : NULL;

	if (rec->call == SONDE_NONE || !known || known->process != process ||
		r->windows.at[i].begin_ns > rec->call_ns)
		return;
	known->begin_ns = begin < known->begin_ns ? begin : known->begin_ns;
	known->end_ns = end > known->end_ns ? end : known->end_ns;
}

bool sonde_unmixing__windows(struct sonde_unmixing *x)
{
	const struct sonde_launches *l = x->f->l;
	const struct sonde_records *r = x->f->r;
	size_t i;

	if (!sonde_vec_reserve(&x->recorded, r->windows.nr + 1))
		return false;
	for (i = 0; i < r->windows.nr; i++)
		x->recorded.at[i] = (struct sonde_window_time){UINT64_MAX, 0, r->windows.at[i].process};
	x->recorded.nr = r->windows.nr;
	for (i = 0; i < l->launches.nr && r->windows.nr; i++)
		if (sonde_unmixing__is_of_device(x, l->launches.at[i].scope))
			extend_window(x, &l->launches.at[i]);
	sonde_vec_filter(&x->recorded, k, x->recorded.at[k].end_ns > 0); /* keeps windows with work on this device */
	for (i = 0; i < x->others.nr; i++) {
		const struct sonde_records *other = x->others.at[i];
		size_t k;

		x->others_ns = other->whole_ns > x->others_ns ? other->whole_ns : x->others_ns;
		for (k = 0; k < other->windows.nr; k++) {
			struct sonde_window_time w = other->windows.at[k];

			w.process = (uint32_t)(r->processes.nr + i);
			if (!sonde_vec_put(&x->recorded, w))
				return false;
		}
	}
	return true;
}

bool sonde_unmixing__is_recorded(const struct sonde_unmixing *x, const struct sonde_sample_time *time)
{
	const struct sonde_window_time *at = x->recorded.at;
	const struct sonde_records *r = x->f->r;
	size_t i, first;

	/* Each sample counts once, with the files of the capture that were written while it was taken. */
	if (time->start_ns < r->from_ns || time->start_ns < x->others_ns || (r->ahead_ns && time->start_ns >= r->ahead_ns))
		return false;
	for (first = 0; first < x->recorded.nr; first = find_window(at, x->recorded.nr, at[first].process, UINT64_MAX)) {
		i = find_window(at, x->recorded.nr, at[first].process, time->start_ns);
		if (i == x->recorded.nr || at[i].process != at[first].process ||
			at[i].begin_ns > time->start_ns || at[i].end_ns < time->end_ns)
			return false;
	}
	return true;
}
