/*
 * pprof's format (https://github.com/google/pprof/blob/main/proto/profile.proto), gzipped: opens in `go tool pprof`,
 * Pyroscope, Parca.
 *
 * A sample is a kernel in a region, with its GPU time and its launches, or a region with its own wall time: the time of
 * its entries beyond that of the regions inside. Functions are regions, kernels and source lines. A region's numbers
 * include those of its callees, as pprof adds them up.
 */
#include "base/alloc.h"
#include "base/escape.h"
#include "base/stream.h"
#include "export/format.h"
#include "export/weight.h"

#include <math.h>

/* Fields of the messages, as profile.proto numbers them. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME_NANOS = 9,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_TYPE = 14,
	TYPE_TYPE = 1,
	TYPE_UNIT = 2,
	SAMPLE_LOCATIONS = 1,
	SAMPLE_VALUES = 2,
	LOCATION_ID = 1,
	LOCATION_LINE = 4,
	LINE_FUNCTION = 1,
	LINE_LINE = 2,
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_FILE = 4,
	FUNCTION_START_LINE = 5,
};

enum { GPU_TIME, LAUNCHES, WALL, NR_VALUES };

struct pprof {
	const struct sonde_tree *t;
	const struct sonde_report *r;
	struct sonde_buf out, part, inner; /* the profile, a message in it, a message inside that */
	struct sonde_map strings;
	struct sonde_map functions; /* by name, file and line: number + 1 is the id of a function, and of its location */
	struct sonde_arena arena;
};

/* --- protobuf ------------------------------------------------------------------------------------- */

static void put_varint(struct sonde_buf *b, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		sonde_buf_putc(b, (char)(v | 0x80));
	sonde_buf_putc(b, (char)v);
}

static void put_number(struct sonde_buf *b, unsigned field, uint64_t v)
{
	put_varint(b, field << 3);
	put_varint(b, v);
}

/* Appends text, or a finished message. */
static void put_bytes(struct sonde_buf *b, unsigned field, struct sonde_str bytes)
{
	put_varint(b, field << 3 | 2);
	put_varint(b, bytes.n);
	sonde_buf_str(b, bytes);
}

static void put_part(struct pprof *p, unsigned field)
{
	put_bytes(&p->out, field, sonde_buf_view(&p->part));
	sonde_buf_clear(&p->part);
}

/* --- the profile ------------------------------------------------------------------------------------- */

/* The number of a string. Strings of the format are UTF-8: other bytes become visible escapes. */
static uint64_t string(struct pprof *p, struct sonde_str text)
{
	struct sonde_buf seen = {0};
	uint32_t n;

	sonde_escape_terminal(&seen, text, true);
	p->arena.failed |= seen.failed;
	n = sonde_intern_copy(&p->arena, &p->strings, sonde_buf_view(&seen), NULL);
	sonde_buf_release(&seen);
	return n == SONDE_NONE ? 0 : n;
}

/*
 * The id of a function. pprof distinguishes functions by name and file, so regions and kernels have their kind as file: a
 * kernel and a region of the same name stay two. `line` is 0 for these.
 */
static uint64_t function(struct pprof *p, struct sonde_str name, struct sonde_str file, uint32_t line)
{
	const uint64_t key[3] = {string(p, name), string(p, file), line};
	uint32_t n = sonde_intern_copy(&p->arena, &p->functions, SONDE_BYTES(key), NULL);

	return n == SONDE_NONE ? 0 : n + 1u;
}

static uint64_t region_function(struct pprof *p, uint32_t node)
{
	struct sonde_buf name = {0};
	uint64_t id;

	sonde_frame_name(&name, p->t, &p->r->nodes.at[node]);
	p->arena.failed |= name.failed;
	id = function(p, sonde_buf_view(&name), SONDE_STR("region"), 0);
	sonde_buf_release(&name);
	return id;
}

static uint64_t line_function(struct pprof *p, uint32_t line)
{
	const struct sonde_line *l = &p->t->cells->lines.at[line];
	struct sonde_buf name = {0};
	uint64_t id;

	sonde_line_name(&name, p->t, line);
	p->arena.failed |= name.failed;
	id = function(p, sonde_buf_view(&name), sonde_cells_str(p->t->cells, l->file), l->line);
	sonde_buf_release(&name);
	return id;
}

static void put_type(struct pprof *p, const char *type, const char *unit)
{
	put_number(&p->part, TYPE_TYPE, string(p, sonde_str_from(type)));
	put_number(&p->part, TYPE_UNIT, string(p, sonde_str_from(unit)));
	put_part(p, PROFILE_SAMPLE_TYPE);
}

/* Writes a sample; the innermost location comes first. */
static void put_sample(struct pprof *p, const struct sonde_leaf *leaf, const uint64_t values[NR_VALUES])
{
	uint32_t at;
	size_t i;

	sonde_buf_clear(&p->inner);
	if (leaf->line != SONDE_NONE)
		put_varint(&p->inner, line_function(p, leaf->line));
	if (leaf->kernel != SONDE_NONE)
		put_varint(&p->inner, function(p, sonde_tree_short_name(p->t, leaf->kernel), SONDE_STR("kernel"), 0));
	for (at = leaf->node; at != SONDE_NONE; at = p->r->nodes.at[at].parent)
		put_varint(&p->inner, region_function(p, at));
	put_bytes(&p->part, SAMPLE_LOCATIONS, sonde_buf_view(&p->inner));
	sonde_buf_clear(&p->inner);
	for (i = 0; i < NR_VALUES; i++)
		put_varint(&p->inner, values[i]);
	put_bytes(&p->part, SAMPLE_VALUES, sonde_buf_view(&p->inner));
	put_part(p, PROFILE_SAMPLE);
}

