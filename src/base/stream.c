/*
 * Streams are stacked: a member of an archive inside a gzip file reads from the stream below it.
 * Each stream keeps the bytes it peeked at, and why it ended early. The reason nearest to the reader is reported.
 */
#include "base/stream.h"

#include "base/alloc.h"

#include <string.h>
#include <zlib.h>

#define CHUNK (64u * 1024u)
/*
 * A small file may be made to inflate to gigabytes, to exhaust the machine that reads it. Captures inflate to at
 * most 30 times their size; captures of one kernel that runs over and over inflate to more.
 */
#define MAX_RATIO 256u
#define FREE_OUT  (64ull << 20) /* bytes that any file may inflate to, whatever its size */

static const char bomb[] = "inflates to more than 256 times its size, which no capture does; "
			   "decompress it first if it is genuine";

struct sonde_gzip {
	z_stream z;
	uint64_t nr_in, size; /* compressed bytes read so far, and those of the whole file (0 = not known) */
	uint64_t nr_kept, kept_in; /* inflated bytes that the reader keeps, and the compressed bytes they came from */
	bool is_done;
	char in[CHUNK]; /* the compressed bytes that zlib reads next */
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
	g->nr_in = g->nr_kept = g->kept_in = 0;
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

/* Gives zlib more bytes if it has none; false at the end of the file. */
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

/* At the end of a gzip member: begins the next one, or ends the stream. Bytes that are not gzip are ignored there. */
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

/* How many compressed bytes of the file were inflated so far. If it is compressed twice, those of the outer layer count. */
static uint64_t nr_taken(const struct sonde_stream *s)
{
	const struct sonde_gzip *g = NULL;

	for (; s; s = s->from)
		g = s->gzip ? s->gzip : g;
	return g ? g->nr_in - g->z.avail_in : 0;
}

/* Inflates bytes that the reader keeps, and stops at a decompression bomb. Bytes that are dropped take no memory. */
static size_t inflate_kept(struct sonde_stream *s, char *to, size_t n)
{
	struct sonde_gzip *g = s->gzip;
	uint64_t before = nr_taken(s);

	n = inflate_some(s, to, n < CHUNK ? n : CHUNK);
	g->nr_kept += n;
	g->kept_in += nr_taken(s) - before;
	if (g->nr_kept > FREE_OUT && g->nr_kept / MAX_RATIO > g->kept_in && !s->damage)
		s->damage = bomb;
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
		return inflate_kept(s, to, n);
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

bool sonde_stream_some(struct sonde_stream *s, struct sonde_buf *out, uint64_t limit)
{
	char chunk[16384];
	uint64_t left = limit > out->n ? limit - out->n : 0;
	size_t n = sonde_stream_read(s, chunk, left < sizeof(chunk) ? (size_t)left : sizeof(chunk));

	sonde_buf_add(out, chunk, n);
	return n && !out->failed;
}

/* The stream nearest to the reader that ended early; NULL = none did. */
static const struct sonde_stream *find_damage(const struct sonde_stream *s)
{
	while (s && !s->damage)
		s = s->from;
	return s;
}

int sonde_stream_all(
	struct sonde_stream *s, struct sonde_buf *out, const char *path, struct sonde_err *err)
{
	const struct sonde_stream *broken;

	while (sonde_stream_some(s, out, SONDE_MAX_INFLATED))
		;
	if (out->failed && out->n > FREE_OUT)
		return sonde_err_set(err, SONDE_ERR_FORMAT,
			"%s: there is no memory for more than the first %zu MiB that it inflates to; "
			"decompress it first",
			path, out->n >> 20);
	if (out->failed)
		return sonde_err_nomem(err);
	broken = find_damage(s);
	if (broken && broken->damage == bomb)
		return sonde_err_set(err, SONDE_ERR_FORMAT, "%s: %s", path, bomb);
	if (out->n < SONDE_MAX_INFLATED || !sonde_stream_read(s, NULL, 1))
		return 0;
	return sonde_err_set(err, SONDE_ERR_FORMAT, "%s: inflates to more than %llu MiB; decompress it first",
		path, SONDE_MAX_INFLATED >> 20);
}

/* The place of the damage is a percentage if the whole size is known: that of a gzip file, or of a member of an archive. */
struct sonde_str sonde_stream_damage(const struct sonde_stream *s, struct sonde_buf *text)
{
	const struct sonde_stream *at = find_damage(s);

	if (!at)
		return (struct sonde_str){NULL, 0};
	sonde_buf_puts(text, at->damage);
	if (at->damage == bomb)
		return sonde_buf_view(text);
	if (at->size != UINT64_MAX && at->size)
		sonde_buf_printf(text, " after %.0f %%", (double)at->nr_read * 100 / (double)at->size);
	else if (at->gzip && at->gzip->size && at->gzip->nr_in < at->gzip->size)
		sonde_buf_printf(text, " after %.0f %%",
			(double)(at->gzip->nr_in - at->gzip->z.avail_in) * 100 /
				(double)at->gzip->size);
	else
		sonde_buf_printf(text, " after %llu bytes of its text; how much is missing is not known",
			(unsigned long long)at->nr_read);
	sonde_buf_puts(text, "; copy it again");
	return sonde_buf_view(text);
}

bool sonde_is_gzip(struct sonde_str data)
{
	return data.n >= 18 && (unsigned char)data.p[0] == 0x1f &&
	       (unsigned char)data.p[1] == 0x8b && data.p[2] == 8;
}

#define GZIP_WINDOW (15 + 16) /* in zlib: the largest window, and a gzip header */

struct z_stream_s *sonde_gzip_begin(void)
{
	z_stream *z = sonde_calloc(1, sizeof(*z));

	if (z && deflateInit2(z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) == Z_OK)
		return z;
	sonde_free(z);
	return NULL;
}

bool sonde_gzip_some(struct sonde_buf *out, struct z_stream_s *z, struct sonde_str bytes, bool is_last)
{
	unsigned char chunk[16384];
	size_t left = bytes.n;
	int rc;

	z->next_in = (unsigned char *)(uintptr_t)bytes.p;
	z->avail_in = 0;
	do {
		if (!z->avail_in) {
			z->avail_in = left > UINT32_MAX / 2 ? UINT32_MAX / 2 : (unsigned)left;
			left -= z->avail_in;
		}
		z->next_out = chunk;
		z->avail_out = sizeof(chunk);
		rc = deflate(z, is_last && !left ? Z_FINISH : Z_NO_FLUSH);
		sonde_buf_add(out, chunk, sizeof(chunk) - z->avail_out);
	} while (rc == Z_OK && !out->failed && (is_last || left || z->avail_in || !z->avail_out));
	return rc == (is_last ? Z_STREAM_END : Z_OK) && !out->failed;
}

void sonde_gzip_free(struct z_stream_s *z)
{
	if (z)
		deflateEnd(z);
	sonde_free(z);
}

bool sonde_gzip_put(struct sonde_buf *out, struct sonde_str bytes)
{
	z_stream *z = sonde_gzip_begin();
	bool ok = z && sonde_gzip_some(out, z, bytes, true);

	sonde_gzip_free(z);
	return ok;
}
