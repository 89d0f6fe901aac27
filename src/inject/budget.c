/*
 * The budget: GPU work is timed at random times, as much as the program's time
 * allows.
 *
 * What timing costs is launches × cost of one. The rate of launches is counted; the
 * cost is measured in the run: of every eighth launch how long its call took, in times with
 * and without records. What the program loses elsewhere (CUPTI's own threads) is not seen
 * that way, so the cost is never taken to be less than RECORD_NS.
 *
 * Times begin at random: a program that does the same thing every so many
 * milliseconds would otherwise show the same part of it again and again.
 */
#include "inject/event_int.h"
#include "inject/outfile_int.h"

#define WINDOW_US     10000u /* of timing, on average */
#define FIRST_US      2000u  /* the first one: nothing is known yet */
#define MOST_US	      2000000u
#define RECORD_NS     250u /* what a record costs at least, and what is assumed at first … */
#define GUESS_NS      500u
#define CALL_NS	      120u   /* a callback of CUPTI's around ours */
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
	uint64_t timed_ns, all_ns; /* so far */
	uint64_t switch_ns;	   /* what switching takes, both ways */
	_Atomic uint32_t cost_ppm, base_ppm, record_ns;
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
	double with = mean_ns(1), without = mean_ns(0);

	if (with == 0 || without == 0)
		return GUESS_NS;
	return with - without > RECORD_NS ? with - without : RECORD_NS;
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

/* The share of time that may be timed. */
static double share(void)
{
	double budget = sonde_inject.config.budget_ppm / 1e6, base = b.rate * CALL_NS;
	double cost = b.rate * record_ns(), most;

	atomic_store(&b.record_ns, (uint32_t)record_ns());
	atomic_store(&b.base_ppm, (uint32_t)(base * 1e6));
	/* Switching counts as if the program stood still meanwhile. */
	cost += (double)b.switch_ns / (WINDOW_US * 1000.0);
	if (budget - base < budget / 10)
		base = budget * 0.9; /* it cannot be helped; a note says so */
	most = cost > 0 ? (budget - base) / cost : 1;
	return most > 1 ? 1 : most < 0.001 ? 0.001 : most;
}

static void keep_account(uint64_t now, uint64_t since, bool was_timed)
{
	double timed;

	b.timed_ns += was_timed ? now - since : 0;
	b.all_ns += now - since;
	timed = b.all_ns ? (double)b.timed_ns / (double)b.all_ns : 0;
	atomic_store(&b.cost_ppm,
		(uint32_t)(atomic_load(&b.base_ppm) + timed * b.rate * record_ns() * 1e6));
}

uint64_t sonde_budget__look(void)
{
	static uint64_t since;
	bool was_timed = atomic_load(&sonde_inject.windows.phase);
	uint64_t now = clock_ns(CLOCK_MONOTONIC), length, after;
	double part;

	if (!sonde_inject.config.budget_ppm)
		return UINT64_MAX;
	if (!b.until_ns) {
		b.seed = now ^ (uint64_t)sonde_inject.pid << 32 ^ 0x9e3779b97f4a7c15u;
		b.until_ns = now + FIRST_US * 1000;
		b.rated_ns = since = now;
		b.nr_launched = count_launches();
	}
	if (now < b.until_ns)
		return (b.until_ns - now) / 1000;
	take_rate(now, was_timed);
	keep_account(now, since, was_timed);
	since = now;
	part = share();
	length = WINDOW_US / 2 + draw(WINDOW_US);
	if (was_timed && part < 1) {
		double pause = (double)length * (1 - part) / part;

		length = pause < MOST_US ? (uint64_t)pause : MOST_US;
		length = length / 2 + draw(length + 1);
	}
	sonde_window__time(!was_timed || part >= 1);
	after = clock_ns(CLOCK_MONOTONIC);
	b.switch_ns = b.switch_ns ? (3 * b.switch_ns + 2 * (after - now)) / 4 : 2 * (after - now);
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
		.call_ns = CALL_NS,
		.nr_calibrated = (uint32_t)(atomic_load(&b.nr[1]))};

	if (!s.budget_ppm || !memcmp(&s, &last, sizeof(s)))
		return;
	last = s;
	sonde_outfile__block(SONDE_BLOCK_BUDGET, &s, sizeof(s), NULL, 0);
}
