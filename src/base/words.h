/*
 * Lists of words: borrowed ones to read, growing ones to fill. For words that must
 * be copied and kept, such as those of a command line, see argv.h.
 */
#ifndef SONDE_BASE_WORDS_H
#define SONDE_BASE_WORDS_H

#include "base/vec.h"

/* A borrowed list: the array and the words belong to whoever made it. */
struct sonde_words {
	const char *const *at;
	size_t nr;
};

/* Whether they are the same words in the same order. */
static inline bool sonde_words_are_same(struct sonde_words a, struct sonde_words b)
{
	size_t i;

	for (i = 0; a.nr == b.nr && i < a.nr; i++)
		if (strcmp(a.at[i], b.at[i]) != 0)
			return false;
	return a.nr == b.nr;
}

/* A growing list; the words stay the caller's. Free it with sonde_vec_release. */
struct sonde_word_list {
	const char **at;
	size_t nr, cap;
};

/* False when memory is short. */
static inline bool sonde_word_list_add(struct sonde_word_list *l, const char *word)
{
	const char **slot = sonde_vec_push(l);

	if (slot)
		*slot = word;
	return slot;
}

#endif
