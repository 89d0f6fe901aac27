/*
 * Chrome's trace format, which Perfetto reads: complete events (X) for range
 * entries and launches, asynchronous pairs (b, e) for start/end ranges, instants
 * (i) for marks, flows (s, f) from the host's call to the kernel, counters (C) of
 * devices, names of processes and tracks as metadata (M). Times are microseconds
 * from the first event on.
 */
#include "base/alloc.h"
#include "base/bisect.h"
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
	uint64_t *pids;	     /* by process: its own number, or a different one if another node has the same */
	uint64_t *last_ends; /* by event: the latest end on its track up to this event */
};

#define OTHER_PIDS 1000000000u /* greater than all real process numbers */

/* Gives each process a number of its own: viewers take events with the same number for the same process. */
static int find_pids(struct trace *x, struct sonde_err *err)
{
	const struct sonde_cells *cells = x->tree->cells;
	struct sonde_map seen = {0};
	bool is_new, ok;
	size_t i;

	x->pids = sonde_calloc(cells->processes.nr + 1, sizeof(*x->pids));
	ok = x->pids;
	for (i = 0; ok && i < cells->processes.nr; i++) {
		const uint64_t *pid = &cells->processes.at[i].pid;

		ok = sonde_map_add(&seen, SONDE_BYTES(*pid), &is_new) != SONDE_NONE;
		x->pids[i] = is_new ? *pid : OTHER_PIDS + i;
	}
	sonde_map_release(&seen);
	return ok ? 0 : sonde_err_nomem(err);
}

static int find_last_ends(struct trace *x, struct sonde_err *err)
{
	const struct sonde_tracks *s = x->tracks;
	size_t i, k;

	x->last_ends = sonde_calloc(s->events.nr + 1, sizeof(*x->last_ends));
	if (!x->last_ends)
		return sonde_err_nomem(err);
	for (i = 0; i < s->tracks.nr; i++) {
		uint64_t last = 0;

		for (k = s->tracks.at[i].first; k < s->tracks.at[i].first + s->tracks.at[i].nr; k++) {
			last = s->events.at[k].end_ns > last ? s->events.at[k].end_ns : last;
			x->last_ends[k] = last;
		}
	}
	return 0;
}

static void open_event(struct trace *x, char phase, const struct sonde_track *track)
{
	sonde_sink_printf(x->to, "%s{\"ph\":\"%c\",\"pid\":%" PRIu64 ",\"tid\":%zu",
		x->has_any ? ",\n" : "", phase,
		x->pids[track->process],
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
	struct sonde_str name = p->name.n ? p->name : SONDE_STR("process");

	sonde_buf_clear(&x->name);
	if (p->has_rank)
		sonde_buf_printf(&x->name, "rank %u \u00b7 ", p->rank);
	sonde_buf_str(&x->name, name);
	open_event(x, 'M', track);
	sonde_sink_puts(x->to, ",\"name\":\"process_name\",\"args\":{\"name\":");
	sonde_escape_json(&x->to->buf, sonde_buf_view(&x->name));
	sonde_sink_puts(x->to, "}}");
	if (p->has_rank) {
		open_event(x, 'M', track);
		sonde_sink_printf(x->to, ",\"name\":\"process_sort_index\",\"args\":{\"sort_index\":%u}}", p->rank);
	}
	open_event(x, 'M', track);
	sonde_sink_puts(x->to, ",\"name\":\"thread_name\",\"args\":{\"name\":");
	sonde_escape_json(&x->to->buf, track->name);
	sonde_sink_puts(x->to, "}}");
	open_event(x, 'M', track);
	sonde_sink_printf(x->to, ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":%zu}}",
		(size_t)(track - x->tracks->tracks.at));
}

static void put_arguments(struct trace *x, const struct sonde_track *track, const struct sonde_track_event *e)
{
	const char *comma = "";

	sonde_sink_puts(x->to, ",\"args\":{");
	if (e->region != SONDE_NONE) {
		sonde_sink_puts(x->to, "\"region\":");
		sonde_escape_json(&x->to->buf, x->tree->cells->regions.at[e->region].id);
		comma = ",";
	}
	if (e->arguments != SONDE_NONE) {
		sonde_sink_printf(x->to, "%s\"arguments\":", comma);
		sonde_arguments_put_json(&x->to->buf, sonde_tree_str(x->tree, e->arguments));
		comma = ",";
	}
	if (track->kind == SONDE_TRACK_STREAM)
		sonde_sink_printf(x->to, "%s\"device\":%u,\"stream\":%" PRIu64, comma, track->device, track->line);
	if (track->kind == SONDE_TRACK_STREAM && e->call_ns && e->call_ns <= e->start_ns)
		sonde_sink_printf(x->to, ",\"queued_us\":%" PRIu64 ".%03u", (e->start_ns - e->call_ns) / 1000,
			(unsigned)((e->start_ns - e->call_ns) % 1000));
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
	put_arguments(x, track, e);
}

/* Whether some event of this track encloses the moment: viewers drop a flow that begins outside any event. */
static bool encloses(const struct trace *x, const struct sonde_track *track, uint64_t ns)
{
	size_t low = 0;

	sonde_bisect(low, track->nr, mid, x->tracks->events.at[track->first + mid].start_ns <= ns);
	return low && x->last_ends[track->first + low - 1] > ns;
}

/*
 * The track of the calling thread on which a range encloses the call; a thread has a track for each domain. NULL =
 * there is none.
 */
static const struct sonde_track *caller_of(const struct trace *x, const struct sonde_track_event *e)
{
	const struct sonde_track *first = &x->tracks->tracks.at[e->caller], *t = first,
				 *end = x->tracks->tracks.at + x->tracks->tracks.nr;

	for (; t < end && t->process == first->process && t->kind == first->kind; t++)
		if (t->line == first->line && encloses(x, t, e->call_ns))
			return t;
	return NULL;
}

/* Writes an arrow from the host's call to the work on the GPU. */
static void put_flow(struct trace *x, const struct sonde_track *track, const struct sonde_track_event *e)
{
	const struct sonde_track *caller;
	size_t id = (size_t)(e - x->tracks->events.at) + 1;
	int i;

	if (track->kind != SONDE_TRACK_STREAM || e->caller == SONDE_NONE || e->call_ns > e->start_ns)
		return;
	caller = caller_of(x, e);
	for (i = 0; caller && i < 2; i++) {
		open_event(x, i ? 'f' : 's', i ? track : caller);
		sonde_sink_printf(x->to, ",\"cat\":\"launch\",\"name\":\"launch\",\"id\":%zu%s", id, i ? ",\"bp\":\"e\"" : "");
		put_us(x, "ts", (i ? e->start_ns : e->call_ns) - x->tracks->first_ns);
		sonde_sink_putc(x->to, '}');
	}
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
		put_arguments(x, track, e);
	}
}

