/*
 * The NVTX hooks: every range, mark and name of every NVTX instance in the process
 * comes here.
 *
 * Push and pop return what they return without any tool ("no tracking"), so
 * that a program which looks at the depth behaves as it does unprofiled. Invariant 7.
 */
#include "base/str.h"
#include "format/allocator.h"
#include "inject/inject_int.h"
#include "inject/nvtx_int.h"
#include "inject/payload_int.h"

/* The id of a start/end range that we give to the program: these flags, stream + 1 (27 bits), number in the stream (32 bits). */
#define ID_SKIPPED    SONDE_NVTX_SKIPPED /* the range is not recorded */
#define ID_INCLUDED   (1ull << 62) /* the range holds the gate open */
#define ID_EXCLUDED   (1ull << 61) /* the range holds the gate shut */
#define ID_WINDOW     (1ull << 60) /* the range's label may open windows … */
#define ID_CLOSES     (1ull << 59) /* … and its end may close one */
#define ID_STREAM(id) (((id) & ~(31ull << 59)) >> 32)

/* --- messages: a label, in any form in which NVTX passes it ------------------------------------- */

#define HOT	   inline __attribute__((always_inline))
#define RARE	   __attribute__((noinline)) /* keeps rare code out of the hooks, so that they stay short */
#define WIDE_LIMIT 2048 /* most bytes of UTF-8 that a wide text becomes, in a buffer on the host's stack */

typedef uint64_t unaligned __attribute__((aligned(1), may_alias));
#define NO_SANITIZE __attribute__((no_sanitize("address", "thread", "undefined")))

/* The label of an event. */
struct message {
	const struct label *label; /* its entry in the table; NULL = the table is full, `text` is written out */
	const char *text;
	size_t n;
	unsigned domain;
	uint64_t now; /* ticks when the hook was entered */
};

/* The number of the domain for which we gave out this handle; 0, the default domain, for any other handle. */
static RARE unsigned domain_of(nvtxDomainHandle_t handle)
{
	uintptr_t at = (uintptr_t)handle, base = (uintptr_t)sonde_inject.labels.domains;
	size_t n = (at - base) / sizeof(sonde_inject.labels.domains[0]);

	return at > base && n < MAX_DOMAINS ? (unsigned)n : 0;
}

static void intern(struct message *m, unsigned kind)
{
	m->label = sonde_label__intern(kind, m->domain, m->text, m->n);
	if (unlikely(!m->label)) {
		count(&sonde_inject.nr_inline);
		if (m->n > SONDE_INLINE_LIMIT)
			m->n = SONDE_INLINE_LIMIT;
	}
}

/* Takes a text of `kind` (enum sonde_string_kind). `text` NULL means the empty text. */
static RARE void take_narrow(struct message *m, unsigned kind, const char *text)
{
	m->text = text ? text : "";
	m->n = strlen(m->text);
	if (unlikely(m->n > SONDE_LABEL_LIMIT)) {
		m->n = SONDE_LABEL_LIMIT;
		count(&sonde_inject.nr_cut);
	}
	intern(m, kind);
}

static size_t put_utf8(char *to, uint32_t c)
{
	return sonde_utf8_encode(to, c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0xfffd : c);
}

/* The same for a wide text; `buf` has WIDE_LIMIT bytes and must live as long as the message. */
static RARE void take_wide(struct message *m, unsigned kind, const wchar_t *text, char *buf)
{
	size_t n = 0;

	for (; text && *text; text++) {
		if (n + 5 > WIDE_LIMIT) {
			count(&sonde_inject.nr_cut);
			break;
		}
		n += put_utf8(buf + n, (uint32_t)*text);
	}
	buf[n] = '\0';
	m->text = buf;
	m->n = n;
	intern(m, kind);
}

/*
 * Whether `text` is this label's text. Like strcmp, but inlined: it reads whole words, beyond the end of `text` too, as long
 * as they are on the page on which `text` begins.
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
	return !((a ^ b) << (64 - 8 * (n - i))); /* compares only the n - i bytes that are left */
}

/* Finds the label `text` in the domain of `m`: one comparison if the same text came from the same address before. */
static HOT void take_label(struct message *m, struct thread *t, const char *text)
{
	const struct label **recent = &t->recent[((uintptr_t)text >> 4 ^ m->domain) % NR_RECENT];
	const struct label *e = *recent;

	if (likely(e && e->domain == m->domain && text && is_label(e, text))) {
		m->label = e;
		return;
	}
	take_narrow(m, SONDE_STRING_LABEL, text);
	*recent = m->label;
}

static bool is_complete(const nvtxEventAttributes_t *a)
{
	return a && a->size >= sizeof(*a);
}

