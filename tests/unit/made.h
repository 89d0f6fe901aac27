/*
 * Records made by hand: ranges, launches and metric values without a file.
 *
 *     struct made m;
 *     made_init(&m);
 *     uint32_t a = made_push(&m, MADE_ROOT, "A");
 *     made_launch(&m, "gemm", 1, (uint32_t[]){a});
 *     made_metric(&m, "gpu__time_duration.sum", 100);   // of the last launch
 *     …  m.r is a struct sonde_records *
 *     made_release(&m);
 */
#ifndef SONDE_TESTS_MADE_H
#define SONDE_TESTS_MADE_H

#include "read/source.h"

#define MADE_ROOT SONDE_NONE

struct made_value {
	uint32_t record, metric;
	double v;
	const char *text;
};

struct made {
	struct sonde_records *r;
	SONDE_VEC(struct made_value) values;
	uint32_t input, process, device;
	uint64_t thread;
};

void made_init(struct made *m);
void made_release(struct made *m);
uint32_t made_range(
	struct made *m, uint32_t parent, const char *domain, const char *label, int kind);
uint32_t made_push(struct made *m, uint32_t parent, const char *label);
uint32_t made_start(struct made *m, const char *label);
/* Adds a kernel that was launched while the entries `open` (innermost ones) were open. */
uint32_t made_launch(struct made *m, const char *kernel, size_t nr, const uint32_t *open);
/* Moves a launch to another thread, or its work to another device or stream. */
void made_set_thread(struct made *m, size_t record, uint64_t thread);
void made_set_device(struct made *m, size_t record, uint32_t device);
void made_set_stream(struct made *m, size_t record, uint64_t stream);
/* The same for `thread`, with times in ns: a range, and a launch with one open range (SONDE_NONE: none). */
uint32_t made_push_at(
	struct made *m, uint64_t thread, uint32_t parent, const char *label, int begin, int end);
uint32_t made_launch_at(struct made *m, uint64_t thread, int ns, uint32_t open);
void made_metric(struct made *m, const char *name, double v);
void made_text(struct made *m, const char *name, const char *text);
/* Begins another file, to which further processes belong, with a first process. */
void made_input(struct made *m, const char *replay_mode, uint64_t pid);
/* Begins another process, to which further launches belong. */
void made_process(struct made *m, uint64_t pid);

#endif
