/* Start/end ranges, which do not nest: a sweep over them in order of time finds what was open at a moment. */
#ifndef SONDE_READ_START_END_H
#define SONDE_READ_START_END_H

#include "read/records.h"

/*
 * Prepares a sweep over the start/end ranges of the records from `first_range` on. NULL when memory is short, which the
 * records' arena remembers. Ask process by process and in order of time: each step back in time restarts the sweep from
 * the beginning. A range with the end 0 was never ended.
 */
struct sonde_starts;
struct sonde_starts *sonde_starts__build(struct sonde_records *r, uint32_t first_range);
/* Returns `set` with the ranges that are open at `ns` added, those of one label next to each other. */
uint32_t sonde_starts__open_at(
	struct sonde_starts *s, uint32_t process, uint64_t ns, uint32_t set);
/* Returns how many of the returned sets are incomplete because too many labels were open. */
uint64_t sonde_starts__free(struct sonde_starts *s);

#endif
