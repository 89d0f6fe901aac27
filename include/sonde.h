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
 * these as a tree. It is asked once, run once and read-only afterwards.
 *
 * The library has no global state; it never prints, exits or changes the
 * process. Pipelines are independent: each may be used by one thread at a time,
 * any number at the same time. Every pointer returned is borrowed and valid until
 * `sonde_pipeline_free`, where nothing else is said. Text is UTF-8 as the capture
 * has it, and may hold control characters: escape it before you show it.
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

const char *sonde_version(void); /* of the library that is loaded, "0.1.0" */

/* --- asking ------------------------------------------------------------------------------ */

struct sonde_pipeline *sonde_pipeline_new(void); /* NULL when memory is short */
void sonde_pipeline_free(struct sonde_pipeline *p);

/* A capture, partial report or directory of either. Nothing is opened yet; the text is copied. */
int sonde_pipeline_add_input(struct sonde_pipeline *p, const char *path);
/* A setting as `sonde report` takes it, `report.sort=time`; `sonde config --help` lists the keys.
 */
int sonde_pipeline_set(struct sonde_pipeline *p, const char *key_and_value);
/*
 * Where configurations are looked for first, as --config-dir, and which is used,
 * as --config-name. NULL = as if not called. Settings win over what files say.
 */
int sonde_pipeline_set_config(struct sonde_pipeline *p, const char *dir, const char *name);
/* Keeps single launches in memory, which html, perfetto and sqlite show. Off by default. */
void sonde_pipeline_keep_launches(struct sonde_pipeline *p);

/* --- running ----------------------------------------------------------------------------- */

/* A second run of the same pipeline is SONDE_ERR_USAGE. */
int sonde_pipeline_run(struct sonde_pipeline *p, struct sonde_err *err);
/* Instead of run: writes a partial report (docs/cells-format.md), which may be an input later. */
int sonde_pipeline_write_partial(struct sonde_pipeline *p, const char *path, struct sonde_err *err);

/* Sentences about what was left out or could only be done second best. */
size_t sonde_pipeline_nr_notes(const struct sonde_pipeline *p);
const char *sonde_pipeline_note(struct sonde_pipeline *p, size_t i); /* NULL beyond the last */

/* --- the report as bytes ------------------------------------------------------------------ */

/* The report as JSON (schema sonde.report/1). The text ends with a NUL that `*size` leaves out. */
int sonde_pipeline_json(
	struct sonde_pipeline *p, const char **out, size_t *size, struct sonde_err *err);
/*
 * Writes `path` in a format of `sonde report --format`: json, md, html, csv, text … NULL makes
 * `path` a directory of the formats in report.formats. A file appears complete or not at all.
 */
int sonde_pipeline_export(
	struct sonde_pipeline *p, const char *format, const char *path, struct sonde_err *err);

/* --- the report as numbers ----------------------------------------------------------------- */

/*
 * A view is one report: of a scope (a process on a device), or an aggregate.
 * NULL beyond the last, and before the pipeline has run. The main one is the first aggregate,
 * else the first scope; NULL when there is none.
 */
size_t sonde_pipeline_nr_views(const struct sonde_pipeline *p);
const struct sonde_view *sonde_pipeline_view(const struct sonde_pipeline *p, size_t i);
const struct sonde_view *sonde_pipeline_main_view(const struct sonde_pipeline *p);

const char *sonde_view_scope(const struct sonde_view *v); /* "process:4519/device:0", "aggregate" */
bool sonde_view_is_aggregate(const struct sonde_view *v);

/*
 * Regions are numbered depth-first from 0. A number beyond the last has no name
 * (NULL), no launches (0) and no time (NaN). Times are NaN when not known.
 */
#define SONDE_NO_REGION SIZE_MAX
size_t sonde_view_nr_regions(const struct sonde_view *v);
const char *sonde_view_id(const struct sonde_view *v, size_t region); /* the same in every report */
const char *sonde_view_name(const struct sonde_view *v, size_t region); /* its label */
size_t sonde_view_depth(const struct sonde_view *v, size_t region);
size_t sonde_view_parent(const struct sonde_view *v, size_t region); /* a root: SONDE_NO_REGION */
uint64_t sonde_view_entries(const struct sonde_view *v, size_t region);
uint64_t sonde_view_launches(const struct sonde_view *v, size_t region); /* those inside included */
uint64_t sonde_view_own_launches(const struct sonde_view *v, size_t region);
double sonde_view_time_ns(const struct sonde_view *v, size_t region); /* on the GPU, summed */
double sonde_view_own_time_ns(const struct sonde_view *v, size_t region);
double sonde_view_host_ns(const struct sonde_view *v, size_t region); /* of its entries */

/* The metrics of the report, by name. Which there are, report.metrics says. */
size_t sonde_pipeline_nr_metrics(const struct sonde_pipeline *p);
const char *sonde_pipeline_metric(struct sonde_pipeline *p, size_t i); /* NULL beyond the last */
const char *sonde_pipeline_metric_unit(
	const struct sonde_pipeline *p, size_t i); /* "ns", "%", "" */

/* A metric of a region, regions inside included. NaN = not known, or no number. */
double sonde_view_metric(const struct sonde_view *v, size_t region, const char *metric);
/* ± of the 95 % interval of a sampled figure, else NaN. */
double sonde_view_metric_error(const struct sonde_view *v, size_t region, const char *metric);
/* How far it may be trusted, "exact", "estimated" …; NULL when there is no such metric. */
const char *sonde_view_metric_quality(
	const struct sonde_view *v, size_t region, const char *metric);

/* --- two sides ------------------------------------------------------------------------------- */

/*
 * Compares runs of a program before and after a change, as `sonde diff`. Every run is a pipeline
 * that has run, and must outlive the comparison. Sides that are not comparable, of different
 * GPUs say, are SONDE_ERR_FORMAT; what they lack goes into the message.
 */
int sonde_comparison_open(struct sonde_comparison **out, struct sonde_pipeline *const *base,
	size_t nr_base, struct sonde_pipeline *const *new_side, size_t nr_new,
	struct sonde_err *err);
void sonde_comparison_free(struct sonde_comparison *c);

/* Regions of both sides, numbered depth-first. Beyond the last: NULL and NaN. */
size_t sonde_comparison_nr_regions(const struct sonde_comparison *c);
const char *sonde_comparison_id(struct sonde_comparison *c, size_t region);
/* "same", "slower", "faster", "likely_slower", "likely_faster" (of one run a side), "insufficient", "added", "removed" */
const char *sonde_comparison_verdict(const struct sonde_comparison *c, size_t region);
/* New time ÷ base time of an entry; NaN = not known. */
double sonde_comparison_ratio(const struct sonde_comparison *c, size_t region);
/* The 95 % interval of the ratio; 0 and infinity = not known. */
double sonde_comparison_low(const struct sonde_comparison *c, size_t region);
double sonde_comparison_high(const struct sonde_comparison *c, size_t region);
/* Sentences about what changed, the most important first. */
size_t sonde_comparison_nr_sentences(const struct sonde_comparison *c);
const char *sonde_comparison_sentence(struct sonde_comparison *c, size_t i);
/* text, json, md, html or junit. The file appears complete or not at all. */
int sonde_comparison_export(const struct sonde_comparison *c, const char *format, const char *path,
	struct sonde_err *err);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
