/* Archives to which members are appended: the archive is complete after every append, also after one that failed. */
#include "unit.h"

#include "base/file.h"
#include "base/stream.h"
#include "capture/archive.h"
#include "read/tar.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

struct place {
	char dir[64], path[128], from[128];
	struct sonde_archive a;
};

static void begin(struct place *p)
{
	*p = (struct place){.dir = "/tmp/sonde-archive-XXXXXX"};
	assert_non_null(mkdtemp(p->dir));
	snprintf(p->path, sizeof(p->path), "%s/a.tar", p->dir);
	snprintf(p->from, sizeof(p->from), "%s/from", p->dir);
	p->a.path = p->path;
	p->a.fd = open(p->path, O_RDWR | O_CREAT | O_EXCL, 0600);
	assert_true(p->a.fd >= 0);
}

static void end(struct place *p)
{
	close(p->a.fd);
	unlink(p->path);
	unlink(p->from);
	rmdir(p->dir);
}

static int add(struct place *p, const char *name, size_t nr_bytes, struct sonde_err *err)
{
	FILE *f = fopen(p->from, "w");
	size_t i;

	assert_non_null(f);
	for (i = 0; i < nr_bytes; i++)
		fputc('a' + (int)(i % 26), f);
	assert_int_equal(fclose(f), 0);
	return sonde_archive_add(&p->a, name, p->from, 0, err);
}

/* The archive contains the members `names` with these sizes, as the reader of reports sees it. */
static void holds(const struct place *p, const char *const *names, const size_t *sizes)
{
	struct sonde_mapping file;
	struct sonde_stream stream;
	struct sonde_tar tar;
	struct sonde_buf bytes = {0};
	struct sonde_err err = {0};

	assert_int_equal(sonde_mapping_open(&file, p->path, &err), 0);
	sonde_stream_from_slice(&stream, file.data);
	sonde_tar_init(&tar, &stream);
	for (; *names; names++, sizes++) {
		assert_true(sonde_tar_next(&tar));
		assert_string_equal(tar.name.p, *names);
		sonde_buf_clear(&bytes);
		assert_int_equal(sonde_stream_all(&tar.member, &bytes, p->path, &err), 0);
		assert_int_equal(bytes.n, *sizes);
		assert_true(bytes.n == 0 || bytes.p[bytes.n - 1] == 'a' + (int)((bytes.n - 1) % 26));
	}
	assert_false(sonde_tar_next(&tar));
	assert_int_equal(file.data.n % 512, 0);
	sonde_tar_release(&tar);
	sonde_buf_release(&bytes);
	sonde_stream_release(&stream);
	sonde_mapping_release(&file);
}

static void test_archive__grows_and_is_whole_each_time(void **state)
{
	const char *const names[] = {"rank0/1.0.sonde", "rank0/empty", "rank1/2.0.sonde", NULL};
	const char *const first[] = {names[0], NULL};
	const size_t sizes[] = {1000, 0, 512 * 300};
	struct sonde_err err = {0};
	struct place p;

	(void)state;
	begin(&p);
	assert_int_equal(add(&p, names[0], sizes[0], &err), 0);
	holds(&p, first, sizes);
	assert_int_equal(add(&p, names[1], sizes[1], &err), 0);
	assert_int_equal(add(&p, names[2], sizes[2], &err), 0);
	holds(&p, names, sizes);
	end(&p);
}

static void test_archive__what_does_not_fit_is_taken_back(void **state)
{
	const char *const names[] = {"a", "c", NULL};
	const size_t sizes[] = {1000, 2000};
	struct sonde_err err = {0};
	struct rlimit before, low;
	struct place p;

	(void)state;
	begin(&p);
	assert_int_equal(add(&p, "a", sizes[0], &err), 0);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	low = (struct rlimit){100000, before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
	assert_int_equal(add(&p, "b", 99900, &err), SONDE_ERR_IO);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_non_null(strstr(err.msg, "a.tar: File too large"));
	assert_int_equal(add(&p, "c", sizes[1], &err), 0);
	holds(&p, names, sizes);
	end(&p);
}

static void test_archive__a_file_that_is_gone_is_an_error(void **state)
{
	const char *const none[] = {NULL};
	struct sonde_err err = {0};
	struct place p;

	(void)state;
	begin(&p);
	assert_int_equal(sonde_archive_add(&p.a, "x", "/nonexistent", 0, &err), SONDE_ERR_IO);
	holds(&p, none, NULL);
	end(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_archive__grows_and_is_whole_each_time),
		cmocka_unit_test(test_archive__what_does_not_fit_is_taken_back),
		cmocka_unit_test(test_archive__a_file_that_is_gone_is_an_error),
	};

	return cmocka_run_group_tests_name("archive", tests, NULL, NULL);
}
