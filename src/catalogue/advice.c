/*
 * The first table says what can go wrong or be improved, and what to do next. The second has the lines with which
 * NVIDIA's tools report these situations.
 */
#include "catalogue/advice.h"

#include <string.h>

/* The same three steps wherever counters are restricted. */
#define ALLOW_COUNTERS                                                                             \
	"as root, write `options nvidia NVreg_RestrictProfilingToAdminUsers=0` to "                \
	"/etc/modprobe.d/nvidia-profiling.conf, run `update-initramfs -u`, reboot; or run with "   \
	"CAP_SYS_ADMIN (container: --cap-add=SYS_ADMIN)"
#define FREE_COUNTERS                                                                              \
	"pause DCGM with `dcgmi profile --pause` (then `--resume`), or end the other session"
#define NEW_CUPTI "install cuda-cupti 12.6 or newer, or name a libcupti.so in SONDE_CUPTI"

#define FAILURE .is_failure = true
#define PLAIN .is_failure = false
#define CAUSE .is_failure = true, .is_cause = true

static const struct sonde_advice table[SONDE_NR_SITUATIONS] = {
	[SONDE_WHEN_NO_PERMISSION] = {"this user may not read the GPU's performance counters "
				      "(ERR_NVGPUCTRPERM)",
		ALLOW_COUNTERS "; without it `sonde run` without --ncu still gives times by region",
		CAUSE},
	[SONDE_WHEN_COUNTERS_HELD] = {"another tool is using the performance counters (a driver "
				      "resource was unavailable)",
		FREE_COUNTERS "; `sonde doctor` names the tools it can see", CAUSE},
	[SONDE_WHEN_NO_DRIVER] = {"no usable CUDA driver in the profiled process",
		"check `nvidia-smi` in the same container; ncu must be no newer than the driver "
		"supports; `sonde doctor` compares them",
		CAUSE},
	[SONDE_WHEN_CLOCKS] = {"the GPU's clocks cannot be locked here (MIG or no permission)",
		"use `pipeline.ncu.ncu_cli.clock_control=none`", CAUSE},
	[SONDE_WHEN_UNSUPPORTED_API] = {"range replay cannot capture a range in which the program "
					"calls %s",
		"use kernel replay (`pipeline.ncu.ncu_cli.replay_mode=kernel`), which works "
		"everywhere, or app-range, which runs the whole program once per pass and has no "
		"such limit",
		CAUSE},
	[SONDE_WHEN_REPLAY_MISMATCH] = {"the program did not do the same in every pass of "
					"application replay",
		"fix seeds, warm up before the ranges, keep launch counts equal from run to run; "
		"`pipeline.ncu.ncu_cli.extra_args=[--app-replay-mode,relaxed]` accepts what still "
		"matches; kernel replay needs no repetition",
		FAILURE},
	[SONDE_WHEN_BAD_METRIC] = {"the metric %s cannot be collected on this chip",
		"check name and suffix with `ncu --query-metrics --query-metrics-mode suffix "
		"--metrics NAME`; `sonde run` compares names before it starts when ncu can list "
		"them",
		CAUSE},
	[SONDE_WHEN_BAD_SECTION] = {"this ncu does not know the section %s",
		"`ncu --list-sections` lists the sections that it has", CAUSE},
	[SONDE_WHEN_BAD_EXPRESSION] = {"ncu does not accept the NVTX expression %s",
		"in ncu's expressions `*` and `+` stand for places in the stack, not for letters: write a label "
		"glob such as `decode*` without `/`, which sonde translates, or `regex:^decode.*/`",
		CAUSE},
	[SONDE_WHEN_BAD_OPTION] = {"this ncu does not know the option %s",
		"`sonde doctor` shows its version; ranges need 2022.1 or newer, and 2024.1 is "
		"known to work with everything that sonde passes",
		CAUSE},
	[SONDE_WHEN_PROGRAM_MISSING] = {"ncu could not start the program",
		"give the program's path, with `--` before it", CAUSE},
	[SONDE_WHEN_DISK_FULL] = {"the disk is full: ncu could not write its report",
		"free some space or choose another place with `hydra.run.dir=DIR`; "
		"`import_sass=false` (the default) keeps reports small",
		FAILURE},
	[SONDE_WHEN_UNWRITABLE] = {"ncu could not write its report",
		"choose a writable place with `hydra.run.dir=DIR`", FAILURE},
	[SONDE_WHEN_OTHER_ERROR] = {"ncu said: %s", "see the whole log in the run directory",
		FAILURE},
	[SONDE_WHEN_PROFILE_FAILED] = {"profiling %s failed",
		"the messages above and the log say why; results from before are kept",
		FAILURE, .is_consequence = true},
	[SONDE_WHEN_PROGRAM_FAILED] = {"the program ended with exit code %s",
		"run it without sonde first; results up to then are kept",
		FAILURE, .is_consequence = true},
	[SONDE_WHEN_SIGNAL] = {"ncu was stopped before the program ended",
		"run it again for the rest; results up to then are kept", .is_cause = true},
	[SONDE_WHEN_NOTHING] = {"no kernel was profiled",
		"see which ranges the program really has (`sonde regions -- COMMAND`); kernels "
		"launched by another thread than the one that pushed the range (a backward pass, a "
		"worker pool) need `pipeline.ncu.ncu_cli.push_pop_scope=process` or start/end "
		"ranges",
		.is_consequence = true},
	[SONDE_WHEN_ONLY_START_END] = {"the expressions select only start/end ranges, but the program "
				       "probably pushes and pops its ranges",
		"add a `/` at the end for push/pop ranges (`A/`), or write a label glob (`A*`), "
		"which matches both kinds", PLAIN},
	[SONDE_WHEN_ONLY_PUSH_POP] = {"the expressions select only push/pop ranges, but the program "
				      "probably starts and ends its ranges",
		"leave out the `/` for start/end ranges (`A`), or write a label glob (`A*`), which "
		"matches both kinds", PLAIN},
	[SONDE_WHEN_MEMORY_BACKUP] = {"ncu saves device memory in host memory between passes, which is slow",
		"ask for fewer metrics, which need fewer passes; a smaller problem or app-range "
		"avoids it", PLAIN},

	[SONDE_WHEN_NO_GPU] = {"sonde cannot query any GPU: %s",
		"install the NVIDIA driver, or give the container the GPU (`--gpus all`, "
		"nvidia-container-toolkit); `sonde report` and host-only native captures work "
		"without one", PLAIN},
	[SONDE_WHEN_MIG] = {"GPU %s is divided into instances (MIG): its clocks cannot be locked",
		"use pipeline.ncu.ncu_cli.clock_control=none; some metrics are shared between "
		"instances", PLAIN},
	[SONDE_WHEN_DRIVERS_DIFFER] = {"the driver's kernel module and its libraries have different versions: %s",
		"reboot, or reload the nvidia kernel modules", PLAIN},
	[SONDE_WHEN_NCU_MISSING] = {"Nsight Compute (ncu) is not installed",
		"only `sonde run --ncu` needs it: install nsight-compute (CUDA toolkit or "
		"developer.nvidia.com/nsight-compute) and put ncu into PATH, or name it in SONDE_NCU",
		PLAIN},
	[SONDE_WHEN_NCU_OLD] = {"ncu %s is too old",
		"install 2022.1 or newer (2021.1 has no app-range replay)", PLAIN},
	[SONDE_WHEN_NCU_TOO_NEW] = {"ncu is too new for this driver: %s",
		"update the driver, or use an older ncu", PLAIN},
	[SONDE_WHEN_NCU_UNUSABLE] = {"Nsight Compute cannot be used: %s",
		"`sonde doctor` lists what this machine has; a native capture (`sonde run` without "
		"--ncu) needs no ncu, and `sonde report` reads reports made elsewhere", PLAIN},
	[SONDE_WHEN_NSYS_MISSING] = {"Nsight Systems (nsys) is not installed",
		"only `sonde run --nsys` needs it: install nsight-systems", PLAIN},
	[SONDE_WHEN_NSYS_UNUSABLE] = {"Nsight Systems cannot be used: %s",
		"`sonde doctor` lists what this machine has; a native capture (`sonde run` without "
		"--nsys) gives times by region without it", PLAIN},
	[SONDE_WHEN_CUPTI_MISSING] = {"CUPTI was not found",
		"install cuda-cupti: without it, native captures have only host times, and plans have no "
		"pass counts", PLAIN},
	[SONDE_WHEN_INJECT_MISSING] = {"libsonde_inject.so was not found, so native captures are not possible",
		"build it with `make inject`, or name it in SONDE_INJECT_LIB", PLAIN},
	[SONDE_WHEN_ADMIN_ONLY] = {"performance counters are for administrators only "
				   "(RmProfilingAdminOnly: 1) and this process has no CAP_SYS_ADMIN",
		ALLOW_COUNTERS "; without counters `sonde run` gives only times", PLAIN},
	[SONDE_WHEN_COMPANY] = {"tools that may be using the counters are running: %s",
		"if ncu says that a driver resource is unavailable: " FREE_COUNTERS, PLAIN},
	[SONDE_WHEN_CONTAINER] = {"this is a container (%s): the host's driver and permissions decide "
				  "whether counters can be read",
		"start it with --cap-add=SYS_ADMIN", PLAIN},

	[SONDE_WHEN_NSYS_NO_REPORT] = {"nsys wrote no report: the program never entered the range "
				       "'%s' (capture_range=nvtx), or nsys failed",
		"compare the range with `sonde regions -- COMMAND` (names are compared exactly); "
		"nsys's own messages are above", PLAIN},
	[SONDE_WHEN_NO_RANGES] = {"the program entered no NVTX range at all, so no region can be "
				  "profiled",
		"leave out nvtx.include to profile every kernel, or mark the program's steps "
		"with NVTX ranges", PLAIN},

	[SONDE_WHEN_SAMPLING_CUPTI_MISSING] = {"CUPTI was not found", NEW_CUPTI, PLAIN},
	[SONDE_WHEN_SAMPLING_CUPTI_OLD] = {"this CUPTI is too old to sample counters (it has no "
					   "%s)",
		NEW_CUPTI, PLAIN},
	[SONDE_WHEN_SAMPLING_NO_DRIVER] = {"the NVIDIA driver cannot be used here (%s)",
		"check `nvidia-smi` in the same container; `sonde doctor` says what is missing", PLAIN},
	[SONDE_WHEN_SAMPLING_ADMIN_ONLY] = {"the counters are for administrators only "
					    "(ERR_NVGPUCTRPERM; %s)",
		ALLOW_COUNTERS, PLAIN},
	[SONDE_WHEN_SAMPLING_MIG] = {"the GPU is divided into instances (MIG), whose counters cannot be "
				     "sampled (%s)",
		"use a whole GPU", PLAIN},
	[SONDE_WHEN_SAMPLING_BUSY] = {"another program samples this GPU already: nsys, ncu, DCGM, "
				      "another sonde (%s)",
		FREE_COUNTERS, PLAIN},
	[SONDE_WHEN_SAMPLING_VGPU] = {"the GPU is a virtual one (vGPU) without profiling (%s)",
		"enable profiling of this GPU on the host", PLAIN},
	[SONDE_WHEN_SAMPLING_CONFIDENTIAL] = {"the GPU is in confidential computing mode, which "
					      "hides its counters (%s)",
		"use a GPU that is not in this mode; times by region need no counters", PLAIN},
	[SONDE_WHEN_SAMPLING_WSL] = {"counters cannot be sampled under WSL (%s)",
		"use Linux itself; times by region need no counters", PLAIN},
	[SONDE_WHEN_SAMPLING_UNSUPPORTED] = {"this GPU cannot be sampled, or not with so many counters "
					     "at once (%s)",
		"use Turing or newer, or ask for fewer counters", PLAIN},
	[SONDE_WHEN_SAMPLING_NO_MEMORY] = {"there is not enough memory for the counters (%s)",
		"ask for fewer counters, or free GPU memory", PLAIN},
	[SONDE_WHEN_SAMPLING_REFUSED] = {"the driver or CUPTI refuses to sample counters (%s)",
		"`sonde doctor` says what this machine permits", PLAIN},
	[SONDE_WHEN_SAMPLING_NOT_BUILT] = {"this sonde was built without CUPTI's headers: it "
					   "cannot sample counters",
		"build it where CUPTI 12.6 or newer is installed", PLAIN},
};

