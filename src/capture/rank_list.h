/*
 * Which ranks of a parallel job are profiled: `ranks=[0,8]`, `ranks=[0-7,64]`.
 *
 * An empty list means all ranks. Ranks that are not in the list run their program as it is: no library, no sampler, no
 * file. Spans are sorted and do not overlap, so a rank that is named twice counts once.
 */
#ifndef SONDE_CAPTURE_RANK_LIST_H
#define SONDE_CAPTURE_RANK_LIST_H

#include "base/arena.h"
#include "base/err.h"

struct sonde_rank_list {
	struct sonde_rank_span {
		unsigned first, last;
	} * at;
	size_t nr;
};

/* Reads words such as `8` and `0-7`; the list goes into `arena`. SONDE_ERR_USAGE for other words. */
int sonde_rank_list_read(struct sonde_rank_list *out, struct sonde_arena *arena,
	const struct sonde_str *words, size_t nr, struct sonde_err *err);

bool sonde_rank_list_has(const struct sonde_rank_list *l, unsigned rank);
unsigned sonde_rank_list_count(const struct sonde_rank_list *l);

/* SONDE_ERR_USAGE when a job of `size` ranks (0 = not known) does not have all ranks of the list. */
int sonde_rank_list_check(const struct sonde_rank_list *l, unsigned size, struct sonde_err *err);

/* Appends the list as `0-7,64`. */
void sonde_rank_list_print(const struct sonde_rank_list *l, struct sonde_buf *out);

#endif
