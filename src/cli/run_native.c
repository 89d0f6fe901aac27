#include "base/file.h"
#include "capture/local.h"
#include "capture/modules_env.h"
#include "capture/native_env.h"
#include "cli/run_int.h"
#include "cli/run_live.h"
#include "sample/sampler.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- hardware counters beside the capture ------------------------------------------------------ */

/* Tells the user and the report why there are no counters. */
static void say_no_counters(struct sonde_run *r, const char *why)
{
	sonde_say("no hardware counters: %s", why);
	sonde_note(&r->notes, "no hardware counters, times only: %s", why);
}

static bool wants_counters(const struct sonde_run *r)
{
	const struct sonde_capture_settings *set = &r->set;

	if (set->counters_names.nr)
		return true;
	if (strcmp(set->counters_set, "auto") == 0)
		return sonde_sampler_has_gpu() &&
		       !(set->native_cupti && strcmp(set->native_cupti, "off") == 0);
	return strcmp(set->counters_set, "off") != 0;
}

/* The variable that marks every program of this run, those of other ranks too. */
static const char *mark_of(struct sonde_run *r, const char *dir)
{
	char whole[PATH_MAX];

	return realpath(dir, whole)
		       ? sonde_arena_printf(&r->arena, "SONDE_INJECT_CONFIG=%s/inject.conf", whole)
				 .p
		       : NULL;
}

/*
 * With CUPTI 13.0 a GPU has PC samples or PM samples, not both: beside PM sampling the calls that fetch PC samples
 * fail, and some of them crash the program (seen on an H200). GPM can count beside PC sampling.
 */
static bool leaves_pm_sampling(const struct sonde_capture_settings *set)
{
	return set->native_pc_exponent && strcmp(set->counters_source, "auto") == 0;
}

static enum sonde_sampling_source source_of(const struct sonde_capture_settings *set)
{
	static const char *const names[] = {
		[SONDE_SAMPLING_PM] = "pm", [SONDE_SAMPLING_AUTO] = "auto", [SONDE_SAMPLING_GPM] = "gpm", [SONDE_SAMPLING_BOTH] = "both"};
	enum sonde_sampling_source i;

	if (leaves_pm_sampling(set))
		return SONDE_SAMPLING_GPM;
	for (i = 0; i < SONDE_SAMPLING_BOTH && strcmp(set->counters_source, names[i]) != 0; i++)
		;
	return i;
}

/*
 * Samples hardware counters from now on, if they are wanted and available; else returns NULL. No failure here makes a
 * run fail.
 */
static struct sonde_sampler *start_counters(
	struct sonde_run *r, const char *dir, const struct sonde_local *local)
{
	const char *set = strcmp(r->set.counters_set, "auto") == 0 ? "basic" : r->set.counters_set;
	bool has_names = r->set.counters_names.nr > 0;
	const struct sonde_sampler_spec spec = {.dir = dir,
		.env = r->env,
		.lock_dir = local->owner >= 0 ? local->root : NULL,
		.mark = local->owner >= 0 ? local->mark : mark_of(r, dir),
		.rotation = {r->set.rotate_bytes, r->set.rotate_ns},
		.pids = r->request.attach ? r->request.attach->pids : NULL,
		.nr_pids = r->request.attach ? r->request.attach->sleepers->all.nr : 0,
		.sampling = {.counters = has_names ? r->set.counters_names.at : &set,
			.nr_counters = has_names ? r->set.counters_names.nr : 1,
			.interval_ns = r->set.counters_interval_ns,
			.burst_ns = r->set.counters_burst_ns,
			.source = (uint8_t)source_of(&r->set),
			.why_gpm = leaves_pm_sampling(&r->set) ? "a GPU has no PM samples while PC samples are taken (--lines)"
							       : NULL}};
	struct sonde_sampler *sampler = NULL;
	struct sonde_err why = {0};

	if (!wants_counters(r))
		return NULL;
	if (sonde_sampler_start(&sampler, &spec, &why))
		say_no_counters(r, why.msg);
	return sampler;
}

static void end_counters(struct sonde_run *r, struct sonde_sampler *sampler)
{
	struct sonde_sampler_end end = {0};
	size_t i;

	sonde_sampler_end(sampler, &end);
	for (i = 0; i < end.nr; i++) {
		if (end.devices[i].has_failed)
			say_no_counters(r, end.devices[i].says);
		else if (!r->request.is_quiet)
			sonde_say("%s", end.devices[i].says);
	}
}

/* --- the native stage -------------------------------------------------------------------------- */

/*
 * Opens the folder that captures are written to: on a disk of the node, if the user asks for that and it is possible.
 */
