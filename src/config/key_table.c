/* The one table of keys; see sonde_keys in config.h. */
#include "config/config.h"

#include "catalogue/formats.h"
#include "catalogue/metrics.h"

#define BOOL(k, d, text)                                                                           \
	{                                                                                          \
		k, HYDRA_KEY_BOOL, d, 0, 0, NULL, text                                             \
	}
#define INT(k, d, lo, hi, text)                                                                    \
	{                                                                                          \
		k, HYDRA_KEY_INT, d, lo, hi, NULL, text                                            \
	}
#define TEXT(k, d, text)                                                                           \
	{                                                                                          \
		k, HYDRA_KEY_TEXT, d, 0, 0, NULL, text                                             \
	}
#define WORD(k, d, words, text)                                                                    \
	{                                                                                          \
		k, HYDRA_KEY_WORD, d, 0, 0, words, text                                            \
	}
#define LIST(k, d, text)                                                                           \
	{                                                                                          \
		k, HYDRA_KEY_LIST, d, 0, 0, NULL, text                                             \
	}
#define FREE(k, text)                                                                              \
	{                                                                                          \
		k, HYDRA_KEY_FREE, "{}", 0, 0, NULL, text                                          \
	}

#define KEPT(k, text)                                                                              \
	{                                                                                          \
		k, HYDRA_KEY_KEPT, "", 0, 0, NULL, text                                            \
	}

