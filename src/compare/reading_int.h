/* Private to reading finished reports back: report_in.c and what it hands to other files. */
#ifndef SONDE_COMPARE_READING_INT_H
#define SONDE_COMPARE_READING_INT_H

#include "tree/tree.h"

#include <jansson.h>
#include <math.h>

/* What is being read. */
struct sonde_reading {
	struct sonde_cells *c;
	struct sonde_tree *t;
	struct sonde_map regions; /* kind and id → region number */
	bool failed;		  /* memory was short */
};

/* A cleared element of a vector, or NULL with `failed` set. */
#define SONDE_READING_PUSH(r, vec) sonde_reading__note((r), sonde_vec_push(vec))
static inline void *sonde_reading__note(struct sonde_reading *r, void *element)
{
	r->failed |= !element;
	return element;
}
/* A member that is text, copied; p NULL when it is not there, or null. */
struct sonde_str sonde_reading__text(struct sonde_reading *r, const json_t *object, const char *key);
bool sonde_reading__is_word(const json_t *object, const char *key, const char *word);

/* The capture, the selection and the notes (report_capture.c). */
void sonde_reading__capture(struct sonde_reading *r, const json_t *document);

/* NaN when it is not there, or null. */
static inline double sonde_report__number(const json_t *object, const char *key)
{
	const json_t *v = json_object_get(object, key);

	return json_is_number(v) ? json_number_value(v) : NAN;
}

#endif
