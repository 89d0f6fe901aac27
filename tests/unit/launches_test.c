#include "attribute/launches.h"

#include "made.h"
#include "unit.h"

static struct sonde_launches *attribute(const struct made *m, const struct sonde_selection *s)
{
	struct sonde_selection all = {0};
	struct sonde_launches *l;
	struct sonde_err err = {0};

	assert_int_equal(sonde_launches_build(&l, m->r, s ? s : &all, &err), 0);
	return l;
}

static const struct sonde_region *find_region(const struct sonde_launches *l, const char *id)
{
	size_t i;

	for (i = 0; i < l->regions.nr; i++)
		if (sonde_str_is(l->regions.at[i].id, id))
			return &l->regions.at[i];
	return NULL;
}

static uint64_t instances(const struct sonde_launches *l, uint32_t scope, const char *id)
{
	size_t i;

	for (i = 0; i < l->presences.nr; i++)
		if (l->presences.at[i].scope == scope &&
			sonde_str_is(l->regions.at[l->presences.at[i].region].id, id))
			return l->presences.at[i].instances;
	return 0;
}

static void test_launches__stack_decides_the_path(void **state)
{
	struct made m;
	struct sonde_launches *l;
	uint32_t a, b;

	(void)state;
	made_init(&m);
	a = made_push(&m, MADE_ROOT, "step");
	b = made_push(&m, a, "attn/qkv\\x");
	made_launch(&m, "k", 1, &b);
	l = attribute(&m, NULL);
	assert_int_equal(l->regions.nr, 2);
	assert_non_null(find_region(l, "step/attn\\/qkv\\\\x"));
	assert_int_equal(find_region(l, "step/attn\\/qkv\\\\x")->depth, 1);
	assert_int_equal(l->tally.nr_taken, 1);
	sonde_launches_free(l);
	made_release(&m);
}

static void test_launches__label_hangs_an_outermost_range_below_its_prefix(void **state)
{
	struct sonde_selection stack = {.stack_only = true};
	struct made m;
	struct sonde_launches *l;
	uint32_t a, inner, outer, lone, deep;

	(void)state;
	made_init(&m);
	a = made_push(&m, MADE_ROOT, "A");
	inner = made_push(&m, a, "A::A1");
	outer = made_push(&m, MADE_ROOT, "A::A1");
	lone = made_push(&m, MADE_ROOT, "X::Y");
	deep = made_push(&m, MADE_ROOT, "A::A1::z");
	made_launch(&m, "k", 1, &inner);
	made_launch(&m, "k", 1, &outer);
	made_launch(&m, "k", 1, &lone);
	made_launch(&m, "k", 1, &deep);
	l = attribute(&m, NULL);
	assert_non_null(find_region(l, "A/A::A1"));
	assert_null(find_region(l, "A::A1"));
	assert_non_null(find_region(l, "X::Y"));
	assert_non_null(find_region(l, "A/A::A1/A::A1::z"));
	assert_int_equal(instances(l, 0, "A/A::A1"), 2);
	sonde_launches_free(l);
	l = attribute(&m, &stack);
	assert_non_null(find_region(l, "A/A::A1"));
	assert_non_null(find_region(l, "A::A1"));
	sonde_launches_free(l);
	made_release(&m);
}

static void test_launches__a_label_finds_its_prefix_in_its_own_process_only(void **state)
{
	struct sonde_launches *l;
	struct made m;
	uint32_t a, inner, lone;

	(void)state;
	made_init(&m);
	a = made_push(&m, MADE_ROOT, "A");
	inner = made_push(&m, MADE_ROOT, "A::A1");
	made_launch(&m, "k", 1, &a);
	made_launch(&m, "k", 1, &inner);
	made_process(&m, 2);
	lone = made_push(&m, MADE_ROOT, "A::A1");
	made_launch(&m, "k", 1, &lone);
	l = attribute(&m, NULL);
	assert_int_equal(instances(l, 0, "A/A::A1"), 1);
	assert_int_equal(instances(l, 1, "A/A::A1"), 0);
	assert_int_equal(instances(l, 1, "A::A1"), 1);
	assert_int_equal(find_region(l, "A::A1")->parent, SONDE_NONE);
	sonde_launches_free(l);
	made_release(&m);
}

