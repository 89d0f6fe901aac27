/*
 * Tar archives, one member after the other out of a stream: ustar, GNU long
 * names, pax paths and sizes. Only regular files are members.
 */
#ifndef SONDE_READ_TAR_H
#define SONDE_READ_TAR_H

#include "base/stream.h"

struct sonde_tar {
	struct sonde_stream *from;   /* borrowed */
	struct sonde_stream member;  /* the bytes of the current one */
	struct sonde_buf name;	     /* its name */
	uint64_t padding;	     /* behind it */
	bool is_cut;		     /* the archive ended in the middle */
};

bool sonde_is_tar(struct sonde_str data);
void sonde_tar_init(struct sonde_tar *t, struct sonde_stream *from);
/* Moves on to the next file, over what was not read of the current one; false at the end. */
bool sonde_tar_next(struct sonde_tar *t);
void sonde_tar_release(struct sonde_tar *t);

#endif
