/* Sampled counters in files: curves over time, and partial reports, which keep all of them. */
#include "base/alloc.h"
#include "cellfile/cellfile.h"
#include "merge/merging.h"
#include "fold/timeline.h"

#include "sampled_made.h"

/* Writes the program as a partial report. */
static struct sonde_buf written(struct program *p)
{
	struct sonde_cells **slot;
	struct sonde_parts parts = {0};
	struct sonde_sink to;

	slot = sonde_vec_push(&parts.at);
	assert_non_null(slot);
	*slot = fold_part(p);
	sonde_sink_init_string(&to);
	assert_int_equal(sonde_cellfile_write(&parts, &to, NULL), 0);
	sonde_parts_release(&parts);
	return to.buf;
}

/* Makes figures from a partial report; false when it cannot be read. */
static bool read_back(struct run *run, const struct sonde_buf *file)
{
	struct sonde_parts parts = {0};

	if (sonde_cellfile_read(&parts, sonde_buf_view(file), "x.sondecells", NULL)) {
		sonde_parts_release(&parts);
		return false;
	}
	assert_int_equal(parts.at.nr, 1);
	grow_tree(run, parts.at.at[0]);
	sonde_vec_release(&parts.at);
	return true;
}

static void test_sampled__a_partial_report_has_the_same_figures(void **state)
{
	struct sampling how = whole;
	struct sonde_figure want, got;
	struct run run, other;
	struct sonde_buf file;
	struct program p;

	(void)state;
	how.dram_factor = 1e6; /* a refused counter is kept too */
	run_program(&p, &how);
	fold_program(&run, &p);
	file = written(&p);
	assert_true(read_back(&other, &file));
	assert_false(has_column(&other, READ));
	want = *figure(&run, 0, SONDE_PART_INCLUSIVE, index_of(&run, "step/a"), INSTRUCTIONS);
	got = *figure(&other, 0, SONDE_PART_INCLUSIVE, index_of(&other, "step/a"), INSTRUCTIONS);
	assert_true(got.v == want.v && got.error == want.error && want.error > 0);
	release(&run);
	release(&other);
	sonde_buf_release(&file);
	end_program(&p);
}

/* Returns where the section of sampled counters begins; `*s` gets its head. */
static size_t find_section(const struct sonde_buf *file, struct sonde_cellfile_section *s)
{
	size_t at = sizeof(struct sonde_cellfile_head);

	for (; at < file->n; at += sizeof(*s) + s->nr_bytes) {
		memcpy(s, file->p + at, sizeof(*s));
		if (s->kind == SONDE_CELLFILE_SAMPLED)
			return at;
	}
	fail_msg("no sampled counters in the file");
	return 0;
}

/* Changes every byte and corrects the checksum: every index that is read must be valid. */
static void test_sampled__damage_is_found_or_harmless(void **state)
{
	struct sonde_cellfile_section s = {0};
	size_t at, i, nr_found = 0;
	struct sonde_buf file;
	struct program p;
	struct run run;

	(void)state;
	run_program(&p, &whole);
	file = written(&p);
	at = find_section(&file, &s);
	for (i = 0; i < s.nr_bytes; i += i < 400 ? 1 : 7) {
		char *byte = file.p + at + sizeof(s) + i, was = *byte;

		*byte = (char)~was;
		s.check = sonde_cellfile_check(&s, file.p + at + sizeof(s));
		memcpy(file.p + at, &s, sizeof(s));
		if (read_back(&run, &file)) {
			figure(&run, 0, SONDE_PART_TOTAL, 0, TIME);
			release(&run);
		} else {
			nr_found++;
		}
		*byte = was;
	}
	assert_true(nr_found > 100);
	sonde_buf_release(&file);
	end_program(&p);
}

/* The mean of a curve over time; checks that its points are in order. */
static double mean_of(const struct sonde_timeline *t, const struct sonde_timeline_curve *c)
{
	const struct sonde_timeline_point *p = &t->points.at[c->first];
	double sum = 0, ns = 0;
	size_t i;

	for (i = 0; i < c->nr; i++) {
		assert_true(p[i].start_ns < p[i].end_ns && (!i || p[i - 1].end_ns <= p[i].start_ns));
		sum += p[i].v * (double)(p[i].end_ns - p[i].start_ns);
		ns += (double)(p[i].end_ns - p[i].start_ns);
	}
	return sum / ns;
}

