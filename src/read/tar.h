/*
 * Tar archives, one member after the other out of a stream: ustar, GNU long
 * names, pax paths and sizes. Only regular files are members.
 *
 * After damage the reader looks for the next header, as tar itself does. It
 * counts what it could not read; sonde_tar_losses makes sentences of that.
 */
#ifndef SONDE_READ_TAR_H
#define SONDE_READ_TAR_H

#include "base/note.h"
#include "base/stream.h"

/* Bytes that are no members. */
struct sonde_tar_gap {
	uint64_t nr, at, nr_bytes; /* places, where the first is, bytes in all */
};

/* Members that are not read. */
struct sonde_tar_left {
	uint64_t nr;
	struct sonde_buf first; /* its name */
};

struct sonde_tar {
	struct sonde_stream *from;  /* borrowed */
	struct sonde_stream member; /* the bytes of the current one */
	struct sonde_buf name;	    /* its name */
	uint64_t padding;	    /* after it */
	/* Private. From headers before the member: */
	uint64_t size; /* UINT64_MAX = its header says it */
	bool is_sparse;
	/* Passed over since the last member: */
	bool is_lost;		/* the last block was no header, and not empty */
	uint64_t nr_empty, empty_at; /* bytes of empty blocks */
	/* Losses of the whole archive: */
	struct sonde_tar_gap damage, holes;
	struct sonde_tar_left sparse, links;
	bool is_cut;
	uint64_t cut_at;
	struct sonde_buf cut_in; /* the member it ends in, empty = between two */
};

bool sonde_is_tar(struct sonde_str data);
void sonde_tar_init(struct sonde_tar *t, struct sonde_stream *from);
/* Moves on to the next file, over what was not read of the current one; false at the end. */
bool sonde_tar_next(struct sonde_tar *t);
/* Notes what could not be read of the archive so far, in sentences to follow its name. */
void sonde_tar_losses(const struct sonde_tar *t, struct sonde_notes *out);
void sonde_tar_release(struct sonde_tar *t);

#endif
