/* Launches of threads without ranges go into the ranges of the only other thread that has ranges (report.threads). */
#include "attribute/launches.h"

#include "base/alloc.h"
#include "made.h"
#include "unit.h"

#include <stdio.h>

static struct sonde_launches *attribute(const struct made *m, bool own)
{
	struct sonde_selection s = {.own_threads = own};
	struct sonde_launches *l;
	struct sonde_err err = {0};

	assert_int_equal(sonde_launches_build(&l, m->r, &s, &err), 0);
	return l;
}

/* The id of the only region a launch is in; "" outside. */
static struct sonde_str home(const struct sonde_launches *l, uint32_t launch_number)
{
	const struct sonde_place *p = &l->places.at[l->launches.at[launch_number].place];

	assert_true(p->nr < 2);
	return p->nr ? l->regions.at[l->homes.at[p->first]].id : SONDE_STR("");
}

static void is_in(const struct sonde_launches *l, uint32_t n, const char *id, bool is_adopted)
{
	if (!sonde_str_is(home(l, n), id))
		fail_msg("launch %u is in '%.*s', not '%s'", n, SONDE_STR_ARG(home(l, n)), id);
	assert_int_equal(l->launches.at[n].is_adopted, is_adopted);
}

static void test_adopt__takes_the_open_stack_of_the_one_other_thread(void **state)
{
	struct sonde_launches *l;
	struct made m;
	uint32_t step, fwd, own;

	(void)state;
	made_init(&m);
	step = made_push_at(&m, 1, MADE_ROOT, "step", 100, 500);
	fwd = made_push_at(&m, 1, step, "forward", 110, 200);
	made_push_at(&m, 1, step, "backward", 300, 400);
	own = made_push_at(&m, 2, MADE_ROOT, "load", 350, 360);
	made_launch_at(&m, 1, 150, fwd);	/* 0 */
	made_launch_at(&m, 2, 299, SONDE_NONE); /* 1: between the two */
	made_launch_at(&m, 2, 300, SONDE_NONE); /* 2: just begun */
	made_launch_at(&m, 2, 355, own);	/* 3 */
	made_launch_at(&m, 2, 399, SONDE_NONE); /* 4 */
	made_launch_at(&m, 2, 400, SONDE_NONE); /* 5: just over */
	made_launch_at(&m, 2, 500, SONDE_NONE); /* 6 */
	made_launch_at(&m, 2, 99, SONDE_NONE);	/* 7 */
	l = attribute(&m, false);
	is_in(l, 0, "step/forward", false);
	is_in(l, 1, "step", true);
	is_in(l, 2, "step/backward", true);
	is_in(l, 3, "load", false);
	is_in(l, 4, "step/backward", true);
	is_in(l, 5, "step", true);
	is_in(l, 6, "", false);
	is_in(l, 7, "", false);
	assert_int_equal(l->tally.nr_adopted, 4);
	assert_int_equal(l->tally.nr_outside_by[SONDE_OUTSIDE_NO_RANGE], 2);
	sonde_launches_free(l);
	l = attribute(&m, true);
	is_in(l, 2, "", false);
	assert_int_equal(l->tally.nr_adopted, 0);
	assert_int_equal(l->tally.nr_outside, 6);
	sonde_launches_free(l);
	made_release(&m);
}

static void test_adopt__two_threads_with_ranges_lend_nothing(void **state)
{
	struct sonde_launches *l;
	struct made m;

	(void)state;
	made_init(&m);
	made_push_at(&m, 1, MADE_ROOT, "A", 100, 300);
	made_push_at(&m, 2, MADE_ROOT, "B", 200, 400);
	made_launch_at(&m, 3, 150, SONDE_NONE);
	made_launch_at(&m, 3, 250, SONDE_NONE);
	made_launch_at(&m, 3, 350, SONDE_NONE);
	made_launch_at(&m, 3, 450, SONDE_NONE);
	l = attribute(&m, false);
	is_in(l, 0, "A", true);
	is_in(l, 1, "", false);
	is_in(l, 2, "B", true);
	assert_int_equal(l->launches.at[1].cause, SONDE_OUTSIDE_TWO_THREADS);
	assert_int_equal(l->launches.at[3].cause, SONDE_OUTSIDE_NO_RANGE);
	assert_int_equal(l->tally.nr_outside_by[SONDE_OUTSIDE_TWO_THREADS], 1);
	sonde_launches_free(l);
	made_release(&m);
}

static void test_adopt__stays_in_its_process(void **state)
{
	struct sonde_launches *l;
	struct made m;

	(void)state;
	made_init(&m);
	made_push_at(&m, 1, MADE_ROOT, "A", 100, 300);
	made_process(&m, 2);
	made_launch_at(&m, 2, 150, SONDE_NONE);
	l = attribute(&m, false);
	is_in(l, 0, "", false);
	sonde_launches_free(l);
	made_release(&m);
}

