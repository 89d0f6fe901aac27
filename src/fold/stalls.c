/*
 * PC samples → stalls of cells.
 *
 * A drain gives the samples of a function since the last drain, but does not say which launches they belong to. We
 * split the samples among the cells of the function's launches, by the time that these launches took between the
 * two drains. With one cell nothing is split, and the result is exact. Launches that are not selected get their
 * share too, and it is dropped. CUPTI decodes samples a little later than it takes them: if the function did not run
 * between the two drains, its last launch before them gets the samples. That is a guess: it is exact only if all launches of the
 * function are in one cell.
 */
#include "fold/fold_int.h"

#include "base/alloc.h"
#include "base/bisect.h"
#include "base/keysort.h"
#include "catalogue/stall_reasons.h"

#include <stdlib.h>

#define MAX_SHARES 32u		  /* the most cells among which a batch is split: those with the most time */
#define FIRST_MERGE (256u << 10)  /* number of rows at which equal rows are added up for the first time */
#define WALKS	    16u		  /* limit of the work: launches looked at per launch and per batch, on average */

/* --- the tables around stalls ------------------------------------------------------------------------ */

void sonde_stall_keys_release(struct sonde_stall_keys *k)
{
	sonde_map_release(&k->symbols);
	sonde_map_release(&k->reasons);
	sonde_map_release(&k->lines);
	sonde_arena_release(&k->arena);
}

uint32_t sonde_symbol_find_or_add(struct sonde_cells *c, struct sonde_stall_keys *k, struct sonde_symbol symbol)
{
	const uint64_t key[2] = {symbol.name, symbol.cubin};
	bool is_new = false;
	uint32_t at = sonde_map_keep(&k->symbols, &k->arena, SONDE_BYTES(key), &is_new);

	return is_new && at != SONDE_NONE && !sonde_vec_put(&c->symbols, symbol) ? SONDE_NONE : at;
}

uint32_t sonde_stall_reason_find_or_add(struct sonde_cells *c, struct sonde_stall_keys *k, uint32_t string)
{
	bool is_new = false;
	uint32_t at = sonde_map_keep(&k->reasons, &k->arena, SONDE_BYTES(string), &is_new);

	return is_new && at != SONDE_NONE && !sonde_vec_put(&c->stall_reasons, string) ? SONDE_NONE : at;
}

uint32_t sonde_line_find_or_add(struct sonde_cells *c, struct sonde_stall_keys *k, struct sonde_line line)
{
	bool is_new = false;
	uint32_t at = sonde_map_keep(&k->lines, &k->arena, SONDE_BYTES(line), &is_new);

	return is_new && at != SONDE_NONE && !sonde_vec_put(&c->lines, line) ? SONDE_NONE : at;
}

static uint32_t *new_numbers(const struct sonde_stall_numbers *n, size_t nr)
{
	return sonde_arena_alloc(n->in, (nr + 1) * sizeof(uint32_t));
}

bool sonde_stall_tables_enter(struct sonde_stall_numbers *out, struct sonde_cells *to, struct sonde_stall_keys *k,
	const struct sonde_cells *from, const uint32_t *string_of)
{
	size_t i;
	bool ok;

	out->symbol = new_numbers(out, from->symbols.nr);
	out->reason = new_numbers(out, from->stall_reasons.nr);
	out->line = new_numbers(out, from->lines.nr);
	ok = out->symbol && out->reason && out->line;
	for (i = 0; ok && i < from->stall_reasons.nr; i++)
		ok = (out->reason[i] = sonde_stall_reason_find_or_add(to, k, string_of[from->stall_reasons.at[i]])) != SONDE_NONE;
	for (i = 0; ok && i < from->symbols.nr; i++) {
		struct sonde_symbol symbol = {string_of[from->symbols.at[i].name], from->symbols.at[i].cubin};

		ok = (out->symbol[i] = sonde_symbol_find_or_add(to, k, symbol)) != SONDE_NONE;
	}
	for (i = 0; ok && i < from->lines.nr; i++) { /* callers come first */
		struct sonde_line line = from->lines.at[i];

		line.file = string_of[line.file];
		line.caller = sonde_number_in(out->line, line.caller);
		ok = (out->line[i] = sonde_line_find_or_add(to, k, line)) != SONDE_NONE;
	}
	return ok;
}