/* Takes the message of `a`, whatever its type. */
static RARE void take_attributes(
	struct message *m, struct thread *t, const nvtxEventAttributes_t *a, char *buf)
{
	struct label *e;

	if (!is_complete(a)) {
		take_narrow(m, SONDE_STRING_LABEL, "");
	} else if (a->messageType == NVTX_MESSAGE_TYPE_REGISTERED) {
		e = sonde_label__of_handle(a->message.registered);
		if (likely(e && e->domain == m->domain && e->kind == SONDE_STRING_LABEL))
			m->label = e;
		else
			take_narrow(m, SONDE_STRING_LABEL, e ? e->text : "");
	} else if (a->messageType == NVTX_MESSAGE_TYPE_ASCII) {
		take_label(m, t, a->message.ascii);
	} else if (a->messageType == NVTX_MESSAGE_TYPE_UNICODE) {
		take_wide(m, SONDE_STRING_LABEL, a->message.unicode, buf);
	} else {
		take_narrow(m, SONDE_STRING_LABEL, "");
	}
}

static HOT uint8_t *put_label(uint8_t *p, const struct message *m)
{
	if (likely(m->label))
		return sonde_varint_put(p, m->label->id);
	return sonde_event_put_text(p, m->domain, m->text, m->n);
}

/* The message's label, for events that sonde_ring__write writes. */
static inline struct sonde_event_label label_of(const struct message *m)
{
	return (struct sonde_event_label){
		m->label ? m->label->id : 0, m->domain, m->text, m->n};
}

/* A hook with a label: enters the hook, fills in the message, acts on it, leaves. `none` is returned when the library is off. */
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

/* --- events -------------------------------------------------------------------------------- */

/* Writes an event that has a label and nothing else: push or mark. */
static HOT void event_put(struct thread *t, unsigned type, const struct message *m)
{
	uint8_t *p = event_open(t, type | (m->label ? 0u : SONDE_EVENT_INLINE), m->now);

	if (likely(p))
		event_close(t, put_label(p, m));
}

static HOT unsigned gate_of(const struct message *m)
{
	return likely(m->label) ? m->label->gate : sonde_label__gate(m->domain, m->text);
}

static HOT bool is_gated(void)
{
	return atomic_load_explicit(&sonde_inject.gated, memory_order_relaxed);
}

/*
 * A push where not everything is captured. A range that the gate lets in is put on the stack, for windows that open while it
 * is open, and written now if a window is open. If this push opens a window, the range begins after the opening.
 */
static __attribute__((noinline)) void push_gated(
	struct thread *t, const struct message *m, open_range o)
{
	unsigned gate = OPEN_GATE(o);
	struct message late = *m;
	bool is_open;

	if (gate & GATE_WINDOW) {
		o |= sonde_window__enter(t) & OPEN_CLOSES;
		t->nr_window++; /* before is_open: if another thread has opened the window by now, this thread is in an entry */
		late.now = ticks_now();
	}
	is_open = sonde_window__is_open(t);
	if (o & OPEN_CLOSES && t->is_left_out) { /* this entry was asked for: the ranges around it are recorded from now on */
		t->is_left_out = false;
		sonde_ring__hand_over(t);
	}
	if (!sonde_gate__is_open(t, gate))
		o &= ~OPEN_RECORDED;
	t->nr_included += gate & GATE_INCLUDED ? 1 : 0;
	t->nr_excluded += gate & GATE_EXCLUDED ? 1 : 0;
	if (is_open && o & OPEN_RECORDED)
		event_put(t, SONDE_EVENT_PUSH, &late);
	t->open[t->nr_open++] = o;
}

static HOT void push_range(struct thread *t, const struct message *m)
{
	unsigned gate = gate_of(m);
	open_range o = OPEN_MAKE(m->label ? m->label->id : 0, m->domain, gate) | OPEN_RECORDED;
	uint64_t nr = count_own(&t->nr_entered);

	if (unlikely(t->nr_open == SONDE_OPEN_LIMIT)) {
		t->nr_open_too_deep++;
		t->open_too_deep[m->domain]++;
		count(&sonde_inject.nr_too_deep);
		return;
	}
	if (unlikely(is_gated())) {
		push_gated(t, m, o);
	} else { /* event first: if it begins a chunk, the chunk must list the ranges that were open before this one */
		event_put(t, SONDE_EVENT_PUSH, m);
		t->open[t->nr_open++] = o;
	}
	if (unlikely(nr % 64 == 0))
		sonde_budget__pushed(m->now);
}

