/*
 * Where a launch comes from.
 *
 * At the entry of every launch, copy and graph launch CUPTI calls us in the
 * launching thread, with the correlation id that the activity record of the
 * work will carry. One small event in that thread's own stream, between its
 * pushes and pops, is then the whole attribution: the reader knows the stack
 * at that point, and the open start/end ranges from the event's time. Ranges
 * themselves cost nothing extra; pushing an external correlation id at each
 * range (the other way) costs a CUPTI call per push and pop and one more
 * activity record per launch, and cannot tell overlapping start/end ranges.
 *
 * Runtime calls end in driver calls. CUPTI gives both the same correlation id
 * or each its own, by version; both are recorded unless they are equal, and
 * the activity record finds the one it names. Where they are known to be equal
 * kernel launches, which come by the million, are seen in the driver only.
 */
#include "inject/cupti_int.h"
#include "inject/event_int.h"

#define MAX_CALLBACKS 4096u
#define SHARED_IDS    130000u /* from this version on runtime and driver calls share their ids */

static void launch(uint32_t correlation)
{
	struct sonde_event e;
	struct thread *t;

	if (unlikely(atomic_load_explicit(&sonde_inject.is_collected, memory_order_relaxed)))
		sonde_flusher__note("GPU work launched by late exit handlers is missing");
	t = hook_enter();
	if (!t)
		return;
	if (correlation != t->launched) {
		t->launched = correlation;
		e.type = SONDE_EVENT_LAUNCH;
		e.is_unchosen = sonde_inject.gated && !sonde_gate__is_open(t, 0);
		e.ticks = ticks_now();
		e.field[0] = correlation;
		sonde_ring__write(t, &e);
	}
	hook_leave(t);
}

/* A node was made (by a capture, or by hand), or copied when a graph was instantiated. */
static void node(CUpti_CallbackId id, const CUpti_ResourceData *resource)
{
	const CUpti_GraphData *g = resource->resourceDescriptor;
	bool copy = id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED;
	struct sonde_event e;
	struct thread *t;

	if (!g || sonde_cupti.cuptiGetGraphNodeId(g->node, &e.field[0]) != CUPTI_SUCCESS)
		return;
	if (copy && sonde_cupti.cuptiGetGraphNodeId(g->originalNode, &e.field[1]) != CUPTI_SUCCESS)
		return;
	t = hook_enter();
	if (!t)
		return;
	e.type = copy ? SONDE_EVENT_NODE_COPY : SONDE_EVENT_NODE;
	e.ticks = ticks_now();
	sonde_ring__write(t, &e);
	hook_leave(t);
}

static void CUPTIAPI called(
	void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
	(void)user;
	if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
		node(id, data);
	} else if (domain == CUPTI_CB_DOMAIN_DRIVER_API || domain == CUPTI_CB_DOMAIN_RUNTIME_API) {
		const CUpti_CallbackData *call = data;

		if (call->callbackSite == CUPTI_API_ENTER)
			launch(call->correlationId);
	}
}

static bool starts(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/* By name, since every CUDA version adds launch and copy calls of its own. */
static void enable_calls(CUpti_CallbackDomain domain, bool kernels)
{
	CUpti_CallbackId id;
	const char *text;

	for (id = 1; id < MAX_CALLBACKS; id++) {
		text = NULL;
		if (sonde_cupti.cuptiGetCallbackName(domain, id, &text) != CUPTI_SUCCESS || !text)
			break;
		if (starts(text, "cuda"))
			text += 4;
		else if (starts(text, "cu"))
			text += 2;
		if (!kernels && starts(text, "LaunchKernel"))
			continue;
		if (starts(text, "Launch") || starts(text, "GraphLaunch") ||
			starts(text, "Memcpy") || starts(text, "Memset"))
			sonde_cupti.cuptiEnableCallback(1, sonde_cupti.subscriber, domain, id);
	}
}

bool sonde_launches__subscribe(void)
{
	if (sonde_cupti.cuptiSubscribe(&sonde_cupti.subscriber, called, NULL) != CUPTI_SUCCESS)
		return false;
	enable_calls(CUPTI_CB_DOMAIN_DRIVER_API, true);
	enable_calls(CUPTI_CB_DOMAIN_RUNTIME_API, sonde_cupti.version < SHARED_IDS);
	sonde_cupti.cuptiEnableCallback(1, sonde_cupti.subscriber, CUPTI_CB_DOMAIN_RESOURCE,
		CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED);
	sonde_cupti.cuptiEnableCallback(1, sonde_cupti.subscriber, CUPTI_CB_DOMAIN_RESOURCE,
		CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);
	return true;
}
