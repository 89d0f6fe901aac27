/*
 * The protobuf wire format, read in place.
 *
 * A cursor walks one message and returns its fields one by one. A sub-message is
 * returned as a slice, to be read with a new cursor. Nothing is copied and nothing
 * outside [p, end) is ever touched. (Invariant 12.) Written by hand because it is small
 * and hot: a report has a few hundred such fields per kernel.
 */
#ifndef SONDE_READ_WIRE_H
#define SONDE_READ_WIRE_H

#include "base/str.h"

#include <string.h>

struct sonde_wire {
	const unsigned char *p, *end;
	const char *bad; /* why the message is malformed, NULL while it is fine; `p` then points to the damage */
};

enum sonde_wire_type {
	SONDE_WIRE_VARINT = 0,
	SONDE_WIRE_FIXED64 = 1,
	SONDE_WIRE_BYTES = 2,
	SONDE_WIRE_FIXED32 = 5,
};

struct sonde_wire_field {
	uint32_t number;
	uint32_t type;		/* enum sonde_wire_type */
	uint64_t value;		/* varint, or the bits of a fixed field */
	struct sonde_str bytes; /* only for SONDE_WIRE_BYTES */
};

static inline struct sonde_wire sonde_wire_on(struct sonde_str s)
{
	const unsigned char *p = (const unsigned char *)(s.p ? s.p : "");

	return (struct sonde_wire){.p = p, .end = p + s.n};
}

static inline bool sonde_wire_varint(struct sonde_wire *w, uint64_t *out)
{
	uint64_t v = 0;
	unsigned shift = 0;
	const unsigned char *p = w->p;

	if (p < w->end && *p < 0x80) {
		*out = *p;
		w->p = p + 1;
		return true;
	}
	if (w->end - p >= 2 && p[1] < 0x80) {
		*out = (p[0] & 0x7fu) | (uint64_t)p[1] << 7;
		w->p = p + 2;
		return true;
	}
	for (; p < w->end; shift += 7) {
		unsigned char c = *p++;

		if (shift > 63) {
			w->bad = "varint longer than ten bytes";
			return false;
		}
		v |= (uint64_t)(c & 0x7f) << shift;
		if (c < 0x80) {
			*out = v;
			w->p = p;
			return true;
		}
	}
	w->bad = "truncated varint";
	return false;
}

static inline bool sonde_wire_fixed(struct sonde_wire *w, size_t n, uint64_t *out)
{
	if ((size_t)(w->end - w->p) < n) {
		w->bad = "truncated fixed-size field";
		return false;
	}
	*out = 0;
	memcpy(out, w->p, n); /* the format and every machine sonde runs on are little-endian */
	w->p += n;
	return true;
}

static inline bool sonde_wire_bytes(struct sonde_wire *w, struct sonde_str *out)
{
	uint64_t n;
	const unsigned char *start = w->p;

	if (!sonde_wire_varint(w, &n))
		return false;
	if (n > (uint64_t)(w->end - w->p)) {
		w->p = start;
		w->bad = "field reaches past the end of its message";
		return false;
	}
	*out = (struct sonde_str){(const char *)w->p, (size_t)n};
	w->p += n;
	return true;
}

/* Reads the next field: true, or false at the end (`w->bad` NULL) or at damage (`w->bad` set). */
static inline bool sonde_wire_next(struct sonde_wire *w, struct sonde_wire_field *f)
{
	uint64_t key;

	if (w->bad || w->p >= w->end || !sonde_wire_varint(w, &key))
		return false;
	f->number = (uint32_t)(key >> 3);
	f->type = (uint32_t)(key & 7);
	switch (f->type) {
	case SONDE_WIRE_BYTES:
		return sonde_wire_bytes(w, &f->bytes);
	case SONDE_WIRE_VARINT:
		return sonde_wire_varint(w, &f->value);
	case SONDE_WIRE_FIXED64:
		return sonde_wire_fixed(w, 8, &f->value);
	case SONDE_WIRE_FIXED32:
		return sonde_wire_fixed(w, 4, &f->value);
	default:
		w->bad = "unknown wire type";
		return false;
	}
}

/* Whether `f` is the field with number `n`, a sub-message or string. */
static inline bool sonde_field_is_bytes(const struct sonde_wire_field *f, uint32_t n)
{
	return f->number == n && f->type == SONDE_WIRE_BYTES;
}

static inline bool sonde_field_is_int(const struct sonde_wire_field *f, uint32_t n)
{
	return f->number == n && f->type == SONDE_WIRE_VARINT;
}

#endif
