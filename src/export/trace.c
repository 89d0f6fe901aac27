/*
 * Chrome's trace format, which Perfetto reads: complete events (X) for range
 * entries and launches, asynchronous pairs (b, e) for start/end ranges, instants
 * (i) for marks, counters (C) of devices, names of processes and tracks as
 * metadata (M). Times are microseconds from the first event on.
 */
#include "base/escape.h"
#include "base/number.h"
#include "export/field.h"
#include "export/format.h"
#include "export/tracks.h"
#include "fold/timeline.h"
#include "read/arguments.h"

#include <inttypes.h>

struct trace {
	struct sonde_sink *to;
	const struct sonde_tree *tree;
	const struct sonde_tracks *tracks;
	bool has_any;
	struct sonde_buf name;
};

static void open_event(struct trace *x, char phase, const struct sonde_track *track)
{
	sonde_sink_printf(x->to, "%s{\"ph\":\"%c\",\"pid\":%" PRIu64 ",\"tid\":%zu",
		x->has_any ? ",\n" : "", phase,
		x->tree->cells->processes.at[track->process].pid,
		(size_t)(track - x->tracks->tracks.at) + 1);
	x->has_any = true;
}

static void put_text(struct trace *x, const char *key, struct sonde_str text)
{
	sonde_sink_printf(x->to, ",\"%s\":", key);
	sonde_escape_json(&x->to->buf, text);
}

static void put_us(struct trace *x, const char *key, uint64_t ns)
{
	sonde_sink_printf(x->to, ",\"%s\":%" PRIu64 ".%03u", key, ns / 1000, (unsigned)(ns % 1000));
}

static void put_names(struct trace *x, const struct sonde_track *track)
{
	const struct sonde_process *p = &x->tree->cells->processes.at[track->process];

	open_event(x, 'M', track);
	sonde_sink_puts(x->to, ",\"name\":\"process_name\",\"args\":{\"name\":");
	sonde_escape_json(&x->to->buf, p->name.n ? p->name : SONDE_STR("process"));
	sonde_sink_puts(x->to, "}}");
	open_event(x, 'M', track);
	sonde_sink_puts(x->to, ",\"name\":\"thread_name\",\"args\":{\"name\":");
	sonde_escape_json(&x->to->buf, track->name);
	sonde_sink_puts(x->to, "}}");
	open_event(x, 'M', track);
	sonde_sink_printf(x->to, ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":%zu}}",
		(size_t)(track - x->tracks->tracks.at));
}

static void put_region(struct trace *x, const struct sonde_track_event *e)
{
	sonde_sink_puts(x->to, ",\"args\":{");
	if (e->region != SONDE_NONE) {
		sonde_sink_puts(x->to, "\"region\":");
		sonde_escape_json(&x->to->buf, x->tree->cells->regions.at[e->region].id);
	}
	if (e->arguments != SONDE_NONE) {
		sonde_sink_puts(x->to, e->region != SONDE_NONE ? ",\"arguments\":" : "\"arguments\":");
		sonde_arguments_put_json(&x->to->buf, sonde_tree_str(x->tree, e->arguments));
	}
	sonde_sink_puts(x->to, "}}");
}

static void open_named(struct trace *x, char phase, const struct sonde_track *track,
	const char *category, const struct sonde_track_event *e)
{
	open_event(x, phase, track);
	put_text(x, "cat", sonde_str_from(category));
	put_text(x, "name", sonde_tree_str(x->tree, e->name));
}

static void put_complete(
	struct trace *x, const struct sonde_track *track, const struct sonde_track_event *e)
{
	open_named(x, 'X', track, track->kind == SONDE_TRACK_STREAM ? "gpu" : "nvtx", e);
	put_us(x, "ts", e->start_ns - x->tracks->first_ns);
	put_us(x, "dur", e->end_ns - e->start_ns);
	put_region(x, e);
}

static void put_mark(
	struct trace *x, const struct sonde_track *track, const struct sonde_track_event *e)
{
	open_named(x, 'i', track, "nvtx", e);
	put_us(x, "ts", e->start_ns - x->tracks->first_ns);
	sonde_sink_puts(x->to, ",\"s\":\"p\"}");
}

static void put_pair(struct trace *x, const struct sonde_track *track, const struct sonde_track_event *e)
{
	size_t id = (size_t)(e - x->tracks->events.at) + 1;
	int i;

	for (i = 0; i < 2; i++) {
		open_named(x, i ? 'e' : 'b', track, "nvtx_start_end", e);
		sonde_sink_printf(x->to, ",\"id\":\"%zu\"", id);
		put_us(x, "ts", (i ? e->end_ns : e->start_ns) - x->tracks->first_ns);
		put_region(x, e);
	}
}

