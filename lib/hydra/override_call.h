/* The call of a function of the override grammar: shared by override_func.c, override_cast.c and override_sort.c. */
#ifndef HYDRA_OVERRIDE_CALL_H
#define HYDRA_OVERRIDE_CALL_H

#include "hydra/override.h"

struct hydra_call {
	struct hydra_ctx *cx;
	struct sonde_str name, source;
	struct hydra_datum *args, *kwargs;
};

/* Records the failure `TYPE while evaluating 'SOURCE': MESSAGE`. Returns NULL. */
struct hydra_datum *hydra_call__raise(struct hydra_call *c, const char *type, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
struct hydra_datum *hydra_call__mismatch(
	struct hydra_call *c, const char *what, const struct hydra_datum *n, const char *expected);
struct hydra_datum *hydra_call__kwarg(struct hydra_call *c, const char *name); /* NULL = not given */
/* False, with a failure, when the call has a keyword that is not in the NULL-terminated list. */
bool hydra_call__check_keywords(struct hydra_call *c, const char *const *names);

/* Converts one scalar to another type; NULL with a failure. */
typedef struct hydra_datum *hydra_cast_fn(struct hydra_call *c, struct hydra_datum *n);
hydra_cast_fn hydra_cast__int, hydra_cast__float, hydra_cast__str, hydra_cast__bool;
/* Converts everything in the arguments of the call. */
struct hydra_datum *hydra_call__cast(struct hydra_call *c, hydra_cast_fn *fn);

struct hydra_datum *hydra_call__sort(struct hydra_call *c);
struct hydra_datum *hydra_call__shuffle(struct hydra_call *c);

#endif
