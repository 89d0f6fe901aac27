#include "cli/run_live.h"

#include "base/clock.h"
#include "capture/native_env.h"
#include "merge/rolling.h"
#include "lib/settings.h"
#include "read/folder_in.h"
#include "read/rolled.h"

#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define TICK_MS 50
#define LOOK_NS	  1000000000u
#define RETRY_NS  60000000000u
#define NICENESS  10
#define MAX_AT_ONCE 4 /* most files to fold at once, when folding is behind */

/* --- capture.keep ------------------------------------------------------------------------------ */

/*
 * While the program runs, the oldest files of its captures are folded to sums (merge/rolling.h) as soon as there are
 * more than shall be kept. A process of its own does that: it takes a while, and the program must be watched meanwhile.
 */

/*
 * How many complete files a capture has beyond those to keep. The last file is still being written and does not count.
 * One more stays: the last folded one, because the files behind it are read with it.
 */
static uint32_t count_excess(const char *path, const struct sonde_capture_settings *set)
{
	uint32_t next = sonde_capture_next(path), part = next ? next : 1;
	uint64_t nr_bytes = 0, nr = 0, size = 0, excess;
	struct stat st;
	char name[4096];

	if (!next && stat(path, &st) == 0)
		size = (uint64_t)st.st_size;
	nr = !next;
	for (;; part++, nr++) {
		nr_bytes += size;
		snprintf(name, sizeof(name), "%s.%u", path, part);
		if (stat(name, &st) < 0)
			break;
		size = (uint64_t)st.st_size;
	}
	nr_bytes -= size;
	nr -= nr > 0;
	if (nr < 3 || (set->keep_bytes && nr_bytes <= set->keep_bytes))
		return 0;
	if (set->keep_bytes)
		return 1;
	excess = nr > set->keep_files + 1 ? nr - set->keep_files - 1 : 0;
	return excess < MAX_AT_ONCE ? (uint32_t)excess : MAX_AT_ONCE;
}

static int find_captures(const char *dir, struct sonde_word_list *out, struct sonde_arena *arena)
{
	struct sonde_folder f = {.dir = dir, .together = true};
	struct sonde_notes notes = {0};
	int rc = sonde_native_is_there(dir) ? sonde_folder_expand(&f, arena, &notes, NULL) : -1;

	*out = f.files;
	sonde_notes_release(&notes);
	return rc;
}

/*
 * Finds the capture with surplus files whose oldest file began first; NULL = none has any. In that order, the work of
 * all processes that share a GPU is still there when the GPU's samples are split.
 */
static const char *find_excess(const struct sonde_word_list *all, const struct sonde_capture_settings *set, uint32_t *nr)
{
	uint64_t first_ns = UINT64_MAX, ns;
	const char *found = NULL;
	uint32_t excess;
	size_t i;

	for (i = 0; i < all->nr; i++) {
		excess = sonde_folder_is_samples(all->at[i]) ? 0 : count_excess(all->at[i], set);
		ns = excess ? sonde_capture_oldest(all->at[i]) : UINT64_MAX;
		if (excess && ns < first_ns) {
			first_ns = ns;
			found = all->at[i];
			*nr = excess;
		}
	}
	return found;
}

/* Runs in the folding process: folds all surplus files with the settings of the run's report. */
static int fold_excess(const struct sonde_run_keep *k, const struct sonde_word_list *all, struct sonde_err *err)
{
	struct sonde_settings s = {0};
	struct sonde_beside beside = {0};
	int rc = sonde_settings_read(&s, k->run->config, SONDE_CAPTURE_LISTS_NEVER, err);
	const char *oldest;
	uint32_t nr;

	s.fold.choice = (struct sonde_choice){0}; /* keep all metrics, so that any report can choose */
	s.fold.cores = 1;
	while (rc == 0 && (oldest = find_excess(all, &k->run->set, &nr))) {
		rc = sonde_beside_open(&beside, all->at, all->nr, oldest, err);
		if (rc == 0)
			rc = sonde_roll(&beside, oldest, nr, &s.fold, err);
		if (rc == 0)
			rc = sonde_beside_trim(&beside, err);
		sonde_beside_release(&beside);
	}
	return rc;
}

static void start_folding(struct sonde_run_keep *k, const struct sonde_word_list *all)
{
	struct sonde_err err = {0};
	int rc;

	k->folder = sonde_run_fork();
	if (k->folder != 0)
		return;
	rc = nice(NICENESS);
	rc = fold_excess(k, all, &err);
	if (rc && !k->has_failed)
		sonde_say("capture.keep: the oldest files could not be folded (%s): they stay", err.msg);
	_exit(rc != 0);
}

