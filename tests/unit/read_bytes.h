/* Bytes as an input: what the tests of readers open. */
#ifndef SONDE_TESTS_READ_BYTES_H
#define SONDE_TESTS_READ_BYTES_H

#include "base/alloc.h"
#include "read/records.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* The nth allocation of it and all after it fail; 0 = none does. */
static inline int read_bytes_failing(
	struct sonde_records **r, const void *p, size_t n, uint64_t nth, struct sonde_err *err)
{
	char name[64];
	const char *path = name;
	int fd = memfd_create("input", MFD_CLOEXEC), rc;

	assert_true(fd >= 0 && write(fd, p, n) == (ssize_t)n);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	*err = (struct sonde_err){0};
	*r = NULL;
	sonde_alloc_fail_at(nth);
	rc = sonde_records_open(r, &path, 1, NULL, err);
	sonde_alloc_fail_at(0);
	close(fd);
	return rc;
}

static inline int read_bytes(
	struct sonde_records **r, const void *p, size_t n, struct sonde_err *err)
{
	return read_bytes_failing(r, p, n, 0, err);
}

#endif
