/*
 * The output of `ncu --csv --page raw`: a header row, a row of units, one row
 * per result. Second best to the report it was made from: numbers are rounded
 * as printed, NVTX cells cannot be cut with certainty, entries into a range
 * cannot be told apart. Lines that are no rows (`==PROF== …`, what the program
 * printed) are skipped. Values are decoded from the row's bytes when asked for.
 */
#include "catalogue/attributes.h"
#include "read/ncu/ncu_csv_int.h"
#include "read/demangle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct csv_cursor cursor_at(const struct sonde_source *src, uint64_t offset)
{
	const char *p = src->file.data.p;

	return (struct csv_cursor){.p = p + offset, .end = p + src->file.data.n};
}

static bool knows(struct sonde_str data)
{
	struct csv_cursor c = {.p = data.p, .end = data.p + data.n};

	return csv_find_header(&c);
}

/* One row, as far as a record needs it. */
struct row {
	struct csv_cell cells[NR_CSV_ROLES];
	struct csv_cell display_name;
	size_t nr;
};

static int keep_quoted(struct csv_table *t, const struct csv_cell *cell, struct sonde_err *err)
{
	struct sonde_str text = csv_text(&t->r->arena, cell);

	return text.p && sonde_vec_put(
				 &t->quoted, (struct csv_quoted){csv_offset(t, cell->raw.p), text})
		       ? 0
		       : sonde_err_nomem(err);
}

static int scan_row(
	struct csv_table *t, struct csv_cursor *c, struct row *row, struct sonde_err *err)
{
	const char *start = c->p;
	struct csv_cell cell;
	int rc = 0;

	*row = (struct row){.nr = 0};
	do {
		const struct csv_column *col;

		if (!csv_next(c, &cell))
			return csv_truncated(t, "a row", start, err);
		col = row->nr < t->columns.nr ? &t->columns.at[row->nr] : NULL;
		row->nr++;
		if (!col)
			continue;
		if (col->role < NR_CSV_ROLES)
			row->cells[col->role] = cell;
		else if (row->nr - 1 == t->display_name)
			row->display_name = cell;
		if (col->role == CSV_METRIC && cell.has_quotes)
			rc = keep_quoted(t, &cell, err);
	} while (rc == 0 && !c->at_row_end);
	return rc;
}

static uint64_t whole_number(const struct csv_cell *cell)
{
	double v = csv_number(cell->raw);

	return v >= 0 && v < 1e18 ? (uint64_t)v : 0;
}

static unsigned small_number(struct sonde_str text)
{
	double v = csv_number(text);

	return v >= 0 && v < 1000 ? (unsigned)v : 0;
}

static bool is_attribute(const struct csv_table *t, const struct csv_column *col)
{
	return col->metric != SONDE_NONE &&
	       sonde_str_starts(t->r->metrics.at[col->metric].name, SONDE_ATTR_PREFIX);
}

/* Every result repeats what its device is: the first one tells. False when memory is short. */
static bool add_attributes(struct csv_table *t, struct sonde_device *d, uint64_t row)
{
	struct csv_cursor c = cursor_at(t->src, row);
	struct sonde_attribute *list, *a;
	struct csv_cell cell;
	size_t i, nr = 0;

	for (i = 0; i < t->columns.nr; i++)
		nr += is_attribute(t, &t->columns.at[i]);
	list = sonde_arena_calloc(&t->r->arena, nr, sizeof(*list));
	if (!list)
		return false;
	d->attributes = list;
	for (i = 0; i < t->columns.nr && csv_next(&c, &cell); i++) {
		const struct csv_column *col = &t->columns.at[i];

		if (!is_attribute(t, col) || csv_is_missing(cell.raw))
			continue;
		a = &list[d->nr_attributes++];
		a->name = t->r->metrics.at[col->metric].name;
		a->value = csv_number(cell.raw) * col->factor;
		if (isnan(a->value))
			a->text = csv_text(&t->r->arena, &cell);
	}
	return true;
}

static int add_device(struct csv_table *t, const struct row *row, const struct csv_result *res,
	struct sonde_err *err)
{
	struct sonde_device d = {
		.id = (uint32_t)whole_number(&row->cells[CSV_DEVICE]), .process = res->process};
	const struct sonde_device *known = sonde_records_device(t->r, d.process, d.id);
	struct sonde_str rest;

