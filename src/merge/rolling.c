/*
 * Files of a capture → sums, while the capture is written and other processes may read it.
 *
 * Nothing is locked. The capture's first file has the number of the first further file that is needed. It is
 * replaced atomically, before the others are removed. If this process is stopped in between, it leaves files that do
 * not count any more. A reader notices that the number has changed while it was reading, and begins again.
 */
#include "merge/rolling.h"

#include "base/alloc.h"
#include "base/sink.h"
#include "cellfile/cellfile.h"
#include "fold/timeline.h"
#include "merge/parts_append.h"
#include "merge/parts_sum.h"
#include "merge/sampled_sum.h"
#include "read/folder_in.h"
#include "read/rolled.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The sums of files that were folded before, and the cells of the others, in this order. */
enum { SUMS, LAST, NR_ADDED };

/* --- single entries and loads: sums have none, so they are those of the files that are still whole ------ */

/* Removes what sums cannot have: marks of open entries, single entries with their loads, and collectives. */
static void forget_single(struct sonde_cells *c)
{
	size_t i;

	for (i = 0; i < c->visits.nr; i++) {
		c->visits.at[i].is_open = false;
		c->visits.at[i].first_entry = c->visits.at[i].nr_entries = 0;
	}
	for (i = 0; i < c->sums.nr; i++)
		c->sums.at[i].collective_step = 0;
	c->entries.nr = c->loads.nr = c->collectives.nr = 0;
}

/* Removes the samples that were read with a capture: they are another input, and sums have only one. */
static void forget_samples(struct sonde_cells *c)
{
	for (; c->inputs.nr > 1; c->inputs.nr--)
		sonde_vec_release(&c->inputs.at[c->inputs.nr - 1].has);
	c->kit_of.nr = c->kits.nr = 1;
}

static int by_entry(const void *a, const void *b)
{
	const struct sonde_entry_load *x = a, *y = b;

	return sonde_cmp(x->entry, y->entry);
}

/* Takes the loads of entries; `number` maps entry numbers of `last` to those of `to`. */
static bool take_loads(struct sonde_cells *to, const struct sonde_cells *last, const uint32_t *number)
{
	size_t i;

	for (i = 0; i < last->loads.nr; i++) {
		struct sonde_entry_load load = last->loads.at[i];

		load.entry = number[load.entry];
		if (load.entry != SONDE_NONE && !sonde_vec_put(&to->loads, load))
			return false;
	}
	sonde_vec_sort(&to->loads, by_entry);
	return true;
}

static bool take_entries(struct sonde_cells *to, struct sonde_sum_part *last)
{
	uint32_t *number = sonde_arena_alloc(&last->arena, (last->c->entries.nr + 1) * sizeof(*number));
	size_t i, k;

	if (!number || !sonde_vec_reserve(&to->entries, last->c->entries.nr + 1))
		return false;
	for (i = 0; i < last->c->entries.nr; i++)
		number[i] = SONDE_NONE;
	for (i = 0; i < to->visits.nr; i++)
		to->visits.at[i].entry_step = 1;
	for (i = 0; i < last->c->visits.nr; i++) {
		const struct sonde_visit *from = &last->c->visits.at[i];
		const struct sonde_visit *found =
			sonde_cells_visit(to, last->of.scope[from->scope], last->of.region[from->region]);
		struct sonde_visit *v;

		if (!found)
			continue;
		v = &to->visits.at[found - to->visits.at];
		v->first_entry = (uint32_t)to->entries.nr;
		v->nr_entries = from->nr_entries;
		v->entry_step = from->entry_step;
		for (k = 0; k < from->nr_entries; k++) {
			struct sonde_entry e = last->c->entries.at[from->first_entry + k];

			e.label = sonde_number_in(last->of.string, e.label);
			number[from->first_entry + k] = (uint32_t)to->entries.nr;
			e.arguments = sonde_number_in(last->of.string, e.arguments);
			to->entries.at[to->entries.nr++] = e;
		}
	}
	return take_loads(to, last->c, number);
}

