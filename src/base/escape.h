/*
 * Labels are hostile text. One function per target language makes any bytes
 * harmless there; text reaches an output only through one of these functions.
 *
 *   JSON       exact. Bytes that are not UTF-8 become U+FFFD and two upper-case
 *              hexadecimal digits each (byte FF: "\ufffdFF"). A real U+FFFD that
 *              happens to precede such digits is written byte by byte the
 *              same way, so the original can always be restored: replace every
 *              U+FFFD followed by [89A-F][0-9A-F] with that byte.
 *   Markdown   reads the same when rendered: nothing starts emphasis, code,
 *              links, tables, HTML or mathematics.
 *   CSV        RFC 4180; text that a spreadsheet would take for a formula gets
 *              a ' in front.
 *   terminal   characters that move the cursor, reorder or hide text become visible.
 *   script     JSON, or any text that has '<' and '&' inside JSON strings only, as
 *              the content of an HTML script element: nothing in it ends the element
 *              or opens a comment. The JSON stays the same value.
 *   XML        text and attribute values of HTML, SVG and XML.
 *   Prometheus a label's value, between its quotes.
 *   folded     a frame of a flame-graph stack: without `;` and line ends.
 *   path       see folder.h.
 *
 * In all but JSON and script, control characters, bidirectional controls and invalid bytes
 * appear as \n, \t, \x1b, \u202e: readable, but nothing turns them back.
 */
#ifndef SONDE_BASE_ESCAPE_H
#define SONDE_BASE_ESCAPE_H

#include "base/str.h"

void sonde_escape_json(struct sonde_buf *out, struct sonde_str text); /* with the quotes */
/* The same for the key of an object: NUL becomes "\ufffd00", since many readers do not accept a NUL in a key. */
void sonde_escape_json_key(struct sonde_buf *out, struct sonde_str text);
void sonde_escape_markdown(struct sonde_buf *out, struct sonde_str text);
void sonde_escape_script(struct sonde_buf *out, struct sonde_str json);
void sonde_escape_xml(struct sonde_buf *out, struct sonde_str text);
void sonde_escape_prometheus(struct sonde_buf *out, struct sonde_str text);
void sonde_escape_folded(struct sonde_buf *out, struct sonde_str text);
void sonde_escape_csv(struct sonde_buf *out, struct sonde_str text);
/* With `is_utf8` false, everything beyond ASCII becomes visible escapes too. */
void sonde_escape_terminal(struct sonde_buf *out, struct sonde_str text, bool is_utf8);
/* The same for a sentence of sonde's: the symbols that it may have, such as µ, → and ±, become ASCII that people read. */
void sonde_escape_sentence(struct sonde_buf *out, struct sonde_str text, bool is_utf8);

/* How many columns `text` (already escaped) takes on a terminal. */
size_t sonde_width(struct sonde_str text);
/* The longest beginning of `text` that takes at most `columns` columns. */
struct sonde_str sonde_width_cut(struct sonde_str text, size_t columns);
/* The longest end of `text` that takes at most `columns` columns. */
struct sonde_str sonde_width_end(struct sonde_str text, size_t columns);

#endif
