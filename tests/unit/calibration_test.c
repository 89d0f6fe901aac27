/* The offset between samples and launches: fitted to a synthetic series, stored, and found again. */
#include "sample/calibration.h"

#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BEGIN_NS   1000000000u
#define SAMPLE_NS  50000u
#define NR_KERNELS 2000u

static uint64_t random_below(uint64_t *seed, uint64_t most)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (*seed >> 33) % most;
}

/* Kernels of 2 to 20 µs whose work begins `first` after their start and ends `last` after their end. */
static void make_kernels(struct sonde_calibration_data *d)
{
	uint64_t seed = 3, now = BEGIN_NS;
	unsigned i;

	for (i = 0; i < NR_KERNELS; i++) {
		struct sonde_calibration_span *k = sonde_vec_push(&d->kernels);

		assert_non_null(k);
		now += 10000 + random_below(&seed, 60000);
		*k = (struct sonde_calibration_span){now, now + 2000 + random_below(&seed, 18000)};
		now = k->end_ns;
	}
}

static double work_in(const struct sonde_calibration_data *d, double start, double end, double first, double last)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < d->kernels.nr; i++) {
		double a = (double)d->kernels.at[i].start_ns + first;
		double b = (double)d->kernels.at[i].end_ns + last;

		sum += fmax(0, fmin(b, end) - fmax(a, start));
	}
	return sum;
}

/* Samples of the whole run and of some time around it, in which something else ran; a sample is lost now and then. */
static void make_samples(struct sonde_calibration_data *d, double first, double last, double other)
{
	uint64_t seed = 5, at, end = d->kernels.at[d->kernels.nr - 1].end_ns + 100 * SAMPLE_NS;

	for (at = BEGIN_NS - 100 * SAMPLE_NS; at < end; at += SAMPLE_NS) {
		struct sonde_calibration_span *s;
		double *v, noise = (double)random_below(&seed, 100) - 50;

		if (random_below(&seed, 50) == 0)
			continue;
		s = sonde_vec_push(&d->samples);
		v = sonde_vec_push(&d->active);
		assert_non_null(s);
		assert_non_null(v);
		*s = (struct sonde_calibration_span){at, at + SAMPLE_NS};
		*v = 132 * (work_in(d, (double)at, (double)(at + SAMPLE_NS), first, last) + noise);
		if (at < BEGIN_NS || random_below(&seed, 100) < (uint64_t)other)
			*v += 132 * SAMPLE_NS;
	}
}

static void test_calibration__finds_both_moments(void **state)
{
	static const double moments[][2] = {{700, -300}, {-900, 100}, {0, 0}, {3100, 2900}};
	struct sonde_calibration c;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(moments) / sizeof(*moments); i++) {
		struct sonde_calibration_data d = {0};
		double offset = (moments[i][0] + moments[i][1]) / 2;

		make_kernels(&d);
		make_samples(&d, moments[i][0], moments[i][1], 0);
		assert_int_equal(sonde_calibration_fit(&c, &d, NULL), 0);
		assert_true(fabs(c.offset_ns - offset) < 10);
		assert_true(fabs(c.first_ns - moments[i][0]) < 20);
		assert_true(fabs(c.last_ns - moments[i][1]) < 20);
		assert_true(c.error_ns >= 50 && c.error_ns < 51);
		assert_true(c.misfit < 0.01);
		sonde_calibration_release(&d);
	}
}

static void test_calibration__refuses_what_does_not_fit(void **state)
{
	struct sonde_calibration_data d = {0};
	struct sonde_calibration c;
	struct sonde_err err = {0};

	(void)state;
	assert_int_equal(sonde_calibration_fit(&c, &d, &err), SONDE_ERR_FORMAT);
	assert_non_null(strstr(err.msg, "only 0 kernels"));
	make_kernels(&d);
	make_samples(&d, 700, -300, 5); /* 5 % of the samples contain other work */
	assert_int_equal(sonde_calibration_fit(&c, &d, &err), SONDE_ERR_FORMAT);
	assert_non_null(strstr(err.msg, "when the GPU is idle"));
	sonde_calibration_release(&d);
}

static void write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void test_calibration__is_kept_by_gpu_and_driver(void **state)
{
	struct sonde_calibration c = {.offset_ns = -231.4, .error_ns = 12, .uuid = "GPU-1"}, found;
	char home[] = "/tmp/sonde-calibration-XXXXXX", text[4096];
	struct sonde_buf path = {0};

	(void)state;
	assert_non_null(mkdtemp(home));
	setenv("XDG_CACHE_HOME", home, 1);
	sonde_calibration_name_driver(c.driver, sizeof(c.driver));
	assert_false(sonde_calibration_find(&found, "GPU-1"));
	assert_int_equal(sonde_calibration_keep(&c, NULL), 0);
	assert_true(sonde_calibration_find(&found, "GPU-1"));
	assert_true(fabs(found.offset_ns + 231.4) < 0.05 && fabs(found.error_ns - 12) < 0.05);
	assert_string_equal(found.uuid, "GPU-1");
	assert_false(sonde_calibration_find(&found, "GPU-2"));
	assert_false(sonde_calibration_find(&found, ""));
	assert_false(sonde_calibration_find(&found, "../GPU-1"));

	assert_true(sonde_calibration_path(&path, "GPU-1"));
	snprintf(text, sizeof(text), "driver=%sX\noffset_ns=-231\nerror_ns=12\n", c.driver);
	write_text(path.p, text); /* as if written with another driver */
	assert_false(sonde_calibration_find(&found, "GPU-1"));
	snprintf(text, sizeof(text), "driver=%s\noffset_ns=-231\n", c.driver);
	write_text(path.p, text); /* cut off */
	assert_false(sonde_calibration_find(&found, "GPU-1"));
	snprintf(text, sizeof(text), "driver=%s\noffset_ns=1e300\nerror_ns=12\n", c.driver);
	write_text(path.p, text);
	assert_false(sonde_calibration_find(&found, "GPU-1"));
	unlink(path.p);
	sonde_buf_release(&path);
	snprintf(text, sizeof(text), "%s/sonde", home);
	rmdir(text);
	rmdir(home);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calibration__finds_both_moments),
		cmocka_unit_test(test_calibration__refuses_what_does_not_fit),
		cmocka_unit_test(test_calibration__is_kept_by_gpu_and_driver),
	};

	return cmocka_run_group_tests_name("calibration", tests, NULL, NULL);
}
