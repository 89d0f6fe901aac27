/* Nodes of graphs and backward operators are shown below their launch, in the ranges where they were written (report.origins). */
#include "attribute/launches.h"

#include "base/alloc.h"
#include "made.h"
#include "native_open.h"

static struct sonde_launches *build(const struct sonde_records *r, bool off)
{
	struct sonde_selection s = {.no_origins = off};
	struct sonde_launches *l;
	struct sonde_err err = {0};

	assert_int_equal(sonde_launches_build(&l, r, &s, &err), 0);
	return l;
}

static void is_in(const struct sonde_launches *l, uint32_t n, const char *id)
{
	const struct sonde_place *p = &l->places.at[l->launches.at[n].place];
	struct sonde_str home = SONDE_STR("");

	assert_true(p->nr < 2);
	if (p->nr)
		home = l->regions.at[l->homes.at[p->first]].id;
	if (!sonde_str_is(home, id))
		fail_msg("launch %u is in '%.*s', not '%s'", n, SONDE_STR_ARG(home), id);
}

static const struct sonde_region *region(const struct sonde_launches *l, const char *id)
{
	size_t i;

	for (i = 0; i < l->regions.nr; i++)
		if (sonde_str_is(l->regions.at[i].id, id))
			return &l->regions.at[i];
	fail_msg("no region %s", id);
	return NULL;
}

static uint64_t entries(const struct sonde_launches *l, const char *id)
{
	size_t i;

	for (i = 0; i < l->presences.nr; i++)
		if (sonde_str_is(l->regions.at[l->presences.at[i].region].id, id))
			return l->presences.at[i].instances;
	fail_msg("%s is not there", id);
	return 0;
}

static uint32_t written(struct made *m, int ns, uint32_t open, uint32_t origin, int kind)
{
	uint32_t n = made_launch_at(m, 1, ns, open);

	m->r->records.at[n].origin = origin;
	m->r->records.at[n].origin_kind = (uint8_t)kind;
	return n;
}

/* The nodes of two graphs, captured once, launched twice. */
static void make_graphs(struct made *m)
{
	uint32_t capture = made_push_at(m, 1, MADE_ROOT, "capture", 10, 50);
	uint32_t l0 = made_push_at(m, 1, capture, "layer0", 11, 20), a = made_push_at(m, 1, l0, "attn", 12, 15);
	uint32_t l1 = made_push_at(m, 1, capture, "layer1", 21, 30), b = made_push_at(m, 1, l1, "mlp", 22, 25);
	uint32_t other = made_push_at(m, 1, MADE_ROOT, "other", 60, 90);
	uint32_t x = made_push_at(m, 1, other, "layer0", 61, 70), y = made_push_at(m, 1, other, "y", 71, 80);
	uint32_t decode = made_push_at(m, 1, MADE_ROOT, "decode", 100, 900), step, i;

	for (i = 0; i < 2; i++) {
		int t = 200 + 100 * (int)i;

		step = made_push_at(m, 1, decode, "step", t, t + 50);
		written(m, t + 1, step, a, SONDE_ORIGIN_GRAPH);
		written(m, t + 1, step, b, SONDE_ORIGIN_GRAPH);
		made_launch_at(m, 1, t + 2, step);
		written(m, t + 3, step, x, SONDE_ORIGIN_GRAPH);
		written(m, t + 3, step, y, SONDE_ORIGIN_GRAPH);
	}
}

static void test_origin__nodes_hang_below_the_launch_of_their_graph(void **state)
{
	struct sonde_launches *l;
	struct made m;

	(void)state;
	made_init(&m);
	make_graphs(&m);
	l = build(m.r, false);
	is_in(l, 0, "decode/step/capture/layer0/attn");
	is_in(l, 1, "decode/step/capture/layer1/mlp");
	is_in(l, 2, "decode/step");
	is_in(l, 3, "decode/step/other/layer0"); /* where graphs of one step differ, they are not cut */
	is_in(l, 4, "decode/step/other/y");
	is_in(l, 5, "decode/step/capture/layer0/attn");
	assert_int_equal(region(l, "decode/step/capture/layer0")->kind, SONDE_REGION_GRAPH);
	assert_int_equal(region(l, "decode/step/capture/layer0/attn")->kind, SONDE_REGION_GRAPH);
	assert_int_equal(region(l, "decode/step")->kind, SONDE_REGION_PUSH_POP);
	assert_int_equal(region(l, "capture/layer0/attn")->kind, SONDE_REGION_PUSH_POP);
	assert_int_equal(entries(l, "decode/step/capture/layer0/attn"), 0);
	assert_int_equal(entries(l, "capture/layer0/attn"), 1);
	assert_int_equal(entries(l, "decode/step"), 2);
	sonde_launches_free(l);
	l = build(m.r, true);
	is_in(l, 0, "decode/step");
	sonde_launches_free(l);
	made_release(&m);
}

