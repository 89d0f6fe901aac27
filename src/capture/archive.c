#include "capture/archive.h"

#include "base/tar_head.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK	   SONDE_TAR_BLOCK
#define BASE_256   ((uint64_t)1 << 33) /* a size from here on does not fit into octal digits */
#define CHUNK_SIZE (64u * 1024u)

static void put_size(char *out, uint64_t size)
{
	size_t i;

	if (size < BASE_256) {
		snprintf(out, 12, "%011llo", (unsigned long long)size);
		return;
	}
	memset(out, 0, 12);
	out[0] = (char)0x80;
	for (i = 0; i < 8; i++)
		out[11 - i] = (char)(size >> 8 * i);
}

static void fill_header(struct sonde_tar_head *h, const char *name, const struct stat *st)
{
	*h = (struct sonde_tar_head){.type = '0', .magic = "ustar", .version = {'0', '0'}};
	snprintf(h->name, sizeof(h->name), "%s", name);
	snprintf(h->mode, sizeof(h->mode), "%07o", 0600u);
	snprintf(h->uid, sizeof(h->uid), "%07o", 0u);
	snprintf(h->gid, sizeof(h->gid), "%07o", 0u);
	put_size(h->size, (uint64_t)st->st_size);
	snprintf(h->mtime, sizeof(h->mtime), "%011llo", (unsigned long long)st->st_mtime);
	snprintf(h->checksum, sizeof(h->checksum), "%06o", sonde_tar_checksum(h));
	h->checksum[7] = ' ';
}

/* False with errno. */
static bool write_at(int fd, uint64_t *at, const char *p, size_t n)
{
	while (n) {
		ssize_t got = pwrite(fd, p, n, (off_t)*at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			errno = got ? errno : ENOSPC;
			return false;
		}
		p += got;
		n -= (size_t)got;
		*at += (uint64_t)got;
	}
	return true;
}

/* As many bytes as the header says, whatever became of the file since: zeros for what is gone. */
static bool copy_bytes(int to, uint64_t *at, int from, uint64_t size)
{
	char chunk[CHUNK_SIZE];

	while (size) {
		size_t want = size < sizeof(chunk) ? (size_t)size : sizeof(chunk);
		ssize_t got = read(from, chunk, want);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return false;
		if (got == 0) {
			memset(chunk, 0, want);
			got = (ssize_t)want;
		}
		if (!write_at(to, at, chunk, (size_t)got))
			return false;
		size -= (uint64_t)got;
	}
	return true;
}

static bool add_member(struct sonde_archive *a, uint64_t *at, const char *name, int from)
{
	static const char zeros[3 * BLOCK];
	struct sonde_tar_head h;
	struct stat st;

	if (fstat(from, &st) < 0)
		return false;
	fill_header(&h, name, &st);
	if (!write_at(a->fd, at, (const char *)&h, sizeof(h)) ||
		!copy_bytes(a->fd, at, from, (uint64_t)st.st_size) ||
		!write_at(a->fd, at, zeros, (BLOCK - (size_t)st.st_size % BLOCK) % BLOCK))
		return false;
	a->end = *at;
	return write_at(a->fd, at, zeros, 2 * BLOCK);
}

void sonde_archive_cut(struct sonde_archive *a, uint64_t end)
{
	a->end = end;
	if (ftruncate(a->fd, (off_t)end) == 0)
		write_at(a->fd, &end, (const char[2 * BLOCK]){0}, 2 * BLOCK);
}

int sonde_archive_add(
	struct sonde_archive *a, const char *name, const char *from, struct sonde_err *err)
{
	int fd = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), error = 0;
	uint64_t before = a->end, at = before;

	if (fd < 0 || !add_member(a, &at, name, fd)) {
		error = errno;
		sonde_archive_cut(a, before);
	}
	if (fd >= 0)
		close(fd);
	return error ? sonde_err_io(err, a->path, error) : 0;
}
