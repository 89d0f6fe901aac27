/*
 * The table of output formats at run time: catalogue/formats.h with writers.
 *
 * `sonde_export` is the one way to write a report in a format that was asked for by name. It refuses a format that the
 * capture or the output cannot serve, and says why.
 */
#ifndef SONDE_EXPORT_FORMAT_H
#define SONDE_EXPORT_FORMAT_H

#include "catalogue/formats.h"
#include "export/export.h"

/* Fails when out of memory, or with SONDE_ERR_USAGE when the format cannot show this tree. */
typedef int sonde_exporter(const struct sonde_tree *t, const struct sonde_export_options *o,
	struct sonde_sink *to, struct sonde_err *err);

struct sonde_format {
	const char *name, *extensions;
	unsigned flags; /* enum sonde_format_flag */
	sonde_exporter *write;
};

extern const struct sonde_format sonde_formats[];
extern const size_t sonde_nr_formats;

const struct sonde_format *sonde_format_named(struct sonde_str name); /* or NULL */
/* The format that the extension of this file means, or NULL. */
const struct sonde_format *sonde_format_of_file(struct sonde_str path);
/* Appends the names of formats with these flags, as "folded, speedscope and svg". */
void sonde_format_list(struct sonde_buf *out, unsigned flags);

int sonde_export(const struct sonde_format *f, const struct sonde_tree *t,
	const struct sonde_export_options *o, struct sonde_sink *to, struct sonde_err *err);

#define SONDE_DECLARE_EXPORTER(name, extensions, flags) sonde_exporter sonde_export_##name;
SONDE_FORMATS(SONDE_DECLARE_EXPORTER)
#undef SONDE_DECLARE_EXPORTER

#endif
