/*
 * Inside the attribution room: what filters are made of. A pattern (pattern.c) is over one name, an
 * NVTX expression (nvtx_expr.c, which has the grammar) over the ranges open at a launch. Patterns:
 *
 *   exact     equal bytes
 *   glob      `*` any text, `?` one character (a whole UTF-8 one); matched in
 *             O(pattern × text), whatever the pattern
 *   regex     searched anywhere in the text (PCRE2, UTF-8 aware, interpreted),
 *             with limits on steps and memory: a text that would need more does
 *             not match
 *
 * Patterns live in a pool and are valid until it is released.
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
	struct sonde_regex *regexes; /* all of them, to free */
};

struct sonde_pattern {
	const struct sonde_regex *regex; /* NULL: a glob */
	const uint16_t *glob;
	size_t nr;
};

/* The longest word taken, so that a hostile one costs little. */
#define SONDE_PATTERN_MAX 8192

/* Each returns 0, SONDE_ERR_NOMEM, or SONDE_ERR_USAGE with only the reason in `err`; for a regex
 * `err->pos` is the byte of `text` where it went wrong. */
int sonde_pattern__regex(struct sonde_pattern *out, struct sonde_pool *pool, struct sonde_str text,
	struct sonde_err *err);
/* A word of the command line: `regex:…`, or a glob where `\` makes `*`, `?` and `\` plain. */
int sonde_pattern__word(struct sonde_pattern *out, struct sonde_pool *pool, struct sonde_str word,
	struct sonde_err *err);

bool sonde_pattern__takes(const struct sonde_pattern *p, struct sonde_str text);
/*
 * Replaces every match of a regex in `text` by `with` (`$1` a group), appended to `out`. 1 when
 * there was one, 0 when not or when it takes too long or comes out too long, SONDE_ERR_NOMEM, or
 * SONDE_ERR_USAGE for a replacement that is none.
 */
int sonde_pattern__replace(const struct sonde_pattern *p, struct sonde_str text,
	struct sonde_str with, struct sonde_buf *out);
/*
 * The named groups of a regex that takes `text`, one after the other by name (`*next` 0 at first); a name that
 * is there twice comes twice, a group that is not part of the match is empty. False after the last.
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
	struct nvtx_elem *elems;    /* private; NVTX_LABEL with a domain: one, what follows the @ */
	size_t nr;
};

int nvtx_expr_build(struct nvtx_expr *out, struct sonde_pool *pool, struct sonde_str item,
	struct sonde_err *err);
bool nvtx_expr_takes(const struct nvtx_expr *e, const struct sonde_open_ranges *open);
/* Whether one of its names takes `label`. */
bool nvtx_expr_names(const struct nvtx_expr *e, struct sonde_str label);
/* Whether a character is itself in Nsight's grammar, in ours, in a regular expression, on a line. */
bool nvtx_is_plain(char c);

#endif
