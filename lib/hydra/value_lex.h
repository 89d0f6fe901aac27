/*
 * Tokens of values, shared by the override grammar and by the arguments of
 * resolvers in interpolations. The longest token wins; blanks around
 * punctuation belong to the punctuation. Room-private.
 */
#ifndef HYDRA_VALUE_LEX_H
#define HYDRA_VALUE_LEX_H

#include "hydra/datum.h"

enum hydra_lex_kind {
	LEX_END,
	LEX_ERROR,
	LEX_POPEN,
	LEX_COMMA,
	LEX_PCLOSE,
	LEX_LBRACKET,
	LEX_RBRACKET,
	LEX_LBRACE,
	LEX_RBRACE,
	LEX_COLON,
	LEX_EQUAL,
	LEX_FLOAT,
	LEX_INT,
	LEX_BOOL,
	LEX_NULL,
	LEX_CHAR,
	LEX_ID,
	LEX_ESC,
	LEX_WS,
	LEX_QUOTED, /* in an argument: just the opening quote */
	LEX_INTERP, /* in an argument: just the opening ${ and blanks */
};

struct hydra_lex {
	enum hydra_lex_kind kind;
	struct sonde_str text;
};

/* The token at text[at]. `in_interp`: an argument of a resolver rather than an override's value. */
struct hydra_lex hydra_lex__at(struct sonde_str text, size_t at, bool in_interp);

/* The length of the identifier or integer at text[at]; 0 when there is none. */
size_t hydra_lex__ident(struct sonde_str text, size_t at);
size_t hydra_lex__int(struct sonde_str text, size_t at); /* without a sign */

/* Whether a token may be part of unquoted text, or of a dict's key. */
bool hydra_lex__is_primitive(enum hydra_lex_kind kind, bool is_key);
/*
 * The value of an unquoted primitive made of these tokens: one token keeps its
 * type, several make a string.
 */
struct hydra_datum *hydra_lex__primitive(
	struct hydra_ctx *cx, const struct hydra_lex *tokens, size_t nr);
/* Appends `text` with the backslash of every escape dropped. */
void hydra_lex__unescape(struct sonde_buf *b, struct sonde_str text);

#endif
