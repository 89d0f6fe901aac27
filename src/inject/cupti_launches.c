/*
 * Where a launch comes from.
 *
 * At the entry of every launch, copy and graph launch CUPTI calls us in the
 * launching thread, with the correlation id that the activity record of the
 * work will carry. We write one small event to that thread's own stream, between
 * its pushes and pops. That is the whole attribution: the reader knows the stack
 * at that point, and the open start/end ranges from the event's time. Ranges
 * themselves cost nothing extra. The alternative, pushing an external correlation
 * id at each range, costs a CUPTI call per push and pop and one more activity
 * record per launch, and cannot represent overlapping start/end ranges.
 *
 * Runtime calls end in driver calls. Depending on its version, CUPTI gives both the
 * same correlation id or each its own. We record both ids unless they are equal, and
 * the activity record refers to one of them. Where they are known to be equal, we
 * listen to kernel launches, which come by the million, in the driver only.
 */
#include "catalogue/calls.h"
#include "inject/cupti_int.h"
#include "inject/inject_int.h"

#define MAX_CALLBACKS 4096u
#define SHARED_IDS    130000u /* CUPTI's version from which on a runtime call and its driver call share an id */

static void write_launch(uint32_t correlation)
{
	unsigned type = SONDE_EVENT_LAUNCH;
	bool is_captured = true;
	struct thread *t;
	uint8_t *p;

	if (unlikely(atomic_load_explicit(&sonde_inject.is_collected, memory_order_relaxed)))
		sonde_flusher__note("GPU work launched by late exit handlers is missing");
	t = hook_enter();
	if (!t)
		return;
	correlation += atomic_load_explicit(&sonde_inject.id_base, memory_order_relaxed);
	if (correlation != atomic_load_explicit(&t->launched, memory_order_relaxed)) {
		atomic_store_explicit(&t->launched, correlation, memory_order_relaxed);
		if (unlikely(atomic_load_explicit(&sonde_inject.gated, memory_order_relaxed))) {
			is_captured = sonde_window__is_open(t);
			type |= sonde_gate__is_open(t, 0) ? 0 : SONDE_EVENT_UNCHOSEN;
		}
		p = is_captured ? event_open(t, type, ticks_now()) : NULL;
		if (p)
			event_close(t, sonde_event_put_launch(p, &t->base, correlation));
	}
	hook_leave(t);
}

/* Writes that a graph node was made (by a stream capture, or by hand), or copied when a graph was instantiated. */
static void write_node(CUpti_CallbackId id, const CUpti_ResourceData *resource)
{
	const CUpti_GraphData *g = resource->resourceDescriptor;
	bool copy = id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED;
	struct sonde_event e;
	struct thread *t;

	sonde_presence__stay();
	if (sonde_self)
		sonde_self->call.makes_node = true;
	if (!g || sonde_cupti.cuptiGetGraphNodeId(g->node, &e.field[0]) != CUPTI_SUCCESS)
		return;
	if (copy && sonde_cupti.cuptiGetGraphNodeId(g->originalNode, &e.field[1]) != CUPTI_SUCCESS)
		return;
	t = hook_enter();
	if (!t)
		return;
	/* Nodes are written outside windows too, since a graph may be made before the window in which it is launched. */
	if (unlikely(atomic_load_explicit(&sonde_inject.gated, memory_order_relaxed)) &&
		!sonde_window__is_open(t)) {
		t->lists_open = true;
		sonde_ring__hand_over(t);
	}
	e.type = copy ? SONDE_EVENT_NODE_COPY : SONDE_EVENT_NODE;
	e.ticks = ticks_now();
	sonde_ring__write(t, &e);
	hook_leave(t);
}

/*
 * Why we listen to a call of the driver or the runtime. We always listen to CALL_WINDOW and CALL_GRAPH, to the others
 * only while switched on.
 */
#define CALL_LAUNCH 0x80u /* the call launches work that has a record */
#define CALL_WINDOW 0x60u /* both bits set: the call opens (| 1) or closes a window */
#define CALL_GRAPH  0x40u /* this bit alone of CALL_WINDOW: the call launches a graph */
#define CALL_KERNEL 0x10u /* a driver call that launches a kernel: CUPTI has at least one record of it */
#define CALL_KIND   0x0fu /* the kind of a call that can wait or orders streams (catalogue/calls.h), plus one; 0 = none */
_Static_assert(SONDE_NR_CALL_KINDS <= CALL_KIND, "kinds of calls");
static uint8_t wanted[2][MAX_CALLBACKS]; /* [is it a driver call][callback id]: CALL_… flags; 0 = we do not listen */
static bool are_on; /* the callbacks that are not always on */