static void put_count(struct trace *x, const struct sonde_timeline_curve *c, uint64_t ns, double v)
{
	const struct sonde_cells *cells = x->tree->cells;
	uint32_t scope = c->nr_scopes ? cells->timeline->curve_scopes.at[c->first_scope] : SONDE_NONE;
	char text[SONDE_NUMBER_MAX];

	sonde_sink_printf(x->to, "%s{\"ph\":\"C\",\"pid\":%" PRIu64 ",\"tid\":0",
		x->has_any ? ",\n" : "",
		scope == SONDE_NONE ? 0 : x->pids[cells->scopes.at[scope].process]);
	x->has_any = true;
	sonde_buf_clear(&x->name);
	sonde_buf_printf(&x->name, "GPU %u · %.*s", c->device, SONDE_STR_ARG(c->name));
	put_text(x, "name", sonde_buf_view(&x->name));
	put_us(x, "ts", ns - x->tracks->first_ns);
	sonde_number_format(text, v);
	sonde_sink_printf(x->to, ",\"args\":{\"value\":%s}}", text);
}

/* Writes a sample of a counter that the program keeps. */
static void put_sample(struct trace *x, const struct sonde_timeline_gauge *c)
{
	char text[SONDE_NUMBER_MAX];

	if (c->ns < x->tracks->first_ns)
		return;
	sonde_sink_printf(x->to, "%s{\"ph\":\"C\",\"pid\":%" PRIu64 ",\"tid\":0", x->has_any ? ",\n" : "",
		x->pids[c->process]);
	x->has_any = true;
	put_text(x, "name", sonde_tree_str(x->tree, c->name));
	put_us(x, "ts", c->ns - x->tracks->first_ns);
	sonde_number_format(text, c->v);
	sonde_sink_printf(x->to, ",\"args\":{\"value\":%s}}", text);
}

/*
 * Writes a counter of a device. Viewers keep a value until the next one, so it is set to 0 where samples are missing.
 */
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
	rc = find_pids(&x, err);
	if (rc == 0)
		rc = find_last_ends(&x, err);
	if (rc)
		goto out;
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
			else {
				put_complete(&x, track, &tracks.events.at[k]);
				put_flow(&x, track, &tracks.events.at[k]);
			}
		}
	}
	for (i = 0; i < t->cells->timeline->curves.nr; i++)
		put_curve(&x, &t->cells->timeline->curves.at[i]);
	for (i = 0; i < t->cells->timeline->gauges.nr; i++)
		put_sample(&x, &t->cells->timeline->gauges.at[i]);
	sonde_sink_puts(to, "\n]}\n");
	to->buf.failed |= x.name.failed;
out:
	sonde_free(x.pids);
	sonde_free(x.last_ends);
	sonde_buf_release(&x.name);
	sonde_tracks_release(&tracks);
	return rc;
}
