#include "base/alloc.h"
#include "export/folder.h"
#include "check/validate.h"
#include "export/table.h"
#include "base/escape.h"
#include "compare/report_in.h"

#include "exported.h"

#include <jansson.h>

static json_t *parsed(const struct made *m)
{
	struct sonde_buf b = exported(m, sonde_export_json, NULL);
	struct sonde_err err = {0};
	json_t *document = json_loadb(b.p, b.n, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, NULL);

	assert_non_null(document);
	if (sonde_validate_text(sonde_buf_view(&b), "made", &err))
		fail_msg("%s", err.msg);
	sonde_buf_release(&b);
	return document;
}

static json_t *region(json_t *document, size_t i)
{
	return json_array_get(
		json_object_get(json_object_get(document, "aggregate"), "regions"), i);
}

static void test_json__regions_have_inclusive_and_exclusive_numbers(void **state)
{
	struct made m;
	json_t *d, *a, *b;

	(void)state;
	small_run(&m, "A::A1");
	d = parsed(&m);
	a = region(d, 0);
	b = region(d, 1);
	assert_int_equal(json_integer_value(json_object_get(a, "kernel_count")), 3);
	assert_int_equal(json_integer_value(
				 json_object_get(json_object_get(a, "exclusive"), "kernel_count")),
		2);
	assert_true(json_number_value(json_object_get(a, "total_ms")) == 0.0045);
	assert_string_equal(json_string_value(json_object_get(b, "id")), "A/A::A1");
	assert_string_equal(json_string_value(json_object_get(b, "parent_id")), "A");
	assert_int_equal(json_array_size(json_object_get(b, "path")), 2);
	json_decref(d);
	made_release(&m);
}

static void test_json__hostile_label_comes_out_intact(void **state)
{
	static const char *const labels[] = {"../../etc/passwd", "a\"b\\c/d", "\x1b[31m\n\t",
		"注意力🚀", "<script>|`", "", "=1+1"};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(labels) / sizeof(*labels); i++) {
		struct made m;
		json_t *d;

		small_run(&m, labels[i]);
		d = parsed(&m);
		assert_string_equal(
			json_string_value(json_object_get(region(d, 1), "name")), labels[i]);
		json_decref(d);
		made_release(&m);
	}
}

static void test_json__invalid_utf8_is_still_valid_json(void **state)
{
	struct made m;
	json_t *d;

	(void)state;
	small_run(&m, "bad\xff\xfe");
	d = parsed(&m);
	assert_string_equal(
		json_string_value(json_object_get(region(d, 1), "name")), "bad\uFFFDFF\uFFFDFE");
	json_decref(d);
	made_release(&m);
}

static void test_json__a_missing_time_is_null_and_not_zero(void **state)
{
	struct made m;
	uint32_t a;
	json_t *d;

	(void)state;
	made_init(&m);
	a = made_push(&m, MADE_ROOT, "A");
	made_launch(&m, "k", 1, &a);
	made_metric(&m, "smsp__inst_executed.sum", 5);
	d = parsed(&m);
	assert_true(json_is_null(json_object_get(region(d, 0), "total_ms")));
	assert_true(
		json_is_null(json_object_get(json_object_get(d, "coverage"), "gpu_time_ns_total")));
	json_decref(d);
	made_release(&m);
}

/* Two entries of A: the kernel of the first ends after it. */
static struct sonde_cells *read_back(struct sonde_tree **tree, bool has_record_times)
{
	char path[] = "/tmp/sonde-test-XXXXXX";
	FILE *file = fdopen(mkstemp(path), "w");
	struct sonde_cells *c = NULL;
	struct sonde_buf json;
	struct made m;
	uint32_t a;

	made_init(&m);
	a = made_push_at(&m, 1, MADE_ROOT, "A", 1000, 1500);
	made_launch_at(&m, 1, 1100, a); /* ends at 2101 */
	made_push_at(&m, 1, MADE_ROOT, "A", 3000, 3200);
	m.r->has_range_times = true;
	m.r->has_record_times = has_record_times;
	json = exported(&m, sonde_export_json, NULL);
	assert_int_equal(fwrite(json.p, 1, json.n, file), json.n);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(sonde_report_read(&c, tree, path, NULL), 0);
	remove(path);
	sonde_buf_release(&json);
	made_release(&m);
	return c;
}

