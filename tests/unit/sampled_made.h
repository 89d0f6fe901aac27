/*
 * A synthetic program with known counts of every launch, and the samples that a device would have given for it.
 * They are folded to figures, whose intervals must contain the known counts.
 */
#ifndef TESTS_SAMPLED_MADE_H
#define TESTS_SAMPLED_MADE_H

#include "catalogue/attributes.h"
#include "fold/sampled.h"

#include "treed.h"

#define INSTRUCTIONS "sm__inst_executed.sum"
#define READ	     "dram__bytes_read.sum"
#define CLOCK	     "sm__cycles_elapsed.avg.per_second"
#define FMA_PCT	     "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_elapsed"
#define ALU_PCT	     "sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_elapsed"
#define TENSOR_PCT   "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"
#define L1_PCT	     "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed"
#define L2_PCT	     "lts__t_sectors.avg.pct_of_peak_sustained_elapsed"
#define ACTIVE_PCT   "sm__cycles_active.avg.pct_of_peak_sustained_elapsed"

#define NR_STEPS  400
#define SAMPLE_NS 50000
#define SMS	  132
#define CLOCK_KHZ 1500000
#define SLICES	  94 /* slices of L2, each at 1.2 GHz */
#define OFFSET_NS 250 /* how long before its timestamps work is done: see docs/counters-internals.md */

enum { ELAPSED, ACTIVE, EXECUTED, DRAM, FMA, L2, L2_ELAPSED, WRITTEN, TENSOR, L1, NR_COUNTERS };
static const char *const roles[NR_COUNTERS] = {
	"sm.elapsed_cycles", "sm.active_cycles", "sm.instructions", "dram.read_bytes",
	"fma.instructions", "l2.sectors", "l2.elapsed_cycles", "dram.write_bytes",
	"tensor.cycles", "l1.wavefronts"};

/* Names of counters without a role. Elapsed cycles are among them, and a counter that is not a sum. */
static const char *const names[NR_COUNTERS] = {
	"x__cycles_elapsed.sum", "x__active.sum", "TPC.Group.x__inst_executed.sum", "x__requests.sum", "Some Throughput %"};

/* How the program is sampled. */
struct sampling {
	double dram_factor;  /* 1, or a factor that gives more DRAM traffic than any device can do */
	double active;	     /* share of the cycles in which SMs work while something runs; 0 = half */
	bool no_elapsed;     /* the series has no elapsed cycles */
	bool is_in_two;	     /* there are two samplers, the second one first in the inputs */
	uint64_t from, upto; /* the part of the run that has samples, in thousandths */
	bool is_elsewhere;   /* the samples are of another device */
	bool ends_early;     /* samples end in the first step of the second half */
	bool is_by_count;    /* active cycles are what a launch counts */
	bool slows_down;     /* the clock slows down in the second half, whose steps are called `late` */
	bool has_all;	     /* all counters are sampled; else those before WRITTEN */
	bool is_unnamed;     /* counters have NVIDIA's names only, and no roles */
};

struct program {
	struct made m;
	uint64_t now, seed;
	SONDE_VEC(double) counts; /* instructions by launch */
	double first, second, b, noise, other; /* the true values */
	uint32_t foreign; /* the second process */
	uint64_t half_ns; /* when the `late` steps begin */
};

static inline uint64_t random_ns(struct program *p, uint64_t most)
{
	p->seed = p->seed * 6364136223846793005u + 1442695040888963407u;
	return (p->seed >> 33) % most;
}

static inline double launch(struct program *p, uint32_t range, const char *kernel, uint64_t ns, double n)
{
	double *count = sonde_vec_push(&p->counts);
	struct sonde_record *rec;

	made_launch(&p->m, kernel, range != MADE_ROOT, &range);
	made_metric(&p->m, TIME, (double)ns);
	rec = &p->m.r->records.at[p->m.r->records.nr - 1];
	p->now += 500 + random_ns(p, 9000);
	rec->time = (struct sonde_record_time){p->now, p->now + ns};
	p->now += ns;
	assert_non_null(count);
	*count = n;
	return n;
}

static inline void add_device(struct program *p)
{
	struct sonde_attribute *at = sonde_arena_calloc(&p->m.r->arena, 4, sizeof(*at));
	struct sonde_device d = {.id = 0,
		.process = p->m.process,
		.name = SONDE_STR("made GPU"),
		.uuid = SONDE_STR("GPU-1"),
		.cc_major = 9,
		.attributes = at,
		.nr_attributes = 4};

	at[0] = (struct sonde_attribute){.name = SONDE_STR(SONDE_ATTR_SMS), .value = SMS};
	at[1] = (struct sonde_attribute){.name = SONDE_STR(SONDE_ATTR_CLOCK), .value = CLOCK_KHZ};
	at[2] = (struct sonde_attribute){
		.name = SONDE_STR(SONDE_ATTR_MEMORY_CLOCK), .value = 2000000};
	at[3] = (struct sonde_attribute){.name = SONDE_STR(SONDE_ATTR_BUS_WIDTH), .value = 4096};
	sonde_records__device(p->m.r, &d);
}

