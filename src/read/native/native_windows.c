/*
 * Windows: when the program was captured. Marks of the file, in the order in which
 * they were written, which is that of time, become windows; a chunk is in the
 * one its first event is in.
 *
 * With a budget GPU work is timed in some windows only. Launches are counted all the time, or from some
 * moment on only while GPU work is timed (SONDE_WINDOW_SAMPLED). Launches recorded at the edges of such a
 * time are then left out, so that what is inside is complete and represents the rest.
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
		const struct sonde_window_mark *m = &n->marks.at[i];
		struct native_window *last = n->windows.nr ? &n->windows.at[n->windows.nr - 1] : NULL;
		uint64_t least = !last ? 0 : is_open ? last->begin : last->end;
		uint64_t ticks = m->ticks > least ? m->ticks : least;

		if (m->state >= SONDE_WINDOW_TIMED)
			continue;
		n->is_windowed |= m->state != SONDE_WINDOW_END;
		if (m->state == SONDE_WINDOW_CLOSED && is_open) {
			last->end = ticks;
			is_open = false;
		} else if (m->state == SONDE_WINDOW_CLOSED && is_first) {
			/* A file whose first mark is a closing was open from its beginning. */
			ok = sonde_vec_put(&n->windows, (struct native_window){0, ticks});
		} else if (m->state == SONDE_WINDOW_OPEN && !is_open) {
			is_open = ok = sonde_vec_put(
				&n->windows, (struct native_window){ticks, UINT64_MAX});
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
	/* the first that ends later */
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
			(struct sonde_timing){begin, end ? end : UINT64_MAX, n->process});
	}
	return ok;
}

/* The time from the first moment in the file to the last, in ticks. */
static struct native_window whole_time(const struct native *n)
{
	const struct sonde_clock_point *p = n->host.points.at;
	uint64_t first = n->marks.at[0].ticks, last = n->marks.at[n->marks.nr - 1].ticks;
	size_t nr = n->host.points.nr;

