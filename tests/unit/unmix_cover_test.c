/*
 * Do 95 % intervals contain the true value even if the launches of a class differ, or there are few samples?
 *
 *     unmix_cover_test             a few programs of some cases, with limits
 *     unmix_cover_test PROGRAMS    so many programs of every case, without limits: prints the table of docs/counters-internals.md
 *
 * A synthetic program decodes: about thirty kernels per step in eight regions, seven counters, and in some cases a second
 * stream. Its records and samples go through the fold, as those of a capture do. For each case the table has the share of
 * intervals that contain the true value, the mean error of figures, and half the width of the median interval: for
 * regions, for kernels in their region, for those kernels that make the case hard, and for the load of single steps. The counters
 * of one program are correlated, so a case needs several programs.
 */
#include "catalogue/attributes.h"
#include "fold/sampled.h"

#include "treed.h"

#include <stdio.h>

#define SMS	      132
#define CYCLES_PER_NS (SMS * 1.755)
#define OFFSET_NS     250 /* how long before its timestamps work is done: docs/counters-internals.md */
#define TEST_STEPS    500 /* most steps of a program in runs that check limits */
#define BAR	      0.93

enum { ELAPSED, ACTIVE, EXECUTED, TENSOR, FMA, L2, READ, WRITTEN, NR_COUNTERS };
static const char *const roles[NR_COUNTERS] = {"sm.elapsed_cycles", "sm.active_cycles", "sm.instructions",
	"tensor.cycles", "fma.instructions", "l2.sectors", "dram.read_bytes", "dram.write_bytes"};
static const char *const metrics[NR_COUNTERS] = {NULL, "sm__cycles_active.sum", "sm__inst_executed.sum",
	"sm__pipe_tensor_cycles_active.sum", "sm__inst_executed_pipe_fma.sum", "lts__t_sectors.sum",
	"dram__bytes_read.sum", "dram__bytes_write.sum"};
/* The most that a launch counts per nanosecond: far below what a device can do, even if two launches overlap. */
static const double most_per_ns[NR_COUNTERS] = {0, 40, 200, 80, 60, 200, 1200, 500};

/* How the work of a launch depends on its duration. */
enum follows {
	BY_LAUNCH,  /* not at all: slow launches had to wait */
	BY_TIME,    /* twice as long, twice the work */
	BY_COUNTER, /* active cycles and DRAM by time, the others by launch */
};

/* Which launches of a kernel have its second shape. */
enum shapes { ONE_SHAPE, AT_RANDOM, IN_TURN, LATER };

struct situation {
	const char *name;
	int64_t interval_ns;
	int steps;
	int programs;	      /* number of programs in runs that check limits */
	double vary;	      /* of a kernel's length: its launches deviate by so much … */
	enum follows follows; /* … and do so much more or less */
	double side_ns[2];    /* kernels of the other stream take from … to; 0 = there is none */
	enum follows side;
	bool is_one_entry;    /* all of those in one range; else each has its own */
	enum shapes shapes;   /* of a few kernels … */
	double longer;	      /* … the second takes so many times as long */
	bool is_exact;	      /* the samples have no noise */
};

