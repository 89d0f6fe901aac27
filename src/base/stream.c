/*
 * Streams in streams: a member of an archive inside a gzip file reads from the one below it.
 * Each keeps what it peeked at, and where it broke off; the innermost reason is the one told.
 */
#include "base/stream.h"

#include "base/alloc.h"

#include <string.h>
#include <zlib.h>

#define CHUNK (64u * 1024u)

struct sonde_gzip {
	z_stream z;
	uint64_t nr_in, size; /* bytes taken in; of the whole file, 0 = not known */
	bool is_done;
	char in[CHUNK]; /* where `from` has no memory of its own to read in */
};

void sonde_stream_from_slice(struct sonde_stream *s, struct sonde_str slice)
{
	*s = (struct sonde_stream){.slice = slice, .size = UINT64_MAX};
}

void sonde_stream_from_part(struct sonde_stream *s, struct sonde_stream *from, uint64_t size)
{
	*s = (struct sonde_stream){.from = from, .size = size};
}

static void *take_memory(void *opaque, unsigned nr, unsigned size)
{
	(void)opaque;
	return sonde_calloc(nr, size);
}

static void give_memory(void *opaque, void *p)
{
	(void)opaque;
	sonde_free(p);
}

int sonde_stream_from_gzip(struct sonde_stream *s, struct sonde_stream *from, struct sonde_err *err)
{
	struct sonde_gzip *g = sonde_malloc(sizeof(*g));

	*s = (struct sonde_stream){.from = from, .size = UINT64_MAX};
	if (!g)
		return sonde_err_nomem(err);
	g->z = (z_stream){.zalloc = take_memory, .zfree = give_memory};
	g->nr_in = 0;
	g->size = from->from ? 0 : from->slice.n;
	g->is_done = false;
	if (inflateInit2(&g->z, 15 + 16) != Z_OK) {
		sonde_free(g);
		return sonde_err_nomem(err);
	}
	s->gzip = g;
	return 0;
}

void sonde_stream_release(struct sonde_stream *s)
{
	if (s->gzip)
		inflateEnd(&s->gzip->z);
	sonde_free(s->gzip);
	sonde_free(s->head);
	*s = (struct sonde_stream){0};
}

/* Gives zlib more to read: false at the end of the file. */
static bool feed(struct sonde_stream *s)
{
	struct sonde_gzip *g = s->gzip;
	struct sonde_stream *from = s->from;

	if (g->z.avail_in)
		return true;
	g->z.next_in = (unsigned char *)g->in;
	g->z.avail_in = (unsigned)sonde_stream_read(from, g->in, sizeof(g->in));
	g->nr_in += g->z.avail_in;
	return g->z.avail_in;
}

/* Behind a member: another one, or the end. What is no gzip there is no part of it. */
static void next_member(struct sonde_stream *s)
{
	struct sonde_gzip *g = s->gzip;

	g->is_done = !feed(s) || g->z.next_in[0] != 0x1f || inflateReset(&g->z) != Z_OK;
}

static size_t inflate_some(struct sonde_stream *s, char *to, size_t n)
{
	struct sonde_gzip *g = s->gzip;
	int rc;

	g->z.next_out = (unsigned char *)to;
	g->z.avail_out = n > UINT32_MAX ? UINT32_MAX : (unsigned)n;
	n = g->z.avail_out;
	while (g->z.avail_out && !g->is_done && !s->damage) {
		if (!feed(s)) {
			s->damage = "truncated";
			break;
		}
		rc = inflate(&g->z, Z_NO_FLUSH);
		if (rc == Z_STREAM_END)
			next_member(s);
		else if (rc != Z_OK && rc != Z_BUF_ERROR)
			s->damage = rc == Z_MEM_ERROR ? "out of memory" : "damaged";
	}
	return n - g->z.avail_out;
}

