/*
 * What the entries of a region tell about its launches: how long the GPU had
 * nothing to do between the first and the last launch of an entry, and on how
 * many streams.
 *
 * A region entered a hundred times has a span that reaches over everything
 * between its entries, so idle time is counted inside entries only: the union
 * over entries of first start → last end, less the busy time. For a region
 * entered once that is span − busy.
 */
#include "aggregate/idle.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

int sonde_idle__init(struct sonde_idle *x, const struct sonde_launches *l, struct sonde_err *err)
{
	*x = (struct sonde_idle){.l = l};
	x->windows = sonde_calloc(l->records->ranges.nr + 1, sizeof(*x->windows));
	x->tracks = sonde_malloc((l->regions.nr + 1) * sizeof(*x->tracks));
	return x->windows && x->tracks ? 0 : sonde_err_nomem(err);
}

void sonde_idle__release(struct sonde_idle *x)
{
	sonde_free(x->windows);
	sonde_free(x->tracks);
	sonde_vec_release(&x->touched);
	sonde_map_release(&x->streams);
	sonde_arena_release(&x->arena);
}

/* The entries a launch lies in: launches come by start, so the first to touch has the first. */
static bool touch(struct sonde_idle *x, uint32_t range, const struct sonde_record_time *time)
{
	const struct sonde_range *ranges = x->l->records->ranges.at;
	uint32_t *slot;

	for (; range != SONDE_NONE; range = ranges[range].parent) {
		struct sonde_record_time *window = &x->windows[range];

		if (window->end_ns) {
			window->end_ns =
				time->end_ns > window->end_ns ? time->end_ns : window->end_ns;
			continue;
		}
		slot = sonde_vec_push(&x->touched);
		if (!slot)
			return false;
		*slot = range;
		*window = *time;
	}
	return true;
}

/* Distinct pairs of place and stream: far fewer than launches. */
static bool add_stream(struct sonde_idle *x, const struct sonde_launch *launch)
{
	const struct sonde_record *r = &x->l->records->records.at[launch->record];
	uint32_t key[4] = {
		launch->place, r->context, (uint32_t)r->stream, (uint32_t)(r->stream >> 32)};
	struct sonde_str bytes = {(const char *)key, sizeof(key)};
	uint32_t number;
	bool is_new;

	if (memcmp(key, x->last, sizeof(key)) == 0)
		return true;
	memcpy(x->last, key, sizeof(key));
	number = sonde_map_add(&x->streams, bytes, &is_new);
	if (number == SONDE_NONE || !is_new)
		return number != SONDE_NONE;
	bytes = sonde_arena_dup(&x->arena, bytes);
	if (bytes.p)
		sonde_map_rekey(&x->streams, number, bytes);
	return bytes.p != NULL;
}

static void count_idle(struct sonde_idle *x, struct sonde_report *r, const uint32_t *node_of)
{
	const struct sonde_range *ranges = x->l->records->ranges.at;
	size_t i;

	memset(x->tracks, 0, r->nodes.nr * sizeof(*x->tracks));
	for (i = 0; i < x->touched.nr; i++) {
		uint32_t range = x->touched.at[i], region = x->l->region_of.at[range];

		/* Above an outermost range there may be regions by the rule of labels. */
		for (; region != SONDE_NONE; region = x->l->regions.at[region].parent) {
			if (node_of[region] != SONDE_NONE)
				sonde_track__extend(
					&x->tracks[node_of[region]], &x->windows[range]);
			if (ranges[range].parent != SONDE_NONE)
				break;
		}
	}
	for (i = 0; i < r->nodes.nr; i++) {
		struct sonde_node *n = &r->nodes.at[i];
		double inside = (double)x->tracks[i].busy_ns;

		if (x->tracks[i].is_used)
			n->idle_ns = inside > n->busy_ns ? inside - n->busy_ns : 0;
	}
	for (i = 0; i < x->touched.nr; i++)
		x->windows[x->touched.at[i]] = (struct sonde_record_time){0};
	x->touched.nr = 0;
}

static bool count_node_streams(struct sonde_idle *x, struct sonde_map *seen, struct sonde_report *r,
	const uint32_t *node_of)
{
	size_t i, k;
	uint32_t key[4], region, number;
	struct sonde_str bytes;
	bool is_new;

	for (i = 0; i < x->streams.nr; i++) {
		const struct sonde_place *place;

		memcpy(key, x->streams.keys[i].p, sizeof(key));
		place = &x->l->places.at[key[0]];
		for (k = 0; k < place->nr; k++)
			for (region = x->l->homes.at[place->first + k]; region != SONDE_NONE;
				region = x->l->regions.at[region].parent) {
				key[0] = node_of[region];
				bytes = (struct sonde_str){(const char *)key, sizeof(key)};
				number = sonde_map_add(seen, bytes, &is_new);
				if (number == SONDE_NONE)
					return false;
				if (!is_new)
					continue;
				bytes = sonde_arena_dup(&x->arena, bytes);
				if (!bytes.p)
					return false;
				sonde_map_rekey(seen, number, bytes);
				r->nodes.at[key[0]].streams++;
			}
	}
	return true;
}

bool sonde_idle__scope(struct sonde_idle *x, struct sonde_report *r, const uint32_t *node_of,
	const struct sonde_stamp *stamps, size_t nr)
{
	const struct sonde_records *records = x->l->records;
	struct sonde_map seen = {0};
	size_t i, k;
	bool ok = true;

	memset(x->last, 0xff, sizeof(x->last));
	for (i = 0; i < nr && ok; i++) {
		const struct sonde_launch *launch = &x->l->launches.at[stamps[i].launch];
		const struct sonde_set *set =
			&records->sets.at[records->records.at[launch->record].open];

		for (k = 0; k < set->nr && ok; k++)
			ok = touch(x, records->members.at[set->first + k],
				&records->record_times.at[launch->record]);
		ok = ok && add_stream(x, launch);
	}
	if (ok) {
		count_idle(x, r, node_of);
		ok = count_node_streams(x, &seen, r, node_of);
	}
	sonde_map_release(&seen);
	sonde_map_release(&x->streams);
	sonde_arena_release(&x->arena);
	x->streams = (struct sonde_map){0};
	x->arena = (struct sonde_arena){0};
	return ok;
}