/* The index, plus one, of the innermost open range of `domain` on the stack; 0 = there is none. */
static HOT uint32_t find_innermost(const struct thread *t, unsigned domain)
{
	uint32_t i = t->nr_open;

	while (i && OPEN_DOMAIN(t->open[i - 1]) != domain)
		i--;
	return i;
}

static HOT void remove_open_range(struct thread *t, uint32_t i)
{
	open_range o = t->open[i - 1];

	if (unlikely(i != t->nr_open))
		memmove(&t->open[i - 1], &t->open[i], (t->nr_open - i) * sizeof(o));
	t->nr_open--;
	if (unlikely(OPEN_GATE(o))) {
		t->nr_included -= OPEN_GATE(o) & GATE_INCLUDED ? 1 : 0;
		t->nr_excluded -= OPEN_GATE(o) & GATE_EXCLUDED ? 1 : 0;
		if (OPEN_GATE(o) & GATE_WINDOW) {
			t->is_left_out &= --t->nr_window > 0;
			sonde_window__leave(t, o & OPEN_CLOSES);
		}
	}
}

static HOT int pop_range(unsigned domain)
{
	uint64_t now = ticks_now();
	struct thread *t = hook_enter();
	uint32_t i;
	uint8_t *p;

	if (unlikely(!t))
		return NVTX_NO_PUSH_POP_TRACKING;
	if (unlikely(t->nr_open_too_deep) && t->open_too_deep[domain]) {
		t->nr_open_too_deep--;
		t->open_too_deep[domain]--;
		hook_leave(t);
		return NVTX_NO_PUSH_POP_TRACKING;
	}
	i = find_innermost(t, domain);
	/* A pop without an open range is written too: the reader counts such pops. */
	if (likely(i ? t->open[i - 1] & OPEN_RECORDED : !is_gated()) &&
		likely(!is_gated() || (sonde_window__is_open(t) && !t->is_left_out))) {
		p = event_open(t, SONDE_EVENT_POP | (domain ? SONDE_EVENT_DOMAIN : 0u), now);
		if (likely(p))
			event_close(t, domain ? sonde_varint_put(p, domain) : p);
	}
	if (likely(i))
		remove_open_range(t, i);
	hook_leave(t);
	return NVTX_NO_PUSH_POP_TRACKING;
}

/*
 * Returns the flags that windows need in the id of a start/end range. The thread itself is not inside such a range:
 * is_left_out stays.
 */
static uint64_t start_in_window(struct thread *t)
{
	bool was_left_out = t->is_left_out;
	uint64_t how = sonde_window__enter(t);

	t->is_left_out = was_left_out;
	return ID_WINDOW | (how & OPEN_CLOSES ? ID_CLOSES : 0) | (how & OPEN_SKIPPED ? ID_SKIPPED : 0);
}

/* A start where not everything is captured: adds flags to `*id`, may change `*ticks`. False: the start must not be written now. */
static bool start_gated(struct thread *t, const struct message *m, uint64_t *id, uint64_t *ticks)
{
	unsigned gate = gate_of(m);
	bool is_open, was_left_out;

	*id |= gate & GATE_INCLUDED ? ID_INCLUDED : 0;
	*id |= gate & GATE_EXCLUDED ? ID_EXCLUDED : 0;
	if (gate & GATE_WINDOW) {
		*id |= start_in_window(t);
		*ticks = ticks_now();
	}
	is_open = sonde_window__is_open(t);
	was_left_out = t->is_left_out;
	t->is_left_out = was_left_out && !(*id & ID_CLOSES);
	*id |= sonde_gate__is_open(t, gate) ? 0 : ID_SKIPPED;
	t->is_left_out = was_left_out;
	is_open = is_open && !(*id & ID_SKIPPED);
	if (gate || !(*id & ID_SKIPPED))
		sonde_gate__hold(*id, gate, *id & ID_SKIPPED ? NULL : m->label,
			is_open ? t->epoch : 0);
	return is_open;
}

static uint64_t start_range(struct thread *t, const struct message *m)
{
	uint64_t id = ++t->nr_starts | (uint64_t)(t->stream + 1) << 32;
	struct sonde_event e;

	count_own(&t->nr_entered);
	e.ticks = m->now;
	if (unlikely(is_gated()) && !start_gated(t, m, &id, &e.ticks))
		return id;
	e.type = SONDE_EVENT_START;
	e.label = label_of(m);
	e.field[0] = id & UINT32_MAX;
	sonde_ring__write(t, &e);
	return id;
}

