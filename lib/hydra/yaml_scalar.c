/* Reads scalars in the three ways to write them: plain, quoted, block. */
#include "hydra/yaml_token.h"

#include <string.h>

static uint32_t peek(const struct hydra_scanner *s)
{
	return hydra_scanner__ch(s, 0);
}

static void take(struct hydra_scanner *s)
{
	hydra_scanner__put(&s->text, peek(s));
	hydra_scanner__forward(s, 1);
}

/* Folds a line break and the empty lines behind it, which are in `breaks`: a single '\n' becomes a blank. */
static void fold(struct sonde_buf *out, uint32_t line_break, const struct sonde_buf *breaks)
{
	if (line_break != '\n')
		hydra_scanner__put(out, line_break);
	else if (!breaks->n)
		sonde_buf_putc(out, ' ');
	sonde_buf_add(out, breaks->p ? breaks->p : "", breaks->n);
}

static bool plain_ends(const struct hydra_scanner *s)
{
	uint32_t c = peek(s), next = hydra_scanner__ch(s, 1);

	if (hydra_scanner__is_blankz(c))
		return true;
	if (c == ':' && (hydra_scanner__is_blankz(next) ||
				(s->flow_level && next < 0x80 && strchr(",[]{}", (int)next))))
		return true;
	return s->flow_level && c < 0x80 && strchr(",?[]{}", (int)c);
}

/* Reads the blanks and line breaks behind a plain word into `spaces`; false when the scalar ends there. */
static bool plain_spaces(struct hydra_scanner *s, struct sonde_buf *spaces)
{
	struct sonde_buf breaks = {0};
	uint32_t line_break;
	bool more = true;

	sonde_buf_clear(spaces);
	for (; peek(s) == ' '; hydra_scanner__forward(s, 1))
		sonde_buf_putc(spaces, ' ');
	line_break = hydra_scanner__line_break(s);
	if (!line_break)
		return spaces->n > 0;
	sonde_buf_clear(spaces);
	s->allow_simple_key = true;
	more = !hydra_scanner__at_separator(s);
	while (more && (peek(s) == ' ' || hydra_scanner__is_break(peek(s)))) {
		if (peek(s) == ' ') {
			hydra_scanner__forward(s, 1);
			continue;
		}
		hydra_scanner__put(&breaks, hydra_scanner__line_break(s));
		more = !hydra_scanner__at_separator(s);
	}
	if (more)
		fold(spaces, line_break, &breaks);
	spaces->failed |= breaks.failed;
	sonde_buf_release(&breaks);
	return more;
}

int hydra_scanner__plain(struct hydra_scanner *s)
{
	int indent = s->indent + 1;
	struct sonde_buf spaces = {0};

	while (peek(s) != '#' && !plain_ends(s)) {
		s->allow_simple_key = false;
		sonde_buf_add(&s->text, spaces.p ? spaces.p : "", spaces.n);
		while (!plain_ends(s))
			take(s);
		if (!plain_spaces(s, &spaces) || peek(s) == '#' ||
			(!s->flow_level && (int)s->column < indent))
			break;
	}
	s->text.failed |= spaces.failed;
	sonde_buf_release(&spaces);
	return 0;
}

static int scan_hex_escape(struct hydra_scanner *s, unsigned nr_digits)
{
	uint32_t code = 0;
	unsigned i;

	hydra_scanner__forward(s, 1);
	for (i = 0; i < nr_digits; i++) {
		uint32_t c = peek(s);
		uint32_t lower = c | 0x20;

		if (c >= '0' && c <= '9')
			code = code * 16 + (c - '0');
		else if (lower >= 'a' && lower <= 'f' && c < 0x80)
			code = code * 16 + (lower - 'a' + 10);
		else
			return hydra_scanner__fail(
				s, "an escape needs %u hexadecimal digits", nr_digits);
		hydra_scanner__forward(s, 1);
	}
	if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return hydra_scanner__fail(s, "the escape is not a Unicode character");
	hydra_scanner__put(&s->text, code);
	return 0;
}

