/*
 * Samples and launches → figures of regions, kernels and totals: a program of which
 * is known what every launch counted, and the samples a device would have given.
 */
#include "base/alloc.h"
#include "catalogue/attributes.h"
#include "fold/partial.h"
#include "fold/partial_int.h"
#include "fold/sampled.h"
#include "fold/timeline.h"

#include "treed.h"

#define INSTRUCTIONS "sm__inst_executed.sum"
#define READ	     "dram__bytes_read.sum"
#define CLOCK	     "sm__cycles_elapsed.avg.per_second"
#define FMA_PCT	     "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_elapsed"
#define ALU_PCT	     "sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_elapsed"
#define L2_PCT	     "lts__t_sectors.avg.pct_of_peak_sustained_elapsed"
#define ACTIVE_PCT   "sm__cycles_active.avg.pct_of_peak_sustained_elapsed"

#define NR_STEPS  400
#define SAMPLE_NS 50000
#define SMS	  132
#define CLOCK_KHZ 1500000
#define SLICES	  94 /* of L2, each at 1.2 GHz */
#define OFFSET_NS 250 /* work is done so long before its stamps: see docs/counters.md */

enum { ELAPSED, ACTIVE, EXECUTED, DRAM, FMA, L2, L2_ELAPSED, NR_COUNTERS };
static const char *const roles[NR_COUNTERS] = {
	"sm.elapsed_cycles", "sm.active_cycles", "sm.instructions", "dram.read_bytes",
	"fma.instructions", "l2.sectors", "l2.elapsed_cycles"};

/* What is sampled of the program. */
struct sampling {
	double dram_factor;  /* 1, or what no device can do */
	bool no_elapsed;     /* the series lacks the clock */
	bool is_in_two;	     /* two samplers, the second one first in the inputs */
	uint64_t from, upto; /* samples there are: of so many thousandths of the run */
	bool is_elsewhere;   /* on another device */
	bool ends_early;     /* in the first step of the second half */
	bool is_by_count;    /* active cycles are what a launch counts */
	bool slows_down;     /* from the second half on, whose steps are late */
};

struct program {
	struct made m;
	uint64_t now, seed;
	SONDE_VEC(double) counts; /* instructions by launch */
	double first, second, b, noise, other; /* truth */
	uint32_t foreign; /* the second process */
	uint64_t half_ns; /* when `late` steps begin */
};

static uint64_t random_ns(struct program *p, uint64_t most)
{
	p->seed = p->seed * 6364136223846793005u + 1442695040888963407u;
	return (p->seed >> 33) % most;
}

static double launch(struct program *p, uint32_t range, const char *kernel, uint64_t ns, double n)
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

static void add_device(struct program *p)
{
	struct sonde_attribute *at = sonde_arena_calloc(&p->m.r->arena, 4, sizeof(*at));
	struct sonde_device d = {.id = 0,
		.process = p->m.process,
		.name = SONDE_STR("made GPU"),
		.uuid = SONDE_STR("GPU-1"),
		.attributes = at,
		.nr_attributes = 4};

	at[0] = (struct sonde_attribute){.name = SONDE_STR(SONDE_ATTR_SMS), .value = SMS};
	at[1] = (struct sonde_attribute){.name = SONDE_STR(SONDE_ATTR_CLOCK), .value = CLOCK_KHZ};
	at[2] = (struct sonde_attribute){
		.name = SONDE_STR(SONDE_ATTR_MEMORY_CLOCK), .value = 2000000};
	at[3] = (struct sonde_attribute){.name = SONDE_STR(SONDE_ATTR_BUS_WIDTH), .value = 4096};
	assert_true(sonde_records__device(p->m.r, &d));
}

/* In `a` one kernel runs twice, the second time with three times the work in the same time. */
static void run_step(struct program *p, uint32_t home, const char *label)
{
	const char *gemm = *label == 'l' ? "late_gemm" : "gemm"; /* of one name they are pooled */
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

static void count_into(const struct program *p, const struct sonde_record_time *s, double *row,
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
						: 0.5 * SMS * CLOCK_KHZ * 1e-6 * (end - begin);
		row[EXECUTED] += part * p->counts.at[i];
		row[L2] += 0.2 * 3 * SLICES * 1.2 * (end - begin);
		row[FMA] += 0.1 * SMS * CLOCK_KHZ * 1e-6 * (end - begin);
		row[DRAM] += how->dram_factor * 2 * part * p->counts.at[i];
	}
}