static void put_count(struct trace *x, const struct sonde_timeline_curve *c, uint64_t ns, double v)
{
	const struct sonde_cells *cells = x->tree->cells;
	uint32_t scope = c->nr_scopes ? cells->timeline->curve_scopes.at[c->first_scope] : SONDE_NONE;
	char text[SONDE_NUMBER_MAX];

	sonde_sink_printf(x->to, "%s{\"ph\":\"C\",\"pid\":%" PRIu64 ",\"tid\":0",
		x->has_any ? ",\n" : "",
		scope == SONDE_NONE ? 0 : cells->processes.at[cells->scopes.at[scope].process].pid);
	x->has_any = true;
	sonde_buf_clear(&x->name);
	sonde_buf_printf(&x->name, "GPU %u · %.*s", c->device, SONDE_STR_ARG(c->name));
	put_text(x, "name", sonde_buf_view(&x->name));
	put_us(x, "ts", ns - x->tracks->first_ns);
	sonde_number_format(text, v);
	sonde_sink_printf(x->to, ",\"args\":{\"value\":%s}}", text);
}

/* A sample of a counter of the program. */
static void put_sample(struct trace *x, const struct sonde_timeline_gauge *c)
{
	char text[SONDE_NUMBER_MAX];

	if (c->ns < x->tracks->first_ns)
		return;
	sonde_sink_printf(x->to, "%s{\"ph\":\"C\",\"pid\":%" PRIu64 ",\"tid\":0", x->has_any ? ",\n" : "",
		x->tree->cells->processes.at[c->process].pid);
	x->has_any = true;
	put_text(x, "name", sonde_tree_str(x->tree, c->name));
	put_us(x, "ts", c->ns - x->tracks->first_ns);
	sonde_number_format(text, c->v);
	sonde_sink_printf(x->to, ",\"args\":{\"value\":%s}}", text);
}

/* A counter holds until the next one: where samples are missing it is 0. */
static void put_curve(struct trace *x, const struct sonde_timeline_curve *c)
{
	const struct sonde_timeline_point *p = x->tree->cells->timeline->points.at + c->first;
	size_t i;

	for (i = 0; i < c->nr; i++) {
		if (p[i].end_ns <= x->tracks->first_ns || p[i].start_ns >= x->tracks->last_ns)
			continue;
		put_count(x, c,
			p[i].start_ns > x->tracks->first_ns ? p[i].start_ns : x->tracks->first_ns,
			p[i].v);
		if (i + 1 == c->nr || p[i + 1].start_ns - p[i].end_ns > p[i].end_ns - p[i].start_ns)
			put_count(x, c, p[i].end_ns, 0);
	}
}

int sonde_export_perfetto(const struct sonde_tree *t, const struct sonde_export_options *o,
	struct sonde_sink *to, struct sonde_err *err)
{
	struct sonde_tracks tracks;
	struct trace x = {.to = to, .tree = t, .tracks = &tracks};
	size_t i, k;
	int rc;

	(void)o;
	rc = sonde_tracks_build(&tracks, t, SIZE_MAX, err);
	if (rc)
		return rc;
	sonde_sink_puts(to,
		"{\"displayTimeUnit\":\"ns\",\"otherData\":{\"exporter\":\"sonde " SONDE_VERSION
		"\"},\"traceEvents\":[\n");
	for (i = 0; i < tracks.tracks.nr; i++) {
		const struct sonde_track *track = &tracks.tracks.at[i];

		put_names(&x, track);
		for (k = track->first; k < track->first + track->nr; k++) {
			if (track->kind == SONDE_TRACK_STARTS)
				put_pair(&x, track, &tracks.events.at[k]);
			else if (track->kind == SONDE_TRACK_MARKS)
				put_mark(&x, track, &tracks.events.at[k]);
			else
				put_complete(&x, track, &tracks.events.at[k]);
		}
	}
	for (i = 0; i < t->cells->timeline->curves.nr; i++)
		put_curve(&x, &t->cells->timeline->curves.at[i]);
	for (i = 0; i < t->cells->timeline->gauges.nr; i++)
		put_sample(&x, &t->cells->timeline->gauges.at[i]);
	sonde_sink_puts(to, "\n]}\n");
	to->buf.failed |= x.name.failed;
	sonde_buf_release(&x.name);
	sonde_tracks_release(&tracks);
	return 0;
}
