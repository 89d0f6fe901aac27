/*
 * Inside `sonde run`: one run and its stages.
 *
 *   run_cmd.c       the command line, the order of stages, the exit status
 *   run_config.c    overrides → settings
 *   run_ncu.c       the Nsight Compute stage
 *   run_advice.c    what to say when nothing matched
 *   run_nsys.c      the Nsight Systems stage
 *   run_native.c    the native stage, and the look at a program's ranges (look.h)
 *   run_report.c    captures → region report
 */
#ifndef SONDE_CLI_RUN_INT_H
#define SONDE_CLI_RUN_INT_H

#include "attribute/launches.h"
#include "base/note.h"
#include "capture/rundir.h"
#include "cli/look.h"
#include "cli/say.h"
#include "capture/capture_settings.h"

#define SONDE_STATUS_NOT_STARTED 125

struct sonde_run {
	struct sonde_capture_settings set;
	struct sonde_rundir dir;
	char *const *program; /* ends with NULL */
	char *const *env;     /* NAME=VALUE for the program; NULL = none */
	const char *chip;     /* --chip, NULL = the GPU here */
	bool is_dry, is_quiet;
	int status;				     /* of the program: the first that is not 0 */
	bool is_stopped;			     /* by a signal: no further stage */
	bool has_failed;			     /* a capture is not what was asked for */
	size_t nr_ncu, nr_nsys, nr_native, nr_looks; /* captures made */
	struct sonde_notes notes;		     /* for the report */
	struct sonde_arena arena;
};

/* Each stage: 0 also when the program failed; negative when the stage itself could not be done. */
int sonde_run_ncu(struct sonde_run *r, struct sonde_err *err);
int sonde_run_nsys(struct sonde_run *r, struct sonde_err *err);
int sonde_run_native(struct sonde_run *r, struct sonde_err *err);

/*
 * A look at the program: one run of it with the injected library and without
 * its output, below `<run directory>/<name>`. SONDE_ERR_NOTFOUND when there is
 * no library.
 */
int sonde_run_look(struct sonde_look *out, struct sonde_run *r, struct sonde_err *err);

/* Nothing matched: names the ranges there really are, and near expressions. Looks when needed. */
void sonde_run_explain_nothing(struct sonde_run *r, struct sonde_look *look);

/* The report of everything below `<run directory>/<stage>` into `<stage>/regions/`. */
int sonde_run_report(struct sonde_run *r, const char *stage, bool is_shown, struct sonde_err *err);

/* The configuration: what the overrides and config groups compose to. */
struct sonde_run_config;
int sonde_run_config_open(struct sonde_run_config **out, struct sonde_words overrides,
	struct sonde_words dirs, const char *name, struct sonde_err *err);
struct sonde_setting_source sonde_run_config_source(struct sonde_run_config *c);
/* All of it as YAML, every value resolved. */
int sonde_run_config_yaml(struct sonde_run_config *c, struct sonde_buf *out, struct sonde_err *err);
/* The variables a configured workload reads, appended to `env`. */
int sonde_run_config_env(struct sonde_run_config *c, struct sonde_argv *env, struct sonde_err *err);
void sonde_run_config_free(struct sonde_run_config *c);

/* A path below the run directory, in the run's arena; NULL when memory is short. */
const char *sonde_run_path(struct sonde_run *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Takes over how the program ended. */
void sonde_run_take_end(struct sonde_run *r, int status, bool is_interrupted);

#endif
