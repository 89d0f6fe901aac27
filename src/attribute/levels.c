#include "attribute/levels.h"

#include "attribute/filter_int.h"

#include <string.h>

#define MAX_DEPTH 128

static void add_name(struct sonde_buf *out, struct sonde_str label, bool is_regex)
{
	size_t i;

	sonde_buf_puts(out, is_regex ? "^" : "");
	for (i = 0; i < label.n; i++) {
		char c = label.p[i];

		if (!is_regex && c && strchr("@,[]/*+\\", c))
			sonde_buf_putc(out, '\\');
		sonde_buf_putc(out, is_regex && !nvtx_is_plain(c) ? '.' : c);
	}
	sonde_buf_puts(out, is_regex ? "$" : "");
}

/* Fills `path` with the labels from the outermost region to `region`, and returns their number, at most MAX_DEPTH. */
static size_t path_of(const struct sonde_launches *l, uint32_t region, struct sonde_str *path)
{
	size_t nr = 0, i;
	uint32_t at;

	for (at = region; at != SONDE_NONE && nr < MAX_DEPTH; at = l->regions.at[at].parent)
		path[nr++] = sonde_region_label(l, &l->regions.at[at]);
	for (i = 0; i < nr / 2; i++) {
		struct sonde_str t = path[i];

		path[i] = path[nr - 1 - i];
		path[nr - 1 - i] = t;
	}
	return nr;
}

/* Writes the expression of a region: exact, or as regular expressions, which cannot say "outermost". */
static void add_expression(
	struct sonde_buf *out, const struct sonde_launches *l, uint32_t region, bool is_regex)
{
	const struct sonde_region *g = &l->regions.at[region];
	struct sonde_str path[MAX_DEPTH];
	size_t nr, i;

	if (g->depth >= MAX_DEPTH)
		return; /* an expression cannot be that long */
	nr = path_of(l, region, path);
	sonde_buf_puts(out, is_regex ? "regex:" : "");
	if (g->domain != SONDE_NONE) {
		add_name(out, sonde_records_str(l->records, g->domain), is_regex);
		sonde_buf_putc(out, '@');
	}
	if (g->kind == SONDE_START_END) {
		add_name(out, path[nr - 1], is_regex);
		return;
	}
	sonde_buf_puts(out, is_regex ? "" : "[");
	for (i = 0; i < nr; i++) {
		sonde_buf_puts(out, i ? "/" : "");
		add_name(out, path[i], is_regex);
	}
	sonde_buf_puts(out, is_regex ? "/" : "");
}

static bool takes_region(const struct sonde_nvtx_filter *f, const struct sonde_launches *l,
	const struct sonde_region *g, const struct sonde_str *labels, size_t nr)
{
	struct sonde_str domain = g->domain == SONDE_NONE
					  ? (struct sonde_str){NULL, 0}
					  : sonde_records_str(l->records, g->domain);
	struct sonde_open_stack stack = {domain, labels, nr};
	struct sonde_open_start start = {domain, nr ? labels[nr - 1] : (struct sonde_str){NULL, 0}};
	struct sonde_open_ranges open = {0};

	if (nr == 0)
		return false;
	if (g->kind == SONDE_START_END) {
		open.starts = &start;
		open.nr_starts = 1;
	} else {
		open.stacks = &stack;
		open.nr_stacks = 1;
	}
	return sonde_nvtx_filter_takes(f, &open);
}

/* Whether the expression can be written unchanged in our `;` lists and on a line of a terminal. */
static bool is_portable(struct sonde_str expression)
{
	size_t i;

	for (i = 0; i < expression.n; i++) {
		unsigned char c = (unsigned char)expression.p[i];

		if (c < ' ' || c == 0x7f || c == ';') /* a `;` begins another expression */
			return false;
	}
	return true;
}

int sonde_region_expression_checked(struct sonde_buf *out, const struct sonde_launches *l,
	uint32_t region, bool *is_good, struct sonde_err *err)
{
	const struct sonde_region *g = &l->regions.at[region];
	struct sonde_str path[MAX_DEPTH];
	struct sonde_nvtx_filter *f = NULL;
	size_t nr;
	int rc;

	*is_good = false;
	add_expression(out, l, region, false);
	if (!out->failed && sonde_str_starts(sonde_buf_view(out), "regex:"))
		return 0; /* the label would be read as a regular expression */
	if (!is_portable(sonde_buf_view(out))) {
		sonde_buf_clear(out);
		add_expression(out, l, region, true);
	}
	if (out->failed)
		return sonde_err_nomem(err);
	if (!out->n)
		return 0; /* too deep */
	rc = sonde_nvtx_filter_build(&f, (struct sonde_words){(const char *const *)&out->p, 1},
		(struct sonde_words){NULL, 0}, err);
	if (rc == 0) {
		nr = path_of(l, region, path);
		*is_good = takes_region(f, l, g, path, nr) &&
			   (g->kind == SONDE_START_END || nr < 2 || !takes_region(f, l, g, path, nr - 1));
	}
	sonde_nvtx_filter_free(f);
	return rc == SONDE_ERR_USAGE ? 0 : rc;
}