static const char *open_place(struct sonde_local *l, struct sonde_run *r)
{
	struct sonde_err why = {0};

	l->owner = -1;
	if (r->set.capture_local &&
		sonde_local_open(l, r->set.capture_local, &r->dir, &why) == 0)
		return l->dir;
	if (r->set.capture_local)
		sonde_say("capture.local: %s; captures are written to the run directory", why.msg);
	return sonde_run_path(r, "native");
}

/* Moves captures to the run directory. If that fails they stay where they are, and the user is told where. */
static void close_place(struct sonde_local *l, const struct sonde_run *r)
{
	struct sonde_err why = {0};

	if (l->owner >= 0 && sonde_local_return(l, &r->dir, &why))
		sonde_say("the captures could not be moved to the run directory: they are in %s, "
			  "which `sonde report` reads too (%s)",
			l->dir, why.msg);
}

static int write_local(const char *dir, struct sonde_str text, struct sonde_err *err)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/cmd.txt", dir);
	return sonde_file_write(path, text, err);
}

static int write_command(struct sonde_run *r, const struct sonde_local *l, struct sonde_err *err)
{
	struct sonde_buf line = {0};
	char name[64];
	int rc;

	sonde_buf_puts(&line, r->request.attach ? "# woken by sonde attach: "
					: "CUDA_INJECTION64_PATH=libsonde_inject.so "
					  "NVTX_INJECTION64_PATH=libsonde_inject.so ");
	sonde_run_record(r, &line, r->program);
	sonde_buf_putc(&line, '\n');
	snprintf(name, sizeof(name), "native/cmd%s.txt", r->dir.suffix);
	rc = line.failed       ? sonde_err_nomem(err)
	     : l->owner >= 0 ? write_local(l->dir, sonde_buf_view(&line), err)
			     : sonde_rundir_write(&r->dir, name, sonde_buf_view(&line), err);
	sonde_buf_release(&line);
	return rc;
}

/* Adds lines for the library's own settings. */
static void add_options(struct sonde_argv *to, const struct sonde_run *r)
{
	const struct sonde_capture_settings *set = &r->set;

	sonde_argv_printf(to, "cupti=%s", set->native_cupti ? set->native_cupti : "auto");
	sonde_argv_printf(to, "graphs=%s", set->native_graphs);
	sonde_argv_printf(to, "buffer_bytes=%ld", set->native_buffer_mb << 20);
	sonde_argv_printf(to, "api=%s", set->native_api);
	sonde_argv_add(to, set->native_memory ? "memory=on" : "memory=off");
	sonde_argv_printf(to, "pc=%u\ncubin_bytes=%ld", set->native_pc_exponent, set->native_cubins_mb << 20);
	/* If sonde itself runs in a rank, the rank is chosen already, and its children may be ranks of another job. */
	if (r->chosen && !r->dir.rank.is_parallel)
		sonde_argv_printf(to, "ranks=%s", r->chosen);
}

/* Adds when and how much to capture. A look at the program leaves this out: it must see everything. */
static void add_limits(struct sonde_argv *to, const struct sonde_run *r)
{
	struct sonde_buf window = {0};

	sonde_window_lines(&r->set.window, &window);
	sonde_argv_take(to, &window);
	sonde_argv_printf(to, "budget_ppm=%u", r->set.native_budget_ppm);
	sonde_argv_printf(to, "rotate_bytes=%llu\nrotate_ms=%llu",
		(unsigned long long)r->set.rotate_bytes,
		(unsigned long long)r->set.rotate_ns / 1000000);
}

static struct sonde_words words_of(const struct sonde_argv *a)
{
	return (struct sonde_words){(const char *const *)a->words.at, a->words.nr};
}

static void say_failure(const struct sonde_child_end *end)
{
	if (end->is_timed_out || end->is_interrupted || !end->status)
		return;
	if (end->signal)
		sonde_say("the program was ended by signal %d (%s)", end->signal,
			strsignal(end->signal));
	else
		sonde_say("the program ended with status %d", end->status);
}

/* Runs the program, with the sampler beside it, and answers `sonde ctl` meanwhile. */
static int run_captured(struct sonde_child_end *end, struct sonde_run *r,
	const struct sonde_native_request *q, const struct sonde_local *l, struct sonde_err *err)
{
	struct sonde_child_spec spec = sonde_run_spec(r, r->program);
	struct sonde_sampler *sampler;
	struct sonde_run_live live;
	int rc = sonde_run_live_open(&live, r, q->dir, &spec, err);

	if (rc)
		return rc;
	sampler = start_counters(r, q->dir, l);
	rc = r->request.attach ? sonde_run_attached(end, r, &spec, q, err) : sonde_native_run(end, &spec, q, err);
	sonde_run_live_close(&live);
	end_counters(r, sampler);
	return rc;
}

