/* Private to the parser of interpolations: interp_text.c reads text and values, interp.c reads the inside of ${…}. */
#ifndef HYDRA_INTERP_INT_H
#define HYDRA_INTERP_INT_H

#include "hydra/interp.h"
#include "hydra/value_lex.h"

/* A text that is being read: only checked, or checked and evaluated. */
struct hydra_reader {
	struct hydra_ctx *cx;
	struct hydra_lookup *sc; /* NULL: syntax only */
	struct sonde_str s;
	size_t at;
	unsigned depth;
	struct hydra_datum *container, *self;
};

/* The character `ahead` places behind the current one; 0 behind the end. */
char hydra_reader__peek(const struct hydra_reader *r, size_t ahead);
bool hydra_reader__at_interpolation(const struct hydra_reader *r, size_t ahead); /* ${ */
struct hydra_lex hydra_reader__lex(const struct hydra_reader *r);
bool hydra_reader__accept(struct hydra_reader *r, enum hydra_lex_kind kind);
/* Records bad syntax at the current place. Returns NULL, as all functions here that return a value do on failure. */
struct hydra_datum *hydra_reader__fail(struct hydra_reader *r, const char *what);
struct hydra_datum *hydra_reader__nothing(void); /* the dummy that stands for every value when only syntax is checked */

struct hydra_datum *hydra_reader__text(struct hydra_reader *r);	   /* free text that may contain ${…} */
struct hydra_datum *hydra_reader__element(struct hydra_reader *r); /* one argument of a resolver, or an item of a list or dict */
/* [element] {"," [element]} up to `end`; an omitted element is the empty string. */
int hydra_reader__sequence(
	struct hydra_reader *r, struct hydra_datum *list, enum hydra_lex_kind end);
struct hydra_datum *hydra_reader__interpolation(struct hydra_reader *r); /* the current place is its ${ */

#endif
