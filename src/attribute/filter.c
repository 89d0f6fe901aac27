#include "attribute/filter.h"

#include "attribute/filter_int.h"
#include "base/alloc.h"
#include "base/vec.h"

#include <inttypes.h>
#include <stdio.h>

struct sonde_nvtx_filter {
	struct sonde_pool pool;
	SONDE_VEC(struct nvtx_expr) include;
	SONDE_VEC(struct nvtx_expr) exclude;
};

/* Patterns over names, in the order of the words. */
struct patterns {
	struct sonde_pattern *at;
	size_t nr;
};

struct sonde_name_filter {
	struct sonde_pool pool;
	struct patterns include, exclude;
};

/* Builds the items of one word into `list`, an include or exclude list of the filter. */
static int add_word(
	struct sonde_nvtx_filter *f, bool is_include, const char *word, struct sonde_err *err)
{
	struct sonde_str rest = sonde_str_from(word), item;
	bool any = false;
	int rc = 0;

	while (rc == 0 && sonde_nvtx_next_item(&rest, &item)) {
		struct nvtx_expr *e;

		if (!item.n)
			continue;
		any = true;
		e = is_include ? sonde_push(&f->pool.arena, &f->include) : sonde_push(&f->pool.arena, &f->exclude);
		rc = nvtx_expr_build(e, &f->pool, item, err);
	}
	if (rc == 0 && !any)
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"NVTX expression '%s' is empty: write a range, such as decode*", word);
	return rc;
}

int sonde_nvtx_filter_build(struct sonde_nvtx_filter **out, struct sonde_words include,
	struct sonde_words exclude, struct sonde_err *err)
{
	struct sonde_nvtx_filter *f = sonde_calloc(1, sizeof(*f));
	size_t i;
	int rc = 0;

	*out = NULL;
	if (!f)
		return sonde_err_nomem(err);
	for (i = 0; i < include.nr && rc == 0; i++)
		rc = add_word(f, true, include.at[i], err);
	for (i = 0; i < exclude.nr && rc == 0; i++)
		rc = add_word(f, false, exclude.at[i], err);
	rc = rc ? rc : sonde_arena_status(&f->pool.arena, err);
	if (rc)
		sonde_nvtx_filter_free(f);
	else
		*out = f;
	return rc;
}

void sonde_nvtx_filter_free(struct sonde_nvtx_filter *f)
{
	if (!f)
		return;
	sonde_pool__release(&f->pool);
	sonde_free(f);
}

bool sonde_nvtx_filter_takes(
	const struct sonde_nvtx_filter *f, const struct sonde_open_ranges *open)
{
	bool taken = f->include.nr == 0;
	size_t i;

	for (i = 0; i < f->include.nr && !taken; i++)
		taken = nvtx_expr_takes(&f->include.at[i], open);
	for (i = 0; i < f->exclude.nr && taken; i++)
		taken = !nvtx_expr_takes(&f->exclude.at[i], open);
	return taken;
}

bool sonde_nvtx_filter_is_empty(const struct sonde_nvtx_filter *f)
{
	return f->include.nr == 0 && f->exclude.nr == 0;
}

bool sonde_nvtx_filter_names(const struct sonde_nvtx_filter *f, struct sonde_str label)
{
	size_t i;

	for (i = 0; i < f->include.nr; i++)
		if (nvtx_expr_names(&f->include.at[i], label))
			return true;
	for (i = 0; i < f->exclude.nr; i++)
		if (nvtx_expr_names(&f->exclude.at[i], label))
			return true;
	return false;
}

bool sonde_nvtx_filter_is_nsights(const struct sonde_nvtx_filter *f)
{
	size_t i;

	for (i = 0; i < f->include.nr; i++)
		if (f->include.at[i].kind != NVTX_LABEL)
			return true;
	return false;
}

/* "kernel pattern 'regex:a(', character 9: reason". `why->pos` counts from 0 after `regex:`. */
static void refuse_pattern(
	struct sonde_err *err, const char *what, struct sonde_str word, const struct sonde_err *why)
{
	char place[48] = "";

	if (why->pos != SONDE_NO_POS)
		snprintf(place, sizeof(place), ", character %" PRIu64, why->pos + 7);
	sonde_err_set(err, SONDE_ERR_USAGE, "%s '%.*s'%s: %s", what, SONDE_STR_ARG(word), place,
		why->msg);
}

/* `what` says in messages what a word is: "kernel pattern". */
static int build_patterns(struct patterns *out, struct sonde_pool *pool, struct sonde_words words,
	const char *what, struct sonde_err *err)
{
	int rc = 0;

	out->at = sonde_arena_calloc(&pool->arena, words.nr, sizeof(*out->at));
	if (sonde_arena_status(&pool->arena, err))
		return SONDE_ERR_NOMEM;
	for (; out->nr < words.nr && rc == 0; out->nr++) {
		struct sonde_str word = sonde_str_trim(sonde_str_from(words.at[out->nr]));
		struct sonde_err why = {0};

		if (!word.n)
			return sonde_err_set(err, SONDE_ERR_USAGE,
				"a %s is empty: write a name, a glob or regex:...", what);
		rc = sonde_pattern__word(&out->at[out->nr], pool, word, &why);
		if (rc)
			refuse_pattern(err, what, word, &why);
	}
	return rc;
}

static int build_names(struct sonde_name_filter **out, struct sonde_words include,
	struct sonde_words exclude, const char *what, struct sonde_err *err)
{
	struct sonde_name_filter *f = sonde_calloc(1, sizeof(*f));
	int rc;

	*out = NULL;
	if (!f)
		return sonde_err_nomem(err);
	rc = build_patterns(&f->include, &f->pool, include, what, err);
	if (rc == 0)
		rc = build_patterns(&f->exclude, &f->pool, exclude, what, err);
	rc = rc ? rc : sonde_arena_status(&f->pool.arena, err);
	if (rc)
		sonde_name_filter_free(f);
	else
		*out = f;
	return rc;
}

int sonde_kernel_filter_build(struct sonde_name_filter **out, struct sonde_words include,
	struct sonde_words exclude, struct sonde_err *err)
{
	return build_names(out, include, exclude, "kernel pattern", err);
}

int sonde_name_filter_build(
	struct sonde_name_filter **out, struct sonde_words words, struct sonde_err *err)
{
	return build_names(out, words, (struct sonde_words){NULL, 0}, "name pattern", err);
}

void sonde_name_filter_free(struct sonde_name_filter *f)
{
	if (!f)
		return;
	sonde_pool__release(&f->pool);
	sonde_free(f);
}

static bool any_takes(
	const struct patterns *list, struct sonde_str function, struct sonde_str demangled)
{
	size_t i;

	for (i = 0; i < list->nr; i++)
		if (sonde_pattern__takes(&list->at[i], demangled) ||
			(!list->at[i].regex && sonde_pattern__takes(&list->at[i], function)))
			return true;
	return false;
}

bool sonde_kernel_filter_takes(
	const struct sonde_name_filter *f, struct sonde_str function, struct sonde_str demangled)
{
	return (f->include.nr == 0 || any_takes(&f->include, function, demangled)) &&
	       !any_takes(&f->exclude, function, demangled);
}

bool sonde_name_filter_takes(const struct sonde_name_filter *f, struct sonde_str name)
{
	return sonde_kernel_filter_takes(f, name, name);
}

bool sonde_name_filter_word_takes(
	const struct sonde_name_filter *f, size_t i, struct sonde_str name)
{
	return i < f->include.nr && sonde_pattern__takes(&f->include.at[i], name);
}
