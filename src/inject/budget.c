/*
 * The budget: GPU work is timed at random times, as much as the program's time
 * allows.
 *
 * What timing costs is launches × cost of one. The rate of launches is counted; the
 * cost is measured in the run: of every eighth launch how long its call took, in times with
 * and without records. What the program loses elsewhere (caches, CUPTI's own threads) is not seen
 * that way, so the cost is never taken to be less than what it was where somebody looked (setup.c).
 *
 * CUPTI's callbacks, which count launches, cost something too. As long as that is less than
 * half of the budget they stay, and launches are counted all the time. A program that
 * launches more often than that has them only while GPU work is timed; the reader then
 * estimates how many launches there were (fold/windowed_stays.c). The budget holds either way.
 *
 * Times begin at random: a program that does the same thing every so many
 * milliseconds would otherwise show the same part of it again and again.
 */
#include "inject/event_int.h"
#include "inject/outfile_int.h"

#define WINDOW_US     10000u /* of timing, on average */
#define FIRST_US      2000u  /* the first one: nothing is known yet */
#define MOST_US	      60000000u
#define JUDGED_NS     100e6  /* how long counting may cost what it costs */
#define GUESSED_SWITCH_NS 100000u
#define FEW	      100u   /* launches that say nothing yet */
#define LONG_TICKS_US 20u    /* a call that waited for the GPU says nothing either */

static struct {
	_Atomic uint64_t ticks[2]; /* of measured calls: without, with records … */
	_Atomic uint64_t nr[2];	   /* … and how many */
	/* The collector's. */
	uint64_t seed;
	uint64_t until_ns;	   /* when the present time ends; 0 = not begun */
	uint64_t nr_launched;	   /* when the rate was last taken … */
	uint64_t rated_ns;	   /* … and when that was */
	double rate;		   /* launches a nanosecond */
	uint64_t nr_counted;	   /* launches when counting was last looked at … */
	uint64_t counted_ns;	   /* … and when that was */
	double busy_ns, nr_busy;   /* time with launches, and launches */
	uint64_t timed_ns, all_ns; /* so far … */
	uint64_t since_ns;	   /* … to there */
	uint64_t switch_ns;	   /* what switching takes, both ways */
	_Atomic uint32_t cost_ppm, base_ppm, record_ns, slow_ppm;
} b;

void sonde_budget__measure(uint64_t ticks, bool is_timed)
{
	if (ticks > LONG_TICKS_US * (sonde_inject.tick_hz / 1000000))
		return;
	atomic_fetch_add_explicit(&b.ticks[is_timed], ticks, memory_order_relaxed);
	atomic_fetch_add_explicit(&b.nr[is_timed], 1, memory_order_relaxed);
}

/* xorshift: the program's own random numbers are not touched. */
static uint64_t draw(uint64_t below)
{
	b.seed ^= b.seed << 13;
	b.seed ^= b.seed >> 7;
	b.seed ^= b.seed << 17;
	return b.seed % below;
}

static double mean_ns(unsigned which)
{
	uint64_t nr = atomic_load(&b.nr[which]);

	return nr < FEW ? 0
			: (double)atomic_load(&b.ticks[which]) / (double)nr * 1e9 /
				  (double)sonde_inject.tick_hz;
}

static double record_ns(void)
{
	double with = mean_ns(1), without = mean_ns(0), least = sonde_inject.config.levers.record_ns;

	return with > 0 && without > 0 && with - without > least ? with - without : least;
}

/* What it costs to be called at a launch. */
static double call_ns(void)
{
	return sonde_inject.config.levers.call_ns;
}

static uint64_t count_launches(void)
{
	struct inject *g = &sonde_inject;
	uint32_t i, nr = atomic_load(&g->nr_used);
	uint64_t sum = 0;

	for (i = 0; i < nr && i < MAX_THREADS; i++)
		sum += atomic_load_explicit(&g->threads[i].nr_launched, memory_order_relaxed);
	return sum;
}

/*
 * Of times in which GPU work was timed and there was some: a program that waits most of the time
 * must not pay for it when it does not. Up at once, down slowly: too much is worse than too little.
 */
static void take_rate(uint64_t now, bool was_timed)
{
	uint64_t nr = count_launches(), step = nr - b.nr_launched;
	double rate;

	if (was_timed && step && now - b.rated_ns >= 1000000) {
		rate = (double)step / (double)(now - b.rated_ns);
		b.rate = b.rate == 0 || rate > b.rate ? rate : 0.7 * b.rate + 0.3 * rate;
	}
	b.nr_launched = nr;
	b.rated_ns = now;
}

/* The least of late: a collector that was made to wait by others took nothing from the program. */
static void take_switch(uint64_t ns)
{
	b.switch_ns += b.switch_ns / 4 + 1000;
	if (ns < b.switch_ns)
		b.switch_ns = ns;
}

