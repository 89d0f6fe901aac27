#include "export/html_int.h"
#include "export/tracks.h"
#include "fold/timeline.h"

#include <math.h>

/* Beyond so many events the page would take seconds to open. */
#define MAX_EVENTS 2000000u

static void write_starts(struct sonde_json *w, const struct sonde_track_event *e, size_t nr, uint64_t t0)
{
	uint64_t last = t0;
	size_t i;

	sonde_json_open(w, "s", '[', true);
	for (i = 0; i < nr; i++) { /* each start is the distance from the one before: short numbers */
		sonde_json_tight(w, (double)(e[i].start_ns - last), i == 0);
		last = e[i].start_ns;
	}
	sonde_json_close(w, ']');
}

/* Writes labels as captured, if a rule (report.labels) has changed some of them; -1 = it did not change this one. */
static void write_raw(struct sonde_json *w, const struct sonde_cells *c,
	const struct sonde_track_event *e, size_t nr)
{
	size_t i;

	for (i = 0; i < nr && e[i].name == c->regions.at[e[i].region].label; i++)
		;
	if (i == nr)
		return;
	SONDE_JSON_LIST(w, "raw", i, nr, e[i].name == c->regions.at[e[i].region].label ? -1.0 : e[i].name);
}

/*
 * Writes how long each launch was queued, from its call to its start, and the track of the thread that called; null or
 * -1 = not known.
 */
static void write_calls(struct sonde_json *w, const struct sonde_track_event *e, size_t nr)
{
	size_t i, first;

	for (first = 0; first < nr && !e[first].call_ns; first++)
		;
	if (first == nr)
		return;
	SONDE_JSON_LIST(w, "q", i, nr, e[i].call_ns ? (double)e[i].start_ns - (double)e[i].call_ns : NAN);
	for (i = first; i < nr && (!e[i].call_ns || e[i].caller == e[first].caller); i++)
		;
	if (i == nr && e[first].caller != SONDE_NONE)
		sonde_json_u64(w, "t", e[first].caller);
	else
		SONDE_JSON_LIST(w, "t", i, nr, e[i].caller == SONDE_NONE ? -1.0 : e[i].caller);
}

static void write_track(struct sonde_json *w, const struct sonde_cells *c,
	const struct sonde_tracks *s, const struct sonde_track *track)
{
	static const char *const kinds[] = {"thread", "starts", "stream", "marks"};
	const struct sonde_track_event *e = s->events.at + track->first;
	size_t i;

	sonde_json_open(w, NULL, '{', true);
	sonde_json_z(w, "kind", kinds[track->kind]);
	sonde_json_str(w, "name", track->name);
	sonde_json_u64(w, "process", track->process);
	if (track->device != SONDE_NONE)
		sonde_json_u64(w, "device", track->device);
	write_starts(w, e, track->nr, s->first_ns);
	SONDE_JSON_LIST(w, "d", i, track->nr, (double)(e[i].end_ns - e[i].start_ns));
	if (track->kind == SONDE_TRACK_STREAM || track->kind == SONDE_TRACK_MARKS)
		SONDE_JSON_LIST(w, "n", i, track->nr, e[i].name);
	else
		write_raw(w, c, e, track->nr);
	SONDE_JSON_LIST(w, "r", i, track->nr, e[i].region == SONDE_NONE ? -1.0 : e[i].region);
	if (track->kind == SONDE_TRACK_STREAM)
		write_calls(w, e, track->nr);
	sonde_json_close(w, '}');
}

/*
 * Writes the points of a curve that are inside the time line: starts as distances from the one before, lengths and
 * values.
 */
static void write_points(struct sonde_json *w, const struct sonde_tracks *s,
	const struct sonde_timeline_point *p, size_t nr)
{
	static const char *const keys[] = {"s", "d", "v"};
	uint64_t last, start;
	size_t i, k;
	bool is_first;

	for (k = 0; k < 3; k++) {
		sonde_json_open(w, keys[k], '[', true);
		is_first = true;
		last = s->first_ns;
		for (i = 0; i < nr; i++) {
			if (p[i].end_ns <= s->first_ns || p[i].start_ns >= s->last_ns)
				continue;
			start = p[i].start_ns > last ? p[i].start_ns : last;
			sonde_json_tight(w,
				k == 0	 ? (double)(start - last)
				: k == 1 ? (double)(p[i].end_ns - start)
					 : rint(10 * p[i].v) / 10,
				is_first);
			is_first = false;
			last = start;
		}
		sonde_json_close(w, ']');
	}
}

