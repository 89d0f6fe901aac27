/*
 * The one table of keys: what exists, of which type, with which default, and a
 * line of documentation. Validation, `sonde config --help` and
 * docs/configuration.md are made from it. Room-private.
 */
#ifndef SONDE_CONFIG_KEYS_H
#define SONDE_CONFIG_KEYS_H

#include "base/sink.h"
#include "config/datum.h"

enum sonde_key_type {
	SONDE_KEY_BOOL,
	SONDE_KEY_AUTO, /* true, false, or null for "decide yourself" */
	SONDE_KEY_INT,
	SONDE_KEY_TEXT,
	SONDE_KEY_WORD, /* one of `words` */
	SONDE_KEY_LIST, /* of strings, or of `words`; a single string counts as a list of one */
	SONDE_KEY_FREE, /* anything below it is accepted */
};

struct sonde_key {
	const char *key;
	enum sonde_key_type type;
	const char *fallback; /* the default, as YAML flow text */
	int64_t min, max;     /* of an int */
	const char *words;    /* "a|b|c" */
	bool counts;	      /* part of the fingerprint: it changes numbers */
	const char *doc;
};

/* NULL-terminated by `key`. */
extern const struct sonde_key sonde_keys__table[];

/* The key, or the free map it lies in; NULL when unknown. */
const struct sonde_key *sonde_keys__find(struct sonde_str key);
/* Whether some key starts with `prefix.`. */
bool sonde_keys__has_prefix(struct sonde_str prefix);
/* The key that looks most like this one, or NULL. */
const char *sonde_keys__nearest(struct sonde_str key);

/* Checks a resolved config: unknown keys (unless added on purpose), types, ranges. */
int sonde_keys__check(struct sonde_ctx *cx, const struct sonde_datum *job);

void sonde_keys__print_help(struct sonde_sink *out);
void sonde_keys__print_markdown(struct sonde_sink *out);

#endif
