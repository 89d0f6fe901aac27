/*
 * The output formats, one line each. A line has everything in which a format differs from others, except its writer.
 * Help, `-o FILE` and the configuration are generated from this list.
 *
 *   X(name, extensions, flags)
 *
 * `name` is what `-f` takes. The format's writer is `sonde_export_NAME`, declared by export/format.h from this list.
 * `extensions` are the file name endings that select this format, separated by '|'; "" if no ending selects it. To add a
 * format, add a line here and a file that defines the writer.
 */
#ifndef SONDE_CATALOGUE_FORMATS_H
#define SONDE_CATALOGUE_FORMATS_H

enum sonde_format_flag {
	SONDE_FORMAT_IN_DIR = 1,	/* `report.formats` may ask for it: DIR/report.NAME */
	SONDE_FORMAT_BY_DEFAULT = 2,	/* also written when nothing is asked for */
	SONDE_FORMAT_REGIONS_ONLY = 4,	/* cannot carry notes; they go to stderr */
	SONDE_FORMAT_WIDTHS = 8,	/* draws widths; `--by` chooses the metric they show */
	SONDE_FORMAT_TIMELINE = 16,	/* needs a capture with timestamps */
	SONDE_FORMAT_FILE = 32,		/* needs a file of its own: no stream, pipe or device */
	SONDE_FORMAT_HEADLINE = 64,	/* shows the headline metrics only, unless others are named */
	SONDE_FORMAT_EVENTS = 128,	/* shows single launches and entries that have times */
	SONDE_FORMAT_LAUNCHES = 256,	/* also lists launches without times */
	SONDE_FORMAT_PACKED = 512,	/* is always compressed, whatever its file is called */
	SONDE_FORMAT_NO_TEXT = 1024,	/* nobody reads it on a terminal: a page, a picture, data of another program */
};

/*
 * Formats that a directory may have, in reverse order of writing: report.json is written last, so where it is, all
 * others are.
 */
#define SONDE_DIR_FORMATS(X)                                                                       \
	X(json, ".json", SONDE_FORMAT_IN_DIR | SONDE_FORMAT_BY_DEFAULT)                            \
	X(md, ".md", SONDE_FORMAT_IN_DIR | SONDE_FORMAT_BY_DEFAULT)                                \
	X(html, ".html", SONDE_FORMAT_IN_DIR | SONDE_FORMAT_BY_DEFAULT | SONDE_FORMAT_EVENTS | SONDE_FORMAT_NO_TEXT) \
	X(csv, ".csv", SONDE_FORMAT_IN_DIR)

#define SONDE_FORMATS(X)                                                                           \
	X(text, ".txt", SONDE_FORMAT_HEADLINE)                                                     \
	SONDE_DIR_FORMATS(X)                                                                       \
	X(svg, ".svg", SONDE_FORMAT_REGIONS_ONLY | SONDE_FORMAT_WIDTHS | SONDE_FORMAT_NO_TEXT)     \
	X(speedscope, "", SONDE_FORMAT_REGIONS_ONLY | SONDE_FORMAT_WIDTHS | SONDE_FORMAT_NO_TEXT)  \
	X(perfetto, "", SONDE_FORMAT_TIMELINE | SONDE_FORMAT_EVENTS | SONDE_FORMAT_NO_TEXT)        \
	X(folded, ".folded", SONDE_FORMAT_REGIONS_ONLY | SONDE_FORMAT_WIDTHS)                      \
	X(pprof, ".pb.gz|.pprof", SONDE_FORMAT_REGIONS_ONLY | SONDE_FORMAT_PACKED | SONDE_FORMAT_NO_TEXT) \
	X(prometheus, ".prom", SONDE_FORMAT_REGIONS_ONLY)                                          \
	X(hatchet, "", SONDE_FORMAT_REGIONS_ONLY)                                                  \
	X(sqlite, ".db|.sqlite", SONDE_FORMAT_FILE | SONDE_FORMAT_EVENTS | SONDE_FORMAT_LAUNCHES)

/* The names in such a list as one string constant: "json|md|html|csv". */
#define SONDE_FORMAT_WORD(name, extensions, flags) "|" #name
#define SONDE_FORMAT_WORDS(list) (&(list(SONDE_FORMAT_WORD))[1])

/* The file name endings in such a list: ".json|.md". */
#define SONDE_FORMAT_END(name, extensions, flags) "|" extensions
#define SONDE_FORMAT_ENDS(list) list(SONDE_FORMAT_END)

#endif