static const struct situation situations[] = {
	{"good: 150 us", 150000, 1500, 3, .vary = 0.03},
	{"good: 50 us", 50000, 500, .vary = 0.03},
	{"good: 50 us, exact samples", 50000, 500, .vary = 0.03, .is_exact = true},
	{"good: beside even kernels", 150000, 1500, .vary = 0.03, .side_ns = {40000, 42000}},
	{"a: 20-60 us by time", 150000, 1500, 9, .vary = 0.03, .side_ns = {20000, 60000}, .side = BY_TIME},
	{"a: by launch", 150000, 1500, .vary = 0.03, .side_ns = {20000, 60000}},
	{"a: by counter", 150000, 1500, .vary = 0.03, .side_ns = {20000, 60000}, .side = BY_COUNTER},
	{"a: by time, one entry", 150000, 1500, .vary = 0.03, .side_ns = {20000, 60000}, .side = BY_TIME, .is_one_entry = true},
	{"a: by launch, one entry", 150000, 1500, .vary = 0.03, .side_ns = {20000, 60000}, .is_one_entry = true},
	{"a: 50 us", 50000, 500, .vary = 0.03, .side_ns = {20000, 60000}, .side = BY_TIME},
	{"a: 50 us, exact samples", 50000, 500, 3, .vary = 0.03, .side_ns = {20000, 60000}, .side = BY_TIME, .is_exact = true},
	{"a: 500 us", 500000, 1500, .vary = 0.03, .side_ns = {20000, 60000}, .side = BY_TIME},
	{"a: all vary, by counter", 150000, 1500, .vary = 0.15, .follows = BY_COUNTER, .side_ns = {20000, 60000}, .side = BY_COUNTER},
	{"b: two shapes, 500 us", 500000, 1500, 5, .vary = 0.03, .shapes = AT_RANDOM, .longer = 1.7},
	{"b: in turn", 500000, 1500, .vary = 0.03, .shapes = IN_TURN, .longer = 1.7},
	{"b: one, later the other", 500000, 1500, .vary = 0.03, .shapes = LATER, .longer = 1.7},
	{"b: four times as long", 500000, 1500, .vary = 0.03, .shapes = AT_RANDOM, .longer = 4},
	{"b: equally long", 500000, 1500, .vary = 0.03, .shapes = AT_RANDOM, .longer = 1},
	{"b: 150 us", 150000, 1500, .vary = 0.03, .shapes = AT_RANDOM, .longer = 1.7},
	{"c: 1 ms, 300 steps", 1000000, 300, 16, .vary = 0.03},
	{"c: beside a stream", 1000000, 300, .vary = 0.03, .side_ns = {20000, 60000}, .side = BY_TIME},
	{"c: exact samples", 1000000, 300, .vary = 0.03, .is_exact = true},
	{"c: 100 steps", 1000000, 100, .vary = 0.03},
	{"c: 1000 steps", 1000000, 1000, .vary = 0.03},
	{"c: 500 us", 500000, 300, .vary = 0.03},
	{"c: 150 us, 100 steps", 150000, 100, .vary = 0.03},
};
#define NR_SITUATIONS (sizeof(situations) / sizeof(*situations))

static const char *const names[] = {"gemm", "gemv", "softmax", "norm", "add", "gelu", "rope", "copyk", "side"};
static const char *const places[] = {
	"step/embed", "step/attn0", "step/mlp0", "step/attn1", "step/mlp1", "step/attn2", "step/mlp2", "step/head", "side"};
#define NR_NAMES     8 /* of the steps' kernels … */
#define NR_PLACES    8 /* … and regions; the other stream's come last */
#define NR_GEMMS     2 /* names whose kernels use tensor cores */
#define MOST_KERNELS 64

struct kernel { /* in a step, or of the other stream */
	uint32_t name, place;
	bool has_shapes;
	double length_ns;
	double count[NR_COUNTERS], second[NR_COUNTERS], slope[NR_COUNTERS];
};

struct launched { /* when its work was done, and what it was */
	double start_ns, end_ns, count[NR_COUNTERS];
	uint32_t kernel;
};

struct program {
	const struct situation *of;
	struct made m;
	uint64_t seed;
	struct kernel kernels[MOST_KERNELS];
	uint32_t nr_kernels;
	double offset_ns, end_ns;
	SONDE_VEC(struct launched) launches;
	double truth[MOST_KERNELS][NR_COUNTERS];
	SONDE_VEC(uint32_t) steps; /* ranges … */
	SONDE_VEC(double) loads;   /* … and how busy the SMs were with their launches */
};

