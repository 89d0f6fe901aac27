/* Inside the Nsight Compute stage of `sonde run`: planning (run_ncu.c) and capturing. */
#ifndef SONDE_CLI_RUN_NCU_INT_H
#define SONDE_CLI_RUN_NCU_INT_H

#include "capture/plan.h"
#include "cli/option.h"
#include "cli/run_int.h"

/* The stage at work. */
struct sonde_ncu_stage {
	struct sonde_run *run;
	struct sonde_tool ncu;
	struct sonde_plan plan;
	struct sonde_pipeline *look; /* NULL: none was needed, or none could be had */
	struct sonde_word_list include, exclude; /* in ncu's grammar */
	SONDE_VEC(size_t) word_of;		 /* per include, the user's word */
	struct sonde_word_list metrics;		 /* what is asked of ncu */
	struct sonde_buf commands;		 /* cmd.txt */
	struct sonde_word_list made;		 /* names of the captures that left a report */
	struct sonde_err *err;
	bool is_nothing; /* some capture selected nothing */
	bool has_fallen_back;
};

/* The words of one capture, and where its log and report go. */
int sonde_ncu_stage__command(struct sonde_ncu_stage *s, const struct sonde_plan_capture *c,
	struct sonde_argv *argv, const char **log, const char **report);

/* All captures of the plan, with the fall-back and NVIDIA's own reading of each. */
int sonde_ncu_stage__capture(struct sonde_ncu_stage *s);

#endif
