/*
 * Strict: an overlong, surrogate or cut-off sequence is not a character, so that each character has
 * exactly one spelling.
 */
#include "base/str.h"

unsigned sonde_utf8_decode(struct sonde_str s, size_t i, uint32_t *cp)
{
	static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
	unsigned char c = (unsigned char)s.p[i];
	unsigned len = c < 0x80 ? 1 : c >= 0xf0 && c < 0xf8 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 0;
	uint32_t v;
	unsigned k;

	*cp = c;
	if (len == 1)
		return 1;
	if (len == 0 || c >= 0xf8 || i + len > s.n)
		return 0;
	v = c & (0x7fu >> len);
	for (k = 1; k < len; k++) {
		unsigned char d = (unsigned char)s.p[i + k];

		if ((d & 0xc0) != 0x80)
			return 0;
		v = v << 6 | (d & 0x3f);
	}
	if (v < least[len] || v > 0x10ffff || (v >= 0xd800 && v <= 0xdfff))
		return 0;
	*cp = v;
	return len;
}

size_t sonde_utf8_encode(char out[4], uint32_t cp)
{
	size_t n = cp < 0x80 ? 1 : cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4, i;

	for (i = n; i-- > 1; cp >>= 6)
		out[i] = (char)(0x80 | (cp & 0x3f));
	out[0] = (char)(n == 1 ? cp : (0xf00u >> n & 0xf0) | cp);
	return n;
}