static uint64_t bits(struct program *p)
{
	uint64_t n = p->seed += 0x9e3779b97f4a7c15u;

	n = (n ^ (n >> 30)) * 0xbf58476d1ce4e5b9u;
	n = (n ^ (n >> 27)) * 0x94d049bb133111ebu;
	return n ^ (n >> 31);
}

static double uniform(struct program *p, double from, double to)
{
	return from + (to - from) * (double)(bits(p) >> 11) * 0x1p-53;
}

static double normal(struct program *p) /* approximately: the sum of twelve uniform numbers */
{
	double sum = -6;
	int i;

	for (i = 0; i < 12; i++)
		sum += uniform(p, 0, 1);
	return sum;
}

static double pause(struct program *p, double mean)
{
	return -mean * log(uniform(p, 1e-9, 1));
}

/* --- the program ------------------------------------------------------------------------------- */

static void add_kernel(struct program *p, uint32_t name, uint32_t place, double length_ns)
{
	struct kernel *k = &p->kernels[p->nr_kernels++];
	uint32_t c;

	assert_true(p->nr_kernels < MOST_KERNELS);
	*k = (struct kernel){.name = name, .place = place, .length_ns = length_ns};
	for (c = 1; c < NR_COUNTERS; c++) {
		k->count[c] = length_ns * most_per_ns[c] * uniform(p, 0.05, 1);
		/* The second shape of a kernel not only takes longer, its counts also differ. */
		k->second[c] = k->count[c] * p->of->longer * exp(uniform(p, -0.5, 0.5));
		k->slope[c] = uniform(p, -0.4, 0.4);
	}
	if (name >= NR_GEMMS)
		k->count[TENSOR] = k->second[TENSOR] = 0;
}

static void make_kernels(struct program *p)
{
	uint32_t place, nr, i;

	for (place = 0; place < NR_PLACES; place++) {
		nr = place == 0 || place == NR_PLACES - 1 ? 1 : 4 + (uint32_t)(bits(p) % 3);
		for (i = 0; i < nr; i++) {
			add_kernel(p, (uint32_t)(bits(p) % NR_NAMES), place, exp(uniform(p, log(2000), log(25000))));
			p->kernels[p->nr_kernels - 1].has_shapes = p->of->shapes != ONE_SHAPE && i == 1;
		}
	}
	if (p->of->side_ns[0] > 0)
		add_kernel(p, NR_NAMES, NR_PLACES, (p->of->side_ns[0] + p->of->side_ns[1]) / 2);
}

/* The factor for the usual count of a counter, if the launch takes `longer` times as long as usual. */
static double follow(enum follows f, uint32_t counter, double longer)
{
	bool is_by_time = f == BY_TIME || (f == BY_COUNTER && (counter == ACTIVE || counter >= READ));

	return is_by_time ? longer : 1;
}

static bool has_second_shape(struct program *p, const struct kernel *k, int step, int steps)
{
	if (!k->has_shapes)
		return false;
	switch (p->of->shapes) {
	case AT_RANDOM:
		return bits(p) >> 63;
	case IN_TURN:
		return step % 2;
	default:
		return step > steps / 2;
	}
}

/* Returns its end. */
static double launch(struct program *p, uint32_t kernel, uint32_t range, double start_ns, double longer, bool is_second)
{
	const struct kernel *k = &p->kernels[kernel];
	bool is_side = k->place == NR_PLACES;
	double length = k->length_ns * longer * (is_second ? p->of->longer : 1);
	double late = p->offset_ns - OFFSET_NS + 100 * normal(p), vary = fmax(0, 1 + 0.03 * normal(p));
	struct launched l = {.start_ns = start_ns + late, .end_ns = start_ns + length + late, .kernel = kernel};
	uint32_t c;

	made_launch(&p->m, names[k->name], 1, &range);
	p->m.r->records.at[p->m.r->records.nr - 1].time =
		(struct sonde_record_time){(uint64_t)start_ns, (uint64_t)(start_ns + length)};
	if (is_side)
		made_set_stream(&p->m, p->m.r->records.nr - 1, 20);
	for (c = 1; c < NR_COUNTERS; c++) {
		l.count[c] = (is_second ? k->second : k->count)[c] * vary *
			     follow(is_side ? p->of->side : p->of->follows, c, longer);
		p->truth[kernel][c] += l.count[c];
	}
	assert_true(sonde_vec_put(&p->launches, l));
	p->end_ns = fmax(p->end_ns, start_ns + length);
	return start_ns + length;
}

