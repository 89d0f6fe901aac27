#include "capture/capture_settings.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <strings.h>

enum kind { TEXT, BOOL, NUMBER, LIST, ARGS, WORDS };

#define AT(field)  offsetof(struct sonde_capture_settings, field)
#define NCU(name)  "pipeline.ncu." name
#define CLI(name)  "pipeline.ncu.ncu_cli." name
#define NSYS(name) "pipeline.nsys." name

static const struct setting {
	const char *key;
	uint8_t kind;
	size_t at;
} table[] = {
	{"hydra.run.dir", TEXT, AT(run_dir)},
	{"hydra.job.chdir", BOOL, AT(chdir)},
	{NCU("enable"), BOOL, AT(ncu_enable)},
	{NCU("gating_nvtx"), BOOL, AT(ncu_gating)},
	{NCU("fallback"), BOOL, AT(ncu_fallback)},
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
	{CLI("kernel_name"), LIST, AT(ncu.kernel_name)},
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
	{"pipeline.native.enable", BOOL, AT(native_enable)},
	{"pipeline.native.cupti", TEXT, AT(native_cupti)},
	{"pipeline.native.graphs", TEXT, AT(native_graphs)},
	{"pipeline.native.buffer_mb", NUMBER, AT(native_buffer_mb)},
	{"pipeline.native.nvtx.include", LIST, AT(native_include)},
	{"pipeline.native.nvtx.exclude", LIST, AT(native_exclude)},
	{"pipeline.workload.command", ARGS, AT(workload)},
	{"pipeline.workload.name", TEXT, AT(workload_name)},
	{"pipeline.workload.cwd", TEXT, AT(workload_dir)},
	{"pipeline.workload.timeout_s", NUMBER, AT(timeout_s)},
};

static int bad(struct sonde_err *err, const char *key, const char *text, const char *kind)
{
	return sonde_err_set(err, SONDE_ERR_USAGE, "%s=%s: not %s", key, text, kind);
}

static int read_bool(bool *out, const char *key, const char *text, struct sonde_err *err)
{
	static const char *const yes[] = {"true", "yes", "on", "1"};
	static const char *const no[] = {"false", "no", "off", "0"};
	size_t i;

	for (i = 0; i < 4; i++) {
		if (strcasecmp(text, yes[i]) == 0 || strcasecmp(text, no[i]) == 0) {
			*out = strcasecmp(text, yes[i]) == 0;
			return 0;
		}
	}
	return bad(err, key, text, "true or false");
}

static int read_number(long *out, const char *key, const char *text, struct sonde_err *err)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(text, &end, 10);
	if (end == text || *end || errno || n < 0 || n > 1000000000)
		return bad(err, key, text, "a number from 0 on");
	*out = n;
	return 0;
}

static int read_list(struct sonde_capture_settings *s, const struct setting *t,
	const struct sonde_setting_source *from, struct sonde_err *err)
{
	struct sonde_list *out = (struct sonde_list *)(void *)((char *)s + t->at);
	const char **at, *word;
	size_t nr = 0, i;

	while (from->element(from->of, t->key, nr))
		nr++;
	at = sonde_arena_calloc(&s->arena, nr + 1, sizeof(*at));
	if (!at)
		return sonde_err_nomem(err);
	*out = (struct sonde_list){at, 0};
	for (i = 0; i < nr; i++) {
		word = from->element(from->of, t->key, i);
		at[out->nr] = sonde_arena_z(&s->arena, sonde_str_from(word));
		if (!at[out->nr])
			return sonde_err_nomem(err);
		if (*at[out->nr] || t->kind == ARGS) /* an empty word selects nothing */
			out->nr++;
	}
	return 0;
}

/* A list that the tool wants as a,b,c. */
static int read_words(struct sonde_capture_settings *s, const char **out,
	const struct sonde_setting_source *from, const char *key, struct sonde_err *err)
{
	struct sonde_buf b = {0};
	const char *word;
	size_t i;

	for (i = 0; (word = from->element(from->of, key, i)); i++)
		sonde_buf_printf(&b, "%s%s", i ? "," : "", word);
	if (i)
		*out = sonde_arena_z(&s->arena, sonde_buf_view(&b));
	sonde_buf_release(&b);
	return i && !*out ? sonde_err_nomem(err) : 0;
}

