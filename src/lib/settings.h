/*
 * Settings: what a report should contain, read from the composed configuration.
 */
#ifndef SONDE_LIB_SETTINGS_H
#define SONDE_LIB_SETTINGS_H

#include "config/config.h"
#include "export/export.h"
#include "fold/fold.h"

/* The values of the `report.*` keys, in the structs that the pipeline takes. They borrow from the configuration. */
struct sonde_settings {
	struct sonde_fold_request fold; /* how to read, what to select and choose */
	struct sonde_export_options options;
	bool has_gains; /* findings should say what their fix would gain */
	struct sonde_word_list lists[9]; /* private */
};

/* When the list of the ncu capture replaces an empty `report.*` list. */
enum sonde_capture_lists {
	SONDE_CAPTURE_LISTS_IF_SET, /* only if an override set the capture's list: `sonde report F pipeline.ncu…` */
	SONDE_CAPTURE_LISTS_ALWAYS,
	SONDE_CAPTURE_LISTS_NEVER,
};
int sonde_settings_read(struct sonde_settings *s, const struct hydra_config *c,
	enum sonde_capture_lists when, struct sonde_err *err);
void sonde_settings_release(struct sonde_settings *s);
/* Writes the `report.*` keys as YAML, so that the report can say how it was made. */
int sonde_settings_record(struct hydra_config *c, struct sonde_sink *yaml, struct sonde_err *err);

#endif
