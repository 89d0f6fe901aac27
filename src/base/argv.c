/*
 * A list of words, and three ways to write it: for a shell, for a record in a file, as YAML.
 * Records and YAML mask secrets. A line shown to the user who typed it is not masked.
 */
#include "base/argv.h"

#include "base/secret.h"

#include <stdarg.h>
#include <string.h>

static void push(struct sonde_argv *a, char *word)
{
	if (!word || !sonde_vec_reserve(&a->words, a->words.nr + 2)) {
		a->failed = true;
		return;
	}
	a->words.at[a->words.nr++] = word;
	a->words.at[a->words.nr] = NULL;
}

void sonde_argv_add(struct sonde_argv *a, const char *word)
{
	push(a, sonde_arena_z(&a->arena, sonde_str_from(word)));
}

void sonde_argv_pair(struct sonde_argv *a, const char *option, const char *value)
{
	sonde_argv_add(a, option);
	sonde_argv_add(a, value);
}

void sonde_argv_printf(struct sonde_argv *a, const char *fmt, ...)
{
	struct sonde_buf b = {0};
	va_list ap;

	va_start(ap, fmt);
	sonde_buf_vprintf(&b, fmt, ap);
	va_end(ap);
	sonde_argv_take(a, &b);
}

void sonde_argv_take(struct sonde_argv *a, struct sonde_buf *word)
{
	push(a, sonde_arena_take(&a->arena, word));
}

void sonde_argv_all(struct sonde_argv *a, char *const *words)
{
	for (; *words; words++)
		sonde_argv_add(a, *words);
}

void sonde_argv_release(struct sonde_argv *a)
{
	sonde_vec_release(&a->words);
	sonde_arena_release(&a->arena);
	a->failed = false;
}

static bool is_plain(struct sonde_str word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-+=./,:@%";
	size_t i = 0;

	while (i < word.n && word.p[i] && strchr(plain, word.p[i]))
		i++;
	return word.n && i == word.n;
}

void sonde_argv_show_word(struct sonde_buf *out, struct sonde_str word)
{
	size_t i;

	if (is_plain(word)) {
		sonde_buf_str(out, word);
		return;
	}
	sonde_buf_putc(out, '\'');
	for (i = 0; i < word.n; i++) {
		if (word.p[i] == '\'')
			sonde_buf_puts(out, "'\\''");
		else
			sonde_buf_putc(out, word.p[i]);
	}
	sonde_buf_putc(out, '\'');
}

void sonde_argv_show(struct sonde_buf *out, char *const *words)
{
	for (; *words; words++) {
		sonde_argv_show_word(out, sonde_str_from(*words));
		if (words[1])
			sonde_buf_putc(out, ' ');
	}
}

/* Writes the word, with a mask in place of each part that looks like a secret. */
static void mask_word(struct sonde_buf *out, const char *word, struct sonde_secret *s)
{
	sonde_buf_clear(out);
	sonde_secret_mask(s, out, sonde_str_from(word));
}

void sonde_argv_record(struct sonde_buf *out, char *const *words)
{
	struct sonde_secret s = {0};
	struct sonde_buf word = {0};

	for (; *words; words++) {
		mask_word(&word, *words, &s);
		sonde_argv_show_word(out, word.failed ? SONDE_STR("") : sonde_buf_view(&word));
		if (words[1])
			sonde_buf_putc(out, ' ');
	}
	out->failed |= word.failed;
	sonde_buf_release(&word);
}

static void put_quoted(struct sonde_buf *out, const char *c)
{
	sonde_buf_putc(out, '"');
	for (; *c; c++) {
		if (*c == '"' || *c == '\\')
			sonde_buf_printf(out, "\\%c", *c);
		else if ((unsigned char)*c < 0x20 || *c == 0x7f)
			sonde_buf_printf(out, "\\x%02x", (unsigned char)*c);
		else
			sonde_buf_putc(out, *c);
	}
	sonde_buf_putc(out, '"');
}

void sonde_argv_yaml(struct sonde_buf *out, const char *key, char *const *words)
{
	struct sonde_secret s = {0};
	struct sonde_buf word = {0};

	sonde_buf_printf(out, "%s:%s\n", key, *words ? "" : " []");
	for (; *words; words++) {
		mask_word(&word, *words, &s);
		sonde_buf_puts(out, "  - ");
		put_quoted(out, word.failed || !word.p ? "" : word.p);
		sonde_buf_putc(out, '\n');
	}
	out->failed |= word.failed;
	sonde_buf_release(&word);
}
