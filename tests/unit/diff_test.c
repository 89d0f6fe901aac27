/* Comparisons of made programs: what is named, why, and what is not. */
#include "base/alloc.h"
#include "compare/diff.h"

#include "treed.h"

#include <stdio.h>

#define OCCUPANCY "sm__warps_active.avg.pct_of_peak_sustained_active"

/* A program: steps of regions, each with launches of its own; times with noise. */
struct program {
	size_t steps, regions, launches; /* launches: in every region */
	uint64_t seed;
	const char *slow;     /* this region takes … */
	double by;	      /* … so many times as long */
	size_t more;	      /* launches more in `slow` */
	const char *kernel;   /* its kernel's name; NULL = "gemm" */
	const char *names[4]; /* names of the first regions; NULL = r0, r1, … */
	const char *device;
	double noise;	       /* 0 = 5 % */
	double occupancy_step; /* more of it in every further run */
	double occupancy;      /* of `slow`'s launches, %; 0 = not measured */
	bool host_only;
};

static double uniform(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return ((double)(*seed >> 33) + 0.5) / 2147483648.0;
}

/* Heavy-tailed: one in twenty takes a good deal longer. */
static double noise(uint64_t *seed, double size)
{
	double n = uniform(seed) + uniform(seed) + uniform(seed) + uniform(seed) - 2;

	return 1 + size * n * 1.7 + (uniform(seed) < 0.05 ? 3 * size : 0);
}

static void launch(struct made *m, uint32_t range, const char *kernel, uint64_t *now, double ns)
{
	made_launch(m, kernel, 1, &range);
	made_metric(m, TIME, (double)(uint64_t)ns);
	m->r->records.at[m->r->records.nr - 1].time =
		(struct sonde_record_time){*now, *now + (uint64_t)ns};
	*now += (uint64_t)ns + 100;
}

static void enter_region(struct made *m, const struct program *p, uint32_t step, size_t i,
	uint64_t *seed, uint64_t *now)
{
	char name[32];
	const char *label = i < 4 && p->names[i] ? p->names[i] : name;
	uint64_t begin = *now;
	uint32_t range;
	size_t k, nr = p->launches;
	bool is_slow;

	snprintf(name, sizeof(name), "r%zu", i);
	range = made_push(m, step, sonde_arena_z(&m->r->arena, sonde_str_from(label)));
	is_slow = p->slow && strcmp(p->slow, label) == 0;
	nr += is_slow ? p->more : 0;
	for (k = 0; k < nr; k++) {
		double ns = 20000 * (double)(i + 1) / (double)p->launches *
			    noise(seed, p->noise > 0 ? p->noise : 0.05) * (is_slow ? p->by : 1);

		if (p->host_only)
			*now += (uint64_t)ns;
		else
			launch(m, range, is_slow && p->kernel ? p->kernel : "gemm", now, ns);
		if (p->occupancy > 0)
			made_metric(m, OCCUPANCY, is_slow ? p->occupancy : 50);
	}
	m->r->ranges.at[range].time = (struct sonde_range_time){begin, *now, 0};
}

static void make(struct run *run, const struct program *p)
{
	uint64_t seed = p->seed * 7919 + 1, now = 1000, begin;
	struct made m;
	size_t i, k;

	made_init(&m);
	m.r->has_record_times = m.r->has_range_times = true;
	for (i = 0; i < p->steps; i++) {
		uint32_t step = made_push(&m, MADE_ROOT, "step");

		begin = now;
		for (k = 0; k < p->regions; k++)
			enter_region(&m, p, step, k, &seed, &now);
		m.r->ranges.at[step].time = (struct sonde_range_time){begin, now, 0};
	}
	if (p->device) {
		struct sonde_device *d = sonde_vec_push(&m.r->devices);

		assert_non_null(d);
		d->name = sonde_str_from(p->device);
	}
	aggregate(run, m.r, NULL);
	made_release(&m);
}

/* Up to four runs a side, and the comparison of them. */
struct compared {
	struct run base[4], now[4];
	size_t nr;
	struct sonde_diff *d;
};

