/* The wall time that entries add to a run: time spent in a queue is not counted twice, and overlapping time is not subtracted. */
#include "compare/diff_int.h"

#include "unit.h"

#include <math.h>

struct made_cells {
	struct sonde_cells c;
	struct sonde_arena arena;
	double *walls;
};

static void visit(struct made_cells *m, uint32_t scope)
{
	struct sonde_visit *v = sonde_vec_push(&m->c.visits);

	assert_non_null(v);
	v->scope = scope;
	v->region = (uint32_t)(m->c.visits.nr - 1);
	v->first_entry = (uint32_t)m->c.entries.nr;
}

/* Adds an entry to the last visit: entered at `begin`, left after `host`, with all its work done after `wall`. */
static void enter(struct made_cells *m, uint64_t begin, uint64_t host, uint64_t wall, uint64_t gpu)
{
	struct sonde_entry *e = sonde_vec_push(&m->c.entries);

	assert_non_null(e);
	*e = (struct sonde_entry){.begin_ns = begin, .host_ns = host, .gpu_ns = gpu, .wall_ns = wall};
	m->c.visits.at[m->c.visits.nr - 1].nr_entries++;
}

static void count(struct made_cells *m)
{
	m->walls = sonde_diff__walls(&m->c, &m->arena);
	assert_non_null(m->walls);
}

static void release(struct made_cells *m)
{
	sonde_vec_release(&m->c.visits);
	sonde_vec_release(&m->c.entries);
	sonde_arena_release(&m->arena);
}

static void test_walls__of_a_host_that_waits_are_those_of_the_entries(void **state)
{
	struct made_cells m = {0};

	(void)state;
	visit(&m, 0); /* steps … */
	enter(&m, 0, 100, 100, 60);
	enter(&m, 100, 120, 120, 60);
	visit(&m, 0); /* … and a region inside each */
	enter(&m, 10, 50, 50, 40);
	enter(&m, 110, 60, 60, 40);
	count(&m);
	assert_true(m.walls[0] == 100 && m.walls[1] == 120 && m.walls[2] == 50 && m.walls[3] == 60);
	release(&m);
}

/* Launched at 0, 10 and 20, done at 100, 200 and 300: each adds 100, however long it waited in a queue. */
static void test_walls__of_a_host_that_is_ahead_add_up_to_the_run(void **state)
{
	struct made_cells m = {0};

	(void)state;
	visit(&m, 0);
	enter(&m, 0, 9, 100, 95);
	enter(&m, 10, 9, 190, 95);
	enter(&m, 20, 9, 280, 95);
	visit(&m, 0); /* two regions inside, with 40 and 60 of it */
	enter(&m, 1, 2, 39, 38);
	enter(&m, 11, 2, 129, 38);
	enter(&m, 21, 2, 219, 38);
	visit(&m, 0);
	enter(&m, 4, 2, 96, 57);
	enter(&m, 14, 2, 186, 57);
	enter(&m, 24, 2, 276, 57);
	count(&m);
	assert_true(m.walls[0] == 100 && m.walls[1] == 100 && m.walls[2] == 100);
	assert_true(m.walls[4] == 40 && m.walls[5] == 40 && m.walls[7] == 60 && m.walls[8] == 60);
	release(&m);
}

/* The second is launched on another stream and runs with the first. Scopes do not affect each other. */
static void test_walls__of_what_runs_at_once_are_no_shorter_than_its_launches(void **state)
{
	struct made_cells m = {0};

	(void)state;
	visit(&m, 0);
	enter(&m, 0, 5, 100, 100);
	visit(&m, 0);
	enter(&m, 6, 5, 96, 95);
	visit(&m, 1);
	enter(&m, 6, 5, 96, 10);
	count(&m);
	assert_true(m.walls[0] == 100 && m.walls[1] == 95 && m.walls[2] == 96);
	release(&m);
}

static void test_walls__that_are_not_known_stay_so(void **state)
{
	struct made_cells m = {0};

	(void)state;
	visit(&m, 0);
	enter(&m, 0, 5, SONDE_NO_WALL, 1);
	enter(&m, 10, 5, 20, 1);
	count(&m);
	assert_true(isnan(m.walls[0]) && m.walls[1] == 20);
	release(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_walls__of_a_host_that_waits_are_those_of_the_entries),
		cmocka_unit_test(test_walls__of_a_host_that_is_ahead_add_up_to_the_run),
		cmocka_unit_test(test_walls__of_what_runs_at_once_are_no_shorter_than_its_launches),
		cmocka_unit_test(test_walls__that_are_not_known_stay_so),
	};

	return cmocka_run_group_tests_name("walls", tests, NULL, NULL);
}