static bool counts_all(void)
{
	return atomic_load(&sonde_inject.windows.counts_all);
}

/*
 * Counting launches may take half of the budget, by the time in which there are some; once it takes
 * more it is given up: the budget holds, and the numbers of launches become estimates. A burst
 * at the beginning is nothing to judge by, and what is long past counts less and less.
 */
static void watch_counting(uint64_t now)
{
	uint64_t nr = count_launches(), step = nr - b.nr_counted;
	double most = sonde_inject.config.budget_ppm / 1e6 / 2;

	if (!counts_all() || now - b.counted_ns < 1000000)
		return;
	b.busy_ns += step ? (double)(now - b.counted_ns) : 0;
	b.nr_busy += (double)step;
	b.nr_counted = nr;
	b.counted_ns = now;
	if (b.busy_ns > JUDGED_NS && b.nr_busy * call_ns() > most * b.busy_ns)
		sonde_window__stop_counting();
	if (b.busy_ns > 10 * JUDGED_NS)
		b.busy_ns /= 2, b.nr_busy /= 2;
}

/* What a time of timing costs while it lasts, as a share. Switching counts as if the program stood
 * still meanwhile. */
static double timing_cost(void)
{
	return b.rate * (record_ns() + (counts_all() ? 0 : call_ns())) +
	       (double)b.switch_ns / (WINDOW_US * 1000.0);
}

/* The share of time that may be timed. */
static double share(void)
{
	double budget = sonde_inject.config.budget_ppm / 1e6, cost = timing_cost(), most;
	double base = counts_all() ? b.rate * call_ns() : 0;

	atomic_store(&b.record_ns, (uint32_t)record_ns());
	atomic_store(&b.base_ppm, (uint32_t)(base * 1e6));
	atomic_store(&b.slow_ppm, (uint32_t)(b.rate * (record_ns() + call_ns()) * 1e6));
	if (base > budget / 2) /* counting is about to be given up */
		base = 0, cost += b.rate * call_ns();
	most = cost > 0 ? (budget - base) / cost : 1;
	return most > 1 ? 1 : most < 0.0001 ? 0.0001 : most;
}

static void keep_account(uint64_t now, bool was_timed)
{
	double timed;

	b.timed_ns += was_timed ? now - b.since_ns : 0;
	b.all_ns += now - b.since_ns;
	b.since_ns = now;
	timed = b.all_ns ? (double)b.timed_ns / (double)b.all_ns : 0;
	atomic_store(&b.cost_ppm,
		(uint32_t)(atomic_load(&b.base_ppm) + timed * timing_cost() * 1e6));
}

uint64_t sonde_budget__look(void)
{
	bool was_timed = atomic_load(&sonde_inject.windows.phase);
	uint64_t now = clock_ns(CLOCK_MONOTONIC), length, after;
	double part;

	if (!sonde_inject.config.budget_ppm)
		return UINT64_MAX;
	if (!b.until_ns) {
		b.seed = now ^ (uint64_t)sonde_inject.pid << 32 ^ 0x9e3779b97f4a7c15u;
		b.until_ns = now + FIRST_US * 1000;
		b.rated_ns = b.since_ns = now;
		b.counted_ns = now;
		b.switch_ns = GUESSED_SWITCH_NS;
		b.nr_launched = b.nr_counted = count_launches();
	}
	watch_counting(now);
	keep_account(now, was_timed);
	if (now < b.until_ns)
		return (b.until_ns - now) / 1000;
	take_rate(now, was_timed);
	part = share();
	length = WINDOW_US / 2 + draw(WINDOW_US);
	if (was_timed && part < 1) {
		double pause = (double)length * (1 - part) / part;

		length = pause < MOST_US ? (uint64_t)pause : MOST_US;
		length = length / 2 + draw(length + 1);
	}
	sonde_window__time(!was_timed || part >= 1);
	after = clock_ns(CLOCK_MONOTONIC);
	take_switch(2 * (after - now));
	b.until_ns = after + length * 1000;
	return length;
}

void sonde_budget__put(void)
{
	static struct sonde_budget_status last;
	struct sonde_budget_status s = {.budget_ppm = sonde_inject.config.budget_ppm,
		.cost_ppm = atomic_load(&b.cost_ppm),
		.base_ppm = atomic_load(&b.base_ppm),
		.record_ns = atomic_load(&b.record_ns),
		.call_ns = (uint32_t)call_ns(),
		.slow_ppm = atomic_load(&b.slow_ppm),
		.has_own_ids = sonde_inject.has_own_ids,
		.nr_calibrated = (uint32_t)(atomic_load(&b.nr[1]))};

	if (!s.budget_ppm || !memcmp(&s, &last, sizeof(s)))
		return;
	last = s;
	sonde_outfile__block(SONDE_BLOCK_BUDGET, &s, sizeof(s), NULL, 0);
}