/* A stream's number as captures have it (SONDE_CALL_ON_STREAM); 0 = not known. */
static uint64_t stream_of(const CUpti_CallbackData *call, CUstream stream)
{
	bool is_of_thread = stream == CU_STREAM_PER_THREAD || (!stream && strstr(call->functionName, "_ptsz"));
	uint32_t id;

	if (!sonde_cupti.stream_id ||
		sonde_cupti.stream_id(call->context, stream, is_of_thread, &id) != CUPTI_SUCCESS)
		return 0;
	return (uint64_t)id << 1 | ((!stream || stream == CU_STREAM_LEGACY) && !is_of_thread);
}

/*
 * Parameters of calls as CUPTI passes them. Declared here, since CUPTI's header for them does not compile together with
 * the driver's header of CUDA 13.
 */
struct of_stream {
	CUstream stream;
};
struct of_event {
	CUevent event;
};
struct of_record {
	CUevent event;
	CUstream stream;
};
struct of_await {
	CUstream stream;
	CUevent event;
};

/* Fills in the stream and the event that a call names. Variants of a call, such as `_ptsz`, have the same parameters. */
static void name_objects(struct sonde_event *e, unsigned kind, const CUpti_CallbackData *call)
{
	const void *p = call->functionParams;
	uint64_t *stream = &e->field[SONDE_CALL_ON_STREAM], *event = &e->field[SONDE_CALL_ON_EVENT];

	*stream = *event = 0;
	e->type = SONDE_EVENT_CALL;
	if (!p || !call->functionName)
		return;
	e->type = SONDE_EVENT_CALL_ON;
	if (kind == SONDE_CALL_SYNC_STREAM) {
		*stream = stream_of(call, ((const struct of_stream *)p)->stream);
	} else if (kind == SONDE_CALL_SYNC_EVENT) {
		*event = (uintptr_t)((const struct of_event *)p)->event;
	} else if (kind == SONDE_CALL_RECORD) {
		*event = (uintptr_t)((const struct of_record *)p)->event;
		*stream = stream_of(call, ((const struct of_record *)p)->stream);
	} else if (kind == SONDE_CALL_AWAIT) {
		*event = (uintptr_t)((const struct of_await *)p)->event;
		*stream = stream_of(call, ((const struct of_await *)p)->stream);
	} else {
		e->type = SONDE_EVENT_CALL;
	}
}

/*
 * Writes a call that can wait, or that orders streams, at its end. correlationData, which CUPTI keeps for us, has the
 * ticks at which the call began.
 */
static void write_call(unsigned kind, const CUpti_CallbackData *call)
{
	uint64_t began = *call->correlationData;
	struct thread *t = hook_enter();
	struct sonde_event e;

	if (!t)
		return;
	e.ticks = ticks_now();
	name_objects(&e, kind, call);
	e.field[SONDE_CALL_ON_KIND] = kind;
	e.field[SONDE_CALL_ON_TICKS] = e.ticks - began;
	if (likely(!atomic_load_explicit(&sonde_inject.gated, memory_order_relaxed)) ||
		sonde_window__is_open(t))
		sonde_ring__write(t, &e);
	hook_leave(t);
}

/*
 * With a budget, measures launches in windows and around them. Calls that may wait are left out: their time does not
 * show what recording costs.
 */
static void measure_call(unsigned what, const CUpti_CallbackData *call)
{
	struct thread *t = sonde_self;

	if (likely(!sonde_inject.config.budget_ppm) || !t || what & CALL_KIND)
		return;
	if (call->callbackSite == CUPTI_API_ENTER)
		sonde_budget__enter_call(t, call->correlationId);
	else
		sonde_budget__leave_call(t, call->correlationId);
}

/* A callback while nothing is captured: CUPTI is still there, but may be about to leave. */
static void take_unwanted_call(unsigned what, const CUpti_CallbackData *call)
{
	if (call->callbackSite == CUPTI_API_ENTER)
		*call->correlationData = 0; /* the call's end then writes nothing, even if capturing goes on by then */
	else
		sonde_presence__end_call(what & CALL_KERNEL);
}

/*
 * Counts the records that CUPTI owes us: at least one for each kernel and graph whose call began and ended while CUPTI recorded,
 * unless the call was captured into a graph. Not all copies and fills have a record. Calls during which recording began or ended
 * are not counted, as it is not known whether they have a record. Where CUPTI may leave (windows, a budget), sonde_inject.records
 * counts what CUPTI owes since it came. Graphs are not owed there: one that still ran when recording ended has no record.
 */
