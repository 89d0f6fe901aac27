/* Names are shortened all at once: a short name must be distinct among those of the whole tree. */
#include "tree/tree_int.h"

#include "base/alloc.h"
#include "base/cxx_name.h"

/* Marks the strings that name a kernel and gathers them, in order; returns how many. */
static size_t gather(const struct sonde_cells *c, struct sonde_str *by_string,
	struct sonde_str *names, uint32_t *strings)
{
	size_t i, nr = 0;

	for (i = 0; i < c->cells.nr; i++)
		by_string[c->cells.at[i].kernel] = c->strings.keys[c->cells.at[i].kernel];
	for (i = 0; i < c->strings.nr; i++) {
		if (!by_string[i].p)
			continue;
		names[nr] = by_string[i];
		strings[nr++] = (uint32_t)i;
	}
	return nr;
}

bool sonde_tree__shorten_names(struct sonde_tree *t)
{
	const struct sonde_cells *c = t->cells;
	size_t max = c->strings.nr + 1, nr = 0, i;
	struct sonde_str *names = sonde_malloc(2 * max * sizeof(*names)), *out;
	uint32_t *strings = sonde_malloc(max * sizeof(*strings));
	bool ok;

	out = names ? names + max : NULL;
	t->short_names = sonde_calloc(max, sizeof(*t->short_names));
	ok = names && strings && t->short_names;
	if (ok) {
		nr = gather(c, t->short_names, names, strings);
		ok = sonde_cxx_names_shorten(out, names, nr, &t->names);
	}
	for (i = 0; ok && i < nr; i++)
		t->short_names[strings[i]] = out[i];
	sonde_free(names);
	sonde_free(strings);
	return ok;
}

struct sonde_str sonde_tree_short_name(const struct sonde_tree *t, uint32_t string)
{
	return string != SONDE_NONE && t->short_names[string].p ? t->short_names[string]
								: sonde_tree_str(t, string);
}