/* --- rows ---------------------------------------------------------------------------------------------- */

struct row {
	uint32_t cell;
	struct sonde_stall stall;
};

/* A cell with launches of a function, and their time between two drains. */
struct share {
	uint32_t cell; /* SONDE_NONE: launches that are not selected */
	double ns;
};

struct shares {
	struct share at[MAX_SHARES];
	uint32_t nr;
	double ns;
	bool is_exact; /* the samples cannot belong to another cell */
};

/* The launches of one function on one device, by start: a slice of `launches`. */
struct group {
	size_t first, nr;
	struct shares *all; /* shares of all its launches; NULL = not computed yet */
	enum { NOT_LOOKED, ONE_CELL, MANY_CELLS } cells;
};

struct work {
	struct sonde_folding *f;
	struct sonde_cells *c;
	const struct sonde_records *r;
	struct sonde_map group_keys; /* {process, device, full name} */
	SONDE_VEC(struct group) groups;
	SONDE_VEC(struct sonde_keyed) launches; /* record numbers, by group, then start */
	SONDE_VEC(uint64_t) ended; /* for each of `launches`: the latest end of it and of earlier ones of the group */
	uint64_t nr_walks; /* number of launches that may still be looked at */
	struct sonde_map cell_keys;
	struct sonde_stall_keys keys;
	SONDE_VEC(uint32_t) reason_of; /* by string number of the records: reason number + 1, 0 = not looked up yet */
	uint32_t *line_of; /* line number of the records → of the cells */
	SONDE_VEC(struct row) rows;
	size_t merge_at;
	bool forgets_pcs;
	bool failed; /* no memory for a cell */
	struct sonde_arena arena;
};

static int by_row(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->cell != y->cell)
		return sonde_cmp(x->cell, y->cell);
	if (x->stall.symbol != y->stall.symbol)
		return sonde_cmp(x->stall.symbol, y->stall.symbol);
	if (x->stall.pc != y->stall.pc)
		return sonde_cmp(x->stall.pc, y->stall.pc);
	return sonde_cmp(x->stall.reason, y->stall.reason);
}

/* Sorts the rows and adds up equal ones. */
static void merge_rows(struct work *w)
{
	size_t i, nr = 0;

	sonde_vec_sort(&w->rows, by_row);
	for (i = 0; i < w->rows.nr; i++) {
		struct row *last = nr ? &w->rows.at[nr - 1] : NULL, *row = &w->rows.at[i];

		if (last && by_row(last, row) == 0) {
			last->stall.samples += row->stall.samples;
			last->stall.not_issued += row->stall.not_issued;
		} else {
			w->rows.at[nr++] = *row;
		}
	}
	w->rows.nr = nr;
}

void sonde_stalls_note_rest(struct sonde_notes *notes)
{
	sonde_note(notes,
		"there are PC samples for more than %u million combinations of region, instruction and reason: they are kept by "
		"function and reason, without instructions",
		SONDE_MAX_STALLS >> 20);
}

/* There are too many instructions: from now on rows are kept without them. Sums do not change. */
static void forget_pcs(struct work *w)
{
	size_t i;

	if (w->forgets_pcs)
		return;
	w->forgets_pcs = true;
	for (i = 0; i < w->rows.nr; i++)
		w->rows.at[i].stall = sonde_stall_rest(w->rows.at[i].stall);
	merge_rows(w);
	sonde_stalls_note_rest(&w->c->notes);
}

