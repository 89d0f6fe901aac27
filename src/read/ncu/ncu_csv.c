/*
 * The output of `ncu --csv --page raw`: a header row, a row of units, one row
 * per result. The report it was made from is better: here numbers are rounded
 * as printed, NVTX cells cannot be cut with certainty, and entries into a range
 * cannot be distinguished. Lines that are not rows (`==PROF== …`, the program's
 * output) are skipped. Values are decoded from the row's bytes when requested.
 */
#include "catalogue/attributes.h"
#include "catalogue/metrics.h"
#include "read/csv_scan.h"
#include "read/demangle.h"
#include "read/ncu/ncu_csv_nvtx.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_COLUMNS 65536
#define SEARCH_MAX  (1u << 20) /* how far the header may be from the beginning */
#define TOTAL_TIME  "Total Time"

/* The role of a column; every column without one is a metric. */
enum csv_role {
	CSV_ID,
	CSV_PID,
	CSV_PROCESS,
	CSV_HOST,
	CSV_PUSH_POP,
	CSV_START_END, /* must follow push/pop: csv_read_nvtx takes both */
	CSV_KERNEL,
	CSV_CONTEXT,
	CSV_STREAM,
	CSV_DEVICE,
	CSV_CC,
	/* Only in tables by range, which scripts make from the raw page: a row sums up everything that ran in a range. */
	CSV_RANGE,
	CSV_CALLS,
	CSV_UNUSED,
	NR_CSV_ROLES,
	CSV_METRIC = NR_CSV_ROLES,
};

struct csv_column {
	uint32_t role;	 /* enum csv_role */
	uint32_t metric; /* metric number; SONDE_NONE = the column is not a metric */
	double factor;	 /* factor to base units */
};

/* A text value that has quotes inside, without their doubling. */
struct csv_quoted {
	uint64_t offset; /* offset of the cell in the file */
	struct sonde_str text;
};

struct csv_table {
	struct sonde_source *src;
	struct sonde_records *r;
	SONDE_VEC(struct csv_column) columns;
	SONDE_VEC(struct csv_quoted) quoted; /* sorted by offset */
	struct csv_nvtx nvtx;
	struct sonde_buf ranges[2]; /* the NVTX cells of the current row, without the CSV's quotes */
	uint32_t display_name; /* number of the column with the device's name, SONDE_NONE = none */
	uint64_t nr_skipped;   /* lines in the table that are not rows … */
	uint64_t nr_broken;    /* … and rows with more or fewer cells than the head */
	bool has[NR_CSV_ROLES]; /* by role: whether the table has such a column */
	bool has_time;	       /* the time is among the metrics, so `Total Time` is not needed */
	uint32_t total_time;   /* number of the column `Total Time`, SONDE_NONE = none … */
	bool is_unitless;      /* … and it has no unit */
};

static struct csv_cursor cursor_at(const struct sonde_source *src, uint64_t offset)
{
	const char *p = src->file.data.p;

	return (struct csv_cursor){.p = p + offset, .end = p + src->file.data.n};
}

static uint64_t offset_of(const struct csv_table *t, const char *p)
{
	return (uint64_t)(p - t->src->file.data.p);
}

/* The error for a table that ends inside `what`, which begins at `begin`. */
static int table_ends_in(
	const struct csv_table *t, const char *what, const char *begin, struct sonde_err *err)
{
	return sonde_source__truncated(
		t->src, what, offset_of(t, begin), t->src->file.data.n, err);
}

static void skip_line(struct csv_cursor *c)
{
	const char *nl = memchr(c->p, '\n', (size_t)(c->end - c->p));

	c->p = nl ? nl + 1 : c->end;
}

/* --- the head: where the table begins, which column is what, in which unit ------------------------- */

