/*
 * `*` and `?` match UTF-8 characters. Only the last `*` is ever matched again with a longer text, so
 * the number of steps is at most the length of the text times that of the pattern.
 */
#include "base/glob.h"

/* A pattern in one of its two forms. */
struct glob {
	const uint16_t *elements; /* NULL = the pattern is `text` */
	struct sonde_str text;
	size_t nr;
};

static uint16_t element_at(const struct glob *g, size_t k)
{
	if (g->elements)
		return g->elements[k];
	if (g->text.p[k] == '*')
		return SONDE_GLOB_ANY;
	return g->text.p[k] == '?' ? SONDE_GLOB_ONE : (unsigned char)g->text.p[k];
}

/* How many bytes of `text` from `i` on the element matches; 0 = it does not match. */
static size_t one_step(uint16_t element, struct sonde_str text, size_t i)
{
	uint32_t cp;
	unsigned len;

	if (i >= text.n)
		return 0;
	if (element != SONDE_GLOB_ONE)
		return element == (unsigned char)text.p[i];
	len = sonde_utf8_decode(text, i, &cp);
	return len ? len : 1;
}

/* On a mismatch, only the last `*` has to be reconsidered: it takes one more character, and the rest of the
 * pattern starts over behind it. */
static bool takes(const struct glob *g, struct sonde_str text)
{
	size_t k = 0, i = 0, star = SIZE_MAX, star_i = 0, step;

	while (i < text.n || k < g->nr) {
		if (k < g->nr && element_at(g, k) == SONDE_GLOB_ANY) {
			star = k++;
			star_i = i;
			continue;
		}
		step = k < g->nr ? one_step(element_at(g, k), text, i) : 0;
		if (step) {
			k++;
			i += step;
		} else if (star != SIZE_MAX && star_i < text.n) {
			k = star + 1;
			i = star_i += one_step(SONDE_GLOB_ONE, text, star_i);
		} else {
			return false;
		}
	}
	return true;
}

bool sonde_glob_takes(const uint16_t *glob, size_t nr, struct sonde_str text)
{
	return takes(&(struct glob){.elements = glob, .nr = nr}, text);
}

bool sonde_str_glob(struct sonde_str text, struct sonde_str pattern)
{
	return takes(&(struct glob){.text = pattern, .nr = pattern.n}, text);
}
