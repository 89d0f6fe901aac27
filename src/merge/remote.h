/*
 * Folding in another process: what it is asked for and what it answers, as bytes.
 *
 * One process makes a task; the others read it, fold their share and answer with
 * results, which may be put one behind the other in any order. What folds here and
 * what folds there are the same parts: a report of them has the same bytes.
 */
#ifndef SONDE_MERGE_REMOTE_H
#define SONDE_MERGE_REMOTE_H

#include "base/arena.h"
#include "merge/crew.h"

void sonde_remote_put_task(struct sonde_buf *to, const struct sonde_task *task);

/* A task of another process. `task` borrows from the rest, and that from the bytes. */
struct sonde_remote_task {
	struct sonde_task task;
	struct sonde_fold_request request;
	struct sonde_arena arena;
};
/* Release its arena in any case. */
int sonde_remote_get_task(struct sonde_remote_task *out, struct sonde_str bytes, struct sonde_err *err);

/* What `number` of the task came to. Memory shortage shows in the buffer. */
void sonde_remote_put_result(struct sonde_buf *to, size_t number, struct sonde_parts *parts, int rc,
	const struct sonde_err *err);
/* Hands all results in `bytes`, of a task of `nr` files, to the taker. */
int sonde_remote_take_results(
	struct sonde_str bytes, size_t nr, struct sonde_taker *taker, struct sonde_err *err);

#endif
