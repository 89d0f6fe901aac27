/* Captures and partial reports → parts. */
#include "fold/fold_int.h"

#include "base/file.h"
#include "fold/partial.h"
#include "fold/rolled_int.h"
#include "read/rolled.h"

int sonde_parts__fold(struct sonde_cells **out, const struct sonde_records *records,
	const struct sonde_fold_request *request, struct sonde_err *err)
{
	struct sonde_launches *launches = NULL;
	int rc = sonde_launches_build(&launches, records, &request->selection, err);

	if (rc == 0)
		rc = sonde_cells_fold(out, launches, request, err);
	sonde_launches_free(launches);
	return rc;
}

int sonde_parts__read_captures(struct sonde_parts *out, const char *const *paths, size_t nr,
	const struct sonde_fold_request *request, struct sonde_err *err)
{
	struct sonde_records *records = NULL;
	struct sonde_cells *part = NULL;
	bool is_rolled = nr == 1 && sonde_capture_next(paths[0]);
	int rc = is_rolled ? 0 : sonde_records_open(&records, paths, nr, &request->read, err);

	if (nr == 1 && records && records->rolled.nr) { /* by now */
		sonde_records_free(records);
		records = NULL;
		is_rolled = true;
	}
	if (rc == 0 && is_rolled)
		rc = sonde_rolled__fold(&part, paths[0], request, err);
	if (rc == 0 && records && records->rolled.nr)
		rc = sonde_err_set(err, SONDE_ERR_USAGE,
			"%s: its oldest files were folded while it was written, so samples of counters cannot be "
			"split among its launches: take the samples-*.sonde files out of the directory",
			paths[0]);
	if (rc == 0 && records)
		rc = sonde_parts__fold(&part, records, request, err);
	sonde_records_free(records);
	if (rc == 0 && !sonde_vec_put(&out->at, part)) {
		sonde_cells_free(part);
		rc = sonde_err_nomem(err);
	}
	return rc;
}

static bool is_partial(const char *path)
{
	struct sonde_buf head = {0};
	bool is = sonde_file_head(&head, path) && sonde_partial_knows(sonde_buf_view(&head));

	sonde_buf_release(&head);
	return is;
}

static int read_partial(struct sonde_parts *out, const char *path,
	const struct sonde_fold_request *request, struct sonde_err *err)
{
	struct sonde_mapping file = {0};
	size_t i = out->at.nr;
	int rc = sonde_mapping_open_inflated(&file, path, err);

	if (rc == 0)
		rc = sonde_partial_read(out, file.data, path, err);
	for (; rc == 0 && i < out->at.nr && request->keeps_timeline; i++)
		sonde_note(&out->at.at[i]->notes,
			"partial reports contain no single launches: what is shown by "
			"launch or over time lacks them; report on the captures for that");
	sonde_mapping_release(&file);
	return rc;
}

int sonde_parts__read(struct sonde_parts *out, const char *path,
	const struct sonde_fold_request *request, struct sonde_err *err)
{
	/* Of a file that is not there the reader of captures speaks. */
	return is_partial(path) ? read_partial(out, path, request, err)
				: sonde_parts__read_captures(out, &path, 1, request, err);
}