static void test_json__wall_times_are_read_back(void **state)
{
	struct sonde_tree *t = NULL;
	struct sonde_cells *c = read_back(&t, true);

	(void)state;
	assert_int_equal(c->entries.at[0].wall_ns, 1101);
	assert_int_equal(c->entries.at[1].wall_ns, 200);
	assert_true(t->reports.at[t->reports.nr - 1].nodes.at[0].times.wall_ns == 1301);
	sonde_tree_free(t);
	sonde_cells_free(c);
	c = read_back(&t, false);
	assert_true(c->entries.at[0].wall_ns == SONDE_NO_WALL);
	assert_true(isnan(t->reports.at[t->reports.nr - 1].nodes.at[0].times.wall_ns));
	sonde_tree_free(t);
	sonde_cells_free(c);
}

static void test_json__launches_outside_all_regions_are_listed_apart(void **state)
{
	struct made m;
	json_t *d, *outside, *coverage;

	(void)state;
	small_run(&m, "B");
	d = parsed(&m);
	outside = json_object_get(json_object_get(d, "aggregate"), "unattributed");
	coverage = json_object_get(d, "coverage");
	assert_int_equal(json_integer_value(json_object_get(outside, "kernel_count")), 1);
	assert_int_equal(json_array_size(json_object_get(outside, "kernels")), 1);
	assert_int_equal(json_integer_value(json_object_get(coverage, "launches_unattributed")), 1);
	assert_int_equal(json_integer_value(json_object_get(coverage, "launches_total")), 4);
	json_decref(d);
	made_release(&m);
}

static bool holds(const struct sonde_buf *b, const char *text)
{
	return memmem(b->p, b->n, text, strlen(text)) != NULL;
}

static void expect(const struct made *m, exporter f, const struct sonde_export_options *o,
	const char *want, const char *unwanted)
{
	struct sonde_buf b = exported(m, f, o);

	if (want && !holds(&b, want))
		fail_msg("no '%s' in:\n%s", want, b.p);
	if (unwanted && holds(&b, unwanted))
		fail_msg("'%s' in:\n%s", unwanted, b.p);
	sonde_buf_release(&b);
}

static void test_every_format__a_hostile_label_is_inert(void **state)
{
	struct sonde_export_options text = {.is_utf8 = true};
	struct made m;

	(void)state;
	small_run(&m, "=<b>|\x1b[2J");
	expect(&m, sonde_export_text, &text, "=<b>|\\x1b[2J", "\x1b");
	expect(&m, sonde_export_md, NULL, "=&lt;b&gt;\\|\\\\x1b\\[2J", "<b>");
	expect(&m, sonde_export_csv, NULL, ",'=<b>|\\x1b[2J,", "\x1b");
	expect(&m, sonde_export_json, NULL, "=<b>|\\u001b[2J", "\x1b");
	made_release(&m);
}

static void test_text__colours_only_when_asked_for(void **state)
{
	struct sonde_export_options coloured = {.is_utf8 = true, .is_coloured = true};
	struct made m;

	(void)state;
	small_run(&m, "B");
	expect(&m, sonde_export_text, NULL, NULL, "\x1b");
	expect(&m, sonde_export_text, &coloured, "\x1b[1m", NULL);
	made_release(&m);
}

static void test_text__ascii_terminals_get_ascii(void **state)
{
	struct sonde_export_options o = {.width = 60};
	struct sonde_buf b;
	struct made m;
	size_t i;

	(void)state;
	small_run(&m, "注意力");
	b = exported(&m, sonde_export_text, &o);
	for (i = 0; i < b.n; i++)
		assert_true((unsigned char)b.p[i] < 0x80);
	sonde_buf_release(&b);
	made_release(&m);
}

/* Twenty siblings; each one shorter than the one before. */
static void many(struct made *m)
{
	int i;

	made_init(m);
	for (i = 0; i < 20; i++) {
		char label[16];
		uint32_t r;

		snprintf(label, sizeof(label), "r%02d", (i * 7) % 20);
		r = made_push(m, MADE_ROOT, label);
		made_launch(m, "k", 1, &r);
		made_metric(m, TIME, 1000.0 + 100 * ((i * 7) % 20));
	}
}

