/* The reader of torch.profiler traces: modules become regions, and graphs go into the regions in which they were captured. */
#include "unit.h"

#include "kineto_made.h"

#define FRAME(name, ts, dur)                                                                       \
	"{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"" name                               \
	"\",\"pid\":9,\"tid\":1,\"ts\":" ts ",\"dur\":" dur ",\"args\":{\"Python id\":1}},"
#define MODULE(name, ts, dur) FRAME("nn.Module: " name, ts, dur)
#define STEP(name, ts, dur)   RANGE(name, "1", ts, dur) ","
#define WORK(name, id, stream, ts, more)                                                           \
	"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"" name "\",\"pid\":0,\"tid\":" stream         \
	",\"ts\":" ts ",\"dur\":1,\"args\":{\"device\":0,\"stream\":" stream ",\"correlation\":" id more "}},"
/* A launch that runs, and one of a capture. */
#define RUN(id, ts)	       CALL(id, "1", ts) "," WORK("k", id, "7", ts ".5", "")
#define CAPTURED(name, id, ts) LAUNCH("hipLaunchKernel", "\"kernel\":\"" name "\",", id, ts)
#define NAMELESS(id, ts)       LAUNCH("cudaLaunchKernel", "", id, ts)
#define LAUNCH(call, more, id, ts)                                                                 \
	"{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"" call "\",\"pid\":9,\"tid\":1,\"ts\":" ts \
	",\"dur\":0.1,\"args\":{" more "\"correlation\":" id "}},"
#define GRAPH_LAUNCH(id, ts) LAUNCH("cudaGraphLaunch", "", id, ts)
#define BEGIN(ts)	     LAUNCH("cudaStreamBeginCapture", "", "901", ts)
#define END(ts)		     LAUNCH("cudaStreamEndCapture", "", "902", ts)
#define LAST		     "{\"ph\":\"i\"}"

static struct sonde_records *open_with(const char *trace, const char *capture, unsigned regions)
{
	char names[2][64];
	const char *path = names[0], *texts[] = {trace, capture};
	struct sonde_read_options options = {.kineto_regions = regions, .kineto_captures = capture ? names[1] : "none"};
	struct sonde_records *r = NULL;
	struct sonde_err err = {0};
	int fd[2], i;

	for (i = 0; i < 2; i++) {
		fd[i] = memfd_create("trace", MFD_CLOEXEC);
		assert_true(fd[i] >= 0);
		if (texts[i])
			assert_int_equal(write(fd[i], texts[i], strlen(texts[i])), strlen(texts[i]));
		snprintf(names[i], sizeof(names[i]), "/proc/self/fd/%d", fd[i]);
	}
	if (sonde_records_open(&r, &path, 1, &options, &err) && err.code != SONDE_ERR_NOMEM)
		fail_msg("%s", err.msg);
	close(fd[0]);
	close(fd[1]);
	return r;
}

/* Where the record was captured, outermost first, joined by '/'. */
static const char *origin_of(const struct sonde_records *r, uint32_t record)
{
	static char text[256];
	char rest[sizeof(text)];
	uint32_t at = r->records.at[record].origin_kind == SONDE_ORIGIN_GRAPH ? r->records.at[record].origin : SONDE_NONE;

	for (text[0] = '\0'; at != SONDE_NONE; at = r->ranges.at[at].parent) {
		memcpy(rest, text, sizeof(rest));
		snprintf(text, sizeof(text), "%.*s%s%.200s",
			SONDE_STR_ARG(sonde_records_str(r, r->ranges.at[at].label)), rest[0] ? "/" : "", rest);
	}
	return text;
}

static const char *name_of(const struct sonde_records *r, uint32_t record)
{
	return sonde_records_str(r, sonde_record_function(r, &r->records.at[record])->name).p;
}

