/*
 * Files and directories → parts: read → attribute → fold, input by input. Each input is
 * freed as soon as it is folded (input_queue.h). Parts are put in the order of the inputs,
 * whichever was folded first.
 */
#include "merge/merging.h"

#include "base/alloc.h"
#include "base/file.h"
#include "cellfile/cellfile.h"
#include "merge/input_queue.h"
#include "merge/scopes_kept.h"
#include "merge/rolling.h"
#include "read/folder_in.h"
#include "read/jobs.h"
#include "read/records.h"
#include "read/rolled.h"

#include <stdlib.h>
#include <string.h>

/* --- one input ----------------------------------------------------------------------------------- */

/* Folds captures together to one part: samples, and the captures that ran on their device. */
static int read_captures(struct sonde_parts *out, const char *const *paths, size_t nr,
	const struct sonde_fold_request *request, struct sonde_err *err)
{
	struct sonde_records *records = NULL;
	struct sonde_cells *part = NULL;
	int rc = sonde_records_open(&records, paths, nr, &request->read, err);

	if (rc == 0)
		rc = sonde_rolled_fold(&part, records, request, err);
	sonde_records_free(records);
	if (rc == 0 && !sonde_vec_put(&out->at, part)) {
		sonde_cells_free(part);
		rc = sonde_err_nomem(err);
	}
	return rc;
}

static int read_partial(struct sonde_parts *out, const char *path,
	const struct sonde_fold_request *request, struct sonde_err *err)
{
	struct sonde_mapping file = {0};
	size_t i = out->at.nr;
	int rc = sonde_mapping_open_inflated(&file, path, err);

	if (rc == 0)
		rc = sonde_cellfile_read(out, file.data, path, err);
	for (; rc == 0 && i < out->at.nr && request->keeps_timeline; i++)
		sonde_note(&out->at.at[i]->notes,
			"partial reports contain no single launches, so they are missing from what is shown by "
			"launch or over time; report on the captures for that");
	sonde_mapping_release(&file);
	return rc;
}

int sonde_parts_read(struct sonde_parts *out, const char *path,
	const struct sonde_fold_request *request, struct sonde_err *err)
{
	/* The reader of captures reports files that do not exist. */
	return sonde_cellfile_is(path) ? read_partial(out, path, request, err)
				: read_captures(out, &path, 1, request, err);
}

/* --- files that belong together ------------------------------------------------------------------ */

/* A note about files that are left out; it goes with the next part. */
struct remark {
	uint64_t order;
	struct sonde_str text;
	bool is_loss;
};

/* All inputs of a report while they are opened. */
struct opening {
	struct sonde_taker taker; /* first member, as take_file casts it to the opening */
	const struct sonde_fold_request *request;
	struct sonde_keeper keeper;
	uint64_t nr_files; /* number of files so far: gives the order of parts, and of remarks among them */
	size_t nr_read;	   /* number of parts of the current directory or group of files */
	struct sonde_jobs jobs; /* the jobs in the current directory, if asks_jobs */
	bool asks_jobs;		/* the directory must hold a single job */
	const struct sonde_task *task;	/* the files that are folded now */
	struct sonde_err **errors;	/* by file of the task: why it cannot be read, NULL = it was read */
	bool failed;			/* no memory for an error */
	SONDE_VEC(struct remark) remarks;
	struct sonde_arena arena;
};

/* The order of a part: the number of its file, then its number in the file in the lower PARTS_OF_FILE bits. */
#define PARTS_OF_FILE 24 /* bits */

/* Gives the parts of a file to the keeper, which reports at the end if there was no memory. */
static void keep_parts(
	struct opening *o, struct sonde_parts *parts, uint64_t file, const char *path)
{
	size_t i;

	o->nr_read += parts->at.nr;
	for (i = 0; i < parts->at.nr; i++) {
		const struct sonde_cells *c = parts->at.at[i];

		if (o->asks_jobs)
			sonde_jobs_add(&o->jobs, &(struct sonde_found){.path = path,
						      .inputs = c->inputs.at,
						      .processes = c->processes.at,
						      .nr_processes = c->processes.nr,
						      .devices = c->devices.at,
						      .nr_devices = c->devices.nr});
		sonde_keeper__add(&o->keeper, parts->at.at[i], (file << PARTS_OF_FILE) + i, path);
		parts->at.at[i] = NULL;
	}
}

