/* Shared by the fuzz targets of readers: opens bytes and calls every function of a reader. */
#ifndef SONDE_TESTS_FUZZ_READER_H
#define SONDE_TESTS_FUZZ_READER_H

#include "read/records.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define FUZZ_RECORDS 200 /* how many records are decoded; the others would run the same code */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void fuzz_check(bool good)
{
	if (!good)
		abort();
}

/* Checks that every index in a record is valid. */
static inline void fuzz_record(
	const struct sonde_records *r, uint32_t number, struct sonde_values *v)
{
	const struct sonde_record *rec = &r->records.at[number];
	struct sonde_set set;
	uint32_t i;

	fuzz_check(rec->open < r->sets.nr && rec->caller < r->callers.nr);
	fuzz_check(rec->queue < r->queues.nr && rec->function < r->functions.nr);
	fuzz_check(sonde_record_caller(r, rec)->process < r->processes.nr);
	fuzz_check(sonde_record_function(r, rec)->name < r->strings.nr);
	fuzz_check(sonde_record_function(r, rec)->full_name < r->strings.nr);
	if (rec->origin_kind == SONDE_ORIGIN_GRAPH || rec->origin_kind == SONDE_ORIGIN_BACKWARD)
		fuzz_check(rec->origin < r->ranges.nr);
	set = r->sets.at[rec->open];
	for (i = 0; i < set.nr; i++) {
		uint32_t range = r->members.at[set.first + i];

		for (; range != SONDE_NONE; range = r->ranges.at[range].parent) {
			fuzz_check(range < r->ranges.nr);
			fuzz_check(r->ranges.at[range].label < r->strings.nr);
			fuzz_check(r->ranges.at[range].parent == SONDE_NONE ||
				   r->ranges.at[range].parent < range);
		}
	}
	sonde_records_device(
		r, sonde_record_caller(r, rec)->process, sonde_record_queue(r, rec)->device);
	sonde_records_values(r, number, v, NULL);
	for (i = 0; i < v->texts.nr; i++)
		fuzz_check(v->texts.at[i].metric < r->metrics.nr);
}

/* Checks that samples are in order, with a value for each counter. */
static inline void fuzz_series(const struct sonde_records *r, const struct sonde_series *s)
{
	size_t i;

	fuzz_check(s->input < r->inputs.nr);
	fuzz_check(s->values.nr == s->times.nr * s->counters.nr);
	for (i = 0; i < s->counters.nr; i++)
		fuzz_check(s->counters.at[i].name < r->strings.nr);
	for (i = 1; i < s->times.nr; i++)
		fuzz_check(s->times.at[i].start_ns >= s->times.at[i - 1].end_ns);
}

/* Opens the bytes as a file and reads all of it. */
static inline void fuzz_reader(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct sonde_records *r = NULL;
	struct sonde_values v = {0};
	struct sonde_err err = {0};
	char name[64];
	/* A trace that launches graphs is also used as the trace of their captures. */
	const struct sonde_read_options options = {.kineto_captures = name};
	const char *path;
	uint32_t i;

	if (fd < 0)
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	path = name;
	if (sonde_records_open(&r, &path, 1, &options, &err)) {
		fuzz_check(!r && err.code < 0 && err.msg[0]);
		return;
	}
	if (sonde_values_init(&v, r, NULL) == 0)
		for (i = 0; i < r->records.nr && i < FUZZ_RECORDS; i++)
			fuzz_record(r, i, &v);
	for (i = 0; i < r->series.nr; i++)
		fuzz_series(r, &r->series.at[i]);
	sonde_values_release(&v);
	sonde_records_free(r);
}

#endif