/* --- the longest gaps ------------------------------------------------------------------------------ */

/* By scope, then longest first; of two equal ones the earlier comes first. */
static int by_length(const void *a, const void *b)
{
	const struct sonde_gap *x = a, *y = b;
	int c = sonde_cmp(x->scope, y->scope);

	c = c ? c : sonde_cmp(y->ns, x->ns);
	return c ? c : sonde_cmp(x->begin_ns, y->begin_ns);
}

static struct sonde_gap gap_in(const struct sonde_sum_part *p, size_t i)
{
	struct sonde_gap gap = p->c->gaps.at[i];

	gap.scope = p->of.scope[gap.scope];
	gap.region = sonde_number_in(p->of.region, gap.region);
	gap.before = sonde_number_in(p->of.region, gap.before);
	return gap;
}

/*
 * Joins the gaps and keeps the longest of each scope. `since_ns` counts from the first launch of the scope, which is
 * in the sums.
 */
static bool add_gaps(struct sonde_cells *to, const struct sonde_sum_part *parts)
{
	uint64_t *first_ns = sonde_calloc(to->scopes.nr + 1, sizeof(*first_ns));
	bool ok = first_ns;
	size_t p, i, k = 0, nr = 0;

	for (p = 0; p < NR_ADDED; p++)
		for (i = 0; ok && i < parts[p].c->gaps.nr; i++) {
			struct sonde_gap gap = gap_in(&parts[p], i);

			if (p == SUMS || !first_ns[gap.scope])
				first_ns[gap.scope] = gap.begin_ns - gap.since_ns;
			gap.since_ns = gap.begin_ns - first_ns[gap.scope];
			ok = sonde_vec_put(&to->gaps, gap);
		}
	sonde_vec_sort(&to->gaps, by_length);
	for (i = 0; i < to->gaps.nr; i++) {
		k = i && to->gaps.at[i].scope == to->gaps.at[i - 1].scope ? k + 1 : 0;
		if (k < SONDE_NR_GAPS)
			to->gaps.at[nr++] = to->gaps.at[i];
	}
	to->gaps.nr = nr;
	sonde_free(first_ns);
	return ok;
}

/* --- beside the sum: streams, devices, threads, counts ------------------------------------------------ */

/*
 * The streams of visits are slices of one table, in the order of the visits. So they are split into rows, added up
 * and put back.
 */

static bool take_streams(struct sonde_stream_rows *to, const struct sonde_cells *c, const struct sonde_sum_part *p)
{
	size_t i;
	uint32_t k;

	for (i = 0; i < p->c->visits.nr; i++) {
		const struct sonde_visit *from = &p->c->visits.at[i];
		const struct sonde_visit *v =
			sonde_cells_visit(c, p->of.scope[from->scope], p->of.region[from->region]);

		for (k = 0; v && k < from->nr_streams; k++)
			if (!sonde_vec_put(to, (struct sonde_stream_row){(size_t)(v - c->visits.at),
						       p->c->streams.at[from->first_stream + k]}))
				return false;
	}
	return true;
}

static int by_stream(const void *a, const void *b)
{
	const struct sonde_stream_row *x = a, *y = b;
	int c = sonde_cmp(x->visit, y->visit);

	c = c ? c : sonde_cmp(x->sums.context, y->sums.context);
	return c ? c : sonde_cmp(x->sums.stream, y->sums.stream);
}

/* Adds up the streams of both parts, so that each stream of a visit has one row. */
static bool add_streams(struct sonde_cells *c, const struct sonde_sum_part *parts)
{
	struct sonde_stream_rows rows = {0};
	bool ok = take_streams(&rows, c, &parts[SUMS]) && take_streams(&rows, c, &parts[LAST]);
	size_t i, nr = 0;

	sonde_vec_sort(&rows, by_stream);
	for (i = 0; i < rows.nr; i++) {
		struct sonde_stream_row *last = nr ? &rows.at[nr - 1] : NULL;

		if (last && by_stream(last, &rows.at[i]) == 0) {
			last->sums.launches += rows.at[i].sums.launches;
			last->sums.time_ns += rows.at[i].sums.time_ns;
			last->sums.busy_ns += rows.at[i].sums.busy_ns;
		} else {
			rows.at[nr++] = rows.at[i];
		}
	}
	rows.nr = nr;
	ok = ok && sonde_streams_hand_out(&rows, c->visits.at, c);
	sonde_vec_release(&rows);
	return ok;
}