/* One graph per step, for example with another batch size in each. */
static void test_origin__a_graph_is_cut_by_what_its_own_nodes_share(void **state)
{
	struct sonde_launches *l;
	struct made m;
	uint32_t capture, attn, mlp, step, i;

	(void)state;
	made_init(&m);
	for (i = 0; i < 2; i++) {
		int t = 100 * (int)i;

		capture = made_push_at(&m, 1, MADE_ROOT, i ? "capture_2" : "capture_1", t + 10, t + 40);
		attn = made_push_at(&m, 1, capture, "attn", t + 11, t + 20);
		mlp = made_push_at(&m, 1, capture, "mlp", t + 21, t + 30);
		step = made_push_at(&m, 1, MADE_ROOT, "step", t + 50, t + 90);
		written(&m, t + 51, step, attn, SONDE_ORIGIN_GRAPH);
		written(&m, t + 51, step, mlp, SONDE_ORIGIN_GRAPH);
	}
	l = build(m.r, false);
	for (i = 0; i < 4; i++)
		is_in(l, i, i % 2 ? "step/mlp" : "step/attn");
	sonde_launches_free(l);
	made_release(&m);
}

static void test_origin__filters_see_the_path_that_was_hung(void **state)
{
	const char *word = "attn";
	struct sonde_selection s = {.nvtx_include = {&word, 1}};
	struct sonde_launches *l;
	struct sonde_err err = {0};
	struct made m;

	(void)state;
	made_init(&m);
	make_graphs(&m);
	assert_int_equal(sonde_launches_build(&l, m.r, &s, &err), 0);
	assert_int_equal(l->tally.nr_taken, 2);
	sonde_launches_free(l);
	made_release(&m);
}

/* A region that was also entered is a range; both kinds of launches are in it. */
static void test_origin__a_region_entered_elsewhere_is_one_region(void **state)
{
	struct sonde_launches *l;
	struct made m;
	uint32_t c, a, b, step, own;

	(void)state;
	made_init(&m);
	c = made_push_at(&m, 1, MADE_ROOT, "capture", 10, 50);
	a = made_push_at(&m, 1, c, "attn", 11, 20);
	b = made_push_at(&m, 1, c, "mlp", 21, 30);
	step = made_push_at(&m, 1, MADE_ROOT, "step", 100, 200);
	own = made_push_at(&m, 1, step, "attn", 110, 120);
	made_launch_at(&m, 1, 115, own);
	written(&m, 150, step, a, SONDE_ORIGIN_GRAPH);
	written(&m, 150, step, b, SONDE_ORIGIN_GRAPH);
	l = build(m.r, false);
	is_in(l, 0, "step/attn");
	is_in(l, 1, "step/attn");
	assert_int_equal(region(l, "step/attn")->kind, SONDE_REGION_PUSH_POP);
	assert_int_equal(region(l, "step/mlp")->kind, SONDE_REGION_GRAPH);
	sonde_launches_free(l);
	made_release(&m);
}

