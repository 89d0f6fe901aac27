/*
 * Compares every report with what Nsight Compute itself prints for it: X.ncu-rep and
 * X.raw.csv (`ncu --import X --csv --page raw`) must give the same records,
 * open ranges and metric values, within the CSV's rounding to two decimals.
 */
#include "read/records.h"

#include "open_ranges.h"
#include "unit.h"

#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define NR_RECORDS 512

struct pair {
	char name[256];
	struct sonde_records *rep, *csv;
	/* The results at the same position belong together; ncu prints several processes in its own order. */
	uint32_t rep_order[NR_RECORDS], csv_order[NR_RECORDS];
};

static struct sonde_records *open_one(const char *path)
{
	struct sonde_records *r = NULL;
	struct sonde_err err = {0};

	if (sonde_records_open(&r, &path, 1, NULL, &err))
		fail_msg("%s", err.msg);
	return r;
}

/* A stable order: by process id, then by position in the file. */
static void order_by_pid(const struct sonde_records *r, uint32_t *order)
{
	uint32_t i, k;

	assert_true(r->records.nr <= NR_RECORDS);
	for (i = 0; i < r->records.nr; i++) {
		uint64_t pid = r->processes.at[sonde_record_caller(r, &r->records.at[i])->process].pid;

		for (k = i; k > 0; k--) {
			uint32_t before = order[k - 1];

			if (r->processes.at[sonde_record_caller(r, &r->records.at[before])->process].pid <= pid)
				break;
			order[k] = before;
		}
		order[k] = i;
	}
}

static void open_pair(struct pair *p, const char *csv_path)
{
	size_t n = strlen(csv_path) - strlen(".raw.csv");
	char rep_path[512];

	snprintf(rep_path, sizeof(rep_path), "%.*s.ncu-rep", (int)n, csv_path);
	snprintf(p->name, sizeof(p->name), "%.*s", (int)n, csv_path);
	p->csv = open_one(csv_path);
	p->rep = open_one(rep_path);
	assert_int_equal(p->csv->records.nr, p->rep->records.nr);
	order_by_pid(p->rep, p->rep_order);
	order_by_pid(p->csv, p->csv_order);
}

static void close_pair(struct pair *p)
{
	sonde_records_free(p->rep);
	sonde_records_free(p->csv);
}

static size_t for_each_pair(void (*check)(struct pair *p))
{
	static struct pair p;
	size_t i, nr;
	glob_t g;

	if (glob("tests/data/ncu/*.raw.csv", 0, NULL, &g) != 0)
		return 0;
	for (i = 0; i < g.gl_pathc; i++) {
		open_pair(&p, g.gl_pathv[i]);
		check(&p);
		close_pair(&p);
	}
	nr = g.gl_pathc;
	globfree(&g);
	return nr;
}

/* `gemm_tile<(int)2>` in the report is `gemm_tile<2>` in the CSV. */
static void same_name(const struct pair *p, struct sonde_str rep, struct sonde_str csv)
{
	size_t i = 0, k = 0;

	while (i < rep.n && k < csv.n) {
		struct sonde_str rest = {rep.p + i, rep.n - i};

		if (sonde_str_starts(rest, "(int)") && csv.p[k] != '(')
			i += 5;
		if (rep.p[i++] != csv.p[k++])
			break;
	}
	if (i != rep.n || k != csv.n)
		fail_msg("%s: '%.*s' is '%.*s' in the CSV", p->name, SONDE_STR_ARG(rep),
			SONDE_STR_ARG(csv));
}

static void same_devices(const struct pair *p)
{
	const struct sonde_device *d = sonde_records_device(p->rep, 0, 0), *e;
	size_t i, k;

	e = sonde_records_device(p->csv, 0, 0);
	assert_true(d && e && sonde_str_eq(d->name, e->name));
	assert_int_equal(d->cc_major, e->cc_major);
	assert_int_equal(d->cc_minor, e->cc_minor);
	for (i = 0; i < d->nr_attributes; i++) {
		struct sonde_str name = d->attributes[i].name;

		for (k = 0; k < e->nr_attributes; k++)
			if (sonde_str_eq(e->attributes[k].name, name))
				break;
		if (k == e->nr_attributes)
			fail_msg("%s: no %.*s in the CSV", p->name, SONDE_STR_ARG(name));
		if (fabs(d->attributes[i].value - e->attributes[k].value) > 0.005)
			fail_msg("%s: %.*s differs in the CSV", p->name, SONDE_STR_ARG(name));
	}
}

