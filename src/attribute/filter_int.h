/*
 * Private to the attribution room: the parts of filters. A pattern (pattern.c) matches one name. An
 * NVTX expression (nvtx_expr.c, which has the grammar) matches the ranges open at a launch. Patterns:
 *
 *   exact     equal bytes
 *   glob      `*` any text, `?` one character (a whole UTF-8 one); matching
 *             takes O(pattern × text) whatever the pattern
 *   regex     searched anywhere in the text (PCRE2, UTF-8 aware, interpreted),
 *             with limits on steps and memory: a text that exceeds them does
 *             not match
 *
 * Patterns live in a pool and are valid until it is released. The pool's arena remembers when memory is short:
 * whoever builds patterns asks it (sonde_arena_status) before the first match.
 */
#ifndef SONDE_ATTRIBUTE_FILTER_INT_H
#define SONDE_ATTRIBUTE_FILTER_INT_H

#include "attribute/filter.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/glob.h"

struct sonde_regex; /* wraps PCRE2 */

struct sonde_pool {
	struct sonde_arena arena;
	struct sonde_regex *regexes; /* list of all regexes, freed with the pool */
};

struct sonde_pattern {
	const struct sonde_regex *regex; /* NULL: a glob */
	const uint16_t *glob;
	size_t nr;
};

/* Longest accepted word in bytes, so that a hostile word costs little. */
#define SONDE_PATTERN_MAX 8192

/* The next two return 0, or SONDE_ERR_USAGE with only the reason in `err`. For a bad regex `err->pos` is the
 * byte of the regex at which it is wrong. */
int sonde_pattern__regex(struct sonde_pattern *out, struct sonde_pool *pool, struct sonde_str text,
	struct sonde_err *err);
/* Builds a word of the command line: `regex:…`, or a glob in which `\` makes `*`, `?` and `\` plain characters. */
int sonde_pattern__word(struct sonde_pattern *out, struct sonde_pool *pool, struct sonde_str word,
	struct sonde_err *err);

bool sonde_pattern__takes(const struct sonde_pattern *p, struct sonde_str text);
/*
 * Replaces every match of a regex in `text` by `with` (`$1` is a group) and appends the result to `out`.
 * Returns 1 if there was a match, 0 if there was none or matching takes too long or the result is too long,
 * or SONDE_ERR_USAGE if `with` is not a valid replacement. `out->failed` if memory is short.
 */
int sonde_pattern__replace(const struct sonde_pattern *p, struct sonde_str text,
	struct sonde_str with, struct sonde_buf *out);
/*
 * Iterates over the named groups of a regex matched against `text`, sorted by name. `*next` is 0 at first. A name
 * that two groups have comes twice; a group that took no part in the match is empty. False after the last, or if
 * the regex does not match.
 */
bool sonde_pattern__group(const struct sonde_pattern *p, struct sonde_str text, uint32_t *next,
	struct sonde_str *name, struct sonde_str *group);
void sonde_pool__release(struct sonde_pool *pool);

/* --- NVTX expressions ------------------------------------------------------------------------- */

enum nvtx_expr_kind {
	NVTX_LABEL, /* a label glob */
	NVTX_LIST,
	NVTX_STACK,
};

struct nvtx_expr {
	uint8_t kind; /* enum nvtx_expr_kind */
	bool has_domain;
	struct sonde_pattern domain;
	struct sonde_pattern label; /* NVTX_LABEL: the whole word */
	struct nvtx_elem *elems;    /* private; NVTX_LABEL with a domain: one element, the part after the @ */
	size_t nr;
};

int nvtx_expr_build(struct nvtx_expr *out, struct sonde_pool *pool, struct sonde_str item,
	struct sonde_err *err);
bool nvtx_expr_takes(const struct nvtx_expr *e, const struct sonde_open_ranges *open);
/* Whether one of the names in the expression matches `label`. */
bool nvtx_expr_names(const struct nvtx_expr *e, struct sonde_str label);
/* Whether a character has no special meaning: not in Nsight's grammar, ours or a regex, and not a control character. */
bool nvtx_is_plain(char c);

#endif
