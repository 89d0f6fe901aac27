/*
 * Inside `sonde run`: one run and its stages.
 *
 *   run_cmd.c       the command line
 *   run_config.c    overrides → settings
 *   run_open.c      settings → which program runs, where
 *   run_ranks.c     which ranks of a job are profiled
 *   run_job.c       one run: the order of stages, what is written, the exit status
 *   run_sweep.c     many runs, one for each job of a sweep
 *   run_against.c   several runs, then a comparison with a base
 *   run_ncu.c       the Nsight Compute stage
 *   run_advice.c    what to say when nothing matched
 *   run_nsys.c      the Nsight Systems stage
 *   run_torch.c     the torch.profiler stage
 *   run_attach.c    the native stage of programs that run already (`sonde attach`)
 *   run_native.c    the native stage with its sampler, and the look at a program's ranges (program_ranges.h)
 *   run_live.c      meanwhile: `sonde ctl`, the tree so far (--every), old captures folded (capture.keep)
 *   run_report.c    captures → region report
 */
#ifndef SONDE_CLI_RUN_INT_H
#define SONDE_CLI_RUN_INT_H

#include "base/note.h"
#include "base/argv.h"
#include "capture/child.h"
#include "capture/rundir.h"
#include "capture/sleeper.h"
#include "cli/program_ranges.h"
#include "cli/messages.h"
#include "capture/capture_settings.h"

#define SONDE_STATUS_NOT_STARTED 125

/* The words of the command line, before any configuration. Everything is borrowed. */
struct sonde_run_request {
	struct sonde_words overrides;
	const char *config_dir, *config_name, *chip; /* NULL = not given */
	bool is_dry, is_quiet, is_multirun;
	bool is_bare;	   /* the command line has no words: do not run the bundled workload */
	bool is_demo;	   /* run the bundled workload, whatever is configured */
	bool is_opened;	   /* show the page at the end */
	bool hides_report; /* write the report, but do not print it: of several runs, the comparison says more */
	struct sonde_run_attach *attach; /* programs that run already; NULL = start the program */
	char *const *program; /* ends with NULL; empty = the configured program */
};

struct hydra_config;

/* Programs that run already and are woken for the native stage. */
struct sonde_run_attach {
	struct sonde_sleepers *sleepers; /* each one is held */
	uint64_t for_ns; /* time from the first that is awake; 0 = until the window is over or the user ends it */
	pid_t *pids; /* process numbers of all sleepers */
};

struct sonde_run {
	struct sonde_run_request request;
	struct sonde_capture_settings set;
	struct hydra_config *config;
	struct sonde_rundir dir;
	const char *job;      /* name of this job of a sweep; NULL = a run of its own */
	char *const *program; /* what is run: the request's or the configured one; ends with NULL */
	char *const *env;     /* NAME=VALUE for the program; NULL = none */
	bool is_module; /* the program is pipeline.workload.module */
	bool is_bundled; /* sonde chose the program: the bundled workload */
	bool is_bystander; /* this rank is not profiled */
	const char *chosen; /* the profiled ranks, "0,8"; NULL = all */
	int status;	 /* exit status of the program: the first that is not 0 */
	bool is_stopped; /* a signal stopped the run: no further stage */
	bool has_failed; /* some capture is not what the user asked for */
	bool is_broken;	 /* a stage could not be run */
	bool has_page;	 /* report.html is in the run directory */
	size_t nr_ncu, nr_nsys, nr_native, nr_torch, nr_looks; /* number of captures made */
	struct sonde_notes notes;			       /* notes for the report */
	const char *baseline; /* why Nsight Compute profiled nothing, so that the report is a baseline; NULL = it did */
	struct sonde_argv program_words, env_words;
	struct sonde_argv recorded_words; /* the program's words as they may be written to files */
	struct sonde_arena arena;
};

