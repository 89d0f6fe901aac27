#include "fold/inventory.h"
#include "capture/modules_env.h"
#include "capture/native_env.h"
#include "cli/command.h"
#include "cli/program_ranges.h"
#include "cli/option.h"
#include "cli/messages.h"
#include "cli/newest_run.h"
#include "cli/terminal.h"
#include "export/inventory_out.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STATUS_NOT_STARTED 125

enum format { FORMAT_TEXT, FORMAT_JSON };

struct request {
	struct sonde_args own; /* operands: the captures */
	char **program;	       /* ends with NULL; NULL = no program, but captures */
	bool is_marked;	       /* the program follows `--`, so it cannot be meant as a capture */
	const char *output, *keep, *modules;
	int format, colour;
	size_t width;
	bool together;
};

/*
 * Whether the word is an input: a folder, or a file that cannot be run. A file that does not exist is judged by its
 * name.
 */
static bool is_capture(const char *path)
{
	static const char *const suffixes[] = {".ncu-rep", ".csv", ".sqlite", ".sonde"};
	struct stat st;
	size_t i;

	if (stat(path, &st) < 0) {
		for (i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++)
			if (sonde_str_ends(sonde_str_from(path), suffixes[i]))
				return true;
		return false;
	}
	return S_ISDIR(st.st_mode) || (S_ISREG(st.st_mode) && access(path, X_OK) < 0);
}

/* Checks what was named; if that is nothing, takes the newest run. */
static int check_words(struct request *q, struct sonde_err *err)
{
	const char *newest;

	if (q->program && q->own.operands.nr)
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"regions: give either a command or captures, not both: `sonde regions [options] -- COMMAND [ARG...]` or "
			"`sonde regions [options] CAPTURE...`");
	if (!q->program && !q->own.operands.nr) {
		int rc = sonde_newest_run(&newest, "regions", &q->own.arena, err);

		return rc || sonde_word_list_add(&q->own.operands, newest) ? rc : sonde_err_nomem(err);
	}
	if (q->program && q->keep && sonde_native_is_there(q->keep))
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"regions: %s already contains captures: keep these in another directory "
			"(--keep) or remove it",
			q->keep);
	return 0;
}

#define INTO(member) offsetof(struct request, member)
static const struct sonde_option options[] = {
	SONDE_OPT('f', "format", "text|json", CHOICE, format, "what to print (text)"),
	SONDE_OPT('o', "output", "FILE", WORD, output,
		"write the list there instead of printing it"),
	SONDE_OPT(0, "keep", "DIR", WORD, keep, "keep the captures there, for `sonde report DIR`"),
	SONDE_OPT(0, "modules", "DEPTH", MAYBE, modules,
		"make a range of each PyTorch module of a Python program, as `sonde run --modules`"),
	SONDE_OPT(0, "together", NULL, FLAG, together,
		"of a folder, take all runs and jobs in it; otherwise its newest run"),
	SONDE_OPT_WIDTH(width),
	SONDE_OPT_COLOUR(colour),
};

static const struct sonde_usage usage = {"sonde regions [options] [--] COMMAND [ARG...]\n"
				  "       sonde regions [options] [CAPTURE...]",
	"Lists the NVTX ranges a program really has, and the expression that selects each in\n"
	"Nsight Compute. The program runs once with sonde's library in it, at nearly its usual\n"
	"speed; no GPU is needed. A first word that is a folder or a file that cannot be run,\n"
	"or is named like one (.ncu-rep, .csv, .sqlite, .sonde), is a capture made before. Without\n"
	"a word it is the newest run.\n"
	"Exit status: the program's; 125 when it could not be started; 1 when it ended well,\n"
	"or a capture was read, but there is nothing to list.",
	options, sizeof(options) / sizeof(*options),
	{{"the ranges of a program", "sonde regions -- ./train --steps 1"},
		{"of a run, for other programs",
			"sonde regions -f json tmp/profile-output/20260131-120000/native"}}};

static int read_words(struct request *q, int argc, char **argv, struct sonde_err *err)
{
	int nr_own = sonde_options_split(&usage, argc, argv);
	int rc;

	q->is_marked = nr_own < argc && strcmp(argv[nr_own], "--") == 0;
	if (nr_own < argc && !q->is_marked && is_capture(argv[nr_own]))
		nr_own = argc; /* options may follow captures */
	rc = sonde_options_read(&q->own, &usage, q, nr_own, argv, err);
	if (rc)
		return rc;
	nr_own += q->is_marked;
	q->program = nr_own < argc ? argv + nr_own : NULL;
	return check_words(q, err);
}

/* Makes a directory for the captures until they are read. */
static int make_scratch(char *path, size_t size, struct sonde_err *err)
{
	const char *tmp = getenv("TMPDIR");
	int n = snprintf(path, size, "%s/sonde-regions-XXXXXX", tmp && *tmp ? tmp : "/tmp");

	if (n < 0 || (size_t)n >= size || !mkdtemp(path))
		return sonde_err_set(err, SONDE_ERR_IO,
			"%s: cannot make a folder there; set TMPDIR to a writable directory", path);
	return 0;
}

/* Removes the directory and what the library and we put there, which are plain files, and nothing else. */
static void remove_scratch(const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (e->d_name[0] != '.')
			unlinkat(dirfd(dir), e->d_name, 0);
	if (dir)
		closedir(dir);
	rmdir(path);
}

