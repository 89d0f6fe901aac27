/*
 * Partial reports: cells as a file (docs/cells-format.md).
 *
 * A file holds the parts as they were folded, one per input. Reading and uniting them therefore gives the same cells as
 * folding the captures. Every byte of a file is hostile: a file that is cut off, damaged or of another version is an
 * error, and what is read keeps every invariant of cells.
 */
#ifndef SONDE_CELLFILE_CELLFILE_H
#define SONDE_CELLFILE_CELLFILE_H

#include "base/sink.h"
#include "fold/parts.h"

/* Whether the file is a partial report, packed or not. */
bool sonde_cellfile_is(const char *path);
/* Appends the parts of a file to `out`; nothing is borrowed from `bytes`. `path` is for messages. */
int sonde_cellfile_read(struct sonde_parts *out, struct sonde_str bytes, const char *path,
	struct sonde_err *err);
/* Sorts the parts, so their order does not matter, and writes them. Parts of different selections are SONDE_ERR_USAGE. */
int sonde_cellfile_write(struct sonde_parts *parts, struct sonde_sink *to, struct sonde_err *err);

/* --- layout: a head, then sections -------------------------------------------------------------- */

#define SONDE_CELLFILE_MAGIC   "SONDECEL"
#define SONDE_CELLFILE_VERSION 16
#define SONDE_CELLFILE_OLDEST  13 /* the oldest that is read; 14 added wall times of entries; 15 their arguments, modules of inputs */

/* Kinds of sections. A reader skips kinds from SONDE_CELLFILE_OPTIONAL on that it does not know. */
enum sonde_cellfile_kind {
	SONDE_CELLFILE_END,    /* last section: the number of parts */
	SONDE_CELLFILE_TABLES, /* begins a part */
	SONDE_CELLFILE_VISITS,
	SONDE_CELLFILE_CELLS, /* ends a part, except for its optional sections */
	SONDE_CELLFILE_OPTIONAL = 64,
	SONDE_CELLFILE_SAMPLED = SONDE_CELLFILE_OPTIONAL, /* sampled counters of the cells */
	SONDE_CELLFILE_STALLS = 65, /* PC samples of the cells */
};

struct sonde_cellfile_head {
	char magic[8];
	uint32_t version, rules; /* rules: SONDE_RULES_VERSION, which says what accumulators mean */
};

struct sonde_cellfile_section {
	uint32_t kind, zero;
	uint64_t nr_bytes;
	uint64_t check; /* XXH3 of the kind and the XXH3 of the payload */
};

static inline uint64_t sonde_cellfile_check(
	const struct sonde_cellfile_section *s, const void *payload)
{
	uint64_t key[2] = {s->kind, sonde_hash(payload, s->nr_bytes)};

	return sonde_hash(key, sizeof(key));
}

#endif
