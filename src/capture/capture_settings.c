#include "capture/capture_settings.h"

#include "attribute/filter.h"
#include "capture/plan.h"
#include "hydra/hydra.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum kind { TEXT, BOOL, NUMBER, LIST, ARGS, WORDS, SPAN, RANKS };

#define AT(field)  offsetof(struct sonde_capture_settings, field)
#define NCU(name)  "pipeline.ncu." name
#define CLI(name)  "pipeline.ncu.ncu_cli." name
#define NSYS(name) "pipeline.nsys." name

static const struct setting {
	const char *key;
	uint8_t kind;
	size_t at;
} table[] = {
	{"hydra.job.chdir", BOOL, AT(chdir)},
	{"ranks", RANKS, AT(ranks)},
	{"capture.local", TEXT, AT(capture_local)},
	{NCU("enable"), BOOL, AT(ncu_enable)},
	{NCU("gating_nvtx"), BOOL, AT(ncu_gating)},
	{NCU("fallback"), BOOL, AT(ncu_fallback)},
	{NCU("strict"), BOOL, AT(ncu_strict)},
	{CLI("target_processes"), TEXT, AT(ncu.target_processes)},
	{CLI("replay_mode"), TEXT, AT(ncu.replay_mode)},
	{CLI("clock_control"), TEXT, AT(ncu.clock_control)},
	{CLI("nvtx.include"), LIST, AT(nvtx_include)},
	{CLI("nvtx.exclude"), LIST, AT(nvtx_exclude)},
	{CLI("push_pop_scope"), TEXT, AT(ncu.push_pop_scope)},
	{CLI("range_filter"), TEXT, AT(ncu.range_filter)},
	{CLI("set"), TEXT, AT(ncu.set)},
	{CLI("metrics"), LIST, AT(ncu.metrics)},
	{CLI("sections"), LIST, AT(ncu.sections)},
	{CLI("kernel_name"), TEXT, AT(ncu.kernel_name)},
	{CLI("kernel_name_base"), TEXT, AT(ncu.kernel_name_base)},
	{CLI("kernel_exclude"), LIST, AT(kernel_exclude)},
	{CLI("launch_skip"), NUMBER, AT(ncu.launch_skip)},
	{CLI("launch_count"), NUMBER, AT(ncu.launch_count)},
	{CLI("import_sass"), BOOL, AT(ncu.import_sass)},
	{CLI("force_overwrite"), BOOL, AT(ncu.force_overwrite)},
	{CLI("export.csv"), BOOL, AT(ncu_csv)},
	{CLI("extra_args"), ARGS, AT(ncu.extra)},
	{NSYS("enable"), BOOL, AT(nsys_enable)},
	{NSYS("trace"), WORDS, AT(nsys.trace)},
	{NSYS("sample"), TEXT, AT(nsys.sample)},
	{NSYS("capture_range"), TEXT, AT(nsys.capture_range)},
	{NSYS("capture_range_end"), TEXT, AT(nsys.capture_range_end)},
	{NSYS("nvtx_capture"), TEXT, AT(nsys.nvtx_capture)},
	{NSYS("gating_nvtx"), BOOL, AT(nsys_gating)},
	{NSYS("stats"), BOOL, AT(nsys_stats)},
	{NSYS("sqlite"), BOOL, AT(nsys_sqlite)},
	{NSYS("extra_args"), ARGS, AT(nsys.extra)},
	{"pipeline.torch.enable", BOOL, AT(torch_enable)},
	{"pipeline.torch.pattern", TEXT, AT(torch_pattern)},
	{"pipeline.native.enable", BOOL, AT(native_enable)},
	{"pipeline.native.cupti", TEXT, AT(native_cupti)},
	{"pipeline.native.graphs", TEXT, AT(native_graphs)},
	{"pipeline.native.api", TEXT, AT(native_api)},
	{"pipeline.native.memory", BOOL, AT(native_memory)},
	{"pipeline.native.pc", TEXT, AT(native_pc)},
	{"pipeline.native.cubins_mb", NUMBER, AT(native_cubins_mb)},
	{"pipeline.native.budget", TEXT, AT(native_budget)},
	{"pipeline.native.buffer_mb", NUMBER, AT(native_buffer_mb)},
	{"pipeline.native.nvtx.include", LIST, AT(native_include)},
	{"pipeline.native.nvtx.exclude", LIST, AT(native_exclude)},
	{"capture.window", TEXT, AT(window_text)},
	{"capture.rotate", TEXT, AT(rotate_text)},
	{"capture.keep", TEXT, AT(keep_text)},
	{"capture.every", SPAN, AT(every_ns)},
	{"capture.prometheus", TEXT, AT(prometheus)},
	{"counters.set", TEXT, AT(counters_set)},
	{"counters.names", LIST, AT(counters_names)},
	{"counters.source", TEXT, AT(counters_source)},
	{"counters.interval", SPAN, AT(counters_interval_ns)},
	{"counters.burst", SPAN, AT(counters_burst_ns)},
	{"pipeline.workload.command", ARGS, AT(workload)},
	{"pipeline.workload.module", TEXT, AT(workload_module)},
	{"pipeline.workload.name", TEXT, AT(workload_name)},
	{"pipeline.workload.cwd", TEXT, AT(workload_dir)},
	{"pipeline.workload.modules", TEXT, AT(modules)},
	{"pipeline.workload.timeout_s", NUMBER, AT(timeout_s)},
};

