/*
 * speedscope's file format, https://www.speedscope.app/file-format-schema.json:
 * one sampled profile per report, one sample per region with something of its own.
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

/* Frames are the regions of the run, in their order. */
static void write_frames(struct sonde_json *w, const struct sonde_tree *t)
{
	const struct sonde_cells *l = t->cells;
	struct sonde_buf name = {0};
	size_t i;

	sonde_json_open(w, "shared", '{', false);
	sonde_json_each(w, "frames", false, i, l->regions.nr) {
		const struct sonde_node node = {
			.region = (uint32_t)i, .depth = l->regions.at[i].depth};

		sonde_buf_clear(&name);
		sonde_frame_name(&name, t, &node);
		sonde_json_str(w, "name", sonde_buf_view(&name));
	}
	sonde_json_close(w, '}');
	w->sink->buf.failed |= name.failed;
	sonde_buf_release(&name);
}

/* The regions from the root down to `node`; `stack` holds the node at each depth. */
static void write_sample(
	struct sonde_json *w, const struct sonde_report *r, const uint32_t *stack, uint32_t depth)
{
	uint32_t d;

	SONDE_JSON_LIST(w, NULL, d, depth + 1, r->nodes.at[stack[d]].region);
}

static void write_profile(struct sonde_json_export *x, const struct sonde_report *r,
	const struct sonde_weights *weights)
{
	struct sonde_json *w = &x->w;
	double sum = 0;
	size_t i;

	sonde_json_open(w, NULL, '{', false);
	sonde_json_z(w, "type", "sampled");
	sonde_json_str(w, "name", r->name);
	sonde_json_z(w, "unit", unit_of(weights));
	sonde_json_array(w, "samples", false, i, r->nodes.nr) {
		x->stack[r->nodes.at[i].depth] = (uint32_t)i;
		if (weights->own[i] > 0)
			write_sample(w, r, x->stack, r->nodes.at[i].depth);
	}
	sonde_json_array(w, "weights", true, i, r->nodes.nr) {
		if (weights->own[i] > 0)
			sonde_json_number(w, NULL, weights->own[i]);
		sum += weights->own[i];
	}
	sonde_json_number(w, "startValue", 0);
	sonde_json_number(w, "endValue", sum);
	sonde_json_close(w, '}');
}

static int write_profiles(struct sonde_json_export *x, struct sonde_err *err)
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
		write_profile(x, r, &weights);
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
	struct sonde_json_export x;
	int rc = sonde_json__init(&x, t, o, to, err);

	if (rc == 0) {
		sonde_json_open(&x.w, NULL, '{', false);
		sonde_json_z(&x.w, "$schema", "https://www.speedscope.app/file-format-schema.json");
		sonde_json_z(&x.w, "exporter", "sonde " SONDE_VERSION);
		sonde_json_str(&x.w, "name",
			records->inputs.nr ? records->inputs.at[0].path : SONDE_STR("sonde"));
		write_frames(&x.w, t);
		rc = write_profiles(&x, err);
		sonde_json_close(&x.w, '}');
		sonde_sink_putc(to, '\n');
	}
	sonde_json__release(&x);
	return rc;
}
