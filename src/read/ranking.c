#include "read/ranking.h"

#include "base/file.h"
#include "catalogue/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int by_time(const void *pa, const void *pb)
{
	const struct sonde_ranked *a = pa, *b = pb;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? 1 : -1;
	return sonde_str_cmp(a->name, b->name);
}

/* One CSV field off the front of `*line`, its quotes undone into the arena. */
static struct sonde_str take_field(struct sonde_arena *arena, struct sonde_str *line)
{
	struct sonde_buf b = {0};
	struct sonde_str out = {"", 0};
	size_t i = 0;

	if (!line->n || line->p[0] != '"')
		return sonde_str_cut(*line, ',', line);
	for (i = 1; i < line->n; i++) {
		if (line->p[i] == '"' && (i + 1 >= line->n || line->p[i + 1] != '"'))
			break;
		i += line->p[i] == '"';
		sonde_buf_putc(&b, line->p[i]);
	}
	i = i + 2 < line->n ? i + 2 : line->n; /* the quote and the comma */
	*line = (struct sonde_str){line->p + i, line->n - i};
	if (!b.failed)
		out = sonde_arena_dup(arena, sonde_buf_view(&b));
	sonde_buf_release(&b);
	return out;
}

struct columns {
	int pct, time, calls, name;
};

static bool take_header(struct columns *c, struct sonde_arena *arena, struct sonde_str line)
{
	int i;

	*c = (struct columns){-1, -1, -1, -1};
	for (i = 0; line.n; i++) {
		struct sonde_str field = sonde_str_trim(take_field(arena, &line));

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

static double number(struct sonde_str s)
{
	char text[64];
	size_t n = 0, i;

	for (i = 0; i < s.n && n < sizeof(text) - 1; i++)
		if (s.p[i] != ',')
			text[n++] = s.p[i];
	text[n] = '\0';
	return strtod(text, NULL);
}

static int take_row(struct sonde_ranking *r, const struct columns *c, struct sonde_str line,
	struct sonde_err *err)
{
	struct sonde_ranked row = {.time_pct = NAN};
	struct sonde_ranked *slot;
	int i;

	for (i = 0; line.n; i++) {
		struct sonde_str field = take_field(&r->arena, &line);

		if (i == c->name)
			row.name = sonde_arena_dup(&r->arena, sonde_str_trim(field));
		else if (i == c->time)
			row.time_ns = number(field);
		else if (i == c->pct)
			row.time_pct = number(field);
		else if (i == c->calls)
			row.calls = (uint64_t)number(field);
	}
	if (!row.name.n)
		return r->arena.failed ? sonde_err_nomem(err) : 0;
	slot = sonde_vec_push(&r->kernels);
	if (!slot)
		return sonde_err_nomem(err);
	*slot = row;
	return 0;
}

/* Whether its first bytes are those of one; a compressed trace is not inflated to find out. */
static bool is_summary(const char *path)
{
	struct sonde_buf head = {0};
	bool is = sonde_file_head(&head, path) && memmem(head.p, head.n, "Total Time", 10);

	sonde_buf_release(&head);
	return is;
}

/* 1 when the file is no kernel summary. */
static int read_summary(struct sonde_ranking *r, const char *path, struct sonde_err *err)
{
	struct sonde_mapping file = {0};
	struct sonde_str rest;
	struct columns c = {-1, -1, -1, -1};
	bool has_header = false;
	int rc = is_summary(path) ? sonde_mapping_open_inflated(&file, path, err) : 1;

	for (rest = file.data; rc == 0 && rest.n;) {
		struct sonde_str line = sonde_str_trim(sonde_str_cut(rest, '\n', &rest));

		if (memchr(line.p ? line.p : "", 0, line.n) || line.n > 1 << 20)
			break;
		if (has_header && line.n)
			rc = take_row(r, &c, line, err);
		else if (line.n)
			has_header = take_header(&c, &r->arena, line);
	}
	sonde_mapping_release(&file);
	return rc ? rc : !has_header;
}

static int add_time(
	struct sonde_ranking *r, struct sonde_map *names, struct sonde_str name, double ns)
{
	bool is_new;
	uint32_t n = sonde_map_add(names, name, &is_new);
	struct sonde_ranked *k;

	if (n == SONDE_NONE)
		return SONDE_ERR_NOMEM;
	if (is_new) {
		k = sonde_vec_push(&r->kernels);
		if (!k)
			return SONDE_ERR_NOMEM;
		k->name = sonde_arena_dup(&r->arena, name);
	}
	k = &r->kernels.at[n];
	k->calls++;
	k->time_ns += isnan(ns) ? 0 : ns;
	return 0;
}

static int rank_capture(struct sonde_ranking *r, const char *path, struct sonde_err *err)
{
	struct sonde_records *records = NULL;
	struct sonde_values v = {0};
	struct sonde_map names = {0};
	uint32_t time, i;
	int rc = sonde_records_open(&records, &path, 1, err);

	if (rc == 0)
		rc = sonde_values_init(&v, records, err);
	time = rc == 0 ? sonde_records_metric(records, SONDE_METRIC_TIME) : SONDE_NONE;
	for (i = 0; rc == 0 && i < records->records.nr; i++) {
		const struct sonde_record *rec = &records->records.at[i];

		if (rec->kind != SONDE_RESULT_KERNEL)
			continue;
		rc = sonde_records_values(records, i, &v, err);
		if (rc == 0 && add_time(r, &names, sonde_records_str(records, rec->full_name),
				       time == SONDE_NONE ? NAN : v.num[time]))
			rc = sonde_err_nomem(err);
	}
	sonde_map_release(&names);
	sonde_values_release(&v);
	sonde_records_free(records);
	return rc;
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

int sonde_ranking_open(struct sonde_ranking *out, const char *path, struct sonde_err *err)
{
	struct stat st;
	int rc = 1;

	*out = (struct sonde_ranking){0};
	if (stat(path, &st) < 0 || S_ISREG(st.st_mode))
		rc = read_summary(out, path, err);
	if (rc == 1) {
		sonde_vec_release(&out->kernels);
		rc = rank_capture(out, path, err);
	}
	if (rc) {
		sonde_ranking_release(out);
		return rc;
	}
	add_shares(out);
	if (out->kernels.nr)
		qsort(out->kernels.at, out->kernels.nr, sizeof(*out->kernels.at), by_time);
	return 0;
}

void sonde_ranking_release(struct sonde_ranking *r)
{
	sonde_vec_release(&r->kernels);
	sonde_arena_release(&r->arena);
}
