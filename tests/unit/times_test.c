/* Times that follow from timestamps: busy, span, idle and host time, streams. */
#include "treed.h"

static void stamp(struct made *m, uint64_t start, uint64_t end)
{
	size_t i;

	for (i = m->r->records.nr; i-- > 0 && !m->r->records.at[i].time.end_ns;)
		m->r->records.at[i].time = (struct sonde_record_time){start, end};
	m->r->has_record_times = true;
}

/* Every range is entered from 10 to 40. */
static void enter(struct made *m, uint64_t cpu_ns)
{
	size_t i;

	for (i = m->r->ranges.nr; i-- > 0 && !m->r->ranges.at[i].time.end_ns;)
		m->r->ranges.at[i].time = (struct sonde_range_time){10, 40, cpu_ns};
	m->r->has_range_times = true;
}

static void test_times__overlapping_launches_are_busy_once(void **state)
{
	const struct sonde_node *n;
	struct made m;
	struct run run;
	uint32_t a, b;

	(void)state;
	made_init(&m);
	a = made_push(&m, MADE_ROOT, "A");
	b = made_push(&m, a, "B");
	made_launch(&m, "late", 1, &b);
	stamp(&m, 5000000000, 5000000100);
	made_launch(&m, "first", 1, &a);
	stamp(&m, 1000, 1100);
	made_launch(&m, "overlaps", 1, &a);
	stamp(&m, 1050, 1150);
	made_launch(&m, "inside", 1, &a);
	stamp(&m, 1060, 1070);
	enter(&m, 7);
	aggregate(&run, m.r, NULL);
	n = run.t->reports.at[0].nodes.at;
	near(n[0].times.busy_ns, 250);
	near(n[0].times.span_ns, 5000000100.0 - 1000);
	near(n[0].times.idle_ns, 5000000100.0 - 1000 - 250); /* entered once: span less busy */
	near(n[1].times.idle_ns, 0);
	assert_int_equal(n[0].streams, 1);
	near(n[1].times.busy_ns, 100);
	near(n[0].times.host_ns, 30);
	near(n[0].times.cpu_ns, 7);
	near(run.t->reports.at[1].nodes.at[0].times.busy_ns, 250);
	release(&run);
	made_release(&m);
}

static void launch_on(struct made *m, uint32_t range, uint64_t stream, uint64_t start, uint64_t end)
{
	made_launch(m, "k", 1, &range);
	made_set_stream(m, m->r->records.nr - 1, stream);
	stamp(m, start, end);
}

static void test_times__streams_share_a_regions_launches(void **state)
{
	const struct sonde_report *r;
	const struct sonde_stream_work *s;
	const struct sonde_node *n;
	struct made m;
	struct run run;
	uint32_t a, b;

	(void)state;
	made_init(&m);
	a = made_push(&m, MADE_ROOT, "A");
	b = made_push(&m, a, "B");
	launch_on(&m, a, 7, 100, 200);
	launch_on(&m, b, 9, 150, 190);
	launch_on(&m, b, 7, 300, 400);
	launch_on(&m, b, 7, 350, 450); /* nodes of one graph overlap on their stream */
	aggregate(&run, m.r, NULL);
	r = &run.t->reports.at[0];
	n = r->nodes.at;
	assert_int_equal(n[0].streams, 2);
	s = &r->streams.at[n[0].first_stream];
	assert_int_equal(s[0].stream, 7); /* the busiest first */
	assert_int_equal(s[0].launches, 3);
	near(s[0].time_ns, 300);
	near(s[0].busy_ns, 250);
	assert_int_equal(s[1].stream, 9);
	near(s[1].busy_ns, 40);
	s = &r->streams.at[n[1].first_stream];
	assert_int_equal(n[1].streams, 2);
	assert_int_equal(s[0].launches, 2);
	near(s[0].busy_ns, 150);
	r = &run.t->reports.at[1]; /* the aggregate of one scope has them too */
	near(r->streams.at[r->nodes.at[1].first_stream].busy_ns, 150);
	release(&run);
	made_release(&m);
}

