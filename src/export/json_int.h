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
	uint32_t *stack; /* the node now written at each depth */
};

int sonde_json__init(struct sonde_json_export *x, const struct sonde_tree *t,
	const struct sonde_export_options *o, struct sonde_sink *to, struct sonde_err *err);
void sonde_json__release(struct sonde_json_export *x);

/* Write a string of the tree, and the id of a region: null for SONDE_NONE, "" for an empty one. */
void sonde_json__write_string(struct sonde_json_export *x, const char *key, uint32_t string);
void sonde_json__write_region_id(struct sonde_json_export *x, const char *key, uint32_t region);
void sonde_json__write_words(struct sonde_json *w, const char *key, struct sonde_words list);
/* "schema" … "coverage": the members above the reports. */
void sonde_json__write_head(struct sonde_json_export *x);
/* "entries", where the capture has their times. */
void sonde_json__write_entries(
	struct sonde_json_export *x, const struct sonde_report *r, const struct sonde_node *n);
/* "ranks" of the document, and of a region in an aggregate: nothing where there are not two. */
/* Nothing where there are none, or the report that they are about is not shown. */
void sonde_json__write_findings(struct sonde_json_export *x);
/* PC samples, where there are any: "stalls" of a part of a report, and "pc_samples" of the document. */
void sonde_json__write_stalls(
	struct sonde_json_export *x, const struct sonde_report *r, enum sonde_part part, uint32_t index);
void sonde_json__write_pc_samples(struct sonde_json_export *x);
void sonde_json__write_ranks(struct sonde_json_export *x);
void sonde_json__write_spread(struct sonde_json_export *x, const struct sonde_node *n);
/* The fields of region `node`; x->stack holds its ancestors. */
void sonde_json__write_region(struct sonde_json_export *x, const struct sonde_report *r, uint32_t node);
/* "metrics" and what there is to say about them; their figures are in x->figures. */
void sonde_json__write_metrics(struct sonde_json_export *x);
/* A member of "metric_info": the unit of a metric, and how its figure was made. */
void sonde_json__write_metric_info(
	struct sonde_json_export *x, const struct sonde_column *c, uint8_t method, uint8_t quality);
void sonde_json__write_kernels(
	struct sonde_json_export *x, const struct sonde_report *r, uint32_t first, uint32_t nr);
/* "device" and "process_id" of a report: null over several. */
void sonde_json__write_place(
	struct sonde_json_export *x, const struct sonde_report *r, bool with_process);

#endif