static void test_launches__start_end_ranges_count_once_per_label_and_never_nest(void **state)
{
	struct made m;
	struct sonde_launches *l;
	uint32_t open[4];

	(void)state;
	made_init(&m);
	open[0] = made_push(&m, MADE_ROOT, "A");
	open[1] = made_start(&m, "req");
	open[2] = made_start(&m, "req");
	open[3] = made_start(&m, "other");
	made_launch(&m, "k", 4, open);
	open[2] = open[3];
	made_launch(&m, "k", 3, open); /* in a single entry of the range: the same place */
	l = attribute(&m, NULL);
	assert_int_equal(l->regions.nr, 3);
	assert_int_equal(l->launches.at[0].place, l->launches.at[1].place);
	assert_int_equal(l->places.at[l->launches.at[0].place].nr, 3);
	assert_int_equal(find_region(l, "req@@")->kind, SONDE_START_END);
	assert_int_equal(find_region(l, "req@@")->parent, SONDE_NONE);
	assert_int_equal(instances(l, 0, "req@@"), 2);
	sonde_launches_free(l);
	made_release(&m);
}

static void test_launches__ids_are_unique_whatever_labels_hold(void **state)
{
	static const char *const domains[] = {NULL, "D", "", "D@A", "D/A", "@@"};
	static const char *const names[] = {"A", "", "D@A", "@A", "A@@", "@@", "A@", "D\\@A", "A/B"};
	struct made m;
	struct sonde_launches *l;
	struct sonde_map ids = {0};
	uint32_t outer;
	size_t d, i, k;
	bool is_new;

	(void)state;
	made_init(&m);
	for (d = 0; d < 6; d++)
		for (i = 0; i < 9; i++) {
			made_range(&m, MADE_ROOT, domains[d], names[i], SONDE_START_END);
			outer = made_range(&m, MADE_ROOT, domains[d], names[i], SONDE_PUSH_POP);
			for (k = 0; k < 9; k++)
				made_range(&m, outer, domains[d], names[k], SONDE_PUSH_POP);
		}
	l = attribute(&m, NULL);
	assert_int_equal(l->regions.nr, 6 * 9 * 11);
	for (i = 0; i < l->regions.nr; i++) {
		assert_int_not_equal(sonde_map_add(&ids, l->regions.at[i].id, &is_new), SONDE_NONE);
		if (!is_new)
			fail_msg("%.*s stands twice", SONDE_STR_ARG(l->regions.at[i].id));
	}
	assert_non_null(find_region(l, "A/A"));
	assert_non_null(find_region(l, "D@A"));
	assert_non_null(find_region(l, "D\\@A"));
	assert_non_null(find_region(l, "D@A@@"));
	sonde_map_release(&ids);
	sonde_launches_free(l);
	made_release(&m);
}

static void test_launches__scopes_of_ranks_are_named_by_them(void **state)
{
	struct made m;
	struct sonde_launches *l;

	(void)state;
	made_init(&m);
	made_launch(&m, "k", 0, NULL); /* process 1, no rank */
	made_process(&m, 900);
	sonde_process__set_rank(&m.r->processes.at[m.process], SONDE_STR("2"), SONDE_STR("4"));
	m.device = 1;
	made_launch(&m, "k", 0, NULL);
	made_process(&m, 800);
	sonde_process__set_rank(&m.r->processes.at[m.process], SONDE_STR("10"), SONDE_STR("16"));
	made_launch(&m, "k", 0, NULL);
	made_process(&m, 850); /* a worker of that rank */
	sonde_process__set_rank(&m.r->processes.at[m.process], SONDE_STR("10"), SONDE_STR("16"));
	made_launch(&m, "k", 0, NULL);
	made_process(&m, 700); /* alone in its job */
	sonde_process__set_rank(&m.r->processes.at[m.process], SONDE_STR("0"), SONDE_STR("1"));
	made_launch(&m, "k", 0, NULL);
	l = attribute(&m, NULL);
	assert_int_equal(l->scopes.nr, 5);
	assert_true(sonde_str_is(l->scopes.at[0].name, "rank 2 · host · GPU 1"));
	assert_true(sonde_str_is(
		l->scopes.at[1].name, "rank 10 · host · GPU 1 · process 800 of input 1"));
	assert_true(sonde_str_is(
		l->scopes.at[2].name, "rank 10 · host · GPU 1 · process 850 of input 1"));
	assert_true(sonde_str_is(l->scopes.at[3].name, "process:1/device:0"));
	assert_true(sonde_str_is(l->scopes.at[4].name, "process:700/device:1"));
	sonde_launches_free(l);
	made_release(&m);
}

