#include "capture/ncu_args.h"

#include <string.h>

static void option(struct sonde_argv *a, const char *name, const char *value)
{
	if (value && *value)
		sonde_argv_pair(a, name, value);
}

static void option_each(struct sonde_argv *a, const char *name, struct sonde_words values)
{
	size_t i;

	for (i = 0; i < values.nr; i++)
		sonde_argv_pair(a, name, values.at[i]);
}

static void option_joined(struct sonde_argv *a, const char *name, struct sonde_words values)
{
	struct sonde_buf b = {0};
	size_t i;

	for (i = 0; i < values.nr; i++) {
		if (i)
			sonde_buf_putc(&b, ',');
		sonde_buf_puts(&b, values.at[i]);
	}
	if (values.nr)
		sonde_argv_pair(a, name, b.failed ? NULL : b.p);
	a->failed |= b.failed;
	sonde_buf_release(&b);
}

static void option_number(struct sonde_argv *a, const char *name, long value)
{
	if (value < 0)
		return;
	sonde_argv_add(a, name);
	sonde_argv_printf(a, "%ld", value);
}

/* ncu gives `*` and `?` no meaning as wildcards; they may be part of a signature such as `void axpy(float*)`. */
static bool is_glob(const char *name)
{
	return strpbrk(name, "*?") && !strchr(name, '(') && strncmp(name, "regex:", 6) != 0;
}

/* Adds -k with a regular expression that matches whole names as the glob does. */
static void add_glob(struct sonde_argv *a, const char *name)
{
	struct sonde_buf b = {0};

	sonde_buf_puts(&b, "regex:^");
	for (; *name; name++) {
		if (*name == '*')
			sonde_buf_puts(&b, ".*");
		else if (*name == '?')
			sonde_buf_putc(&b, '.');
		else if (strchr("^$.|()[]{}+\\", *name))
			sonde_buf_printf(&b, "\\%c", *name);
		else
			sonde_buf_putc(&b, *name);
	}
	sonde_buf_putc(&b, '$');
	sonde_argv_pair(a, "-k", b.failed ? NULL : b.p);
	a->failed |= b.failed;
	sonde_buf_release(&b);
}

/*
 * Passes the names as given, except globs, which are sonde's own: those match function names, or mangled names if the
 * user says so.
 */
static void add_kernels(struct sonde_argv *a, const struct sonde_ncu_request *q)
{
	bool is_ours = q->kernel_name && is_glob(q->kernel_name);
	bool is_mangled = q->kernel_name_base && strcmp(q->kernel_name_base, "mangled") == 0;

	if (q->kernel_name && *q->kernel_name)
		option(a, "--kernel-name-base", is_ours && !is_mangled ? "function" : q->kernel_name_base);
	if (is_ours)
		add_glob(a, q->kernel_name);
	else
		option(a, "-k", q->kernel_name);
	option_number(a, "--launch-skip", q->launch_skip);
	option_number(a, "--launch-count", q->launch_count);
}

static void add_nvtx(struct sonde_argv *a, const struct sonde_ncu_request *q)
{
	sonde_argv_add(a, "--nvtx");
	option_each(a, "--nvtx-include", q->nvtx_include);
	option_each(a, "--nvtx-exclude", q->nvtx_exclude);
	if (q->push_pop_scope && strcmp(q->push_pop_scope, "thread") != 0)
		option(a, "--nvtx-push-pop-scope", q->push_pop_scope);
	option(a, "--range-filter", q->range_filter);
}

void sonde_ncu_args_build(struct sonde_argv *out, const struct sonde_tool *ncu,
	const struct sonde_ncu_request *q, char *const *program)
{
	size_t i;

	sonde_argv_add(out, ncu->path);
	if (q->force_overwrite)
		sonde_argv_add(out, "-f");
	option(out, "-o", q->report);
	option(out, "--log-file", q->log);
	option(out, "--target-processes", q->target_processes);
	option(out, "--replay-mode", q->replay_mode);
	option(out, "--clock-control", q->clock_control);
	if (ncu->major >= 2023)
		sonde_argv_pair(out, "--import-sass", q->import_sass ? "yes" : "no");
	if (q->waits_for_start)
		sonde_argv_pair(out, "--profile-from-start", "off");
	add_nvtx(out, q);
	add_kernels(out, q);
	option(out, "--set", q->set);
	option_each(out, "--section", q->sections);
	option_joined(out, "--metrics", q->metrics);
	for (i = 0; i < q->extra.nr; i++)
		sonde_argv_add(out, q->extra.at[i]);
	sonde_argv_all(out, program);
}

void sonde_ncu_import_args(
	struct sonde_argv *out, const struct sonde_tool *ncu, const char *report, const char *page)
{
	sonde_argv_add(out, ncu->path);
	sonde_argv_pair(out, "--import", report);
	sonde_argv_pair(out, "--page", page);
	if (strcmp(page, "raw") == 0)
		sonde_argv_add(out, "--csv");
	sonde_argv_pair(out, "--print-units", "base");
	sonde_argv_add(out, "--print-fp");
}