static bool add_devices(struct sonde_cells *to, const struct sonde_cells *from)
{
	size_t i, k;

	for (i = 0; i < from->devices.nr; i++) {
		for (k = 0; k < to->devices.nr && to->devices.at[k].id != from->devices.at[i].id; k++)
			;
		if (k == to->devices.nr && !sonde_cells_add_device(to, &from->devices.at[i]))
			return false;
	}
	return true;
}

/* Threads with launches in no region. */
static bool add_strays(struct sonde_cells *to, const struct sonde_cells *from)
{
	size_t i, k;

	for (i = 0; i < from->strays.nr; i++) {
		for (k = 0; k < to->strays.nr && to->strays.at[k].thread != from->strays.at[i].thread; k++)
			;
		if (k < to->strays.nr)
			to->strays.at[k].launches += from->strays.at[i].launches;
		else if (!sonde_vec_put(&to->strays, from->strays.at[i]))
			return false;
	}
	return true;
}

static void add_input_counts(struct sonde_cells *to, const struct sonde_cells *from)
{
	struct sonde_process *p = &to->processes.at[0];
	const struct sonde_process *q = &from->processes.at[0];
	size_t i;

	for (i = 0; i < from->tally.nr_functions; i++) {
		struct sonde_str name = from->tally.functions[i];

		if (sonde_cells_keep(to, &name))
			sonde_tally_add_function(&to->tally, name);
	}
	for (i = 0; i < to->label_rules.nr && i < from->label_rules.nr; i++) /* the larger count, as most labels are in both */
		if (from->label_rules.at[i].changed > to->label_rules.at[i].changed)
			to->label_rules.at[i].changed = from->label_rules.at[i].changed;
	p->nr_launches += q->nr_launches;
	p->first_ns = q->first_ns && q->first_ns < p->first_ns ? q->first_ns : p->first_ns;
	to->nr_damaged += from->nr_damaged;
}

/* --- adding up everything ------------------------------------------------------------------------ */

static bool are_alike(const struct sonde_cells *a, const struct sonde_cells *b)
{
	return a->inputs.nr == 1 && b->inputs.nr == 1 && a->processes.nr == 1 && b->processes.nr == 1 &&
	       a->kits.nr == 1 && b->kits.nr == 1 &&
	       sonde_selection_is_same(&a->selection, &b->selection);
}

/* Whether the cells of a part lack a metric of the sum. */
static bool lacks_metric(const struct sonde_sum_part *p)
{
	uint32_t i;

	for (i = 0; i < p->sum->nr_acc && p->c->cells.nr; i++)
		if (p->acc_of[i] == SONDE_NONE)
			return true;
	return false;
}

/*
 * The cells whose metrics the result has: those of `last`, as these were chosen now. If `last` has no launches it
 * does not say, so `sums`.
 */
static const struct sonde_cells *choose_metrics(const struct sonde_cells *sums, const struct sonde_cells *last)
{
	return last->cells.nr || (!sums->cells.nr && !sums->metric_names.nr) ? last : sums;
}

/* Copies the names of curves, which still belong to the part that the timeline came from. */
static bool keep_curve_names(struct sonde_cells *c)
{
	size_t i;

	for (i = 0; c->timeline && i < c->timeline->curves.nr; i++)
		if (!sonde_cells_keep(c, &c->timeline->curves.at[i].name))
			return false;
	return true;
}

