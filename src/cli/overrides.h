/*
 * Overrides: settings as typed, and command-line flags as shorthand for them.
 *
 * Each flag that was given becomes one override beside those the user typed, so that the composed configuration says
 * exactly what was used, however the user asked for it. The command chooses the order: if both set the same key, the
 * later one counts.
 */
#ifndef SONDE_CLI_OVERRIDES_H
#define SONDE_CLI_OVERRIDES_H

#include "base/argv.h"
#include "cli/option.h"
#include "config/config.h"

/* Appends the line `key=['a','b']`, unless the list is empty. */
void sonde_overrides_list(
	struct sonde_argv *lines, const char *key, const struct sonde_word_list *words);
/* Appends the line `key='word'`, unless `word` is NULL. */
void sonde_overrides_word(struct sonde_argv *lines, const char *key, const char *word);
/* Appends a line for every given option that is short for a key, in the order of the table. */
void sonde_overrides_take(struct sonde_argv *lines, const struct sonde_args *given);

/* Composes the configuration. Unless quiet, says on standard error which ./conf is used or why it is not. */
int sonde_settings_compose(struct hydra_config **out, const struct sonde_config_request *req,
	bool is_quiet, struct sonde_err *err);

/* Whether an operand is an override (`a.b=c`, `+x=1`, `~y`) rather than a file. */
bool sonde_is_override(const char *operand);

#endif
