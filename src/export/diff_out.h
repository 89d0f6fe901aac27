/*
 * Comparisons as bytes: text for a terminal, JSON (sonde.diff/1), Markdown for a
 * pull request, JUnit XML for a CI server, and one self-contained HTML page.
 *
 * The same comparison and options give the same bytes. Writers fail only when
 * memory is short; the sink reports failed writes.
 */
#ifndef SONDE_EXPORT_DIFF_OUT_H
#define SONDE_EXPORT_DIFF_OUT_H

#include "base/sink.h"
#include "base/words.h"
#include "compare/diff.h"

struct sonde_diff_out {
	struct sonde_words base, new_side; /* names of the inputs */
	size_t width;			   /* width of the terminal; 0 = 100 */
	size_t max_regions;		   /* rows in text and Markdown; 0 = 20 in text, 100 in Markdown and with `shows_all` */
	bool shows_all;			   /* text: also regions with too few or too noisy entries */
	bool is_coloured, is_utf8;
};

typedef int sonde_diff_writer(const struct sonde_diff *d, const struct sonde_diff_out *o,
	struct sonde_sink *to, struct sonde_err *err);

/* The formats: X(name, extension). The writer of a format is `sonde_export_diff_NAME`. */
#define SONDE_DIFF_FORMATS(X)                                                                      \
	X(text, ".txt") X(json, ".json") X(md, ".md") X(html, ".html") X(junit, ".xml")
#define SONDE_DIFF_FORMAT_WORD(name, extension) "|" #name
#define SONDE_DIFF_FORMAT_WORDS	      (&(SONDE_DIFF_FORMATS(SONDE_DIFF_FORMAT_WORD))[1])

/* The writer of a format by its name, or NULL. */
sonde_diff_writer *sonde_diff_writer_named(const char *format);
#define SONDE_DIFF_FORMAT_END(name, extension) "|" extension
#define SONDE_DIFF_FORMAT_ENDS SONDE_DIFF_FORMATS(SONDE_DIFF_FORMAT_END)
/* The name of the format that the extension of this file means, or NULL. */
const char *sonde_diff_format_of_file(struct sonde_str path);

#endif
