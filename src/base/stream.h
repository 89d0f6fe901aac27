/*
 * A stream: bytes in order, from memory, from a gzip file, or from a member of
 * an archive. Streams are stacked: a compressed trace inside a compressed
 * archive takes four of them. Memory holds only the bytes on their way from one
 * stream to the next.
 *
 * zlib inflates. libdeflate and ISA-L are faster, but libdeflate needs the whole text
 * in memory, and interpreting the text takes longer than inflating it anyway.
 */
#ifndef SONDE_BASE_STREAM_H
#define SONDE_BASE_STREAM_H

#include "base/err.h"
#include "base/str.h"

#define SONDE_STREAM_HEAD  (64u * 1024u) /* bytes that are enough to recognise what is in a stream */
#define SONDE_MAX_INFLATED (16ull << 30) /* most bytes that a file may inflate to when it is inflated as a whole */

struct sonde_stream {
	struct sonde_stream *from; /* the stream below, borrowed; NULL: `slice` is the source */
	struct sonde_str slice;	   /* the bytes that are still unread */
	uint64_t size;		   /* size of a member of an archive; UINT64_MAX: it goes on to the end of `from` */
	uint64_t nr_read;	   /* bytes read or peeked at so far */
	const char *damage;	   /* why it ended early, NULL = it did not */
	/* Private. */
	struct sonde_gzip *gzip;
	char *head; /* the bytes that were peeked at */
	size_t nr_head, at_head;
};

void sonde_stream_from_slice(struct sonde_stream *s, struct sonde_str slice);
/* The next `size` bytes of `from`. */
void sonde_stream_from_part(struct sonde_stream *s, struct sonde_stream *from, uint64_t size);
/* Inflates `from`: one gzip member, or several one after the other. */
int sonde_stream_from_gzip(struct sonde_stream *s, struct sonde_stream *from, struct sonde_err *err);
void sonde_stream_release(struct sonde_stream *s);

/* Reads up to `n` bytes into `to` (NULL: drops them); fewer only at the end or before damage. */
size_t sonde_stream_read(struct sonde_stream *s, char *to, size_t n);
/* Returns up to SONDE_STREAM_HEAD of the next bytes, without reading them; {NULL, 0} when memory is short. */
struct sonde_str sonde_stream_peek(struct sonde_stream *s);
/* How many bytes have been read, without those that were only peeked at. */
uint64_t sonde_stream_at(const struct sonde_stream *s);
/* Appends some of the next bytes, until `out` has `limit` bytes; false when there are none, or memory is short. */
bool sonde_stream_some(struct sonde_stream *s, struct sonde_buf *out, uint64_t limit);
/* Appends all bytes up to the end. SONDE_ERR_FORMAT when they are more than is allowed or than fits into memory. */
int sonde_stream_all(
	struct sonde_stream *s, struct sonde_buf *out, const char *path, struct sonde_err *err);
/*
 * Writes into `text` where the stream ended early and what the user can do, and returns that; the empty slice when it
 * did not. A gzip stream also ends early when it inflates to more than any capture would.
 */
struct sonde_str sonde_stream_damage(const struct sonde_stream *s, struct sonde_buf *text);

bool sonde_is_gzip(struct sonde_str data);
/* Appends the bytes as one gzip member, without a time or a file name; false when memory is short. */
bool sonde_gzip_put(struct sonde_buf *out, struct sonde_str bytes);
/*
 * The same piece by piece: sonde_gzip_begin makes `z` (zlib's z_stream), each call of sonde_gzip_some adds bytes, and
 * `is_last` ends the member. NULL, or false, when memory is short.
 */
struct z_stream_s *sonde_gzip_begin(void);
bool sonde_gzip_some(struct sonde_buf *out, struct z_stream_s *z, struct sonde_str bytes, bool is_last);
void sonde_gzip_free(struct z_stream_s *z);

#endif
