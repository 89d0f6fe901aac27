#include "export/text_int.h"

#define MAX_INDENT 24

/* From the last row upwards: a depth is open until its parent is passed. */
void sonde_text__find_lines(
	uint64_t *lines, const struct sonde_listing *l, const struct sonde_report *r)
{
	uint64_t open = 0;
	size_t i;

	for (i = l->nr; i-- > 0;) {
		uint32_t depth = r->nodes.at[l->at[i]].depth;

		lines[i] = open;
		if (depth >= 63)
			continue;
		open |= UINT64_C(1) << depth;
		open &= (UINT64_C(2) << depth) - 1;
	}
}

void sonde_text__indent(
	struct sonde_table *t, uint32_t depth, uint64_t lines, unsigned step, const char *bullet)
{
	static const char *const utf8[] = {"\u2502", "\u251c", "\u2514", "\u2500"};
	static const char *const ascii[] = {"|", "|", "`", "-"};
	const char *const *glyphs = t->is_utf8 ? utf8 : ascii;
	uint32_t d, first = 1;
	unsigned k;

	if (depth * step > MAX_INDENT) {
		first = depth - MAX_INDENT / step + 2;
		sonde_buf_puts(&t->cell, t->is_utf8 ? "\u2026" : ".");
		for (k = 1; k < step; k++)
			sonde_buf_putc(&t->cell, ' ');
	}
	for (d = first; d <= depth; d++) {
		bool goes_on = d < 63 && lines >> d & 1;

		if (d == depth)
			sonde_buf_puts(&t->cell, bullet ? bullet : glyphs[goes_on ? 1 : 2]);
		else
			sonde_buf_puts(&t->cell, goes_on ? glyphs[0] : " ");
		for (k = 1; k < step; k++)
			sonde_buf_puts(
				&t->cell, d == depth && !bullet && k + 1 < step ? glyphs[3] : " ");
	}
}

unsigned sonde_text__indent_step(const struct sonde_listing *l, const struct sonde_report *r)
{
	uint32_t depth = 0;
	size_t i;

	for (i = 0; i < l->nr; i++)
		if (r->nodes.at[l->at[i]].depth > depth)
			depth = r->nodes.at[l->at[i]].depth;
	return depth * 3 <= MAX_INDENT ? 3 : depth * 2 <= MAX_INDENT ? 2 : 1;
}
