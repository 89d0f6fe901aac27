/*
 * Making cells: how rows get into the tables around them.
 *
 * Cells are made in three ways: folded from the launches of one input (fold.c), put side by side
 * from parts (merge/), or added up from parts (merge/). The code that all three share is here, so that a
 * new member of a table is one line and not three. Readers of cells need cells.h only.
 */
#ifndef SONDE_FOLD_CELL_TABLES_H
#define SONDE_FOLD_CELL_TABLES_H

#include "fold/cells.h"

/*
 * Corrects idle time once all files of a capture are added up: at least the sum of its gaps, and busy + idle within
 * the span.
 */
void sonde_times_correct_idle(struct sonde_times *t);
/* Returns the method of the metric's rule for each accumulator of a cell of this kit. NULL: no memory. */
uint8_t *sonde_kit_find_methods(
	const struct sonde_kit *kit, const struct sonde_map *metrics, struct sonde_arena *arena);

/* --- rows --------------------------------------------------------------------------------------- */

/* Replaces `*text` by a copy that lives as long as the cells; {NULL, 0} stays as it is. False: no memory. */
bool sonde_cells_keep(struct sonde_cells *c, struct sonde_str *text);
/* Copies a selection with the texts it borrows. False: no memory. */
bool sonde_cells_keep_selection(struct sonde_cells *c, const struct sonde_selection *s);
/* The next three add a copy. False or NULL: no memory. */
bool sonde_cells_add_input(struct sonde_cells *c, const struct sonde_input *from);
bool sonde_cells_add_process(struct sonde_cells *c, const struct sonde_process *from);
struct sonde_device *sonde_cells_add_device(struct sonde_cells *c, const struct sonde_device *from);
/* Adds a visit with all times unknown (NaN). NULL: no memory. */
struct sonde_visit *sonde_cells_add_visit(struct sonde_cells *c, uint32_t scope, uint32_t region);
/* Adds the tally and counts of `from` to those of `to`, or subtracts them (sign -1). */
void sonde_cells_add_counts(struct sonde_cells *to, const struct sonde_cells *from, int sign);
static inline void sonde_count_add(uint64_t *to, uint64_t n, int sign)
{
	*to = sign > 0 ? *to + n : *to - n;
}
/* Frees the tables, but not the texts and numbers they point to. */
void sonde_cells_free_tables(struct sonde_cells *c);

/* The work of one stream for a visit. */
struct sonde_stream_row {
	size_t visit;
	struct sonde_stream_work sums;
};
struct sonde_stream_rows {
	struct sonde_stream_row *at;
	size_t nr, cap;
};
/* Sorts the rows by visit, busiest first, and copies them to the cells and into the visits' slices. False: no memory. */
bool sonde_streams_hand_out(struct sonde_stream_rows *rows, struct sonde_visit *visits, struct sonde_cells *c);

/* --- numbers in the tables of some cells → numbers in the tables of others ------------------------ */

/* For each table, an array: old number → new number. */
struct sonde_numbers {
	uint32_t *string, *text, *region, *place, *scope; /* text NULL: texts keep their numbers */
	uint32_t process; /* new number of the first process; the others follow it */
};
/*
 * Allocates the arrays in `scratch` and adds the strings and texts of `from` to the maps `strings` and `texts`.
 * Their bytes are copied to `keep` unless that is NULL. False: no memory.
 */
bool sonde_numbers_init(struct sonde_numbers *of, const struct sonde_cells *from, struct sonde_map *strings,
	struct sonde_map *texts, struct sonde_arena *keep, struct sonde_arena *scratch);
/* The new number for an old one; SONDE_NONE stays. */
static inline uint32_t sonde_number_in(const uint32_t *of, uint32_t number)
{
	return number == SONDE_NONE ? SONDE_NONE : of[number];
}
/* Adds the names of map `from` to map `to` and returns their numbers there, in `scratch`. The bytes are copied to
 * `keep` unless that is NULL. Returns NULL: no memory. */
uint32_t *sonde_map_enter(struct sonde_map *to, struct sonde_arena *keep,
	const struct sonde_map *from, struct sonde_arena *scratch);
/* Returns a region with the new numbers of its parent, label and domain. */
struct sonde_region sonde_region_in(struct sonde_region r, const struct sonde_numbers *of);
/* Finds or adds a region in `keys` and returns its number. Regions with the same parent, label, domain and kind are one. */
uint32_t sonde_region_find_or_add(struct sonde_map *keys, struct sonde_arena *keep,
	const struct sonde_region *r, bool *is_new);

/* --- PC samples ---------------------------------------------------------------------------------------- */

/* Maps that find rows of the tables around stalls, while cells are being made. Start with `= {0}`. */
struct sonde_stall_keys {
	struct sonde_map symbols, reasons, lines;
	struct sonde_arena arena;
};
void sonde_stall_keys_release(struct sonde_stall_keys *k);
/* Each finds or adds a row and returns its number; SONDE_NONE: no memory. String numbers are those of `c`. */
uint32_t sonde_symbol_find_or_add(struct sonde_cells *c, struct sonde_stall_keys *k, struct sonde_symbol symbol);
uint32_t sonde_stall_reason_find_or_add(struct sonde_cells *c, struct sonde_stall_keys *k, uint32_t string);
uint32_t sonde_line_find_or_add(struct sonde_cells *c, struct sonde_stall_keys *k, struct sonde_line line);

/*
 * The most stalls that cells, or a sum of cells, may have. If there are more, they are kept without instructions, and
 * a note says so.
 */
#define SONDE_MAX_STALLS (4u << 20)
void sonde_stalls_note_rest(struct sonde_notes *notes);

static inline struct sonde_stall sonde_stall_rest(struct sonde_stall s)
{
	s.pc = SONDE_PC_REST;
	s.line = SONDE_NONE;
	return s;
}

/* For symbols, reasons and lines: old number → new number. The caller sets `in` first. */
struct sonde_stall_numbers {
	struct sonde_arena *in; /* the arrays are allocated here */
	uint32_t *symbol, *reason, *line;
};
/*
 * Adds the symbols, reasons and lines of `from` to `to`. `string_of` maps string numbers of `from` to those of `to`.
 * False: no memory.
 */
bool sonde_stall_tables_enter(struct sonde_stall_numbers *out, struct sonde_cells *to, struct sonde_stall_keys *k,
	const struct sonde_cells *from, const uint32_t *string_of);

/* --- timelines and samples -------------------------------------------------------------------------- */

void sonde_timeline_free(struct sonde_timeline *t);
/* Fills `sampled_others`. Call it when the cells are complete. False: no memory. */
bool sonde_sampled_list_others(struct sonde_cells *c);

#endif
