/*
 * Numbers that NVTX events come with (payload.c), for the hooks: they take the numbers out of an event, then write them.
 * NVTX's extensions for payloads and counters are there if its headers have them.
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
/* An early version of the headers has other names: only those that have what we use. */
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

#define MAX_VALUES	 16	/* of an event: of more the first are kept */
#define SONDE_NAME_LIMIT 63u /* bytes of a name */

struct values {
	unsigned nr;
	struct value {
		const struct label *name;
		uint8_t type; /* enum sonde_value_type */
		uint64_t bits;
	} at[MAX_VALUES];
	/* The label of an event that has it in its payload; NULL = it has none. */
	const char *message;
	const void *registered; /* a handle */
};

/* Each adds what the event has. `a` is complete. */
void sonde_payload__take(struct values *to, unsigned domain, const nvtxEventAttributes_t *a);
void sonde_payload__name_category(unsigned domain, uint32_t category, const struct label *name);

#if SONDE_HAS_NVTX_PAYLOAD
void sonde_payload__take_data(struct values *to, unsigned domain, const nvtxPayloadData_t *data, size_t nr);
uint64_t sonde_payload__register(unsigned domain, const nvtxPayloadSchemaAttr_t *a);
/* `prefix.name`, as an entry of the table; NULL = it is full. */
const struct label *sonde_payload__field_name(const struct label *prefix, const char *name);
#endif
#if SONDE_HAS_NVTX_COUNTERS
uint64_t sonde_payload__register_counter(unsigned domain, const nvtxCounterAttr_t *a);
void sonde_payload__sample_whole(struct values *to, unsigned domain, uint64_t id, int64_t v);
void sonde_payload__sample_real(struct values *to, unsigned domain, uint64_t id, double v);
void sonde_payload__sample(struct values *to, unsigned domain, uint64_t id, const void *at, size_t size);
#endif

#endif
