/*
 * Inside the folding room: the layout of partial reports, as docs/cells-format.md
 * has it. What is in a section is walked once for both ways (walk.h).
 */
#ifndef SONDE_FOLD_PARTIAL_INT_H
#define SONDE_FOLD_PARTIAL_INT_H

#include "fold/fold_int.h"
#include "fold/walk.h"

#define SONDE_PARTIAL_MAGIC   "SONDECEL"
#define SONDE_PARTIAL_VERSION 13

/* Sections. Kinds from SONDE_PARTIAL_OPTIONAL on are skipped by readers that do not know them. */
enum sonde_partial_kind {
	SONDE_PARTIAL_END,    /* the last: how many parts there are */
	SONDE_PARTIAL_TABLES, /* begins a part */
	SONDE_PARTIAL_VISITS,
	SONDE_PARTIAL_CELLS, /* ends it, but for what is optional */
	SONDE_PARTIAL_OPTIONAL = 64,
	SONDE_PARTIAL_SAMPLED = SONDE_PARTIAL_OPTIONAL, /* what samples told of the cells */
};

struct sonde_partial_head {
	char magic[8];
	uint32_t version, rules; /* SONDE_RULES_VERSION: what accumulators mean */
};

struct sonde_partial_section {
	uint32_t kind, zero;
	uint64_t nr_bytes;
	uint64_t check; /* XXH3 of the payload, seeded by kind and length */
};

static inline uint64_t sonde_partial__check(
	const struct sonde_partial_section *s, const void *payload)
{
	uint64_t key[2] = {s->kind, sonde_hash(payload, s->nr_bytes)};

	return sonde_hash(key, sizeof(key));
}

/* A section of a part each. A reader starts with a part of zeros, and with the tables. */
void sonde_partial__move_tables(struct sonde_walk *w, struct sonde_cells *c);
void sonde_partial__move_visits(struct sonde_walk *w, struct sonde_cells *c);
void sonde_partial__move_cells(struct sonde_walk *w, struct sonde_cells *c);
void sonde_partial__move_sampled(struct sonde_walk *w, struct sonde_cells *c);
/* The timeline of a part, which no file has. */
void sonde_partial__move_timeline(struct sonde_walk *w, struct sonde_cells *c);

/* What a report was asked for, as far as it changes what is folded. */
void sonde_partial__move_words(struct sonde_walk *w, struct sonde_words *words);
void sonde_partial__move_settings(
	struct sonde_walk *w, struct sonde_selection *s, struct sonde_read_options *read);

#endif