static bool finish_sums(struct sonde_cells **out, struct sonde_sum_part *parts, struct sonde_cells *last)
{
	struct sonde_numbers n = {0};
	struct sonde_cells *c = *out = sonde_sum__finish(parts->sum, NULL, &n);
	size_t i, k;

	for (i = 0; c && i < NR_ADDED; i++) {
		add_input_counts(c, parts[i].c);
		/* Devices of the last files come first: they are more complete. */
		if (!add_devices(c, parts[LAST - i].c) || !add_strays(c, parts[i].c))
			return false;
		for (k = 0; k < parts[i].c->scopes.nr; k++) /* only scopes were sorted; all other numbers stay the same */
			parts[i].of.scope[k] = n.scope[parts[i].of.scope[k]];
	}
	if (!c || !add_streams(c, parts) || !add_gaps(c, parts) || !take_entries(c, &parts[LAST]) ||
		!sonde_sampled_add(c, parts, NR_ADDED))
		return false;
	sonde_notes_add(&c->notes, &last->notes);
	return sonde_timeline__move(c, last, &parts[LAST].of) && keep_curve_names(c);
}

static int add_up(struct sonde_cells **out, struct sonde_sum_part *parts, struct sonde_cells *last,
	struct sonde_err *err)
{
	struct sonde_sum *s = parts->sum;
	const struct sonde_cells *sums = parts[SUMS].c;
	bool can = are_alike(sums, last), ok = can;
	size_t i;

	ok = ok && sonde_sum__init(s, choose_metrics(sums, last), &last->inputs.at[0], &last->processes.at[0]);
	for (i = 0; ok && i < NR_ADDED; i++)
		ok = sonde_sum__enter(&parts[i]);
	can = can && !(ok && lacks_metric(&parts[SUMS]));
	if (!can)
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"%.*s: its oldest files were folded while it was written, with another selection, "
			"other metrics or without counters, which cannot be changed now: report "
			"with the settings of the run",
			SONDE_STR_ARG(last->inputs.at[0].path));
	if (ok)
		s->c->processes.at[0].nr_launches = 0;
	for (i = 0; ok && i < NR_ADDED; i++)
		ok = sonde_sum__move(&parts[i]);
	return ok && finish_sums(out, parts, last) ? 0 : sonde_err_nomem(err);
}

/* Adds `last` to `*sums`, and replaces `*sums` by the result. SONDE_ERR_USAGE if the two cannot be added up. */
static int add_to_sums(struct sonde_cells **sums, struct sonde_cells *last, struct sonde_err *err)
{
	struct sonde_sum s = {.is_of_files = true};
	struct sonde_sum_part parts[NR_ADDED] = {{.sum = &s, .c = *sums, .sign = 1}, {.sum = &s, .c = last, .sign = 1}};
	struct sonde_cells *out = NULL;
	size_t i;
	int rc;

	forget_single(*sums);
	rc = add_up(&out, parts, last, err);
	for (i = 0; i < NR_ADDED; i++)
		sonde_arena_release(&parts[i].arena);
	sonde_sum__release(&s);
	if (rc == 0) {
		sonde_cells_free(*sums);
		*sums = out;
	} else {
		sonde_cells_free(out);
	}
	return rc;
}

/* --- reading --------------------------------------------------------------------------------------- */

/* Reads the sums in a capture's first file; `out` gets one part. */
static int read_sums(struct sonde_parts *out, const struct sonde_records *r, struct sonde_err *err)
{
	const struct sonde_rolled_up *rolled = &r->rolled.at[0];
	struct sonde_str path = r->inputs.at[rolled->input].path;
	int rc = sonde_cellfile_read(out, sonde_buf_view(&rolled->cells), path.p, err);

	if (rc == 0 && out->at.nr != 1)
		rc = sonde_err_set(err, SONDE_ERR_FORMAT, "%.*s: damaged: the sums of its folded files cannot be read; copy it again",
			SONDE_STR_ARG(path));
	return rc;
}