static size_t read_slice(struct sonde_stream *s, char *to, size_t n)
{
	n = n < s->slice.n ? n : s->slice.n;
	if (to && n)
		memcpy(to, s->slice.p, n);
	s->slice = (struct sonde_str){s->slice.p + n, s->slice.n - n};
	return n;
}

static size_t read_below(struct sonde_stream *s, char *to, size_t n)
{
	char dropped[4096];

	if (!s->from)
		return read_slice(s, to, n);
	if (s->gzip && !to)
		return inflate_some(s, dropped, n < sizeof(dropped) ? n : sizeof(dropped));
	if (s->gzip)
		return inflate_some(s, to, n);
	n = n < s->size - s->nr_read ? n : (size_t)(s->size - s->nr_read);
	return sonde_stream_read(s->from, to, n);
}

static size_t read_head(struct sonde_stream *s, char *to, size_t n)
{
	size_t left = s->nr_head - s->at_head;

	n = n < left ? n : left;
	if (to && n)
		memcpy(to, s->head + s->at_head, n);
	s->at_head += n;
	return n;
}

size_t sonde_stream_read(struct sonde_stream *s, char *to, size_t n)
{
	size_t got = read_head(s, to, n), some = 1;

	while (got < n && some) {
		some = read_below(s, to ? to + got : NULL, n - got);
		s->nr_read += some;
		got += some;
	}
	if (got < n && s->size != UINT64_MAX && s->nr_read < s->size && !s->damage)
		s->damage = "truncated";
	return got;
}

struct sonde_str sonde_stream_peek(struct sonde_stream *s)
{
	if (!s->head) {
		s->head = sonde_malloc(SONDE_STREAM_HEAD);
		if (!s->head)
			return (struct sonde_str){NULL, 0};
		s->nr_head = s->at_head = 0;
		s->nr_head = sonde_stream_read(s, s->head, SONDE_STREAM_HEAD);
	}
	return (struct sonde_str){s->head + s->at_head, s->nr_head - s->at_head};
}

uint64_t sonde_stream_at(const struct sonde_stream *s)
{
	return s->nr_read - (s->nr_head - s->at_head);
}

int sonde_stream_all(
	struct sonde_stream *s, struct sonde_buf *out, uint64_t limit, struct sonde_err *err)
{
	char chunk[16384];
	size_t n;

	while ((n = sonde_stream_read(s, chunk, sizeof(chunk)))) {
		if (out->n + n > limit)
			return sonde_err_set(err, SONDE_ERR_LIMIT,
				"inflates to more than %llu MiB; decompress it first",
				(unsigned long long)(limit >> 20));
		sonde_buf_add(out, chunk, n);
		if (out->failed)
			return sonde_err_nomem(err);
	}
	return 0;
}

/* A share where the whole is known: of a damaged file, of a member of an archive. */
struct sonde_str sonde_stream_damage(const struct sonde_stream *s, struct sonde_buf *text)
{
	const struct sonde_stream *at;

	for (at = s; at && !at->damage; at = at->from)
		;
	if (!at)
		return (struct sonde_str){NULL, 0};
	sonde_buf_puts(text, at->damage);
	if (at->size != UINT64_MAX && at->size)
		sonde_buf_printf(text, " after %.0f %%", (double)at->nr_read * 100 / (double)at->size);
	else if (at->gzip && at->gzip->size && at->gzip->nr_in < at->gzip->size)
		sonde_buf_printf(text, " after %.0f %%",
			(double)(at->gzip->nr_in - at->gzip->z.avail_in) * 100 /
				(double)at->gzip->size);
	else
		sonde_buf_printf(text, " after %llu bytes of its text; how much is missing is not known",
			(unsigned long long)at->nr_read);
	return sonde_buf_view(text);
}

bool sonde_is_gzip(struct sonde_str data)
{
	return data.n >= 18 && (unsigned char)data.p[0] == 0x1f &&
	       (unsigned char)data.p[1] == 0x8b && data.p[2] == 8;
}
