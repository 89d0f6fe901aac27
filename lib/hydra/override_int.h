/* The parser of one override line, `KEY=VALUE`: override.c reads the key, override_value.c the value. */
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
	SONDE_VEC(struct hydra_lex) tokens; /* the tokens of the primitive that is being read */
};

/*
 * These record a failure in the context and return its code. refuse_character is for a character that no token starts
 * with: the message has its column, counted in characters, not bytes.
 */
int hydra_override__refuse_character(struct hydra_override_parser *p, size_t at);
int hydra_override__refuse(struct hydra_override_parser *p, const char *what);
int hydra_override__refuse_token(struct hydra_override_parser *p, struct sonde_str text);
/* The token at the current place. A character that no token starts with is a failure. */
struct hydra_lex hydra_override__peek(struct hydra_override_parser *p);
/* Reads the value at the current place; NULL on failure. Several values with commas between them are a simple choice sweep. */
struct hydra_datum *hydra_override__value(struct hydra_override_parser *p);

#endif