static void test_tables__long_ones_keep_the_dearest_and_say_how_many_are_missing(void **state)
{
	struct sonde_export_options o = {.is_utf8 = true, .max_regions = 5};
	struct made m;

	(void)state;
	many(&m);
	expect(&m, sonde_export_text, &o, "\n16 more: --all", "r10");
	o.shows_all = true;
	expect(&m, sonde_export_text, &o, "and 15 more regions", "r10");
	expect(&m, sonde_export_md, &o, "and 15 more regions", "r10");
	expect(&m, sonde_export_text, &o, "r19", NULL);
	expect(&m, sonde_export_json, &o, "\"r10\"", NULL);
	expect(&m, sonde_export_csv, &o, ",r10,", NULL);
	made_release(&m);
}

/* A step of 30 entries with 40 parts, one of which is a chain of three, and a start-up that ran once with parts of its own. */
static void many_parts(struct made *m)
{
	uint32_t start, step, part, i;
	char label[8];

	made_init(m);
	start = made_push(m, MADE_ROOT, "start");
	for (i = 0; i < 5; i++) {
		snprintf(label, sizeof(label), "s%u", i);
		part = made_push(m, start, label);
		made_launch(m, "k", 1, &part);
		made_metric(m, TIME, 100000);
	}
	for (i = 0; i < 40 * 4; i++) {
		step = made_push(m, MADE_ROOT, "step");
		snprintf(label, sizeof(label), "p%u", i % 40);
		part = made_push(m, step, label);
		if (i % 40 == 7)
			part = made_push(m, made_push(m, part, "same"), "again");
		made_launch(m, "k", 1, &part);
		made_metric(m, TIME, 1000.0 * (1 + i % 40));
	}
}

static size_t count_lines(const char *text)
{
	size_t nr = 0;

	for (; *text; text++)
		nr += *text == '\n';
	return nr;
}

static void test_text__a_long_table_fits_a_screen_and_its_rows_add_up(void **state)
{
	struct sonde_export_options o = {.is_utf8 = false, .no_findings = true};
	struct sonde_buf b;
	struct made m;

	(void)state;
	many_parts(&m);
	b = exported(&m, sonde_export_text, &o);
	assert_in_range(count_lines(b.p), 25, 25 + 8);
	assert_non_null(strstr(b.p, "p39 "));
	assert_null(strstr(b.p, "p2 "));
	assert_null(strstr(b.p, "same"));
	/* The step comes before the start-up. 22 of its 40 parts have rows; 18 have none, nor have the 2 in the chain. */
	assert_true(strstr(b.p, "\nstep ") < strstr(b.p, "\nstart +5 "));
	assert_non_null(strstr(b.p, "`- 20 more: --all        72  0.68400            18.1%"));
	sonde_buf_release(&b);
	o.shows_all = true;
	b = exported(&m, sonde_export_text, &o);
	assert_non_null(strstr(b.p, "p2 "));
	assert_non_null(strstr(b.p, "again"));
	assert_null(strstr(b.p, "more: --all"));
	sonde_buf_release(&b);
	made_release(&m);
}

static void test_tables__siblings_are_sorted_as_asked(void **state)
{
	struct sonde_export_options o = {.is_utf8 = true, .sort = SONDE_SORT_TIME};
	struct made m;

	(void)state;
	many(&m);
	expect(&m, sonde_export_csv, &o, "r19,,0,,push_pop,1,1,0.0029", NULL);
	o.sort = SONDE_SORT_NAME;
	{
		struct sonde_buf b = exported(&m, sonde_export_text, &o);
		const char *first = strstr(b.p, "\nr00"), *last = strstr(b.p, "\nr19");

		assert_true(first && last && first < last);
		sonde_buf_release(&b);
	}
	made_release(&m);
}

static void test_text__deep_trees_fit_the_width(void **state)
{
	struct sonde_export_options o = {
		.is_utf8 = true, .width = 80, .max_regions = SONDE_NO_LIMIT};
	uint32_t r = MADE_ROOT;
	struct sonde_buf b;
	struct made m;
	const char *line;
	int i;

	(void)state;
	made_init(&m);
	for (i = 0; i < 200; i++)
		r = made_push(&m, r, "deep");
	made_launch(&m, "k", 1, &r);
	made_metric(&m, TIME, 10);
	b = exported(&m, sonde_export_text, &o);
	for (line = b.p; *line; line = strchr(line, '\n') + 1) {
		size_t n = (size_t)(strchr(line, '\n') - line), k, columns = 0;

		for (k = 0; k < n; k++)
			columns += ((unsigned char)line[k] & 0xc0) != 0x80;
		if (columns > 80)
			fail_msg("%zu columns: %.*s", columns, (int)n, line);
	}
	sonde_buf_release(&b);
	made_release(&m);
}

