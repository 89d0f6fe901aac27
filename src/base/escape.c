/*
 * JSON can represent every byte, and a script element contains JSON. All other languages share one walk
 * over the characters, `next_printable`, which replaces invisible characters by visible escapes. Each language's
 * own function then handles the characters that are special in it.
 */
#include "base/escape.h"

#include <string.h>

/* Characters that reorder, hide or break text without being seen. */
static bool is_invisible(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0xad || c == 0x61c || c == 0x180e ||
	       c == 0x200b || c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb) ||
	       (c >= 0xe0000 && c <= 0xe007f);
}

static void put_visible(struct sonde_buf *out, uint32_t c, bool is_byte)
{
	if (c == '\n')
		sonde_buf_puts(out, "\\n");
	else if (c == '\t')
		sonde_buf_puts(out, "\\t");
	else if (c == '\r')
		sonde_buf_puts(out, "\\r");
	else if (c < 0x80 || is_byte)
		sonde_buf_printf(out, "\\x%02x", (unsigned)c);
	else
		sonde_buf_printf(out, c > 0xffff ? "\\U%08x" : "\\u%04x", (unsigned)c);
}

/*
 * Takes the character at text[*i] and moves *i behind it. True when the caller may print the character as it is
 * (its bytes are the `length` bytes before text[*i]), false when it was written as an escape. Invariant 16.
 */
static bool next_printable(
	struct sonde_buf *out, struct sonde_str text, size_t *i, uint32_t *c, unsigned *length)
{
	*length = sonde_utf8_decode(text, *i, c);
	*i += *length ? *length : 1;
	if (*length && !is_invisible(*c))
		return true;
	put_visible(out, *c, *length == 0);
	return false;
}

static bool is_hex(unsigned char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F');
}

/* Whether a reader would take the two characters at text[i], which follow a U+FFFD, for an escaped byte. */
static bool looks_like_byte(struct sonde_str text, size_t i)
{
	return i + 1 < text.n && strchr("89ABCDEF", text.p[i] ? text.p[i] : 'x') &&
	       is_hex((unsigned char)text.p[i + 1]);
}

static void put_json_bytes(struct sonde_buf *out, const char *p, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		sonde_buf_printf(out, "\xef\xbf\xbd%02X", (unsigned)(unsigned char)p[i]);
}

static void put_json_ascii(struct sonde_buf *out, unsigned char c)
{
	static const char letters[] = "btn?fr";

	if (c == '"' || c == '\\') {
		sonde_buf_putc(out, '\\');
		sonde_buf_putc(out, (char)c);
	} else if (c >= 8 && c <= 13 && c != 11) {
		sonde_buf_putc(out, '\\');
		sonde_buf_putc(out, letters[c - 8]);
	} else {
		sonde_buf_printf(out, "\\u%04x", (unsigned)c);
	}
}

static size_t plain_run(struct sonde_str text, size_t i)
{
	size_t start = i;

	while (i < text.n) {
		unsigned char c = (unsigned char)text.p[i];

		if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
			break;
		i++;
	}
	return i - start;
}

void sonde_escape_json(struct sonde_buf *out, struct sonde_str text)
{
	size_t i = 0;

	sonde_buf_putc(out, '"');
	while (i < text.n) {
		size_t run = plain_run(text, i);
		unsigned length;
		uint32_t c;

		sonde_buf_add(out, text.p + i, run);
		i += run;
		if (i == text.n)
			break;
		length = sonde_utf8_decode(text, i, &c);
		if (length == 0) {
			put_json_bytes(out, text.p + i, 1);
			length = 1;
		} else if (c < 0x80) {
			put_json_ascii(out, (unsigned char)c);
		} else if (c == 0xfffd && looks_like_byte(text, i + length)) {
			put_json_bytes(out, text.p + i, length);
		} else if (is_invisible(c) && c <= 0xffff) {
			sonde_buf_printf(out, "\\u%04x", (unsigned)c);
		} else {
			sonde_buf_add(out, text.p + i, length);
		}
		i += length;
	}
	sonde_buf_putc(out, '"');
}

