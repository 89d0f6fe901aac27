/* The type of a plain scalar: YAML 1.1's implicit types, matched by hand. */
#include "hydra/yaml.h"

#include <string.h>

static bool in_words(struct sonde_str s, const char *const *words)
{
	for (; *words; words++)
		if (sonde_str_is(s, *words))
			return true;
	return false;
}

static bool is_digit(struct sonde_str s, size_t i)
{
	return i < s.n && s.p[i] >= '0' && s.p[i] <= '9';
}

static bool is_at(struct sonde_str s, size_t i, const char *set)
{
	return i < s.n && s.p[i] && strchr(set, s.p[i]);
}

static size_t skip_set(struct sonde_str s, size_t i, const char *set)
{
	while (is_at(s, i, set))
		i++;
	return i;
}

static size_t skip_sign(struct sonde_str s)
{
	return is_at(s, 0, "+-") ? 1 : 0;
}

#define DIGITS	"0123456789"
#define DIGITS_ "0123456789_"

/* Skips (":" [0-5]? digit)+ from i on; returns where it ends, i = there is none. */
static size_t skip_base60(struct sonde_str s, size_t i)
{
	while (is_at(s, i, ":")) {
		if (is_at(s, i + 1, "012345") && is_digit(s, i + 2))
			i += 3;
		else if (is_digit(s, i + 1))
			i += 2;
		else
			break;
	}
	return i;
}

static bool is_int(struct sonde_str s)
{
	size_t i = skip_sign(s);

	if (i >= s.n)
		return false;
	if (is_at(s, i, "0")) {
		if (i + 1 == s.n)
			return true;
		if (is_at(s, i + 1, "b"))
			return i + 2 < s.n && skip_set(s, i + 2, "01_") == s.n;
		if (is_at(s, i + 1, "x"))
			return i + 2 < s.n && skip_set(s, i + 2, DIGITS_ "abcdefABCDEF") == s.n;
		return skip_set(s, i + 1, "01234567_") == s.n;
	}
	if (!is_digit(s, i))
		return false;
	i = skip_set(s, i, DIGITS_);
	return i == s.n || skip_base60(s, i) == s.n;
}

/* Whether the text from i to its end is an exponent; with `sign` it must have a sign. */
static bool is_exponent(struct sonde_str s, size_t i, bool sign)
{
	if (!is_at(s, i, "eE"))
		return false;
	i++;
	if (is_at(s, i, "+-"))
		i++;
	else if (sign)
		return false;
	return is_digit(s, i) && skip_set(s, i, DIGITS) == s.n;
}

static bool is_float(struct sonde_str s)
{
	static const char *const infinities[] = {".inf", ".Inf", ".INF", NULL};
	static const char *const nans[] = {".nan", ".NaN", ".NAN", NULL};
	size_t sign = skip_sign(s), i = sign;
	struct sonde_str rest = {s.p + sign, s.n - sign};

	if (in_words(rest, infinities) || in_words(s, nans))
		return true;
	if (is_at(s, 0, ".") && is_digit(s, 1)) {
		i = skip_set(s, 1, DIGITS_);
		return i == s.n || is_exponent(s, i, true);
	}
	if (!is_digit(s, i))
		return false;
	i = skip_set(s, i, DIGITS_);
	if (is_at(s, i, ":")) {
		i = skip_base60(s, i);
		return is_at(s, i, ".") && skip_set(s, i + 1, DIGITS_) == s.n;
	}
	if (!is_at(s, i, "."))
		return false;
	i = skip_set(s, i + 1, DIGITS_);
	return i == s.n || is_exponent(s, i, true);
}

/* digits(_digits)* */
static size_t skip_grouped(struct sonde_str s, size_t i)
{
	i = skip_set(s, i, DIGITS);
	while (is_at(s, i, "_") && is_digit(s, i + 1))
		i = skip_set(s, i + 1, DIGITS);
	return i;
}

static bool is_loose_float(struct sonde_str s)
{
	size_t i = skip_sign(s);

	if (!is_digit(s, i))
		return false;
	i = skip_grouped(s, i);
	if (is_at(s, i, ".")) {
		i = skip_set(s, i + 1, DIGITS_);
		return i == s.n || is_exponent(s, i, false);
	}
	return is_exponent(s, i, false);
}

/*
 * Matches a pattern at i and returns where the match ends. In the pattern, `d` is a digit, `o` an optional digit, `w` any
 * number of blanks, and any other character itself. SIZE_MAX = no match; so is any match that begins at SIZE_MAX.
 */
static size_t match(struct sonde_str s, size_t i, const char *pattern)
{
	for (; *pattern && i <= s.n; pattern++) {
		if (*pattern == 'w')
			i = skip_set(s, i, " \t");
		else if (*pattern == 'd' || *pattern == 'o')
			i = is_digit(s, i) ? i + 1 : *pattern == 'o' ? i : SIZE_MAX;
		else
			i = i < s.n && s.p[i] == *pattern ? i + 1 : SIZE_MAX;
	}
	return i <= s.n ? i : SIZE_MAX;
}

/* [blanks] "Z" | [blanks] sign hours [":" minutes] */
static bool is_zone(struct sonde_str s, size_t i)
{
	i = skip_set(s, i, " \t");
	if (is_at(s, i, "Z"))
		return i + 1 == s.n;
	return is_at(s, i, "+-") &&
	       (match(s, i + 1, "do") == s.n || match(s, i + 1, "do:dd") == s.n);
}

/* 2001-12-14, or with a time of day and a zone behind it. */
static bool is_timestamp(struct sonde_str s)
{
	size_t i = match(s, 0, "dddd-do-do");

	if (match(s, 0, "dddd-dd-dd") == s.n)
		return true;
	if (i == SIZE_MAX || !is_at(s, i, "Tt \t"))
		return false;
	i = match(s, i + 1, is_at(s, i, "Tt") ? "do:dd:dd" : "wdo:dd:dd");
	if (i != SIZE_MAX && is_at(s, i, "."))
		i = skip_set(s, i + 1, DIGITS);
	return i != SIZE_MAX && (i == s.n || is_zone(s, i));
}

enum hydra_yaml_tag hydra_yaml__resolve(struct sonde_str s)
{
	static const char *const bools[] = {"yes", "Yes", "YES", "no", "No", "NO", "true", "True",
		"TRUE", "false", "False", "FALSE", "on", "On", "ON", "off", "Off", "OFF", NULL};
	static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};

	if (in_words(s, nulls))
		return YAML_TAG_NULL;
	if (in_words(s, bools))
		return YAML_TAG_BOOL;
	if (sonde_str_is(s, "<<"))
		return YAML_TAG_MERGE;
	if (sonde_str_is(s, "="))
		return YAML_TAG_VALUE;
	if (is_float(s))
		return YAML_TAG_FLOAT;
	if (is_int(s))
		return YAML_TAG_INT;
	return is_timestamp(s) ? YAML_TAG_TIMESTAMP : YAML_TAG_STR;
}

enum hydra_yaml_tag hydra_yaml__resolve_loose(struct sonde_str s)
{
	enum hydra_yaml_tag tag = hydra_yaml__resolve(s);

	if (tag == YAML_TAG_TIMESTAMP)
		return YAML_TAG_STR;
	if (tag == YAML_TAG_STR && is_loose_float(s))
		return YAML_TAG_FLOAT;
	return tag;
}