static bool add_row(struct work *w, struct row row)
{
	if (w->forgets_pcs)
		row.stall = sonde_stall_rest(row.stall);
	if (w->rows.nr >= w->merge_at) {
		merge_rows(w);
		if (w->rows.nr > SONDE_MAX_STALLS)
			forget_pcs(w);
		w->merge_at = 2 * w->rows.nr > FIRST_MERGE ? 2 * w->rows.nr : FIRST_MERGE;
	}
	return sonde_vec_put(&w->rows, row);
}

/* --- the launches and cells of samples ------------------------------------------------------------------- */

static uint32_t group_of(struct work *w, uint32_t process, uint32_t device, uint32_t name, bool *is_new)
{
	const uint32_t key[3] = {process, device, name};

	return is_new ? sonde_map_keep(&w->group_keys, &w->arena, SONDE_BYTES(key), is_new)
		      : sonde_map_find(&w->group_keys, SONDE_BYTES(key));
}

static bool enter_groups(struct work *w)
{
	size_t i;

	for (i = 0; i < w->r->pc_batches.nr; i++) {
		const struct sonde_pc_batch *b = &w->r->pc_batches.at[i];
		bool is_new = false;

		if (group_of(w, b->process, b->device, b->name, &is_new) == SONDE_NONE ||
			(is_new && !sonde_vec_push(&w->groups)))
			return false;
	}
	return true;
}

/* The group of a record, SONDE_NONE = its function has no samples. */
static uint32_t group_of_record(struct work *w, size_t record)
{
	const struct sonde_record *rec = &w->r->records.at[record];

	if (rec->kind != SONDE_RESULT_KERNEL || rec->when == SONDE_AHEAD || !rec->time.end_ns)
		return SONDE_NONE;
	return group_of(w, sonde_record_caller(w->r, rec)->process, sonde_record_queue(w->r, rec)->device,
		sonde_record_function(w->r, rec)->full_name, NULL);
}

/* Sorts records into groups in two passes: the first counts the launches of each group, the second enters them. */
static bool enter_launches(struct work *w)
{
	size_t i, nr = 0;
	uint32_t *of = sonde_arena_alloc(&w->arena, (w->r->records.nr + 1) * sizeof(*of));

	if (!of)
		return false;
	for (i = 0; i < w->r->records.nr; i++) {
		of[i] = group_of_record(w, i);
		if (of[i] != SONDE_NONE)
			w->groups.at[of[i]].nr++;
	}
	for (i = 0; i < w->groups.nr; i++) {
		w->groups.at[i].first = nr;
		nr += w->groups.at[i].nr;
		w->groups.at[i].nr = 0;
	}
	if (!sonde_vec_reserve(&w->launches, nr + 1) || !sonde_vec_reserve(&w->ended, nr + 1))
		return false;
	w->launches.nr = w->ended.nr = nr;
	for (i = 0; i < w->r->records.nr; i++)
		if (of[i] != SONDE_NONE) {
			struct group *g = &w->groups.at[of[i]];

			w->launches.at[g->first + g->nr++] =
				(struct sonde_keyed){w->r->records.at[i].time.start_ns, (uint32_t)i};
		}
	for (i = 0; i < w->groups.nr; i++)
		if (!sonde_keysort(&w->launches.at[w->groups.at[i].first], w->groups.at[i].nr))
			return false;
	return true;
}

static void find_ends(struct work *w)
{
	size_t i, k;

	for (i = 0; i < w->groups.nr; i++) {
		uint64_t latest = 0;

		for (k = w->groups.at[i].first; k < w->groups.at[i].first + w->groups.at[i].nr; k++) {
			uint64_t end = w->r->records.at[w->launches.at[k].index].time.end_ns;

			latest = end > latest ? end : latest;
			w->ended.at[k] = latest;
		}
	}
	w->nr_walks = WALKS * (w->launches.nr + w->r->pc_batches.nr);
}

static bool enter_cells(struct work *w)
{
	size_t i;

	for (i = 0; i < w->c->cells.nr; i++) {
		const struct sonde_cell *cell = &w->c->cells.at[i];
		const uint32_t key[3] = {cell->scope, cell->place, cell->kernel};

		if (sonde_map_keep(&w->cell_keys, &w->arena, SONDE_BYTES(key), NULL) == SONDE_NONE)
			return false;
	}
	return true;
}

