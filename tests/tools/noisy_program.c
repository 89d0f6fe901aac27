/*
 * Writes a partial report of a run of a synthetic program with noise:
 *
 *     noisy_program [-p] [-r SPREAD] [-s FACTOR] PROGRAM RUN FILE
 *
 * PROGRAM is the number of a program: ten regions with two regions inside each, entered 2 to
 * 10,000 times. How the times of each region scatter (heavy tails, drift, serial correlation) follows from that
 * number. RUN is the number of a run: the same program with other noise. SPREAD: the standard deviation
 * of the speed of whole runs, as a fraction. -p: 30 plain regions instead, each
 * entered 200 times with independent noise of 5 %. -s: `r7` takes FACTOR times as long.
 *
 * bench/diff_noise.sh uses this to measure how often `sonde diff` is wrong.
 */
#include "base/alloc.h"
#include "attribute/launches.h"
#include "cellfile/cellfile.h"
#include "merge/merging.h"
#include "read/source.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TIME	     "gpu__time_duration.sum"
#define NR_GROUPS    10
#define NR_PLAIN     30
#define MOST_ENTRIES 10000.0
#define SLOW	     7

/* How the entries of a region scatter. */
struct noise {
	double sd, rho, drift, tail;
	double e;     /* the last value of a serially correlated series */
	double slope; /* this run's drift, from its first entry to its last */
};

struct program {
	bool is_plain;
	double spread, factor;
	uint64_t chosen, seed; /* seeds of the program and of the run */
	double run;	       /* how much faster or slower this whole run is */
	uint64_t now;
	struct sonde_records *r;
	SONDE_VEC(double) times; /* times of the launches */
};

static void *must(void *p)
{
	if (!p) {
		fputs("noisy_program: out of memory\n", stderr);
		exit(1);
	}
	return p;
}

static double uniform(uint64_t *seed)
{
	uint64_t z = *seed += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return ((double)((z ^ (z >> 31)) >> 11) + 0.5) / 9007199254740992.0;
}

static double gauss(uint64_t *seed)
{
	double r = sqrt(-2 * log(uniform(seed)));

	return r * cos(2 * 3.14159265358979323846 * uniform(seed));
}

static struct noise choose_noise(struct program *p)
{
	struct noise n = {.sd = 0.05};

	if (!p->is_plain)
		n = (struct noise){.sd = 0.01 + 0.1 * uniform(&p->chosen),
			.rho = 0.9 * uniform(&p->chosen),
			.drift = 0.03 * uniform(&p->chosen),
			.tail = uniform(&p->chosen) < 0.5 ? 0 : 0.02};
	n.e = gauss(&p->seed);
	n.slope = n.drift * gauss(&p->seed);
	return n;
}

/* The factor by which an entry is longer than usual; `at` goes from 0 to 1 over a run. */
static double draw(struct noise *n, struct program *p, double at)
{
	double x;

	n->e = n->rho * n->e + sqrt(1 - n->rho * n->rho) * gauss(&p->seed);
	x = n->sd * n->e + n->slope * (at - 0.5) + p->run;
	if (uniform(&p->seed) < n->tail)
		x += 3 * n->sd / uniform(&p->seed);
	return exp(fmin(x, 3));
}

/* --- records ---------------------------------------------------------------------------------- */

static int read_values(const struct sonde_source *src, const struct sonde_record *rec,
	struct sonde_values *v, struct sonde_err *err)
{
	const struct program *p = src->state;

	(void)err;
	v->num[0] = p->times.at[rec->payload];
	return 0;
}

static const struct sonde_source_ops ops = {.name = "noisy", .values = read_values};

static void begin_records(struct program *p)
{
	struct sonde_source *src;
	struct sonde_input *in;

	p->r = must(sonde_calloc(1, sizeof(*p->r)));
	src = must(sonde_arena_calloc(&p->r->arena, 1, sizeof(*src)));
	must(sonde_push(&p->r->arena, &p->r->sets));
	*(struct sonde_source **)must(sonde_push(&p->r->arena, &p->r->sources)) = src;
	*src = (struct sonde_source){.ops = &ops, .state = p};
	in = must(sonde_push(&p->r->arena, &p->r->inputs));
	in->path = in->source = SONDE_STR("noisy");
	sonde_records__process(p->r, 0, 1, SONDE_STR("host"), SONDE_STR("noisy"));
	sonde_records__metric(p->r, SONDE_STR(TIME));
	p->r->has_record_times = p->r->has_range_times = true;
}

static uint32_t enter(struct program *p, uint32_t parent, uint32_t label)
{
	struct sonde_range *g = must(sonde_push(&p->r->arena, &p->r->ranges));

	*g = (struct sonde_range){.parent = parent,
		.label = label,
		.domain = SONDE_NONE,
		.thread = 1,
		.kind = SONDE_PUSH_POP,
		.time = {.begin_ns = p->now}};
	return (uint32_t)(p->r->ranges.nr - 1);
}

