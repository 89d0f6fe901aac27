/*
 * Finds one token at a time: the length of each kind of token at this place is computed, and the longest wins;
 * of equally long ones the first wins, as in the grammars of Hydra and OmegaConf.
 */
#include "hydra/value_lex.h"

#include "hydra/pynumber.h"

#include <string.h>
#include <strings.h>

static char at(struct sonde_str s, size_t i)
{
	return i < s.n ? s.p[i] : '\0';
}

static bool is_in(char c, const char *set)
{
	return c && strchr(set, c);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static size_t blanks(struct sonde_str s, size_t i)
{
	size_t start = i;

	while (is_in(at(s, i), " \t"))
		i++;
	return i - start;
}

size_t hydra_lex__ident(struct sonde_str s, size_t i)
{
	size_t start = i;

	if (!is_letter(at(s, i)) && at(s, i) != '_')
		return 0;
	while (is_letter(at(s, i)) || is_digit(at(s, i)) || is_in(at(s, i), "_-"))
		i++;
	return i - start;
}

/* digit {["_"] digit} */
static size_t digits(struct sonde_str s, size_t i)
{
	size_t start = i;

	while (is_digit(at(s, i)) || (i > start && at(s, i) == '_' && is_digit(at(s, i + 1))))
		i++;
	return i - start;
}

size_t hydra_lex__int(struct sonde_str s, size_t i)
{
	return at(s, i) == '0' ? 1 : digits(s, i);
}

static size_t exponent(struct sonde_str s, size_t i)
{
	size_t sign, nr;

	if (!is_in(at(s, i), "eE"))
		return 0;
	sign = is_in(at(s, i + 1), "+-");
	nr = digits(s, i + 1 + sign);
	return nr ? 1 + sign + nr : 0;
}

/* The length of a float without its sign. */
static size_t float_body(struct sonde_str s, size_t i)
{
	size_t whole = hydra_lex__int(s, i), fraction, e;

	if (i + 3 <= s.n && (!strncasecmp(s.p + i, "inf", 3) || !strncasecmp(s.p + i, "nan", 3)))
		return 3;
	if (at(s, i + whole) == '.') {
		fraction = digits(s, i + whole + 1);
		if (!whole && !fraction)
			return 0;
		whole += 1 + fraction;
		return whole + exponent(s, i + whole);
	}
	e = whole ? exponent(s, i + whole) : 0;
	return e ? whole + e : 0;
}

static size_t escapes(struct sonde_str s, size_t i)
{
	size_t start = i;

	while (at(s, i) == '\\' && is_in(at(s, i + 1), "\\()[]{}:=, \t"))
		i += 2;
	return i - start;
}

/*
 * The length of a quoted text: it ends at the first quote of the same kind that has an even number of backslashes
 * before it; 0 when there is none.
 */
static size_t quoted(struct sonde_str s, size_t i)
{
	size_t j, slashes = 0;

	for (j = i + 1; j < s.n; j++) {
		if (s.p[j] == s.p[i] && slashes % 2 == 0)
			return j + 1 - i;
		slashes = s.p[j] == '\\' ? slashes + 1 : 0;
	}
	return 0;
}

static size_t interpolation(struct sonde_str s, size_t i)
{
	size_t j;

	if (at(s, i) != '$' || at(s, i + 1) != '{')
		return 0;
	for (j = i + 2; j < s.n; j++)
		if (s.p[j] == '}')
			return j > i + 2 ? j + 1 - i : 0;
	return 0;
}

static enum hydra_lex_kind punctuation(
	char c, bool in_interp, bool *blanks_before, bool *blanks_after)
{
	static const struct {
		char c;
		enum hydra_lex_kind kind;
		bool before, after, in_interp;
	} table[] = {
		{'(', LEX_POPEN, true, true, false},
		{',', LEX_COMMA, true, true, true},
		{')', LEX_PCLOSE, true, false, false},
		{'[', LEX_LBRACKET, false, true, true},
		{']', LEX_RBRACKET, true, false, true},
		{'{', LEX_LBRACE, false, true, true},
		{'}', LEX_RBRACE, true, false, true},
		{':', LEX_COLON, true, true, true},
		{'=', LEX_EQUAL, true, true, false},
	};
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (table[i].c != c || (in_interp && !table[i].in_interp))
			continue;
		*blanks_before = table[i].before;
		*blanks_after = table[i].after;
		return table[i].kind;
	}
	return LEX_ERROR;
}