static struct sonde_series *add_series(struct program *p, const struct sampling *how)
{
	struct sonde_series *s = sonde_vec_push(&p->m.r->series);
	size_t i;

	assert_non_null(s);
	s->uuid = how->is_elsewhere ? SONDE_STR("GPU-2") : SONDE_STR("GPU-1");
	s->host = SONDE_STR("host");
	s->interval_ns = SAMPLE_NS;
	for (i = how->no_elapsed ? 1 : 0; i < NR_COUNTERS; i++) {
		struct sonde_counter *c = sonde_vec_push(&s->counters);

		assert_non_null(c);
		c->role = c->name = sonde_records__string(p->m.r, sonde_str_from(roles[i]));
		c->peak = i == FMA ? 2 * SMS : i == L2 ? 3 * SLICES : i == L2_ELAPSED ? SLICES : 0;
	}
	return s;
}

static void sample(struct program *p, const struct sampling *how)
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
		slot = sonde_vec_push(&s->times);
		assert_non_null(slot);
		*slot = (struct sonde_sample_time){time.start_ns, time.end_ns};
		count_into(p, &time, row, &launch, how);
		for (k = first; k < NR_COUNTERS; k++) {
			double *value = sonde_vec_push(&s->values);

			assert_non_null(value);
			*value = row[k];
		}
	}
}

static void run_program(struct program *p, const struct sampling *how)
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

static void end_program(struct program *p)
{
	sonde_vec_release(&p->counts);
	made_release(&p->m);
}

static const struct sampling whole = {.dram_factor = 1, .upto = 1000};

/* With all kernels but `noise` selected. */
static struct sonde_cells *fold_part(struct program *p)
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

static void grow_tree(struct run *run, struct sonde_cells *part)
{
	const struct sonde_choice choice = {0};

	assert_int_equal(sonde_cells_unite(&run->c, &part, 1, NULL), 0);
	assert_int_equal(sonde_tree_build(&run->t, run->c, &choice, NULL), 0);
	assert_int_equal(sonde_figures_init(&run->f, run->t, NULL), 0);
}

static void fold_program(struct run *run, struct program *p)
{
	grow_tree(run, fold_part(p));
}

/* The truth lies in the interval, and the interval says something. */
static void holds(const struct sonde_figure *f, double truth)
{
	assert_int_equal(f->quality, SONDE_QUALITY_SAMPLED);
	if (!(f->low <= truth && truth <= f->high) || !(f->error < 0.1 * truth))
		fail_msg("%g ± %g is not %g", f->v, f->error, truth);
	near(f->high - f->v, f->error);
}

static uint32_t index_of(const struct run *run, const char *id)
{
	const struct sonde_report *r = &run->t->reports.at[0];

	return (uint32_t)(node_named(run, r, id) - r->nodes.at);
}

static void holds_region(struct run *run, const char *id, double truth)
{
	holds(figure(run, 0, SONDE_PART_INCLUSIVE, index_of(run, id), INSTRUCTIONS), truth);
}

static bool says(const struct run *run, const char *text)
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

static bool has_column(const struct run *run, const char *name)
{
	return sonde_tree_column(run->t, name) != SONDE_NONE;
}

static void test_sampled__figures_hold_what_launches_counted(void **state)
{
	struct program p;
	struct run run;

	(void)state;
	run_program(&p, &whole);
	fold_program(&run, &p);
	holds_region(&run, "step/a", p.first + p.second);
	holds_region(&run, "step/b", p.b); /* without the noise, which has its own part of them */
	holds_region(&run, "step", p.first + p.second + p.b);
	holds(figure(&run, 0, SONDE_PART_TOTAL, 0, INSTRUCTIONS), p.first + p.second + p.b);
	holds(figure(&run, 1, SONDE_PART_OUTSIDE, 0, INSTRUCTIONS), p.other);
	holds(figure(&run, 2, SONDE_PART_OUTSIDE, 0, INSTRUCTIONS), p.other);
	holds(figure(&run, 2, SONDE_PART_TOTAL, 0, INSTRUCTIONS), p.first + p.second + p.b);
	holds(figure(&run, 0, SONDE_PART_INCLUSIVE, index_of(&run, "step/a"), READ),
		2 * (p.first + p.second));
	holds(figure(&run, 0, SONDE_PART_INCLUSIVE, index_of(&run, "step/a"), ACTIVE_PCT), 50);
	/* A tenth of an instruction in a cycle, where two are the device's peak. */
	holds(figure(&run, 0, SONDE_PART_INCLUSIVE, index_of(&run, "step/a"), FMA_PCT), 5);
	/* Three sectors in a cycle of a slice are the peak, whatever the clock of the SMs. */
	holds(figure(&run, 0, SONDE_PART_INCLUSIVE, index_of(&run, "step/a"), L2_PCT), 20);
	assert_false(has_column(&run, ALU_PCT));
	release(&run);
	end_program(&p);
}