static void leave(struct program *p, uint32_t range)
{
	p->r->ranges.at[range].time.end_ns = p->now;
}

static void launch(struct program *p, uint32_t range, uint32_t kernel, double ns)
{
	struct sonde_record *rec = must(sonde_push(&p->r->arena, &p->r->records));
	uint64_t whole = (uint64_t)ns;

	*rec = (struct sonde_record){.payload = p->times.nr,
		.caller = sonde_records__caller(p->r, 0, 1),
		.queue = sonde_records__queue(p->r, 0, 0, 0),
		.function = sonde_records__function(p->r, kernel, kernel),
		.open = sonde_records__set(p->r, &range, 1),
		.time = {p->now, p->now + whole}};
	*(double *)must(sonde_vec_push(&p->times)) = (double)whole;
	p->now += whole + 100;
}

static uint32_t name(struct program *p, const char *word, size_t number)
{
	return sonde_records__string(p->r, sonde_arena_printf(&p->r->arena, "%s%zu", word, number));
}

/* --- the program ------------------------------------------------------------------------------ */

/* Runs a region with two regions inside it; the exclusive work of all three scatters. */
static void run_group(struct program *p, size_t number)
{
	struct noise n[3] = {choose_noise(p), choose_noise(p), choose_noise(p)};
	size_t nr = (size_t)(2 * pow(MOST_ENTRIES / 2, uniform(&p->chosen))), i, k;
	uint32_t kernel = name(p, "kernel", number);
	uint32_t labels[3] = {name(p, "r", number), name(p, "a", number), name(p, "b", number)};
	double by = number == SLOW ? p->factor : 1;

	for (i = 0; i < nr; i++) {
		double at = (double)i / (double)nr;
		uint32_t outer = enter(p, SONDE_NONE, labels[0]), inner;

		launch(p, outer, kernel, 50000 * by * draw(&n[0], p, at));
		for (k = 1; k < 3; k++) {
			inner = enter(p, outer, labels[k]);
			launch(p, inner, kernel, 100000 * by * draw(&n[k], p, at));
			leave(p, inner);
		}
		leave(p, outer);
	}
}

static void run_plain(struct program *p, size_t number)
{
	struct noise n = choose_noise(p);
	uint32_t kernel = name(p, "kernel", number), label = name(p, "r", number);
	size_t i;

	for (i = 0; i < 200; i++) {
		uint32_t range = enter(p, SONDE_NONE, label);

		launch(p, range, kernel,
			100000 * (number == SLOW ? p->factor : 1) * draw(&n, p, 0.5));
		leave(p, range);
	}
}

static int write_cells(const struct program *p, const char *path, struct sonde_err *err)
{
	struct sonde_fold_request request = {0};
	struct sonde_launches *l = NULL;
	struct sonde_parts parts = {0};
	struct sonde_sink to;
	int rc = sonde_launches_build(&l, p->r, &request.selection, err);

	if (rc == 0)
		rc = sonde_cells_fold(must(sonde_vec_push(&parts.at)), l, &request, err);
	if (rc == 0)
		rc = sonde_sink_open(&to, path, err);
	if (rc == 0)
		rc = sonde_sink_finish(&to, sonde_cellfile_write(&parts, &to, err), err);
	sonde_launches_free(l);
	sonde_parts_release(&parts);
	return rc;
}

static int usage(void)
{
	fputs("usage: noisy_program [-p] [-r SPREAD] [-s FACTOR] PROGRAM RUN FILE\n", stderr);
	return 2;
}

int main(int argc, char **argv)
{
	struct program p = {.factor = 1, .now = 1000};
	struct sonde_err err = {0};
	size_t i;
	int o, rc;

	while ((o = getopt(argc, argv, "pr:s:")) != -1) {
		if (o == '?')
			return usage();
		p.is_plain |= o == 'p';
		if (o == 'r' || o == 's')
			*(o == 'r' ? &p.spread : &p.factor) = strtod(optarg, NULL);
	}
	if (argc - optind != 3)
		return usage();
	p.chosen = strtoull(argv[optind], NULL, 10) * 1000003;
	p.seed = p.chosen + strtoull(argv[optind + 1], NULL, 10) * 7919 + 1;
	p.run = p.spread * gauss(&p.seed);
	begin_records(&p);
	for (i = 0; i < (p.is_plain ? NR_PLAIN : NR_GROUPS); i++)
		p.is_plain ? run_plain(&p, i) : run_group(&p, i);
	rc = write_cells(&p, argv[optind + 2], &err);
	if (rc)
		fprintf(stderr, "noisy_program: %s\n", err.msg);
	sonde_records_free(p.r);
	sonde_vec_release(&p.times);
	return rc ? 1 : 0;
}
