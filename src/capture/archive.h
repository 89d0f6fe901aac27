/*
 * A tar archive that is appended to: the captures of one node in one file.
 *
 * The file is a whole archive after every append: the next member overwrites the two empty blocks at its end, and an
 * append that fails is undone.
 */
#ifndef SONDE_CAPTURE_ARCHIVE_H
#define SONDE_CAPTURE_ARCHIVE_H

#include "base/err.h"

#include <stdint.h>

struct sonde_archive {
	int fd;
	const char *path; /* for messages */
	uint64_t end;	  /* where the last member ends, in bytes */
};

/*
 * Appends the file `from` as the member `name`. If `further` is N and not 0, the files `from`.N, `from`.N+1, … are
 * appended to the same member, as many as exist. On failure returns SONDE_ERR_IO and leaves the archive as it was.
 */
int sonde_archive_add(struct sonde_archive *a, const char *name, const char *from, uint32_t further,
	struct sonde_err *err);

/* Cuts off everything after `end`. */
void sonde_archive_cut(struct sonde_archive *a, uint64_t end);

#endif
