/* Delivers records to the library, in buffers that the library owns. */
#include "fake_cupti.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static CUpti_BuffersCallbackRequestFunc request;
static CUpti_BuffersCallbackCompleteFunc complete;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *buffer;
static size_t buffer_size, used, nr_dropped;
static uint64_t added_ns; /* time of the last record; with $FAKE_CUPTI_LATE_MS work goes on for so long after it */
static int must_be_zero;

/* With `$FAKE_CUPTI_HOLDS` full buffers wait here until the library flushes. */
#define MAX_HELD 64
static struct held {
	uint8_t *buffer;
	size_t size, used;
} held[MAX_HELD];
static size_t nr_held, nr_out; /* nr_out: buffers that the library gave and that were not returned yet */

EXPORT CUptiResult cuptiActivityRegisterCallbacks(
	CUpti_BuffersCallbackRequestFunc r, CUpti_BuffersCallbackCompleteFunc c)
{
	if (getenv("FAKE_CUPTI_SCOPED")) /* as when another tool uses the functions called _v2 */
		return CUPTI_ERROR_NOT_COMPATIBLE;
	__atomic_store_n(&request, r, __ATOMIC_RELEASE);
	__atomic_store_n(&complete, c, __ATOMIC_RELEASE);
	return CUPTI_SUCCESS;
}

/* The only attribute that tests use: whether buffers must be filled with zeros. */
EXPORT CUptiResult cuptiActivitySetAttribute(
	CUpti_ActivityAttribute which, size_t *size, void *value)
{
	if (getenv("FAKE_CUPTI_SCOPED"))
		return CUPTI_ERROR_NOT_COMPATIBLE;
	if (which == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER && *size == 1)
		__atomic_store_n(&must_be_zero, *(uint8_t *)value, __ATOMIC_RELAXED);
	return CUPTI_SUCCESS;
}

size_t size_of(CUpti_ActivityKind kind)
{
	switch (kind) {
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		return sizeof(kernel_record);
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		return sizeof(memcpy_record);
	case CUPTI_ACTIVITY_KIND_MEMSET:
		return sizeof(CUpti_ActivityMemset4);
	case CUPTI_ACTIVITY_KIND_MEMORY2:
		return sizeof(CUpti_ActivityMemory4);
	case CUPTI_ACTIVITY_KIND_DRIVER:
		return sizeof(CUpti_ActivityAPI);
	case CUPTI_ACTIVITY_KIND_OVERHEAD: /* the record of an older version is shorter */
		return getenv("FAKE_CUPTI_IDS") ? sizeof(CUpti_ActivityOverhead2)
						: sizeof(overhead_record);
	default:
		return sizeof(device_record);
	}
}

EXPORT CUptiResult cuptiActivityGetNextRecord(uint8_t *b, size_t valid, CUpti_Activity **record)
{
	uint8_t *next = *record ? (uint8_t *)*record + size_of((*record)->kind) : b;

	if (next >= b + valid)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	*record = (CUpti_Activity *)(void *)next;
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext c, uint32_t s, size_t *dropped)
{
	(void)c, (void)s;
	*dropped = __atomic_exchange_n(&nr_dropped, 0, __ATOMIC_RELAXED);
	return CUPTI_SUCCESS;
}

static size_t take_held(struct held *out)
{
	size_t n;

	pthread_mutex_lock(&lock);
	n = nr_held;
	memcpy(out, held, n * sizeof(*out));
	nr_held = 0;
	if (buffer)
		out[n++] = (struct held){buffer, buffer_size, used};
	buffer = NULL;
	used = 0;
	pthread_mutex_unlock(&lock);
	return n;
}

static void hand_over(void)
{
	struct held full[MAX_HELD + 1];
	size_t i, n = take_held(full);

	for (i = 0; i < n; i++) {
		__atomic_load_n(&complete, __ATOMIC_ACQUIRE)(NULL, 0, full[i].buffer, full[i].size, full[i].used);
		__atomic_sub_fetch(&nr_out, 1, __ATOMIC_RELAXED);
	}
}

