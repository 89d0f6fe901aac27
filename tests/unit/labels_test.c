/* Label rules (report.labels), which rewrite labels before anything else uses them. */
#include "attribute/launches_int.h"
#include "attribute/launches.h"

#include "made.h"
#include "unit.h"

#include <stdio.h>

static void rewrites(const char *words, const char *from, const char *to)
{
	struct sonde_labels l = {0};
	struct sonde_words list = {&words, words ? 1 : 0};
	struct sonde_buf out = {0};
	struct sonde_err err = {0};
	bool is_changed;

	assert_int_equal(sonde_labels__init(&l, list, &err), 0);
	assert_int_equal(
		sonde_labels__apply(&l, sonde_str_from(from), &out, &is_changed, &err), 0);
	if (!sonde_str_is(is_changed ? sonde_buf_view(&out) : sonde_str_from(from), to))
		fail_msg("'%s' became '%.*s', not '%s'", from, SONDE_STR_ARG(sonde_buf_view(&out)),
			to);
	sonde_buf_release(&out);
	sonde_labels__release(&l);
}

static void test_labels__known_serial_numbers_go(void **state)
{
	(void)state;
	rewrites(NULL, "aten::mul, seq = 12, op_id = 40", "aten::mul");
	rewrites(NULL, "aten::mul, op_id = 40", "aten::mul");
	rewrites(NULL, "aten::mul, op_id = 40, seq = 12", "aten::mul");
	rewrites(NULL, "aten::mm, seq = 1, op_id = 4, sizes = [[2, 3], [], [3]]", "aten::mm");
	rewrites(NULL,
		"aten::mm, op_id = 4, sizes = [[2], []], input_op_ids = [(1,0), (2, -1)]",
		"aten::mm");
	rewrites(NULL, "ProfilerStep#17", "ProfilerStep#*");
	rewrites(NULL, "step 3", "step *");
	rewrites(NULL, "step_3", "step_*");
	rewrites(NULL, "step#3", "step#*");
	rewrites(NULL, "Iteration 12", "Iteration *");
	rewrites(NULL, "iter 0", "iter *");
	rewrites(NULL, "epoch 1", "epoch *");
	rewrites(NULL, "batch 99", "batch *");
	rewrites(NULL, "free 0x7f3a10b4c000 now", "free 0x* now");
	rewrites(NULL, "req 123e4567-e89b-12d3-a456-426614174000", "req *");
	rewrites(NULL, "request 9f86d081884c7d659a2feaa0c55ad015", "request *");
	rewrites(NULL, "## Call CompiledFxGraph fxy7abc3 ##", "## Call CompiledFxGraph * ##");
}

/* Checks the new label and its arguments. */
static void says(const char *words, const char *from, const char *to, const char *arguments)
{
	struct sonde_labels l = {0};
	struct sonde_words list = {&words, words ? 1 : 0};
	struct sonde_buf out = {0};
	struct sonde_err err = {0};
	bool is_changed;

	assert_int_equal(sonde_labels__init(&l, list, &err), 0);
	assert_int_equal(sonde_labels__apply(&l, SONDE_STR("step_5 0x1234"), &out, &is_changed, &err), 0); /* must leave no arguments behind */
	sonde_buf_clear(&out);
	assert_int_equal(sonde_labels__apply(&l, sonde_str_from(from), &out, &is_changed, &err), 0);
	if (!sonde_str_is(sonde_buf_view(&out), to) || !sonde_str_is(sonde_buf_view(&l.arguments), arguments))
		fail_msg("'%s' became '%.*s' with '%.*s', not '%s' with '%s'", from, SONDE_STR_ARG(sonde_buf_view(&out)),
			SONDE_STR_ARG(sonde_buf_view(&l.arguments)), to, arguments);
	sonde_buf_release(&out);
	sonde_labels__release(&l);
}

