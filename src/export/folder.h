/*
 * Folder names for regions: safe on any file system, readable, never shared.
 *
 * A name is the labels of the path joined by `__`. A label that starts with its parent's label and `::` does not repeat
 * it; `::` becomes `__`, everything outside [A-Za-z0-9._-] becomes `_`, more than two `_` in a row become two. A name
 * has at most 80 bytes. It ends in `-` and 8 hexadecimal digits of the hash of the region's id and kind if it had to be
 * cut, if another region or one of our own files has it, or if it means something to the file system (empty, `.`,
 * `..`).
 */
#ifndef SONDE_EXPORT_FOLDER_H
#define SONDE_EXPORT_FOLDER_H

#include "tree/tree.h"

#define SONDE_FOLDER_MAX 80
#define SONDE_REST_FILE	 "other_regions.csv" /* table of the regions that get no folder */

struct sonde_folders {
	struct sonde_arena arena;
	struct sonde_map names; /* names taken so far */
	struct sonde_str *at;	/* names by node, NUL-terminated */
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
		struct sonde_str *at; /* by node, relative to the directory; p NULL = no folder */
	}) of;
};
/* The folder of a region, in this report or in one that says the same; p NULL = there is none. */
struct sonde_str sonde_folder_list_find(
	const struct sonde_folder_list *l, const struct sonde_report *r, uint32_t node);

/*
 * Makes the name for a path of labels, outermost first, without a look at other names. True when it was cut or means
 * something to the file system.
 */
bool sonde_folder_name(struct sonde_buf *out, const struct sonde_str *labels, size_t nr);

#endif