/* Every record of a kernel called `name` was captured in `path`. */
static void assert_origins(const struct sonde_records *r, const char *name, const char *path)
{
	size_t i, nr = 0;

	for (i = 0; i < r->records.nr; i++) {
		if (strncmp(name_of(r, (uint32_t)i), name, strlen(name)) != 0)
			continue;
		assert_string_equal(origin_of(r, (uint32_t)i), path);
		nr++;
	}
	assert_true(nr > 0);
}

/* --- modules --------------------------------------------------------------------------------------- */

#define TWO_LAYERS                                                                                 \
	MODULE("Net_0", "1", "90")                                                                 \
	FRAME("torch/nn/modules/module.py(9): _call_impl", "1", "89")                              \
	MODULE("Layer_0", "2", "40") MODULE("Linear_0", "3", "10") RUN("1", "4")                   \
	MODULE("Linear_1", "14", "10") RUN("2", "15") MODULE("Act_0", "25", "5") RUN("3", "26")    \
	MODULE("Layer_1", "50", "40") MODULE("Linear_2", "51", "10") RUN("4", "52")                \
	MODULE("Linear_3", "62", "10") RUN("5", "63") MODULE("Act_0", "73", "5") RUN("6", "74")

static void test_modules__numbers_are_places_among_those_of_one_class(void **state)
{
	static const char *const paths[] = {"step/Net/Layer_0/Linear_0", "step/Net/Layer_0/Linear_1",
		"step/Net/Layer_0/Act", "step/Net/Layer_1/Linear_0", "step/Net/Layer_1/Linear_1",
		"step/Net/Layer_1/Act"};
	struct sonde_records *r = open_with(TRACE(TWO_LAYERS STEP("step", "0", "100") LAST), NULL, 0);
	uint32_t i;

	(void)state;
	assert_int_equal(r->records.nr, 6);
	for (i = 0; i < 6; i++)
		assert_string_equal(path_of(r, i), paths[i]);
	assert_int_equal(r->ranges.nr, 10); /* no frame */
	assert_int_equal(r->inputs.at[0].nr_modules, 9);
	sonde_records_free(r);
}

static void test_modules__annotations_alone_are_regions_where_they_say_enough(void **state)
{
	static const char inside[] = TRACE(TWO_LAYERS STEP("a", "3", "20") STEP("b", "24", "10") STEP(
		"a", "51", "20") STEP("b", "72", "10") LAST);
	struct sonde_records *r = open_with(inside, NULL, SONDE_KINETO_AUTO);

	(void)state;
	assert_string_equal(path_of(r, 0), "a");
	assert_int_equal(r->inputs.at[0].nr_modules, 0);
	sonde_records_free(r);
	r = open_with(inside, NULL, SONDE_KINETO_MODULES);
	assert_string_equal(path_of(r, 2), "Net/Layer_0/b/Act");
	sonde_records_free(r);
	r = open_with(TRACE(TWO_LAYERS STEP("step", "0", "100") LAST), NULL, SONDE_KINETO_ANNOTATIONS);
	assert_string_equal(path_of(r, 0), "step");
	sonde_records_free(r);
}

static void test_modules__operators_are_inside_them(void **state)
{
	struct sonde_records *r =
		open_with(TRACE(TWO_LAYERS OP("aten::mm", "1", "3.5", "2", "1", "0") "," LAST), NULL, SONDE_KINETO_OPS);

	(void)state;
	assert_string_equal(path_of(r, 0), "Net/Layer_0/Linear_0/aten::mm");
	sonde_records_free(r);
}

/* --- graphs ---------------------------------------------------------------------------------------- */

#define CAPTURE                                                                                    \
	STEP("capture", "0", "100") RUN("1", "1")                                                  \
	BEGIN("2") MODULE("Net_0", "3", "90") MODULE("Linear_0", "4", "10") CAPTURED("mm", "2", "5")  \
	MODULE("Act_0", "20", "10") CAPTURED("relu", "3", "21") CAPTURED("mm", "4", "40") END("95") LAST
