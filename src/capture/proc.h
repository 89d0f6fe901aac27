/* Inside the capture room: processes of this machine, as /proc has them. */
#ifndef SONDE_CAPTURE_PROC_H
#define SONDE_CAPTURE_PROC_H

#include "base/str.h"

struct sonde_proc {
	long pid, parent;
	char state;		  /* `Z`: it has ended and nobody has asked for its status */
	unsigned long long start; /* in clock ticks since the machine's */
};

/* False when there is no such process. */
bool sonde_proc_find(struct sonde_proc *out, long pid);
/* The value of a variable it was started with, appended; false when it has none, or is another's. */
bool sonde_proc_variable(struct sonde_buf *out, long pid, const char *name);

#endif