static int write_list(
	const struct sonde_inventory *v, const struct request *q, struct sonde_err *err)
{
	struct sonde_inventory_options o = {.width = q->width ? q->width : sonde_terminal_width(),
		.is_coloured = !q->output && sonde_terminal_is_coloured(q->colour),
		.is_utf8 = sonde_terminal_is_utf8()};
	struct sonde_sink out;
	int rc = sonde_output_open(&out, q->output, err);

	if (rc)
		return rc;
	if (q->format == FORMAT_JSON)
		sonde_export_inventory_json(v, &out);
	else if (v->rows.nr)
		rc = sonde_export_inventory_text(v, &o, &out, err);
	return sonde_sink_finish(&out, rc, err);
}

/* Says what the list cannot show. */
static void say_rest(const struct sonde_launches *l)
{
	sonde_say_notes(&l->records->notes);
	if (l->tally.nr_outside)
		sonde_say("%llu of %zu launches were outside any range",
			(unsigned long long)l->tally.nr_outside, l->launches.nr);
	if (l->tally.nr_adopted)
		sonde_say("%llu more are of threads without ranges: reports count them where another thread was "
			  "(report.threads), ncu's filter does not take them",
			(unsigned long long)l->tally.nr_adopted);
}

static int check_any(const struct sonde_launches *l, const char *dir, struct sonde_err *err)
{
	if (l->regions.nr)
		return 0;
	return sonde_err_set(err, SONDE_ERR_NOTFOUND, "%s",
		dir ? "the program entered no NVTX range: mark its steps with some "
		      "(nvtxRangePush, torch.cuda.nvtx.range_push), or run a part that has them"
		    : "no NVTX range was captured; a report of Nsight Compute has only those with "
		      "a "
		      "launch inside, and only when it was taken with --nvtx");
}

/* Lists what the program left in `dir`; with NULL, the captures that were named. */
static int list(struct request *q, const char *dir, struct sonde_err *err)
{
	struct sonde_pipeline *look = NULL;
	struct sonde_inventory inventory = {0};
	int rc = dir ? sonde_program_ranges_open_run(&look, dir, err)
		     : sonde_program_ranges_open(&look, q->own.operands.at, q->own.operands.nr, q->together, err);

	if (rc == 0)
		rc = sonde_inventory_build(&inventory, look->launches, err);
	if (rc == 0)
		rc = write_list(&inventory, q, err);
	if (rc == 0) {
		say_rest(look->launches);
		rc = check_any(look->launches, dir, err);
	}
	sonde_inventory_release(&inventory);
	sonde_pipeline_free(look);
	return rc;
}

/* Checks the path before the program runs, which may take long. */
static int check_output(const char *path, struct sonde_err *err)
{
	struct sonde_sink out;
	struct stat st;
	int rc;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return sonde_err_set(
			err, SONDE_ERR_IO, "%s is a directory: name a file with -o FILE", path);
	rc = sonde_sink_open(&out, path, err);
	if (rc == 0)
		sonde_sink_abort(&out);
	return rc;
}

/* A word with a slash may have been meant as a program or as a capture. */
static void explain_missing(const struct request *q, struct sonde_err *err)
{
	const char *word = q->program[0];

	if (!q->is_marked && strchr(word, '/') && access(word, F_OK) < 0)
		sonde_err_set(err, SONDE_ERR_NOTFOUND,
			"%s: no such file: neither a program nor a capture: check its path", word);
}

/* Puts the program's status in `*status`. If that is not 0, a later failure of ours is only printed. */
static int run_regions(struct request *q, int *status, struct sonde_err *err)
{
	struct sonde_child_spec spec = {.argv = q->program, .out_fd = -1};
	struct sonde_argv env = {0};
	struct sonde_native_request native = {.dir = q->keep};
	struct sonde_child_end end = {0};
	char scratch[PATH_MAX];
	int rc = q->output ? check_output(q->output, err) : 0;

	if (rc == 0)
		rc = sonde_modules_env(&env, q->modules, err);
	spec.env = env.words.at;
	*status = STATUS_NOT_STARTED;
	if (rc == 0 && !q->keep) {
		rc = make_scratch(scratch, sizeof(scratch), err);
		native.dir = scratch;
	}
	if (rc) {
		sonde_argv_release(&env);
		return rc;
	}
	rc = sonde_native_run(&end, &spec, &native, err);
	sonde_argv_release(&env);
	if (rc == 0) {
		*status = end.status;
		rc = list(q, native.dir, err);
		if (rc && *status) {
			sonde_say("%s", err->msg);
			rc = 0;
		}
	} else {
		explain_missing(q, err);
	}
	if (!q->keep)
		remove_scratch(scratch);
	return rc;
}

int sonde_cmd_regions(int argc, char **argv)
{
	struct request q = {0};
	struct sonde_err err = {0};
	int rc = read_words(&q, argc, argv, &err), status = 0;
	bool is_help = rc > 0;

	if (rc == 0)
		rc = q.program ? run_regions(&q, &status, &err) : list(&q, NULL, &err);
	if (rc < 0)
		rc = sonde_cmd_fail(&err);
	sonde_args_release(&q.own);
	return is_help ? 0 : status ? status : rc;
}
