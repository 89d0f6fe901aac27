/*
 * Files and directories → parts: read → attribute → fold, input by input, each
 * freed as soon as it is folded (crew.h). Parts are put together in the order of
 * the inputs, whoever was first.
 */
#include "fold/fold_int.h"

#include "base/alloc.h"
#include "base/file.h"
#include "fold/crew.h"
#include "fold/partial.h"
#include "read/folder_in.h"

#include <sys/stat.h>

struct opening {
	struct sonde_parts *out;
	const struct sonde_fold_request *request;
	struct sonde_notes pending; /* of files left out: said with the next part */
	size_t nr_before;	    /* parts of the inputs before this file or directory */
};

void sonde_parts_release(struct sonde_parts *parts)
{
	size_t i;

	for (i = 0; i < parts->at.nr; i++)
		sonde_cells_free(parts->at.at[i]);
	sonde_vec_release(&parts->at);
}

static int add_part(struct opening *o, struct sonde_cells *part, struct sonde_err *err)
{
	struct sonde_cells **slot = sonde_vec_push(&o->out->at);
	struct sonde_notes own = part->notes;

	if (!slot) {
		sonde_cells_free(part);
		return sonde_err_nomem(err);
	}
	*slot = part;
	part->notes = o->pending;
	o->pending = (struct sonde_notes){0};
	sonde_notes_add(&part->notes, &own);
	sonde_notes_release(&own);
	return 0;
}

/* Several files are one input when they cannot be told apart: see read_native. */
static int read_captures(
	struct opening *o, const char *const *paths, size_t nr, struct sonde_err *err)
{
	struct sonde_records *records = NULL;
	struct sonde_launches *launches = NULL;
	struct sonde_cells *part = NULL;
	int rc = sonde_records_open_with(&records, paths, nr, &o->request->read, err);

	if (rc == 0)
		rc = sonde_launches_build(&launches, records, &o->request->selection, err);
	if (rc == 0)
		rc = sonde_cells_fold(&part, launches, o->request, err);
	sonde_launches_free(launches);
	sonde_records_free(records);
	return rc ? rc : add_part(o, part, err);
}

/* Whether a sampler of ours wrote it: its name says so. */
static bool is_samples(const char *path)
{
	struct sonde_str name = sonde_str_from(path);
	size_t at;

	while ((at = sonde_str_find(name, '/')) < name.n)
		name = (struct sonde_str){name.p + at + 1, name.n - at - 1};
	return sonde_str_starts(name, "samples-") && sonde_str_ends(name, ".sonde");
}

/*
 * Samples are of a device, and whatever ran there is in them: they are split among the launches of
 * all processes of their directory, so these are folded together. Fills `taken` for those read.
 */
static int read_sampled(
	struct opening *o, const struct sonde_paths *all, bool *taken, struct sonde_err *err)
{
	const char **native = sonde_calloc(all->at.nr + 1, sizeof(*native));
	size_t i, nr = 0, nr_samples = 0;
	int rc = 0;

	if (!native)
		return sonde_err_nomem(err);
	for (i = 0; i < all->at.nr; i++) {
		nr_samples += is_samples(all->at.at[i]);
		if (sonde_str_ends(sonde_str_from(all->at.at[i]), ".sonde"))
			native[nr++] = all->at.at[i];
	}
	if (nr_samples && nr > nr_samples)
		rc = read_captures(o, native, nr, err);
	for (i = 0; nr_samples && nr > nr_samples && i < all->at.nr && rc == 0; i++)
		taken[i] = sonde_str_ends(sonde_str_from(all->at.at[i]), ".sonde");
	sonde_free(native);
	/* One that cannot be read at all is found out, and left out, file by file. */
	return rc == SONDE_ERR_FORMAT || rc == SONDE_ERR_IO ? 0 : rc;
}

static bool is_partial(const char *path)
{
	struct sonde_buf head = {0};
	bool is = sonde_file_head(&head, path) && sonde_partial_knows(sonde_buf_view(&head));

	sonde_buf_release(&head);
	return is;
}

/* A partial report among captures; 1: it is none. */
static int read_partial(struct opening *o, const char *path, struct sonde_err *err)
{
	struct sonde_mapping file = {0};
	size_t first = o->out->at.nr, i;
	int rc = is_partial(path) ? 0 : 1; /* of one that is not there the reader of captures speaks */

	if (rc == 0)
		rc = sonde_mapping_open_inflated(&file, path, err);
	if (rc == 0)
		rc = sonde_partial_read(o->out, file.data, path, err);
	for (i = first; rc == 0 && i < o->out->at.nr; i++) {
		if (o->request->keeps_timeline)
			sonde_note(&o->out->at.at[i]->notes,
				"partial reports contain no single launches: what is shown by "
				"launch or over time lacks them; report on the captures for that");
	}
	sonde_mapping_release(&file);
	return rc;
}

int sonde_parts__read(struct sonde_parts *out, const char *path,
	const struct sonde_fold_request *request, struct sonde_err *err)
{
	struct opening o = {.out = out, .request = request};
	int rc = read_partial(&o, path, err);

	return rc == 1 ? read_captures(&o, &path, 1, err) : rc;
}

/* --- all inputs of a kind ------------------------------------------------------------------------ */

/* What became of an input. */
struct result {
	struct sonde_parts parts;
	int rc;
	struct sonde_err *err; /* with `rc` */
};

struct results {
	struct sonde_taker taker;
	struct result *at;
};

