/*
 * The only place that calls malloc. A test makes the n-th allocation of its thread and all later
 * ones fail, for every n, and so takes every path that handles a failed allocation. Invariant 19.
 */
#include "base/alloc.h"

#include <stdlib.h>

static _Thread_local uint64_t nr_allocs;
static _Thread_local uint64_t fail_at; /* 0 = never */

static int should_fail(void)
{
	nr_allocs++;
	return fail_at && nr_allocs >= fail_at;
}

void *sonde_malloc(size_t size)
{
	return should_fail() ? NULL : malloc(size ? size : 1);
}

void *sonde_calloc(size_t nr, size_t size)
{
	return should_fail() ? NULL : calloc(nr ? nr : 1, size ? size : 1);
}

void *sonde_realloc(void *p, size_t size)
{
	return should_fail() ? NULL : realloc(p, size ? size : 1);
}

void sonde_free(void *p)
{
	free(p);
}

void sonde_alloc_fail_at(uint64_t nth)
{
	fail_at = nth ? nr_allocs + nth : 0;
}

uint64_t sonde_alloc_count(void)
{
	return nr_allocs;
}
