/*
 * Inside the reading room: spans, which are ranges by their times alone.
 *
 * Some sources have ranges as a begin and an end each, in any order, and do not say which is nested in
 * which. A lane is what nests by itself: a thread, or one domain of a thread. When two spans of a lane
 * overlap, the later is inside the earlier; when they begin together, the shorter is inside the longer.
 *
 *     struct sonde_spans s = {0};
 *     sonde_put(&src->work, &s, (struct sonde_span){…});  // as often as there are some
 *     sonde_spans__nest(&s, src, nr_lanes);
 *     top = sonde_spans__open_at(&s, lane, ns);           // in the order of the spans
 *     sonde_spans__rewind(&s);                            // from the beginning again
 *
 * Everything belongs to the work of the source; sonde_vec_release(&s) frees the spans before it ends.
 */
#ifndef SONDE_READ_SPANS_H
#define SONDE_READ_SPANS_H

#include "read/source.h"

struct sonde_span {
	uint64_t begin_ns, end_ns; /* end UINT64_MAX: never closed */
	uint64_t what;		   /* the reader's own */
	uint32_t lane;
	uint32_t parent; /* the span it is nested in, SONDE_NONE = outermost; smaller than its own number */
};

struct sonde_spans {
	struct sonde_span *at; /* these three are a vector (base/vec.h) */
	size_t nr, cap;
	struct sonde_lane {
		uint32_t top;	/* the innermost open one, SONDE_NONE */
		uint32_t depth; /* while they are nested: how many are open */
	} * lanes;
	size_t nr_lanes;
	const uint64_t *order; /* by lane: what comes first, before time; NULL: nothing does. Borrowed */
	size_t next;	       /* the first one that the walk has not come to */
	uint64_t nr_crossing, nr_deep;
};

/* Sorts by `order`, then by begin, the longer one first. */
void sonde_spans__sort(struct sonde_spans *s, struct sonde_source *src);
/*
 * Sorts spans and finds out how they nest. One that outlives the span around it ends with it,
 * and those nested deeper than 512 are taken out; both are counted.
 */
void sonde_spans__nest(struct sonde_spans *s, struct sonde_source *src, size_t nr_lanes);
/* Notes the spans that were changed or taken out. */
void sonde_spans__note(
	const struct sonde_spans *s, const struct sonde_source *src, struct sonde_records *r);
void sonde_spans__rewind(struct sonde_spans *s);
/* The innermost span open on a lane, SONDE_NONE when there is none. Never back in `order` or time. */
uint32_t sonde_spans__open_at(struct sonde_spans *s, uint32_t lane, uint64_t ns);

#endif
