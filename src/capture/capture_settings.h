/*
 * Settings of a capture, read from the composed configuration.
 *
 * One table says which key fills which field. Defaults are the key table's
 * (config/config.h); there are none here. Texts are borrowed from the config,
 * lists live in the settings' arena; an empty or null text is NULL.
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
	/* Nsight Compute. `nvtx_include` and `nvtx_exclude` are the user's own words. */
	bool ncu_gating, ncu_fallback, ncu_strict, ncu_csv;
	const char *ncu_program; /* $SONDE_NCU, else "ncu" */
	struct sonde_ncu_request ncu;
	struct sonde_words nvtx_include, nvtx_exclude, kernel_exclude;
	/* Nsight Systems. */
	bool nsys_gating, nsys_stats, nsys_sqlite;
	const char *nsys_program;
	struct sonde_nsys_request nsys;
	/* torch.profiler, by the program itself. */
	const char *torch_pattern; /* where its traces are; NULL = in $TORCH_TRACE_DIR */
	/* Native capture. */
	struct sonde_words native_include, native_exclude;
	const char *native_cupti;  /* "auto", "off", a path; NULL = auto */
	const char *native_graphs; /* "nodes" or "whole" */
	const char *native_api;	   /* "light" or "off" */
	bool native_memory;
	const char *native_pc; /* "off", "on" or a period as written … */
	unsigned native_pc_exponent; /* … as a power of two, 0 = off */
	long native_cubins_mb;
	long native_buffer_mb;
	const char *native_budget; /* as written … */
	uint32_t native_budget_ppm; /* … in millionths of the program's time; 0 = any */
	/* Hardware counters sampled beside the native capture. */
	const char *counters_set;	  /* "auto", "off" or a set of sample/roles.h */
	struct sonde_words counters_names; /* instead of a set */
	const char *counters_source;	  /* "auto", "pm", "gpm" or "both" */
	uint64_t counters_interval_ns;	  /* 0 = auto */
	uint64_t counters_burst_ns;	  /* 0 = off */
	/* The program when none is given on the command line. */
	struct sonde_words workload;
	const char *workload_module; /* of Python */
	const char *workload_name;   /* of the bundled ones */
	const char *workload_dir;  /* where the program runs; NULL = here */
	const char *modules; /* "off", "auto", "all" or a depth */
	long timeout_s;
	/* The run. The settings of its report are read elsewhere (lib/settings.h). */
	const char *run_dir;
	bool chdir; /* the program runs in the run directory */
	const char *rotate_text; /* how long a file of a native capture may become … */
	uint64_t rotate_bytes, rotate_ns; /* … and what that means; 0 = any */
	const char *keep_text; /* how many of these files are kept, or how much in all … */
	uint64_t keep_files, keep_bytes; /* … and what that means; 0 = any */
	const char *window_text; /* when the program is captured; NULL = always … */
	struct sonde_window window; /* … and what that means */
	uint64_t every_ns; /* how often its tree is printed meanwhile; 0 = never */
	const char *prometheus; /* where its numbers go then, instead of the tree, and at the end; NULL = nowhere */
	const char *capture_local;    /* where captures are written first; NULL = the run directory */
	struct sonde_rank_list ranks; /* that are profiled; empty = all */
	struct sonde_arena arena;
};

/*
 * `c` is a checked configuration: every key has a value of its type, if only the
 * table's default. SONDE_ERR_USAGE for what the table cannot check.
 */
struct hydra_config;
int sonde_capture_settings_read(
	struct sonde_capture_settings *out, const struct hydra_config *c, struct sonde_err *err);
void sonde_capture_settings_release(struct sonde_capture_settings *s);

#endif