void sonde_escape_json_key(struct sonde_buf *out, struct sonde_str text)
{
	struct sonde_str rest = text, piece;
	struct sonde_buf whole = {0};

	if (!text.n || !memchr(text.p, 0, text.n)) {
		sonde_escape_json(out, text);
		return;
	}
	while (rest.n) {
		bool is_last = sonde_str_find(rest, '\0') == rest.n;

		piece = sonde_str_cut(rest, '\0', &rest);
		sonde_buf_str(&whole, piece);
		sonde_buf_puts(&whole, is_last ? "" : "\ufffd" "00");
	}
	sonde_escape_json(out, sonde_buf_view(&whole));
	out->failed |= whole.failed;
	sonde_buf_release(&whole);
}

static bool is_word(struct sonde_str text, size_t i)
{
	unsigned char c = i < text.n ? (unsigned char)text.p[i] : ' ';

	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool starts_at(struct sonde_str text, size_t i, const char *z)
{
	size_t n = strlen(z);

	return i + n <= text.n && memcmp(text.p + i, z, n) == 0;
}

/* Whether the run of underscores at text[i] has letters or digits on both sides. */
static bool is_inside_word(struct sonde_str text, size_t i)
{
	size_t before = i, after = i;

	while (before > 0 && text.p[before] == '_')
		before--;
	while (after < text.n && text.p[after] == '_')
		after++;
	return is_word(text, before) && is_word(text, after);
}

static void put_markdown_ascii(struct sonde_buf *out, struct sonde_str text, size_t i)
{
	char c = text.p[i];
	bool inside_word = i > 0 && is_word(text, i - 1) && is_word(text, i + 1);

	if (c == '<')
		sonde_buf_puts(out, "&lt;");
	else if (c == '>')
		sonde_buf_puts(out, "&gt;");
	else if (c == '&')
		sonde_buf_puts(out, "&amp;");
	else if (c == '@' && inside_word) /* keeps it from becoming a mail address */
		sonde_buf_puts(out, "@<!-- -->");
	else if (strchr("\\`*[]|~#$!", c) || (c == '_' && !is_inside_word(text, i)) ||
		 (c == ':' && starts_at(text, i, "://")) ||
		 (c == '.' && i >= 3 && starts_at(text, i - 3, "www.")))
		sonde_buf_printf(out, "\\%c", c);
	else
		sonde_buf_putc(out, c);
}

void sonde_escape_markdown(struct sonde_buf *out, struct sonde_str text)
{
	struct sonde_buf escape = {0};
	size_t i = 0;

	while (i < text.n) {
		unsigned length;
		uint32_t c;

		sonde_buf_clear(&escape);
		if (!next_printable(&escape, text, &i, &c, &length)) {
			sonde_buf_putc(out, '\\'); /* the escape begins with a backslash, which Markdown would drop */
			sonde_buf_str(out, sonde_buf_view(&escape));
		} else if (c < 0x80) {
			put_markdown_ascii(out, text, i - 1);
		} else {
			sonde_buf_add(out, text.p + i - length, length);
		}
	}
	out->failed |= escape.failed;
	sonde_buf_release(&escape);
}

void sonde_escape_script(struct sonde_buf *out, struct sonde_str json)
{
	size_t i, start = 0;

	for (i = 0; i < json.n; i++) {
		char c = json.p[i];

		if (c != '<' && c != '>' && c != '&')
			continue;
		sonde_buf_add(out, json.p + start, i - start);
		sonde_buf_printf(out, "\\u%04x", (unsigned)c);
		start = i + 1;
	}
	sonde_buf_add(out, json.p + start, json.n - start);
}

void sonde_escape_xml(struct sonde_buf *out, struct sonde_str text)
{
	size_t i = 0;

	while (i < text.n) {
		unsigned length;
		uint32_t c;

		if (!next_printable(out, text, &i, &c, &length))
			continue;
		if (c == '<' || c == '>' || c == '&' || c == '"' || c == '\'')
			sonde_buf_printf(out, "&#%u;", (unsigned)c);
		else if (c == 0xfffe || c == 0xffff) /* XML has no way to write these */
			put_visible(out, c, false);
		else
			sonde_buf_add(out, text.p + i - length, length);
	}
}

void sonde_escape_prometheus(struct sonde_buf *out, struct sonde_str text)
{
	struct sonde_buf seen = {0};
	size_t i;

	/* A visible escape contains a backslash, and a backslash must itself be escaped here. */
	sonde_escape_terminal(&seen, text, true);
	for (i = 0; i < seen.n; i++) {
		if (seen.p[i] == '"' || seen.p[i] == '\\')
			sonde_buf_putc(out, '\\');
		sonde_buf_putc(out, seen.p[i]);
	}
	out->failed |= seen.failed;
	sonde_buf_release(&seen);
}

void sonde_escape_folded(struct sonde_buf *out, struct sonde_str text)
{
	size_t i = 0;

	while (i < text.n) {
		unsigned length;
		uint32_t c;

		if (!next_printable(out, text, &i, &c, &length))
			continue;
		if (c == ';')
			sonde_buf_puts(out, "\\x3b");
		else
			sonde_buf_add(out, text.p + i - length, length);
	}
}

static bool is_formula(struct sonde_str text)
{
	static const char *const starts[] = {"=", "+", "-", "@", "\t", "\r", "\n", "\xef\xbc\x9d",
		"\xef\xbc\x8b", "\xef\xbc\x8d", "\xef\xbc\xa0"};
	size_t i;

	for (i = 0; i < sizeof(starts) / sizeof(*starts); i++)
		if (starts_at(text, 0, starts[i]))
			return true;
	return false;
}

void sonde_escape_csv(struct sonde_buf *out, struct sonde_str text)
{
	struct sonde_buf cell = {0};
	size_t i = 0;

	if (is_formula(text))
		sonde_buf_putc(&cell, '\'');
	while (i < text.n) {
		unsigned length;
		uint32_t c;

		if (!next_printable(&cell, text, &i, &c, &length))
			continue;
		if (c == '"')
			sonde_buf_putc(&cell, '"');
		sonde_buf_add(&cell, text.p + i - length, length);
	}
	if (cell.n && (memchr(cell.p, ',', cell.n) || memchr(cell.p, '"', cell.n) ||
			      cell.p[0] == ' ' || cell.p[cell.n - 1] == ' ')) {
		sonde_buf_putc(out, '"');
		sonde_buf_str(out, sonde_buf_view(&cell));
		sonde_buf_putc(out, '"');
	} else {
		sonde_buf_str(out, sonde_buf_view(&cell));
	}
	out->failed |= cell.failed;
	sonde_buf_release(&cell);
}

void sonde_escape_terminal(struct sonde_buf *out, struct sonde_str text, bool is_utf8)
{
	size_t i = 0;

	while (i < text.n) {
		unsigned length;
		uint32_t c;

		if (!next_printable(out, text, &i, &c, &length))
			continue;
		if (c < 0x80 || is_utf8)
			sonde_buf_add(out, text.p + i - length, length);
		else
			put_visible(out, c, false);
	}
}

/* Symbols that sonde's own sentences have, and how a terminal without UTF-8 gets them. */
static const char *plain_symbol(uint32_t c)
{
	static const struct {
		uint32_t c;
		const char *plain;
	} symbols[] = {{0xb1, "+-"}, {0xb5, "u"}, {0xb7, "-"}, {0xd7, "x"}, {0x2026, "..."}, {0x2192, "->"},
		{0x2212, "-"}, {0x2264, "<="}, {0x2265, ">="}};
	size_t i;

	for (i = 0; i < sizeof(symbols) / sizeof(*symbols); i++)
		if (symbols[i].c == c)
			return symbols[i].plain;
	return NULL;
}

void sonde_escape_sentence(struct sonde_buf *out, struct sonde_str text, bool is_utf8)
{
	struct sonde_buf plain = {0};
	size_t i = 0, length;
	uint32_t c;

	while (i < text.n) {
		const char *symbol;

		length = sonde_utf8_decode(text, i, &c);
		symbol = is_utf8 || !length ? NULL : plain_symbol(c);
		if (symbol)
			sonde_buf_puts(&plain, symbol);
		else
			sonde_buf_add(&plain, text.p + i, length ? length : 1);
		i += length ? length : 1;
	}
	sonde_escape_terminal(out, sonde_buf_view(&plain), is_utf8);
	out->failed |= plain.failed;
	sonde_buf_release(&plain);
}
