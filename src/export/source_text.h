/*
 * Private to the exporters, except for the note (source_note.h): the text of the source lines that PC samples are at.
 *
 * The path comes from the capture, and the file may have changed since. When `sonde run` ends, it notes the hash of
 * each file beside the capture (sources.txt); later a file counts as unchanged if its hash is the same. Without a note,
 * a file counts as unchanged if it is older than the capture.
 */
#ifndef SONDE_EXPORT_SOURCE_TEXT_H
#define SONDE_EXPORT_SOURCE_TEXT_H

#include "base/map.h"
#include "fold/cells.h"

struct sonde_source_file;

enum sonde_source_state {
	SONDE_SOURCE_ABSENT,  /* not on this machine, or we may not read it */
	SONDE_SOURCE_CHANGED, /* changed since the capture */
	SONDE_SOURCE_IS_THERE,
};

/* The files that were looked at. Start with sonde_source_texts_open, release in any case. */
struct sonde_source_texts {
	const struct sonde_cells *c;
	uint64_t captured_ns; /* when the first sampled process began, real time; 0 = not known */
	struct sonde_map paths; /* paths of noted files … */
	SONDE_VEC(struct sonde_str) hashes; /* … and their hashes */
	SONDE_VEC(struct sonde_source_file) files;
	struct sonde_arena arena;
};

void sonde_source_texts_open(struct sonde_source_texts *s, const struct sonde_cells *c);
/* The text of a line without the blanks around it, valid until the next call; empty unless SONDE_SOURCE_IS_THERE. */
enum sonde_source_state sonde_source_text(struct sonde_source_texts *s, const struct sonde_line *line, struct sonde_str *text);
void sonde_source_texts_release(struct sonde_source_texts *s);

#endif