static void compare_with(struct compared *c, const struct program *a, const struct program *b,
	size_t nr, const struct sonde_diff_options *o)
{
	const struct sonde_tree *base[4], *now[4];
	struct program p;
	size_t i;

	for (i = 0, c->nr = nr; i < nr; i++) {
		p = *a;
		p.seed += i * 100;
		p.occupancy += (double)i * p.occupancy_step;
		make(&c->base[i], &p);
		p = *b;
		p.seed += i * 100;
		p.occupancy += (double)i * p.occupancy_step;
		make(&c->now[i], &p);
		base[i] = c->base[i].t;
		now[i] = c->now[i].t;
	}
	assert_int_equal(sonde_diff_build(&c->d, &(struct sonde_diff_side){base, nr},
				 &(struct sonde_diff_side){now, nr}, o, NULL),
		0);
}

static const struct sonde_diff_options plain = {.min_effect = 0.02};

static void compare(struct compared *c, const struct program *a, const struct program *b)
{
	compare_with(c, a, b, 1, &plain);
}

static void done(struct compared *c)
{
	size_t i;

	sonde_diff_free(c->d);
	for (i = 0; i < c->nr; i++) {
		release(&c->base[i]);
		release(&c->now[i]);
	}
}

static const struct sonde_diff_region *named(const struct compared *c, const char *id)
{
	size_t i;

	for (i = 0; i < c->d->regions.nr; i++)
		if (sonde_str_is(c->d->regions.at[i].id, id))
			return &c->d->regions.at[i];
	fail_msg("no region %s", id);
	return NULL;
}

static bool says(const struct sonde_notes *notes, const char *what)
{
	size_t i;

	for (i = 0; i < notes->texts.nr; i++)
		if (memmem(notes->texts.keys[i].p, notes->texts.keys[i].n, what, strlen(what)))
			return true;
	return false;
}

/* --- what is named ---------------------------------------------------------------------------- */

static void test_diff__one_slower_region_is_named_with_its_ancestors_alone(void **state)
{
	const struct program a = {.steps = 200, .regions = 6, .launches = 1, .seed = 1},
			     b = {.steps = 200,
				     .regions = 6,
				     .launches = 1,
				     .seed = 2,
				     .slow = "r5",
				     .by = 1.5};
	const struct sonde_diff_region *r;
	struct compared c;

	(void)state;
	compare(&c, &a, &b);
	r = named(&c, "step/r5");
	assert_int_equal(r->verdict, SONDE_VERDICT_SLOWER);
	assert_true(r->low < 1.5 && r->high > 1.5 && r->is_gpu);
	assert_string_equal(sonde_diff_cause_name(r), "duration");
	assert_int_equal(named(&c, "step")->verdict, SONDE_VERDICT_SLOWER);
	assert_int_equal(c.d->nr_by_verdict[SONDE_VERDICT_SLOWER], 2);
	assert_int_equal(c.d->nr_by_verdict[SONDE_VERDICT_FASTER], 0);
	assert_true(says(&c.d->sentences, "step/r5 is "));
	assert_true(says(&c.d->sentences, "; longer kernels: gemm +"));
	assert_true(says(&c.d->sentences, "with it step +"));
	assert_false(says(&c.d->sentences, "step is ")); /* no news of its own */
	done(&c);
}

static void test_diff__faster_is_named_and_no_gate_fails(void **state)
{
	const struct program a = {.steps = 100,
				     .regions = 3,
				     .launches = 1,
				     .seed = 1,
				     .noise = 0.01},
			     b = {.steps = 100,
				     .regions = 3,
				     .launches = 1,
				     .seed = 2,
				     .slow = "r2",
				     .by = 0.7,
				     .noise = 0.01};
	const struct sonde_diff_limit limit = {.above = 0.05};
	const struct sonde_diff_options o = {.min_effect = 0.02, .limits = &limit, .nr_limits = 1};
	struct compared c;

	(void)state;
	compare_with(&c, &a, &b, 1, &o);
	assert_int_equal(named(&c, "step/r2")->verdict, SONDE_VERDICT_FASTER);
	assert_int_equal(c.d->gate, SONDE_GATE_PASS);
	done(&c);
}

static void test_diff__the_same_program_twice_names_nothing(void **state)
{
	size_t seed, nr = 0;

	(void)state;
	for (seed = 0; seed < 12; seed++) {
		const struct program
			a = {.steps = 60, .regions = 8, .launches = 1, .seed = 3 + 2 * seed},
			b = {.steps = 60, .regions = 8, .launches = 1, .seed = 4 + 2 * seed};
		struct compared c;

		compare(&c, &a, &b);
		nr += c.d->nr_by_verdict[SONDE_VERDICT_SLOWER] +
		      c.d->nr_by_verdict[SONDE_VERDICT_FASTER];
		done(&c);
	}
	assert_true(nr <= 1);
}

