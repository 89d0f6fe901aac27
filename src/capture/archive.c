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
#define BASE_256   ((uint64_t)1 << 33) /* sizes from here on do not fit into the header's 11 octal digits */
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

static void fill_header(struct sonde_tar_head *h, const char *name, uint64_t size, uint64_t mtime)
{
	*h = (struct sonde_tar_head){.type = '0', .magic = "ustar", .version = {'0', '0'}};
	snprintf(h->name, sizeof(h->name), "%s", name);
	snprintf(h->mode, sizeof(h->mode), "%07o", 0600u);
	snprintf(h->uid, sizeof(h->uid), "%07o", 0u);
	snprintf(h->gid, sizeof(h->gid), "%07o", 0u);
	put_size(h->size, size);
	snprintf(h->mtime, sizeof(h->mtime), "%011llo", (unsigned long long)mtime);
	snprintf(h->checksum, sizeof(h->checksum), "%06o", sonde_tar_checksum(h));
	h->checksum[7] = ' ';
}

/* Returns false, with errno, when not all bytes could be written. */
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

/*
 * Copies exactly as many bytes as the header says. If the file has become shorter meanwhile, zeros replace the missing
 * bytes.
 */
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

/* Opens the i-th file of a member; -1 with errno ENOENT after the last one. */
static int open_part(const char *from, uint32_t further, uint32_t i)
{
	char path[4096];

	if (!i)
		return open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	errno = ENOENT;
	if (!further || (size_t)snprintf(path, sizeof(path), "%s.%u", from, further + i - 1) >= sizeof(path))
		return -1;
	return open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
}

/*
 * Appends all files of a member, then writes the header in front of them, once their size is known. False with errno.
 */
static bool add_member(struct sonde_archive *a, uint64_t *at, const char *name, const char *from, uint32_t further)
{
	static const char zeros[3 * BLOCK];
	uint64_t begin = *at, size = 0, mtime = 0;
	struct sonde_tar_head h;
	struct stat st;
	bool ok = true;
	uint32_t i;
	int fd;

	*at += sizeof(h);
	for (i = 0; ok && (fd = open_part(from, further, i)) >= 0; i++) {
		ok = fstat(fd, &st) == 0 && copy_bytes(a->fd, at, fd, (uint64_t)st.st_size);
		size += ok ? (uint64_t)st.st_size : 0;
		mtime = ok ? (uint64_t)st.st_mtime : 0;
		close(fd);
	}
	if (!ok || !i || errno != ENOENT)
		return false;
	fill_header(&h, name, size, mtime);
	if (!write_at(a->fd, &begin, (const char *)&h, sizeof(h)) ||
		!write_at(a->fd, at, zeros, (BLOCK - (size_t)(size % BLOCK)) % BLOCK))
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

int sonde_archive_add(struct sonde_archive *a, const char *name, const char *from, uint32_t further,
	struct sonde_err *err)
{
	uint64_t before = a->end, at = before;
	int error = 0;

	if (!add_member(a, &at, name, from, further)) {
		error = errno;
		sonde_archive_cut(a, before);
	}
	return error ? sonde_err_io(err, a->path, error) : 0;
}
