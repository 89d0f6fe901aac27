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
 *             labels that begin so, and every range of a domain `LLM`.
 *             Includes are OR; excludes then subtract; excludes alone start
 *             from everything; no expression at all takes everything.
 *   kernels   patterns over function names: equal to the function name or the
 *             demangled name, a glob with * and ?, or `regex:` (searched in the
 *             demangled name). Exclude wins; no include takes all.
 *   names     patterns over metric or section names: exact, glob, `regex:`;
 *             no word at all takes every name.
 *
 * A filter is immutable once built. A bad expression is SONDE_ERR_USAGE with
 * the expression, the position and the reason in the message.
 */
#ifndef SONDE_ATTRIBUTE_FILTER_H
#define SONDE_ATTRIBUTE_FILTER_H

#include "base/err.h"
#include "base/str.h"
#include "base/words.h"

/* The ranges open at a launch, as a filter sees them. Everything is borrowed. */
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
bool sonde_nvtx_filter_is_empty(const struct sonde_nvtx_filter *f); /* takes everything */
/* Whether a name in any of its expressions takes `label`, wherever that range is open. */
bool sonde_nvtx_filter_names(const struct sonde_nvtx_filter *f, struct sonde_str label);
/* Whether an include is in Nsight's own grammar, not a label glob. */
bool sonde_nvtx_filter_is_nsights(const struct sonde_nvtx_filter *f);

/* The next expression of a `;` list, blanks off, escapes still in; false at the end. */
bool sonde_nvtx_next_item(struct sonde_str *rest, struct sonde_str *item);

/*
 * The expressions for ncu's command line that select at least what `word`
 * selects (`decode*` → `regex:^decode.*$/` and its start/end twin); appended to
 * `out` one per line. Expressions in ncu's own grammar come out untouched.
 */
int sonde_nvtx_filter_translate(struct sonde_buf *out, const char *word, struct sonde_err *err);

struct sonde_name_filter; /* of kernels or of other names */
int sonde_kernel_filter_build(struct sonde_name_filter **out, struct sonde_words include,
	struct sonde_words exclude, struct sonde_err *err);
bool sonde_kernel_filter_takes(
	const struct sonde_name_filter *f, struct sonde_str function, struct sonde_str demangled);
int sonde_name_filter_build(
	struct sonde_name_filter **out, struct sonde_words words, struct sonde_err *err);
void sonde_name_filter_free(struct sonde_name_filter *f);
bool sonde_name_filter_takes(const struct sonde_name_filter *f, struct sonde_str name);
/* Whether word number `i` alone takes `name`: to report words that match nothing. */
bool sonde_name_filter_word_takes(
	const struct sonde_name_filter *f, size_t i, struct sonde_str name);

#endif
