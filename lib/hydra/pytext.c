/* Writes values as Python prints them; floats with the fewest digits that read back as the same double. */
#include "hydra/pytext.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The digits and the exponent of the shortest form that reads back as the same double. */
static int shortest(double f, char digits[32], int *exponent)
{
	char text[64];
	char *e;
	int precision, nr = 0;
	const char *p;

	for (precision = 0; precision < 17; precision++) {
		snprintf(text, sizeof(text), "%.*e", precision, f);
		if (strtod(text, NULL) == f)
			break;
	}
	e = strchr(text, 'e');
	*exponent = e ? (int)strtol(e + 1, NULL, 10) : 0;
	for (p = text; *p && *p != 'e'; p++)
		if (*p >= '0' && *p <= '9' && nr < 31)
			digits[nr++] = *p;
	while (nr > 1 && digits[nr - 1] == '0')
		nr--;
	digits[nr] = '\0';
	return nr;
}

void hydra_pytext__float(struct sonde_buf *b, double f)
{
	char digits[32];
	int exponent, nr, i;

	if (isnan(f)) {
		sonde_buf_puts(b, "nan");
		return;
	}
	if (signbit(f))
		sonde_buf_putc(b, '-');
	f = fabs(f);
	if (isinf(f)) {
		sonde_buf_puts(b, "inf");
		return;
	}
	nr = shortest(f, digits, &exponent);
	if (exponent < -4 || exponent >= 16) {
		sonde_buf_putc(b, digits[0]);
		if (nr > 1)
			sonde_buf_printf(b, ".%s", digits + 1);
		sonde_buf_printf(b, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
		return;
	}
	for (i = exponent; i < 0; i++)
		sonde_buf_puts(b, i == exponent ? "0." : "0");
	for (i = 0; i < nr; i++) {
		sonde_buf_putc(b, digits[i]);
		if (i == exponent && i + 1 < nr)
			sonde_buf_putc(b, '.');
	}
	for (; i <= exponent; i++)
		sonde_buf_putc(b, '0');
	if (nr <= exponent + 1)
		sonde_buf_puts(b, ".0");
}

void hydra_pytext__int(struct sonde_buf *b, const struct hydra_datum *n)
{
	if (n->s.n)
		sonde_buf_str(b, n->s);
	else
		sonde_buf_printf(b, "%" PRId64, n->i);
}

static void repr_char(struct sonde_buf *b, struct sonde_str s, size_t i, unsigned n)
{
	static const char from[] = "\n\r\t\\", to[] = "nrt\\";
	unsigned char c = (unsigned char)s.p[i];
	const char *named = c ? strchr(from, c) : NULL;

	if (named)
		sonde_buf_printf(b, "\\%c", to[named - from]);
	else if (n == 0 || c < 0x20 || c == 0x7f)
		sonde_buf_printf(b, "\\x%02x", c);
	else
		sonde_buf_add(b, s.p + i, n);
}

static void repr_str(struct sonde_buf *b, struct sonde_str s)
{
	bool single = memchr(s.p ? s.p : "", '\'', s.n) != NULL;
	bool dbl = memchr(s.p ? s.p : "", '"', s.n) != NULL;
	char quote = single && !dbl ? '"' : '\'';
	size_t i;

	sonde_buf_putc(b, quote);
	for (i = 0; i < s.n;) {
		uint32_t cp;
		unsigned n = sonde_utf8_decode(s, i, &cp);

		if (s.p[i] == quote)
			sonde_buf_putc(b, '\\');
		repr_char(b, s, i, n);
		i += n ? n : 1;
	}
	sonde_buf_putc(b, quote);
}

void hydra_pytext__repr(struct sonde_buf *b, const struct hydra_datum *n)
{
	if (n->kind == HYDRA_STRING)
		repr_str(b, n->s);
	else
		hydra_pytext__str(b, n);
}

static void put_container(struct sonde_buf *b, const struct hydra_datum *n)
{
	bool is_map = n->kind == HYDRA_MAP;
	uint32_t i;

	sonde_buf_putc(b, is_map ? '{' : '[');
	for (i = 0; i < n->seq.nr; i++) {
		if (i)
			sonde_buf_puts(b, ", ");
		if (is_map) {
			hydra_pytext__repr(b, n->seq.at[i]->key);
			sonde_buf_puts(b, ": ");
		}
		hydra_pytext__repr(b, n->seq.at[i]);
	}
	sonde_buf_putc(b, is_map ? '}' : ']');
}

void hydra_pytext__str(struct sonde_buf *b, const struct hydra_datum *n)
{
	switch (n->kind) {
	case HYDRA_NULL:
		sonde_buf_puts(b, "None");
		break;
	case HYDRA_BOOL:
		sonde_buf_puts(b, n->b ? "True" : "False");
		break;
	case HYDRA_INT:
		hydra_pytext__int(b, n);
		break;
	case HYDRA_FLOAT:
		hydra_pytext__float(b, n->f);
		break;
	case HYDRA_STRING:
		sonde_buf_str(b, n->s);
		break;
	default:
		put_container(b, n);
	}
}

struct sonde_str hydra_pytext__show(struct hydra_ctx *cx, const struct hydra_datum *n)
{
	struct sonde_buf b = {0};

	hydra_pytext__str(&b, n);
	return hydra_ctx__take(cx, &b);
}