/*
 * Folds the files that are still whole, and adds them to the sums. If the user gave no selection, that of the sums is
 * used.
 */
static int fold_rest(struct sonde_cells **out, const struct sonde_records *r,
	const struct sonde_fold_request *request, struct sonde_err *err)
{
	struct sonde_fold_request as_then = *request;
	struct sonde_parts sums = {0};
	struct sonde_cells *last = NULL;
	int rc = read_sums(&sums, r, err);

	if (rc == 0 && sonde_selection_is_usual(&request->selection))
		as_then.selection = sums.at.at[0]->selection;
	if (rc == 0)
		rc = sonde_cells_fold_records(&last, r, &as_then, err);
	if (rc == 0) {
		forget_samples(last);
		rc = add_to_sums(&sums.at.at[0], last, err);
	}
	sonde_cells_free(last);
	if (rc == 0) {
		*out = sums.at.at[0];
		sums.at.at[0] = NULL;
	}
	sonde_parts_release(&sums);
	return rc;
}

/*
 * Fills in what only all files together show: idle times, and a memory peak of 0 in regions without memory if other
 * regions had some.
 */
static void correct_visits(struct sonde_cells *c)
{
	size_t i, k, end;

	for (i = 0; i < c->visits.nr; i = end) {
		bool has_memory = false;

		for (end = i; end < c->visits.nr && c->visits.at[end].scope == c->visits.at[i].scope; end++)
			has_memory |= !isnan(c->visits.at[end].times.memory.peak);
		for (k = i; k < end; k++) {
			struct sonde_times *t = &c->visits.at[k].times;

			if (has_memory && isnan(t->memory.peak) && !isnan(t->host_ns))
				t->memory.peak = 0;
			sonde_times_correct_idle(t);
		}
	}
}

int sonde_rolled_fold(struct sonde_cells **out, const struct sonde_records *r,
	const struct sonde_fold_request *request, struct sonde_err *err)
{
	int rc;

	*out = NULL;
	if (!r->rolled.nr)
		return sonde_cells_fold_records(out, r, request, err);
	rc = fold_rest(out, r, request, err);
	if (rc)
		return rc;
	correct_visits(*out);
	sonde_note(&(*out)->notes,
		"%.*s: its oldest files were folded while it was written: sums cover the whole run, single "
		"entries and launches only the files that still exist",
		SONDE_STR_ARG(r->inputs.at[r->rolled.at[0].input].path));
	return 0;
}

/* --- a capture and the captures beside it ------------------------------------------------------------- */

int sonde_beside_open(struct sonde_beside *b, const char *const *paths, size_t nr, const char *except, struct sonde_err *err)
{
	struct sonde_err left_out = {0};
	size_t i;
	int rc = 0;

	*b = (struct sonde_beside){.paths = paths, .nr_paths = nr, .records = sonde_calloc(nr + 1, sizeof(*b->records))};
	if (!b->records)
		return sonde_err_nomem(err);
	for (i = 0; i < nr; i++)
		b->nr_samples += sonde_folder_is_samples(paths[i]);
	for (i = 0; i < nr && b->nr_samples && nr > b->nr_samples + 1 && rc != SONDE_ERR_NOMEM; i++)
		if (!sonde_folder_is_samples(paths[i]) && !(except && strcmp(except, paths[i]) == 0))
			rc = sonde_records_open(&b->records[i], &paths[i], 1, NULL, &left_out);
	return rc == SONDE_ERR_NOMEM ? sonde_err_nomem(err) : 0;
}

void sonde_beside_release(struct sonde_beside *b)
{
	size_t i;

	for (i = 0; b->records && i < b->nr_paths; i++)
		sonde_records_free(b->records[i]);
	sonde_free(b->records);
	b->records = NULL;
}

/* A capture with its samples, and a request with the other captures of the directory as `beside`. */
struct capture {
	const char **paths;
	size_t nr_paths;
	struct sonde_fold_request request;
	struct sonde_arena arena;
};

