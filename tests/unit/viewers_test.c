#include "base/alloc.h"
#include "base/sha256.h"
#include "export/tracks.h"
#include "export/weight.h"

#include "exported.h"

#include <stdio.h>
#include <stdlib.h>

static void check_sha256(const char *text, const char *want)
{
	unsigned char digest[SONDE_SHA256_BYTES];
	char hex[2 * SONDE_SHA256_BYTES + 1];
	struct sonde_sha256 h;
	size_t i;

	sonde_sha256_init(&h);
	sonde_sha256_add(&h, sonde_str_from(text));
	sonde_sha256_end(&h, digest);
	for (i = 0; i < SONDE_SHA256_BYTES; i++)
		snprintf(hex + 2 * i, 3, "%02x", digest[i]);
	assert_string_equal(hex, want);
}

static void test_sha256__has_the_standard_values(void **state)
{
	char a[1001];

	(void)state;
	check_sha256("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	check_sha256("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	check_sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		"248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
	memset(a, 'a', 1000);
	a[1000] = '\0';
	check_sha256(a, "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3");
}

static void test_base64__pads_to_four(void **state)
{
	struct sonde_buf b = {0};

	(void)state;
	sonde_base64(&b, (const unsigned char *)"fooba", 5);
	assert_string_equal(b.p, "Zm9vYmE=");
	sonde_buf_clear(&b);
	sonde_base64(&b, (const unsigned char *)"foob", 4);
	assert_string_equal(b.p, "Zm9vYg==");
	sonde_buf_release(&b);
}

static void check_export(exporter f, const struct sonde_export_options *o, const char *want)
{
	struct made m;
	struct sonde_buf out;

	small_run(&m, "B");
	out = exported(&m, f, o);
	assert_string_equal(out.p, want);
	sonde_buf_release(&out);
	made_release(&m);
}

static void test_folded__kernels_are_leaves_of_their_regions(void **state)
{
	(void)state;
	check_export(sonde_export_folded, NULL, "A;gemm 4000\nA;B;axpy 500\n");
}

static void test_folded__stacks_may_count_launches(void **state)
{
	const struct sonde_export_options o = {.by = "launches"};

	(void)state;
	check_export(sonde_export_folded, &o, "A;gemm 2\nA;B;axpy 1\n");
}

/* Entries of nested regions are not part of those around them: they are counted separately. */
static void test_weights__children_are_never_wider_than_their_parent(void **state)
{
	const struct sonde_choice choice = {0};
	struct sonde_cells *c;
	struct sonde_tree *t = NULL;
	struct sonde_weights w;
	struct made m;
	uint32_t a, b;
	int i;

	(void)state;
	made_init(&m);
	a = made_push(&m, MADE_ROOT, "A");
	for (i = 0; i < 5; i++) {
		b = made_push(&m, a, "B");
		made_launch(&m, "gemm", 1, &b);
		made_metric(&m, TIME, 100);
	}
	c = folded(m.r, NULL);
	assert_int_equal(sonde_tree_build(&t, c, &choice, NULL), 0);
	assert_int_equal(sonde_weights_build(&w, t, &t->reports.at[0], "entries", NULL), 0);
	assert_true(w.own[0] == 1 && w.own[1] == 5);
	assert_true(w.inclusive[0] == 6 && w.inclusive[1] == 5 && w.total == 6);
	sonde_weights_release(&w);
	sonde_tree_free(t);
	sonde_cells_free(c);
	made_release(&m);
}

static void test_folded__hostile_labels_stay_in_their_frame(void **state)
{
	struct made m;
	struct sonde_buf out;

	(void)state;
	small_run(&m, "x;y\n<b>");
	out = exported(&m, sonde_export_folded, NULL);
	assert_string_equal(out.p, "A;gemm 4000\nA;x\\x3by\\n<b>;axpy 500\n");
	sonde_buf_release(&out);
	made_release(&m);
}

static void test_hatchet__children_are_inside_their_parent(void **state)
{
	struct made m;
	struct sonde_buf out;

	(void)state;
	small_run(&m, "B");
	out = exported(&m, sonde_export_hatchet, NULL);
	assert_non_null(strstr(out.p, "[\n{\"frame\": {\"name\": \"A\", \"type\": \"region\"}"));
	assert_non_null(strstr(out.p, "\"time (inc)\": 0.0045, \"time\": 0.004"));
	assert_non_null(strstr(out.p, "\"children\": []}]}]\n"));
	sonde_buf_release(&out);
	made_release(&m);
}

static void test_html__a_label_cannot_leave_the_data(void **state)
{
	struct made m;
	struct sonde_buf out;
	const char *data, *end;

	(void)state;
	small_run(&m, "</script><script>alert(1)</script><!--");
	out = exported(&m, sonde_export_html, NULL);
	data = strstr(out.p, "id=\"data\">");
	assert_non_null(data);
	data += strlen("id=\"data\">");
	end = strchr(data, '<');
	assert_memory_equal(end, "</script>\n<script>\"use strict\"", 30);
	sonde_buf_release(&out);
	made_release(&m);
}

static void test_html__a_run_without_regions_is_a_page_too(void **state)
{
	struct made m;
	struct sonde_buf out;

	(void)state;
	made_init(&m);
	made_launch(&m, "gemm", 0, NULL);
	made_metric(&m, TIME, 3000);
	out = exported(&m, sonde_export_html, NULL);
	assert_non_null(strstr(out.p, "\"region\": [], \"parent\": []"));
	sonde_buf_release(&out);
	made_release(&m);
}

static void test_svg__boxes_are_as_wide_as_their_time(void **state)
{
	struct made m;
	struct sonde_buf out;

	(void)state;
	small_run(&m, "<B>");
	out = exported(&m, sonde_export_svg, NULL);
	assert_non_null(strstr(
		out.p, "<title>A: 4.50 µs</title><rect x=\"12.00\" y=\"44\" width=\"976.00\""));
	assert_non_null(strstr(out.p,
		"<title>&#60;B&#62;: 500 ns</title><rect x=\"12.00\" y=\"66\" width=\"108.44\""));
	sonde_buf_release(&out);
	made_release(&m);
}

/* The run of small_run as a tree, for functions that are not exporters. */
struct run {
	struct made m;
	struct sonde_cells *c;
	struct sonde_tree *t;
};

/* With times, A is entered from 100 to 900, and B is inside A up to its end. */
static void open_timed_run(struct run *r, bool has_times)
{
	const struct sonde_choice choice = {0};

	small_run(&r->m, "B");
	if (has_times) {
		r->m.r->has_range_times = true;
		r->m.r->ranges.at[0].time = (struct sonde_range_time){100, 900, 0};
		r->m.r->ranges.at[1].time = (struct sonde_range_time){200, 900, 0};
	}
	r->c = folded(r->m.r, NULL);
	assert_int_equal(sonde_tree_build(&r->t, r->c, &choice, NULL), 0);
}

static void open_run(struct run *r)
{
	open_timed_run(r, false);
}

static void close_run(struct run *r)
{
	sonde_tree_free(r->t);
	sonde_cells_free(r->c);
	made_release(&r->m);
}

static void test_weights__only_what_adds_up_is_taken(void **state)
{
	const struct sonde_export_options o = {0};
	struct sonde_weights w;
	struct sonde_err err = {0};
	struct run r;

	(void)state;
	open_run(&r);
	assert_int_equal(sonde_weights_build(&w, r.t, sonde_report_main(r.t, &o), TIME, &err), 0);
	assert_true(w.inclusive[0] == 4500 && w.own[0] == 4000 && w.own[1] == 500);
	assert_true(w.total == 4500);
	sonde_weights_release(&w);
	assert_int_equal(sonde_weights_build(&w, r.t, sonde_report_main(r.t, &o), "nope", &err),
		SONDE_ERR_USAGE);
	assert_non_null(strstr(err.msg, TIME));
	close_run(&r);
}

static void test_perfetto__without_times_is_a_usage_error(void **state)
{
	const struct sonde_export_options o = {0};
	struct sonde_err err = {0};
	struct sonde_sink to;
	struct run r;

	(void)state;
	open_run(&r);
	sonde_sink_init_string(&to);
	assert_int_equal(sonde_export(sonde_format_named(SONDE_STR("perfetto")), r.t, &o, &to, &err),
		SONDE_ERR_USAGE);
	assert_non_null(strstr(err.msg, "no timestamps"));
	sonde_sink_abort(&to);
	close_run(&r);
}

static void test_tracks__entries_are_events_of_their_thread(void **state)
{
	struct sonde_tracks s;
	struct run r;

	(void)state;
	open_run(&r);
	assert_false(sonde_tracks_exist(r.t));
	close_run(&r);
	open_timed_run(&r, true);
	assert_true(sonde_tracks_exist(r.t));
	assert_int_equal(sonde_tracks_build(&s, r.t, 100, NULL), 0);
	assert_int_equal(s.tracks.nr, 1);
	assert_int_equal(s.tracks.at[0].nr, 2);
	assert_int_equal(s.events.at[0].start_ns, 100);
	assert_int_equal(s.events.at[1].end_ns, 900);
	sonde_tracks_release(&s);
	assert_int_equal(sonde_tracks_build(&s, r.t, 1, NULL), 0);
	assert_int_equal(s.nr_left_out, 1);
	sonde_tracks_release(&s);
	close_run(&r);
}

static void test_perfetto__entries_are_complete_events_in_microseconds(void **state)
{
	const struct sonde_export_options o = {0};
	struct sonde_sink to;
	struct run r;

	(void)state;
	open_timed_run(&r, true);
	sonde_sink_init_string(&to);
	assert_int_equal(sonde_export_perfetto(r.t, &o, &to, NULL), 0);
	assert_non_null(strstr(to.buf.p, "\"name\":\"A\",\"ts\":0.000,\"dur\":0.800"));
	assert_non_null(strstr(to.buf.p, "\"name\":\"B\",\"ts\":0.100,\"dur\":0.700"));
	sonde_sink_abort(&to);
	close_run(&r);
}

/* Each export succeeds, or fails with "out of memory", at the export or when the sink is closed. It never crashes or
 * leaks. */
static void test_viewers__short_memory_is_an_error_at_every_allocation(void **state)
{
	static const exporter formats[] = {sonde_export_html, sonde_export_svg,
		sonde_export_speedscope, sonde_export_perfetto, sonde_export_folded,
		sonde_export_hatchet};
	const struct sonde_export_options o = {0};
	struct run r;
	size_t i, n;

	(void)state;
	open_timed_run(&r, true);
	for (i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		for (n = 1; n < 5000; n++) {
			uint64_t before = sonde_alloc_count();
			struct sonde_err err = {0};
			struct sonde_sink to;
			bool has_failed;
			int rc;

			sonde_sink_init_string(&to);
			sonde_alloc_fail_at(n);
			rc = formats[i](r.t, &o, &to, &err);
			sonde_alloc_fail_at(0);
			has_failed = rc || to.buf.failed;
			assert_true(rc == 0 || (rc == SONDE_ERR_NOMEM && err.msg[0]));
			sonde_sink_abort(&to);
			if (sonde_alloc_count() - before < n) { /* it needed fewer than n allocations */
				assert_false(has_failed);
				break;
			}
			assert_true(has_failed);
		}
		assert_true(n < 5000);
	}
	close_run(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sha256__has_the_standard_values),
		cmocka_unit_test(test_base64__pads_to_four),
		cmocka_unit_test(test_folded__kernels_are_leaves_of_their_regions),
		cmocka_unit_test(test_folded__stacks_may_count_launches),
		cmocka_unit_test(test_weights__children_are_never_wider_than_their_parent),
		cmocka_unit_test(test_folded__hostile_labels_stay_in_their_frame),
		cmocka_unit_test(test_hatchet__children_are_inside_their_parent),
		cmocka_unit_test(test_html__a_label_cannot_leave_the_data),
		cmocka_unit_test(test_html__a_run_without_regions_is_a_page_too),
		cmocka_unit_test(test_svg__boxes_are_as_wide_as_their_time),
		cmocka_unit_test(test_weights__only_what_adds_up_is_taken),
		cmocka_unit_test(test_perfetto__without_times_is_a_usage_error),
		cmocka_unit_test(test_tracks__entries_are_events_of_their_thread),
		cmocka_unit_test(test_perfetto__entries_are_complete_events_in_microseconds),
		cmocka_unit_test(test_viewers__short_memory_is_an_error_at_every_allocation),
	};

	return cmocka_run_group_tests_name("viewers", tests, NULL, NULL);
}
