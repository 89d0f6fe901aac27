/*
 * A sink: where bytes go. Standard output, a string, or a file that appears
 * under its name only when it is complete.
 *
 * Writes are buffered and never fail on the spot: the first failure is kept,
 * later writes are ignored, and `sonde_sink_close` reports it. A file sink
 * writes a file of its own beside PATH, syncs nothing, checks every write,
 * flush and close, and renames; after a failure the temporary file is removed
 * and PATH is as it was. The temporary name is random and never one that exists:
 * processes with the same id (containers, nodes that share a file system) do not
 * meet in it, and a link put there leads nowhere.
 * If PATH is a link, the file it leads to is replaced; a device or pipe is written to as it is.
 */
#ifndef SONDE_BASE_SINK_H
#define SONDE_BASE_SINK_H

#include "base/err.h"
#include "base/str.h"

#include <stdio.h>

struct sonde_sink {
	struct sonde_buf buf;  /* not yet written; for a string sink all of it */
	int fd;		       /* -1 for a string sink */
	int saved_errno;       /* of the first failed write, 0 while all is well */
	struct sonde_buf path; /* the final name, empty unless a file sink */
	struct sonde_buf temp;
	struct z_stream_s *pack; /* compresses what is written; NULL = it is written as it is */
};

void sonde_sink_init_fd(struct sonde_sink *s, int fd); /* does not take over the descriptor */
void sonde_sink_init_string(struct sonde_sink *s);     /* result: sonde_buf_view(&s->buf) */
int sonde_sink_open(struct sonde_sink *s, const char *path, struct sonde_err *err);
/* From here on what is written is compressed, as one gzip member. Not for a string. */
void sonde_sink_pack(struct sonde_sink *s);
/*
 * The temporary file of a file sink, for writers that need a file by name (SQLite): they write
 * there and not to the sink. NULL when there is none: a string, a descriptor, a device, a pipe.
 */
const char *sonde_sink_file(const struct sonde_sink *s);

void sonde_sink_write(struct sonde_sink *s, const void *p, size_t n);
void sonde_sink_str(struct sonde_sink *s, struct sonde_str text);
void sonde_sink_puts(struct sonde_sink *s, const char *z);
void sonde_sink_putc(struct sonde_sink *s, char c);
void sonde_sink_printf(struct sonde_sink *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Flushes, renames a file into place, releases everything. The first failure is reported here;
 * a descriptor whose reader has gone away is none.
 */
int sonde_sink_close(struct sonde_sink *s, struct sonde_err *err);
/* Closes it, or with rc != 0 gives up and returns that: the end of every writer. */
int sonde_sink_finish(struct sonde_sink *s, int rc, struct sonde_err *err);
/* All of a file at once. */
int sonde_file_write(const char *path, struct sonde_str text, struct sonde_err *err);
/* Gives up: removes the temporary file, releases everything. */
void sonde_sink_abort(struct sonde_sink *s);

#endif
