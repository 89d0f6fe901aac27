#include "mpi/share.h"

#include "base/workers.h"
#include "cli/messages.h"
#include "merge/input_queue.h"

#include <mpi.h>
#include <stdint.h>
#include <unistd.h>

#define MAX_COUNT (1 << 30) /* most bytes in one call: MPI counts with an int */

/* --- bytes ------------------------------------------------------------------------------------- */

static void abort_job(const struct sonde_mpi_job *job, const char *why)
{
	sonde_say("process %d of %d: %s", job->rank, job->nr, why);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static int count_of(uint64_t left)
{
	return left > MAX_COUNT ? MAX_COUNT : (int)left;
}

static void send_bytes(struct sonde_str bytes, int to)
{
	uint64_t n = bytes.n, at;

	MPI_Send(&n, 1, MPI_UINT64_T, to, 0, MPI_COMM_WORLD);
	for (at = 0; at < n; at += MAX_COUNT)
		MPI_Send(bytes.p + at, count_of(n - at), MPI_BYTE, to, 0, MPI_COMM_WORLD);
}

/* Appends what `from` sends. */
static void receive_bytes(const struct sonde_mpi_job *job, struct sonde_buf *to, int from)
{
	uint64_t n, at;

	MPI_Recv(&n, 1, MPI_UINT64_T, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (!sonde_buf_reserve(to, n))
		abort_job(job, "out of memory");
	for (at = 0; at < n; at += MAX_COUNT)
		MPI_Recv(to->p + to->n + at, count_of(n - at), MPI_BYTE, from, 0, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE);
	to->n += n;
}

/* Sends the bytes in `b` of process 0 to the `b` of all other processes. */
static void broadcast_bytes(const struct sonde_mpi_job *job, struct sonde_buf *b)
{
	uint64_t n = b->n, at;

	MPI_Bcast(&n, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
	if (job->rank && !sonde_buf_reserve(b, n))
		abort_job(job, "out of memory");
	for (at = 0; at < n; at += MAX_COUNT)
		MPI_Bcast(b->p + at, count_of(n - at), MPI_BYTE, 0, MPI_COMM_WORLD);
	b->n = n;
}

/* --- a share ----------------------------------------------------------------------------------- */

/* Takes the results that this process folds: passes them to the report, or keeps them as bytes for another process. */
struct share {
	struct sonde_taker taker;
	const struct sonde_mpi_job *job;
	struct sonde_taker *report; /* the report's taker, in process 0; NULL = results go into `bytes` */
	struct sonde_buf bytes;
};

static void take_parts(struct sonde_taker *t, size_t number, struct sonde_parts *parts, int rc,
	const struct sonde_err *err)
{
	struct share *s = (struct share *)t;
	char host[256] = "";

	gethostname(host, sizeof(host) - 1);
	if (rc == SONDE_ERR_IO || rc == SONDE_ERR_FORMAT)
		sonde_say("process %d on %s: %s", s->job->rank, host, err->msg);
	if (s->report)
		s->report->take(s->report, number, parts, rc, err);
	else
		sonde_result_write(&s->bytes, number, parts, rc, err);
}

static void fold_share(struct share *s, const struct sonde_task *asked)
{
	const struct sonde_mpi_job *job = s->job;
	struct sonde_fold_request request = *asked->request;
	const struct sonde_task task = {&request, asked->paths, asked->nr};

	request.sharing = NULL;
	if (!request.cores)
		request.cores = job->cores;
	sonde_task_fold(&task, (size_t)job->rank, (size_t)job->nr, &s->taker);
}

/* --- the tree ---------------------------------------------------------------------------------- */

/*
 * In round k, a process whose number has bit k sends all its results to the process whose number is the same without
 * that bit, and is done. The others wait for these results.
 */
static int parent_of(const struct sonde_mpi_job *job, int bit)
{
	return job->rank & bit ? job->rank - bit : -1;
}

static void send_up(struct share *s)
{
	const struct sonde_mpi_job *job = s->job;
	int bit;

	for (bit = 1; bit < job->nr && parent_of(job, bit) < 0; bit *= 2)
		if (job->rank + bit < job->nr)
			receive_bytes(job, &s->bytes, job->rank + bit);
	if (s->bytes.failed)
		abort_job(job, "out of memory");
	send_bytes(sonde_buf_view(&s->bytes), parent_of(job, bit));
}

static int fold_shared(struct sonde_sharing *sharing, const struct sonde_task *task,
	struct sonde_taker *taker, struct sonde_err *err)
{
	struct sonde_mpi_job *job = (struct sonde_mpi_job *)sharing;
	struct share s = {.taker = {take_parts}, .job = job, .report = taker};
	int bit, rc = 0;

	sonde_task_write(&s.bytes, task);
	if (s.bytes.failed)
		return sonde_err_nomem(err);
	broadcast_bytes(job, &s.bytes);
	fold_share(&s, task);
	for (bit = 1; bit < job->nr; bit *= 2) {
		sonde_buf_clear(&s.bytes);
		receive_bytes(job, &s.bytes, bit);
		if (rc == 0)
			rc = sonde_results_take(
				sonde_buf_view(&s.bytes), task->nr, taker, err);
	}
	sonde_buf_release(&s.bytes);
	return rc;
}

int sonde_mpi_serve(struct sonde_mpi_job *job)
{
	struct sonde_buf asked = {0};
	struct sonde_remote_task task;
	struct sonde_err err = {0};

	for (;;) {
		struct share s = {.taker = {take_parts}, .job = job};

		sonde_buf_clear(&asked);
		broadcast_bytes(job, &asked);
		if (!asked.n)
			break;
		if (sonde_task_read(&task, sonde_buf_view(&asked), &err))
			abort_job(job, err.msg);
		fold_share(&s, &task.task);
		send_up(&s);
		sonde_arena_release(&task.arena);
		sonde_buf_release(&s.bytes);
	}
	sonde_buf_release(&asked);
	sonde_mpi_end(job);
	return 0;
}

/* --- begin and end ----------------------------------------------------------------------------- */

static void end_sharing(struct sonde_sharing *s)
{
	sonde_mpi_end((struct sonde_mpi_job *)s);
}

/* Processes that are not bound to cores of their own share the cores of their machine evenly. */
static size_t cores_of_process(void)
{
	size_t cores = sonde_cores();
	MPI_Comm machine;
	int nr = 1;

	if (cores < (size_t)sysconf(_SC_NPROCESSORS_ONLN))
		return cores;
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
	MPI_Comm_size(machine, &nr);
	MPI_Comm_free(&machine);
	return cores > (size_t)nr ? cores / (size_t)nr : 1;
}

void sonde_mpi_begin(struct sonde_mpi_job *job, int *argc, char ***argv)
{
	int provided;

	*job = (struct sonde_mpi_job){.sharing = {fold_shared, end_sharing}};
	MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided); /* this thread alone calls MPI */
	MPI_Comm_rank(MPI_COMM_WORLD, &job->rank);
	MPI_Comm_size(MPI_COMM_WORLD, &job->nr);
	job->cores = cores_of_process();
}

void sonde_mpi_end(struct sonde_mpi_job *job)
{
	struct sonde_buf none = {0};

	if (job->has_ended)
		return;
	job->has_ended = true;
	if (job->rank == 0)
		broadcast_bytes(job, &none);
	MPI_Finalize();
}
