/*
 * The page in which the processes of a run say what became of the injected library:
 * a file, shared by all of them.
 *
 * The runner makes it, filled with zeros, beside the captures (its blocks are
 * then taken, so that a full disk does not matter); the first process maps it,
 * and what that forks has it too, whatever directory, user or root it changes
 * to. Processes count up; the runner reads when they have ended. A file that
 * cannot be made or written is reported here and nowhere else.
 *
 * The runners of a job's ranks share a directory, and each is to hear of its own
 * processes alone: there each has another page, SONDE_ATTACH_OWN_NAME, where they count and
 * tell their faults. Its name is in their environment, and in their captures
 * (META `runner`). Orders are in the page that all ranks share.
 */
#ifndef SONDE_FORMAT_ATTACH_H
#define SONDE_FORMAT_ATTACH_H

#include <stdatomic.h>
#include <stdint.h>

#define SONDE_ATTACH_NAME  "inject.status"
#define SONDE_ATTACH_OWN_NAME "inject.%s.status" /* of a runner among others: rank3 */
#define SONDE_RUNNER_VARIABLE "SONDE_INJECT_RUNNER"
#define SONDE_RUNNER_LIMIT 24 /* bytes of its name, NUL included */
#define SONDE_ATTACH_BYTES 4096u

/* Why a process that used NVTX or CUDA left no capture, or not all of it. */
enum sonde_attach_fault {
	SONDE_FAULT_MEMORY, /* no memory for the buffers */
	SONDE_FAULT_HELPER, /* no process to write them */
	SONDE_FAULT_FILE,   /* the capture could not be made */
	SONDE_FAULT_WRITE,  /* it could not be written any further */
	SONDE_FAULT_SHARING, /* no process can share the program's memory: valgrind, an emulator */
	SONDE_NR_FAULTS,
};

#define SONDE_ATTACH_MARK 512u /* bytes of a mark's text, NUL included */

enum sonde_order { SONDE_ORDER_NONE, SONDE_ORDER_START, SONDE_ORDER_STOP };
#define SONDE_ORDER_BITS 2

struct sonde_attach {
	_Atomic uint32_t nr_attached; /* processes in which the library began … */
	_Atomic uint32_t nr_begun;    /* … that have a capture … */
	_Atomic uint32_t nr_ended;    /* … whose end is written */
	struct {
		_Atomic uint32_t nr;	/* processes it happened to */
		_Atomic uint32_t error; /* errno of the last one */
	} faults[SONDE_NR_FAULTS];
	/*
	 * The runner's orders to the processes: the number of the order above two bits of what it
	 * is. They look a few times a second and follow the last one.
	 */
	_Atomic uint32_t order;
	_Atomic uint32_t nr_flushes; /* times the runner wanted what is recorded to be written */
	_Atomic uint32_t nr_marks; /* of `sonde ctl mark`; the text is complete when it counts up */
	char mark[SONDE_ATTACH_MARK];
};

_Static_assert(sizeof(struct sonde_attach) <= SONDE_ATTACH_BYTES, "it is one page");

#endif