void sonde_nvtx__carry(struct thread *t, uint32_t epoch)
{
	const struct label *label;
	struct sonde_event e;
	uint64_t id;
	uint32_t i;

	for (i = 0; i < MAX_HELD_RANGES; i++) {
		label = sonde_gate__held(i, epoch, &id);
		if (!label)
			continue;
		e.type = SONDE_EVENT_CARRIED;
		e.ticks = ticks_now();
		e.label = (struct sonde_event_label){label->id, label->domain, NULL, 0};
		e.field[0] = ID_STREAM(id);
		e.field[1] = id & UINT32_MAX;
		sonde_ring__write(t, &e);
	}
}

static void put_mark(struct thread *t, const struct message *m)
{
	if (!is_gated() || sonde_window__is_open(t))
		event_put(t, SONDE_EVENT_MARK, m);
}

/* Writes a reading of PyTorch's allocator, which modules/ passes as a mark (format/allocator.h). */
static void put_allocator(struct thread *t, const nvtxEventAttributes_t *a, uint64_t now)
{
	struct sonde_allocator_reading r;
	struct sonde_event e;

	if (!is_complete(a) || a->payloadType != NVTX_PAYLOAD_TYPE_UNSIGNED_INT64 || (is_gated() && !sonde_window__is_open(t)))
		return;
	r = sonde_allocator_unpack(a->category, a->color, a->payload.ullValue);
	e.type = SONDE_EVENT_ALLOCATOR;
	e.ticks = now;
	e.field[SONDE_ALLOCATOR_IS_END] = r.is_end;
	e.field[SONDE_ALLOCATOR_DEVICE] = r.device;
	e.field[SONDE_ALLOCATOR_BYTES] = r.allocated;
	e.field[SONDE_ALLOCATOR_PEAK] = r.peak;
	sonde_ring__write(t, &e);
}

static void write_stop(struct thread *t, uint64_t id)
{
	struct sonde_event e;

	e.type = SONDE_EVENT_STOP;
	e.ticks = ticks_now();
	e.field[0] = ID_STREAM(id);
	e.field[1] = id & UINT32_MAX;
	sonde_ring__write(t, &e);
}

/* Writes the numbers that came with an event (payload.c); `of` is the SONDE_VALUE_OF field. */
static RARE void put_values(struct thread *t, const struct values *v, unsigned what, uint64_t of, uint64_t now)
{
	unsigned i;
	uint8_t *p;

	for (i = 0; i < v->nr; i++) {
		p = event_open(t, SONDE_EVENT_VALUE, now);
		if (!p)
			return;
		p = sonde_varint_put(p, v->at[i].name->id);
		p = sonde_varint_put(p, what);
		p = sonde_varint_put(p, of);
		p = sonde_varint_put(p, v->at[i].type);
		event_close(t, sonde_varint_put(p, v->at[i].bits));
	}
}

/* Ends a start/end range. `v`: the numbers that came with the end; NULL = none. */
static void stop_range(uint64_t id, const struct values *v)
{
	unsigned gate = (id & ID_INCLUDED ? GATE_INCLUDED : 0u) |
			(id & ID_EXCLUDED ? GATE_EXCLUDED : 0u) |
			(id & ID_WINDOW ? GATE_WINDOW : 0u);
	bool is_open, is_first;
	struct thread *t;

	if (!gate && id & ID_SKIPPED)
		return;
	if (unlikely(ID_STREAM(id) && ID_STREAM(id) <= sonde_inject.first_stream))
		return; /* the range began in an earlier wake */
	t = hook_enter();
	/* In this order: if a window has just opened, is_open writes that this range is open, before it is let go. */
	is_open = t && !(id & ID_SKIPPED) && (!is_gated() || sonde_window__is_open(t));
	is_first = is_gated() && sonde_gate__let_go(id, gate);
	if (!t)
		return;
	if (is_open) {
		write_stop(t, id);
		if (v)
			put_values(t, v, SONDE_VALUE_OF_STOP, id & UINT32_MAX, ticks_now());
	}
	if (is_first && gate & GATE_WINDOW)
		sonde_window__leave(t, id & ID_CLOSES);
	hook_leave(t);
}

/* --- numbers that come with ranges (payload.c) ------------------------------------------------------ */

/* Whether numbers of ranges and counters are written now. */
static HOT bool is_written_now(struct thread *t)
{
	return !is_gated() || (sonde_window__is_open(t) && !t->is_left_out);
}

static HOT bool has_payload(const nvtxEventAttributes_t *a)
{
	return is_complete(a) && unlikely(a->payloadType != NVTX_PAYLOAD_UNKNOWN);
}

