/*
 * libsonde: GPU profiles by NVTX region, from C.
 *
 *     struct sonde_pipeline *p = sonde_pipeline_new();
 *     struct sonde_err err = {0};
 *
 *     sonde_pipeline_add_input(p, "run/20260131-120000");
 *     sonde_pipeline_set(p, "report.nvtx.include=[train*]");
 *     if (sonde_pipeline_run(p, &err))
 *             …err.msg is one line
 *     v = sonde_pipeline_main_view(p);
 *     for (i = 0; i < sonde_view_nr_regions(v); i++)
 *             …sonde_view_name(v, i), sonde_view_time_ns(v, i)
 *     sonde_pipeline_free(p);
 *
 * A pipeline reads captures, attributes their launches to regions and arranges
 * the regions as a tree. Set it up, run it once, then read its results: after the
 * run it is read-only.
 *
 * The library has no global state; it never prints, exits or changes the
 * process. Pipelines are independent: each may be used by one thread at a time,
 * any number at the same time. Unless its function says otherwise, every returned
 * pointer is borrowed and valid until `sonde_pipeline_free`. Text is UTF-8 as in the
 * capture, and may contain control characters: escape it before you show it.
 *
 * All types but `struct sonde_err` are opaque. Functions are only added, so
 * programs built against an older libsonde.so.0 keep working with a newer one.
 */
#ifndef SONDE_H
#define SONDE_H

#include "sonde_err.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct sonde_pipeline;
struct sonde_view;
struct sonde_comparison;

const char *sonde_version(void); /* the version of the library that is loaded, "0.1.0" */

/* --- setting up -------------------------------------------------------------------------- */

struct sonde_pipeline *sonde_pipeline_new(void); /* NULL when memory is short */
void sonde_pipeline_free(struct sonde_pipeline *p);

/* Adds a capture, a partial report, or a directory of these. It is not opened yet; the path is copied. */
int sonde_pipeline_add_input(struct sonde_pipeline *p, const char *path);
/* Adds a setting as for `sonde report`: `report.sort=time`. `sonde config --help` lists the keys. */
int sonde_pipeline_set(struct sonde_pipeline *p, const char *key_and_value);
/*
 * Sets the directory that is searched for configurations first (--config-dir), and the
 * name of the configuration (--config-name). NULL = as if not called. Settings win over files.
 */
int sonde_pipeline_set_config(struct sonde_pipeline *p, const char *dir, const char *name);
/* Keeps single launches in memory, for the formats that show them: html, perfetto, sqlite. Off by default. */
void sonde_pipeline_keep_launches(struct sonde_pipeline *p);

/* --- running ----------------------------------------------------------------------------- */

/* Makes the report. A second run of the same pipeline is SONDE_ERR_USAGE. */
int sonde_pipeline_run(struct sonde_pipeline *p, struct sonde_err *err);
/* Instead of sonde_pipeline_run: writes a partial report (docs/cells-format.md), which can be an input later. */
int sonde_pipeline_write_partial(struct sonde_pipeline *p, const char *path, struct sonde_err *err);

/* Sentences about what was left out or could only be done second best. */
size_t sonde_pipeline_nr_notes(const struct sonde_pipeline *p);
const char *sonde_pipeline_note(struct sonde_pipeline *p, size_t i); /* NULL beyond the last */

/* --- the report as bytes ------------------------------------------------------------------ */

/* The report as JSON (schema sonde.report/1). The text ends with a NUL, which `*size` does not count. */
int sonde_pipeline_json(
	struct sonde_pipeline *p, const char **out, size_t *size, struct sonde_err *err);
/*
 * Writes the report to `path` in a format of `sonde report --format`: json, md, html, csv, text …
 * With `format` NULL, `path` becomes a directory with the formats in report.formats. A file appears complete or
 * not at all.
 */
int sonde_pipeline_export(
	struct sonde_pipeline *p, const char *format, const char *path, struct sonde_err *err);

/* --- the report as numbers ----------------------------------------------------------------- */

/*
 * A view is one report: that of a scope (a process on a device), or an aggregate.
 * NULL beyond the last, and before the pipeline has run. The main view is the first aggregate,
 * or the first scope if there is no aggregate; NULL when there is neither.
 */
size_t sonde_pipeline_nr_views(const struct sonde_pipeline *p);
const struct sonde_view *sonde_pipeline_view(const struct sonde_pipeline *p, size_t i);
const struct sonde_view *sonde_pipeline_main_view(const struct sonde_pipeline *p);

