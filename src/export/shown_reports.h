/* Private to the room: which reports of a tree an output shows, and in which order. */
#ifndef SONDE_EXPORT_SHOWN_REPORTS_H
#define SONDE_EXPORT_SHOWN_REPORTS_H

#include "export/export.h"

/* A caution for the reader of replayed ranges; NULL for kernels. */
const char *sonde_report_caution(const struct sonde_report *r);

/* The one scope that a report shows; NULL for an aggregate and for scopes that were added up. */
const struct sonde_scope *sonde_report_scope(const struct sonde_tree *t, const struct sonde_report *r);

/* Whether `--scope` lets this report be shown. */
bool sonde_report_is_shown(const struct sonde_report *r, const struct sonde_export_options *o);
/* Whether text shows this report: if there are several scopes it shows the aggregate, and single scopes on request. */
bool sonde_report_is_printed(const struct sonde_tree *t, const struct sonde_report *r,
	const struct sonde_export_options *o);

/* Whether this report is printed before the others: an aggregate is, unless it repeats the only scope. */
bool sonde_report_comes_first(const struct sonde_tree *t, const struct sonde_report *r,
	const struct sonde_export_options *o);

/* Whether this is an aggregate over one scope that is shown anyway: for people one table is enough. */
bool sonde_report_is_doubled(const struct sonde_tree *t, const struct sonde_report *r,
	const struct sonde_export_options *o);

/*
 * The report a picture of one tree shows: the first aggregate among those
 * shown, else the first scope. NULL when nothing is shown.
 */
const struct sonde_report *sonde_report_main(
	const struct sonde_tree *t, const struct sonde_export_options *o);

/* Says that the selections take no kernel, or nothing at all, where that is so. `strong` is put around what is emphasised. */
void sonde_say_nothing_selected(struct sonde_buf *out, const struct sonde_tree *t, const char *strong);

#endif
