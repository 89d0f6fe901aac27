/*
 * The pace of a budget, with programs whose loss is known: time is simulated, so that every run is the
 * same, and the time that windows and switching take from the program is counted exactly.
 */
#include "unit.h"

#include "inject/pace.h"

struct program {
	double launch_ns;  /* time between launches outside windows */
	double record_ns;  /* what a launch costs in a window … */
	double hidden_ns;  /* … and the part of that which no call shows */
	double switch_ns;  /* what it costs to open or close a window … */
	double late_ns;	   /* … and the part of that which is not measured */
	double busy_ns, wait_ns; /* it works and waits in turn; 0 = it works all the time */
	double launches_a_range;
	double range_ns, passed_ns; /* what a range costs in windows, and outside of them */
	double waver; /* by how much the rate of ranges changes over time */
};

struct outcome {
	double clean_ns, lost_ns; /* the time of the work without losses, and the time lost */
	double timed_ns, launches, timed;
	uint32_t nr_windows;
	double first_ns;
};

struct run {
	const struct program *p;
	struct pace pace;
	double ns, launches, seen, ranges;
	uint64_t nr_spans;
	struct outcome out;
};

/* Works for `ns`, or until the program waits; returns how long it worked. */
static double work(struct run *r, double ns)
{
	const struct program *p = r->p;
	uint64_t mixed = r->nr_spans * 0x9e3779b97f4a7c15u;
	double into = 0, each, nr, range = r->pace.is_open ? p->range_ns : p->passed_ns, wave = (mixed ^ mixed >> 31) >> 20 & 1 ? 1 + p->waver : 1 - p->waver;

	if (p->wait_ns > 0) {
		into = r->ns - (double)(uint64_t)(r->ns / (p->busy_ns + p->wait_ns)) *
				       (p->busy_ns + p->wait_ns);
		if (into >= p->busy_ns) {
			into = p->busy_ns + p->wait_ns - into;
			return into < ns ? into : ns;
		}
		ns = p->busy_ns - into < ns ? p->busy_ns - into : ns;
	}
	each = p->launch_ns + (r->pace.is_open ? p->record_ns + p->hidden_ns : 0) +
	       range / p->launches_a_range;
	nr = ns / each;
	r->launches += nr;
	r->out.timed += r->pace.is_open ? nr : 0;
	r->seen += r->pace.is_open ? nr : 0;
	r->ranges += nr / p->launches_a_range * wave;
	r->out.clean_ns += nr * p->launch_ns;
	r->out.lost_ns += ns - nr * p->launch_ns;
	return ns;
}

static struct pace_sight look(const struct run *r, double switch_ns)
{
	return (struct pace_sight){.ns = (uint64_t)r->ns,
		.cpu_ns = (uint64_t)r->ns,
		.nr_launches = (uint64_t)r->seen,
		.nr_ranges = (uint64_t)r->ranges,
		.switch_ns = switch_ns,
		.record_ns = r->p->record_ns,
		.range_ns = r->p->range_ns,
		.passed_ns = r->p->passed_ns};
}

static void go_on(struct run *r, double ns)
{
	double until = r->ns + ns, step;

	r->nr_spans++;
	r->out.timed_ns += r->pace.is_open ? ns : 0;
	while (r->ns < until - 1) {
		step = work(r, until - r->ns);
		r->ns += step > 1 ? step : 1;
	}
}

static struct outcome simulate(const struct program *p, double budget, double seconds, uint64_t seed)
{
	struct run r = {.p = p, .pace = {.budget = budget, .least_record_ns = 500, .call_ns = 0}};
	struct pace_sight s = look(&r, 0);
	double length = (double)sonde_pace__begin(&r.pace, &s, seed), lost = 0;
	bool was_open;

