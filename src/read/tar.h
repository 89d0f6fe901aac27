/*
 * Reads a tar archive from a stream, one member after the other: ustar, GNU long
 * names, pax paths and sizes. Only regular files are returned as members.
 *
 * After damage the reader looks for the next header, as tar itself does. It
 * counts what it could not read; sonde_tar_losses turns the counts into sentences.
 */
#ifndef SONDE_READ_TAR_H
#define SONDE_READ_TAR_H

#include "base/note.h"
#include "base/stream.h"

/* Bytes that do not belong to any member. */
struct sonde_tar_gap {
	uint64_t nr, at, nr_bytes; /* number of places, offset of the first, bytes in all */
};

/* Members that were not read. */
struct sonde_tar_left {
	uint64_t nr;
	struct sonde_buf first; /* name of the first one */
};

struct sonde_tar {
	struct sonde_stream *from;  /* borrowed */
	struct sonde_stream member; /* the bytes of the current member */
	struct sonde_buf name;	    /* its name */
	uint64_t padding;	    /* bytes of padding after the member */
	/* Private. Read from headers in front of the member: */
	uint64_t size; /* UINT64_MAX = not given: the member's own header has the size */
	bool is_sparse;
	/* Skipped since the last member: */
	bool is_lost;		/* the last block was neither a header nor empty */
	uint64_t nr_empty, empty_at; /* empty blocks: bytes, offset of the first */
	/* Losses of the whole archive: */
	struct sonde_tar_gap damage, holes;
	struct sonde_tar_left sparse, links;
	bool is_cut;
	uint64_t cut_at;
	struct sonde_buf cut_in; /* name of the member the archive ends in, empty = between two members */
};

bool sonde_is_tar(struct sonde_str data);
void sonde_tar_init(struct sonde_tar *t, struct sonde_stream *from);
/* Moves to the next file, past the unread rest of the current one; false at the end. */
bool sonde_tar_next(struct sonde_tar *t);
/* Notes what could not be read of the archive so far, in sentences to put after its name. */
void sonde_tar_losses(const struct sonde_tar *t, struct sonde_notes *out);
void sonde_tar_release(struct sonde_tar *t);

#endif