/* Writes the numbers of the range that was just pushed, if the range is recorded. */
static RARE void give_values(struct thread *t, const struct message *m, const struct values *v)
{
	if (!t->nr_open_too_deep && t->nr_open && t->open[t->nr_open - 1] & OPEN_RECORDED && is_written_now(t))
		put_values(t, v, SONDE_VALUE_OF_PUSH, m->domain, m->now);
}

static RARE void push_payload(struct thread *t, const struct message *m, const nvtxEventAttributes_t *a)
{
	struct values v = {0};

	sonde_payload__take(&v, m->domain, a);
	give_values(t, m, &v);
}

/* Writes the numbers of the start/end range that was just started. */
static RARE void give_start_values(struct thread *t, const struct message *m, uint64_t id, const struct values *v)
{
	if (!(id & ID_SKIPPED) && is_written_now(t))
		put_values(t, v, SONDE_VALUE_OF_START, id & UINT32_MAX, m->now);
}

static RARE void start_payload(struct thread *t, const struct message *m, uint64_t id, const nvtxEventAttributes_t *a)
{
	struct values v = {0};

	sonde_payload__take(&v, m->domain, a);
	give_start_values(t, m, id, &v);
}

/* --- the hooks of ranges and marks ---------------------------------------------------------------------------------- */

static int NVTX_API range_push_a(const char *text)
{
	struct message m = {.now = ticks_now()};
	struct thread *t = hook_enter();

	if (unlikely(!t))
		return NVTX_NO_PUSH_POP_TRACKING;
	take_label(&m, t, text);
	push_range(t, &m);
	hook_leave(t);
	return NVTX_NO_PUSH_POP_TRACKING;
}

static int NVTX_API range_push_w(const wchar_t *text)
{
	WITH_MESSAGE(NVTX_NO_PUSH_POP_TRACKING,
		take_wide(&m, SONDE_STRING_LABEL, text, buf), push_range(t, &m));
	return NVTX_NO_PUSH_POP_TRACKING;
}

static int NVTX_API domain_range_push_ex(nvtxDomainHandle_t d, const nvtxEventAttributes_t *a)
{
	WITH_MESSAGE(NVTX_NO_PUSH_POP_TRACKING,
		(m.domain = domain_of(d), take_attributes(&m, t, a, buf)),
		(push_range(t, &m), has_payload(a) ? push_payload(t, &m, a) : (void)0));
	return NVTX_NO_PUSH_POP_TRACKING;
}

static int NVTX_API range_push_ex(const nvtxEventAttributes_t *a)
{
	return domain_range_push_ex(NULL, a);
}

static int NVTX_API range_pop(void)
{
	return pop_range(0);
}

static int NVTX_API domain_range_pop(nvtxDomainHandle_t d)
{
	return pop_range(domain_of(d));
}

static nvtxRangeId_t NVTX_API range_start_a(const char *text)
{
	nvtxRangeId_t id;
	WITH_MESSAGE(ID_SKIPPED, take_label(&m, t, text), id = start_range(t, &m));
	return id;
}

static nvtxRangeId_t NVTX_API range_start_w(const wchar_t *text)
{
	nvtxRangeId_t id;
	WITH_MESSAGE(ID_SKIPPED, take_wide(&m, SONDE_STRING_LABEL, text, buf),
		id = start_range(t, &m));
	return id;
}

static nvtxRangeId_t NVTX_API domain_range_start_ex(
	nvtxDomainHandle_t d, const nvtxEventAttributes_t *a)
{
	nvtxRangeId_t id;
	WITH_MESSAGE(ID_SKIPPED,
		(m.domain = domain_of(d), take_attributes(&m, t, a, buf)),
		(id = start_range(t, &m), has_payload(a) ? start_payload(t, &m, id, a) : (void)0));
	return id;
}

static nvtxRangeId_t NVTX_API range_start_ex(const nvtxEventAttributes_t *a)
{
	return domain_range_start_ex(NULL, a);
}

static void NVTX_API range_end(nvtxRangeId_t id)
{
	stop_range(id, NULL);
}

static void NVTX_API domain_range_end(nvtxDomainHandle_t d, nvtxRangeId_t id)
{
	(void)d;
	stop_range(id, NULL);
}

static void NVTX_API mark_a(const char *text)
{
	WITH_MESSAGE(, take_label(&m, t, text), put_mark(t, &m));
}

static void NVTX_API mark_w(const wchar_t *text)
{
	WITH_MESSAGE(, take_wide(&m, SONDE_STRING_LABEL, text, buf),
		put_mark(t, &m));
}