static void test_diff__more_launches_are_a_count_and_other_kernels_are_named(void **state)
{
	const struct program a = {.steps = 100, .regions = 2, .launches = 2, .seed = 1},
			     more = {.steps = 100,
				     .regions = 2,
				     .launches = 2,
				     .seed = 2,
				     .slow = "r1",
				     .by = 1,
				     .more = 2},
			     other = {.steps = 100,
				     .regions = 2,
				     .launches = 2,
				     .seed = 3,
				     .slow = "r1",
				     .by = 2,
				     .kernel = "void ns::fused<4>(int)"};
	const struct sonde_diff_region *r;
	struct compared c;

	(void)state;
	compare(&c, &a, &more);
	r = named(&c, "step/r1");
	assert_int_equal(r->verdict, SONDE_VERDICT_SLOWER);
	assert_string_equal(sonde_diff_cause_name(r), "count");
	assert_true(says(&c.d->sentences, "more launches"));
	done(&c);
	compare(&c, &a, &other);
	r = named(&c, "step/r1");
	assert_true(r->causes & SONDE_CAUSE_KERNELS);
	assert_int_equal(r->nr_kernels, 2);
	assert_true(says(&c.d->sentences, "fused +"));
	assert_true(says(&c.d->sentences, "(new)"));
	assert_true(says(&c.d->sentences, "(gone)"));
	done(&c);
}

static void test_diff__other_step_counts_are_said_and_no_verdict(void **state)
{
	const struct program a = {.steps = 100, .regions = 2, .launches = 1, .seed = 1},
			     b = {.steps = 200, .regions = 2, .launches = 1, .seed = 2};
	struct compared c;

	(void)state;
	compare(&c, &a, &b);
	assert_int_equal(c.d->nr_by_verdict[SONDE_VERDICT_SLOWER], 0);
	assert_true(says(&c.d->sentences, "step is entered 200 times a run instead of 100"));
	assert_false(says(&c.d->sentences, "step/r0 is entered")); /* as often per step */
	done(&c);
}

static void test_diff__host_time_is_compared_where_no_gpu_is_used(void **state)
{
	const struct program a = {.steps = 100,
				     .regions = 2,
				     .launches = 1,
				     .seed = 1,
				     .host_only = true},
			     b = {.steps = 100,
				     .regions = 2,
				     .launches = 1,
				     .seed = 2,
				     .slow = "r1",
				     .by = 1.3,
				     .host_only = true};
	struct compared c;

	(void)state;
	compare(&c, &a, &b);
	assert_int_equal(named(&c, "step/r1")->verdict, SONDE_VERDICT_SLOWER);
	assert_false(named(&c, "step/r1")->is_gpu);
	assert_true(says(&c.d->sentences, "longer on the host"));
	done(&c);
}

/* --- metrics ---------------------------------------------------------------------------------- */

static const struct sonde_diff_metric *occupancy_of(const struct compared *c, const char *id)
{
	assert_int_equal(c->d->columns.nr, 1);
	assert_true(sonde_str_is(c->d->columns.at[0].head, "Occ %"));
	return &c->d->metrics.at[named(c, id) - c->d->regions.at];
}

/* One launch is exact; a mean over launches without its weight is not, and has no limits. */
static void test_diff__metrics_are_compared_by_what_is_known_of_them(void **state)
{
	struct program a = {.steps = 1,
			       .regions = 2,
			       .launches = 1,
			       .seed = 1,
			       .slow = "r1",
			       .by = 1,
			       .occupancy = 40},
		       b = a;
	struct compared c;

	(void)state;
	b.occupancy = 60;
	compare(&c, &a, &b);
	near(occupancy_of(&c, "step/r1")->base.v, 40);
	assert_int_equal(occupancy_of(&c, "step/r1")->change, SONDE_METRIC_HIGHER);
	assert_int_equal(occupancy_of(&c, "step/r0")->change, SONDE_METRIC_SAME);
	assert_int_equal(occupancy_of(&c, "step")->base.quality, SONDE_QUALITY_APPROX);
	assert_int_equal(occupancy_of(&c, "step")->change, SONDE_METRIC_INSUFFICIENT);
	done(&c);
	compare(&c, &b, &a);
	assert_int_equal(occupancy_of(&c, "step/r1")->change, SONDE_METRIC_LOWER);
	done(&c);
}

