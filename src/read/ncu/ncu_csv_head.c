/* The head of the CSV: where the table begins, which column is what, in which unit. */
#include "read/ncu/ncu_csv_int.h"

#include "catalogue/attributes.h"
#include "catalogue/metrics.h"

#include <math.h>
#include <string.h>

#define MAX_COLUMNS 65536
#define SEARCH_MAX  (1u << 20) /* how far the header may be from the beginning */

/* By the beginning of the header cell. */
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

int csv_truncated(
	const struct csv_table *t, const char *what, const char *begin, struct sonde_err *err)
{
	return sonde_source__truncated(
		t->src, what, csv_offset(t, begin), t->src->file.data.n, err);
}

uint64_t csv_offset(const struct csv_table *t, const char *p)
{
	return (uint64_t)(p - t->src->file.data.p);
}

void csv_skip_line(struct csv_cursor *c)
{
	const char *nl = memchr(c->p, '\n', (size_t)(c->end - c->p));

	c->p = nl ? nl + 1 : c->end;
}

#define TOTAL_TIME "Total Time"

static enum csv_role role_of(struct sonde_str name)
{
	size_t i;

	for (i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		if (sonde_str_is(name, heads[i].head) ||
			(strchr(heads[i].head, ':') && sonde_str_starts(name, heads[i].head)))
			return heads[i].role;
	return CSV_METRIC;
}

/* A table by range: it names the range, and something that is counted or measured of it. */
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

/* Puts `c` on the header row; false when there is none within reach. */
bool csv_find_header(struct csv_cursor *c)
{
	const char *limit = (size_t)(c->end - c->p) > SEARCH_MAX ? c->p + SEARCH_MAX : c->end;

	while (c->p < limit && !is_header(c))
		csv_skip_line(c);
	return c->p < limit;
}

static int add_column(struct csv_table *t, const struct csv_cell *cell, struct sonde_err *err)
{
	struct sonde_str name = csv_text(&t->r->arena, cell);
	struct csv_column *col = name.p ? sonde_vec_push(&t->columns) : NULL;

	if (!col)
		return sonde_err_nomem(err);
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
		return sonde_err_at(err, SONDE_ERR_FORMAT, t->src->path, csv_offset(t, name.p),
			"one metric per line is not the raw page: make it with 'ncu --import "
			"REPORT --csv --page raw'");
	if (sonde_str_is(name, SONDE_ATTR_NAME))
		t->display_name = (uint32_t)(t->columns.nr - 1);
	col->metric = sonde_records__metric(t->r, name);
	return col->metric == SONDE_NONE ? sonde_err_nomem(err) : 0;
}

static int read_header(struct csv_table *t, struct csv_cursor *c, struct sonde_err *err)
{
	const char *begin = c->p;
	struct csv_cell cell;
	int rc = 0;

	do {
		if (!csv_next(c, &cell))
			return csv_truncated(t, "the header row", begin, err);
		if (t->columns.nr == MAX_COLUMNS)
			return sonde_err_at(err, SONDE_ERR_FORMAT, t->src->path,
				csv_offset(t, c->p), 
				"more than %d columns: the raw page of ncu has fewer", MAX_COLUMNS);
		rc = add_column(t, &cell, err);
	} while (rc == 0 && !c->at_row_end);
	return rc;
}

/* The row of units, recognised by its empty ID; where results have none, by having no number either. */
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
			return csv_truncated(t, "the row of units", begin, err);
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
 * `Total Time (ns)`, `Total Time`: stands in for the time of a table that has none. Without a unit it is
 * in milliseconds, as the scripts that write such tables read it.
 */
static int take_total_time(struct csv_table *t, struct csv_cursor head, struct sonde_err *err)
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
	if (col->metric == SONDE_NONE)
		return sonde_err_nomem(err);
	col->factor = csv_unit(&t->r->arena, unit.n ? unit : SONDE_STR("ms"), &t->r->metrics.at[col->metric].unit);
	return 0;
}

int csv_read_head(struct csv_table *t, struct csv_cursor *c, struct sonde_err *err)
{
	struct csv_cursor head = *c;
	int rc = read_header(t, c, err);

	if (rc == 0 && t->total_time != SONDE_NONE && !t->has_time)
		rc = take_total_time(t, head, err);
	return rc ? rc : read_units(t, c, err);
}
