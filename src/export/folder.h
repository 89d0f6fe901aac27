/*
 * Folder names for regions: safe on any file system, readable, never shared.
 *
 * The labels of the path joined by `__`; a label that starts with its parent's
 * label and `::` does not repeat it; `::` becomes `__`, everything outside
 * [A-Za-z0-9._-] becomes `_`, more than two `_` in a row become two. At most 80
 * bytes. A name that had to be cut, that another region or one of our own files
 * has, or that means something to the file system (empty, `.`, `..`) ends in `-`
 * and 8 hexadecimal digits of the hash of the region's id and kind.
 */
#ifndef SONDE_EXPORT_FOLDER_H
#define SONDE_EXPORT_FOLDER_H

#include "tree/tree.h"

#define SONDE_FOLDER_MAX 80
#define SONDE_REST_FILE	 "other_regions.csv" /* the regions that get no folder */

struct sonde_folders {
	struct sonde_arena arena;
	struct sonde_map names; /* taken so far */
	struct sonde_str *at;	/* by node, NUL-terminated */
	size_t nr;
};

int sonde_folders_build(struct sonde_folders *out, const struct sonde_tree *t,
	const struct sonde_report *r, struct sonde_err *err);
void sonde_folders_release(struct sonde_folders *f);

/* The folders that were written below one directory, for files there that refer to them. */
struct sonde_folder_list {
	struct sonde_arena arena;
	SONDE_VEC(struct sonde_report_folders {
		const struct sonde_report *report;
		struct sonde_str *at; /* by node, from the directory; p NULL = it has none */
	}) of;
};
/* The folder of a region, of the report or of one that says the same; p NULL = there is none. */
struct sonde_str sonde_folder_list_find(
	const struct sonde_folder_list *l, const struct sonde_report *r, uint32_t node);

/*
 * The name for a path of labels, outermost first, before clashes are looked
 * at; true when it was cut or means something to the file system.
 */
bool sonde_folder_name(struct sonde_buf *out, const struct sonde_str *labels, size_t nr);

#endif
