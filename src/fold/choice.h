/*
 * Which metrics and sections to report. All pointers are borrowed.
 *
 * All zero = the default choice: the metrics that reports show and judge by, and those that the
 * sections of the capture list, including metrics requested by name (`ncu --metrics`). A capture
 * without sections does not say which metrics were requested, so all but device facts are chosen.
 */
#ifndef SONDE_FOLD_CHOICE_H
#define SONDE_FOLD_CHOICE_H

#include "attribute/filter.h"
#include "base/map.h"
#include "read/inputs.h"

struct sonde_choice {
	struct sonde_words metrics, sections;
	/* The words above come from a default, not from the user. Metrics that the user named must be in the capture
	 * (else SONDE_ERR_USAGE); those of a default need not. */
	bool metrics_by_default, sections_by_default;
	bool takes_all;	   /* choose every metric and section there is, including device facts */
	bool adds_default; /* choose the default choice in addition to what is named */
	const char *also;  /* one more metric, chosen in any case if it is there; NULL = none */
	/* If nothing is named: choose only what narrow tables show, for outputs that show no more. */
	bool headline_only;
	bool no_aggregate;
	const char *step; /* id of the region that findings count by; NULL or "" = the repeated one with the most time */
};

/*
 * Whether a report with a short table has this metric when the user chose none: what the table shows, clock rates of the
 * GPU (two runs can only be compared at equal clocks), and what findings rest on, as these are the same in every format.
 */
bool sonde_choice_is_brief(struct sonde_str metric);

/* The metrics and sections that can be chosen. */
struct sonde_offer {
	const struct sonde_map *metrics; /* names, by metric number */
	const struct sonde_section *sections;
	size_t nr_sections;
	const struct sonde_map *strings; /* metric names of the sections, by string number */
	bool is_partial;		 /* from one of several inputs: also keep what the others may need */
};

/* Sets `wanted` for each metric that is chosen and, unless `take` is NULL, `take` for each section. */
int sonde_choice_mark(const struct sonde_choice *c, const struct sonde_offer *from, bool *wanted,
	bool *take, struct sonde_err *err);
/* If a wanted metric counts floating-point operations, also marks the metrics that show whether tensor cores worked. */
void sonde_choice_mark_tensor(const struct sonde_map *metrics, bool *wanted);

/* Patterns of the metrics that show whether tensor cores worked, best first: the first one that a capture has is used. */
#define SONDE_NR_TENSOR 3
extern const char *const sonde_tensor_patterns[SONDE_NR_TENSOR];

#endif
