/* Inside overrides: the parser of one line, `KEY=VALUE`. override.c reads the key, override_value.c
 * the value. */
#ifndef HYDRA_OVERRIDE_INT_H
#define HYDRA_OVERRIDE_INT_H

#include "base/vec.h"
#include "hydra/override.h"
#include "hydra/value_lex.h"

struct hydra_override_parser {
	struct hydra_ctx *cx;
	struct sonde_str line;
	size_t at;
	unsigned depth;
	unsigned open;			    /* brackets, braces and calls not yet closed */
	SONDE_VEC(struct hydra_lex) tokens; /* of the primitive being read */
};

/* Every failure is the context's; its code is returned. */
/* A character that no token starts with; its column is counted in characters, not bytes. */
int hydra_override__refuse_character(struct hydra_override_parser *p, size_t at);
int hydra_override__refuse(struct hydra_override_parser *p, const char *what);
int hydra_override__refuse_token(struct hydra_override_parser *p, struct sonde_str text);
/* The token at the parser's place; a character no token starts with is a failure. */
struct hydra_lex hydra_override__peek(struct hydra_override_parser *p);
/* The value there; NULL on failure. Two and more with commas between them are a simple choice
 * sweep. */
struct hydra_datum *hydra_override__value(struct hydra_override_parser *p);

#endif
