/* Sampled counters in captures: codec, reader, and the alignment of their clock with that of kernels. */
#include "native_open.h"

#include <math.h>

static const char sampler_meta[] = "kind=samples\nhost=node7\n";

static struct sonde_counter_set two_counters(uint32_t set)
{
	struct sonde_counter_set c = {.set = set,
		.device = 1,
		.interval_ns = 50000,
		.uuid = SONDE_STR("GPU-1"),
		.product = SONDE_STR("H200"),
		.nr = 2};

	c.at[0] = (struct sonde_counter_name){
		SONDE_STR("dram.read_bytes"), SONDE_STR("dram__bytes_read.sum"), 1536};
	c.at[1] = (struct sonde_counter_name){{NULL, 0}, SONDE_STR("other.avg"), 0};
	return c;
}

static void add_counters(struct capture *c, uint32_t set)
{
	struct sonde_counter_set s = two_counters(set);
	struct sonde_buf b = {0};

	sonde_counters_put(&b, &s);
	capture_block(c, SONDE_BLOCK_COUNTERS, b.p, b.n);
	sonde_buf_release(&b);
}

/* Adds `nr` consecutive samples of 100 ns from `start` on; their values go up from 10. */
static void add_samples(struct capture *c, uint32_t set, uint64_t start, unsigned nr)
{
	struct sonde_counter_set s = two_counters(set);
	struct sonde_samples_out out;
	struct sonde_buf b = {0};
	unsigned i;

	sonde_samples_begin(&out, &b, &s, start);
	for (i = 0; i < nr; i++)
		sonde_samples_put(&out, start + i * 100u, start + (i + 1) * 100u,
			(double[]){10.0 + i, 0.5 * i});
	capture_block(c, SONDE_BLOCK_SAMPLES, b.p, b.n);
	sonde_buf_release(&b);
}

static void begin_sampler(struct capture *c)
{
	capture_begin(c);
	capture_block(c, SONDE_BLOCK_META, sampler_meta, sizeof(sampler_meta) - 1);
	capture_clock(c, 0);
	capture_clock(c, 1000000000);
}

static void test_samples__values_of_every_kind_come_back(void **state)
{
	static const double values[] = {0, 1, 0.5, -3, 0x1p61, 0x1p62, 0x1p63, 1e300, INFINITY};
	struct sonde_counter_set set = {.set = 3, .nr = sizeof(values) / sizeof(*values)};
	double row[SONDE_COUNTER_LIMIT];
	struct sonde_samples_out out;
	struct sonde_samples_in in;
	struct sonde_buf b = {0};
	uint64_t start, end;

	(void)state;
	sonde_samples_begin(&out, &b, &set, 1000);
	sonde_samples_put(&out, 1000, 1050, values);
	sonde_samples_put(&out, 1075, 1100, values);
	assert_true(sonde_samples_open(&in, sonde_buf_view(&b)) && in.set == 3);
	assert_true(sonde_samples_get(&in, &start, &end, row, set.nr));
	assert_memory_equal(row, values, sizeof(values));
	assert_true(sonde_samples_get(&in, &start, &end, row, set.nr));
	assert_true(start == 1075 && end == 1100);
	assert_memory_equal(row, values, sizeof(values));
	assert_false(sonde_samples_get(&in, &start, &end, row, set.nr));
	assert_false(in.is_damaged);
	sonde_buf_release(&b);
}

static void test_samples__a_capture_has_them_by_device_and_set(void **state)
{
	struct capture c;
	struct sonde_records *r;
	const struct sonde_series *s;

	(void)state;
	begin_sampler(&c);
	add_counters(&c, 0);
	add_samples(&c, 0, 1000, 3);
	add_samples(&c, 0, 2000, 1);
	r = open_capture(&c);
	assert_int_equal(r->series.nr, 1);
	assert_int_equal(r->processes.nr, 0);
	s = &r->series.at[0];
	assert_true(s->device == 1 && s->interval_ns == 50000);
	assert_true(sonde_str_is(s->uuid, "GPU-1") && sonde_str_is(s->host, "node7"));
	assert_true(s->counters.nr == 2 && s->times.nr == 4 && s->values.nr == 8);
	assert_true(is(r, s->counters.at[1].name, "other.avg"));
	assert_true(s->counters.at[0].peak == 1536 && s->counters.at[1].peak == 0);
	assert_int_equal(sonde_series_counter(s, r, "dram.read_bytes"), 0);
	assert_int_equal(sonde_series_counter(s, r, "dram.write_bytes"), SONDE_NONE);
	assert_int_equal(s->times.at[2].start_ns, EPOCH + 1200);
	assert_int_equal(s->times.at[3].end_ns, EPOCH + 2100);
	assert_true(s->values.at[4] == 12 && s->values.at[5] == 1 && s->values.at[6] == 10);
	assert_int_equal(r->notes.texts.nr, 0);
	sonde_records_free(r);
}

