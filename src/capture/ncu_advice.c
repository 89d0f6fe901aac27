#include "capture/ncu_log.h"

static const struct sonde_ncu_advice table[SONDE_NR_NCU_FINDINGS] = {
	[SONDE_NCU_NO_PERMISSION] = {"this user may not read the GPU's performance counters "
				     "(ERR_NVGPUCTRPERM)",
		"allow it once, as root: write `options nvidia "
		"NVreg_RestrictProfilingToAdminUsers=0` "
		"to /etc/modprobe.d/nvidia-profiling.conf, run `update-initramfs -u`, reboot; or "
		"give "
		"the process CAP_SYS_ADMIN (container: --cap-add=SYS_ADMIN); without it "
		"`pipeline.native.enable=true pipeline.ncu.enable=false` still gives times by "
		"region",
		true},
	[SONDE_NCU_COUNTERS_HELD] = {"another tool is using the performance counters (a driver "
				     "resource was unavailable)",
		"pause DCGM with `dcgmi profile --pause` (then `--resume`), end other ncu, nsys or "
		"CUPTI sessions on this GPU; `sonde doctor` names those it can see",
		true},
	[SONDE_NCU_NO_DRIVER] = {"no usable CUDA driver in the profiled process",
		"check `nvidia-smi` in the same container; ncu must be no newer than the driver "
		"supports; `sonde doctor` compares them",
		true},
	[SONDE_NCU_CLOCKS] = {"the GPU's clocks cannot be locked here (MIG or no permission)",
		"use `pipeline.ncu.ncu_cli.clock_control=none`", true},
	[SONDE_NCU_UNSUPPORTED_API] = {"range replay cannot capture a range in which the program "
				       "calls %s",
		"use kernel replay (`pipeline.ncu.ncu_cli.replay_mode=kernel`), which works "
		"everywhere, "
		"or app-range, which runs the whole program once per pass and has no such limit",
		true},
	[SONDE_NCU_REPLAY_MISMATCH] = {"the program did not do the same in every pass of "
				       "application replay",
		"fix seeds, warm up before the ranges, keep launch counts equal from run to run; "
		"`pipeline.ncu.ncu_cli.extra_args=[--app-replay-mode,relaxed]` accepts what still "
		"matches; kernel "
		"replay needs no repetition",
		true},
	[SONDE_NCU_BAD_METRIC] = {"the metric %s cannot be collected on this chip",
		"check name and suffix with `ncu --query-metrics --query-metrics-mode suffix "
		"--metrics NAME`; `sonde run` compares names before it starts when ncu can list "
		"them",
		true},
	[SONDE_NCU_BAD_SECTION] = {"the section %s is not known to this ncu",
		"`ncu --list-sections` shows those it has", true},
	[SONDE_NCU_BAD_EXPRESSION] = {"ncu does not take the NVTX expression %s",
		"`*` and `+` are places in the stack there, not letters: write a label glob such "
		"as "
		"`decode*` without `/`, and sonde translates it, or `regex:^decode.*/`",
		true},
	[SONDE_NCU_BAD_OPTION] = {"this ncu does not know the option %s",
		"`sonde doctor` shows its version; 2022.1 or newer is needed for ranges, 2024.1 is "
		"known to work with everything sonde passes",
		true},
	[SONDE_NCU_PROGRAM_MISSING] = {"ncu could not start the program",
		"give its path, and `--` before it", true},
	[SONDE_NCU_DISK_FULL] = {"the disk is full: ncu could not write its report",
		"free some space or choose another place with `hydra.run.dir=DIR`; "
		"`import_sass=false` (the default) keeps reports small",
		true},
	[SONDE_NCU_UNWRITABLE] = {"ncu could not write its report",
		"choose a writable place with `hydra.run.dir=DIR`", true},
	[SONDE_NCU_PROFILE_FAILED] = {"profiling %s failed",
		"the messages above and the log say why; results from before it are kept", true},
	[SONDE_NCU_PROGRAM_FAILED] = {"the program ended with exit code %s",
		"run it without sonde first; results up to then are kept", true},
	[SONDE_NCU_SIGNAL] = {"ncu was stopped before the program ended",
		"results up to then are kept", false},
	[SONDE_NCU_NOTHING] = {"no kernel was profiled",
		"see which ranges the program really has (`sonde regions -- COMMAND`); kernels "
		"launched by another thread than the one that pushed the range (a backward pass, a "
		"worker pool) need `pipeline.ncu.ncu_cli.push_pop_scope=process` or start/end "
		"ranges",
		false},
	[SONDE_NCU_ONLY_START_END] = {"the expressions select only start/end ranges, the program "
				      "probably pushes and pops",
		"add a `/` at the end for push/pop ranges (`A/`), or write a label glob (`A*`), "
		"which "
		"takes both kinds",
		false},
	[SONDE_NCU_ONLY_PUSH_POP] = {"the expressions select only push/pop ranges, the program "
				     "probably starts and ends",
		"leave out the `/` for start/end ranges (`A`), or write a label glob (`A*`), which "
		"takes both kinds",
		false},
	[SONDE_NCU_MEMORY_BACKUP] = {"device memory is saved in host memory between passes: slow",
		"fewer metrics need fewer passes; a smaller problem or app-range avoids it", false},
	[SONDE_NCU_OTHER_ERROR] = {"ncu said: %s", "see the whole log in the run directory", true},
};

