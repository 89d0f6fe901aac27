/*
 * All allocations go through this file, so that tests can make them fail.
 *
 * All code allocates and frees with these four functions. All but sonde_free may
 * return NULL, and every caller handles that. After `sonde_alloc_fail_at(n)` the n-th
 * allocation of this thread from now on (1 = the next one) and all later ones fail, until
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
uint64_t sonde_alloc_count(void); /* allocations of this thread so far: tests know from it for which n to stop */

#endif
