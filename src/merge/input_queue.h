/*
 * The queue of inputs: who folds which.
 *
 * Inputs know nothing of each other, so all cores take part, and other processes too where there are
 * some (sonde-mpi). Whoever takes the parts puts them in order: results do not depend on who was first.
 */
#ifndef SONDE_MERGE_INPUT_QUEUE_H
#define SONDE_MERGE_INPUT_QUEUE_H

#include "base/arena.h"
#include "merge/merging.h"

/* Takes the parts of each input as soon as they are folded, in any order, one input at a time. */
struct sonde_taker {
	/* Takes over the cells in `parts`. With a nonzero `rc` there are none: `err` says why. */
	void (*take)(struct sonde_taker *t, size_t number, struct sonde_parts *parts, int rc,
		const struct sonde_err *err);
};

/* Files, named alike by everybody who folds a share of them. */
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
	/* Folds all files of the task, here and there. An error is one of the processes, not of a file. */
	int (*fold)(struct sonde_sharing *s, const struct sonde_task *task,
		struct sonde_taker *taker, struct sonde_err *err);
	void (*end)(struct sonde_sharing *s); /* there is nothing more to fold */
};

/* --- other processes: tasks and results as bytes --------------------------------------------------
 *
 * One process makes a task; the others read it, fold their share and answer with results, which may be
 * put one behind the other in any order. A part is the same wherever it was folded, and so is the report.
 */

void sonde_task_write(struct sonde_buf *to, const struct sonde_task *task);

/* A task of another process. `task` borrows from the rest, and that from the bytes. */
struct sonde_remote_task {
	struct sonde_task task;
	struct sonde_fold_request request;
	struct sonde_arena arena;
};
/* Release its arena in any case. */
int sonde_task_read(struct sonde_remote_task *out, struct sonde_str bytes, struct sonde_err *err);

/* Writes the parts of file `number` of the task, or why there are none. Memory shortage shows in the buffer. */
void sonde_result_write(struct sonde_buf *to, size_t number, struct sonde_parts *parts, int rc,
	const struct sonde_err *err);
/* Hands all results in `bytes`, of a task of `nr` files, to the taker. */
int sonde_results_take(
	struct sonde_str bytes, size_t nr, struct sonde_taker *taker, struct sonde_err *err);

#endif
