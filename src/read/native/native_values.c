/* Numbers that the program gave: for ranges, which become their arguments, and as samples of counters. */
#include "read/native/native_stream.h"

#include "base/alloc.h"
#include "read/arguments.h"

#include <math.h>

/* The range that a number belongs to; SONDE_NONE = none that is kept. */
static uint64_t range_of(const struct stream *s, const struct sonde_event *e)
{
	uint64_t of = e->field[SONDE_VALUE_OF];
	uint32_t i, last = SONDE_NONE;

	switch (e->field[SONDE_VALUE_WHAT]) {
	case SONDE_VALUE_OF_PUSH:
		return of < NATIVE_MAX_DOMAINS && !s->left_out[of] ? s->top[of] : SONDE_NONE;
	case SONDE_VALUE_OF_START:
		return s->start_id == (uint32_t)of ? s->started : SONDE_NONE;
	case SONDE_VALUE_OF_STOP: /* the range may have been started by a thread that is read later */
		return s->stopped != SONDE_NONE && s->stop_id == (uint32_t)of ? NATIVE_OF_STOP | s->stopped : SONDE_NONE;
	default: /* a sample of a counter: the range entered last, in any domain */
		for (i = 0; i < s->nr_seen; i++)
			if (s->top[s->seen[i]] != SONDE_NONE && (last == SONDE_NONE || s->top[s->seen[i]] > last))
				last = s->top[s->seen[i]];
		return last;
	}
}

static double number_of(const struct sonde_event *e)
{
	uint64_t bits = e->field[SONDE_VALUE_BITS];
	double v;

	if (e->field[SONDE_VALUE_TYPE] == SONDE_VALUE_REAL) {
		bits = __builtin_bswap64(bits);
		memcpy(&v, &bits, sizeof(v));
		return v;
	}
	return e->field[SONDE_VALUE_TYPE] == SONDE_VALUE_NEGATIVE ? -(double)bits : (double)bits;
}

bool sonde_stream__value(struct stream *s, const struct sonde_event *e)
{
	struct native *n = s->n;
	bool is_sample = e->field[SONDE_VALUE_WHAT] == SONDE_VALUE_OF_COUNTER;
	uint32_t name, domain;
	uint64_t range;

	if (e->field[SONDE_VALUE_TYPE] > SONDE_VALUE_REAL || e->field[SONDE_VALUE_WHAT] > SONDE_VALUE_OF_STOP ||
		!sonde_stream__label(s, e, &name, &domain))
		return false;
	range = range_of(s, e);
	if (range != SONDE_NONE)
		sonde_put(&n->src->work, &n->values,
			(struct native_value){.range = range,
				.bits = e->field[SONDE_VALUE_BITS],
				.name = name,
				.type = (uint8_t)e->field[SONDE_VALUE_TYPE],
				.is_sample = is_sample});
	if (is_sample && s->when == SONDE_NOW && isfinite(number_of(e)))
		sonde_put(&n->r->arena, &n->r->gauges,
			(struct sonde_gauge){sonde_stream__now(s), n->process, name, number_of(e)});
	return true;
}

static void put_value(struct sonde_buf *list, const struct native *n, const struct native_value *v)
{
	struct sonde_str name = sonde_records_str(n->r, v->name);
	uint64_t bits = __builtin_bswap64(v->bits);
	double real;

	memcpy(&real, &bits, sizeof(real));
	if (v->type == SONDE_VALUE_REAL)
		sonde_arguments_put_real(list, name, real);
	else
		sonde_arguments_put_whole(list, name, v->type == SONDE_VALUE_NEGATIVE, v->bits);
}

/* The range of a number; SONDE_NONE = none, or one inherited from another process. */
static uint64_t range_of_value(const struct native *n, uint64_t range)
{
	if (range & NATIVE_OF_STOP) {
		uint32_t start = n->edges.at[(uint32_t)range].start;

		range = start == SONDE_NONE ? SONDE_NONE : n->edges.at[start].range;
	}
	return range == SONDE_NONE || n->r->ranges.at[range].is_inherited ? SONDE_NONE : range;
}

/*
 * Appends the numbers of one range to `list`: the last one of each name. Samples of counters come last, while there is
 * room.
 */
static void put_values(struct sonde_buf *list, const struct native *n, struct native_value *at, struct native_value *end, uint32_t *seen)
{
	uint32_t nr = 0, samples;
	struct native_value *v;

	for (v = end; v-- > at;) { /* `seen`: by name, 1 + the last range that has it */
		v->is_renewed = seen[v->name] == (uint32_t)at->range + 1;
		seen[v->name] = (uint32_t)at->range + 1;
	}
	for (samples = 0; samples < 2; samples++)
		for (v = at; v < end && nr < SONDE_MAX_ARGUMENTS; v++)
			if (!v->is_renewed && v->is_sample == samples) {
				put_value(list, n, v);
				nr++;
			}
}

int sonde_native__read_values(struct native *n, struct sonde_err *err)
{
	struct native_value *at = n->values.at, *end, *next;
	struct sonde_buf list = {0};
	uint32_t *seen;
	size_t i;

	if (!n->values.nr)
		return 0;
	for (i = 0; i < n->values.nr; i++)
		n->values.at[i].range = range_of_value(n, n->values.at[i].range);
	end = at + n->values.nr;
	seen = sonde_arena_calloc(&n->src->work, n->r->strings.nr, sizeof(*seen));
	if (!seen || !sonde_keysort(n->values.at, n->values.nr)) /* by range, in order of time */
		return sonde_err_nomem(err);
	for (; at < end && at->range != SONDE_NONE && !list.failed; at = next) {
		sonde_buf_clear(&list);
		for (next = at; next < end && next->range == at->range; next++)
			;
		put_values(&list, n, at, next, seen);
		if (list.n)
			sonde_put(&n->r->arena, &n->r->arguments,
				(struct sonde_range_arguments){(uint32_t)at->range, sonde_records__copied(n->r, sonde_buf_view(&list))});
	}
	sonde_buf_release(&list);
	return list.failed || sonde_native__failed(n) ? sonde_err_nomem(err) : 0;
}
