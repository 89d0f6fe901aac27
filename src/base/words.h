/*
 * Lists of words: borrowed ones to read, growing ones to fill. Words that must
 * be copied and kept, as those of a command line, are in argv.h.
 */
#ifndef SONDE_BASE_WORDS_H
#define SONDE_BASE_WORDS_H

#include "base/vec.h"

/* Borrowed: whoever gives it keeps the array and the words. */
struct sonde_words {
	const char *const *at;
	size_t nr;
};

/* Growing; the words stay the caller's. Freed with sonde_vec_release. */
struct sonde_word_list {
	const char **at;
	size_t nr, cap;
};

#endif
