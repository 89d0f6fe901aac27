/*
 * Says what sampled counters a capture holds, and whether they lie on the kernels' clock:
 *
 *     samples_dump [--data PREFIX] FILE-OR-FOLDER…
 *
 *     series gpu=N interval_us=N counters=N samples=N span_ms=N missing_ms=N
 *     counter ROLE NAME total=N
 *     align offset_us=N correlation=N        of SM activity with kernels, best of -20 … 20 µs
 *     note TEXT
 *
 * With --data the samples of the first series and all kernels go to PREFIX.samples and
 * PREFIX.kernels, as text: `M name…`, `S start end value…`; `K start end stream name`.
 */
#include "base/alloc.h"
#include "read/records.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OFFSET_US 20

struct spans {
	size_t nr;
	struct sonde_record_time *at; /* in order of start, merged */
};

static int by_start(const void *a, const void *b)
{
	const struct sonde_record_time *x = a, *y = b;

	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

/* When a kernel ran. */
static struct spans find_busy(const struct sonde_records *r)
{
	struct spans s = {.at = sonde_calloc(r->records.nr + 1, sizeof(*s.at))};
	size_t i, nr = 0;

	for (i = 0; i < r->records.nr; i++)
		if (r->records.at[i].kind == SONDE_RESULT_KERNEL && r->records.at[i].time.end_ns)
			s.at[s.nr++] = r->records.at[i].time;
	qsort(s.at, s.nr, sizeof(*s.at), by_start);
	for (i = 1; i < s.nr; i++) {
		if (s.at[i].start_ns > s.at[nr].end_ns)
			s.at[++nr] = s.at[i];
		else if (s.at[i].end_ns > s.at[nr].end_ns)
			s.at[nr].end_ns = s.at[i].end_ns;
	}
	s.nr = s.nr ? nr + 1 : 0;
	return s;
}

static double overlap(const struct spans *s, size_t *from, double start, double end)
{
	double sum = 0, a, b;
	size_t i;

	while (*from < s->nr && (double)s->at[*from].end_ns <= start)
		(*from)++;
	for (i = *from; i < s->nr && (double)s->at[i].start_ns < end; i++) {
		a = fmax(start, (double)s->at[i].start_ns);
		b = fmin(end, (double)s->at[i].end_ns);
		sum += b > a ? b - a : 0;
	}
	return sum / (end - start);
}

/* Correlation of busy time with active cycles, samples moved by `offset_ns`. */
static double correlate(
	const struct sonde_series *s, uint32_t active, const struct spans *busy, double offset_ns)
{
	double n = 0, sx = 0, sy = 0, sxx = 0, syy = 0, sxy = 0;
	size_t i, from = 0;

	for (i = 0; i < s->times.nr; i++) {
		double a = (double)s->times.at[i].start_ns, b = (double)s->times.at[i].end_ns, x, y;

		if (!busy->nr || b < (double)busy->at[0].start_ns ||
			a > (double)busy->at[busy->nr - 1].end_ns)
			continue;
		x = overlap(busy, &from, a + offset_ns, b + offset_ns);
		y = s->values.at[i * s->counters.nr + active] / (b - a);
		n++, sx += x, sy += y, sxx += x * x, syy += y * y, sxy += x * y;
	}
	return (n * sxy - sx * sy) / sqrt((n * sxx - sx * sx) * (n * syy - sy * sy));
}

static void print_alignment(const struct sonde_records *r, const struct sonde_series *s)
{
	uint32_t active = sonde_series_counter(s, r, "sm.active_cycles");
	struct spans busy = find_busy(r);
	double best = -2, c;
	int us, at = 0;

	for (us = -MAX_OFFSET_US; us <= MAX_OFFSET_US && active != SONDE_NONE && busy.nr; us++) {
		c = correlate(s, active, &busy, us * 1e3);
		if (c > best) {
			best = c;
			at = us;
		}
	}
	if (best > -2)
		printf("align offset_us=%d correlation=%.4f at_0=%.4f\n", at, best,
			correlate(s, active, &busy, 0));
	sonde_free(busy.at);
}

static void print_series(const struct sonde_records *r, const struct sonde_series *s)
{
	double missing = 0, total;
	size_t i, k;

	for (i = 1; i < s->times.nr; i++) {
		double gap = (double)(s->times.at[i].start_ns - s->times.at[i - 1].end_ns);

		missing += gap;
		if (gap > (double)s->interval_ns / 2)
			printf("gap us=%.3f after sample %zu at ms=%.3f\n", gap / 1e3, i,
				(double)(s->times.at[i].start_ns - s->times.at[0].start_ns) / 1e6);
	}
	printf("series gpu=%u uuid=%.*s interval_us=%.4g counters=%zu samples=%zu span_ms=%.3f "
	       "missing_ms=%.3f\n",
		s->device, SONDE_STR_ARG(s->uuid), (double)s->interval_ns / 1e3, s->counters.nr,
		s->times.nr,
		s->times.nr
			? (double)(s->times.at[s->times.nr - 1].end_ns - s->times.at[0].start_ns) /
				  1e6
			: 0,
		missing / 1e6);
	for (k = 0; k < s->counters.nr; k++) {
		struct sonde_str role = sonde_records_str(r, s->counters.at[k].role),
				 name = sonde_records_str(r, s->counters.at[k].name);

		for (i = 0, total = 0; i < s->times.nr; i++)
			total += s->values.at[i * s->counters.nr + k];
		printf("counter %.*s %.*s total=%.10g\n", SONDE_STR_ARG(role), SONDE_STR_ARG(name),
			total);
	}
	if (s->is_calibrated)
		printf("calibrated offset_ns=%lld\n", (long long)s->offset_ns);
	print_alignment(r, s);
}

static FILE *create(const char *prefix, const char *ending)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s%s", prefix, ending);
	return fopen(path, "w");
}

