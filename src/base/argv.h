/*
 * A command line under construction: words, never a shell string.
 *
 * Words are copied and live until `sonde_argv_release`. A failed allocation is
 * remembered: append as much as you like, then check `failed` once. Start with
 * `= {0}`.
 */
#ifndef SONDE_BASE_ARGV_H
#define SONDE_BASE_ARGV_H

#include "base/arena.h"
#include "base/str.h"
#include "base/vec.h"

struct sonde_argv {
	SONDE_VEC(char *) words; /* once a word was added, a NULL follows the last one */
	struct sonde_arena arena;
	bool failed;
};

void sonde_argv_add(struct sonde_argv *a, const char *word);
void sonde_argv_pair(struct sonde_argv *a, const char *option, const char *value);
void sonde_argv_printf(struct sonde_argv *a, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Adds the text of `word` and releases `word`. */
void sonde_argv_take(struct sonde_argv *a, struct sonde_buf *word);
/* Adds all of `words`, which end with a NULL. */
void sonde_argv_all(struct sonde_argv *a, char *const *words);
void sonde_argv_release(struct sonde_argv *a);

/*
 * Writes the words as one line that a person can paste into a shell. A word with a
 * character that is special in a shell is quoted. Only for showing.
 */
void sonde_argv_show(struct sonde_buf *out, char *const *words);
/* The same for one word of such a line. */
void sonde_argv_show_word(struct sonde_buf *out, struct sonde_str word);

/* Writes the same line for a file: whatever looks like a secret (base/secret.h) is masked. */
void sonde_argv_record(struct sonde_buf *out, char *const *words);

/* For a file too, with secrets masked: writes `key:` and the words as a YAML list of quoted strings. */
void sonde_argv_yaml(struct sonde_buf *out, const char *key, char *const *words);

#endif