static int read_one(struct sonde_capture_settings *s, const struct setting *t,
	const struct sonde_setting_source *from, struct sonde_err *err)
{
	void *field = (char *)s + t->at;
	const char *text;

	if (t->kind == LIST || t->kind == ARGS)
		return read_list(s, t, from, err);
	if (t->kind == WORDS)
		return read_words(s, field, from, t->key, err);
	text = from->text(from->of, t->key);
	if (!text || !*text)
		return 0;
	if (t->kind == BOOL)
		return read_bool(field, t->key, text, err);
	if (t->kind == NUMBER)
		return read_number(field, t->key, text, err);
	*(const char **)field = sonde_arena_z(&s->arena, sonde_str_from(text));
	return *(const char **)field ? 0 : sonde_err_nomem(err);
}

static int check_mode(const struct sonde_capture_settings *s, struct sonde_err *err)
{
	static const char *const modes[] = {"kernel", "range", "app-range", "application"};
	size_t i;

	for (i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		if (strcmp(s->ncu.replay_mode, modes[i]) == 0)
			return 0;
	return sonde_err_set(err, SONDE_ERR_USAGE,
		"pipeline.ncu.ncu_cli.replay_mode=%s: not one of kernel, range, app-range, "
		"application",
		s->ncu.replay_mode);
}

static int check_cupti(const struct sonde_capture_settings *s, struct sonde_err *err)
{
	const char *v = s->native_cupti;

	if (!v || strcmp(v, "auto") == 0 || strcmp(v, "off") == 0)
		return 0;
	if (v[0] == '/' && access(v, R_OK) == 0 && !strchr(v, '\n'))
		return 0;
	return sonde_err_set(err, SONDE_ERR_USAGE,
		"pipeline.native.cupti=%s: neither auto, nor off, nor the whole path of a file "
		"that "
		"can be read",
		v);
}

int sonde_capture_settings_read(struct sonde_capture_settings *out,
	const struct sonde_setting_source *from, struct sonde_err *err)
{
	size_t i;
	int rc = 0;

	*out = (struct sonde_capture_settings){.ncu_fallback = true,
		.ncu_gating = true,
		.nsys_sqlite = true,
		.nsys_stats = true,
		.ncu_csv = true,
		.ncu = {.launch_skip = -1,
			.launch_count = -1,
			.replay_mode = "kernel",
			.target_processes = "all",
			.clock_control = "none",
			.force_overwrite = true},
		.nsys = {.trace = "cuda,nvtx", .sample = "none", .force_overwrite = true},
		.ncu_program = getenv("SONDE_NCU"),
		.nsys_program = getenv("SONDE_NSYS")};
	if (!out->ncu_program)
		out->ncu_program = "ncu";
	if (!out->nsys_program)
		out->nsys_program = "nsys";
	for (i = 0; i < sizeof(table) / sizeof(*table) && rc == 0; i++)
		rc = read_one(out, &table[i], from, err);
	if (rc == 0)
		rc = check_mode(out, err);
	if (rc == 0)
		rc = check_cupti(out, err);
	if (rc == 0 && !out->ncu_enable && !out->nsys_enable &&
		!from->text(from->of, "pipeline.native.enable"))
		out->native_enable = true;
	if (rc == 0 && !out->ncu_enable && !out->nsys_enable && !out->native_enable)
		rc = sonde_err_set(err, SONDE_ERR_USAGE,
			"no pipeline is enabled, so nothing would run: set one of "
			"pipeline.native.enable, pipeline.ncu.enable, pipeline.nsys.enable to "
			"true");
	if (out->ncu.launch_skip == 0) /* ncu's own defaults */
		out->ncu.launch_skip = -1;
	if (out->ncu.launch_count == 0)
		out->ncu.launch_count = -1;
	return rc;
}

void sonde_capture_settings_release(struct sonde_capture_settings *s)
{
	sonde_arena_release(&s->arena);
}
