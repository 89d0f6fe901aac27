#include "base/file.h"

#include "base/alloc.h"

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
	*m = (struct sonde_mapping){0};
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