/*
 * Takes settings, program, environment and places from a composed configuration, which must outlive the run. Release
 * `r` even if this fails.
 */
int sonde_run_open(struct sonde_run *r, struct hydra_config *config,
	const struct sonde_run_request *q, struct sonde_err *err);
void sonde_run_release(struct sonde_run *r);
/* Adds the overrides for a Python module, once the run directory is known. */
int sonde_run_hand_on(struct sonde_run *r, const char *run_dir, struct sonde_err *err);
/*
 * Makes the run directory, completes the program's words, runs the stages, reports. A dry run shows the plan instead.
 */
int sonde_run_do(struct sonde_run *r, struct sonde_err *err);
/* The exit status after sonde_run_open or sonde_run_do returned `rc`; prints `err` if `rc` is an error. */
int sonde_run_status(const struct sonde_run *r, int rc, const struct sonde_err *err);

/* Does one run, from its configuration to its report. Returns the exit status. */
int sonde_run_once(const struct sonde_run_request *q, struct sonde_err *err);

/* The runs to compare with, how often to run, and the limits of the gate. Borrowed. */
struct sonde_run_against {
	struct sonde_word_list base; /* inputs of `sonde diff` */
	const char *base_command;    /* command for a shell; NULL = none */
	size_t repeat;
	struct sonde_word_list limits; /* --fail-above */
	bool allows_insufficient, takes_partial, accepts_single;
};
/*
 * Runs into `out`/new-1, … (and base-1, …), then compares. `out` NULL = a directory named by the time. Returns the exit
 * status: the first that is not 0; that of the comparison comes last.
 */
int sonde_run_against(const struct sonde_run_request *q, const struct sonde_run_against *a,
	const char *out, struct sonde_err *err);

/* Says how to look at the page in `dir`. NULL = the page of the newest run, which needs no name. */
void sonde_run_say_view(const char *dir);

/* Runs all jobs of the sweep, in order. Returns the exit status: the first that is not 0. */
int sonde_run_sweep(
	struct hydra_config *master, const struct sonde_run_request *q, struct sonde_err *err);

/*
 * `ranks=[0,8]`: finds out whether this process is one of them, before anything is made. Refuses what could leave one
 * rank waiting for another; all ranks come to the same answer.
 */
int sonde_run_choose_rank(struct sonde_run *r, struct sonde_err *err);
/* Runs the program of a rank that is not profiled. Returns only if this process could not become the program itself. */
int sonde_run_bystander(struct sonde_run *r, struct sonde_err *err);

/* Refuses settings that cannot be applied to a running program, and says why. */
int sonde_run_attach_check(const struct sonde_run *r, struct sonde_err *err);
/* Adds the variable that decides which devices are sampled: those that any of the sleepers sees. */
void sonde_run_attach_env(const struct sonde_run *r, struct sonde_argv *env);
/* Wakes the sleepers, captures into `q->dir`, lets them sleep again. Meanwhile calls back as `spec` says. */
struct sonde_native_request;
int sonde_run_attached(struct sonde_child_end *end, struct sonde_run *r, const struct sonde_child_spec *spec,
	const struct sonde_native_request *q, struct sonde_err *err);

/* Each stage returns 0 even if the program failed, and an error if the stage itself could not be done. */
int sonde_run_ncu(struct sonde_run *r, struct sonde_err *err);
int sonde_run_nsys(struct sonde_run *r, struct sonde_err *err);
int sonde_run_native(struct sonde_run *r, struct sonde_err *err);
int sonde_run_torch(struct sonde_run *r, struct sonde_err *err);

/*
 * A look at the program: one run of it with the injected library and without its output, below `<run
 * directory>/discover`. If there is a native capture already, that is read instead. SONDE_ERR_NOTFOUND when there is no
 * library.
 */
int sonde_run_look(struct sonde_pipeline **out, struct sonde_run *r, struct sonde_err *err);

