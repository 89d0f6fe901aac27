/* Sampling goes on while a program is not captured (capture.window): counts from that time belong to no region. */
#include "sampled_made.h"

#define NR_WINDOWS 2
#define WINDOW_STEPS 50 /* steps per window */

/* The steps 100 … 149 and 250 … 299 are captured. Launches of other steps are not in the records, but their work is in the samples. */
static bool is_captured(size_t step)
{
	return step % 150 >= 100 && step < 2 * 150;
}

/* Calls come some time before their work: the first launches of a window are not the first work that runs in it. */
#define QUEUED_NS 300000

static void capture_some(struct program *p, uint32_t home)
{
	struct sonde_records *r = p->m.r;
	size_t i, nr = 0, step = 0, of_home = 0;
	bool is_open = false;

	for (i = 0; i < r->records.nr; i++) {
		struct sonde_record *rec = &r->records.at[i];
		bool is_home = sonde_record_caller(r, rec)->process == home;

		step = is_home ? of_home++ / 4 : step; /* launches of a step */
		rec->call = (uint32_t)i;
		rec->call_ns = rec->time.start_ns - QUEUED_NS;
		if (is_home && is_captured(step) && !is_open)
			assert_true(sonde_vec_put(&r->windows,
				(struct sonde_window_time){rec->call_ns, UINT64_MAX, home}));
		if (is_home && !is_captured(step) && is_open)
			r->windows.at[r->windows.nr - 1].end_ns = rec->call_ns;
		is_open = is_home ? is_captured(step) : is_open;
		if (!is_home || is_open)
			r->records.at[nr++] = *rec;
	}
	r->records.nr = nr;
}

static void test_sampled__what_ran_outside_windows_is_nobodys(void **state)
{
	double part = (double)(NR_WINDOWS * WINDOW_STEPS) / NR_STEPS;
	struct program p;
	struct run run;

	(void)state;
	run_program(&p, &whole);
	capture_some(&p, p.m.process);
	assert_int_equal(p.m.r->windows.nr, NR_WINDOWS);
	fold_program(&run, &p);
	holds_region(&run, "step/a", part * (p.first + p.second));
	holds_region(&run, "step/b", part * p.b);
	release(&run);
	end_program(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sampled__what_ran_outside_windows_is_nobodys),
	};

	return cmocka_run_group_tests_name("sampled_windows", tests, NULL, NULL);
}