static int read_list(struct sonde_capture_settings *s, const struct setting *t,
	const struct hydra_config *c, struct sonde_err *err)
{
	struct sonde_words *out = (struct sonde_words *)(void *)((char *)s + t->at);
	const struct sonde_str *words;
	size_t i, nr = hydra_config_list(c, t->key, &words);
	const char **at = sonde_arena_calloc(&s->arena, nr + 1, sizeof(*at));

	if (!at)
		return sonde_err_nomem(err);
	*out = (struct sonde_words){at, 0};
	for (i = 0; i < nr; i++)
		if (words[i].n || t->kind == ARGS) /* an empty word selects nothing */
			at[out->nr++] = words[i].p;
	return 0;
}

/* Splits NVTX expressions: a word that is a list `A;B` becomes two words. */
static int split_words(struct sonde_capture_settings *s, struct sonde_words *words, struct sonde_err *err)
{
	struct sonde_word_list all = {0};
	const char **at;
	bool ok = true;
	size_t i;

	for (i = 0; i < words->nr && ok; i++) {
		struct sonde_str rest = sonde_str_from(words->at[i]), item;

		while (ok && sonde_nvtx_next_item(&rest, &item)) {
			const char *word = item.n ? sonde_arena_z(&s->arena, item) : "";

			ok = word && (!*word || sonde_word_list_add(&all, word));
		}
	}
	at = ok ? sonde_arena_calloc(&s->arena, all.nr + 1, sizeof(*at)) : NULL;
	if (at && all.nr)
		memcpy(at, all.at, all.nr * sizeof(*at));
	*words = (struct sonde_words){at, at ? all.nr : 0};
	sonde_vec_release(&all);
	return at ? 0 : sonde_err_nomem(err);
}

/* Reads a list that the tool takes as one word: a,b,c. */
static int read_words(struct sonde_capture_settings *s, const char **out,
	const struct hydra_config *c, const char *key, struct sonde_err *err)
{
	const struct sonde_str *words;
	size_t i, nr = hydra_config_list(c, key, &words);
	struct sonde_buf b = {0};

	for (i = 0; i < nr; i++)
		sonde_buf_printf(&b, "%s%.*s", i ? "," : "", SONDE_STR_ARG(words[i]));
	if (nr && !b.failed)
		*out = sonde_arena_z(&s->arena, sonde_buf_view(&b));
	sonde_buf_release(&b);
	return nr && !*out ? sonde_err_nomem(err) : 0;
}

/* Reads a time, in nanoseconds; `auto` and `off` give 0. */
static int read_span(uint64_t *out, const char *key, struct sonde_str text, struct sonde_err *err)
{
	*out = 0;
	if (text.n == 0 || sonde_str_is(text, "auto") || sonde_str_is(text, "off") ||
		sonde_str_is(text, "false") || sonde_str_ns(text, out))
		return 0;
	return sonde_err_set(err, SONDE_ERR_USAGE, 
		"%s=%.*s: not a time: write 50us, 2ms or 1s",
		key, SONDE_STR_ARG(text));
}

static int read_ranks(struct sonde_capture_settings *s, const struct hydra_config *c,
	const char *key, struct sonde_err *err)
{
	const struct sonde_str *words;
	size_t nr = hydra_config_list(c, key, &words);

	return sonde_rank_list_read(&s->ranks, &s->arena, words, nr, err);
}

static int read_one(struct sonde_capture_settings *s, const struct setting *t,
	const struct hydra_config *c, struct sonde_err *err)
{
	void *field = (char *)s + t->at;
	struct sonde_str text;

	switch (t->kind) {
	case LIST:
	case ARGS:
		return read_list(s, t, c, err);
	case WORDS:
		return read_words(s, field, c, t->key, err);
	case BOOL:
		*(bool *)field = hydra_config_bool(c, t->key);
		return 0;
	case NUMBER:
		*(long *)field = (long)hydra_config_int(c, t->key);
		return 0;
	case RANKS:
		return read_ranks(s, c, t->key, err);
	case SPAN:
		return read_span(field, t->key, hydra_config_str(c, t->key), err);
	default:
		text = hydra_config_str(c, t->key);
		*(const char **)field = text.n ? text.p : NULL;
		return 0;
	}
}

