/*
 * Files: mapped for reading (sink.h writes them).
 */
#ifndef SONDE_BASE_FILE_H
#define SONDE_BASE_FILE_H

#include "base/err.h"
#include "base/str.h"

/*
 * A read-only view of a whole file. `data` is valid until `sonde_mapping_release`. If somebody shortens the
 * file meanwhile, reading behind its new end raises SIGBUS; cli/shrunk_input.h then names the file.
 */
struct sonde_mapping {
	struct sonde_str data;
	void *base; /* the address to unmap, NULL for an empty file */
	struct sonde_buf inflated; /* owns `data` when the file was compressed */
};

/* Refuses directories and anything else that is not a regular file, with the reason. */
int sonde_mapping_open(struct sonde_mapping *out, const char *path, struct sonde_err *err);
/* The same for a file that is open: the descriptor stays the caller's, `path` is for error messages only. */
int sonde_mapping_open_fd(
	struct sonde_mapping *out, int fd, const char *path, struct sonde_err *err);
/*
 * The same, but a gzip file is inflated into memory: for reports and other files of that size. A damaged or
 * truncated gzip file is SONDE_ERR_FORMAT.
 */
int sonde_mapping_open_inflated(struct sonde_mapping *out, const char *path, struct sonde_err *err);
/*
 * Maps several files one behind the other, as one. Each begins on a new page, with zeros between the last byte
 * of a file and the next page. `sonde_mapping_release` releases it like any other mapping.
 */
int sonde_mapping_open_all(struct sonde_mapping *out, const char *const *paths, size_t nr,
	struct sonde_err *err);
void sonde_mapping_release(struct sonde_mapping *m);
/*
 * Gives back the memory of the bytes before `end`, which will hardly be looked at again. They stay
 * readable: the system reads them from the file again.
 */
void sonde_mapping_forget(const struct sonde_mapping *m, size_t end);
/*
 * Appends the first bytes of a file; for a gzip file, the first bytes of its inflated contents. False when the file
 * is empty or cannot be read.
 */
bool sonde_file_head(struct sonde_buf *out, const char *path);

/*
 * Appends all bytes of a file to `out`: for small files, and for those in /proc, which do not have their size
 * in advance. False when the file cannot be opened, or memory is short.
 */
bool sonde_file_slurp(struct sonde_buf *out, const char *path);
void sonde_fd_slurp(struct sonde_buf *out, int fd); /* from the descriptor's current position */

/*
 * Finds a file that was built or installed with the running program: sets `path` to the first of `places` that
 * can be read. Places are relative to the program's folder. False when there is none; `path` is then the last one tried.
 */
bool sonde_find_beside(char *path, size_t size, const char *const *places, size_t nr);

/* Whether some process holds an exclusive lock (flock) on the file, because it is writing to it. */
bool sonde_fd_is_locked(int fd);
bool sonde_file_is_locked(const char *path);

bool sonde_dir_exists(const char *path);
/* Creates the directory `path` and its parents, like `mkdir -p`. */
int sonde_dir_make(const char *path, struct sonde_err *err);

#endif