/*
 * The cell of a launch; SONDE_NONE: it is not selected. A launch of the file before was counted there (SONDE_BEFORE),
 * but its samples may come in this file: then its cell here has stalls and no launches.
 */
static uint32_t cell_of(struct work *w, uint32_t record)
{
	const struct sonde_launch *l = &w->f->l->launches.at[record];
	const uint32_t key[3] = {l->scope, l->place, w->f->string_of[sonde_launch_kernel(w->f->l, l)]};
	struct sonde_cell *cell;
	bool is_new;
	uint32_t at;

	if (l->state == SONDE_LAUNCH_NOT_SELECTED)
		return SONDE_NONE;
	at = sonde_map_keep(&w->cell_keys, &w->arena, SONDE_BYTES(key), &is_new);
	if (at == SONDE_NONE || !is_new) {
		w->failed |= at == SONDE_NONE;
		return at;
	}
	cell = sonde_vec_push(&w->c->cells);
	if (cell) {
		cell->scope = l->scope;
		cell->place = l->place;
		cell->kernel = key[2];
		cell->acc = sonde_arena_calloc(&w->c->arena, sonde_cells_kit(w->c, l->scope)->nr + 1, sizeof(*cell->acc));
	}
	w->failed |= !cell || !cell->acc;
	return w->failed ? SONDE_NONE : at;
}

/*
 * Adds time to the share of a cell. Beyond MAX_SHARES the shortest share is dropped, and the samples are split among
 * the others.
 */
static void add_share(struct shares *s, uint32_t cell, double ns)
{
	uint32_t i, least = 0;

	for (i = 0; i < s->nr && s->at[i].cell != cell; i++)
		least = s->at[i].ns < s->at[least].ns ? i : least;
	if (i < s->nr) {
		s->at[i].ns += ns;
	} else if (s->nr < MAX_SHARES) {
		s->at[s->nr++] = (struct share){cell, ns};
	} else if (s->at[least].ns < ns) {
		s->ns -= s->at[least].ns;
		s->at[least] = (struct share){cell, ns};
	} else {
		return;
	}
	s->ns += ns;
}

/* Finds the shares of all launches of a group, once. False: no memory. */
static bool find_all_shares(struct work *w, struct group *g)
{
	size_t i;

	if (g->all)
		return true;
	g->all = sonde_arena_calloc(&w->arena, 1, sizeof(*g->all));
	for (i = g->first; g->all && i < g->first + g->nr; i++) {
		const struct sonde_record_time *t = &w->r->records.at[w->launches.at[i].index].time;

		if (t->end_ns > t->start_ns)
			add_share(g->all, cell_of(w, w->launches.at[i].index), (double)(t->end_ns - t->start_ns));
	}
	return g->all;
}

/* Whether all launches of a group are in one cell. Looks once. */
static bool is_in_one_cell(struct work *w, struct group *g)
{
	const struct sonde_launch *launches = w->f->l->launches.at;
	size_t i;

	for (i = g->first; g->cells == NOT_LOOKED && i < g->first + g->nr; i++) {
		const struct sonde_launch *a = &launches[w->launches.at[g->first].index], *b = &launches[w->launches.at[i].index];
		bool is_out = a->state == SONDE_LAUNCH_NOT_SELECTED;

		if ((b->state == SONDE_LAUNCH_NOT_SELECTED) != is_out || (!is_out && (a->scope != b->scope || a->place != b->place)))
			g->cells = MANY_CELLS;
	}
	g->cells = g->cells == NOT_LOOKED ? ONE_CELL : g->cells;
	return g->cells == ONE_CELL;
}

/*
 * Finds the cells of the group's launches between two drains, with their times. If launches overlap so much that this
 * would take too long (nr_walks is used up), uses the shares of all the group's launches, which is exact only if there
 * is one cell.
 */