/*
 * Moves what the program left in `q->dir` to the run directory and counts it. Says what went wrong, or why there is
 * nothing.
 */
static void take_captures(struct sonde_run *r, struct sonde_local *l, const struct sonde_native_request *q)
{
	const char *dir = q->dir;
	const char *native = sonde_run_path(r, "native");
	bool was_there = sonde_native_is_there(dir), has_fault;
	char fault[512];

	if (sonde_modules_left_leaves(dir))
		sonde_note(&r->notes,
			"leaf modules are not regions: they would have cost more than 5 %% of the time; --modules=all has them");
	has_fault = sonde_native_fault(fault, sizeof(fault), dir, q->runner);
	if (q->runner)
		sonde_native_attach_remove(dir, q->runner);
	if (has_fault)
		sonde_say("%s", fault);
	close_place(l, r);
	if (native && sonde_native_is_there(native)) /* perhaps of another rank */
		r->nr_native++;
	if (was_there || r->nr_native)
		return;
	r->has_failed = true;
	if (!sonde_dir_exists(r->dir.path) || r->request.attach)
		return; /* the directory was removed, which is reported at the end; or sonde_run_attached said why */
	if (!has_fault && r->chosen && !r->dir.rank.is_parallel)
		sonde_say("no process of the program was rank %s (ranks=[%s]): start the program by "
			  "a launcher that tells each process its rank, or leave out ranks=",
			r->chosen, r->chosen);
	else if (!has_fault)
		sonde_say("the program left no capture: it uses neither NVTX nor CUDA, ended "
			  "before it did, or clears its environment");
	sonde_run_say_modules(r);
}

static int run_stage(struct sonde_run *r, const struct sonde_argv *options, struct sonde_err *err)
{
	struct sonde_native_request q = {.nvtx_include = r->set.native_include,
		.nvtx_exclude = r->set.native_exclude,
		.options = words_of(options)};
	struct sonde_child_end end = {0};
	struct sonde_local local;
	int rc;

	q.dir = open_place(&local, r);
	q.mark = local.owner >= 0 ? local.mark : NULL;
	if (local.owner < 0 && r->dir.suffix[0])
		q.runner = r->dir.suffix + 1; /* other ranks write to this directory too */
	rc = q.dir ? write_command(r, &local, err) : sonde_err_nomem(err);
	if (rc == 0)
		rc = run_captured(&end, r, &q, &local, err);
	if (rc) {
		close_place(&local, r);
		return rc;
	}
	sonde_run_say_timeout(r, &end);
	say_failure(&end);
	sonde_run_take_end(r, end.status, end.is_interrupted);
	take_captures(r, &local, &q);
	return 0;
}

int sonde_run_native(struct sonde_run *r, struct sonde_err *err)
{
	struct sonde_argv options = {0};
	int rc;

	if (r->request.is_dry) {
		sonde_run_show_plan("one native capture, one run of the program", "", r->program);
		return 0;
	}
	add_options(&options, r);
	add_limits(&options, r);
	rc = options.failed ? sonde_err_nomem(err) : run_stage(r, &options, err);
	sonde_argv_release(&options);
	return rc;
}

int sonde_run_look(struct sonde_pipeline **out, struct sonde_run *r, struct sonde_err *err)
{
	const char *dir = r->nr_native ? sonde_run_path(r, "native")
				       : sonde_run_path(r, "discover%s", r->dir.suffix);
	struct sonde_native_request q = {.dir = dir};
	struct sonde_child_spec spec = sonde_run_spec(r, r->program);
	struct sonde_child_end end = {0};
	struct sonde_argv options = {0};
	int rc;

	*out = NULL;
	spec.is_helper = true;
	add_options(&options, r);
	q.options = words_of(&options);
	rc = dir && !options.failed ? 0 : sonde_err_nomem(err);
	if (rc == 0 && !r->nr_native) {
		sonde_say("looking at the program's ranges (one run without its output)");
		rc = sonde_native_run(&end, &spec, &q, err);
	}
	if (rc == 0 && end.is_interrupted) {
		sonde_run_take_end(r, end.status, true);
		rc = sonde_err_set(err, SONDE_ERR_STOPPED, "interrupted");
	}
	if (rc == 0)
		rc = sonde_program_ranges_open_run(out, dir, err);
	if (rc == 0 && !r->nr_native)
		r->nr_looks++;
	sonde_argv_release(&options);
	return rc;
}