#define REPLAY(id, ts)                                                                             \
	GRAPH_LAUNCH(id, ts) WORK("mm", id, "7", ts "1", "") WORK("relu", id, "7", ts "3", "")

static void test_graphs__work_is_where_it_was_captured(void **state)
{
	struct sonde_records *r = open_with(
		TRACE(STEP("step", "0", "9") REPLAY("8", "5") WORK("mm", "8", "7", "55", "") REPLAY("9", "6")
				WORK("mm", "9", "7", "65", "") LAST),
		TRACE(CAPTURE), 0);

	(void)state;
	assert_int_equal(r->records.nr, 6);
	assert_string_equal(path_of(r, 0), "step");
	assert_string_equal(origin_of(r, 0), "capture/Net/Linear");
	assert_string_equal(origin_of(r, 1), "capture/Net/Act");
	assert_string_equal(origin_of(r, 2), "capture/Net");
	assert_string_equal(origin_of(r, 3), "capture/Net/Linear");
	assert_int_equal(r->inputs.at[0].nr_graphed, 6);
	assert_int_equal(r->inputs.at[0].nr_regained, 6);
	assert_int_equal(r->inputs.nr, 1);
	assert_int_equal(r->notes.texts.nr, 0);
	sonde_records_free(r);
}

static void test_graphs__outside_any_range_work_is_in_the_regions_of_its_capture(void **state)
{
	struct sonde_records *r = open_with(
		TRACE(REPLAY("8", "5") WORK("mm", "8", "7", "55", "") LAST), TRACE(CAPTURE), 0);

	(void)state;
	assert_string_equal(path_of(r, 1), "capture/Net/Act");
	sonde_records_free(r);
}

static void test_graphs__a_capture_that_does_not_fit_is_refused_with_the_counts(void **state)
{
	struct sonde_records *r = open_with(
		TRACE(STEP("step", "0", "9") REPLAY("8", "5") LAST), TRACE(CAPTURE), 0);

	(void)state;
	assert_string_equal(origin_of(r, 0), "");
	assert_true(noted(r, "a graph launch has 2 kernels and copies, but the capture in /proc/self/fd/"));
	assert_true(noted(r, "has 3: its work stays without the capture's regions"));
	sonde_records_free(r);
	r = open_with(TRACE(STEP("step", "0", "9") REPLAY("8", "5") WORK("other", "8", "7", "55", "") LAST),
		TRACE(CAPTURE), 0);
	assert_string_equal(origin_of(r, 0), "");
	assert_true(noted(r, "have 3 kernels and copies each, but differ from number 3 on"));
	assert_int_equal(r->inputs.at[0].nr_regained, 0);
	sonde_records_free(r);
	r = open_with(TRACE(STEP("step", "0", "9") REPLAY("8", "5") LAST), NULL, 0);
	assert_true(noted(r, "1 graph launch counts as a whole where it was launched"));
	sonde_records_free(r);
}

static void test_graphs__the_grid_tells_captures_apart(void **state)
{
	static const char captures[] = TRACE(BEGIN("1") MODULE("A_0", "2", "10")
			LAUNCH("hipLaunchKernel", "\"kernel\":\"k\",\"grid\":[1,1,1],", "1", "3")
				LAUNCH("hipLaunchKernel", "\"kernel\":\"k\",\"grid\":[1,1,1],", "2", "4") END("20") BEGIN("30")
					MODULE("B_0", "31", "10")
						LAUNCH("hipLaunchKernel", "\"kernel\":\"k\",\"grid\":[2,1,1],", "3", "32")
							LAUNCH("hipLaunchKernel", "\"kernel\":\"k\",\"grid\":[2,1,1],", "4", "33") END("50") LAST);
	struct sonde_records *r = open_with(
		TRACE(STEP("step", "0", "9") GRAPH_LAUNCH("8", "5") WORK("k", "8", "7", "51", ",\"grid\":[2,1,1]")
				WORK("k", "8", "7", "52", ",\"grid\":[2,1,1]") LAST),
		captures, 0);

	(void)state;
	assert_origins(r, "k", "B");
	sonde_records_free(r);
}