const struct hydra_key sonde_keys[] = {
	TEXT("device", "cuda:0", "the device the bundled workload runs on ($SONDE_DEVICE; a program of yours gets the variable if you set the key)"),
	FREE("model", "architecture of the bundled workload (group model/NAME/arch), $SONDE_MODEL_*"),
	FREE("infer",
		"batch size, steps and warm-up of the bundled workload (group model/NAME/infer), $SONDE_INFER_*"),

	LIST("ranks", "[]",
		"profile these ranks of a parallel job only ([0,8], [0-7,64]), the others run as "
		"they are; empty = all"),

	LIST("pipeline.workload.command", "[]",
		"the program to profile, word by word; empty = the bundled workload"),
	TEXT("pipeline.workload.module", "''",
		"without a command: a Python module, run as `python -m MODULE` with the run's overrides"),
	TEXT("pipeline.workload.name", "dummy_shallow_resnet",
		"which bundled workload runs when there is neither"),
	TEXT("pipeline.workload.cwd", "''", "where the program runs; empty = here"),
	FREE("pipeline.workload.env", "environment variables for the program"),
	TEXT("pipeline.workload.modules", "'off'",
		"PyTorch modules as regions: auto (leaves go where they cost more than 5 % of the time), all, or how "
		"deep (docs/pytorch.md); off = the program's own ranges only"),
	INT("pipeline.workload.timeout_s", "0", 0, 1000000,
		"stop the program after so many seconds; 0 = never"),

	{"pipeline.native.enable", HYDRA_KEY_AUTO, "null", 0, 0, NULL,
		"the injected capture; null = when no other pipeline is enabled"},
	LIST("pipeline.native.nvtx.include", "[]", "capture these ranges only; empty = all"),
	LIST("pipeline.native.nvtx.exclude", "[]", "leave these ranges out"),
	TEXT("pipeline.native.cupti", "auto",
		"auto = find it; off = ranges and host times only, at almost no cost; or the path "
		"of a libcupti.so"),
	WORD("pipeline.native.graphs", "nodes", "nodes|whole",
		"launches of CUDA graphs: every node by itself, or each launch as one"),
	WORD("pipeline.native.api", "light", "light|off",
		"CUDA calls of the host: those that can wait (synchronisations, copies, "
		"allocations), or none"),
	BOOL("pipeline.native.memory", "false",
		"record allocations and frees of GPU memory (cudaMalloc, pools; not PyTorch's "
		"reuse of its own cache)"),
	TEXT("pipeline.native.budget", "''",
		"how much of the program's time the capture may take (2%): it then captures windows, "
		"at random (docs/always-on.md); empty = any"),
	TEXT("pipeline.native.pc", "'off'",
		"PC samples, which show why warps of a kernel wait and on which line (docs/kernels.md): off, on, or the period "
		"in cycles of an SM, a power of two (on = 32768)"),
	INT("pipeline.native.cubins_mb", "256", 0, 65536,
		"with PC samples: how much code with line tables is kept beside the capture, per process; 0 = none"),
	INT("pipeline.native.buffer_mb", "64", 1, 65536,
		"memory for events not yet written, per process"),

	TEXT("capture.window", "''",
		"when the program is captured: RANGE[FIRST:END], after=TIME,for=TIME, profiler, "
		"nvtx, signal or ctl (docs/always-on.md); empty = always"),
	TEXT("capture.rotate", "''",
		"how long one file of a native capture may become: 1GB, 10min, or '1GB|10min'; then the "
		"capture goes on in another file (docs/always-on.md); empty = any"),
	TEXT("capture.keep", "all",
		"how many of these files are kept, or how much of them (4, 10GB): older ones are folded "
		"to sums while the program runs; all = every one"),
	TEXT("capture.local", "''",
		"a directory of this node (/tmp) for captures while the program runs; they go to "
		"the run directory at the end, one file per node; empty = to the run directory at "
		"once"),
	TEXT("capture.every", "'off'", "print the tree so far this often while the program runs (60s)"),
	TEXT("capture.prometheus", "''",
		"a file for Prometheus' textfile collector: written as often as capture.every says, instead of the tree, and at "
		"the end; empty = none"),

	WORD("counters.set", "auto", "auto|off|basic|tensor|memory|nvlink|full",
		"hardware counters sampled beside a native capture (group counters); auto = basic "
		"where this machine permits it"),
	LIST("counters.names", "[]",
		"counters instead of a set: roles (dram.read_bytes) or NVIDIA's names "
		"(lts__t_sectors.sum)"),
	WORD("counters.source", "auto", "auto|pm|gpm|both",
		"who counts: CUPTI's PM sampling (pm), NVML's GPM (gpm: every 100 ms, needs no permission), "
		"or both, to compare them; auto = gpm where pm is refused"),
	TEXT("counters.interval", "auto",
		"length of a sample: 50us, 1ms; auto = as short as this machine can decode"),
	TEXT("counters.burst", "'off'",
		"sample for this long (20ms), pause for a random time, repeat; allows short "
		"intervals; off = all the time"),

	BOOL("pipeline.ncu.enable", "false", "run Nsight Compute around the program"),
	BOOL("pipeline.ncu.gating_nvtx", "true",
		"profile inside the ranges of ncu_cli.nvtx.include only"),
	BOOL("pipeline.ncu.fallback", "true",
		"when a range replay fails, fall back to kernel replay and say so"),
	BOOL("pipeline.ncu.strict", "false",
		"refuse metrics that the installed ncu does not know; false = take their successors, or leave "
		"them out with a warning"),
	WORD("pipeline.ncu.ncu_cli.target_processes", "all", "all|application-only",
		"--target-processes"),
	WORD("pipeline.ncu.ncu_cli.replay_mode", "kernel", "kernel|range|app-range|application",
		"--replay-mode"),
	LIST("pipeline.ncu.ncu_cli.nvtx.include", "[]",
		"--nvtx-include; label globs (prefill*) or ncu expressions"),
	LIST("pipeline.ncu.ncu_cli.nvtx.exclude", "[]", "--nvtx-exclude, likewise"),
	WORD("pipeline.ncu.ncu_cli.push_pop_scope", "thread", "thread|process",
		"--nvtx-push-pop-scope"),
	TEXT("pipeline.ncu.ncu_cli.set", "roofline", "--set; empty = none"),
	LIST("pipeline.ncu.ncu_cli.metrics",
		"[" SONDE_METRIC_TIME ", " SONDE_METRIC_SM ", " SONDE_METRIC_DRAM "]",
		"--metrics"),
	LIST("pipeline.ncu.ncu_cli.sections",
		"[SpeedOfLight, MemoryWorkloadAnalysis, Occupancy, SchedulerStats]", "--section"),
	TEXT("pipeline.ncu.ncu_cli.kernel_name", "''", "-k; empty = every kernel"),
	WORD("pipeline.ncu.ncu_cli.kernel_name_base", "demangled", "function|demangled|mangled",
		"--kernel-name-base"),
	LIST("pipeline.ncu.ncu_cli.kernel_exclude", "[]",
		"kernels to leave out when reading; ncu itself cannot"),
	TEXT("pipeline.ncu.ncu_cli.range_filter", "''", "--range-filter"),
	INT("pipeline.ncu.ncu_cli.launch_skip", "0", 0, INT64_MAX, "--launch-skip"),
	INT("pipeline.ncu.ncu_cli.launch_count", "0", 0, INT64_MAX, "--launch-count; 0 = all"),
	WORD("pipeline.ncu.ncu_cli.clock_control", "none", "base|none",
		"--clock-control; none leaves the card's clocks alone"),
	BOOL("pipeline.ncu.ncu_cli.import_sass", "false", "--import-sass; ten times the file size"),
	BOOL("pipeline.ncu.ncu_cli.export.csv", "true", "also write ncu/raw.csv"),
	BOOL("pipeline.ncu.ncu_cli.force_overwrite", "true", "-f"),
	LIST("pipeline.ncu.ncu_cli.extra_args", "[]", "further ncu arguments, as they are"),

	BOOL("pipeline.nsys.enable", "false", "run Nsight Systems around the program"),
	LIST("pipeline.nsys.trace", "[cuda, nvtx, osrt]", "--trace"),
	WORD("pipeline.nsys.sample", "none", "none|cpu|process-tree|system-wide", "--sample"),
	WORD("pipeline.nsys.capture_range", "none", "none|nvtx|cudaProfilerApi|hotkey", "--capture-range"),
	TEXT("pipeline.nsys.capture_range_end", "stop-shutdown", "--capture-range-end"),
	TEXT("pipeline.nsys.nvtx_capture", "''", "--nvtx-capture: RANGE[@DOMAIN]"),
	BOOL("pipeline.nsys.gating_nvtx", "true", "capture_range=nvtx captures inside nvtx_capture only; false = it captures all"),
	BOOL("pipeline.nsys.stats", "true", "write the kernel summary CSV"),
	BOOL("pipeline.nsys.sqlite", "true", "write the SQLite export sonde reads"),
	LIST("pipeline.nsys.extra_args", "[]", "further nsys arguments, as they are"),

	BOOL("pipeline.torch.enable", "false",
		"the program profiles itself with torch.profiler; its traces are collected and "
		"reported"),
	TEXT("pipeline.torch.pattern", "''",
		"where it writes them, a glob; empty = below $TORCH_TRACE_DIR, which sonde sets"),

	BOOL("sonde.trust", "false",
		"use ./conf even when others may write to it; only on the command line"),
	BOOL("sonde.record_env", "false",
		"write the values of ${oc.env:...} into config.yaml and inputs.yaml, not the "
		"names"),

	LIST("report.metrics", "[]", "metrics to report: names, patterns, default, all; empty = default"),
	LIST("report.sections", "[]", "sections to show, e.g. [SpeedOfLight, Occupancy]"),
	LIST("report.kernels.include", "[]", "kernels to keep: globs, or regex:...; empty = all"),
	LIST("report.kernels.exclude", "[]", "kernels to drop; wins over include"),
	LIST("report.nvtx.include", "[]", "regions to keep; empty = all"),
	LIST("report.nvtx.exclude", "[]", "regions to drop; wins over include"),
	WORD("report.nesting", "label", "label|stack",
		"label: an outermost A::A1 is shown below an outermost A; stack: regions are nested "
		"only as their ranges were"),
	WORD("report.threads", "adopt", "adopt|own",
		"adopt: a launch on a thread without ranges counts in the ranges of the only other "
		"thread that has any open; own: it is outside"),
	WORD("report.origins", "below", "below|off",
		"below: nodes of a CUDA graph and backward operators are shown below their launch, "
		"in the ranges where they were written; off: they count where they were launched"),
	LIST("report.labels", "[known]",
		"rules that rewrite labels: known (serial numbers that tools write), auto (also "
		"what looks serial), raw (none), or 'REGEX => REPLACEMENT'"),
	WORD("report.kineto.regions", "auto", "auto|annotations|modules|ops",
		"what becomes a region in a torch.profiler trace: annotations; modules: also calls of modules, where stacks "
		"were recorded; ops: also every operator; auto = modules where annotations say little"),
	TEXT("report.kineto.captures", "beside",
		"traces of captured graphs, which give the work of their launches its regions: a folder or a file, "
		"beside (capture_traces/ beside each trace), or none"),
	BOOL("report.together", "false",
		"of a folder, add up all runs and jobs in it; otherwise read its newest run (of several "
		"jobs, name one)"),
	BOOL("report.aggregate", "true", "the summary over all processes and devices"),
	BOOL("report.per_scope", "false",
		"show each process and device in text, not only their summary; Markdown and JSON always do"),
	WORD("report.view", "cost", "cost|idle|memory|ranks|stalls",
		"columns of tables in text and Markdown: launches and times, why the GPU was idle, "
		"GPU memory, communication with tables of ranks, or why warps did not go on"),
	INT("report.lines", "0", 0, 1000000,
		"in text and Markdown: how many of the hottest source lines of each kernel, from PC samples; 0 = none"),
	INT("report.scopes.keep", "64", 0, 1000000,
		"how many inputs are shown by themselves; the others are added up as one scope; 0 = all"),
	BOOL("report.entries", "false", "in text: how long single entries of each region took"),
	BOOL("report.flat", "false", "in text: all kernels, longest first, instead of regions"),
	BOOL("report.full_names", "false",
		"kernels by their whole C++ names in text, Markdown and HTML, too"),
	INT("report.max_regions", "-1", -1, 1000000,
		"most rows of a table in a report; 0 = all, -1 = 25 in text, 100 in Markdown and with report.all"),
	INT("report.max_kernels", "20", 0, 1000000,
		"kernels listed per region; 0 = all; in the text of `sonde report` only as an "
		"override"),
	INT("report.series", "200", 1, 1000000,
		"how many regions of a process and device have their own series in -f prometheus; the others are region \"other\""),
	TEXT("report.findings", "3", "findings in text and Markdown: how many, all or none"),
	BOOL("report.all", "false",
		"in text: every region and note; otherwise the 25 rows that best show where the time went, and one for the rest"),
	TEXT("report.step", "null", "id of the region that findings count by; null = the repeated one whose usual entries take the most time"),
	WORD("report.whatif", "'on'", "on|off",
		"on: findings say what their fix would gain, by a replay of the capture (docs/whatif.md); off: they do not"),
	WORD("report.sort", "order", "order|time|launches|name", "order of sibling regions"),
	LIST("report.scope", "[]",
		"these scopes only (aggregate, process:4519/device:0, globs); empty = all"),
	{"report.formats", HYDRA_KEY_LIST, "[json, md, html]", 0, 0,
		SONDE_FORMAT_WORDS(SONDE_DIR_FORMATS), "what -o DIR writes beside the regions"},
	TEXT("report.folders", "1000",
		"folders of regions that -o DIR writes: all, none, or the N that took longest"),
	BOOL("report.deterministic", "false", "leave out the time of generation"),

	KEPT("*", "other programs' settings: kept, and recorded with the run"),
	KEPT("pipeline.*", "stages that sonde does not have, likewise"),
	KEPT("**.description", "what a preset is for"),
	{0},
};
