/*
 * The NVTX state of a result → range entries.
 *
 * Every result repeats the whole state of its process: domains with their
 * registered strings, the push/pop stack of every thread, the open start/end
 * ranges. Only the launching thread's stacks matter. A frame is the same
 * entry as in the result before when both its label and the id of the last API
 * call before it was pushed are the same. An entry is over once it leaves its
 * thread's stack, so comparing with the previous stack of that thread is enough.
 */
#include "read/ncu/ncu_int.h"

#include <stdlib.h>

/* One frame of a message. */
struct ncu_frame_msg {
	struct sonde_str label;
	uint64_t api, id, thread;
};

/* One NVTX state while it is being read. */
struct ncu_state {
	struct sonde_str msg;
	uint64_t default_domain;
	uint64_t scope;	       /* 0: push/pop ranges belong to their thread; else to the process */
	unsigned lookups_left; /* how many registered strings may still be looked at: bounds hostile states */
};

/* --- names: the domains of a state, the labels of its ranges --------------------------------------- */

static int by_id(const void *a, const void *b)
{
	const struct ncu_domain *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

/* Reads the domains of a state into `n->domains`. */
static void read_domains(struct ncu_report *n, const struct ncu_state *s)
{
	struct sonde_wire w = sonde_wire_on(s->msg), inner;
	struct sonde_wire_field f, g;
	struct ncu_domain *d;

	n->domains.nr = 0;
	while (sonde_wire_next(&w, &f)) {
		if (!sonde_field_is_bytes(&f, 1))
			continue;
		d = sonde_push(&n->r->arena, &n->domains);
		d->msg = f.bytes;
		for (inner = sonde_wire_on(f.bytes); sonde_wire_next(&inner, &g);)
			if (sonde_field_is_int(&g, 1))
				d->id = g.value;
			else if (sonde_field_is_bytes(&g, 2))
				d->name = g.bytes;
	}
	sonde_vec_sort(&n->domains, by_id);
}

/* All members but the id are empty when the state does not list the domain. */
static struct ncu_domain find_domain(const struct ncu_report *n, uint64_t id)
{
	struct ncu_domain key = {.id = id}, *d;

	if (!n->domains.nr)
		return key;
	d = bsearch(&key, n->domains.at, n->domains.nr, sizeof(key), by_id);
	return d ? *d : key;
}

/* The string number of a domain's name, SONDE_NONE for the default domain. */
static uint32_t domain_string(struct ncu_report *n, const struct ncu_state *s, uint64_t id)
{
	struct sonde_str name = find_domain(n, id).name;

	if (id == s->default_domain || sonde_str_is(name, "<default domain>"))
		return SONDE_NONE;
	if (!name.n)
		name = sonde_arena_printf(&n->r->arena, "domain %llu", (unsigned long long)id);
	return sonde_records__string(n->r, name);
}

/* Finds a registered string of a domain by its id. Rarely needed, because Nsight writes the text as well. */
static struct sonde_str registered_string(
	const struct ncu_report *n, struct ncu_state *s, uint64_t domain, uint64_t id)
{
	struct sonde_wire w = sonde_wire_on(find_domain(n, domain).msg), inner;
	struct sonde_wire_field f, g;

	while (s->lookups_left && sonde_wire_next(&w, &f)) {
		struct sonde_str text = {NULL, 0};
		uint64_t its_id = 0;

		if (!sonde_field_is_bytes(&f, 3))
			continue;
		s->lookups_left--;
		for (inner = sonde_wire_on(f.bytes); sonde_wire_next(&inner, &g);) {
			if (sonde_field_is_int(&g, 1))
				its_id = g.value;
			else if (sonde_field_is_bytes(&g, 2))
				text = g.bytes;
		}
		if (its_id == id)
			return text;
	}
	return (struct sonde_str){NULL, 0};
}

/* The label inside a range's attributes{5 message{1 type, 2 text, 3 registered id}}. */
static struct sonde_str attribute_label(
	const struct ncu_report *n, struct ncu_state *s, uint64_t domain, struct sonde_str attrs)
{
	struct sonde_wire w = sonde_wire_on(attrs), inner;
	struct sonde_str text = {NULL, 0};
	uint64_t type = 0, id = 0;
	struct sonde_wire_field f, g;

	while (sonde_wire_next(&w, &f)) {
		if (!sonde_field_is_bytes(&f, 5))
			continue;
		for (inner = sonde_wire_on(f.bytes); sonde_wire_next(&inner, &g);) {
			if (sonde_field_is_int(&g, 1))
				type = g.value;
			else if (sonde_field_is_bytes(&g, 2))
				text = g.bytes;
			else if (sonde_field_is_int(&g, 3))
				id = g.value;
		}
	}
	return type == 3 && !text.n ? registered_string(n, s, domain, id) : text;
}

/* Reads a frame. Fields of push/pop: 1 name, 2 attributes, 3 api. Of start/end: 1 id, 2 name, 3 attributes, 4 api, 5 thread. */
static struct ncu_frame_msg read_frame(const struct ncu_report *n, struct ncu_state *s,
	uint64_t domain, struct sonde_str msg, enum sonde_range_kind kind)
{
	uint32_t shift = kind == SONDE_START_END;
	struct sonde_wire w = sonde_wire_on(msg);
	struct ncu_frame_msg frame = {{NULL, 0}, 0, 0, 0};
	struct sonde_str attrs = {NULL, 0};
	struct sonde_wire_field f;

	while (sonde_wire_next(&w, &f)) {
		if (sonde_field_is_bytes(&f, 1 + shift))
			frame.label = f.bytes;
		else if (sonde_field_is_bytes(&f, 2 + shift))
			attrs = f.bytes;
		else if (sonde_field_is_int(&f, 3 + shift))
			frame.api = f.value;
		else if (shift && sonde_field_is_int(&f, 1))
			frame.id = f.value;
		else if (shift && sonde_field_is_int(&f, 5))
			frame.thread = f.value;
	}
	if (!frame.label.n && attrs.n)
		frame.label = attribute_label(n, s, domain, attrs);
	return frame;
}

/* --- stacks and open ranges → entries -------------------------------------------------------------- */

static size_t count_frames(struct sonde_str msg)
{
	struct sonde_wire w = sonde_wire_on(msg);
	struct sonde_wire_field f;
	size_t nr = 0;

	while (sonde_wire_next(&w, &f))
		nr += sonde_field_is_bytes(&f, 3);
	return nr;
}

/*
 * Reads one domain's push/pop stack of one thread: {1 domain id, 3 repeated range}.
 * Frames equal to those of the result before keep their entry; the rest are new ones. A
 * range result is always a new entry of its innermost range.
 */
static void read_stack(
	struct ncu_report *n, struct ncu_state *s, struct sonde_str msg, const struct ncu_result *res)
{
	size_t depth = 0, nr = count_frames(msg);
	struct sonde_wire w = sonde_wire_on(msg);
	struct sonde_range range = {
		.parent = SONDE_NONE, .process = n->process, .thread = res->thread};
	struct ncu_stack *stack;
	struct sonde_wire_field f;
	uint64_t domain = 0;
	bool same = true;

	while (sonde_wire_next(&w, &f))
		if (sonde_field_is_int(&f, 1))
			domain = f.value;
	range.domain = domain_string(n, s, domain);
	stack = ncu_entries_stack(&n->entries, n->r, &range);
	n->too_deep = n->too_deep || nr > NCU_MAX_DEPTH;
	nr = nr > NCU_MAX_DEPTH ? NCU_MAX_DEPTH : nr;
	for (w = sonde_wire_on(msg); depth < nr && sonde_wire_next(&w, &f);) {
		struct ncu_frame_msg frame;

		if (!sonde_field_is_bytes(&f, 3))
			continue;
		frame = read_frame(n, s, domain, f.bytes, SONDE_PUSH_POP);
		range.label = sonde_records__string(n->r, frame.label);
		same = same && !(res->rec.kind == SONDE_RESULT_RANGE && depth + 1 == nr);
		ncu_stack_frame(stack, n->r, depth++, &range, frame.api, &same);
	}
	stack->frames.nr = depth;
	if (depth)
		sonde_put(&n->r->arena, &n->entries.members, range.parent);
}

/* Both lists are in order of their start, that is of ids, so one walk over the old list finds all. */
static const struct ncu_frame *find_started(const struct ncu_stack *stack, size_t *cursor,
	uint32_t label, const struct ncu_frame_msg *frame)
{
	const struct ncu_frame *old;

	while (*cursor < stack->frames.nr && stack->frames.at[*cursor].id < frame->id)
		++*cursor;
	old = *cursor < stack->frames.nr ? &stack->frames.at[*cursor] : NULL;
	return old && old->id == frame->id && old->label == label && old->api == frame->api ? old
											    : NULL;
}

/* Reads one domain's open start/end ranges; those in the list of the result before keep their entry. */
static void read_started(
	struct ncu_report *n, struct ncu_state *s, struct sonde_str msg, const struct ncu_result *res)
{
	struct sonde_wire w = sonde_wire_on(msg);
	struct sonde_range range = {
		.parent = SONDE_NONE, .process = n->process, .kind = SONDE_START_END};
	struct ncu_stack *stack, now = {0};
	struct sonde_wire_field f;
	uint64_t domain = 0;
	size_t cursor = 0;

	while (sonde_wire_next(&w, &f))
		if (sonde_field_is_int(&f, 1))
			domain = f.value;
	range.domain = domain_string(n, s, domain);
	stack = ncu_entries_stack(&n->entries, n->r, &range);
	for (w = sonde_wire_on(msg); sonde_wire_next(&w, &f);) {
		struct ncu_frame_msg frame;
		const struct ncu_frame *old = NULL;

		if (!sonde_field_is_bytes(&f, 3))
			continue;
		frame = read_frame(n, s, domain, f.bytes, SONDE_START_END);
		range.label = sonde_records__string(n->r, frame.label);
		range.thread = frame.thread;
		if (res->rec.kind != SONDE_RESULT_RANGE)
			old = find_started(stack, &cursor, range.label, &frame);
		ncu_entries_started(&n->entries, n->r, &now, old, &range, frame.api, frame.id);
	}
	sonde_vec_release(&stack->frames);
	*stack = now;
}

/* Reads the stacks of thread `msg`: {1 tid, 2 repeated domain stack}. */
static void read_thread(
	struct ncu_report *n, struct ncu_state *s, struct sonde_str msg, const struct ncu_result *res)
{
	struct sonde_wire w = sonde_wire_on(msg);
	struct sonde_wire_field f;

	while (sonde_wire_next(&w, &f))
		if (sonde_field_is_bytes(&f, 2))
			read_stack(n, s, f.bytes, res);
}

static uint64_t thread_id(struct sonde_str msg)
{
	struct sonde_wire w = sonde_wire_on(msg);
	struct sonde_wire_field f;

	while (sonde_wire_next(&w, &f))
		if (sonde_field_is_int(&f, 1))
			return f.value;
	return 0;
}

/* Whether a thread has any range open. */
static bool has_ranges(struct sonde_str thread)
{
	struct sonde_wire w = sonde_wire_on(thread);
	struct sonde_wire_field f;

	while (sonde_wire_next(&w, &f))
		if (sonde_field_is_bytes(&f, 2) && count_frames(f.bytes))
			return true;
	return false;
}

/* Lends a launch the ranges of the only other thread that has some open. Attribution decides whether to use them. */
static void lend_ranges(struct ncu_report *n, struct ncu_state *s, struct ncu_result *res)
{
	struct sonde_wire w = sonde_wire_on(s->msg);
	struct sonde_str lender = {NULL, 0};
	uint64_t launcher = res->thread;
	bool is_by_several = false;
	struct sonde_wire_field f;

	while (!is_by_several && sonde_wire_next(&w, &f)) {
		if (!sonde_field_is_bytes(&f, 2) || !has_ranges(f.bytes))
			continue;
		is_by_several = lender.p != NULL;
		lender = f.bytes;
	}
	if (!lender.p)
		return;
	res->rec.origin_kind = SONDE_ORIGIN_LENT;
	res->rec.lent = SONDE_NONE;
	if (is_by_several)
		return;
	res->thread = thread_id(lender);
	read_thread(n, s, lender, res);
	res->thread = launcher;
	res->rec.lent = sonde_records__set(n->r, n->entries.members.at, n->entries.members.nr);
	n->entries.members.nr = 0;
}

/*
 * Reads the push/pop ranges of the launching thread. With Nsight's process-wide
 * scope, a thread without ranges of its own takes those of the first thread
 * that has some.
 */
static void read_threads(struct ncu_report *n, struct ncu_state *s, struct ncu_result *res)
{
	struct sonde_wire w = sonde_wire_on(s->msg);
	uint64_t launcher = res->thread;
	struct sonde_wire_field f;

	while (sonde_wire_next(&w, &f))
		if (sonde_field_is_bytes(&f, 2) && thread_id(f.bytes) == launcher)
			read_thread(n, s, f.bytes, res);
	if (n->entries.members.nr)
		return;
	if (!s->scope) {
		lend_ranges(n, s, res);
		return;
	}
	for (w = sonde_wire_on(s->msg); !n->entries.members.nr && sonde_wire_next(&w, &f);) {
		if (!sonde_field_is_bytes(&f, 2))
			continue;
		res->thread = thread_id(f.bytes);
		read_thread(n, s, f.bytes, res);
	}
	res->thread = launcher;
}

static int read_state(
	struct ncu_report *n, struct sonde_str msg, struct ncu_result *res, struct sonde_err *err)
{
	struct ncu_state s = {.msg = msg, .lookups_left = 100000};
	struct sonde_wire w = sonde_wire_on(msg);
	struct sonde_wire_field f;

	while (sonde_wire_next(&w, &f)) {
		if (sonde_field_is_int(&f, 4))
			s.default_domain = f.value;
		else if (sonde_field_is_int(&f, 5))
			s.scope = f.value;
	}
	if (w.bad)
		return ncu_damage(n, &w, err);
	n->entries.members.nr = 0;
	read_domains(n, &s);
	read_threads(n, &s, res);
	for (w = sonde_wire_on(msg); sonde_wire_next(&w, &f);)
		if (sonde_field_is_bytes(&f, 3))
			read_started(n, &s, f.bytes, res);
	res->rec.open = sonde_records__set(n->r, n->entries.members.at, n->entries.members.nr);
	return 0;
}

int ncu_read_nvtx(
	struct ncu_report *n, struct sonde_str msg, struct ncu_result *res, struct sonde_err *err)
{
	bool same = res->rec.kind != SONDE_RESULT_RANGE && n->process == n->last_process &&
		    res->thread == n->last_thread && sonde_str_eq(msg, n->last_state);
	int rc;

	if (same) {
		res->rec.open = n->last_set;
		res->rec.origin_kind = n->last_origin_kind;
		res->rec.lent = n->last_lent;
		return 0;
	}
	rc = read_state(n, msg, res, err);
	n->last_state = msg;
	n->last_thread = res->thread;
	n->last_process = n->process;
	n->last_set = res->rec.open;
	n->last_origin_kind = res->rec.origin_kind;
	n->last_lent = res->rec.lent;
	return rc;
}
