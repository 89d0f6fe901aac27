/*
 * Makes an .ncu-rep of N launches from a smaller, real one:
 *
 *     multiply IN.ncu-rep OUT.ncu-rep N
 *
 * The results of IN are written again and again, in blocks as in IN. The ids of API
 * calls (of launches, and of entries into ranges) grow from round to round, as in a
 * program that runs for longer. Cubins are left out. Strings and facts about the session are
 * written once.
 */
#include "base/file.h"
#include "base/vec.h"
#include "read/ncu/wire.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define KERNEL_NVTX 21
#define NR_COUNTS   4 /* kernel, range, command-list and graph results */

/* The header fields that count results, and the field that has the NVTX state of each kind. */
static const uint32_t count_field[NR_COUNTS] = {2, 7, 8, 9};
static const uint32_t nvtx_field[NR_COUNTS] = {KERNEL_NVTX, 10, 10, 10};

/* Where the ids of API calls are in an NVTX state: a path of fields, whose last one must be shifted. */
static const uint32_t push_pop[] = {2, 2, 3, 0}, start_end[] = {3, 3, 0};

struct result {
	struct sonde_str msg;
	int kind;
};

struct block {
	struct sonde_str header;
	size_t first, nr; /* range of indexes in the results */
};

static SONDE_VEC(struct block) blocks;
static SONDE_VEC(struct result) results;
static uint64_t last_api; /* the highest id in IN */

static _Noreturn void die(const char *why)
{
	fprintf(stderr, "multiply: %s\n", why);
	exit(1);
}

static void put_varint(struct sonde_buf *b, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		sonde_buf_putc(b, (char)(v | 0x80));
	sonde_buf_putc(b, (char)v);
}

static void put_int(struct sonde_buf *b, uint32_t field, uint64_t v)
{
	put_varint(b, (uint64_t)field << 3);
	put_varint(b, v);
}

static void put_bytes(struct sonde_buf *b, uint32_t field, struct sonde_str s)
{
	put_varint(b, (uint64_t)field << 3 | SONDE_WIRE_BYTES);
	put_varint(b, s.n);
	sonde_buf_str(b, s);
}

static void put_u32(struct sonde_buf *b, size_t v)
{
	char c[4] = {(char)v, (char)(v >> 8), (char)(v >> 16), (char)(v >> 24)};

	sonde_buf_add(b, c, 4);
}

/* Copies `msg`; below `path` (fields to descend, then 0) field `api` grows by `shift`. */
static void shift_below(struct sonde_buf *out, struct sonde_str msg, const uint32_t *path,
	uint32_t api, uint64_t shift)
{
	struct sonde_wire w = sonde_wire_on(msg);
	const unsigned char *start = w.p;
	struct sonde_wire_field f;

	for (; sonde_wire_next(&w, &f); start = w.p) {
		if (*path && sonde_field_is_bytes(&f, *path)) {
			struct sonde_buf inner = {0};

			shift_below(&inner, f.bytes, path + 1, api, shift);
			put_bytes(out, f.number, sonde_buf_view(&inner));
			sonde_buf_release(&inner);
		} else if (!*path && sonde_field_is_int(&f, api)) {
			put_int(out, api, f.value + shift);
		} else {
			sonde_buf_add(out, start, (size_t)(w.p - start));
		}
	}
}

static void shift_nvtx(struct sonde_buf *out, struct sonde_str msg, uint64_t shift)
{
	struct sonde_buf half = {0};

	shift_below(&half, msg, push_pop, 3, shift);
	shift_below(out, sonde_buf_view(&half), start_end, 4, shift);
	sonde_buf_release(&half);
}

static void put_result(struct sonde_buf *payload, const struct result *r, uint64_t shift)
{
	struct sonde_wire w = sonde_wire_on(r->msg);
	const unsigned char *start = w.p;
	struct sonde_buf out = {0}, nvtx = {0};
	struct sonde_wire_field f;

	for (; sonde_wire_next(&w, &f); start = w.p) {
		if (sonde_field_is_int(&f, 2)) {
			put_int(&out, 2, f.value + shift);
		} else if (sonde_field_is_bytes(&f, nvtx_field[r->kind])) {
			sonde_buf_clear(&nvtx);
			shift_nvtx(&nvtx, f.bytes, shift);
			put_bytes(&out, f.number, sonde_buf_view(&nvtx));
		} else {
			sonde_buf_add(&out, start, (size_t)(w.p - start));
		}
	}
	put_u32(payload, out.n);
	sonde_buf_str(payload, sonde_buf_view(&out));
	sonde_buf_release(&out);
	sonde_buf_release(&nvtx);
}