static void end_folding(struct sonde_run_keep *k, int status)
{
	k->folder = 0;
	k->next_ns = sonde_now_ns() + (status ? RETRY_NS : LOOK_NS);
	k->has_failed |= status != 0;
}

/* Starts folding when there are too many files. */
static void fold_if_needed(struct sonde_run_keep *k)
{
	struct sonde_arena arena = {0};
	struct sonde_word_list all = {0};
	uint32_t nr;

	k->next_ns = sonde_now_ns() + LOOK_NS;
	if (find_captures(k->dir, &all, &arena) == 0) {
		if (find_excess(&all, &k->run->set, &nr))
			start_folding(k, &all);
	}
	sonde_vec_release(&all);
	sonde_arena_release(&arena);
}

static bool is_kept(const struct sonde_run_keep *k)
{
	return k->run->set.keep_files || k->run->set.keep_bytes;
}

/* The tick of the watched program calls this. */
static void keep_look(struct sonde_run_keep *k)
{
	int status = 0;

	if (!is_kept(k))
		return;
	if (k->folder > 0 && waitpid(k->folder, &status, WNOHANG) == k->folder)
		end_folding(k, status);
	if (k->folder <= 0 && sonde_now_ns() >= k->next_ns)
		fold_if_needed(k);
}

/* The program has ended: folds what is still too much, and waits for that. */
static void keep_end(struct sonde_run_keep *k)
{
	int status = 0;

	if (!is_kept(k))
		return;
	if (k->folder > 0 && waitpid(k->folder, &status, 0) == k->folder)
		end_folding(k, status);
	if (k->has_failed)
		return;
	fold_if_needed(k);
	if (k->folder > 0)
		waitpid(k->folder, NULL, 0);
}

/* --- while the program runs -------------------------------------------------------------------- */

/* Called on the signal of capture.window=signal: opens the window, the next time closes it, and so on. */
static void toggle_window(void *of)
{
	struct sonde_run_live *l = of;

	sonde_inject_orders_capture(&l->orders, !sonde_inject_orders_is_on(&l->orders));
}

/* Makes the report in a process of its own: a large one takes a while, and the program must be watched meanwhile. */
static void start_report(struct sonde_run_live *l)
{
	struct sonde_err err = {0};

	sonde_inject_orders_flush(&l->orders);
	l->reporter = sonde_run_fork();
	if (l->reporter != 0)
		return;
	usleep(250000); /* time for the library to write what it has recorded */
	dup2(STDERR_FILENO, STDOUT_FILENO); /* standard output belongs to the program */
	if (sonde_run_show(l->run, l->dir, &err))
		sonde_say("the tree so far cannot be shown: %s", err.msg);
	_exit(0);
}

static void on_tick(void *of)
{
	struct sonde_run_live *l = of;

	sonde_ctl_serve(&l->ctl);
	keep_look(&l->keep);
	if (l->reporter > 0 && waitpid(l->reporter, NULL, WNOHANG) == l->reporter)
		l->reporter = 0;
	if (!l->every_ns || l->reporter > 0 || sonde_now_ns() < l->next_ns)
		return;
	l->next_ns = sonde_now_ns() + l->every_ns;
	if (sonde_native_is_there(l->dir))
		start_report(l);
}

int sonde_run_live_open(struct sonde_run_live *l, struct sonde_run *r, const char *dir,
	struct sonde_child_spec *spec, struct sonde_err *err)
{
	struct sonde_err why = {0};
	int rc;

	/* The tree is that of all ranks, so only one of them prints it. */
	*l = (struct sonde_run_live){.run = r, .dir = dir, .every_ns = r->dir.is_first ? r->set.every_ns : 0, .ctl = {.fd = -1, .dir_fd = -1},
		.keep = {.run = r, .dir = dir}};
	rc = sonde_native_attach_make(dir, NULL, err);
	if (rc == 0)
		rc = sonde_inject_orders_open(&l->orders, dir, err);
	if (rc)
		return rc;
	if (sonde_ctl_open(&l->ctl, dir, &l->orders, &why))
		sonde_say("`sonde ctl` cannot reach this run: %s", why.msg);
	l->next_ns = sonde_now_ns() + l->every_ns;
	spec->tick = on_tick;
	spec->tick_ms = TICK_MS;
	spec->own_signal = r->set.window.signal;
	spec->on_signal = toggle_window;
	spec->of = l;
	return 0;
}

void sonde_run_live_close(struct sonde_run_live *l)
{
	if (l->reporter > 0) {
		kill(l->reporter, SIGTERM); /* the final report follows */
		waitpid(l->reporter, NULL, 0);
	}
	keep_end(&l->keep);
	sonde_ctl_close(&l->ctl);
	sonde_inject_orders_release(&l->orders);
}
