/* Writes strings as PyYAML does: plain, in single or in double quotes, folded at 80 columns. */
#include "hydra/yaml_out_int.h"

#include "hydra/pynumber.h"

#include <string.h>

#define BEST_WIDTH 80
#define MAX_KEY	   128 /* longest simple key, with its tag !!str */

struct analysis {
	size_t nr_chars;
	bool empty, multiline, plain, single_quoted;
};

static void write_break(struct hydra_emitter *e)
{
	sonde_buf_putc(e->out, '\n');
	e->whitespace = e->indention = true;
	e->column = 0;
}

void hydra_emitter__indent(struct hydra_emitter *e)
{
	int indent = e->indent < 0 ? 0 : e->indent;

	if (!e->indention || e->column > indent || (e->column == indent && !e->whitespace))
		write_break(e);
	for (; e->column < indent; e->column++) {
		sonde_buf_putc(e->out, ' ');
		e->whitespace = true;
	}
}

void hydra_emitter__put(struct hydra_emitter *e, const char *text, bool need_blank, bool indention)
{
	if (!e->whitespace && need_blank) {
		sonde_buf_putc(e->out, ' ');
		e->column++;
	}
	e->whitespace = false;
	e->indention = e->indention && indention;
	e->column += (int)strlen(text);
	sonde_buf_puts(e->out, text);
}

/* Decodes the character at byte i and returns its length; for a byte that is not UTF-8: 1, and *cp = UINT32_MAX. */
static unsigned char_at(struct sonde_str s, size_t i, uint32_t *cp)
{
	unsigned n = sonde_utf8_decode(s, i, cp);

	if (n)
		return n;
	*cp = UINT32_MAX;
	return 1;
}

static bool is_break(uint32_t c)
{
	return c == '\n' || c == 0x85 || c == 0x2028 || c == 0x2029;
}

static bool is_space(uint32_t c)
{
	return c == 0 || c == ' ' || c == '\t' || c == '\r' || is_break(c);
}

static bool is_special(uint32_t c)
{
	if (c == '\n' || (c >= 0x20 && c <= 0x7e) || c == 0x85)
		return false;
	if (c == 0xfeff || c < 0xa0 || c == UINT32_MAX || c >= 0x10ffff)
		return true;
	return c > 0xfffd && c < 0x10000;
}

static bool is_indicator(struct sonde_str s, size_t i, uint32_t c, bool after_space)
{
	uint32_t next = 0;

	if (i + 1 < s.n)
		char_at(s, i + 1, &next);
	if (i == 0 && c && c < 0x80 && strchr("#,[]{}&*!|>'\"%@`", (int)c))
		return true;
	if (i == 0 && (c == '?' || c == '-') && (s.n == 1 || is_space(next)))
		return true;
	if (c == ':' && (i + 1 == s.n || is_space(next)))
		return true;
	return c == '#' && after_space;
}

static struct analysis analyze(struct sonde_str s)
{
	struct analysis a = {.plain = true, .single_quoted = true};
	bool after_space = true, prev_blank = false, prev_break = false;
	bool indicators = sonde_str_starts(s, "---") || sonde_str_starts(s, "...");
	bool blank_at_edge = false, special = false;
	size_t i, n;

	a.empty = s.n == 0;
	for (i = 0; i < s.n; i += n) {
		uint32_t c;

		n = char_at(s, i, &c);
		a.nr_chars++;
		indicators |= is_indicator(s, i, c, after_space);
		a.multiline |= is_break(c);
		special |= is_special(c);
		blank_at_edge |= (c == ' ' || is_break(c)) && (i == 0 || i + n == s.n);
		if (c == ' ' && prev_break)
			a.single_quoted = false;
		if (is_break(c) && prev_blank)
			special = true;
		prev_blank = c == ' ';
		prev_break = is_break(c);
		after_space = is_space(c);
	}
	a.plain = !indicators && !blank_at_edge && !a.multiline && !special;
	a.single_quoted = a.single_quoted && !special;
	return a;
}

static int count_chars(struct sonde_str s, size_t start, size_t end)
{
	int nr = 0;

	for (; start < end; start++)
		nr += ((unsigned char)s.p[start] & 0xc0) != 0x80;
	return nr;
}

static void write_chars(struct hydra_emitter *e, struct sonde_str s, size_t start, size_t end)
{
	e->column += count_chars(s, start, end);
	sonde_buf_add(e->out, s.p + start, end - start);
}

/* Writes a run of blanks; a single blank beyond the width becomes a line break. */
static void write_blanks(
	struct hydra_emitter *e, struct sonde_str s, size_t start, size_t end, bool split)
{
	if (start + 1 == end && e->column > BEST_WIDTH && split)
		hydra_emitter__indent(e);
	else
		write_chars(e, s, start, end);
}

void hydra_emitter__plain(struct hydra_emitter *e, struct sonde_str s, bool split)
{
	size_t start = 0, end = 0;

	hydra_emitter__put(e, "", s.n, false);
	while (start < s.n) {
		bool blanks = s.p[start] == ' ';

		for (end = start; end < s.n && (s.p[end] == ' ') == blanks; end++)
			;
		if (blanks)
			write_blanks(e, s, start, end, split);
		else
			write_chars(e, s, start, end);
		e->whitespace = e->indention = false;
		start = end;
	}
}