static void test_launches__recursion_makes_a_node_below_itself(void **state)
{
	struct made m;
	struct sonde_launches *l;
	uint32_t a, b;

	(void)state;
	made_init(&m);
	a = made_push(&m, MADE_ROOT, "A");
	b = made_push(&m, a, "A");
	made_launch(&m, "k", 1, &b);
	l = attribute(&m, NULL);
	assert_int_equal(l->regions.nr, 2);
	assert_non_null(find_region(l, "A/A"));
	sonde_launches_free(l);
	made_release(&m);
}

static void test_launches__domains_are_trees_of_their_own(void **state)
{
	struct made m;
	struct sonde_launches *l;
	uint32_t open[2];

	(void)state;
	made_init(&m);
	open[0] = made_push(&m, MADE_ROOT, "train");
	open[1] = made_range(&m, MADE_ROOT, "libA", "train", SONDE_PUSH_POP);
	made_launch(&m, "k", 2, open);
	l = attribute(&m, NULL);
	assert_non_null(find_region(l, "train"));
	assert_non_null(find_region(l, "libA@train"));
	sonde_launches_free(l);
	made_release(&m);
}

static void test_launches__scopes_are_processes_and_devices_in_order(void **state)
{
	struct made m;
	struct sonde_launches *l;
	uint32_t a;

	(void)state;
	made_init(&m);
	made_process(&m, 20);
	m.device = 1;
	a = made_push(&m, MADE_ROOT, "A");
	made_launch(&m, "k", 1, &a);
	m.device = 0;
	made_launch(&m, "k", 1, &a);
	made_launch(&m, "k", 0, NULL);
	m.device = 1;
	made_launch(&m, "k", 1, &a); /* the same entry again, after the other device */
	made_process(&m, 10);
	made_launch(&m, "k", 0, NULL);
	l = attribute(&m, NULL);
	assert_int_equal(l->scopes.nr, 3);
	assert_true(sonde_str_is(l->scopes.at[0].name, "process:10/device:1"));
	assert_true(sonde_str_is(l->scopes.at[1].name, "process:20/device:0"));
	assert_true(sonde_str_is(l->scopes.at[2].name, "process:20/device:1"));
	assert_int_equal(instances(l, 1, "A"), 1);
	assert_int_equal(instances(l, 2, "A"), 1);
	assert_int_equal(l->strays.nr, 2);
	sonde_launches_free(l);
	made_release(&m);
}

static void test_launches__entries_without_launches_are_regions_too(void **state)
{
	struct made m;
	struct sonde_launches *l;
	uint32_t a;

	(void)state;
	made_init(&m);
	a = made_push(&m, MADE_ROOT, "busy");
	made_push(&m, a, "idle");
	made_launch(&m, "k", 1, &a);
	made_process(&m, 7);
	made_push(&m, MADE_ROOT, "host only");
	l = attribute(&m, NULL);
	assert_int_equal(instances(l, 0, "busy/idle"), 1);
	assert_true(sonde_str_is(l->scopes.at[1].name, "process:7/host"));
	assert_int_equal(instances(l, 1, "host only"), 1);
	sonde_launches_free(l);
	made_release(&m);
}

