/* The PC samples of a part: functions, reasons and lines, then the stalls of each cell. */
#include "cellfile/cell_walks.h"

#include <math.h>

static void move_tables(struct sonde_walk *w, struct sonde_cells *c)
{
	struct sonde_symbol *symbol;
	struct sonde_line *line;
	uint32_t *reason;

	MOVE_ROWS(w, &c->stall_reasons, reason)
		MOVE_INDEX(w, *reason, c->strings.nr);
	MOVE_ROWS(w, &c->symbols, symbol) {
		MOVE_INDEX(w, symbol->name, c->strings.nr);
		MOVE_NUMBER(w, symbol->cubin);
	}
	MOVE_ROWS(w, &c->lines, line) {
		MOVE_INDEX(w, line->file, c->strings.nr);
		MOVE_INDEX(w, line->line, (uint64_t)UINT32_MAX + 1);
		/* A caller has a smaller number, so no line is its own caller. */
		MOVE_MAYBE(w, line->caller, (uint64_t)(line - c->lines.at));
	}
}

static void move_sources(struct sonde_walk *w, struct sonde_cells *c)
{
	struct sonde_stall_source *s;

	MOVE_ROWS(w, &c->stall_sources, s) {
		MOVE_INDEX(w, s->process, c->processes.nr);
		MOVE_NUMBER(w, s->period);
		MOVE_NUMBER(w, s->samples);
		MOVE_NUMBER(w, s->unplaced);
		MOVE_NUMBER(w, s->dropped);
		MOVE_NUMBER(w, s->full_drains);
	}
	sonde_walk_require(w, c->stall_sources.nr);
}

/* Most numbers of samples are whole: these are written as the number plus one, others as 0 and the double. */
static double move_samples(struct sonde_walk *w, double v)
{
	bool is_whole = v >= 0 && v < 1e15 && v == floor(v);
	uint64_t n = sonde_walk_number(w, is_whole ? (uint64_t)v + 1 : 0);

	v = !n ? sonde_walk_double(w, v) : sonde_walk_reads(w) ? (double)(n - 1) : v;
	sonde_walk_require(w, v >= 0 && v < 1e18);
	return v;
}

static bool is_before(const struct sonde_stall *a, const struct sonde_stall *b)
{
	return a->symbol != b->symbol ? a->symbol < b->symbol
	       : a->pc != b->pc	  ? a->pc < b->pc
				  : a->reason < b->reason;
}

static void move_stalls(struct sonde_walk *w, struct sonde_cells *c, struct sonde_cell *cell)
{
	struct sonde_stall *s;
	uint32_t symbol = 0, pc = 0;

	MOVE_SLICE(w, &c->stalls, cell->first_stall, cell->nr_stalls, s) {
		MOVE_INDEX(w, s->symbol, c->symbols.nr);
		pc = s->symbol == symbol ? pc : 0;
		symbol = s->symbol;
		s->pc = pc + (uint32_t)sonde_walk_index(w, s->pc - pc, (uint64_t)UINT32_MAX - pc + 1);
		MOVE_INDEX(w, s->reason, c->stall_reasons.nr);
		MOVE_MAYBE(w, s->line, c->lines.nr);
		s->samples = move_samples(w, s->samples);
		s->not_issued = move_samples(w, s->not_issued);
		sonde_walk_require(w, s == &c->stalls.at[cell->first_stall] || is_before(s - 1, s));
		pc = s->pc;
	}
	if (cell->nr_stalls)
		cell->exact_stalls = move_samples(w, cell->exact_stalls);
}

void sonde_walk_stalls(struct sonde_walk *w, struct sonde_cells *c)
{
	size_t i;

	move_tables(w, c);
	move_sources(w, c);
	for (i = 0; i < c->cells.nr && sonde_walk_ok(w); i++)
		move_stalls(w, c, &c->cells.at[i]);
	sonde_walk_require(w, c->stalls.nr < SONDE_NONE);
}
