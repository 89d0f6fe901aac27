/* Makes .ncu-rep files by hand, good and hostile ones. For tests. */
#ifndef SONDE_TESTS_NCU_MAKE_H
#define SONDE_TESTS_NCU_MAKE_H

#include "base/str.h"
#include "read/records.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static inline void make_varint(struct sonde_buf *b, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		sonde_buf_putc(b, (char)(v | 0x80));
	sonde_buf_putc(b, (char)v);
}

static inline void make_int(struct sonde_buf *b, uint32_t field, uint64_t v)
{
	make_varint(b, (uint64_t)field << 3);
	make_varint(b, v);
}

static inline void make_bytes(struct sonde_buf *b, uint32_t field, struct sonde_str s)
{
	make_varint(b, (uint64_t)field << 3 | 2);
	make_varint(b, s.n);
	sonde_buf_str(b, s);
}

static inline void make_text(struct sonde_buf *b, uint32_t field, const char *z)
{
	make_bytes(b, field, sonde_str_from(z));
}

/* Appends the message `inner` and empties it for the next one. */
static inline void make_message(struct sonde_buf *b, uint32_t field, struct sonde_buf *inner)
{
	make_bytes(b, field, sonde_buf_view(inner));
	sonde_buf_clear(inner);
}

static inline void make_u32(struct sonde_buf *b, uint32_t v)
{
	char c[4] = {(char)v, (char)(v >> 8), (char)(v >> 16), (char)(v >> 24)};

	sonde_buf_add(b, c, 4);
}

/* Appends an item: its length as a u32, and the bytes. */
static inline void make_item(struct sonde_buf *b, struct sonde_buf *inner)
{
	make_u32(b, (uint32_t)inner->n);
	sonde_buf_str(b, sonde_buf_view(inner));
	sonde_buf_clear(inner);
}

static inline void make_start(struct sonde_buf *file)
{
	struct sonde_buf header = {0};

	sonde_buf_add(file, "NVR", 4);
	make_int(&header, 1, 7);
	make_item(file, &header);
	sonde_buf_release(&header);
}

/* Appends a block: `header` gets the size of the payload; both buffers are emptied. */
static inline void make_block(
	struct sonde_buf *file, struct sonde_buf *header, struct sonde_buf *payload)
{
	make_int(header, 5, payload->n);
	make_item(file, header);
	sonde_buf_str(file, sonde_buf_view(payload));
	sonde_buf_clear(payload);
}

/* Opens bytes as if they were a file. */
static inline int open_bytes(
	struct sonde_records **out, const void *p, size_t n, struct sonde_err *err)
{
	int fd = memfd_create("report", 0), rc;
	char path[64];
	const char *paths[] = {path};

	if (fd < 0 || (n && write(fd, p, n) != (ssize_t)n))
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	*out = NULL;
	rc = sonde_records_open(out, paths, 1, NULL, err);
	close(fd);
	return rc;
}

#endif
