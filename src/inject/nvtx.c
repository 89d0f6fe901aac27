/*
 * The NVTX hooks: every range and mark of every NVTX instance in the process
 * comes here. (Naming calls go to nvtx_names.c.)
 *
 * Push and pop answer what they answer without any tool ("no tracking"), so
 * that a program which looks at the depth behaves as it does unprofiled.
 */
#include "inject/message_int.h"

/* A start's id as the program holds it: our flags, the stream + 1, the number within it. */
#define ID_SKIPPED    (1ull << 63) /* the gate left it out */
#define ID_INCLUDED   (1ull << 62) /* it holds the gate open */
#define ID_EXCLUDED   (1ull << 61) /* it holds the gate shut */
#define ID_WINDOW     (1ull << 60) /* it is of those that open windows … */
#define ID_CLOSES     (1ull << 59) /* … and its end closes one */
#define ID_STREAM(id) (((id) & ~(31ull << 59)) >> 32)

/* --- events -------------------------------------------------------------------------------- */

/* A labelled event without more to it: push, mark. */
static HOT void event_put(struct thread *t, unsigned type, const struct message *m)
{
	uint8_t *p = event_open(t, type | (m->label ? 0u : SONDE_EVENT_INLINE), m->now);

	if (likely(p))
		event_close(t, message_put(p, m));
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
 * A push where not everything is captured. What the gate lets in is kept for when a window opens,
 * and written now if one is open; the time it took to open one is not the range's.
 */
static __attribute__((noinline)) void push_gated(
	struct thread *t, const struct message *m, open_range o)
{
	unsigned gate = OPEN_GATE(o);
	struct message late = *m;
	bool is_open;

	if (gate & GATE_WINDOW) {
		o |= sonde_window__enter(t) & OPEN_CLOSES;
		t->nr_window++; /* another thread may have opened the window by now: it is in this one */
		late.now = ticks_now();
	}
	is_open = sonde_window__is_open(t);
	if (o & OPEN_CLOSES && t->is_left_out) { /* the ranges around it count from now on */
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

static HOT void push(struct thread *t, const struct message *m)
{
	unsigned gate = gate_of(m);
	open_range o = OPEN_MAKE(m->label ? m->label->id : 0, m->domain, gate) | OPEN_RECORDED;
	uint64_t nr = count_own(&t->nr_entered);

	if (unlikely(t->nr_open == SONDE_OPEN_LIMIT)) {
		t->nr_too_deep++;
		t->too_deep[m->domain]++;
		count(&sonde_inject.nr_too_deep);
		return;
	}
	if (unlikely(is_gated())) {
		push_gated(t, m, o);
	} else { /* in this order: a chunk begun by the event must list what was open before it */
		event_put(t, SONDE_EVENT_PUSH, m);
		t->open[t->nr_open++] = o;
	}
	if (unlikely(nr % 64 == 0))
		sonde_budget__pushed(m->now);
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
		if (OPEN_GATE(o) & GATE_WINDOW) {
			t->is_left_out &= --t->nr_window > 0;
			sonde_window__leave(t, o & OPEN_CLOSES);
		}
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
	if (unlikely(t->nr_too_deep) && t->too_deep[domain]) {
		t->nr_too_deep--;
		t->too_deep[domain]--;
		hook_leave(t);
		return NVTX_NO_PUSH_POP_TRACKING;
	}
	i = innermost(t, domain);
	/* A pop of nothing is written too: the reader counts those. */
	if (likely(i ? t->open[i - 1] & OPEN_RECORDED : !is_gated()) &&
		likely(!is_gated() || (sonde_window__is_open(t) && !t->is_left_out))) {
		p = event_open(t, SONDE_EVENT_POP | (domain ? SONDE_EVENT_DOMAIN : 0u), now);
		if (likely(p))
			event_close(t, domain ? sonde_varint_put(p, domain) : p);
	}
	if (likely(i))
		unstack(t, i);
	hook_leave(t);
	return NVTX_NO_PUSH_POP_TRACKING;
}

/* What a start does to windows: flags of its id. It is not the thread that is in the range. */
static uint64_t start_in_window(struct thread *t)
{
	bool was_left_out = t->is_left_out;
	uint64_t how = sonde_window__enter(t);

	t->is_left_out = was_left_out;
	return ID_WINDOW | (how & OPEN_CLOSES ? ID_CLOSES : 0) | (how & OPEN_BESIDE ? ID_SKIPPED : 0);
}

/* A start where not everything is captured; false: it is not to be written now. */
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

static uint64_t start(struct thread *t, const struct message *m)
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

	for (i = 0; i < MAX_HOLDERS; i++) {
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

static void write_stop(struct thread *t, uint64_t id)
{
	struct sonde_event e;

	e.type = SONDE_EVENT_STOP;
	e.ticks = ticks_now();
	e.field[0] = ID_STREAM(id);
	e.field[1] = id & UINT32_MAX;
	sonde_ring__write(t, &e);
}

static void stop(uint64_t id)
{
	unsigned gate = (id & ID_INCLUDED ? GATE_INCLUDED : 0u) |
			(id & ID_EXCLUDED ? GATE_EXCLUDED : 0u) |
			(id & ID_WINDOW ? GATE_WINDOW : 0u);
	bool is_open, is_first;
	struct thread *t;

	if (!gate && id & ID_SKIPPED)
		return;
	t = hook_enter();
	/* In this order: a window that has just opened begins in it, and may be told so here. */
	is_open = t && !(id & ID_SKIPPED) && (!is_gated() || sonde_window__is_open(t));
	is_first = is_gated() && sonde_gate__let_go(id, gate);
	if (!t)
		return;
	if (is_open)
		write_stop(t, id);
	if (is_first && gate & GATE_WINDOW)
		sonde_window__leave(t, id & ID_CLOSES);
	hook_leave(t);
}

/* --- core ---------------------------------------------------------------------------------- */

static int NVTX_API range_push_a(const char *text)
{
	struct message m = {.now = ticks_now()};
	struct thread *t = hook_enter();

	if (unlikely(!t))
		return NVTX_NO_PUSH_POP_TRACKING;
	message_label(&m, t, text);
	push(t, &m);
	hook_leave(t);
	return NVTX_NO_PUSH_POP_TRACKING;
}

static int NVTX_API range_push_w(const wchar_t *text)
{
	WITH_MESSAGE(NVTX_NO_PUSH_POP_TRACKING,
		sonde_message__wide(&m, SONDE_STRING_LABEL, text, buf), push(t, &m));
	return NVTX_NO_PUSH_POP_TRACKING;
}

static int NVTX_API domain_range_push_ex(nvtxDomainHandle_t d, const nvtxEventAttributes_t *a)
{
	WITH_MESSAGE(NVTX_NO_PUSH_POP_TRACKING,
		(m.domain = sonde_message__domain(d), sonde_message__of(&m, t, a, buf)),
		push(t, &m));
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
	return pop(sonde_message__domain(d));
}

static nvtxRangeId_t NVTX_API range_start_a(const char *text)
{
	nvtxRangeId_t id;
	WITH_MESSAGE(ID_SKIPPED, message_label(&m, t, text), id = start(t, &m));
	return id;
}

static nvtxRangeId_t NVTX_API range_start_w(const wchar_t *text)
{
	nvtxRangeId_t id;
	WITH_MESSAGE(ID_SKIPPED, sonde_message__wide(&m, SONDE_STRING_LABEL, text, buf),
		id = start(t, &m));
	return id;
}

static nvtxRangeId_t NVTX_API domain_range_start_ex(
	nvtxDomainHandle_t d, const nvtxEventAttributes_t *a)
{
	nvtxRangeId_t id;
	WITH_MESSAGE(ID_SKIPPED,
		(m.domain = sonde_message__domain(d), sonde_message__of(&m, t, a, buf)),
		id = start(t, &m));
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
	WITH_MESSAGE(, message_label(&m, t, text), put_mark(t, &m));
}

static void NVTX_API mark_w(const wchar_t *text)
{
	WITH_MESSAGE(, sonde_message__wide(&m, SONDE_STRING_LABEL, text, buf),
		put_mark(t, &m));
}

static void NVTX_API domain_mark_ex(nvtxDomainHandle_t d, const nvtxEventAttributes_t *a)
{
	WITH_MESSAGE(, (m.domain = sonde_message__domain(d), sonde_message__of(&m, t, a, buf)),
		put_mark(t, &m));
}

static void NVTX_API mark_ex(const nvtxEventAttributes_t *a)
{
	domain_mark_ex(NULL, a);
}
/* --- attaching ------------------------------------------------------------------------------- */

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
};

static const NvtxFunctionPointer core2[NVTX_CBID_CORE2_SIZE] = {
	HOOK(NVTX_CBID_CORE2_DomainMarkEx, domain_mark_ex),
	HOOK(NVTX_CBID_CORE2_DomainRangeStartEx, domain_range_start_ex),
	HOOK(NVTX_CBID_CORE2_DomainRangeEnd, domain_range_end),
	HOOK(NVTX_CBID_CORE2_DomainRangePushEx, domain_range_push_ex),
	HOOK(NVTX_CBID_CORE2_DomainRangePop, domain_range_pop),
};

static const struct sonde_nvtx_module modules[] = {
	{NVTX_CB_MODULE_CORE, core, NVTX_CBID_CORE_SIZE},
	{NVTX_CB_MODULE_CORE2, core2, NVTX_CBID_CORE2_SIZE},
};

bool sonde_nvtx__attach(NvtxGetExportTableFunc_t get_table)
{
	return sonde_nvtx__fill(get_table, modules, sizeof(modules) / sizeof(modules[0])) &&
	       sonde_nvtx__attach_names(get_table);
}