static int find_capture(struct capture *of, const struct sonde_beside *b, const char *path,
	const struct sonde_fold_request *request, struct sonde_err *err)
{
	struct sonde_records **others = sonde_arena_calloc(&of->arena, b->nr_paths + 1, sizeof(*others));
	size_t i;

	of->paths = sonde_arena_calloc(&of->arena, b->nr_paths + 1, sizeof(*of->paths));
	of->request = *request;
	if (!others || !of->paths)
		return sonde_err_nomem(err);
	of->paths[of->nr_paths++] = path;
	for (i = 0; i < b->nr_paths; i++) {
		if (sonde_folder_is_samples(b->paths[i]))
			of->paths[of->nr_paths++] = b->paths[i];
		else if (b->records[i] && strcmp(b->paths[i], path) != 0)
			others[of->request.nr_beside++] = b->records[i];
	}
	of->request.beside = others;
	return 0;
}

/* Adds the samples as inputs, but only to the first capture of the directory, so that they are listed once. */
static bool add_samples_inputs(struct sonde_cells *c, const struct sonde_beside *b, const char *path,
	const struct sonde_records *r)
{
	size_t first = 0, i;

	while (sonde_folder_is_samples(b->paths[first]))
		first++;
	for (i = 1; i < r->inputs.nr && strcmp(b->paths[first], path) == 0; i++)
		if (!sonde_cells_add_input(c, &r->inputs.at[i]) || !sonde_vec_put(&c->kit_of, 0))
			return false;
	return true;
}

int sonde_beside_fold(struct sonde_cells **out, const struct sonde_beside *b, const char *path,
	const struct sonde_fold_request *request, struct sonde_err *err)
{
	struct sonde_records *records = NULL;
	struct capture of = {0};
	int rc = find_capture(&of, b, path, request, err);

	*out = NULL;
	if (rc == 0)
		rc = sonde_records_open(&records, of.paths, of.nr_paths, &request->read, err);
	if (rc == 0)
		rc = sonde_rolled_fold(out, records, &of.request, err);
	if (rc == 0) {
		forget_samples(*out);
		if (!add_samples_inputs(*out, b, path, records)) {
			sonde_cells_free(*out);
			*out = NULL;
			rc = sonde_err_nomem(err);
		}
	}
	sonde_records_free(records);
	sonde_arena_release(&of.arena);
	return rc;
}

/* --- folding more files ---------------------------------------------------------------------------- */

/* Appends the sums to `out`, as a partial report with one part. */
static int write_sums(struct sonde_buf *out, struct sonde_cells *cells, struct sonde_err *err)
{
	struct sonde_parts sums = {0};
	struct sonde_sink to;
	int rc = sonde_vec_put(&sums.at, cells) ? 0 : sonde_err_nomem(err);

	forget_single(cells);
	forget_samples(cells);
	sonde_sink_init_string(&to);
	if (rc == 0)
		rc = sonde_cellfile_write(&sums, &to, err);
	sonde_buf_str(out, sonde_buf_view(&to.buf));
	sonde_sink_abort(&to);
	sonde_vec_release(&sums.at);
	return rc == 0 && out->failed ? sonde_err_nomem(err) : rc;
}

/*
 * Folds `nr_files` files, including the first, to `cells`. `*read` gets the records, for their counts. Also looks at
 * the next file (SONDE_AHEAD).
 */
static int fold_files(struct sonde_buf *cells, struct sonde_records **read, struct capture *of, uint32_t nr_files,
	struct sonde_err *err)
{
	struct sonde_fold_request some = of->request;
	struct sonde_cells *sums = NULL;
	int rc;

	some.keeps_timeline = false; /* a partial report has none */
	some.read.nr_files = nr_files + 1;
	some.read.looks_ahead = true;
	rc = sonde_records_open(read, of->paths, of->nr_paths, &some.read, err);
	if (rc == 0)
		rc = (*read)->rolled.nr ? fold_rest(&sums, *read, &some, err)
					: sonde_cells_fold_records(&sums, *read, &some, err);
	if (rc == 0)
		rc = write_sums(cells, sums, err);
	sonde_cells_free(sums);
	return rc;
}

