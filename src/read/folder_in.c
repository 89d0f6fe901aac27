#include "read/folder_in.h"

#include "base/map.h"
#include "read/unpack.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_DEPTH 4
#define NR_KINDS  5
#define TRACES	  3

static const char *const suffixes[NR_KINDS] = {
	".ncu-rep", ".sonde", ".sqlite", ".json", ".sondecells"};

/* A link to a file, by the name of the link. */
struct link {
	const char *path; /* of the file */
	size_t kind;
	struct stat st;
};

struct walk {
	struct sonde_word_list found[NR_KINDS];
	const char *top; /* without links; NULL = not known */
	struct sonde_map files; /* device and number of each that was found */
	SONDE_VEC(struct link) links; /* followed at the end: most lead to what is found anyway */
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
static int add(struct walk *w, const char *path, size_t kind, const struct stat *st)
{
	const uint64_t id[] = {(uint64_t)st->st_dev, (uint64_t)st->st_ino};

	if (kind == NR_KINDS || (kind == TRACES && !sonde_is_trace(path)))
		return 0; /* JSON is much else, too */
	if (st->st_size == 0) {
		sonde_note_loss(w->notes, "%s: the file is empty; it is left out", path);
		return 0;
	}
	return sonde_map_keep(&w->files, w->arena, SONDE_BYTES(id), NULL) != SONDE_NONE &&
			       sonde_word_list_add(&w->found[kind], path)
		       ? 0
		       : sonde_err_nomem(w->err);
}

static bool is_below(const char *path, const char *top)
{
	size_t n = strlen(top);

	return strncmp(path, top, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/*
 * Links to files are followed, as people collect captures by them; those to folders are not, as
 * they may go round in circles. A path without links: what belongs to a capture lies beside it.
 */
static int add_link(struct walk *w, const char *path)
{
	struct link link = {.kind = kind_of(sonde_str_from(path))};
	char whole[PATH_MAX];
	bool leads = realpath(path, whole) && stat(whole, &link.st) == 0;

	if (leads && S_ISDIR(link.st.st_mode) && w->top && !is_below(whole, w->top))
		sonde_note(w->notes,
			"%s: a link to another folder, which is not looked into: name it to report on its "
			"captures",
			path);
	if (!leads && link.kind < NR_KINDS)
		sonde_note_loss(w->notes, "%s: a link that leads to nothing; it is left out", path);
	if (!leads || !S_ISREG(link.st.st_mode) || link.kind == NR_KINDS)
		return 0;
	link.path = sonde_arena_z(w->arena, sonde_str_from(whole));
	return link.path && sonde_vec_put(&w->links, link) ? 0 : sonde_err_nomem(w->err);
}

/* Those that lead to what was not found without them. */
static int add_links(struct walk *w)
{
	size_t i;
	int rc = 0;

	for (i = 0; i < w->links.nr && rc == 0; i++) {
		const struct link *l = &w->links.at[i];
		const uint64_t id[] = {(uint64_t)l->st.st_dev, (uint64_t)l->st.st_ino};

		if (sonde_map_find(&w->files, SONDE_BYTES(id)) == SONDE_NONE)
			rc = add(w, l->path, l->kind, &l->st);
	}
	return rc;
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
		else if (S_ISLNK(st.st_mode))
			rc = add_link(w, path);
		else if (S_ISREG(st.st_mode))
			rc = add(w, path, kind_of(sonde_str_from(path)), &st);
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
	char top[PATH_MAX];
	struct walk w = {.arena = arena, .notes = notes, .err = err, .top = realpath(dir, top)};
	size_t i, k;
	int rc = walk(&w, dir, 0);

	if (rc == 0)
		rc = add_links(&w);
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
	sonde_map_release(&w.files);
	sonde_vec_release(&w.links);
	return rc;
}