EXPORT CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
	must_be_there();
	if (flag)
		end_graph(0);
	else if (now_ns() - __atomic_load_n(&added_ns, __ATOMIC_RELAXED) < late_ns())
		return CUPTI_SUCCESS;
	hand_over();
	return CUPTI_SUCCESS;
}

void wait_for_work(void)
{
	while (__atomic_load_n(&used, __ATOMIC_RELAXED) &&
		now_ns() - __atomic_load_n(&added_ns, __ATOMIC_RELAXED) < late_ns())
		usleep(1000);
}

size_t forget_records(void)
{
	struct held left[MAX_HELD + 1];
	CUpti_Activity *r;
	size_t i, n = take_held(left), nr = 0;

	for (i = 0; i < n; i++) {
		for (r = NULL; cuptiActivityGetNextRecord(left[i].buffer, left[i].used, &r) == CUPTI_SUCCESS; nr++)
			;
		__atomic_load_n(&complete, __ATOMIC_ACQUIRE)(NULL, 0, left[i].buffer, left[i].size, 0);
		__atomic_sub_fetch(&nr_out, 1, __ATOMIC_RELAXED);
	}
	return nr;
}

/* Holds a full buffer back. A real GPU is slow; this one waits up to a second for the library to flush. */
static void hold(void)
{
	size_t i;

	pthread_mutex_lock(&lock);
	if (buffer && nr_held < MAX_HELD) /* otherwise another thread has taken it meanwhile */
		held[nr_held++] = (struct held){buffer, buffer_size, used};
	buffer = NULL;
	used = 0;
	pthread_mutex_unlock(&lock);
	for (i = 0; i < 1000 && __atomic_load_n(&nr_out, __ATOMIC_RELAXED) >= MAX_HELD / 2; i++)
		usleep(1000);
}

/* Returns a buffer of the library with room for `n` bytes; NULL when the library has none. The caller holds the lock. */
static uint8_t *room(size_t n)
{
	size_t max;

	while (buffer && used + n > buffer_size) { /* other threads may fill the next buffer meanwhile */
		pthread_mutex_unlock(&lock);
		if (getenv("FAKE_CUPTI_HOLDS"))
			hold();
		else
			hand_over();
		pthread_mutex_lock(&lock);
	}
	if (buffer || !__atomic_load_n(&request, __ATOMIC_ACQUIRE))
		return buffer;
	__atomic_load_n(&request, __ATOMIC_ACQUIRE)(&buffer, &buffer_size, &max);
	used = 0;
	if (buffer)
		__atomic_add_fetch(&nr_out, 1, __ATOMIC_RELAXED);
	if (buffer && __atomic_load_n(&must_be_zero, __ATOMIC_RELAXED) &&
		(buffer[0] || memcmp(buffer, buffer + 1, buffer_size - 1) != 0))
		_exit(9); /* the library gave a buffer that is not zero */
	return buffer && used + n <= buffer_size ? buffer : NULL;
}

void put_record(const void *record, size_t n, uint32_t stay)
{
	if (getenv("FAKE_CUPTI_STOLEN"))
		return; /* the records go to the tool that registered last */
	pthread_mutex_lock(&lock);
	if (stay != which_stay()) {
		; /* the buffers of that stay were already returned */
	} else if (room(n)) {
		memcpy(buffer + used, record, n);
		used += n;
		__atomic_store_n(&added_ns, now_ns(), __ATOMIC_RELAXED);
	} else {
		__atomic_add_fetch(&nr_dropped, 1, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&lock);
}

void add_record(const void *record, size_t n)
{
	if (is_recorded(((const CUpti_Activity *)record)->kind))
		put_record(record, n, which_stay()); /* this kind is enabled */
}