static void test_diff__metrics_of_several_runs_are_tested(void **state)
{
	struct program a = {.steps = 1,
			       .regions = 1,
			       .launches = 1,
			       .seed = 1,
			       .slow = "r0",
			       .by = 1,
			       .occupancy = 40,
			       .occupancy_step = 4},
		       b = a;
	struct compared c;

	(void)state;
	b.occupancy = 42; /* runs of 40, 44, 48, 52 against 42, 46, 50, 54 */
	compare_with(&c, &a, &b, 4, &plain);
	near(occupancy_of(&c, "step/r0")->base.v, 46);
	assert_int_equal(occupancy_of(&c, "step/r0")->change, SONDE_METRIC_INSUFFICIENT);
	done(&c);
	b.occupancy = 80;
	compare_with(&c, &a, &b, 4, &plain);
	assert_int_equal(occupancy_of(&c, "step/r0")->change, SONDE_METRIC_HIGHER);
	done(&c);
}

/* --- matching --------------------------------------------------------------------------------- */

static void test_diff__a_new_name_with_the_same_kernels_is_offered(void **state)
{
	const struct program a = {.steps = 20,
				     .regions = 3,
				     .launches = 1,
				     .seed = 1,
				     .slow = "old",
				     .by = 1,
				     .kernel = "special",
				     .names = {NULL, "old"}},
			     b = {.steps = 20,
				     .regions = 3,
				     .launches = 1,
				     .seed = 2,
				     .slow = "fresh",
				     .by = 1,
				     .kernel = "special",
				     .names = {NULL, "fresh"}};
	const struct sonde_diff_region *r;
	struct compared c;

	(void)state;
	compare(&c, &a, &b);
	r = named(&c, "step/old");
	assert_int_equal(r->verdict, SONDE_VERDICT_REMOVED);
	assert_int_not_equal(r->twin, SONDE_NONE);
	assert_true(sonde_str_is(c.d->regions.at[r->twin].id, "step/fresh"));
	assert_true(says(&c.d->sentences, "step/old is gone and step/fresh is new"));
	assert_int_equal(named(&c, "step/r0")->verdict == SONDE_VERDICT_REMOVED, false);
	done(&c);
}

static void test_diff__added_and_removed_regions_stand_below_their_parent(void **state)
{
	const struct program a = {.steps = 20, .regions = 4, .launches = 1, .seed = 1},
			     b = {.steps = 20, .regions = 2, .launches = 1, .seed = 2};
	struct compared c;

	(void)state;
	compare(&c, &a, &b);
	assert_int_equal(c.d->regions.nr, 5);
	assert_int_equal(c.d->nr_by_verdict[SONDE_VERDICT_REMOVED], 2);
	assert_int_equal(named(&c, "step/r3")->depth, 1);
	assert_int_equal(named(&c, "step/r3")->parent, 0);
	assert_true(says(&c.d->sentences,
		"step/r3 and 1 region beside it are gone. The largest: 20 entries, "));
	done(&c);
	compare(&c, &b, &a);
	assert_int_equal(c.d->nr_by_verdict[SONDE_VERDICT_ADDED], 2);
	done(&c);
}

/* --- shapes: regions by path, each with the kernels it launches ------------------------------ */

struct shape {
	const char *path;    /* below `step`; one level more with a `/` */
	const char *kernels; /* separated by blanks; empty = none: it takes time on the host */
};

static void enter_shape(struct made *m, const struct shape *s, uint32_t parent, const char *label,
	uint64_t *seed, uint64_t *now)
{
	uint32_t range = made_push(m, parent, label);
	struct sonde_str rest = sonde_str_from(s->kernels), word;
	uint64_t begin = *now;

	while (rest.n) {
		word = sonde_str_cut(rest, ' ', &rest);
		launch(m, range, sonde_arena_z(&m->r->arena, word), now,
			50000 * (double)(1 + word.p[word.n - 1] % 3) * noise(seed, 0.01));
	}
	*now += begin == *now ? (uint64_t)(80000 * noise(seed, 0.01)) : 10;
	m->r->ranges.at[range].time = (struct sonde_range_time){begin, *now, 0};
}

