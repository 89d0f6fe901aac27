/*
 * Which metrics and sections to report. Borrowed.
 *
 * All zero = the default choice: what reports show and judge by, and what the sections of the
 * capture list, those asked for by name (`ncu --metrics`) among them. A capture without sections
 * does not say what was asked for: of it, all metrics but device facts.
 */
#ifndef SONDE_FOLD_CHOICE_H
#define SONDE_FOLD_CHOICE_H

#include "attribute/filter.h"
#include "base/map.h"
#include "read/inputs.h"

struct sonde_choice {
	struct sonde_words metrics, sections;
	/* Metrics that the user named must be in the capture (SONDE_ERR_USAGE); those of a default need not. */
	bool metrics_by_default, sections_by_default;
	bool takes_all;	   /* every metric and section there is, device facts too */
	bool adds_default; /* the default choice beside what is named */
	const char *also;  /* a metric whatever else is chosen, or NULL; no matter if it is there */
	/* With nothing named: only what narrow tables show, for outputs that show no more. */
	bool headline_only;
	bool no_aggregate;
	const char *step; /* id of the region that findings count by; NULL or "" = the repeated one with the most time */
};

/* Whether tables show it when nobody chose metrics. */
bool sonde_choice_is_headline(struct sonde_str metric);
/* How fast a part of the GPU ran: beside the headline, as two runs are comparable only if alike. */
bool sonde_choice_is_clock(struct sonde_str metric);

/* The metrics and sections a choice is made from. */
struct sonde_offer {
	const struct sonde_map *metrics; /* by number */
	const struct sonde_section *sections;
	size_t nr_sections;
	const struct sonde_map *strings; /* that sections name their metrics by */
	bool is_partial;		 /* of one input among others: keep what these may need */
};

/* Marks by number the metrics that are wanted and, unless `take` is NULL, the sections. */
int sonde_choice_mark(const struct sonde_choice *c, const struct sonde_offer *from, bool *wanted,
	bool *take, struct sonde_err *err);
/* Marks the metric that shows whether tensor cores worked, where a wanted metric counts operations. */
void sonde_choice_mark_tensor(const struct sonde_map *metrics, bool *wanted);

/* How tensor cores show: the first of these, where it is there, asks no others. */
#define SONDE_NR_TENSOR 3
extern const char *const sonde_tensor_patterns[SONDE_NR_TENSOR];

#endif
