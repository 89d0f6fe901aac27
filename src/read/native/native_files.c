/*
 * A capture that goes on in further files: PATH, then PATH.1, PATH.2, … are mapped side by side and
 * read as one. What the runner has folded is gone (PATH says from which file on they are there), and
 * it may go while we look: PATH is replaced first, so whoever misses a file looks at PATH again.
 */
#include "read/native/native_int.h"
#include "read/rolled.h"

#include <unistd.h>

#define MAX_TRIES 100 /* each time the runner was faster */

/* The first of the further files that is there. */
static uint32_t first_part(struct sonde_str data)
{
	struct sonde_rolled rolled;

	return sonde_native__rolled(data, &rolled) ? rolled.next : 1;
}

/* The names of all files from `part` on, behind PATH; SONDE_ERR_NOMEM, or 0. */
static int find_parts(const struct native *n, uint32_t part, struct sonde_word_list *out)
{
	const char *name = n->r->options.further ? n->r->options.further : n->src->path;
	uint32_t max = n->r->options.nr_files ? n->r->options.nr_files - 1 : UINT32_MAX, i;

	if (!sonde_word_list_add(out, n->src->path))
		return SONDE_ERR_NOMEM;
	for (i = 0; i < max; i++) {
		const char *path =
			sonde_arena_printf(&n->r->arena, "%s.%u", name, part + i).p;

		if (path && access(path, F_OK) != 0)
			return 0;
		if (!path || !sonde_word_list_add(out, path))
			return SONDE_ERR_NOMEM;
	}
	return 0;
}

/* One look: 1 when PATH was replaced meanwhile. */
static int try_all(struct native *n, struct sonde_mapping *out, struct sonde_err *err)
{
	uint32_t part = first_part(n->src->file.data);
	struct sonde_word_list all = {0};
	struct sonde_err gone = {0};
	int rc = find_parts(n, part, &all);

	n->is_written = rc == 0 && !n->r->options.nr_files && sonde_file_is_locked(all.at[all.nr - 1]);
	if (rc)
		sonde_err_nomem(err);
	else
		rc = sonde_mapping_open_all(out, all.at, all.nr, &gone);
	if (rc == 0 && first_part(out->data) != part)
		rc = 1;
	else if (rc == SONDE_ERR_IO)
		rc = access(n->src->path, F_OK) == 0 ? 1 : sonde_err_set(err, rc, "%s", gone.msg);
	sonde_vec_release(&all);
	return rc;
}

int sonde_native__go_on(struct native *n, struct sonde_err *err)
{
	struct sonde_mapping all = {0};
	unsigned i;
	int rc = 1;

	if (!n->src->file.base) /* it was unpacked: there is nothing beside it */
		return 0;
	for (i = 0; i < MAX_TRIES && rc == 1; i++) {
		rc = try_all(n, &all, err);
		if (rc < 0)
			return rc;
		sonde_mapping_release(&n->src->file);
		n->src->file = all;
	}
	return rc ? sonde_err_set(err, SONDE_ERR_IO,
			    "%s: its files change all the time: report when the program has ended",
			    n->src->path)
		  : 0;
}

uint32_t sonde_capture_next(const char *path)
{
	struct sonde_rolled rolled = {0};
	struct sonde_mapping file;

	if (sonde_mapping_open(&file, path, NULL))
		return 0;
	if (!sonde_str_starts(file.data, SONDE_CAPTURE_MAGIC) || !sonde_native__rolled(file.data, &rolled))
		rolled.next = 0;
	sonde_mapping_release(&file);
	return rolled.next;
}
