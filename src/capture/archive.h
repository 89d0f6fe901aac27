/*
 * A tar archive that is appended to: the captures of one node in one file.
 *
 * It is a whole archive after every append. What comes next is written over the
 * two empty blocks at its end; an append that fails is taken back.
 */
#ifndef SONDE_CAPTURE_ARCHIVE_H
#define SONDE_CAPTURE_ARCHIVE_H

#include "base/err.h"

#include <stdint.h>

struct sonde_archive {
	int fd;
	const char *path; /* for messages */
	uint64_t end;	  /* behind the last member */
};

/*
 * Appends the file `from` under `name`, and behind it the further files `from`.N, `from`.N+1, … as far as they are
 * there, where N is not 0. SONDE_ERR_IO, with the archive as it was, when it cannot.
 */
int sonde_archive_add(struct sonde_archive *a, const char *name, const char *from, uint32_t further,
	struct sonde_err *err);

/* Takes back everything behind `end`. */
void sonde_archive_cut(struct sonde_archive *a, uint64_t end);

#endif
