#include "read/folder_in.h"

#include "base/map.h"
#include "format/capture.h"
#include "read/unpack.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAX_DEPTH 4
#define NR_KINDS  5
#define TRACES	  3
#define NO_RUN	  SIZE_MAX
#define CAPTURE_TRACES "capture_traces"

static const char *const suffixes[NR_KINDS] = {
	".ncu-rep", ".sonde", ".sqlite", ".json", ".sondecells"};

struct found {
	const char *path;
	size_t run; /* run directory it is in (number in `runs`), NO_RUN = none */
	unsigned kind;
	bool is_empty;
	bool is_of_capture; /* in capture_traces/: read together with the trace beside that folder */
};

/* A run directory that was found. */
struct run {
	const char *path;
	char when[32]; /* its start as digits, so that text sorts by time */
	size_t nr;     /* number of captures in it */
};

/* A link to a file. */
struct link {
	const char *path; /* path of the file it points to */
	unsigned kind;
	size_t run; /* run directory the link is in, NO_RUN = none */
	struct stat st;
};

struct walk {
	SONDE_VEC(struct found) found;
	const char *top; /* real path of the directory, without links; NULL = not known */
	struct sonde_map files; /* device and inode numbers of each file found */
	SONDE_VEC(struct link) links; /* followed at the end: most point to files that are found anyway */
	SONDE_VEC(struct run) runs;
	struct sonde_arena *arena;
	struct sonde_notes *notes;
	struct sonde_err *err;
};

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct found *)a)->path, ((const struct found *)b)->path);
}

/* --- runs ------------------------------------------------------------------------------------- */

static bool is_there(const char *dir, const char *name)
{
	char path[4096];

	return snprintf(path, sizeof(path), "%s/%s", dir, name) < (int)sizeof(path) &&
	       access(path, F_OK) == 0;
}

static bool is_run(const char *dir)
{
	return is_there(dir, "config.yaml") && is_there(dir, "inputs.yaml");
}

/* Whether a folder is a run directory, or is in one: `RUN/native`, `RUN/ncu/regions`. */
static bool is_inside_run(const char *dir)
{
	char path[4096];

	if (is_run(dir) || (snprintf(path, sizeof(path), "%s/..", dir) < (int)sizeof(path) && is_run(path)))
		return true;
	return snprintf(path, sizeof(path), "%s/../..", dir) < (int)sizeof(path) && is_run(path);
}

/*
 * Finds the start of a run: from its name (`20260131-120000`, perhaps with a number after it), else from the time of
 * its inputs.yaml.
 */
static void find_start(struct run *r)
{
	static const char form[] = "dddddddd-dddddd";
	struct sonde_str name = sonde_str_base(sonde_str_from(r->path));
	char path[4096];
	struct stat st;
	struct tm tm;
	size_t i;

	for (i = 0; i < sizeof(form) - 1 && i < name.n; i++)
		if (form[i] == 'd' ? name.p[i] < '0' || name.p[i] > '9' : name.p[i] != form[i])
			break;
	if (i == sizeof(form) - 1)
		snprintf(r->when, sizeof(r->when), "%.*s", (int)i, name.p);
	else if (snprintf(path, sizeof(path), "%s/inputs.yaml", r->path) < (int)sizeof(path) &&
		 stat(path, &st) == 0 && localtime_r(&st.st_mtime, &tm)) {
		i = strftime(r->when, sizeof(r->when), "%Y%m%d-%H%M%S", &tm);
		snprintf(r->when + i, sizeof(r->when) - i, ".%09ld", st.st_mtim.tv_nsec);
	}
}

/* Runs of the same second have a number, or a name, after the time: of two numbers the longer one is later. */
static bool is_newer(const struct run *a, const struct run *b)
{
	int c = strcmp(a->when, b->when);
	size_t x = strlen(a->path), y = strlen(b->path);

	if (c)
		return c > 0;
	return x != y ? x > y : strcmp(a->path, b->path) > 0;
}

static int add_run(struct walk *w, const char *path)
{
	struct run *r = sonde_vec_push(&w->runs);

	if (!r)
		return sonde_err_nomem(w->err);
	r->path = path;
	find_start(r);
	return 0;
}

/* --- walking ---------------------------------------------------------------------------------- */

/* The kind of a file by its name; NR_KINDS = none. */
static unsigned kind_of(struct sonde_str s)
{
	unsigned i;

	if (sonde_str_ends(s, ".gz"))
		s.n -= strlen(".gz");
	if (sonde_str_ends(s, ".tar")) /* an archive of several captures of one kind: node3.sonde.tar */
		s.n -= strlen(".tar");
	for (i = 0; i < NR_KINDS && !sonde_str_ends(s, suffixes[i]); i++)
		;
	return i;
}