static void test_graphs__streams_take_turns(void **state)
{
	/* captured: a b on one stream, then a c on another; they ran at the same time */
	static const char capture[] = TRACE(BEGIN("1") MODULE("A_0", "2", "10") CAPTURED("a", "1", "3") CAPTURED(
		"b", "2", "4") MODULE("B_0", "20", "10") CAPTURED("a", "3", "21") CAPTURED("c", "4", "22") END("40") LAST);
	struct sonde_records *r = open_with(TRACE(STEP("step", "0", "9") GRAPH_LAUNCH("8", "5") WORK("a", "8", "7",
						    "50", "") WORK("a", "8", "8", "51", "") WORK("c", "8", "8",
						    "52", "") WORK("b", "8", "7", "53", "") LAST),
		capture, 0);

	(void)state;
	assert_string_equal(origin_of(r, 0), "A");
	assert_string_equal(origin_of(r, 1), "B");
	assert_origins(r, "b", "A");
	assert_origins(r, "c", "B");
	sonde_records_free(r);
}

static void test_graphs__ids_of_nodes_are_in_order_of_capture(void **state)
{
	/* the stream that was captured last ran first */
	static const char capture[] = TRACE(BEGIN("1") MODULE("A_0", "2", "10") CAPTURED("a", "1", "3") MODULE("B_0",
		"20", "10") CAPTURED("a", "2", "21") END("40") LAST);
	struct sonde_records *r = open_with(TRACE(STEP("step", "0", "9") GRAPH_LAUNCH("8", "5") WORK("a", "8", "8", "50",
						    ",\"graph node id\":92") WORK("a", "8", "7", "51", ",\"graph node id\":91") LAST),
		capture, 0);

	(void)state;
	assert_string_equal(origin_of(r, 0), "B");
	assert_string_equal(origin_of(r, 1), "A");
	sonde_records_free(r);
}

#define NAMELESS_CAPTURE(module, at)                                                               \
	BEGIN(at "1") MODULE(module, at "2", "5") NAMELESS(at "03", at "3") NAMELESS(at "04", at "4") END(at "9")

static void test_graphs__without_names_the_number_must_be_of_one_capture(void **state)
{
	static const char trace[] =
		TRACE(STEP("step", "0", "9") GRAPH_LAUNCH("8", "5") WORK("x", "8", "7", "51", "") WORK("y", "8", "7", "52", "") LAST);
	struct sonde_records *r = open_with(trace, TRACE(NAMELESS_CAPTURE("A_0", "1") LAST), 0);

	(void)state;
	assert_string_equal(origin_of(r, 0), "A");
	sonde_records_free(r);
	r = open_with(trace, TRACE(NAMELESS_CAPTURE("A_0", "1") NAMELESS_CAPTURE("B_0", "2") LAST), 0);
	assert_string_equal(origin_of(r, 0), "");
	assert_string_equal(path_of(r, 0), "step");
	assert_true(noted(r, "2 captures match a graph launch of 2 kernels and copies, and sonde cannot tell which one it is"));
	sonde_records_free(r);
}

/* Four captures of a layer each, of the same kernels; so many regions around each. */
#define LAYER_CAPTURE(module, at)                                                                  \
	BEGIN(at "1") MODULE(module, at "2", "7") MODULE("Attn_0", at "3", "2") CAPTURED("a", at "03", at "3") \
	MODULE("Mlp_0", at "6", "2") CAPTURED("b", at "04", at "6") END(at "9.5")
#define LAYERS                                                                                     \
	TRACE(LAYER_CAPTURE("Layer_0", "1") LAYER_CAPTURE("Layer_1", "2") LAYER_CAPTURE("Layer_2", "3") LAST)
#define PLAY(id, ts, more)                                                                         \
	GRAPH_LAUNCH(id, ts) WORK("a", id, "7", ts "1", more) WORK("b", id, "7", ts "2", more)

