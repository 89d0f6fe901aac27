/*
 * Files: mapped for reading, replaced as a whole when written.
 */
#ifndef SONDE_BASE_FILE_H
#define SONDE_BASE_FILE_H

#include "base/err.h"
#include "base/str.h"

/* A read-only view of a whole file. `data` is valid until `sonde_file_release`. */
struct sonde_mapping {
	struct sonde_str data;
	void *base; /* what to unmap, NULL for an empty file */
};

/* Refuses directories and anything else that is not a regular file, with the reason. */
int sonde_mapping_open(struct sonde_mapping *out, const char *path, struct sonde_err *err);
void sonde_mapping_release(struct sonde_mapping *m);

/* Creates `path` and its parents like `mkdir -p`. */
int sonde_dir_make(const char *path, struct sonde_err *err);

#endif
