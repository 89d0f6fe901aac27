/*
 * capture.local: captures are written to a disk of the node and are moved to the run directory at the end, one archive
 * per node.
 *
 *     LOCAL/sonde-UID-RUN/            one run on this node; nobody else can read it
 *         rank3/                      the captures of a rank while it runs
 *         rank3.owner                 locked as long as the sonde of that rank runs
 *         archive                     name of the node's archive, and how much of it is whole; locked for writing
 *     RUN/native/NODE.sonde.tar       node.txt, rank3/cmd.txt, rank3/4519.0.sonde …
 *
 * Every rank moves its own captures when its program has ended, and also those of ranks on this node whose sonde was
 * killed. Captures that cannot be moved (the disk is full, or a program still runs) stay where they are, and a message
 * names the place.
 */
#ifndef SONDE_CAPTURE_LOCAL_H
#define SONDE_CAPTURE_LOCAL_H

#include "capture/rundir.h"

struct sonde_local {
	char root[1024]; /* directory of the run on this node */
	char dir[1100];	 /* directory of this rank */
	char mark[1100]; /* NAME=VALUE for the programs of all ranks on this node: shows that they belong together */
	int owner;	 /* the locked file; -1 = not open */
};

/* Makes the directory below `place`. SONDE_ERR_IO when that fails. */
int sonde_local_open(struct sonde_local *l, const char *place, const struct sonde_rundir *d,
	struct sonde_err *err);

/*
 * Moves the captures to the run directory. SONDE_ERR_IO when this rank's captures could not be moved: they are still in
 * `l->dir`. Ends `l` in any case.
 */
int sonde_local_return(struct sonde_local *l, const struct sonde_rundir *d, struct sonde_err *err);

#endif
