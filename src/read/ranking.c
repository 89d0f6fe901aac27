#include "read/ranking.h"

#include "base/file.h"
#include "read/csv_scan.h"

#include <math.h>
#include <string.h>

static int by_time(const void *pa, const void *pb)
{
	const struct sonde_ranked *a = pa, *b = pb;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? 1 : -1;
	return sonde_str_cmp(a->name, b->name);
}

struct columns {
	int pct, time, calls, name;
};

static bool take_header(struct columns *c, struct csv_cursor line)
{
	struct csv_cell cell;
	int i;

	*c = (struct columns){-1, -1, -1, -1};
	for (i = 0; csv_next(&line, &cell); i++) {
		struct sonde_str field = sonde_str_trim(cell.raw);

		if (sonde_str_starts(field, "Time"))
			c->pct = i;
		else if (sonde_str_starts(field, "Total Time"))
			c->time = i;
		else if (sonde_str_is(field, "Instances"))
			c->calls = i;
		else if (sonde_str_is(field, "Name"))
			c->name = i;
	}
	return c->time >= 0 && c->name >= 0;
}

/* A cell that is not a number counts as 0. */
static double number_in(struct sonde_str field)
{
	double v = csv_number(sonde_str_trim(field));

	return v >= 0 && v < 1e18 ? v : 0;
}

static int take_row(struct sonde_ranking *r, const struct columns *c, struct csv_cursor line,
	struct sonde_err *err)
{
	struct sonde_ranked row = {.time_pct = NAN};
	struct csv_cell cell;
	int i;

	for (i = 0; csv_next(&line, &cell); i++) {
		if (i == c->name)
			row.name = sonde_arena_dup(
				&r->arena, sonde_str_trim(csv_text(&r->arena, &cell)));
		else if (i == c->time)
			row.time_ns = number_in(cell.raw);
		else if (i == c->pct)
			row.time_pct = number_in(cell.raw);
		else if (i == c->calls)
			row.calls = (uint64_t)number_in(cell.raw);
	}
	if (!row.name.n)
		return r->arena.failed ? sonde_err_nomem(err) : 0;
	return sonde_vec_put(&r->kernels, row) ? 0 : sonde_err_nomem(err);
}

/* Whether the first bytes are those of a summary. Only they are read, so a compressed trace is not inflated as a whole. */
static bool is_summary(const char *path)
{
	struct sonde_buf head = {0};
	bool is = sonde_file_head(&head, path) && memmem(head.p, head.n, "Total Time", 10);

	sonde_buf_release(&head);
	return is;
}

static int read_summary(struct sonde_ranking *r, const char *path, struct sonde_err *err)
{
	struct sonde_mapping file = {0};
	struct sonde_str rest;
	struct columns c = {-1, -1, -1, -1};
	bool has_header = false;
	int rc = sonde_mapping_open_inflated(&file, path, err);

	for (rest = file.data; rc == 0 && rest.n;) {
		struct sonde_str line = sonde_str_trim(sonde_str_cut(rest, '\n', &rest));
		struct csv_cursor cells = {.p = line.p, .end = line.p + line.n};

		if (memchr(line.p ? line.p : "", 0, line.n) || line.n > 1 << 20)
			break;
		if (has_header && line.n)
			rc = take_row(r, &c, cells, err);
		else if (line.n)
			has_header = take_header(&c, cells);
	}
	sonde_mapping_release(&file);
	return rc || has_header ? rc : SONDE_NO_SUMMARY;
}

static void add_shares(struct sonde_ranking *r)
{
	double total = 0;
	size_t i;

	for (i = 0; i < r->kernels.nr; i++)
		total += r->kernels.at[i].time_ns;
	for (i = 0; i < r->kernels.nr; i++)
		if (!(r->kernels.at[i].time_pct > 0))
			r->kernels.at[i].time_pct =
				total > 0 ? 100 * r->kernels.at[i].time_ns / total : 0;
}

void sonde_ranking_finish(struct sonde_ranking *r)
{
	add_shares(r);
	sonde_vec_sort(&r->kernels, by_time);
}

int sonde_ranking_open(struct sonde_ranking *out, const char *path, struct sonde_err *err)
{
	int rc;

	*out = (struct sonde_ranking){0};
	rc = is_summary(path) ? read_summary(out, path, err) : SONDE_NO_SUMMARY;
	if (rc)
		sonde_ranking_release(out);
	else
		sonde_ranking_finish(out);
	return rc;
}

void sonde_ranking_release(struct sonde_ranking *r)
{
	sonde_vec_release(&r->kernels);
	sonde_arena_release(&r->arena);
	*r = (struct sonde_ranking){0};
}
