/*
 * Fuzzes the whole pipeline: every format is written, and `sonde validate` must accept the JSON. If the first
 * byte is 'B' the rest is blocks of a native capture, if it is 'F' a file of one. Any other input is a file
 * as it is: a trace, a report or a table of Nsight Compute, an export of Nsight Systems.
 */
#include "../unit/whole_way.h"
#include "fuzz_native.h"
#include "fuzz_ncu.h"

#include <jansson.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * The validator parses its schema for every document, and with the sanitizer's malloc that takes longer than
 * everything else. So it gets its memory from this heap, all of which is free again for the next input.
 */
static _Alignas(16) char heap[8u << 20];
static size_t heap_used;

static void *heap_malloc(size_t n)
{
	void *p = heap + heap_used;

	n = (n + 15) & ~(size_t)15;
	if (n > sizeof(heap) - heap_used)
		return malloc(n);
	heap_used += n;
	return p;
}

static void heap_free(void *p)
{
	if ((char *)p < heap || (char *)p >= heap + sizeof(heap))
		free(p);
}

/* The HTML page and the SQLite tables take longer than everything else, so only every 8th input writes them. */
static bool is_wanted(const struct sonde_format *f, uint64_t hash)
{
	if (f->write == sonde_export_html)
		return hash % 8 == 0;
	return f->write != sonde_export_sqlite || hash % 8 == 1;
}

static void report(const void *p, size_t n)
{
	struct sonde_err err = {0};

	if (whole_way(p, n, is_wanted, &err)) {
		fprintf(stderr, "sonde's own output is wrong: %s\n", err.msg);
		abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t is_file = size && data[0] == 'F';
	struct capture c;

	heap_used = 0;
	json_set_alloc_funcs(heap_malloc, heap_free);
	if (size && data[0] == 'B') {
		fuzz_native_capture(&c, data, size);
		report(c.file.p, c.file.n);
		capture_release(&c);
	} else {
		report(data + is_file, size - is_file);
	}
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	if (size && data[0] == 'B')
		return fuzz_native_mutate(data, size, max_size, seed);
	if (size > 4 && memcmp(data, "NVR", 4) == 0)
		return fuzz_ncu_mutate(data, size, max_size, seed);
	return LLVMFuzzerMutate(data, size, max_size);
}
