#include "base/file.h"

#include "base/alloc.h"
#include "base/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int sonde_mapping_open(struct sonde_mapping *out, const char *path, struct sonde_err *err)
{
	struct stat st;
	int fd = -1, rc = 0;
	void *base;

	*out = (struct sonde_mapping){0};
	/* O_NONBLOCK: a FIFO must be refused, not waited for. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) != 0) {
		rc = sonde_err_set(err, SONDE_ERR_IO, "%s: %s", path, strerror(errno));
		goto out;
	}
	if (!S_ISREG(st.st_mode)) {
		rc = sonde_err_set(err, SONDE_ERR_IO, "%s: %s", path,
			S_ISDIR(st.st_mode) ? "is a directory" : "is not a regular file");
		goto out;
	}
	if (st.st_size == 0)
		goto out;
	base = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (base == MAP_FAILED) {
		rc = sonde_err_set(err, SONDE_ERR_IO, "%s: cannot map: %s", path, strerror(errno));
		goto out;
	}
	out->base = base;
	out->data = (struct sonde_str){base, (size_t)st.st_size};
out:
	if (fd >= 0)
		close(fd);
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

/* All that the gzip file in `from` holds. */
static int inflate_all(
	struct sonde_buf *out, struct sonde_str from, const char *path, struct sonde_err *err)
{
	struct sonde_stream file, inside = {0};
	struct sonde_buf why = {0};
	int rc;

	sonde_stream_from_slice(&file, from);
	rc = sonde_stream_from_gzip(&inside, &file, err);
	if (rc == 0)
		rc = sonde_stream_all(&inside, out, SONDE_MAX_INFLATED, err);
	if (rc == 0 && sonde_stream_damage(&inside, &why).p)
		rc = sonde_err_set(err, SONDE_ERR_FORMAT, "%s: %s; copy it again", path, why.p);
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
			rc = sonde_err_set(err, SONDE_ERR_IO, "%s: %s", b.p, strerror(errno));
		b.p[i] = end;
	}
	if (rc == 0 && (stat(path, &st) != 0 || !S_ISDIR(st.st_mode)))
		rc = sonde_err_set(err, SONDE_ERR_IO, "%s: exists and is not a directory", path);
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
