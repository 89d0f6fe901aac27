/*
 * Settings: what a run was asked for, out of the composed configuration.
 *
 * One table says which key fills which field; a key that is absent or null
 * leaves the default. Everything lives in the settings' arena or is borrowed
 * from the source.
 */
#ifndef SONDE_CAPTURE_CAPTURE_SETTINGS_H
#define SONDE_CAPTURE_CAPTURE_SETTINGS_H

#include "base/arena.h"
#include "base/err.h"
#include "capture/ncu_args.h"
#include "capture/nsys_args.h"

struct sonde_capture_settings {
	bool ncu_enable, nsys_enable, native_enable;
	/* Nsight Compute. `nvtx_include` and `nvtx_exclude` are the user's own words. */
	bool ncu_gating, ncu_fallback, ncu_csv;
	const char *ncu_program; /* $SONDE_NCU, else "ncu" */
	struct sonde_ncu_request ncu;
	struct sonde_list nvtx_include, nvtx_exclude, kernel_exclude;
	/* Nsight Systems. */
	bool nsys_gating, nsys_stats, nsys_sqlite;
	const char *nsys_program;
	struct sonde_nsys_request nsys;
	/* Native capture. */
	struct sonde_list native_include, native_exclude;
	const char *native_cupti;  /* "off", a path; else it is looked for */
	const char *native_graphs; /* "nodes" or "whole"; NULL = nodes */
	long native_buffer_mb;	   /* 0 = the library's own default */
	/* The program when none is given on the command line. */
	struct sonde_list workload;
	const char *workload_name; /* of the bundled ones */
	const char *workload_dir;  /* where the program runs; NULL = here */
	long timeout_s;
	/* The run. What its report holds is read elsewhere (cli/settings.h). */
	const char *run_dir;
	bool chdir; /* the program runs in the run directory */
	struct sonde_arena arena;
};

/* Where values come from. */
struct sonde_setting_source {
	/* The value of `key` as text; NULL = absent or null. */
	const char *(*text)(void *of, const char *key);
	/*
	 * Element `i` of the list at `key` (a single value is a list of one), or NULL
	 * behind the last.
	 */
	const char *(*element)(void *of, const char *key, size_t i);
	void *of;
};

/* SONDE_ERR_USAGE for a value of the wrong kind, with the key. */
int sonde_capture_settings_read(struct sonde_capture_settings *out,
	const struct sonde_setting_source *from, struct sonde_err *err);
void sonde_capture_settings_release(struct sonde_capture_settings *s);

#endif