/* Roles by the header cell; entries with a colon match its beginning. */
static const struct {
	const char *head;
	enum csv_role role;
} heads[] = {
	{"ID", CSV_ID},
	{"Process ID", CSV_PID},
	{"Process Name", CSV_PROCESS},
	{"Host Name", CSV_HOST},
	{"thread Domain:Push/Pop", CSV_PUSH_POP},
	{"Id:Domain:Start/Stop", CSV_START_END},
	{"Kernel Name", CSV_KERNEL},
	{"Context", CSV_CONTEXT},
	{"Stream", CSV_STREAM},
	{"Device", CSV_DEVICE},
	{"CC", CSV_CC},
	{"NVTX Range Name", CSV_RANGE},
	{"Range Name", CSV_RANGE},
	{"NVTX Range", CSV_RANGE},
	{"Range", CSV_RANGE},
	{"Calls", CSV_CALLS},
	{"Invocations", CSV_CALLS},
	{"Kernel Time", CSV_UNUSED},
	{"Block Size", CSV_UNUSED},
	{"Grid Size", CSV_UNUSED},
};

static enum csv_role role_of(struct sonde_str name)
{
	size_t i;

	for (i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		if (sonde_str_is(name, heads[i].head) ||
			(strchr(heads[i].head, ':') && sonde_str_starts(name, heads[i].head)))
			return heads[i].role;
	return CSV_METRIC;
}

/* Whether this is the header of a table by range: it has a range, and something that was counted or measured for it. */
static bool is_range_header(struct csv_cursor c)
{
	bool has_range = false, has_figure = false;
	struct csv_cell cell;
	size_t i;

	for (i = 0; i < MAX_COLUMNS && csv_next(&c, &cell) && !(i == 0 && c.at_row_end); i++) {
		enum csv_role role = role_of(cell.raw);

		has_range |= role == CSV_RANGE;
		has_figure |= role == CSV_CALLS || role == CSV_KERNEL ||
			      sonde_str_starts(cell.raw, TOTAL_TIME) || sonde_str_is(cell.raw, SONDE_METRIC_TIME);
		if (c.at_row_end)
			break;
	}
	return has_range && has_figure;
}

static bool is_header(const struct csv_cursor *c)
{
	struct sonde_str rest = {c->p, (size_t)(c->end - c->p)};

	return sonde_str_starts(rest, "\"ID\",") || sonde_str_starts(rest, "ID,") ||
	       ((sonde_str_starts(rest, "\"") || (*c->p >= 'A' && *c->p <= 'Z')) && is_range_header(*c));
}

/* Moves `c` to the header row; false when there is none near the beginning. */
static bool find_header(struct csv_cursor *c)
{
	const char *limit = (size_t)(c->end - c->p) > SEARCH_MAX ? c->p + SEARCH_MAX : c->end;

	while (c->p < limit && !is_header(c))
		skip_line(c);
	return c->p < limit;
}

static int add_column(struct csv_table *t, const struct csv_cell *cell, struct sonde_err *err)
{
	struct sonde_str name = csv_text(&t->r->arena, cell);
	struct csv_column *col = sonde_push(&t->r->arena, &t->columns);

	*col = (struct csv_column){.role = role_of(name), .metric = SONDE_NONE, .factor = 1};
	if (col->role != CSV_METRIC)
		t->has[col->role] = true;
	if (col->role != CSV_METRIC || !name.n)
		return 0;
	if (sonde_str_starts(name, TOTAL_TIME)) {
		t->total_time = (uint32_t)(t->columns.nr - 1);
		return 0;
	}
	t->has_time |= sonde_str_is(name, SONDE_METRIC_TIME);
	if (sonde_str_is(name, "Metric Name"))
		return sonde_err_at(err, SONDE_ERR_FORMAT, t->src->path, offset_of(t, name.p),
			"this table has one metric per line, and sonde reads the raw page: make it with 'ncu --import "
			"REPORT --csv --page raw'");
	if (sonde_str_is(name, SONDE_ATTR_NAME))
		t->display_name = (uint32_t)(t->columns.nr - 1);
	col->metric = sonde_records__metric(t->r, name);
	return 0;
}

static int read_header(struct csv_table *t, struct csv_cursor *c, struct sonde_err *err)
{
	const char *begin = c->p;
	struct csv_cell cell;
	int rc = 0;

	do {
		if (!csv_next(c, &cell))
			return table_ends_in(t, "the header row", begin, err);
		if (t->columns.nr == MAX_COLUMNS)
			return sonde_err_at(err, SONDE_ERR_FORMAT, t->src->path,
				offset_of(t, c->p), 
				"more than %d columns: the raw page of ncu has fewer", MAX_COLUMNS);
		rc = add_column(t, &cell, err);
	} while (rc == 0 && !c->at_row_end);
	return rc;
}

/* Whether this is the row of units: its ID is empty. If rows have no ID, its first cell is empty and no cell is a number. */
static bool is_units(const struct csv_table *t, struct csv_cursor c)
{
	struct csv_cell cell;

	if (!csv_next(&c, &cell) || cell.raw.n || c.at_row_end)
		return false;
	while (!t->has[CSV_ID] && !c.at_row_end)
		if (!csv_next(&c, &cell) || !isnan(csv_number(cell.raw)))
			return false;
	return true;
}

static int read_units(struct csv_table *t, struct csv_cursor *c, struct sonde_err *err)
{
	const char *begin = c->p;
	struct csv_cell cell;
	size_t i = 0;

	if (!is_units(t, *c))
		return 0;
	do {
		if (!csv_next(c, &cell))
			return table_ends_in(t, "the row of units", begin, err);
		t->is_unitless &= i != t->total_time || !cell.raw.n;
		if (i < t->columns.nr && t->columns.at[i].metric != SONDE_NONE &&
			(i != t->total_time || cell.raw.n)) {
			struct csv_column *col = &t->columns.at[i];
			struct sonde_metric *m = &t->r->metrics.at[col->metric];

			col->factor = csv_unit(&t->r->arena, cell.raw, &m->unit);
		}
		i++;
	} while (!c->at_row_end);
	return 0;
}

/*
 * `Total Time (ns)`, `Total Time`: used as the time of a table that has no other. Without a unit it is
 * in milliseconds, as the scripts that write such tables assume.
 */
static void set_total_time(struct csv_table *t, struct csv_cursor head)
{
	struct csv_column *col = &t->columns.at[t->total_time];
	struct csv_cell cell = {0};
	struct sonde_str unit;
	size_t i;

	for (i = 0; i <= t->total_time; i++)
		csv_next(&head, &cell);
	sonde_str_cut(cell.raw, '(', &unit);
	unit = sonde_str_cut(unit, ')', &(struct sonde_str){0});
	t->is_unitless = !unit.n;
	col->metric = sonde_records__metric(t->r, SONDE_STR(SONDE_METRIC_TIME));
	if (col->metric != SONDE_NONE)
		col->factor = csv_unit(&t->r->arena, unit.n ? unit : SONDE_STR("ms"),
			&t->r->metrics.at[col->metric].unit);
}

/* Reads the header and, if there is one, the row of units. */
static int read_head(struct csv_table *t, struct csv_cursor *c, struct sonde_err *err)
{
	struct csv_cursor head = *c;
	int rc = read_header(t, c, err);

	if (rc == 0)
		rc = sonde_arena_status(&t->r->arena, err); /* columns are used by their numbers from here on */
	if (rc == 0 && t->total_time != SONDE_NONE && !t->has_time)
		set_total_time(t, head);
	return rc ? rc : read_units(t, c, err);
}

/* --- rows → records -------------------------------------------------------------------------------- */

/* The cells of one row that a record needs. */
struct row {
	struct csv_cell cells[NR_CSV_ROLES];
	struct csv_cell display_name;
	size_t nr;
};

static int scan_row(
	struct csv_table *t, struct csv_cursor *c, struct row *row, struct sonde_err *err)
{
	const char *start = c->p;
	struct csv_cell cell;

