#include "base/note.h"

#include <stdarg.h>

static void add(struct sonde_notes *notes, struct sonde_str text)
{
	struct sonde_str copy;

	if (sonde_map_find(&notes->texts, text) != SONDE_NONE)
		return;
	copy = sonde_arena_dup(&notes->arena, text);
	if (copy.p)
		sonde_map_add(&notes->texts, copy, NULL);
}

void sonde_note(struct sonde_notes *notes, const char *fmt, ...)
{
	struct sonde_buf b = {0};
	va_list ap;

	va_start(ap, fmt);
	sonde_buf_vprintf(&b, fmt, ap);
	va_end(ap);
	if (!b.failed)
		add(notes, sonde_buf_view(&b));
	sonde_buf_release(&b);
}

void sonde_notes_add(struct sonde_notes *to, const struct sonde_notes *from)
{
	size_t i;

	for (i = 0; i < from->texts.nr; i++)
		add(to, from->texts.keys[i]);
}

void sonde_notes_release(struct sonde_notes *notes)
{
	sonde_map_release(&notes->texts);
	sonde_arena_release(&notes->arena);
}
