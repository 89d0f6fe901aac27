/* Makes traces of torch.profiler by hand, and checks the records that were read from them. */
#ifndef SONDE_TESTS_KINETO_MADE_H
#define SONDE_TESTS_KINETO_MADE_H

#include "read/records.h"
#include "read_bytes.h"

#define RANGE(name, tid, ts, dur)                                                                  \
	"{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"" name                               \
	"\",\"pid\":9,\"tid\":" tid ",\"ts\":" ts ",\"dur\":" dur "}"
#define CALL(id, tid, ts)                                                                          \
	"{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":9,\"tid\":"  \
	tid ",\"ts\":" ts ",\"dur\":1,\"args\":{\"cbid\":211,\"correlation\":" id "}}"
#define KERNEL(name, id, ts, dur)                                                                  \
	"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"" name "\",\"pid\":0,\"tid\":7,\"ts\":" ts    \
	",\"dur\":" dur ",\"args\":{\"device\":0,\"stream\":7,\"correlation\":" id                 \
	",\"grid\":[2,3,1],\"block\":[32,1,1],\"registers per thread\":40}}"
#define TRACE(events) "{\"schemaVersion\":1,\"traceEvents\":[" events "],\"traceName\":\"t\"}"

#define OP(name, tid, ts, dur, seq, fwd)                                                           \
	"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"" name "\",\"pid\":9,\"tid\":" tid            \
	",\"ts\":" ts ",\"dur\":" dur ",\"args\":{\"Sequence number\":" seq                        \
	",\"Fwd thread id\":" fwd "}}"

static inline struct sonde_records *open_text(const char *text)
{
	struct sonde_records *r = NULL;
	struct sonde_err err;

	if (read_bytes(&r, text, strlen(text), &err))
		fail_msg("%s", err.msg);
	return r;
}

/* The labels around a record, outermost first, joined by '/'. */
static inline const char *path_of(const struct sonde_records *r, uint32_t record)
{
	static char text[256];
	char rest[sizeof(text)];
	const struct sonde_set *set = &r->sets.at[r->records.at[record].open];
	uint32_t at = set->nr ? r->members.at[set->first] : SONDE_NONE;

	text[0] = '\0';
	for (; at != SONDE_NONE; at = r->ranges.at[at].parent) {
		struct sonde_str label = sonde_records_str(r, r->ranges.at[at].label);

		memcpy(rest, text, sizeof(rest));
		snprintf(text, sizeof(text), "%.*s%s%.200s", SONDE_STR_ARG(label),
			rest[0] ? "/" : "", rest);
	}
	return text;
}

#endif