	r.out.first_ns = length;
	while (r.ns < seconds * 1e9) {
		go_on(&r, length);
		was_open = r.pace.is_open;
		s = look(&r, lost);
		length = (double)sonde_pace__turn(&r.pace, &s);
		lost = 0;
		if (r.pace.is_open != was_open) {
			r.ns += p->switch_ns + p->late_ns;
			r.out.lost_ns += p->switch_ns + p->late_ns;
			r.out.nr_windows += was_open;
			lost = p->switch_ns;
			s = look(&r, 0);
			sonde_pace__switched(&r.pace, &s);
		}
	}
	r.out.launches = r.launches;
	return r.out;
}

/* Checks that the program lost at most `most` times the budget, and at least `least` times the budget. */
static struct outcome assert_kept(const struct program *p, double budget, double least, double most)
{
	uint64_t seed;
	struct outcome o;

	for (seed = 1; seed <= 20; seed++) {
		double slow;

		o = simulate(p, budget, 1200, seed * 0x9e3779b97f4a7c15u);
		slow = o.lost_ns / o.clean_ns / budget;
		if (slow < least || slow > most)
			fail_msg("budget %g: %.3f of it, %.1f %% in %u windows", budget, slow,
				100 * o.timed / o.launches, o.nr_windows);
	}
	return o;
}

static void test_pace__budget_is_kept_and_used(void **state)
{
	static const double budgets[] = {0.005, 0.02, 0.1}, rates[] = {2e3, 20e3, 200e3};
	static const double switches[] = {0, 50e3, 2e6, 30e6};
	size_t i, j, k;

	(void)state;
	for (i = 0; i < 3; i++)
		for (j = 0; j < 3; j++)
			for (k = 0; k < 4; k++) {
				struct program p = {.launch_ns = rates[j],
					.record_ns = 3300,
					.switch_ns = switches[k],
					.launches_a_range = 3};

				if (p.record_ns / p.launch_ns > budgets[i])
					assert_kept(&p, budgets[i], 0.8, 1.08);
			}
}

/* Ranges also cost time outside windows: windows are shorter by that much. */
static void test_pace__ranges_outside_windows_are_paid_first(void **state)
{
	struct program p = {.launch_ns = 20e3, .record_ns = 3300, .switch_ns = 2e6, .launches_a_range = 3,
		.range_ns = 400, .passed_ns = 400};
	struct program dear = p;
	struct outcome paid, unpaid;

	(void)state;
	paid = assert_kept(&p, 0.02, 0.8, 1.08);
	p.passed_ns = 0;
	unpaid = assert_kept(&p, 0.02, 0.8, 1.08);
	assert_true(paid.timed / paid.launches < 0.75 * unpaid.timed / unpaid.launches);
	dear.passed_ns = 3000; /* more than the whole budget: windows still get half of the budget */
	assert_kept(&dear, 0.02, 2.5 + 0.4, 2.5 + 0.54);
}

/* A program that has only ranges, or a launch now and then. */
static void test_pace__ranges_in_windows_are_paid_too(void **state)
{
	struct program p = {.launch_ns = 20e3, .record_ns = 500, .switch_ns = 2e6, .launches_a_range = 0.1,
		.range_ns = 150};

	(void)state;
	assert_kept(&p, 0.02, 0.8, 1.08);
}

static void test_pace__dear_switches_are_fewer_and_windows_longer(void **state)
{
	struct program cheap = {.launch_ns = 20e3, .record_ns = 3300, .switch_ns = 20e3, .launches_a_range = 3};
	struct program dear = cheap;
	struct outcome a, b;

	(void)state;
	dear.switch_ns = 4e6;
	a = assert_kept(&cheap, 0.02, 0.9, 1.05);
	b = assert_kept(&dear, 0.02, 0.9, 1.05);
	assert_true(a.timed_ns / a.nr_windows < 12e6);
	assert_true(b.timed_ns / b.nr_windows > 40e6 && b.timed_ns / b.nr_windows < 110e6);
	assert_true(a.first_ns == 2e6 && b.first_ns == 2e6);
}

