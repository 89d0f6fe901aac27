/*
 * What a hook was given: a label, in one of the shapes NVTX has for it, and
 * when. Finding a known label is in line; everything rarer is in message.c.
 */
#ifndef SONDE_INJECT_MESSAGE_INT_H
#define SONDE_INJECT_MESSAGE_INT_H

#include "inject/event_int.h"
#include "inject/nvtx_int.h"

#define HOT	   inline __attribute__((always_inline))
#define WIDE_LIMIT 2048 /* bytes of UTF-8 made of a wide text, on the host's stack */

typedef uint64_t unaligned __attribute__((aligned(1), may_alias));
#define NO_SANITIZE __attribute__((no_sanitize("address", "thread", "undefined")))

/* A label as an event names it: by its entry, or written out when the table is full. */
struct message {
	const struct label *label;
	const char *text;
	size_t n;
	unsigned domain;
	uint64_t now; /* when the hook was entered */
};

/* Any text of this kind. `text` NULL is the empty one. */
void sonde_message__narrow(struct message *m, unsigned kind, const char *text);
/* The same; `buf` holds WIDE_LIMIT bytes and must live as long as the message. */
void sonde_message__wide(struct message *m, unsigned kind, const wchar_t *text, char *buf);
/* The message of `a`, whatever its type. */
void sonde_message__of(
	struct message *m, struct thread *t, const nvtxEventAttributes_t *a, char *buf);
bool sonde_message__attributes_ok(const nvtxEventAttributes_t *a);
/* The number of a domain we gave this handle for; 0, the default domain, for any other. */
unsigned sonde_message__domain(nvtxDomainHandle_t handle);

/*
 * Whether `text` is this label. Like strcmp, but in line: whole words are read as long as they
 * cannot leave the page, which a byte of the text is on.
 */
NO_SANITIZE static HOT bool is_label(const struct label *e, const char *text)
{
	size_t n = (size_t)e->nr_bytes + 1, i;
	uint64_t a, b;

	if (unlikely(((uintptr_t)text & 4095) + n + 8 > 4096))
		return !strcmp(e->text, text);
	for (i = 0; i + 8 <= n; i += 8) {
		a = *(const unaligned *)(e->text + i);
		b = *(const unaligned *)(text + i);
		if (a != b)
			return false;
	}
	if (i == n)
		return true;
	a = *(const unaligned *)(e->text + i);
	b = *(const unaligned *)(text + i);
	return !((a ^ b) << (64 - 8 * (n - i))); /* only the bytes that are left */
}

/* The label of a range in the domain of `m`: one comparison when the same text came from there. */
static HOT void message_label(struct message *m, struct thread *t, const char *text)
{
	const struct label **recent = &t->recent[((uintptr_t)text >> 4 ^ m->domain) % NR_RECENT];
	const struct label *e = *recent;

	if (likely(e && e->domain == m->domain && text && is_label(e, text))) {
		m->label = e;
		return;
	}
	sonde_message__narrow(m, SONDE_STRING_LABEL, text);
	*recent = m->label;
}

static HOT uint8_t *message_put(uint8_t *p, const struct message *m)
{
	if (likely(m->label))
		return sonde_varint_put(p, m->label->id);
	return sonde_event_put_text(p, m->domain, m->text, m->n);
}

/* The same for events that are not written in place. */
static inline struct sonde_event_label label_of(const struct message *m)
{
	return (struct sonde_event_label){
		m->label ? m->label->id : 0, m->domain, m->text, m->n};
}

/* The four shapes of a labelled call, for push, start and mark alike. */
#define WITH_MESSAGE(none, fill, act)                                                              \
	char buf[WIDE_LIMIT];                                                                      \
	struct message m = {.now = ticks_now()};                                                   \
	struct thread *t = hook_enter();                                                           \
                                                                                                   \
	(void)buf;                                                                                 \
	if (!t)                                                                                    \
		return none;                                                                       \
	fill;                                                                                      \
	act;                                                                                       \
	hook_leave(t)

#endif