static int check_cupti(const struct sonde_capture_settings *s, struct sonde_err *err)
{
	const char *v = s->native_cupti;

	if (!v || strcmp(v, "auto") == 0 || strcmp(v, "off") == 0)
		return 0;
	if (v[0] == '/' && access(v, R_OK) == 0 && !strchr(v, '\n'))
		return 0;
	return sonde_err_set(err, SONDE_ERR_USAGE,
		"pipeline.native.cupti=%s: write auto, off, or the whole path of a file that can be "
		"read",
		v);
}

/* Whether the user asks for counters, by name or by set. `auto` is no request: it samples only if the machine can. */
static bool asks_counters(const struct sonde_capture_settings *s)
{
	return s->counters_names.nr ||
	       (strcmp(s->counters_set, "auto") != 0 && strcmp(s->counters_set, "off") != 0);
}

/* A share of the program's time, as `2%` or `0.02`. */
static int check_budget(struct sonde_capture_settings *s, struct sonde_err *err)
{
	const char *v = s->native_budget;
	char *end = NULL;
	double share = v ? strtod(v, &end) : 0;

	if (!v || strcmp(v, "null") == 0 || strcmp(v, "off") == 0)
		return 0;
	if (end != v && strcmp(end, "%") == 0)
		share /= 100;
	else if (end == v || *end)
		share = -1;
	if (!(share >= 1e-4 && share <= 1))
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"pipeline.native.budget=%s: not a share of the program's time: write 2%% or 0.02",
			v);
	s->native_budget_ppm = (uint32_t)(share * 1e6 + 0.5);
	if (!asks_counters(s)) /* the budget does not cover the sampler's cost, so only a user who asks for counters gets them */
		s->counters_set = "off";
	return 0;
}

#define PC_EXPONENT	15 /* 2^15 cycles: about 50 samples per SM from a kernel of 1 ms, and few enough for the host */
#define MIN_EXPONENT 5
#define MAX_EXPONENT 31

/* `off`, `on`, or a period in cycles: CUPTI takes only powers of two. */
static int check_pc(struct sonde_capture_settings *s, struct sonde_err *err)
{
	const char *v = s->native_pc;
	uint64_t cycles = 0;

	if (!v || strcmp(v, "null") == 0 || strcmp(v, "off") == 0 || strcmp(v, "false") == 0)
		return 0;
	if (strcmp(v, "on") == 0 || strcmp(v, "true") == 0)
		cycles = 1u << PC_EXPONENT;
	else if (!sonde_str_u64(sonde_str_from(v), &cycles) || (cycles & (cycles - 1)) || cycles < 1u << MIN_EXPONENT ||
		 cycles > 1u << MAX_EXPONENT)
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"pipeline.native.pc=%s: not on, off or a power of two from 32 to 2147483648: write on, or 65536 for half as "
			"many samples", v);
	s->native_pc_exponent = (unsigned)__builtin_ctzll(cycles);
	if (strcmp(s->counters_source, "pm") == 0 || strcmp(s->counters_source, "both") == 0)
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"counters.source=%s: a GPU has no PM samples while PC samples are taken (pipeline.native.pc, --lines): leave one of "
			"them out; with counters.source=auto, NVML's GPM counts beside PC samples", s->counters_source);
	return 0;
}

/* ncu cannot leave kernels out, and nobody can take a kernel out of a replayed range afterwards. */
static int check_ranges(const struct sonde_capture_settings *s, struct sonde_err *err)
{
	if (!s->ncu_enable || !s->kernel_exclude.nr || !sonde_replay_is_ranges(s->ncu.replay_mode))
		return 0;
	return sonde_err_set(err, SONDE_ERR_USAGE,
		"pipeline.ncu.ncu_cli.kernel_exclude and replay_mode=%s do not go together: ncu has no such "
		"option, and a replayed range is one result that kernels cannot be taken out of; choose "
		"kernels with pipeline.ncu.ncu_cli.kernel_name, or use replay_mode=kernel",
		s->ncu.replay_mode);
}

#define LEAST_ROTATE_BYTES (1u << 20)
#define LEAST_ROTATE_NS	   1000000000u

/*
 * `1GB`, `10min`, or `1GB|10min`: the limit that is reached first. A comma would start a sweep in the configuration's
 * language.
 */