static void test_sampled__counters_over_time_are_curves(void **state)
{
	struct sampling how = whole;
	const struct sonde_timeline *t;
	double busy = 0;
	struct program p;
	struct run run;
	size_t i;

	(void)state;
	how.is_in_two = true;
	run_program(&p, &how);
	fold_program(&run, &p);
	t = run.c->timeline;
	assert_int_equal(t->curves.nr, 1); /* tensor cycles and written bytes were not sampled */
	assert_true(sonde_str_is(t->curves.at[0].name, "SM active %"));
	assert_int_equal(t->curves.at[0].nr_scopes, 2); /* both processes use the device */
	for (i = 0; i < p.m.r->records.nr; i++)
		busy += (double)(p.m.r->records.at[i].time.end_ns - p.m.r->records.at[i].time.start_ns);
	assert_true(fabs(mean_of(t, &t->curves.at[0]) - 50 * busy / (double)p.now) < 0.2);
	release(&run);
	end_program(&p);
}

static size_t count_points(struct program *p, const char *curve)
{
	struct run run;
	size_t i, nr = 0;

	fold_program(&run, p);
	for (i = 0; i < run.c->timeline->curves.nr; i++)
		if (sonde_str_is(run.c->timeline->curves.at[i].name, curve))
			nr = run.c->timeline->curves.at[i].nr;
	release(&run);
	return nr;
}

/* A sample above what the device can do is left out; a counter with many such samples has no curve. */
static void test_sampled__what_cannot_be_is_in_no_curve(void **state)
{
	struct sampling how = whole;
	struct program p;
	size_t nr;

	(void)state;
	how.has_all = true;
	run_program(&p, &how);
	nr = count_points(&p, "Tensor %");
	assert_int_equal(count_points(&p, "DRAM GB/s"), nr);
	p.m.r->series.at[0].values.at[20 * NR_COUNTERS + TENSOR] = 1e12;
	assert_int_equal(count_points(&p, "Tensor %"), nr - 1);
	assert_int_equal(count_points(&p, "SM active %"), nr);
	end_program(&p);
	how.dram_factor = 1e6;
	run_program(&p, &how);
	assert_int_equal(count_points(&p, "DRAM GB/s"), 0);
	assert_int_equal(count_points(&p, "SM active %"), nr);
	end_program(&p);
}

/* Counters of other tools have names only: they are shown and thinned, but not divided among launches. */
static void test_sampled__counters_without_a_role_are_curves_too(void **state)
{
	const struct sonde_timeline *t;
	struct sonde_series *s;
	struct program p;
	struct run run;
	size_t i, k;

	(void)state;
	run_program(&p, NULL);
	s = sonde_push(&p.m.r->arena, &p.m.r->series);
	assert_non_null(s);
	for (k = 0; k < 2; k++) {
		struct sonde_counter *c = sonde_push(&p.m.r->arena, &s->counters);

		*c = (struct sonde_counter){SONDE_NONE,
			sonde_records__string(p.m.r, k ? SONDE_STR("flat") : SONDE_STR("GR Active %")), 0};
	}
	for (i = 0; i < 10000; i++) {
		struct sonde_sample_time *time = sonde_push(&p.m.r->arena, &s->times);

		*time = (struct sonde_sample_time){i * 1000, i * 1000 + 1000};
		*(double *)sonde_push(&p.m.r->arena, &s->values) = i == 5 ? NAN : (double)(i % 2);
		*(double *)sonde_push(&p.m.r->arena, &s->values) = 7;
	}
	fold_program(&run, &p);
	t = run.c->timeline;
	assert_int_equal(t->curves.nr, 1); /* one never changes */
	assert_true(sonde_str_is(t->curves.at[0].name, "GR Active %"));
	assert_true(t->curves.at[0].nr > 1000 && t->curves.at[0].nr <= 4000);
	assert_true(fabs(mean_of(t, &t->curves.at[0]) - 0.5) < 0.01);
	assert_false(has_column(&run, INSTRUCTIONS));
	assert_int_equal(run.c->sampled.nr, 0);
	release(&run);
	end_program(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sampled__a_partial_report_has_the_same_figures),
		cmocka_unit_test(test_sampled__damage_is_found_or_harmless),
		cmocka_unit_test(test_sampled__counters_over_time_are_curves),
		cmocka_unit_test(test_sampled__what_cannot_be_is_in_no_curve),
		cmocka_unit_test(test_sampled__counters_without_a_role_are_curves_too),
	};

	return cmocka_run_group_tests_name("sampled_file", tests, NULL, NULL);
}