static void test_labels__steps_of_servers_say_their_phase_batch_and_tokens(void **state)
{
	(void)state;
	/* vLLM */
	says(NULL, "execute_context_0(0)_generation_30(30)", "execute_* decode", "batch=30 tokens=30");
	says(NULL, "execute_context_2(512)_generation_0(0)", "execute_* prefill", "batch=2 tokens=512");
	says(NULL, "execute_context_2(512)_generation_30(30)", "execute_* mixed", "batch=32 tokens=542");
	says(NULL, "execute_context_10(5120)_generation_10(10)", "execute_* mixed", "batch=20 tokens=5130");
	says(NULL, "execute_context_0(0)_generation_0(0)", "execute_* idle", "");
	says(NULL, "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086sqsq32sqsk55086)", "execute_* decode",
		"batch=32 tokens=32");
	says(NULL, "execute_64_context_1(sq60sk60sqsq3600sqsk3600)_generation_4(sq16sk900sqsq64sqsk3600)", "execute_* mixed",
		"batch=5 tokens=76");
	says(NULL, "execute_new_2_cached_7", "execute_new_*_cached_*", "batch=9");
	/* SGLang */
	says(NULL, "step[DECODE bs=32]", "step[DECODE]", "batch=32");
	says(NULL, "step[EXTEND bs=17 toks=8192]", "step[EXTEND]", "batch=17 tokens=8192");
	says(NULL, "step[EXTEND bs=1 toks=64 sq64sk64]", "step[EXTEND]", "batch=1 tokens=64");
	/* TensorRT-LLM */
	says(NULL, "[Executor] _forward_step 17: 0 ctx reqs, 32 gen reqs", "[Executor] _forward_step decode", "batch=32");
	says(NULL, "[Executor] _forward_step: 3 ctx reqs, 0 gen reqs", "[Executor] _forward_step prefill", "batch=3");
	says(NULL, "_forward_step 2: 10 ctx reqs, 20 gen reqs", "_forward_step mixed", "batch=30");
	/* layers */
	rewrites(NULL, "{'Module': 'model.layers.0.mlp', 'TrainableParams': {'weight': [8, 8]}, 'Inputs': [[32, 8]]}", "model.layers.0.mlp");
	rewrites(NULL, "{'Module': \"'top'\", 'Inputs': [[1, 8]]}", "top");
}

static void test_labels__named_groups_of_a_rule_are_arguments(void **state)
{
	(void)state;
	says("^req (?<id>\\d+) (?<tokens>\\d+)tok => req", "req 17 0128tok", "req", "id=17 tokens=128");
	says("^at (?<share>[0-9.]+) => at", "at 0.25", "at", "share=0.25");
	says("^(?<word>\\w+)-(?<n>\\d+)$ => $1", "loader-3", "loader", "n=3"); /* only numbers become arguments */
	says("(?<a>1)|(?<b>2) => x", "2", "x", "b=2"); /* group `a` is not part of the match */
	says("^big (?<n>\\d+) => big", "big 18446744073709551615", "big", "n=18446744073709551615");
	says("^(?<n>\\d+)\\+(?<n>\\d+) => sum", "18446744073709551615+7", "sum", ""); /* the sum overflows: no argument is better than a wrong one */
}

static void test_labels__numbers_that_name_things_stay(void **state)
{
	static const char *const names[] = {"layer0", "block.3", "stage1", "encoder.block.14.layer.1",
		"step 3 of 7", "my step 3", "c10d::alltoall_base_", "AllToAll4D", "gemm_128x64",
		"step", "", "0x1f", "deadbeefface", "cafe 123456789012", "fp8e4m3_scaled"};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		rewrites(NULL, names[i], names[i]);
	rewrites("raw", "ProfilerStep#17", "ProfilerStep#17");
}

static void test_labels__rules_of_the_user_rewrite(void **state)
{
	(void)state;
	rewrites("^req-\\d+ (.*)$ => request $1", "req-17 decode", "request decode");
	rewrites("\\d=>", "a1b22c", "abc");
	rewrites("(a)|b => <$1>", "ab", "<a><>");
	rewrites("[=]> => x", "a=>b", "axb"); /* the last arrow divides the rule */
}

