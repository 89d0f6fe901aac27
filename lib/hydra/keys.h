/*
 * A table of keys: what exists, of which type, with which default, and a line
 * of documentation. A program has one; checking, defaults and printed help are
 * all made from it. What the table does not know is an error, unless
 * `+key=value` added it on purpose or a row of the table keeps it.
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
	 * Somebody else's, kept as it is: `key` is `*` (other names at the top), `a.*` (other names
	 * below a) or `**.name` (this name anywhere). A name near to one that the table has is an error still.
	 */
	HYDRA_KEY_KEPT,
};

struct hydra_key {
	const char *key;
	enum hydra_key_type type;
	const char *fallback; /* the default, as YAML flow text */
	int64_t min, max;     /* of an int */
	const char *words;    /* "a|b|c" */
	const char *doc;
};

/* Tables end with a row whose `key` is NULL. */
void hydra_keys_print_help(const struct hydra_key *keys, struct sonde_sink *out);
void hydra_keys_print_markdown(const struct hydra_key *keys, struct sonde_sink *out);

#endif
