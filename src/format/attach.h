/*
 * The page in which the processes of a run report what became of the injected
 * library: a file that all of them share.
 *
 * The runner makes the file beside the captures, filled with zeros: its blocks
 * are allocated then, so a disk that fills up later does not matter. The first
 * process maps the file, and its forked children inherit the mapping, whatever
 * directory, user or root they change to. Processes increment the counters; the
 * runner reads them when the processes have ended. A capture file that cannot be
 * made or written is reported here and nowhere else.
 *
 * The runners of a job's ranks share a directory, but each must hear of its own
 * processes only. So each of these runners makes a second page, SONDE_ATTACH_OWN_NAME,
 * in which its processes count and report faults. The runner's name is in the
 * processes' environment and in their captures (META `runner`). Orders are in the
 * page that all ranks share.
 */
#ifndef SONDE_FORMAT_ATTACH_H
#define SONDE_FORMAT_ATTACH_H

#include <stdatomic.h>
#include <stdint.h>

#define SONDE_ATTACH_NAME  "inject.status"
#define SONDE_ATTACH_OWN_NAME "inject.%s.status" /* page of one runner among several, named `rank3` */
#define SONDE_RUNNER_VARIABLE "SONDE_INJECT_RUNNER"
#define SONDE_RUNNER_LIMIT 24 /* bytes of a runner's name, NUL included */
#define SONDE_ATTACH_BYTES 4096u

/* The task name of the library's own process beside a program: `ps` shows the program's words for both. */
#define SONDE_HELPER_TASK "sonde-flush"

/* Why a process that used NVTX or CUDA left no capture, or not all of it. */
enum sonde_attach_fault {
	SONDE_FAULT_MEMORY, /* no memory for the buffers */
	SONDE_FAULT_HELPER, /* no process for the flusher, which writes the buffers */
	SONDE_FAULT_FILE,   /* the capture file could not be made */
	SONDE_FAULT_WRITE,  /* the capture file could not be written any further */
	SONDE_FAULT_SHARING, /* no process can share the program's memory: valgrind, an emulator */
	SONDE_NR_FAULTS,
};

#define SONDE_ATTACH_MARK 512u /* bytes of a mark's text, NUL included */

enum sonde_order { SONDE_ORDER_NONE, SONDE_ORDER_START, SONDE_ORDER_STOP };
#define SONDE_ORDER_BITS 2

struct sonde_attach {
	_Atomic uint32_t nr_attached; /* processes in which the library began */
	_Atomic uint32_t nr_begun;    /* processes that made a capture file */
	_Atomic uint32_t nr_ended;    /* processes whose capture is written to its end */
	struct {
		_Atomic uint32_t nr;	/* processes that had this fault */
		_Atomic uint32_t error; /* errno of the last one */
	} faults[SONDE_NR_FAULTS];
	/*
	 * The runner's order to the processes: the low SONDE_ORDER_BITS bits are the enum sonde_order, the bits above
	 * number the orders. Processes look a few times a second and obey the latest order.
	 */
	_Atomic uint32_t order;
	_Atomic uint32_t nr_flushes; /* goes up when the runner wants everything recorded so far to be written */
	_Atomic uint32_t nr_marks; /* marks by `sonde ctl mark`; goes up once the text in `mark` is complete */
	char mark[SONDE_ATTACH_MARK];
};

_Static_assert(sizeof(struct sonde_attach) <= SONDE_ATTACH_BYTES, "it is one page");

#endif