static void make_shapes(struct run *run, const struct shape *shapes, uint64_t seed)
{
	uint64_t now = 1000, begin, outer_begin = 0;
	const struct shape *s;
	struct made m;
	size_t i;

	made_init(&m);
	m.r->has_record_times = m.r->has_range_times = true;
	for (i = 0; i < 40; i++) {
		uint32_t step = made_push(&m, MADE_ROOT, "step"), outer = SONDE_NONE;
		struct sonde_str open = {NULL, 0};

		for (begin = now, s = shapes; s->path; s++) {
			struct sonde_str label,
				path = sonde_str_cut(sonde_str_from(s->path), '/', &label);

			if (!label.n) {
				open = (struct sonde_str){NULL, 0};
				enter_shape(&m, s, step, s->path, &seed, &now);
				continue;
			}
			if (!sonde_str_eq(open, path)) {
				outer = made_push(&m, step, sonde_arena_z(&m.r->arena, path));
				open = path;
				outer_begin = now;
			}
			enter_shape(&m, s, outer, label.p, &seed, &now);
			m.r->ranges.at[outer].time = (struct sonde_range_time){outer_begin, now, 0};
		}
		m.r->ranges.at[step].time = (struct sonde_range_time){begin, now, 0};
	}
	aggregate(run, m.r, NULL);
	made_release(&m);
}

static void compare_shapes(struct compared *c, const struct shape *a, const struct shape *b)
{
	const struct sonde_tree *base, *now;

	c->nr = 1;
	make_shapes(&c->base[0], a, 1);
	make_shapes(&c->now[0], b, 2);
	base = c->base[0].t;
	now = c->now[0].t;
	assert_int_equal(sonde_diff_build(&c->d, &(struct sonde_diff_side){&base, 1},
				 &(struct sonde_diff_side){&now, 1}, &plain, NULL),
		0);
}

static void test_diff__a_region_that_became_two_is_recognised(void **state)
{
	const struct shape whole[] = {{"attn", "flash"}, {"mlp", "up gelu down down"},
		{NULL, NULL}},
			   parts[] = {{"attn", "flash"}, {"fc1", "up gelu"}, {"fc2", "down down"},
				   {NULL, NULL}},
			   other[] = {{"attn", "flash"}, {"fc1", "up gelu"}, {"fc2", "down"},
				   {NULL, NULL}};
	struct compared c;

	(void)state;
	compare_shapes(&c, whole, parts);
	assert_int_equal(named(&c, "step/mlp")->likeness, SONDE_LIKE_SPLIT);
	assert_int_equal(named(&c, "step/mlp")->nr_parts, 2);
	assert_int_equal(named(&c, "step/fc2")->twin, named(&c, "step/mlp") - c.d->regions.at);
	assert_true(says(&c.d->sentences,
		"step/mlp is gone and step/fc1 and step/fc2 are new, with its launches: split?"));
	assert_int_equal(c.d->sentences.texts.nr, 2); /* and nothing else */
	done(&c);
	compare_shapes(&c, parts, whole);
	assert_int_equal(named(&c, "step/mlp")->likeness, SONDE_LIKE_MERGED);
	assert_true(says(&c.d->sentences, "step/fc1 and step/fc2 are gone and step/mlp is new, "
					  "with their launches: merged?"));
	assert_int_equal(c.d->sentences.texts.nr, 2);
	done(&c);
	compare_shapes(&c, whole, other); /* a launch is missing: it is something else */
	assert_int_equal(named(&c, "step/mlp")->twin, SONDE_NONE);
	done(&c);
}

static void test_diff__a_region_that_moved_is_recognised(void **state)
{
	const struct shape a[] = {{"forward/norm", "ln"}, {"forward/mlp", "up"}, {"tail", "copy"},
		{NULL, NULL}},
			   b[] = {{"forward/mlp", "up"}, {"norm", "ln"}, {"tail", "copy"},
				   {NULL, NULL}};
	struct compared c;

	(void)state;
	compare_shapes(&c, a, b);
	assert_int_equal(named(&c, "step/norm")->likeness, SONDE_LIKE_MOVED);
	assert_true(says(&c.d->sentences,
		"step/forward/norm is now step/norm, with the same kernels: moved?"));
	done(&c);
}

static void test_diff__a_renamed_region_without_launches_is_recognised(void **state)
{
	const struct shape a[] = {{"load", ""}, {"mlp", "up"}, {NULL, NULL}},
			   b[] = {{"fetch", ""}, {"mlp", "up"}, {NULL, NULL}},
			   two[] = {{"fetch", ""}, {"mlp", "up"}, {"log", ""}, {NULL, NULL}};
	struct compared c;

	(void)state;
	compare_shapes(&c, a, b);
	assert_true(says(&c.d->sentences,
		"step/load is gone and step/fetch is new, entered as often: renamed?"));
	done(&c);
	compare_shapes(&c, a, two); /* it could be either */
	assert_int_equal(named(&c, "step/load")->twin, SONDE_NONE);
	done(&c);
}