static void NVTX_API domain_mark_ex(nvtxDomainHandle_t d, const nvtxEventAttributes_t *a)
{
	unsigned allocator = atomic_load_explicit(&sonde_inject.allocator_domain, memory_order_relaxed);

	if (unlikely(allocator && domain_of(d) == allocator)) {
		uint64_t now = ticks_now();
		struct thread *t = hook_enter();

		if (t) {
			put_allocator(t, a, now);
			hook_leave(t);
		}
		return;
	}
	WITH_MESSAGE(, (m.domain = domain_of(d), take_attributes(&m, t, a, buf)),
		put_mark(t, &m));
}

static void NVTX_API mark_ex(const nvtxEventAttributes_t *a)
{
	domain_mark_ex(NULL, a);
}

/* --- names of threads, domains and registered strings ------------------------------------------ */

/* There are no hooks for names of CUDA objects: no report shows them. */

static void NVTX_API domain_name_category_a(nvtxDomainHandle_t d, uint32_t category, const char *text)
{
	WITH_MESSAGE(, take_narrow(&m, SONDE_STRING_NAME, text), sonde_payload__name_category(domain_of(d), category, m.label));
}

static void NVTX_API domain_name_category_w(nvtxDomainHandle_t d, uint32_t category, const wchar_t *text)
{
	WITH_MESSAGE(, take_wide(&m, SONDE_STRING_NAME, text, buf), sonde_payload__name_category(domain_of(d), category, m.label));
}

static void NVTX_API name_category_a(uint32_t category, const char *text)
{
	domain_name_category_a(NULL, category, text);
}

static void NVTX_API name_category_w(uint32_t category, const wchar_t *text)
{
	domain_name_category_w(NULL, category, text);
}

static void name_thread(struct thread *t, const struct message *m, uint32_t tid)
{
	struct sonde_event e;

	e.type = SONDE_EVENT_NAME_THREAD;
	e.ticks = m->now;
	e.label = label_of(m);
	e.field[0] = tid;
	sonde_ring__write(t, &e);
}

static void NVTX_API name_os_thread_a(uint32_t tid, const char *text)
{
	WITH_MESSAGE(, take_narrow(&m, SONDE_STRING_NAME, text), name_thread(t, &m, tid));
}

static void NVTX_API name_os_thread_w(uint32_t tid, const wchar_t *text)
{
	WITH_MESSAGE(, take_wide(&m, SONDE_STRING_NAME, text, buf),
		name_thread(t, &m, tid));
}

static nvtxDomainHandle_t domain_handle(const struct message *m)
{
	unsigned n = sonde_label__domain(m->text, m->n);

	if (m->n == sizeof(SONDE_ALLOCATOR_DOMAIN) - 1 && !memcmp(m->text, SONDE_ALLOCATOR_DOMAIN, m->n))
		atomic_store_explicit(&sonde_inject.allocator_domain, n, memory_order_relaxed);

	return (nvtxDomainHandle_t)(void *)&sonde_inject.labels.domains[n];
}

/*
 * The next functions do not enter a hook, so they work in a sleeper that is asleep too: the handles must be valid when
 * it is awake.
 */

static nvtxDomainHandle_t NVTX_API domain_create_a(const char *text)
{
	struct message m = {0};

	take_narrow(&m, SONDE_STRING_DOMAIN, text);
	return domain_handle(&m);
}

static nvtxDomainHandle_t NVTX_API domain_create_w(const wchar_t *text)
{
	struct message m = {0};
	char buf[WIDE_LIMIT];

	take_wide(&m, SONDE_STRING_DOMAIN, text, buf);
	return domain_handle(&m);
}

static void NVTX_API domain_destroy(nvtxDomainHandle_t d)
{
	(void)d;
}

static nvtxStringHandle_t string_handle(const struct message *m)
{
	if (!m->label)
		sonde_flusher__note("the program registered more NVTX strings than sonde can store: ranges that use the others have no label");
	return (nvtxStringHandle_t)(void *)(uintptr_t)m->label;
}

static nvtxStringHandle_t NVTX_API domain_register_a(nvtxDomainHandle_t d, const char *text)
{
	struct message m = {.domain = domain_of(d)};

	take_narrow(&m, SONDE_STRING_LABEL | LABEL_KEPT, text);
	return string_handle(&m);
}

static nvtxStringHandle_t NVTX_API domain_register_w(nvtxDomainHandle_t d, const wchar_t *text)
{
	struct message m = {.domain = domain_of(d)};
	char buf[WIDE_LIMIT];

	take_wide(&m, SONDE_STRING_LABEL | LABEL_KEPT, text, buf);
	return string_handle(&m);
}

/* --- extensions: payloads and counters ---------------------------------------------------------------- */

