/*
 * Text goes straight into the sink: no tree of values is made. Each level needs two bits: whether it has
 * items yet, and whether it is on one line. Reports nest about ten levels deep.
 */
#include "base/json_out.h"

#include "base/escape.h"
#include "base/number.h"

#include <string.h>

static void begin_item(struct sonde_json *w)
{
	static const char blanks[] = "\n                                        ";
	uint32_t bit = 1u << w->depth;
	bool is_flat = w->flat & bit;

	if (w->has_items & bit)
		sonde_sink_write(w->sink, ", ", is_flat ? 2 : 1);
	w->has_items |= bit;
	if (!is_flat && w->depth > 0)
		sonde_sink_write(w->sink, blanks, w->depth < 40 ? w->depth + 1 : 41);
}

static void put_key_str(struct sonde_json *w, struct sonde_str key)
{
	begin_item(w);
	sonde_escape_json_key(&w->sink->buf, key);
	sonde_sink_write(w->sink, ": ", 2);
}

/* For our own keys, which are plain words and need no escaping. */
static void put_key_z(struct sonde_json *w, const char *key)
{
	begin_item(w);
	if (!key)
		return;
	sonde_sink_putc(w->sink, '"');
	sonde_sink_puts(w->sink, key);
	sonde_sink_write(w->sink, "\": ", 3);
}

static void enter(struct sonde_json *w, char bracket, bool is_flat)
{
	uint32_t bit;

	is_flat |= (w->flat >> w->depth) & 1;
	sonde_sink_putc(w->sink, bracket);
	bit = 1u << ++w->depth;
	w->has_items &= ~bit;
	w->flat = is_flat ? w->flat | bit : w->flat & ~bit;
}

void sonde_json_open(struct sonde_json *w, const char *key, char bracket, bool is_flat)
{
	put_key_z(w, key);
	enter(w, bracket, is_flat);
}

void sonde_json_open_str(struct sonde_json *w, struct sonde_str key, char bracket, bool is_flat)
{
	put_key_str(w, key);
	enter(w, bracket, is_flat);
}

void sonde_json_close(struct sonde_json *w, char bracket)
{
	uint32_t bit = 1u << w->depth;
	bool breaks = (w->has_items & bit) && !(w->flat & bit);
	unsigned i;

	w->depth--;
	if (breaks) {
		sonde_sink_putc(w->sink, '\n');
		for (i = 0; i < w->depth; i++)
			sonde_sink_putc(w->sink, ' ');
	}
	sonde_sink_putc(w->sink, bracket);
}

bool sonde_json_next(struct sonde_json *w, bool is_first, bool is_over)
{
	if (!is_first)
		sonde_json_close(w, '}');
	if (is_over)
		sonde_json_close(w, ']');
	else
		sonde_json_open(w, NULL, '{', true);
	return !is_over;
}

void sonde_json_str(struct sonde_json *w, const char *key, struct sonde_str value)
{
	put_key_z(w, key);
	sonde_escape_json(&w->sink->buf, value);
}

void sonde_json_null(struct sonde_json *w, const char *key)
{
	put_key_z(w, key);
	sonde_sink_write(w->sink, "null", 4);
}

void sonde_json_z(struct sonde_json *w, const char *key, const char *value)
{
	if (value)
		sonde_json_str(w, key, sonde_str_from(value));
	else
		sonde_json_null(w, key);
}

void sonde_json_maybe(struct sonde_json *w, const char *key, struct sonde_str value)
{
	if (value.p)
		sonde_json_str(w, key, value);
	else
		sonde_json_null(w, key);
}

void sonde_json_texts(
	struct sonde_json *w, const char *key, const struct sonde_str *texts, size_t nr, bool is_flat)
{
	size_t i;

	sonde_json_array(w, key, is_flat, i, nr)
		sonde_json_maybe(w, NULL, texts[i]);
}

static void put_number(struct sonde_json *w, double value)
{
	char text[SONDE_NUMBER_MAX];

	sonde_sink_write(w->sink, text, sonde_number_format(text, value));
}

void sonde_json_number(struct sonde_json *w, const char *key, double value)
{
	put_key_z(w, key);
	put_number(w, value);
}

void sonde_json_u64(struct sonde_json *w, const char *key, uint64_t value)
{
	char text[SONDE_NUMBER_MAX];

	put_key_z(w, key);
	sonde_sink_write(w->sink, text, sonde_number_format_u64(text, value));
}

void sonde_json_bool(struct sonde_json *w, const char *key, bool value)
{
	put_key_z(w, key);
	sonde_sink_puts(w->sink, value ? "true" : "false");
}

void sonde_json_str_number(struct sonde_json *w, struct sonde_str key, double value)
{
	put_key_str(w, key);
	put_number(w, value);
}

void sonde_json_str_str(struct sonde_json *w, struct sonde_str key, struct sonde_str value)
{
	put_key_str(w, key);
	sonde_escape_json(&w->sink->buf, value);
}

void sonde_json_member_number(struct sonde_json *w, struct sonde_str member, double value)
{
	char line[SONDE_JSON_MEMBER_MAX + SONDE_NUMBER_MAX + 48];
	uint32_t bit = 1u << w->depth;
	size_t n = 0;

	if (w->has_items & bit)
		line[n++] = ',';
	w->has_items |= bit;
	line[n++] = '\n';
	memset(line + n, ' ', w->depth);
	n += w->depth;
	memcpy(line + n, member.p, member.n);
	n += member.n;
	n += sonde_number_format(line + n, value);
	sonde_sink_write(w->sink, line, n);
}

void sonde_json_digits(struct sonde_json *w, struct sonde_str digits, bool is_first)
{
	if (!is_first)
		sonde_sink_putc(w->sink, ',');
	sonde_sink_str(w->sink, digits);
}

void sonde_json_tight(struct sonde_json *w, double v, bool is_first)
{
	char text[SONDE_NUMBER_MAX + 1] = ",";

	sonde_sink_write(w->sink, is_first ? text + 1 : text,
		sonde_number_format(text + 1, v) + (is_first ? 0 : 1));
}