static void test_launches__kernel_selection_keeps_regions_and_counts_the_rest(void **state)
{
	const char *include[] = {"gemm*"}, *exclude[] = {"gemm_b"};
	struct sonde_selection s = {.kernel_include = {include, 1}, .kernel_exclude = {exclude, 1}};
	struct made m;
	struct sonde_launches *l;
	uint32_t a, b;

	(void)state;
	made_init(&m);
	a = made_push(&m, MADE_ROOT, "A");
	b = made_push(&m, MADE_ROOT, "B");
	made_launch(&m, "gemm_a", 1, &a);
	made_launch(&m, "gemm_b", 1, &a);
	made_launch(&m, "axpy", 1, &b);
	made_launch(&m, "gemm_a", 0, NULL);
	l = attribute(&m, &s);
	assert_int_equal(l->tally.nr_taken, 1);
	assert_int_equal(l->tally.nr_outside, 1);
	assert_int_equal(l->tally.nr_not_selected, 2);
	assert_true(find_region(l, "B")->is_shown);
	sonde_launches_free(l);
	made_release(&m);
}

static void test_launches__nvtx_selection_hides_other_regions(void **state)
{
	const char *include[] = {"A/"}, *nothing[] = {"Z/"};
	struct sonde_selection s = {.nvtx_include = {include, 1}};
	struct made m;
	struct sonde_launches *l;
	uint32_t a, b;

	(void)state;
	made_init(&m);
	a = made_push(&m, MADE_ROOT, "A");
	b = made_push(&m, MADE_ROOT, "B");
	made_launch(&m, "k", 1, &a);
	made_launch(&m, "k", 1, &b);
	l = attribute(&m, &s);
	assert_true(find_region(l, "A")->is_shown);
	assert_false(find_region(l, "B")->is_shown);
	sonde_launches_free(l);
	s.nvtx_include.at = nothing;
	l = attribute(&m, &s);
	assert_false(find_region(l, "B")->is_shown);
	assert_int_equal(l->tally.nr_taken, 0);
	assert_int_equal(l->notes.texts.nr, 2);
	assert_non_null(strstr(l->notes.texts.keys[0].p, "A, B"));
	assert_non_null(strstr(l->notes.texts.keys[1].p, "'Z/' matches no range"));
	sonde_launches_free(l);
	made_release(&m);
}

static void assert_note(const struct sonde_launches *l, size_t i, const char *text)
{
	assert_true(i < l->notes.texts.nr);
	assert_true(sonde_str_is(l->notes.texts.keys[i], text));
}

static void test_launches__each_pattern_that_meets_nothing_is_noted(void **state)
{
	const char *include[] = {"A/", "A1", "nope"}, *exclude[] = {"Bee"}, *kernels[] = {"k", "q"};
	struct sonde_selection s = {.nvtx_include = {include, 3},
		.nvtx_exclude = {exclude, 1},
		.kernel_exclude = {kernels, 2}};
	struct made m;
	struct sonde_launches *l;
	uint32_t a;

	(void)state;
	made_init(&m);
	a = made_push(&m, made_push(&m, MADE_ROOT, "A"), "A::A1");
	made_launch(&m, "k", 1, &a);
	made_launch(&m, "other", 1, &a);
	l = attribute(&m, &s);
	assert_int_equal(l->notes.texts.nr, 4);
	assert_note(l, 0, "NVTX include 'A1' matches no range, did you mean 'A::A1'?");
	assert_note(l, 1, "NVTX include 'nope' matches no range");
	assert_note(l, 2, "NVTX exclude 'Bee' matches no range");
	assert_note(l, 3, "kernel exclude 'q' matches no kernel");
	sonde_launches_free(l);
	s.is_exclude_applied = true;
	l = attribute(&m, &s);
	assert_int_equal(l->notes.texts.nr, 3);
	assert_note(l, 2, "kernel exclude 'q' matches no kernel");
	sonde_launches_free(l);
	made_release(&m);
}