static void check_records(struct pair *p)
{
	uint32_t i;

	same_devices(p);

	for (i = 0; i < p->rep->records.nr; i++) {
		const struct sonde_record *a = &p->rep->records.at[p->rep_order[i]];
		const struct sonde_record *b = &p->csv->records.at[p->csv_order[i]];
		const struct sonde_process *pa = &p->rep->processes.at[sonde_record_caller(p->rep, a)->process];
		const struct sonde_process *pb = &p->csv->processes.at[sonde_record_caller(p->csv, b)->process];

		assert_int_equal(a->kind, b->kind);
		assert_int_equal(sonde_record_queue(p->rep, a)->device, sonde_record_queue(p->csv, b)->device);
		assert_int_equal(sonde_record_queue(p->rep, a)->context, sonde_record_queue(p->csv, b)->context);
		assert_int_equal(sonde_record_queue(p->rep, a)->stream, sonde_record_queue(p->csv, b)->stream);
		assert_int_equal(pa->pid, pb->pid);
		assert_true(pb->name.n && pa->name.n >= pb->name.n); /* one has a path, the other its last part */
		assert_memory_equal(pa->name.p + pa->name.n - pb->name.n, pb->name.p, pb->name.n);
		assert_true(sonde_str_eq(pa->host, pb->host));
		if (sonde_record_caller(p->csv, b)->thread)
			assert_int_equal(sonde_record_caller(p->rep, a)->thread, sonde_record_caller(p->csv, b)->thread);
		same_name(
			p, sonde_records_str(p->rep, sonde_record_function(p->rep, a)->name), sonde_records_str(p->csv, sonde_record_function(p->csv, b)->name));
		same_name(p, sonde_records_str(p->rep, sonde_record_function(p->rep, a)->full_name),
			sonde_records_str(p->csv, sonde_record_function(p->csv, b)->full_name));
	}
}

static void test_ncu_csv__gives_the_records_of_the_report(void **state)
{
	(void)state;
	assert_true(for_each_pair(check_records) > 0);
}

static void same_label(const struct pair *p, struct sonde_str a, struct sonde_str b)
{
	/* ncu prints nothing for wide labels. */
	if (!sonde_str_eq(a, b) && !(b.n == 0 && sonde_str_starts(a, "wide ")))
		fail_msg("%s: range '%.*s' is '%.*s' in the CSV", p->name, SONDE_STR_ARG(a),
			SONDE_STR_ARG(b));
}

static void check_open(struct pair *p)
{
	static struct open_ranges a, b;
	size_t k, m;
	uint32_t i;

	for (i = 0; i < p->rep->records.nr; i++) {
		open_ranges_of(&a, p->rep, p->rep_order[i]);
		open_ranges_of(&b, p->csv, p->csv_order[i]);
		assert_int_equal(a.view.nr_stacks, b.view.nr_stacks);
		assert_int_equal(a.view.nr_starts, b.view.nr_starts);
		for (k = 0; k < a.view.nr_stacks; k++) {
			assert_int_equal(a.stacks[k].nr, b.stacks[k].nr);
			assert_true(sonde_str_eq(a.stacks[k].domain, b.stacks[k].domain));
			for (m = 0; m < a.stacks[k].nr; m++)
				same_label(p, a.labels[k][m], b.labels[k][m]);
		}
		for (k = 0; k < a.view.nr_starts; k++) {
			assert_true(sonde_str_eq(a.starts[k].domain, b.starts[k].domain));
			same_label(p, a.starts[k].label, b.starts[k].label);
		}
	}
}

