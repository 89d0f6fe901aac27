/*
 * Windows: when the process is captured.
 *
 * Many things open and close windows: a range of the program, its calls of
 * cudaProfilerStart and Stop, the clock, the runner. A thread that wants a change stores its
 * wish (`want`) and takes the baton. A thread that finds the baton taken leaves, since the holder
 * looks at the wish again after it has let go. (A signal handler that jumps out of a change never
 * lets go: the windows then stay as they are.) Only an entry that was asked for waits, once, for the
 * thread that is just opening its window, or the entry would be missing.
 *
 * Switching CUPTI calls into the driver, in a thread of the host: this is the
 * one place where a hook does more than write memory. The call cannot be put off
 * or moved to another thread, or the first kernels of the entry that opens a
 * window would be missing.
 */
#include "inject/inject_int.h"

#include <errno.h>

#define OPENING_NS 1000000000u /* how long entries wait for their window at most; CUPTI may take a tenth of that to start */

static struct windows *const w = &sonde_inject.windows;

static uint64_t since_start_us(void)
{
	return (sonde_now_ns() - w->start_ns) / 1000;
}

/* False when too many marks wait to be written: then no window may open or close. */
static bool add_mark(uint32_t state)
{
	uint32_t nr = atomic_load(&w->nr_marks);

	if (nr - atomic_load(&w->nr_written) >= NR_WINDOW_MARKS) {
		sonde_flusher__note("windows opened and closed faster than sonde could write: some are longer or shorter than requested");
		return false;
	}
	w->marks[nr % NR_WINDOW_MARKS] = (struct sonde_window_mark){
		.ticks = ticks_now(), .nr_entries = atomic_load(&w->nr_entries), .state = state};
	if (state == SONDE_WINDOW_OPEN)
		atomic_store(&w->open_ticks, w->marks[nr % NR_WINDOW_MARKS].ticks);
	atomic_store(&w->nr_marks, nr + 1);
	return true;
}

/* A window is open while somebody wants it and the budget allows it. */
static bool is_due(void)
{
	return atomic_load(&w->want) && atomic_load(&w->is_allowed);
}

/* The window could not be changed: resets the wishes, so that nobody tries again until something new is wanted. */
static void drop_wishes(bool is_open)
{
	if (is_open || !sonde_inject.config.budget_ppm)
		atomic_store(&w->want, is_open);
	if (sonde_inject.config.budget_ppm)
		atomic_store(&w->is_allowed, is_open);
}

/* CUPTI goes on before a window opens and off after it has closed, so that no GPU work is missing inside. */
static void change_window(bool is_open, bool may_call)
{
	may_call = may_call && atomic_load(&sonde_inject.traces_gpu);
	if (may_call && is_open)
		sonde_cupti__switch(true);
	if (is_open != (atomic_load(&w->epoch) & 1)) {
		atomic_store(&sonde_inject.gated, true);
		if (!add_mark(is_open ? SONDE_WINDOW_OPEN : SONDE_WINDOW_CLOSED)) {
			drop_wishes(!is_open);
			return;
		}
		atomic_fetch_add(&w->epoch, 1);
		if (!atomic_exchange(&w->has_opened, 1))
			sonde_futex__wake(&w->has_opened);
	}
	if (!is_open && may_call)
		sonde_cupti__switch(false);
}

static bool is_settled(bool may_call)
{
	bool due = is_due();

	return due == (atomic_load(&w->epoch) & 1) &&
	       (!may_call || !atomic_load(&sonde_inject.traces_gpu) || atomic_load(&w->gpu_on) == due);
}

static void settle_windows(bool may_call, bool by_holders)
{
	while (!is_settled(may_call)) {
		if (atomic_exchange(&w->baton, 1))
			return;
		if (by_holders) /* `want` may be outdated by now: ask the holders again */
			atomic_store(&w->want, atomic_load(&w->nr_holding) > 0);
		if (!is_settled(may_call))
			change_window(is_due(), may_call);
		atomic_store(&w->baton, 0);
	}
}

/* Changes the window in a thread of the host, whose errno must not change. The budget pays for the time. */
static void set_in_host(bool is_open, bool by_holders)
{
	uint64_t before = sonde_now_ns();
	int was = errno;

	atomic_store(&w->want, is_open);
	settle_windows(true, by_holders);
	sonde_budget__charge(sonde_now_ns() - before);
	errno = was;
}

/* The same inside a hook: leaves the hook meanwhile, as CUPTI may call us back. */
static void set_in_hook(struct thread *t, bool is_open, bool by_holders)
{
	hook_leave(t);
	set_in_host(is_open, by_holders);
	t->busy = true;
	atomic_signal_fence(memory_order_seq_cst);
}

void sonde_window__set(bool is_open)
{
	set_in_host(is_open, false);
}

