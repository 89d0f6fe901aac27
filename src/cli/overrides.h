/*
 * Overrides: settings as typed, and command-line flags as shorthand for them.
 *
 * Each flag that was given becomes one override behind those the user typed, so
 * that the composed configuration says exactly what was used, whichever way it
 * was asked for.
 */
#ifndef SONDE_CLI_OVERRIDES_H
#define SONDE_CLI_OVERRIDES_H

#include "base/argv.h"
#include "cli/option.h"
#include "config/config.h"

/* Lines, appended to those that are there. `key=['a','b']`, unless the list is empty. */
void sonde_overrides_list(
	struct sonde_argv *lines, const char *key, const struct sonde_word_list *words);
/* `key='word'`; NULL: nothing. */
void sonde_overrides_word(struct sonde_argv *lines, const char *key, const char *word);
/* Every option that was given and is short for a key, in the order of the table. */
void sonde_overrides_take(struct sonde_argv *lines, const struct sonde_args *given);

/* Composes, and says on standard error which ./conf is used or why it is not, unless quiet. */
int sonde_settings_compose(struct hydra_config **out, const struct sonde_config_request *req,
	bool is_quiet, struct sonde_err *err);

/* Whether an operand is an override (`a.b=c`, `+x=1`, `~y`) rather than a file. */
bool sonde_is_override(const char *operand);

#endif