static void take(struct sonde_taker *t, size_t number, struct sonde_parts *parts, int rc,
	const struct sonde_err *err)
{
	struct result *r = &((struct results *)t)->at[number];

	r->parts = *parts;
	*parts = (struct sonde_parts){0};
	r->rc = rc;
	r->err = rc ? sonde_malloc(sizeof(*err)) : NULL;
	if (r->err)
		*r->err = *err;
}

/* Hands over what an input came to, with the notes of those before it; its error is the caller's. */
static int take_result(struct opening *o, struct result *r, struct sonde_err *err)
{
	size_t i;
	int rc = 0;

	if (r->rc && !r->err)
		return sonde_err_nomem(err);
	if (r->rc && err)
		*err = *r->err;
	if (r->rc)
		return r->rc;
	for (i = 0; i < r->parts.at.nr && rc == 0; i++) {
		rc = add_part(o, r->parts.at.at[i], err);
		r->parts.at.at[i] = NULL;
	}
	return rc;
}

static int fold_all(const struct opening *o, const struct sonde_task *task,
	struct sonde_taker *taker, struct sonde_err *err)
{
	struct sonde_sharing *others = o->request->sharing;

	if (others)
		return others->fold(others, task, taker, err);
	sonde_crew_fold(task, 0, 1, taker);
	return 0;
}

/* Reads `paths`, all at once. Where `leaves_out`, one that cannot be read is a note, unless it is so with all. */
static int read_all(struct opening *o, const char *const *paths, size_t nr, bool leaves_out,
	struct sonde_err *err)
{
	const struct sonde_task task = {o->request, paths, nr};
	struct results results = {.taker = {take}};
	size_t i;
	int rc, last = 0;

	results.at = sonde_calloc(nr + 1, sizeof(*results.at));
	if (!results.at)
		return sonde_err_nomem(err);
	rc = fold_all(o, &task, &results.taker, err);
	for (i = 0; i < nr; i++) {
		struct result *r = &results.at[i];
		int one = rc ? rc : take_result(o, r, err);

		last = one;
		if (rc == 0 && leaves_out && (one == SONDE_ERR_FORMAT || one == SONDE_ERR_IO))
			sonde_note(&o->pending, "%s; it is left out", err->msg);
		else
			rc = one;
		sonde_parts_release(&r->parts);
		sonde_free(r->err);
	}
	sonde_free(results.at);
	if (rc || o->out->at.nr == o->nr_before)
		return rc ? rc : last;
	/* what came after the last that was read */
	sonde_notes_add(&o->out->at.at[o->out->at.nr - 1]->notes, &o->pending);
	sonde_notes_release(&o->pending);
	o->pending = (struct sonde_notes){0};
	return 0;
}

/* The captures of a directory. One that cannot be read is a note, unless it is so with all. */
static int read_directory(struct opening *o, const char *path, struct sonde_err *err)
{
	struct sonde_arena arena = {0};
	struct sonde_paths all = {0};
	size_t i, left = 0;
	bool *taken;
	int rc = sonde_folder__expand(&all, path, &arena, &o->pending, err);

	taken = rc == 0 ? sonde_calloc(all.at.nr + 1, sizeof(*taken)) : NULL;
	if (rc == 0)
		rc = taken ? read_sampled(o, &all, taken, err) : sonde_err_nomem(err);
	for (i = 0; i < all.at.nr && rc == 0; i++)
		if (!taken[i])
			all.at.at[left++] = all.at.at[i];
	if (rc == 0)
		rc = read_all(o, all.at.at, left, true, err);
	sonde_free(taken);
	sonde_vec_release(&all.at);
	sonde_arena_release(&arena);
	return rc;
}

/* A selection that was asked for must be that of every part. None asked for is theirs. */
static int check_request(const struct opening *o, struct sonde_err *err)
{
	const char *const known = "known";
	const struct sonde_selection *s = &o->request->selection;
	const struct sonde_selection none = {0}, usual = {.labels = {&known, 1}};
	size_t i;

	if (sonde_selection__is_same(s, &none) || sonde_selection__is_same(s, &usual))
		return 0;
	for (i = 0; i < o->out->at.nr; i++) {
		const struct sonde_cells *part = o->out->at.at[i];

		if (!sonde_selection__is_same(s, &part->selection))
			return sonde_err_set(err, SONDE_ERR_USAGE,
				"the partial report of %.*s was made with another selection, and "
				"that cannot be changed afterwards: make it again with this one, "
				"or "
				"report on the capture",
				SONDE_STR_ARG(part->inputs.at[0].path));
	}
	return 0;
}

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int sonde_parts_open(struct sonde_parts *out, const char *const *paths, size_t nr_paths,
	const struct sonde_fold_request *request, struct sonde_err *err)
{
	struct opening o = {.out = out, .request = request};
	bool leaves_out = request->sharing != NULL; /* nobody names thousands of files one by one */
	size_t i, end;
	int rc = 0;

	for (i = 0; i < nr_paths && rc == 0; i = end) { /* files in a row go together */
		o.nr_before = out->at.nr;
		for (end = i; end < nr_paths && !is_directory(paths[end]); end++)
			;
		if (end > i)
			rc = read_all(&o, &paths[i], end - i, leaves_out, err);
		else
			rc = read_directory(&o, paths[end++], err);
	}
	sonde_notes_release(&o.pending);
	if (request->sharing)
		request->sharing->end(request->sharing);
	return rc ? rc : check_request(&o, err);
}

int sonde_parts_unite(struct sonde_cells **out, struct sonde_parts *parts, struct sonde_err *err)
{
	int rc = sonde_cells_unite(out, parts->at.at, parts->at.nr, err);

	sonde_vec_release(&parts->at);
	return rc;
}