/* Of a kernel that runs twice in an entry, with other work each time, the cell has both. */
static void test_sampled__turns_of_a_kernel_are_classes(void **state)
{
	const struct sonde_node *n;
	struct program p;
	struct run run;

	(void)state;
	run_program(&p, &whole);
	fold_program(&run, &p);
	n = node_named(&run, &run.t->reports.at[0], "step/a");
	assert_int_equal(n->nr_kernels, 1);
	holds(figure(&run, 0, SONDE_PART_KERNEL, n->first_kernel, INSTRUCTIONS), p.first + p.second);
	assert_int_equal(
		run.c->cells.at[run.t->reports.at[0].cells.at[n->first_cell]].nr_classes, 2);
	release(&run);
	end_program(&p);
}

/* Percentages are of the cycles there were. */
static void test_sampled__each_region_has_its_clock(void **state)
{
	struct sampling how = whole;
	const struct sonde_figure *f;
	struct program p;
	struct run run;

	(void)state;
	how.slows_down = true;
	run_program(&p, &how);
	fold_program(&run, &p);
	f = figure(&run, 0, SONDE_PART_INCLUSIVE, index_of(&run, "step"), CLOCK);
	assert_true(fabs(f->v - CLOCK_KHZ * 1e3) < CLOCK_KHZ * 1e3 * 0.001);
	f = figure(&run, 0, SONDE_PART_INCLUSIVE, index_of(&run, "late"), CLOCK);
	assert_true(fabs(f->v - 0.8 * CLOCK_KHZ * 1e3) < CLOCK_KHZ * 1e3 * 0.001);
	holds(figure(&run, 0, SONDE_PART_INCLUSIVE, index_of(&run, "step/a"), ACTIVE_PCT), 50);
	holds(figure(&run, 0, SONDE_PART_INCLUSIVE, index_of(&run, "late/a"), ACTIVE_PCT), 50 / 0.8);
	release(&run);
	end_program(&p);
}

#define NR_EPOCHS 40
#define NR_IN_EPOCH 60

/* Epochs of one kernel, each busier than the one before. */
static void run_epochs(struct program *p, double *truth)
{
	struct sampling how = whole;
	int i, k;

	*p = (struct program){.now = 1000000, .seed = 7};
	how.is_by_count = true;
	made_init(&p->m);
	add_device(p);
	for (i = 0; i < NR_EPOCHS; i++) {
		uint32_t epoch = made_push(&p->m, MADE_ROOT, "epoch");
		uint64_t from = p->now;
		double busy = 0.3 + 0.01 * i;

		for (k = 0; k < NR_IN_EPOCH; k++)
			launch(p, epoch, "work", 10000, busy * SMS * CLOCK_KHZ * 1e-6 * 10000);
		p->m.r->ranges.at[epoch].time = (struct sonde_range_time){from, p->now, 0};
		truth[i] = 100 * busy;
	}
	p->m.r->has_record_times = p->m.r->has_range_times = true;
	sample(p, &how);
}