static void test_launches__what_the_profiler_selected_is_not_selected_again(void **state)
{
	const char *nsights = "A/", *ours = "A", *kernel = "_Z1kv";
	struct sonde_selection s = {.nvtx_include = {&nsights, 1},
		.kernel_include = {&kernel, 1},
		.is_include_applied = true,
		.is_kernels_applied = true};
	struct made m;
	struct sonde_launches *l;
	uint32_t a, b;

	(void)state;
	made_init(&m);
	a = made_push(&m, MADE_ROOT, "A");
	b = made_push(&m, MADE_ROOT, "B");
	made_launch(&m, "k", 1, &a);
	made_launch(&m, "k", 1, &b); /* it does not matter why the profiler captured it */
	l = attribute(&m, &s);
	assert_int_equal(l->tally.nr_taken, 2);
	assert_int_equal(l->tally.nr_not_selected, 0);
	assert_int_equal(l->notes.texts.nr, 0);
	sonde_launches_free(l);
	s.nvtx_include.at = &ours; /* a glob in sonde's syntax: the profiler captured at least what it matches */
	l = attribute(&m, &s);
	assert_int_equal(l->tally.nr_taken, 1);
	sonde_launches_free(l);
	made_release(&m);
}

static void test_launches__kernel_patterns_leave_replayed_ranges_alone(void **state)
{
	const char *kernel = "gemm", *other = "range";
	struct sonde_selection s = {.kernel_include = {&kernel, 1}, .kernel_exclude = {&other, 1}};
	struct made m;
	struct sonde_launches *l;
	uint32_t a;

	(void)state;
	made_init(&m);
	a = made_push(&m, MADE_ROOT, "A");
	made_launch(&m, "range", 1, &a);
	m.r->records.at[0].kind = SONDE_RESULT_RANGE;
	l = attribute(&m, &s);
	assert_int_equal(l->tally.nr_taken, 1);
	assert_int_equal(l->notes.texts.nr, 1);
	assert_non_null(strstr(l->notes.texts.keys[0].p, "a replayed range is one result without kernels, so kernel filters do not change it"));
	sonde_launches_free(l);
	made_launch(&m, "axpy", 1, &a);
	l = attribute(&m, &s);
	assert_int_equal(l->tally.nr_taken, 1);
	assert_int_equal(l->tally.nr_not_selected, 1);
	assert_int_equal(l->notes.texts.nr, 3); /* two words that match no kernel, and a note about ranges */
	sonde_launches_free(l);
	made_release(&m);
}

static void test_launches__regions_that_are_known_otherwise_are_shown_empty(void **state)
{
	const char *known[] = {"A", "A/A::A1", "A/x\\/y", "B", "step_7", "s@@", "D@op", "none@op"};
	const char *include[] = {"A*", "B", "s", "D@op/", "step_*"};
	struct sonde_selection s = {.known = {known, 8}, .nvtx_include = {include, 5}};
	const char *want[] = {"A", "D@op", "A/A::A1", "A/x\\/y", "B", "step_*", "s@@"};
	struct made m;
	struct sonde_launches *l;
	uint32_t a, d;
	size_t i;

	(void)state;
	made_init(&m);
	a = made_push(&m, MADE_ROOT, "A");
	d = made_range(&m, MADE_ROOT, "D", "op", SONDE_PUSH_POP);
	made_launch(&m, "k", 1, &a);
	made_launch(&m, "k", 1, &d);
	l = attribute(&m, &s);
	assert_int_equal(l->regions.nr, 7); /* no region of a domain that the capture does not have */
	assert_int_equal(l->presences.nr, 7);
	for (i = 0; i < 7; i++) {
		assert_true(sonde_str_is(l->regions.at[i].id, want[i]));
		assert_true(l->regions.at[i].is_shown);
		assert_int_equal(l->presences.at[i].instances, i < 2);
	}
	assert_int_equal(l->regions.at[6].kind, SONDE_REGION_START_END);
	assert_int_equal(l->tally.nr_taken, 2);
	sonde_launches_free(l);
	s.nvtx_include.nr = 1; /* A* alone */
	l = attribute(&m, &s);
	assert_true(l->regions.at[2].is_shown && !l->regions.at[4].is_shown);
	sonde_launches_free(l);
	made_release(&m);
}