static void assert_layers(const struct sonde_records *r, const char *digits)
{
	char path[64];
	uint32_t i;

	for (i = 0; digits[i]; i++) {
		snprintf(path, sizeof(path), "Layer_%c/Attn", digits[i]);
		assert_string_equal(origin_of(r, 2 * i), path);
		snprintf(path, sizeof(path), "Layer_%c/Mlp", digits[i]);
		assert_string_equal(origin_of(r, 2 * i + 1), path);
	}
	assert_int_equal(r->records.nr, 2 * strlen(digits));
}

static void test_graphs__of_captures_that_are_alike_each_round_has_each_once(void **state)
{
	struct sonde_records *r = open_with(TRACE(STEP("step", "10", "9") PLAY("1", "11", "") PLAY("2", "12", "") PLAY("3", "13", "")
						    STEP("step", "20", "9") PLAY("4", "21", "") PLAY("5", "22", "") PLAY("6", "23", "") LAST),
		LAYERS, 0);

	(void)state;
	assert_layers(r, "012012");
	assert_int_equal(r->inputs.at[0].nr_regained, 12);
	sonde_records_free(r);
}

static void test_graphs__ids_of_graphs_tell_captures_that_are_alike(void **state)
{
	struct sonde_records *r =
		open_with(TRACE(STEP("step", "10", "9") PLAY("1", "11", ",\"graph id\":30") PLAY("2", "12", ",\"graph id\":10")
					PLAY("3", "13", ",\"graph id\":20") PLAY("4", "14", ",\"graph id\":30") LAST),
			LAYERS, 0);

	(void)state;
	assert_layers(r, "2012");
	sonde_records_free(r);
}

/* Two of three layers ran: which ones is not known, but the modules inside of a layer are. */
static void test_graphs__without_a_round_only_what_captures_share_is_known(void **state)
{
	static const char odd[] = TRACE(LAYER_CAPTURE("Layer_0", "1") BEGIN("21") MODULE("Other_0", "22", "7") CAPTURED("a", "203", "23")
			CAPTURED("b", "204", "26") END("29.5") LAST);
	struct sonde_records *r =
		open_with(TRACE(STEP("step", "10", "9") PLAY("1", "11", "") PLAY("2", "12", "") LAST), LAYERS, 0);

	(void)state;
	assert_origins(r, "a", "Attn");
	assert_origins(r, "b", "Mlp");
	sonde_records_free(r);
	r = open_with(TRACE(STEP("step", "10", "9") PLAY("1", "11", "") LAST), odd, 0);
	assert_origins(r, "a", "");
	assert_true(noted(r, "2 captures match a graph launch of 2 kernels and copies"));
	sonde_records_free(r);
}

/* Thread 2 begins a capture during that of thread 1; the other call of thread 1's capture comes from a thread without a capture. */
static void test_graphs__captures_of_two_threads_may_overlap(void **state)
{
#define OF_THREAD(tid, call, more, id, ts)                                                         \
	"{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"" call "\",\"pid\":9,\"tid\":" tid ",\"ts\":" ts \
	",\"dur\":0.1,\"args\":{" more "\"correlation\":" id "}},"
	static const char captures[] = TRACE(OF_THREAD("1", "cudaStreamBeginCapture", "", "901", "1") RANGE("one", "1", "1", "20")
			"," RANGE("two", "2", "1", "20") "," RANGE("three", "3", "1", "20") ","
			OF_THREAD("1", "hipLaunchKernel", "\"kernel\":\"a\",", "1", "2")
			OF_THREAD("2", "cudaStreamBeginCapture", "", "902", "3")
			OF_THREAD("1", "hipLaunchKernel", "\"kernel\":\"b\",", "2", "4")
			OF_THREAD("2", "hipLaunchKernel", "\"kernel\":\"c\",", "3", "5")
			OF_THREAD("1", "cudaStreamEndCapture", "", "903", "6")
			OF_THREAD("3", "hipLaunchKernel", "\"kernel\":\"d\",", "4", "7")
			OF_THREAD("2", "cudaStreamEndCapture", "", "904", "8") LAST);
	struct sonde_records *r = open_with(TRACE(STEP("step", "10", "9") PLAY("1", "11", "") GRAPH_LAUNCH("2", "12")
						    WORK("c", "2", "7", "121", "") WORK("d", "2", "7", "122", "") LAST),
		captures, 0);

	(void)state;
	assert_origins(r, "a", "one");
	assert_origins(r, "b", "one");
	assert_origins(r, "c", "two");
	assert_origins(r, "d", "three");
	sonde_records_free(r);
}

