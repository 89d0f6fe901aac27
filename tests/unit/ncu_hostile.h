/* Small reports that contain very many of one thing, to find work that grows faster than the file. For tests. */
#ifndef SONDE_TESTS_NCU_HOSTILE_H
#define SONDE_TESTS_NCU_HOSTILE_H

#include "ncu_make.h"

/* Makes a hostile result with `n` of the things that make it hard to read. */
typedef void make_hostile(struct sonde_buf *file, uint32_t n);

static inline void one_result(
	struct sonde_buf *file, struct sonde_buf *header, struct sonde_buf *result)
{
	struct sonde_buf payload = {0};

	make_start(file);
	make_int(header, 2, 1);
	make_item(&payload, result);
	make_block(file, header, &payload);
	sonde_buf_release(&payload);
	sonde_buf_release(header);
	sonde_buf_release(result);
}

static void many_devices(struct sonde_buf *file, uint32_t n)
{
	struct sonde_buf header = {0}, result = {0}, session = {0}, device = {0}, process = {0};

	make_int(&process, 1, 1);
	make_message(&header, 6, &process);
	for (; n; n--) {
		make_int(&device, 1, n);
		make_message(&session, 6, &device);
	}
	make_message(&header, 3, &session);
	one_result(file, &header, &result);
	sonde_buf_release(&session);
	sonde_buf_release(&device);
	sonde_buf_release(&process);
}

static void many_section_metrics(struct sonde_buf *file, uint32_t n)
{
	struct sonde_buf header = {0}, result = {0}, section = {0}, list = {0}, metric = {0};
	char name[32];

	make_text(&section, 1, "Hostile");
	for (; n; n--) {
		snprintf(name, sizeof(name), "%u", n);
		make_text(&metric, 1, name);
		make_message(&list, 1, &metric);
	}
	make_message(&section, 6, &list);
	make_message(&result, 17, &section);
	one_result(file, &header, &result);
	sonde_buf_release(&section);
	sonde_buf_release(&list);
	sonde_buf_release(&metric);
}

static void many_sections(struct sonde_buf *file, uint32_t n)
{
	struct sonde_buf header = {0}, result = {0}, section = {0};
	char name[32];

	for (; n; n--) {
		snprintf(name, sizeof(name), "%u", n);
		make_text(&section, 1, name);
		make_message(&result, 17, &section);
	}
	one_result(file, &header, &result);
	sonde_buf_release(&section);
}

/* A domain with `n` registered strings, and as many stacks in it, each of which looks one up. */
static void many_stacks_of_one_domain(struct sonde_buf *file, uint32_t n)
{
	struct sonde_buf header = {0}, result = {0}, nvtx = {0}, domain = {0}, string = {0};
	struct sonde_buf thread = {0}, stack = {0}, range = {0}, attrs = {0}, message = {0};
	uint32_t i;

	make_int(&domain, 1, 5);
	for (i = 0; i < n; i++) {
		make_int(&string, 1, i);
		make_message(&domain, 3, &string);
	}
	make_message(&nvtx, 1, &domain);
	make_int(&thread, 1, 0);
	for (i = 0; i < n; i++) {
		make_int(&message, 1, 3);
		make_int(&message, 3, n + 1);
		make_message(&attrs, 5, &message);
		make_message(&range, 2, &attrs);
		make_int(&stack, 1, 5);
		make_message(&stack, 3, &range);
		make_message(&thread, 2, &stack);
	}
	make_message(&nvtx, 2, &thread);
	make_message(&result, 21, &nvtx);
	one_result(file, &header, &result);
	sonde_buf_release(&nvtx), sonde_buf_release(&domain), sonde_buf_release(&string);
	sonde_buf_release(&thread), sonde_buf_release(&stack), sonde_buf_release(&range);
	sonde_buf_release(&attrs), sonde_buf_release(&message);
}

static void many_domains(struct sonde_buf *file, uint32_t n)
{
	struct sonde_buf header = {0}, result = {0}, nvtx = {0}, domain = {0}, thread = {0};
	struct sonde_buf stack = {0}, range = {0};
	uint32_t i;

	for (i = 0; i < n; i++) {
		make_int(&domain, 1, n - i);
		make_message(&nvtx, 1, &domain);
		make_int(&stack, 1, n - i);
		make_text(&range, 1, "x");
		make_message(&stack, 3, &range);
		make_message(&thread, 2, &stack);
	}
	make_message(&nvtx, 2, &thread);
	make_message(&result, 21, &nvtx);
	one_result(file, &header, &result);
	sonde_buf_release(&nvtx), sonde_buf_release(&domain), sonde_buf_release(&thread);
	sonde_buf_release(&stack), sonde_buf_release(&range);
}