#if SONDE_HAS_NVTX_PAYLOAD
static uint64_t NVTX_API payload_schema_register(nvtxDomainHandle_t d, const nvtxPayloadSchemaAttr_t *a)
{
	return sonde_payload__register(domain_of(d), a);
}

/* Takes the label from an event's payload. */
static void take_message(struct message *m, struct thread *t, const struct values *v)
{
	struct label *e = v->registered ? sonde_label__of_handle(v->registered) : NULL;

	if (e && e->domain == m->domain && e->kind == SONDE_STRING_LABEL)
		m->label = e;
	else
		take_label(m, t, v->message ? v->message : "");
}

static int NVTX_API range_push_payload(nvtxDomainHandle_t d, const nvtxPayloadData_t *data, size_t nr)
{
	struct values v = {0};
	WITH_MESSAGE(NVTX_NO_PUSH_POP_TRACKING,
		(m.domain = domain_of(d), sonde_payload__take_data(&v, m.domain, data, nr), take_message(&m, t, &v)),
		(push_range(t, &m), give_values(t, &m, &v)));
	return NVTX_NO_PUSH_POP_TRACKING;
}

/* A payload at the end of a range holds numbers that are known only then, such as how many tokens a request took. */
static int NVTX_API range_pop_payload(nvtxDomainHandle_t d, const nvtxPayloadData_t *data, size_t nr)
{
	struct values v = {0};
	struct thread *t = hook_enter();
	uint32_t i;

	if (t) {
		sonde_payload__take_data(&v, domain_of(d), data, nr);
		i = find_innermost(t, domain_of(d));
		if (!t->nr_open_too_deep && i && t->open[i - 1] & OPEN_RECORDED && is_written_now(t))
			put_values(t, &v, SONDE_VALUE_OF_PUSH, domain_of(d), ticks_now());
		hook_leave(t);
	}
	return pop_range(domain_of(d));
}

static nvtxRangeId_t NVTX_API range_start_payload(nvtxDomainHandle_t d, const nvtxPayloadData_t *data, size_t nr)
{
	struct values v = {0};
	nvtxRangeId_t id;
	WITH_MESSAGE(ID_SKIPPED,
		(m.domain = domain_of(d), sonde_payload__take_data(&v, m.domain, data, nr), take_message(&m, t, &v)),
		(id = start_range(t, &m), give_start_values(t, &m, id, &v)));
	return id;
}

static void NVTX_API range_end_payload(nvtxDomainHandle_t d, nvtxRangeId_t id, const nvtxPayloadData_t *data, size_t nr)
{
	struct values v = {0};

	sonde_payload__take_data(&v, domain_of(d), data, nr);
	stop_range(id, &v);
}
#endif

#if SONDE_HAS_NVTX_COUNTERS
static uint64_t NVTX_API counter_register(nvtxDomainHandle_t d, const nvtxCounterAttr_t *a)
{
	return sonde_payload__register_counter(domain_of(d), a);
}

/* The body of a hook that samples counters: `take` fills in `v`, using `domain`. */
#define SAMPLE(d, take)                                                                            \
	uint64_t now = ticks_now();                                                                \
	unsigned domain = domain_of(d);                                                            \
	struct thread *t = hook_enter();                                                           \
	struct values v = {0};                                                                     \
                                                                                                   \
	if (!t)                                                                                    \
		return;                                                                            \
	take;                                                                                      \
	if (is_written_now(t))                                                                     \
		put_values(t, &v, SONDE_VALUE_OF_COUNTER, 0, now);                                 \
	hook_leave(t)

static void NVTX_API counter_sample_int64(nvtxDomainHandle_t d, uint64_t id, int64_t value)
{
	SAMPLE(d, sonde_payload__sample_whole(&v, domain, id, value));
}

static void NVTX_API counter_sample_float64(nvtxDomainHandle_t d, uint64_t id, double value)
{
	SAMPLE(d, sonde_payload__sample_real(&v, domain, id, value));
}

static void NVTX_API counter_sample(nvtxDomainHandle_t d, uint64_t id, const void *value, size_t size)
{
	SAMPLE(d, sonde_payload__sample(&v, domain, id, value, size));
}
#endif

/* --- attaching ------------------------------------------------------------------------------- */

