/*
 * Secrets in command lines and environments: which bytes must not be recorded.
 *
 * A name marks a secret when it is in capitals and contains TOKEN, SECRET,
 * PASSWORD, KEY or the like (HF_TOKEN, AWS_ACCESS_KEY_ID), or when it has small letters
 * and ends with such a word (db.password, --api-key; not key_dim or tokenizer). Some
 * values have a shape of their own: `//user:PASSWORD@host`, `Bearer …`, `hf_…`.
 * Guessing finds most secrets, not all: users who must be sure keep secrets off command
 * lines.
 *
 * secret.c allocates nothing: the injected library contains it too.
 */
#ifndef SONDE_BASE_SECRET_H
#define SONDE_BASE_SECRET_H

#include "base/str.h"

#define SONDE_SECRET_MASK "***"

bool sonde_secret_is_name(const char *p, size_t n);

/*
 * The search of one command line, word by word. Start each command line with all zeros.
 *
 *     sonde_secret_word(&s, p, n);
 *     while (sonde_secret_next(&s, &from, &to))
 *             …bytes `from` up to `to` of the word are a secret
 *
 * Call sonde_secret_next until it returns false: only then is it known what the word says about the next one.
 */
struct sonde_secret {
	const char *p; /* the word */
	size_t n, at;  /* its length, and how far it was searched */
	unsigned is_value; /* the kind of secret that was announced as the next word or piece; 0 = none */
	unsigned program;  /* 1 + the row in `options` of a program that was seen and takes secrets by options; 0 = none */
};

void sonde_secret_word(struct sonde_secret *s, const char *p, size_t n);
bool sonde_secret_next(struct sonde_secret *s, size_t *from, size_t *to);

/* Appends a word, with the mask in place of secrets. Invariant 17. */
void sonde_secret_mask(struct sonde_secret *s, struct sonde_buf *out, struct sonde_str word);

/* Masks a command line that has blanks between its words. The result is in the arena, or `line` itself if it has no secret. */
struct sonde_arena;
struct sonde_str sonde_secret_mask_line(struct sonde_arena *arena, struct sonde_str line);

#endif
