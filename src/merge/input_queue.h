/*
 * The queue of inputs: divides inputs among the threads and processes that fold them.
 *
 * Inputs are independent of each other, so all cores fold them, and with sonde-mpi other processes too.
 * The taker of the parts puts them in order, so results do not depend on who finishes first.
 */
#ifndef SONDE_MERGE_INPUT_QUEUE_H
#define SONDE_MERGE_INPUT_QUEUE_H

#include "base/arena.h"
#include "merge/merging.h"

/* Receives the parts of each input as soon as they are folded, in any order, one input at a time. */
struct sonde_taker {
	/* Takes ownership of the cells in `parts`. With a nonzero `rc` there are none, and `err` says why. */
	void (*take)(struct sonde_taker *t, size_t number, struct sonde_parts *parts, int rc,
		const struct sonde_err *err);
};

/* Files to fold. All processes that fold a share of them use the same paths. */
struct sonde_task {
	const struct sonde_fold_request *request;
	const char *const *paths;
	size_t nr;
};

/* Folds files `first`, `first` + `step` … of the task on the cores of this process. */
void sonde_task_fold(
	const struct sonde_task *task, size_t first, size_t step, struct sonde_taker *taker);

/* Other processes that fold. */
struct sonde_sharing {
	/* Folds all files of the task, in this process and in others. An error means that a process failed, not a file. */
	int (*fold)(struct sonde_sharing *s, const struct sonde_task *task,
		struct sonde_taker *taker, struct sonde_err *err);
	void (*end)(struct sonde_sharing *s); /* called when there is nothing more to fold */
};

/* --- other processes: tasks and results as bytes --------------------------------------------------
 *
 * One process makes a task; the others read it, fold their share and answer with results. Results may be
 * concatenated in any order. A part is the same in whichever process it was folded, and so is the report.
 */

void sonde_task_write(struct sonde_buf *to, const struct sonde_task *task);

/* A task from another process. `task` borrows from the other members, and these from the bytes that were read. */
struct sonde_remote_task {
	struct sonde_task task;
	struct sonde_fold_request request;
	struct sonde_arena arena;
};
/* The caller releases out->arena, also after an error. */
int sonde_task_read(struct sonde_remote_task *out, struct sonde_str bytes, struct sonde_err *err);

/* Writes the parts of file `number` of the task, or the error if there are none. No memory: to->failed. */
void sonde_result_write(struct sonde_buf *to, size_t number, struct sonde_parts *parts, int rc,
	const struct sonde_err *err);
/* Passes all results in `bytes`, of a task with `nr` files, to the taker. */
int sonde_results_take(
	struct sonde_str bytes, size_t nr, struct sonde_taker *taker, struct sonde_err *err);

#endif