/* Returns its end. */
static double run_step(struct program *p, double at, int step, int steps)
{
	uint32_t entry = made_push(&p->m, MADE_ROOT, "step"), range = entry, place = UINT32_MAX, k;
	double begin = at, active = 0, time = 0, from;

	for (k = 0; k < p->nr_kernels && p->kernels[k].place < NR_PLACES; k++) {
		if (p->kernels[k].place != place) {
			place = p->kernels[k].place;
			range = made_push(&p->m, entry, strchr(places[place], '/') + 1);
		}
		from = at;
		at = launch(p, k, range, at, fmax(0.5, 1 + p->of->vary * normal(p)),
			has_second_shape(p, &p->kernels[k], step, steps));
		active += p->launches.at[p->launches.nr - 1].count[ACTIVE];
		time += at - from;
		at += 1000 + pause(p, 2000);
	}
	p->m.r->ranges.at[entry].time = (struct sonde_range_time){(uint64_t)begin, (uint64_t)at, 0};
	assert_true(sonde_vec_put(&p->steps, entry) && sonde_vec_put(&p->loads, 100 * active / (CYCLES_PER_NS * time)));
	return at;
}

static void run_side(struct program *p, double at, double end)
{
	const double *ns = p->of->side_ns;
	uint32_t k = p->nr_kernels - 1, range = MADE_ROOT;

	while (ns[0] > 0 && at < end) {
		if (range == MADE_ROOT || !p->of->is_one_entry)
			range = made_push(&p->m, MADE_ROOT, "side");
		at = launch(p, k, range, at, uniform(p, ns[0], ns[1]) / p->kernels[k].length_ns, false);
		at += uniform(p, 5000, 120000);
	}
}

/* --- its samples ------------------------------------------------------------------------------- */

static void add_device(struct program *p)
{
	struct sonde_attribute *at = sonde_arena_calloc(&p->m.r->arena, 1, sizeof(*at));
	struct sonde_device d = {.process = p->m.process,
		.name = SONDE_STR("made GPU"),
		.uuid = SONDE_STR("GPU-1"),
		.attributes = at,
		.nr_attributes = 1};

	at[0] = (struct sonde_attribute){.name = SONDE_STR(SONDE_ATTR_SMS), .value = SMS};
	sonde_records__device(p->m.r, &d);
}

static struct sonde_series *start_series(struct program *p)
{
	struct sonde_series *s = sonde_push(&p->m.r->arena, &p->m.r->series);
	double at = 500000;
	uint32_t c;

	assert_non_null(s);
	s->uuid = SONDE_STR("GPU-1");
	s->host = SONDE_STR("host");
	s->interval_ns = (uint64_t)p->of->interval_ns;
	for (c = 0; c < NR_COUNTERS; c++) {
		struct sonde_counter *counter = sonde_push(&p->m.r->arena, &s->counters);

		assert_non_null(counter);
		counter->role = counter->name = sonde_records__string(p->m.r, sonde_str_from(roles[c]));
	}
	while (at < p->end_ns + 1e6) {
		uint64_t from = s->times.nr ? s->times.at[s->times.nr - 1].end_ns : (uint64_t)at;

		at += (double)p->of->interval_ns;
		sonde_put(&p->m.r->arena, &s->times,
			(struct sonde_sample_time){from, (uint64_t)(at + uniform(p, -100, 100))});
		for (c = 0; c < NR_COUNTERS; c++)
			sonde_put(&p->m.r->arena, &s->values, 0.0);
	}
	return s;
}

