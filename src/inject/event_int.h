/*
 * Writing one event, in the thread it happens in.
 *
 *     struct thread *t = hook_enter();      NULL: off, or already inside a hook
 *     sonde_ring__write(t, &event);         any event; or in place, for the hot ones:
 *     uint8_t *p = event_open(t, type, now); NULL: lost, and counted
 *     p = sonde_event_put_…(p, …);          the event's own fields
 *     event_close(t, p);                    now the flusher may see it
 *     hook_leave(t);
 */
#ifndef SONDE_INJECT_EVENT_INT_H
#define SONDE_INJECT_EVENT_INT_H

#include "inject/inject_int.h"

#include <string.h>

static inline struct thread *hook_enter(void)
{
	struct thread *t = sonde_self;

	if (unlikely(!atomic_load_explicit(&sonde_inject.on, memory_order_relaxed)))
		return NULL;
	if (unlikely(!t)) {
		t = sonde_ring__enroll();
		if (!t)
			return NULL;
	}
	if (unlikely(t->busy) && !sonde_ring__revive(t, __builtin_frame_address(0)))
		return NULL;
	t->busy = true;
	t->frame = __builtin_frame_address(0);
	atomic_signal_fence(memory_order_seq_cst);
	return t;
}

static inline void hook_leave(struct thread *t)
{
	atomic_signal_fence(memory_order_seq_cst);
	t->busy = false;
}

/* Room for any event, without its first byte and time: what GPU events need. */
static inline uint8_t *event_room(struct thread *t, uint64_t now)
{
	return likely(t->at <= t->limit) ? t->at : sonde_ring__next(t, now);
}

/* The first bytes of an event that also says the thread's CPU time. */
uint8_t *sonde_ring__cpu(struct thread *t, uint8_t *p, unsigned type, uint64_t now);

/*
 * `type` with its flags, `now` as read at the start of the hook: the processor works on while the
 * counter is being read.
 */
static inline uint8_t *event_open(struct thread *t, unsigned type, uint64_t now)
{
	uint8_t *p = event_room(t, now);

	if (unlikely(!p))
		return NULL;
	if (unlikely(now < t->base.ticks))
		now = t->base.ticks;
	if (unlikely(now >= t->cpu_due))
		return sonde_ring__cpu(t, p, type, now);
	return sonde_event_put_head(p, &t->base, type, now);
}

static inline void event_close(struct thread *t, uint8_t *p)
{
	t->at = p;
	atomic_store_explicit(&t->chunk->committed, (uint32_t)(p - t->data), memory_order_release);
}

#endif
