/*
 * Making cells: how rows get into the tables around them.
 *
 * Cells come about in three ways: folded from the launches of one input (fold.c), put side by side
 * from parts (merge/), added up from parts (merge/). What the three have in common is here, so that a
 * new member of a table is one line and not three. Readers of cells need cells.h only.
 */
#ifndef SONDE_FOLD_CELL_TABLES_H
#define SONDE_FOLD_CELL_TABLES_H

#include "fold/cells.h"

/* Idle time when all files of a capture are added up: never below its gaps, and within the span. */
void sonde_times_settle_idle(struct sonde_times *t);
/* By accumulator of its cells: the method of the metric's rule. NULL: no memory. */
uint8_t *sonde_kit_find_methods(
	const struct sonde_kit *kit, const struct sonde_map *metrics, struct sonde_arena *arena);

/* --- rows --------------------------------------------------------------------------------------- */

/* A copy that lives as long as the cells; {NULL, 0} stays as it is. False: no memory. */
bool sonde_cells_keep(struct sonde_cells *c, struct sonde_str *text);
/* Copies what a selection borrows. */
bool sonde_cells_keep_selection(struct sonde_cells *c, const struct sonde_selection *s);
/* Each adds a copy. False, NULL: no memory. */
bool sonde_cells_add_input(struct sonde_cells *c, const struct sonde_input *from);
bool sonde_cells_add_process(struct sonde_cells *c, const struct sonde_process *from);
struct sonde_device *sonde_cells_add_device(struct sonde_cells *c, const struct sonde_device *from);
/* Adds a visit of which no time is known. NULL: no memory. */
struct sonde_visit *sonde_cells_add_visit(struct sonde_cells *c, uint32_t scope, uint32_t region);
/* Adds to the tally, or takes from it (sign -1), what was counted elsewhere. */
void sonde_cells_add_counts(struct sonde_cells *to, const struct sonde_cells *from, int sign);
static inline void sonde_count_add(uint64_t *to, uint64_t n, int sign)
{
	*to = sign > 0 ? *to + n : *to - n;
}
/* Frees the tables but not what they point to. */
void sonde_cells_shed(struct sonde_cells *c);

/* The work of one stream for a visit. */
struct sonde_stream_row {
	size_t visit;
	struct sonde_stream_work sums;
};
struct sonde_stream_rows {
	struct sonde_stream_row *at;
	size_t nr, cap;
};
/* Moves the rows to the cells, by visit, the busiest first; empties `rows`. False: no memory. */
bool sonde_streams_hand_out(struct sonde_stream_rows *rows, struct sonde_visit *visits, struct sonde_cells *c);

/* --- numbers of one's tables → numbers of another's ----------------------------------------------- */

/* Each by the number it has there. */
struct sonde_numbers {
	uint32_t *string, *text, *region, *place, *scope; /* text NULL: they stay as they are */
	uint32_t process; /* of the first process: they stay together */
};
/*
 * Makes room for all of them in `scratch`, and enters the strings and texts of `from` in other maps: copied
 * to `keep` unless that is NULL. False: no memory.
 */
bool sonde_numbers_init(struct sonde_numbers *of, const struct sonde_cells *from, struct sonde_map *strings,
	struct sonde_map *texts, struct sonde_arena *keep, struct sonde_arena *scratch);
/* A number there as a number here; SONDE_NONE stays. */
static inline uint32_t sonde_number_in(const uint32_t *of, uint32_t number)
{
	return number == SONDE_NONE ? SONDE_NONE : of[number];
}
/* The names of one map in another: their numbers there, in `scratch`. Copied to `keep` unless that is
 * NULL. NULL: no memory. */
uint32_t *sonde_map_enter(struct sonde_map *to, struct sonde_arena *keep,
	const struct sonde_map *from, struct sonde_arena *scratch);
/* A region under the numbers of other tables. */
struct sonde_region sonde_region_in(struct sonde_region r, const struct sonde_numbers *of);
/* Its number among those met: regions are the same by parent, label, domain and kind. */
uint32_t sonde_region_meet(struct sonde_map *keys, struct sonde_arena *keep,
	const struct sonde_region *r, bool *is_new);

/* --- PC samples ---------------------------------------------------------------------------------------- */

/* What tells the rows of the tables around stalls apart, while cells are being made. Start with `= {0}`. */
struct sonde_stall_keys {
	struct sonde_map symbols, reasons, lines;
	struct sonde_arena arena;
};
void sonde_stall_keys_release(struct sonde_stall_keys *k);
/* Each finds or adds a row: its number, SONDE_NONE when memory is short. Strings are those of `c`. */
uint32_t sonde_symbol_meet(struct sonde_cells *c, struct sonde_stall_keys *k, struct sonde_symbol symbol);
uint32_t sonde_stall_reason_meet(struct sonde_cells *c, struct sonde_stall_keys *k, uint32_t string);
uint32_t sonde_line_meet(struct sonde_cells *c, struct sonde_stall_keys *k, struct sonde_line line);

/* Rows that cells have at most, or a sum of them: where there are more, instructions are not told apart, and a note says so. */
#define SONDE_MAX_STALLS (4u << 20)
void sonde_stalls_note_rest(struct sonde_notes *notes);

static inline struct sonde_stall sonde_stall_rest(struct sonde_stall s)
{
	s.pc = SONDE_PC_REST;
	s.line = SONDE_NONE;
	return s;
}

/* The numbers of another's symbols, reasons and lines, by those they have there. Set `in` first. */
struct sonde_stall_numbers {
	struct sonde_arena *in; /* where these are */
	uint32_t *symbol, *reason, *line;
};
/* Enters all of `from`, whose strings are `string_of` in `to`. False: no memory. */
bool sonde_stall_tables_enter(struct sonde_stall_numbers *out, struct sonde_cells *to, struct sonde_stall_keys *k,
	const struct sonde_cells *from, const uint32_t *string_of);

/* --- timelines and samples -------------------------------------------------------------------------- */

void sonde_timeline_free(struct sonde_timeline *t);
/* Fills `sampled_others` of cells that are complete. False: no memory. */
bool sonde_sampled_list_others(struct sonde_cells *c);

#endif
