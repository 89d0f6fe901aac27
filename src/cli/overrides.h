/*
 * Overrides: settings as typed, and command-line flags as shorthand for them.
 *
 * Each flag that was given becomes one override behind those the user typed, so
 * that the composed configuration says exactly what was used, whichever way it
 * was asked for.
 */
#ifndef SONDE_CLI_OVERRIDES_H
#define SONDE_CLI_OVERRIDES_H

#include "base/arena.h"
#include "cli/option.h"
#include "config/config.h"

/* Override lines in the making. */
struct sonde_overrides {
	struct sonde_word_list lines;
	struct sonde_arena arena;
	bool failed; /* memory was short */
};

void sonde_overrides_add(struct sonde_overrides *o, const char *line); /* as typed */
/* `key=['a','b']`, unless the list is empty. */
void sonde_overrides_list(
	struct sonde_overrides *o, const char *key, const struct sonde_word_list *words);
void sonde_overrides_word(
	struct sonde_overrides *o, const char *key, const char *word); /* NULL: nothing */
void sonde_overrides_number(
	struct sonde_overrides *o, const char *key, size_t number); /* 0: nothing */
void sonde_overrides_release(struct sonde_overrides *o);

/* Composes, and says on standard error which ./conf is used or why it is not, unless quiet. */
int sonde_settings_compose(struct hydra_config **out, const struct sonde_config_request *req,
	bool is_quiet, struct sonde_err *err);

/* Whether an operand is an override (`a.b=c`, `+x=1`, `~y`) rather than a file. */
bool sonde_is_override(const char *operand);

#endif
