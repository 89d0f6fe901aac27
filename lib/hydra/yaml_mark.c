/*
 * Reads anchors, aliases and tags of nodes, and directives of documents. Each function
 * begins at the first character and fills in a token.
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

/* Appends the word at the scanner's place to s->text. */
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

static bool is_tag(uint32_t c)
{
	return c && (is_word(c) || (c < 0x80 && strchr(";/?:@&=+$,.!~*'()[]%", (int)c)));
}

/* `!`, `!name` or `!!name`, as written. Handles that a file declares (%TAG) are not supported. */
int hydra_scanner__tag(struct hydra_scanner *s, struct hydra_token *t)
{
	sonde_buf_clear(&s->text);
	for (; is_tag(peek(s)); hydra_scanner__forward(s, 1))
		hydra_scanner__put(&s->text, peek(s));
	if (peek(s) == '\t' || !hydra_scanner__is_blankz(peek(s)))
		return hydra_scanner__fail(s, "a tag has a name of letters and a blank behind it");
	t->value = hydra_ctx__dup(s->cx, sonde_buf_view(&s->text));
	return s->cx->fail.code;
}

/* `%YAML 1.x` changes nothing; unknown directives are ignored, as in PyYAML. */
int hydra_scanner__directive(struct hydra_scanner *s)
{
	struct sonde_str name;

	sonde_buf_clear(&s->text);
	hydra_scanner__forward(s, 1);
	scan_word(s);
	name = sonde_buf_view(&s->text);
	if (!name.n || (peek(s) != ' ' && peek(s) && !hydra_scanner__is_break(peek(s))))
		return hydra_scanner__fail(s, "a directive has a name of letters after '%%'");
	if (sonde_str_is(name, "TAG"))
		return hydra_scanner__fail(s, "tag handles are not known here, write !!str");
	while (peek(s) == ' ')
		hydra_scanner__forward(s, 1);
	if (sonde_str_is(name, "YAML") && (peek(s) != '1' || hydra_scanner__ch(s, 1) != '.'))
		return hydra_scanner__fail(s, "only YAML 1.x is understood");
	hydra_scanner__skip_line(s);
	hydra_scanner__line_break(s);
	return 0;
}