bool sonde_folder_is_capture(struct sonde_str path)
{
	return kind_of(path) < NR_KINDS;
}

bool sonde_folder_is_samples(const char *path)
{
	struct sonde_str all = sonde_str_from(path);

	return sonde_str_starts(sonde_str_base(all), SONDE_SAMPLES_PREFIX) && sonde_str_ends(all, SONDE_CAPTURE_SUFFIX);
}

/* Whether this is a trace of a captured graph: those are in a folder of that name, beside the traces they belong to. */
static bool is_of_capture(const char *path, unsigned kind)
{
	struct sonde_str dir = sonde_str_from(path);

	dir.n = (size_t)(sonde_str_base(dir).p - dir.p);
	return kind == TRACES && sonde_str_ends(dir, "/" CAPTURE_TRACES "/");
}

static int add_file(struct walk *w, const char *path, unsigned kind, size_t run, const struct stat *st)
{
	const uint64_t id[] = {(uint64_t)st->st_dev, (uint64_t)st->st_ino};
	bool is_empty = st->st_size == 0;

	if (kind == NR_KINDS || (kind == TRACES && !is_empty && !sonde_is_trace(path)))
		return 0; /* not every .json file is a trace */
	return sonde_map_keep(&w->files, w->arena, SONDE_BYTES(id), NULL) != SONDE_NONE &&
			       sonde_vec_put(&w->found,
				       (struct found){path, run, kind, is_empty, is_of_capture(path, kind)})
		       ? 0
		       : sonde_err_nomem(w->err);
}

