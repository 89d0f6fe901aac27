/* Inside the aggregation room: the streams of regions. */
#ifndef SONDE_AGGREGATE_STREAMS_H
#define SONDE_AGGREGATE_STREAMS_H

#include "aggregate/idle.h"

/* Fills in the streams of one scope's nodes from its launches, sorted. False: no memory. */
bool sonde_streams__scope(const struct sonde_launches *l, struct sonde_report *r,
	const uint32_t *node_of, const struct sonde_stamp *stamps, size_t nr);

#endif
