/* What threads did besides ranges and launches: marks, CUDA calls, and what they are called. */
#include "read/native/native_stream_int.h"

bool sonde_stream__mark(struct stream *s, const struct sonde_event *e)
{
	uint32_t label, domain;

	if (!sonde_stream__label(s, e, &label, &domain))
		return false;
	s->no_memory |=
		label == SONDE_NONE ||
		!sonde_vec_put(&s->n->r->marks, (struct sonde_mark){.ns = sonde_stream__now(s),
							.thread = s->tid,
							.process = s->n->process,
							.label = label,
							.domain = s->n->domains[domain]});
	return true;
}

bool sonde_stream__call(struct stream *s, const struct sonde_event *e)
{
	if (e->field[0] >= SONDE_NR_CALL_KINDS || e->field[1] > e->ticks)
		return false;
	s->no_memory |= !sonde_vec_put(&s->n->r->calls,
		(struct sonde_call){
			.begin_ns = sonde_native__clock_ns(&s->n->host, e->ticks - e->field[1]),
			.end_ns = sonde_stream__now(s),
			.thread = s->tid,
			.process = s->n->process,
			.kind = (uint8_t)e->field[0]});
	return true;
}

/* The program's own name for a thread is given up for no other. */
static bool set_name(struct native *n, uint64_t tid, uint32_t name, bool is_given)
{
	struct sonde_thread_name *t;
	size_t i;

	for (i = n->first_name; i < n->r->thread_names.nr; i++) {
		t = &n->r->thread_names.at[i];
		if (t->thread != tid)
			continue;
		if (is_given)
			t->name = name;
		return true;
	}
	if (n->r->thread_names.nr - n->first_name >= NATIVE_MAX_NAMES)
		return true;
	t = sonde_vec_push(&n->r->thread_names);
	if (t)
		*t = (struct sonde_thread_name){tid, n->process, name};
	return t != NULL;
}

bool sonde_stream__name(struct stream *s, const struct sonde_event *e)
{
	uint32_t label, domain;

	if (!sonde_stream__label(s, e, &label, &domain))
		return false;
	s->no_memory |= label == SONDE_NONE || !set_name(s->n, e->field[0], label, true);
	return true;
}

#define SYSTEM_NAME 15u /* bytes of a name the system keeps */

/* Threads are called like the program until somebody gives them another name. */
static bool is_program_name(const struct native *n, struct sonde_str name)
{
	struct sonde_str base = sonde_native__program(n);

	base.n = base.n < SYSTEM_NAME ? base.n : SYSTEM_NAME;
	return sonde_str_eq(base, name);
}

bool sonde_native__name_thread(struct native *n, uint64_t tid, struct sonde_str name)
{
	uint32_t number;

	if (!name.n || is_program_name(n, name))
		return true;
	number = sonde_records__string(n->r, name);
	return number != SONDE_NONE && set_name(n, tid, number, false);
}