/* One process ran without a graph, the other with one: the second never entered step/attn. */
static void test_origin__a_region_only_another_process_entered_is_known(void **state)
{
	struct sonde_launches *l;
	struct made m;
	uint32_t step, attn, capture, written_in, i, nr = 0;

	(void)state;
	made_init(&m);
	step = made_push_at(&m, 1, MADE_ROOT, "step", 100, 200);
	attn = made_push_at(&m, 1, step, "attn", 110, 120);
	made_launch_at(&m, 1, 115, attn);
	made_process(&m, 2);
	capture = made_push_at(&m, 1, MADE_ROOT, "capture", 10, 50);
	written_in = made_push_at(&m, 1, capture, "attn", 11, 20);
	step = made_push_at(&m, 1, MADE_ROOT, "step", 100, 200);
	written(&m, 150, step, written_in, SONDE_ORIGIN_GRAPH);
	written(&m, 150, step, capture, SONDE_ORIGIN_GRAPH);
	l = build(m.r, false);
	is_in(l, 1, "step/attn");
	for (i = 0; i < l->presences.nr; i++)
		nr += &l->regions.at[l->presences.at[i].region] == region(l, "step/attn");
	assert_int_equal(nr, 2);
	sonde_launches_free(l);
	made_release(&m);
}

static void test_origin__without_a_launching_place_work_stays_outside(void **state)
{
	struct sonde_launches *l;
	struct made m;
	uint32_t c;

	(void)state;
	made_init(&m);
	c = made_push_at(&m, 1, MADE_ROOT, "capture", 10, 50);
	written(&m, 60, SONDE_NONE, c, SONDE_ORIGIN_GRAPH);
	l = build(m.r, false);
	is_in(l, 0, "");
	sonde_launches_free(l);
	made_release(&m);
}

/* The reader knows the origin; the launches are adopted by the thread that waits in step/backward. */
static void test_origin__backward_hangs_below_the_adopted_stack(void **state)
{
	struct sonde_launches *l;
	struct made m;
	uint32_t step, fwd, l0, attn, l1, n;

	(void)state;
	made_init(&m);
	step = made_push_at(&m, 1, MADE_ROOT, "step", 100, 900);
	fwd = made_push_at(&m, 1, step, "forward", 110, 400);
	l0 = made_push_at(&m, 1, fwd, "layer0", 120, 200);
	attn = made_push_at(&m, 1, l0, "attn", 130, 150);
	l1 = made_push_at(&m, 1, fwd, "layer1", 210, 300);
	made_push_at(&m, 1, step, "backward", 500, 800);
	n = made_launch_at(&m, 2, 600, SONDE_NONE);
	m.r->records.at[n].origin = attn;
	m.r->records.at[n].origin_kind = SONDE_ORIGIN_BACKWARD;
	n = made_launch_at(&m, 2, 610, SONDE_NONE);
	m.r->records.at[n].origin = l1;
	m.r->records.at[n].origin_kind = SONDE_ORIGIN_BACKWARD;
	l = build(m.r, false);
	is_in(l, 0, "step/backward/layer0/attn");
	is_in(l, 1, "step/backward/layer1");
	assert_int_equal(region(l, "step/backward/layer0")->kind, SONDE_REGION_BACKWARD);
	assert_int_equal(l->tally.nr_adopted, 2);
	sonde_launches_free(l);
	made_release(&m);
}

/* emit_nvtx: ranges of operators have sequence numbers in forward and backward; autograd's engine has its own thread. */
static void make_emit_nvtx(struct made *m, uint64_t engine)
{
	uint32_t step = made_push_at(m, 1, MADE_ROOT, "step", 100, 900);
	uint32_t fwd = made_push_at(m, 1, step, "forward", 110, 400);
	uint32_t l0 = made_push_at(m, 1, fwd, "layer0", 120, 200), l1 = made_push_at(m, 1, fwd, "layer1", 210, 300);
	uint32_t lin = made_push_at(m, 1, l0, "aten::linear, seq = 5, op_id = 9", 130, 150), bwd, op;
	uint32_t mm = made_push_at(m, 1, lin, "aten::addmm, seq = 6, op_id = 10", 135, 145);

	made_launch_at(m, 1, 140, mm); /* 0 */
	made_push_at(m, 1, l1, "aten::mul, seq = 7, op_id = 11", 220, 230);
	bwd = made_push_at(m, 1, step, "backward", 500, 800);
	bwd = engine == 1 ? bwd : MADE_ROOT;
	op = made_push_at(m, engine, bwd, "autograd::engine::evaluate_function: MulBackward0, op_id = 20", 510,
		530);
	op = made_push_at(m, engine, op, "MulBackward0, seq = 7, op_id = 21", 512, 528);
	op = made_push_at(m, engine, op, "aten::mul, op_id = 22", 514, 520);
	made_launch_at(m, engine, 515, op); /* 1 */
	op = made_push_at(m, engine, bwd,
		"autograd::engine::evaluate_function: AddmmBackward0, op_id = 23", 540, 560);
	made_launch_at(m, engine, 542, op); /* 2 */
	op = made_push_at(m, engine, op, "AddmmBackward0, seq = 6, op_id = 24", 545, 555);
	made_launch_at(m, engine, 550, op); /* 3 */
	op = made_push_at(m, engine, bwd,
		"autograd::engine::evaluate_function: torch::autograd::AccumulateGrad, op_id = 25",
		570, 580);
	made_launch_at(m, engine, 575, op);		/* 4: no number, no origin */
	if (engine != 1)
		made_launch_at(m, engine, 590, SONDE_NONE); /* 5: between operators */
}

