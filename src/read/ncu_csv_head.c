/* The head of the CSV: where the table begins, which column is what, in which unit. */
#include "read/ncu_csv_int.h"

#include "catalogue/attributes.h"

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

static bool is_header(const struct csv_cursor *c)
{
	struct sonde_str rest = {c->p, (size_t)(c->end - c->p)};

	return sonde_str_starts(rest, "\"ID\",") || sonde_str_starts(rest, "ID,");
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
	size_t i;

	if (!col)
		return sonde_err_nomem(err);
	*col = (struct csv_column){.role = CSV_METRIC, .metric = SONDE_NONE, .factor = 1};
	for (i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		if (sonde_str_is(name, heads[i].head) ||
			(strchr(heads[i].head, ':') && sonde_str_starts(name, heads[i].head)))
			col->role = heads[i].role;
	if (col->role != CSV_METRIC || !name.n)
		return 0;
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

/* The row of units, recognised by its empty ID. */
static int read_units(struct csv_table *t, struct csv_cursor *c, struct sonde_err *err)
{
	const char *begin = c->p;
	struct csv_cursor ahead = *c;
	struct csv_cell cell;
	size_t i = 0;

	if (!csv_next(&ahead, &cell) || cell.raw.n || ahead.at_row_end)
		return 0;
	do {
		if (!csv_next(c, &cell))
			return csv_truncated(t, "the row of units", begin, err);
		if (i < t->columns.nr && t->columns.at[i].metric != SONDE_NONE) {
			struct csv_column *col = &t->columns.at[i];
			struct sonde_metric *m = &t->r->metrics.at[col->metric];

			col->factor = csv_unit(&t->r->arena, cell.raw, &m->unit);
		}
		i++;
	} while (!c->at_row_end);
	return 0;
}

int csv_read_head(struct csv_table *t, struct csv_cursor *c, struct sonde_err *err)
{
	int rc = read_header(t, c, err);

	return rc ? rc : read_units(t, c, err);
}
