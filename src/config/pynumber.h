/*
 * Numbers from text: the forms of YAML 1.1, of the override grammar, and of
 * Python's int() and float(). Ints of any size become decimal text.
 * Room-private.
 */
#ifndef SONDE_CONFIG_PYNUMBER_H
#define SONDE_CONFIG_PYNUMBER_H

#include "config/datum.h"

/* Digits of `base` (2, 8, 10, 16; underscores skipped) with an optional sign in front. */
struct sonde_datum *sonde_pynumber__int(struct sonde_ctx *cx, struct sonde_str text, unsigned base);
/* Base 60: 190:20:30. */
struct sonde_datum *sonde_pynumber__int60(struct sonde_ctx *cx, struct sonde_str text);
/* Changes the sign of an int in place. */
struct sonde_datum *sonde_pynumber__negate(struct sonde_ctx *cx, struct sonde_datum *n);
/* A decimal float, underscores skipped. */
double sonde_pynumber__double(struct sonde_str text);
double sonde_pynumber__double60(struct sonde_str text);
/* The integer part of a double. */
struct sonde_datum *sonde_pynumber__trunc(struct sonde_ctx *cx, double f);

/* Whether Python's int(text) and float(text) accept the text. */
bool sonde_pynumber__is_py_int(struct sonde_str text);
bool sonde_pynumber__is_py_float(struct sonde_str text);
double sonde_pynumber__py_float(struct sonde_str text);

#endif