static void refuses(const char *word, const char *why)
{
	struct sonde_labels l = {0};
	struct sonde_words list = {&word, 1};
	struct sonde_err err = {0};

	assert_int_equal(sonde_labels__init(&l, list, &err), SONDE_ERR_USAGE);
	assert_non_null(strstr(err.msg, why));
	sonde_labels__release(&l);
}

static void test_labels__bad_rules_are_refused(void **state)
{
	struct sonde_labels l = {0};
	const char *bad = "(a) => $7";
	struct sonde_words list = {&bad, 1};
	struct sonde_buf out = {0};
	struct sonde_err err = {0};
	bool is_changed;

	(void)state;
	refuses("knwon", "neither known, nor raw, nor a rule");
	refuses("a( => b", "bad regular expression");
	refuses("=> b", "nothing before");
	assert_int_equal(sonde_labels__init(&l, list, &err), 0);
	assert_int_equal(sonde_labels__apply(&l, SONDE_STR("xay"), &out, &is_changed, &err),
		SONDE_ERR_USAGE);
	assert_non_null(strstr(err.msg, "replacement"));
	sonde_buf_release(&out);
	sonde_labels__release(&l);
}

/* Hostile labels and bytes that are not UTF-8 stay as they are, and are not an error. */
static void test_labels__hostile_labels_stay(void **state)
{
	char text[16384];

	(void)state;
	memset(text, '1', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	rewrites("(1+)+2 => x", text, text);
	rewrites(NULL, "a\xff\xfe 1", "a\xff\xfe 1");
	rewrites("$ => aaaaaaaaaaaaaaaa", "b", "baaaaaaaaaaaaaaaa");
}

static struct sonde_launches *attribute(const struct made *m, const char *word)
{
	struct sonde_selection s = {.labels = {&word, 1}};
	struct sonde_launches *l;
	struct sonde_err err = {0};

	assert_int_equal(sonde_launches_build(&l, m->r, &s, &err), 0);
	return l;
}

static bool noted(const struct sonde_launches *l, const char *text)
{
	size_t i;

	for (i = 0; i < l->notes.texts.nr; i++)
		if (memmem(l->notes.texts.keys[i].p, l->notes.texts.keys[i].n, text, strlen(text)))
			return true;
	return false;
}

static void test_labels__regions_and_filters_have_the_new_label(void **state)
{
	const char *filter = "ProfilerStep#\\*/"; /* ncu's grammar: `*` as it is */
	struct sonde_selection s = {.nvtx_include = {&filter, 1}};
	struct sonde_launches *l;
	struct sonde_err err = {0};
	struct made m;
	uint32_t i, step;

	(void)state;
	made_init(&m);
	for (i = 0; i < 3; i++) {
		char label[32];

		snprintf(label, sizeof(label), "ProfilerStep#%u", i);
		step = made_push(&m, MADE_ROOT, label);
		made_launch(&m, "k", 1, &step);
	}
	assert_int_equal(sonde_launches_build(&l, m.r, &s, &err), 0);
	assert_int_equal(l->regions.nr, 1);
	assert_true(sonde_str_is(l->regions.at[0].id, "ProfilerStep#*"));
	assert_int_equal(l->presences.at[0].instances, 3);
	assert_int_equal(l->tally.nr_taken, 3);
	for (i = 0; i < l->label_rules.nr; i++)
		assert_int_equal(l->label_rules.at[i].changed,
			sonde_str_starts(l->label_rules.at[i].text, "^ProfilerStep") ? 3 : 0);
	sonde_launches_free(l);
	made_release(&m);
}

/* Twelve steps with a launch each, attributed with one include or exclude. */
static struct sonde_launches *select_steps(struct made *m, const char *include, const char *exclude)
{
	struct sonde_selection s = {.nvtx_include = {&include, include != NULL},
		.nvtx_exclude = {&exclude, exclude != NULL}};
	struct sonde_launches *l;
	struct sonde_err err = {0};
	uint32_t i, step;

	made_init(m);
	for (i = 0; i < 12; i++) {
		char label[32];

		snprintf(label, sizeof(label), "step_%u", i);
		step = made_push(m, MADE_ROOT, label);
		made_launch(m, "k", 1, &step);
	}
	assert_int_equal(sonde_launches_build(&l, m->r, &s, &err), 0);
	return l;
}

static void test_labels__what_the_selection_names_keeps_its_name(void **state)
{
	struct sonde_launches *l;
	struct made m;
	size_t i;

	(void)state;
	l = select_steps(&m, "[step_10", NULL);
	assert_int_equal(l->tally.nr_taken, 1);
	assert_int_equal(l->tally.nr_not_selected, 11);
	assert_int_equal(l->regions.nr, 2);
	assert_true(sonde_str_is(l->regions.at[0].id, "step_*") && !l->regions.at[0].is_shown);
	assert_true(sonde_str_is(l->regions.at[1].id, "step_10") && l->regions.at[1].is_shown);
	assert_false(noted(l, "matches no range"));
	for (i = 0; i < l->label_rules.nr; i++)
		if (memmem(l->label_rules.at[i].text.p, l->label_rules.at[i].text.n, "epoch", 5))
			assert_int_equal(l->label_rules.at[i].changed, 11);
	sonde_launches_free(l);
	made_release(&m);

	l = select_steps(&m, "step_1*", NULL); /* 1, 10 and 11 */
	assert_int_equal(l->tally.nr_taken, 3);
	sonde_launches_free(l);
	made_release(&m);

	l = select_steps(&m, NULL, "step_0/");
	assert_int_equal(l->tally.nr_taken, 11);
	assert_int_equal(l->regions.nr, 2);
	sonde_launches_free(l);
	made_release(&m);

	l = select_steps(&m, "step_*", NULL); /* the rewritten label has this name too */
	assert_int_equal(l->tally.nr_taken, 12);
	assert_int_equal(l->regions.nr, 1);
	sonde_launches_free(l);
	made_release(&m);
}

static void test_labels__auto_leaves_what_the_selection_names(void **state)
{
	const char *include = "request 7", *word = "auto";
	struct sonde_selection s = {.nvtx_include = {&include, 1}, .labels = {&word, 1}};
	struct sonde_launches *l;
	struct sonde_err err = {0};
	struct made m;
	uint32_t i, outer;

	(void)state;
	made_init(&m);
	outer = made_push(&m, MADE_ROOT, "serve");
	for (i = 0; i < 100; i++) {
		char label[32];
		uint32_t request;

		snprintf(label, sizeof(label), "request %u", i);
		request = made_push(&m, outer, label);
		made_launch(&m, "k", 1, &request);
	}
	assert_int_equal(sonde_launches_build(&l, m.r, &s, &err), 0);
	assert_int_equal(l->tally.nr_taken, 1);
	assert_int_equal(l->regions.nr, 3);
	sonde_launches_free(l);
	made_release(&m);
}

/* `nr` children `PREFIX i` below a range that is entered once, each with a child of its own. */
static void make_serial(struct made *m, const char *prefix, uint32_t nr)
{
	uint32_t i, outer = made_push(m, MADE_ROOT, "serve"), child;
	char label[64];

	for (i = 0; i < nr; i++) {
		snprintf(label, sizeof(label), "%s %u", prefix, i);
		child = made_push(m, outer, label);
		child = made_push(m, child, "prefill");
		made_launch(m, "k", 1, &child);
	}
}

static void test_labels__known_merges_many_serial_siblings(void **state)
{
	struct sonde_launches *l;
	struct made m;

	(void)state;
	made_init(&m);
	make_serial(&m, "request", 65);
	l = attribute(&m, "known");
	assert_int_equal(l->regions.nr, 3);
	assert_true(sonde_str_is(l->regions.at[2].id, "serve/request */prefill"));
	assert_true(sonde_str_is(l->label_rules.at[l->label_rules.nr - 1].text, "auto"));
	assert_int_equal(l->label_rules.at[l->label_rules.nr - 1].changed, 65);
	sonde_launches_free(l);
	made_release(&m);
	made_init(&m);
	make_serial(&m, "layer", 64); /* so many may still be real names */
	l = attribute(&m, "auto");
	assert_int_equal(l->regions.nr, 129);
	sonde_launches_free(l);
	made_release(&m);
}

/* Requests are serial, one in each entry of the range around them; their ids may be hexadecimal. */
static void test_labels__known_merges_what_each_entry_has_one_of(void **state)
{
	struct sonde_launches *l;
	struct made m;
	uint32_t i, k, outer = 0;
	char label[64];

	(void)state;
	for (k = 0; k < 3; k++) {
		made_init(&m);
		for (i = 0; i < 100; i++) {
			if (k < 2 || i % 50 == 0) /* the third has 50 of them in each of two entries: these may be names */
				outer = made_push(&m, MADE_ROOT, "serve");
			snprintf(label, sizeof(label), k == 1 ? "cmpl-%06xa1" : "request %u", i);
			made_push(&m, outer, label);
		}
		l = attribute(&m, "known");
		assert_int_equal(l->regions.nr, k < 2 ? 2 : 101);
		if (k < 2)
			assert_true(sonde_str_is(l->regions.at[1].id, k ? "serve/cmpl-*" : "serve/request *"));
		sonde_launches_free(l);
		made_release(&m);
	}
}

/* A label that is entered again and again is not a serial number. */
static void test_labels__auto_leaves_what_comes_again(void **state)
{
	struct sonde_launches *l;
	struct made m;
	uint32_t i, outer;
	char label[32];

	(void)state;
	made_init(&m);
	outer = made_push(&m, MADE_ROOT, "step");
	for (i = 0; i < 200; i++) {
		snprintf(label, sizeof(label), "layer %u", i % 100);
		made_push(&m, outer, label);
	}
	l = attribute(&m, "auto");
	assert_int_equal(l->regions.nr, 101);
	sonde_launches_free(l);
	made_release(&m);
}

static void test_labels__a_note_says_what_would_be_left(void **state)
{
	struct sonde_launches *l;
	struct made m;

	(void)state;
	made_init(&m);
	make_serial(&m, "request", 200);
	l = attribute(&m, "raw");
	assert_true(noted(l, "401 regions") && noted(l, "report.labels=known would leave 3"));
	sonde_launches_free(l);
	made_release(&m);
	made_init(&m);
	make_serial(&m, "step", 200);
	l = attribute(&m, "raw");
	assert_true(noted(l, "401 regions") && noted(l, "report.labels=known would leave 3"));
	sonde_launches_free(l);
	l = attribute(&m, "known");
	assert_int_equal(l->regions.nr, 3);
	assert_int_equal(l->notes.texts.nr, 0);
	sonde_launches_free(l);
	made_release(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_labels__known_serial_numbers_go),
		cmocka_unit_test(test_labels__steps_of_servers_say_their_phase_batch_and_tokens),
		cmocka_unit_test(test_labels__named_groups_of_a_rule_are_arguments),
		cmocka_unit_test(test_labels__numbers_that_name_things_stay),
		cmocka_unit_test(test_labels__rules_of_the_user_rewrite),
		cmocka_unit_test(test_labels__bad_rules_are_refused),
		cmocka_unit_test(test_labels__hostile_labels_stay),
		cmocka_unit_test(test_labels__regions_and_filters_have_the_new_label),
		cmocka_unit_test(test_labels__what_the_selection_names_keeps_its_name),
		cmocka_unit_test(test_labels__auto_leaves_what_the_selection_names),
		cmocka_unit_test(test_labels__known_merges_many_serial_siblings),
		cmocka_unit_test(test_labels__known_merges_what_each_entry_has_one_of),
		cmocka_unit_test(test_labels__auto_leaves_what_comes_again),
		cmocka_unit_test(test_labels__a_note_says_what_would_be_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
