/*
 * YAML 1.1 tokens, as PyYAML's scanner cuts them.
 *
 * The users' files were written for that scanner, and it differs from YAML 1.2
 * libraries where it hurts: `[${a}]` and `{a: ???}` are errors, `a: 12:30` is
 * one scalar, tabs and `?` in flow context have rules of their own. So the
 * scanner is ours. Room-private.
 */
#ifndef HYDRA_YAML_TOKEN_H
#define HYDRA_YAML_TOKEN_H

#include "base/vec.h"
#include "hydra/ctx.h"

enum hydra_token_kind {
	TOKEN_STREAM_END,
	TOKEN_DIRECTIVE,
	TOKEN_DOCUMENT_START,
	TOKEN_DOCUMENT_END,
	TOKEN_BLOCK_SEQUENCE_START,
	TOKEN_BLOCK_MAPPING_START,
	TOKEN_BLOCK_END,
	TOKEN_FLOW_SEQUENCE_START,
	TOKEN_FLOW_SEQUENCE_END,
	TOKEN_FLOW_MAPPING_START,
	TOKEN_FLOW_MAPPING_END,
	TOKEN_FLOW_ENTRY,
	TOKEN_BLOCK_ENTRY,
	TOKEN_KEY,
	TOKEN_VALUE,
	TOKEN_ALIAS,
	TOKEN_ANCHOR,
	TOKEN_TAG,
	TOKEN_SCALAR,
};

struct hydra_token {
	enum hydra_token_kind kind;
	bool plain;		/* scalar without quotes */
	uint32_t line;		/* from 1 */
	struct sonde_str value; /* scalar; name of an anchor or alias; tag with its ! */
};

struct hydra_simple_key {
	bool possible, required;
	size_t number, index;
	uint32_t line, column;
};

struct hydra_scanner {
	struct hydra_ctx *cx;
	struct sonde_str file;
	uint32_t *ch; /* the text as characters, then four zeros */
	size_t nr_ch;
	size_t at;
	uint32_t line, column; /* from 0 */
	int flow_level;
	int indent;
	bool done, allow_simple_key;
	SONDE_VEC(int) indents;
	SONDE_VEC(struct hydra_token) queue; /* from `head` on */
	size_t head, taken;
	SONDE_VEC(struct hydra_simple_key) keys; /* one per flow level */
	struct sonde_buf text;			 /* scratch for scalars */
};

/* Decodes `data`; refuses invalid UTF-8 and characters YAML does not allow. */
int hydra_scanner__init(struct hydra_scanner *s, struct hydra_ctx *cx, struct sonde_str file,
	struct sonde_str data);
void hydra_scanner__release(struct hydra_scanner *s);

/* The next token, or NULL after a failure. Valid until the one after is asked for. */
const struct hydra_token *hydra_scanner__peek(struct hydra_scanner *s);
/* Takes it off the queue. */
int hydra_scanner__next(struct hydra_scanner *s, struct hydra_token *out);

int hydra_scanner__fail(struct hydra_scanner *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Scalars (yaml_scalar.c): each leaves the text in s->text. */
int hydra_scanner__plain(struct hydra_scanner *s);
int hydra_scanner__quoted(struct hydra_scanner *s, bool dbl);
int hydra_scanner__block(struct hydra_scanner *s, bool folded);

/* `&name` or `*name`, `!tag`, into the token; a line `%…`; yaml_mark.c. */
int hydra_scanner__anchor(struct hydra_scanner *s, struct hydra_token *t);
int hydra_scanner__tag(struct hydra_scanner *s, struct hydra_token *t);
int hydra_scanner__directive(struct hydra_scanner *s);

/* Characters (yaml_chars.c). */
uint32_t hydra_scanner__ch(const struct hydra_scanner *s, size_t ahead);
void hydra_scanner__forward(struct hydra_scanner *s, size_t n);
void hydra_scanner__skip_line(struct hydra_scanner *s); /* up to its break */
bool hydra_scanner__is_break(uint32_t c);		/* a line break, not the end */
bool hydra_scanner__is_blankz(uint32_t c);		/* blank, tab, line break or end */
/* Takes a line break; returns it as '\n', U+2028, U+2029, or 0 when there is none. */
uint32_t hydra_scanner__line_break(struct hydra_scanner *s);
/* Past blanks, comments and line breaks; behind one a key may begin. */
void hydra_scanner__skip_to_token(struct hydra_scanner *s);
/* Whether three of `c` and a blank are next. */
bool hydra_scanner__starts_with(const struct hydra_scanner *s, uint32_t c);
bool hydra_scanner__at_separator(const struct hydra_scanner *s); /* "---" or "..." + blank */
void hydra_scanner__put(struct sonde_buf *b, uint32_t c);	 /* as UTF-8 */

#endif
