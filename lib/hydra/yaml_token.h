/*
 * YAML 1.1 tokens, divided as by PyYAML's scanner.
 *
 * The users' files were written for PyYAML, and it differs from YAML 1.2
 * libraries in things that matter: `[${a}]` and `{a: ???}` are errors, `a: 12:30` is
 * one scalar, tabs and `?` in flow context have rules of their own. So we have
 * our own scanner. Room-private.
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
	bool plain;		/* the scalar has no quotes */
	uint32_t line;		/* counted from 1 */
	struct sonde_str value; /* text of a scalar; name of an anchor or alias; tag with its ! */
};

/* A token that may turn out to be the key of a map, once its ':' comes. */
struct hydra_simple_key {
	bool possible, required; /* required: it must be a key, or the file is wrong */
	size_t number, index;	 /* number of the token, and index of its first character */
	uint32_t line, column;
};

struct hydra_scanner {
	struct hydra_ctx *cx;
	struct sonde_str file;
	uint32_t *ch; /* the text as characters, then four zeros */
	size_t nr_ch;
	size_t at;
	uint32_t line, column; /* counted from 0 */
	int flow_level;
	int indent;
	bool done, allow_simple_key;
	SONDE_VEC(int) indents;
	SONDE_VEC(struct hydra_token) queue; /* tokens not yet taken, from index `head` on */
	size_t head, taken;		     /* taken: number of tokens taken so far */
	SONDE_VEC(struct hydra_simple_key) keys; /* one per flow level */
	struct sonde_buf text;			 /* the text of the scalar that was read last */
};

/* Decodes `data`; refuses invalid UTF-8 and characters that YAML does not allow. */
int hydra_scanner__init(struct hydra_scanner *s, struct hydra_ctx *cx, struct sonde_str file,
	struct sonde_str data);
void hydra_scanner__release(struct hydra_scanner *s);

/* The next token, or NULL after a failure. Valid until the next call. */
const struct hydra_token *hydra_scanner__peek(struct hydra_scanner *s);
/* Takes the next token off the queue. */
int hydra_scanner__next(struct hydra_scanner *s, struct hydra_token *out);

int hydra_scanner__fail(struct hydra_scanner *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Read a scalar (yaml_scalar.c). They put its text into s->text. */
int hydra_scanner__plain(struct hydra_scanner *s);
int hydra_scanner__quoted(struct hydra_scanner *s, bool dbl);
int hydra_scanner__block(struct hydra_scanner *s, bool folded);

/* Read `&name` or `*name`, or `!tag`, into the token; or a line `%…` (yaml_mark.c). */
int hydra_scanner__anchor(struct hydra_scanner *s, struct hydra_token *t);
int hydra_scanner__tag(struct hydra_scanner *s, struct hydra_token *t);
int hydra_scanner__directive(struct hydra_scanner *s);

/* Characters (yaml_chars.c). */
uint32_t hydra_scanner__ch(const struct hydra_scanner *s, size_t ahead);
void hydra_scanner__forward(struct hydra_scanner *s, size_t n);
void hydra_scanner__skip_line(struct hydra_scanner *s); /* moves to the end of the line, before its break */
bool hydra_scanner__is_break(uint32_t c);		/* a line break, not the end */
bool hydra_scanner__is_blankz(uint32_t c);		/* blank, tab, line break or end */
/* Takes a line break; returns it as '\n', U+2028, U+2029, or 0 when there is none. */
uint32_t hydra_scanner__line_break(struct hydra_scanner *s);
/* Skips blanks, comments and line breaks. Behind a line break a key may begin. */
void hydra_scanner__skip_to_token(struct hydra_scanner *s);
/* Whether three times `c` and a blank come next. */
bool hydra_scanner__starts_with(const struct hydra_scanner *s, uint32_t c);
bool hydra_scanner__at_separator(const struct hydra_scanner *s); /* "---" or "...", and a blank */
void hydra_scanner__put(struct sonde_buf *b, uint32_t c);	 /* as UTF-8 */

#endif
