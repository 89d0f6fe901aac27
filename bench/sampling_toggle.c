/*
 * Switches the sampling of hardware counters on and off while another program runs (bench/sampling.py):
 *
 *     sampling_toggle [-d DEVICE] [-s SECONDS] [-i INTERVAL_US] [-t SLOT_MS] [-c] [COUNTERS]     default 0 10 150 20 basic
 *
 * On: the GPU counts, and samples are decoded and evaluated every five milliseconds, as in the sampler. Off: the GPU's
 * sampling is stopped, nothing is left to decode, and this process sleeps. One slot is on, the next three are off, and so on. With -c
 * the device is given back while sampling is off, which takes a third of a second each time.
 *
 * Prints a line `1 BEGIN END SAMPLES` or `0 BEGIN END 0` for each slot, in nanoseconds of CLOCK_REALTIME. The time between two
 * slots (starting, stopping, decoding the rest) belongs to neither. `lost` instead of 1: CUPTI lost its place. The last line is
 * `cpu SHARE 0 0`: the share of a core that this process uses in slots that are on.
 */
#include "sample/pm_int.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define MS	 1000000u
#define PAUSE_NS (5u * MS) /* time between decodes, as in sampling_loop.c */
#define EXPECTED 2000	   /* most samples that a decode finds */
#define NR_OFF	 3
#define PRIORITY (-10) /* as in sampler.c */

struct toggle {
	struct sonde_sampling *s;
	uint64_t slot_ns;
	bool is_closing, is_lost; /* is_lost: the device must be closed before it can start again */
	double on_s, cpu_s;
	struct sonde_err err;
};

static void sleep_ns(uint64_t ns)
{
	struct timespec t = {
		.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};

	nanosleep(&t, NULL);
}

static _Noreturn void die(const char *msg)
{
	fprintf(stderr, "sampling_toggle: %s\n", msg);
	exit(1);
}

/* Decodes and evaluates the samples there are; returns how many. */
static size_t drain(struct toggle *t, struct pm_drained *d)
{
	size_t i;

	if (pm_device_drain(t->s, EXPECTED, d, &t->err))
		die(t->err.msg);
	t->is_lost |= d->has_overflown || d->is_full;
	for (i = d->first; i < d->first + d->nr; i++) {
		if (pm_device_sample(t->s, i, &t->err))
			die(t->err.msg);
	}
	return d->nr;
}

static void sample_slot(struct toggle *t)
{
	struct pm_drained d = {0};
	uint64_t begin, end;
	double cpu;
	size_t nr = 0;

	if (pm_device_start(t->s, &t->err))
		die(t->err.msg);
	begin = sonde_clock_ns(CLOCK_REALTIME);
	cpu = (double)sonde_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	do {
		sleep_ns(PAUSE_NS);
		nr += drain(t, &d);
		end = sonde_clock_ns(CLOCK_REALTIME);
	} while (end < begin + t->slot_ns && !t->is_lost);
	t->cpu_s += 1e-9 * ((double)sonde_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu);
	t->on_s += 1e-9 * (double)(end - begin);
	if (pm_device_stop(t->s, &t->err))
		die(t->err.msg);
	do
		nr += t->is_lost ? 0 : drain(t, &d);
	while (d.nr && !d.is_end && !t->is_lost);
	if (t->is_closing || t->is_lost)
		pm_device_close(t->s);
	printf("%s %llu %llu %zu\n", t->is_lost ? "lost" : "1", (unsigned long long)begin,
		(unsigned long long)end, nr);
	t->is_lost = false;
}

static void rest_slot(const struct toggle *t)
{
	uint64_t begin = sonde_clock_ns(CLOCK_REALTIME);

	sleep_ns(t->slot_ns);
	printf("0 %llu %llu 0\n", (unsigned long long)begin,
		(unsigned long long)sonde_clock_ns(CLOCK_REALTIME));
}

int main(int argc, char **argv)
{
	struct sonde_sampling_request q = {.interval_ns = 150000};
	const char *counters = "basic";
	struct toggle t = {.slot_ns = 20 * MS};
	double seconds = 10;
	uint64_t until;
	int option, i;

	while ((option = getopt(argc, argv, "d:s:i:t:c")) != -1) {
		if (option == 'd')
			q.device = (unsigned)strtoul(optarg, NULL, 10);
		else if (option == 's')
			seconds = strtod(optarg, NULL);
		else if (option == 'i')
			q.interval_ns = strtoull(optarg, NULL, 10) * 1000;
		else if (option == 't')
			t.slot_ns = strtoull(optarg, NULL, 10) * MS;
		else if (option == 'c')
			t.is_closing = true;
		else
			die("see the head of bench/sampling_toggle.c");
	}
	if (optind < argc)
		counters = argv[optind];
	q.counters = &counters;
	q.nr_counters = 1;
	setpriority(PRIO_PROCESS, 0, PRIORITY); /* if it is permitted */
	if (sonde_sampling_open(&t.s, &q, &t.err))
		die(t.err.msg);
	until = sonde_now_ns() + (uint64_t)(seconds * 1e9);
	while (sonde_now_ns() < until) {
		sample_slot(&t);
		for (i = 0; i < NR_OFF; i++)
			rest_slot(&t);
	}
	printf("cpu %.3f 0 0\n", t.cpu_s / t.on_s);
	sonde_sampling_close(t.s);
	return 0;
}
