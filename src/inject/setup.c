/*
 * The configuration: one file of `key=value` lines. Whoever starts the program writes it and names it in
 * $SONDE_INJECT_CONFIG, or whoever wakes a sleeper does (format/asleep.h). Unknown keys are skipped, so that
 * an older library works with a newer sonde.
 *
 *     output=/abs/dir        directory for the capture files; the only required key
 *     buffer_bytes=67108864  memory for events
 *     flush_ms=50            how often events are written
 *     collect_ms=500         how often CUPTI is asked for finished records
 *     rotate_bytes=0         go on in another file when one is this long; 0 = never …
 *     rotate_ms=0            … or this old
 *     cupti=auto             auto, off, or the path of libcupti.so
 *     graphs=nodes           nodes: each kernel of a CUDA graph; whole: the graph as one
 *     api=light              light: CUDA calls that can wait, with their times; off: none
 *     memory=off             on: allocations and frees of GPU memory
 *     ranks=0-7,64           capture only processes to which a launcher gave one of these ranks
 *     nvtx.include=GLOB      any number of times; none = include everything
 *     nvtx.exclude=GLOB
 *     budget_ppm=0           millionths of the program's time that the capture may take; 0 = no limit
 *     window=all             all, entries, time, profiler, range or order; the kind decides which of the next keys matter:
 *     window.label=GLOB      the range, a pattern as in nvtx.include
 *     window.first=0         first entry of the range to capture …
 *     window.end=11          … and the entry behind the last one; missing = no last one
 *     window.after_us=0      when the window opens
 *     window.for_us=0        how long the window is open; 0 = until the program ends
 *     window.every_us=0      time from one window to the next; 0 = there is only one
 *     window.text=TEXT       the window as the user wrote it
 */
#include "inject/inject_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIN_BUFFER ((uint64_t)16 * CHUNK_BYTES)
#define MAX_BUFFER ((uint64_t)1 << 32)

static uint64_t parse_number(const char *z, uint64_t low, uint64_t high)
{
	uint64_t v = 0;

	for (; *z >= '0' && *z <= '9' && v <= high; z++)
		v = v * 10 + (uint64_t)(*z - '0');
	return v < low ? low : v > high ? high : v;
}

static void pattern_add(struct patterns *list, const char *value)
{
	const char *at = strchr(value, '@');

	if (list->nr < SONDE_PATTERN_LIMIT)
		list->at[list->nr++] = (struct pattern){value, at ? at + 1 : NULL};
}

static void set_lever(struct levers *l, const char *key, const char *value)
{
	bool is_on = !strcmp(value, "on");

	if (!strcmp(key, "zeroed"))
		l->zeroed = is_on;
	else if (!strcmp(key, "overhead"))
		l->no_overhead = !is_on;
	else if (!strcmp(key, "buffer_kb"))
		l->buffer_kb = (uint32_t)parse_number(value, 64, 65536);
	else if (!strcmp(key, "device_buffer_kb"))
		l->device_buffer_kb = (uint32_t)parse_number(value, 0, 1u << 20);
	else if (!strcmp(key, "device_buffers"))
		l->nr_device_buffers = (uint32_t)parse_number(value, 0, 1024);
	else if (!strcmp(key, "call_ns"))
		l->call_ns = (uint32_t)parse_number(value, 0, 1000000);
	else if (!strcmp(key, "record_ns"))
		l->record_ns = (uint32_t)parse_number(value, 0, 1000000);
}

static void set_window(struct window_config *w, const char *key, const char *value)
{
	static const char *const kinds[] = {[WINDOW_ALL] = "all",
		[WINDOW_ENTRIES] = "entries",
		[WINDOW_TIME] = "time",
		[WINDOW_PROFILER] = "profiler",
		[WINDOW_RANGE] = "range",
		[WINDOW_ORDER] = "order"};
	unsigned i;

	if (!strcmp(key, ".text"))
		w->text = value;
	else if (!strcmp(key, ".label"))
		pattern_add(&w->label, value);
	else if (!strcmp(key, ".first"))
		w->first = parse_number(value, 0, UINT64_MAX / 16);
	else if (!strcmp(key, ".end"))
		w->end = parse_number(value, 0, UINT64_MAX / 16);
	else if (!strcmp(key, ".after_us"))
		w->after_us = parse_number(value, 0, UINT64_MAX / 16);
	else if (!strcmp(key, ".for_us"))
		w->for_us = parse_number(value, 0, UINT64_MAX / 16);
	else if (!strcmp(key, ".every_us"))
		w->every_us = parse_number(value, 0, UINT64_MAX / 16);
	for (i = 0; !*key && i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(value, kinds[i]))
			w->kind = i;
}

