/* The page that tells the runner what became of the library (format/attach.h). */
#include "inject/inject_int.h"
#include "inject/raw_int.h"

#include <limits.h>
#include <sys/mman.h>

static struct sonde_attach nobody_reads; /* where the runner made no page */

void sonde_attach__open(const char *output)
{
	char path[PATH_MAX], last;
	struct raw_text name = {path, 0, sizeof(path)};
	void *page;
	int fd;

	sonde_inject.attach = &nobody_reads;
	sonde_raw__text(&name, output);
	sonde_raw__text(&name, "/" SONDE_ATTACH_NAME);
	fd = raw_open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0);
	if (fd < 0)
		return;
	/* A shorter file would end us with a signal when it is written to. */
	if (raw_call(SYS_pread64, fd, (long)&last, 1, SONDE_ATTACH_BYTES - 1, 0) == 1) {
		page = mmap(NULL, SONDE_ATTACH_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (page != MAP_FAILED)
			sonde_inject.attach = page;
	}
	raw_close(fd);
}

void sonde_attach__fault(enum sonde_attach_fault fault, int error)
{
	atomic_store(&sonde_inject.on, false);
	atomic_store(&sonde_inject.attach->faults[fault].error, (uint32_t)error);
	atomic_fetch_add(&sonde_inject.attach->faults[fault].nr, 1);
}
