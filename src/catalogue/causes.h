/*
 * Causes: why a program is slower than its GPU, and what to do about each. A finding of a report is a row of this table,
 * with a place and figures.
 *
 * A new cause is a constant here and a row in causes.c.
 */
#ifndef SONDE_CATALOGUE_CAUSES_H
#define SONDE_CATALOGUE_CAUSES_H

#include "base/str.h"

enum sonde_cause {
	/* The GPU was idle inside a region. These are in the order of enum sonde_idle_cause. */
	SONDE_CAUSE_LAUNCH,
	SONDE_CAUSE_SYNC,
	SONDE_CAUSE_COPY_CALL,
	SONDE_CAUSE_ALLOC,
	SONDE_CAUSE_HOST,
	SONDE_CAUSE_QUEUED,
	SONDE_CAUSE_OTHER_REGIONS, /* never a finding, because the GPU was busy */
	SONDE_CAUSE_NOT_TOLD,
	SONDE_CAUSE_STREAM_GAPS, /* launched work of one stream starts late: short pauses that no other stream explains */
	/* The GPU was idle before or after a region's work, while the host did something else. */
	SONDE_CAUSE_HEAD,    /* from the beginning of an entry to its first GPU work */
	SONDE_CAUSE_BETWEEN, /* from the end of an entry to the beginning of the next one */
	SONDE_CAUSE_TAIL,    /* from the last GPU work of an entry to its end */
	/* The GPU was busy. */
	SONDE_CAUSE_PAGEABLE,
	SONDE_CAUSE_SMALL_COPIES,
	SONDE_CAUSE_COPIES,
	SONDE_CAUSE_DEVICE_COPIES, /* most of the copies do not touch the host's memory */
	SONDE_CAUSE_TINY_KERNELS,
	SONDE_CAUSE_EXPOSED_COMM,
	SONDE_CAUSE_LATE_RANK,
	SONDE_CAUSE_IMBALANCE,
	/* A kernel is limited by … */
	SONDE_CAUSE_DRAM,
	SONDE_CAUSE_L2,
	SONDE_CAUSE_L1,
	SONDE_CAUSE_SHARED,
	SONDE_CAUSE_MEMORY, /* the level is not known */
	SONDE_CAUSE_TENSOR,
	SONDE_CAUSE_FMA,
	SONDE_CAUSE_ALU,
	SONDE_CAUSE_FP64,
	SONDE_CAUSE_ISSUE,
	SONDE_CAUSE_COMPUTE, /* the pipe is not known */
	SONDE_CAUSE_OCCUPANCY, /* latency, because too few warps are resident … */
	SONDE_CAUSE_WAVES,     /* … or because the launch has too few blocks */
	SONDE_CAUSE_LATENCY,
	SONDE_CAUSE_UNLIMITED, /* the limiter is not known */
	SONDE_CAUSE_OUTSIDE, /* most of the GPU's work is in no range at all */
	SONDE_NR_CAUSES,
};

struct sonde_cause_row {
	const char *name; /* the cause in JSON: "launch", "dram" */
	const char *why;  /* follows "because" or "limited by": "the host was in a synchronisation" */
	const char *action;   /* what to change */
	const char *torch;    /* what to change in a PyTorch program; NULL = `action` says it */
	const char *next;     /* the command that shows more; %r is the region's id, %k the kernel */
	const char *change;   /* argument of `sonde whatif`: "graph:%r"; NULL = whatif has no such change */
	const char *limiter;  /* the kernel's limiter; several causes share "latency"; NULL = the cause limits no kernel */
	bool is_change_similar;	      /* `change` only resembles `action`: if whatif finds no gain, the action may still have one */
	const char *loading; /* what to change in a PyTorch program if the region loads data; NULL = as elsewhere */
};
extern const struct sonde_cause_row sonde_causes[SONDE_NR_CAUSES];

/*
 * Returns the cause of a limiter: if several share the limiter, the one with its name. NULL or unknown:
 * SONDE_CAUSE_UNLIMITED.
 */
enum sonde_cause sonde_cause_of_limiter(const char *limiter);
/* Appends `words` (a row's `next` or `change`) with the names filled in, as they are: a command needs quotes around them. */
void sonde_cause_fill(struct sonde_buf *out, const char *words, struct sonde_str region, struct sonde_str kernel);

#endif