/* Names that begin and end alike are cut where they differ. */
static void test_text__cut_names_stay_apart(void **state)
{
	const struct sonde_export_options o = {.width = 60, .is_utf8 = true};
	char label[80];
	struct sonde_buf b;
	struct made m;
	int i;

	(void)state;
	made_init(&m);
	for (i = 3; i < 6; i++) {
		uint32_t r;

		snprintf(label, sizeof(label), "FSDP::pre_forward (blocks.%d._checkpoint_wrapped_module)", i);
		r = made_push(&m, MADE_ROOT, label);
		made_launch(&m, "k", 1, &r);
		made_metric(&m, TIME, 10);
	}
	b = exported(&m, sonde_export_text, &o);
	for (i = 3; i < 6; i++) {
		snprintf(label, sizeof(label), "…blocks.%d.", i);
		if (!strstr(b.p, label))
			fail_msg("%s is not in:\n%s", label, b.p);
	}
	sonde_buf_release(&b);
	made_release(&m);
}

/* The lines of a table of these names, each at most `width` wide, with a number behind each. */
static struct sonde_buf cut_names(char (*names)[128], size_t nr, size_t width, bool is_utf8)
{
	static const char *const heads[] = {"0name", ">0n", NULL};
	struct sonde_table t = {.is_utf8 = is_utf8, .least_name = 12};
	struct sonde_buf dropped = {0};
	struct sonde_err err = {0};
	struct sonde_sink to;
	size_t i;

	sonde_sink_init_string(&to);
	sonde_table_heads(&t, heads);
	for (i = 0; i < nr; i++) {
		sonde_table_text(&t, sonde_str_from(names[i]), SONDE_STYLE_PLAIN);
		sonde_table_number(&t, 7, 0, "");
	}
	assert_int_equal(sonde_table_print(&t, &to, width, &dropped, &err), 0);
	assert_false(to.buf.failed);
	sonde_buf_release(&dropped);
	sonde_table_release(&t);
	return to.buf;
}

/* Different names have different lines, and equal names equal lines. */
static void check_names_differ(char (*names)[128], size_t nr, size_t width, bool is_utf8)
{
	struct sonde_buf b = cut_names(names, nr, width, is_utf8);
	struct sonde_str rest = sonde_buf_view(&b), lines[64];
	size_t i, k;

	sonde_str_cut(rest, '\n', &rest); /* the heads */
	for (i = 0; i < nr; i++) {
		lines[i] = sonde_str_cut(rest, '\n', &rest);
		assert_true(sonde_width(lines[i]) <= width);
		for (k = 0; k < i; k++)
			if (strcmp(names[i], names[k]) && sonde_str_eq(lines[i], lines[k]))
				fail_msg("%zu columns: '%s' and '%s' look the same: %.*s", width, names[i], names[k],
					SONDE_STR_ARG(lines[i]));
	}
	sonde_buf_release(&b);
}

static void test_text__two_names_never_look_the_same_at_any_width(void **state)
{
	static const char *const parts[] = {"ProfilerStep#*", "/## forward ##", "/## sparse_data_dist ##",
		"/DistributedDataParallel.forward", "12", "3", ".weight", "/注意力", "…"};
	const size_t nr_parts = sizeof(parts) / sizeof(*parts);
	char names[64][128];
	uint64_t random = 7;
	size_t round, i, width;

	(void)state;
	for (round = 0; round < 40; round++) {
		for (i = 0; i < 64; i++) {
			names[i][0] = '\0';
			/* Names may be prefixes of each other: each name continues an earlier one, or is a new one. */
			if (i % 4)
				memcpy(names[i], names[i - 1 - i % 3 % i], sizeof(names[i]));
			do {
				const char *part = parts[(random >> 33) % nr_parts];

				if (strlen(names[i]) + strlen(part) < sizeof(names[i]))
					strcat(names[i], part);
				random = random * 6364136223846793005u + 1442695040888963407u;
			} while (random >> 62);
		}
		for (width = 16; width <= 200; width += width < 60 ? 11 : 7)
			check_names_differ(names, 64, width, round % 2);
	}
}

