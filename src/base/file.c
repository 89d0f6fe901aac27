/*
 * Files are mapped, not read: a capture may be larger than memory, and most of it is looked
 * at only once. Compressed files are inflated into memory, up to a limit.
 */
#include "base/file.h"

#include "base/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether `fd` is a regular file, which can be mapped; sets `*size`. False: `err` has the reason. */
static bool is_regular(int fd, const char *path, size_t *size, struct sonde_err *err)
{
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0) {
		sonde_err_io(err, path, errno);
		return false;
	}
	if (!S_ISREG(st.st_mode)) {
		sonde_err_set(err, SONDE_ERR_IO, "%s: %s", path,
			S_ISDIR(st.st_mode) ? "is a directory; give a file"
					    : "is not a regular file; copy it into one first");
		return false;
	}
	*size = (size_t)st.st_size;
	return true;
}

/* Opens a regular file for reading and sets `*size`; -1 with the reason in `err`. */
static int open_regular(const char *path, size_t *size, struct sonde_err *err)
{
	/* O_NONBLOCK: a FIFO must be refused, not waited for. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (is_regular(fd, path, size, err))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static int refuse_mapping(const char *path, struct sonde_err *err)
{
	return sonde_err_set(err, SONDE_ERR_IO,
		"%s: cannot be mapped into memory: %s; copy it to a local disk", path, strerror(errno));
}

int sonde_mapping_open_fd(
	struct sonde_mapping *out, int fd, const char *path, struct sonde_err *err)
{
	size_t size = 0;
	void *base;

	*out = (struct sonde_mapping){0};
	if (!is_regular(fd, path, &size, err))
		return SONDE_ERR_IO;
	base = size ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
	if (base == MAP_FAILED)
		return refuse_mapping(path, err);
	if (size)
		*out = (struct sonde_mapping){.base = base, .data = {base, size}};
	return 0;
}

int sonde_mapping_open(struct sonde_mapping *out, const char *path, struct sonde_err *err)
{
	size_t size;
	int fd = open_regular(path, &size, err), rc;

	*out = (struct sonde_mapping){0};
	if (fd < 0)
		return SONDE_ERR_IO;
	rc = sonde_mapping_open_fd(out, fd, path, err);
	close(fd);
	return rc;
}

static size_t whole_pages(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (size + page - 1) / page * page;
}

/* Reserves address space for all files. There may be many, so each is open only while its size is read. */
static int reserve(struct sonde_mapping *out, const char *const *paths, size_t nr, size_t *room,
	struct sonde_err *err)
{
	size_t i, size = 0;
	int fd;

	for (i = *room = 0; i < nr; i++) {
		fd = open_regular(paths[i], &size, err);
		if (fd < 0)
			return SONDE_ERR_IO;
		close(fd);
		*room += whole_pages(size);
	}
	out->base = *room ? mmap(NULL, *room, PROT_READ,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
			  : NULL;
	if (out->base != MAP_FAILED)
		return 0;
	out->base = NULL;
	return refuse_mapping(paths[0], err);
}

/* Maps a file behind those already mapped. If it has grown since reserve(), only the part that fits is mapped. */
static int map_behind(struct sonde_mapping *m, size_t room, const char *path, struct sonde_err *err)
{
	size_t at = whole_pages(m->data.n), size = 0;
	int fd = open_regular(path, &size, err), rc = fd < 0 ? SONDE_ERR_IO : 0;

	size = size < room - at ? size : room - at;
	if (rc == 0 && size &&
		mmap((char *)m->base + at, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED)
		rc = refuse_mapping(path, err);
	else if (rc == 0 && size)
		m->data = (struct sonde_str){m->base, at + size};
	if (fd >= 0)
		close(fd);
	return rc;
}

int sonde_mapping_open_all(struct sonde_mapping *out, const char *const *paths, size_t nr,
	struct sonde_err *err)
{
	size_t room, i;
	int rc;

	*out = (struct sonde_mapping){0};
	rc = reserve(out, paths, nr, &room, err);
	for (i = 0; i < nr && rc == 0; i++)
		rc = map_behind(out, room, paths[i], err);
	if (out->base && whole_pages(out->data.n) < room) /* some files have become shorter */
		munmap((char *)out->base + whole_pages(out->data.n), room - whole_pages(out->data.n));
	if (rc)
		sonde_mapping_release(out);
	return rc;
}

void sonde_mapping_release(struct sonde_mapping *m)
{
	if (m->base)
		munmap(m->base, m->data.n);
	sonde_buf_release(&m->inflated);
	*m = (struct sonde_mapping){0};
}

void sonde_mapping_forget(const struct sonde_mapping *m, size_t end)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (m->base && end >= page)
		madvise(m->base, end / page * page, MADV_DONTNEED);
}

/* Appends the whole contents of the gzip file in `from`. */
static int inflate_all(
	struct sonde_buf *out, struct sonde_str from, const char *path, struct sonde_err *err)
{
	struct sonde_stream file, inside = {0};
	struct sonde_buf why = {0};
	int rc;

	sonde_stream_from_slice(&file, from);
	rc = sonde_stream_from_gzip(&inside, &file, err);
	if (rc == 0)
		rc = sonde_stream_all(&inside, out, path, err);
	if (rc == 0 && sonde_stream_damage(&inside, &why).p)
		rc = sonde_err_set(err, SONDE_ERR_FORMAT, "%s: %s", path, why.p);
	sonde_buf_release(&why);
	sonde_stream_release(&inside);
	sonde_stream_release(&file);
	return rc;
}

int sonde_mapping_open_inflated(struct sonde_mapping *out, const char *path, struct sonde_err *err)
{
	struct sonde_buf text = {0};
	int rc = sonde_mapping_open(out, path, err);

	if (rc || !sonde_is_gzip(out->data))
		return rc;
	rc = inflate_all(&text, out->data, path, err);
	sonde_mapping_release(out);
	out->inflated = text;
	out->data = sonde_buf_view(&out->inflated);
	if (rc)
		sonde_mapping_release(out);
	return rc;
}

bool sonde_file_head(struct sonde_buf *out, const char *path)
{
	struct sonde_stream file = {0}, inside = {0};
	struct sonde_mapping map;
	struct sonde_str head = {NULL, 0};

	if (sonde_mapping_open(&map, path, NULL))
		return false;
	sonde_stream_from_slice(&file, map.data);
	if (!sonde_is_gzip(map.data))
		head = sonde_stream_peek(&file);
	else if (sonde_stream_from_gzip(&inside, &file, NULL) == 0)
		head = sonde_stream_peek(&inside);
	sonde_buf_str(out, head);
	sonde_stream_release(&inside);
	sonde_stream_release(&file);
	sonde_mapping_release(&map);
	return out->n && !out->failed;
}

bool sonde_find_beside(char *path, size_t size, const char *const *places, size_t nr)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *slash = n > 0 ? memrchr(self, '/', (size_t)n) : NULL;
	size_t i;

	for (i = 0; slash && i < nr; i++) {
		snprintf(path, size, "%.*s/%s", (int)(slash - self), self, places[i]);
		if (access(path, R_OK) == 0)
			return true;
	}
	return false;
}

bool sonde_fd_is_locked(int fd)
{
	if (flock(fd, LOCK_SH | LOCK_NB) < 0)
		return errno == EWOULDBLOCK;
	flock(fd, LOCK_UN);
	return false;
}

bool sonde_file_is_locked(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool is_locked = fd >= 0 && sonde_fd_is_locked(fd);

	if (fd >= 0)
		close(fd);
	return is_locked;
}

bool sonde_dir_exists(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int sonde_dir_make(const char *path, struct sonde_err *err)
{
	struct sonde_buf b = {0};
	struct stat st;
	size_t i;
	int rc = 0;

	sonde_buf_puts(&b, path);
	if (b.failed) {
		rc = sonde_err_nomem(err);
		goto out;
	}
	for (i = 1; i <= b.n && rc == 0; i++) {
		if (b.p[i] != '/' && b.p[i] != '\0')
			continue;
		char end = b.p[i];

		b.p[i] = '\0';
		if (mkdir(b.p, 0777) != 0 && errno != EEXIST)
			rc = sonde_err_io(err, b.p, errno);
		b.p[i] = end;
	}
	if (rc == 0 && (stat(path, &st) != 0 || !S_ISDIR(st.st_mode)))
		rc = sonde_err_set(err, SONDE_ERR_IO, 
			"%s: exists and is not a directory; remove it, or choose another place", path);
out:
	sonde_buf_release(&b);
	return rc;
}

void sonde_fd_slurp(struct sonde_buf *out, int fd)
{
	char chunk[4096];
	ssize_t n;

	while ((n = read(fd, chunk, sizeof(chunk))) > 0 || (n < 0 && errno == EINTR))
		if (n > 0)
			sonde_buf_add(out, chunk, (size_t)n);
}

bool sonde_file_slurp(struct sonde_buf *out, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	sonde_fd_slurp(out, fd);
	close(fd);
	return !out->failed;
}
