/*
 * One pass over a word checks at each byte whether one of the known shapes of a secret begins there. A whole shell
 * script may be a single word (sh -c '…'), so a word is divided at blanks and quotes into pieces.
 */
#include "base/secret.h"

#include <string.h>

enum { NO_VALUE, VALUE, AUTHORIZATION };

static bool is_small(char c)
{
	return c >= 'a' && c <= 'z';
}

static bool is_capital(char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return is_small(c) || is_capital(c);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_quote(char c)
{
	return c == '"' || c == '\'';
}

/* Whether `word` (in capitals) is at p, in any case. Does not use the locale: the injected library has none. */
static bool is_at(const char *p, size_t n, const char *word)
{
	for (; *word; p++, word++, n--)
		if (!n || (is_small(*p) ? *p - 'a' + 'A' : *p) != *word)
			return false;
	return true;
}

static bool ends_with(const char *p, size_t n, const char *word)
{
	size_t len = strlen(word);

	return n >= len && is_at(p + n - len, len, word);
}

/* --- names ------------------------------------------------------------------------------------ */

/* Whether the name ends with `word` and has no letter in front of it: XAUTH and monkey do not match AUTH and KEY. */
static bool ends_apart(const char *p, size_t n, const char *word)
{
	return ends_with(p, n, word) && (n == strlen(word) || !is_letter(p[n - strlen(word) - 1]));
}

static bool contains(const char *p, size_t n, const char *word)
{
	for (; n; p++, n--)
		if (is_at(p, n, word))
			return true;
	return false;
}

bool sonde_secret_is_name(const char *p, size_t n)
{
	static const char *const words[] = {
		"TOKEN", "SECRET", "PASSWORD", "KEY", "PASSWD", "APIKEY", "PASSPHRASE"};
	/* Names may end with these, not contain them: AUTHOR and SSH_AUTH_SOCK are harmless, and so is PWD. */
	static const char *const ends[] = {"AUTH", "BEARER"}, *const capitals[] = {"_PASS", "_PAT", "_PWD"};
	bool has_small = false;
	size_t i;

	for (i = 0; i < n; i++)
		has_small |= is_small(p[i]);
	for (i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (has_small ? ends_apart(p, n, words[i]) : contains(p, n, words[i]))
			return true;
	for (i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (ends_apart(p, n, ends[i]) && !is_at(p, n, "NO-") && !is_at(p, n, "NO_"))
			return true;
	for (i = 0; i < sizeof(capitals) / sizeof(*capitals); i++)
		if (!has_small && ends_with(p, n, capitals[i]))
			return true;
	return false;
}

/* Whether a name also marks a secret in front of a colon. `key: value` is common there, so `key` alone does not. */
static bool is_clear_name(const char *p, size_t n)
{
	static const char *const keys[] = {"API", "ACCESS", "PRIVATE", "SECRET", "AUTH"};
	size_t i;

	if (!sonde_secret_is_name(p, n))
		return false;
	if (!ends_with(p, n, "KEY"))
		return true;
	n -= strlen("KEY");
	n -= n && !is_letter(p[n - 1]);
	for (i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (ends_apart(p, n, keys[i]))
			return true;
	return false;
}

static bool is_header_name(const char *p, size_t n)
{
	return ends_apart(p, n, "AUTHORIZATION") || ends_apart(p, n, "COOKIE");
}

/* --- values ----------------------------------------------------------------------------------- */

/* Returns the position of the first byte of `stops` at or behind `at`, or the end of the word. */
static size_t find_stop(const struct sonde_secret *s, size_t at, const char *stops)
{
	while (at < s->n && (!s->p[at] || !strchr(stops, s->p[at])))
		at++;
	return at;
}

/* Takes the quoted text at `*from`, without its quotes. The quotes may be escaped (\"), as in a script. */
static bool take_quoted(const struct sonde_secret *s, size_t *from, size_t *to)
{
	bool is_escaped = *from + 1 < s->n && s->p[*from] == '\\' && is_quote(s->p[*from + 1]);
	size_t i = *from + is_escaped;
	char quote;

	if (i >= s->n || !is_quote(s->p[i]))
		return false;
	quote = s->p[i++];
	*from = i;
	for (; i < s->n && s->p[i] != quote; i++)
		i += s->p[i] == '\\' && !is_escaped;
	*to = i < s->n ? i - is_escaped : s->n;
	if (*to < *from)
		*to = *from;
	return true;
}

/* Takes the value at `*from`: up to its closing quote, or, when it is not quoted, up to one of `stops`. */
static bool take_value(const struct sonde_secret *s, size_t *from, size_t *to, const char *stops)
{
	if (!take_quoted(s, from, to))
		*to = find_stop(s, *from, stops);
	return *to > *from;
}

/* --- NAME=VALUE, NAME: VALUE ------------------------------------------------------------------ */

/* Finds the name that ends before `end`, without quotes around it and dashes in front. Returns its length. */
static size_t name_before(const struct sonde_secret *s, size_t end, size_t *start)
{
	size_t i;

	while (end && (is_quote(s->p[end - 1]) || s->p[end - 1] == '\\'))
		end--;
	for (i = end; i && !(is_blank(s->p[i - 1]) || is_quote(s->p[i - 1]) || strchr("=.;&?,{}():@", s->p[i - 1])); i--)
		;
	while (i < end && s->p[i] == '-')
		i++;
	*start = i;
	return end - i;
}

/* Whether the last part of a configuration key before `end` names a secret. It may have any bytes but '=' and '.'. */
static bool is_key(const struct sonde_secret *s, size_t end)
{
	size_t i = end;

	while (i && s->p[i - 1] != '=' && s->p[i - 1] != '.')
		i--;
	while (i < end && s->p[i] == '-')
		i++;
	return sonde_secret_is_name(s->p + i, end - i);
}

/* Whether this is `Pwd=…;` in a connection string: elsewhere PWD is a directory. */
static bool is_pwd(const struct sonde_secret *s, size_t start, size_t n, size_t equals)
{
	return n == 3 && is_at(s->p + start, n, "PWD") && s->p[start + 1] != 'W' &&
	       ((start && s->p[start - 1] == ';') || find_stop(s, equals, ";") < s->n);
}

static bool has_blank_before(const struct sonde_secret *s, size_t at)
{
	while (at && !is_blank(s->p[at - 1]))
		at--;
	return at;
}

static bool take_assigned(const struct sonde_secret *s, size_t equals, size_t *from, size_t *to)
{
	size_t start, n = name_before(s, equals, &start);
	char before = start ? s->p[start - 1] : '\0';
	bool is_pwd_name = n && is_pwd(s, start, n, equals);

	*from = equals + 1;
	if (!is_pwd_name && !sonde_secret_is_name(s->p + start, n) && !is_key(s, equals))
		return false;
	if (before == ';' || is_pwd_name)
		return take_value(s, from, to, ";");
	if (before == '?' || before == '&')
		return take_value(s, from, to, "&# \t\n");
	if (has_blank_before(s, equals))
		return take_value(s, from, to, " \t\n;\"'&|)");
	*to = s->n; /* --password=VALUE: the value is the rest of the word, even with blanks */
	return *to > *from;
}

/* Bearer, Basic, …: the name of an authentication scheme, which is no secret. */
static bool is_scheme(const char *p, size_t n)
{
	static const char *const schemes[] = {"BEARER", "BASIC", "TOKEN", "DIGEST", "APIKEY", "NEGOTIATE"};
	size_t i;

	for (i = 0; i < sizeof(schemes) / sizeof(*schemes); i++)
		if (n == strlen(schemes[i]) && is_at(p, n, schemes[i]))
			return true;
	return false;
}

/* Takes the value of an HTTP header, up to the quote around name and value. The scheme stays visible. */
static bool take_header(struct sonde_secret *s, size_t *from, size_t *to)
{
	size_t end = find_stop(s, *from, " \t\n\"'");

	if (*from == s->n)
		s->is_value = AUTHORIZATION; /* the value is the next word */
	if (is_scheme(s->p + *from, end - *from)) {
		for (*from = end; *from < s->n && is_blank(s->p[*from]); ++*from)
			;
		if (*from == s->n)
			s->is_value = VALUE;
	}
	*to = find_stop(s, *from, "\"'");
	return *to > *from;
}

static bool take_named(struct sonde_secret *s, size_t colon, size_t *from, size_t *to)
{
	size_t start, n = name_before(s, colon, &start);
	bool is_header = n && is_header_name(s->p + start, n);

	if (!is_header && !(n && is_clear_name(s->p + start, n)))
		return false;
	for (*from = colon + 1; *from < s->n && is_blank(s->p[*from]); ++*from)
		;
	if (is_header && !take_quoted(s, from, to))
		return take_header(s, from, to);
	if (is_header)
		return *to > *from;
	if (*from == s->n)
		s->is_value = VALUE;
	return take_value(s, from, to, " \t\n,}]\"'");
}

/* --- shapes of their own ---------------------------------------------------------------------- */

/*
 * Takes the password of //user:PASSWORD@host. A password that is not URL-encoded may contain a slash; if only digits
 * are behind the colon, they are a port.
 */
static bool take_userinfo(const struct sonde_secret *s, size_t at, size_t *from, size_t *to)
{
	size_t end = find_stop(s, at, "/?# \t\n\"'"), i, colon = s->n;

	for (i = at; i < end && colon == s->n; i++)
		if (s->p[i] == ':')
			colon = i;
	if (colon == s->n || s->p[at] == '[')
		return false;
	for (i = colon + 1; i < end && is_digit(s->p[i]); i++)
		;
	if (!memchr(s->p + at, '@', end - at)) {
		if (i == end)
			return false;
		end = find_stop(s, at, " \t\n\"'");
	}
	for (*to = end; *to > colon && s->p[*to - 1] != '@'; --*to)
		;
	*from = colon + 1;
	if (*to <= *from)
		return false;
	--*to;
	return *to > *from;
}

static bool is_of_token(char c, bool has_marks)
{
	return is_letter(c) || is_digit(c) || (has_marks && (c == '-' || c == '_'));
}

/* How many bytes from `at` on may be those of a token; 0 when they look like words instead. */
static size_t token_length(const struct sonde_secret *s, size_t at, bool has_marks)
{
	bool has_capital = false, has_digit = false;
	size_t i;

	for (i = at; i < s->n && is_of_token(s->p[i], has_marks); i++) {
		has_capital |= is_capital(s->p[i]);
		has_digit |= is_digit(s->p[i]);
	}
	return has_capital && (has_digit || !has_marks) ? i - at : 0;
}

/* Takes a token. Each service gives its tokens a prefix, by which they are recognised. */
static bool take_token(const struct sonde_secret *s, size_t at, size_t *from, size_t *to)
{
	static const struct {
		const char *begin;
		unsigned min; /* fewest bytes behind the prefix */
		bool has_marks; /* may contain '-' and '_' */
	} kinds[] = {{"hf_", 30, false}, {"ghp_", 30, false}, {"gho_", 30, false}, {"ghu_", 30, false},
		{"ghs_", 30, false}, {"ghr_", 30, false}, {"github_pat_", 30, true},
		{"glpat-", 20, true}, {"nvapi-", 30, true}, {"sk-", 32, true}, {"xoxb-", 20, true},
		{"xoxp-", 20, true}, {"npm_", 30, false}, {"AIza", 35, true}, {"AKIA", 16, false},
		{"ASIA", 16, false}};
	size_t i, len;

	if (at && is_of_token(s->p[at - 1], true))
		return false;
	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		len = strlen(kinds[i].begin);
		*from = at + len;
		if (s->n - at <= len || memcmp(s->p + at, kinds[i].begin, len) != 0)
			continue;
		*to = *from + token_length(s, *from, kinds[i].has_marks);
		return *to - *from >= kinds[i].min;
	}
	/* A JSON web token has three parts; the first two are JSON in base64, which begins with "eyJ". */
	*from = at + 3;
	if (s->n - at < 20 || memcmp(s->p + at, "eyJ", 3) != 0)
		return false;
	for (*to = *from; *to < s->n && (is_of_token(s->p[*to], true) || s->p[*to] == '.'); ++*to)
		;
	i = find_stop(s, at, ".");
	return i + 4 < *to && memcmp(s->p + i, ".eyJ", 4) == 0;
}

/* --- options ---------------------------------------------------------------------------------- */

/* Options of well-known programs whose names do not show that a secret follows. */
static const struct option {
	const char *program, *option;
	bool has_user;	  /* the value is USER:PASSWORD */
	bool is_attached; /* the value is attached (-pPASSWORD); the next word is not the value */
} options[] = {{"curl", "-u", true, false}, {"curl", "-U", true, false},
	{"curl", "--user", true, false}, {"curl", "--proxy-user", true, false},
	{"sshpass", "-p", false, false}, {"mysql", "-p", false, true},
	{"mysqldump", "-p", false, true}, {"mariadb", "-p", false, true},
	{"redis-cli", "-a", false, false}};

#define NR_OPTIONS (sizeof(options) / sizeof(*options))
#define OPTION	   8u /* is_value = OPTION + i announces the value of options[i] */

static bool is_program(const char *p, size_t n, const char *name)
{
	size_t len = strlen(name);

	return n >= len && memcmp(p + n - len, name, len) == 0 && (n == len || p[n - len - 1] == '/');
}

static void see_program(struct sonde_secret *s, const char *p, size_t n)
{
	unsigned i;

	for (i = 0; i < NR_OPTIONS; i++)
		if (is_program(p, n, options[i].program)) {
			s->program = i + 1;
			return;
		}
}

/* Takes the value of an option. Of USER:PASSWORD only the part behind the colon is secret: without a colon, nothing. */
static bool take_option(const struct sonde_secret *s, const struct option *o, size_t *from, size_t to)
{
	const char *colon = o->has_user ? memchr(s->p + *from, ':', to - *from) : NULL;

	if (o->has_user)
		*from = colon ? (size_t)(colon - s->p) + 1 : to;
	return to > *from;
}

/* Checks for an option of the program that was seen: takes the value attached to it, or announces the next word as its value. */
static bool see_option(struct sonde_secret *s, size_t at, size_t end, size_t *from, size_t *to)
{
	unsigned i;

	for (i = 0; s->program && i < NR_OPTIONS; i++) {
		const struct option *o = &options[i];
		size_t len = strlen(o->option);

		if (strcmp(o->program, options[s->program - 1].program) != 0 || end - at < len ||
			memcmp(s->p + at, o->option, len) != 0)
			continue;
		if (end - at == len && !o->is_attached)
			s->is_value = OPTION + i;
		if (end - at == len || o->option[1] == '-')
			continue;
		*from = at + len;
		*to = end;
		return take_option(s, o, from, end);
	}
	return false;
}

/* --- words ------------------------------------------------------------------------------------ */

/* Takes the value that an earlier word or piece announced: the whole word, or one piece of it. */
static bool take_announced(struct sonde_secret *s, size_t at, size_t end, size_t *from, size_t *to)
{
	unsigned kind = s->is_value;

	s->is_value = NO_VALUE;
	if (s->p[at] == '-' && end - at > 1)
		return false;
	*from = at;
	*to = at ? end : s->n;
	if (kind == AUTHORIZATION && is_scheme(s->p + at, *to - at)) {
		s->is_value = VALUE;
		return false;
	}
	if (kind >= OPTION && kind - OPTION < NR_OPTIONS)
		return take_option(s, &options[kind - OPTION], from, *to);
	return *to > *from;
}

/* Looks at a piece that begins at `at`: an announced value, a program, or an option. True: it took a secret. */
static bool see_piece(struct sonde_secret *s, size_t at, size_t *from, size_t *to)
{
	size_t end = find_stop(s, at, " \t\n\r\"'"), dashes = at, last;

	if (end == at)
		return false;
	if (s->is_value && take_announced(s, at, end, from, to))
		return true;
	if (s->is_value)
		return false;
	if (s->p[at] != '-') {
		see_program(s, s->p + at, end - at);
		return false;
	}
	while (dashes < end && s->p[dashes] == '-')
		dashes++;
	for (last = end; last > dashes && s->p[last - 1] != '.'; last--)
		;
	if (!memchr(s->p + at, '=', end - at) && sonde_secret_is_name(s->p + last, end - last))
		s->is_value = VALUE;
	return see_option(s, at, end, from, to);
}

void sonde_secret_word(struct sonde_secret *s, const char *p, size_t n)
{
	s->p = p;
	s->n = n;
	s->at = 0;
	if (!n) /* an empty value, as in --token '' */
		s->is_value = NO_VALUE;
}

bool sonde_secret_next(struct sonde_secret *s, size_t *from, size_t *to)
{
	for (; s->at < s->n; s->at++) {
		size_t at = s->at;
		bool begins = !at || is_blank(s->p[at - 1]) || is_quote(s->p[at - 1]), found;

		found = begins && see_piece(s, at, from, to);
		if (!found && s->p[at] == '=')
			found = take_assigned(s, at, from, to);
		else if (!found && s->p[at] == ':' && at + 2 < s->n && memcmp(s->p + at, "://", 3) == 0)
			found = take_userinfo(s, at + 3, from, to);
		else if (!found && s->p[at] == ':')
			found = take_named(s, at, from, to);
		else if (!found)
			found = take_token(s, at, from, to);
		if (found) {
			s->at = *to;
			return true;
		}
	}
	return false;
}
