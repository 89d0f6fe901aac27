/*
 * The result of a gate, for every verdict, limit and option: the comparison must agree with a second implementation
 * of the rules of docs/sonde-diff.md in this file, and JUnit with the exit status.
 */
#include "compare/diff_int.h"
#include "export/diff_out.h"

#include "diffed.h"

#include <math.h>
#include <stdio.h>

#define LIKELY 34 /* 3 if one capture per side may decide, else 4 */

/* A region of a synthetic comparison, which may get slower by at most 5 %. */
static const struct kind {
	const char *name;
	uint8_t verdict;
	double ratio;
	bool in_base, in_new, is_half_gpu;
	int status;   /* alone behind a gate */
	bool is_seen; /* on both sides */
	double high;  /* end of the interval */
} kinds[] = {
	{"same", SONDE_VERDICT_SAME, 1.001, true, true, false, 0, true, INFINITY},
	{"faster", SONDE_VERDICT_FASTER, 0.5, true, true, false, 0, true, INFINITY},
	{"slower within", SONDE_VERDICT_SLOWER, 1.04, true, true, false, 0, true, INFINITY},
	{"slower beyond", SONDE_VERDICT_SLOWER, 1.06, true, true, false, 3, true, INFINITY},
	{"likely slower within", SONDE_VERDICT_LIKELY_SLOWER, 1.04, true, true, false, 0, true, INFINITY},
	{"likely slower beyond", SONDE_VERDICT_LIKELY_SLOWER, 1.06, true, true, false, LIKELY, true, INFINITY},
	{"likely faster", SONDE_VERDICT_LIKELY_FASTER, 0.5, true, true, false, 0, true, INFINITY},
	{"insufficient", SONDE_VERDICT_INSUFFICIENT, 1.5, true, true, false, 4, true, INFINITY},
	{"insufficient, beyond at most", SONDE_VERDICT_INSUFFICIENT, 1.01, true, true, false, 4, true, 1.06},
	{"insufficient, all within", SONDE_VERDICT_INSUFFICIENT, 1.01, true, true, false, 0, true, 1.04},
	{"added", SONDE_VERDICT_ADDED, NAN, false, true, false, 0, false, INFINITY},
	{"removed", SONDE_VERDICT_REMOVED, NAN, true, false, false, 4, false, INFINITY},
	{"same, by host time", SONDE_VERDICT_SAME, 1.0, true, true, true, 4, true, INFINITY},
	{"slower beyond, by host time", SONDE_VERDICT_SLOWER, 1.06, true, true, true, 3, true, INFINITY},
};
#define LIKELY_BEYOND 5 /* its number */
#define NR_KINDS (sizeof(kinds) / sizeof(*kinds))
#define NR	 3 /* regions of a comparison: a/0, a/1, b/2 */

/* The bounds of --fail-above. */
static const struct asked {
	size_t nr;
	struct {
		const char *glob; /* "" = the step */
		bool on[NR];	  /* which regions match */
	} at[2];
} asked[] = {
	{0, {{"", {false}}}},
	{1, {{"", {false}}}}, /* the step */
	{1, {{"a/*", {true, true, false}}}},
	{2, {{"a/1", {false, true, false}}, {"b/*", {false, false, true}}}},
	{1, {{"nowhere", {false}}}},
	{2, {{"", {false}}, {"nowhere", {false}}}},
};
#define NR_ASKED (sizeof(asked) / sizeof(*asked))

struct scene {
	struct kind regions[NR];
	struct asked asked;
	bool allows_insufficient;
	bool is_empty; /* the new side launches nothing */
	bool is_damaged, takes_partial;
	bool accepts_single;
};

/* The step. All regions take the same time, so it is the first that both sides have. NR = there is none. */
static size_t step_of(const struct scene *s)
{
	size_t i;

	for (i = 0; i < NR && !s->regions[i].is_seen; i++)
		;
	return i;
}