/* Takes an item off the front of `*s`: its length as a u32, and the bytes. */
static struct sonde_str take(struct sonde_str *s)
{
	const unsigned char *p = (const unsigned char *)s->p;
	struct sonde_str item;
	size_t n;

	if (s->n < 4)
		die("the input is cut off");
	n = p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24;
	if (n > s->n - 4)
		die("the input is cut off");
	item = (struct sonde_str){s->p + 4, n};
	s->p += 4 + n;
	s->n -= 4 + n;
	return item;
}

static uint64_t header_int(struct sonde_str header, uint32_t field)
{
	struct sonde_wire w = sonde_wire_on(header);
	struct sonde_wire_field f;
	uint64_t v = 0;

	while (sonde_wire_next(&w, &f))
		if (sonde_field_is_int(&f, field))
			v = f.value;
	return v;
}

static void read_block(struct sonde_str *rest)
{
	struct block *b = sonde_vec_push(&blocks);
	struct sonde_str payload;
	uint64_t size, i;
	int kind;

	if (!b)
		die("out of memory");
	b->header = take(rest);
	b->first = results.nr;
	size = header_int(b->header, 5);
	if (size > rest->n)
		die("the input is cut off");
	payload = (struct sonde_str){rest->p, (size_t)size};
	rest->p += size;
	rest->n -= (size_t)size;
	for (i = header_int(b->header, 1); i > 0; i--)
		take(&payload);
	for (kind = 0; kind < NR_COUNTS; kind++)
		for (i = header_int(b->header, count_field[kind]); i > 0; i--) {
			struct result *r = sonde_vec_push(&results);

			if (!r)
				die("out of memory");
			*r = (struct result){take(&payload), kind};
			if (header_int(r->msg, 2) > last_api)
				last_api = header_int(r->msg, 2);
		}
	b->nr = results.nr - b->first;
}

/* Writes the header without its counts; after the first round also without strings and session. */
static void put_header(struct sonde_buf *out, const struct block *b, bool is_first)
{
	struct sonde_wire w = sonde_wire_on(b->header);
	const unsigned char *start = w.p;
	struct sonde_wire_field f;

	for (; sonde_wire_next(&w, &f); start = w.p)
		if (f.number == 6 || (is_first && (f.number == 3 || f.number == 4)))
			sonde_buf_add(out, start, (size_t)(w.p - start));
}

/* Writes a block with the first `nr` of its results. */
static void write_block(FILE *to, const struct block *b, size_t nr, uint64_t round)
{
	struct sonde_buf header = {0}, payload = {0}, length = {0};
	uint64_t counts[NR_COUNTS] = {0};
	size_t i;
	int kind;

	for (i = 0; i < nr; i++) {
		put_result(&payload, &results.at[b->first + i], round * (last_api + 100));
		counts[results.at[b->first + i].kind]++;
	}
	put_header(&header, b, round == 0);
	for (kind = 0; kind < NR_COUNTS; kind++)
		if (counts[kind])
			put_int(&header, count_field[kind], counts[kind]);
	put_int(&header, 5, payload.n);
	put_u32(&length, header.n);
	if (header.failed || payload.failed || length.failed)
		die("out of memory");
	if (fwrite(length.p, 1, length.n, to) != length.n ||
		fwrite(header.p, 1, header.n, to) != header.n ||
		(payload.n && fwrite(payload.p, 1, payload.n, to) != payload.n))
		die("cannot write");
	sonde_buf_release(&header);
	sonde_buf_release(&payload);
	sonde_buf_release(&length);
}

int main(int argc, char **argv)
{
	struct sonde_mapping in;
	struct sonde_err err = {0};
	struct sonde_str rest;
	uint64_t left, round;
	size_t i;
	FILE *to;

	if (argc != 4 || !(left = strtoull(argv[3], NULL, 10)))
		die("usage: multiply IN.ncu-rep OUT.ncu-rep N");
	if (sonde_mapping_open(&in, argv[1], &err))
		die(err.msg);
	rest = in.data;
	if (!sonde_str_starts(rest, "NVR"))
		die("the input is no .ncu-rep");
	rest.p += 4;
	rest.n -= 4;
	take(&rest);
	to = fopen(argv[2], "wb");
	if (!to || fwrite(in.data.p, 1, (size_t)(rest.p - in.data.p), to) == 0)
		die("cannot write");
	while (rest.n)
		read_block(&rest);
	if (!results.nr)
		die("the input has no results");
	for (round = 0; left || round == 0; round++)
		for (i = 0; i < blocks.nr; i++) {
			const struct block *b = &blocks.at[i];
			size_t nr = b->nr < left ? b->nr : (size_t)left;

			if (nr || round == 0)
				write_block(to, b, nr, round);
			left -= nr;
		}
	if (fclose(to) != 0)
		die("cannot write");
	sonde_mapping_release(&in);
	return 0;
}