/* Writes the kernels of all regions, weighted by `by`; `value` is the number of that value in a sample. */
static int put_kernels(struct pprof *p, const char *by, size_t value, struct sonde_err *err)
{
	struct sonde_weights w;
	size_t i;
	int rc = sonde_weights_build(&w, p->t, p->r, by, err);

	for (i = 0; !rc && i < w.leaves.nr; i++) {
		uint64_t values[NR_VALUES] = {0};

		values[value] = (uint64_t)llround(w.leaves.at[i].v);
		put_sample(p, &w.leaves.at[i], values);
	}
	if (!rc)
		sonde_weights_release(&w);
	return rc;
}

/*
 * Writes the wall time of regions beyond that of the regions inside. These may overlap, so the rest may be below 0:
 * then it is left out.
 */
static int put_walls(struct pprof *p, struct sonde_err *err)
{
	const size_t nr = p->r->nodes.nr;
	double *own = sonde_calloc(nr + 1, sizeof(*own));
	size_t i;

	if (!own)
		return sonde_err_nomem(err);
	for (i = 0; i < nr; i++) {
		const struct sonde_node *n = &p->r->nodes.at[i];

		if (!(n->times.wall_ns > 0))
			continue;
		own[i] += n->times.wall_ns;
		if (n->parent != SONDE_NONE)
			own[n->parent] -= n->times.wall_ns;
	}
	for (i = 0; i < nr; i++)
		if (p->r->nodes.at[i].times.wall_ns > 0 && own[i] > 0)
			put_sample(p, &(struct sonde_leaf){(uint32_t)i, SONDE_NONE, SONDE_NONE, own[i]}, (const uint64_t[NR_VALUES]){[WALL] = (uint64_t)llround(own[i])});
	sonde_free(own);
	return 0;
}

static bool has_time(const struct sonde_report *r)
{
	return r->launches && !isnan(r->time_ns);
}

static int put_samples(struct pprof *p, struct sonde_err *err)
{
	int rc = 0;

	if (has_time(p->r))
		rc = put_kernels(p, "time", GPU_TIME, err);
	if (!rc && p->r->launches)
		rc = put_kernels(p, "launches", LAUNCHES, err);
	return rc ? rc : put_walls(p, err);
}

static void put_functions(struct pprof *p)
{
	uint64_t key[3], i;

	for (i = 0; i < p->functions.nr; i++) {
		memcpy(key, p->functions.keys[i].p, sizeof(key));
		put_number(&p->part, FUNCTION_ID, i + 1);
		put_number(&p->part, FUNCTION_NAME, key[0]);
		put_number(&p->part, FUNCTION_FILE, key[1]);
		put_number(&p->part, FUNCTION_START_LINE, key[2]);
		put_part(p, PROFILE_FUNCTION);
		sonde_buf_clear(&p->inner);
		put_number(&p->inner, LINE_FUNCTION, i + 1);
		put_number(&p->inner, LINE_LINE, key[2]);
		put_number(&p->part, LOCATION_ID, i + 1);
		put_bytes(&p->part, LOCATION_LINE, sonde_buf_view(&p->inner));
		put_part(p, PROFILE_LOCATION);
	}
}

static void put_rest(struct pprof *p)
{
	const struct sonde_cells *c = p->t->cells;
	size_t i;

	if (c->inputs.nr && c->inputs.at[0].created_s)
		put_number(&p->out, PROFILE_TIME_NANOS, c->inputs.at[0].created_s * 1000000000u);
	put_number(&p->out, PROFILE_COMMENT, string(p, SONDE_STR("sonde " SONDE_VERSION)));
	put_number(&p->out, PROFILE_DEFAULT_TYPE, string(p, sonde_str_from(has_time(p->r) ? "gpu-time" : "wall")));
	for (i = 0; i < p->strings.nr; i++)
		put_bytes(&p->out, PROFILE_STRING, p->strings.keys[i]);
}

int sonde_export_pprof(const struct sonde_tree *t, const struct sonde_export_options *o,
	struct sonde_sink *to, struct sonde_err *err)
{
	struct pprof p = {.t = t, .r = sonde_report_main(t, o)};
	int rc = 0;

	string(&p, SONDE_STR("")); /* string number 0 is the empty one */
	put_type(&p, "gpu-time", "nanoseconds");
	put_type(&p, "launches", "count");
	put_type(&p, "wall", "nanoseconds");
	if (p.r)
		rc = put_samples(&p, err);
	put_functions(&p);
	if (p.r)
		put_rest(&p);
	p.arena.failed |= p.out.failed || p.part.failed || p.inner.failed;
	if (!rc)
		rc = sonde_arena_status(&p.arena, err);
	sonde_buf_clear(&p.part);
	if (!rc && !sonde_gzip_put(&p.part, sonde_buf_view(&p.out)))
		rc = sonde_err_nomem(err);
	if (!rc)
		sonde_sink_str(to, sonde_buf_view(&p.part));
	sonde_buf_release(&p.out);
	sonde_buf_release(&p.part);
	sonde_buf_release(&p.inner);
	sonde_arena_release(&p.arena);
	return rc;
}