/* Reads line breaks inside quotes, and skips the blanks around them. */
static int scan_quoted_breaks(struct hydra_scanner *s, struct sonde_buf *breaks)
{
	for (;;) {
		if (hydra_scanner__at_separator(s))
			return hydra_scanner__fail(s, "a document separator inside quotes");
		while (peek(s) == ' ' || peek(s) == '\t')
			hydra_scanner__forward(s, 1);
		if (!hydra_scanner__is_break(peek(s)))
			return 0;
		hydra_scanner__put(breaks, hydra_scanner__line_break(s));
	}
}

static int escape(struct hydra_scanner *s)
{
	static const char from[] = "0abt\tnvfre \"\\/";
	static const char to[] = "\0\a\b\t\t\n\v\f\r\x1b \"\\/";
	uint32_t c;
	const char *hit;

	hydra_scanner__forward(s, 1);
	c = peek(s);
	if (hydra_scanner__is_break(c)) {
		hydra_scanner__line_break(s);
		return scan_quoted_breaks(s, &s->text);
	}
	if (c == 'x' || c == 'u' || c == 'U')
		return scan_hex_escape(s, c == 'x' ? 2 : c == 'u' ? 4 : 8);
	hit = c && c < 0x80 ? strchr(from, (int)c) : NULL;
	if (hit)
		sonde_buf_putc(&s->text, to[hit - from]);
	else if (c == 'N' || c == '_')
		hydra_scanner__put(&s->text, c == 'N' ? 0x85 : 0xa0);
	else if (c == 'L' || c == 'P')
		hydra_scanner__put(&s->text, c == 'L' ? 0x2028 : 0x2029);
	else
		return hydra_scanner__fail(
			s, "unknown escape in a double-quoted string, use single quotes");
	hydra_scanner__forward(s, 1);
	return 0;
}

static int scan_quoted_words(struct hydra_scanner *s, bool dbl)
{
	for (;;) {
		uint32_t c = peek(s);

		if (!dbl && c == '\'' && hydra_scanner__ch(s, 1) == '\'') {
			hydra_scanner__forward(s, 1);
			take(s);
		} else if (dbl && c == '\\') {
			if (escape(s))
				return s->cx->fail.code;
		} else if (hydra_scanner__is_blankz(c) || c == (dbl ? '"' : '\'')) {
			return 0;
		} else {
			take(s);
		}
	}
}

static int scan_quoted_spaces(struct hydra_scanner *s)
{
	struct sonde_buf spaces = {0}, breaks = {0};
	uint32_t line_break;
	int rc = 0;

	for (; peek(s) == ' ' || peek(s) == '\t'; hydra_scanner__forward(s, 1))
		sonde_buf_putc(&spaces, (char)peek(s));
	if (s->at >= s->nr_ch)
		rc = hydra_scanner__fail(s, "the file ends inside quotes");
	line_break = rc ? 0 : hydra_scanner__line_break(s);
	if (line_break) {
		rc = scan_quoted_breaks(s, &breaks);
		fold(&s->text, line_break, &breaks);
	} else {
		sonde_buf_add(&s->text, spaces.p ? spaces.p : "", spaces.n);
	}
	s->text.failed |= spaces.failed || breaks.failed;
	sonde_buf_release(&spaces);
	sonde_buf_release(&breaks);
	return rc;
}

int hydra_scanner__quoted(struct hydra_scanner *s, bool dbl)
{
	uint32_t quote = peek(s);

	hydra_scanner__forward(s, 1);
	if (scan_quoted_words(s, dbl))
		return s->cx->fail.code;
	while (peek(s) != quote)
		if (scan_quoted_spaces(s) || scan_quoted_words(s, dbl))
			return s->cx->fail.code;
	hydra_scanner__forward(s, 1);
	return 0;
}