static bool find_shares(struct work *w, const struct sonde_pc_batch *b, struct shares *s)
{
	struct group *g = &w->groups.at[group_of(w, b->process, b->device, b->name, NULL)];
	size_t low = g->first, i;

	*s = (struct shares){0};
	sonde_bisect(low, g->first + g->nr, mid, w->launches.at[mid].key < b->end_ns);
	for (i = low; i > g->first && w->ended.at[i - 1] > b->begin_ns; i--, w->nr_walks--) {
		if (!w->nr_walks) {
			if (find_all_shares(w, g))
				*s = *g->all;
			s->is_exact = s->nr == 1;
			return g->all;
		}
		const struct sonde_record_time *t = &w->r->records.at[w->launches.at[i - 1].index].time;
		uint64_t from = t->start_ns > b->begin_ns ? t->start_ns : b->begin_ns;
		uint64_t to = t->end_ns < b->end_ns ? t->end_ns : b->end_ns;

		if (to > from)
			add_share(s, cell_of(w, w->launches.at[i - 1].index), (double)(to - from));
	}
	s->is_exact = s->nr == 1;
	if (!s->nr && g->nr) {
		add_share(s, cell_of(w, w->launches.at[low > g->first ? low - 1 : low].index), 1);
		s->is_exact = is_in_one_cell(w, g);
	}
	return true;
}

/* --- batches ----------------------------------------------------------------------------------------------- */

/* The number of a text among the strings of the cells, added if new; SONDE_NONE: no memory. */
static uint32_t string_in(struct work *w, struct sonde_str text)
{
	return sonde_map_keep(&w->c->strings, &w->c->arena, text, NULL);
}

static uint32_t reason_of(struct work *w, uint32_t string)
{
	uint32_t *slot, reason;
	bool is_twin;

	while (w->reason_of.nr <= string)
		if (!sonde_vec_put(&w->reason_of, 0))
			return SONDE_NONE;
	slot = &w->reason_of.at[string];
	if (!*slot) {
		reason = string_in(w, sonde_stall_reason_short(sonde_records_str(w->r, string), &is_twin));
		reason = reason == SONDE_NONE ? reason : sonde_stall_reason_find_or_add(w->c, &w->keys, reason);
		*slot = reason + 1;
	}
	return *slot - 1;
}

/* Adds the lines of the records to the cells, callers first. False: no memory. */
static bool enter_lines(struct work *w)
{
	size_t i;

	w->line_of = sonde_arena_alloc(&w->arena, (w->r->pc_lines.nr + 1) * sizeof(*w->line_of));
	for (i = 0; i < w->r->pc_lines.nr && w->line_of; i++) {
		const struct sonde_pc_line *l = &w->r->pc_lines.at[i];
		struct sonde_line line = {string_in(w, sonde_records_str(w->r, l->file)), l->line,
			l->caller == SONDE_NONE ? SONDE_NONE : w->line_of[l->caller]};

		if (line.file == SONDE_NONE ||
			(w->line_of[i] = sonde_line_find_or_add(w->c, &w->keys, line)) == SONDE_NONE)
			return false;
	}
	return w->line_of;
}

static bool add_sample(struct work *w, const struct sonde_pc_sample *p, uint32_t symbol, const struct shares *s)
{
	uint32_t reason = reason_of(w, p->reason), line = p->line ? w->line_of[p->line - 1] : SONDE_NONE, i;

	for (i = 0; i < s->nr && reason != SONDE_NONE; i++) {
		double part = s->nr == 1 ? 1 : s->at[i].ns / s->ns;

		if (s->at[i].cell != SONDE_NONE &&
			!add_row(w, (struct row){s->at[i].cell,
					    {symbol, p->pc, reason, line, p->samples * part, p->not_issued * part}}))
			return false;
		if (s->is_exact && s->at[i].cell != SONDE_NONE)
			w->c->cells.at[s->at[i].cell].exact_stalls += p->samples;
	}
	return reason != SONDE_NONE;
}

