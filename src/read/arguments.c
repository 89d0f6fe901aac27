#include "read/arguments.h"

#include "base/number.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DIGITS 31

static bool is_of_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '-';
}

static size_t skip_digits(struct sonde_str s, size_t i)
{
	while (i < s.n && isdigit((unsigned char)s.p[i]))
		i++;
	return i;
}

/* Whether `s` is a number as JSON writes it. `*is_whole`: it has no fraction and no exponent. */
static bool is_number(struct sonde_str s, bool *is_whole)
{
	size_t first = s.n && s.p[0] == '-', i = skip_digits(s, first), next;

	if (i == first || s.n > MAX_DIGITS || (s.p[first] == '0' && i > first + 1))
		return false;
	*is_whole = i == s.n;
	if (i < s.n && s.p[i] == '.') {
		next = skip_digits(s, i + 1);
		if (next == i + 1)
			return false;
		i = next;
	}
	if (i < s.n && (s.p[i] == 'e' || s.p[i] == 'E')) {
		first = i + 1 + (i + 1 < s.n && (s.p[i + 1] == '+' || s.p[i + 1] == '-'));
		i = skip_digits(s, first);
		if (i == first)
			return false;
	}
	return i == s.n;
}

static bool read_number(struct sonde_argument *out)
{
	char text[MAX_DIGITS + 1];
	uint64_t magnitude;
	bool is_negative;

	if (!is_number(out->digits, &out->is_whole))
		return false;
	memcpy(text, out->digits.p, out->digits.n);
	text[out->digits.n] = '\0';
	out->v = strtod(text, NULL);
	is_negative = text[0] == '-';
	out->is_whole = out->is_whole && sonde_str_u64((struct sonde_str){out->digits.p + is_negative, out->digits.n - is_negative}, &magnitude) &&
			magnitude <= INT64_MAX;
	out->whole = !out->is_whole ? 0 : is_negative ? -(int64_t)magnitude : (int64_t)magnitude;
	return isfinite(out->v);
}

bool sonde_arguments_next(struct sonde_str *rest, struct sonde_argument *out)
{
	while (rest->n) {
		struct sonde_str item = sonde_str_cut(*rest, ' ', rest);
		size_t i;

		out->name = sonde_str_cut(item, '=', &out->digits);
		for (i = 0; i < out->name.n && is_of_name(out->name.p[i]); i++)
			;
		if (i && i == out->name.n && read_number(out))
			return true;
	}
	return false;
}

double sonde_arguments_number(struct sonde_str list, const char *name)
{
	struct sonde_argument a;

	while (sonde_arguments_next(&list, &a))
		if (sonde_str_is(a.name, name))
			return a.v;
	return NAN;
}

void sonde_arguments_put(struct sonde_buf *to, struct sonde_str name, struct sonde_str digits)
{
	bool is_whole;
	size_t i;

	while (digits.n > 1 && digits.p[0] == '0' && isdigit((unsigned char)digits.p[1])) { /* JSON allows no leading zeros */
		digits.p++;
		digits.n--;
	}
	if (!name.n || !is_number(digits, &is_whole))
		return;
	if (to->n)
		sonde_buf_putc(to, ' ');
	for (i = 0; i < name.n; i++)
		sonde_buf_putc(to, is_of_name(name.p[i]) ? name.p[i] : '_');
	sonde_buf_putc(to, '=');
	sonde_buf_str(to, digits);
}

void sonde_arguments_put_whole(struct sonde_buf *to, struct sonde_str name, bool is_negative, uint64_t magnitude)
{
	char text[SONDE_NUMBER_MAX] = "-";

	sonde_number_format_u64(text + is_negative, magnitude);
	sonde_arguments_put(to, name, sonde_str_from(text));
}

void sonde_arguments_put_real(struct sonde_buf *to, struct sonde_str name, double v)
{
	char text[SONDE_NUMBER_MAX];

	sonde_number_format(text, v); /* NaN is written as `null`, which is not a number and so is left out */
	sonde_arguments_put(to, name, sonde_str_from(text));
}

void sonde_arguments_put_json(struct sonde_buf *to, struct sonde_str list)
{
	struct sonde_argument a;
	char before = '{';

	while (sonde_arguments_next(&list, &a)) {
		sonde_buf_printf(to, "%c\"%.*s\":%.*s", before, SONDE_STR_ARG(a.name), SONDE_STR_ARG(a.digits));
		before = ',';
	}
	sonde_buf_puts(to, before == '{' ? "{}" : "}");
}
