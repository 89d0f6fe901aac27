/*
 * Bytes collect in a buffer, which is written in large pieces. A failure is remembered and
 * returned at the end, so that writers need not check after every line.
 */
#include "base/sink.h"

#include "base/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define FLUSH_AT (256u * 1024u)

void sonde_sink_init_fd(struct sonde_sink *s, int fd)
{
	*s = (struct sonde_sink){.fd = fd};
}

void sonde_sink_init_string(struct sonde_sink *s)
{
	sonde_sink_init_fd(s, -1);
}

/* Opens a new file beside s->path, under a name that nobody can guess and no file has. */
static int open_temp(struct sonde_sink *s)
{
	uint64_t random;
	int fd, tries = 0;

	do {
		if (getrandom(&random, sizeof(random), 0) != sizeof(random))
			return -1;
		sonde_buf_clear(&s->temp);
		sonde_buf_printf(&s->temp, "%s.tmp-%016" PRIx64, s->path.p, random);
		if (s->path.failed || s->temp.failed) {
			errno = ENOMEM;
			return -1;
		}
		fd = open(s->temp.p, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	} while (fd < 0 && errno == EEXIST && ++tries < 16);
	return fd;
}

/* A device or pipe is written to directly. If the path is a link, the file that it leads to is replaced. */
static int open_target(struct sonde_sink *s, const char *path)
{
	char target[PATH_MAX];
	struct stat st;

	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
		sonde_buf_puts(&s->path, path);
		return open(path, O_WRONLY | O_CLOEXEC);
	}
	path = realpath(path, target) ? target : path;
	sonde_buf_puts(&s->path, path);
	return open_temp(s);
}

const char *sonde_sink_file(const struct sonde_sink *s)
{
	return s->temp.n ? s->temp.p : NULL;
}

static int fail_without_folder(const char *path, struct sonde_err *err)
{
	const char *slash = strrchr(path, '/');

	return sonde_err_set(err, SONDE_ERR_IO,
		"%s: No such file or directory; make the folder first: mkdir -p '%.*s'", path,
		slash ? (int)(slash - path) : 1, slash ? path : ".");
}

int sonde_sink_open(struct sonde_sink *s, const char *path, struct sonde_err *err)
{
	sonde_sink_init_string(s);
	s->fd = open_target(s, path);
	if (s->fd < 0) {
		int rc = errno == ENOMEM   ? sonde_err_nomem(err)
			 : errno == ENOENT ? fail_without_folder(path, err)
					   : sonde_err_io(err, path, errno);

		sonde_buf_clear(&s->temp); /* the file was not made: abort must not remove it */
		sonde_sink_abort(s);
		return rc;
	}
	return 0;
}

void sonde_sink_pack(struct sonde_sink *s)
{
	s->pack = sonde_gzip_begin();
	s->buf.failed |= !s->pack;
}

static void write_bytes(struct sonde_sink *s, struct sonde_str bytes)
{
	size_t done = 0;

	while (done < bytes.n && !s->saved_errno) {
		ssize_t n = write(s->fd, bytes.p + done, bytes.n - done);

		if (n >= 0)
			done += (size_t)n;
		else if (errno != EINTR)
			s->saved_errno = errno;
	}
}

static void flush(struct sonde_sink *s, bool is_last)
{
	struct sonde_buf packed = {0};

	if (!s->pack)
		write_bytes(s, sonde_buf_view(&s->buf));
	else if (sonde_gzip_some(&packed, s->pack, sonde_buf_view(&s->buf), is_last))
		write_bytes(s, sonde_buf_view(&packed));
	else
		s->saved_errno = ENOMEM;
	sonde_buf_release(&packed);
	sonde_buf_clear(&s->buf);
}

static void flush_if_full(struct sonde_sink *s)
{
	if (s->fd >= 0 && s->buf.n >= FLUSH_AT)
		flush(s, false);
}

void sonde_sink_write(struct sonde_sink *s, const void *p, size_t n)
{
	sonde_buf_add(&s->buf, p, n);
	flush_if_full(s);
}

void sonde_sink_str(struct sonde_sink *s, struct sonde_str text)
{
	sonde_sink_write(s, text.p, text.n);
}

void sonde_sink_puts(struct sonde_sink *s, const char *z)
{
	sonde_sink_write(s, z, strlen(z));
}

void sonde_sink_putc(struct sonde_sink *s, char c)
{
	sonde_sink_write(s, &c, 1);
}

void sonde_sink_printf(struct sonde_sink *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	sonde_buf_vprintf(&s->buf, fmt, ap);
	va_end(ap);
	flush_if_full(s);
}

static void release(struct sonde_sink *s)
{
	sonde_buf_release(&s->buf);
	sonde_buf_release(&s->path);
	sonde_buf_release(&s->temp);
	sonde_gzip_free(s->pack);
	s->pack = NULL;
	s->fd = -1;
}

int sonde_sink_close(struct sonde_sink *s, struct sonde_err *err)
{
	bool is_file = s->path.n > 0;
	int rc = 0;

	if (s->buf.failed)
		s->saved_errno = ENOMEM;
	if (s->fd >= 0 && !s->saved_errno)
		flush(s, true);
	if (!is_file && s->saved_errno == EPIPE) /* the reader closed the pipe because it had read enough */
		s->saved_errno = 0;
	if (is_file && close(s->fd) != 0 && !s->saved_errno)
		s->saved_errno = errno;
	/* Invariant 18. */
	if (s->temp.n && !s->saved_errno && rename(s->temp.p, s->path.p) != 0)
		s->saved_errno = errno;
	if (s->saved_errno) {
		rc = s->saved_errno == ENOMEM ? sonde_err_nomem(err)
					      : sonde_err_io(err, is_file ? s->path.p : "output", s->saved_errno);
		if (s->temp.n)
			unlink(s->temp.p);
	}
	release(s);
	return rc;
}

void sonde_sink_abort(struct sonde_sink *s)
{
	if (s->path.n && s->fd >= 0)
		close(s->fd);
	if (s->temp.n)
		unlink(s->temp.p);
	release(s);
}

int sonde_sink_finish(struct sonde_sink *s, int rc, struct sonde_err *err)
{
	if (rc == 0)
		return sonde_sink_close(s, err);
	sonde_sink_abort(s);
	return rc;
}

int sonde_file_write(const char *path, struct sonde_str text, struct sonde_err *err)
{
	struct sonde_sink sink;
	int rc = sonde_sink_open(&sink, path, err);

	if (rc)
		return rc;
	sonde_sink_str(&sink, text);
	return sonde_sink_close(&sink, err);
}