struct best {
	enum hydra_lex_kind kind;
	size_t n;
};

static void offer(struct best *b, enum hydra_lex_kind kind, size_t n)
{
	if (n > b->n)
		*b = (struct best){kind, n};
}

static void offer_words(struct best *best, struct sonde_str s, size_t i)
{
	size_t sign = is_in(at(s, i), "+-");
	size_t f = float_body(s, i + sign), n = hydra_lex__int(s, i + sign);
	size_t id = hydra_lex__ident(s, i);

	offer(best, LEX_FLOAT, f ? sign + f : 0);
	offer(best, LEX_INT, n ? sign + n : 0);
	if (id == 4 && !strncasecmp(s.p + i, "true", 4))
		offer(best, LEX_BOOL, 4);
	if (id == 5 && !strncasecmp(s.p + i, "false", 5))
		offer(best, LEX_BOOL, 5);
	if (id == 4 && !strncasecmp(s.p + i, "null", 4))
		offer(best, LEX_NULL, 4);
	offer(best, LEX_CHAR, is_in(at(s, i), "/-\\+.$%*@?|"));
	offer(best, LEX_ID, id);
	offer(best, LEX_ESC, escapes(s, i));
}

struct hydra_lex hydra_lex__at(struct sonde_str s, size_t i, bool in_interp)
{
	struct best best = {LEX_ERROR, 0};
	bool before = false, after = false;
	size_t ws = blanks(s, i);
	enum hydra_lex_kind kind;

	if (i >= s.n)
		return (struct hydra_lex){LEX_END, {s.p + s.n, 0}};
	kind = punctuation(at(s, i + ws), in_interp, &before, &after);
	if (kind != LEX_ERROR && (before || ws == 0))
		offer(&best, kind, ws + 1 + (after ? blanks(s, i + ws + 1) : 0));
	offer(&best, LEX_WS, ws);
	offer_words(&best, s, i);
	if (at(s, i) == '\'' || at(s, i) == '"')
		offer(&best, LEX_QUOTED, in_interp ? 1 : quoted(s, i));
	if (in_interp && at(s, i) == '$' && at(s, i + 1) == '{')
		offer(&best, LEX_INTERP, 2 + blanks(s, i + 2));
	if (!in_interp)
		offer(&best, LEX_INTERP, interpolation(s, i));
	return (struct hydra_lex){best.kind, {s.p + i, best.n}};
}

bool hydra_lex__is_primitive(enum hydra_lex_kind kind, bool is_key)
{
	if (kind == LEX_INTERP || kind == LEX_COLON)
		return !is_key;
	return kind >= LEX_FLOAT && kind <= LEX_WS;
}

void hydra_lex__unescape(struct sonde_buf *b, struct sonde_str text)
{
	size_t i;

	for (i = 0; i < text.n; i++) {
		if (text.p[i] == '\\' && i + 1 < text.n)
			i++;
		sonde_buf_putc(b, text.p[i]);
	}
}

struct hydra_datum *hydra_lex__primitive(
	struct hydra_ctx *cx, const struct hydra_lex *tokens, size_t nr)
{
	struct sonde_buf b = {0};
	size_t i;

	if (nr == 1) {
		struct sonde_str text = tokens[0].text;

		switch (tokens[0].kind) {
		case LEX_INT:
			return hydra_pynumber__int(cx, text, 10);
		case LEX_FLOAT:
			return hydra_datum__float(cx, hydra_pynumber__double(text));
		case LEX_BOOL:
			return hydra_datum__bool(cx, text.n == 4);
		case LEX_NULL:
			return hydra_datum__new(cx, HYDRA_NULL);
		default:
			break;
		}
	}
	for (i = 0; i < nr; i++) {
		if (tokens[i].kind == LEX_ESC)
			hydra_lex__unescape(&b, tokens[i].text);
		else
			sonde_buf_str(&b, tokens[i].text);
	}
	return hydra_datum__string(cx, hydra_ctx__take(cx, &b));
}
