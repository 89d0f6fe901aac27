#include "unit.h"

#include "capture/native_env.h"
#include "format/attach.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct place {
	char dir[64];
	int fd;
	struct sonde_err err;
};

static struct place make_place(void)
{
	struct place p = {.dir = "/tmp/sonde-sleeper-XXXXXX"};

	assert_non_null(mkdtemp(p.dir));
	p.fd = open(p.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(p.fd >= 0);
	return p;
}

static void remove_place(const struct place *p)
{
	char command[128];

	close(p->fd);
	snprintf(command, sizeof(command), "rm -rf '%s'", p->dir);
	assert_int_equal(system(command), 0);
}

static bool is_there(const struct place *p, const char *name)
{
	return faccessat(p->fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void test_sleeper__a_new_place_has_the_configuration_and_the_page(void **state)
{
	const char *const lines[] = {"buffer_mb=4"};
	const struct sonde_native_request q = {.options = {lines, 1}};
	struct place p = make_place();
	char text[128] = "";
	struct stat st;
	int fd;

	(void)state;
	assert_int_equal(sonde_native_prepare_at(p.fd, "/seen/as", &q, &p.err), 0);
	fd = openat(p.fd, "inject.conf", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	assert_string_equal(text, "output=/seen/as\nbuffer_mb=4\n");
	assert_int_equal(fstatat(p.fd, SONDE_ATTACH_NAME, &st, 0), 0);
	assert_int_equal(st.st_size, SONDE_ATTACH_BYTES);
	assert_int_equal(st.st_mode & (S_IRWXG | S_IRWXO), 0);
	remove_place(&p);
}

/* The owner of the folder may put a link there before we make the file. */
static void test_sleeper__a_link_in_its_place_leads_nowhere(void **state)
{
	static const char *const names[] = {"inject.conf", SONDE_ATTACH_NAME};
	const struct sonde_native_request q = {0};
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		struct place p = make_place();

		assert_int_equal(symlinkat("elsewhere", p.fd, names[i]), 0);
		assert_int_equal(sonde_native_prepare_at(p.fd, p.dir, &q, &p.err), SONDE_ERR_IO);
		assert_non_null(strstr(p.err.msg, names[i]));
		assert_false(is_there(&p, "elsewhere"));
		remove_place(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sleeper__a_new_place_has_the_configuration_and_the_page),
		cmocka_unit_test(test_sleeper__a_link_in_its_place_leads_nowhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
