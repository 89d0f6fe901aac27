/* Messages have a fixed size, so that an error can be told when memory is short. */
#include "base/err.h"

#include <inttypes.h>
#include <stdio.h>

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

int sonde_err_nomem(struct sonde_err *err)
{
	return sonde_err_set(err, SONDE_ERR_NOMEM, "out of memory");
}
