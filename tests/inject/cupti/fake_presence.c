/* The presence of CUPTI in the process: subscribers, use by another tool, and leaving the process. */
#include "fake_cupti.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/*
 * cuptiFinalize may only be called at the end of a CUDA call. After it, only functions that make CUPTI begin again may be
 * called; ids begin again too. The real cuptiFinalize kills the program if CUPTI has seen a graph, and so does this one.
 * $FAKE_CUPTI_LOG gets a line each time: `gone N`, with the N records that were lost; `refused` if CUPTI could not
 * begin again; `graph` when a graph is recorded for the first time.
 */
static int is_gone;

uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void log_line(const char *word, size_t number)
{
	const char *path = getenv("FAKE_CUPTI_LOG");
	FILE *f = path ? fopen(path, "a") : NULL;

	if (!f)
		return;
	fprintf(f, "%s %zu\n", word, number);
	fclose(f);
}

static void must_be(int is_right, int status)
{
	if (!is_right)
		_exit(status);
}

int is_there(void)
{
	return !__atomic_load_n(&is_gone, __ATOMIC_RELAXED);
}

void must_be_there(void)
{
	must_be(is_there(), 11);
}

/* In an older version, runtime and driver calls have different ids. */
EXPORT CUptiResult cuptiGetVersion(uint32_t *version)
{
	*version = getenv("FAKE_CUPTI_IDS") ? 120000 : 130000;
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *out, CUpti_CallbackFunc fn, void *user)
{
	(void)user;
	if (!is_there() && getenv("FAKE_CUPTI_TAKEN_LATER")) {
		log_line("refused", 0);
		return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	}
	if (getenv("FAKE_CUPTI_TAKEN"))
		return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	__atomic_store_n(&is_gone, 0, __ATOMIC_RELAXED);
	set_callback(fn);
	*out = (CUpti_SubscriberHandle)&is_gone;
	return CUPTI_SUCCESS;
}

#ifdef CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN
/* $FAKE_CUPTI_TAKEN: there is another subscriber, with this name; 1 = it gave no name, which CUPTI 13.0 reports. */
EXPORT CUptiResult cuptiSubscribe_v2(
	CUpti_SubscriberHandle *out, CUpti_CallbackFunc fn, void *user, CUpti_SubscriberParams *p)
{
	CUptiResult rc = cuptiSubscribe(out, fn, user);
	const char *name = getenv("FAKE_CUPTI_TAKEN");

	if (rc != CUPTI_SUCCESS && p && p->structSize == CUpti_SubscriberParams_STRUCT_SIZE && name)
		snprintf(p->oldSubscriberName, p->oldSubscriberSize, "CUPTI for %s",
			strcmp(name, "1") ? name : "<not provided>");
	return rc;
}

EXPORT CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle s)
{
	(void)s;
	set_callback(NULL);
	return CUPTI_SUCCESS;
}
#endif

EXPORT CUptiResult cuptiFinalize(void)
{
	must_be_there();
	must_be(is_at_end_of_call(), 12);
	must_be(!has_met_graph(), 13);
	wait_for_work();
	forget_callbacks(); /* from here on no record of this stay is accepted any more */
	log_line("gone", forget_records());
	__atomic_store_n(&is_gone, 1, __ATOMIC_RELAXED);
	forget_kinds();
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiGetTimestamp(uint64_t *ns)
{
	must_be_there();
	*ns = now_ns();
	return CUPTI_SUCCESS;
}