static void test_adopt__a_launch_without_a_call_stays_outside(void **state)
{
	struct sonde_launches *l;
	struct made m;

	(void)state;
	made_init(&m);
	made_push_at(&m, 1, MADE_ROOT, "A", 100, 3000);
	made_launch_at(&m, 2, 0, SONDE_NONE);
	l = attribute(&m, false);
	is_in(l, 0, "", false);
	assert_int_equal(l->tally.nr_outside_by[SONDE_OUTSIDE_NO_CALL], 1);
	sonde_launches_free(l);
	made_release(&m);
}

/* Start/end ranges belong to the whole process: they are not on the stack of a thread, and stay beside an adopted stack. */
static void test_adopt__start_end_ranges_stay_beside_the_adopted_stack(void **state)
{
	const struct sonde_place *p;
	struct sonde_launches *l;
	struct made m;
	uint32_t start, n;

	(void)state;
	made_init(&m);
	made_push_at(&m, 1, MADE_ROOT, "A", 100, 300);
	start = made_start(&m, "request");
	n = made_launch_at(&m, 2, 150, start);
	made_launch_at(&m, 2, 160, start);
	l = attribute(&m, false);
	p = &l->places.at[l->launches.at[n].place];
	assert_int_equal(p->nr, 2);
	assert_int_equal(l->tally.nr_adopted, 2);
	assert_int_equal(l->launches.at[0].open, l->launches.at[1].open);
	sonde_launches_free(l);
	made_release(&m);
}

/* If launches have no times, the reader has recorded which ranges other threads had open. */
static void test_adopt__takes_what_a_state_lends(void **state)
{
	struct sonde_launches *l;
	struct made m;
	uint32_t a, lent;

	(void)state;
	made_init(&m);
	a = made_push(&m, MADE_ROOT, "A");
	lent = sonde_records__set(m.r, &a, 1);
	m.thread = 2;
	made_launch(&m, "k", 0, NULL);
	m.r->records.at[0].lent = lent;
	m.r->records.at[0].origin_kind = SONDE_ORIGIN_LENT;
	made_launch(&m, "k", 0, NULL);
	m.r->records.at[1].lent = SONDE_NONE;
	m.r->records.at[1].origin_kind = SONDE_ORIGIN_LENT;
	l = attribute(&m, false);
	is_in(l, 0, "A", true);
	is_in(l, 1, "", false);
	assert_int_equal(l->launches.at[1].cause, SONDE_OUTSIDE_TWO_THREADS);
	sonde_launches_free(l);
	made_release(&m);
}

/* Entries whose stack was adopted are counted in the scope of the launch. */
static void test_adopt__entries_count_in_the_scope_of_the_adopted(void **state)
{
	struct sonde_launches *l;
	struct made m;
	size_t i, seen = 0;

	(void)state;
	made_init(&m);
	made_push_at(&m, 1, MADE_ROOT, "A", 100, 300);
	m.device = 3;
	made_launch_at(&m, 2, 150, SONDE_NONE);
	l = attribute(&m, false);
	for (i = 0; i < l->presences.nr; i++)
		seen += l->presences.at[i].instances;
	assert_int_equal(l->scopes.nr, 1);
	assert_int_equal(seen, 1);
	sonde_launches_free(l);
	made_release(&m);
}

/* Many threads, ranges that end before they begin, and memory that runs out. */
static void test_adopt__odd_times_and_short_memory(void **state)
{
	struct sonde_selection all = {0};
	struct sonde_launches *l = NULL;
	uint64_t i, before, total;
	struct made m;

	(void)state;
	made_init(&m);
	for (i = 0; i < 300; i++) {
		made_push_at(&m, i % 7, MADE_ROOT, "A", (int)(i * 37 % 500), (int)(i * 91 % 500));
		made_launch_at(&m, 9, (int)(i * 53 % 500), SONDE_NONE);
	}
	before = sonde_alloc_count();
	sonde_launches_free(attribute(&m, false));
	total = sonde_alloc_count() - before;
	for (i = 1; i <= total; i++) {
		struct sonde_err err = {0};

		sonde_alloc_fail_at(i);
		if (sonde_launches_build(&l, m.r, &all, &err) == 0)
			sonde_launches_free(l);
		sonde_alloc_fail_at(0);
	}
	made_release(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_adopt__takes_the_open_stack_of_the_one_other_thread),
		cmocka_unit_test(test_adopt__two_threads_with_ranges_lend_nothing),
		cmocka_unit_test(test_adopt__stays_in_its_process),
		cmocka_unit_test(test_adopt__a_launch_without_a_call_stays_outside),
		cmocka_unit_test(test_adopt__start_end_ranges_stay_beside_the_adopted_stack),
		cmocka_unit_test(test_adopt__takes_what_a_state_lends),
		cmocka_unit_test(test_adopt__entries_count_in_the_scope_of_the_adopted),
		cmocka_unit_test(test_adopt__odd_times_and_short_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