static void test_launches__a_bad_expression_is_a_usage_error(void **state)
{
	const char *bad[] = {"*/"};
	struct sonde_selection s = {.nvtx_include = {bad, 1}};
	struct sonde_launches *l;
	struct sonde_err err = {0};
	struct made m;

	(void)state;
	made_init(&m);
	made_launch(&m, "k", 0, NULL);
	assert_int_equal(sonde_launches_build(&l, m.r, &s, &err), SONDE_ERR_USAGE);
	assert_null(l);
	made_release(&m);
}

/* Entries with times, as in a native capture: they are known even without launches. */
static void timed_entries(struct made *m)
{
	size_t i;

	for (i = 0; i < m->r->ranges.nr; i++)
		m->r->ranges.at[i].time = (struct sonde_range_time){.begin_ns = 10, .end_ns = 40};
	m->r->has_range_times = true;
}

static void test_launches__ranges_without_launches_are_regions_where_they_are_known(void **state)
{
	static const char *const words[] = {"idle*"}, *const none[] = {"nope"};
	struct sonde_selection idle = {.nvtx_include = {words, 1}},
			       nothing = {.nvtx_include = {none, 1}};
	struct made m;
	struct sonde_launches *l;
	uint32_t a;

	(void)state;
	made_init(&m);
	a = made_push(&m, MADE_ROOT, "A");
	made_push(&m, made_push(&m, MADE_ROOT, "outer"), "idle1");
	made_launch(&m, "k", 1, &a);
	l = attribute(&m, NULL);
	assert_false(find_region(l, "outer")->is_shown); /* without times, ranges are known from launches only */
	sonde_launches_free(l);
	timed_entries(&m);
	l = attribute(&m, NULL);
	assert_true(find_region(l, "A")->is_shown);
	assert_true(find_region(l, "outer/idle1")->is_shown);
	sonde_launches_free(l);
	l = attribute(&m, &idle);
	assert_false(find_region(l, "A")->is_shown);
	assert_true(find_region(l, "outer")->is_shown);
	assert_int_equal(l->tally.nr_taken, 0);
	assert_int_equal(l->notes.texts.nr, 0);
	sonde_launches_free(l);
	l = attribute(&m, &nothing);
	assert_false(find_region(l, "A")->is_shown); /* nothing matched, and notes say that */
	assert_int_equal(l->notes.texts.nr, 2);
	sonde_launches_free(l);
	made_release(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_launches__stack_decides_the_path),
		cmocka_unit_test(test_launches__label_hangs_an_outermost_range_below_its_prefix),
		cmocka_unit_test(test_launches__a_label_finds_its_prefix_in_its_own_process_only),
		cmocka_unit_test(
			test_launches__start_end_ranges_count_once_per_label_and_never_nest),
		cmocka_unit_test(test_launches__ids_are_unique_whatever_labels_hold),
		cmocka_unit_test(test_launches__scopes_of_ranks_are_named_by_them),
		cmocka_unit_test(test_launches__recursion_makes_a_node_below_itself),
		cmocka_unit_test(test_launches__domains_are_trees_of_their_own),
		cmocka_unit_test(test_launches__scopes_are_processes_and_devices_in_order),
		cmocka_unit_test(test_launches__entries_without_launches_are_regions_too),
		cmocka_unit_test(test_launches__kernel_selection_keeps_regions_and_counts_the_rest),
		cmocka_unit_test(test_launches__nvtx_selection_hides_other_regions),
		cmocka_unit_test(test_launches__each_pattern_that_meets_nothing_is_noted),
		cmocka_unit_test(test_launches__what_the_profiler_selected_is_not_selected_again),
		cmocka_unit_test(test_launches__kernel_patterns_leave_replayed_ranges_alone),
		cmocka_unit_test(test_launches__regions_that_are_known_otherwise_are_shown_empty),
		cmocka_unit_test(test_launches__a_bad_expression_is_a_usage_error),
		cmocka_unit_test(
			test_launches__ranges_without_launches_are_regions_where_they_are_known),
	};

	return cmocka_run_group_tests_name("launches", tests, NULL, NULL);
}