static void test_diff__fused_kernels_are_told_as_such(void **state)
{
	const struct shape a[] = {{"opt", "mul add sqrt div"}, {"mlp", "up"}, {NULL, NULL}},
			   b[] = {{"opt", "fused_adam"}, {"mlp", "up"}, {NULL, NULL}};
	struct compared c;

	(void)state;
	compare_shapes(&c, a, b);
	assert_int_equal(named(&c, "step/opt")->verdict, SONDE_VERDICT_FASTER);
	assert_true(says(&c.d->sentences, "other kernels, 4 \u2192 1 launches per entry, fused? (4 "
					  "kernels are gone, 1 new): "));
	assert_true(says(&c.d->sentences, "fused_adam +"));
	done(&c);
}

/* --- verdicts --------------------------------------------------------------------------------- */

static void test_diff__one_entry_a_side_is_always_insufficient(void **state)
{
	const struct program a = {.steps = 1, .regions = 2, .launches = 1, .seed = 1},
			     b = {.steps = 1,
				     .regions = 2,
				     .launches = 1,
				     .seed = 2,
				     .slow = "r1",
				     .by = 10};
	const struct sonde_diff_limit limit = {.above = 0.05};
	const struct sonde_diff_options o = {.min_effect = 0.02, .limits = &limit, .nr_limits = 1};
	struct compared c;

	(void)state;
	compare_with(&c, &a, &b, 1, &o);
	assert_int_equal(c.d->nr_by_verdict[SONDE_VERDICT_INSUFFICIENT], 3);
	assert_int_equal(c.d->gate, SONDE_GATE_INSUFFICIENT);
	done(&c);
}

static void test_diff__a_gate_by_path_wins_over_that_of_all(void **state)
{
	const struct program a = {.steps = 200, .regions = 3, .launches = 1, .seed = 1},
			     b = {.steps = 200,
				     .regions = 3,
				     .launches = 1,
				     .seed = 2,
				     .slow = "r2",
				     .by = 1.1};
	const struct sonde_diff_limit strict[] = {{SONDE_STR("step/**"), 0.03}, {{NULL, 0}, 0.5}};
	const struct sonde_diff_options o = {.min_effect = 0.02, .limits = strict, .nr_limits = 2};
	const struct sonde_diff_options lax = {
		.min_effect = 0.02, .limits = strict + 1, .nr_limits = 1};
	struct compared c;

	(void)state;
	compare_with(&c, &a, &b, 1, &o);
	assert_int_equal(named(&c, "step/r2")->gate, SONDE_GATE_FAIL);
	near(named(&c, "step")->limit, 0.5);
	assert_int_equal(c.d->gate, SONDE_GATE_FAIL);
	done(&c);
	compare_with(&c, &a, &b, 1, &lax);
	assert_int_equal(named(&c, "step/r2")->gate, SONDE_GATE_PASS);
	/* However far below its bound a region is: what is insufficient is not decided. */
	assert_int_equal(named(&c, "step/r0")->verdict, SONDE_VERDICT_INSUFFICIENT);
	assert_true(named(&c, "step/r0")->high < 1.1);
	assert_int_equal(c.d->gate, SONDE_GATE_INSUFFICIENT);
	done(&c);
}

static void test_diff__several_runs_a_side_are_compared_by_run(void **state)
{
	const struct program a = {.steps = 50, .regions = 3, .launches = 1, .seed = 1},
			     b = {.steps = 50,
				     .regions = 3,
				     .launches = 1,
				     .seed = 50,
				     .slow = "r2",
				     .by = 1.4};
	struct compared c;

	(void)state;
	compare_with(&c, &a, &b, 4, &plain);
	assert_int_equal(named(&c, "step/r2")->verdict, SONDE_VERDICT_SLOWER);
	assert_int_equal(named(&c, "step/r2")->base.nr_values, 200);
	near(named(&c, "step/r2")->base.entries, 50);
	assert_int_equal(named(&c, "step/r0")->verdict == SONDE_VERDICT_SLOWER, false);
	done(&c);
}

