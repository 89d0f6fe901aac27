/*
 * A sink is the destination of bytes: standard output, a string, or a file that
 * appears under its name only when it is complete.
 *
 * Writes are buffered and never fail on the spot: the first failure is kept,
 * later writes are ignored, and `sonde_sink_close` reports it. A file sink
 * writes a temporary file beside PATH, checks every write, flush and close, and then
 * renames it to PATH. It does not sync. After a failure the temporary file is removed
 * and PATH is as it was. The temporary name is random, and never that of an existing file:
 * two processes with the same id (containers, nodes that share a file system) never write
 * to the same one, and a link that somebody puts there is never followed.
 * If PATH is a link, the file that it leads to is replaced; a device or pipe is written to directly.
 */
#ifndef SONDE_BASE_SINK_H
#define SONDE_BASE_SINK_H

#include "base/err.h"
#include "base/str.h"

#include <stdio.h>

struct sonde_sink {
	struct sonde_buf buf;  /* bytes not yet written; for a string sink all bytes */
	int fd;		       /* -1 for a string sink */
	int saved_errno;       /* errno of the first failure, 0 while there is none */
	struct sonde_buf path; /* the final name of a file sink; empty for other sinks */
	struct sonde_buf temp; /* the temporary name; empty = there is no temporary file */
	struct z_stream_s *pack; /* the compressor; NULL = bytes are written uncompressed */
};

void sonde_sink_init_fd(struct sonde_sink *s, int fd); /* the descriptor stays the caller's */
void sonde_sink_init_string(struct sonde_sink *s);     /* the result is sonde_buf_view(&s->buf) */
int sonde_sink_open(struct sonde_sink *s, const char *path, struct sonde_err *err);
/* Compresses all that is written from now on, as one gzip member. Not for string sinks. */
void sonde_sink_pack(struct sonde_sink *s);
/*
 * The name of a file sink's temporary file, for writers that need a file name (SQLite): they write
 * to that file and not to the sink. NULL when there is none: a string, a descriptor, a device, a pipe.
 */
const char *sonde_sink_file(const struct sonde_sink *s);

void sonde_sink_write(struct sonde_sink *s, const void *p, size_t n);
void sonde_sink_str(struct sonde_sink *s, struct sonde_str text);
void sonde_sink_puts(struct sonde_sink *s, const char *z);
void sonde_sink_putc(struct sonde_sink *s, char c);
void sonde_sink_printf(struct sonde_sink *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Flushes, renames a file into place, releases everything, and reports the first failure. If the reader of a
 * descriptor has gone away, that is not a failure.
 */
int sonde_sink_close(struct sonde_sink *s, struct sonde_err *err);
/* Ends every writer: closes the sink if rc is 0, otherwise gives up and returns rc. */
int sonde_sink_finish(struct sonde_sink *s, int rc, struct sonde_err *err);
/* Writes a whole file at once. */
int sonde_file_write(const char *path, struct sonde_str text, struct sonde_err *err);
/* Gives up: removes the temporary file, releases everything. */
void sonde_sink_abort(struct sonde_sink *s);

#endif
