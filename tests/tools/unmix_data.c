/*
 * Unmixes recorded samples and compares the results with what Nsight Compute measured:
 *
 *     unmix_data [-o OFFSET_NS] [-w WARM_UP] [-k] SAMPLES KERNELS TRUTH
 *
 * tests/data/sampled/README.md describes SAMPLES and KERNELS, which may be plain or
 * .gz; TRUTH has `M counter…` and a line `P region value…` for each kernel of a step.
 * The first WARM_UP kernels belong to no step; their classes are their names. -k adds
 * a line for each kernel of the step.
 *
 * Prints one line for each counter of TRUTH: the error of the total and of each region,
 * and how often the 95 % interval (with a floor of 4 % added, since ncu measures
 * under other conditions) contains ncu's value, over regions and over kernels that
 * make up at least 1 % of the total. The time it took goes to stderr: wall seconds, and
 * CPU seconds of all threads together.
 */
#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "unmix/unmix.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FLOOR 0.04

struct data {
	struct sonde_arena arena;
	struct sonde_map counters, names, regions;
	SONDE_VEC(int64_t) start, end;
	SONDE_VEC(double) values;
	SONDE_VEC(struct sonde_unmix_launch) launches;
	SONDE_VEC(uint32_t) launch_names;
	SONDE_VEC(struct sonde_unmix_class) classes;
	SONDE_VEC(uint32_t) true_counters; /* the counter of each column of the truth */
	SONDE_VEC(uint32_t) place_regions;
	SONDE_VEC(double) truth; /* place · columns + column */
};

#define APPEND(vec, value)                                                                         \
	do {                                                                                       \
		if (!sonde_vec_push(vec))                                                          \
			die("out of memory", "reading");                                           \
		(vec)->at[(vec)->nr - 1] = (value);                                                \
	} while (0)

static _Noreturn void die(const char *what, const char *file)
{
	fprintf(stderr, "unmix_data: %s: %s\n", file, what);
	exit(2);
}

static FILE *open_file(const char *path)
{
	char command[4096];
	size_t n = strlen(path);
	FILE *f;

	if (access(path, R_OK) != 0)
		die("cannot be read", path);
	if (n < 3 || strcmp(path + n - 3, ".gz") != 0)
		f = fopen(path, "r");
	else {
		snprintf(command, sizeof(command), "gzip -dc '%s'", path);
		f = popen(command, "r");
	}
	if (f == NULL)
		die("cannot be opened", path);
	return f;
}

static uint32_t number_of(struct data *d, struct sonde_map *map, const char *word)
{
	struct sonde_str kept = sonde_arena_dup(&d->arena, sonde_str_from(word));
	bool is_new;

	return sonde_map_add(map, kept, &is_new);
}

static void read_samples(struct data *d, const char *path)
{
	FILE *f = open_file(path);
	char *line = NULL, *word, *rest;
	size_t cap = 0;

	while (getline(&line, &cap, f) > 0) {
		bool is_head = line[0] == 'M';

		word = strtok_r(line, " \n", &rest);
		for (int i = 0; (word = strtok_r(NULL, " \n", &rest)) != NULL; i++) {
			if (is_head)
				number_of(d, &d->counters, word);
			else if (i == 0)
				APPEND(&d->start, strtoll(word, NULL, 10));
			else if (i == 1)
				APPEND(&d->end, strtoll(word, NULL, 10));
			else
				APPEND(&d->values, strtod(word, NULL));
		}
	}
	free(line);
	fclose(f);
	if (d->values.nr != d->start.nr * d->counters.nr)
		die("samples and counters do not match", path);
}

static void read_kernels(struct data *d, const char *path)
{
	FILE *f = open_file(path);
	char *line = NULL, *at;
	size_t cap = 0;

	while (getline(&line, &cap, f) > 0) {
		struct sonde_unmix_launch l = {0};

		l.start_ns = strtoll(line + 1, &at, 10);
		l.end_ns = strtoll(at, &at, 10);
		strtol(at, &at, 10); /* the stream */
		APPEND(&d->launches, l);
		APPEND(&d->launch_names, number_of(d, &d->names, at));
	}
	free(line);
	fclose(f);
}