const struct sonde_advice *sonde_advice_on(enum sonde_situation s)
{
	return &table[s];
}

void sonde_advice_say(struct sonde_buf *out, enum sonde_situation s, const char *detail)
{
	struct sonde_str after, before = sonde_str_cut(sonde_str_from(table[s].says), '%', &after);

	sonde_buf_str(out, before);
	if (after.n == 0)
		return;
	sonde_buf_puts(out, detail && *detail ? detail : "(unnamed)");
	sonde_buf_add(out, after.p + 1, after.n - 1); /* skips the s of %s */
}

#define TRY "; try: "

int sonde_advice_err(
	struct sonde_err *err, int code, enum sonde_situation s, const char *detail)
{
	struct sonde_buf says = {0};

	sonde_advice_say(&says, s, detail);
	if (says.failed)
		sonde_err_nomem(err);
	else
		sonde_err_set(err, code, "%s" TRY "%s", says.p, table[s].next);
	sonde_buf_release(&says);
	return code;
}

struct sonde_str sonde_advice_split(struct sonde_str message, struct sonde_str *next)
{
	*next = (struct sonde_str){NULL, 0};
	if (sonde_str_has(message, TRY, next))
		message.n -= next->n + strlen(TRY);
	return message;
}

/* How the detail of a situation is cut out of its line. */
enum detail {
	DETAIL_NONE,
	DETAIL_PARENS,
	DETAIL_QUOTES,
	DETAIL_TICKS,
	DETAIL_LAST_WORD,
	DETAIL_LINE
};

