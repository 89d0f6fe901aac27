/* What the texts of a capture say: its META lines, its labels and their domains. */
#include "read/native/native_int.h"

struct sonde_str sonde_native__meta(const struct native *n, const char *key)
{
	struct sonde_str rest = n->meta, line, value;

	while (rest.n) {
		line = sonde_str_cut(rest, '\n', &rest);
		if (sonde_str_is(sonde_str_cut(line, '=', &value), key))
			return value;
	}
	return (struct sonde_str){NULL, 0};
}

struct sonde_str sonde_native__program(const struct native *n)
{
	return sonde_str_base(sonde_native__meta(n, "exe"));
}

uint32_t sonde_native__domain(const struct native *n, uint64_t number)
{
	return number < n->strings.nr && n->strings.at[number].text.p ? n->strings.at[number].domain
								      : NATIVE_NO_DOMAIN;
}

uint32_t sonde_native__string(struct native *n, uint64_t number)
{
	struct native_string *s = number < n->strings.nr ? &n->strings.at[number] : NULL;

	if (!s || !s->text.p) {
		n->counts.no_label++;
		return sonde_records__string(n->r, SONDE_STR("(label not written)"));
	}
	if (s->string == SONDE_NONE)
		s->string = sonde_records__string(n->r, s->text);
	return s->string;
}
