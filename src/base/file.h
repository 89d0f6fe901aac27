/*
 * Files: mapped for reading, replaced as a whole when written.
 */
#ifndef SONDE_BASE_FILE_H
#define SONDE_BASE_FILE_H

#include "base/err.h"
#include "base/str.h"

/*
 * A read-only view of a whole file. `data` is valid until `sonde_mapping_release`. Reading behind
 * the end of a file that somebody shortens meanwhile raises SIGBUS: cli/shrunk_input.h says which it was.
 */
struct sonde_mapping {
	struct sonde_str data;
	void *base; /* what to unmap, NULL for an empty file */
	struct sonde_buf inflated; /* where `data` is when the file was compressed */
};

/* Refuses directories and anything else that is not a regular file, with the reason. */
int sonde_mapping_open(struct sonde_mapping *out, const char *path, struct sonde_err *err);
/* The same for a file that is open: the descriptor stays the caller's, `path` is for the reason. */
int sonde_mapping_open_fd(
	struct sonde_mapping *out, int fd, const char *path, struct sonde_err *err);
/*
 * The same; of a gzip file what it holds, in memory: for reports and the like. One that is damaged
 * or truncated is SONDE_ERR_FORMAT.
 */
int sonde_mapping_open_inflated(struct sonde_mapping *out, const char *path, struct sonde_err *err);
/*
 * Several files side by side as one: each begins on a page of its own, and there are zeros behind
 * its last byte up to the next. Released as any other.
 */
int sonde_mapping_open_all(struct sonde_mapping *out, const char *const *paths, size_t nr,
	struct sonde_err *err);
void sonde_mapping_release(struct sonde_mapping *m);
/*
 * Bytes before `end` will hardly be looked at again: their memory is given back. They stay
 * readable, from the file.
 */
void sonde_mapping_forget(const struct sonde_mapping *m, size_t end);
/* Appends the first bytes of a file, of a gzip file those of what it holds; false: there are none. */
bool sonde_file_head(struct sonde_buf *out, const char *path);

/*
 * Appends what can be read to `out`: for small files and those of /proc, which have no size
 * beforehand. False when it cannot be opened, or memory is short.
 */
bool sonde_file_slurp(struct sonde_buf *out, const char *path);
void sonde_fd_slurp(struct sonde_buf *out, int fd); /* from where it is read up to */

/*
 * The first of `places` that can be read, seen from the folder of the running program: what was
 * built or installed with it. False with the last one in `path` when there is none.
 */
bool sonde_find_beside(char *path, size_t size, const char *const *places, size_t nr);

/* Whether somebody has the file locked to write to it (flock). */
bool sonde_fd_is_locked(int fd);
bool sonde_file_is_locked(const char *path);

bool sonde_dir_exists(const char *path);
/* Creates `path` and its parents like `mkdir -p`. */
int sonde_dir_make(const char *path, struct sonde_err *err);

#endif
