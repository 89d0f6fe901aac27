/*
 * Windows: when the program was captured. The marks of the file become windows. Marks are
 * written in order of time. A chunk belongs to the window that its first event is in.
 */
#include "read/native/native_int.h"

#include "base/alloc.h"
#include "base/bisect.h"

/* --- windows: when the program was captured -------------------------------------------------------- */

int sonde_native__read_windows(struct native *n, struct sonde_err *err)
{
	bool is_open = false, is_first = true, ok = true;
	size_t i;

	for (i = 0; i < n->marks.nr && ok; i++) {
		const struct sonde_window_mark *m = &n->marks.at[i].mark;
		uint8_t when = n->marks.at[i].when;
		struct native_window *last = n->windows.nr ? &n->windows.at[n->windows.nr - 1] : NULL;
		uint64_t least = !last ? 0 : is_open ? last->begin : last->end;
		uint64_t ticks = m->ticks > least ? m->ticks : least;

		if (m->state >= SONDE_WINDOW_TIMED)
			return sonde_err_set(err, SONDE_ERR_FORMAT,
				"%s: an older sonde made this capture with a budget: it recorded ranges all the time and estimated the rest, "
				"which this version cannot read; capture again",
				n->src->path);
		n->is_windowed |= m->state != SONDE_WINDOW_END;
		if (m->state == SONDE_WINDOW_CLOSED && is_open) {
			last->end = ticks;
			last->ended = when;
			is_open = false;
		} else if (m->state == SONDE_WINDOW_CLOSED && is_first) {
			/* If the first mark of a file closes a window, that window was open from the file's beginning. */
			ok = sonde_vec_put(&n->windows, (struct native_window){0, ticks, when});
		} else if (m->state == SONDE_WINDOW_OPEN && !is_open) {
			is_open = ok = sonde_vec_put(
				&n->windows, (struct native_window){.begin = ticks, .end = UINT64_MAX});
		}
		is_first = false;
	}
	return ok ? 0 : sonde_err_nomem(err);
}

uint32_t sonde_native__window_at(const struct native *n, uint64_t ticks)
{
	size_t low = 0;

	if (!n->is_windowed)
		return NATIVE_ALL_TIME;
	/* the first window that ends later */
	sonde_bisect(low, n->windows.nr, mid, n->windows.at[mid].end <= ticks);
	return low < n->windows.nr && n->windows.at[low].begin <= ticks ? (uint32_t)low
									 : NATIVE_OUTSIDE;
}

uint64_t sonde_native__window_end_ns(struct native *n, uint32_t window)
{
	uint64_t end = window < n->windows.nr ? n->windows.at[window].end : UINT64_MAX;

	return end == UINT64_MAX ? 0 : sonde_clock_map__ns(&n->host, end);
}

bool sonde_native__keep_windows(struct native *n)
{
	bool ok = true;
	uint32_t i;

	for (i = 0; i < n->windows.nr && ok; i++) {
		uint64_t begin = sonde_clock_map__ns(&n->host, n->windows.at[i].begin);
		uint64_t end = sonde_native__window_end_ns(n, i);

		ok = sonde_vec_put(&n->r->windows,
			(struct sonde_window_time){begin, end ? end : UINT64_MAX, n->process});
	}
	return ok;
}

/* The time from the first moment in the file to the last, in ticks. */
static struct native_window whole_time(const struct native *n)
{
	const struct sonde_clock_point *p = n->host.points.at;
	uint64_t first = n->marks.at[0].mark.ticks, last = n->marks.at[n->marks.nr - 1].mark.ticks;
	size_t nr = n->host.points.nr;

	first = nr && p[0].from < first ? p[0].from : first;
	return (struct native_window){.begin = first,
		.end = nr && p[nr - 1].from > last ? p[nr - 1].from : last};
}

static uint64_t span_ns(struct native *n, uint64_t begin, uint64_t end)
{
	return end > begin ? sonde_clock_map__ns(&n->host, end) -
				     sonde_clock_map__ns(&n->host, begin)
			   : 0;
}

