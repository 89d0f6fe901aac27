/* Numbers that the program gave: of ranges, which become their arguments, and of counters. */
#include "read/native/native_stream.h"

#include "base/alloc.h"
#include "read/arguments.h"

#include <math.h>

/* The range a number belongs to, SONDE_NONE = none that is kept. */
static uint32_t range_of(const struct stream *s, const struct sonde_event *e)
{
	uint64_t of = e->field[SONDE_VALUE_OF];
	uint32_t i, last = SONDE_NONE;

	switch (e->field[SONDE_VALUE_WHAT]) {
	case SONDE_VALUE_OF_PUSH:
		return of < NATIVE_MAX_DOMAINS && !s->left_out[of] ? s->top[of] : SONDE_NONE;
	case SONDE_VALUE_OF_START:
		return s->start_id == (uint32_t)of ? s->started : SONDE_NONE;
	default: /* a sample: the range that was entered last, in whichever domain */
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
	uint32_t name, domain, range;

	if (e->field[SONDE_VALUE_TYPE] > SONDE_VALUE_REAL || e->field[SONDE_VALUE_WHAT] > SONDE_VALUE_OF_COUNTER ||
		!sonde_stream__label(s, e, &name, &domain))
		return false;
	range = range_of(s, e);
	if (range != SONDE_NONE && !n->r->ranges.at[range].is_inherited)
		sonde_put(&n->src->work, &n->values,
			(struct native_value){range, e->field[SONDE_VALUE_BITS], name, (uint8_t)e->field[SONDE_VALUE_TYPE]});
	if (e->field[SONDE_VALUE_WHAT] == SONDE_VALUE_OF_COUNTER && s->when == SONDE_NOW && isfinite(number_of(e)))
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

/* Whether a later number of the same range has this name: that one counts. */
static bool is_renewed(const struct native_value *v, const struct native_value *end)
{
	const struct native_value *next;

	for (next = v + 1; next < end && next < v + SONDE_MAX_ARGUMENTS; next++)
		if (next->name == v->name)
			return true;
	return false;
}

int sonde_native__read_values(struct native *n, struct sonde_err *err)
{
	struct native_value *at = n->values.at, *end, *next, *v;
	struct sonde_buf list = {0};

	if (!n->values.nr)
		return 0;
	end = at + n->values.nr;
	if (!sonde_keysort(n->values.at, n->values.nr)) /* by range, in order of time */
		return sonde_err_nomem(err);
	for (; at < end && !list.failed; at = next) {
		uint32_t nr = 0;

		sonde_buf_clear(&list);
		for (next = at; next < end && next->range == at->range; next++)
			;
		/* A range may have any number of samples: of more the last ones. */
		for (v = next - at > SONDE_MAX_ARGUMENTS ? next - SONDE_MAX_ARGUMENTS : at; v < next; v++)
			if (!is_renewed(v, next) && nr++ < SONDE_MAX_ARGUMENTS)
				put_value(&list, n, v);
		if (list.n)
			sonde_put(&n->r->arena, &n->r->arguments,
				(struct sonde_range_arguments){(uint32_t)at->range, sonde_records__copied(n->r, sonde_buf_view(&list))});
	}
	sonde_buf_release(&list);
	return list.failed || sonde_native__failed(n) ? sonde_err_nomem(err) : 0;
}
