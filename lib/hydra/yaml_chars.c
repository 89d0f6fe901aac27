/* The characters of a YAML file: functions that decode, read, skip and write them. */
#include "base/alloc.h"
#include "hydra/yaml_token.h"

uint32_t hydra_scanner__ch(const struct hydra_scanner *s, size_t ahead)
{
	return s->at + ahead < s->nr_ch ? s->ch[s->at + ahead] : 0;
}

void hydra_scanner__forward(struct hydra_scanner *s, size_t n)
{
	while (n-- && s->at < s->nr_ch) {
		uint32_t c = s->ch[s->at++];

		if (hydra_scanner__is_break(c) && !(c == '\r' && hydra_scanner__ch(s, 0) == '\n')) {
			s->line++;
			s->column = 0;
		} else if (c != 0xfeff) {
			s->column++;
		}
	}
}

void hydra_scanner__skip_line(struct hydra_scanner *s)
{
	while (hydra_scanner__ch(s, 0) && !hydra_scanner__is_break(hydra_scanner__ch(s, 0)))
		hydra_scanner__forward(s, 1);
}

bool hydra_scanner__is_break(uint32_t c)
{
	return c == '\n' || c == '\r' || c == 0x85 || c == 0x2028 || c == 0x2029;
}

bool hydra_scanner__is_blankz(uint32_t c)
{
	return c == 0 || c == ' ' || c == '\t' || hydra_scanner__is_break(c);
}

uint32_t hydra_scanner__line_break(struct hydra_scanner *s)
{
	uint32_t c = hydra_scanner__ch(s, 0);

	if (!hydra_scanner__is_break(c))
		return 0;
	hydra_scanner__forward(s, c == '\r' && hydra_scanner__ch(s, 1) == '\n' ? 2 : 1);
	return c == 0x2028 || c == 0x2029 ? c : '\n';
}

void hydra_scanner__skip_to_token(struct hydra_scanner *s)
{
	if (s->at == 0 && hydra_scanner__ch(s, 0) == 0xfeff)
		hydra_scanner__forward(s, 1);
	for (;;) {
		while (hydra_scanner__ch(s, 0) == ' ')
			hydra_scanner__forward(s, 1);
		if (hydra_scanner__ch(s, 0) == '#')
			hydra_scanner__skip_line(s);
		if (!hydra_scanner__line_break(s))
			return;
		if (!s->flow_level)
			s->allow_simple_key = true;
	}
}

bool hydra_scanner__starts_with(const struct hydra_scanner *s, uint32_t c)
{
	return hydra_scanner__ch(s, 0) == c && hydra_scanner__ch(s, 1) == c &&
	       hydra_scanner__ch(s, 2) == c && hydra_scanner__is_blankz(hydra_scanner__ch(s, 3));
}

bool hydra_scanner__at_separator(const struct hydra_scanner *s)
{
	return hydra_scanner__starts_with(s, '-') || hydra_scanner__starts_with(s, '.');
}

void hydra_scanner__put(struct sonde_buf *b, uint32_t c)
{
	char bytes[4];

	sonde_buf_add(b, bytes, sonde_utf8_encode(bytes, c));
}

int hydra_scanner__fail(struct hydra_scanner *s, const char *fmt, ...)
{
	struct sonde_buf b = {0};
	va_list ap;

	va_start(ap, fmt);
	sonde_buf_vprintf(&b, fmt, ap);
	va_end(ap);
	hydra_ctx__fail_at(
		s->cx, "ScannerError", s->file, s->line + 1, "%s", b.failed ? "bad YAML" : b.p);
	sonde_buf_release(&b);
	return s->cx->fail.code;
}

static bool is_allowed(uint32_t c)
{
	return c == '\t' || c == '\n' || c == '\r' || c == 0x85 || (c >= 0x20 && c <= 0x7e) ||
	       (c >= 0xa0 && c <= 0xfffd);
}

int hydra_scanner__init(
	struct hydra_scanner *s, struct hydra_ctx *cx, struct sonde_str file, struct sonde_str data)
{
	uint32_t line = 1;
	size_t i = 0;

	*s = (struct hydra_scanner){.cx = cx, .file = file, .indent = -1, .allow_simple_key = true};
	s->ch = sonde_malloc((data.n + 4) * sizeof(*s->ch));
	if (!s->ch || !sonde_vec_push(&s->keys))
		return hydra_ctx__nomem(cx);
	while (i < data.n) {
		uint32_t c;
		unsigned n = sonde_utf8_decode(data, i, &c);

		if (!n)
			return hydra_ctx__fail_at(cx, "UnicodeDecodeError", file, line,
				"byte 0x%02x is not valid UTF-8, save the file as UTF-8", c);
		if (!is_allowed(c) && c < 0x10000)
			return hydra_ctx__fail_at(cx, "ReaderError", file, line,
				"the character U+%04X is not allowed in YAML", c);
		line += c == '\n';
		s->ch[s->nr_ch++] = c;
		i += n;
	}
	return 0;
}

void hydra_scanner__release(struct hydra_scanner *s)
{
	sonde_free(s->ch);
	sonde_vec_release(&s->indents);
	sonde_vec_release(&s->queue);
	sonde_vec_release(&s->keys);
	sonde_buf_release(&s->text);
}
