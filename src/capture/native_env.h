/*
 * The environment that makes a program carry libsonde_inject: the native
 * capture, and the cheap look at a program's ranges before a long run.
 */
#ifndef SONDE_CAPTURE_NATIVE_ENV_H
#define SONDE_CAPTURE_NATIVE_ENV_H

#include "base/argv.h"
#include "capture/child.h"
#include "capture/ncu_args.h"
#include "base/err.h"

struct sonde_native_request {
	const char *dir; /* where the captures go; made absolute */
	const char *mark; /* NAME=VALUE for the program; NULL = none */
	const char *runner; /* what we are called where others capture to `dir` too: rank3; NULL = nobody does */
	struct sonde_words nvtx_include, nvtx_exclude;
	struct sonde_words options; /* further `key=value` lines */
};

/* The library: $SONDE_INJECT_LIB, beside the program, or installed. False when nowhere. */
bool sonde_native_find(char *path, size_t size);
/* The same by its whole path; SONDE_ERR_NOTFOUND. */
int sonde_native_find_library(char *library, size_t size, struct sonde_err *err);

/* Writes the library's configuration into `dir`, a whole path, and makes its page there. */
int sonde_native_prepare(const char *dir, const struct sonde_native_request *q, struct sonde_err *err);
/*
 * The same for a directory that is open and new, which the program sees as `seen_as`: neither file may be there,
 * and no link leads them elsewhere, whoever else writes there.
 */
int sonde_native_prepare_at(int dir, const char *seen_as, const struct sonde_native_request *q, struct sonde_err *err);

/* Whether there is a capture in `dir`: a program that uses neither NVTX nor CUDA leaves none. */
bool sonde_native_is_there(const char *dir);

/*
 * Makes the page in `dir` where the library says what became of it in programs of `runner`, or with NULL
 * the one that all runners share.
 */
int sonde_native_attach_make(const char *dir, const char *runner, struct sonde_err *err);
/* Removes a runner's own: of a job with thousands of ranks few files are left. */
void sonde_native_attach_remove(const char *dir, const char *runner);

/*
 * Waits, not for long, until the captures in `dir` of processes that have ended are complete. False
 * when some are not, or their process goes on. With `runner` its own processes alone count, here and below.
 */
bool sonde_native_settle(const char *dir, const char *runner);

/*
 * Why processes left no capture in `dir`, or not all of it, as the library says it. False when it
 * says nothing: then a program without a capture uses neither NVTX nor CUDA.
 */
bool sonde_native_fault(char *text, size_t size, const char *dir, const char *runner);

/* Runs a program with the library in it; its captures are then in q->dir. SONDE_ERR_NOTFOUND without
 * the library. */
int sonde_native_run(struct sonde_child_end *out, const struct sonde_child_spec *spec,
	const struct sonde_native_request *q, struct sonde_err *err);

#endif
