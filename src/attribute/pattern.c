#include "attribute/filter_int.h"

#include "base/alloc.h"

#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

/* Matching a label takes microseconds. These limits stop a hostile pattern after a few milliseconds. */
#define MATCH_STEPS    200000
#define MATCH_DEPTH    20000
#define MATCH_HEAP_KIB 4096

struct sonde_regex {
	struct sonde_regex *next;
	pcre2_general_context *general;
	pcre2_match_context *limits;
	pcre2_code *code;
	pcre2_match_data *match;
};

static void *regex_alloc(size_t n, void *unused)
{
	(void)unused;
	return sonde_malloc(n);
}

static void regex_free(void *p, void *unused)
{
	(void)unused;
	sonde_free(p);
}

static bool is_utf8(struct sonde_str s)
{
	uint32_t cp;
	size_t i = 0;
	unsigned len;

	while (i < s.n) {
		len = sonde_utf8_decode(s, i, &cp);
		if (!len)
			return false;
		i += len;
	}
	return true;
}

/* Fills in `code` and `match`; one of them stays NULL if memory is short or the regex is wrong. */
static int compile_regex(struct sonde_regex *re, struct sonde_str text, struct sonde_err *err)
{
	uint32_t options = PCRE2_NEVER_BACKSLASH_C | PCRE2_DUPNAMES, nr_names = 0, nr_groups = 0;
	pcre2_compile_context *context;
	PCRE2_SIZE at = 0;
	char why[160];
	int code = 0;

	if (is_utf8(text))
		options |= PCRE2_UTF | PCRE2_MATCH_INVALID_UTF;
	context = pcre2_compile_context_create(re->general);
	if (!context)
		return 0;
	pcre2_set_max_pattern_length(context, SONDE_PATTERN_MAX);
	re->code = pcre2_compile(
		(PCRE2_SPTR)(text.p ? text.p : ""), text.n, options, &code, &at, context);
	pcre2_compile_context_free(context);
	if (!re->code && (code == PCRE2_ERROR_HEAP_FAILED || code == PCRE2_ERROR_NOMEMORY))
		return 0;
	if (!re->code) {
		if (pcre2_get_error_message(code, (PCRE2_UCHAR *)why, sizeof(why)) < 0)
			why[0] = '\0';
		sonde_err_set(err, SONDE_ERR_USAGE, "bad regular expression: %s", why);
		if (err)
			err->pos = at;
		return SONDE_ERR_USAGE;
	}
	/* We read named groups only. A regex without them needs no room for the positions of its groups. */
	pcre2_pattern_info(re->code, PCRE2_INFO_NAMECOUNT, &nr_names);
	if (nr_names)
		pcre2_pattern_info(re->code, PCRE2_INFO_CAPTURECOUNT, &nr_groups);
	re->match = pcre2_match_data_create(nr_groups + 1, re->general);
	return 0;
}

int sonde_pattern__regex(struct sonde_pattern *out, struct sonde_pool *pool, struct sonde_str text,
	struct sonde_err *err)
{
	struct sonde_regex *re = sonde_arena_calloc(&pool->arena, 1, sizeof(*re));
	int rc = 0;

	if (!re)
		return 0;
	re->next = pool->regexes;
	pool->regexes = re; /* freed with the pool from here on */
	*out = (struct sonde_pattern){.regex = re};
	re->general = pcre2_general_context_create(regex_alloc, regex_free, NULL);
	re->limits = re->general ? pcre2_match_context_create(re->general) : NULL;
	if (re->limits) {
		pcre2_set_match_limit(re->limits, MATCH_STEPS);
		pcre2_set_depth_limit(re->limits, MATCH_DEPTH);
		pcre2_set_heap_limit(re->limits, MATCH_HEAP_KIB);
		rc = compile_regex(re, text, err);
	}
	pool->arena.failed |= rc == 0 && !re->match;
	return rc;
}

int sonde_pattern__word(struct sonde_pattern *out, struct sonde_pool *pool, struct sonde_str word,
	struct sonde_err *err)
{
	static const char escapable[] = "*?\\";
	uint16_t *glob;
	size_t i, nr = 0;