/* This trace has a capture without names, the other trace one with names: only the latter is used. */
static void test_graphs__names_of_another_trace_take_the_place_of_numbers(void **state)
{
	struct sonde_records *r = open_with(
		TRACE(NAMELESS_CAPTURE("A_0", "1") PLAY("8", "50", "") LAST), TRACE(LAYER_CAPTURE("Layer_0", "1") LAST), SONDE_KINETO_MODULES);

	(void)state;
	assert_string_equal(path_of(r, 0), "Layer/Attn");
	assert_string_equal(origin_of(r, 0), "");
	sonde_records_free(r);
}

static void test_graphs__a_capture_may_be_in_the_trace_itself(void **state)
{
	static const unsigned regions[] = {SONDE_KINETO_MODULES, SONDE_KINETO_AUTO};
	unsigned i;

	(void)state;
	for (i = 0; i < 2; i++) {
		struct sonde_records *r =
			open_with(TRACE(STEP("warm", "0", "60") NAMELESS_CAPTURE("A_0", "1") STEP("step", "100", "9")
						GRAPH_LAUNCH("8", "105") WORK("x", "8", "7", "151", "") WORK("y", "8", "7", "152", "") LAST),
				NULL, regions[i]);

		assert_string_equal(path_of(r, 0), "step");
		assert_string_equal(origin_of(r, 0), "warm/A");
		sonde_records_free(r);
	}
}

static void test_graphs__marks_of_kernels_are_regions(void **state)
{
	struct sonde_records *r = open_with(TRACE(STEP("step", "0", "9") GRAPH_LAUNCH("8", "5") WORK("x", "8", "7", "51",
						    ",\"graph node id\":5,\"name\":\"phase_A\"") WORK("y", "8", "7", "52",
						    ",\"graph node id\":6,\"name\":\"phase_B\"") WORK("z", "8", "7", "53",
						    ",\"graph node id\":7") LAST),
		NULL, 0);

	(void)state;
	assert_string_equal(origin_of(r, 0), "(graph)/phase_A");
	assert_string_equal(origin_of(r, 1), "(graph)/phase_B");
	assert_string_equal(origin_of(r, 2), "(graph)");
	assert_int_equal(r->notes.texts.nr, 0);
	sonde_records_free(r);
}

static void test_graphs__pieces_of_compiled_models_are_numbered_as_they_come(void **state)
{
	static const char capture[] = TRACE(BEGIN("1") MODULE("Net_0", "2", "90") STEP("## Call CompiledFxGraph fab ##", "3",
		"9") CAPTURED("a", "1", "4") MODULE("GraphModule_0", "13", "9") FRAME("vllm/attn.py(7): forward", "14",
		"5") FRAME("<built-in function launch>", "15", "2") CAPTURED("b", "2", "15") CAPTURED("c", "3",
		"20") STEP("## Call CompiledFxGraph fab ##", "23", "9") CAPTURED("a", "4", "24") MODULE("GraphModule_0",
		"33", "9") CAPTURED("b", "5", "34") END("95") LAST);
	struct sonde_records *r = open_with(
		TRACE(STEP("step", "0", "9") GRAPH_LAUNCH("8", "5") WORK("a", "8", "7", "51", "") WORK("b", "8", "7", "52", "")
				WORK("c", "8", "7", "53", "") WORK("a", "8", "7", "54", "") WORK("b", "8", "7", "55", "") LAST),
		capture, 0);

	(void)state;
	assert_string_equal(origin_of(r, 0), "Net/CompiledFxGraph_0");
	assert_string_equal(origin_of(r, 1), "Net/GraphModule_0/attn.forward");
	assert_string_equal(origin_of(r, 2), "Net/GraphModule_0");
	assert_string_equal(origin_of(r, 3), "Net/CompiledFxGraph_1");
	assert_string_equal(origin_of(r, 4), "Net/GraphModule_1");
	sonde_records_free(r);
}

