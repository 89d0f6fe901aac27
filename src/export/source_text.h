/*
 * Private to the exporters, but for noting: the text of the source lines that PC samples are at.
 *
 * The path is the capture's, and the file may be another by now. When `sonde run` has ended it notes the hash of each file
 * beside the capture (sources.txt); later a file is what it was where its hash is the same. Without a
 * note it is, where it is older than the capture.
 */
#ifndef SONDE_EXPORT_SOURCE_TEXT_H
#define SONDE_EXPORT_SOURCE_TEXT_H

#include "base/map.h"
#include "fold/cells.h"

struct sonde_source_file;

enum sonde_source_state {
	SONDE_SOURCE_ABSENT,  /* not on this machine, or not for us to read */
	SONDE_SOURCE_CHANGED, /* since the capture */
	SONDE_SOURCE_IS_THERE,
};

/* Files that were looked at. Start with sonde_source_texts_open, release in any case. */
struct sonde_source_texts {
	const struct sonde_cells *c;
	uint64_t captured_ns; /* when the first sampled process began, real time; 0 = not known */
	struct sonde_map paths; /* of noted files … */
	SONDE_VEC(struct sonde_str) hashes; /* … and their hashes */
	SONDE_VEC(struct sonde_source_file) files;
	struct sonde_arena arena;
};

void sonde_source_texts_open(struct sonde_source_texts *s, const struct sonde_cells *c);
/* The text of a line without the blanks around it, valid until the next call; empty unless it is there. */
enum sonde_source_state sonde_source_text(struct sonde_source_texts *s, const struct sonde_line *line, struct sonde_str *text);
void sonde_source_texts_release(struct sonde_source_texts *s);

#endif
