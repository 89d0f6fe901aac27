#include "cli/run_keep.h"

#include "base/clock.h"

#include "capture/native_env.h"
#include "merge/rolling.h"
#include "lib/settings.h"
#include "read/folder_in.h"
#include "read/rolled.h"

#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_NS	  1000000000u
#define RETRY_NS  60000000000u
#define NICENESS  10
#define MAX_AT_ONCE 4 /* files: where folding is behind */

/* How many complete files a capture has beyond what shall be kept; the last one is still being written. */
static uint32_t count_excess(const char *path, const struct sonde_capture_settings *set)
{
	uint32_t next = sonde_capture_next(path), part = next ? next : 1;
	uint64_t nr_bytes = 0, nr = 0, size = 0;
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
	if (nr < 2 || (set->keep_bytes && nr_bytes <= set->keep_bytes))
		return 0;
	if (set->keep_bytes)
		return 1;
	return nr <= set->keep_files ? 0 : nr - set->keep_files < MAX_AT_ONCE ? (uint32_t)(nr - set->keep_files) : MAX_AT_ONCE;
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

/* In the process that folds: all there is too much of, as the report of the run will have it. */
static int fold_excess(const struct sonde_run_keep *k, const struct sonde_word_list *all, struct sonde_err *err)
{
	struct sonde_settings s = {0};
	int rc = sonde_settings_read(&s, k->run->config, SONDE_STAND_IN_NEVER, err);
	uint32_t nr;
	size_t i;

	s.fold.choice = (struct sonde_choice){0}; /* all metrics: any report can choose */
	s.fold.cores = 1;
	for (i = 0; i < all->nr && rc == 0; i++)
		while (rc == 0 && (nr = count_excess(all->at[i], &k->run->set)))
			rc = sonde_roll(all->at[i], nr, &s.fold, err);
	return rc;
}

static void start(struct sonde_run_keep *k, const struct sonde_word_list *all)
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

static void take_end(struct sonde_run_keep *k, int status)
{
	k->folder = 0;
	k->next_ns = sonde_now_ns() + (status ? RETRY_NS : LOOK_NS);
	k->has_failed |= status != 0;
}

/* Starts folding where there is too much. */
static void look(struct sonde_run_keep *k)
{
	struct sonde_arena arena = {0};
	struct sonde_word_list all = {0};
	size_t i;

	k->next_ns = sonde_now_ns() + LOOK_NS;
	if (find_captures(k->dir, &all, &arena) == 0) {
		for (i = 0; i < all.nr && !count_excess(all.at[i], &k->run->set); i++)
			;
		if (i < all.nr)
			start(k, &all);
	}
	sonde_vec_release(&all);
	sonde_arena_release(&arena);
}

static bool is_on(const struct sonde_run_keep *k)
{
	return k->run->set.keep_files || k->run->set.keep_bytes;
}

void sonde_run_keep_look(struct sonde_run_keep *k)
{
	int status = 0;

	if (!is_on(k))
		return;
	if (k->folder > 0 && waitpid(k->folder, &status, WNOHANG) == k->folder)
		take_end(k, status);
	if (k->folder <= 0 && sonde_now_ns() >= k->next_ns)
		look(k);
}

void sonde_run_keep_end(struct sonde_run_keep *k)
{
	int status = 0;

	if (!is_on(k))
		return;
	if (k->folder > 0 && waitpid(k->folder, &status, 0) == k->folder)
		take_end(k, status);
	if (k->has_failed)
		return;
	look(k);
	if (k->folder > 0)
		waitpid(k->folder, NULL, 0);
}
