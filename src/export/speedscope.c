/*
 * speedscope's file format, https://www.speedscope.app/file-format-schema.json: one sampled profile per report. A
 * sample is a kernel in a region; if kernels do not have the quantity, a region with something of its own.
 */
#include "export/field.h"
#include "export/format.h"
#include "export/json_int.h"
#include "export/weight.h"

#include <string.h>

static const char *unit_of(const struct sonde_weights *w)
{
	if (strcmp(w->unit, "ns") == 0)
		return "nanoseconds";
	return strcmp(w->unit, "byte") == 0 ? "bytes" : "none";
}

/* The subject of a frame after those of the regions: a kernel, or a line. */
struct end {
	uint32_t is_line, number; /* number of a string, or of a line */
};

/* Writes the frames: the regions of the run, in their order, then the kernels and lines that samples have. */
static void write_frames(struct sonde_json *w, const struct sonde_tree *t, const struct sonde_map *ends)
{
	const struct sonde_cells *l = t->cells;
	struct sonde_buf name = {0};
	size_t i;

	sonde_json_open(w, "shared", '{', false);
	sonde_json_each(w, "frames", false, i, l->regions.nr + ends->nr) {
		const struct sonde_node node = {
			.region = (uint32_t)i, .depth = i < l->regions.nr ? l->regions.at[i].depth : 0};
		struct end end;

		sonde_buf_clear(&name);
		if (i < l->regions.nr) {
			sonde_frame_name(&name, t, &node);
		} else {
			memcpy(&end, ends->keys[i - l->regions.nr].p, sizeof(end));
			if (end.is_line)
				sonde_line_name(&name, t, end.number);
			else
				sonde_buf_str(&name, sonde_tree_short_name(t, end.number));
		}
		sonde_json_str(w, "name", sonde_buf_view(&name));
	}
	sonde_json_close(w, '}');
	w->sink->buf.failed |= name.failed;
	sonde_buf_release(&name);
}

/* The frame of a kernel or a line; SONDE_NONE if `end` has none. */
static uint32_t frame_of(const struct sonde_json_export *x, struct sonde_map *ends, struct sonde_arena *arena, struct end end)
{
	if (end.number == SONDE_NONE)
		return SONDE_NONE;
	return (uint32_t)x->tree->cells->regions.nr + sonde_intern_copy(arena, ends, SONDE_BYTES(end), NULL);
}

/*
 * Writes the regions from the root down to a node, then the frames of the kernel and the line there, unless they are
 * SONDE_NONE.
 */
static void write_sample(struct sonde_json_export *x, const struct sonde_report *r, uint32_t node, const uint32_t frames[2])
{
	const uint32_t depth = r->nodes.at[node].depth, nr = depth + 1 + (frames[0] != SONDE_NONE) + (frames[1] != SONDE_NONE);
	uint32_t d, at = node;

	for (d = depth + 1; d-- > 0; at = r->nodes.at[at].parent)
		x->stack[d] = at;
	SONDE_JSON_LIST(&x->w, NULL, d, nr, d <= depth ? r->nodes.at[x->stack[d]].region : frames[d - depth - 1]);
}

/* Writes a profile; `ends` has the kernels and lines that have a frame so far. */
static void write_profile(struct sonde_json_export *x, const struct sonde_report *r, const struct sonde_weights *weights,
	struct sonde_map *ends, struct sonde_arena *arena)
{
	struct sonde_json *w = &x->w;
	double sum = 0;
	size_t i;

	sonde_json_open(w, NULL, '{', false);
	sonde_json_z(w, "type", "sampled");
	sonde_json_str(w, "name", r->name);
	sonde_json_z(w, "unit", unit_of(weights));
	sonde_json_array(w, "samples", false, i, weights->leaves.nr) {
		const struct sonde_leaf *leaf = &weights->leaves.at[i];
		uint32_t frames[2];

		frames[0] = frame_of(x, ends, arena, (struct end){0, leaf->kernel});
		frames[1] = frame_of(x, ends, arena, (struct end){1, leaf->line});
		write_sample(x, r, leaf->node, frames);
	}
	sonde_json_array(w, "weights", true, i, weights->leaves.nr) {
		sonde_json_number(w, NULL, weights->leaves.at[i].v);
		sum += weights->leaves.at[i].v;
	}
	sonde_json_number(w, "startValue", 0);
	sonde_json_number(w, "endValue", sum);
	sonde_json_close(w, '}');
}

static int write_profiles(
	struct sonde_json_export *x, struct sonde_map *ends, struct sonde_arena *arena, struct sonde_err *err)
{
	const struct sonde_tree *t = x->tree;
	const struct sonde_report *first = sonde_report_main(t, x->options);
	struct sonde_weights weights;
	size_t i, at = 0, active = 0;
	int rc = 0;

	sonde_json_open(&x->w, "profiles", '[', false);
	for (i = 0; i < t->reports.nr && rc == 0; i++) {
		const struct sonde_report *r = &t->reports.at[i];

		if (!sonde_report_is_shown(r, x->options))
			continue;
		rc = sonde_weights_build(&weights, t, r, x->options->by, err);
		if (rc)
			break;
		write_profile(x, r, &weights, ends, arena);
		sonde_weights_release(&weights);
		if (r == first)
			active = at;
		at++;
	}
	sonde_json_close(&x->w, ']');
	sonde_json_u64(&x->w, "activeProfileIndex", active);
	return rc;
}

int sonde_export_speedscope(const struct sonde_tree *t, const struct sonde_export_options *o,
	struct sonde_sink *to, struct sonde_err *err)
{
	const struct sonde_cells *records = t->cells;
	struct sonde_arena arena = {0};
	struct sonde_map ends = {0};
	struct sonde_json_export x;
	int rc = sonde_json__init(&x, t, o, to, err);

	if (rc == 0) {
		sonde_json_open(&x.w, NULL, '{', false);
		sonde_json_z(&x.w, "$schema", "https://www.speedscope.app/file-format-schema.json");
		sonde_json_z(&x.w, "exporter", "sonde " SONDE_VERSION);
		sonde_json_str(&x.w, "name",
			records->inputs.nr ? records->inputs.at[0].path : SONDE_STR("sonde"));
		rc = write_profiles(&x, &ends, &arena, err);
		write_frames(&x.w, t, &ends);
		sonde_json_close(&x.w, '}');
		sonde_sink_putc(to, '\n');
	}
	sonde_json__release(&x);
	if (!rc)
		rc = sonde_arena_status(&arena, err);
	sonde_arena_release(&arena);
	return rc;
}
