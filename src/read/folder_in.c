#include "read/folder_in.h"

#include "read/unpack.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_DEPTH 4
#define NR_KINDS  5
#define TRACES	  3

static const char *const suffixes[NR_KINDS] = {
	".ncu-rep", ".sonde", ".sqlite", ".json", ".sondecells"};

struct walk {
	struct sonde_word_list found[NR_KINDS];
	struct sonde_arena *arena;
	struct sonde_notes *notes;
	struct sonde_err *err;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The number of the kind that a file's name tells, NR_KINDS for none. */
static size_t kind_of(struct sonde_str s)
{
	size_t i;

	if (sonde_str_ends(s, ".gz"))
		s.n -= strlen(".gz");
	if (sonde_str_ends(s, ".tar")) /* of several of a kind: node3.sonde.tar */
		s.n -= strlen(".tar");
	for (i = 0; i < NR_KINDS && !sonde_str_ends(s, suffixes[i]); i++)
		;
	return i;
}

bool sonde_folder_is_capture(struct sonde_str path)
{
	return kind_of(path) < NR_KINDS;
}

/* An empty one is no capture: its writer was stopped, or had no room. */
static int add(struct walk *w, const char *path, bool is_empty)
{
	size_t kind = kind_of(sonde_str_from(path));

	if (kind == NR_KINDS || (kind == TRACES && !sonde_is_trace(path)))
		return 0; /* JSON is much else, too */
	if (is_empty) {
		sonde_note(w->notes, "%s: the file is empty; it is left out", path);
		return 0;
	}
	return sonde_word_list_add(&w->found[kind], path) ? 0 : sonde_err_nomem(w->err);
}

static bool is_skipped(const char *name)
{
	return name[0] == '.' || strcmp(name, "regions") == 0 || strcmp(name, "discover") == 0;
}

static int walk(struct walk *w, const char *dir, unsigned depth)
{
	DIR *d = opendir(dir);
	const char *slash = sonde_str_ends(sonde_str_from(dir), "/") ? "" : "/";
	struct dirent *e;
	struct stat st;
	int rc = 0;

	if (!d && depth == 0)
		return sonde_err_io(w->err, dir, errno);
	while (d && rc == 0 && (e = readdir(d))) {
		const char *path;

		if (is_skipped(e->d_name))
			continue;
		path = sonde_arena_printf(w->arena, "%s%s%s", dir, slash, e->d_name).p;
		if (!path)
			rc = sonde_err_nomem(w->err);
		else if (lstat(path, &st) < 0)
			continue;
		else if (S_ISDIR(st.st_mode) && depth < MAX_DEPTH)
			rc = walk(w, path, depth + 1);
		else if (S_ISREG(st.st_mode))
			rc = add(w, path, st.st_size == 0);
	}
	if (d)
		closedir(d);
	return rc;
}

static void note_others(struct walk *w, size_t taken, const char *dir, struct sonde_notes *notes)
{
	size_t i;

	for (i = taken + 1; i < NR_KINDS; i++)
		if (w->found[i].nr)
			sonde_note(notes,
				"%s also contains %zu other capture%s (%s): name the file to "
				"report on it",
				dir, w->found[i].nr, w->found[i].nr == 1 ? "" : "s",
				suffixes[i]);
}

int sonde_folder_expand(struct sonde_word_list *out, const char *dir, struct sonde_arena *arena,
	struct sonde_notes *notes, struct sonde_err *err)
{
	struct walk w = {.arena = arena, .notes = notes, .err = err};
	size_t i, k;
	int rc = walk(&w, dir, 0);

	for (i = 0; i < NR_KINDS && rc == 0 && !w.found[i].nr; i++)
		;
	if (rc == 0 && i == NR_KINDS)
		rc = sonde_err_set(err, SONDE_ERR_IO,
			"%s: a directory without captures (no .ncu-rep, .sonde, .sqlite or .sondecells "
			"file, no torch.profiler trace): name another, or a file",
			dir);
	if (rc == 0) {
		sonde_vec_sort(&w.found[i], by_name);
		note_others(&w, i, dir, notes);
		*out = w.found[i];
		w.found[i] = (struct sonde_word_list){0};
	}
	for (k = 0; k < NR_KINDS; k++)
		sonde_vec_release(&w.found[k]);
	return rc;
}