static void test_sampled__long_entries_have_figures_of_their_own(void **state)
{
	double truth[NR_EPOCHS];
	struct program p;
	struct run run;
	int i, nr_held = 0;

	(void)state;
	run_epochs(&p, truth);
	aggregate(&run, p.m.r, NULL);
	assert_int_equal(run.c->entries.nr, NR_EPOCHS);
	assert_true(run.c->loads.nr >= NR_EPOCHS - 1); /* the last one may lack a sample */
	for (i = 0; i < NR_EPOCHS - 1; i++) {
		const struct sonde_entry_load *load = sonde_cells_load(run.c, &run.c->entries.at[i]);

		assert_non_null(load);
		assert_true(fabs(load->v[0] - truth[i]) < 1);
		nr_held += fabs(load->v[0] - truth[i]) <= SONDE_WITHIN_95 * load->error[0];
		assert_true(isnan(load->v[1])); /* tensor cycles were not sampled */
	}
	if (nr_held < 0.9 * NR_EPOCHS)
		fail_msg("%d of %d intervals hold the truth", nr_held, NR_EPOCHS);
	release(&run);
	end_program(&p);
}

static void test_sampled__what_cannot_be_is_refused_and_said(void **state)
{
	struct sampling how = whole;
	struct program p;
	struct run run;

	(void)state;
	how.dram_factor = 1e6;
	run_program(&p, &how);
	fold_program(&run, &p);
	assert_false(has_column(&run, READ));
	assert_true(says(&run, "dram.read_bytes is not shown"));
	holds_region(&run, "step/a", p.first + p.second);
	release(&run);
	end_program(&p);
}

/* A sampler that was killed: the rest of the run is like what was seen of it. */
static void test_sampled__half_a_series_will_do(void **state)
{
	struct sampling how = whole;
	struct program p;
	struct run run;

	(void)state;
	how.upto = 500;
	run_program(&p, &how);
	fold_program(&run, &p);
	holds_region(&run, "step/a", p.first + p.second);
	assert_true(says(&run, "of their time sampled"));
	release(&run);
	end_program(&p);
}

/* A hundred launches are not known by two or three of them, nor is a sum of which half is not known. */
static void test_sampled__what_was_hardly_seen_has_no_figures(void **state)
{
	struct sampling how = whole;
	struct program p;
	struct run run;

	(void)state;
	how.ends_early = true;
	run_program(&p, &how);
	fold_program(&run, &p);
	holds_region(&run, "step/a", (p.first + p.second) / 2);
	assert_true(isnan(
		figure(&run, 0, SONDE_PART_INCLUSIVE, index_of(&run, "late/a"), INSTRUCTIONS)->v));
	assert_true(isnan(figure(&run, 0, SONDE_PART_TOTAL, 0, INSTRUCTIONS)->v));
	release(&run);
	end_program(&p);
}

/* A second sampler took over; its file comes first by name. */
static void test_sampled__samples_are_put_in_order(void **state)
{
	struct sampling how = whole;
	struct program p;
	struct run run;

	(void)state;
	how.is_in_two = true;
	run_program(&p, &how);
	fold_program(&run, &p);
	holds_region(&run, "step/a", p.first + p.second);
	release(&run);
	end_program(&p);
}

static void test_sampled__without_the_clock_the_device_tells_it(void **state)
{
	struct sampling how = whole;
	struct program p;
	struct run run;

	(void)state;
	how.no_elapsed = true;
	run_program(&p, &how);
	fold_program(&run, &p);
	holds_region(&run, "step/a", p.first + p.second);
	holds(figure(&run, 0, SONDE_PART_INCLUSIVE, index_of(&run, "step/a"), ACTIVE_PCT), 50);
	assert_true(says(&run, "1500 MHz"));
	release(&run);
	end_program(&p);
}

static void test_sampled__no_samples_no_figures(void **state)
{
	struct sampling elsewhere = whole, later = whole;
	const struct sampling *const hows[] = {NULL, &elsewhere, &later};
	struct program p;
	struct run run;
	size_t i;

	(void)state;
	elsewhere.is_elsewhere = true;
	later.from = 2000;
	later.upto = 2500;
	for (i = 0; i < 3; i++) {
		run_program(&p, hows[i]);
		fold_program(&run, &p);
		assert_false(has_column(&run, INSTRUCTIONS));
		assert_int_equal(says(&run, "no launch ran during any sample"), i == 2);
		assert_int_equal(says(&run, "nothing was launched there"), i == 1);
		release(&run);
		end_program(&p);
	}
}

/* The program as a partial report. */
static struct sonde_buf written(struct program *p)
{
	struct sonde_cells **slot;
	struct sonde_parts parts = {0};
	struct sonde_sink to;

