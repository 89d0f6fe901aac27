/* Private to the JSON files: what they pass around. */
#ifndef SONDE_EXPORT_JSON_INT_H
#define SONDE_EXPORT_JSON_INT_H

#include "export/field.h"
#include "base/json_out.h"

struct sonde_json_export {
	struct sonde_json w;
	const struct sonde_tree *tree;
	const struct sonde_export_options *options;
	struct sonde_figures figures;
	struct sonde_str *members; /* by column: `"name": `, ready to print */
	struct sonde_arena arena;
	uint64_t first_ns; /* when the first range was entered: begins are counted from there */
	bool tells_all;	 /* the next "metric_info" has every metric, not only exceptions */
	uint32_t *stack; /* by depth: the node that is being written, and those around it */
};

int sonde_json__init(struct sonde_json_export *x, const struct sonde_tree *t,
	const struct sonde_export_options *o, struct sonde_sink *to, struct sonde_err *err);
void sonde_json__release(struct sonde_json_export *x);

/* Write a string of the tree, and the id of a region: null for SONDE_NONE, "" for an empty one. */
void sonde_json__write_string(struct sonde_json_export *x, const char *key, uint32_t string);
void sonde_json__write_region_id(struct sonde_json_export *x, const char *key, uint32_t region);
void sonde_json__write_words(struct sonde_json *w, const char *key, struct sonde_words list);
/* Writes the members after "schema": "generator" … "selection". */
void sonde_json__write_head(struct sonde_json_export *x);
/* Writes "entries", if the capture has their times. */
void sonde_json__write_entries(
	struct sonde_json_export *x, const struct sonde_report *r, const struct sonde_node *n);
/* Writes the findings; nothing if there are none, or if their report is not shown. */
void sonde_json__write_findings(struct sonde_json_export *x);
/* Writes PC samples, if there are any: "stalls" of a part of a report, and "pc_samples" of the document. */
void sonde_json__write_stalls(
	struct sonde_json_export *x, const struct sonde_report *r, enum sonde_part part, uint32_t index);
void sonde_json__write_pc_samples(struct sonde_json_export *x);
/* Write "ranks" of the document, and of a region in an aggregate; nothing without two ranks. */
void sonde_json__write_ranks(struct sonde_json_export *x);
void sonde_json__write_region_ranks(struct sonde_json_export *x, const struct sonde_node *n);
/* Writes the fields of region `node`; x->stack has to contain its ancestors. */
void sonde_json__write_region(struct sonde_json_export *x, const struct sonde_report *r, uint32_t node);
/* Writes "metrics" and what there is to say about them, from x->figures. */
void sonde_json__write_metrics(struct sonde_json_export *x);
/* Writes a member of "metric_info": the unit of a metric, and how its figure was made. */
void sonde_json__write_metric_info(
	struct sonde_json_export *x, const struct sonde_column *c, uint8_t method, uint8_t quality);
void sonde_json__write_kernels(
	struct sonde_json_export *x, const struct sonde_report *r, uint32_t first, uint32_t nr);
/* Writes "device" and "process_id" of a report: null if it is about several. */
void sonde_json__write_place(
	struct sonde_json_export *x, const struct sonde_report *r, bool with_process);

#endif
