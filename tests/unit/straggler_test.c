/* Comparison of ranks: planted stragglers are named, with what makes them slow; clocks are aligned. */
#include "treed.h"

#include "cellfile/cellfile.h"
#include "merge/merging.h"
#include "ranks/ranks_int.h"

#define US 1000.0
#define MS 1e6
#define NR_KERNELS 4 /* of a region in a step */
#define MOST_RANKS 16
#define MOST_STEPS 64

/* A job: `step` has `fwd`, `bwd` and an all-reduce, which ends for all when the last rank has arrived. */
struct job {
	unsigned nr, per_host, steps;
	unsigned slow_rank;	      /* 10 % more time in `fwd` … */
	double fwd, everything;	      /* … by factors, in `fwd` and everywhere */
	unsigned late_host, late_rank; /* waits before each step … */
	double late_ns;		       /* … so long */
	double host_offset_ns, drift;  /* of each host's clock to the one before */
	bool has_no_collective;
	bool is_cut_anywhere; /* captures have as many steps, each rank others */
	bool names_groups;	/* two communicators: even and odd ranks, as the framework says */
	bool splits_groups;	/* … which it does not */
	double ends[MOST_STEPS][2]; /* of each step's all-reduce, by communicator */
	struct made m;
	struct run run;
};

#define NOBODY 1000

static struct job job_of(unsigned nr, unsigned per_host, unsigned steps)
{
	return (struct job){.nr = nr, .per_host = per_host, .steps = steps, .slow_rank = NOBODY, .fwd = 1,
		.everything = 1, .late_host = NOBODY, .late_rank = NOBODY};
}

static unsigned group_of(const struct job *j, unsigned rank)
{
	return j->names_groups || j->splits_groups ? rank % 2 : 0;
}

/* The time of a kernel: it varies by one percent, in the same way in every run. */
static double kernel_ns(const struct job *j, unsigned rank, unsigned step, unsigned kernel, bool is_fwd)
{
	uint32_t key[4] = {rank, step, kernel, is_fwd};
	double noise = 0.99 + 0.02 * (double)(sonde_hash(key, sizeof(key)) % 1000) / 1000;

	return (is_fwd ? 100 : 200) * US * noise *
	       (rank == j->slow_rank ? j->everything * (is_fwd ? j->fwd : 1) : 1);
}

/* When a rank arrives at the all-reduce of a step, counted from the end of the one before. */
static double arrival(const struct job *j, unsigned rank, unsigned step)
{
	double at = step ? j->ends[step - 1][group_of(j, rank)] : 1e9;
	unsigned k;

	at += rank / j->per_host == j->late_host || rank == j->late_rank ? j->late_ns : 0;
	for (k = 0; k < NR_KERNELS; k++)
		at += kernel_ns(j, rank, step, k, true) + kernel_ns(j, rank, step, k, false);
	return at;
}

static void simulate(struct job *j)
{
	unsigned step, rank;

	memset(j->ends, 0, sizeof(j->ends));
	for (step = 0; step < j->steps; step++) {
		for (rank = 0; rank < j->nr; rank++)
			j->ends[step][group_of(j, rank)] =
				fmax(j->ends[step][group_of(j, rank)], arrival(j, rank, step));
		j->ends[step][0] += 50 * US;
		j->ends[step][1] += 50 * US + (j->splits_groups ? step % 7 * 90 * US : 0);
	}
}

/* A time, as the clock of the rank's host shows it. */
static uint64_t shown(const struct job *j, unsigned rank, double ns)
{
	unsigned host = rank / j->per_host;

	return (uint64_t)(1.7e18 / 1e6) * 1000000 + (uint64_t)(ns + host * (j->host_offset_ns + j->drift * ns));
}

static void add_kernel(struct job *j, unsigned rank, const char *name, uint32_t range, double *at, double ns)
{
	struct sonde_record *rec;

	made_launch(&j->m, name, 1, &range);
	rec = &j->m.r->records.at[j->m.r->records.nr - 1];
	rec->time = (struct sonde_record_time){shown(j, rank, *at), shown(j, rank, *at + ns)};
	made_set_stream(&j->m, j->m.r->records.nr - 1, strncmp(name, "nccl", 4) == 0 ? 100 + rank : 7);
	made_metric(&j->m, TIME, ns);
	*at += ns;
}

