/*
 * The NVTX hooks: every range, mark and naming call of every NVTX instance in
 * the process comes here.
 *
 * Push and pop answer what they answer without any tool ("no tracking"), so
 * that a program which looks at the depth behaves as it does unprofiled.
 */
#include "inject/event_int.h"
#include "inject/nvtx_int.h"

#define HOT	   inline __attribute__((always_inline))
#define COLD	   __attribute__((noinline))
#define WIDE_LIMIT 2048 /* bytes of UTF-8 made of a wide text, on the host's stack */

/* A start's id as the program holds it: our flags, the stream + 1, the number within it. */
#define ID_SKIPPED    (1ull << 63) /* the gate left it out */
#define ID_INCLUDED   (1ull << 62) /* it holds the gate open */
#define ID_STREAM(id) (((id) & ~(ID_SKIPPED | ID_INCLUDED)) >> 32)

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

/* --- texts --------------------------------------------------------------------------------- */

static unsigned domain_of(nvtxDomainHandle_t handle)
{
	uintptr_t at = (uintptr_t)handle, base = (uintptr_t)sonde_inject.labels.domains;
	size_t n = (at - base) / sizeof(sonde_inject.labels.domains[0]);

	return at > base && n < MAX_DOMAINS ? (unsigned)n : 0;
}

static COLD void message_find(struct message *m, unsigned kind)
{
	m->label = sonde_label__intern(kind, m->domain, m->text, m->n);
	if (unlikely(!m->label)) {
		count(&sonde_inject.nr_inline);
		if (m->n > SONDE_INLINE_LIMIT)
			m->n = SONDE_INLINE_LIMIT;
	}
}

static COLD void message_narrow(struct message *m, unsigned kind, const char *text)
{
	m->text = text ? text : "";
	m->n = strlen(m->text);
	if (unlikely(m->n > SONDE_LABEL_LIMIT)) {
		m->n = SONDE_LABEL_LIMIT;
		count(&sonde_inject.nr_cut);
	}
	message_find(m, kind);
}

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
	message_narrow(m, SONDE_STRING_LABEL, text);
	*recent = m->label;
}

