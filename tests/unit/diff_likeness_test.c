/* Regions that only one side has: they are found on the other side, renamed, moved, split or fused. */
#include "diffed.h"

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
	assert_int_equal(c.d->sentences.texts.nr, 3); /* the step, and nothing else */
	done(&c);
	compare_shapes(&c, parts, whole);
	assert_int_equal(named(&c, "step/mlp")->likeness, SONDE_LIKE_MERGED);
	assert_true(says(&c.d->sentences, "step/fc1 and step/fc2 are gone and step/mlp is new, "
					  "with their launches: merged?"));
	assert_int_equal(c.d->sentences.texts.nr, 3);
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
	assert_int_equal(named(&c, "step/opt")->verdict, SONDE_VERDICT_LIKELY_FASTER);
	assert_true(says(&c.d->sentences, "other kernels, 4 \u2192 1 launches per entry, fused? (4 "
					  "kernels are gone, 1 are new): "));
	assert_true(says(&c.d->sentences, "fused_adam +"));
	done(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_diff__a_new_name_with_the_same_kernels_is_offered),
		cmocka_unit_test(test_diff__added_and_removed_regions_stand_below_their_parent),
		cmocka_unit_test(test_diff__a_region_that_became_two_is_recognised),
		cmocka_unit_test(test_diff__a_region_that_moved_is_recognised),
		cmocka_unit_test(test_diff__a_renamed_region_without_launches_is_recognised),
		cmocka_unit_test(test_diff__fused_kernels_are_told_as_such),
	};

	return cmocka_run_group_tests_name("diff_likeness", tests, NULL, NULL);
}