static void test_times__an_aggregate_of_several_scopes_counts_streams(void **state)
{
	const struct sonde_report *all;
	struct made m;
	struct run run;

	(void)state;
	made_init(&m);
	launch_on(&m, made_push(&m, MADE_ROOT, "A"), 7, 100, 200);
	made_process(&m, 4600);
	launch_on(&m, made_push(&m, MADE_ROOT, "A"), 7, 100, 200);
	aggregate(&run, m.r, NULL);
	all = &run.t->reports.at[run.t->reports.nr - 1];
	assert_int_equal(all->nodes.at[0].streams, 2);
	assert_int_equal(all->streams.nr, 0);
	assert_int_equal(run.t->reports.at[1].streams.nr, 1);
	release(&run);
	made_release(&m);
}

/* One process, two devices: B launches on the second only, A on both. */
static void test_times__a_process_with_two_devices_counts_entries_and_host_time_once(void **state)
{
	const struct sonde_report *all;
	struct made m;
	struct run run;
	uint32_t a, b;

	(void)state;
	made_init(&m);
	a = made_push(&m, MADE_ROOT, "A");
	b = made_push(&m, MADE_ROOT, "B");
	launch_on(&m, a, 7, 100, 200);
	launch_on(&m, a, 7, 300, 400);
	made_set_device(&m, 1, 1);
	launch_on(&m, b, 7, 500, 600);
	made_set_device(&m, 2, 1);
	enter(&m, 7);
	aggregate(&run, m.r, NULL);
	all = &run.t->reports.at[run.t->reports.nr - 1];
	assert_int_equal(node_named(&run, all, "A")->instances, 1);
	near(node_named(&run, all, "A")->times.host_ns, 30);
	near(node_named(&run, all, "B")->times.host_ns, 30);
	assert_int_equal(node_named(&run, &run.t->reports.at[1], "A")->instances, 1);
	release(&run);
	made_release(&m);
}

/* A launches on the second device only; B, inside it, launches nothing; the first device has a kernel outside of ranges.
 */
static void test_times__an_entry_without_launches_is_where_the_one_around_it_is(void **state)
{
	const struct sonde_report *first, *second;
	struct made m;
	struct run run;
	uint32_t a;

	(void)state;
	made_init(&m);
	a = made_push(&m, MADE_ROOT, "A");
	made_push(&m, a, "B");
	launch_on(&m, a, 7, 100, 200);
	made_set_device(&m, 0, 1);
	made_launch(&m, "stray", 0, NULL);
	stamp(&m, 300, 400);
	enter(&m, 0);
	aggregate(&run, m.r, NULL);
	first = &run.t->reports.at[0];
	second = &run.t->reports.at[1];
	assert_int_equal(first->nodes.nr, 0);
	assert_int_equal(node_named(&run, second, "A")->instances, 1);
	near(node_named(&run, second, "A")->times.host_ns, 30);
	release(&run);
	made_release(&m);
}

static void test_times__idle_is_inside_entries_and_copies_are_counted(void **state)
{
	const struct sonde_node *n;
	struct made m;
	struct run run;
	uint32_t first, second;

	(void)state;
	made_init(&m);
	first = made_push(&m, MADE_ROOT, "step");
	made_launch(&m, "k", 1, &first);
	stamp(&m, 100, 200);
	made_launch(&m, "k", 1, &first);
	made_set_stream(&m, m.r->records.nr - 1, 7);
	stamp(&m, 250, 300);
	second = made_push(&m, MADE_ROOT, "step");
	made_launch(&m, "[CUDA memcpy]", 1, &second);
	m.r->records.at[m.r->records.nr - 1].kind = SONDE_RESULT_MEMCPY;
	stamp(&m, 10000, 10040);
	aggregate(&run, m.r, NULL);
	n = run.t->reports.at[0].nodes.at;
	near(n[0].times.span_ns, 10040 - 100);
	near(n[0].times.busy_ns, 190);
	near(n[0].times.idle_ns, 50); /* without the time between the entries */
	assert_int_equal(n[0].streams, 2);
	assert_int_equal(n[0].launches, 3);
	assert_int_equal(n[0].copies, 1);
	release(&run);
	made_release(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_times__an_entry_without_launches_is_where_the_one_around_it_is),
		cmocka_unit_test(test_times__overlapping_launches_are_busy_once),
		cmocka_unit_test(test_times__streams_share_a_regions_launches),
		cmocka_unit_test(test_times__an_aggregate_of_several_scopes_counts_streams),
		cmocka_unit_test(
			test_times__a_process_with_two_devices_counts_entries_and_host_time_once),
		cmocka_unit_test(test_times__idle_is_inside_entries_and_copies_are_counted),
	};

	return cmocka_run_group_tests_name("times", tests, NULL, NULL);
}