static void add_remark(struct opening *o, uint64_t file, struct sonde_str text, bool is_loss)
{
	const struct remark r = {file << PARTS_OF_FILE, sonde_arena_dup(&o->arena, text), is_loss};

	(void)sonde_vec_put(&o->remarks, r); /* notes never make a stage fail */
}

/* The path without the name of the file. */
static struct sonde_str directory_of(const char *path)
{
	struct sonde_str all = sonde_str_from(path);

	while (all.n && all.p[all.n - 1] != '/')
		all.n--;
	return all;
}

static bool is_native(const char *path)
{
	return sonde_str_ends(sonde_str_from(path), ".sonde");
}

static int by_path(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/*
 * Lists the captures of one directory among `all`. Returns their number, and in `*nr_samples` how many of them are
 * samples.
 */
static size_t list_beside(const char **beside, size_t *nr_samples, const struct sonde_word_list *all,
	struct sonde_str directory)
{
	size_t nr = 0, i;

	*nr_samples = 0;
	for (i = 0; i < all->nr; i++) {
		const char *path = all->at[i];

		if (!is_native(path) || !sonde_str_eq(directory_of(path), directory))
			continue;
		*nr_samples += sonde_folder_is_samples(path);
		beside[nr++] = path;
	}
	if (nr > 1) /* sorted, as a report must not depend on the order in which files are named */
		qsort(beside, nr, sizeof(*beside), by_path);
	return nr;
}

static void mark_taken(bool *taken, const struct sonde_word_list *all, struct sonde_str directory)
{
	size_t i;

	for (i = 0; i < all->nr; i++)
		taken[i] |= is_native(all->at[i]) &&
			    sonde_str_eq(directory_of(all->at[i]), directory);
}

/* Folds each capture of a directory to a part of its own, because the sums of folded files belong to one capture. */
static int read_rolled(struct sonde_parts *out, const char *const *paths, size_t nr,
	const struct sonde_fold_request *request, struct sonde_err *err)
{
	struct sonde_beside b;
	struct sonde_cells *part = NULL;
	size_t i;
	int rc = sonde_beside_open(&b, paths, nr, NULL, err);

	for (i = 0; i < nr && rc == 0; i++) {
		if (sonde_folder_is_samples(paths[i]))
			continue;
		rc = sonde_beside_fold(&part, &b, paths[i], request, err);
		if (rc == 0 && !sonde_vec_put(&out->at, part)) {
			sonde_cells_free(part);
			rc = sonde_err_nomem(err);
		}
	}
	sonde_beside_release(&b);
	return rc;
}

static bool is_any_rolled(const char *const *paths, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (!sonde_folder_is_samples(paths[i]) && sonde_capture_next(paths[i]))
			return true;
	return false;
}

/*
 * Samples count everything that ran on a device. They are split among the launches of all processes
 * in their directory, so the captures of such a directory are folded together. Sets `taken` for the files that were read.
 */
static int read_sampled(
	struct opening *o, const struct sonde_word_list *all, bool *taken, struct sonde_err *err)
{
	const char **beside = sonde_calloc(all->nr + 1, sizeof(*beside));
	size_t i, nr, nr_samples;
	int rc = beside ? 0 : sonde_err_nomem(err);

	for (i = 0; i < all->nr && rc == 0; i++) {
		struct sonde_str directory = directory_of(all->at[i]);
		struct sonde_parts parts = {0};

		if (taken[i] || !sonde_folder_is_samples(all->at[i]))
			continue;
		nr = list_beside(beside, &nr_samples, all, directory);
		if (nr > nr_samples)
			rc = is_any_rolled(beside, nr) ? read_rolled(&parts, beside, nr, o->request, err)
						       : read_captures(&parts, beside, nr, o->request, err);
		if (parts.at.nr) {
			mark_taken(taken, all, directory);
			keep_parts(o, &parts, o->nr_files++, beside[0]);
		}
		sonde_parts_release(&parts);
		/* After an error the files of the directory are read one by one, which finds and leaves out the bad ones. */
		rc = rc == SONDE_ERR_FORMAT || rc == SONDE_ERR_IO ? 0 : rc;
	}
	sonde_free(beside);
	return rc;
}

/* --- reading all inputs -------------------------------------------------------------------------- */

/* Takes the parts of a file, or the error of one that cannot be read. */
static void take_file(struct sonde_taker *taker, size_t number, struct sonde_parts *parts, int rc,
	const struct sonde_err *err)
{
	struct opening *o = (struct opening *)taker;

	if (rc == 0) {
		keep_parts(o, parts, o->nr_files + number, o->task->paths[number]);
		return;
	}
	o->errors[number] = sonde_malloc(sizeof(*err));
	o->failed |= !o->errors[number];
	if (o->errors[number]) {
		*o->errors[number] = *err;
		o->errors[number]->code = rc;
	}
}

/* Returns the first error in the order of the files, without files that may be left out: these become remarks. */
static int find_error(struct opening *o, bool leaves_out, struct sonde_err *err)
{
	size_t i;
	int rc = 0, last = 0;

	for (i = 0; i < o->task->nr && rc == 0; i++) {
		const struct sonde_err *one = o->errors[i];

		if (!one)
			continue;
		last = one->code;
		if (err)
			*err = *one;
		if (last == SONDE_ERR_NOMEM)
			sonde_err_set(err, last, "%s: %s", o->task->paths[i], one->msg);
		if (leaves_out && (last == SONDE_ERR_FORMAT || last == SONDE_ERR_IO)) {
			struct sonde_str text =
				sonde_arena_printf(&o->arena, "%s; it is left out", one->msg);

			add_remark(o, o->nr_files + i, text, true);
		} else {
			rc = last;
		}
	}
	return rc ? rc : o->nr_read ? 0 : last;
}

/* Reads all `paths` together. With `leaves_out`, a file that cannot be read becomes a note; if no file can be read it is
 * an error. */
static int read_all(struct opening *o, const char *const *paths, size_t nr, bool leaves_out,
	struct sonde_err *err)
{
	const struct sonde_task task = {o->request, paths, nr};
	struct sonde_sharing *others = o->request->sharing;
	size_t i;
	int rc = 0;

	o->task = &task;
	o->errors = sonde_calloc(nr + 1, sizeof(*o->errors));
	if (!o->errors)
		return sonde_err_nomem(err);
	if (others)
		rc = others->fold(others, &task, &o->taker, err);
	else
		sonde_task_fold(&task, 0, 1, &o->taker);
	if (rc == 0)
		rc = o->failed ? sonde_err_nomem(err) : find_error(o, leaves_out, err);
	for (i = 0; i < nr; i++)
		sonde_free(o->errors[i]);
	sonde_free(o->errors);
	o->nr_files += nr;
	return rc;
}

/* Reads files, some of which may belong together: samples are read with the captures beside them. */
static int read_files(
	struct opening *o, struct sonde_word_list *all, bool leaves_out, struct sonde_err *err)
{
	bool *taken = sonde_calloc(all->nr + 1, sizeof(*taken));
	size_t i, left = 0;
	int rc = taken ? read_sampled(o, all, taken, err) : sonde_err_nomem(err);

	for (i = 0; i < all->nr && rc == 0; i++)
		if (!taken[i])
			all->at[left++] = all->at[i];
	if (rc == 0)
		rc = read_all(o, all->at, left, leaves_out, err);
	sonde_free(taken);
	return rc;
}

/* Reads a directory (`nr` = 0), or `nr` files that were named one after the other. */
static int read_inputs(struct opening *o, const char *const *paths, size_t nr, struct sonde_err *err)
{
	bool is_directory = nr == 0, leaves_out = is_directory || o->request->sharing;
	struct sonde_folder f = {.dir = paths[0], .together = o->request->read.together};
	struct sonde_arena arena = {0};
	struct sonde_notes notes = {0};
	size_t i;
	int rc = is_directory ? sonde_folder_expand(&f, &arena, &notes, err) : 0;

	for (i = 0; i < nr && rc == 0; i++)
		rc = sonde_word_list_add(&f.files, paths[i]) ? 0 : sonde_err_nomem(err);
	o->asks_jobs = is_directory && !f.is_run && !f.together;
	for (i = 0; i < notes.texts.nr; i++)
		add_remark(o, o->nr_files, notes.texts.keys[i], sonde_notes_is_loss(&notes, i));
	if (rc == 0)
		rc = read_files(o, &f.files, leaves_out, err);
	if (rc == 0 && o->asks_jobs)
		rc = sonde_jobs_check(&o->jobs, f.dir, err);
	sonde_jobs_release(&o->jobs);
	sonde_notes_release(&notes);
	sonde_vec_release(&f.files);
	sonde_arena_release(&arena);
	return rc;
}

/* If the request has a selection, every part must have the same. If it has none, that of the parts is used. */
static int check_request(
	const struct opening *o, const struct sonde_parts *out, struct sonde_err *err)
{
	const struct sonde_selection *s = &o->request->selection;
	size_t i;

	if (sonde_selection_is_usual(s))
		return 0;
	for (i = 0; i < out->at.nr; i++) {
		const struct sonde_cells *part = out->at.at[i];

		if (!sonde_selection_is_same(s, &part->selection))
			return sonde_err_set(err, SONDE_ERR_USAGE,
				"the partial report of %.*s was made with another selection, which "
				"cannot be changed afterwards: make it again with this one, or "
				"report on the capture",
				SONDE_STR_ARG(part->inputs.at[0].path));
	}
	return 0;
}

/*
 * Adds the remarks up to `until` before the notes of a part, or with UINT64_MAX all others after the notes of the
 * last part.
 */
static void add_remarks(struct opening *o, struct sonde_cells *part, uint64_t until, size_t *at)
{
	struct sonde_notes own = part->notes;

	if (*at == o->remarks.nr || o->remarks.at[*at].order > until)
		return;
	part->notes = (struct sonde_notes){0};
	if (until == UINT64_MAX)
		sonde_notes_add(&part->notes, &own);
	for (; *at < o->remarks.nr && o->remarks.at[*at].order <= until; ++*at)
		sonde_notes_put(&part->notes, o->remarks.at[*at].text, o->remarks.at[*at].is_loss);
	sonde_notes_add(&part->notes, &own);
	sonde_notes_release(&own);
}

/* Moves the kept parts to `out`, in order, with all notes. */
static int hand_over(struct opening *o, struct sonde_parts *out, struct sonde_err *err)
{
	struct sonde_keeper *k = &o->keeper;
	struct sonde_cells *last;
	size_t i, at = 0;
	int rc = sonde_keeper__finish(k, err);

	if (rc || !sonde_vec_reserve(&out->at, k->held.nr + 1))
		return rc ? rc : sonde_err_nomem(err);
	for (i = 0; i < k->held.nr; i++) {
		add_remarks(o, k->held.at[i].part, k->held.at[i].order, &at);
		out->at.at[out->at.nr++] = k->held.at[i].part;
	}
	k->held.nr = 0;
	if (!out->at.nr)
		return 0;
	last = out->at.at[out->at.nr - 1];
	add_remarks(o, last, UINT64_MAX, &at);
	sonde_notes_add(&last->notes, &k->notes);
	return 0;
}

int sonde_parts_open(struct sonde_parts *out, const char *const *paths, size_t nr_paths,
	const struct sonde_fold_request *request, struct sonde_err *err)
{
	struct opening o = {.taker = {take_file}, .request = request, .keeper = {.request = request}};
	size_t i, end;
	int rc = 0;

	for (i = 0; i < nr_paths && rc == 0; i = end) { /* consecutive files are read together */
		o.nr_read = 0;
		for (end = i; end < nr_paths && !sonde_dir_exists(paths[end]); end++)
			;
		rc = read_inputs(&o, &paths[i], end - i, err);
		end += end == i; /* a directory is read by itself */
	}
	if (request->sharing)
		request->sharing->end(request->sharing);
	if (rc == 0)
		rc = hand_over(&o, out, err);
	sonde_keeper__release(&o.keeper);
	sonde_vec_release(&o.remarks);
	sonde_arena_release(&o.arena);
	return rc ? rc : check_request(&o, out, err);
}

int sonde_parts_unite(struct sonde_cells **out, struct sonde_parts *parts, struct sonde_err *err)
{
	int rc = sonde_cells_unite(out, parts->at.at, parts->at.nr, err);

	sonde_vec_release(&parts->at);
	return rc;
}
