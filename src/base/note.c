/* A map of the sentences themselves: what was said once is not said again. */
#include "base/note.h"

#include <stdarg.h>

void sonde_note(struct sonde_notes *notes, const char *fmt, ...)
{
	struct sonde_buf b = {0};
	va_list ap;

	va_start(ap, fmt);
	sonde_buf_vprintf(&b, fmt, ap);
	va_end(ap);
	if (!b.failed)
		sonde_map_keep(&notes->texts, &notes->arena, sonde_buf_view(&b), NULL);
	sonde_buf_release(&b);
}

void sonde_notes_add(struct sonde_notes *to, const struct sonde_notes *from)
{
	size_t i;

	for (i = 0; i < from->texts.nr; i++)
		sonde_map_keep(&to->texts, &to->arena, from->texts.keys[i], NULL);
}

void sonde_notes_release(struct sonde_notes *notes)
{
	sonde_map_release(&notes->texts);
	sonde_arena_release(&notes->arena);
}
