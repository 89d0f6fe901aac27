/*
 * Finds out which processes belong to one job, and whether the captures in one folder are of several jobs.
 *
 * A report adds up the ranks of a job, and nothing else: the sum of two runs, or of two programs, means
 * nothing. Processes belong to one job when
 *
 *   - they come from one file, or their files are beside the settings of the library that recorded them;
 *   - they are one process, for which torch.profiler may write many files: same process id, same program,
 *     at most half a day apart. A source that knows the host has one file per process, so this rule does
 *     not apply to it: in containers the processes of all runs have the same id;
 *   - they have ranks of jobs of the same size, no rank appears twice at different times, and they are at
 *     most half a day apart;
 *   - they ran at the same time, and on the same host, or with ranks of jobs of the same size, or as the
 *     same program on the same kind of GPU. A report of Nsight Compute only says when it was made: its
 *     command line must be the same too, and the half hours before and after count as the same time.
 *
 * The relation is transitive. Captures without a time (Proton, tables) are joined by program and GPU; a capture
 * that names neither joins the others.
 */
#ifndef SONDE_READ_JOBS_H
#define SONDE_READ_JOBS_H

#include "base/arena.h"
#include "read/inputs.h"

/* A process as one file describes it. Text is in the arena. */
struct sonde_sighting {
	struct sonde_str path, host, program, gpu;
	uint64_t pid;
	uint64_t first_ns, last_ns; /* last 0 = time not known */
	uint32_t rank, world_size;
	bool has_rank;
	bool is_moment; /* only the time when the file was made is known: the span is half an hour around it */
	uint32_t job; /* private: number of another sighting of the same job */
};

/* All zero is an empty one. */
struct sonde_jobs {
	SONDE_VEC(struct sonde_sighting) sightings;
	struct sonde_arena arena;
	bool failed; /* memory ran out */
};

/* The processes of a file, or of a folder that is read as one. Borrowed. */
struct sonde_found {
	const char *path; /* path of the file or folder; NULL = each process has the path of its input */
	const struct sonde_input *inputs;
	const struct sonde_process *processes;
	size_t first_process, nr_processes; /* the processes from number first_process to before number nr_processes */
	const struct sonde_device *devices;
	size_t nr_devices;
};
/* Adds the processes, copied. Processes added with the same path are of the same file. */
void sonde_jobs_add(struct sonde_jobs *j, const struct sonde_found *f);
/* SONDE_ERR_USAGE when there are several jobs; the message lists them, with the command to type for each. */
int sonde_jobs_check(struct sonde_jobs *j, const char *dir, struct sonde_err *err);
void sonde_jobs_release(struct sonde_jobs *j);

#endif
