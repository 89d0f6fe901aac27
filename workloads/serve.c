/*
 * A server without a GPU: THREADS threads serve REQUESTS requests, several at a time. Its ranges carry their number of tokens
 * in each way that NVTX has: `request T-N` has a payload in the category `tokens`, `prefill` an extended payload with
 * a schema, `decode` a payload at its end, and `answer` a payload at its end, which is in another thread. The length of the
 * queue is a counter, and `check` takes very many samples. The program prints the values that a profiler should find:
 *
 *     request T-N TOKENS BEGIN_NS END_NS    the times are just outside the range, by the program's own clock
 *     prefill BATCH TOKENS SHARE
 *     decode TOKENS
 *     answer TOKENS
 *     check TOKENS LAST
 *
 *     serve [REQUESTS [THREADS]]
 */
#include <nvtx3/nvToolsExt.h>
#if __has_include(<nvtx3/nvToolsExtCounters.h>)
#include <nvtx3/nvToolsExtCounters.h>
#endif
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_THREADS 16
#define TOKENS	    7 /* a category */
#define MAX_ANSWERS 4096
#define SAMPLES	    100

struct prefill {
	uint8_t priority; /* padding follows: the members behind it are aligned */
	uint32_t batch;
	uint64_t tokens;
	float share;
};

struct check {
	const char *label;
	uint64_t tokens;
	double odd; /* its schema wrongly marks it as the message */
};

struct answer {
	nvtxRangeId_t range;
	int32_t tokens;
};

static int nr_requests = 160, nr_threads = 4;
static atomic_int next_request;
static pthread_barrier_t together;
#ifdef NVTX_COUNTER_CALLBACK_ID_V1
static uint64_t prefill_schema, decode_schema, check_schema, queue, load, sample;
static struct answer answers[MAX_ANSWERS]; /* one per request */
#endif

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void work(unsigned microseconds)
{
	struct timespec t = {0, (long)microseconds * 1000};

	nanosleep(&t, NULL);
}

#ifdef NVTX_COUNTER_CALLBACK_ID_V1
static void register_layouts(void)
{
	static const nvtxPayloadSchemaEntry_t of_prefill[] = {
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_UINT8, .name = "priority"},
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_UINT32, .name = "batch"},
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_UINT64, .name = "tokens"},
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_FLOAT, .name = "share"},
	};
	static const nvtxPayloadSchemaEntry_t of_decode[] = {{.type = NVTX_PAYLOAD_ENTRY_TYPE_INT32, .name = "tokens"}};
	static const nvtxPayloadSchemaEntry_t of_check[] = {
		{.flags = NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE, .type = NVTX_PAYLOAD_ENTRY_TYPE_CSTRING},
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_UINT64, .name = "tokens"},
		{.flags = NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE, .type = NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE, .name = "odd"},
	};
	nvtxPayloadSchemaAttr_t a = {.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
						  NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE,
		.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
		.entries = of_prefill,
		.numEntries = 4,
		.payloadStaticSize = sizeof(struct prefill)};
	nvtxCounterAttr_t c = {.structSize = sizeof(c), .schemaId = NVTX_PAYLOAD_ENTRY_TYPE_INT64, .name = "queue"};

	prefill_schema = nvtxPayloadSchemaRegister(NULL, &a);
	a.entries = of_decode;
	a.numEntries = 1;
	a.payloadStaticSize = sizeof(int32_t);
	decode_schema = nvtxPayloadSchemaRegister(NULL, &a);
	a.entries = of_check;
	a.numEntries = 3;
	a.payloadStaticSize = sizeof(struct check);
	check_schema = nvtxPayloadSchemaRegister(NULL, &a);
	queue = nvtxCounterRegister(NULL, &c);
	c.schemaId = NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE;
	c.name = "load";
	load = nvtxCounterRegister(NULL, &c);
	c.name = "sample";
	sample = nvtxCounterRegister(NULL, &c);
}
#endif

static nvtxEventAttributes_t labelled(const char *label)
{
	nvtxEventAttributes_t a = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE, .messageType = NVTX_MESSAGE_TYPE_ASCII};

	a.message.ascii = label;
	return a;
}

