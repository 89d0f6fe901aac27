/* Which kinds of records are enabled, and what recording costs the program. */
#include "fake_cupti.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * The cost to the program: a launch that is recorded takes $FAKE_CUPTI_RECORD_NS longer. While kernel records
 * are enabled or disabled, launches wait for $FAKE_CUPTI_SWITCH_US. The first launch that is recorded then takes
 * $FAKE_CUPTI_FIRST_US longer, behind its call, where no callback sees it. The total cost and the length of the run
 * are written to the file $FAKE_CUPTI_COST at each switch and at the end. The cost is given twice: computed from the
 * number of events, and measured by a clock, which shows more if the machine is busy. `paid` is the cost and the time from
 * the opening of the window after the first twelve, when a budget has learned what windows cost, to the opening of the last
 * one, when the pause before it has paid for all others.
 */
#define LEARNING 12

static struct {
	uint64_t record_ns, switch_ns, first_ns, late_ns;
	uint64_t nr_recorded, nr_switches, nr_firsts, begin_ns, spent_ns;
	struct {
		uint64_t nr, lost_ns, at_ns;
	} learned, opened; /* when a window opened: the one after those of learning, and the last one */
	int is_first;
} cost;
static unsigned kinds[4096];
static pthread_mutex_t switching = PTHREAD_MUTEX_INITIALIZER;

static uint64_t environment(const char *name)
{
	return getenv(name) ? strtoull(getenv(name), NULL, 10) : 0;
}

__attribute__((constructor)) static void look_around(void)
{
	cost.record_ns = environment("FAKE_CUPTI_RECORD_NS");
	cost.switch_ns = environment("FAKE_CUPTI_SWITCH_US") * 1000;
	cost.first_ns = environment("FAKE_CUPTI_FIRST_US") * 1000;
	cost.late_ns = environment("FAKE_CUPTI_LATE_MS") * 1000000;
	cost.begin_ns = now_ns();
}

uint64_t late_ns(void)
{
	return cost.late_ns;
}

int is_recorded(CUpti_ActivityKind kind)
{
	return __atomic_load_n(&kinds[kind], __ATOMIC_RELAXED) != 0;
}

void forget_kinds(void)
{
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		__atomic_store_n(&kinds[i], 0, __ATOMIC_RELAXED);
}

static void spin(uint64_t ns)
{
	uint64_t begin = now_ns(), now = begin;

	while (now < begin + ns)
		now = now_ns();
	__atomic_add_fetch(&cost.spent_ns, now - begin, __ATOMIC_RELAXED);
}

static uint64_t lost_ns(void)
{
	return cost.nr_recorded * cost.record_ns + cost.nr_switches * cost.switch_ns +
	       cost.nr_firsts * cost.first_ns;
}

static void note_opening(void)
{
	cost.opened.nr++;
	cost.opened.lost_ns = lost_ns();
	cost.opened.at_ns = now_ns();
	if (cost.opened.nr <= LEARNING + 1)
		cost.learned = cost.opened;
}

__attribute__((destructor)) static void tell_cost(void)
{
	FILE *f = getenv("FAKE_CUPTI_COST") ? fopen(getenv("FAKE_CUPTI_COST"), "w") : NULL;

	if (!f)
		return;
	fprintf(f, "lost %llu of %llu spent %llu paid %llu of %llu windows %llu\n",
		(unsigned long long)lost_ns(), (unsigned long long)(now_ns() - cost.begin_ns),
		(unsigned long long)cost.spent_ns,
		(unsigned long long)(cost.opened.lost_ns - cost.learned.lost_ns),
		(unsigned long long)(cost.opened.at_ns - cost.learned.at_ns),
		(unsigned long long)(cost.opened.nr - cost.learned.nr));
	fclose(f);
}

static CUptiResult set_kind(CUpti_ActivityKind kind, unsigned is_on)
{
	must_be_there();
	if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
		pthread_mutex_lock(&switching);
		if (is_on)
			note_opening();
		spin(cost.switch_ns);
		__atomic_add_fetch(&cost.nr_switches, 1, __ATOMIC_RELAXED);
		__atomic_store_n(&cost.is_first, (int)is_on, __ATOMIC_RELAXED);
		tell_cost();
		pthread_mutex_unlock(&switching);
	}
	__atomic_store_n(&kinds[kind], is_on, __ATOMIC_RELAXED);
	if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && !is_on)
		end_graph(now_ns() + 10000000000);
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
	return set_kind(kind, 1);
}

EXPORT CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
	return set_kind(kind, 0);
}

int pay_in_call(void)
{
	int is_on;

	if (cost.switch_ns) {
		pthread_mutex_lock(&switching);
		pthread_mutex_unlock(&switching);
	}
	is_on = is_recorded(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	if (is_on && cost.record_ns) {
		__atomic_add_fetch(&cost.nr_recorded, 1, __ATOMIC_RELAXED);
		spin(cost.record_ns);
	}
	return is_on;
}

void pay_behind_call(void)
{
	if (cost.first_ns && __atomic_exchange_n(&cost.is_first, 0, __ATOMIC_RELAXED)) {
		__atomic_add_fetch(&cost.nr_firsts, 1, __ATOMIC_RELAXED);
		spin(cost.first_ns);
	}
}