/* In `a` one kernel runs twice, the second time with three times the work in the same time. */
static inline void run_step(struct program *p, uint32_t home, const char *label)
{
	const char *gemm = *label == 'l' ? "late_gemm" : "gemm"; /* kernels of one name would be pooled */
	uint32_t step = made_push(&p->m, MADE_ROOT, label), a = made_push(&p->m, step, "a"), b;

	p->first += launch(p, a, gemm, 8000, 1e6);
	p->second += launch(p, a, gemm, 8000, 3e6);
	b = made_push(&p->m, step, "b");
	p->b += launch(p, b, gemm, 12000, 2e6);
	p->noise += launch(p, b, "noise", 6000, 1.5e6);
	p->m.process = p->foreign;
	p->other += launch(p, MADE_ROOT, "other", 9000, 4e6);
	p->m.process = home;
}

static inline void count_into(const struct program *p, const struct sonde_record_time *s, double *row,
	size_t *from, const struct sampling *how)
{
	const struct sonde_records *r = p->m.r;
	double length = (double)(s->end_ns - s->start_ns);
	size_t i;

	row[ELAPSED] = SMS * CLOCK_KHZ * 1e-6 * length;
	row[L2_ELAPSED] = SLICES * 1.2 * length;
	if (how->slows_down && s->start_ns >= p->half_ns)
		row[ELAPSED] *= 0.8;
	while (*from < r->records.nr && r->records.at[*from].time.end_ns - OFFSET_NS <= s->start_ns)
		++*from;
	for (i = *from; i < r->records.nr; i++) {
		const struct sonde_record_time *t = &r->records.at[i].time;
		double begin = fmax((double)(t->start_ns - OFFSET_NS), (double)s->start_ns);
		double end = fmin((double)(t->end_ns - OFFSET_NS), (double)s->end_ns);
		double part = (end - begin) / (double)(t->end_ns - t->start_ns);

		if (end <= begin)
			break;
		row[ACTIVE] += how->is_by_count ? part * p->counts.at[i]
						: (how->active > 0 ? how->active : 0.5) * SMS * CLOCK_KHZ * 1e-6 * (end - begin);
		row[EXECUTED] += part * p->counts.at[i];
		row[L2] += 0.2 * 3 * SLICES * 1.2 * (end - begin);
		row[FMA] += 0.1 * SMS * CLOCK_KHZ * 1e-6 * (end - begin);
		row[TENSOR] += 0.4 * SMS * CLOCK_KHZ * 1e-6 * (end - begin);
		row[L1] += 0.7 * SMS * CLOCK_KHZ * 1e-6 * (end - begin);
		row[DRAM] += how->dram_factor * 2 * part * p->counts.at[i];
	}
}

static const double peaks[NR_COUNTERS] = {
	[FMA] = 2 * SMS, [L2] = 3 * SLICES, [L2_ELAPSED] = SLICES, [L1] = SMS};

static inline struct sonde_series *add_series(struct program *p, const struct sampling *how)
{
	struct sonde_series *s = sonde_push(&p->m.r->arena, &p->m.r->series);
	size_t i;

	assert_non_null(s);
	s->uuid = how->is_elsewhere ? SONDE_STR("GPU-2") : SONDE_STR("GPU-1");
	s->host = SONDE_STR("host");
	s->interval_ns = SAMPLE_NS;
	for (i = how->no_elapsed ? 1 : 0; i < (how->has_all ? NR_COUNTERS : WRITTEN); i++) {
		struct sonde_counter *c = sonde_push(&p->m.r->arena, &s->counters);

		assert_non_null(c);
		c->role = c->name = sonde_records__string(p->m.r, sonde_str_from(roles[i]));
		if (how->is_unnamed) {
			c->role = SONDE_NONE;
			c->name = sonde_records__string(p->m.r, sonde_str_from(names[i]));
		}
		c->peak = peaks[i];
	}
	return s;
}

