/*
 * Inside the attribution room: one NVTX expression.
 *
 *   nvtx_lex.c        lists, escapes, and which characters are operators
 *   nvtx_expr.c       text → patterns (pattern.c), and whether open ranges fit
 *   nvtx_translate.c  label globs in Nsight Compute's words
 *   filter.c          include and exclude lists of them; levels.c makes them of regions
 *
 *   EXPR    := ["regex:"] [DOMAIN "@"] (LIST | STACK)    Nsight Compute's grammar
 *   LIST    := NAME ("," NAME)*                          start/end: inside all of them
 *   STACK   := ["["] ELEM ("/" ELEM)* ["/" | "]"]        push/pop; has a "/", "[" or "]"
 *   ELEM    := NAME | "+" | "*"                          + one range between, * any number
 *
 * No domain means the default domain. Empty elements are skipped (`/A`, `A//`).
 * The first element is a NAME. `\` makes one of `@ , [ ] / * + ? ; \` and the
 * blank plain; before any other character it is a plain backslash. After
 * `regex:` domain and names are regular expressions, searched, and a `\` before
 * anything but `@ , / ;` belongs to them; a `[…]` closed within its element is a
 * character class, any other leading `[` or trailing `]` is the stack's end.
 *
 * A word with none of `/ [ ] ,` and no `regex:` is a *label glob*, sonde's own:
 * `decode*` takes every launch inside a push/pop or start/end range so labelled,
 * in any domain. `LLM@*` takes labels that begin with `LLM@`, and also any range
 * of a domain `LLM`; so Nsight's `D@x` and `x` keep what they took, and take
 * push/pop ranges as well.
 */
#ifndef SONDE_ATTRIBUTE_NVTX_EXPR_INT_H
#define SONDE_ATTRIBUTE_NVTX_EXPR_INT_H

#include "attribute/filter.h"
#include "attribute/pattern_int.h"

enum nvtx_expr_kind {
	NVTX_LABEL, /* a label glob */
	NVTX_LIST,
	NVTX_STACK,
};

struct nvtx_elem {
	uint8_t kind; /* 0 = name, '+' or '*' */
	struct sonde_pattern name;
};

struct nvtx_expr {
	uint8_t kind; /* enum nvtx_expr_kind */
	bool has_domain;
	struct sonde_pattern domain;
	struct sonde_pattern label; /* NVTX_LABEL: the whole word */
	struct nvtx_elem *elems;    /* NVTX_LABEL with a domain: one, what follows the @ */
	size_t nr;
};

/* One character of an expression once escapes are taken off. */
struct nvtx_char {
	char c;
	char role; /* 0 = itself, else the operator it is: one of @ , [ ] / * + ? */
	uint32_t pos;
};

/* An expression as text: the characters after `regex:`. */
struct nvtx_text {
	struct sonde_str source; /* with `regex:`, for messages */
	bool is_regex;
	struct nvtx_char *at;
	size_t nr;
};

/* Takes escapes off and finds the operators. `out->at` is in the pool's arena. */
int nvtx_lex(struct nvtx_text *out, struct sonde_pool *pool, struct sonde_str item,
	struct sonde_err *err);
bool nvtx_is_label(const struct nvtx_text *t);
/* Whether a character is itself in Nsight's grammar, in ours, in a regular expression, on a line. */
bool nvtx_is_plain(char c);
/* The first character with that role, or t->nr. */
size_t nvtx_find_role(const struct nvtx_text *t, size_t from, const char *roles);
/* "NVTX expression 'E', character N: reason" */
int nvtx_bad(const struct nvtx_text *t, size_t index, struct sonde_err *err, const char *reason);

int nvtx_expr_build(struct nvtx_expr *out, struct sonde_pool *pool, struct sonde_str item,
	struct sonde_err *err);
bool nvtx_expr_takes(const struct nvtx_expr *e, const struct sonde_open_ranges *open);
/* Whether one of its names takes `label`. */
bool nvtx_expr_names(const struct nvtx_expr *e, struct sonde_str label);

#endif
