/*
 * The budget: GPU work is timed at random times, for a given share of the program's
 * time. pace.c says when; here are the measurements it needs, and the switching.
 *
 * The call of every eighth launch is measured, with records and without: the difference is what timing
 * costs. A thread that launches while CUPTI is switched waits for CUPTI's locks: for calls that met a
 * switch, the time beyond the usual is measured. The program's loss is the sum of that in the thread that
 * waited longest, never more than the switch took.
 *
 * Ranges are recorded all the time. Every 64th push is measured too, and that cost is paid first.
 *
 * CUPTI's callbacks, which count launches, cost something too. As long as that is less than
 * half of the budget they stay, and launches are counted all the time. A program that
 * launches more often than that has them only while GPU work is timed; the reader then
 * estimates how many launches there were (fold/windowed_stays.c). The budget holds either way.
 */
#include "inject/inject_int.h"
#include "inject/pace.h"

#define FEW	      100u /* launches that say nothing yet */
#define LONG_TICKS_US 20u  /* a call that waited for the GPU says nothing either */
#define AIMED	      0.65 /* of the budget: caches after ranges and switches take the rest unseen */

static struct {
	_Atomic uint64_t ticks[2]; /* of measured calls: without, with records … */
	_Atomic uint64_t nr[2];	   /* … and how many */
	_Atomic uint32_t turn;	   /* odd = CUPTI is being switched */
	_Atomic uint64_t waited;   /* ticks that a thread's launches waited for the last switch */
	_Atomic uint64_t charged_ns; /* what switching is known to have cost besides */
	_Atomic uint64_t range_ticks, nr_ranges; /* of measured pushes */
	/* The collector's. */
	struct pace pace;
	uint64_t begin_ns, until_ns; /* when the present time ends; 0 = not begun */
	uint64_t switch_ns;	     /* how long the last switch took, 0 = nothing changed … */
	uint64_t least_ns;	     /* … and the shortest of late */
	uint64_t nr_counted;	     /* launches while all of them are */
	_Atomic uint32_t cost_ppm, base_ppm, record_ns, slow_ppm;
} b;

static uint64_t ticks_to_ns(uint64_t ticks)
{
	return (uint64_t)((double)ticks * 1e9 / (double)sonde_inject.tick_hz);
}

static uint64_t mean_ticks(unsigned which)
{
	uint64_t nr = atomic_load_explicit(&b.nr[which], memory_order_relaxed);

	return nr < FEW ? 0 : atomic_load_explicit(&b.ticks[which], memory_order_relaxed) / nr;
}

/* --- in the threads that launch ------------------------------------------------------------------ */

void sonde_budget__enter_call(struct thread *t, uint32_t correlation)
{
	t->call.ticks = ticks_now();
	t->call.correlation = correlation;
	t->call.turn = atomic_load_explicit(&b.turn, memory_order_relaxed);
}

/* Adds up how long this thread's calls waited for one switch. */
static void add_wait(struct thread *t, uint64_t ticks, bool is_timed)
{
	uint64_t usual = mean_ticks(is_timed), longest = atomic_load(&b.waited);

	if (t->call.waited_turn != t->call.turn / 2 + 1)
		t->call.waited = 0;
	t->call.waited_turn = t->call.turn / 2 + 1;
	t->call.waited += ticks > usual ? ticks - usual : 0;
	while (t->call.waited > longest &&
		!atomic_compare_exchange_weak(&b.waited, &longest, t->call.waited))
		;
}

void sonde_budget__leave_call(struct thread *t, uint32_t correlation, bool is_timed)
{
	uint64_t ticks = ticks_now() - t->call.ticks;
	uint32_t turn = atomic_load_explicit(&b.turn, memory_order_relaxed);

	if (t->call.correlation != correlation) /* its beginning was not seen */
		return;
	if (turn != t->call.turn || turn & 1) {
		add_wait(t, ticks, is_timed);
	} else if (t->nr_launched % 8 == 0 &&
		   ticks <= LONG_TICKS_US * (sonde_inject.tick_hz / 1000000)) {
		atomic_fetch_add_explicit(&b.ticks[is_timed], ticks, memory_order_relaxed);
		atomic_fetch_add_explicit(&b.nr[is_timed], 1, memory_order_relaxed);
	}
}

void sonde_budget__pushed(uint64_t since)
{
	uint64_t ticks = ticks_now() - since;

	if (!sonde_inject.config.budget_ppm || ticks > LONG_TICKS_US * (sonde_inject.tick_hz / 1000000))
		return;
	atomic_fetch_add_explicit(&b.range_ticks, ticks, memory_order_relaxed);
	atomic_fetch_add_explicit(&b.nr_ranges, 1, memory_order_relaxed);
}

void sonde_budget__charge(uint64_t ns)
{
	atomic_fetch_add(&b.charged_ns, ns);
}

/* --- in the collector ---------------------------------------------------------------------------- */

static bool counts_all(void)
{
	return atomic_load(&sonde_inject.windows.counts_all);
}

/*
 * The time that the last switch took from the program: how long its launches waited. Where no launch was
 * seen, the program is taken to have stood still during the shortest recent switch: a longer one may
 * be a collector that others made wait, which took nothing from the program.
 */
