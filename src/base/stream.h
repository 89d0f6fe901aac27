/*
 * A stream: bytes in order, from memory, from a gzip file, or from a member of
 * an archive. Streams are stacked: a compressed trace inside a compressed
 * archive is four of them. Memory holds only the bytes between two of them.
 *
 * zlib inflates. libdeflate and ISA-L are faster, but the first wants the whole
 * text in memory, and reading the text takes longer than inflating it.
 */
#ifndef SONDE_BASE_STREAM_H
#define SONDE_BASE_STREAM_H

#include "base/err.h"
#include "base/str.h"

#define SONDE_STREAM_HEAD  (64u * 1024u) /* enough to recognise what is in a stream */
#define SONDE_MAX_INFLATED (16ull << 30) /* bytes of what is not read as a stream */

struct sonde_stream {
	struct sonde_stream *from; /* the one below, borrowed; NULL: `slice` is the source */
	struct sonde_str slice;	   /* what is left of it */
	uint64_t size;		   /* of a member of an archive, UINT64_MAX: to the end of `from` */
	uint64_t nr_read;	   /* bytes handed out or looked at so far */
	const char *damage;	   /* why it ended early, NULL = it did not */
	/* Private. */
	struct sonde_gzip *gzip;
	char *head; /* looked at before they are read */
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
/* Up to SONDE_STREAM_HEAD bytes from the front without reading them; {NULL, 0} on no memory. */
struct sonde_str sonde_stream_peek(struct sonde_stream *s);
/* How many bytes have been read, without those only looked at. */
uint64_t sonde_stream_at(const struct sonde_stream *s);
/* Appends the next bytes, until `out` has `limit`; false when there are none, or no memory. */
bool sonde_stream_some(struct sonde_stream *s, struct sonde_buf *out, uint64_t limit);
/* The same until the end. SONDE_ERR_FORMAT when that is more than is allowed or fits into memory. */
int sonde_stream_all(
	struct sonde_stream *s, struct sonde_buf *out, const char *path, struct sonde_err *err);
/*
 * Where an early end was and what to do, in words; the empty slice when there was none. In `text`.
 * A gzip stream also ends where it becomes more than any capture would.
 */
struct sonde_str sonde_stream_damage(const struct sonde_stream *s, struct sonde_buf *text);

bool sonde_is_gzip(struct sonde_str data);
/* Appends the bytes as one gzip member, without a time or a name; false when memory is short. */
bool sonde_gzip_put(struct sonde_buf *out, struct sonde_str bytes);
/*
 * The same piece by piece: `z` (zlib's z_stream) starts with begin, `is_last` ends the member. NULL, and false, when memory
 * is short.
 */
struct z_stream_s *sonde_gzip_begin(void);
bool sonde_gzip_some(struct sonde_buf *out, struct z_stream_s *z, struct sonde_str bytes, bool is_last);
void sonde_gzip_free(struct z_stream_s *z);

#endif
