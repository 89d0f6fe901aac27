/*
 * Numbers from text: the forms of YAML 1.1, of the override grammar, and of
 * Python's int() and float(). Ints of any size become decimal text.
 * Room-private.
 */
#ifndef SONDE_CONFIG_NUMBER_H
#define SONDE_CONFIG_NUMBER_H

#include "config/node.h"

/* Digits of `base` (2, 8, 10, 16; underscores skipped) with an optional sign in front. */
struct sonde_node *sonde_number__int(struct sonde_ctx *cx, struct sonde_str text, unsigned base);
/* Base 60: 190:20:30. */
struct sonde_node *sonde_number__int60(struct sonde_ctx *cx, struct sonde_str text);
/* Changes the sign of an int in place. */
struct sonde_node *sonde_number__negate(struct sonde_ctx *cx, struct sonde_node *n);
/* A decimal float, underscores skipped. */
double sonde_number__double(struct sonde_str text);
double sonde_number__double60(struct sonde_str text);
/* The integer part of a double. */
struct sonde_node *sonde_number__trunc(struct sonde_ctx *cx, double f);

/* Whether Python's int(text) and float(text) accept the text. */
bool sonde_number__is_py_int(struct sonde_str text);
bool sonde_number__is_py_float(struct sonde_str text);
double sonde_number__py_float(struct sonde_str text);

#endif
