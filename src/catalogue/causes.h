/*
 * Causes: why a program is slower than its GPU, and what to do about each. One
 * table: a finding of a report is a row of it with a place and figures.
 *
 * A new cause is a constant here and a row in causes.c.
 */
#ifndef SONDE_CATALOGUE_CAUSES_H
#define SONDE_CATALOGUE_CAUSES_H

#include "base/str.h"

enum sonde_cause {
	/* The GPU was idle inside a region: in the order of enum sonde_idle_cause. */
	SONDE_CAUSE_LAUNCH,
	SONDE_CAUSE_SYNC,
	SONDE_CAUSE_COPY_CALL,
	SONDE_CAUSE_ALLOC,
	SONDE_CAUSE_HOST,
	SONDE_CAUSE_QUEUED,
	SONDE_CAUSE_OTHER_REGIONS, /* never a finding: the GPU was busy */
	SONDE_CAUSE_NOT_TOLD,
	/* It was idle around a region's work, as the host did something else. */
	SONDE_CAUSE_HEAD,    /* from the begin of an entry to its first work */
	SONDE_CAUSE_BETWEEN, /* from the end of an entry to the next one */
	SONDE_CAUSE_TAIL,    /* from its last work to its end */
	/* It was busy. */
	SONDE_CAUSE_PAGEABLE,
	SONDE_CAUSE_SMALL_COPIES,
	SONDE_CAUSE_COPIES,
	SONDE_CAUSE_TINY_KERNELS,
	SONDE_CAUSE_EXPOSED_COMM,
	SONDE_CAUSE_LATE_RANK,
	SONDE_CAUSE_IMBALANCE,
	/* A kernel is limited by … */
	SONDE_CAUSE_DRAM,
	SONDE_CAUSE_L2,
	SONDE_CAUSE_L1,
	SONDE_CAUSE_SHARED,
	SONDE_CAUSE_MEMORY, /* it is not known which level */
	SONDE_CAUSE_TENSOR,
	SONDE_CAUSE_FMA,
	SONDE_CAUSE_ALU,
	SONDE_CAUSE_FP64,
	SONDE_CAUSE_ISSUE,
	SONDE_CAUSE_COMPUTE, /* it is not known which pipe */
	SONDE_CAUSE_OCCUPANCY, /* latency, as there are few warps … */
	SONDE_CAUSE_WAVES,     /* … or few blocks */
	SONDE_CAUSE_LATENCY,
	SONDE_CAUSE_UNLIMITED, /* nobody knows */
	SONDE_CAUSE_OUTSIDE, /* most of the work is in no range at all */
	SONDE_NR_CAUSES,
};

struct sonde_cause_row {
	const char *name; /* "launch", "dram": as JSON has it */
	const char *why;  /* behind "because" or "limited by": "the host was in a synchronisation" */
	const char *action;   /* what to change */
	const char *torch;    /* the same for a PyTorch program; NULL = no other words */
	const char *next;     /* the command that shows more; %r is the region's id, %k the kernel */
	const char *change;   /* for `sonde whatif`: "graph:%r"; NULL = it can replay no such change */
	const char *limiter;  /* of a kernel's cause: the word of its row; NULL = it is no limiter */
	bool is_near;	      /* the change is only something like what to do: that it gains nothing does not say that this would not */
};
extern const struct sonde_cause_row sonde_causes[SONDE_NR_CAUSES];

/* The cause whose limiter it is, the general one of several; SONDE_CAUSE_UNLIMITED for NULL. */
enum sonde_cause sonde_cause_of_limiter(const char *limiter);
/* Writes `next` or `change` with the names filled in. */
void sonde_cause_fill(struct sonde_buf *out, const char *words, struct sonde_str region, struct sonde_str kernel);

#endif
