/*
 * Prints the sampled counters of a capture, and whether they are aligned with the kernels' clock:
 *
 *     samples_dump [--data PREFIX] FILE-OR-FOLDER…
 *
 *     series gpu=N interval_us=N counters=N samples=N span_ms=N missing_ms=N
 *     counter ROLE NAME total=N
 *     align offset_us=N misfit=N worst=N     the offset, of -20 … 20 µs, with which instructions fit the kernels best;
 *                                            the misfit there, and the largest misfit
 *     note TEXT
 *
 * With --data, it writes the samples of the first series and all kernels to PREFIX.samples and
 * PREFIX.kernels, as text: `M name…`, `S start end value…`; `K start end stream name`.
 */
#include "base/alloc.h"
#include "read/records.h"
#include "unmix/unmix.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OFFSET_US 20
#define MOST_SAMPLES  20000 /* enough: a wrong clock is wrong from the beginning */

/* Kernels as launches. Kernels of one name that take about the same time are one class. */
struct kernels {
	struct sonde_unmix_class *classes;
	struct sonde_unmix_launch *launches;
	size_t nr_classes, nr;
};

#define LENGTHS 32

static void find_kernels(struct kernels *k, const struct sonde_records *r)
{
	uint32_t *class_of = sonde_calloc(r->strings.nr * LENGTHS + 1, sizeof(*class_of)), *class;
	size_t i;

	k->classes = sonde_calloc(r->records.nr + 1, sizeof(*k->classes));
	k->launches = sonde_calloc(r->records.nr + 1, sizeof(*k->launches));
	for (i = 0; i < r->records.nr; i++) {
		const struct sonde_record *x = &r->records.at[i];
		double length = (double)(x->time.end_ns - x->time.start_ns);

		if (x->kind != SONDE_RESULT_KERNEL || x->time.end_ns <= x->time.start_ns)
			continue;
		class = &class_of[sonde_record_function(r, x)->name * LENGTHS + (int)fmin(log2(length), LENGTHS - 1)];
		if (!*class) {
			k->classes[k->nr_classes] = (struct sonde_unmix_class){
				(uint32_t)k->nr_classes, SONDE_UNMIX_NONE};
			*class = (uint32_t)++k->nr_classes;
		}
		k->launches[k->nr++] = (struct sonde_unmix_launch){(int64_t)x->time.start_ns,
			(int64_t)x->time.end_ns, *class - 1, SONDE_UNMIX_NONE};
	}
	sonde_free(class_of);
}

/* The misfit of the counter if launches are moved by `offset_ns`; NaN = it is not known. */
static double misfit_at(const struct sonde_unmix_input *in, int64_t offset_ns)
{
	struct sonde_unmix_options options = {.offset_ns = offset_ns};
	struct sonde_err err = {0};
	struct sonde_unmixed *u;
	double misfit;

	if (sonde_unmix_solve(&u, in, &options, &err) < 0)
		return NAN;
	misfit = sonde_unmixed_counter(u, 0)->misfit;
	sonde_unmixed_free(u);
	return misfit;
}

static void print_best(const struct sonde_unmix_input *in)
{
	double best = INFINITY, worst = 0, misfit;
	int us, at = 0;

	for (us = -MAX_OFFSET_US; us <= MAX_OFFSET_US; us++) {
		misfit = misfit_at(in, us * 1000);
		worst = misfit > worst ? misfit : worst;
		if (misfit < best) {
			best = misfit;
			at = us;
		}
	}
	if (isfinite(best))
		printf("align offset_us=%d misfit=%.4f worst=%.4f\n", at, best, worst);
}

static void print_alignment(const struct sonde_records *r, const struct sonde_series *s)
{
	uint32_t counter = sonde_series_counter(s, r, "sm.instructions");
	size_t nr = s->times.nr < MOST_SAMPLES ? s->times.nr : MOST_SAMPLES, i;
	int64_t *start = sonde_calloc(nr + 1, sizeof(*start)), *end = sonde_calloc(nr + 1, sizeof(*end));
	double *values = sonde_calloc(nr + 1, sizeof(*values));
	struct kernels k = {0};

	find_kernels(&k, r);
	for (i = 0; i < nr && counter != SONDE_NONE; i++) {
		start[i] = (int64_t)s->times.at[i].start_ns;
		end[i] = (int64_t)s->times.at[i].end_ns;
		values[i] = s->values.at[i * s->counters.nr + counter];
	}
	if (counter != SONDE_NONE && k.nr)
		print_best(&(struct sonde_unmix_input){.classes = k.classes,
			.nr_classes = (uint32_t)k.nr_classes,
			.launches = k.launches,
			.nr_launches = k.nr,
			.start_ns = start,
			.end_ns = end,
			.values = values,
			.nr_samples = nr,
			.nr_counters = 1});
	sonde_free(k.classes);
	sonde_free(k.launches);
	sonde_free(start);
	sonde_free(end);
	sonde_free(values);
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

static void write_samples(const struct sonde_records *r, const char *prefix)
{
	const struct sonde_series *s = &r->series.at[0];
	FILE *samples = create(prefix, ".samples");
	size_t i, k;

	if (!samples)
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
	fclose(samples);
}

static void write_kernels(const struct sonde_records *r, const char *prefix)
{
	FILE *kernels = create(prefix, ".kernels");
	size_t i;

	if (!kernels)
		exit(1);
	for (i = 0; i < r->records.nr; i++) {
		const struct sonde_record *rec = &r->records.at[i];

		fprintf(kernels, "K %llu %llu %llu %.*s\n", (unsigned long long)rec->time.start_ns,
			(unsigned long long)rec->time.end_ns,
			(unsigned long long)sonde_record_queue(r, rec)->stream,
			SONDE_STR_ARG(sonde_records_str(r, sonde_record_function(r, rec)->name)));
	}
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
	if (prefix && r->series.nr)
		write_samples(r, prefix);
	if (prefix)
		write_kernels(r, prefix);
	sonde_records_free(r);
	return 0;
}