/* The share of the work of a launch with `slope` that is done after the share `t` of its time. */
static double done(double slope, double t)
{
	return t + slope * (t * t - t);
}

static void count_launch(const struct program *p, struct sonde_series *s, const struct launched *l)
{
	double length = l->end_ns - l->start_ns, first = (double)s->times.at[0].start_ns;
	size_t i = (size_t)fmax(0, (l->start_ns - first) / (double)s->interval_ns - 1);
	uint32_t c;

	for (; i < s->times.nr && (double)s->times.at[i].start_ns < l->end_ns; i++) {
		double from = fmax(0, ((double)s->times.at[i].start_ns - l->start_ns) / length);
		double to = fmin(1, ((double)s->times.at[i].end_ns - l->start_ns) / length);

		for (c = 1; c < NR_COUNTERS && to > from; c++) {
			double slope = p->kernels[l->kernel].slope[c];

			s->values.at[i * NR_COUNTERS + c] += l->count[c] * (done(slope, to) - done(slope, from));
		}
	}
}

static void sample(struct program *p)
{
	struct sonde_series *s = start_series(p);
	uint32_t c;
	size_t i;

	for (i = 0; i < p->launches.nr; i++)
		count_launch(p, s, &p->launches.at[i]);
	for (i = 0; i < s->times.nr; i++) {
		double *row = &s->values.at[i * NR_COUNTERS];

		row[ELAPSED] = CYCLES_PER_NS * (double)(s->times.at[i].end_ns - s->times.at[i].start_ns);
		for (c = 1; c < NR_COUNTERS && !p->of->is_exact; c++)
			row[c] = fmax(0, row[c] * (1 + 0.01 * normal(p)));
	}
}

static void make_program(struct program *p, const struct situation *of, int seed, int steps)
{
	double at = 2e6;
	int step;

	*p = (struct program){.of = of, .seed = (uint64_t)seed * 1000003};
	made_init(&p->m);
	add_device(p);
	make_kernels(p);
	p->offset_ns = 150 * normal(p);
	for (step = 0; step < steps; step++)
		at = run_step(p, at, step, steps) + pause(p, 20000);
	run_side(p, 2e6, at);
	p->m.r->has_record_times = p->m.r->has_range_times = true;
	sample(p);
}

static void release_program(struct program *p)
{
	sonde_vec_release(&p->launches);
	sonde_vec_release(&p->steps);
	sonde_vec_release(&p->loads);
	made_release(&p->m);
}

/* --- judging the results ----------------------------------------------------------------------- */

struct score {
	uint32_t held;
	double off;		  /* sum of the errors, as fractions of the true values */
	SONDE_VEC(double) widths; /* half the widths of intervals, as fractions of the true values */
};
enum { REGIONS, KERNELS, HARD, LOADS, NR_SCORES };

static void judge(struct score *s, double v, double error, double truth)
{
	if (isnan(v))
		return;
	s->held += fabs(v - truth) <= error;
	s->off += v / truth - 1;
	assert_true(sonde_vec_put(&s->widths, error / truth));
}

static double held(const struct score *s)
{
	return s->held / (double)s->widths.nr;
}

static int by_size(const void *a, const void *b)
{
	return sonde_cmp(*(const double *)a, *(const double *)b);
}

static double median(struct score *s)
{
	sonde_vec_sort(&s->widths, by_size);
	return s->widths.at[s->widths.nr / 2];
}

/* The true sum of a counter over the kernels of a place and a name; SONDE_NONE: of all. */
static double truth_of(const struct program *p, uint32_t place, uint32_t name, uint32_t counter)
{
	double sum = 0;
	uint32_t k;

	for (k = 0; k < p->nr_kernels; k++)
		if ((place == SONDE_NONE || p->kernels[k].place == place) &&
			(name == SONDE_NONE || p->kernels[k].name == name))
			sum += p->truth[k][counter];
	return sum;
}

