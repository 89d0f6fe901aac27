/*
 * Settings: what a report shall hold, read from the composed configuration.
 */
#ifndef SONDE_LIB_SETTINGS_H
#define SONDE_LIB_SETTINGS_H

#include "config/config.h"
#include "export/export.h"
#include "fold/fold.h"

/* The values of the `report.*` keys, in the structs the pipeline takes. Borrows from the config. */
struct sonde_settings {
	struct sonde_fold_request fold; /* how to read, what to select and choose */
	struct sonde_export_options options;
	bool has_gains; /* findings are to say what their fix would gain */
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

#endif
