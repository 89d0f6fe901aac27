/* Inside rolled_*.c: cells on their way into others, or out of them. */
#ifndef SONDE_FOLD_ROLLED_ADD_INT_H
#define SONDE_FOLD_ROLLED_ADD_INT_H

#include "fold/rolled_int.h"

struct sonde_adding_stream {
	uint32_t scope, region; /* of the visit */
	struct sonde_stream sums;
};

struct sonde_adding {
	struct sonde_cells *to;
	const struct sonde_cells *from;
	int sign; /* 1 = in, -1 = out */
	const uint8_t *methods; /* by accumulator */
	struct sonde_map region_keys, place_keys; /* of `to`; keys are in its arena */
	SONDE_VEC(uint32_t) place_at; /* by number of the key: the first place that has it */
	uint32_t *string_of, *text_of, *region_of, *place_of, *scope_of; /* numbers of `from` → of `to` */
	SONDE_VEC(struct sonde_adding_stream) streams; /* of all visits of `to` */
	struct sonde_arena arena;
};

static inline void sonde_adding__count(const struct sonde_adding *a, uint64_t *to, uint64_t n)
{
	sonde_count__add(to, n, a->sign);
}

/* Each false when memory is short. */
bool sonde_adding__know(struct sonde_adding *a);  /* what `to` has */
bool sonde_adding__enter(struct sonde_adding *a); /* the names of `from` */
bool sonde_adding__cells(struct sonde_adding *a);
bool sonde_adding__visits(struct sonde_adding *a);
bool sonde_adding__know_streams(struct sonde_adding *a); /* of what `to` has, under its own numbers */
bool sonde_adding__streams(struct sonde_adding *a, const struct sonde_visit *from);
bool sonde_adding__settle_streams(struct sonde_adding *a); /* added up, and handed out to visits */
/* What is of the last files only; visits are in order. */
bool sonde_adding__take_last(struct sonde_adding *a, struct sonde_cells *plus, uint64_t since_ns);

#endif
