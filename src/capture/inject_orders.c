#include "capture/inject_orders.h"

#include "format/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int sonde_inject_orders_open(struct sonde_inject_orders *o, const char *dir, struct sonde_err *err)
{
	char path[4096];
	struct stat st;
	void *page = MAP_FAILED;
	int fd;

	o->page = NULL;
	snprintf(path, sizeof(path), "%s/" SONDE_ATTACH_NAME, dir);
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size >= (off_t)SONDE_ATTACH_BYTES)
		page = mmap(NULL, SONDE_ATTACH_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	if (page == MAP_FAILED)
		return sonde_err_io(err, path, errno);
	o->page = page;
	return 0;
}

void sonde_inject_orders_release(struct sonde_inject_orders *o)
{
	if (o->page)
		munmap(o->page, SONDE_ATTACH_BYTES);
	o->page = NULL;
}

void sonde_inject_orders_capture(struct sonde_inject_orders *o, bool is_on)
{
	uint32_t was, number;

	if (!o->page)
		return;
	was = atomic_load(&o->page->order);
	do
		number = (was >> SONDE_ORDER_BITS) + 1;
	while (!atomic_compare_exchange_weak(&o->page->order, &was,
		number << SONDE_ORDER_BITS | (is_on ? SONDE_ORDER_START : SONDE_ORDER_STOP)));
}

void sonde_inject_orders_flush(struct sonde_inject_orders *o)
{
	if (o->page)
		atomic_fetch_add(&o->page->nr_flushes, 1);
}

bool sonde_inject_orders_is_on(const struct sonde_inject_orders *o)
{
	return o->page && (atomic_load(&o->page->order) & ((1u << SONDE_ORDER_BITS) - 1)) ==
				  SONDE_ORDER_START;
}

void sonde_inject_orders_mark(struct sonde_inject_orders *o, struct sonde_str text)
{
	size_t n = text.n < SONDE_ATTACH_MARK - 1 ? text.n : SONDE_ATTACH_MARK - 1;

	if (!o->page)
		return;
	memset(o->page->mark, 0, SONDE_ATTACH_MARK);
	memcpy(o->page->mark, text.p, n);
	atomic_fetch_add(&o->page->nr_marks, 1);
}