static struct sonde_stall_source *source_of(struct work *w, uint32_t process)
{
	size_t i;

	for (i = 0; i < w->c->stall_sources.nr && w->c->stall_sources.at[i].process != process; i++)
		;
	return &w->c->stall_sources.at[i];
}

static bool add_batch(struct work *w, const struct sonde_pc_batch *b)
{
	struct sonde_stall_source *source = source_of(w, b->process);
	struct sonde_symbol symbol = {string_in(w, sonde_records_str(w->r, b->symbol)), b->cubin};
	uint32_t number = symbol.name == SONDE_NONE ? SONDE_NONE : sonde_symbol_find_or_add(w->c, &w->keys, symbol), i;
	struct shares s;

	if (number == SONDE_NONE)
		return false;
	if (!find_shares(w, b, &s) || w->failed)
		return false;
	for (i = 0; i < b->nr; i++) {
		const struct sonde_pc_sample *p = &w->r->pc_samples.at[b->first + i];

		source->samples += p->samples;
		source->unplaced += s.nr ? 0 : p->samples;
		if (!add_sample(w, p, number, &s))
			return false;
	}
	return true;
}

/* Moves the rows to the stalls, and gives each cell its slice. */
static bool hand_out(struct work *w)
{
	struct sonde_cell *cell;
	size_t i;

	merge_rows(w);
	if (w->rows.nr > SONDE_MAX_STALLS)
		forget_pcs(w);
	if (!sonde_vec_reserve(&w->c->stalls, w->rows.nr + 1))
		return false;
	for (i = 0; i < w->rows.nr; i++) {
		cell = &w->c->cells.at[w->rows.at[i].cell];
		if (!cell->nr_stalls++)
			cell->first_stall = (uint32_t)i;
		w->c->stalls.at[w->c->stalls.nr++] = w->rows.at[i].stall;
	}
	return true;
}

static bool add_sources(struct work *w)
{
	size_t i;

	for (i = 0; i < w->r->pc_sources.nr; i++) {
		const struct sonde_pc_source *s = &w->r->pc_sources.at[i];

		if (!sonde_vec_put(&w->c->stall_sources, (struct sonde_stall_source){.process = s->process,
								 .period = s->period, .dropped = s->dropped, .full_drains = s->full_drains}))
			return false;
	}
	return true;
}

static void note_unplaced(const struct work *w)
{
	uint64_t samples = 0, unplaced = 0;
	size_t i;

	for (i = 0; i < w->c->stall_sources.nr; i++) {
		samples += w->c->stall_sources.at[i].samples;
		unplaced += w->c->stall_sources.at[i].unplaced;
	}
	if (unplaced)
		sonde_note(&w->c->notes,
			"%llu of %llu PC samples are in functions without a recorded launch: they count in no kernel",
			(unsigned long long)unplaced, (unsigned long long)samples);
}

bool sonde_fold__stalls(struct sonde_folding *f)
{
	struct work w = {.f = f, .c = f->c, .r = f->r, .merge_at = FIRST_MERGE};
	size_t i;
	bool ok;

	if (!f->r->pc_sources.nr)
		return true;
	ok = add_sources(&w) && enter_groups(&w) && enter_launches(&w) && enter_cells(&w) && enter_lines(&w);
	if (ok)
		find_ends(&w);
	for (i = 0; ok && i < f->r->pc_batches.nr; i++)
		if (f->r->pc_batches.at[i].when == SONDE_NOW)
			ok = add_batch(&w, &f->r->pc_batches.at[i]);
	ok = ok && hand_out(&w);
	if (ok)
		note_unplaced(&w);
	sonde_map_release(&w.group_keys);
	sonde_map_release(&w.cell_keys);
	sonde_vec_release(&w.groups);
	sonde_vec_release(&w.launches);
	sonde_vec_release(&w.ended);
	sonde_vec_release(&w.reason_of);
	sonde_vec_release(&w.rows);
	sonde_stall_keys_release(&w.keys);
	sonde_arena_release(&w.arena);
	return ok;
}
