#include "capture/native_env.h"
#include "capture/sleeper.h"
#include "cli/command.h"
#include "cli/option.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

enum form { FORM_SH, FORM_DOCKER, FORM_SYSTEMD, FORM_KUBERNETES };

struct request {
	struct sonde_args args;
	const char *library;
	int form;
	bool has_thread;
};

/*
 * Quotes a value. In single quotes a shell takes everything literally except a single quote; the other forms use double
 * quotes.
 */
static void put_value(struct sonde_sink *out, enum form form, const char *value)
{
	const char quote = form == FORM_SH ? '\'' : '"';

	sonde_sink_putc(out, quote);
	for (; *value; value++) {
		if (form == FORM_SH && *value == quote)
			sonde_sink_puts(out, "'\\''");
		else if (form != FORM_SH && (*value == '"' || *value == '\\' || (*value == '$' && form == FORM_DOCKER)))
			sonde_sink_printf(out, "\\%c", *value);
		else if (form == FORM_SYSTEMD && *value == '%')
			sonde_sink_puts(out, "%%");
		else
			sonde_sink_putc(out, *value);
	}
	sonde_sink_putc(out, quote);
}

static void put_variable(struct sonde_sink *out, enum form form, const char *name, const char *value)
{
	static const char *const before[] = {[FORM_SH] = "export ",
		[FORM_DOCKER] = "ENV ",
		[FORM_SYSTEMD] = "Environment=",
		[FORM_KUBERNETES] = "- name: "};

	sonde_sink_puts(out, before[form]);
	if (form == FORM_SYSTEMD) { /* the quotes go around the whole assignment */
		struct sonde_buf whole = {0};

		sonde_buf_printf(&whole, "%s=%s", name, value);
		put_value(out, form, whole.failed ? "" : whole.p);
		sonde_buf_release(&whole);
	} else {
		sonde_sink_printf(out, "%s%s", name, form == FORM_KUBERNETES ? "\n  value: " : "=");
		put_value(out, form, value);
	}
	sonde_sink_putc(out, '\n');
}

static int print_env(const struct request *q, struct sonde_err *err)
{
	char library[PATH_MAX];
	const char *path = q->library ? q->library : library;
	struct sonde_sink out;
	int rc = q->library ? 0 : sonde_native_find_library(library, sizeof(library), err);

	if (rc)
		return rc;
	if (*path != '/' || strchr(path, '\n'))
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"env: --library must be an absolute path, as the program will see it: /opt/sonde/lib/libsonde_inject.so");
	sonde_sink_init_fd(&out, STDOUT_FILENO);
	put_variable(&out, q->form, SONDE_ASLEEP_VARIABLE, q->has_thread ? SONDE_ASLEEP_THREAD : "1");
	put_variable(&out, q->form, "CUDA_INJECTION64_PATH", path);
	put_variable(&out, q->form, "NVTX_INJECTION64_PATH", path);
	return sonde_sink_close(&out, err);
}

#define INTO(member) offsetof(struct request, member)
static const struct sonde_option options[] = {
	SONDE_OPT('f', "format", "sh|docker|systemd|kubernetes", CHOICE, form,
		"lines for a shell (sh), a Dockerfile, a unit of systemd, or the env of a container in a pod"),
	SONDE_OPT(0, "library", "PATH", WORD, library,
		"path of the library as the program will see it, for example in another image (the one of this sonde)"),
	SONDE_OPT(0, "thread", NULL, FLAG, has_thread,
		"let a sleeping thread in each process wait to be woken: for programs that make no NVTX calls, or make them "
		"in signal handlers"),
};

static const struct sonde_usage usage = {"sonde env [options]",
	"Prints the variables that load sonde's library into programs, asleep: it does nothing\n"
	"until `sonde attach` wakes it. They may be set for every process of a container: a\n"
	"program that uses neither CUDA nor NVTX does not load it.\n"
	"Exit status: 0 good, 1 the library was not found, 2 wrong usage.",
	options, sizeof(options) / sizeof(*options),
	{{"programs that are started from this shell can be woken", "eval \"$(sonde env)\""},
		{"lines for a Dockerfile", "sonde env -f docker --library /opt/sonde/lib/sonde/libsonde_inject.so"}}};

int sonde_cmd_env(int argc, char **argv)
{
	struct request q = {0};
	struct sonde_err err = {0};
	int rc = sonde_options_read(&q.args, &usage, &q, argc, argv, &err);

	if (rc == 0 && q.args.operands.nr)
		rc = sonde_err_set(&err, SONDE_ERR_USAGE, "env takes no operand: leave out '%s'", q.args.operands.at[0]);
	if (rc == 0)
		rc = print_env(&q, &err);
	sonde_args_release(&q.args);
	return rc < 0 ? sonde_cmd_fail(&err) : 0;
}
