/*
 * Filters: which launches, metrics and sections the user asked for.
 *
 * Three kinds, each compiled once:
 *
 *   NVTX      include and exclude expressions over the ranges open at a launch:
 *             Nsight Compute's own grammar (`A/`, `[A/B]`, `D@x,y`, `regex:…`)
 *             and plain label globs (`decode*`, `LLM@*`), also as a list `a*;b*`.
 *             A word with none of `/ [ ] ,` and no `regex:` is a label glob: it
 *             takes push/pop and start/end ranges of any domain. `LLM@*` takes
 *             labels that begin with `LLM@`, and every range of a domain `LLM`.
 *             Includes are OR; excludes then subtract; excludes alone start
 *             from everything; no expression at all takes everything.
 *   kernels   patterns over function names: equal to the function name or the
 *             demangled name, a glob with * and ?, or `regex:` (searched in the
 *             demangled name). Exclude wins; without any include all are taken.
 *   names     patterns over metric or section names: exact, glob, `regex:`;
 *             without any word every name is taken.
 *
 * A filter is immutable once built. A bad expression is SONDE_ERR_USAGE with
 * the expression, the position and the reason in the message.
 */
#ifndef SONDE_ATTRIBUTE_FILTER_H
#define SONDE_ATTRIBUTE_FILTER_H

#include "base/err.h"
#include "base/str.h"
#include "base/words.h"

/* The ranges open at a launch, as a filter sees them. All pointers are borrowed. */
struct sonde_open_ranges {
	const struct sonde_open_stack {
		struct sonde_str domain;	/* p NULL = the default domain */
		const struct sonde_str *labels; /* outermost first */
		size_t nr;
	} * stacks;
	size_t nr_stacks;
	const struct sonde_open_start {
		struct sonde_str domain, label;
	} * starts;
	size_t nr_starts;
};

struct sonde_nvtx_filter;
int sonde_nvtx_filter_build(struct sonde_nvtx_filter **out, struct sonde_words include,
	struct sonde_words exclude, struct sonde_err *err);
void sonde_nvtx_filter_free(struct sonde_nvtx_filter *f);
bool sonde_nvtx_filter_takes(
	const struct sonde_nvtx_filter *f, const struct sonde_open_ranges *open);
bool sonde_nvtx_filter_is_empty(const struct sonde_nvtx_filter *f); /* has no expression: takes everything */
/* Whether any name in the filter's expressions matches `label`, whatever domain and nesting the expression asks for. */
bool sonde_nvtx_filter_names(const struct sonde_nvtx_filter *f, struct sonde_str label);
/* Whether any include is written in Nsight's own grammar, and so is not a label glob. */
bool sonde_nvtx_filter_is_nsights(const struct sonde_nvtx_filter *f);

/* Cuts the next expression off a `;` list. Blanks around it are removed, escapes are kept. False at the end of the list. */
bool sonde_nvtx_next_item(struct sonde_str *rest, struct sonde_str *item);

/*
 * Appends to `out`, one per line, the expressions for ncu's command line that select
 * at least what `word` selects (`decode*` → `regex:^decode.*$/` and its start/end twin).
 * Expressions in ncu's own grammar come out unchanged.
 */
int sonde_nvtx_filter_translate(struct sonde_buf *out, const char *word, struct sonde_err *err);

struct sonde_name_filter; /* a filter over kernel names or other names */
int sonde_kernel_filter_build(struct sonde_name_filter **out, struct sonde_words include,
	struct sonde_words exclude, struct sonde_err *err);
bool sonde_kernel_filter_takes(
	const struct sonde_name_filter *f, struct sonde_str function, struct sonde_str demangled);
int sonde_name_filter_build(
	struct sonde_name_filter **out, struct sonde_words words, struct sonde_err *err);
void sonde_name_filter_free(struct sonde_name_filter *f);
bool sonde_name_filter_takes(const struct sonde_name_filter *f, struct sonde_str name);
/* Whether word number `i` alone takes `name`. Used to report words that match nothing. */
bool sonde_name_filter_word_takes(
	const struct sonde_name_filter *f, size_t i, struct sonde_str name);

#endif