static void add_step(struct job *j, unsigned rank, unsigned step)
{
	uint32_t outer = made_push(&j->m, MADE_ROOT, "step"), fwd = made_push(&j->m, outer, "fwd"),
		 bwd = made_push(&j->m, outer, "bwd"), k;
	double at = step ? j->ends[step - 1][group_of(j, rank)] : 1e9;

	at += rank / j->per_host == j->late_host || rank == j->late_rank ? j->late_ns : 0;
	for (k = 0; k < NR_KERNELS; k++)
		add_kernel(j, rank, k % 2 ? "gemm" : "softmax", fwd, &at, kernel_ns(j, rank, step, k, true));
	for (k = 0; k < NR_KERNELS; k++)
		add_kernel(j, rank, k % 2 ? "gemm" : "relu", bwd, &at, kernel_ns(j, rank, step, k, false));
	if (j->has_no_collective)
		return;
	add_kernel(j, rank, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevComm*)", outer, &at,
		j->ends[step][group_of(j, rank)] - at + rank % 3 * US);
	if (j->names_groups)
		made_text(&j->m, "nccl__group", group_of(j, rank) ? "odd" : "even");
}

static void add_rank(struct job *j, unsigned rank)
{
	static char hosts[MOST_RANKS][20];
	struct sonde_process *p;
	unsigned step;

	if (rank)
		made_input(&j->m, "native", 100 + rank);
	j->m.r->inputs.at[j->m.input].source = SONDE_STR("native");
	j->m.device = rank % j->per_host;
	p = &j->m.r->processes.at[j->m.process];
	snprintf(hosts[rank], sizeof(hosts[rank]), "node%u", rank / j->per_host);
	p->host = sonde_str_from(hosts[rank]);
	p->has_rank = true;
	p->rank = rank;
	p->world_size = j->nr;
	j->m.r->inputs.at[j->m.input].is_cut_anywhere = j->is_cut_anywhere;
	for (step = 0; step < j->steps; step++)
		if (!j->is_cut_anywhere || (step >= rank && step + j->nr < j->steps + rank))
			add_step(j, rank, step);
}

static const struct sonde_ranks *play(struct job *j)
{
	unsigned rank;

	simulate(j);
	made_init(&j->m);
	j->m.r->has_record_times = true;
	for (rank = 0; rank < j->nr; rank++)
		add_rank(j, rank);
	aggregate(&j->run, j->m.r, NULL);
	assert_non_null(j->run.t->ranks);
	return j->run.t->ranks;
}

static void stop(struct job *j)
{
	release(&j->run);
	made_release(&j->m);
}

/* Returns the first straggler; checks the beginning of its sentence, its kind and its place. */
static const struct sonde_straggler *first_is(
	const struct sonde_ranks *r, const char *name, enum sonde_slow_cause cause, const char *part)
{
	const char *line = r->stragglers.nr ? r->stragglers.at[0].sentence.p : "";

	assert_int_equal(strncmp(line, name, strlen(name)), 0);
	if (!strstr(line, part))
		fail_msg("'%s' is not in '%s'", part, line);
	assert_int_equal(r->stragglers.at[0].cause, cause);
	return &r->stragglers.at[0];
}

static struct sonde_str region_id(const struct sonde_ranks *r, uint32_t region)
{
	return r->cells->regions.at[region].id;
}

static void within(double v, double low, double high)
{
	if (!(v >= low && v <= high))
		fail_msg("%g is not between %g and %g", v, low, high);
}

static void test_straggler__even_ranks_have_none(void **state)
{
	struct job j = job_of(8, 4, 16);
	const struct sonde_ranks *r;

	(void)state;
	r = play(&j);
	assert_int_equal(r->stragglers.nr, 0);
	assert_int_equal(r->nr_hosts, 2);
	assert_int_equal(r->nr_collectives, 16);
	assert_int_equal(r->nr_mismatched, 0);
	stop(&j);
}

