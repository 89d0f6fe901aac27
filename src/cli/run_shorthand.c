#include "cli/run_shorthand.h"

#include <string.h>

/* As one quoted word of an override: backslashes count only before a quote, or at the end. */
static void quote(struct sonde_buf *out, const char *text)
{
	size_t nr_slashes = 0, i;

	sonde_buf_putc(out, '\'');
	for (; *text; text++) {
		if (*text == '\'')
			for (i = 0; i < nr_slashes + 1; i++)
				sonde_buf_putc(out, '\\');
		nr_slashes = *text == '\\' ? nr_slashes + 1 : 0;
		sonde_buf_putc(out, *text);
	}
	for (i = 0; i < nr_slashes; i++)
		sonde_buf_putc(out, '\\');
	sonde_buf_putc(out, '\'');
}

static void add_line(struct sonde_argv *lines, const struct sonde_buf *line)
{
	if (line->failed)
		lines->failed = true;
	else
		sonde_argv_add(lines, line->p);
}

static void add_word(struct sonde_argv *lines, const char *key, const char *word)
{
	struct sonde_buf line = {0};

	sonde_buf_printf(&line, "%s=", key);
	quote(&line, word);
	add_line(lines, &line);
	sonde_buf_release(&line);
}

static void add_list(struct sonde_argv *lines, const char *key, const struct sonde_word_list *words)
{
	struct sonde_buf line = {0};
	size_t i;

	sonde_buf_printf(&line, "%s=[", key);
	for (i = 0; i < words->nr; i++) {
		sonde_buf_puts(&line, i ? "," : "");
		quote(&line, words->at[i]);
	}
	sonde_buf_putc(&line, ']');
	if (words->nr)
		add_line(lines, &line);
	sonde_buf_release(&line);
}

void sonde_run_shorthand_add(
	struct sonde_argv *lines, const struct sonde_run_shorthand *s, bool is_sweep)
{
	if (s->out)
		add_word(lines, is_sweep ? "hydra.sweep.dir" : "hydra.run.dir", s->out);
	if (s->has_ncu)
		sonde_argv_add(lines, "pipeline.ncu.enable=true");
	if (s->has_nsys)
		sonde_argv_add(lines, "pipeline.nsys.enable=true");
	if (s->window)
		add_word(lines, "capture.window", s->window);
	if (s->every)
		add_word(lines, "capture.every", s->every);
	add_list(lines, s->has_ncu ? "pipeline.ncu.ncu_cli.nvtx.include" : "report.nvtx.include",
		&s->nvtx_include);
	add_list(
		lines, s->has_ncu ? "pipeline.ncu.ncu_cli.metrics" : "report.metrics", &s->metrics);
}

void sonde_run_shorthand_override(struct sonde_argv *lines, const char *operand)
{
	static const char window[] = "capture.window=";
	const char *value = operand + sizeof(window) - 1;

	if (strncmp(operand, window, sizeof(window) - 1) != 0 || *value == '\'' || *value == '"' ||
		strncmp(value, "null", 5) == 0)
		sonde_argv_add(lines, operand);
	else
		add_word(lines, "capture.window", value);
}

void sonde_run_shorthand_release(struct sonde_run_shorthand *s)
{
	sonde_vec_release(&s->nvtx_include);
	sonde_vec_release(&s->metrics);
}
