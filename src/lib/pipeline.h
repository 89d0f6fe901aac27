/*
 * The pipeline: config → read → attribute → fold → tree → export, run in one place.
 *
 * sonde.h is what the world sees of the pipeline. This header adds what sonde's own commands need: the single stages,
 * and what each leaves behind.
 *
 *     configure          settings, from overrides or from a composed configuration
 *     fold               parts: the cells of each input
 *     arrange            cells, tree and views; takes the parts over
 *
 * sonde_pipeline_run does all three, and refuses a report.scope that matches nothing. sonde_pipeline_look stops at
 * launches. Callers only read the members, except that a command may change settings and add notes between two stages.
 */
#ifndef SONDE_LIB_PIPELINE_H
#define SONDE_LIB_PIPELINE_H

#include "attribute/launches.h"
#include "export/format.h"
#include "lib/settings.h"
#include "merge/merging.h"
#include "sonde.h"

/* Text that is given to callers as C strings. Each text is stored once, however often it is asked for. */
struct sonde_texts {
	struct sonde_map map;
	struct sonde_arena arena;
};
const char *sonde_texts__z(struct sonde_texts *t, struct sonde_str text); /* NULL: out of memory */
void sonde_texts__release(struct sonde_texts *t);

struct sonde_view {
	struct sonde_pipeline *pipeline;
	const struct sonde_report *report;
};

struct sonde_pipeline {
	/* The caller's request. The text is in the arena. */
	struct sonde_word_list inputs, overrides;
	const char *config_dir, *config_name;
	bool is_configured;
	/*
	 * If a run directory is the input (run_in.h): its path, its stage, why its report is a baseline, and regions
	 * that are known to exist.
	 */
	const char *run, *stage, *baseline;
	struct sonde_word_list known;
	enum sonde_capture_lists capture_lists;
	/* The configuration. */
	struct hydra_config *config;	 /* the pipeline's own; NULL: the caller's is used */
	const struct hydra_config *used; /* `config`, or the caller's configuration */
	struct sonde_notes config_notes; /* whether ./conf is used: these notes are not for the report */
	struct sonde_settings settings;
	struct sonde_sink yaml; /* the report settings, so that the report can say how it was made */
	char generated_at[32];
	/* The results of a run. */
	struct sonde_notes notes; /* for the report, besides the notes of its stages */
	struct sonde_parts parts;
	struct sonde_cells *cells;
	struct sonde_tree *tree;
	/* The results of a look, instead of a run. */
	struct sonde_records *records;
	struct sonde_launches *launches; /* nested as on the stack, as ncu sees them */
	/* Views, and the figures of the region that was asked for last. */
	SONDE_VEC(struct sonde_view) views;
	struct sonde_figures figures;
	const struct sonde_node *figures_of;
	struct sonde_sink json;
	struct sonde_texts texts;
	struct sonde_arena arena;
};

/* Composes the configuration and reads the settings from it. */
int sonde_pipeline_configure(struct sonde_pipeline *p, struct sonde_err *err);
/* The same with a configuration of the caller, which must outlive the pipeline. */
int sonde_pipeline_configure_by(
	struct sonde_pipeline *p, struct hydra_config *config, struct sonde_err *err);

int sonde_pipeline_fold(struct sonde_pipeline *p, struct sonde_err *err);
int sonde_pipeline_arrange(struct sonde_pipeline *p, struct sonde_err *err);
/* Replays the capture with the changes of the first findings, so that these findings say what they would gain (gains.c). */
int sonde_pipeline__tell_gains(struct sonde_pipeline *p, struct sonde_err *err);

/*
 * Instead of a run: reads every launch and range of the inputs, unselected and as written. `sonde regions` lists them.
 * Launches are adopted as in reports, and marked; ncu's filter, which sees one thread's ranges, does not take those.
 * `sonde run` plans range replay with them, and explains with them why nothing was selected. Needs no configuration.
 */
int sonde_pipeline_look(struct sonde_pipeline *p, struct sonde_err *err);

#endif