#define EVAL "autograd::engine::evaluate_function: "

static void test_origin__numbered_operators_hang_below_backward(void **state)
{
	uint64_t engine;

	(void)state;
	for (engine = 1; engine <= 2; engine++) { /* also on the thread of forward */
		struct sonde_launches *l;
		struct made m;

		made_init(&m);
		make_emit_nvtx(&m, engine);
		l = build(m.r, false);
		is_in(l, 0, "step/forward/layer0/aten::linear/aten::addmm");
		is_in(l, 1,
			"step/backward/layer1/" EVAL "MulBackward0/MulBackward0/aten::mul");
		is_in(l, 2, "step/backward/layer0/" EVAL "AddmmBackward0");
		is_in(l, 3, "step/backward/layer0/" EVAL "AddmmBackward0/AddmmBackward0");
		is_in(l, 4, "step/backward/" EVAL "torch::autograd::AccumulateGrad");
		if (engine != 1)
			is_in(l, 5, "step/backward");
		assert_int_equal(
			region(l, "step/backward/layer0")->kind, SONDE_REGION_BACKWARD);
		assert_int_equal(region(l, "step/backward/layer0/" EVAL "AddmmBackward0")->kind,
			SONDE_REGION_PUSH_POP);
		assert_int_equal(entries(l, "step/backward/layer0/" EVAL "AddmmBackward0"), 1);
		assert_int_equal(l->tally.nr_adopted, engine == 1 ? 0 : 5);
		sonde_launches_free(l);
		l = build(m.r, true);
		is_in(l, 3,
			engine == 1 ? "step/backward/" EVAL "AddmmBackward0/AddmmBackward0"
				    : EVAL "AddmmBackward0/AddmmBackward0");
		sonde_launches_free(l);
		made_release(&m);
	}
}

/* A forward function may have "backward" in its name; a sequence number that no range had before means nothing. */
static void test_origin__names_and_numbers_that_only_look_like_it(void **state)
{
	struct sonde_launches *l;
	struct made m;
	uint32_t a, op;

	(void)state;
	made_init(&m);
	a = made_push_at(&m, 1, MADE_ROOT, "step", 100, 900);
	op = made_push_at(&m, 1, a, "RegisterPostBackwardFunction, seq = 3, op_id = 9", 130, 150);
	made_launch_at(&m, 1, 140, op);
	op = made_push_at(&m, 1, a, "XBackward, seq = 99, op_id = 9", 160, 170);
	made_launch_at(&m, 1, 165, op);
	l = build(m.r, false);
	is_in(l, 0, "step/RegisterPostBackwardFunction");
	is_in(l, 1, "step/XBackward");
	sonde_launches_free(l);
	made_release(&m);
}

