#include "base/wrap.h"

#include "base/escape.h"

void sonde_wrap(struct sonde_sink *to, struct sonde_str text, struct sonde_margins m)
{
	size_t column = m.column;
	bool is_first = true; /* of its line */

	while (text.n) {
		struct sonde_str word = sonde_str_cut(text, ' ', &text);
		size_t w = sonde_width(word);

		if (!is_first && column + 1 + w > m.right) {
			sonde_sink_printf(to, "\n%*s", (int)m.left, "");
			column = m.left;
		} else if (!is_first) {
			sonde_sink_putc(to, ' ');
			column++;
		}
		sonde_sink_str(to, word);
		column += w;
		is_first = false;
	}
	sonde_sink_putc(to, '\n');
}