static bool is_below(const char *path, const char *top)
{
	size_t n = strlen(top);

	return strncmp(path, top, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/*
 * Links to files are followed, because people collect captures with links; links to folders are not, because they
 * may form a loop. The path that is kept has no links: the other files of a capture are beside the real file.
 */
static int add_link(struct walk *w, const char *path, size_t run)
{
	struct link link = {.kind = kind_of(sonde_str_from(path)), .run = run};
	char whole[PATH_MAX];
	bool leads = realpath(path, whole) && stat(whole, &link.st) == 0;

	if (leads && S_ISDIR(link.st.st_mode) && w->top && !is_below(whole, w->top))
		sonde_note(w->notes,
			"%s: a link to another folder, which sonde does not follow: name it to report on its "
			"captures",
			path);
	if (!leads && link.kind < NR_KINDS)
		sonde_note_loss(w->notes, "%s: a broken link; it is left out", path);
	if (!leads || !S_ISREG(link.st.st_mode) || link.kind == NR_KINDS)
		return 0;
	link.path = sonde_arena_z(w->arena, sonde_str_from(whole));
	return link.path && sonde_vec_put(&w->links, link) ? 0 : sonde_err_nomem(w->err);
}

/* Adds the files that only links lead to. */
static int add_links(struct walk *w)
{
	size_t i;
	int rc = 0;

	for (i = 0; i < w->links.nr && rc == 0; i++) {
		const struct link *l = &w->links.at[i];
		const uint64_t id[] = {(uint64_t)l->st.st_dev, (uint64_t)l->st.st_ino};

		if (sonde_map_find(&w->files, SONDE_BYTES(id)) == SONDE_NONE)
			rc = add_file(w, l->path, l->kind, l->run, &l->st);
	}
	return rc;
}

static bool is_skipped(const char *name)
{
	return name[0] == '.' || strcmp(name, "regions") == 0 || strcmp(name, "discover") == 0;
}

static int walk_folder(struct walk *w, const char *dir, unsigned depth, size_t run)
{
	DIR *d = opendir(dir);
	const char *slash = sonde_str_ends(sonde_str_from(dir), "/") ? "" : "/";
	struct dirent *e;
	struct stat st;
	int rc = 0;

	if (!d && depth == 0)
		return sonde_err_io(w->err, dir, errno);
	if (d && depth && run == NO_RUN && is_run(dir)) {
		run = w->runs.nr;
		rc = add_run(w, dir);
	}
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
			rc = walk_folder(w, path, depth + 1, run);
		else if (S_ISLNK(st.st_mode))
			rc = add_link(w, path, run);
		else if (S_ISREG(st.st_mode))
			rc = add_file(w, path, kind_of(sonde_str_from(path)), run, &st);
	}
	if (d)
		closedir(d);
	return rc;
}

/* --- choosing --------------------------------------------------------------------------------- */

static size_t count_kind(const struct walk *w, unsigned kind)
{
	size_t i, nr = 0;

	for (i = 0; i < w->found.nr; i++)
		nr += w->found.at[i].kind == kind && !w->found.at[i].is_empty;
	return nr;
}

static void note_others(const struct walk *w, unsigned taken, const char *dir)
{
	unsigned i;

	for (i = taken + 1; i < NR_KINDS; i++)
		if (count_kind(w, i))
			sonde_note(w->notes,
				"%s also contains %zu other capture%s (%s): name the file to "
				"report on it",
				dir, count_kind(w, i), count_kind(w, i) == 1 ? "" : "s", suffixes[i]);
}

/*
 * An empty file is not a capture: its writer was stopped, or the disk was full. An empty .json may be anything, so it
 * is noted only when there are traces beside it.
 */
static void note_empty(const struct walk *w, unsigned taken)
{
	size_t i;

	for (i = 0; i < w->found.nr; i++)
		if (w->found.at[i].is_empty && (w->found.at[i].kind != TRACES || taken == TRACES))
			sonde_note_loss(w->notes, "%s: the file is empty; it is left out",
				w->found.at[i].path);
}

/* Chooses the newest of several runs. With captures beside the runs it is unclear which are meant: an error. */
static int choose_run(struct walk *w, struct sonde_folder *f)
{
	const struct run *newest = NULL, *best = NULL;
	size_t i, nr_loose = 0, nr = 0;

	for (i = 0; i < w->found.nr; i++) {
		nr_loose += w->found.at[i].run == NO_RUN;
		if (w->found.at[i].run != NO_RUN)
			w->runs.at[w->found.at[i].run].nr++;
	}
	for (i = 0; i < w->runs.nr; i++) {
		const struct run *r = &w->runs.at[i];

		newest = !newest || is_newer(r, newest) ? r : newest;
		best = r->nr && (!best || is_newer(r, best)) ? r : best;
		nr += r->nr > 0;
	}
	if (!best)
		return 0;
	if (nr_loose)
		return sonde_err_set(w->err, SONDE_ERR_USAGE,
			"%s holds %zu run%s and captures beside %s, but a report covers one job: name one "
			"(sonde report %s is the newest run), or add all up with --together "
			"(report.together=true)",
			f->dir, nr, nr == 1 ? "" : "s", nr == 1 ? "it" : "them", best->path);
	sonde_vec_filter(&w->found, k, w->found.at[k].run == (size_t)(best - w->runs.at));
	f->is_run = true;
	f->run = best->path;
	if (nr > 1 || newest != best)
		sonde_note(w->notes,
			"%s holds %zu run%s: the newest%s, %s, is read; name another, or add all up with "
			"--together (report.together=true)",
			f->dir, nr, nr == 1 ? "" : "s", newest != best ? " that has captures" : "", best->path);
	return 0;
}

static int take_kind(struct walk *w, struct sonde_folder *f)
{
	unsigned kind = 0;
	bool has_others = false;
	size_t i;

	while (kind < NR_KINDS && !count_kind(w, kind))
		kind++;
	if (kind == NR_KINDS)
		return sonde_err_set(w->err, SONDE_ERR_IO,
			"%s: a directory without captures (no .ncu-rep, .sonde, .sqlite or .sondecells "
			"file, no torch.profiler trace): name another directory, or a file",
			f->dir);
	for (i = 0; i < w->found.nr && !has_others; i++)
		has_others = w->found.at[i].kind == kind && !w->found.at[i].is_of_capture;
	if (has_others)
		sonde_vec_filter(&w->found, k, !w->found.at[k].is_of_capture);
	sonde_vec_sort(&w->found, by_path);
	note_empty(w, kind);
	note_others(w, kind, f->dir);
	for (i = 0; i < w->found.nr; i++)
		if (w->found.at[i].kind == kind && !w->found.at[i].is_empty &&
			!sonde_word_list_add(&f->files, w->found.at[i].path))
			return sonde_err_nomem(w->err);
	return 0;
}

int sonde_folder_expand(struct sonde_folder *f, struct sonde_arena *arena,
	struct sonde_notes *notes, struct sonde_err *err)
{
	char top[PATH_MAX];
	struct walk w = {.arena = arena, .notes = notes, .err = err, .top = realpath(f->dir, top)};
	int rc = walk_folder(&w, f->dir, 0, NO_RUN);

	if (rc == 0)
		rc = add_links(&w);
	f->is_run = is_inside_run(f->dir);
	f->run = is_run(f->dir) ? f->dir : NULL;
	if (rc == 0 && !f->together && !f->is_run)
		rc = choose_run(&w, f);
	if (rc == 0)
		rc = take_kind(&w, f);
	sonde_vec_release(&w.found);
	sonde_vec_release(&w.runs);
	sonde_vec_release(&w.links);
	sonde_map_release(&w.files);
	return rc;
}