static void serve_stages(int n)
{
#ifdef NVTX_COUNTER_CALLBACK_ID_V1
	struct prefill p = {.priority = 200, .batch = 1 + (uint32_t)n % 3, .tokens = 100 + (uint64_t)n, .share = 0.5f};
	nvtxPayloadData_t data = {prefill_schema, sizeof(p), &p};
	nvtxEventAttributes_t a = labelled("prefill");
	int32_t decoded = n % 50;

	a.payloadType = NVTX_PAYLOAD_TYPE_EXT;
	a.reserved0 = 1;
	a.payload.ullValue = (uint64_t)(uintptr_t)&data;
	nvtxRangePushEx(&a);
	work(20);
	nvtxRangePop();
	printf("prefill %" PRIu32 " %" PRIu64 " %g\n", p.batch, p.tokens, (double)p.share);
	nvtxRangePushA("decode");
	nvtxCounterSampleInt64(NULL, queue, -n);
	nvtxCounterSampleFloat64(NULL, load, 0.25 * n);
	work(20);
	data = (nvtxPayloadData_t){decode_schema, sizeof(decoded), &decoded};
	nvtxRangePopPayload(NULL, &data, 1);
	printf("decode %d\n", (int)decoded);
	if (n < MAX_ANSWERS) /* the main thread ends this range */
		answers[n] = (struct answer){nvtxRangeStartA("answer"), 3 * n};
#else
	(void)n;
	work(40);
#endif
}

/* Ends, in the main thread, the ranges that other threads have started. Their numbers of tokens are known by now. */
static void end_answers(void)
{
#ifdef NVTX_COUNTER_CALLBACK_ID_V1
	nvtxPayloadData_t data = {decode_schema, sizeof(int32_t), NULL};
	int i;

	for (i = 0; i < nr_requests && i < MAX_ANSWERS; i++) {
		data.payload = &answers[i].tokens;
		nvtxRangeEndPayload(NULL, answers[i].range, &data, 1);
		printf("answer %d\n", (int)answers[i].tokens);
	}
#endif
}

/* A range with more samples than an entry has arguments. */
static void check(void)
{
#ifdef NVTX_COUNTER_CALLBACK_ID_V1
	struct check c = {"check", 11, 1.5};
	nvtxPayloadData_t data = {check_schema, sizeof(c), &c};
	int i;

	nvtxRangePushPayload(NULL, &data, 1);
	for (i = 0; i < SAMPLES; i++)
		nvtxCounterSampleFloat64(NULL, sample, i);
	nvtxRangePop();
	printf("check 11 %d\n", SAMPLES - 1);
#endif
}

static void *serve(void *of)
{
	int thread = (int)(intptr_t)of, n, nr = 0;
	char label[64];

	while ((n = atomic_fetch_add(&next_request, 1)) < nr_requests) {
		nvtxEventAttributes_t a = labelled(label);
		uint64_t tokens = 10 + (uint64_t)n, begin = now_ns();

		snprintf(label, sizeof(label), "request %d-%d", thread, n);
		a.category = TOKENS;
		a.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
		a.payload.ullValue = tokens;
		nvtxRangePushEx(&a);
		if (!nr++) /* the first requests of all threads overlap, on any machine */
			pthread_barrier_wait(&together);
		serve_stages(n);
		nvtxRangePop();
		printf("request %d-%d %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", thread, n, tokens, begin, now_ns());
	}
	if (!nr) /* other threads took all requests, but wait for this thread */
		pthread_barrier_wait(&together);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[MAX_THREADS];
	int i;

	if (argc > 1)
		nr_requests = atoi(argv[1]);
	if (argc > 2)
		nr_threads = atoi(argv[2]);
	if (nr_requests < 1 || nr_threads < 1 || nr_threads > MAX_THREADS)
		return fprintf(stderr, "serve [REQUESTS [THREADS]]: at least one, and at most %d threads\n", MAX_THREADS), 2;
	nvtxNameCategoryA(TOKENS, "tokens");
#ifdef NVTX_COUNTER_CALLBACK_ID_V1
	register_layouts();
#endif
	pthread_barrier_init(&together, NULL, (unsigned)nr_threads);
	for (i = 0; i < nr_threads; i++)
		pthread_create(&threads[i], NULL, serve, (void *)(intptr_t)i);
	for (i = 0; i < nr_threads; i++)
		pthread_join(threads[i], NULL);
	end_answers();
	check();
	return 0;
}