static void begin_owed(void)
{
	struct thread *t = sonde_self;

	if (!t)
		return;
	t->call.records_turn = atomic_load(&sonde_inject.records_turn) + 1;
	t->call.makes_node = false;
}

static void end_owed(unsigned what, const CUpti_CallbackData *call)
{
	bool may_go = sonde_inject.config.has_windows;
	struct thread *t = sonde_self;
	uint32_t turn = atomic_load(&sonde_inject.records_turn), began;
	const CUresult *result = call->functionReturnValue;

	if (!t)
		return;
	began = t->call.records_turn;
	t->call.records_turn = 0;
	if (began != turn + 1 || turn % 4 != RECORDS_ON || t->call.makes_node ||
		(result && *result != CUDA_SUCCESS))
		return;
	if (what & CALL_KERNEL || ((what & CALL_WINDOW) == CALL_GRAPH && !may_go))
		count_own(&t->nr_owed);
	if (unlikely(may_go))
		count(what & CALL_KERNEL ? &sonde_inject.records.owed_kernels
					 : &sonde_inject.records.perhaps_others);
}

/*
 * Writes that a launch has returned. Only for launches that are not calls that can wait: of copies and fills,
 * write_call writes the end.
 */
static void write_return(void)
{
	struct thread *t = hook_enter();
	uint8_t *p;

	if (!t)
		return;
	if (likely(!atomic_load_explicit(&sonde_inject.gated, memory_order_relaxed)) || sonde_window__is_open(t)) {
		p = event_open(t, SONDE_EVENT_RETURN, ticks_now());
		if (p)
			event_close(t, p);
	}
	hook_leave(t);
}

static void follow_call(unsigned what, const CUpti_CallbackData *call)
{
	if (unlikely((what & CALL_WINDOW) == CALL_GRAPH))
		sonde_presence__stay();
	if (unlikely(!atomic_load_explicit(&sonde_inject.windows.gpu_on, memory_order_relaxed)) &&
		(what & CALL_WINDOW) != CALL_WINDOW) {
		take_unwanted_call(what, call);
		return;
	}
	if (unlikely((what & CALL_WINDOW) == CALL_WINDOW)) {
		if (call->callbackSite == CUPTI_API_ENTER)
			sonde_window__set(what & 1);
		return;
	}
	if (call->callbackSite == CUPTI_API_ENTER) {
		if (what & CALL_LAUNCH)
			write_launch(call->correlationId);
		if (what & CALL_KIND)
			*call->correlationData = ticks_now();
	} else if (what & CALL_KIND && *call->correlationData) {
		write_call((what & CALL_KIND) - 1, call);
	}
}

static void take_call(unsigned what, const CUpti_CallbackData *call, bool is_driver)
{
	bool is_launch = is_driver && what & CALL_LAUNCH, is_enter = call->callbackSite == CUPTI_API_ENTER;

	if (is_launch && !is_enter) {
		measure_call(what, call);
		end_owed(what, call);
	}
	follow_call(what, call);
	if (is_launch && !is_enter && !(what & CALL_KIND) && sonde_inject.config.has_calls &&
		likely(atomic_load_explicit(&sonde_inject.windows.gpu_on, memory_order_relaxed)))
		write_return();
	if (is_launch && is_enter) { /* after follow_call, which gives the thread its slot */
		begin_owed();
		measure_call(what, call);
	}
}

static void CUPTIAPI on_callback(
	void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
	(void)user;
	if (domain == CUPTI_CB_DOMAIN_RESOURCE && (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED ||
							  id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED))
		write_node(id, data);
	else if (domain == CUPTI_CB_DOMAIN_RESOURCE)
		sonde_pc__resource(id, data);
	else if (id < MAX_CALLBACKS &&
		 (domain == CUPTI_CB_DOMAIN_DRIVER_API || domain == CUPTI_CB_DOMAIN_RUNTIME_API))
		take_call(wanted[domain == CUPTI_CB_DOMAIN_DRIVER_API][id], data,
			domain == CUPTI_CB_DOMAIN_DRIVER_API);
}

uint64_t sonde_launches__sum(void)
{
	const struct inject *g = &sonde_inject;
	uint32_t i, nr = atomic_load(&g->nr_used);
	uint64_t sum = 0;

	for (i = 0; i < nr && i < MAX_THREADS; i++)
		sum += atomic_load_explicit(&g->threads[i].launched, memory_order_relaxed);
	return sum;
}

