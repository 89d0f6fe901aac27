#include "export/format.h"

#include "export/tracks.h"

#include <string.h>

#define ENTRY(name, extensions, flags) {#name, extensions, flags, sonde_export_##name},
const struct sonde_format sonde_formats[] = {SONDE_FORMATS(ENTRY)};
const size_t sonde_nr_formats = sizeof(sonde_formats) / sizeof(sonde_formats[0]);

const struct sonde_format *sonde_format_named(struct sonde_str name)
{
	size_t i;

	for (i = 0; i < sonde_nr_formats; i++)
		if (sonde_str_is(name, sonde_formats[i].name))
			return &sonde_formats[i];
	return NULL;
}

static bool has_extension(const struct sonde_format *f, struct sonde_str path)
{
	struct sonde_str rest = sonde_str_from(f->extensions);

	while (rest.n) {
		struct sonde_str end = sonde_str_cut(rest, '|', &rest);

		if (path.n > end.n && memcmp(path.p + path.n - end.n, end.p, end.n) == 0)
			return true;
	}
	return false;
}

const struct sonde_format *sonde_format_of_file(struct sonde_str path)
{
	size_t i;

	for (i = 0; i < sonde_nr_formats; i++)
		if (has_extension(&sonde_formats[i], path))
			return &sonde_formats[i];
	return NULL;
}

void sonde_format_list(struct sonde_buf *out, unsigned flags)
{
	size_t i, left = 0;

	for (i = 0; i < sonde_nr_formats; i++)
		left += (sonde_formats[i].flags & flags) == flags;
	for (i = 0; i < sonde_nr_formats; i++) {
		if ((sonde_formats[i].flags & flags) != flags)
			continue;
		left--;
		sonde_buf_printf(out, "%s%s", sonde_formats[i].name,
			left > 1 ? ", " : left == 1 ? " and " : "");
	}
}

int sonde_export(const struct sonde_format *f, const struct sonde_tree *t,
	const struct sonde_export_options *o, struct sonde_sink *to, struct sonde_err *err)
{
	if ((f->flags & SONDE_FORMAT_FILE) && !sonde_sink_file(to))
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"%s: this format needs a file of its own: name one with -o FILE", f->name);
	if ((f->flags & SONDE_FORMAT_TIMELINE) && t->cells->has_times && !t->cells->timeline)
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"%s: partial reports contain no single launches, so there is no time line "
			"to write; report on the captures themselves",
			f->name);
	if ((f->flags & SONDE_FORMAT_TIMELINE) && !sonde_tracks_exist(t))
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"%s: this capture has no timestamps, so there is no time line to "
			"write; native captures have them, and speedscope or folded work without",
			f->name);
	return f->write(t, o, to, err);
}
