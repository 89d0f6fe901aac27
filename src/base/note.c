/* The sentences are the keys of a map, so that each is kept once. */
#include "base/note.h"

#include <stdarg.h>

bool sonde_notes_is_loss(const struct sonde_notes *notes, size_t i)
{
	return i < notes->losses.nr && notes->losses.at[i];
}

/* Marks a note as a loss. It stays one when the same sentence is added again as a mere note. */
static void mark_loss(struct sonde_notes *notes, uint32_t i)
{
	while (notes->losses.nr <= i)
		if (!sonde_vec_put(&notes->losses, false))
			return;
	notes->losses.at[i] = true;
}

void sonde_notes_put(struct sonde_notes *notes, struct sonde_str text, bool is_loss)
{
	uint32_t i = sonde_map_keep(&notes->texts, &notes->arena, text, NULL);

	if (!is_loss || (i != SONDE_NONE && sonde_notes_is_loss(notes, i)))
		return;
	notes->nr_losses++;
	if (i != SONDE_NONE)
		mark_loss(notes, i);
}

static void __attribute__((format(printf, 3, 0))) print_note(
	struct sonde_notes *notes, bool is_loss, const char *fmt, va_list ap)
{
	struct sonde_buf b = {0};

	sonde_buf_vprintf(&b, fmt, ap);
	if (!b.failed)
		sonde_notes_put(notes, sonde_buf_view(&b), is_loss);
	else
		notes->nr_losses += is_loss;
	sonde_buf_release(&b);
}

void sonde_note(struct sonde_notes *notes, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_note(notes, false, fmt, ap);
	va_end(ap);
}

void sonde_note_loss(struct sonde_notes *notes, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_note(notes, true, fmt, ap);
	va_end(ap);
}

void sonde_notes_add(struct sonde_notes *to, const struct sonde_notes *from)
{
	uint64_t nr_told = 0;
	size_t i;

	for (i = 0; i < from->texts.nr; i++) {
		sonde_notes_put(to, from->texts.keys[i], sonde_notes_is_loss(from, i));
		nr_told += sonde_notes_is_loss(from, i);
	}
	to->nr_losses += from->nr_losses - nr_told;
}

void sonde_notes_release(struct sonde_notes *notes)
{
	sonde_map_release(&notes->texts);
	sonde_vec_release(&notes->losses);
	sonde_arena_release(&notes->arena);
}