	slot = sonde_vec_push(&parts.at);
	assert_non_null(slot);
	*slot = fold_part(p);
	sonde_sink_init_string(&to);
	assert_int_equal(sonde_partial_write(&parts, &to, NULL), 0);
	sonde_parts_release(&parts);
	return to.buf;
}

/* Figures of a partial report; false when it cannot be read. */
static bool read_back(struct run *run, const struct sonde_buf *file)
{
	struct sonde_parts parts = {0};

	if (sonde_partial_read(&parts, sonde_buf_view(file), "x.sondecells", NULL)) {
		sonde_parts_release(&parts);
		return false;
	}
	assert_int_equal(parts.at.nr, 1);
	grow_tree(run, parts.at.at[0]);
	sonde_vec_release(&parts.at);
	return true;
}

static void test_sampled__a_partial_report_has_the_same_figures(void **state)
{
	struct sampling how = whole;
	struct sonde_figure want, got;
	struct run run, other;
	struct sonde_buf file;
	struct program p;

	(void)state;
	how.dram_factor = 1e6; /* a refusal is kept too */
	run_program(&p, &how);
	fold_program(&run, &p);
	file = written(&p);
	assert_true(read_back(&other, &file));
	assert_false(has_column(&other, READ));
	want = *figure(&run, 0, SONDE_PART_INCLUSIVE, index_of(&run, "step/a"), INSTRUCTIONS);
	got = *figure(&other, 0, SONDE_PART_INCLUSIVE, index_of(&other, "step/a"), INSTRUCTIONS);
	assert_true(got.v == want.v && got.error == want.error && want.error > 0);
	release(&run);
	release(&other);
	sonde_buf_release(&file);
	end_program(&p);
}

/* Where the section of sampled counters begins; its head is in `*s`. */
static size_t find_section(const struct sonde_buf *file, struct sonde_partial_section *s)
{
	size_t at = sizeof(struct sonde_partial_head);

	for (; at < file->n; at += sizeof(*s) + s->nr_bytes) {
		memcpy(s, file->p + at, sizeof(*s));
		if (s->kind == SONDE_PARTIAL_SAMPLED)
			return at;
	}
	fail_msg("no sampled counters in the file");
	return 0;
}

/* Every byte is changed, with a checksum that fits: what is read leads somewhere. */
static void test_sampled__damage_is_found_or_harmless(void **state)
{
	struct sonde_partial_section s = {0};
	size_t at, i, nr_found = 0;
	struct sonde_buf file;
	struct program p;
	struct run run;

	(void)state;
	run_program(&p, &whole);
	file = written(&p);
	at = find_section(&file, &s);
	for (i = 0; i < s.nr_bytes; i += i < 400 ? 1 : 7) {
		char *byte = file.p + at + sizeof(s) + i, was = *byte;

		*byte = (char)~was;
		s.check = sonde_partial__check(&s, file.p + at + sizeof(s));
		memcpy(file.p + at, &s, sizeof(s));
		if (read_back(&run, &file)) {
			figure(&run, 0, SONDE_PART_TOTAL, 0, TIME);
			release(&run);
		} else {
			nr_found++;
		}
		*byte = was;
	}
	assert_true(nr_found > 100);
	sonde_buf_release(&file);
	end_program(&p);
}

/* The mean of a curve by time, after checks that its points are in order. */
static double mean_of(const struct sonde_timeline *t, const struct sonde_timeline_curve *c)
{
	const struct sonde_timeline_point *p = &t->points.at[c->first];
	double sum = 0, ns = 0;
	size_t i;

	for (i = 0; i < c->nr; i++) {
		assert_true(p[i].start_ns < p[i].end_ns && (!i || p[i - 1].end_ns <= p[i].start_ns));
		sum += p[i].v * (double)(p[i].end_ns - p[i].start_ns);
		ns += (double)(p[i].end_ns - p[i].start_ns);
	}
	return sum / ns;
}

