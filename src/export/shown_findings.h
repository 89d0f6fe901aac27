/* Findings for people: which of them a report shows, and in which words. */
#ifndef SONDE_EXPORT_SHOWN_FINDINGS_H
#define SONDE_EXPORT_SHOWN_FINDINGS_H

#include "export/export.h"
#include "tree/findings.h"

#define SONDE_FEW_FINDINGS 3 /* shown unless more are asked for */

/*
 * Those that are shown, and how many; 0 where there are none, the report they are about is not shown, or the view is of something
 * else. Unless all are asked for, one cause is shown once: the other places are named behind the first.
 */
size_t sonde_findings_shown(
	const struct sonde_finding *out[SONDE_MAX_FINDINGS], const struct sonde_tree *t, const struct sonde_export_options *o);
/* "Also: gemv (14%), step/optimizer (7%)." The other findings of its cause; nothing where there are none, or all are shown. */
void sonde_finding_say_also(
	struct sonde_buf *out, const struct sonde_tree *t, const struct sonde_export_options *o, const struct sonde_finding *f);
/* "step/optimizer: the GPU was idle for …, because …." The end of a long path, which says most. */
void sonde_finding_say(struct sonde_buf *out, const struct sonde_finding *f);
/* "do …; gain …; more: …" */
void sonde_finding_say_next(struct sonde_buf *out, const struct sonde_findings *all, const struct sonde_finding *f);
/* "4 more: --findings all"; nothing where all are shown or named. */
void sonde_findings_say_rest(struct sonde_buf *out, const struct sonde_tree *t, const struct sonde_export_options *o);
/* Whether one of those that are shown is about the region, or rests on its figures. */
bool sonde_findings_name(const struct sonde_tree *t, const struct sonde_report *r, const struct sonde_export_options *o, uint32_t node);

#endif
