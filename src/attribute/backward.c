/*
 * Backward operators among the ranges: PyTorch's emit_nvtx writes a range per
 * operator, `aten::addmm, seq = 7, op_id = 12`. The autograd engine runs
 * `AddmmBackward0, seq = 7` inside `autograd::engine::evaluate_function:
 * AddmmBackward0`, mostly on a thread of its own. The same number on both sides
 * says which forward operator it is the backward of.
 *
 * Such a range and all inside it hang below the launching place: the range around
 * it, or what the one other thread has open that it works for.
 */
#include "attribute/launches_int.h"

#include "base/alloc.h"

#include <ctype.h>
#include <string.h>

#define ENGINE "autograd::engine::evaluate_function: "
#define NO_SEQ UINT64_MAX

/* What the raw label of a range says. */
struct operator {
	uint64_t seq; /* NO_SEQ = none */
	bool is_backward;
	bool is_op; /* an operator, not a range of the program's own */
	bool is_known;
};

struct search {
	struct sonde_build *b;
	struct operator *ops; /* by string number */
	struct sonde_map forward; /* {process, sequence number} … */
	SONDE_VEC(uint32_t) latest; /* … → the range that began last */
};

static uint64_t number_behind(struct sonde_str label, const char *what)
{
	size_t n = strlen(what);
	const char *at = label.n > n ? memmem(label.p, label.n, what, n) : NULL;
	uint64_t v = 0;
	size_t i;

	if (!at)
		return NO_SEQ;
	i = (size_t)(at - label.p) + n;
	if (i == label.n || !isdigit((unsigned char)label.p[i]))
		return NO_SEQ;
	for (; i < label.n && isdigit((unsigned char)label.p[i]) && v < UINT64_MAX / 16; i++)
		v = v * 10 + (uint64_t)(label.p[i] - '0');
	return v;
}

/* `AddmmBackward0, …`, `FlashAttnFuncBackward, …` */
static bool is_backward_name(struct sonde_str label)
{
	const char *end = memmem(label.p, label.n, ", ", 2);
	size_t n = end ? (size_t)(end - label.p) : label.n;

	while (n && isdigit((unsigned char)label.p[n - 1]))
		n--;
	return n >= 8 && memcmp(label.p + n - 8, "Backward", 8) == 0;
}

static const struct operator *look_at(struct search *s, uint32_t string)
{
	struct operator *op = &s->ops[string];
	struct sonde_str label = sonde_records_str(s->b->r, string);

	if (op->is_known || !label.n)
		return op;
	op->is_known = true;
	op->seq = number_behind(label, ", seq = ");
	op->is_op = op->seq != NO_SEQ || number_behind(label, ", op_id = ") != NO_SEQ ||
		    sonde_str_starts(label, ENGINE);
	op->is_backward = sonde_str_starts(label, ENGINE) ||
			  (op->seq != NO_SEQ && is_backward_name(label));
	return op;
}

/* Marks what is a backward operator or inside one; false when memory is short. */
static bool find_operators(struct search *s)
{
	struct sonde_build *b = s->b;
	uint32_t i;

	for (i = 0; i < b->r->ranges.nr; i++) {
		const struct sonde_range *g = &b->r->ranges.at[i];
		uint32_t around = g->parent == SONDE_NONE ? SONDE_NONE : b->backward_of[g->parent];

		b->backward_of[i] = around;
		if (around != SONDE_NONE || g->kind != SONDE_PUSH_POP ||
			!look_at(s, g->label)->is_backward)
			continue;
		if (!sonde_vec_put(&b->backward,
			    (struct sonde_backward){.range = i, .origin = SONDE_NONE}))
			return false;
		b->backward_of[i] = (uint32_t)(b->backward.nr - 1);
	}
	return true;
}

static uint32_t find_forward(struct search *s, const struct sonde_range *g, bool *is_new)
{
	uint64_t seq = look_at(s, g->label)->seq;
	uint32_t key[3] = {g->process, (uint32_t)seq, (uint32_t)(seq >> 32)};

	if (is_new)
		return sonde_build__key(s->b, &s->forward, key, 3, is_new);
	return sonde_map_find(&s->forward, SONDE_BYTES(key));
}

/*
 * Of forward operators with the same number the one that began last made the backward one:
 * the number goes up when that is made, and operators around it had it before.
 */
