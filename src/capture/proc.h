/* Inside the capture room: processes of this machine, as /proc has them. */
#ifndef SONDE_CAPTURE_PROC_H
#define SONDE_CAPTURE_PROC_H

#include "base/str.h"

struct sonde_proc {
	long pid, parent;
	char state;		  /* `Z`: it has ended, and its parent has not asked for its status yet */
	unsigned long long start; /* start, in clock ticks since boot */
};

/* False when there is no such process. */
bool sonde_proc_find(struct sonde_proc *out, long pid);
/* Appends the value of a variable that the process was started with. False when it has none, or is another user's. */
bool sonde_proc_variable(struct sonde_buf *out, long pid, const char *name);

/*
 * The program whose captures this process writes, if it is the library's own process beside one (inject/helper.c); else
 * `pid` itself. Users who take a number from `ps` cannot tell the two apart.
 */
long sonde_proc_program(long pid);

#endif
