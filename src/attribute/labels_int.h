/*
 * Inside the attribution room: rules that rewrite labels (report.labels).
 *
 * Tools number what they do: `aten::mul, seq = 12, op_id = 40`, `ProfilerStep#3`.
 * Each number would be a region of its own. A rule is `REGEX => REPLACEMENT`,
 * applied to one label; rules run one after the other, before anything else
 * sees the label. Range entries keep their raw label in the records.
 */
#ifndef SONDE_ATTRIBUTE_LABELS_INT_H
#define SONDE_ATTRIBUTE_LABELS_INT_H

#include "attribute/filter.h"
#include "attribute/pattern_int.h"
#include "base/vec.h"

struct sonde_label_pattern {
	struct sonde_pattern pattern;
	struct sonde_str replacement;
	struct sonde_str text;	/* the whole rule */
	bool is_known;		/* shipped: applies only to labels with a digit */
	bool is_used;		/* on the last label */
	uint64_t changed;	/* labels, each once */
};

struct sonde_labels {
	struct sonde_pool pool;
	SONDE_VEC(struct sonde_label_pattern) rules;
	bool has_known; /* the shipped rules are among them */
	bool is_auto;
};

/* `words`: `known`, `raw`, `auto` (with the known ones), or rules; none at all is `known`. */
int sonde_labels__init(struct sonde_labels *l, struct sonde_words words, struct sonde_err *err);
/* Rewrites `label` into `out`; `*is_changed` false: no rule fits and `out` stays empty. */
int sonde_labels__apply(struct sonde_labels *l, struct sonde_str label, struct sonde_buf *out,
	bool *is_changed, struct sonde_err *err);
/* Counts the last label as changed by the rules that fitted it. */
void sonde_labels__count(struct sonde_labels *l);
void sonde_labels__release(struct sonde_labels *l);

/* `label` with each run of digits as one `*`, into `out`; false when it has none. */
bool sonde_label__shape(struct sonde_buf *out, struct sonde_str label);

#endif