	first = nr && p[0].from < first ? p[0].from : first;
	return (struct native_window){first,
		nr && p[nr - 1].from > last ? p[nr - 1].from : last};
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

/* How a window that never opened could have been opened, by the way it was asked for. */
static const char *opener_of(struct sonde_str text)
{
	static const char *const openers[][2] = {{"ctl", "`sonde ctl PID start` opens it"},
		{"signal", "a signal to `sonde run` opens it"},
		{"profiler", "the program did not call cudaProfilerStart"},
		{"nvtx", "the program did not enter the range `capture` of the NVTX domain `sonde`"}};
	size_t i;

	if (sonde_str_ends(text, "]"))
		return "its range was not entered; `sonde regions -- COMMAND` lists those there are";
	for (i = 0; i < sizeof(openers) / sizeof(*openers); i++)
		if (sonde_str_starts(text, openers[i][0]))
			return openers[i][1];
	return "the program ended before";
}

static void note_none(const struct native *n, struct sonde_str text)
{
	uint64_t entries = n->marks.at[n->marks.nr - 1].nr_entries;
	struct sonde_str spec = text.n ? text : SONDE_STR("its window");
	struct sonde_buf why = {0};

	if (entries)
		sonde_buf_printf(&why, "its range was entered %llu time%s", (unsigned long long)entries,
			entries == 1 ? "" : "s");
	else
		sonde_buf_puts(&why, opener_of(sonde_str_trim(text)));
	sonde_note(&n->r->notes, "%s: nothing was captured: %.*s never opened, %s", n->src->path,
		SONDE_STR_ARG(spec), why.failed ? "" : why.p);
	sonde_buf_release(&why);
}

/* Whether windows open and close at the same point of the program in every rank: by entries, calls or a range. */
static bool is_by_program(struct sonde_str text)
{
	return sonde_str_ends(text, "]") || sonde_str_is(text, "profiler") || sonde_str_is(text, "nvtx");
}

void sonde_native__note_windows(struct native *n)
{
	struct sonde_str text = sonde_native__meta(n, "window");
	struct sonde_input *in = &n->r->inputs.at[n->src->input];
	struct native_window all;

	if (!n->is_windowed)
		return;
	in->is_windowed = true;
	in->is_cut_anywhere |= !is_by_program(sonde_str_trim(text));
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
}

/* --- a budget: when GPU work was timed, and the launches nobody timed ------------------------------ */

static bool add_sampling(struct native *n)
{
	double slow = n->budget.slow_ppm / 1e6;
	uint64_t last = sonde_clock_map__ns(&n->host, n->marks.at[n->marks.nr - 1].ticks);

	return sonde_vec_put(&n->r->samplings,
		(struct sonde_budget_time){n->sampled_ns, last, slow < 0.9 ? slow : 0.9, n->process});
}

/* Reads when GPU work was timed, and from when on launches were recorded only then. */
static bool read_timings(struct native *n)
{
	bool is_timed = false, ok = true;
	size_t i;

	n->sampled_ns = UINT64_MAX;
	for (i = 0; i < n->marks.nr && ok; i++) {
		uint32_t state = n->marks.at[i].state;
		uint64_t ns = sonde_clock_map__ns(&n->host, n->marks.at[i].ticks);

		if (state == SONDE_WINDOW_TIMED && !is_timed) {
			ok = sonde_vec_put(
				&n->r->timings, (struct sonde_timing){ns, UINT64_MAX, n->process});
			is_timed = true;
		} else if (state == SONDE_WINDOW_UNTIMED && is_timed) {
			n->r->timings.at[n->r->timings.nr - 1].end_ns = ns;
			is_timed = false;
		} else if (state == SONDE_WINDOW_SAMPLED && n->sampled_ns == UINT64_MAX) {
			n->sampled_ns = ns;
		}
	}
	return ok && (n->sampled_ns == UINT64_MAX || add_sampling(n));
}

/* The number of the timing that a moment is in, or that was the last before it; `nr` = none yet. */
static size_t timing_of(const struct native *n, size_t first, uint64_t ns)
{
	const struct sonde_timing *t = n->r->timings.at;
	size_t low = first;

	sonde_bisect(low, n->r->timings.nr, mid, t[mid].begin_ns <= ns);
	return low == first ? n->r->timings.nr : low - 1;
}

static bool is_in(const struct native *n, size_t timing, uint64_t ns)
{
	return timing < n->r->timings.nr && ns < n->r->timings.at[timing].end_ns;
}

/* Whether work was recorded while launches were not: just when timing began or ended. */
static bool is_stray(const struct native *n, size_t first, uint32_t launch)
{
	uint64_t ns;

	if (n->sampled_ns == UINT64_MAX)
		return false;
	if (launch == SONDE_NONE)
		return true;
	ns = n->launches.at[launch].ns;
	return ns >= n->sampled_ns && !is_in(n, timing_of(n, first, ns), ns);
}

static void drop_strays(struct native *n, size_t first)
{
	struct sonde_record *recs = n->r->records.at;
	size_t i, nr = n->first_record;

	for (i = nr; i < n->r->records.nr; i++)
		if (!is_stray(n, first, recs[i].call)) {
			recs[nr++] = recs[i];
		} else {
			n->counts.unchosen -= recs[i].call != SONDE_NONE && recs[i].is_unchosen;
			n->counts.no_time -= !recs[i].time.end_ns;
		}
	n->r->records.nr = nr;
	if (n->sampled_ns != UINT64_MAX)
		n->counts.no_launch = 0; /* they are among the strays */
}

/*
 * Whether timing may have ended during the call: it is the last one of its thread before that.
 * Such a launch has its work recorded or not; any other would have.
 */
static bool is_at_edge(const struct native *n, size_t first, size_t i)
{
	const struct native_launch *l = &n->launches.at[i], *next = l + 1;
	size_t timing = timing_of(n, first, l->ns);

	return !is_in(n, timing, l->ns) || i + 1 == n->launches.nr ||
	       sonde_native__thread(n, next) != sonde_native__thread(n, l) || next->is_untimed ||
	       timing_of(n, first, next->ns) != timing || !is_in(n, timing, next->ns);
}

/*
 * A launch that was timed and has no work did none (a copy from host to host, a host function), and
 * counts among those that were timed; unless records were lost.
 */
static bool add_call(struct native *n, size_t first, uint32_t launch, uint32_t queue)
{
	bool is_complete = n->ended && n->end == SONDE_END_EXIT && !n->status.nr_gpu_dropped;
	const struct native_launch *l = &n->launches.at[launch];
	bool is_nothing = !l->is_untimed && is_complete && !is_at_edge(n, first, launch);
	uint32_t name = sonde_records__string(n->r, SONDE_STR(SONDE_NOT_TIMED)),
		 function = sonde_records__function(n->r, name, name), caller;

	if (is_stray(n, first, launch) || (is_nothing && n->budget.has_own_ids))
		return true;
	caller = sonde_records__caller(n->r, n->process, sonde_native__thread(n, l));
	return function != SONDE_NONE && caller != SONDE_NONE &&
	       sonde_vec_put(&n->r->records, (struct sonde_record){.caller = caller,
						     .queue = queue,
						     .function = function,
						     .open = l->set,
						     .kind = SONDE_RESULT_KERNEL,
						     .is_unchosen = l->is_unchosen,
						     .is_untimed = true,
						     .call = launch,
						     .is_nothing = is_nothing,
						     .call_ns = l->ns});
}

/* The device of the first work. */
static uint32_t first_device(const struct native *n)
{
	if (n->r->records.nr > n->first_record)
		return sonde_record_queue(n->r, &n->r->records.at[n->first_record])->device;
	return n->memory.nr ? n->memory.at[0].memory.device : 0;
}

/*
 * Launches whose work was not recorded are results too, so that they are counted where they belong.
 * Their device is not known: it is taken to be that of the first work.
 */
bool sonde_native__count_untimed(struct native *n)
{
	size_t i, first = n->r->timings.nr;
	bool *has_work = NULL, ok = read_timings(n);
	uint32_t queue;

	if (ok) {
		drop_strays(n, first);
		has_work = sonde_native__have_work(n);
	}
	queue = sonde_records__queue(n->r, first_device(n), 0, 0);
	ok = has_work && queue != SONDE_NONE;
	for (i = 0; i < n->launches.nr && ok; i++)
		ok = has_work[i] || add_call(n, first, (uint32_t)i, queue);
	sonde_free(has_work);
	return ok;
}

#define PER_CENT(ppm) ((double)(ppm) / 1e4)
#define FEW_TIMINGS   4 /* too few to say how far off the estimates are */

static size_t count_timings(const struct native *n)
{
	size_t i, nr = 0;

	for (i = 0; i < n->r->timings.nr; i++)
		nr += n->r->timings.at[i].process == n->process;
	return nr;
}

void sonde_native__note_budget(struct native *n)
{
	const struct sonde_budget_status *b = &n->budget;
	struct sonde_input *in = &n->r->inputs.at[n->src->input];
	size_t nr = count_timings(n);

	if (!b->budget_ppm)
		return;
	in->budget_ppm = b->budget_ppm;
	in->cost_ppm = b->cost_ppm;
	in->is_cut_anywhere = true;
	in->is_sampled = n->sampled_ns != UINT64_MAX;
	sonde_note(&n->r->notes,
		"%s: a budget of %g %%: GPU work was timed in %zu window%s, and its times are estimates; "
		"the capture took about %.2f %% of the program's time as far as it can see, %.2f %% for "
		"what goes on all the time (ranges, counting launches) and the rest for timing (%u ns a "
		"timed launch, %s)",
		n->src->path, PER_CENT(b->budget_ppm), nr, nr == 1 ? "" : "s", PER_CENT(b->cost_ppm),
		PER_CENT(b->base_ppm), b->record_ns,
		b->nr_calibrated ? "at least, and measured in this run" : "assumed");
	if (nr < FEW_TIMINGS && PER_CENT(b->budget_ppm) < 100)
		sonde_note(&n->r->notes,
			"%s: so few windows say little about how far off the estimates are: ± is wide or "
			"missing; a longer run or a larger budget has more",
			n->src->path);
	if (in->is_sampled)
		sonde_note(&n->r->notes,
			"%s: the program launches so often that counting all launches would have "
			"taken more than half of the budget: they were counted only while GPU work "
			"was timed, and their numbers are estimates too",
			n->src->path);
}