static size_t utf8_put(char *to, uint32_t c)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		c = 0xfffd;
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 0x3f));
		to[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | c >> 18);
	to[1] = (char)(0x80 | (c >> 12 & 0x3f));
	to[2] = (char)(0x80 | (c >> 6 & 0x3f));
	to[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/* `buf` holds WIDE_LIMIT bytes and must live as long as the message. */
static void message_wide(struct message *m, unsigned kind, const wchar_t *text, char *buf)
{
	size_t n = 0;

	for (; text && *text; text++) {
		if (n + 4 > WIDE_LIMIT) {
			count(&sonde_inject.nr_cut);
			break;
		}
		n += utf8_put(buf + n, (uint32_t)*text);
	}
	m->text = buf;
	m->n = n;
	message_find(m, kind);
}

static bool attributes_ok(const nvtxEventAttributes_t *a)
{
	return a && a->size >= sizeof(*a);
}

static void message_of(
	struct message *m, struct thread *t, const nvtxEventAttributes_t *a, char *buf)
{
	struct label *e;

	if (!attributes_ok(a)) {
		message_narrow(m, SONDE_STRING_LABEL, "");
	} else if (a->messageType == NVTX_MESSAGE_TYPE_REGISTERED) {
		e = sonde_label__of_handle(a->message.registered);
		if (likely(e && e->domain == m->domain && e->kind == SONDE_STRING_LABEL))
			m->label = e;
		else
			message_narrow(m, SONDE_STRING_LABEL, e ? e->text : "");
	} else if (a->messageType == NVTX_MESSAGE_TYPE_ASCII) {
		message_label(m, t, a->message.ascii);
	} else if (a->messageType == NVTX_MESSAGE_TYPE_UNICODE) {
		message_wide(m, SONDE_STRING_LABEL, a->message.unicode, buf);
	} else {
		message_narrow(m, SONDE_STRING_LABEL, "");
	}
}

/* --- events -------------------------------------------------------------------------------- */

static HOT uint8_t *message_put(uint8_t *p, const struct message *m)
{
	if (likely(m->label))
		return sonde_varint_put(p, m->label->id);
	p = sonde_varint_put(p, m->domain);
	p = sonde_varint_put(p, m->n);
	memcpy(p, m->text, m->n);
	return p + m->n;
}

static unsigned attributes_of(const nvtxEventAttributes_t *a)
{
	unsigned which = 0;

	if (!attributes_ok(a))
		return 0;
	if (a->category)
		which |= SONDE_ATTR_CATEGORY;
	if (a->colorType == NVTX_COLOR_ARGB)
		which |= SONDE_ATTR_COLOR;
	if (a->payloadType != NVTX_PAYLOAD_UNKNOWN)
		which |= SONDE_ATTR_PAYLOAD;
	return which;
}

static uint8_t *attributes_put(uint8_t *p, unsigned which, const nvtxEventAttributes_t *a)
{
	if (!which)
		return p;
	*p++ = (uint8_t)which;
	if (which & SONDE_ATTR_CATEGORY)
		p = sonde_varint_put(p, a->category);
	if (which & SONDE_ATTR_COLOR) {
		memcpy(p, &a->color, 4);
		p += 4;
	}
	if (which & SONDE_ATTR_PAYLOAD) {
		*p++ = (uint8_t)a->payloadType;
		memcpy(p, &a->payload, 8);
		p += 8;
	}
	return p;
}

/* A labelled event: push, start (with its id), mark. */
static HOT void event_put(struct thread *t, unsigned type, const struct message *m,
	const nvtxEventAttributes_t *a, uint64_t id)
{
	unsigned which = unlikely(a != NULL) ? attributes_of(a) : 0;
	unsigned flags = (m->label ? 0u : SONDE_EVENT_INLINE) | (which ? SONDE_EVENT_ATTR : 0u);
	uint8_t *p = event_open(t, type | flags, m->now);

	if (!p)
		return;
	p = message_put(p, m);
	if (type == SONDE_EVENT_START)
		p = sonde_varint_put(p, id);
	event_close(t, attributes_put(p, which, a));
}

/* Whether the gate lets a range with this decision in, seen from this thread. */
static bool gate_open(const struct thread *t, unsigned gate)
{
	const struct inject *g = &sonde_inject;

	if (gate & GATE_EXCLUDED || t->nr_excluded)
		return false;
	return !g->config.include.nr || gate & GATE_INCLUDED || t->nr_included ||
	       atomic_load_explicit(&g->nr_included, memory_order_relaxed);
}

static HOT void push(struct thread *t, const struct message *m, const nvtxEventAttributes_t *a)
{
	unsigned gate = m->label ? m->label->gate : 0;
	open_range o = OPEN_MAKE(m->label ? m->label->id : 0, m->domain, gate) | OPEN_RECORDED;

	if (unlikely(t->nr_open == SONDE_OPEN_LIMIT)) {
		t->nr_too_deep++;
		count(&sonde_inject.nr_too_deep);
		return;
	}
	if (unlikely(sonde_inject.gated)) {
		if (!gate_open(t, gate))
			o &= ~OPEN_RECORDED;
		t->nr_included += gate & GATE_INCLUDED ? 1 : 0;
		t->nr_excluded += gate & GATE_EXCLUDED ? 1 : 0;
	}
	/* In this order: a chunk begun by the event must list what was open before it. */
	if (likely(o & OPEN_RECORDED))
		event_put(t, SONDE_EVENT_PUSH, m, a, 0);
	t->open[t->nr_open++] = o;
}

/* Where the innermost open range of `domain` is on the stack, plus one; 0 = there is none. */
static HOT uint32_t innermost(const struct thread *t, unsigned domain)
{
	uint32_t i = t->nr_open;

	while (i && OPEN_DOMAIN(t->open[i - 1]) != domain)
		i--;
	return i;
}

static HOT void unstack(struct thread *t, uint32_t i)
{
	open_range o = t->open[i - 1];

	if (unlikely(i != t->nr_open))
		memmove(&t->open[i - 1], &t->open[i], (t->nr_open - i) * sizeof(o));
	t->nr_open--;
	if (unlikely(OPEN_GATE(o))) {
		t->nr_included -= OPEN_GATE(o) & GATE_INCLUDED ? 1 : 0;
		t->nr_excluded -= OPEN_GATE(o) & GATE_EXCLUDED ? 1 : 0;
	}
}

static HOT int pop(unsigned domain)
{
	uint64_t now = ticks_now();
	struct thread *t = hook_enter();
	uint32_t i;
	uint8_t *p;

	if (unlikely(!t))
		return NVTX_NO_PUSH_POP_TRACKING;
	if (unlikely(t->nr_too_deep)) {
		t->nr_too_deep--;
		hook_leave(t);
		return NVTX_NO_PUSH_POP_TRACKING;
	}
	i = innermost(t, domain);
	/* A pop of nothing is written too: the reader counts those. */
	if (likely(i ? t->open[i - 1] & OPEN_RECORDED : !sonde_inject.gated)) {
		p = event_open(t, SONDE_EVENT_POP | (domain ? SONDE_EVENT_DOMAIN : 0u), now);
		if (likely(p))
			event_close(t, domain ? sonde_varint_put(p, domain) : p);
	}
	if (likely(i))
		unstack(t, i);
	hook_leave(t);
	return NVTX_NO_PUSH_POP_TRACKING;
}

static uint64_t start(struct thread *t, const struct message *m, const nvtxEventAttributes_t *a)
{
	unsigned gate = m->label ? m->label->gate : 0;
	uint64_t id = ++t->nr_starts | (uint64_t)(t->stream + 1) << 32;

	if (sonde_inject.gated && !gate_open(t, gate))
		return ID_SKIPPED;
	event_put(t, SONDE_EVENT_START, m, a, id & UINT32_MAX);
	if (gate & GATE_INCLUDED) {
		atomic_fetch_add_explicit(&sonde_inject.nr_included, 1, memory_order_relaxed);
		id |= ID_INCLUDED;
	}
	return id;
}

static void stop(uint64_t id)
{
	struct thread *t;
	uint8_t *p;

	if (id & ID_SKIPPED || !(t = hook_enter()))
		return;
	if (id & ID_INCLUDED)
		atomic_fetch_sub_explicit(&sonde_inject.nr_included, 1, memory_order_relaxed);
	p = event_open(t, SONDE_EVENT_STOP, ticks_now());
	if (p) {
		p = sonde_varint_put(p, ID_STREAM(id));
		event_close(t, sonde_varint_put(p, id & UINT32_MAX));
	}
	hook_leave(t);
}

static void name(unsigned type, struct message *m, uint64_t a, uint64_t b)
{
	struct thread *t = sonde_self;
	uint8_t *p = event_open(t, type | (m->label ? 0u : SONDE_EVENT_INLINE), m->now);

	if (!p)
		return;
	p = message_put(p, m);
	p = sonde_varint_put(p, a);
	if (type != SONDE_EVENT_NAME_THREAD)
		p = sonde_varint_put(p, b);
	event_close(t, p);
}

/* --- core ---------------------------------------------------------------------------------- */

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

static int NVTX_API range_push_a(const char *text)
{
	struct message m = {.now = ticks_now()};
	struct thread *t = hook_enter();

	if (unlikely(!t))
		return NVTX_NO_PUSH_POP_TRACKING;
	message_label(&m, t, text);
	push(t, &m, NULL);
	hook_leave(t);
	return NVTX_NO_PUSH_POP_TRACKING;
}

static int NVTX_API range_push_w(const wchar_t *text)
{
	WITH_MESSAGE(NVTX_NO_PUSH_POP_TRACKING, message_wide(&m, SONDE_STRING_LABEL, text, buf),
		push(t, &m, NULL));
	return NVTX_NO_PUSH_POP_TRACKING;
}

static int NVTX_API domain_range_push_ex(nvtxDomainHandle_t d, const nvtxEventAttributes_t *a)
{
	WITH_MESSAGE(NVTX_NO_PUSH_POP_TRACKING,
		(m.domain = domain_of(d), message_of(&m, t, a, buf)), push(t, &m, a));
	return NVTX_NO_PUSH_POP_TRACKING;
}

static int NVTX_API range_push_ex(const nvtxEventAttributes_t *a)
{
	return domain_range_push_ex(NULL, a);
}

static int NVTX_API range_pop(void)
{
	return pop(0);
}

static int NVTX_API domain_range_pop(nvtxDomainHandle_t d)
{
	return pop(domain_of(d));
}

static nvtxRangeId_t NVTX_API range_start_a(const char *text)
{
	nvtxRangeId_t id;
	WITH_MESSAGE(ID_SKIPPED, message_label(&m, t, text), id = start(t, &m, NULL));
	return id;
}

static nvtxRangeId_t NVTX_API range_start_w(const wchar_t *text)
{
	nvtxRangeId_t id;
	WITH_MESSAGE(ID_SKIPPED, message_wide(&m, SONDE_STRING_LABEL, text, buf),
		id = start(t, &m, NULL));
	return id;
}

static nvtxRangeId_t NVTX_API domain_range_start_ex(
	nvtxDomainHandle_t d, const nvtxEventAttributes_t *a)
{
	nvtxRangeId_t id;
	WITH_MESSAGE(ID_SKIPPED, (m.domain = domain_of(d), message_of(&m, t, a, buf)),
		id = start(t, &m, a));
	return id;
}

static nvtxRangeId_t NVTX_API range_start_ex(const nvtxEventAttributes_t *a)
{
	return domain_range_start_ex(NULL, a);
}

static void NVTX_API range_end(nvtxRangeId_t id)
{
	stop(id);
}

static void NVTX_API domain_range_end(nvtxDomainHandle_t d, nvtxRangeId_t id)
{
	(void)d;
	stop(id);
}

static void NVTX_API mark_a(const char *text)
{
	WITH_MESSAGE(, message_label(&m, t, text), event_put(t, SONDE_EVENT_MARK, &m, NULL, 0));
}

static void NVTX_API mark_w(const wchar_t *text)
{
	WITH_MESSAGE(, message_wide(&m, SONDE_STRING_LABEL, text, buf),
		event_put(t, SONDE_EVENT_MARK, &m, NULL, 0));
}

static void NVTX_API domain_mark_ex(nvtxDomainHandle_t d, const nvtxEventAttributes_t *a)
{
	WITH_MESSAGE(, (m.domain = domain_of(d), message_of(&m, t, a, buf)),
		event_put(t, SONDE_EVENT_MARK, &m, a, 0));
}

static void NVTX_API mark_ex(const nvtxEventAttributes_t *a)
{
	domain_mark_ex(NULL, a);
}

/* --- names --------------------------------------------------------------------------------- */

static void NVTX_API domain_name_category_a(
	nvtxDomainHandle_t d, uint32_t category, const char *text)
{
	WITH_MESSAGE(, message_narrow(&m, SONDE_STRING_NAME, text),
		name(SONDE_EVENT_NAME_CATEGORY, &m, domain_of(d), category));
}

static void NVTX_API domain_name_category_w(
	nvtxDomainHandle_t d, uint32_t category, const wchar_t *text)
{
	WITH_MESSAGE(, message_wide(&m, SONDE_STRING_NAME, text, buf),
		name(SONDE_EVENT_NAME_CATEGORY, &m, domain_of(d), category));
}

static void NVTX_API name_category_a(uint32_t category, const char *text)
{
	domain_name_category_a(NULL, category, text);
}

static void NVTX_API name_category_w(uint32_t category, const wchar_t *text)
{
	domain_name_category_w(NULL, category, text);
}

static void NVTX_API name_os_thread_a(uint32_t tid, const char *text)
{
	WITH_MESSAGE(, message_narrow(&m, SONDE_STRING_NAME, text),
		name(SONDE_EVENT_NAME_THREAD, &m, tid, 0));
}

static void NVTX_API name_os_thread_w(uint32_t tid, const wchar_t *text)
{
	WITH_MESSAGE(, message_wide(&m, SONDE_STRING_NAME, text, buf),
		name(SONDE_EVENT_NAME_THREAD, &m, tid, 0));
}

#define NAME_HANDLE(fn, type, kind)                                                                \
	static void NVTX_API fn##_a(type handle, const char *text)                                 \
	{                                                                                          \
		WITH_MESSAGE(, message_narrow(&m, SONDE_STRING_NAME, text),                        \
			name(SONDE_EVENT_NAME_HANDLE, &m, kind, (uint64_t)(uintptr_t)handle));     \
	}                                                                                          \
	static void NVTX_API fn##_w(type handle, const wchar_t *text)                              \
	{                                                                                          \
		WITH_MESSAGE(, message_wide(&m, SONDE_STRING_NAME, text, buf),                     \
			name(SONDE_EVENT_NAME_HANDLE, &m, kind, (uint64_t)(uintptr_t)handle));     \
	}

NAME_HANDLE(name_device, int, SONDE_HANDLE_DEVICE)
NAME_HANDLE(name_context, void *, SONDE_HANDLE_CONTEXT)
NAME_HANDLE(name_stream, void *, SONDE_HANDLE_STREAM)
NAME_HANDLE(name_event, void *, SONDE_HANDLE_EVENT)

/* --- domains and registered strings ---------------------------------------------------------- */

static nvtxDomainHandle_t domain_handle(const struct message *m)
{
	unsigned n = sonde_label__domain(m->text, m->n);

	return (nvtxDomainHandle_t)(void *)&sonde_inject.labels.domains[n];
}

static nvtxDomainHandle_t NVTX_API domain_create_a(const char *text)
{
	nvtxDomainHandle_t d;
	WITH_MESSAGE(NULL, message_narrow(&m, SONDE_STRING_DOMAIN, text), d = domain_handle(&m));
	return d;
}

static nvtxDomainHandle_t NVTX_API domain_create_w(const wchar_t *text)
{
	nvtxDomainHandle_t d;
	WITH_MESSAGE(NULL, message_wide(&m, SONDE_STRING_DOMAIN, text, buf), d = domain_handle(&m));
	return d;
}

static void NVTX_API domain_destroy(nvtxDomainHandle_t d)
{
	(void)d;
}

static nvtxStringHandle_t NVTX_API domain_register_a(nvtxDomainHandle_t d, const char *text)
{
	nvtxStringHandle_t h;
	WITH_MESSAGE(NULL, (m.domain = domain_of(d), message_narrow(&m, SONDE_STRING_LABEL, text)),
		h = (nvtxStringHandle_t)(void *)(uintptr_t)m.label);
	return h;
}

static nvtxStringHandle_t NVTX_API domain_register_w(nvtxDomainHandle_t d, const wchar_t *text)
{
	nvtxStringHandle_t h;
	WITH_MESSAGE(NULL,
		(m.domain = domain_of(d), message_wide(&m, SONDE_STRING_LABEL, text, buf)),
		h = (nvtxStringHandle_t)(void *)(uintptr_t)m.label);
	return h;
}

/* --- attaching ------------------------------------------------------------------------------- */

#define HOOK(id, fn) [id] = (NvtxFunctionPointer)(fn)

static const NvtxFunctionPointer core[NVTX_CBID_CORE_SIZE] = {
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

static const NvtxFunctionPointer core2[NVTX_CBID_CORE2_SIZE] = {
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

static const NvtxFunctionPointer cuda[NVTX_CBID_CUDA_SIZE] = {
	HOOK(NVTX_CBID_CUDA_NameCuDeviceA, name_device_a),
	HOOK(NVTX_CBID_CUDA_NameCuDeviceW, name_device_w),
	HOOK(NVTX_CBID_CUDA_NameCuContextA, name_context_a),
	HOOK(NVTX_CBID_CUDA_NameCuContextW, name_context_w),
	HOOK(NVTX_CBID_CUDA_NameCuStreamA, name_stream_a),
	HOOK(NVTX_CBID_CUDA_NameCuStreamW, name_stream_w),
	HOOK(NVTX_CBID_CUDA_NameCuEventA, name_event_a),
	HOOK(NVTX_CBID_CUDA_NameCuEventW, name_event_w),
};

static const NvtxFunctionPointer cudart[NVTX_CBID_CUDART_SIZE] = {
	HOOK(NVTX_CBID_CUDART_NameCudaDeviceA, name_device_a),
	HOOK(NVTX_CBID_CUDART_NameCudaDeviceW, name_device_w),
	HOOK(NVTX_CBID_CUDART_NameCudaStreamA, name_stream_a),
	HOOK(NVTX_CBID_CUDART_NameCudaStreamW, name_stream_w),
	HOOK(NVTX_CBID_CUDART_NameCudaEventA, name_event_a),
	HOOK(NVTX_CBID_CUDART_NameCudaEventW, name_event_w),
};

static const struct sonde_nvtx_module modules[] = {
	{NVTX_CB_MODULE_CORE, core, NVTX_CBID_CORE_SIZE},
	{NVTX_CB_MODULE_CORE2, core2, NVTX_CBID_CORE2_SIZE},
	{NVTX_CB_MODULE_CUDA, cuda, NVTX_CBID_CUDA_SIZE},
	{NVTX_CB_MODULE_CUDART, cudart, NVTX_CBID_CUDART_SIZE},
};

bool sonde_nvtx__attach(NvtxGetExportTableFunc_t get_table)
{
	return sonde_nvtx__fill(get_table, modules, sizeof(modules) / sizeof(modules[0]));
}
