#include "config/keys.h"

#define BOOL(k, d, c, text)                                                                        \
	{                                                                                          \
		k, SONDE_KEY_BOOL, d, 0, 0, NULL, c, text                                          \
	}
#define INT(k, d, lo, hi, text)                                                                    \
	{                                                                                          \
		k, SONDE_KEY_INT, d, lo, hi, NULL, false, text                                     \
	}
#define TEXT(k, d, c, text)                                                                        \
	{                                                                                          \
		k, SONDE_KEY_TEXT, d, 0, 0, NULL, c, text                                          \
	}
#define WORD(k, d, words, c, text)                                                                 \
	{                                                                                          \
		k, SONDE_KEY_WORD, d, 0, 0, words, c, text                                         \
	}
#define LIST(k, d, c, text)                                                                        \
	{                                                                                          \
		k, SONDE_KEY_LIST, d, 0, 0, NULL, c, text                                          \
	}
#define FREE(k, text)                                                                              \
	{                                                                                          \
		k, SONDE_KEY_FREE, "{}", 0, 0, NULL, false, text                                   \
	}

const struct sonde_key sonde_keys__table[] = {
	TEXT("device", "cuda:0", false, "the device the bundled workload runs on"),
	FREE("model", "architecture of the bundled workload (group model/NAME/arch)"),
	FREE("infer",
		"batch size, steps and warm-up of the bundled workload (group model/NAME/infer)"),

	LIST("pipeline.workload.command", "[]", false,
		"the program to profile, word by word; empty = the bundled workload"),
	TEXT("pipeline.workload.name", "dummy_shallow_resnet", false,
		"which bundled workload runs when there is no command"),
	TEXT("pipeline.workload.cwd", "''", false, "where the program runs; empty = here"),
	FREE("pipeline.workload.env", "environment variables for the program"),
	INT("pipeline.workload.timeout_s", "0", 0, 1000000,
		"stop the program after so many seconds; 0 = never"),

	{"pipeline.native.enable", SONDE_KEY_AUTO, "null", 0, 0, NULL, false,
		"the injected capture; null = when no other pipeline is enabled"},
	LIST("pipeline.native.nvtx.include", "[]", false, "capture these ranges only; empty = all"),
	LIST("pipeline.native.nvtx.exclude", "[]", false, "leave these ranges out"),
	TEXT("pipeline.native.cupti", "auto", false,
		"auto = find it; off = ranges and host times only, at almost no cost; or the path "
		"of a libcupti.so"),
	WORD("pipeline.native.graphs", "nodes", "nodes|whole", false,
		"launches of CUDA graphs: every node by itself, or each launch as one"),
	INT("pipeline.native.buffer_mb", "64", 1, 65536,
		"memory for events not yet written, per process"),

	BOOL("pipeline.ncu.enable", "false", false, "run Nsight Compute around the program"),
	BOOL("pipeline.ncu.gating_nvtx", "true", false,
		"profile inside the ranges of ncu_cli.nvtx.include only"),
	BOOL("pipeline.ncu.fallback", "true", false,
		"when a range replay fails, fall back to kernel replay and say so"),
	WORD("pipeline.ncu.ncu_cli.target_processes", "all", "all|application-only", false,
		"--target-processes"),
	WORD("pipeline.ncu.ncu_cli.replay_mode", "kernel", "kernel|range|app-range|application",
		false, "--replay-mode"),
	LIST("pipeline.ncu.ncu_cli.nvtx.include", "[]", false,
		"--nvtx-include; label globs (prefill*) or ncu expressions"),
	LIST("pipeline.ncu.ncu_cli.nvtx.exclude", "[]", false, "--nvtx-exclude, likewise"),
	WORD("pipeline.ncu.ncu_cli.push_pop_scope", "thread", "thread|process", false,
		"--nvtx-push-pop-scope"),
	TEXT("pipeline.ncu.ncu_cli.set", "roofline", false, "--set; empty = none"),
	LIST("pipeline.ncu.ncu_cli.metrics",
		"[gpu__time_duration.sum, sm__throughput.avg.pct_of_peak_sustained_elapsed, "
		"dram__throughput.avg.pct_of_peak_sustained_elapsed]",
		false, "--metrics"),
	LIST("pipeline.ncu.ncu_cli.sections",
		"[SpeedOfLight, MemoryWorkloadAnalysis, Occupancy, SchedulerStats]", false,
		"--section"),
	TEXT("pipeline.ncu.ncu_cli.kernel_name", "''", false, "-k; empty = every kernel"),
	WORD("pipeline.ncu.ncu_cli.kernel_name_base", "demangled", "function|demangled|mangled",
		false, "--kernel-name-base"),
	LIST("pipeline.ncu.ncu_cli.kernel_exclude", "[]", false,
		"kernels to leave out when reading; ncu itself cannot"),
	TEXT("pipeline.ncu.ncu_cli.range_filter", "''", false, "--range-filter"),
	INT("pipeline.ncu.ncu_cli.launch_skip", "0", 0, INT64_MAX, "--launch-skip"),
	INT("pipeline.ncu.ncu_cli.launch_count", "0", 0, INT64_MAX, "--launch-count; 0 = all"),
	WORD("pipeline.ncu.ncu_cli.clock_control", "none", "base|none", false,
		"--clock-control; none leaves the card's clocks alone"),
	BOOL("pipeline.ncu.ncu_cli.import_sass", "false", false,
		"--import-sass; ten times the file size"),
	BOOL("pipeline.ncu.ncu_cli.export.csv", "true", false, "also write ncu/raw.csv"),
	BOOL("pipeline.ncu.ncu_cli.force_overwrite", "true", false, "-f"),
	LIST("pipeline.ncu.ncu_cli.extra_args", "[]", false, "further ncu arguments, as they are"),

	BOOL("pipeline.nsys.enable", "false", false, "run Nsight Systems around the program"),
	LIST("pipeline.nsys.trace", "[cuda, nvtx, osrt]", false, "--trace"),
	WORD("pipeline.nsys.sample", "none", "none|cpu|process-tree|system-wide", false,
		"--sample"),
	WORD("pipeline.nsys.capture_range", "none", "none|nvtx|cudaProfilerApi", false,
		"--capture-range"),
	TEXT("pipeline.nsys.capture_range_end", "stop-shutdown", false, "--capture-range-end"),
	TEXT("pipeline.nsys.nvtx_capture", "''", false, "--nvtx-capture: RANGE[@DOMAIN]"),
	BOOL("pipeline.nsys.gating_nvtx", "false", false, "capture inside nvtx_capture only"),
	BOOL("pipeline.nsys.stats", "true", false, "write the kernel summary CSV"),
	BOOL("pipeline.nsys.sqlite", "true", false, "write the SQLite export sonde reads"),
	LIST("pipeline.nsys.extra_args", "[]", false, "further nsys arguments, as they are"),

	LIST("report.metrics", "[]", true, "metrics to show; empty = the default selection"),
	LIST("report.sections", "[]", true, "sections to show, e.g. [SpeedOfLight, Occupancy]"),
	LIST("report.kernels.include", "[]", true,
		"kernels to keep: globs, or regex:...; empty = all"),
	LIST("report.kernels.exclude", "[]", true, "kernels to drop; wins over include"),
	LIST("report.nvtx.include", "[]", true, "regions to keep; empty = all"),
	LIST("report.nvtx.exclude", "[]", true, "regions to drop; wins over include"),
	WORD("report.nesting", "label", "label|stack", true,
		"label: an outermost A::A1 hangs below an outermost A; stack: only what was nested "
		"does"),
	BOOL("report.aggregate", "true", false, "the summary over all processes and devices"),
	INT("report.max_regions", "100", 0, 1000000, "rows in the tables of a report; 0 = all"),
	INT("report.max_kernels", "20", 0, 1000000,
		"kernels listed per region; 0 = all; in the text of `sonde report` only as an "
		"override"),
	WORD("report.sort", "order", "order|time|launches|name", false, "order of sibling regions"),
	LIST("report.scope", "[]", true,
		"these scopes only (aggregate, process:4519/device:0, globs); empty = all"),
	{"report.formats", SONDE_KEY_LIST, "[json, md, html]", 0, 0, "json|md|html|csv", false,
		"what -o DIR writes beside the regions"},
	BOOL("report.deterministic", "false", false, "leave out the time of generation"),
	{NULL, SONDE_KEY_FREE, NULL, 0, 0, NULL, false, NULL},
};