static bool has_limit(const struct scene *s, size_t region)
{
	size_t l;

	for (l = 0; l < s->asked.nr; l++)
		if (*s->asked.at[l].glob ? s->asked.at[l].on[region] : region == step_of(s))
			return true;
	return false;
}

/* Whether there is a limit by name that matches no region, or none that is on both sides. */
static bool has_stray_limit(const struct scene *s)
{
	size_t l, i;

	for (l = 0; l < s->asked.nr; l++) {
		bool is_met = !*s->asked.at[l].glob && step_of(s) < NR;

		for (i = 0; i < NR; i++)
			is_met |= s->asked.at[l].on[i] && s->regions[i].is_seen;
		if (!is_met)
			return true;
	}
	return false;
}

static int status_by_the_rules(const struct scene *s)
{
	bool fails = false, is_unsure = false, is_compared = false;
	size_t i;

	if (!s->asked.nr)
		return 0;
	if (s->is_damaged && !s->takes_partial)
		return 1;
	for (i = 0; i < NR; i++) {
		int status = s->regions[i].status == LIKELY ? (s->accepts_single ? 3 : 4) : s->regions[i].status;

		fails |= has_limit(s, i) && status == 3;
		is_unsure |= has_limit(s, i) && status == 4;
		is_compared |= has_limit(s, i) && s->regions[i].is_seen;
	}
	if (fails)
		return 3;
	if (s->is_empty || !is_compared)
		return 4;
	return (is_unsure || has_stray_limit(s)) && !s->allows_insufficient ? 4 : 0;
}

/* --- made ------------------------------------------------------------------------------------- */

static void fill_region(struct sonde_diff_region *r, const struct kind *k, struct sonde_str path)
{
	*r = (struct sonde_diff_region){.id = path, .path = path, .label = path, .parent = SONDE_NONE,
		.verdict = k->verdict, .ratio = k->ratio, .is_half_gpu = k->is_half_gpu, .time = SONDE_ENTRY_WALL,
		.twin = SONDE_NONE, .needed = NAN, .high = INFINITY,
		.base = {.is_there = k->in_base, .median_ns = k->in_base ? 1e6 : NAN, .entries = 10, .scopes = 1},
		.new_half = {.is_there = k->in_new, .median_ns = k->in_new ? 1e6 : NAN, .entries = 10, .scopes = 1}};
	r->times[SONDE_ENTRY_WALL] = (struct sonde_diff_time){.is_known = true, .verdict = k->verdict, .ratio = k->ratio,
		.high = k->high};
}

static struct sonde_diff *make_diff(const struct scene *s, struct sonde_diff_limit *limits)
{
	static const char *const paths[] = {"a/0", "a/1", "b/2"};
	static const struct sonde_cells cells;
	static const struct sonde_tree tree = {.cells = &cells};
	const struct sonde_tree *trees[] = {&tree, &tree};
	struct sonde_report reports[2] = {{.launches = 10, .all_launches = 10}, {.launches = 0}};
	const struct sonde_report *aggregates[] = {&reports[0], &reports[s->is_empty]};
	const struct sonde_diff__match m = {.trees = trees, .aggregates = aggregates, .nr_base = 1, .nr_runs = 2};
	struct sonde_diff *d = sonde_calloc(1, sizeof(*d));
	size_t i;

	assert_non_null(d);
	reports[0].nodes.nr = reports[1].nodes.nr = NR;
	d->options = (struct sonde_diff_options){.limits = limits, .nr_limits = s->asked.nr,
		.allows_insufficient = s->allows_insufficient, .takes_partial = s->takes_partial, .accepts_single = s->accepts_single};
	sonde_note(&d->base_notes, "a remark");
	if (s->is_damaged)
		sonde_note_loss(&d->new_notes, "half of it is missing");
	for (i = 0; i < s->asked.nr; i++)
		limits[i] = (struct sonde_diff_limit){.glob = sonde_str_from(s->asked.at[i].glob), .above = 0.05};
	for (i = 0; i < NR; i++) {
		struct sonde_diff_region *r = sonde_vec_push(&d->regions);

		assert_non_null(r);
		fill_region(r, &s->regions[i], sonde_str_from(paths[i]));
	}
	sonde_diff__find_steps(d);
	sonde_diff__gate(d, &m);
	return d;
}

