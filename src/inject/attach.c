/* The page that tells the runner what became of the library, and the one with its orders (format/attach.h). */
#include "inject/inject_int.h"
#include "inject/raw_int.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static struct sonde_attach nobody_reads; /* where the runner made no page */

static struct sonde_attach *map(const char *output, const char *file)
{
	char path[PATH_MAX], last;
	struct raw_text name = {path, 0, sizeof(path)};
	void *page = MAP_FAILED;
	int fd;

	sonde_raw__text(&name, output);
	sonde_raw__text(&name, "/");
	sonde_raw__text(&name, file);
	fd = raw_open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0);
	if (fd < 0)
		return &nobody_reads;
	/* A shorter file would end us with a signal when it is written to. */
	if (raw_call(SYS_pread64, fd, (long)&last, 1, SONDE_ATTACH_BYTES - 1, 0) == 1)
		page = mmap(NULL, SONDE_ATTACH_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	raw_close(fd);
	return page == MAP_FAILED ? &nobody_reads : page;
}

/* Only what can be part of a file's name and of a line. */
static void find_runner(void)
{
	const char *name = secure_getenv(SONDE_RUNNER_VARIABLE);

	if (name && strlen(name) < SONDE_RUNNER_LIMIT &&
		!name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789")])
		memcpy(sonde_inject.runner, name, strlen(name) + 1);
}

void sonde_attach__open(const char *output)
{
	char own[sizeof(SONDE_ATTACH_OWN_NAME) + SONDE_RUNNER_LIMIT];

	find_runner();
	sonde_inject.orders = sonde_inject.attach = map(output, SONDE_ATTACH_NAME);
	if (!*sonde_inject.runner)
		return;
	snprintf(own, sizeof(own), SONDE_ATTACH_OWN_NAME, sonde_inject.runner);
	sonde_inject.attach = map(output, own);
}

void sonde_attach__fault(enum sonde_attach_fault fault, int error)
{
	atomic_store(&sonde_inject.on, false);
	atomic_store(&sonde_inject.attach->faults[fault].error, (uint32_t)error);
	atomic_fetch_add(&sonde_inject.attach->faults[fault].nr, 1);
}