static void read_truth(struct data *d, const char *path)
{
	FILE *f = open_file(path);
	char *line = NULL, *word, *rest;
	size_t cap = 0;

	while (getline(&line, &cap, f) > 0) {
		bool is_head = line[0] == 'M';

		word = strtok_r(line, " \n", &rest);
		if (!is_head)
			APPEND(&d->place_regions,
				number_of(d, &d->regions, strtok_r(NULL, " \n", &rest)));
		while ((word = strtok_r(NULL, " \n", &rest)) != NULL) {
			if (is_head)
				APPEND(&d->true_counters, number_of(d, &d->counters, word));
			else
				APPEND(&d->truth, strtod(word, NULL));
		}
	}
	free(line);
	fclose(f);
}

/* Makes classes (the places of a step, then the names of the warm-up) and entries (consecutive launches of one region). */
static void make_classes(struct data *d, size_t warm_up)
{
	uint32_t places = (uint32_t)d->place_regions.nr, entry = 0, i;
	size_t n;

	for (i = 0; i < places + d->names.nr; i++) {
		struct sonde_unmix_class c = {i - places, SONDE_UNMIX_NONE};

		if (i < places)
			c.group = d->place_regions.at[i];
		APPEND(&d->classes, c);
	}
	for (n = 0; n < d->launches.nr; n++) {
		struct sonde_unmix_launch *l = &d->launches.at[n];
		uint32_t place = (uint32_t)((n - warm_up) % places);

		if (n < warm_up) {
			l->class = places + d->launch_names.at[n];
			l->entry = SONDE_UNMIX_NONE;
			continue;
		}
		if (place == 0 || d->place_regions.at[place] != d->place_regions.at[place - 1])
			entry++;
		l->class = place;
		l->entry = entry;
		d->classes.at[place].name = d->launch_names.at[n];
	}
}

struct score {
	uint32_t held, of;
};

/* Prints a line of the table: how far `f` is from `truth`, and whether its interval contains `truth`. */
static double compare(struct sonde_unmix_figure f, double truth, struct score *score)
{
	score->of++;
	score->held += fabs(f.value - truth) <= 1.96 * f.error + FLOOR * f.value;
	return 100 * (f.value / truth - 1);
}

static double sum_truth(const struct data *d, size_t column, uint32_t region)
{
	size_t columns = d->true_counters.nr, i;
	double sum = 0;

	for (i = 0; i < d->place_regions.nr; i++) {
		if (region == UINT32_MAX || d->place_regions.at[i] == region)
			sum += d->truth.at[i * columns + column];
	}
	return sum;
}

static struct sonde_unmix_figure sum_figure(
	const struct data *d, const struct sonde_unmixed *u, uint32_t counter, uint32_t region)
{
	uint32_t classes[1024];
	size_t nr = 0, i;

	for (i = 0; i < d->place_regions.nr && nr < 1024; i++) {
		if (region == UINT32_MAX || d->place_regions.at[i] == region)
			classes[nr++] = (uint32_t)i;
	}
	return sonde_unmixed_sum(u, classes, nr, counter);
}

static void print_places(
	const struct data *d, const struct sonde_unmixed *u, size_t column, double steps)
{
	static const char *const fates[] = {"own", "merged", "entry", "pooled", "unseen"};
	size_t columns = d->true_counters.nr, i;

	for (i = 0; i < d->place_regions.nr; i++) {
		struct sonde_unmix_figure f =
			sonde_unmixed_figure(u, (uint32_t)i, d->true_counters.at[column]);

		printf("  kernel %zu %s %.0f ± %.0f, ncu %.0f\n", i,
			fates[sonde_unmixed_class(u, (uint32_t)i)->fate],
			f.value / steps, f.error / steps, d->truth.at[i * columns + column]);
	}
}