static inline void sample(struct program *p, const struct sampling *how)
{
	uint64_t from = p->now / 1000 * how->from, upto = p->now / 1000 * how->upto, at, half;
	size_t launch = 0, first = how->no_elapsed ? 1 : 0, k;
	struct sonde_series *s;

	if (how->ends_early)
		upto = p->half_ns + SAMPLE_NS;
	half = how->is_in_two ? from + (upto - from) / 2 : 0;
	add_series(p, how);
	if (how->is_in_two)
		add_series(p, how);
	for (at = from; at + SAMPLE_NS < upto; at += SAMPLE_NS) {
		struct sonde_record_time time = {at, at + SAMPLE_NS};
		struct sonde_sample_time *slot;
		double row[NR_COUNTERS] = {0};

		s = &p->m.r->series.at[how->is_in_two && at < half ? 1 : 0];
		slot = sonde_push(&p->m.r->arena, &s->times);
		assert_non_null(slot);
		*slot = (struct sonde_sample_time){time.start_ns, time.end_ns};
		count_into(p, &time, row, &launch, how);
		for (k = first; k < first + s->counters.nr; k++) {
			double *value = sonde_push(&p->m.r->arena, &s->values);

			assert_non_null(value);
			*value = row[k];
		}
	}
}

static inline void run_program(struct program *p, const struct sampling *how)
{
	uint32_t home;
	int i;

	*p = (struct program){.now = 1000000, .seed = 7};
	made_init(&p->m);
	home = p->m.process;
	add_device(p);
	made_input(&p->m, "kernel", 2);
	p->foreign = p->m.process;
	add_device(p);
	p->m.process = home;
	for (i = 0; i < NR_STEPS; i++) {
		p->half_ns = i == NR_STEPS / 2 ? p->now : p->half_ns;
		run_step(p, home, how && (how->ends_early || how->slows_down) && i >= NR_STEPS / 2 ? "late" : "step");
	}
	p->m.r->has_record_times = true;
	if (how)
		sample(p, how);
}

static inline void end_program(struct program *p)
{
	sonde_vec_release(&p->counts);
	made_release(&p->m);
}

static const struct sampling whole = {.dram_factor = 1, .upto = 1000};

/* Folds the program with all kernels but `noise` selected. */
static inline struct sonde_cells *fold_part(struct program *p)
{
	static const char *const noise = "noise";
	struct sonde_fold_request request = {
		.selection.kernel_exclude = {&noise, 1}, .keeps_timeline = true};
	struct sonde_launches *l = NULL;
	struct sonde_cells *part = NULL;

	assert_int_equal(sonde_launches_build(&l, p->m.r, &request.selection, NULL), 0);
	assert_int_equal(sonde_cells_fold(&part, l, &request, NULL), 0);
	sonde_launches_free(l);
	return part;
}

static inline void grow_chosen_tree(struct run *run, struct sonde_cells *part, struct sonde_choice choice)
{
	assert_int_equal(sonde_cells_unite(&run->c, &part, 1, NULL), 0);
	assert_int_equal(sonde_tree_build(&run->t, run->c, &choice, NULL), 0);
	assert_int_equal(sonde_figures_init(&run->f, run->t, NULL), 0);
}

static inline void grow_tree(struct run *run, struct sonde_cells *part)
{
	grow_chosen_tree(run, part, (struct sonde_choice){0});
}

static inline void fold_program(struct run *run, struct program *p)
{
	grow_tree(run, fold_part(p));
}

/* Checks that the true value is in the interval, and that the interval is not too wide. */
static inline void holds(const struct sonde_figure *f, double truth)
{
	assert_int_equal(f->quality, SONDE_QUALITY_SAMPLED);
	if (!(f->low <= truth && truth <= f->high) || !(f->error < 0.1 * truth))
		fail_msg("%g ± %g is not %g", f->v, f->error, truth);
	near(f->high - f->v, f->error);
}

static inline uint32_t index_of(const struct run *run, const char *id)
{
	const struct sonde_report *r = &run->t->reports.at[0];

	return (uint32_t)(node_named(run, r, id) - r->nodes.at);
}

static inline void holds_region(struct run *run, const char *id, double truth)
{
	holds(figure(run, 0, SONDE_PART_INCLUSIVE, index_of(run, id), INSTRUCTIONS), truth);
}

static inline bool says(const struct run *run, const char *text)
{
	size_t i;

	for (i = 0; i < run->t->notes.texts.nr; i++) {
		struct sonde_str note = run->t->notes.texts.keys[i];
		char *z = strndup(note.p, note.n);
		bool is_there = z && strstr(z, text);

		free(z);
		if (is_there)
			return true;
	}
	return false;
}

static inline bool has_column(const struct run *run, const char *name)
{
	return sonde_tree_column(run->t, sonde_str_from(name)) != SONDE_NONE;
}

#endif