/* Causes before consequences. */
static const uint8_t order[] = {SONDE_NCU_NO_PERMISSION, SONDE_NCU_COUNTERS_HELD,
	SONDE_NCU_NO_DRIVER, SONDE_NCU_CLOCKS, SONDE_NCU_UNSUPPORTED_API, SONDE_NCU_REPLAY_MISMATCH,
	SONDE_NCU_BAD_METRIC, SONDE_NCU_BAD_SECTION, SONDE_NCU_BAD_EXPRESSION, SONDE_NCU_BAD_OPTION,
	SONDE_NCU_PROGRAM_MISSING, SONDE_NCU_DISK_FULL, SONDE_NCU_UNWRITABLE, SONDE_NCU_OTHER_ERROR,
	SONDE_NCU_PROFILE_FAILED, SONDE_NCU_PROGRAM_FAILED, SONDE_NCU_SIGNAL, SONDE_NCU_NOTHING,
	SONDE_NCU_ONLY_START_END, SONDE_NCU_ONLY_PUSH_POP, SONDE_NCU_MEMORY_BACKUP};

const struct sonde_ncu_advice *sonde_ncu_advice(enum sonde_ncu_finding f)
{
	return &table[f];
}

/* Whether a cause that was said already makes this finding a mere consequence. */
static bool is_consequence(const struct sonde_ncu_log *log, uint8_t f)
{
	const uint32_t causes = 1u << SONDE_NCU_NO_PERMISSION | 1u << SONDE_NCU_COUNTERS_HELD |
				1u << SONDE_NCU_NO_DRIVER | 1u << SONDE_NCU_CLOCKS |
				1u << SONDE_NCU_UNSUPPORTED_API | 1u << SONDE_NCU_SIGNAL |
				1u << SONDE_NCU_BAD_METRIC | 1u << SONDE_NCU_BAD_SECTION |
				1u << SONDE_NCU_BAD_EXPRESSION | 1u << SONDE_NCU_BAD_OPTION |
				1u << SONDE_NCU_PROGRAM_MISSING;

	if (f == SONDE_NCU_PROGRAM_FAILED || f == SONDE_NCU_PROFILE_FAILED ||
		f == SONDE_NCU_NOTHING)
		return (log->seen & causes) != 0;
	return false;
}

void sonde_ncu_log_explain(const struct sonde_ncu_log *log, struct sonde_buf *out)
{
	size_t i;

	for (i = 0; i < sizeof(order); i++) {
		const struct sonde_ncu_advice *a = &table[order[i]];
		struct sonde_str before, after;

		if (!sonde_ncu_log_has(log, (enum sonde_ncu_finding)order[i]) ||
			is_consequence(log, order[i]))
			continue;
		before = sonde_str_cut(sonde_str_from(a->means), '%', &after);
		sonde_buf_str(out, before);
		if (after.n) { /* the rest of "%s" */
			sonde_buf_puts(out,
				log->details[order[i]][0] ? log->details[order[i]] : "(unnamed)");
			sonde_buf_add(out, after.p + 1, after.n - 1);
		}
		sonde_buf_printf(out, "\n  try: %s\n", a->advice);
	}
}