const NvtxFunctionPointer sonde_nvtx_core[NVTX_CBID_CORE_SIZE] = {
	HOOK(NVTX_CBID_CORE_MarkEx, mark_ex),
	HOOK(NVTX_CBID_CORE_MarkA, mark_a),
	HOOK(NVTX_CBID_CORE_MarkW, mark_w),
	HOOK(NVTX_CBID_CORE_RangeStartEx, range_start_ex),
	HOOK(NVTX_CBID_CORE_RangeStartA, range_start_a),
	HOOK(NVTX_CBID_CORE_RangeStartW, range_start_w),
	HOOK(NVTX_CBID_CORE_RangeEnd, range_end),
	HOOK(NVTX_CBID_CORE_RangePushEx, range_push_ex),
	HOOK(NVTX_CBID_CORE_RangePushA, range_push_a),
	HOOK(NVTX_CBID_CORE_RangePushW, range_push_w),
	HOOK(NVTX_CBID_CORE_RangePop, range_pop),
	HOOK(NVTX_CBID_CORE_NameCategoryA, name_category_a),
	HOOK(NVTX_CBID_CORE_NameCategoryW, name_category_w),
	HOOK(NVTX_CBID_CORE_NameOsThreadA, name_os_thread_a),
	HOOK(NVTX_CBID_CORE_NameOsThreadW, name_os_thread_w),
};

const NvtxFunctionPointer sonde_nvtx_core2[NVTX_CBID_CORE2_SIZE] = {
	HOOK(NVTX_CBID_CORE2_DomainMarkEx, domain_mark_ex),
	HOOK(NVTX_CBID_CORE2_DomainRangeStartEx, domain_range_start_ex),
	HOOK(NVTX_CBID_CORE2_DomainRangeEnd, domain_range_end),
	HOOK(NVTX_CBID_CORE2_DomainRangePushEx, domain_range_push_ex),
	HOOK(NVTX_CBID_CORE2_DomainRangePop, domain_range_pop),
	HOOK(NVTX_CBID_CORE2_DomainNameCategoryA, domain_name_category_a),
	HOOK(NVTX_CBID_CORE2_DomainNameCategoryW, domain_name_category_w),
	HOOK(NVTX_CBID_CORE2_DomainRegisterStringA, domain_register_a),
	HOOK(NVTX_CBID_CORE2_DomainRegisterStringW, domain_register_w),
	HOOK(NVTX_CBID_CORE2_DomainCreateA, domain_create_a),
	HOOK(NVTX_CBID_CORE2_DomainCreateW, domain_create_w),
	HOOK(NVTX_CBID_CORE2_DomainDestroy, domain_destroy),
};

static const struct sonde_nvtx_module modules[] = {
	{NVTX_CB_MODULE_CORE, sonde_nvtx_core, NVTX_CBID_CORE_SIZE},
	{NVTX_CB_MODULE_CORE2, sonde_nvtx_core2, NVTX_CBID_CORE2_SIZE},
};

bool sonde_nvtx__attach(NvtxGetExportTableFunc_t get_table)
{
	return sonde_nvtx__fill(get_table, modules, sizeof(modules) / sizeof(modules[0]));
}

bool sonde_nvtx__extend(struct nvtxExtModuleInfo_t *module)
{
#if SONDE_HAS_NVTX_PAYLOAD
	static const intptr_t payload[] = {
		[NVTX3EXT_CBID_nvtxPayloadSchemaRegister] = (intptr_t)payload_schema_register,
		[NVTX3EXT_CBID_nvtxRangePushPayload] = (intptr_t)range_push_payload,
		[NVTX3EXT_CBID_nvtxRangePopPayload] = (intptr_t)range_pop_payload,
		[NVTX3EXT_CBID_nvtxRangeStartPayload] = (intptr_t)range_start_payload,
		[NVTX3EXT_CBID_nvtxRangeEndPayload] = (intptr_t)range_end_payload,
	};
	const intptr_t *hooks = module->moduleId == NVTX_EXT_PAYLOAD_MODULEID ? payload : NULL;
	size_t nr = sizeof(payload) / sizeof(*payload), i;
#if SONDE_HAS_NVTX_COUNTERS
	static const intptr_t counters[] = {
		[NVTX3EXT_CBID_nvtxCounterRegister] = (intptr_t)counter_register,
		[NVTX3EXT_CBID_nvtxCounterSampleInt64] = (intptr_t)counter_sample_int64,
		[NVTX3EXT_CBID_nvtxCounterSampleFloat64] = (intptr_t)counter_sample_float64,
		[NVTX3EXT_CBID_nvtxCounterSample] = (intptr_t)counter_sample,
	};

	if (module->moduleId == NVTX_EXT_COUNTERS_MODULEID) {
		hooks = counters;
		nr = sizeof(counters) / sizeof(*counters);
	}
#endif
	if (!hooks || !module->segmentsCount || !module->segments)
		return false;
	for (i = 0; i < nr && i < module->segments[0].slotCount; i++)
		if (hooks[i])
			module->segments[0].functionSlots[i] = hooks[i];
	return true;
#else
	(void)module;
	return false;
#endif
}
