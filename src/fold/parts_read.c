/* Captures and partial reports → parts. */
#include "fold/fold_int.h"

#include "base/file.h"
#include "fold/partial.h"
#include "fold/rolled_int.h"
#include "read/rolled.h"

int sonde_parts__read_captures(struct sonde_parts *out, const char *const *paths, size_t nr,
	const struct sonde_fold_request *request, struct sonde_err *err)
{
	struct sonde_records *records = NULL;
	struct sonde_launches *launches = NULL;
	struct sonde_cells *part = NULL, **slot;
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
		rc = sonde_launches_build(&launches, records, &request->selection, err);
	if (rc == 0 && records)
		rc = sonde_cells_fold(&part, launches, request, err);
	sonde_launches_free(launches);
	sonde_records_free(records);
	if (rc)
		return rc;
	slot = sonde_vec_push(&out->at);
	if (!slot) {
		sonde_cells_free(part);
		return sonde_err_nomem(err);
	}
	*slot = part;
	return 0;
}

static bool is_partial(const char *path)
{
	struct sonde_buf head = {0};
	bool is = sonde_file_head(&head, path) && sonde_partial_knows(sonde_buf_view(&head));

	sonde_buf_release(&head);
	return is;
}

/* A partial report among captures; 1: it is none. */
static int read_partial(struct sonde_parts *out, const char *path,
	const struct sonde_fold_request *request, struct sonde_err *err)
{
	struct sonde_mapping file = {0};
	size_t first = out->at.nr, i;
	int rc = is_partial(path) ? 0
				  : 1; /* of one that is not there the reader of captures speaks */

	if (rc == 0)
		rc = sonde_mapping_open_inflated(&file, path, err);
	if (rc == 0)
		rc = sonde_partial_read(out, file.data, path, err);
	for (i = first; rc == 0 && i < out->at.nr; i++) {
		if (request->keeps_timeline)
			sonde_note(&out->at.at[i]->notes,
				"partial reports contain no single launches: what is shown by "
				"launch or over time lacks them; report on the captures for that");
	}
	sonde_mapping_release(&file);
	return rc;
}

int sonde_parts__read(struct sonde_parts *out, const char *path,
	const struct sonde_fold_request *request, struct sonde_err *err)
{
	int rc = read_partial(out, path, request, err);

	return rc == 1 ? sonde_parts__read_captures(out, &path, 1, request, err) : rc;
}