static void test_straggler__a_rank_slow_in_one_region_is_named(void **state)
{
	struct job j = job_of(8, 4, 16);
	const struct sonde_straggler *s;
	const struct sonde_ranks *r;
	const struct sonde_rank_spread *spread;

	(void)state;
	j.slow_rank = 3;
	j.fwd = 1.1;
	r = play(&j);
	s = first_is(r, "rank 3 · node0 · GPU 3 is ", SONDE_SLOW_RANK, "in step/fwd (");
	assert_true(sonde_str_is(region_id(r, s->region), "step/fwd"));
	within(s->ns / s->others_ns, 1.09, 1.11);
	assert_int_equal(r->stragglers.nr, 1);
	spread = sonde_ranks_spread(r, s->region);
	assert_non_null(spread);
	assert_int_equal(spread->nr, 8);
	assert_true(spread->is_slow && spread->slowest == s->rank);
	within(spread->median_ns, spread->min_ns, spread->max_ns);
	assert_int_equal(r->rows.at[3].nr_last, 16);
	within(r->rows.at[3].late_ns / 16, 30 * US, 50 * US); /* 40 µs more per step */
	within(r->rows.at[3].wait_ns, 0, 1);
	within(r->rows.at[0].wait_ns / 16, 30 * US, 50 * US);
	stop(&j);
}

/* With two ranks, each is compared with the other one. */
static void test_straggler__one_of_two_is_slower_than_the_other(void **state)
{
	struct job j = job_of(2, 2, 8);

	(void)state;
	j.slow_rank = 1;
	j.fwd = 1.1;
	within(first_is(play(&j), "rank 1 ", SONDE_SLOW_RANK, "step/fwd")->ns /
			j.run.t->ranks->stragglers.at[0].others_ns,
		1.09, 1.11);
	stop(&j);
}

static void test_straggler__a_gpu_slow_everywhere_is_named(void **state)
{
	struct job j = job_of(8, 4, 16);
	const struct sonde_straggler *s;

	(void)state;
	j.slow_rank = 5;
	j.everything = 1.1;
	s = first_is(play(&j), "rank 5 · node1 · GPU 1 is 10.", SONDE_SLOW_GPU, "it is the GPU");
	assert_true(sonde_str_is(region_id(j.run.t->ranks, s->region), "step"));
	within(s->slower_share, 0.99, 1.01);
	stop(&j);
}

/* If all ranks of a node are late, the node is named, and not one of its ranks. */
static void test_straggler__a_late_node_is_named(void **state)
{
	struct job j = job_of(8, 4, 16);
	const struct sonde_straggler *s;
	const struct sonde_ranks *r;

	(void)state;
	j.late_host = 1;
	j.late_ns = 1 * MS;
	j.host_offset_ns = -3e9;
	r = play(&j);
	s = first_is(r, "host node1 (all 4 ranks", SONDE_SLOW_NODE, "it is the node");
	assert_int_equal(s->region, SONDE_NONE);
	assert_int_equal(s->nr_ranks, 4);
	within(s->ns / 16, 0.99 * MS, 1.05 * MS);
	assert_int_equal(r->stragglers.nr, 1);
	stop(&j);
}

static void test_straggler__a_late_rank_is_named_by_its_host_work(void **state)
{
	struct job j = job_of(6, 3, 16);

	(void)state;
	j.late_rank = 4;
	j.late_ns = 0.5 * MS;
	first_is(play(&j), "rank 4 · node1 · GPU 1 is last at 16 of 16 collectives", SONDE_SLOW_LATE,
		"Its kernels are not slower");
	stop(&j);
}