/* The bytes of a native capture: the graph was captured in A/B and A, and launched in B. */
static void test_origin__a_native_capture_hangs_its_graphs(void **state)
{
	struct sonde_records *r;
	struct sonde_launches *l;
	struct capture c;

	(void)state;
	labels(&c);
	event_base(&c, 1000, 0, 0);
	event(&c, SONDE_EVENT_PUSH, 2, 1, 1);
	event(&c, SONDE_EVENT_NODE, 2, 1, 499);
	event(&c, SONDE_EVENT_PUSH, 2, 1, 2);
	event(&c, SONDE_EVENT_NODE, 2, 1, 500);
	event(&c, SONDE_EVENT_POP, 1, 1);
	event(&c, SONDE_EVENT_POP, 1, 1);
	event(&c, SONDE_EVENT_NODE_COPY, 3, 1, 899, 499);
	event(&c, SONDE_EVENT_NODE_COPY, 3, 1, 900, 500);
	event(&c, SONDE_EVENT_PUSH, 2, 1, 2);
	event(&c, SONDE_EVENT_LAUNCH, 2, 1, 2 * 3);
	event(&c, SONDE_EVENT_KERNEL, 17, 2 * 9000, 40, 3, 0, 1, 7, 4, 1, 1, 1, 1, 1, 1, 1, 0, 0,
		899);
	event(&c, SONDE_EVENT_KERNEL, 17, 2 * 9000, 40, 3, 0, 1, 7, 4, 1, 1, 1, 1, 1, 1, 1, 0, 0,
		900);
	capture_chunk(&c, 0, 0, 77);
	r = open_capture(&c);
	l = build(r, false);
	is_in(l, 0, "B");
	is_in(l, 1, "B/B");
	assert_int_equal(region(l, "B/B")->kind, SONDE_REGION_GRAPH);
	sonde_launches_free(l);
	sonde_records_free(r);
}

/* Paths that are put below other paths must not grow without limit. */
static void test_origin__long_paths_are_bounded(void **state)
{
	static char label[16000];
	struct sonde_launches *l;
	struct made m;
	uint32_t i, a, b, step;
	size_t bytes = 0;

	(void)state;
	made_init(&m);
	memset(label, 'x', sizeof(label) - 1);
	a = made_push_at(&m, 1, MADE_ROOT, label, 1, 9);
	b = made_push_at(&m, 1, MADE_ROOT, "b", 10, 19);
	for (i = 0; i < 20000; i++) {
		char name[16];

		snprintf(name, sizeof(name), "s%u", i);
		step = made_push_at(&m, 1, MADE_ROOT, name, 20 + (int)i, 21 + (int)i);
		written(&m, 20 + (int)i, step, a, SONDE_ORIGIN_GRAPH);
		written(&m, 20 + (int)i, step, b, SONDE_ORIGIN_GRAPH);
	}
	l = build(m.r, false);
	for (i = 0; i < l->regions.nr; i++)
		bytes += l->regions.at[i].id.n;
	assert_true(bytes < (140u << 20));
	assert_int_equal(l->tally.nr_taken, 40000);
	sonde_launches_free(l);
	made_release(&m);
}

static void test_origin__survives_every_failing_allocation(void **state)
{
	struct sonde_selection all = {0};
	struct sonde_launches *l = NULL;
	uint64_t i, before, total;
	struct made m;

	(void)state;
	made_init(&m);
	make_graphs(&m);
	make_emit_nvtx(&m, 2);
	before = sonde_alloc_count();
	sonde_launches_free(build(m.r, false));
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
		cmocka_unit_test(test_origin__nodes_hang_below_the_launch_of_their_graph),
		cmocka_unit_test(test_origin__a_graph_is_cut_by_what_its_own_nodes_share),
		cmocka_unit_test(test_origin__filters_see_the_path_that_was_hung),
		cmocka_unit_test(test_origin__a_region_entered_elsewhere_is_one_region),
		cmocka_unit_test(test_origin__a_region_only_another_process_entered_is_known),
		cmocka_unit_test(test_origin__without_a_launching_place_work_stays_outside),
		cmocka_unit_test(test_origin__backward_hangs_below_the_adopted_stack),
		cmocka_unit_test(test_origin__numbered_operators_hang_below_backward),
		cmocka_unit_test(test_origin__names_and_numbers_that_only_look_like_it),
		cmocka_unit_test(test_origin__a_native_capture_hangs_its_graphs),
		cmocka_unit_test(test_origin__long_paths_are_bounded),
		cmocka_unit_test(test_origin__survives_every_failing_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
