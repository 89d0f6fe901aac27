/*
 * Reports of Nsight Compute for fuzzing. The mutator changes one field at any depth, and corrects the
 * lengths of all messages around it, of the item, and of the block.
 */
#ifndef SONDE_TESTS_FUZZ_NCU_H
#define SONDE_TESTS_FUZZ_NCU_H

#include "../unit/ncu_make.h"
#include "fuzz_mutate.h"
#include "read/ncu/wire.h"

#define MAX_NESTED 16u

/* The number of fields; 0 when the bytes are not a message. */
static inline size_t fuzz_count_fields(struct sonde_str s)
{
	struct sonde_wire w = sonde_wire_on(s);
	struct sonde_wire_field f;
	size_t nr = 0;

	while (sonde_wire_next(&w, &f))
		nr++;
	return w.bad ? 0 : nr;
}

static inline void fuzz_change_message(
	struct sonde_buf *out, struct sonde_str s, struct fuzz_chance *c, unsigned depth);

/* Changes a field: a number becomes another number; bytes are changed as a message or as bytes. */
static inline void fuzz_change_field(
	struct sonde_buf *out, const struct sonde_wire_field *f, struct fuzz_chance *c, unsigned depth)
{
	struct sonde_buf inner = {0};
	struct sonde_str number = {(const char *)&f->value, sizeof(f->value)};
	uint64_t v = 0;

	if (f->type == SONDE_WIRE_BYTES) {
		if (depth < MAX_NESTED && fuzz_below(c, 8) && fuzz_count_fields(f->bytes))
			fuzz_change_message(&inner, f->bytes, c, depth + 1);
		else
			fuzz_changed(&inner, f->bytes);
		make_message(out, f->number, &inner);
	} else {
		fuzz_changed(&inner, number);
		memcpy(&v, inner.p, inner.n < sizeof(v) ? inner.n : sizeof(v));
		make_varint(out, (uint64_t)f->number << 3 | f->type);
		if (f->type == SONDE_WIRE_VARINT)
			make_varint(out, v);
		else
			sonde_buf_add(out, &v, f->type == SONDE_WIRE_FIXED64 ? 8 : 4);
	}
	sonde_buf_release(&inner);
}

/* Appends the message with one field changed, dropped or repeated. */
static inline void fuzz_change_message(
	struct sonde_buf *out, struct sonde_str s, struct fuzz_chance *c, unsigned depth)
{
	struct sonde_wire w = sonde_wire_on(s);
	size_t nr = fuzz_count_fields(s), chosen = nr ? fuzz_below(c, nr) : 0, i;
	uint64_t what = fuzz_below(c, 16), times = what == 0 ? 0 : what == 1 ? 1 + fuzz_below(c, 9) : 1;
	struct sonde_wire_field f;

	for (i = 0; i < nr; i++) {
		const char *start = (const char *)w.p;

		if (!sonde_wire_next(&w, &f))
			break;
		if (i == chosen && what > 1)
			fuzz_change_field(out, &f, c, depth);
		else
			for (uint64_t k = i == chosen ? times : 1; k; k--)
				sonde_buf_add(out, start, (size_t)((const char *)w.p - start));
	}
}

/* Takes an item off the front: its length as a u32, and the bytes; false when there are not so many. */
static inline bool fuzz_cut_item(struct sonde_str *rest, struct sonde_str *item)
{
	uint32_t n;

	if (rest->n < sizeof(n))
		return false;
	memcpy(&n, rest->p, sizeof(n));
	if (n > rest->n - sizeof(n))
		return false;
	*item = (struct sonde_str){rest->p + sizeof(n), n};
	*rest = (struct sonde_str){item->p + n, rest->n - sizeof(n) - n};
	return true;
}

static inline void fuzz_copy_item(
	struct sonde_buf *out, struct sonde_str item, struct fuzz_chance *c, bool change)
{
	struct sonde_buf inner = {0};

	if (change)
		fuzz_change_message(&inner, item, c, 0);
	else
		sonde_buf_str(&inner, item);
	make_item(out, &inner);
	sonde_buf_release(&inner);
}

/* Writes the fields of the header with the new size of the payload. */
static inline void fuzz_put_header(struct sonde_buf *out, struct sonde_str header, size_t payload_size,
	struct fuzz_chance *c, bool change)
{
	struct sonde_buf fields = {0}, inner = {0};
	struct sonde_wire w = sonde_wire_on(header);
	const char *start = header.p;
	struct sonde_wire_field f;

	for (; sonde_wire_next(&w, &f); start = (const char *)w.p)
		if (!sonde_field_is_int(&f, 5))
			sonde_buf_add(&fields, start, (size_t)((const char *)w.p - start));
	if (change)
		fuzz_change_message(&inner, sonde_buf_view(&fields), c, 0);
	else
		sonde_buf_str(&inner, sonde_buf_view(&fields));
	make_int(&inner, 5, payload_size);
	make_item(out, &inner);
	sonde_buf_release(&inner);
	sonde_buf_release(&fields);
}

/* Copies a block, that is its header and the items of its payload; changes item `*chosen`. */
static inline bool fuzz_copy_block(
	struct sonde_buf *out, struct sonde_str *rest, struct fuzz_chance *c, size_t *chosen)
{
	struct sonde_buf payload = {0};
	struct sonde_str header, items, item;
	struct sonde_wire w;
	struct sonde_wire_field f;
	uint64_t size = 0;
	bool change_header = (*chosen)-- == 0;

	if (!fuzz_cut_item(rest, &header))
		return false;
	for (w = sonde_wire_on(header); sonde_wire_next(&w, &f);)
		if (sonde_field_is_int(&f, 5))
			size = f.value;
	size = size < rest->n ? size : rest->n;
	items = (struct sonde_str){rest->p, (size_t)size};
	*rest = (struct sonde_str){rest->p + size, rest->n - (size_t)size};
	while (fuzz_cut_item(&items, &item))
		fuzz_copy_item(&payload, item, c, (*chosen)-- == 0);
	sonde_buf_str(&payload, items);
	fuzz_put_header(out, header, payload.n, c, change_header);
	sonde_buf_str(out, sonde_buf_view(&payload));
	sonde_buf_release(&payload);
	return true;
}

static inline size_t fuzz_ncu_mutate(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	struct fuzz_chance c = {seed};
	struct sonde_str rest = {(const char *)data, size}, head;
	struct sonde_buf out = {0};
	size_t chosen;

	fuzz_below(&c, 2);
	if (size < 8 || fuzz_below(&c, 10) == 0)
		return LLVMFuzzerMutate(data, size, max_size);
	chosen = fuzz_below(&c, 12);
	sonde_buf_add(&out, rest.p, 4);
	rest = (struct sonde_str){rest.p + 4, rest.n - 4};
	if (fuzz_cut_item(&rest, &head))
		fuzz_copy_item(&out, head, &c, chosen-- == 0);
	while (rest.n && fuzz_copy_block(&out, &rest, &c, &chosen))
		;
	return fuzz_take(&out, data, size, max_size);
}

#endif