void sonde_window__allow(bool is_allowed, bool may_call)
{
	atomic_store(&w->is_allowed, is_allowed);
	settle_windows(may_call, false);
}

bool sonde_window__end_records(void)
{
	if (atomic_exchange(&w->baton, 1))
		return false;
	if (!atomic_load(&w->gpu_on))
		sonde_cupti__end_records();
	atomic_store(&w->baton, 0);
	settle_windows(true, false);
	return true;
}

void sonde_window__settle(void)
{
	settle_windows(true, false);
}

/* --- what the clock and the runner want --------------------------------------------------------- */

/* Whether the window should be open by the clock (WINDOW_TIME); `*next_us` is when that may change. */
static bool clock_wants(uint64_t now_us, uint64_t *next_us)
{
	const struct window_config *c = &sonde_inject.config.window;
	uint64_t into;

	*next_us = UINT64_MAX;
	if (now_us < c->after_us) {
		*next_us = c->after_us;
		return false;
	}
	if (!c->for_us)
		return true;
	into = now_us - c->after_us;
	if (c->every_us)
		into %= c->every_us;
	if (into < c->for_us)
		*next_us = now_us + (c->for_us - into);
	else if (c->every_us)
		*next_us = now_us + (c->every_us - into);
	return into < c->for_us;
}

static void follow_order(void)
{
	uint32_t order = atomic_load(&sonde_inject.orders->order);

	if (atomic_exchange(&w->order, order) == order)
		return;
	atomic_store(&w->want, (order & 3) == SONDE_ORDER_START);
}

uint64_t sonde_window__update(bool may_call)
{
	uint64_t now_us, next_us = UINT64_MAX;
	bool wants;

	if (!atomic_load(&w->has_begun) || (!may_call && atomic_load(&sonde_inject.traces_gpu)))
		return UINT64_MAX; /* not begun, or the collector does it */
	now_us = since_start_us();
	if (sonde_inject.config.window.kind == WINDOW_TIME) {
		wants = clock_wants(now_us, &next_us);
		if (atomic_exchange(&w->clock_wanted, wants) != wants)
			atomic_store(&w->want, wants);
	}
	follow_order();
	settle_windows(may_call, false);
	return next_us == UINT64_MAX ? UINT64_MAX : next_us - now_us;
}

/* --- what ranges want --------------------------------------------------------------------------- */

/* Whether the runner ordered a capture: then the numbers of entries do not matter. */
static bool is_ordered(void)
{
	return (atomic_load(&w->order) & 3) == SONDE_ORDER_START;
}

/*
 * Whether the thread is in an entry that was not asked for. Other threads may be in earlier entries when the first entry
 * that was asked for opens the window, and may begin later entries before the last one asked for ends. These entries are
 * left out with everything in them, so that the report has as many entries as were asked for. A thread that is also in an
 * entry that was asked for is recorded.
 */
static bool is_in_skipped_entry(const struct thread *t)
{
	uint32_t i;

	if (sonde_inject.config.window.kind != WINDOW_ENTRIES || !t->nr_window || is_ordered())
		return false;
	for (i = 0; i < t->nr_open; i++)
		if (t->open[i] & OPEN_CLOSES)
			return false;
	return true;
}

bool sonde_window__is_open(struct thread *t)
{
	uint32_t now = atomic_load_explicit(&w->epoch, memory_order_acquire);

	if (!(now & 1))
		return false;
	if (t->epoch != now) {
		t->epoch = now;
		t->is_left_out = is_in_skipped_entry(t);
		sonde_ring__hand_over(t);
		if (atomic_exchange(&w->carried, now) != now)
			sonde_nvtx__carry(t, now);
	}
	return true;
}

/*
 * The window is open while a range holds it. Two threads may come here at once: one whose range was the last holder, and
 * one whose range is the first holder again. The later decision must use the newer count, so each thread reads the count
 * once more while it has the baton. A range that begins between that reading and the change is in two windows, like any range
 * that is open while one window closes and the next opens: its time and its launches count once, as windows do not overlap,
 * and its entry counts in each window, which the report notes. That does no harm: windows of entries, whose number is
 * promised, open and close once.
 */
static void follow_holders(struct thread *t)
{
	bool is_held;

	do {
		is_held = atomic_load(&w->nr_holding) > 0;
		set_in_hook(t, is_held, true);
	} while (is_held != (atomic_load(&w->nr_holding) > 0));
}

/*
 * Waits while another thread opens the window that this entry belongs to, but not for long. If the window did not open in
 * time, no entry waits again.
 */
static void await_opening(void)
{
	uint64_t until = sonde_now_ns() + OPENING_NS;

	while (!atomic_load(&w->has_opened) && sonde_now_ns() < until)
		sonde_futex__wait(&w->has_opened, 0, 1);
	atomic_store(&w->has_opened, 1);
}