static void test_sampled__counters_over_time_are_curves(void **state)
{
	struct sampling how = whole;
	const struct sonde_timeline *t;
	double busy = 0;
	struct program p;
	struct run run;
	size_t i;

	(void)state;
	how.is_in_two = true;
	run_program(&p, &how);
	fold_program(&run, &p);
	t = run.c->timeline;
	assert_int_equal(t->curves.nr, 1); /* nobody sampled tensor cycles, or written bytes */
	assert_true(sonde_str_is(t->curves.at[0].name, "SM active %"));
	assert_int_equal(t->curves.at[0].nr_scopes, 2); /* both processes use the device */
	for (i = 0; i < p.m.r->records.nr; i++)
		busy += (double)(p.m.r->records.at[i].time.end_ns - p.m.r->records.at[i].time.start_ns);
	assert_true(fabs(mean_of(t, &t->curves.at[0]) - 50 * busy / (double)p.now) < 0.2);
	release(&run);
	end_program(&p);
}

/* Counters of other tools have names only; they are shown, thinned, and not split. */
static void test_sampled__counters_without_a_role_are_curves_too(void **state)
{
	const struct sonde_timeline *t;
	struct sonde_series *s;
	struct program p;
	struct run run;
	size_t i, k;

	(void)state;
	run_program(&p, NULL);
	s = sonde_vec_push(&p.m.r->series);
	assert_non_null(s);
	for (k = 0; k < 2; k++) {
		struct sonde_counter *c = sonde_vec_push(&s->counters);

		*c = (struct sonde_counter){SONDE_NONE,
			sonde_records__string(p.m.r, k ? SONDE_STR("flat") : SONDE_STR("GR Active %")), 0};
	}
	for (i = 0; i < 10000; i++) {
		struct sonde_sample_time *time = sonde_vec_push(&s->times);

		*time = (struct sonde_sample_time){i * 1000, i * 1000 + 1000};
		*(double *)sonde_vec_push(&s->values) = i == 5 ? NAN : (double)(i % 2);
		*(double *)sonde_vec_push(&s->values) = 7;
	}
	fold_program(&run, &p);
	t = run.c->timeline;
	assert_int_equal(t->curves.nr, 1); /* one never changes */
	assert_true(sonde_str_is(t->curves.at[0].name, "GR Active %"));
	assert_true(t->curves.at[0].nr > 1000 && t->curves.at[0].nr <= 4000);
	assert_true(fabs(mean_of(t, &t->curves.at[0]) - 0.5) < 0.01);
	assert_false(has_column(&run, INSTRUCTIONS));
	assert_int_equal(run.c->sampled.nr, 0);
	release(&run);
	end_program(&p);
}

/* What was calibrated is used; where the samples contradict it the report says so. */
static void test_sampled__a_wrong_offset_is_noticed(void **state)
{
	static const int64_t offsets[] = {-OFFSET_NS, 40000, -90000};
	struct program p;
	struct run run;
	size_t i;

	(void)state;
	for (i = 0; i < 3; i++) {
		run_program(&p, &whole);
		p.m.r->series.at[0].is_calibrated = true;
		p.m.r->series.at[0].offset_ns = offsets[i];
		fold_program(&run, &p);
		if (i == 0)
			holds_region(&run, "step/a", p.first + p.second);
		assert_int_equal(says(&run, "the clocks disagree"), i > 0);
		assert_int_equal(says(&run, "µs, as calibrated"), i > 0);
		release(&run);
		end_program(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sampled__figures_hold_what_launches_counted),
		cmocka_unit_test(test_sampled__turns_of_a_kernel_are_classes),
		cmocka_unit_test(test_sampled__each_region_has_its_clock),
		cmocka_unit_test(test_sampled__long_entries_have_figures_of_their_own),
		cmocka_unit_test(test_sampled__what_cannot_be_is_refused_and_said),
		cmocka_unit_test(test_sampled__half_a_series_will_do),
		cmocka_unit_test(test_sampled__what_was_hardly_seen_has_no_figures),
		cmocka_unit_test(test_sampled__samples_are_put_in_order),
		cmocka_unit_test(test_sampled__without_the_clock_the_device_tells_it),
		cmocka_unit_test(test_sampled__no_samples_no_figures),
		cmocka_unit_test(test_sampled__a_partial_report_has_the_same_figures),
		cmocka_unit_test(test_sampled__counters_over_time_are_curves),
		cmocka_unit_test(test_sampled__counters_without_a_role_are_curves_too),
		cmocka_unit_test(test_sampled__a_wrong_offset_is_noticed),
		cmocka_unit_test(test_sampled__damage_is_found_or_harmless),
	};

	return cmocka_run_group_tests_name("sampled", tests, NULL, NULL);
}
