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
	for (i = 0; i < nr; i++) { /* each from the one before: short numbers */
		sonde_json_tight(w, (double)(e[i].start_ns - last), i == 0);
		last = e[i].start_ns;
	}
	sonde_json_close(w, ']');
}

/* Labels as captured, where a rule (report.labels) has changed some of them; -1 = not this one. */
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
	sonde_json_close(w, '}');
}

/* The points of a curve inside the time line, as begins since the one before, lengths and values. */
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

/* Counters of devices over time, each with the processes and devices it is shown for. */
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
	/* When the first range was entered; begins of entries are counted from there. */
	sonde_json_number(w, "entered", (double)h->x.first_ns - (double)s.first_ns);
	sonde_json_u64(w, "left_out", s.nr_left_out);
	sonde_json_array(w, "processes", true, i, h->x.tree->cells->processes.nr)
		sonde_json_u64(w, NULL, h->x.tree->cells->processes.at[i].pid);
	sonde_json_array(w, "tracks", true, i, s.tracks.nr)
		write_track(w, h->x.tree->cells, &s, &s.tracks.at[i]);
	write_curves(w, h->x.tree->cells, &s);
	sonde_json_close(w, '}');
	sonde_tracks_release(&s);
	return 0;
}