/* Whether the filter takes the region by its own label, or takes its path but not its parent's. */
static bool is_named(
	const struct sonde_nvtx_filter *f, const struct sonde_launches *l, uint32_t region)
{
	const struct sonde_region *g = &l->regions.at[region];
	struct sonde_str path[MAX_DEPTH];
	size_t nr = path_of(l, region, path);

	if (sonde_nvtx_filter_is_empty(f))
		return true;
	if (!takes_region(f, l, g, path, nr))
		return false; /* also if an exclude takes it */
	return takes_region(f, l, g, &path[nr - 1], 1) || !takes_region(f, l, g, path, nr - 1);
}

int sonde_levels_has(
	bool *out, const struct sonde_launches *l, const char *word, struct sonde_err *err)
{
	struct sonde_nvtx_filter *f = NULL;
	uint32_t i;
	int rc = sonde_nvtx_filter_build(
		&f, (struct sonde_words){&word, 1}, (struct sonde_words){NULL, 0}, err);

	*out = false;
	for (i = 0; i < l->regions.nr && rc == 0 && !*out; i++)
		*out = is_named(f, l, i);
	sonde_nvtx_filter_free(f);
	return rc;
}

/* How many named regions are around `region`. */
static unsigned depth_among(const struct sonde_launches *l, const bool *named, uint32_t region)
{
	unsigned depth = 0;
	uint32_t at;

	for (at = l->regions.at[region].parent; at != SONDE_NONE; at = l->regions.at[at].parent)
		depth += named[at];
	return depth;
}

static void add_level(struct sonde_levels *v, const struct sonde_launches *l, uint32_t region, unsigned level)
{
	struct sonde_buf b = {0};

	add_expression(&b, l, region, false);
	sonde_put(&v->arena, &v->at, (struct sonde_level){region, level, sonde_arena_take(&v->arena, &b)});
	sonde_buf_release(&b);
}

/* Whether two regions can never cross: both are push/pop ranges of one domain. */
static bool same_group(const struct sonde_region *a, const struct sonde_region *b)
{
	return a->kind == b->kind && a->domain == b->domain && a->kind == SONDE_PUSH_POP;
}

/* `done` is all false at first. */
static void add_groups(struct sonde_levels *v, const struct sonde_launches *l, const bool *named, bool *done)
{
	unsigned base = 0, next = 0;
	uint32_t i, k;

	for (i = 0; i < l->regions.nr; i++) {
		if (!named[i] || done[i])
			continue;
		for (k = i; k < l->regions.nr; k++) {
			unsigned level = base + depth_among(l, named, k);

			if (!named[k] || done[k] ||
				(k != i && !same_group(&l->regions.at[i], &l->regions.at[k])))
				continue;
			done[k] = true;
			next = level + 1 > next ? level + 1 : next;
			add_level(v, l, k, level);
		}
		base = next;
	}
}

/*
 * If any launches are known, a region without launches needs no capture. ncu sees the ranges of the launching thread
 * only, so adopted launches do not count.
 */
static void drop_empty(const struct sonde_launches *l, bool *named, bool *used)
{
	size_t i, k;
	uint32_t at;

	for (i = 0; i < l->launches.nr; i++) {
		const struct sonde_place *p = &l->places.at[l->launches.at[i].place];

		for (k = 0; k < p->nr && !l->launches.at[i].is_adopted; k++)
			for (at = l->homes.at[p->first + k]; at != SONDE_NONE && !used[at];
				at = l->regions.at[at].parent)
				used[at] = true;
	}
	for (i = 0; i < l->regions.nr && l->launches.nr; i++)
		named[i] &= used[i];
}

int sonde_levels_build(struct sonde_levels *out, const struct sonde_launches *l,
	struct sonde_words include, struct sonde_words exclude, struct sonde_err *err)
{
	struct sonde_nvtx_filter *f = NULL;
	struct sonde_arena work = {0};
	bool *named = sonde_arena_calloc(&work, l->regions.nr, sizeof(*named));
	bool *used = sonde_arena_calloc(&work, l->regions.nr, sizeof(*used));
	bool *done = sonde_arena_calloc(&work, l->regions.nr, sizeof(*done));
	uint32_t i;
	int rc = sonde_arena_status(&work, err);

	*out = (struct sonde_levels){0};
	rc = rc ? rc : sonde_nvtx_filter_build(&f, include, exclude, err);
	for (i = 0; i < l->regions.nr && rc == 0; i++)
		named[i] = is_named(f, l, i);
	if (rc == 0) {
		drop_empty(l, named, used);
		add_groups(out, l, named, done);
		rc = sonde_arena_status(&out->arena, err);
	}
	sonde_nvtx_filter_free(f);
	sonde_arena_release(&work);
	if (rc)
		sonde_levels_release(out);
	return rc;
}

void sonde_levels_release(struct sonde_levels *v)
{
	sonde_arena_release(&v->arena);
	*v = (struct sonde_levels){0};
}