static void test_diff__another_gpu_is_not_comparable(void **state)
{
	const struct program
		a = {.steps = 5, .regions = 1, .launches = 1, .seed = 1, .device = "NVIDIA A100"},
		b = {.steps = 5, .regions = 1, .launches = 1, .seed = 1, .device = "NVIDIA H200"};
	struct compared c;

	(void)state;
	compare(&c, &a, &b);
	assert_false(c.d->is_comparable);
	assert_true(says(
		&c.d->reasons, "device: NVIDIA A100 in the base, NVIDIA H200 in the new side"));
	done(&c);
	compare(&c, &a, &a);
	assert_true(c.d->is_comparable);
	done(&c);
}

static void test_diff__the_self_test_raises_few_alarms(void **state)
{
	const struct program p = {.steps = 80, .regions = 6, .launches = 1, .seed = 5};
	struct sonde_diff_selftest t;
	const struct sonde_tree *tree;
	struct run run;

	(void)state;
	make(&run, &p);
	tree = run.t;
	assert_int_equal(
		sonde_diff_selftest(&t, &(struct sonde_diff_side){&tree, 1}, &plain, 60, NULL), 0);
	assert_int_equal(t.regions, 7);
	assert_int_equal(t.rounds, 60);
	assert_true(t.alarms <= 3);
	release(&run);
}

static void test_diff__short_memory_is_an_error_and_nothing_leaks(void **state)
{
	const struct program a = {.steps = 6, .regions = 3, .launches = 1, .seed = 1},
			     b = {.steps = 6,
				     .regions = 2,
				     .launches = 2,
				     .seed = 2,
				     .slow = "r1",
				     .by = 3,
				     .noise = 0.001,
				     .kernel = "other",
				     .names = {"fresh"}};
	const struct sonde_tree *base, *now;
	struct run runs[2];
	uint64_t n = 0;
	int rc = SONDE_ERR_NOMEM;

	(void)state;
	make(&runs[0], &a);
	make(&runs[1], &b);
	base = runs[0].t;
	now = runs[1].t;
	while (rc) {
		struct sonde_diff *d = NULL;

		sonde_alloc_fail_at(++n);
		rc = sonde_diff_build(&d, &(struct sonde_diff_side){&base, 1},
			&(struct sonde_diff_side){&now, 1}, &plain, NULL);
		sonde_alloc_fail_at(0);
		assert_true(rc == SONDE_ERR_NOMEM || (rc == 0 && d->regions.nr));
		sonde_diff_free(d);
	}
	assert_true(n > 20);
	release(&runs[0]);
	release(&runs[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_diff__one_slower_region_is_named_with_its_ancestors_alone),
		cmocka_unit_test(test_diff__faster_is_named_and_no_gate_fails),
		cmocka_unit_test(test_diff__the_same_program_twice_names_nothing),
		cmocka_unit_test(test_diff__more_launches_are_a_count_and_other_kernels_are_named),
		cmocka_unit_test(test_diff__other_step_counts_are_said_and_no_verdict),
		cmocka_unit_test(test_diff__host_time_is_compared_where_no_gpu_is_used),
		cmocka_unit_test(test_diff__metrics_are_compared_by_what_is_known_of_them),
		cmocka_unit_test(test_diff__metrics_of_several_runs_are_tested),
		cmocka_unit_test(test_diff__a_new_name_with_the_same_kernels_is_offered),
		cmocka_unit_test(test_diff__added_and_removed_regions_stand_below_their_parent),
		cmocka_unit_test(test_diff__a_region_that_became_two_is_recognised),
		cmocka_unit_test(test_diff__a_region_that_moved_is_recognised),
		cmocka_unit_test(test_diff__a_renamed_region_without_launches_is_recognised),
		cmocka_unit_test(test_diff__fused_kernels_are_told_as_such),
		cmocka_unit_test(test_diff__one_entry_a_side_is_always_insufficient),
		cmocka_unit_test(test_diff__a_gate_by_path_wins_over_that_of_all),
		cmocka_unit_test(test_diff__several_runs_a_side_are_compared_by_run),
		cmocka_unit_test(test_diff__another_gpu_is_not_comparable),
		cmocka_unit_test(test_diff__the_self_test_raises_few_alarms),
		cmocka_unit_test(test_diff__short_memory_is_an_error_and_nothing_leaks),
	};

	return cmocka_run_group_tests_name("diff", tests, NULL, NULL);
}