static void test_text__a_run_without_ranges_gets_the_kernel_table(void **state)
{
	struct made m;

	(void)state;
	made_init(&m);
	made_launch(&m, "gemm", 0, NULL);
	made_metric(&m, TIME, 1000);
	expect(&m, sonde_export_text, NULL, "No NVTX range", NULL);
	expect(&m, sonde_export_text, NULL, "gemm", NULL);
	expect(&m, sonde_export_md, NULL, "No NVTX range", NULL);
	made_release(&m);
}

/* The text report of two metrics of one launch. */
static struct sonde_buf two_metrics(const char *const *names, unsigned width)
{
	struct sonde_export_options o = {.is_utf8 = true, .width = width};
	struct sonde_choice choice = {.metrics = {(const char **)names, 2}};
	struct sonde_buf b;
	struct made m;
	uint32_t a;

	made_init(&m);
	a = made_push(&m, MADE_ROOT, "A");
	made_launch(&m, "k", 1, &a);
	made_metric(&m, TIME, 3000);
	made_metric(&m, names[0], 12);
	made_metric(&m, names[1], 34);
	b = exported_chosen(&m, sonde_export_text, &o, choice);
	made_release(&m);
	return b;
}

static void test_text__no_two_metrics_have_the_same_head(void **state)
{
	static const char *const rates[] = {
		"l1tex__t_sector_hit_rate.pct", "lts__t_sector_hit_rate.pct"};
	static const char *const pipes[] = {
		"sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_elapsed",
		"sm__inst_executed_pipe_alu.sum.pct_of_peak_sustained_elapsed"};
	static const char *const same[] = {"dram__throughput.avg.pct_of_peak_sustained_elapsed",
		"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"};
	struct sonde_buf b = two_metrics(rates, 200);

	(void)state;
	assert_non_null(strstr(b.p, "  l1tex__t_sector_hit_rate.pct  lts__t_sector_hit_rate.pct"));
	sonde_buf_release(&b);
	b = two_metrics(pipes, 400); /* with enough room they are not cut */
	assert_non_null(strstr(b.p, "  inst_executed_pipe_alu.avg.pct_of_peak_sustained_elapsed  "
				    "inst_executed_pipe_alu.sum.pct_of_peak_sustained_elapsed"));
	sonde_buf_release(&b);
	b = two_metrics(pipes, 130); /* if cut at the end they would be the same */
	assert_null(strstr(b.p, "inst_executed_pipe_al…"));
	assert_non_null(strstr(b.p, "no room for: inst_executed_pipe_alu.sum"));
	sonde_buf_release(&b);
	b = two_metrics(same, 200);
	assert_null(strstr(b.p, "DRAM %"));
	sonde_buf_release(&b);
}

static void test_text__long_words_leave_room_for_numbers(void **state)
{
	static const char *names[] = {"breakdown:sm__throughput", "sm__throughput"};
	struct sonde_export_options o = {.is_utf8 = true, .width = 120};
	struct sonde_choice choice = {.metrics = {names, 2}};
	char list[2001] = {0};
	struct sonde_buf b;
	struct made m;
	uint32_t a;

	(void)state;
	memset(list, 'x', sizeof(list) - 1);
	made_init(&m);
	a = made_push(&m, MADE_ROOT, "A");
	made_launch(&m, "k", 1, &a);
	made_metric(&m, TIME, 3000);
	made_text(&m, names[0], list);
	made_metric(&m, names[1], 34);
	b = exported_chosen(&m, sonde_export_text, &o, choice);
	assert_non_null(strstr(b.p, "xxx…  "));
	assert_non_null(strstr(b.p, "  34\n"));
	assert_null(strstr(b.p, "no room"));
	assert_non_null(strstr(b.p, "long words are cut; --format json has them whole"));
	sonde_buf_release(&b);
	o.width = 80; /* words go first */
	b = exported_chosen(&m, sonde_export_text, &o, choice);
	assert_non_null(strstr(b.p, "  34\n"));
	assert_non_null(strstr(b.p, "no room for: breakdown:sm__throughput"));
	assert_null(strstr(b.p, "long words"));
	sonde_buf_release(&b);
	made_release(&m);
}

