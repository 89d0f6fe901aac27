/* Inside the grammar of interpolations: interp_text.c reads text and values, interp.c what is in
 * ${…}. */
#ifndef HYDRA_INTERP_INT_H
#define HYDRA_INTERP_INT_H

#include "hydra/interp.h"
#include "hydra/value_lex.h"

/* A text while it is read: checked, or checked and evaluated. */
struct hydra_reader {
	struct hydra_ctx *cx;
	struct hydra_lookup *sc; /* NULL: syntax only */
	struct sonde_str s;
	size_t at;
	unsigned depth;
	struct hydra_datum *container, *self;
};

/* The character `ahead` of the place, 0 behind the end. */
char hydra_reader__peek(const struct hydra_reader *r, size_t ahead);
bool hydra_reader__at_interpolation(const struct hydra_reader *r, size_t ahead); /* ${ */
struct hydra_lex hydra_reader__lex(const struct hydra_reader *r);
bool hydra_reader__accept(struct hydra_reader *r, enum hydra_lex_kind kind);
/* Bad syntax at the place. Returns NULL, as all do that give a value and fail. */
struct hydra_datum *hydra_reader__fail(struct hydra_reader *r, const char *what);
struct hydra_datum *hydra_reader__nothing(void); /* every value, in a check */

struct hydra_datum *hydra_reader__text(struct hydra_reader *r);	   /* free text with ${…} in it */
struct hydra_datum *hydra_reader__element(struct hydra_reader *r); /* as resolvers take */
/* [element] {"," [element]} up to `end`; an omitted element is the empty string. */
int hydra_reader__sequence(
	struct hydra_reader *r, struct hydra_datum *list, enum hydra_lex_kind end);
struct hydra_datum *hydra_reader__interpolation(struct hydra_reader *r); /* at its ${ */

#endif