static void write_break_run(struct hydra_emitter *e, struct sonde_str s, size_t start, size_t end)
{
	size_t i, n;
	uint32_t c;

	if (s.p[start] == '\n')
		write_break(e);
	for (i = start; i < end; i += n) {
		n = char_at(s, i, &c);
		if (c == '\n') {
			write_break(e);
			continue;
		}
		sonde_buf_add(e->out, s.p + i, n);
		e->whitespace = e->indention = true;
		e->column = 0;
	}
	hydra_emitter__indent(e);
}

static void write_single_quoted(struct hydra_emitter *e, struct sonde_str s, bool split)
{
	size_t start = 0;

	hydra_emitter__put(e, "'", true, false);
	while (start < s.n) {
		size_t end = start, n = 0;
		uint32_t c, first;

		char_at(s, start, &first);
		for (; end < s.n; end += n) {
			n = char_at(s, end, &c);
			if ((c == ' ') != (first == ' ') || is_break(c) != is_break(first) ||
				(c == '\'') != (first == '\''))
				break;
		}
		if (first == ' ')
			write_blanks(e, s, start, end, split && start != 0 && end != s.n);
		else if (is_break(first))
			write_break_run(e, s, start, end);
		else
			write_chars(e, s, start, end);
		if (first == '\'')
			write_chars(e, s, start, end); /* a quote is written twice */
		start = end;
	}
	hydra_emitter__put(e, "'", false, false);
}

static void write_escape(struct hydra_emitter *e, uint32_t c, unsigned char byte)
{
	static const uint32_t from[] = {
		0, 7, 8, 9, 10, 11, 12, 13, 27, '"', '\\', 0x85, 0xa0, 0x2028, 0x2029};
	static const char to[] = "0abtnvfre\"\\N_LP";
	size_t i, before = e->out->n;

	for (i = 0; i < sizeof(from) / sizeof(from[0]); i++)
		if (from[i] == c)
			break;
	if (i < sizeof(from) / sizeof(from[0]))
		sonde_buf_printf(e->out, "\\%c", to[i]);
	else if (c <= 0xff || c == UINT32_MAX)
		sonde_buf_printf(e->out, "\\x%02X", c <= 0xff ? c : byte);
	else if (c <= 0xffff)
		sonde_buf_printf(e->out, "\\u%04X", c);
	else
		sonde_buf_printf(e->out, "\\U%08X", c);
	e->column += (int)(e->out->n - before);
}

static bool needs_escape(uint32_t c)
{
	if (c == '"' || c == '\\' || c == 0x85 || c == 0x2028 || c == 0x2029 || c == 0xfeff)
		return true;
	return !((c >= 0x20 && c <= 0x7e) || (c >= 0xa0 && c <= 0xfffd));
}

/* Breaks a double-quoted line in front of byte `end`, with a backslash. */
static void break_line(struct hydra_emitter *e, struct sonde_str s, size_t end)
{
	sonde_buf_putc(e->out, '\\');
	e->column++;
	hydra_emitter__indent(e);
	e->whitespace = e->indention = false;
	if (s.p[end] == ' ') {
		sonde_buf_putc(e->out, '\\');
		e->column++;
	}
}

static void write_double_quoted(struct hydra_emitter *e, struct sonde_str s, bool split)
{
	size_t start = 0, end, n;

	hydra_emitter__put(e, "\"", true, false);
	for (end = 0; end < s.n; end += n) {
		uint32_t c;
		bool last;

		n = char_at(s, end, &c);
		last = end + n >= s.n;
		if (needs_escape(c)) {
			write_chars(e, s, start, end);
			write_escape(e, c, (unsigned char)s.p[end]);
			start = end + n;
		}
		if (end == 0 || last || !split || !(c == ' ' || start >= end) ||
			e->column + (end < start ? -1 : count_chars(s, start, end)) <= BEST_WIDTH)
			continue;
		if (start < end) {
			write_chars(e, s, start, end);
			start = end;
		}
		break_line(e, s, start);
	}
	write_chars(e, s, start, s.n);
	hydra_emitter__put(e, "\"", false, false);
}

/* Whether a string needs quotes because it would be read as something else. That includes y, n, and numbers of Python. */
static bool wants_quotes(struct sonde_str s)
{
	return hydra_yaml__resolve(s) != YAML_TAG_STR || hydra_pynumber__is_word(s, "y|n") ||
	       hydra_pynumber__is_py_int(s) || hydra_pynumber__is_py_float(s);
}

void hydra_emitter__string(struct hydra_emitter *e, struct sonde_str s, bool is_key)
{
	struct analysis a = analyze(s);

	if (a.plain && !a.empty && !wants_quotes(s))
		hydra_emitter__plain(e, s, !is_key);
	else if (a.single_quoted && !(is_key && a.multiline))
		write_single_quoted(e, s, !is_key);
	else
		write_double_quoted(e, s, !is_key);
}

bool hydra_emitter__is_simple_key(const struct hydra_datum *key)
{
	struct analysis a;

	if (key->kind != HYDRA_STRING)
		return true;
	a = analyze(key->s);
	return a.nr_chars + 5 < MAX_KEY && !a.empty && !a.multiline;
}