static void test_folders__no_two_regions_share_one(void **state)
{
	static const char *const labels[] = {
		"a/b", "a_b", "a b", "..", ".", "", "report.json", "scopes"};
	const struct sonde_choice choice = {0};
	struct sonde_cells *c;
	struct sonde_tree *t = NULL;
	struct sonde_folders f;
	struct made m;
	size_t i, k;

	(void)state;
	made_init(&m);
	for (i = 0; i < sizeof(labels) / sizeof(*labels); i++) {
		uint32_t r = made_push(&m, MADE_ROOT, labels[i]);

		made_launch(&m, "k", 1, &r);
		made_metric(&m, TIME, 1);
	}
	c = folded(m.r, NULL);
	assert_int_equal(sonde_tree_build(&t, c, &choice, NULL), 0);
	assert_int_equal(sonde_folders_build(&f, t, &t->reports.at[0], NULL), 0);
	assert_int_equal(f.nr, sizeof(labels) / sizeof(*labels));
	for (i = 0; i < f.nr; i++) {
		assert_false(sonde_str_is(f.at[i], "report.json") || sonde_str_is(f.at[i], ".") ||
			     sonde_str_is(f.at[i], "..") || sonde_str_is(f.at[i], "scopes"));
		assert_true(f.at[i].n > 0 && sonde_str_find(f.at[i], '/') == f.at[i].n);
		for (k = 0; k < i; k++)
			assert_false(sonde_str_eq(f.at[i], f.at[k]));
	}
	assert_string_equal(f.at[0].p, "a_b");
	sonde_folders_release(&f);
	sonde_tree_free(t);
	sonde_cells_free(c);
	made_release(&m);
}

/* Every allocation fails once: an error or complete output, never a crash or a leak. */
static void test_every_format__short_memory_is_an_error(void **state)
{
	static const exporter formats[] = {
		sonde_export_text, sonde_export_json, sonde_export_md, sonde_export_csv};
	const struct sonde_export_options o = {
		.is_utf8 = true, .max_kernels = 2, .lists_kernels = true, .config = "a: b\n"};
	const struct sonde_choice choice = {0};
	struct sonde_cells *c;
	struct sonde_tree *t = NULL;
	struct made m;
	uint64_t n;
	size_t i;

	(void)state;
	small_run(&m, "A::A1");
	c = folded(m.r, NULL);
	assert_int_equal(sonde_tree_build(&t, c, &choice, NULL), 0);
	for (i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		uint64_t before = sonde_alloc_count(), nr;
		struct sonde_sink to;

		sonde_sink_init_string(&to);
		assert_int_equal(formats[i](t, &o, &to, NULL), 0);
		sonde_sink_abort(&to);
		nr = sonde_alloc_count() - before;
		for (n = 1; n <= nr; n++) {
			int rc;

			sonde_sink_init_string(&to);
			sonde_alloc_fail_at(n);
			rc = formats[i](t, &o, &to, NULL);
			sonde_alloc_fail_at(0);
			assert_true(rc == SONDE_ERR_NOMEM || (rc == 0 && to.buf.failed));
			sonde_sink_abort(&to);
		}
	}
	sonde_tree_free(t);
	sonde_cells_free(c);
	made_release(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json__regions_have_inclusive_and_exclusive_numbers),
		cmocka_unit_test(test_json__hostile_label_comes_out_intact),
		cmocka_unit_test(test_json__invalid_utf8_is_still_valid_json),
		cmocka_unit_test(test_json__a_missing_time_is_null_and_not_zero),
		cmocka_unit_test(test_json__wall_times_are_read_back),
		cmocka_unit_test(test_json__launches_outside_all_regions_are_listed_apart),
		cmocka_unit_test(test_every_format__a_hostile_label_is_inert),
		cmocka_unit_test(test_every_format__short_memory_is_an_error),
		cmocka_unit_test(test_text__colours_only_when_asked_for),
		cmocka_unit_test(test_text__ascii_terminals_get_ascii),
		cmocka_unit_test(
			test_tables__long_ones_keep_the_dearest_and_say_how_many_are_missing),
		cmocka_unit_test(test_text__a_long_table_fits_a_screen_and_its_rows_add_up),
		cmocka_unit_test(test_tables__siblings_are_sorted_as_asked),
		cmocka_unit_test(test_text__deep_trees_fit_the_width),
		cmocka_unit_test(test_text__cut_names_stay_apart),
		cmocka_unit_test(test_text__two_names_never_look_the_same_at_any_width),
		cmocka_unit_test(test_text__a_run_without_ranges_gets_the_kernel_table),
		cmocka_unit_test(test_text__no_two_metrics_have_the_same_head),
		cmocka_unit_test(test_text__long_words_leave_room_for_numbers),
		cmocka_unit_test(test_folders__no_two_regions_share_one),
	};

	return cmocka_run_group_tests_name("export", tests, NULL, NULL);
}
