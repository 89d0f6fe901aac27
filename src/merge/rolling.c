/*
 * Files of a capture → sums, while the capture is written and may be read by others.
 *
 * Nothing is locked. The capture's first file says which further file is the next that was not folded, and it
 * is replaced as a whole, before the folded ones are removed. Whoever is stopped in between leaves files that
 * count no more; whoever reads meanwhile notices that the number has changed, and begins again.
 */
#include "merge/rolling.h"

#include "cellfile/cellfile.h"
#include "merge/rolled_sums.h"
#include "base/sink.h"
#include "read/records.h"
#include "read/rolled.h"

#include <stdio.h>
#include <unistd.h>

#define MAX_TRIES 100 /* each time another file was folded meanwhile */

/* A capture, or some of its files, read and folded. */
struct folded {
	struct sonde_records *records;
	struct sonde_cells *cells;
};

static void release_folded(struct folded *f)
{
	sonde_cells_free(f->cells);
	sonde_records_free(f->records);
	*f = (struct folded){0};
}

static int fold_files(struct folded *out, const char *path, const struct sonde_fold_request *request,
	uint32_t nr_files, struct sonde_err *err)
{
	struct sonde_read_options options = request->read;
	int rc;

	*out = (struct folded){0};
	options.nr_files = nr_files;
	rc = sonde_records_open(&out->records, &path, 1, &options, err);
	return rc ? rc : sonde_cells_fold_records(&out->cells, out->records, request, err);
}

/* The sums a capture's first file has; `out` gets one part. */
static int read_sums(struct sonde_parts *out, const struct sonde_records *r, const char *path,
	struct sonde_err *err)
{
	int rc = r->rolled.nr == 1 ? sonde_cellfile_read(out, sonde_buf_view(&r->rolled.at[0].cells), path, err)
				   : 0;

	if (rc == 0 && out->at.nr != 1)
		rc = sonde_err_set(err, SONDE_ERR_FORMAT, "%s: damaged: its folded files are not one part; copy it again", path);
	return rc;
}

/*
 * One look at the files; 1 when one more was folded meanwhile. Without a selection of the user's, that of the
 * sums counts, which is known when the first file is read: then all is folded again, with it.
 */
static int try_fold(struct sonde_parts *sums, const char *path, const struct sonde_fold_request *request,
	struct sonde_err *err)
{
	struct sonde_fold_request as_then = *request;
	struct folded all = {0}, first = {0};
	int rc = fold_files(&first, path, request, 2, err);

	if (rc == 0)
		rc = read_sums(sums, first.records, path, err);
	if (rc == 0 && sonde_selection_is_usual(&request->selection) &&
		!sonde_selection_is_same(&request->selection, &sums->at.at[0]->selection)) {
		as_then.selection = sums->at.at[0]->selection;
		release_folded(&first);
		rc = fold_files(&first, path, &as_then, 2, err);
	}
	if (rc == 0)
		rc = fold_files(&all, path, &as_then, 0, err);
	if (rc == 0 && first.records->rolled.at[0].next != all.records->rolled.at[0].next)
		rc = 1;
	if (rc == 0)
		rc = sonde_rolled__add(
			&sums->at.at[0], all.cells, first.cells, all.records->rolled.at[0].since_ns, err);
	release_folded(&all);
	release_folded(&first);
	return rc;
}

int sonde_rolled_fold(struct sonde_cells **out, const char *path,
	const struct sonde_fold_request *request, struct sonde_err *err)
{
	struct sonde_parts sums = {0};
	unsigned i;
	int rc = 1;

	*out = NULL;
	for (i = 0; i < MAX_TRIES && rc == 1; i++) {
		sonde_parts_release(&sums);
		rc = try_fold(&sums, path, request, err);
	}
	if (rc == 1)
		rc = sonde_err_set(err, SONDE_ERR_IO, "%s: its files change all the time: report when the program has ended", path);
	if (rc == 0) {
		sonde_note(&sums.at.at[0]->notes,
			"%s: its oldest files were folded while it was written: sums have all of it, single "
			"entries and launches are those of the files that are there",
			path);
		*out = sums.at.at[0];
		sums.at.at[0] = NULL;
	}
	sonde_parts_release(&sums);
	return rc;
}

/* --- folding one more file ------------------------------------------------------------------------ */

