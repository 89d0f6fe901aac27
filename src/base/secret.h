/*
 * Secrets in command lines and environments: which words must not be recorded.
 *
 * A name is that of a secret when it is in capitals and contains TOKEN, SECRET,
 * PASSWORD or KEY (HF_TOKEN, AWS_ACCESS_KEY_ID), or in small letters and ends
 * with such a word (db.password, --api-key; not key_dim or tokenizer). Guessing
 * by name finds most and not all; who must be sure keeps secrets off command
 * lines.
 *
 * The inline functions allocate nothing: the injected library uses them as well.
 */
#ifndef SONDE_BASE_SECRET_H
#define SONDE_BASE_SECRET_H

#include "base/str.h"

#include <string.h>

#define SONDE_SECRET_MASK "***"

static inline bool sonde_secret_is_small(char c)
{
	return c >= 'a' && c <= 'z';
}

static inline bool sonde_secret_is_letter(char c)
{
	return sonde_secret_is_small(c) || (c >= 'A' && c <= 'Z');
}

/* The word, in capitals, at p in any case; without a locale, of which the library has none. */
static inline bool sonde_secret_at(const char *p, const char *word)
{
	for (; *word; p++, word++)
		if ((sonde_secret_is_small(*p) ? *p - 'a' + 'A' : *p) != *word)
			return false;
	return true;
}

static inline bool sonde_secret_is_name(const char *p, size_t n)
{
	static const char *const words[] = {
		"TOKEN", "SECRET", "PASSWORD", "KEY", "PASSWD", "APIKEY"};
	bool is_small = false;
	size_t i, k, len;

	for (i = 0; i < n; i++)
		is_small |= sonde_secret_is_small(p[i]);
	for (k = 0; k < sizeof(words) / sizeof(*words); k++) {
		len = strlen(words[k]);
		for (i = 0; i + len <= n; i++) {
			/* Small: up to the end, and with no letter in front of it. */
			bool is_word =
				i + len == n && (i == 0 || !sonde_secret_is_letter(p[i - 1]));

			if ((!is_small || is_word) && sonde_secret_at(p + i, words[k]))
				return true;
		}
	}
	return false;
}

/*
 * How many bytes of a word of a command line may be recorded: all n, those up to
 * the `=` of `--api-key=…`, or none of what follows a word `--api-key`, which
 * `*is_value` carries from word to word (start with false). Of a dotted name
 * (`env.API_KEY=…`) the last part counts.
 */
static inline size_t sonde_secret_visible(const char *p, size_t n, bool *is_value)
{
	bool is_flag = n > 1 && p[0] == '-', was_flag = *is_value;
	size_t i, start = 0;

	*is_value = false;
	if (was_flag && !is_flag)
		return 0;
	for (i = 0; i < n; i++) {
		if (p[i] == '=' && sonde_secret_is_name(p + start, i - start))
			return i + 1;
		if (p[i] == '=' || p[i] == '.' || (p[i] == '-' && i == start))
			start = i + 1;
	}
	*is_value = is_flag && !memchr(p, '=', n) && sonde_secret_is_name(p + start, n - start);
	return n;
}

/* A command line with blanks between its words, masked; in the arena if it had to be changed. */
struct sonde_arena;
struct sonde_str sonde_secret_mask_line(struct sonde_arena *arena, struct sonde_str line);

#endif
