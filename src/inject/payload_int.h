/*
 * Numbers that come with NVTX events (payload.c). The hooks first take the numbers out of an event, then write them.
 * NVTX's extensions for payloads and counters are supported if the NVTX headers have them.
 */
#ifndef SONDE_INJECT_PAYLOAD_INT_H
#define SONDE_INJECT_PAYLOAD_INT_H

#include "inject/inject_int.h"
#include "inject/nvtx_int.h"

#if __has_include(<nvtx3/nvToolsExtPayload.h>)
#include <nvtx3/nvToolsExtPayload.h>
#endif
#if __has_include(<nvtx3/nvToolsExtCounters.h>)
#include <nvtx3/nvToolsExtCounters.h>
#endif
/* An early version of these headers used other names: support only headers with the names that we use. */
#if defined(NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE) && defined(NVTX_PAYLOAD_CALLBACK_ID_V1)
#define SONDE_HAS_NVTX_PAYLOAD 1
#else
#define SONDE_HAS_NVTX_PAYLOAD 0
#endif
#if SONDE_HAS_NVTX_PAYLOAD && defined(NVTX_COUNTER_CALLBACK_ID_V1)
#define SONDE_HAS_NVTX_COUNTERS 1
#else
#define SONDE_HAS_NVTX_COUNTERS 0
#endif

#define MAX_VALUES	 16	/* most numbers of an event that are kept; the rest is dropped */
#define SONDE_NAME_LIMIT 63u /* most bytes of a name */

struct values {
	unsigned nr;
	struct value {
		const struct label *name;
		uint8_t type; /* enum sonde_value_type */
		uint64_t bits;
	} at[MAX_VALUES];
	/* The label from the payload, as a text or as the handle of a registered string; both NULL = the payload has no label. */
	const char *message;
	const void *registered;
};

/* Each sonde_payload__take… function adds an event's numbers to `to`. `a` must be complete. */
void sonde_payload__take(struct values *to, unsigned domain, const nvtxEventAttributes_t *a);
void sonde_payload__name_category(unsigned domain, uint32_t category, const struct label *name);

#if SONDE_HAS_NVTX_PAYLOAD
void sonde_payload__take_data(struct values *to, unsigned domain, const nvtxPayloadData_t *data, size_t nr);
uint64_t sonde_payload__register(unsigned domain, const nvtxPayloadSchemaAttr_t *a);
/* The label `prefix.name`; NULL = the table of labels is full. */
const struct label *sonde_payload__field_name(const struct label *prefix, const char *name);
#endif
#if SONDE_HAS_NVTX_COUNTERS
uint64_t sonde_payload__register_counter(unsigned domain, const nvtxCounterAttr_t *a);
void sonde_payload__sample_whole(struct values *to, unsigned domain, uint64_t id, int64_t v);
void sonde_payload__sample_real(struct values *to, unsigned domain, uint64_t id, double v);
void sonde_payload__sample(struct values *to, unsigned domain, uint64_t id, const void *at, size_t size);
#endif

#endif