/* Three hosts whose clocks differ by seconds and 30 ppm: this is found to a microsecond or two, and waits are as with one clock. */
static void test_ranks__clocks_are_aligned_by_the_ends_of_collectives(void **state)
{
	struct job j = job_of(12, 4, MOST_STEPS);
	const struct sonde_ranks *r;
	struct sonde_buf line = {0};
	size_t i;

	(void)state;
	j.slow_rank = 2;
	j.fwd = 1.1;
	j.host_offset_ns = 2.5e9;
	j.drift = 3e-5;
	j.late_rank = 0;
	j.late_ns = 0;
	r = play(&j);
	assert_int_equal(r->clocks.nr, 3);
	for (i = 1; i < 3; i++) {
		assert_true(r->clocks.at[i].is_aligned);
		within(r->clocks.at[i].ahead_ns / (double)i, 2.5e9, 2.5e9 + 3e-5 * 2e9);
		within(r->clocks.at[i].error_ns, 0, 10 * US);
	}
	within(r->rows.at[11].wait_ns / MOST_STEPS, 25 * US, 55 * US);
	first_is(r, "rank 2 ", SONDE_SLOW_RANK, "step/fwd");
	sonde_clocks_say(&line, r);
	assert_non_null(memmem(line.p, line.n, "3 clocks were aligned", 21));
	sonde_buf_release(&line);
	stop(&j);
}

/* A run of seconds: the drift is found, or ends would be hundreds of microseconds apart. */
static void test_ranks__clocks_that_drift_are_aligned(void **state)
{
	struct job j = job_of(4, 2, MOST_STEPS);
	const struct sonde_ranks *r;

	(void)state;
	j.host_offset_ns = 1e9;
	j.drift = 5e-5;
	j.late_host = 0;
	j.late_ns = 60 * MS;
	r = play(&j);
	assert_int_equal(r->nr_mismatched, 0);
	within(r->clocks.at[1].drift, 4.9e-5, 5.1e-5);
	within(r->clocks.at[1].error_ns, 0, 10 * US);
	first_is(r, "host node0 (all 2 ranks", SONDE_SLOW_NODE, "60.");
	stop(&j);
}

static void test_ranks__without_collectives_clocks_stay_apart(void **state)
{
	struct job j = job_of(4, 2, 8);
	const struct sonde_ranks *r;
	struct sonde_buf line = {0};

	(void)state;
	j.has_no_collective = true;
	j.slow_rank = 1;
	j.fwd = 1.2;
	r = play(&j);
	assert_int_equal(r->nr_collectives, 0);
	assert_false(r->clocks.at[1].is_aligned);
	first_is(r, "rank 1 ", SONDE_SLOW_RANK, "step/fwd"); /* durations need no common clock */
	sonde_clocks_say(&line, r);
	assert_non_null(memmem(line.p, line.n, "no collective in common", 23));
	sonde_buf_release(&line);
	stop(&j);
}

/* Even and odd ranks communicate separately; this is known either from the source or from the times. */
static void test_ranks__communicators_are_told_apart(void **state)
{
	unsigned way;

	(void)state;
	for (way = 0; way < 2; way++) {
		struct job j = job_of(8, 8, 24);
		const struct sonde_ranks *r;

		j.names_groups = way == 0;
		j.splits_groups = way == 1;
		r = play(&j);
		assert_int_equal(r->groups.nr, 2);
		assert_int_equal(r->groups.at[0].nr_ranks, 4);
		assert_int_equal(r->groups.at[1].nr_ranks, 4);
		assert_int_equal(r->groups.at[0].nr, 24);
		assert_int_equal(r->groups.at[0].kind, SONDE_COLLECTIVE_ALL_REDUCE);
		assert_int_equal(r->nr_mismatched, 0);
		stop(&j);
	}
}

/* Regions have the time waited in them, and who was last; everything is in `step`. */
static void test_ranks__waits_are_counted_in_regions(void **state)
{
	struct job j = job_of(4, 4, 8);
	const struct sonde_ranks *r;
	const struct sonde_report *all;
	double sum = 0;
	size_t i;

	(void)state;
	j.slow_rank = 2;
	j.fwd = 1.5;
	r = play(&j);
	all = &j.run.t->reports.at[j.run.t->reports.nr - 1];
	for (i = 0; i < r->rows.nr; i++)
		sum += r->rows.at[i].wait_ns;
	near(node_named(&j.run, all, "step")->comm_wait_ns, sum);
	assert_true(isnan(node_named(&j.run, all, "step/fwd")->comm_wait_ns));
	assert_int_equal(r->regions.nr, 1);
	assert_int_equal(r->regions.at[0].nr_last, 8);
	assert_int_equal(r->regions.at[0].last, 2);
	assert_int_equal(r->nr_waits, 8);
	assert_int_equal(r->waits[0].last, 2);
	stop(&j);
}

