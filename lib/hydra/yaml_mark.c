/*
 * What stands in front of nodes and documents: anchors and aliases, tags,
 * directives. Each function reads one from its first character on, into a token.
 */
#include "hydra/yaml_token.h"

#include <string.h>

static uint32_t peek(const struct hydra_scanner *s)
{
	return hydra_scanner__ch(s, 0);
}

static bool is_word(uint32_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       c == '-' || c == '_';
}

/* Appends the word at the scanner's place to its text. */
static void scan_word(struct hydra_scanner *s)
{
	for (; is_word(peek(s)); hydra_scanner__forward(s, 1))
		hydra_scanner__put(&s->text, peek(s));
}

int hydra_scanner__anchor(struct hydra_scanner *s, struct hydra_token *t)
{
	sonde_buf_clear(&s->text);
	hydra_scanner__forward(s, 1);
	scan_word(s);
	if (!s->text.n || !(hydra_scanner__is_blankz(peek(s)) ||
				  (peek(s) < 0x80 && strchr("?:,]}%@`", (int)peek(s)))))
		return hydra_scanner__fail(
			s, "an anchor or alias is made of letters, digits, '-' and '_'");
	t->value = hydra_ctx__dup(s->cx, sonde_buf_view(&s->text));
	return s->cx->fail.code;
}

static bool is_uri(uint32_t c)
{
	return c && (is_word(c) || (c < 0x80 && strchr(";/?:@&=+$,.!~*'()[]%", (int)c)));
}

/* Without %-escapes: they are kept as they stand. */
static int scan_uri(struct hydra_scanner *s)
{
	sonde_buf_clear(&s->text);
	for (; is_uri(peek(s)); hydra_scanner__forward(s, 1))
		hydra_scanner__put(&s->text, peek(s));
	return s->text.n ? 0 : hydra_scanner__fail(s, "a tag needs a name after '!'");
}

/* "!", "!!" or "!word!"; leaves it in s->text. */
static int scan_tag_handle(struct hydra_scanner *s)
{
	sonde_buf_clear(&s->text);
	sonde_buf_putc(&s->text, '!');
	hydra_scanner__forward(s, 1);
	scan_word(s);
	if (peek(s) != '!')
		return hydra_scanner__fail(s, "expected '!' at the end of the tag handle");
	sonde_buf_putc(&s->text, '!');
	hydra_scanner__forward(s, 1);
	return 0;
}

static bool tag_has_handle(const struct hydra_scanner *s)
{
	size_t i;
	uint32_t c;

	for (i = 1; (c = hydra_scanner__ch(s, i)) && c != ' ' && !hydra_scanner__is_break(c); i++)
		if (c == '!')
			return true;
	return false;
}

int hydra_scanner__tag(struct hydra_scanner *s, struct hydra_token *t)
{
	if (hydra_scanner__ch(s, 1) == '<') {
		hydra_scanner__forward(s, 2);
		if (scan_uri(s))
			return s->cx->fail.code;
		if (peek(s) != '>')
			return hydra_scanner__fail(s, "expected '>' at the end of the tag");
		hydra_scanner__forward(s, 1);
	} else if (hydra_scanner__is_blankz(hydra_scanner__ch(s, 1))) {
		sonde_buf_clear(&s->text);
		sonde_buf_putc(&s->text, '!');
		hydra_scanner__forward(s, 1);
	} else {
		t->extra = SONDE_STR("!");
		if (!tag_has_handle(s)) {
			hydra_scanner__forward(s, 1);
		} else {
			if (scan_tag_handle(s))
				return s->cx->fail.code;
			t->extra = hydra_ctx__dup(s->cx, sonde_buf_view(&s->text));
		}
		if (scan_uri(s))
			return s->cx->fail.code;
	}
	t->value = hydra_ctx__dup(s->cx, sonde_buf_view(&s->text));
	if (s->cx->fail.code)
		return s->cx->fail.code;
	if (peek(s) != ' ' && (peek(s) == '\t' || !hydra_scanner__is_blankz(peek(s))))
		return hydra_scanner__fail(s, "expected a blank after the tag");
	return 0;
}

int hydra_scanner__directive(struct hydra_scanner *s, struct hydra_token *t)
{
	struct sonde_str name;

	sonde_buf_clear(&s->text);
	hydra_scanner__forward(s, 1);
	scan_word(s);
	if (!s->text.n || (peek(s) != ' ' && peek(s) && !hydra_scanner__is_break(peek(s))))
		return hydra_scanner__fail(s, "a directive has a name of letters after '%%'");
	for (; peek(s) && peek(s) != '#' && !hydra_scanner__is_break(peek(s));
		hydra_scanner__forward(s, 1))
		hydra_scanner__put(&s->text, peek(s));
	while (peek(s) && !hydra_scanner__is_break(peek(s)))
		hydra_scanner__forward(s, 1);
	hydra_scanner__line_break(s);
	name = sonde_str_trim(sonde_buf_view(&s->text));
	t->value = hydra_ctx__dup(s->cx, sonde_str_cut(name, ' ', &name));
	t->extra = hydra_ctx__dup(s->cx, sonde_str_trim(name));
	return s->cx->fail.code;
}
