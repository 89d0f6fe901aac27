/*
 * A sleeper: a process that carries the injected library asleep (`sonde env`), found by its page (format/asleep.h) and
 * woken through it.
 *
 * The page is a memfd of the process, found in /proc/PID/fd. So the process number is the one that we see, whatever the
 * process calls itself in its container, and the kernel decides who may look: the same user, and root. Whoever wakes a
 * sleeper holds a lock of the page; the lock ends with the holder's process.
 *
 *     sonde_sleeper_hold     nobody else can wake it from here on
 *     sonde_sleeper_place    makes the directory for its capture: ours, or one of its own
 *     sonde_sleeper_call     wakes it at its next NVTX call
 *     sonde_sleeper_beat     call it often, or the sleeper goes back to sleep by itself
 *     sonde_sleeper_rest     ends its capture
 *     sonde_sleeper_fetch    takes the capture out of a directory of its own
 *     sonde_sleeper_release
 */
#ifndef SONDE_CAPTURE_SLEEPER_H
#define SONDE_CAPTURE_SLEEPER_H

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "capture/native_env.h"
#include "format/asleep.h"

#include <sys/types.h>

struct sonde_sleeper {
	pid_t pid; /* its number as we see it */
	uid_t uid; /* user and group of the files it makes */
	gid_t gid;
	char name[64];	   /* the program, and the script that it runs */
	uint64_t since_ns; /* when it first fell asleep, by CLOCK_REALTIME */
	enum sonde_phase phase;
	uint32_t nr_wakes;
	bool is_held; /* somebody captures it now: process `caller`, since `called_ns` */
	uint32_t caller;
	uint64_t called_ns;
	/* Only while we hold it. */
	int fd, dir_fd; /* the page, and the place if it is the sleeper's own; -1 = none */
	int pid_fd;
	struct sonde_asleep *page;
	uint32_t number; /* number of our call */
	char here[64];	 /* path of the place as we see it, if it is the sleeper's own; else empty */
	char there[SONDE_ASLEEP_DIR]; /* path of the place as the sleeper sees it */
};

struct sonde_sleepers {
	SONDE_VEC(struct sonde_sleeper) all; /* sorted by pid */
};

/* Finds all sleepers that we may look at. */
int sonde_sleepers_find(struct sonde_sleepers *out, struct sonde_err *err);
/*
 * Adds the sleepers that `word` means, each once. A number is a sleeper itself, or else a process that started
 * sleepers: then it means those. Any other word is a program's name. SONDE_ERR_NOTFOUND says why there is none, and how
 * programs are started asleep.
 */
int sonde_sleepers_choose(struct sonde_sleepers *out, const char *word, struct sonde_err *err);
void sonde_sleepers_release(struct sonde_sleepers *s); /* also releases each one that is held */

/* SONDE_ERR_IO when somebody else holds it; the message says who. */
int sonde_sleeper_hold(struct sonde_sleeper *s, struct sonde_err *err);
/*
 * Makes the place for its capture, with the configuration in it. `q->dir` is used if the sleeper sees it too and runs
 * as our user; else the sleeper gets a directory in its own /tmp, which belongs to its own user.
 */
int sonde_sleeper_place(struct sonde_sleeper *s, const struct sonde_native_request *q, struct sonde_err *err);
/* False when it is not asleep (yet, or any more). */
bool sonde_sleeper_call(struct sonde_sleeper *s);
/* Returns the phase of our call; ASLEEP = the call is over. */
enum sonde_phase sonde_sleeper_beat(struct sonde_sleeper *s);
void sonde_sleeper_rest(struct sonde_sleeper *s);
bool sonde_sleeper_is_gone(const struct sonde_sleeper *s);
/* Says what the library reports in a place of the sleeper's own, as sonde_native_fault does. */
bool sonde_sleeper_fault(const struct sonde_sleeper *s, char *text, size_t size);
/* Moves captures from the sleeper's own place to `dir`, and removes the place. */
int sonde_sleeper_fetch(struct sonde_sleeper *s, const char *dir, struct sonde_err *err);
void sonde_sleeper_release(struct sonde_sleeper *s);

/* The words of its command line, and one of its environment variables; false = unknown. */
struct sonde_argv;
bool sonde_sleeper_words(const struct sonde_sleeper *s, struct sonde_argv *out);
bool sonde_sleeper_variable(const struct sonde_sleeper *s, const char *name, struct sonde_buf *out);

#endif