/* The first collective in the capture of one rank is not the first of the others: they must not be matched. */
static void test_ranks__collectives_of_parts_are_not_compared(void **state)
{
	struct job j = job_of(4, 1, 16);
	const struct sonde_ranks *r;
	bool is_said = false;
	size_t i;

	(void)state;
	j.is_cut_anywhere = true;
	r = play(&j);
	assert_int_equal(r->nr_collectives, 0);
	assert_int_equal(r->stragglers.nr, 0);
	for (i = 0; i < j.run.t->notes.texts.nr; i++)
		is_said |= sonde_str_starts(j.run.t->notes.texts.keys[i], "collectives are not compared between ranks");
	assert_true(is_said);
	stop(&j);
}

/* One value of eight is far from the others, or all of them are. */
static void test_beyond__the_slowest_is_compared_with_what_the_others_differ_by(void **state)
{
	static const double spread[] = {96, 98, 99, 100, 100.5, 101, 102, 104}, one[] = {98, 99, 99.5, 100, 100.5, 101, 102, 108},
			    two[] = {99, 99.5, 99.8, 100, 100.2, 100.5, 110, 110.5}, four[] = {99, 99.5, 99.8, 100, 109, 110, 110.5, 111},
			    pair[] = {100, 101}, same[] = {100, 100, 100};

	(void)state;
	assert_false(sonde_beyond__one(spread, 8));
	assert_true(sonde_beyond__one(one, 8));
	assert_true(sonde_beyond__one(two, 8));
	assert_false(sonde_beyond__one(four, 8)); /* half of the values: that is not an exception */
	assert_true(sonde_beyond__one(pair, 2));
	assert_false(sonde_beyond__one(same, 3));
	assert_true(sonde_beyond__group(&two[6], 2, two, 6));
	assert_false(sonde_beyond__group(&spread[4], 2, spread, 4));
	assert_false(sonde_beyond__group(spread, 4, &spread[4], 4));
}

/* 2 % come from the GPU, whose kernels are slower everywhere, and not from its host. */
static void test_straggler__a_gpu_that_is_little_slower_is_named(void **state)
{
	struct job j = job_of(8, 4, 20);
	const struct sonde_straggler *s;

	(void)state;
	j.slow_rank = 5;
	j.everything = 1.02;
	s = first_is(play(&j), "rank 5 · node1 · GPU 1 is 2.", SONDE_SLOW_GPU, "it is the GPU");
	assert_int_equal(j.run.t->ranks->stragglers.nr, 1);
	within(s->ns / s->others_ns, 1.018, 1.022);
	stop(&j);
	/* 0.5 % is not worth a report. */
	j = job_of(8, 4, 20);
	j.slow_rank = 5;
	j.everything = 1.005;
	assert_int_equal(play(&j)->stragglers.nr, 0);
	stop(&j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_beyond__the_slowest_is_compared_with_what_the_others_differ_by),
		cmocka_unit_test(test_straggler__even_ranks_have_none),
		cmocka_unit_test(test_straggler__a_gpu_that_is_little_slower_is_named),
		cmocka_unit_test(test_straggler__a_rank_slow_in_one_region_is_named),
		cmocka_unit_test(test_straggler__one_of_two_is_slower_than_the_other),
		cmocka_unit_test(test_straggler__a_gpu_slow_everywhere_is_named),
		cmocka_unit_test(test_straggler__a_late_node_is_named),
		cmocka_unit_test(test_straggler__a_late_rank_is_named_by_its_host_work),
		cmocka_unit_test(test_ranks__clocks_are_aligned_by_the_ends_of_collectives),
		cmocka_unit_test(test_ranks__clocks_that_drift_are_aligned),
		cmocka_unit_test(test_ranks__without_collectives_clocks_stay_apart),
		cmocka_unit_test(test_ranks__communicators_are_told_apart),
		cmocka_unit_test(test_ranks__waits_are_counted_in_regions),
		cmocka_unit_test(test_ranks__collectives_of_parts_are_not_compared),
	};

	return cmocka_run_group_tests_name("straggler", tests, NULL, NULL);
}
