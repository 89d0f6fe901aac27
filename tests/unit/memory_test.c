/* GPU memory by region. */
#include "treed.h"

static void operate(struct made *m, uint32_t launch, bool is_free, uint64_t ns, uint64_t address,
	uint64_t nr_bytes)
{
	struct sonde_memory *at = sonde_push(&m->r->arena, &m->r->memory);

	assert_non_null(at);
	*at = (struct sonde_memory){.ns = ns, .thread = m->thread, .address = address,
		.nr_bytes = nr_bytes, .process = m->process, .device = m->device,
		.open = m->r->records.at[launch].open, .is_free = is_free};
}

/*
 * A (10 to 100) contains B (20 to 50). A allocates 1000 at 15; B allocates 200 at 25 and frees them
 * at 30, and allocates 50 at 40; A frees the 50 at 60, and the 1000 are freed after its end.
 */
static void test_memory__is_counted_where_it_was_asked_for(void **state)
{
	struct made m;
	struct run run;
	const struct sonde_node *n;
	uint32_t a, b, in_a, in_b;

	(void)state;
	made_init(&m);
	m.r->has_record_times = m.r->has_range_times = true;
	a = made_push(&m, MADE_ROOT, "A");
	b = made_push(&m, a, "B");
	m.r->ranges.at[a].time = (struct sonde_range_time){10, 100, 0};
	m.r->ranges.at[b].time = (struct sonde_range_time){20, 50, 0};
	in_a = made_launch(&m, "k", 1, &a);
	in_b = made_launch(&m, "k", 1, &b);
	operate(&m, in_a, false, 15, 0x1000, 1000);
	operate(&m, in_b, false, 25, 0x2000, 200);
	operate(&m, in_b, true, 30, 0x2000, 200);
	operate(&m, in_b, false, 40, 0x2000, 50);
	operate(&m, in_a, true, 60, 0x2000, 50);
	operate(&m, made_launch(&m, "k", 0, NULL), true, 200, 0x1000, 1000);
	aggregate(&run, m.r, NULL);
	n = node_named(&run, &run.t->reports.at[0], "A");
	near(n->times.memory.allocated, 1250);
	near(n->times.memory.freed, 250);
	near(n->times.memory.left, 1000);
	near(n->times.memory.peak, 1200);
	n = node_named(&run, &run.t->reports.at[1], "A/B");
	near(n->times.memory.allocated, 250);
	near(n->times.memory.freed, 200);
	near(n->times.memory.left, 50);
	near(n->times.memory.peak, 1200);
	release(&run);
	made_release(&m);
}

/* Backward: a thread without ranges allocates and frees while `step` is open on the other. */
static void test_memory__of_a_thread_without_ranges_is_adopted(void **state)
{
	const struct sonde_selection own = {.own_threads = true};
	struct sonde_launches *l = NULL;
	struct made m;
	struct run run;
	const struct sonde_node *n;
	uint32_t step, out, i;

	(void)state;
	made_init(&m);
	m.r->has_record_times = m.r->has_range_times = true;
	step = made_push(&m, MADE_ROOT, "step");
	m.r->ranges.at[step].time = (struct sonde_range_time){10, 100, 0};
	made_launch(&m, "k", 1, &step);
	out = made_launch(&m, "k", 0, NULL);
	operate(&m, out, false, 20, 0x1000, 1000);
	operate(&m, out, true, 30, 0x1000, 1000);
	operate(&m, out, false, 200, 0x2000, 50); /* nothing is open any more */
	for (i = 0; i < 3; i++)
		m.r->memory.at[i].thread = 77;
	aggregate(&run, m.r, NULL);
	n = node_named(&run, &run.t->reports.at[0], "step");
	near(n->times.memory.allocated, 1000);
	near(n->times.memory.freed, 1000);
	near(n->times.memory.left, 0);
	near(n->times.memory.peak, 1000);
	release(&run);
	assert_int_equal(sonde_launches_build(&l, m.r, &own, NULL), 0);
	assert_int_equal(l->memory_open.at[0], m.r->memory.at[0].open); /* report.threads=own */
	sonde_launches_free(l);
	made_release(&m);
}

/* Two requests at the same time: memory allocated meanwhile counts in both entries, but only once in their region. */
static void test_memory__in_two_entries_of_a_label_counts_once(void **state)
{
	struct made m;
	struct run run;
	const struct sonde_node *n;
	uint32_t open[2], both, i;

	(void)state;
	made_init(&m);
	m.r->has_record_times = m.r->has_range_times = true;
	for (i = 0; i < 2; i++) {
		open[i] = made_start(&m, "request");
		m.r->ranges.at[open[i]].time = (struct sonde_range_time){10 + i, 100 + i, 0};
	}
	both = made_launch(&m, "k", 2, open);
	operate(&m, both, false, 20, 0x1000, 1000);
	operate(&m, both, true, 30, 0x1000, 1000);
	aggregate(&run, m.r, NULL);
	n = node_named(&run, &run.t->reports.at[0], "request@@");
	near(n->times.memory.allocated, 1000);
	near(n->times.memory.freed, 1000);
	near(n->times.memory.left, 0);
	release(&run);
	made_release(&m);
}

/* Compares the peak of each entry with a search through all changes. */
static void test_memory__peaks_are_those_of_all_changes(void **state)
{
	struct made m;
	struct run run;
	uint32_t range, i, k;
	double held = 0, most;

	(void)state;
	for (k = 1; k < 20; k++) {
		made_init(&m);
		m.r->has_record_times = m.r->has_range_times = true;
		range = made_push(&m, MADE_ROOT, "A");
		m.r->ranges.at[range].time = (struct sonde_range_time){k * 3 + 1, k * 5 + 1, 0};
		made_launch(&m, "k", 1, &range);
		for (i = 0, held = 0, most = 0; i < k * 7; i++) {
			bool is_free = i % 3 == 2;

			operate(&m, 0, is_free, i, is_free ? i - 2 : i, 1 + i * 37 % 11);
			held += is_free ? -(double)(1 + (i - 2) * 37 % 11) : 1 + i * 37 % 11;
			if (i <= k * 3 + 1)
				most = held;
			else if (i <= k * 5 + 1 && held > most)
				most = held;
		}
		aggregate(&run, m.r, NULL);
		near(node_named(&run, &run.t->reports.at[0], "A")->times.memory.peak, most);
		release(&run);
		made_release(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory__is_counted_where_it_was_asked_for),
		cmocka_unit_test(test_memory__of_a_thread_without_ranges_is_adopted),
		cmocka_unit_test(test_memory__in_two_entries_of_a_label_counts_once),
		cmocka_unit_test(test_memory__peaks_are_those_of_all_changes),
	};

	return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