	if (known && known->process == d.process)
		return 0;
	d.name = csv_text(&t->r->arena, &row->display_name);
	d.cc_major = small_number(sonde_str_cut(row->cells[CSV_CC].raw, '.', &rest));
	d.cc_minor = small_number(rest);
	if (!add_attributes(t, &d, res->rec.payload) || !sonde_records__device(t->r, &d))
		return sonde_err_nomem(err);
	return 0;
}

static uint8_t kind_of(struct sonde_str kernel)
{
	return sonde_str_is(kernel, "range")	 ? SONDE_RESULT_RANGE
	       : sonde_str_is(kernel, "graph")	 ? SONDE_RESULT_GRAPH
	       : sonde_str_is(kernel, "cmdlist") ? SONDE_RESULT_CMDLIST
						 : SONDE_RESULT_KERNEL;
}

/* Texts that live as long as the records, those of ranges as long as the row is read. */
static bool texts_of(
	struct csv_table *t, const struct row *row, struct sonde_str texts[NR_CSV_ROLES])
{
	size_t i;

	for (i = 0; i < NR_CSV_ROLES; i++) {
		bool is_ranges = i == CSV_PUSH_POP || i == CSV_PUSH_POP + 1;

		texts[i] = is_ranges ? csv_text_in(&t->ranges[i - CSV_PUSH_POP], &row->cells[i])
				     : csv_text(&t->r->arena, &row->cells[i]);
		if (row->cells[i].has_quotes && !texts[i].p)
			return false;
	}
	return true;
}

static int add_record(
	struct csv_table *t, const struct row *row, struct csv_result *res, struct sonde_err *err)
{
	struct sonde_str texts[NR_CSV_ROLES];
	uint32_t caller, full_name;
	int rc;

	if (!texts_of(t, row, texts))
		return sonde_err_nomem(err);
	if (!t->has[CSV_KERNEL]) /* by range: so many launches of it, or a replayed range */
		texts[CSV_KERNEL] = t->has[CSV_CALLS] ? SONDE_STR("(all kernels)") : SONDE_STR("range");
	res->rec.kind = kind_of(texts[CSV_KERNEL]);
	if (t->has[CSV_CALLS]) {
		res->rec.is_sum = true;
		res->rec.nr_launches = (uint32_t)whole_number(&row->cells[CSV_CALLS]);
	}
	res->rec.queue = sonde_records__queue(t->r, (uint32_t)whole_number(&row->cells[CSV_DEVICE]),
		(uint32_t)whole_number(&row->cells[CSV_CONTEXT]), whole_number(&row->cells[CSV_STREAM]));
	res->process = sonde_records__process(t->r, t->src->input,
		whole_number(&row->cells[CSV_PID]), texts[CSV_HOST], texts[CSV_PROCESS]);
	full_name = sonde_records__string(t->r, texts[CSV_KERNEL]);
	res->rec.function = sonde_records__function(t->r,
		sonde_records__string(t->r, sonde_demangle_function(texts[CSV_KERNEL])), full_name);
	if (res->rec.queue == SONDE_NONE || res->process == SONDE_NONE || res->rec.function == SONDE_NONE)
		return sonde_err_nomem(err);
	rc = t->has[CSV_RANGE] && !t->has[CSV_PUSH_POP]
		     ? csv_read_range(&t->nvtx, t->r, res, texts[CSV_RANGE], err)
		     : csv_read_nvtx(&t->nvtx, t->r, res, &texts[CSV_PUSH_POP], err);
	if (rc == 0)
		rc = add_device(t, row, res, err);
	caller = rc ? SONDE_NONE : sonde_records__caller(t->r, res->process, res->thread);
	res->rec.caller = caller;
	if (caller == SONDE_NONE || !sonde_vec_put(&t->r->records, res->rec))
		return rc ? rc : sonde_err_nomem(err);
	return 0;
}

/* Results are numbered; rows of a table by range need not be. */
static bool is_row(const struct csv_table *t, const struct csv_cursor *c)
{
	const char *p = c->p + (*c->p == '"');

	if (!t->has[CSV_ID])
		return p < c->end && !strchr("=\r\n", *p);
	return p < c->end && *p >= '0' && *p <= '9';
}