	*row = (struct row){.nr = 0};
	do {
		const struct csv_column *col;

		if (!csv_next(c, &cell))
			return table_ends_in(t, "a row", start, err);
		col = row->nr < t->columns.nr ? &t->columns.at[row->nr] : NULL;
		row->nr++;
		if (!col)
			continue;
		if (col->role < NR_CSV_ROLES)
			row->cells[col->role] = cell;
		else if (row->nr - 1 == t->display_name)
			row->display_name = cell;
		if (col->role == CSV_METRIC && cell.has_quotes)
			sonde_put(&t->r->arena, &t->quoted, (struct csv_quoted){offset_of(t, cell.raw.p),
								    csv_text(&t->r->arena, &cell)});
	} while (!c->at_row_end);
	return 0;
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

/* Every result repeats the attributes of its device; those of the first result are taken. */
static void add_attributes(struct csv_table *t, struct sonde_device *d, uint64_t row)
{
	struct csv_cursor c = cursor_at(t->src, row);
	struct sonde_attribute *list, *a;
	struct csv_cell cell;
	size_t i, nr = 0;

	for (i = 0; i < t->columns.nr; i++)
		nr += is_attribute(t, &t->columns.at[i]);
	list = sonde_arena_calloc(&t->r->arena, nr, sizeof(*list));
	d->attributes = list;
	for (i = 0; list && i < t->columns.nr && csv_next(&c, &cell); i++) {
		const struct csv_column *col = &t->columns.at[i];

		if (!is_attribute(t, col) || csv_is_missing(cell.raw))
			continue;
		a = &list[d->nr_attributes++];
		a->name = t->r->metrics.at[col->metric].name;
		a->value = csv_number(cell.raw) * col->factor;
		if (isnan(a->value))
			a->text = csv_text(&t->r->arena, &cell);
	}
}

static void add_device(struct csv_table *t, const struct row *row, const struct csv_result *res)
{
	struct sonde_device d = {
		.id = (uint32_t)whole_number(&row->cells[CSV_DEVICE]), .process = res->process};
	const struct sonde_device *known = sonde_records_device(t->r, d.process, d.id);
	struct sonde_str rest;

	if (known && known->process == d.process)
		return;
	d.name = csv_text(&t->r->arena, &row->display_name);
	d.cc_major = small_number(sonde_str_cut(row->cells[CSV_CC].raw, '.', &rest));
	d.cc_minor = small_number(rest);
	add_attributes(t, &d, res->rec.payload);
	sonde_records__device(t->r, &d);
}

static uint8_t kind_of(struct sonde_str kernel)
{
	return sonde_str_is(kernel, "range")	 ? SONDE_RESULT_RANGE
	       : sonde_str_is(kernel, "graph")	 ? SONDE_RESULT_GRAPH
	       : sonde_str_is(kernel, "cmdlist") ? SONDE_RESULT_CMDLIST
						 : SONDE_RESULT_KERNEL;
}

/* Reads the texts of a row. They live as long as the records, those of ranges only until the next row is read. */
static void texts_of(
	struct csv_table *t, const struct row *row, struct sonde_str texts[NR_CSV_ROLES])
{
	size_t i;

