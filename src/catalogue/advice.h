/*
 * Advice: every situation that sonde explains to its user, the words for it, and what to do next. Everybody who meets a
 * situation uses this one table: ncu's log, the sampler, the doctor, a stage of `sonde run`. The reasons why a program
 * is slow are in another table (causes.h).
 *
 * A new situation is a constant here and a row in advice.c. If a tool reports it in a message, advice.c also has a
 * pattern for that message.
 */
#ifndef SONDE_CATALOGUE_ADVICE_H
#define SONDE_CATALOGUE_ADVICE_H

#include "base/err.h"
#include "base/str.h"

/*
 * Causes come before consequences: what was found in a log is reported in this order. "detail" is the text that replaces
 * %s.
 */
enum sonde_situation {
	SONDE_WHEN_NO_PERMISSION,   /* the counters are restricted */
	SONDE_WHEN_COUNTERS_HELD,   /* another tool holds the counters */
	SONDE_WHEN_NO_DRIVER,	    /* no usable driver in the process */
	SONDE_WHEN_CLOCKS,	    /* the clocks cannot be locked here */
	SONDE_WHEN_UNSUPPORTED_API, /* range replay met an API it cannot capture; detail: its name */
	SONDE_WHEN_REPLAY_MISMATCH, /* the program did not do the same in every pass of application replay */
	SONDE_WHEN_BAD_METRIC,	    /* detail: the metric's name */
	SONDE_WHEN_BAD_SECTION,	    /* detail: the section's name */
	SONDE_WHEN_BAD_EXPRESSION,  /* an NVTX expression that ncu does not accept */
	SONDE_WHEN_BAD_OPTION,	    /* an option this ncu does not know */
	SONDE_WHEN_PROGRAM_MISSING, /* ncu could not start the program */
	SONDE_WHEN_DISK_FULL,
	SONDE_WHEN_UNWRITABLE,	   /* the report cannot be written */
	SONDE_WHEN_OTHER_ERROR,	   /* detail: the line */
	SONDE_WHEN_PROFILE_FAILED, /* detail: the kernel */
	SONDE_WHEN_PROGRAM_FAILED, /* detail: the program's exit code */
	SONDE_WHEN_SIGNAL,	   /* a signal stopped ncu */
	SONDE_WHEN_NOTHING,	   /* no kernel or range was profiled */
	SONDE_WHEN_ONLY_START_END, /* nothing profiled: the expressions match only start/end ranges */
	SONDE_WHEN_ONLY_PUSH_POP,  /* nothing profiled: the expressions match only push/pop ranges */
	SONDE_WHEN_MEMORY_BACKUP,  /* device memory saved in host memory: slow */
	SONDE_NR_LOG_SITUATIONS,   /* those above may be found in ncu's log */

	/* About a machine. */
	SONDE_WHEN_NO_GPU = SONDE_NR_LOG_SITUATIONS, /* detail: who says so */
	SONDE_WHEN_MIG,				     /* detail: the GPU's number */
	SONDE_WHEN_DRIVERS_DIFFER,		     /* detail: the two versions */
	SONDE_WHEN_NCU_MISSING,
	SONDE_WHEN_NCU_OLD,	   /* detail: version and path */
	SONDE_WHEN_NCU_TOO_NEW,	   /* detail: which driver it needs */
	SONDE_WHEN_NCU_UNUSABLE,   /* detail: why */
	SONDE_WHEN_NSYS_MISSING,
	SONDE_WHEN_NSYS_UNUSABLE,  /* detail: why */
	SONDE_WHEN_CUPTI_MISSING,
	SONDE_WHEN_INJECT_MISSING,
	SONDE_WHEN_ADMIN_ONLY,	   /* the doctor found what ncu reports as NO_PERMISSION */
	SONDE_WHEN_COMPANY,	   /* other profilers run; detail: which */
	SONDE_WHEN_CONTAINER,	   /* a container without permission; detail: its kind */

	/* About a run. */
	SONDE_WHEN_NSYS_NO_REPORT, /* detail: the range that was to start it */
	SONDE_WHEN_NO_RANGES,	   /* the program enters no range */

	/* About sampling. Without another remark, the detail is CUPTI's own error. */
	SONDE_WHEN_SAMPLING_CUPTI_MISSING,
	SONDE_WHEN_SAMPLING_CUPTI_OLD, /* detail: what CUPTI lacks */
	SONDE_WHEN_SAMPLING_NO_DRIVER, /* detail: why */
	SONDE_WHEN_SAMPLING_ADMIN_ONLY,
	SONDE_WHEN_SAMPLING_MIG,
	SONDE_WHEN_SAMPLING_BUSY,
	SONDE_WHEN_SAMPLING_VGPU,
	SONDE_WHEN_SAMPLING_CONFIDENTIAL,
	SONDE_WHEN_SAMPLING_WSL,
	SONDE_WHEN_SAMPLING_UNSUPPORTED,
	SONDE_WHEN_SAMPLING_NO_MEMORY,
	SONDE_WHEN_SAMPLING_REFUSED,
	SONDE_WHEN_SAMPLING_NOT_BUILT,
	SONDE_NR_SITUATIONS,
};

struct sonde_advice {
	const char *says;    /* may have one %s for the detail */
	const char *next;    /* what to do about it; "" = nothing can be done */
	bool is_failure;     /* the capture is not what was asked for */
	bool is_cause;	     /* explains the consequences, which are then not reported */
	bool is_consequence; /* not reported when a cause was found */
};

/* Never NULL. */
const struct sonde_advice *sonde_advice_on(enum sonde_situation s);

/* Appends the sentence with its detail filled in. A detail that is NULL or "" becomes "(unnamed)". */
void sonde_advice_say(struct sonde_buf *out, enum sonde_situation s, const char *detail);

/* Sets `err` to the sentence and the advice, as `SENTENCE; try: NEXT`. Returns `code`. */
int sonde_advice_err(
	struct sonde_err *err, int code, enum sonde_situation s, const char *detail);
/* Splits such a message: returns the sentence and sets `*next` to the advice, empty if there is none. */
struct sonde_str sonde_advice_split(struct sonde_str message, struct sonde_str *next);

/*
 * Returns the situation that a line of ncu's log reports, and sets its detail. SONDE_NR_SITUATIONS: the line reports
 * none, or repeats what an earlier line said. The patterns know the messages of ncu 2019–2025.
 */
enum sonde_situation sonde_advice_match(struct sonde_str line, struct sonde_str *detail);

#endif