static bool list_forward(struct search *s)
{
	const struct sonde_range *ranges = s->b->r->ranges.at;
	uint32_t i, n, *slot;
	bool is_new;

	for (i = 0; i < s->b->r->ranges.nr; i++) {
		const struct sonde_range *g = &ranges[i];

		if (s->b->backward_of[i] != SONDE_NONE || g->kind != SONDE_PUSH_POP ||
			look_at(s, g->label)->seq == NO_SEQ)
			continue;
		n = find_forward(s, g, &is_new);
		slot = sonde_map_slot(&s->latest, n);
		if (!slot)
			return false;
		if (is_new || ranges[*slot].time.begin_ns <= g->time.begin_ns)
			*slot = i;
	}
	return true;
}

/* The range of the program's own around a forward operator, SONDE_NONE = none. */
static uint32_t around_operator(struct search *s, uint32_t range)
{
	const struct sonde_range *ranges = s->b->r->ranges.at;

	while (range != SONDE_NONE && look_at(s, ranges[range].label)->is_op)
		range = ranges[range].parent;
	return range;
}

static void match(struct search *s)
{
	struct sonde_build *b = s->b;
	uint32_t i, n;

	for (i = 0; i < b->r->ranges.nr; i++) {
		const struct sonde_range *g = &b->r->ranges.at[i], *f;
		struct sonde_backward *w;

		if (b->backward_of[i] == SONDE_NONE || look_at(s, g->label)->seq == NO_SEQ)
			continue;
		w = &b->backward.at[b->backward_of[i]];
		n = w->origin == SONDE_NONE ? find_forward(s, g, NULL) : SONDE_NONE;
		if (n == SONDE_NONE)
			continue;
		f = &b->r->ranges.at[s->latest.at[n]];
		if (f->time.begin_ns <= g->time.begin_ns)
			w->origin = around_operator(s, s->latest.at[n]);
	}
}

/* Operators on a thread of their own: whom they work for. */
static int ask_for_places(struct sonde_build *b, struct sonde_err *err)
{
	SONDE_VEC(struct sonde_question) q = {0};
	bool *is_left_out = sonde_calloc(b->r->ranges.nr + 1, sizeof(*is_left_out));
	uint32_t i;
	int rc = is_left_out && sonde_vec_reserve(&q, b->backward.nr) ? 0 : sonde_err_nomem(err);

	for (i = 0; i < b->r->ranges.nr && rc == 0; i++)
		is_left_out[i] = b->backward_of[i] != SONDE_NONE;
	for (i = 0; i < b->backward.nr && rc == 0; i++) {
		const struct sonde_range *g = &b->r->ranges.at[b->backward.at[i].range];

		if (g->parent == SONDE_NONE && g->time.begin_ns && !b->l->selection.own_threads)
			q.at[q.nr++] = (struct sonde_question){.ns = g->time.begin_ns,
				.thread = g->thread,
				.process = g->process,
				.index = i};
	}
	if (rc == 0)
		rc = sonde_build__ask(b, q.at, q.nr, is_left_out, err);
	for (i = 0; i < q.nr && rc == 0; i++)
		b->backward.at[q.at[i].index].lent = q.at[i].set;
	b->is_left_out = is_left_out;
	sonde_vec_release(&q);
	return rc;
}

/* Whether any range is an operator with a number. */
static bool has_numbers(const struct sonde_build *b)
{
	size_t i;

	for (i = 0; i < b->r->strings.nr; i++)
		if (number_behind(b->r->strings.keys[i], ", seq = ") != NO_SEQ)
			return true;
	return false;
}

int sonde_build__find_backward(struct sonde_build *b, struct sonde_err *err)
{
	struct search s = {.b = b};
	bool ok;

	if (b->l->selection.no_origins || !has_numbers(b))
		return 0;
	s.ops = sonde_calloc(b->r->strings.nr + 1, sizeof(*s.ops));
	b->backward_of = sonde_malloc((b->r->ranges.nr + 1) * sizeof(*b->backward_of));
	ok = s.ops && b->backward_of && find_operators(&s) && list_forward(&s);
	if (ok)
		match(&s);
	sonde_free(s.ops);
	sonde_map_release(&s.forward);
	sonde_vec_release(&s.latest);
	return ok ? ask_for_places(b, err) : sonde_err_nomem(err);
}