static int check_rotate(struct sonde_capture_settings *s, struct sonde_err *err)
{
	struct sonde_str rest = sonde_str_trim(sonde_str_from(s->rotate_text)), part;
	const char *why = NULL;

	while (rest.n && !why) {
		part = sonde_str_cut(rest, '|', &rest);
		part = sonde_str_trim(part);
		if (!sonde_str_bytes(part, &s->rotate_bytes) && !sonde_str_ns(part, &s->rotate_ns))
			why = "not a size or time such as 1GB, 10min or '1GB|10min'";
	}
	if (!why && ((s->rotate_bytes && s->rotate_bytes < LEAST_ROTATE_BYTES) ||
			    (s->rotate_ns && s->rotate_ns < LEAST_ROTATE_NS)))
		why = "a file must hold 1MiB or more, or one second or more";
	return why ? sonde_err_set(err, SONDE_ERR_USAGE, "capture.rotate=%s: %s", s->rotate_text, why)
		   : 0;
}

/* `4` files, or `10GB` of files; older files are folded to sums. */
static int check_keep(struct sonde_capture_settings *s, struct sonde_err *err)
{
	const char *text = s->keep_text, *why = NULL;
	char *end = NULL;

	if (!text || strcmp(text, "all") == 0)
		return 0;
	if (!sonde_str_bytes(sonde_str_from(text), &s->keep_bytes)) {
		s->keep_files = strtoul(text, &end, 10);
		if (*end || !s->keep_files || s->keep_files > UINT32_MAX)
			why = "not a number of files, or a size such as 10GB";
	}
	if (!why && !s->rotate_text)
		why = "it needs capture.rotate, which says how long a file is: add capture.rotate=256MB, say";
	return why ? sonde_err_set(err, SONDE_ERR_USAGE, "capture.keep=%s: %s", text, why) : 0;
}

/* The native capture is the default when no other pipeline is enabled. A run without any pipeline is refused. */
static int check_enabled(
	struct sonde_capture_settings *s, const struct hydra_config *c, struct sonde_err *err)
{
	if (hydra_config_is_null(c, "pipeline.native.enable"))
		s->native_enable = !s->ncu_enable && !s->nsys_enable && !s->torch_enable;
	if (s->ncu_enable || s->nsys_enable || s->native_enable || s->torch_enable)
		return 0;
	return sonde_err_set(err, SONDE_ERR_USAGE,
		"no pipeline is enabled, so nothing would run: set one of "
		"pipeline.native.enable, pipeline.ncu.enable, pipeline.nsys.enable, "
		"pipeline.torch.enable to true");
}

/* Refuses settings that only the native capture can follow, when it is not enabled. */
static int check_native_only(const struct sonde_capture_settings *s, struct sonde_err *err)
{
	const char *key = s->native_budget_ppm ? "pipeline.native.budget"
			  : s->rotate_text     ? "capture.rotate"
			  : s->every_ns	       ? "capture.every"
					       : NULL;

	if (s->native_enable || !key)
		return 0;
	return sonde_err_set(err, SONDE_ERR_USAGE,
		"%s is for the native capture, which is not enabled: leave it out, or add "
		"pipeline.native.enable=true",
		key);
}

int sonde_capture_settings_read(
	struct sonde_capture_settings *out, const struct hydra_config *c, struct sonde_err *err)
{
	size_t i;
	int rc = 0;

	*out = (struct sonde_capture_settings){.nsys = {.force_overwrite = true},
		.ncu_program = getenv("SONDE_NCU"),
		.nsys_program = getenv("SONDE_NSYS")};
	if (!out->ncu_program)
		out->ncu_program = "ncu";
	if (!out->nsys_program)
		out->nsys_program = "nsys";
	for (i = 0; i < sizeof(table) / sizeof(*table) && rc == 0; i++)
		rc = read_one(out, &table[i], c, err);
	if (!out->ncu.launch_skip) /* 0 = not given: the options are left out, so that ncu's own defaults hold */
		out->ncu.launch_skip = -1;
	if (!out->ncu.launch_count)
		out->ncu.launch_count = -1;
	if (rc == 0)
		rc = split_words(out, &out->nvtx_include, err);
	if (rc == 0)
		rc = split_words(out, &out->nvtx_exclude, err);
	if (rc == 0)
		rc = check_ranges(out, err);
	if (rc == 0)
		rc = check_cupti(out, err);
	if (rc == 0)
		rc = check_budget(out, err);
	if (rc == 0)
		rc = check_pc(out, err);
	if (rc == 0)
		rc = check_rotate(out, err);
	if (rc == 0)
		rc = check_keep(out, err);
	if (rc == 0)
		rc = sonde_window_parse(&out->window, out->window_text, &out->arena, err);
	if (rc == 0)
		rc = check_enabled(out, c, err);
	if (rc == 0)
		rc = check_native_only(out, err);
	return rc ? rc : sonde_window_apply(out, &out->window, err);
}

void sonde_capture_settings_release(struct sonde_capture_settings *s)
{
	sonde_arena_release(&s->arena);
}