static void test_graphs__a_capture_that_cannot_be_read_is_left_out(void **state)
{
	struct sonde_records *r = open_with(
		TRACE(STEP("step", "0", "9") REPLAY("8", "5") LAST), "{\"traceEvents\": 7}", 0);

	(void)state;
	assert_int_equal(r->records.nr, 2);
	sonde_records_free(r);
	r = open_with(TRACE(STEP("step", "0", "9") REPLAY("8", "5") LAST), "\x1f\x8b no gzip file", 0);
	assert_int_equal(r->records.nr, 2);
	assert_true(noted(r, "it is left out") || noted(r, "counts as a whole"));
	sonde_records_free(r);
}

static void test_graphs__short_memory_is_an_error(void **state)
{
	static const char trace[] = TRACE(STEP("step", "0", "9") REPLAY("8", "5") WORK("mm", "8", "7", "55", "") LAST);
	struct sonde_records *r = NULL;
	uint64_t nth;

	(void)state;
	for (nth = 1; !r && nth < 10000; nth++) {
		sonde_alloc_fail_at(nth);
		r = open_with(trace, TRACE(CAPTURE), 0);
		sonde_alloc_fail_at(0);
	}
	assert_non_null(r);
	assert_true(nth > 20);
	assert_string_equal(origin_of(r, 0), "capture/Net/Linear");
	sonde_records_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_modules__numbers_are_places_among_those_of_one_class),
		cmocka_unit_test(test_modules__annotations_alone_are_regions_where_they_say_enough),
		cmocka_unit_test(test_modules__operators_are_inside_them),
		cmocka_unit_test(test_graphs__work_is_where_it_was_captured),
		cmocka_unit_test(test_graphs__outside_any_range_work_is_in_the_regions_of_its_capture),
		cmocka_unit_test(test_graphs__a_capture_that_does_not_fit_is_refused_with_the_counts),
		cmocka_unit_test(test_graphs__the_grid_tells_captures_apart),
		cmocka_unit_test(test_graphs__streams_take_turns),
		cmocka_unit_test(test_graphs__ids_of_nodes_are_in_order_of_capture),
		cmocka_unit_test(test_graphs__without_names_the_number_must_be_of_one_capture),
		cmocka_unit_test(test_graphs__of_captures_that_are_alike_each_round_has_each_once),
		cmocka_unit_test(test_graphs__ids_of_graphs_tell_captures_that_are_alike),
		cmocka_unit_test(test_graphs__without_a_round_only_what_captures_share_is_known),
		cmocka_unit_test(test_graphs__captures_of_two_threads_may_overlap),
		cmocka_unit_test(test_graphs__names_of_another_trace_take_the_place_of_numbers),
		cmocka_unit_test(test_graphs__a_capture_may_be_in_the_trace_itself),
		cmocka_unit_test(test_graphs__marks_of_kernels_are_regions),
		cmocka_unit_test(test_graphs__pieces_of_compiled_models_are_numbered_as_they_come),
		cmocka_unit_test(test_graphs__a_capture_that_cannot_be_read_is_left_out),
		cmocka_unit_test(test_graphs__short_memory_is_an_error),
	};

	return cmocka_run_group_tests_name("kineto_graphs", tests, NULL, NULL);
}
