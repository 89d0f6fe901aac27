/*
 * The budget: windows open at random times, and take a given share of the program's time at most. pace.c decides when;
 * this file makes the measurements that pace.c needs, and switches. windows.c decides what belongs to a window.
 *
 * We measure the call of every eighth launch, inside windows and, while CUPTI is still there, around them: the difference
 * is what recording costs. A thread that launches while CUPTI is being switched waits for CUPTI's locks: of calls that met
 * a switch, we measure the time beyond the usual. The program's loss by a switch is that time in the thread that waited
 * longest, but never more than the switch took. We also measure every 64th push, inside windows and outside.
 *
 * A window opens when the budget allows it and capture.window, or the runner, wants it. While nobody wants a window, the
 * budget waits: its window begins when the wanted one begins, and ends with it at the latest.
 */
#include "inject/inject_int.h"
#include "inject/pace.h"

#define FEW	      100u /* a mean of fewer launches is not used */
#define LONG_TICKS_US 20u  /* longer calls are not measured: they probably waited for the GPU */
#define AIMED	      0.65 /* share of the budget that is spent: cold caches after ranges and switches take the rest, unmeasured */
#define BUSY_US	      1000u /* when to look again after another thread had the baton */

enum { OUTSIDE, INSIDE };

static struct {
	_Atomic uint64_t ticks[2], nr[2]; /* measured launches, [OUTSIDE] without and [INSIDE] with records: total ticks, number */
	_Atomic uint64_t range_ticks[2], nr_ranges[2]; /* measured pushes, outside windows and inside: total ticks, number */
	_Atomic uint32_t turn;	   /* goes up before and after each switch of CUPTI; odd = CUPTI is being switched */
	_Atomic uint64_t waited;   /* ticks that launches waited for the last switch, in the thread that waited longest */
	_Atomic uint64_t charged_ns, borne_ns; /* other costs of CUPTI, reported by sonde_budget__charge and __bear */
	_Atomic uint32_t baton; /* 1 = somebody follows the pace: first the flusher, later the collector */
	/* Only the baton's holder uses the rest. */
	struct pace pace;
	uint64_t begin_ns, until_ns; /* when the budget began; when the present window or pause ends, 0 = not begun */
	uint64_t length_ns;	     /* length of the present window or pause */
	uint32_t epoch;		     /* epoch of windows when the present turn began, made even */
	uint64_t switch_ns;	     /* how long the last switch took; 0 = it changed nothing, or is accounted for */
	uint64_t least_ns;	     /* the shortest recent switch */
	_Atomic uint32_t cost_ppm, base_ppm, record_ns;
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

static bool is_long(uint64_t ticks)
{
	return ticks > LONG_TICKS_US * (sonde_inject.tick_hz / 1000000);
}

static uint32_t epoch(void)
{
	return atomic_load_explicit(&sonde_inject.windows.epoch, memory_order_relaxed);
}

/* --- in the threads of the host ------------------------------------------------------------------ */

void sonde_budget__enter_call(struct thread *t, uint32_t correlation)
{
	if (atomic_load_explicit(&sonde_inject.windows.gpu_on, memory_order_relaxed))
		count_own(&t->nr_launched);
	t->call.ticks = ticks_now();
	t->call.correlation = correlation;
	t->call.turn = atomic_load_explicit(&b.turn, memory_order_relaxed);
}

/* Adds up how long this thread's calls waited for one switch. */
static void add_wait(struct thread *t, uint64_t ticks, bool is_recorded)
{
	uint64_t usual = mean_ticks(is_recorded), longest = atomic_load(&b.waited);

	if (t->call.waited_turn != t->call.turn / 2 + 1)
		t->call.waited = 0;
	t->call.waited_turn = t->call.turn / 2 + 1;
	t->call.waited += ticks > usual ? ticks - usual : 0;
	while (t->call.waited > longest &&
		!atomic_compare_exchange_weak(&b.waited, &longest, t->call.waited))
		;
}

void sonde_budget__leave_call(struct thread *t, uint32_t correlation)
{
	uint64_t ticks = ticks_now() - t->call.ticks;
	uint32_t turn = atomic_load_explicit(&b.turn, memory_order_relaxed);
	uint32_t records = atomic_load(&sonde_inject.records_turn);
	bool is_recorded = records % 4 == RECORDS_ON;

	if (t->call.correlation != correlation) /* we did not see this call begin */
		return;
	if (turn != t->call.turn || turn & 1) {
		add_wait(t, ticks, is_recorded);
	} else if (correlation % 8 == 0 && t->call.records_turn == records + 1 && records % 2 == 0 &&
		   !is_long(ticks)) {
		atomic_fetch_add_explicit(&b.ticks[is_recorded], ticks, memory_order_relaxed);
		atomic_fetch_add_explicit(&b.nr[is_recorded], 1, memory_order_relaxed);
	}
}

void sonde_budget__pushed(uint64_t since)
{
	uint64_t ticks = ticks_now() - since;
	unsigned where = epoch() & 1 ? INSIDE : OUTSIDE;

	if (!sonde_inject.config.budget_ppm || is_long(ticks))
		return;
	atomic_fetch_add_explicit(&b.range_ticks[where], ticks, memory_order_relaxed);
	atomic_fetch_add_explicit(&b.nr_ranges[where], 1, memory_order_relaxed);
}

void sonde_budget__charge(uint64_t ns)
{
	atomic_fetch_add(&b.charged_ns, ns);
}

void sonde_budget__bear(uint64_t ns)
{
	atomic_fetch_add(&b.borne_ns, ns);
}

/* --- in the collector, or the flusher ------------------------------------------------------------ */

/*
 * The time that the program lost to the last switch: how long its launches waited. Where we saw no launch, we assume that
 * the program stood still for as long as the shortest recent switch: a longer switch may only mean that others made the
 * collector wait, which costs the program nothing.
 */
static double cost_of_switch(void)
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

/* The cost of a range: a pop is assumed to take as long as a push. */
static double range_ns(unsigned where)
{
	uint64_t nr = atomic_load(&b.nr_ranges[where]);

	return nr ? 2.0 * (double)ticks_to_ns(atomic_load(&b.range_ticks[where])) / (double)nr : 0;
}

/* The flusher cannot see the program's processor time, as it is another process: cpu_ns is 0 then. */
static struct pace_sight look_at_program(uint64_t now, bool may_call)
{
	struct inject *g = &sonde_inject;
	uint32_t i, nr = atomic_load(&g->nr_used);
	uint64_t with = mean_ticks(INSIDE), without = mean_ticks(OUTSIDE);
	struct pace_sight s = {.ns = now,
		.cpu_ns = may_call ? sonde_clock_ns(CLOCK_PROCESS_CPUTIME_ID) : 0,
		.record_ns = without && with > without ? (double)ticks_to_ns(with - without) : 0,
		.range_ns = range_ns(INSIDE),
		.passed_ns = range_ns(OUTSIDE)};

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
	b.epoch = epoch() & ~1u;
	b.length_ns = sonde_pace__begin(
		&b.pace, s, s->ns ^ (uint64_t)sonde_inject.pid << 32 ^ 0x9e3779b97f4a7c15u);
	b.until_ns = s->ns + b.length_ns;
}

static void keep_account(const struct pace_sight *s)
{
	const struct pace *p = &b.pace;
	double all = (double)(s->ns - b.begin_ns);

	atomic_store(&b.record_ns, (uint32_t)p->record_ns);
	if (all > 0) {
		atomic_store(&b.base_ppm, (uint32_t)(p->base_ns / all * 1e6));
		atomic_store(&b.cost_ppm, (uint32_t)((p->spent_ns + p->base_ns) / all * 1e6));
	}
}

/* A call that changes nothing is not counted as a switch. */
static void switch_window(bool is_open, bool may_call)
{
	uint64_t before = sonde_now_ns();
	uint32_t was = epoch();
	struct pace_sight s;

	atomic_store(&b.waited, 0);
	atomic_fetch_add(&b.turn, 1);
	sonde_window__allow(is_open, may_call);
	atomic_fetch_add(&b.turn, 1);
	if (epoch() == was)
		return;
	s = look_at_program(sonde_now_ns(), may_call);
	b.switch_ns = may_call ? s.ns - before : 0;
	sonde_pace__switched(&b.pace, &s);
}

static void turn_pace(struct pace_sight *s, bool may_call)
{
	s->switch_ns = cost_of_switch();
	s->borne_ns = (double)atomic_exchange(&b.borne_ns, 0);
	b.length_ns = sonde_pace__turn(&b.pace, s);
	b.epoch = epoch() & ~1u;
	if (b.pace.is_open != (bool)atomic_load(&sonde_inject.windows.is_allowed))
		switch_window(b.pace.is_open, may_call);
	b.until_ns = sonde_now_ns() + b.length_ns;
}

static uint64_t follow_pace(bool may_call)
{
	uint64_t now = sonde_now_ns();
	struct pace_sight s = look_at_program(now, may_call);
	bool is_shut;

	if (!b.until_ns)
		begin_pace(&s);
	if (!b.pace.last.cpu_ns) /* the collector looks for the first time: the flusher could not know the processor time */
		b.pace.last.cpu_ns = s.cpu_ns;
	is_shut = b.pace.is_open && !(epoch() & 1);
	if (is_shut && epoch() == b.epoch) { /* the budget allows a window, but nobody has wanted one yet */
		sonde_pace__wait(&b.pace, &s);
		b.until_ns = now + b.length_ns;
	} else if (is_shut || now >= b.until_ns) {
		turn_pace(&s, may_call);
	}
	keep_account(&s);
	now = sonde_now_ns();
	return now < b.until_ns ? (b.until_ns - now) / 1000 : 0;
}

uint64_t sonde_budget__update(bool may_call)
{
	uint64_t next_us;

	if (!sonde_inject.config.budget_ppm || (!may_call && atomic_load(&sonde_inject.traces_gpu)))
		return UINT64_MAX;
	if (atomic_exchange(&b.baton, 1))
		return BUSY_US;
	next_us = follow_pace(may_call);
	atomic_store(&b.baton, 0);
	return next_us;
}

void sonde_budget__reset(void)
{
	memset(&b, 0, sizeof(b));
}

void sonde_budget__put(struct sonde_budget_status *last)
{
	struct sonde_budget_status s = {.budget_ppm = sonde_inject.config.budget_ppm,
		.cost_ppm = atomic_load(&b.cost_ppm),
		.base_ppm = atomic_load(&b.base_ppm),
		.record_ns = atomic_load(&b.record_ns),
		.call_ns = sonde_inject.config.levers.call_ns,
		.nr_calibrated = (uint32_t)(atomic_load(&b.nr[INSIDE]))};

	if (!s.budget_ppm || !memcmp(&s, last, sizeof(s)))
		return;
	*last = s;
	sonde_outfile__put_block(SONDE_BLOCK_BUDGET, &s, sizeof(s), NULL, 0);
}
