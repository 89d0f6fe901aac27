/*
 * Errors: one small integer to branch on, one sentence to print.
 *
 * A function that can fail returns 0 or one of the negative codes below. The
 * message goes into `struct sonde_err`, complete enough to print as it is:
 *
 *     kernels.ncu-rep: byte 18233: truncated varint
 *     ncu.yaml:14: unknown key 'kernal_name', did you mean 'kernel_name'?
 *
 * The struct owns nothing and need not be freed: put it on the stack, start it
 * with `= {0}`. Every function accepts a NULL err and then just returns the code.
 * Its layout is part of the library's ABI.
 */
#ifndef SONDE_ERR_H
#define SONDE_ERR_H

#include <stdint.h>

enum sonde_code {
	SONDE_OK = 0,
	SONDE_ERR_IO = -1,     /* the system refused to open, read, write or rename a file */
	SONDE_ERR_FORMAT = -2, /* the contents of the input are wrong or damaged */
	SONDE_ERR_USAGE = -3,  /* the request itself is wrong */
	SONDE_ERR_NOMEM = -4,
	SONDE_ERR_LIMIT = -5, /* would need more memory or depth than allowed */
	SONDE_ERR_NOTFOUND = -6,
	SONDE_ERR_STOPPED = -7, /* interrupted by a signal */
};

#define SONDE_NO_POS UINT64_MAX

struct sonde_err {
	int code;	/* the negative code; 0 while nothing has failed */
	uint64_t pos;	/* byte or line in the input, SONDE_NO_POS when unknown */
	char msg[1024]; /* the whole message on one line, with file and position */
};

#endif