/* One part, as a partial report. */
static int write_sums(struct sonde_buf *out, struct sonde_parts *sums, struct sonde_err *err)
{
	struct sonde_sink to;
	int rc;

	sonde_rolled__forget(sums->at.at[0]);
	sonde_sink_init_string(&to);
	rc = sonde_cellfile_write(sums, &to, err);
	sonde_buf_str(out, sonde_buf_view(&to.buf));
	sonde_sink_abort(&to);
	return rc == 0 && out->failed ? sonde_err_nomem(err) : rc;
}

/*
 * Writes the sums of everything up to the end of the file behind the `nr` oldest; `two` is what was folded for
 * that. This file stays although the sums include it: a later reader takes out of the sums what it makes of the
 * file without those before it (rolled_sums.h).
 */
static int fold_oldest(struct sonde_buf *cells, struct folded *two, const char *path, uint32_t nr,
	const struct sonde_fold_request *request, struct sonde_err *err)
{
	uint32_t is_rolled = sonde_capture_next(path) > 0;
	struct sonde_parts sums = {0};
	struct folded one = {0};
	int rc = fold_files(two, path, request, 1 + nr + is_rolled, err);

	if (rc == 0 && is_rolled) {
		rc = read_sums(&sums, two->records, path, err);
		if (rc == 0)
			rc = fold_files(&one, path, request, 2, err);
		if (rc == 0)
			rc = sonde_rolled__add(&sums.at.at[0], two->cells, one.cells,
				two->records->rolled.at[0].since_ns, err);
	} else if (rc == 0) {
		if (sonde_vec_put(&sums.at, two->cells))
			two->cells = NULL;
		else
			rc = sonde_err_nomem(err);
	}
	if (rc == 0)
		rc = write_sums(cells, &sums, err);
	release_folded(&one);
	sonde_parts_release(&sums);
	return rc;
}

/* How much less the notes of the remaining files count: reads these under a temporary name. */
static int find_counts(uint64_t *out, size_t nr, const char *path, struct sonde_str file,
	const struct sonde_records *two, struct sonde_err *err)
{
	struct sonde_read_options options = {.nr_files = 2, .further = path};
	struct sonde_records *left = NULL;
	char temp[4096];
	const char *name = temp;
	size_t i;
	int rc;

	snprintf(temp, sizeof(temp), "%s.new", path);
	rc = sonde_file_write(temp, file, err);
	if (rc == 0)
		rc = sonde_records_open(&left, &name, 1, &options, err);
	for (i = 0; i < nr && rc == 0; i++)
		out[i] = two->counts.at[i] - left->counts.at[i];
	sonde_records_free(left);
	unlink(temp);
	return rc;
}

/* Replaces the first file by the sums and by what must stay of the oldest files. */
static int replace_first_file(const char *path, uint32_t nr_files, struct sonde_str cells, const struct sonde_records *two,
	struct sonde_err *err)
{
	struct sonde_buf file = {0};
	struct sonde_read_options options = {.nr_files = nr_files + (sonde_capture_next(path) > 0), .reduced = &file};
	struct sonde_records *read = NULL;
	size_t nr = two->counts.nr < SONDE_MAX_ROLLED_COUNTS ? two->counts.nr : SONDE_MAX_ROLLED_COUNTS;
	uint64_t counts[SONDE_MAX_ROLLED_COUNTS] = {0};
	int rc = sonde_records_open(&read, &path, 1, &options, err);

	sonde_records_free(read);
	if (rc == 0)
		rc = find_counts(counts, nr, path, sonde_buf_view(&file), two, err);
	if (rc == 0)
		rc = sonde_capture_complete(&file, counts, nr, cells, err);
	if (rc == 0)
		rc = sonde_file_write(path, sonde_buf_view(&file), err);
	sonde_buf_release(&file);
	return rc;
}

int sonde_roll(const char *path, uint32_t nr, const struct sonde_fold_request *request, struct sonde_err *err)
{
	uint32_t next = sonde_capture_next(path), i;
	struct sonde_fold_request plain = *request;
	struct sonde_buf cells = {0};
	struct folded two = {0};
	char old[4096];
	int rc;

	plain.keeps_timeline = false; /* a partial report has none */
	rc = fold_oldest(&cells, &two, path, nr, &plain, err);
	if (rc == 0)
		rc = replace_first_file(path, nr, sonde_buf_view(&cells), two.records, err);
	for (i = next ? 0 : 1; i < nr && rc == 0; i++) { /* without further files so far, PATH was the first */
		snprintf(old, sizeof(old), "%s.%u", path, next + i);
		unlink(old);
	}
	release_folded(&two);
	sonde_buf_release(&cells);
	return rc;
}