static bool has_prefix(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/*
 * Why we listen to the call `name`: CALL_… flags. For calls that can wait we listen to the driver's only, since all
 * runtime calls end there.
 */
static uint8_t why_wanted(const char *name, bool is_driver, bool kernels)
{
	const struct sonde_call_name *call = sonde_call_find(name, strlen(name));
	const struct config *c = &sonde_inject.config;
	uint8_t what = 0;

	if (is_driver && c->window.kind == WINDOW_PROFILER && has_prefix(name, "cuProfilerSt"))
		return has_prefix(name, "cuProfilerStart") ? CALL_WINDOW | 1 : CALL_WINDOW;
	if (!call || (!kernels && has_prefix(name, "cudaLaunchKernel")))
		return 0;
	if (call->is_launch || (call->is_memory && c->has_memory))
		what |= CALL_LAUNCH;
	if (strstr(name, "GraphLaunch"))
		what |= CALL_GRAPH;
	if (is_driver && has_prefix(name, "cuLaunch") && !strstr(name, "HostFunc"))
		what |= CALL_KERNEL;
	if (call->kind < SONDE_NR_CALL_KINDS && is_driver && c->has_calls)
		what |= (uint8_t)(call->kind + 1);
	return what;
}

/* Chooses calls by their names, since every CUDA version adds new calls for launches and copies. */
static void choose_calls(CUpti_CallbackDomain domain, bool kernels)
{
	bool is_driver = domain == CUPTI_CB_DOMAIN_DRIVER_API;
	CUpti_CallbackId id;
	const char *name;

	for (id = 1; id < MAX_CALLBACKS; id++) {
		name = NULL;
		if (sonde_cupti.cuptiGetCallbackName(domain, id, &name) != CUPTI_SUCCESS || !name)
			break;
		wanted[is_driver][id] = why_wanted(name, is_driver, kernels);
	}
}

/* Switches the callbacks that are always on, or the others. */
static void switch_calls(CUpti_CallbackDomain domain, bool always, bool is_on)
{
	const uint8_t *what = wanted[domain == CUPTI_CB_DOMAIN_DRIVER_API];
	CUpti_CallbackId id;

	for (id = 1; id < MAX_CALLBACKS; id++)
		if (what[id] && !(what[id] & CALL_WINDOW) == !always)
			sonde_cupti.cuptiEnableCallback(
				is_on, sonde_cupti.subscriber, domain, id);
}

/*
 * Callbacks must not be switched off while a thread may be inside a call: CUPTI could not report the end of that call, and would
 * give its id to all later calls of the thread.
 */
void sonde_launches__switch(bool is_on)
{
	if (!sonde_cupti.subscriber || are_on == is_on)
		return;
	are_on = is_on;
	switch_calls(CUPTI_CB_DOMAIN_DRIVER_API, false, is_on);
	switch_calls(CUPTI_CB_DOMAIN_RUNTIME_API, false, is_on);
}

/* The choice depends on the configuration, and a sleeper has a new configuration at each wake. */
static void choose_all(void)
{
	atomic_store(&sonde_inject.runtime_has_own_ids, sonde_cupti.version < SHARED_IDS);
	choose_calls(CUPTI_CB_DOMAIN_DRIVER_API, true);
	choose_calls(CUPTI_CB_DOMAIN_RUNTIME_API, sonde_inject.runtime_has_own_ids);
}

void sonde_launches__choose_again(void)
{
	if (!sonde_cupti.subscriber)
		return;
	choose_all();
	switch_calls(CUPTI_CB_DOMAIN_DRIVER_API, true, true);
	switch_calls(CUPTI_CB_DOMAIN_RUNTIME_API, true, true);
}

bool sonde_launches__subscribe(void)
{
	static uint32_t chosen; /* the wake for which calls were last chosen, plus one */
	uint32_t wake = atomic_load(&sonde_inject.nr_wakes) + 1;

	if (sonde_cupti.cuptiSubscribe(&sonde_cupti.subscriber, on_callback, NULL) != CUPTI_SUCCESS) {
		sonde_cupti.subscriber = NULL;
		return false;
	}
	if (chosen != wake)
		choose_all();
	chosen = wake;
	are_on = false;
	switch_calls(CUPTI_CB_DOMAIN_DRIVER_API, true, true);
	switch_calls(CUPTI_CB_DOMAIN_RUNTIME_API, true, true);
	sonde_cupti.cuptiEnableCallback(1, sonde_cupti.subscriber, CUPTI_CB_DOMAIN_RESOURCE,
		CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED);
	sonde_cupti.cuptiEnableCallback(1, sonde_cupti.subscriber, CUPTI_CB_DOMAIN_RESOURCE,
		CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);
	return true;
}