/* Windows cost 14 %, but calls show only 2 %: the times of ranges show the rest. */
static void test_pace__what_no_call_shows_is_found_in_ranges(void **state)
{
	struct program p = {.launch_ns = 20e3, .record_ns = 700, .hidden_ns = 4e3, .switch_ns = 50e3,
		.late_ns = 1e6, .launches_a_range = 3, .waver = 0.2};

	(void)state;
	assert_kept(&p, 0.02, 0.9, 1.1);
	p.late_ns = 0;
	assert_kept(&p, 0.02, 0.9, 1.1);
}

/* Even if windows seem to cost nothing, their cost must be checked. */
static void test_pace__windows_without_end_are_checked_too(void **state)
{
	struct program p = {.launch_ns = 30e3, .record_ns = 0, .hidden_ns = 3e3, .switch_ns = 20e3, .launches_a_range = 3};

	(void)state;
	assert_kept(&p, 0.02, 0.9, 1.1);
}

/* Ranges that come at an irregular rate must not make windows shorter. */
static void test_pace__scatter_of_ranges_is_not_taken_for_cost(void **state)
{
	struct program p = {.launch_ns = 20e3, .record_ns = 3300, .switch_ns = 50e3, .launches_a_range = 3000, .busy_ns = 30e6, .wait_ns = 11e6};

	(void)state;
	assert_kept(&p, 0.02, 0.5, 1.4); /* of the time in which it works, which is 73 % */
}

/* If the program waits most of the time, its loss while it works must still be within the budget. */
static void test_pace__waiting_is_no_credit(void **state)
{
	struct program p = {.launch_ns = 20e3, .record_ns = 3300, .switch_ns = 20e3,
		.launches_a_range = 3, .busy_ns = 300e6, .wait_ns = 2700e6};

	(void)state;
	assert_kept(&p, 0.02, 0.5, 1.4);
}

static void test_pace__room_for_everything_is_one_window(void **state)
{
	struct program p = {.launch_ns = 1e6, .record_ns = 3300, .switch_ns = 50e3, .launches_a_range = 3};
	struct outcome o = simulate(&p, 0.02, 60, 7);

	(void)state;
	assert_true(o.nr_windows > 8 && o.timed > 0.98 * o.launches); /* all but the windows that are skipped to measure the cost */
	o = simulate(&p, 1, 60, 7);
	assert_true(o.nr_windows == 0 && o.timed == o.launches);
}

/* capture.window is closed half of the time: the budget applies to the time in which it is open. */
static void test_pace__waiting_for_a_window_costs_nothing(void **state)
{
	struct pace p = {.budget = 0.02, .least_record_ns = 500};
	struct pace_sight s = {.ns = 1, .record_ns = 3300};
	uint64_t length = sonde_pace__begin(&p, &s, 7);
	double spent;

	(void)state;
	s.ns += length;
	s.nr_launches = 100;
	sonde_pace__turn(&p, &s);
	assert_false(p.is_open);
	s.ns += (uint64_t)1e9;
	sonde_pace__turn(&p, &s);
	assert_true(p.is_open);
	spent = p.spent_ns;
	s.ns += (uint64_t)60e9;
	sonde_pace__wait(&p, &s);
	assert_true(p.is_open && p.spent_ns == spent);
	s.ns += (uint64_t)10e6;
	s.nr_launches += 500;
	sonde_pace__turn(&p, &s);
	assert_false(p.is_open);
	assert_true(p.spent_ns == spent + 500 * 3300);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pace__budget_is_kept_and_used),
		cmocka_unit_test(test_pace__ranges_outside_windows_are_paid_first),
		cmocka_unit_test(test_pace__ranges_in_windows_are_paid_too),
		cmocka_unit_test(test_pace__dear_switches_are_fewer_and_windows_longer),
		cmocka_unit_test(test_pace__what_no_call_shows_is_found_in_ranges),
		cmocka_unit_test(test_pace__windows_without_end_are_checked_too),
		cmocka_unit_test(test_pace__scatter_of_ranges_is_not_taken_for_cost),
		cmocka_unit_test(test_pace__waiting_is_no_credit),
		cmocka_unit_test(test_pace__room_for_everything_is_one_window),
		cmocka_unit_test(test_pace__waiting_for_a_window_costs_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
