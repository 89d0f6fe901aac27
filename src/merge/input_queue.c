#include "merge/input_queue.h"

#include "base/workers.h"
#include "cellfile/cell_walks.h"
#include "cellfile/cellfile.h"

#include <pthread.h>
#include <stdatomic.h>

/* Each worker takes the next file when it is free: files differ in size, so they are not assigned beforehand. */
struct queue {
	const struct sonde_task *task;
	struct sonde_taker *taker;
	size_t step;
	atomic_size_t next;
	pthread_mutex_t lock; /* protects the taker */
};

static void fold_next_files(void *arg)
{
	struct queue *q = arg;
	const struct sonde_task *task = q->task;
	size_t i;

	while ((i = atomic_fetch_add(&q->next, q->step)) < task->nr) {
		struct sonde_parts parts = {0};
		struct sonde_err err = {0};
		int rc = sonde_parts_read(&parts, task->paths[i], task->request, &err);

		pthread_mutex_lock(&q->lock);
		q->taker->take(q->taker, i, &parts, rc, &err);
		pthread_mutex_unlock(&q->lock);
		sonde_parts_release(&parts);
	}
}

/* Invariant 6. Parts are sorted before they are used, so it does not matter which worker folds a part, and when. */
void sonde_task_fold(
	const struct sonde_task *task, size_t first, size_t step, struct sonde_taker *taker)
{
	struct queue q = {.task = task, .taker = taker, .step = step};
	size_t files = first < task->nr ? (task->nr - first + step - 1) / step : 1;
	size_t nr = task->request->cores ? task->request->cores
					 : sonde_workers_count(SONDE_MOST_WORKERS);

	atomic_init(&q.next, first);
	pthread_mutex_init(&q.lock, NULL);
	nr = nr < SONDE_MOST_WORKERS ? nr : SONDE_MOST_WORKERS;
	sonde_workers_run(&q, nr < files ? nr : files, 0, fold_next_files);
	pthread_mutex_destroy(&q.lock);
}

/*
 * Messages between processes. Writing and reading use the same walks, as for files (cellfile/walk.h). Parts are sent as
 * a partial report, and after it their timelines, which partial reports do not have. All processes run the same
 * program, so messages have no version number.
 */

/* --- tasks ------------------------------------------------------------------------------------ */

/* Moves a whole choice: if other processes kept other metrics than this one, the report would differ. */
static void move_choice(struct sonde_walk *w, struct sonde_choice *c)
{
	bool *const flags[] = {&c->metrics_by_default, &c->sections_by_default, &c->takes_all,
		&c->adds_default, &c->headline_only, &c->no_aggregate};
	struct sonde_words also = {&c->also, c->also != NULL};

	sonde_walk_words(w, &c->metrics);
	sonde_walk_words(w, &c->sections);
	sonde_walk_flags(w, flags, sizeof(flags) / sizeof(*flags));
	sonde_walk_words(w, &also);
	c->also = also.nr ? also.at[0] : NULL;
}

static void move_task(struct sonde_walk *w, struct sonde_fold_request *r, struct sonde_words *paths)
{
	struct sonde_selection *s = &r->selection;
	bool *const flags[] = {&s->is_include_applied, &s->is_exclude_applied, &s->is_kernels_applied,
		&r->keeps_timeline, &r->keeps_untimed};

	sonde_walk_settings(w, &r->selection, &r->read);
	move_choice(w, &r->choice);
	sonde_walk_flags(w, flags, sizeof(flags) / sizeof(*flags));
	sonde_walk_words(w, &s->known);
	MOVE_NUMBER(w, r->cores);
	sonde_walk_words(w, paths);
}

void sonde_task_write(struct sonde_buf *to, const struct sonde_task *task)
{
	struct sonde_walk w = {.to = to};
	struct sonde_fold_request request = *task->request;
	struct sonde_words paths = {task->paths, task->nr};

	move_task(&w, &request, &paths);
}

static int refuse_message(struct sonde_err *err)
{
	return sonde_err_set(err, SONDE_ERR_FORMAT,
		"a message from another process cannot be read: start the same version of sonde-mpi on all nodes");
}

int sonde_task_read(struct sonde_remote_task *out, struct sonde_str bytes, struct sonde_err *err)
{
	struct sonde_walk w = sonde_walk_reader(bytes, &out->arena);
	struct sonde_words paths = {0};

	*out = (struct sonde_remote_task){0};
	move_task(&w, &out->request, &paths);
	out->task = (struct sonde_task){&out->request, paths.at, paths.nr};
	if (sonde_walk_is_done(&w))
		return 0;
	return w.is_nomem ? sonde_err_nomem(err) : refuse_message(err);
}

/* --- results ----------------------------------------------------------------------------------- */

static void move_timelines(struct sonde_walk *w, struct sonde_parts *parts)
{
	size_t i;

	for (i = 0; i < parts->at.nr; i++) {
		struct sonde_cells *c = parts->at.at[i];

		w->arena = &c->arena;
		if (sonde_walk_number(w, c->timeline != NULL))
			sonde_walk_timeline(w, c);
	}
}

static void put_parts(struct sonde_walk *w, struct sonde_parts *parts)
{
	struct sonde_sink bytes;

	sonde_sink_init_string(&bytes);
	w->to->failed |= sonde_cellfile_write(parts, &bytes, NULL) != 0 || bytes.buf.failed;
	sonde_walk_bytes(w, sonde_buf_view(&bytes.buf));
	sonde_sink_abort(&bytes);
	move_timelines(w, parts);
}

void sonde_result_write(struct sonde_buf *to, size_t number, struct sonde_parts *parts, int rc,
	const struct sonde_err *err)
{
	struct sonde_walk w = {.to = to};

	sonde_walk_number(&w, number);
	sonde_walk_number(&w, (uint64_t)-rc);
	if (rc == 0) {
		put_parts(&w, parts);
	} else {
		sonde_walk_number(&w, err->pos);
		sonde_walk_bytes(&w, sonde_str_from(err->msg));
	}
}

static int get_parts(struct sonde_parts *parts, struct sonde_walk *w, struct sonde_err *err)
{
	struct sonde_str bytes = sonde_walk_bytes(w, SONDE_STR(""));
	int rc = w->failed ? refuse_message(err)
			   : sonde_cellfile_read(parts, bytes, "another process", err);

	if (rc == 0)
		move_timelines(w, parts);
	return rc ? rc : w->is_nomem ? sonde_err_nomem(err) : 0;
}

int sonde_results_take(
	struct sonde_str bytes, size_t nr, struct sonde_taker *taker, struct sonde_err *err)
{
	struct sonde_walk w = sonde_walk_reader(bytes, NULL);
	int rc = 0;

	while (rc == 0 && w.p < w.end) {
		struct sonde_parts parts = {0};
		struct sonde_err one = {0};
		size_t number = (size_t)sonde_walk_index(&w, 0, nr);
		struct sonde_str msg;

		one.code = -(int)sonde_walk_index(&w, 0, 16);
		if (one.code) {
			one.pos = sonde_walk_number(&w, 0);
			msg = sonde_walk_bytes(&w, SONDE_STR(""));
			if (msg.p && msg.n < sizeof(one.msg))
				memcpy(one.msg, msg.p, msg.n);
		} else {
			rc = get_parts(&parts, &w, err);
		}
		if (rc == 0 && w.failed)
			rc = refuse_message(err);
		if (rc == 0)
			taker->take(taker, number, &parts, one.code, &one);
		sonde_parts_release(&parts);
	}
	return rc;
}
