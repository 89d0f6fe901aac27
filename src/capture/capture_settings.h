/*
 * The settings of a capture, read from the composed configuration.
 *
 * One table (capture_settings.c) says which key fills which field. Defaults are not here but in the key table
 * (config/config.h). Texts are borrowed from the configuration, lists are in the arena of the settings; an empty or
 * null text is NULL.
 */
#ifndef SONDE_CAPTURE_CAPTURE_SETTINGS_H
#define SONDE_CAPTURE_CAPTURE_SETTINGS_H

#include "base/arena.h"
#include "base/err.h"
#include "capture/ncu_args.h"
#include "capture/nsys_args.h"
#include "capture/rank_list.h"
#include "capture/window.h"

struct sonde_capture_settings {
	bool ncu_enable, nsys_enable, native_enable, torch_enable;
	/* Nsight Compute. `nvtx_include` and `nvtx_exclude` hold the expressions as the user wrote them. */
	bool ncu_gating, ncu_fallback, ncu_strict, ncu_csv;
	const char *ncu_program; /* $SONDE_NCU, else "ncu" */
	struct sonde_ncu_request ncu;
	struct sonde_words nvtx_include, nvtx_exclude, kernel_exclude;
	/* Nsight Systems. */
	bool nsys_gating, nsys_stats, nsys_sqlite;
	const char *nsys_program;
	struct sonde_nsys_request nsys;
	/* torch.profiler, which the program itself runs. */
	const char *torch_pattern; /* glob of its traces; NULL = those in $TORCH_TRACE_DIR */
	/* Native capture. */
	struct sonde_words native_include, native_exclude;
	const char *native_cupti;  /* "auto", "off", a path; NULL = auto */
	const char *native_graphs; /* "nodes" or "whole" */
	const char *native_api;	   /* "light" or "off" */
	bool native_memory;
	const char *native_pc; /* "off", "on" or a period as written … */
	unsigned native_pc_exponent; /* … and as an exponent of two; 0 = off */
	long native_cubins_mb;
	long native_buffer_mb;
	const char *native_budget; /* as written … */
	uint32_t native_budget_ppm; /* … in millionths of the program's time; 0 = no limit */
	/* Hardware counters sampled beside the native capture. */
	const char *counters_set;	  /* "auto", "off" or a set of sample/roles.h */
	struct sonde_words counters_names; /* names of counters, instead of a set */
	const char *counters_source;	  /* "auto", "pm", "gpm" or "both" */
	uint64_t counters_interval_ns;	  /* 0 = auto */
	uint64_t counters_burst_ns;	  /* 0 = off */
	/* The program to run when the command line has none. */
	struct sonde_words workload;
	const char *workload_module; /* name of a Python module */
	const char *workload_name;   /* name of a bundled workload */
	const char *workload_dir;  /* directory to run the program in; NULL = the current one */
	const char *modules; /* which PyTorch modules are marked: "off", "auto", "all" or a depth */
	long timeout_s;
	/* The run itself. The settings of its report are read elsewhere (lib/settings.h). */
	const char *run_dir;
	bool chdir; /* the program runs in the run directory */
	const char *rotate_text; /* how large or how long a file of a native capture may become, as written … */
	uint64_t rotate_bytes, rotate_ns; /* … in bytes and as a time; 0 = no limit */
	const char *keep_text; /* how many of these files are kept, or how many bytes in all, as written … */
	uint64_t keep_files, keep_bytes; /* … as numbers; 0 = no limit */
	const char *window_text; /* when the program is captured, as written; NULL = always … */
	struct sonde_window window; /* … and parsed */
	uint64_t every_ns; /* how often the tree is printed while the program runs; 0 = never */
	const char *prometheus; /* file for the numbers: written instead of printing the tree, and at the end; NULL = none */
	const char *capture_local;    /* where captures are written first; NULL = the run directory */
	struct sonde_rank_list ranks; /* ranks that are profiled; empty = all */
	struct sonde_arena arena;
};

/*
 * `c` is a checked configuration: every key has a value of its type, at least the key table's default. SONDE_ERR_USAGE
 * for values that the key table cannot check.
 */
struct hydra_config;
int sonde_capture_settings_read(
	struct sonde_capture_settings *out, const struct hydra_config *c, struct sonde_err *err);
void sonde_capture_settings_release(struct sonde_capture_settings *s);

#endif