/* Reads the header of a block scalar: chomping and indentation, in any order. */
static int scan_block_header(struct hydra_scanner *s, char *chomp, int *increment)
{
	int i;

	for (i = 0; i < 2; i++) {
		uint32_t c = peek(s);

		if ((c == '+' || c == '-') && !*chomp)
			*chomp = (char)c;
		else if (c >= '0' && c <= '9' && !*increment)
			*increment = (int)(c - '0');
		else
			break;
		if (c == '0')
			return hydra_scanner__fail(s, "a block's indentation is 1 to 9");
		hydra_scanner__forward(s, 1);
	}
	if (peek(s) != ' ' && (peek(s) == '\t' || !hydra_scanner__is_blankz(peek(s))))
		return hydra_scanner__fail(s, "unexpected text after '|' or '>'");
	while (peek(s) == ' ')
		hydra_scanner__forward(s, 1);
	if (peek(s) == '#')
		hydra_scanner__skip_line(s);
	if (peek(s) && !hydra_scanner__is_break(peek(s)))
		return hydra_scanner__fail(s, "unexpected text after '|' or '>'");
	hydra_scanner__line_break(s);
	return 0;
}

/* Reads the empty lines before the first line of a block; returns the indentation of the longest one. */
static int scan_block_indentation(struct hydra_scanner *s, struct sonde_buf *breaks)
{
	int max = 0;

	while (peek(s) == ' ' || hydra_scanner__is_break(peek(s))) {
		if (peek(s) != ' ') {
			hydra_scanner__put(breaks, hydra_scanner__line_break(s));
			continue;
		}
		hydra_scanner__forward(s, 1);
		if ((int)s->column > max)
			max = (int)s->column;
	}
	return max;
}

static void scan_block_breaks(struct hydra_scanner *s, int indent, struct sonde_buf *breaks)
{
	for (;;) {
		while ((int)s->column < indent && peek(s) == ' ')
			hydra_scanner__forward(s, 1);
		if (!hydra_scanner__is_break(peek(s)))
			return;
		hydra_scanner__put(breaks, hydra_scanner__line_break(s));
	}
}

static bool in_block(const struct hydra_scanner *s, int indent)
{
	return (int)s->column == indent && s->at < s->nr_ch;
}

static void scan_block_lines(
	struct hydra_scanner *s, bool folded, int indent, char chomp, struct sonde_buf *breaks)
{
	uint32_t line_break = 0;

	while (in_block(s, indent)) {
		bool word = peek(s) != ' ' && peek(s) != '\t';

		sonde_buf_add(&s->text, breaks->p ? breaks->p : "", breaks->n);
		sonde_buf_clear(breaks);
		while (s->at < s->nr_ch && !hydra_scanner__is_break(peek(s)))
			take(s);
		line_break = hydra_scanner__line_break(s);
		scan_block_breaks(s, indent, breaks);
		if (!in_block(s, indent))
			break;
		if (folded && line_break == '\n' && word && peek(s) != ' ' && peek(s) != '\t') {
			if (!breaks->n)
				sonde_buf_putc(&s->text, ' ');
		} else if (line_break) {
			hydra_scanner__put(&s->text, line_break);
		}
	}
	if (chomp != '-' && line_break)
		hydra_scanner__put(&s->text, line_break);
	if (chomp == '+')
		sonde_buf_add(&s->text, breaks->p ? breaks->p : "", breaks->n);
}

int hydra_scanner__block(struct hydra_scanner *s, bool folded)
{
	struct sonde_buf breaks = {0};
	int indent = s->indent + 1 < 1 ? 1 : s->indent + 1;
	int increment = 0;
	char chomp = 0;

	hydra_scanner__forward(s, 1);
	if (scan_block_header(s, &chomp, &increment))
		return s->cx->fail.code;
	if (increment) {
		indent += increment - 1;
		scan_block_breaks(s, indent, &breaks);
	} else {
		int max = scan_block_indentation(s, &breaks);

		indent = max > indent ? max : indent;
	}
	scan_block_lines(s, folded, indent, chomp, &breaks);
	s->text.failed |= breaks.failed;
	sonde_buf_release(&breaks);
	return 0;
}
