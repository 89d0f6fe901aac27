#include "cli/overrides.h"

#include "cli/say.h"
#include "export/export.h"

#include <string.h>
#include <unistd.h>

static void add_line(struct sonde_overrides *o, struct sonde_str line)
{
	const char **slot = line.p ? sonde_vec_push(&o->lines) : NULL;

	if (slot)
		*slot = line.p;
	else
		o->failed = true;
}

void sonde_overrides_add(struct sonde_overrides *o, const char *line)
{
	add_line(o, sonde_arena_dup(&o->arena, sonde_str_from(line)));
}

/* In quotes, as the override grammar wants it: the quote and backslashes before it are escaped. */
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

static void add_buf(struct sonde_overrides *o, struct sonde_buf *b)
{
	if (b->failed)
		o->failed = true;
	else
		add_line(o, sonde_arena_dup(&o->arena, sonde_buf_view(b)));
	sonde_buf_release(b);
}

void sonde_overrides_list(
	struct sonde_overrides *o, const char *key, const struct sonde_word_list *words)
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
	add_buf(o, &b);
}

void sonde_overrides_word(struct sonde_overrides *o, const char *key, const char *word)
{
	struct sonde_buf b = {0};

	if (!word)
		return;
	sonde_buf_printf(&b, "%s=", key);
	quote(&b, word);
	add_buf(o, &b);
}

void sonde_overrides_number(struct sonde_overrides *o, const char *key, size_t number)
{
	struct sonde_buf b = {0};

	if (!number)
		return;
	sonde_buf_printf(&b, "%s=%zu", key, number == SONDE_NO_LIMIT ? 0 : number);
	add_buf(o, &b);
}

void sonde_overrides_release(struct sonde_overrides *o)
{
	sonde_vec_release(&o->lines);
	sonde_arena_release(&o->arena);
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
