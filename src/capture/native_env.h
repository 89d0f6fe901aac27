/*
 * The environment that makes a program carry libsonde_inject: for the native capture, and for the cheap look at a
 * program's ranges before a long run.
 */
#ifndef SONDE_CAPTURE_NATIVE_ENV_H
#define SONDE_CAPTURE_NATIVE_ENV_H

#include "base/argv.h"
#include "capture/child.h"
#include "capture/ncu_args.h"
#include "base/err.h"

struct sonde_native_request {
	const char *dir; /* directory of the captures; made absolute */
	const char *mark; /* NAME=VALUE for the program; NULL = none */
	const char *runner; /* our name where other runners capture to `dir` too: rank3; NULL = no others */
	struct sonde_words nvtx_include, nvtx_exclude;
	struct sonde_words options; /* further `key=value` lines of the library's configuration */
};

/* Finds the library: $SONDE_INJECT_LIB, beside the program, or installed. False when it is nowhere. */
bool sonde_native_find(char *path, size_t size);
/* The same with its absolute path; SONDE_ERR_NOTFOUND when it is nowhere. */
int sonde_native_find_library(char *library, size_t size, struct sonde_err *err);

/* Writes the library's configuration into `dir`, an absolute path, and makes the library's page there. */
int sonde_native_prepare(const char *dir, const struct sonde_native_request *q, struct sonde_err *err);
/*
 * The same for an open, new directory that the program sees as `seen_as`. Neither file may exist there, and no link is
 * followed, so it does not matter who else can write there.
 */
int sonde_native_prepare_at(int dir, const char *seen_as, const struct sonde_native_request *q, struct sonde_err *err);

/* Whether `dir` contains a capture: a program that uses neither NVTX nor CUDA leaves none. */
bool sonde_native_is_there(const char *dir);

/*
 * Makes the page in `dir` on which the library reports how it fares in programs of `runner`; with NULL, the page that
 * all runners share.
 */
int sonde_native_attach_make(const char *dir, const char *runner, struct sonde_err *err);
/* Removes that page, so that a job of thousands of ranks leaves few files. */
void sonde_native_attach_remove(const char *dir, const char *runner);

/*
 * Waits, not for long, until the captures of ended processes in `dir` are complete. False when some are not, or when a
 * process that has a file there still runs. With `runner`, here and below, only captures from that runner are looked
 * at.
 */
bool sonde_native_settle(const char *dir, const char *runner);

/*
 * Says why processes left no capture in `dir`, or only a part, from what the library reports on its page. False when it
 * reports nothing: then a program without a capture uses neither NVTX nor CUDA.
 */
bool sonde_native_fault(char *text, size_t size, const char *dir, const char *runner);

/* Runs a program with the library in it; its captures are then in q->dir. SONDE_ERR_NOTFOUND without the library. */
int sonde_native_run(struct sonde_child_end *out, const struct sonde_child_spec *spec,
	const struct sonde_native_request *q, struct sonde_err *err);

#endif
