/*
 * Which processes belong to one job, and whether the captures in one folder are of several jobs.
 *
 * A report adds up the ranks of a job, and nothing else: the sum of two runs, or of two programs, means
 * nothing. Processes belong to one job when
 *
 *   - they come from one file, or are beside the settings of the library that recorded them;
 *   - they are one process, which torch.profiler may write many files of: same number, same program,
 *     at most half a day apart. A source that knows the host has one file per process: in containers
 *     those of all runs have the same number;
 *   - they have ranks of jobs of the same size, no rank is there twice, one after the other, and
 *     they are at most half a day apart;
 *   - they ran at the same time, and on the same host or as the same program on the same kind of GPU.
 *     A report of Nsight Compute only says when it was made: there the program's command line must be
 *     the same too, and half an hour around is taken for the same time.
 *
 * The relation is transitive. For captures without a time (Proton, tables) program and GPU decide; a capture
 * that names neither joins the others.
 */
#ifndef SONDE_READ_JOBS_H
#define SONDE_READ_JOBS_H

#include "base/arena.h"
#include "read/inputs.h"

/* A process as a file has it. Text is in the arena. */
struct sonde_sighting {
	struct sonde_str path, host, program, gpu;
	uint64_t pid;
	uint64_t first_ns, last_ns; /* last 0 = not known when */
	uint32_t rank, world_size;
	bool has_rank;
	bool is_moment; /* all that is known is when the file was made: the span is that, widely */
	uint32_t job; /* private: a sighting of the same job */
};

/* All zero is none. */
struct sonde_jobs {
	SONDE_VEC(struct sonde_sighting) seen;
	struct sonde_arena arena;
	bool failed; /* memory was short */
};

/* The processes of a file, or of a folder that is read as one. Borrowed. */
struct sonde_found {
	const char *path; /* of the file or folder; NULL = of each process its input's */
	const struct sonde_input *inputs;
	const struct sonde_process *processes;
	size_t first_process, nr_processes; /* from that one to the last */
	const struct sonde_device *devices;
	size_t nr_devices;
};
/* Adds one. Nothing stays borrowed. The same path again is the same file. */
void sonde_jobs_add(struct sonde_jobs *j, const struct sonde_found *f);
/* SONDE_ERR_USAGE when they are of several jobs: which ones, and what to type for each. */
int sonde_jobs_check(struct sonde_jobs *j, const char *dir, struct sonde_err *err);
void sonde_jobs_release(struct sonde_jobs *j);

#endif
