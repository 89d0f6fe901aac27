/*
 * Numbers from text: the forms of YAML 1.1, of the override grammar, and of
 * Python's int() and float(). Ints of any size become decimal text.
 * Room-private.
 */
#ifndef HYDRA_PYNUMBER_H
#define HYDRA_PYNUMBER_H

#include "hydra/datum.h"

/* Reads an int of base 2 (0b), 8, 10 or 16 (0x), with an optional sign in front; underscores are skipped. */
struct hydra_datum *hydra_pynumber__int(struct hydra_ctx *cx, struct sonde_str text, unsigned base);
/* Reads an int of base 60: 190:20:30. */
struct hydra_datum *hydra_pynumber__int60(struct hydra_ctx *cx, struct sonde_str text);
/* Reads a decimal float; underscores are skipped. */
double hydra_pynumber__double(struct sonde_str text);
double hydra_pynumber__double60(struct sonde_str text);
/* The integer part of a double. */
struct hydra_datum *hydra_pynumber__trunc(struct hydra_ctx *cx, double f);

/* Whether Python's int(text) and float(text) accept the text. */
bool hydra_pynumber__is_py_int(struct sonde_str text);
bool hydra_pynumber__is_py_float(struct sonde_str text);
double hydra_pynumber__py_float(struct sonde_str text);
/* Whether the text is one of the words "a|b|c", in upper or lower case. */
bool hydra_pynumber__is_word(struct sonde_str text, const char *words);

#endif