const char *sonde_view_scope(const struct sonde_view *v); /* "process:4519/device:0", "aggregate" */
bool sonde_view_is_aggregate(const struct sonde_view *v);

/*
 * Regions are numbered depth-first from 0. For a number beyond the last, names are
 * NULL, counts 0 and times NaN. A time that is not known is NaN too.
 */
#define SONDE_NO_REGION SIZE_MAX
size_t sonde_view_nr_regions(const struct sonde_view *v);
const char *sonde_view_id(const struct sonde_view *v, size_t region); /* the same in every report */
const char *sonde_view_name(const struct sonde_view *v, size_t region); /* its label */
size_t sonde_view_depth(const struct sonde_view *v, size_t region);
size_t sonde_view_parent(const struct sonde_view *v, size_t region); /* SONDE_NO_REGION for a root */
uint64_t sonde_view_entries(const struct sonde_view *v, size_t region);
uint64_t sonde_view_launches(const struct sonde_view *v, size_t region); /* including regions inside it */
uint64_t sonde_view_own_launches(const struct sonde_view *v, size_t region);
double sonde_view_time_ns(const struct sonde_view *v, size_t region); /* GPU time, summed over launches */
double sonde_view_own_time_ns(const struct sonde_view *v, size_t region);
double sonde_view_host_ns(const struct sonde_view *v, size_t region); /* host time of its entries */

/* The names of the metrics in the report. The setting report.metrics chooses them. */
size_t sonde_pipeline_nr_metrics(const struct sonde_pipeline *p);
const char *sonde_pipeline_metric(struct sonde_pipeline *p, size_t i); /* NULL beyond the last */
const char *sonde_pipeline_metric_unit(
	const struct sonde_pipeline *p, size_t i); /* "ns", "%", "" */

/* The value of a metric of a region, including regions inside it. NaN = not known, or not a number. */
double sonde_view_metric(const struct sonde_view *v, size_t region, const char *metric);
/* Half the width of the 95 % interval (the ±) of a sampled figure; NaN for other figures. */
double sonde_view_metric_error(const struct sonde_view *v, size_t region, const char *metric);
/* How far the value can be trusted: "exact", "estimated" …; NULL when there is no such metric. */
const char *sonde_view_metric_quality(
	const struct sonde_view *v, size_t region, const char *metric);

/* --- two sides ------------------------------------------------------------------------------- */

/*
 * Compares runs of a program before and after a change, as `sonde diff` does. Each run is a pipeline
 * that has run, and that must outlive the comparison. If the sides are not comparable, for example because of
 * different GPUs, the result is SONDE_ERR_FORMAT and the message has the reason.
 */
int sonde_comparison_open(struct sonde_comparison **out, struct sonde_pipeline *const *base,
	size_t nr_base, struct sonde_pipeline *const *new_side, size_t nr_new,
	struct sonde_err *err);
void sonde_comparison_free(struct sonde_comparison *c);

/* The regions of both sides, numbered depth-first. Beyond the last one, functions return NULL and NaN. */
size_t sonde_comparison_nr_regions(const struct sonde_comparison *c);
const char *sonde_comparison_id(struct sonde_comparison *c, size_t region);
/*
 * "same", "slower", "faster", "insufficient", "added" or "removed"; with one run per side "likely_slower" or
 * "likely_faster" instead of "slower" or "faster".
 */
const char *sonde_comparison_verdict(const struct sonde_comparison *c, size_t region);
/* The time of an entry on the new side ÷ that on the base side; NaN = not known. */
double sonde_comparison_ratio(const struct sonde_comparison *c, size_t region);
/* The ends of the 95 % interval of the ratio; 0 and infinity when it is not known. */
double sonde_comparison_low(const struct sonde_comparison *c, size_t region);
double sonde_comparison_high(const struct sonde_comparison *c, size_t region);
/* Sentences about what changed, the most important first. */
size_t sonde_comparison_nr_sentences(const struct sonde_comparison *c);
const char *sonde_comparison_sentence(struct sonde_comparison *c, size_t i);
/* Writes the comparison as text, json, md, html or junit. The file appears complete or not at all. */
int sonde_comparison_export(const struct sonde_comparison *c, const char *format, const char *path,
	struct sonde_err *err);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