/* Writes counters of devices over time, each with the processes and devices it is shown for. */
static void write_curves(
	struct sonde_json *w, const struct sonde_cells *c, const struct sonde_tracks *s)
{
	const struct sonde_timeline *t = c->timeline;
	size_t i, k;

	sonde_json_each(w, "curves", true, i, t->curves.nr) {
		const struct sonde_timeline_curve *curve = &t->curves.at[i];

		sonde_json_str(w, "name", curve->name);
		sonde_json_u64(w, "device", curve->device);
		sonde_json_array(w, "of", true, k, 2 * curve->nr_scopes) {
			const struct sonde_scope *scope =
				&c->scopes.at[t->curve_scopes.at[curve->first_scope + k / 2]];

			sonde_json_u64(w, NULL, k % 2 ? scope->device : scope->process);
		}
		write_points(w, s, &t->points.at[curve->first], curve->nr);
	}
}

/*
 * Writes the gaps of one scope, from number `at` on, with a letter for the cause of each. Returns where the next scope
 * begins.
 */
static size_t write_gaps_of(struct sonde_html *h, const struct sonde_tracks *s, size_t at)
{
	const struct sonde_cells *c = h->x.tree->cells;
	const struct sonde_timeline_gap *g = c->timeline->gaps.at;
	const struct sonde_scope *scope = &c->scopes.at[g[at].scope];
	struct sonde_json *w = &h->x.w;
	struct sonde_buf causes = {0};
	size_t end, i, k;

	for (end = at; end < c->timeline->gaps.nr && g[end].scope == g[at].scope; end++)
		;
	sonde_json_open(w, NULL, '{', true);
	sonde_json_u64(w, "process", scope->process);
	sonde_json_u64(w, "device", scope->device);
	for (k = 0; k < 2; k++) {
		uint64_t last = s->first_ns;
		bool is_first = true;

		sonde_json_open(w, k ? "d" : "s", '[', true);
		for (i = at; i < end; i++) {
			if (g[i].begin_ns < last)
				continue;
			sonde_json_tight(w, (double)(k ? g[i].ns : g[i].begin_ns - last), is_first);
			if (k)
				sonde_buf_putc(&causes, (char)('a' + g[i].cause));
			is_first = false;
			last = g[i].begin_ns;
		}
		sonde_json_close(w, ']');
	}
	sonde_json_str(w, "c", sonde_buf_view(&causes));
	sonde_json_close(w, '}');
	h->json.buf.failed |= causes.failed;
	sonde_buf_release(&causes);
	sonde_html__drain(h);
	return end;
}

/* Writes when nothing ran on a device, and why. */
static void write_gaps(struct sonde_html *h, const struct sonde_tracks *s)
{
	size_t at;

	sonde_json_open(&h->x.w, "gaps", '[', true);
	for (at = 0; at < h->x.tree->cells->timeline->gaps.nr;)
		at = write_gaps_of(h, s, at);
	sonde_json_close(&h->x.w, ']');
}

static void write_process(struct sonde_json *w, const struct sonde_process *p)
{
	sonde_json_open(w, NULL, '{', true);
	sonde_json_u64(w, "id", p->pid);
	sonde_json_str(w, "host", p->host);
	if (p->has_rank)
		sonde_json_u64(w, "rank", p->rank);
	sonde_json_close(w, '}');
}

int sonde_html__write_timeline(struct sonde_html *h)
{
	struct sonde_json *w = &h->x.w;
	struct sonde_tracks s;
	size_t i;

	if (!sonde_tracks_exist(h->x.tree)) {
		sonde_json_null(w, "timeline");
		return 0;
	}
	if (sonde_tracks_build(&s, h->x.tree, MAX_EVENTS, h->err))
		return SONDE_ERR_NOMEM;
	sonde_json_open(w, "timeline", '{', true);
	sonde_json_u64(w, "ns", s.last_ns - s.first_ns);
	/* When the first range was entered: begins of entries are counted from there. */
	sonde_json_number(w, "entered", (double)h->x.first_ns - (double)s.first_ns);
	sonde_json_u64(w, "left_out", s.nr_left_out);
	sonde_json_array(w, "processes", true, i, h->x.tree->cells->processes.nr)
		write_process(w, &h->x.tree->cells->processes.at[i]);
	sonde_json_array(w, "tracks", true, i, s.tracks.nr)
		write_track(w, h->x.tree->cells, &s, &s.tracks.at[i]);
	write_curves(w, h->x.tree->cells, &s);
	write_gaps(h, &s);
	sonde_json_close(w, '}');
	sonde_tracks_release(&s);
	return 0;
}