static void deep_stack(struct sonde_buf *file, uint32_t n)
{
	struct sonde_buf header = {0}, result = {0}, nvtx = {0}, thread = {0};
	struct sonde_buf stack = {0}, range = {0};

	for (; n; n--) {
		make_int(&range, 3, n);
		make_message(&stack, 3, &range);
	}
	make_message(&thread, 2, &stack);
	make_message(&nvtx, 2, &thread);
	make_message(&result, 21, &nvtx);
	one_result(file, &header, &result);
	sonde_buf_release(&nvtx), sonde_buf_release(&thread);
	sonde_buf_release(&stack), sonde_buf_release(&range);
}

/* Two results with `n` open start/end ranges each, the second in the opposite order. */
static void many_started(struct sonde_buf *file, uint32_t n)
{
	struct sonde_buf header = {0}, payload = {0}, result = {0}, nvtx = {0}, domain = {0};
	struct sonde_buf range = {0};
	uint32_t i, k;

	for (k = 0; k < 2; k++) {
		for (i = 0; i < n; i++) {
			make_int(&range, 1, k ? n - i : i);
			make_message(&domain, 3, &range);
		}
		make_message(&nvtx, 3, &domain);
		make_message(&result, 21, &nvtx);
		make_item(&payload, &result);
	}
	make_start(file);
	make_int(&header, 2, 2);
	make_block(file, &header, &payload);
	sonde_buf_release(&header), sonde_buf_release(&payload), sonde_buf_release(&result);
	sonde_buf_release(&nvtx), sonde_buf_release(&domain), sonde_buf_release(&range);
}

static void many_processes(struct sonde_buf *file, uint32_t n)
{
	struct sonde_buf header = {0}, payload = {0}, process = {0}, session = {0}, device = {0};

	make_start(file);
	for (; n; n--) {
		make_int(&process, 1, n);
		make_message(&header, 6, &process);
		make_int(&header, 2, 1);
		make_int(&device, 1, 0);
		make_message(&session, 6, &device);
		make_message(&header, 3, &session);
		make_u32(&payload, 0);
		make_block(file, &header, &payload);
	}
	sonde_buf_release(&header), sonde_buf_release(&payload), sonde_buf_release(&process);
	sonde_buf_release(&session), sonde_buf_release(&device);
}

/* `n` results, each in another region, process, kernel or metric. */
static inline void many_results(struct sonde_buf *file, uint32_t n, int what)
{
	struct sonde_buf header = {0}, payload = {0}, result = {0}, nvtx = {0}, thread = {0};
	struct sonde_buf stack = {0}, range = {0}, strings = {0}, value = {0}, metric = {0};
	char name[32];
	uint32_t i;

	make_start(file);
	for (i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "m%u__x.sum", i);
		make_text(&strings, 1, name);
	}
	make_message(&header, 4, &strings);
	make_block(file, &header, &payload);
	for (i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "r%u", what & 1 ? i : 0);
		make_text(&range, 1, name);
		make_message(&stack, 3, &range);
		make_message(&thread, 2, &stack);
		make_message(&nvtx, 2, &thread);
		make_message(&result, 21, &nvtx);
		snprintf(name, sizeof(name), "k%u", what & 2 ? i : 0);
		make_text(&result, 6, name);
		make_int(&value, 4, 7);
		make_int(&metric, 1, what & 4 ? i : 0);
		make_message(&metric, 2, &value);
		make_message(&result, 13, &metric);
		make_item(&payload, &result);
	}
	make_int(&header, 2, n);
	make_block(file, &header, &payload);
	sonde_buf_release(&header), sonde_buf_release(&payload), sonde_buf_release(&result);
	sonde_buf_release(&nvtx), sonde_buf_release(&thread), sonde_buf_release(&stack);
	sonde_buf_release(&range), sonde_buf_release(&strings), sonde_buf_release(&value);
	sonde_buf_release(&metric);
}

static void many_regions(struct sonde_buf *file, uint32_t n)
{
	many_results(file, n, 1);
}

static void many_kernels(struct sonde_buf *file, uint32_t n)
{
	many_results(file, n, 2);
}

static void many_regions_and_kernels(struct sonde_buf *file, uint32_t n)
{
	many_results(file, n, 3);
}

static void many_metrics(struct sonde_buf *file, uint32_t n)
{
	many_results(file, n, 4);
}

static void many_of_everything(struct sonde_buf *file, uint32_t n)
{
	many_results(file, n, 7);
}

static const struct {
	const char *name;
	make_hostile *make;
} hostile[] = {
	{"devices", many_devices},
	{"section metrics", many_section_metrics},
	{"sections", many_sections},
	{"stacks of one domain", many_stacks_of_one_domain},
	{"domains", many_domains},
	{"frames", deep_stack},
	{"start/end ranges", many_started},
	{"processes", many_processes},
	{"regions", many_regions},
	{"kernels", many_kernels},
	{"regions and kernels", many_regions_and_kernels},
	{"metrics", many_metrics},
	{"regions, kernels and metrics", many_of_everything},
};
#define NR_HOSTILE (sizeof(hostile) / sizeof(hostile[0]))

#endif