static int read_row(struct csv_table *t, struct csv_cursor *c, struct sonde_err *err)
{
	struct csv_result res = {.rec.payload = csv_offset(t, c->p)};
	struct row row;
	int rc;

	if (!is_row(t, c)) {
		t->nr_skipped += *c->p != '=' && *c->p != '\n' && *c->p != '\r';
		csv_skip_line(c);
		return 0;
	}
	rc = scan_row(t, c, &row, err);
	if (rc)
		return rc;
	if (row.nr < t->columns.nr && c->p == c->end)
		return csv_truncated(t, "a row", t->src->file.data.p + res.rec.payload, err);
	if (row.nr != t->columns.nr) { /* a line with commas is a row, and something happened to it */
		*(row.nr > 1 ? &t->nr_broken : &t->nr_skipped) += 1;
		return 0;
	}
	sonde_source__passed(t->src, res.rec.payload, csv_offset(t, c->p) - res.rec.payload);
	return add_record(t, &row, &res, err);
}

static void finish(struct csv_table *t)
{
#define DOUBT                                                                                      \
	"':', the CSV's own separator: where its domain ends is a guess; the .ncu-rep is exact"
	sonde_source__note(t->src, t->r, t->nvtx.nr_doubtful, "range label contains " DOUBT,
		"range labels contain " DOUBT);
	sonde_source__note_loss(t->src, t->r, t->nvtx.nr_lost, "range could not be read and is left out",
		"ranges could not be read and are left out");
	sonde_source__note(t->src, t->r, t->is_unitless && t->total_time != SONDE_NONE && !t->has_time,
		"column 'Total Time' has no unit: it is taken for milliseconds", NULL);
	sonde_source__note(t->src, t->r, t->nr_skipped, "line of the table is no result: skipped",
		"lines of the table are no results: skipped");
	sonde_source__note_loss(t->src, t->r, t->nr_broken,
		"row of the table has more or fewer cells than its head: left out",
		"rows of the table have more or fewer cells than its head: left out");
}

static int read_table(struct sonde_source *src, struct sonde_records *r, struct sonde_err *err)
{
	struct csv_table *t = src->state;
	struct csv_cursor c = cursor_at(src, 0);
	int rc;

	t->src = src;
	t->r = r;
	t->display_name = t->total_time = SONDE_NONE;
	if (!csv_find_header(&c))
		return sonde_err_at(err, SONDE_ERR_FORMAT, src->path, 0, 
			"no header row: make the file with 'ncu --import REPORT --csv --page raw'");
	rc = csv_read_head(t, &c, err);
	while (rc == 0 && c.p < c.end)
		rc = read_row(t, &c, err);
	finish(t);
	return rc;
}

static int by_offset(const void *a, const void *b)
{
	const struct csv_quoted *x = a, *y = b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static struct sonde_str unquoted(const struct csv_table *t, const struct csv_cell *cell)
{
	struct csv_quoted key = {csv_offset(t, cell->raw.p), {NULL, 0}}, *q;

	if (!cell->has_quotes || !t->quoted.nr)
		return cell->raw;
	q = bsearch(&key, t->quoted.at, t->quoted.nr, sizeof(key), by_offset);
	return q ? q->text : cell->raw;
}

static int read_values(const struct sonde_source *src, const struct sonde_record *rec,
	struct sonde_values *v, struct sonde_err *err)
{
	const struct csv_table *t = src->state;
	struct csv_cursor c = cursor_at(src, rec->payload);
	struct csv_cell cell;
	size_t i;

	for (i = 0; i < t->columns.nr && csv_next(&c, &cell); i++) {
		const struct csv_column *col = &t->columns.at[i];
		double number;

		if (col->metric == SONDE_NONE || csv_is_missing(cell.raw))
			continue;
		number = csv_number(cell.raw);
		v->num[col->metric] = number * col->factor;
		if (isnan(number) && !sonde_values__text(v, col->metric, unquoted(t, &cell)))
			return sonde_err_nomem(err);
	}
	sonde_source__passed(src, rec->payload, csv_offset(t, c.p) - rec->payload);
	return 0;
}

static void release(struct sonde_source *src)
{
	struct csv_table *t = src->state;

	sonde_vec_release(&t->columns);
	sonde_vec_release(&t->quoted);
	csv_nvtx_release(&t->nvtx);
	sonde_buf_release(&t->ranges[0]);
	sonde_buf_release(&t->ranges[1]);
}

const struct sonde_source_ops sonde_source_ncu_csv = {
	.name = "ncu-csv",
	.state_bytes = sizeof(struct csv_table),
	.knows = knows,
	.read = read_table,
	.values = read_values,
	.release = release,
};
