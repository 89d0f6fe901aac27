/*
 * What every step of a composition carries: the arena all its results live in,
 * the first failure, and the limits that keep hostile input bounded.
 *
 * A failure has a type and a message, and may have a cause with its own type,
 * exactly as the programs whose configuration language this is report them, so
 * that their documentation and the recorded cases apply. The door turns it into
 * one line (see hydra.h); nobody else prints it.
 *
 * Room-private: only lib/hydra and its tests include this header.
 */
#ifndef HYDRA_CTX_H
#define HYDRA_CTX_H

#include "base/arena.h"
#include "base/err.h"
#include "base/note.h"

#define HYDRA_MAX_DEPTH	      200	   /* nesting of values, calls, interpolations, defaults */
#define HYDRA_MAX_FILE_BYTES  (16u << 20)  /* of one YAML file */
#define HYDRA_MAX_ARENA_BYTES (256u << 20) /* of one composition */
#define HYDRA_MAX_STEPS	      200000u	   /* interpolations resolved in one composition */
#define HYDRA_MAX_INT_DIGITS  4300	   /* decimal digits of one integer */
#define HYDRA_MAX_SWEEP	      100000	   /* jobs of one sweep, values of one range */

struct hydra_fail {
	int code; /* 0 while all is well */
	const char *type;
	struct sonde_str msg;
	const char *cause_type; /* NULL without a cause */
	struct sonde_str cause;
	struct sonde_str where; /* "FILE:LINE" when known, else empty */
};

struct hydra_ctx {
	struct sonde_arena *arena;
	struct hydra_fail fail;
	struct sonde_notes *notes; /* warnings; may be NULL */
	uint32_t steps;
	uint32_t env_reads; /* how often a value came from the environment */
	bool keeps_env;	    /* a variable that is not there is no error */
};

/* Records the failure and returns its code; the first one stays. */
int hydra_ctx__fail(struct hydra_ctx *cx, const char *type, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The same in functions that return a pointer: NULL. */
void *hydra_ctx__refuse(struct hydra_ctx *cx, const char *type, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The same with "FILE:LINE" in front of what the door prints. */
int hydra_ctx__fail_at(struct hydra_ctx *cx, const char *type, struct sonde_str file, uint32_t line,
	const char *fmt, ...) __attribute__((format(printf, 5, 6)));
int hydra_ctx__nomem(struct hydra_ctx *cx);
int hydra_ctx__limit(struct hydra_ctx *cx, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Whether values nest deeper than any may, which then is the failure. */
bool hydra_ctx__is_deep(struct hydra_ctx *cx, unsigned depth);
/* Makes what failed the cause of a new failure with this type and message. */
int hydra_ctx__wrap(struct hydra_ctx *cx, const char *type, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Forgets the failure, for callers that try something else. */
void hydra_ctx__clear(struct hydra_ctx *cx);

/* Whether a failure stems from the configuration, not from memory or a limit. */
bool hydra_ctx__is_user_error(const struct hydra_ctx *cx);
bool hydra_ctx__is_type(const struct hydra_ctx *cx, const char *type);
/* Raised by the value layer (as opposed to the composer and the override grammar). */
bool hydra_ctx__is_value_error(const struct hydra_ctx *cx);

/* Arena allocation with the limit: NULL and a recorded failure when memory or the limit is reached. */
void *hydra_ctx__alloc(struct hydra_ctx *cx, size_t nr, size_t size);
struct sonde_str hydra_ctx__dup(struct hydra_ctx *cx, struct sonde_str s);
struct sonde_str hydra_ctx__printf(struct hydra_ctx *cx, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* The texts one behind the other, whatever bytes and however many: HYDRA_JOIN(cx, a,
 * SONDE_STR("/"), b). */
struct sonde_str hydra_ctx__join(struct hydra_ctx *cx, const struct sonde_str *parts, size_t nr);
#define HYDRA_JOIN(cx, ...)                                                                        \
	hydra_ctx__join(cx, (const struct sonde_str[]){__VA_ARGS__},                               \
		sizeof((const struct sonde_str[]){__VA_ARGS__}) / sizeof(struct sonde_str))
/* Moves the text of `buf` into the arena and releases `buf`. */
struct sonde_str hydra_ctx__take(struct hydra_ctx *cx, struct sonde_buf *buf);

/* The failure as one printable line. */
int hydra_ctx__report(const struct hydra_ctx *cx, struct sonde_err *err);

#endif