	if (word.n > SONDE_PATTERN_MAX)
		return sonde_err_set(
			err, SONDE_ERR_USAGE, "longer than %d bytes", SONDE_PATTERN_MAX);
	if (sonde_str_starts(word, "regex:"))
		return sonde_pattern__regex(
			out, pool, (struct sonde_str){word.p + 6, word.n - 6}, err);
	glob = sonde_arena_calloc(&pool->arena, word.n, sizeof(*glob));
	for (i = 0; glob && i < word.n; i++) {
		char c = word.p[i];

		if (c == '\\' && i + 1 < word.n && memchr(escapable, word.p[i + 1], 3))
			glob[nr++] = (unsigned char)word.p[++i];
		else
			glob[nr++] = c == '*'	? SONDE_GLOB_ANY
				     : c == '?' ? SONDE_GLOB_ONE
						: (unsigned char)c;
	}
	*out = (struct sonde_pattern){.glob = glob, .nr = nr};
	return 0;
}

static bool regex_takes(const struct sonde_regex *re, struct sonde_str text)
{
	const char *p = text.p ? text.p : "";

	return pcre2_match(re->code, (PCRE2_SPTR)p, text.n, 0, PCRE2_NO_JIT, re->match,
		       re->limits) >= 0;
}

bool sonde_pattern__group(const struct sonde_pattern *p, struct sonde_str text, uint32_t *next,
	struct sonde_str *name, struct sonde_str *group)
{
	const struct sonde_regex *re = p->regex;
	uint32_t nr = 0, size = 0, number;
	PCRE2_SPTR table;
	PCRE2_SIZE *at;

	pcre2_pattern_info(re->code, PCRE2_INFO_NAMECOUNT, &nr);
	if (*next >= nr || (!*next && !regex_takes(re, text)))
		return false;
	pcre2_pattern_info(re->code, PCRE2_INFO_NAMEENTRYSIZE, &size);
	pcre2_pattern_info(re->code, PCRE2_INFO_NAMETABLE, &table);
	table += (size_t)size * (*next)++; /* an entry is two bytes with the number of the group, then its name */
	number = (uint32_t)table[0] << 8 | table[1];
	at = pcre2_get_ovector_pointer(re->match) + (size_t)2 * number;
	*name = sonde_str_from((const char *)table + 2);
	*group = at[0] == PCRE2_UNSET || at[0] > at[1] ? (struct sonde_str){NULL, 0}
						       : (struct sonde_str){text.p + at[0], at[1] - at[0]};
	return true;
}

/* Whether a failed substitution is the replacement's fault, not the text's. */
static bool is_bad_replacement(int code)
{
	return code == PCRE2_ERROR_BADREPLACEMENT || code == PCRE2_ERROR_BADREPESCAPE ||
	       code == PCRE2_ERROR_REPMISSINGBRACE || code == PCRE2_ERROR_BADSUBSTITUTION ||
	       code == PCRE2_ERROR_NOSUBSTRING || code == PCRE2_ERROR_UNAVAILABLE ||
	       code == PCRE2_ERROR_UNSET;
}

int sonde_pattern__replace(const struct sonde_pattern *p, struct sonde_str text,
	struct sonde_str with, struct sonde_buf *out)
{
	const struct sonde_regex *re = p->regex;
	PCRE2_SIZE n = text.n * 2 + with.n * 4 + 256; /* if the result is longer, the text stays as it is */
	char *to;
	int rc;

	if (!regex_takes(re, text))
		return 0;
	to = sonde_malloc(n);
	if (!to) {
		out->failed = true;
		return 0;
	}
	rc = pcre2_substitute(re->code, (PCRE2_SPTR)(text.p ? text.p : ""), text.n, 0,
		PCRE2_SUBSTITUTE_GLOBAL | PCRE2_SUBSTITUTE_UNSET_EMPTY, NULL, re->limits,
		(PCRE2_SPTR)(with.p ? with.p : ""), with.n, (PCRE2_UCHAR *)to, &n);
	if (rc > 0)
		sonde_buf_add(out, to, n);
	sonde_free(to);
	if (rc > 0)
		return 1;
	return is_bad_replacement(rc) ? SONDE_ERR_USAGE : 0;
}

bool sonde_pattern__takes(const struct sonde_pattern *p, struct sonde_str text)
{
	return p->regex ? regex_takes(p->regex, text) : sonde_glob_takes(p->glob, p->nr, text);
}

void sonde_pool__release(struct sonde_pool *pool)
{
	while (pool->regexes) {
		struct sonde_regex *re = pool->regexes;

		pool->regexes = re->next;
		pcre2_match_data_free(re->match);
		pcre2_code_free(re->code);
		pcre2_match_context_free(re->limits);
		pcre2_general_context_free(re->general);
	}
	sonde_arena_release(&pool->arena);
}
