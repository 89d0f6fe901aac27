/*
 * A table of keys: their names, types, defaults, and a line of documentation for
 * each. A program has one table; checks, defaults and the printed help are all made
 * from it. A key that is not in the table is an error, unless `+key=value` added it
 * on purpose or a row of the table keeps it.
 */
#ifndef HYDRA_KEYS_H
#define HYDRA_KEYS_H

#include "base/sink.h"

#include <stdint.h>

enum hydra_key_type {
	HYDRA_KEY_BOOL,
	HYDRA_KEY_AUTO, /* true, false, or null for "decide yourself" */
	HYDRA_KEY_INT,
	HYDRA_KEY_TEXT,
	HYDRA_KEY_WORD, /* one of `words` */
	HYDRA_KEY_LIST, /* of strings, or of `words`; a single string counts as a list of one */
	HYDRA_KEY_FREE, /* anything below it is accepted */
	/*
	 * Keys of other programs, which are kept as they are: `key` is `*` (other names at the top), `a.*` (other
	 * names below a) or `**.name` (this name anywhere). With `*`, a name that is near to one in the table is still
	 * an error: it is probably a typing error.
	 */
	HYDRA_KEY_KEPT,
};

/* The origin of a value that no file and no override set. */
#define HYDRA_DEFAULT "the default"

struct hydra_key {
	const char *key;
	enum hydra_key_type type;
	const char *fallback; /* the default, as YAML flow text */
	int64_t min, max;     /* limits of an int */
	const char *words;    /* allowed words, "a|b|c"; NULL = any */
	const char *doc;
};

/* Tables end with a row whose `key` is NULL. */
void hydra_keys_print_help(const struct hydra_key *keys, struct sonde_sink *out);
void hydra_keys_print_markdown(const struct hydra_key *keys, struct sonde_sink *out);

#endif