/* Lines that tools write. The first row whose needle is anywhere in the line wins. */
static const struct pattern {
	const char *needle;
	uint8_t situation, detail;
} patterns[] = {
	{"No kernels were profiled", SONDE_WHEN_NOTHING, DETAIL_NONE},
	{"No ranges were profiled", SONDE_WHEN_NOTHING, DETAIL_NONE},
	{"match only start/end ranges", SONDE_WHEN_ONLY_START_END, DETAIL_NONE},
	{"match only push/pop ranges", SONDE_WHEN_ONLY_PUSH_POP, DETAIL_NONE},
	{"Unsupported API", SONDE_WHEN_UNSUPPORTED_API, DETAIL_PARENS},
	{"ERR_NVGPUCTRPERM", SONDE_WHEN_NO_PERMISSION, DETAIL_NONE},
	{"driver resource was unavailable", SONDE_WHEN_COUNTERS_HELD, DETAIL_NONE},
	{"Failed to find metric", SONDE_WHEN_BAD_METRIC, DETAIL_LAST_WORD},
	{"cannot be collected", SONDE_WHEN_BAD_METRIC, DETAIL_QUOTES},
	{"Invalid metric", SONDE_WHEN_BAD_METRIC, DETAIL_LAST_WORD},
	{"Failed to find section", SONDE_WHEN_BAD_SECTION, DETAIL_LAST_WORD},
	{"No section files found", SONDE_WHEN_BAD_SECTION, DETAIL_NONE},
	{"Invalid configuration for nvtx", SONDE_WHEN_BAD_EXPRESSION, DETAIL_LAST_WORD},
	{"unrecognised option", SONDE_WHEN_BAD_OPTION, DETAIL_TICKS},
	{"unrecognized option", SONDE_WHEN_BAD_OPTION, DETAIL_TICKS},
	{"pplication replay mismatch", SONDE_WHEN_REPLAY_MISMATCH, DETAIL_NONE},
	{"not match across", SONDE_WHEN_REPLAY_MISMATCH, DETAIL_NONE},
	{"match previous pass", SONDE_WHEN_REPLAY_MISMATCH, DETAIL_NONE},
	{"mismatch between replay passes", SONDE_WHEN_REPLAY_MISMATCH, DETAIL_NONE},
	{"application returned an error code", SONDE_WHEN_PROGRAM_FAILED, DETAIL_PARENS},
	{"does not exist or is not an executable", SONDE_WHEN_PROGRAM_MISSING, DETAIL_NONE},
	{"LibraryNotLoaded", SONDE_WHEN_NO_DRIVER, DETAIL_NONE},
	{"Cuda driver is not compatible", SONDE_WHEN_NO_DRIVER, DETAIL_NONE},
	{"Cannot lock GPU clock", SONDE_WHEN_CLOCKS, DETAIL_NONE},
	{"No space left on device", SONDE_WHEN_DISK_FULL, DETAIL_NONE},
	{"Failed to write report", SONDE_WHEN_UNWRITABLE, DETAIL_NONE},
	{"Failed to create report", SONDE_WHEN_UNWRITABLE, DETAIL_NONE},
	{"Could not open report", SONDE_WHEN_UNWRITABLE, DETAIL_NONE},
	{"Received signal", SONDE_WHEN_SIGNAL, DETAIL_NONE},
	{"Backing up device memory in system memory", SONDE_WHEN_MEMORY_BACKUP, DETAIL_NONE},
	{"Failed to profile", SONDE_WHEN_PROFILE_FAILED, DETAIL_QUOTES},
	/* ncu writes these after the cause: they add nothing. */
	{"Skipping invalid capture range", SONDE_NR_SITUATIONS, DETAIL_NONE},
	{"An error was reported by the driver", SONDE_NR_SITUATIONS, DETAIL_NONE},
	{"An error occurred while trying to profile", SONDE_NR_SITUATIONS, DETAIL_NONE},
	{"==ERROR==", SONDE_WHEN_OTHER_ERROR, DETAIL_LINE},
};

