/* Opens bytes in memory as an input, for tests of readers. */
#ifndef SONDE_TESTS_READ_BYTES_H
#define SONDE_TESTS_READ_BYTES_H

#include "base/alloc.h"
#include "read/records.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static inline int read_bytes(
	struct sonde_records **r, const void *p, size_t n, struct sonde_err *err)
{
	char name[64];
	const char *path = name;
	int fd = memfd_create("input", MFD_CLOEXEC), rc;

	assert_true(fd >= 0 && write(fd, p, n) == (ssize_t)n);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	*err = (struct sonde_err){0};
	*r = NULL;
	rc = sonde_records_open(r, &path, 1, NULL, err);
	close(fd);
	return rc;
}

/* Reads while the nth allocation and all later ones fail. */
static inline int read_bytes_failing(
	struct sonde_records **r, const void *p, size_t n, uint64_t nth, struct sonde_err *err)
{
	int rc;

	sonde_alloc_fail_at(nth);
	rc = read_bytes(r, p, n, err);
	sonde_alloc_fail_at(0);
	return rc;
}

/* Checks that reading gives an error whichever allocation fails, and that it needs more than `least` allocations. */
static inline void survive_failed_allocations(const void *p, size_t n, uint64_t least)
{
	struct sonde_records *r = NULL;
	struct sonde_err err;
	int rc = SONDE_ERR_NOMEM;
	uint64_t nth;

	for (nth = 1; rc == SONDE_ERR_NOMEM && nth < 10000; nth++) {
		rc = read_bytes_failing(&r, p, n, nth, &err);
		sonde_records_free(r);
		r = NULL;
	}
	assert_int_equal(rc, 0);
	assert_true(nth > least);
}

static inline bool noted(const struct sonde_records *r, const char *words)
{
	size_t i;

	for (i = 0; i < r->notes.texts.nr; i++)
		if (memmem(r->notes.texts.keys[i].p, r->notes.texts.keys[i].n, words, strlen(words)))
			return true;
	return false;
}

/* The greatest depth of nested ranges. */
static inline uint32_t deepest_range(const struct sonde_records *r)
{
	uint32_t i, at, depth, deepest = 0;

	for (i = 0; i < r->ranges.nr; i++) {
		for (depth = 0, at = i; at != SONDE_NONE; at = r->ranges.at[at].parent)
			depth++;
		deepest = depth > deepest ? depth : deepest;
	}
	return deepest;
}

/* The value of a metric of a record. */
static inline double metric_of(const struct sonde_records *r, uint32_t record, const char *metric)
{
	struct sonde_values v = {0};
	uint32_t m = sonde_records_metric(r, metric);
	double out;

	assert_int_not_equal(m, SONDE_NONE);
	assert_int_equal(sonde_values_init(&v, r, NULL), 0);
	assert_int_equal(sonde_records_values(r, record, &v, NULL), 0);
	out = v.num[m];
	sonde_values_release(&v);
	return out;
}

/* Checks that the bytes give either an error with a message, or records that can be read completely. */
static inline void survive(const void *p, size_t n)
{
	struct sonde_records *r = NULL;
	struct sonde_values v = {0};
	struct sonde_err err;
	uint32_t i;

	if (read_bytes(&r, p, n, &err)) {
		assert_true(!r && err.code < 0 && err.msg[0]);
		return;
	}
	if (sonde_values_init(&v, r, NULL) == 0)
		for (i = 0; i < r->records.nr; i++) {
			assert_true(sonde_record_function(r, &r->records.at[i])->name < r->strings.nr);
			assert_true(r->records.at[i].open < r->sets.nr);
			sonde_records_values(r, i, &v, NULL);
		}
	sonde_values_release(&v);
	sonde_records_free(r);
}

#endif
