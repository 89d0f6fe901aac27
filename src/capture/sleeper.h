/*
 * A sleeper: a process that carries the injected library asleep (`sonde env`), found by the page it has
 * (format/asleep.h) and woken through it.
 *
 * The page is a memfd of the process, found in /proc/PID/fd: so the number is the one that we see, whatever
 * the process calls itself in its container, and the kernel decides who may look: the same user, and
 * root. Whoever wakes a sleeper holds a lock of the page, which ends with him.
 *
 *     sonde_sleeper_hold     nobody else wakes it from here on
 *     sonde_sleeper_place    where it can write its capture: our directory, or one of its own
 *     sonde_sleeper_call     it wakes at its next NVTX call
 *     sonde_sleeper_beat     often, or it goes back to sleep by itself
 *     sonde_sleeper_rest     it has captured enough
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
	pid_t pid; /* as we see it */
	uid_t uid; /* whose files it makes */
	gid_t gid;
	char name[64];	   /* the program, and the script that it runs */
	uint64_t since_ns; /* when it fell asleep first, by CLOCK_REALTIME */
	enum sonde_phase phase;
	uint32_t nr_wakes;
	bool is_held; /* somebody wakes it just now: */
	uint32_t caller;
	uint64_t called_ns;
	/* While we hold it. */
	int fd, dir_fd; /* -1 = none */
	int pid_fd;
	struct sonde_asleep *page;
	uint32_t number; /* of our call */
	char here[64];	 /* the place as we see it, when it is the sleeper's own; else empty … */
	char there[SONDE_ASLEEP_DIR]; /* … and as the sleeper sees it */
};

struct sonde_sleepers {
	SONDE_VEC(struct sonde_sleeper) all; /* by pid */
};

/* Everybody who sleeps and whom we may look at. */
int sonde_sleepers_find(struct sonde_sleepers *out, struct sonde_err *err);
/*
 * Adds those that `word` means, each once: a process, or else the sleepers among those it started; or all of that
 * name. SONDE_ERR_NOTFOUND says why there is none, and how programs are started asleep.
 */
int sonde_sleepers_choose(struct sonde_sleepers *out, const char *word, struct sonde_err *err);
void sonde_sleepers_release(struct sonde_sleepers *s); /* and each that is held */

/* SONDE_ERR_IO when somebody else holds it, and who. */
int sonde_sleeper_hold(struct sonde_sleeper *s, struct sonde_err *err);
/*
 * Makes its place, with the configuration in it. `q->dir` serves where the sleeper sees it too and is our user's; else it
 * gets a directory in its own /tmp, as its own user.
 */
int sonde_sleeper_place(struct sonde_sleeper *s, const struct sonde_native_request *q, struct sonde_err *err);
/* False when it is not asleep (yet, or any more). */
bool sonde_sleeper_call(struct sonde_sleeper *s);
/* The phase of our call; ASLEEP = it is over. */
enum sonde_phase sonde_sleeper_beat(struct sonde_sleeper *s);
void sonde_sleeper_rest(struct sonde_sleeper *s);
bool sonde_sleeper_is_gone(const struct sonde_sleeper *s);
/* What the library says of a place of the sleeper's own, as sonde_native_fault. */
bool sonde_sleeper_fault(const struct sonde_sleeper *s, char *text, size_t size);
/* Moves captures from the sleeper's own place to `dir`, and removes the place. */
int sonde_sleeper_fetch(struct sonde_sleeper *s, const char *dir, struct sonde_err *err);
void sonde_sleeper_release(struct sonde_sleeper *s);

/* The words of its command line, and one of its variables; false = unknown. */
struct sonde_argv;
bool sonde_sleeper_words(const struct sonde_sleeper *s, struct sonde_argv *out);
bool sonde_sleeper_variable(const struct sonde_sleeper *s, const char *name, struct sonde_buf *out);

#endif