static struct sonde_str between(struct sonde_str s, char open, char close)
{
	struct sonde_str rest;

	sonde_str_cut(s, open, &rest);
	return sonde_str_cut(rest, close, &rest);
}

static struct sonde_str last_word(struct sonde_str s)
{
	size_t n;

	s = sonde_str_trim(s);
	while (s.n && strchr(".'\"", s.p[s.n - 1]))
		s.n--;
	for (n = s.n; n && !strchr(" '\"", s.p[n - 1]); n--)
		;
	return (struct sonde_str){s.p + n, s.n - n};
}

static struct sonde_str cut_detail(uint8_t how, struct sonde_str line, struct sonde_str after)
{
	switch (how) {
	case DETAIL_PARENS:
		return between(after, '(', ')');
	case DETAIL_QUOTES:
		return between(line, '"', '"');
	case DETAIL_TICKS:
		return between(after, '\'', '\'');
	case DETAIL_LAST_WORD:
		return last_word(after);
	case DETAIL_LINE:
		return sonde_str_trim(after);
	default:
		return (struct sonde_str){NULL, 0};
	}
}

enum sonde_situation sonde_advice_match(struct sonde_str line, struct sonde_str *detail)
{
	struct sonde_str after;
	size_t i;

	for (i = 0; i < sizeof(patterns) / sizeof(*patterns); i++)
		if (sonde_str_has(line, patterns[i].needle, &after)) {
			*detail = cut_detail(patterns[i].detail, line, after);
			return patterns[i].situation;
		}
	return SONDE_NR_SITUATIONS;
}