	for (i = 0; i < NR_CSV_ROLES; i++) {
		bool is_ranges = i == CSV_PUSH_POP || i == CSV_PUSH_POP + 1;

		texts[i] = is_ranges ? csv_text_in(&t->ranges[i - CSV_PUSH_POP], &row->cells[i])
				     : csv_text(&t->r->arena, &row->cells[i]);
		t->r->arena.failed |= row->cells[i].has_quotes && !texts[i].p;
	}
}

static int add_record(
	struct csv_table *t, const struct row *row, struct csv_result *res, struct sonde_err *err)
{
	struct sonde_str texts[NR_CSV_ROLES];
	uint32_t full_name;
	int rc;

	texts_of(t, row, texts);
	if (!t->has[CSV_KERNEL]) /* a row of a table by range sums up its launches, or is a replayed range */
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
	rc = sonde_arena_status(&t->r->arena, err); /* the process is used by its number from here on */
	if (rc)
		return rc;
	if (t->has[CSV_RANGE] && !t->has[CSV_PUSH_POP])
		csv_read_range(&t->nvtx, t->r, res, texts[CSV_RANGE]);
	else
		csv_read_nvtx(&t->nvtx, t->r, res, &texts[CSV_PUSH_POP]);
	add_device(t, row, res);
	res->rec.caller = sonde_records__caller(t->r, res->process, res->thread);
	sonde_put(&t->r->arena, &t->r->records, res->rec);
	return 0;
}

/* Rows with an ID begin with a number. Rows of a table by range may have no ID. */
static bool is_row(const struct csv_table *t, const struct csv_cursor *c)
{
	const char *p = c->p + (*c->p == '"');

	if (!t->has[CSV_ID])
		return p < c->end && !strchr("=\r\n", *p);
	return p < c->end && *p >= '0' && *p <= '9';
}

static int read_row(struct csv_table *t, struct csv_cursor *c, struct sonde_err *err)
{
	struct csv_result res = {.rec.payload = offset_of(t, c->p)};
	struct row row;
	int rc;

	if (!is_row(t, c)) {
		t->nr_skipped += *c->p != '=' && *c->p != '\n' && *c->p != '\r';
		skip_line(c);
		return 0;
	}
	rc = scan_row(t, c, &row, err);
	if (rc)
		return rc;
	if (row.nr < t->columns.nr && c->p == c->end)
		return table_ends_in(t, "a row", t->src->file.data.p + res.rec.payload, err);
	if (row.nr != t->columns.nr) { /* a line with commas is a row, but a damaged one */
		*(row.nr > 1 ? &t->nr_broken : &t->nr_skipped) += 1;
		return 0;
	}
	sonde_source__passed(t->src, res.rec.payload, offset_of(t, c->p) - res.rec.payload);
	return add_record(t, &row, &res, err);
}

/* --- the reader ------------------------------------------------------------------------------------ */

static bool knows_ncu_csv(struct sonde_str data)
{
	struct csv_cursor c = {.p = data.p, .end = data.p + data.n};

	return find_header(&c);
}

static void note_all(struct csv_table *t)
{
#define DOUBT                                                                                      \
	"':', the CSV's own separator: where its domain ends is a guess; the .ncu-rep is exact"
	sonde_source__note(t->src, t->r, t->nvtx.nr_doubtful, "range label contains " DOUBT,
		"range labels contain " DOUBT);
	sonde_source__note_loss(t->src, t->r, t->nvtx.nr_lost, "range could not be read and is left out",
		"ranges could not be read and are left out");
	sonde_source__note(t->src, t->r, t->is_unitless && t->total_time != SONDE_NONE && !t->has_time,
		"column 'Total Time' has no unit: milliseconds are assumed", NULL);
	sonde_source__note(t->src, t->r, t->nr_skipped, "line of the table is not a result and is skipped",
		"lines of the table are not results and are skipped");
	sonde_source__note_loss(t->src, t->r, t->nr_broken,
		"row of the table has more or fewer cells than the header and is left out",
		"rows of the table have more or fewer cells than the header and are left out");
}

static int read_table(struct sonde_source *src, struct sonde_records *r, struct sonde_err *err)
{
	struct csv_table *t = src->state;
	struct csv_cursor c = cursor_at(src, 0);
	int rc;

	t->src = src;
	t->r = r;
	t->display_name = t->total_time = SONDE_NONE;
	if (!find_header(&c))
		return sonde_err_at(err, SONDE_ERR_FORMAT, src->path, 0, 
			"no header row: make the file with 'ncu --import REPORT --csv --page raw'");
	rc = read_head(t, &c, err);
	while (rc == 0 && c.p < c.end)
		rc = read_row(t, &c, err);
	note_all(t);
	return rc;
}

static int by_offset(const void *a, const void *b)
{
	const struct csv_quoted *x = a, *y = b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static struct sonde_str unquoted(const struct csv_table *t, const struct csv_cell *cell)
{
	struct csv_quoted key = {offset_of(t, cell->raw.p), {NULL, 0}}, *q;

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
	sonde_source__passed(src, rec->payload, offset_of(t, c.p) - rec->payload);
	return 0;
}

static void release_table(struct sonde_source *src)
{
	struct csv_table *t = src->state;

	sonde_buf_release(&t->ranges[0]);
	sonde_buf_release(&t->ranges[1]);
}

const struct sonde_source_ops sonde_source_ncu_csv = {
	.name = "ncu-csv",
	.state_bytes = sizeof(struct csv_table),
	.knows = knows_ncu_csv,
	.read = read_table,
	.values = read_values,
	.release = release_table,
};
