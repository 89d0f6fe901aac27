/*
 * capture.local: captures are written to a disk of the node and go to the run
 * directory at the end, one archive per node.
 *
 *     LOCAL/sonde-UID-RUN/            of one run on this node, nobody else's to read
 *         rank3/                      where the captures of a rank are written
 *         rank3.owner                 locked as long as its sonde runs
 *         archive                     locked while it is written to: its name, how much is whole
 *     RUN/native/NODE.sonde.tar       node.txt, rank3/cmd.txt, rank3/4519.0.sonde …
 *
 * Every rank takes its own captures back when its program has ended, and with
 * them those of ranks of the node whose sonde was killed. What cannot be taken
 * back, as the disk is full or a program goes on, stays where it is and is named.
 */
#ifndef SONDE_CAPTURE_LOCAL_H
#define SONDE_CAPTURE_LOCAL_H

#include "capture/rundir.h"

struct sonde_local {
	char root[1024]; /* of the run on this node */
	char dir[1100];	 /* of this rank */
	char mark[1100]; /* NAME=VALUE for the programs of all ranks here: they belong together */
	int owner;	 /* the locked file; -1 = not open */
};

/* Makes the directory below `place`. SONDE_ERR_IO when it cannot be. */
int sonde_local_open(struct sonde_local *l, const char *place, const struct sonde_rundir *d,
	struct sonde_err *err);

/*
 * Takes back what is there. SONDE_ERR_IO when this rank's captures could not be: they are still in
 * `l->dir`. Ends `l` in any case.
 */
int sonde_local_return(struct sonde_local *l, const struct sonde_rundir *d, struct sonde_err *err);

#endif