static void write_data(const struct sonde_records *r, const char *prefix)
{
	const struct sonde_series *s = &r->series.at[0];
	FILE *samples = create(prefix, ".samples"), *kernels = create(prefix, ".kernels");
	size_t i, k;

	if (!samples || !kernels || !r->series.nr)
		exit(1);
	fputs("M", samples);
	for (k = 0; k < s->counters.nr; k++)
		fprintf(samples, " %.*s",
			SONDE_STR_ARG(sonde_records_str(r, s->counters.at[k].name)));
	for (i = 0; i < s->times.nr; i++) {
		fprintf(samples, "\nS %llu %llu", (unsigned long long)s->times.at[i].start_ns,
			(unsigned long long)s->times.at[i].end_ns);
		for (k = 0; k < s->counters.nr; k++)
			fprintf(samples, " %.15g", s->values.at[i * s->counters.nr + k]);
	}
	fputs("\n", samples);
	for (i = 0; i < r->records.nr; i++)
		fprintf(kernels, "K %llu %llu %llu %.*s\n",
			(unsigned long long)r->records.at[i].time.start_ns,
			(unsigned long long)r->records.at[i].time.end_ns,
			(unsigned long long)r->records.at[i].stream,
			SONDE_STR_ARG(sonde_records_str(r, r->records.at[i].name)));
	fclose(samples);
	fclose(kernels);
}

int main(int argc, char **argv)
{
	const char *prefix = argc > 2 && strcmp(argv[1], "--data") == 0 ? argv[2] : NULL;
	struct sonde_records *r = NULL;
	struct sonde_err err = {0};
	int first = prefix ? 3 : 1;
	size_t i;

	if (sonde_records_open(
		    &r, (const char *const *)argv + first, (size_t)(argc - first), NULL, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	for (i = 0; i < r->series.nr; i++)
		print_series(r, &r->series.at[i]);
	for (i = 0; i < r->notes.texts.nr; i++)
		printf("note %.*s\n", SONDE_STR_ARG(r->notes.texts.keys[i]));
	if (prefix)
		write_data(r, prefix);
	sonde_records_free(r);
	return 0;
}
