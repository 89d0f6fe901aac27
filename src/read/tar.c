#include "read/tar.h"

#include "base/tar_head.h"

#include <string.h>

#define BLOCK	 SONDE_TAR_BLOCK
#define MAX_NAME (64u * 1024u) /* of a long name or a pax header */

/* Octal, or base 256 where the first bit says so. */
static uint64_t number(const char *p, size_t n)
{
	uint64_t v = 0;
	size_t i;

	if ((unsigned char)p[0] == 0x80) {
		for (i = n - 8; i < n; i++)
			v = v << 8 | (unsigned char)p[i];
		return v;
	}
	for (i = 0; i < n && p[i] == ' '; i++)
		;
	for (; i < n && p[i] >= '0' && p[i] <= '7'; i++)
		v = v << 3 | (uint64_t)(p[i] - '0');
	return v;
}

/* Nothing else has the right sum by chance. */
static bool is_header(const struct sonde_tar_head *h)
{
	return h->name[0] && memcmp(h->magic, "ustar", 5) == 0 &&
	       number(h->checksum, sizeof(h->checksum)) == sonde_tar_checksum(h);
}

bool sonde_is_tar(struct sonde_str data)
{
	struct sonde_tar_head h;

	if (data.n < BLOCK)
		return false;
	memcpy(&h, data.p, BLOCK);
	return is_header(&h);
}

void sonde_tar_init(struct sonde_tar *t, struct sonde_stream *from)
{
	*t = (struct sonde_tar){.from = from};
}

void sonde_tar_release(struct sonde_tar *t)
{
	sonde_stream_release(&t->member);
	sonde_buf_release(&t->name);
	*t = (struct sonde_tar){0};
}

static void skip(struct sonde_stream *s, uint64_t n)
{
	while (n) {
		size_t got = sonde_stream_read(s, NULL, n > BLOCK ? BLOCK : (size_t)n);

		if (!got)
			return;
		n -= got;
	}
}

static void add_field(struct sonde_buf *b, const char *p, size_t n)
{
	sonde_buf_add(b, p, strnlen(p, n));
}

static void take_name(struct sonde_tar *t, const struct sonde_tar_head *h)
{
	if (h->prefix[0] && memcmp(h->version, "00", 2) == 0) {
		add_field(&t->name, h->prefix, sizeof(h->prefix));
		sonde_buf_putc(&t->name, '/');
	}
	add_field(&t->name, h->name, sizeof(h->name));
}

/* A pax header is lines of `LENGTH KEY=VALUE`. */
static void take_pax(struct sonde_tar *t, struct sonde_str text, uint64_t *size)
{
	struct sonde_str rest = text, line, value;

	while (rest.n) {
		line = sonde_str_cut(rest, '\n', &rest);
		sonde_str_cut(line, ' ', &line);
		if (sonde_str_starts(line, "path=")) {
			sonde_buf_clear(&t->name);
			sonde_buf_add(&t->name, line.p + 5, line.n - 5);
		}
		if (sonde_str_starts(line, "size=")) {
			sonde_str_cut(line, '=', &value);
			sonde_str_u64(value, size);
		}
	}
}

/* What stands before a member about it: a long name, or a pax header. */
static bool take_extra(struct sonde_tar *t, const struct sonde_tar_head *h, uint64_t *size)
{
	uint64_t n = number(h->size, sizeof(h->size)), pad = (BLOCK - n % BLOCK) % BLOCK;
	char text[4096];
	size_t got;

	if (n > MAX_NAME)
		return false;
	got = sonde_stream_read(t->from, text, n < sizeof(text) ? (size_t)n : sizeof(text));
	skip(t->from, n - got + pad);
	if (h->type == 'L') {
		sonde_buf_clear(&t->name);
		add_field(&t->name, text, got);
	} else if (h->type == 'x') {
		take_pax(t, (struct sonde_str){text, got}, size);
	}
	return true;
}

static void open_member(struct sonde_tar *t, const struct sonde_tar_head *h, uint64_t size)
{
	if (!t->name.n)
		take_name(t, h);
	if (size == UINT64_MAX)
		size = number(h->size, sizeof(h->size));
	if (size > INT64_MAX)
		size = INT64_MAX;
	sonde_stream_from_part(&t->member, t->from, size);
	t->padding = (BLOCK - size % BLOCK) % BLOCK;
}

bool sonde_tar_next(struct sonde_tar *t)
{
	uint64_t size = UINT64_MAX;
	struct sonde_tar_head h;
	size_t got;

	if (t->member.from) {
		skip(t->from, t->member.size - t->member.nr_read + t->padding);
	}
	sonde_stream_release(&t->member);
	sonde_buf_clear(&t->name);
	for (;;) {
		got = sonde_stream_read(t->from, (char *)&h, BLOCK);
		t->is_cut = got != BLOCK && (got || t->from->damage);
		if (got != BLOCK || !is_header(&h) || t->name.failed)
			return false;
		if (h.type == 'L' || h.type == 'x' || h.type == 'K' || h.type == 'g') {
			if (!take_extra(t, &h, &size))
				return false;
			continue;
		}
		open_member(t, &h, size);
		if (h.type == '0' || h.type == '\0')
			return true;
		skip(t->from, t->member.size + t->padding);
		sonde_stream_release(&t->member);
		sonde_buf_clear(&t->name);
		size = UINT64_MAX;
	}
}
