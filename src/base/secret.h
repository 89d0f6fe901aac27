/*
 * Secrets in command lines and environments: which bytes must not be recorded.
 *
 * A name is that of a secret when it is in capitals and contains TOKEN, SECRET,
 * PASSWORD or KEY (HF_TOKEN, AWS_ACCESS_KEY_ID), or in small letters and ends
 * with such a word (db.password, --api-key; not key_dim or tokenizer). Some
 * values have a shape of their own: `//user:PASSWORD@host`, `Bearer …`, `hf_…`.
 * Guessing finds most and not all; who must be sure keeps secrets off command
 * lines.
 *
 * secret.c allocates nothing: the injected library has it as well.
 */
#ifndef SONDE_BASE_SECRET_H
#define SONDE_BASE_SECRET_H

#include "base/str.h"

#define SONDE_SECRET_MASK "***"

bool sonde_secret_is_name(const char *p, size_t n);

/*
 * A command line, searched word by word. All zero at its beginning.
 *
 *     sonde_secret_word(&s, p, n);
 *     while (sonde_secret_next(&s, &from, &to))
 *             …bytes `from` up to `to` of the word are a secret
 *
 * Ask until there is no more: what a word says about the next one is known then.
 */
struct sonde_secret {
	const char *p; /* the word */
	size_t n, at;  /* how far it was searched */
	unsigned is_value; /* what is next is the secret that was announced: its kind, 0 = it is not */
	unsigned program;  /* number of one that takes secrets by short options, 0 = none */
};

void sonde_secret_word(struct sonde_secret *s, const char *p, size_t n);
bool sonde_secret_next(struct sonde_secret *s, size_t *from, size_t *to);

/* Appends a word, with the mask in place of secrets. Invariant 17. */
void sonde_secret_mask(struct sonde_secret *s, struct sonde_buf *out, struct sonde_str word);

/* A command line with blanks between its words, masked; in the arena if it had to be changed. */
struct sonde_arena;
struct sonde_str sonde_secret_mask_line(struct sonde_arena *arena, struct sonde_str line);

#endif