static void print_counter(const struct data *d, const struct sonde_unmixed *u, size_t column,
	double steps, bool with_places)
{
	uint32_t counter = d->true_counters.at[column], g;
	size_t columns = d->true_counters.nr, i;
	struct score regions = {0}, kernels = {0}, totals = {0};
	double total = sum_truth(d, column, UINT32_MAX);
	double off = compare(sum_figure(d, u, counter, UINT32_MAX), total * steps, &totals);
	double worst = 0;

	printf("%s total %+.1f regions", d->counters.keys[counter].p, off);
	for (g = 0; g < d->regions.nr; g++) {
		double truth = sum_truth(d, column, g);

		if (truth < 0.01 * total)
			continue;
		off = compare(sum_figure(d, u, counter, g), truth * steps, &regions);
		worst = fabs(off) > worst ? fabs(off) : worst;
		printf(" %+.1f", off);
	}
	for (i = 0; i < d->place_regions.nr; i++) {
		double truth = d->truth.at[i * columns + column];

		if (truth >= 0.01 * total)
			compare(sonde_unmixed_figure(u, (uint32_t)i, counter), truth * steps,
				&kernels);
	}
	printf(" worst %.1f held %u/%u kernels %u/%u misfit %.4f lost %llu\n", worst,
		regions.held + totals.held, regions.of + totals.of, kernels.held, kernels.of,
		sonde_unmixed_counter(u, counter)->misfit,
		(unsigned long long)sonde_unmixed_counter(u, counter)->nr_lost);
	if (with_places)
		print_places(d, u, column, steps);
}

static double seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static struct sonde_unmix_input input_of(const struct data *d)
{
	return (struct sonde_unmix_input){.classes = d->classes.at,
		.nr_classes = (uint32_t)d->classes.nr,
		.launches = d->launches.at,
		.nr_launches = d->launches.nr,
		.start_ns = d->start.at,
		.end_ns = d->end.at,
		.values = d->values.at,
		.nr_samples = d->start.nr,
		.nr_counters = (uint32_t)d->counters.nr};
}

static void unmix(struct data *d, size_t warm_up, int64_t offset_ns, bool with_places)
{
	struct sonde_unmix_input in = input_of(d);
	struct sonde_unmix_options opt = {.offset_ns = offset_ns};
	double steps = (double)(d->launches.nr - warm_up) / (double)d->place_regions.nr;
	const struct sonde_unmix_quality *q;
	struct sonde_unmixed *u;
	struct sonde_err err = {0};
	double before = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
	size_t i;

	if (sonde_unmix_solve(&u, &in, &opt, &err) < 0)
		die(err.msg, "solve");
	q = sonde_unmixed_quality(u);
	fprintf(stderr, "seconds %.3f cpu %.3f\n", seconds(CLOCK_MONOTONIC) - before,
		seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu);
	printf("samples %llu gaps %llu seen %.3f unknowns %u columns %u merged %u entry %u pooled "
	       "%u "
	       "condition %.0f\n",
		(unsigned long long)q->nr_samples, (unsigned long long)q->nr_gaps, q->seen_time,
		q->nr_unknowns, q->nr_columns, q->nr_merged, q->nr_entry, q->nr_pooled,
		q->condition);
	for (i = 0; i < d->true_counters.nr; i++)
		print_counter(d, u, i, steps, with_places);
	sonde_unmixed_free(u);
}

static void release(struct data *d)
{
	sonde_vec_release(&d->start);
	sonde_vec_release(&d->end);
	sonde_vec_release(&d->values);
	sonde_vec_release(&d->launches);
	sonde_vec_release(&d->launch_names);
	sonde_vec_release(&d->classes);
	sonde_vec_release(&d->true_counters);
	sonde_vec_release(&d->place_regions);
	sonde_vec_release(&d->truth);
	sonde_map_release(&d->counters);
	sonde_map_release(&d->names);
	sonde_map_release(&d->regions);
	sonde_arena_release(&d->arena);
}

int main(int argc, char **argv)
{
	struct data d = {0};
	int64_t offset_ns = 0;
	size_t warm_up = 0;
	bool with_places = false;
	int option;

	while ((option = getopt(argc, argv, "o:w:k")) != -1) {
		if (option == 'o')
			offset_ns = strtoll(optarg, NULL, 10);
		else if (option == 'w')
			warm_up = strtoul(optarg, NULL, 10);
		else if (option == 'k')
			with_places = true;
		else
			die("see the head of tests/tools/unmix_data.c", "usage");
	}
	if (argc - optind != 3)
		die("needs SAMPLES KERNELS TRUTH", "usage");
	read_samples(&d, argv[optind]);
	read_kernels(&d, argv[optind + 1]);
	read_truth(&d, argv[optind + 2]);
	if (d.launches.nr < warm_up || d.place_regions.nr == 0)
		die("fewer kernels than the warm-up", argv[optind + 1]);
	make_classes(&d, warm_up);
	unmix(&d, warm_up, offset_ns, with_places);
	release(&d);
	return 0;
}