static bool is_hard(const struct program *p, uint32_t place, uint32_t name)
{
	uint32_t k;

	for (k = 0; k < p->nr_kernels; k++)
		if (p->kernels[k].place == place && p->kernels[k].name == name && p->kernels[k].has_shapes)
			return true;
	return place == NR_PLACES;
}

static void judge_kernel(struct score *scores, const struct program *p, struct run *run, uint32_t place, uint32_t row)
{
	struct sonde_str called = run->c->strings.keys[run->t->reports.at[0].kernels.at[row].name];
	uint32_t name = 0, c;

	while (!sonde_str_is(called, names[name]))
		name++;
	for (c = 1; c < NR_COUNTERS; c++) {
		const struct sonde_figure *f = figure(run, 0, SONDE_PART_KERNEL, row, metrics[c]);
		double truth = truth_of(p, place, name, c);

		if (truth < 0.01 * truth_of(p, SONDE_NONE, SONDE_NONE, c))
			continue;
		judge(&scores[KERNELS], f->v, f->error, truth);
		if (is_hard(p, place, name))
			judge(&scores[HARD], f->v, f->error, truth);
	}
}

static void judge_place(struct score *scores, const struct program *p, struct run *run, uint32_t place)
{
	const struct sonde_report *r = &run->t->reports.at[0];
	const struct sonde_node *n = node_named(run, r, places[place]);
	uint32_t c, i;

	for (c = 1; c < NR_COUNTERS; c++) {
		const struct sonde_figure *f =
			figure(run, 0, SONDE_PART_INCLUSIVE, (uint32_t)(n - r->nodes.at), metrics[c]);
		double truth = truth_of(p, place, SONDE_NONE, c);

		if (truth >= 0.01 * truth_of(p, SONDE_NONE, SONDE_NONE, c))
			judge(&scores[REGIONS], f->v, f->error, truth);
	}
	for (i = 0; i < n->nr_kernels; i++)
		judge_kernel(scores, p, run, place, n->first_kernel + i);
}

/* If samples are short, steps are long enough to have their own loads. */
static void judge_loads(struct score *s, const struct program *p, const struct run *run)
{
	const struct sonde_cells *c = run->c;
	size_t i, k = 0;

	for (i = 0; i < p->steps.nr; i++) {
		uint64_t begin = p->m.r->ranges.at[p->steps.at[i]].time.begin_ns;
		const struct sonde_entry_load *load;

		while (c->entries.at[k].begin_ns != begin) /* those of `step` are in order of time */
			k = k + 1 < c->entries.nr ? k + 1 : 0;
		load = sonde_cells_load(c, &c->entries.at[k]);
		if (load)
			judge(s, load->v[0], SONDE_WITHIN_95 * load->error[0], p->loads.at[i]);
	}
}

static void judge_situation(struct score *scores, const struct situation *s, int programs, int steps)
{
	uint32_t place;
	int seed;

	for (seed = 1; seed <= programs; seed++) {
		struct program p;
		struct run run;

		make_program(&p, s, seed, steps);
		aggregate(&run, p.m.r, NULL);
		for (place = 0; place < NR_PLACES + (s->side_ns[0] > 0 ? 1 : 0); place++)
			judge_place(scores, &p, &run, place);
		if (s->is_exact) /* the load of a step is what its samples counted */
			judge_loads(&scores[LOADS], &p, &run);
		release(&run);
		release_program(&p);
	}
}

static void show(struct score *scores, const char *name)
{
	size_t i;

	printf("%-26s", name);
	for (i = 0; i < NR_SCORES; i++)
		if (scores[i].widths.nr)
			printf("  %5.1f %% of %5zu %+5.1f ±%5.1f", 100 * held(&scores[i]), scores[i].widths.nr,
				100 * scores[i].off / (double)scores[i].widths.nr, 100 * median(&scores[i]));
		else
			printf("  %27s", "-");
	printf("\n");
	fflush(stdout);
}

