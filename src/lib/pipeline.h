/*
 * The pipeline: config → read → attribute → fold → tree → export, run in one place.
 *
 * sonde.h is what the world sees of it; this is what the house's own commands
 * need besides: the stages one by one, and what each left behind.
 *
 *     configure          settings, from overrides or from a composed configuration
 *     fold               parts: the cells of each input
 *     arrange            cells, tree and views; takes the parts over
 *
 * sonde_pipeline_run does all three, and refuses a report.scope that matches
 * nothing. sonde_pipeline_look stops at launches. Members are for reading; what
 * a command adds between two stages is its settings and notes.
 */
#ifndef SONDE_LIB_PIPELINE_H
#define SONDE_LIB_PIPELINE_H

#include "attribute/launches.h"
#include "export/format.h"
#include "lib/settings.h"
#include "merge/merging.h"
#include "sonde.h"

/* Names given out: C strings, each kept once however often it is asked for. */
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
	/* Asked for. The text is in the arena. */
	struct sonde_word_list inputs, overrides;
	const char *config_dir, *config_name;
	bool is_configured;
	/* A run directory as input (run_in.h): its path, its stage, why it is a baseline, and regions that are known. */
	const char *run, *stage, *baseline;
	struct sonde_word_list known;
	enum sonde_stand_in stand_in;
	/* Configured. */
	struct hydra_config *config;	 /* NULL: that of a caller */
	const struct hydra_config *used; /* either */
	struct sonde_notes config_notes; /* whether ./conf is used: not for the report */
	struct sonde_settings settings;
	struct sonde_sink yaml; /* the report settings, for the report to say what it holds */
	char generated_at[32];
	/* Run. */
	struct sonde_notes notes; /* for the report, besides those of its stages */
	struct sonde_parts parts;
	struct sonde_cells *cells;
	struct sonde_tree *tree;
	/* Looked at, instead of run. */
	struct sonde_records *records;
	struct sonde_launches *launches; /* nesting as on the stack: what ncu sees */
	/* Views, and the figures of the region that was asked for last. */
	SONDE_VEC(struct sonde_view) views;
	struct sonde_figures figures;
	const struct sonde_node *figures_of;
	struct sonde_sink json;
	struct sonde_texts texts;
	struct sonde_arena arena;
};

/* Composes the configuration and reads the settings. */
int sonde_pipeline_configure(struct sonde_pipeline *p, struct sonde_err *err);
/* The same by a configuration of the caller's, which must outlive the pipeline. */
int sonde_pipeline_configure_by(
	struct sonde_pipeline *p, struct hydra_config *config, struct sonde_err *err);

int sonde_pipeline_fold(struct sonde_pipeline *p, struct sonde_err *err);
int sonde_pipeline_arrange(struct sonde_pipeline *p, struct sonde_err *err);
/* Replays the capture with the changes of the first findings, which then say what they would gain (gains.c). */
int sonde_pipeline__tell_gains(struct sonde_pipeline *p, struct sonde_err *err);

/*
 * Instead of a run: every launch and range of the inputs, unselected and as they were written.
 * `sonde regions` lists them; `sonde run` plans range replay by them and explains with them why
 * nothing was selected. Needs no configuration.
 */
int sonde_pipeline_look(struct sonde_pipeline *p, struct sonde_err *err);

#endif
