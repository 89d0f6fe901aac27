/*
 * The whole pipeline for a capture: bytes → records → cells → tree → formats, all in memory; the validator then
 * checks the JSON. For tests of damaged captures, and for fuzzing.
 */
#ifndef SONDE_TESTS_WHOLE_WAY_H
#define SONDE_TESTS_WHOLE_WAY_H

#include "attribute/launches.h"
#include "check/validate.h"
#include "export/format.h"
#include "merge/merging.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* Makes the tree of a file of these bytes. A file that cannot be read, or is too large, is an error with a message. */
static inline int whole_way_tree(
	struct sonde_cells **cells, struct sonde_tree **tree, const void *p, size_t n, struct sonde_err *err)
{
	const struct sonde_fold_request request = {.keeps_timeline = true, .keeps_untimed = true};
	int fd = memfd_create("input", MFD_CLOEXEC), rc = SONDE_ERR_IO;
	struct sonde_launches *launches = NULL;
	struct sonde_records *records = NULL;
	struct sonde_cells *part = NULL;
	char name[64];
	const char *path = name;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	if (fd >= 0 && write(fd, p, n) == (ssize_t)n)
		rc = sonde_records_open(&records, &path, 1, NULL, err);
	close(fd);
	if (rc == 0) {
		sonde_records_note(records);
		rc = sonde_launches_build(&launches, records, &request.selection, err);
	}
	if (rc == 0)
		rc = sonde_cells_fold(&part, launches, &request, err);
	sonde_launches_free(launches);
	sonde_records_free(records);
	if (rc == 0)
		rc = sonde_cells_unite(cells, &part, 1, err);
	return rc ? rc : sonde_tree_build(tree, *cells, &request.choice, err);
}

/* Writes a tree in one format; JSON is validated. A format that cannot show this tree gives an error with the reason. */
static inline int whole_way_export(
	const struct sonde_tree *tree, const struct sonde_format *format, struct sonde_err *err)
{
	const struct sonde_export_options options = {.is_utf8 = true};
	struct sonde_sink to;
	int rc;

	sonde_sink_init_string(&to);
	if (format->flags & SONDE_FORMAT_FILE)
		sonde_buf_puts(&to.temp, ":memory:"); /* for SQLite: a database in memory */
	rc = sonde_export(format, tree, &options, &to, err);
	if (rc == SONDE_ERR_USAGE && err->msg[0])
		rc = 0;
	else if (rc == 0 && format->write == sonde_export_json)
		rc = sonde_validate_text(sonde_buf_view(&to.buf), "report.json", err);
	to.temp.n = 0; /* there is no file to remove */
	sonde_sink_abort(&to);
	return rc;
}

/* Writes the formats that are `wanted`. An error means that sonde's own output is wrong; `err` has the details. */
static inline int whole_way(const void *p, size_t n, bool (*wanted)(const struct sonde_format *f, uint64_t hash),
	struct sonde_err *err)
{
	struct sonde_cells *cells = NULL;
	struct sonde_tree *tree = NULL;
	size_t i;
	int rc = whole_way_tree(&cells, &tree, p, n, err);

	if (rc && err->code == rc && err->msg[0])
		rc = 0;
	for (i = 0; tree && rc == 0 && i < sonde_nr_formats; i++)
		if (wanted(&sonde_formats[i], sonde_hash(p, n)))
			rc = whole_way_export(tree, &sonde_formats[i], err);
	sonde_tree_free(tree);
	sonde_cells_free(cells);
	return rc;
}

#endif