static void set_key(struct config *c, const char *key, char *value)
{
	if (!strcmp(key, "output"))
		c->output = value;
	else if (!strcmp(key, "buffer_bytes"))
		c->buffer_bytes = parse_number(value, MIN_BUFFER, MAX_BUFFER);
	else if (!strcmp(key, "flush_ms"))
		c->flush_ms = (uint32_t)parse_number(value, 1, 60000);
	else if (!strcmp(key, "collect_ms"))
		c->collect_ms = (uint32_t)parse_number(value, 1, 60000);
	else if (!strcmp(key, "rotate_bytes"))
		c->rotate_bytes = parse_number(value, 0, UINT64_MAX / 16);
	else if (!strcmp(key, "rotate_ms"))
		c->rotate_ms = parse_number(value, 0, UINT64_MAX / 16 / 1000000);
	else if (!strcmp(key, "cupti"))
		c->use_cupti = strcmp(value, "off") != 0, c->cupti = value[0] == '/' ? value : NULL;
	else if (!strcmp(key, "graphs"))
		c->whole_graphs = !strcmp(value, "whole");
	else if (!strcmp(key, "api"))
		c->has_calls = strcmp(value, "off") != 0;
	else if (!strcmp(key, "memory"))
		c->has_memory = !strcmp(value, "on");
	else if (!strcmp(key, "pc"))
		c->pc_exponent = strcmp(value, "0") ? (uint32_t)parse_number(value, 5, 31) : 0;
	else if (!strcmp(key, "cubin_bytes"))
		c->cubin_bytes = parse_number(value, 0, UINT64_MAX / 16);
	else if (!strcmp(key, "ranks"))
		c->ranks = value;
	else if (!strncmp(key, "lever.", 6))
		set_lever(&c->levers, key + 6, value);
	else if (!strcmp(key, "budget_ppm"))
		c->budget_ppm = (uint32_t)parse_number(value, 0, 1000000);
	else if (!strncmp(key, "window", 6))
		set_window(&c->window, key + 6, value);
	else if (!strcmp(key, "nvtx.include"))
		pattern_add(&c->include, value);
	else if (!strcmp(key, "nvtx.exclude"))
		pattern_add(&c->exclude, value);
}

/* Whether the file belongs to our user or to root, and nobody else may write to it. */
static bool is_trusted(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (st.st_uid == geteuid() || st.st_uid == 0) &&
	       !(st.st_mode & (S_IWGRP | S_IWOTH));
}

static bool read_config(const char *path, char *to, size_t cap, bool is_own)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | (is_own ? O_NOFOLLOW : 0));
	size_t n = 0;
	ssize_t got = 0;

	if (fd < 0)
		return false;
	if (is_own && !is_trusted(fd)) {
		close(fd);
		errno = EPERM;
		return false;
	}
	while (n < cap - 1 && (got = read(fd, to + n, cap - 1 - n)) > 0)
		n += (size_t)got;
	close(fd);
	to[n] = '\0';
	return got == 0;
}

bool sonde_setup__read(struct config *c, const char *path, bool is_own)
{
	char *line, *end, *value;

	c->buffer_bytes = 64u << 20;
	c->flush_ms = 50;
	c->collect_ms = 500;
	c->use_cupti = true;
	c->has_calls = true;
	c->levers.buffer_kb = 256;
	c->levers.call_ns = 700; /* measured on an H200 between operators of PyTorch … */
	c->levers.record_ns = 2600; /* … see docs/performance-internals.md */
	c->window.end = UINT64_MAX;
	if (!path || !read_config(path, c->text, sizeof(c->text), is_own))
		return false;
	for (line = c->text; *line; line = end) {
		end = line + strcspn(line, "\n");
		if (*end)
			*end++ = '\0';
		value = strchr(line, '=');
		if (line[0] == '#' || !value)
			continue;
		*value++ = '\0';
		set_key(c, line, value);
	}
	c->has_windows = c->budget_ppm || c->window.kind != WINDOW_ALL;
	return c->output && c->output[0] == '/';
}
