/*
 * The context that every step of a composition gets: the arena that owns all its
 * results, the first failure, and the limits that keep hostile input bounded.
 *
 * A failure has a type and a message, and may have a cause with its own type.
 * They are exactly those of Hydra and OmegaConf, so that their documentation and
 * the recorded cases apply. hydra_ctx__report turns a failure into the one line
 * that users of hydra.h get; nothing else prints it.
 *
 * Room-private: only lib/hydra and its tests include this header.
 */
#ifndef HYDRA_CTX_H
#define HYDRA_CTX_H

#include "base/arena.h"
#include "base/err.h"
#include "base/note.h"

#define HYDRA_MAX_DEPTH	      200	   /* nesting of values, calls, interpolations, defaults */
#define HYDRA_MAX_FILE_BYTES  (16u << 20)  /* size of one YAML file, and of a string that interpolations make */
#define HYDRA_MAX_ARENA_BYTES (256u << 20) /* memory of one composition */
#define HYDRA_MAX_STEPS	      200000u	   /* interpolations resolved in one composition */
#define HYDRA_MAX_INT_DIGITS  4300	   /* decimal digits of one integer */
#define HYDRA_MAX_SWEEP	      100000	   /* jobs of one sweep, values of one range */

struct hydra_fail {
	int code; /* 0 while nothing has failed */
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
	uint32_t steps;	    /* interpolations resolved so far */
	uint32_t env_reads; /* how often a value came from the environment */
	bool keeps_env;	    /* an environment variable that is not set is not an error */
};

/* Records a failure and returns its code. If there is one already, that one is kept and its code is returned. */
int hydra_ctx__fail(struct hydra_ctx *cx, const char *type, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The same for functions that return a pointer: returns NULL. */
void *hydra_ctx__refuse(struct hydra_ctx *cx, const char *type, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The same; the reported line begins with "FILE:LINE". */
int hydra_ctx__fail_at(struct hydra_ctx *cx, const char *type, struct sonde_str file, uint32_t line,
	const char *fmt, ...) __attribute__((format(printf, 5, 6)));
int hydra_ctx__nomem(struct hydra_ctx *cx);
int hydra_ctx__limit(struct hydra_ctx *cx, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Whether values are nested deeper than HYDRA_MAX_DEPTH; if so, records that as a failure. */
bool hydra_ctx__is_deep(struct hydra_ctx *cx, unsigned depth);
/* Replaces the failure by a new one with this type and message, whose cause is the old one. */
int hydra_ctx__wrap(struct hydra_ctx *cx, const char *type, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Forgets the failure, for callers that try an alternative. */
void hydra_ctx__clear(struct hydra_ctx *cx);

/* Whether the failure is a mistake in the configuration, and not a lack of memory or a limit. */
bool hydra_ctx__is_user_error(const struct hydra_ctx *cx);
bool hydra_ctx__is_type(const struct hydra_ctx *cx, const char *type);
/* Whether the failure comes from the value layer, and not from the composer or the override grammar. */
bool hydra_ctx__is_value_error(const struct hydra_ctx *cx);

/* Allocates cleared memory from the arena; NULL with a recorded failure when memory is short or the limit is reached. */
void *hydra_ctx__alloc(struct hydra_ctx *cx, size_t nr, size_t size);
struct sonde_str hydra_ctx__dup(struct hydra_ctx *cx, struct sonde_str s);
struct sonde_str hydra_ctx__printf(struct hydra_ctx *cx, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Joins texts of any bytes: HYDRA_JOIN(cx, a, SONDE_STR("/"), b). */
struct sonde_str hydra_ctx__join(struct hydra_ctx *cx, const struct sonde_str *parts, size_t nr);
#define HYDRA_JOIN(cx, ...)                                                                        \
	hydra_ctx__join(cx, (const struct sonde_str[]){__VA_ARGS__},                               \
		sizeof((const struct sonde_str[]){__VA_ARGS__}) / sizeof(struct sonde_str))
/* Moves the text of `buf` into the arena and releases `buf`. */
struct sonde_str hydra_ctx__take(struct hydra_ctx *cx, struct sonde_buf *buf);

/* Fills in `err` with the failure as one printable line, and returns its code (0 = no failure). */
int hydra_ctx__report(const struct hydra_ctx *cx, struct sonde_err *err);

#endif
