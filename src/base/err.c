/* Messages have a fixed size, so that an error can be reported even when memory is short. */
#include "base/err.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int sonde_err_set(struct sonde_err *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return code;
	err->code = code;
	err->pos = SONDE_NO_POS;
	va_start(ap, fmt);
	vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	return code;
}

int sonde_err_at(
	struct sonde_err *err, int code, const char *file, uint64_t byte, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (!err)
		return code;
	err->code = code;
	err->pos = byte;
	n = snprintf(err->msg, sizeof(err->msg), "%s%sbyte %" PRIu64 ": ", file ? file : "",
		file ? ": " : "", byte);
	if (n < 0 || (size_t)n >= sizeof(err->msg))
		return code;
	va_start(ap, fmt);
	vsnprintf(err->msg + n, sizeof(err->msg) - (size_t)n, fmt, ap);
	va_end(ap);
	return code;
}

static const char *next_step(int number)
{
	switch (number) {
	case ENOENT:
		return "; check the name";
	case ENOTDIR:
		return "; a part of it is a file: choose another place";
	case EACCES:
	case EPERM:
		return "; change who may use it, or choose another place";
	case ENOSPC:
	case EDQUOT:
		return "; free some space, or choose another place";
	case EROFS:
		return "; choose another place";
	case EFBIG:
		return "; raise the limit of file sizes: ulimit -f";
	case EMFILE:
		return "; raise the limit of open files: ulimit -n";
	case ENFILE:
	case EAGAIN:
	case ENOMEM:
		return "; end other programs, or raise the limits: ulimit -a";
	case EIO:
	case ESTALE:
		return "; choose a place on another disk";
	case EISDIR:
		return "; name a file";
	case EEXIST:
		return "; remove it, or choose another name";
	case ENAMETOOLONG:
	case ELOOP:
		return "; choose another name";
	default:
		return "; try again, or choose another place";
	}
}

int sonde_err_system(struct sonde_err *err, int number, const char *fmt, ...)
{
	char text[sizeof(err->msg)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return sonde_err_set(
		err, SONDE_ERR_IO, "%s: %s%s", text, strerror(number), next_step(number));
}

int sonde_err_io(struct sonde_err *err, const char *path, int number)
{
	return sonde_err_system(err, number, "%s", path);
}

int sonde_err_nomem(struct sonde_err *err)
{
	return sonde_err_set(err, SONDE_ERR_NOMEM, "out of memory");
}
