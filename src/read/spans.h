/*
 * Inside the reading room: spans, which are ranges known only by their times.
 *
 * Some sources have ranges as a begin and an end each, in any order, and do not say which is nested in
 * which. Nesting is found in each lane separately: a lane is a thread, or one domain of a thread. When two
 * spans of a lane overlap, the later one is inside the earlier; when they begin together, the shorter one is
 * inside the longer.
 *
 *     struct sonde_spans s = {0};
 *     sonde_put(&src->work, &s, (struct sonde_span){…});  // once for each span
 *     sonde_spans__nest(&s, src, nr_lanes);
 *     top = sonde_spans__open_at(&s, lane, ns);           // in the order of the spans
 *     sonde_spans__rewind(&s);                            // from the beginning again
 *
 * All memory belongs to the work of the source; sonde_vec_release(&s) frees the spans earlier.
 */
#ifndef SONDE_READ_SPANS_H
#define SONDE_READ_SPANS_H

#include "read/source.h"

struct sonde_span {
	uint64_t begin_ns, end_ns; /* end UINT64_MAX = never closed */
	uint64_t what;		   /* private to the reader */
	uint32_t lane;
	uint32_t parent; /* the span it is nested in, SONDE_NONE = outermost; smaller than its own number */
};

struct sonde_spans {
	struct sonde_span *at; /* these three are a vector (base/vec.h) */
	size_t nr, cap;
	struct sonde_lane {
		uint32_t top;	/* the innermost open span, SONDE_NONE = none */
		uint32_t depth; /* number of open spans, while spans are nested */
	} * lanes;
	size_t nr_lanes;
	const uint64_t *order; /* by lane: a number to sort by before time; NULL = sort by time only. Borrowed */
	size_t next;	       /* the first span that the walk has not reached */
	uint64_t nr_crossing, nr_deep;
};

/* Sorts by `order`, then by begin; of spans that begin together the longer one first. */
void sonde_spans__sort(struct sonde_spans *s, struct sonde_source *src);
/*
 * Sorts the spans and finds out how they nest. A span that outlives the span around it is cut to end with it, and
 * spans nested deeper than 512 are removed; both are counted.
 */
void sonde_spans__nest(struct sonde_spans *s, struct sonde_source *src, size_t nr_lanes);
/* Notes how many spans were cut or removed. */
void sonde_spans__note(
	const struct sonde_spans *s, const struct sonde_source *src, struct sonde_records *r);
void sonde_spans__rewind(struct sonde_spans *s);
/* The innermost span open on a lane; SONDE_NONE when there is none. Calls must not go back in `order` or time. */
uint32_t sonde_spans__open_at(struct sonde_spans *s, uint32_t lane, uint64_t ns);

#endif