static void clear(struct score *scores)
{
	size_t i;

	for (i = 0; i < NR_SCORES; i++)
		sonde_vec_release(&scores[i].widths);
	memset(scores, 0, NR_SCORES * sizeof(*scores));
}

static void show_head(void)
{
	printf("%-26s  %-27s  %-27s  %-27s  %s\n", "held, off, median width, %", "regions", "kernels", "hard kernels", "steps");
}

/* Checks the limits of a case, which is named by the beginning of its name. */
static void holds(struct score *scores, const char *name)
{
	size_t i = 0;

	while (strncmp(situations[i].name, name, strlen(name)) != 0)
		i++;
	judge_situation(scores, &situations[i], situations[i].programs,
		situations[i].steps < TEST_STEPS ? situations[i].steps : TEST_STEPS);
	show(scores, situations[i].name);
	assert_true(scores[REGIONS].widths.nr >= 48);
	assert_true(held(&scores[REGIONS]) >= BAR && held(&scores[KERNELS]) >= BAR);
}

static void test_cover__good_cases_stay_narrow(void **state)
{
	struct score scores[NR_SCORES] = {0};

	(void)state;
	holds(scores, "good: 150 us");
	assert_true(median(&scores[REGIONS]) < 0.05 && median(&scores[KERNELS]) < 0.15);
	clear(scores);
}

/* For each counter, unmixing finds out whether longer launches count more. */
static void test_cover__kernels_of_varying_length_beside_another_stream(void **state)
{
	struct score scores[NR_SCORES] = {0};

	(void)state;
	holds(scores, "a: 20-60 us");
	assert_true(scores[HARD].widths.nr >= 48);
	assert_true(held(&scores[HARD]) >= BAR);
	assert_true(median(&scores[HARD]) < 0.02 && median(&scores[REGIONS]) < 0.06);
	clear(scores);
}

/* The length of work that overlaps with an entry also varies. */
static void test_cover__steps_beside_another_stream(void **state)
{
	struct score scores[NR_SCORES] = {0};

	(void)state;
	holds(scores, "a: 50 us, exact");
	assert_true(scores[LOADS].widths.nr >= 480);
	assert_true(held(&scores[LOADS]) >= BAR);
	assert_true(median(&scores[LOADS]) < 0.03);
	clear(scores);
}

static void test_cover__a_kernel_with_two_shapes(void **state)
{
	struct score scores[NR_SCORES] = {0};

	(void)state;
	holds(scores, "b: two shapes");
	assert_true(held(&scores[HARD]) >= BAR);
	assert_true(median(&scores[REGIONS]) < 0.2);
	clear(scores);
}

static void test_cover__few_samples(void **state)
{
	struct score scores[NR_SCORES] = {0};

	(void)state;
	holds(scores, "c: 1 ms");
	assert_true(median(&scores[REGIONS]) < 0.6);
	clear(scores);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cover__good_cases_stay_narrow),
		cmocka_unit_test(test_cover__kernels_of_varying_length_beside_another_stream),
		cmocka_unit_test(test_cover__steps_beside_another_stream),
		cmocka_unit_test(test_cover__a_kernel_with_two_shapes),
		cmocka_unit_test(test_cover__few_samples),
	};
	struct score scores[NR_SCORES] = {0};
	size_t i;

	show_head();
	for (i = 0; argc > 1 && i < NR_SITUATIONS; i++) {
		judge_situation(scores, &situations[i], (int)strtol(argv[1], NULL, 10), situations[i].steps);
		show(scores, situations[i].name);
		clear(scores);
	}
	return argc > 1 ? 0 : cmocka_run_group_tests_name("unmix_cover", tests, NULL, NULL);
}