static double take_switch(void)
{
	uint64_t waited = ticks_to_ns(atomic_load(&b.waited)), took = b.switch_ns;
	uint64_t charged = atomic_exchange(&b.charged_ns, 0);

	if (!took)
		return (double)charged;
	b.least_ns += b.least_ns / 4 + 1000;
	b.least_ns = took < b.least_ns ? took : b.least_ns;
	waited = waited < took ? waited : took;
	b.switch_ns = 0;
	return (double)(charged + (waited > b.least_ns ? waited : b.least_ns));
}

/* A pop takes as long as a push. */
static double range_ns(void)
{
	uint64_t nr = atomic_load(&b.nr_ranges);

	return nr ? 2.0 * (double)ticks_to_ns(atomic_load(&b.range_ticks)) / (double)nr : 0;
}

static struct pace_sight look_at_program(uint64_t now)
{
	struct inject *g = &sonde_inject;
	uint32_t i, nr = atomic_load(&g->nr_used);
	uint64_t with = mean_ticks(1), without = mean_ticks(0);
	struct pace_sight s = {.ns = now,
		.cpu_ns = sonde_clock_ns(CLOCK_PROCESS_CPUTIME_ID),
		.record_ns = without && with > without ? (double)ticks_to_ns(with - without) : 0,
		.range_ns = range_ns(),
		.counts_all = counts_all()};

	for (i = 0; i < nr && i < MAX_THREADS; i++) {
		s.nr_launches += atomic_load_explicit(&g->threads[i].nr_launched, memory_order_relaxed);
		s.nr_ranges += atomic_load_explicit(&g->threads[i].nr_entered, memory_order_relaxed);
	}
	return s;
}

static void begin_pace(const struct pace_sight *s)
{
	const struct config *c = &sonde_inject.config;

	b.pace = (struct pace){.budget = c->budget_ppm < 1000000 ? AIMED * c->budget_ppm / 1e6 : 1,
		.least_record_ns = c->levers.record_ns,
		.call_ns = c->levers.call_ns};
	b.least_ns = UINT64_MAX / 4;
	b.begin_ns = s->ns;
	b.until_ns = s->ns + sonde_pace__begin(&b.pace, s,
				     s->ns ^ (uint64_t)sonde_inject.pid << 32 ^ 0x9e3779b97f4a7c15u);
}

static void keep_account(const struct pace_sight *s)
{
	const struct pace *p = &b.pace;
	double all = (double)(s->ns - b.begin_ns), slow, base;

	if (s->counts_all)
		b.nr_counted = s->nr_launches;
	base = (double)b.nr_counted * p->call_ns + (double)s->nr_ranges * s->range_ns;
	slow = p->rate * (p->record_ns + p->call_ns * p->factor);
	atomic_store(&b.record_ns, (uint32_t)p->record_ns);
	atomic_store(&b.slow_ppm, (uint32_t)((slow < 1 ? slow : 1) * 1e6));
	if (all > 0) {
		atomic_store(&b.base_ppm, (uint32_t)(base / all * 1e6));
		atomic_store(&b.cost_ppm, (uint32_t)((p->spent_ns + base) / all * 1e6));
	}
}

/* Nothing waits for a switch that changes nothing. */
static void switch_timing(bool is_timed)
{
	uint64_t before = sonde_now_ns();
	struct pace_sight s;

	if (is_timed == (bool)atomic_load(&sonde_inject.windows.phase))
		return;
	atomic_store(&b.waited, 0);
	atomic_fetch_add(&b.turn, 1);
	sonde_window__time(is_timed);
	atomic_fetch_add(&b.turn, 1);
	s = look_at_program(sonde_now_ns());
	b.switch_ns = s.ns - before;
	sonde_pace__settle(&b.pace, &s);
}

uint64_t sonde_budget__look(void)
{
	uint64_t now = sonde_now_ns(), length;
	struct pace_sight s;

	if (!sonde_inject.config.budget_ppm)
		return UINT64_MAX;
	s = look_at_program(now);
	if (!b.until_ns)
		begin_pace(&s);
	if (s.counts_all && !sonde_pace__may_count(&b.pace, &s))
		sonde_window__stop_counting();
	if (now >= b.until_ns) {
		s.switch_ns = take_switch();
		length = sonde_pace__turn(&b.pace, &s);
		switch_timing(b.pace.is_timed);
		now = sonde_now_ns();
		b.until_ns = now + length;
	}
	keep_account(&s);
	return (b.until_ns - now) / 1000;
}

void sonde_budget__put(void)
{
	static struct sonde_budget_status last;
	struct sonde_budget_status s = {.budget_ppm = sonde_inject.config.budget_ppm,
		.cost_ppm = atomic_load(&b.cost_ppm),
		.base_ppm = atomic_load(&b.base_ppm),
		.record_ns = atomic_load(&b.record_ns),
		.call_ns = sonde_inject.config.levers.call_ns,
		.slow_ppm = atomic_load(&b.slow_ppm),
		.has_own_ids = sonde_inject.has_own_ids,
		.nr_calibrated = (uint32_t)(atomic_load(&b.nr[1]))};

	if (!s.budget_ppm || !memcmp(&s, &last, sizeof(s)))
		return;
	last = s;
	sonde_outfile__put_block(SONDE_BLOCK_BUDGET, &s, sizeof(s), NULL, 0);
}
