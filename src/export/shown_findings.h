/* Findings for people: which of them a report shows, and in which words. */
#ifndef SONDE_EXPORT_SHOWN_FINDINGS_H
#define SONDE_EXPORT_SHOWN_FINDINGS_H

#include "export/export.h"
#include "tree/findings.h"

#define SONDE_FEW_FINDINGS 3 /* findings that are shown unless the options ask for more */

/*
 * Fills in the findings that are shown; returns how many. That is 0 if there are none, if their report is not shown, or
 * if the view is about something else. Unless all are asked for, each cause is shown once, by its first finding, which is the
 * largest; its other places are named after that.
 */
size_t sonde_findings_shown(
	const struct sonde_finding *out[SONDE_MAX_FINDINGS], const struct sonde_tree *t, const struct sonde_export_options *o);
/*
 * Appends "Also: gemv (14%), step/optimizer (7%).", the other findings with the same cause; nothing if there are none,
 * or if all are shown.
 */
void sonde_finding_say_also(
	struct sonde_buf *out, const struct sonde_tree *t, const struct sonde_export_options *o, const struct sonde_finding *f);
/* Appends "step/optimizer: the GPU was idle for …, because …." Of a long path only the end, which says most. */
void sonde_finding_say(struct sonde_buf *out, const struct sonde_finding *f);
/* Appends "Do: …. Gain: …. More: …"; no "More" if the options ask for that view already. */
void sonde_finding_say_next(struct sonde_buf *out, const struct sonde_findings *all, const struct sonde_export_options *o, const struct sonde_finding *f);
/* Replaces the RUN of the commands in such a text with `run`; with "" they name none. */
void sonde_finding_name_run(struct sonde_buf *line, const char *run);
/*
 * Appends "step = decode: 12 entries of 3.100 ms", if findings count by a region that is not called a step, or leave out
 * slow entries of it; else nothing.
 */
void sonde_findings_say_step(struct sonde_buf *out, const struct sonde_tree *t, const struct sonde_export_options *o);
/* Appends "4 more: --findings all" if not all are shown or named, and, after several gains, that they do not add up. */
void sonde_findings_say_rest(struct sonde_buf *out, const struct sonde_tree *t, const struct sonde_export_options *o);
/* Whether one of the shown findings is about the region, or is based on its figures. */
bool sonde_findings_name(const struct sonde_tree *t, const struct sonde_report *r, const struct sonde_export_options *o, uint32_t node);

#endif