static unsigned count(struct sonde_str text, const char *what)
{
	struct sonde_str rest = text;
	const char *at;
	unsigned nr = 0;

	while ((at = memmem(rest.p, rest.n, what, strlen(what)))) {
		rest.n -= (size_t)(at - rest.p) + 1;
		rest.p = at + 1;
		nr++;
	}
	return nr;
}

static unsigned attribute(struct sonde_str text, const char *name)
{
	const char *at = memmem(text.p, text.n, name, strlen(name));

	assert_non_null(at);
	return (unsigned)strtoul(at + strlen(name), NULL, 10);
}

/* An error in JUnit does not show whether nothing was compared or input is missing; `is_damaged` does. */
static int status_by_junit(const struct sonde_diff *d, bool is_damaged)
{
	const struct sonde_diff_out o = {.is_utf8 = true};
	struct sonde_str text;
	struct sonde_sink to;
	int status;

	sonde_sink_init_string(&to);
	assert_int_equal(sonde_diff_writer_named("junit")(d, &o, &to, NULL), 0);
	text = sonde_buf_view(&to.buf);
	assert_int_equal(attribute(text, " failures=\""), count(text, "<failure "));
	assert_int_equal(attribute(text, " errors=\""), count(text, "<error "));
	assert_int_equal(attribute(text, " skipped=\""), count(text, "<skipped "));
	assert_int_equal(attribute(text, " tests=\""), count(text, "<testcase "));
	if (is_damaged && count(text, "<error message=\"the new side is incomplete: half of it is missing\""))
		status = 1;
	else
		status = count(text, "<failure ") ? 3 : count(text, "<error ") ? 4 : 0;
	sonde_sink_abort(&to);
	return status;
}

/* A region that only one side has, or that was not judged, must not be a passed test. */
static void check_passed(const struct sonde_diff *d)
{
	const struct sonde_diff_out o = {.is_utf8 = true};
	struct sonde_sink to;
	size_t i;

	sonde_sink_init_string(&to);
	assert_int_equal(sonde_diff_writer_named("junit")(d, &o, &to, NULL), 0);
	for (i = 0; i < d->regions.nr; i++) {
		const struct sonde_diff_region *r = &d->regions.at[i];
		char passed[64];

		snprintf(passed, sizeof(passed), "name=\"%.*s\"/>", SONDE_STR_ARG(r->id));
		if (!r->base.is_there || !r->new_half.is_there || (r->verdict == SONDE_VERDICT_INSUFFICIENT && r->times[r->time].high > 1.05))
			assert_int_equal(count(sonde_buf_view(&to.buf), passed), 0);
	}
	sonde_sink_abort(&to);
}

static void check_scene(const struct scene *s)
{
	struct sonde_diff_limit limits[2];
	struct sonde_diff *d = make_diff(s, limits);
	int want = status_by_the_rules(s), got = sonde_diff_status(d),
	    said = status_by_junit(d, s->is_damaged && !s->takes_partial);

	if (got != want || said != want)
		fail_msg("%s, %s, %s; %zu limits, '%s' first%s%s%s%s%s: status %d, JUnit %d, not %d",
			s->regions[0].name, s->regions[1].name, s->regions[2].name, s->asked.nr,
			s->asked.at[0].glob, s->allows_insufficient ? ", allowed" : "",
			s->is_empty ? ", empty" : "", s->is_damaged ? ", damaged" : "",
			s->takes_partial ? ", partial" : "", s->accepts_single ? ", single" : "", got, said, want);
	check_passed(d);
	sonde_diff_free(d);
}

