#include "cli/overrides.h"

#include "cli/messages.h"

#include <string.h>
#include <unistd.h>

/* Quotes a word as the override grammar wants it: quotes are escaped, and so are backslashes before a quote. */
static void quote(struct sonde_buf *b, const char *word)
{
	size_t backslashes = 0;

	sonde_buf_putc(b, '\'');
	for (; *word; word++) {
		if (*word == '\'')
			for (backslashes++; backslashes; backslashes--)
				sonde_buf_putc(b, '\\');
		backslashes = *word == '\\' ? backslashes + 1 : 0;
		sonde_buf_putc(b, *word);
	}
	for (; backslashes; backslashes--)
		sonde_buf_putc(b, '\\');
	sonde_buf_putc(b, '\'');
}

void sonde_overrides_list(
	struct sonde_argv *lines, const char *key, const struct sonde_word_list *words)
{
	struct sonde_buf b = {0};
	size_t i;

	if (!words->nr)
		return;
	sonde_buf_printf(&b, "%s=[", key);
	for (i = 0; i < words->nr; i++) {
		sonde_buf_puts(&b, i ? "," : "");
		quote(&b, words->at[i]);
	}
	sonde_buf_putc(&b, ']');
	sonde_argv_take(lines, &b);
}

void sonde_overrides_word(struct sonde_argv *lines, const char *key, const char *word)
{
	struct sonde_buf b = {0};

	if (!word)
		return;
	sonde_buf_printf(&b, "%s=", key);
	quote(&b, word);
	sonde_argv_take(lines, &b);
}

static void take_option(struct sonde_argv *lines, const struct sonde_option *o, const void *value)
{
	size_t number;

	switch (o->kind) {
	case SONDE_OPTION_FLAG:
		if (*(const bool *)value)
			sonde_argv_add(lines, o->key);
		return;
	case SONDE_OPTION_WORDS:
	case SONDE_OPTION_LIST:
		sonde_overrides_list(lines, o->key, value);
		return;
	case SONDE_OPTION_NUMBER:
	case SONDE_OPTION_LIMIT:
		number = *(const size_t *)value; /* 0 = not given, SIZE_MAX = no limit */
		if (number)
			sonde_argv_printf(lines, "%s=%zu", o->key, number == SIZE_MAX ? 0 : number);
		return;
	default:
		sonde_overrides_word(lines, o->key, *(const char *const *)value);
	}
}

void sonde_overrides_take(struct sonde_argv *lines, const struct sonde_args *given)
{
	size_t i;

	for (i = 0; i < given->usage->nr_options; i++) {
		const struct sonde_option *o = &given->usage->options[i];

		if (o->key)
			take_option(lines, o, given->into + o->into);
	}
}

int sonde_settings_compose(struct hydra_config **out, const struct sonde_config_request *req,
	bool is_quiet, struct sonde_err *err)
{
	struct sonde_config_request with_notes = *req;
	struct sonde_notes notes = {0};
	int rc;

	with_notes.notes = &notes;
	rc = sonde_config_open(out, &with_notes, err);
	if (!is_quiet)
		sonde_say_notes(&notes);
	sonde_notes_release(&notes);
	return rc;
}

bool sonde_is_override(const char *operand)
{
	if (access(operand, F_OK) == 0)
		return false; /* a file may be called a=b */
	return strchr(operand, '=') || (operand[0] == '~' && operand[1] && !strchr(operand, '/'));
}
