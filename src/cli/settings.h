/*
 * Settings: what a report shall hold, read from the composed configuration.
 *
 * Command-line flags are shorthand for keys: each flag that was given becomes
 * one override behind those the user typed, so that the composed configuration
 * says exactly what was used, whichever way it was asked for.
 */
#ifndef SONDE_CLI_SETTINGS_H
#define SONDE_CLI_SETTINGS_H

#include "cli/option.h"
#include "config/config.h"
#include "export/export.h"
#include "fold/fold.h"

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

/* What the `report.*` keys say, in the structs the pipeline takes. Borrows from the config. */
struct sonde_settings {
	struct sonde_fold_request fold; /* how to read, what to select and choose */
	struct sonde_export_options options;
	struct sonde_word_list lists[9]; /* private */
};

/* When an empty `report.*` list is the one of the ncu capture instead. */
enum sonde_stand_in {
	SONDE_STAND_IN_NAMED, /* when an override named that: `sonde report F pipeline.ncu…` */
	SONDE_STAND_IN_ALWAYS,
	SONDE_STAND_IN_NEVER,
};
int sonde_settings_read(struct sonde_settings *s, const struct hydra_config *c,
	enum sonde_stand_in when, struct sonde_err *err);
void sonde_settings_release(struct sonde_settings *s);
/* The `report.*` keys as YAML, for the report to say what it holds. */
int sonde_settings_record(struct hydra_config *c, struct sonde_sink *yaml, struct sonde_err *err);

/* Whether an operand is an override (`a.b=c`, `+x=1`, `~y`) rather than a file. */
bool sonde_is_override(const char *operand);

#endif