/* --- tests ------------------------------------------------------------------------------------ */

static void test_diff__large_needs_and_wide_intervals_are_said_in_words_people_use(void **state)
{
	struct sonde_diff_region r = {.needed = 20231, .low = 0.001, .high = 287};
	struct sonde_buf b = {0};

	(void)state;
	sonde_diff_needed_put(&b, &r);
	assert_true(sonde_str_is(sonde_buf_view(&b), "more than 1,000 entries"));
	assert_false(sonde_diff_interval_matters(&r));
	r = (struct sonde_diff_region){.needed = 1000, .needs_runs = true, .low = 15, .high = 18};
	sonde_buf_clear(&b);
	sonde_diff_needed_put(&b, &r);
	assert_true(sonde_str_is(sonde_buf_view(&b), "1000 runs"));
	assert_true(sonde_diff_interval_matters(&r)); /* a large change that is well known */
	r = (struct sonde_diff_region){.low = 0, .high = INFINITY};
	assert_false(sonde_diff_interval_matters(&r));
	sonde_buf_release(&b);
}

static void test_gate__junit_says_what_the_exit_status_says_of_every_verdict_and_option(void **state)
{
	size_t a, b, c, l, flags;

	(void)state;
	for (a = 0; a < NR_KINDS; a++)
		for (b = 0; b < NR_KINDS; b++)
			for (c = 0; c < NR_KINDS; c += 2) /* the third only adds to what the first two decide */
				for (l = 0; l < NR_ASKED; l++)
					for (flags = 0; flags < 32; flags++)
						if (flags < 16 || a == LIKELY_BEYOND || b == LIKELY_BEYOND) /* the last is --single */
							check_scene(&(struct scene){{kinds[a], kinds[b], kinds[c]},
							asked[l], flags & 1, flags & 2, flags & 4, flags & 8, flags & 16});
}

static const struct sonde_diff_limit five = {.above = 0.05};
static const struct sonde_diff_options gated = {.min_effect = 0.02, .limits = &five, .nr_limits = 1};

static void test_gate__programs_without_a_common_region_do_not_pass(void **state)
{
	const struct program a = {.steps = 50, .regions = 2, .launches = 1, .seed = 1, .names = {"one", "two"}},
			     none = {.seed = 2}, host = {.steps = 50, .regions = 2, .launches = 1, .seed = 3,
							.names = {"one", "two"}, .host_only = true};
	struct sonde_diff_options lax = gated;
	struct compared c;

	(void)state;
	lax.allows_insufficient = true;
	compare_with(&c, &a, &none, 1, &lax);
	assert_int_equal(c.d->gate, SONDE_GATE_NOT_COMPARED);
	assert_int_equal(sonde_diff_status(c.d), 4);
	assert_int_equal(c.d->gate_reasons.texts.nr, 1);
	assert_true(says(&c.d->gate_reasons, "the new side") &&
		    says(&c.d->gate_reasons, " cannot be compared: it has no region and no launch"));
	done(&c);
	compare_with(&c, &a, &host, 1, &lax); /* the regions exist, but nothing is launched in them */
	assert_int_equal(c.d->gate, SONDE_GATE_NOT_COMPARED);
	assert_true(says(&c.d->gate_reasons, "it launches nothing on a GPU, but other runs do"));
	done(&c);
	compare_with(&c, &host, &host, 1, &lax); /* only host times can be compared */
	assert_int_not_equal(c.d->gate, SONDE_GATE_NOT_COMPARED);
	done(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_gate__junit_says_what_the_exit_status_says_of_every_verdict_and_option),
		cmocka_unit_test(test_diff__large_needs_and_wide_intervals_are_said_in_words_people_use),
		cmocka_unit_test(test_gate__programs_without_a_common_region_do_not_pass),
	};

	return cmocka_run_group_tests_name("gate", tests, NULL, NULL);
}