static void test_samples__a_set_named_anew_is_another_series(void **state)
{
	struct capture c;
	struct sonde_records *r;

	(void)state;
	begin_sampler(&c);
	add_counters(&c, 0);
	add_samples(&c, 0, 1000, 1);
	add_counters(&c, 0);
	add_samples(&c, 0, 5000, 2);
	r = open_capture(&c);
	assert_int_equal(r->series.nr, 2);
	assert_int_equal(r->series.at[1].times.nr, 2);
	sonde_records_free(r);
}

static void test_samples__damage_costs_what_it_is_in_and_is_said(void **state)
{
	struct sonde_sampler_status status = {.nr_gaps = 2, .gap_ns = 3000000, .nr_others = 1};
	struct capture c;
	struct sonde_records *r;

	(void)state;
	begin_sampler(&c);
	add_samples(&c, 0, 1000, 3); /* a set that does not exist */
	add_counters(&c, 0);
	add_samples(&c, 0, 2000, 1);
	add_samples(&c, 0, 1900, 1); /* back in time */
	capture_block(&c, SONDE_BLOCK_SAMPLES, "\0\x05\x01\x01\x02", 5);
	capture_block(&c, SONDE_BLOCK_COUNTERS, "\x7f", 1);
	capture_block(&c, SONDE_BLOCK_SAMPLER, &status, sizeof(status));
	r = open_bytes(c.file.p, c.file.n);
	capture_release(&c);
	assert_non_null(r);
	assert_true(r->series.nr == 1 && r->series.at[0].times.nr == 1);
	assert_true(noted(r, "4 samples or sets of counters that cannot be decoded"));
	assert_true(noted(r, "stopped before the program ended"));
	assert_true(noted(r, "missing in 2 places, 3.0 ms"));
	assert_true(noted(r, "1 other program used the GPU"));
	sonde_records_free(r);
}

static void write_file(char *path, struct capture *c)
{
	int fd = mkstemps(path, 6);

	capture_block(c, SONDE_BLOCK_END, NULL, 0);
	assert_true(fd >= 0 && write(fd, c->file.p, c->file.n) == (ssize_t)c->file.n);
	close(fd);
	capture_release(c);
}

/* The GPU clock of the process is 500,000 ns ahead of the host's, and the sampler's own mapping is wrong by 40 µs.
 * The mapping of the kernels is used, so that a sample is at the same time as its kernel. */
static void test_samples__lie_on_the_clock_of_the_kernels(void **state)
{
	char a[] = "/tmp/sonde-samples-XXXXXX.sonde", b[] = "/tmp/sonde-samples-XXXXXX.sonde";
	const char *paths[] = {a, b};
	struct sonde_clock k = {500000, 40000, EPOCH + 40000};
	struct sonde_records *r = NULL;
	struct capture c;

	(void)state;
	kernels(&c);
	capture_block(&c, SONDE_BLOCK_META, "host=node7\n", 11);
	write_file(a, &c);
	capture_begin(&c);
	capture_block(&c, SONDE_BLOCK_META, sampler_meta, sizeof(sampler_meta) - 1);
	capture_block(&c, SONDE_BLOCK_CLOCK, &k, sizeof(k));
	add_counters(&c, 0);
	add_samples(&c, 0, 503000, 1); /* when the first kernel of kernels() starts */
	write_file(b, &c);
	assert_int_equal(sonde_records_open(&r, paths, 2, NULL, NULL), 0);
	assert_int_equal(r->series.at[0].times.at[0].start_ns, r->records.at[1].time.start_ns);
	assert_false(sonde_series_is_of(&r->series.at[0], r, sonde_record_caller(r, &r->records.at[1])->process, 0));
	assert_true(sonde_series_is_of(&r->series.at[0], r, sonde_record_caller(r, &r->records.at[1])->process, 1));
	sonde_records_free(r);
	unlink(a);
	unlink(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_samples__values_of_every_kind_come_back),
		cmocka_unit_test(test_samples__a_capture_has_them_by_device_and_set),
		cmocka_unit_test(test_samples__a_set_named_anew_is_another_series),
		cmocka_unit_test(test_samples__damage_costs_what_it_is_in_and_is_said),
		cmocka_unit_test(test_samples__lie_on_the_clock_of_the_kernels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
