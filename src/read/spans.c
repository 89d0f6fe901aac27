#include "read/spans.h"

#include "base/keysort.h"

#define MAX_DEPTH 512 /* the ids of regions grow with the square of the depth */

static const struct sonde_span *span_at(const void *spans, uint32_t i)
{
	return &((const struct sonde_spans *)spans)->at[i];
}

static uint64_t end_key(const void *spans, uint32_t i)
{
	return ~span_at(spans, i)->end_ns;
}

static uint64_t begin_key(const void *spans, uint32_t i)
{
	return span_at(spans, i)->begin_ns;
}

static uint64_t order_key(const void *spans, uint32_t i)
{
	return ((const struct sonde_spans *)spans)->order[span_at(spans, i)->lane];
}

void sonde_spans__sort(struct sonde_spans *s, struct sonde_source *src)
{
	static sonde_key_fn *const keys[] = {end_key, begin_key, order_key};

	src->work.failed |= !sonde_order_apply(
		sonde_order_by(s, s->nr, keys, s->order ? 3 : 2), s->at, s->nr, sizeof(*s->at));
}

static void leave_ended(const struct sonde_spans *s, struct sonde_lane *lane, uint64_t ns)
{
	for (; lane->top != SONDE_NONE && s->at[lane->top].end_ns <= ns; lane->depth--)
		lane->top = s->at[lane->top].parent;
}

/* Opens a span on its lane, inside the span that is open there, and stores it as number `n`. */
static void open_span(struct sonde_spans *s, struct sonde_lane *lane, struct sonde_span span, size_t n)
{
	span.parent = lane->top;
	if (lane->top != SONDE_NONE && span.end_ns > s->at[lane->top].end_ns) {
		span.end_ns = s->at[lane->top].end_ns;
		s->nr_crossing++;
	}
	s->at[n] = span;
	lane->top = (uint32_t)n;
	lane->depth++;
}

void sonde_spans__nest(struct sonde_spans *s, struct sonde_source *src, size_t nr_lanes)
{
	size_t i, nr = 0;

	s->lanes = sonde_arena_calloc(&src->work, nr_lanes, sizeof(*s->lanes));
	s->nr_lanes = s->lanes ? nr_lanes : 0;
	sonde_spans__sort(s, src);
	if (src->work.failed)
		return;
	sonde_spans__rewind(s);
	for (i = 0; i < s->nr; i++) {
		struct sonde_lane *lane = &s->lanes[s->at[i].lane];

		leave_ended(s, lane, s->at[i].begin_ns);
		if (lane->depth < MAX_DEPTH)
			open_span(s, lane, s->at[i], nr++);
	}
	s->nr_deep = s->nr - nr;
	s->nr = nr;
	sonde_spans__rewind(s);
}

void sonde_spans__note(
	const struct sonde_spans *s, const struct sonde_source *src, struct sonde_records *r)
{
	sonde_source__note(src, r, s->nr_crossing,
		"range outlives the range around it: it ends where that one ends",
		"ranges outlive the ranges around them: they end where those end");
	sonde_source__note(src, r, s->nr_deep,
		"range is nested deeper than 512: what is in it counts in the one around it",
		"ranges are nested deeper than 512: what is in them counts in the one around them");
}

void sonde_spans__rewind(struct sonde_spans *s)
{
	size_t i;

	s->next = 0;
	for (i = 0; i < s->nr_lanes; i++)
		s->lanes[i] = (struct sonde_lane){.top = SONDE_NONE};
}

static bool has_begun(const struct sonde_spans *s, const struct sonde_span *span, uint32_t lane,
	uint64_t ns)
{
	uint64_t own = s->order ? s->order[span->lane] : 0, other = s->order ? s->order[lane] : 0;

	return own < other || (own == other && span->begin_ns <= ns);
}

uint32_t sonde_spans__open_at(struct sonde_spans *s, uint32_t lane, uint64_t ns)
{
	for (; s->next < s->nr && has_begun(s, &s->at[s->next], lane, ns); s->next++)
		s->lanes[s->at[s->next].lane].top = (uint32_t)s->next;
	leave_ended(s, &s->lanes[lane], ns);
	return s->lanes[lane].top;
}
