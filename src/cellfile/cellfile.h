/*
 * Partial reports: cells as a file (docs/cells-format.md).
 *
 * A file holds the parts as they were folded, input by input, so that reading and
 * uniting them gives what folding the captures would have given. Every byte of a file is
 * hostile: one that is cut off, damaged or of another version is an error, and
 * what is read holds every invariant of cells.
 */
#ifndef SONDE_CELLFILE_CELLFILE_H
#define SONDE_CELLFILE_CELLFILE_H

#include "base/sink.h"
#include "fold/parts.h"

/* Whether these are the first bytes of one. */
bool sonde_cellfile_knows(struct sonde_str bytes);
/* Appends its parts; nothing is borrowed. `path` is for messages. */
int sonde_cellfile_read(struct sonde_parts *out, struct sonde_str bytes, const char *path,
	struct sonde_err *err);
/* Parts of different selections are SONDE_ERR_USAGE. Sorts them: order does not matter. */
int sonde_cellfile_write(struct sonde_parts *parts, struct sonde_sink *to, struct sonde_err *err);

/* --- layout: a head, then sections -------------------------------------------------------------- */

#define SONDE_CELLFILE_MAGIC   "SONDECEL"
#define SONDE_CELLFILE_VERSION 15
#define SONDE_CELLFILE_OLDEST  13 /* that is read; 14: entries have a wall time; 15: they have arguments, and inputs count modules */

/* Sections. Kinds from SONDE_CELLFILE_OPTIONAL on are skipped by readers that do not know them. */
enum sonde_cellfile_kind {
	SONDE_CELLFILE_END,    /* the last: how many parts there are */
	SONDE_CELLFILE_TABLES, /* begins a part */
	SONDE_CELLFILE_VISITS,
	SONDE_CELLFILE_CELLS, /* ends it, but for what is optional */
	SONDE_CELLFILE_OPTIONAL = 64,
	SONDE_CELLFILE_SAMPLED = SONDE_CELLFILE_OPTIONAL, /* counters of cells, from samples of the device */
	SONDE_CELLFILE_STALLS = 65, /* PC samples of cells */
};

struct sonde_cellfile_head {
	char magic[8];
	uint32_t version, rules; /* SONDE_RULES_VERSION: what accumulators mean */
};

struct sonde_cellfile_section {
	uint32_t kind, zero;
	uint64_t nr_bytes;
	uint64_t check; /* XXH3 of the payload, seeded by kind and length */
};

static inline uint64_t sonde_cellfile_check(
	const struct sonde_cellfile_section *s, const void *payload)
{
	uint64_t key[2] = {s->kind, sonde_hash(payload, s->nr_bytes)};

	return sonde_hash(key, sizeof(key));
}

#endif