/* Replaces the first file by the sums and by those parts of the `nr_files` oldest files that must stay. */
static int replace_first_file(const char *path, uint32_t nr_files, struct sonde_str cells,
	const struct sonde_records *folded, struct sonde_err *err)
{
	struct sonde_buf file = {0};
	struct sonde_read_options options = {.nr_files = nr_files, .reduced = &file};
	struct sonde_records *read = NULL;
	int rc = sonde_records_open(&read, &path, 1, &options, err);

	sonde_records_free(read);
	if (rc == 0)
		rc = sonde_capture_complete(&file, folded->counts.at, folded->counts.nr, cells, err);
	if (rc == 0)
		rc = sonde_file_write(path, sonde_buf_view(&file), err);
	sonde_buf_release(&file);
	return rc;
}

/*
 * Removes the `nr` oldest files. If no file was folded before (`next` = 0), `path` itself is one of them; it was
 * replaced.
 */
static void remove_files(const char *path, uint32_t next, uint32_t nr)
{
	char old[4096];
	uint32_t i;

	for (i = next ? 0 : 1; i < nr; i++) {
		snprintf(old, sizeof(old), "%s.%u", path, next + i);
		unlink(old);
	}
}

int sonde_roll(const struct sonde_beside *b, const char *path, uint32_t nr, const struct sonde_fold_request *request,
	struct sonde_err *err)
{
	uint32_t next = sonde_capture_next(path), is_rolled = next > 0;
	struct sonde_records *folded = NULL;
	struct sonde_buf cells = {0};
	struct capture of = {0};
	int rc = find_capture(&of, b, path, request, err);

	if (rc == 0)
		rc = fold_files(&cells, &folded, &of, nr + 1 + is_rolled, err);
	if (rc == 0)
		rc = replace_first_file(path, nr + is_rolled, sonde_buf_view(&cells), folded, err);
	if (rc == 0)
		remove_files(path, next, nr);
	sonde_records_free(folded);
	sonde_buf_release(&cells);
	sonde_arena_release(&of.arena);
	return rc;
}

/* --- samples that no capture needs any more ----------------------------------------------------------- */

/* Removes the files of samples that end before `ns`. */
static int trim_samples(const char *path, uint64_t ns, struct sonde_err *err)
{
	uint32_t next = sonde_capture_next(path), nr = 0;
	struct sonde_buf file = {0};
	struct sonde_read_options options = {.reduced = &file};
	struct sonde_records *read = NULL;
	char name[4096];
	uint64_t began;
	int rc = 0;

	do { /* counts the files that are followed by a file that begins at `ns` or before */
		snprintf(name, sizeof(name), "%s.%u", path, (next ? next : 0) + nr + 1);
		began = sonde_capture_began(name);
	} while (began && began <= ns && ++nr);
	if (!nr)
		return 0;
	options.nr_files = nr + (next > 0);
	rc = sonde_records_open(&read, &path, 1, &options, err);
	sonde_records_free(read);
	if (rc == 0)
		rc = sonde_file_write(path, sonde_buf_view(&file), err);
	if (rc == 0)
		remove_files(path, next, nr);
	sonde_buf_release(&file);
	return rc;
}

int sonde_beside_trim(const struct sonde_beside *b, struct sonde_err *err)
{
	uint64_t ns = UINT64_MAX, one;
	size_t i;
	int rc = 0;

	for (i = 0; i < b->nr_paths && b->nr_samples; i++)
		if (!sonde_folder_is_samples(b->paths[i])) {
			one = sonde_capture_oldest(b->paths[i]);
			ns = one < ns ? one : ns;
		}
	for (i = 0; i < b->nr_paths && ns < UINT64_MAX && rc == 0; i++)
		if (sonde_folder_is_samples(b->paths[i]))
			rc = trim_samples(b->paths[i], ns, err);
	return rc;
}