uint64_t sonde_window__enter(struct thread *t)
{
	const struct window_config *c = &sonde_inject.config.window;
	uint64_t number = atomic_fetch_add(&w->nr_entries, 1);

	if (c->kind == WINDOW_RANGE) {
		if (!atomic_fetch_add(&w->nr_holding, 1))
			follow_holders(t);
		return 0;
	}
	if (number < c->first || number >= c->end) {
		t->is_left_out |= number >= c->end && !t->nr_window && !is_ordered() &&
				  atomic_load(&w->epoch) & 1;
		return c->kind == WINDOW_ENTRIES && !is_ordered() ? OPEN_SKIPPED : 0;
	}
	if (number == c->first)
		set_in_hook(t, true, false);
	else if (!atomic_load(&w->has_opened))
		await_opening();
	return OPEN_CLOSES;
}

void sonde_window__leave(struct thread *t, bool closes)
{
	const struct window_config *c = &sonde_inject.config.window;

	if (c->kind != WINDOW_RANGE) { /* the last entry asked for that ends closes the window */
		if (closes && atomic_fetch_add(&w->nr_ended, 1) + 1 == c->end - c->first)
			set_in_hook(t, false, false);
	} else if (atomic_fetch_sub(&w->nr_holding, 1) == 1) {
		follow_holders(t);
	}
}

/* --- life ---------------------------------------------------------------------------------------- */

void sonde_window__init(void)
{
	uint64_t next_us;

	w->start_ns = sonde_now_ns();
	atomic_store(&w->is_allowed, 1);
	/* With a budget no entry waits for its window: it may open much later. */
	atomic_store(&w->has_opened, sonde_inject.config.budget_ppm != 0);
	w->order = atomic_load(&sonde_inject.orders->order);
	if (sonde_inject.config.has_windows)
		add_mark(SONDE_WINDOW_BEGIN);
	if (sonde_inject.config.window.kind == WINDOW_TIME)
		w->clock_wanted = clock_wants(0, &next_us);
	atomic_store(&w->want,
		sonde_inject.config.window.kind == WINDOW_ALL || w->clock_wanted ||
			(w->order & 3) == SONDE_ORDER_START);
	if (!sonde_inject.config.has_windows)
		atomic_store(&w->epoch, 1);
	atomic_store(&w->has_begun, true);
	settle_windows(true, false); /* in a sleeper, CUPTI is there already */
}

void sonde_window__reset(void)
{
	atomic_store(&w->has_begun, false);
	atomic_store(&w->epoch, (atomic_load(&w->epoch) + 1) & ~1u);
	atomic_store(&w->want, 0);
	atomic_store(&w->baton, 0);
	atomic_store(&w->nr_entries, 0);
	atomic_store(&w->nr_ended, 0);
	atomic_store(&w->nr_holding, 0);
	atomic_store(&w->nr_marks, 0);
	atomic_store(&w->nr_written, 0);
	atomic_store(&w->clock_wanted, false);
}

bool sonde_window__is_over(void)
{
	const struct window_config *c = &sonde_inject.config.window;

	if (c->kind == WINDOW_ENTRIES)
		return atomic_load(&w->nr_ended) >= c->end - c->first;
	return c->kind == WINDOW_TIME && c->for_us && !c->every_us && since_start_us() > c->after_us + c->for_us &&
	       !(atomic_load(&w->epoch) & 1);
}

/* A window that is open goes on in the child, whose capture has its own file. */
void sonde_window__forked(void)
{
	bool is_open = atomic_load(&w->epoch) & 1, was_marked = atomic_load(&w->nr_marks);

	atomic_store(&w->baton, 0);
	atomic_store(&w->gpu_on, 0);
	atomic_store(&w->is_allowed, 1);
	atomic_store(&w->nr_marks, 0);
	atomic_store(&w->nr_written, 0);
	if (!sonde_inject.gated || !was_marked)
		return;
	add_mark(SONDE_WINDOW_BEGIN);
	if (is_open)
		add_mark(SONDE_WINDOW_OPEN);
	settle_windows(false, false); /* the parent's budget may have kept it closed */
}

void sonde_window__put(bool is_last)
{
	uint32_t nr = atomic_load(&w->nr_marks), i;
	struct sonde_window_mark end = {.ticks = ticks_now(),
		.nr_entries = atomic_load(&w->nr_entries),
		.state = SONDE_WINDOW_END};

	for (i = atomic_load(&w->nr_written); i != nr; i++)
		sonde_outfile__put_block(SONDE_BLOCK_WINDOW, &w->marks[i % NR_WINDOW_MARKS],
			sizeof(*w->marks), NULL, 0);
	atomic_store(&w->nr_written, nr);
	if (is_last && (nr || sonde_inject.config.has_windows))
		sonde_outfile__put_block(SONDE_BLOCK_WINDOW, &end, sizeof(end), NULL, 0);
}
