/*
 * The one door to malloc, so that tests can make it fail.
 *
 * Everything that allocates goes through these four; all but free may return
 * NULL and every caller handles that. With `sonde_alloc_fail_at(n)` the n-th
 * allocation from now on (1 = the next one) and all after it fail, until
 * `sonde_alloc_fail_at(0)`. Only tests call it.
 */
#ifndef SONDE_BASE_ALLOC_H
#define SONDE_BASE_ALLOC_H

#include <stddef.h>
#include <stdint.h>

void *sonde_malloc(size_t size);
void *sonde_calloc(size_t nr, size_t size);
void *sonde_realloc(void *p, size_t size);
void sonde_free(void *p);

void sonde_alloc_fail_at(uint64_t nth);
uint64_t sonde_alloc_count(void); /* allocations so far, to know where to stop injecting */

#endif