/*
 * Nothing was profiled: names the ranges that the program really has, and expressions near to the user's. Looks at the
 * program if `*look` is NULL. The run's report then is a baseline (r->baseline).
 */
void sonde_run_explain_nothing(struct sonde_run *r, struct sonde_pipeline **look);
/* After a run without ranges: says how to get some, if the program uses PyTorch. */
void sonde_run_say_modules(const struct sonde_run *r);

/* Checks that the report's selection can be read, before anything runs. */
int sonde_run_check_report(struct sonde_run *r, struct sonde_err *err);
/* Writes the notes that only this run knows, for its reports (lib/run_in.h). */
void sonde_run_write_notes(struct sonde_run *r);
/* Writes the report of everything below `<run directory>/<stage>` into `<stage>/regions/`. */
int sonde_run_report(struct sonde_run *r, const char *stage, bool is_shown, struct sonde_err *err);
/*
 * Prints the tree of all captures that `dir` has so far, with the selection of the run. With capture.prometheus, writes
 * that file instead.
 */
int sonde_run_show(const struct sonde_run *r, const char *dir, struct sonde_err *err);

/* Composes the configuration from the overrides and config groups. */
int sonde_run_config_open(
	struct hydra_config **out, const struct sonde_run_request *q, struct sonde_err *err);

enum sonde_run_yaml {
	SONDE_RUN_RESOLVED_YAML, /* the job, every value resolved */
	SONDE_RUN_JOB_YAML,	 /* the job as composed */
	SONDE_RUN_HYDRA_YAML,
	SONDE_RUN_OVERRIDES_YAML, /* the list of the job's override lines */
	SONDE_RUN_ALL_YAML,
};
int sonde_run_config_yaml(struct hydra_config *c, struct sonde_buf *out, enum sonde_run_yaml part,
	struct sonde_err *err);
/* Appends the override lines that lead to this configuration. */
void sonde_run_config_overrides(const struct hydra_config *c, struct sonde_argv *out);
/* Appends the words for a Python module: the run's overrides that are not sonde's own. */
void sonde_run_config_handed_on(const struct hydra_config *c, const char *run_dir, struct sonde_argv *out);
/* Appends the program's variables of the configuration to `env`; `is_recorded` = as they may be written to files. */
int sonde_run_config_env(const struct sonde_run *r, struct sonde_argv *env, bool is_recorded,
	struct sonde_err *err);
/* Appends pipeline.workload.command as it may be written to files. */
void sonde_run_config_command(const struct hydra_config *c, struct sonde_argv *out);
/* Appends the overrides in which a job of a sweep differs from the others: `a=1 b=x`. */
void sonde_run_config_job_words(
	const struct hydra_config *master, size_t job, struct sonde_buf *out);

/* Appends a command line that ends with the program's words, as it may be written to files. */
void sonde_run_record(const struct sonde_run *r, struct sonde_buf *out, char *const *words);
/* Prints what a dry run would do, and by which command line. */
void sonde_run_show_plan(const char *plan, const char *before, char *const *words);

/* A path below the run directory, in the run's arena; NULL when out of memory. */
const char *sonde_run_path(struct sonde_run *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* As fork, for a process of ours that works while the program runs: Ctrl-C does not reach it. */
pid_t sonde_run_fork(void);

/* How `argv` (the program, or a profiler with it) runs in every stage. */
struct sonde_child_spec sonde_run_spec(const struct sonde_run *r, char *const *argv);
/* Runs `spec` to its end, and takes over how the program ended. */
int sonde_run_child(struct sonde_run *r, const struct sonde_child_spec *spec, struct sonde_err *err);
/*
 * The two steps at the end of sonde_run_child. The first tells the user and the report that the program ran out of
 * time, if it did.
 */
void sonde_run_say_timeout(struct sonde_run *r, const struct sonde_child_end *end);
void sonde_run_take_end(struct sonde_run *r, int status, bool is_interrupted);

#endif