static uint64_t captured_ns(struct native *n, const struct native_window *all)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < n->windows.nr; i++) {
		const struct native_window *w = &n->windows.at[i];

		sum += span_ns(n, w->begin > all->begin ? w->begin : all->begin,
			w->end < all->end ? w->end : all->end);
	}
	return sum;
}

/* Says how a window that never opened could have been opened, depending on how it was asked for. */
static const char *opener_of(struct sonde_str text)
{
	static const char *const openers[][2] = {{"ctl", "`sonde ctl PID start` opens it"},
		{"signal", "a signal to `sonde run` opens it"},
		{"profiler", "the program did not call cudaProfilerStart"},
		{"nvtx", "the program did not enter the range `capture` of the NVTX domain `sonde`"}};
	size_t i;

	if (sonde_str_ends(text, "]"))
		return "its range was not entered; `sonde regions -- COMMAND` lists the program's ranges";
	for (i = 0; i < sizeof(openers) / sizeof(*openers); i++)
		if (sonde_str_starts(text, openers[i][0]))
			return openers[i][1];
	return "the program ended first";
}

static void note_none(const struct native *n, struct sonde_str text)
{
	uint64_t entries = n->marks.at[n->marks.nr - 1].mark.nr_entries;
	struct sonde_buf why = {0};

	if (entries)
		sonde_buf_printf(&why, "its range was entered %llu time%s", (unsigned long long)entries,
			entries == 1 ? "" : "s");
	else
		sonde_buf_puts(&why, opener_of(sonde_str_trim(text)));
	sonde_note(&n->r->notes, "%s: nothing was captured: the window%s%.*s never opened: %s", n->src->path,
		text.n ? " " : "", SONDE_STR_ARG(text), why.failed ? "" : why.p);
	sonde_buf_release(&why);
}

/* Whether windows open and close at the same point of the program in every rank: by entries, calls or a range. */
static bool is_by_program(struct sonde_str text)
{
	return sonde_str_ends(text, "]") || sonde_str_is(text, "profiler") || sonde_str_is(text, "nvtx");
}

#define PER_CENT(ppm) ((double)(ppm) / 1e4)

static void note_budget(const struct native *n)
{
	const struct sonde_budget_status *b = &n->budget;

	if (!b->budget_ppm)
		return;
	sonde_note(&n->r->notes,
		"%s: a budget of %g %% chose the windows; as far as the capture can measure it, it took about %.2f %% of the "
		"program's time, of which %.2f %% was lost between windows (%u ns for each launch, %s)",
		n->src->path, PER_CENT(b->budget_ppm), PER_CENT(b->cost_ppm), PER_CENT(b->base_ppm), b->record_ns,
		b->nr_calibrated ? "at least, and measured in this run" : "assumed");
}

void sonde_native__note_windows(struct native *n)
{
	struct sonde_str text = sonde_native__meta(n, "window");
	struct sonde_input *in = &n->r->inputs.at[n->src->input];
	struct native_window all;

	if (!n->is_windowed)
		return;
	in->is_windowed = true;
	in->is_cut_anywhere |= n->budget.budget_ppm || !is_by_program(sonde_str_trim(text));
	in->budget_ppm = n->budget.budget_ppm;
	in->cost_ppm = n->budget.cost_ppm;
	in->nr_windows = n->windows.nr;
	all = whole_time(n);
	in->captured_ns = captured_ns(n, &all);
	in->total_ns = span_ns(n, all.begin, all.end);
	if (!n->windows.nr) {
		note_none(n, text);
		return;
	}
	sonde_note(&n->r->notes,
		"%s: captured in %zu window%s%s%.*s%s: %.3f s of %.3f s; ranges and launches outside were "
		"not recorded",
		n->src->path, n->windows.nr, n->windows.nr == 1 ? "" : "s", text.n ? " (" : "",
		SONDE_STR_ARG(text), text.n ? ")" : "", (double)in->captured_ns / 1e9,
		(double)in->total_ns / 1e9);
	note_budget(n);
}