static void test_ncu_csv__gives_the_open_ranges_of_the_report(void **state)
{
	(void)state;
	assert_true(for_each_pair(check_open) > 0);
}

static struct sonde_str text_of(const struct sonde_values *v, uint32_t metric)
{
	size_t i;

	for (i = v->texts.nr; i > 0; i--)
		if (v->texts.at[i - 1].metric == metric)
			return v->texts.at[i - 1].text;
	return (struct sonde_str){NULL, 0};
}

static uint64_t nr_numbers, nr_texts, nr_unprinted;

static void same_value(const struct pair *p, struct sonde_str name, double rep, double csv)
{
	double rounding = 0.005 + 1e-9 * fabs(rep);

	nr_numbers++;
	if (isnan(rep) != isnan(csv) || fabs(rep - csv) > rounding * 1.0001)
		fail_msg("%s: %.*s is %.17g, but %.17g in the CSV", p->name, SONDE_STR_ARG(name),
			rep, csv);
}

/* Compares `a` of the report with `b` of the CSV. */
static void check_metric(const struct pair *p, uint32_t metric, const struct sonde_values *a,
	const struct sonde_values *b)
{
	struct sonde_str name = p->rep->metrics.at[metric].name;
	uint32_t other = sonde_map_find(&p->csv->metric_names, name);
	struct sonde_str ta = text_of(a, metric), tb = {NULL, 0};

	if (isnan(a->num[metric]) && !ta.p)
		return; /* this result does not have it */
	if (other == SONDE_NONE) {
		if (!sonde_str_starts(name, "breakdown:"))
			fail_msg("%s: %.*s is not in the CSV", p->name, SONDE_STR_ARG(name));
		nr_unprinted++;
		return;
	}
	tb = text_of(b, other);
	if (!ta.p) {
		same_value(p, name, a->num[metric], b->num[other]);
		return;
	}
	nr_texts++;
	if (!sonde_str_eq(ta, tb))
		fail_msg("%s: %.*s is '%.*s', but '%.*s' in the CSV", p->name, SONDE_STR_ARG(name),
			SONDE_STR_ARG(ta), SONDE_STR_ARG(tb));
}

static void check_values(struct pair *p)
{
	struct sonde_values a, b;
	struct sonde_err err = {0};
	uint32_t i, m;

	assert_int_equal(sonde_values_init(&a, p->rep, &err), 0);
	assert_int_equal(sonde_values_init(&b, p->csv, &err), 0);
	for (i = 0; i < p->rep->records.nr; i++) {
		assert_int_equal(sonde_records_values(p->rep, p->rep_order[i], &a, &err), 0);
		assert_int_equal(sonde_records_values(p->csv, p->csv_order[i], &b, &err), 0);
		for (m = 0; m < p->rep->metrics.nr; m++)
			check_metric(p, m, &a, &b);
		for (m = 0; m < p->csv->metrics.nr; m++) {
			struct sonde_str name = p->csv->metrics.at[m].name;

			if (!isnan(b.num[m]) &&
				sonde_map_find(&p->rep->metric_names, name) == SONDE_NONE)
				fail_msg("%s: the report lacks %.*s", p->name, SONDE_STR_ARG(name));
		}
	}
	sonde_values_release(&a);
	sonde_values_release(&b);
}

static void test_ncu_rep__every_metric_of_every_result_agrees_with_what_ncu_prints(void **state)
{
	size_t nr = for_each_pair(check_values);

	(void)state;
	assert_true(nr > 0);
	print_message("%zu reports: %llu numbers and %llu texts agree, %llu 'breakdown:' texts "
		      "ncu does not print\n",
		nr, (unsigned long long)nr_numbers, (unsigned long long)nr_texts,
		(unsigned long long)nr_unprinted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ncu_csv__gives_the_records_of_the_report),
		cmocka_unit_test(test_ncu_csv__gives_the_open_ranges_of_the_report),
		cmocka_unit_test(
			test_ncu_rep__every_metric_of_every_result_agrees_with_what_ncu_prints),
	};

	return cmocka_run_group_tests_name("ncu_agree", tests, NULL, NULL);
}
