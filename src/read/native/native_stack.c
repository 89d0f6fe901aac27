/*
 * The ranges that a thread has open: entries with their times, one stack per domain.
 *
 * Stacks are as deep as the writer allows. Memory for long region paths is limited to a
 * share that grows with the file: every region is identified by its path later on, so
 * otherwise a few bytes of pushes could take any amount of memory.
 */
#include "read/native/native_stream.h"

#define LONG_PATH	  1024u	      /* bytes; shorter paths are not counted */
#define LONG_PATHS_ALWAYS (16u << 20) /* bytes of long paths allowed in any file … */
#define LONG_PATHS_SHARE  16u	      /* … plus this many for each byte of the file */

/* --- CPU time --------------------------------------------------------------------------------- */

void sonde_stream__share_cpu(struct stream *s, uint64_t ticks, uint64_t cpu_ns)
{
	uint64_t step = cpu_ns - s->cpu_ns, spent = step < UINT64_MAX / 4 ? step : 0;
	double share = ticks > s->cpu_ticks ? (double)spent / (double)(ticks - s->cpu_ticks) : 0;
	size_t i;

	/* The thread is assumed to have run evenly between two readings. */
	for (i = 0; i < s->pending.nr; i++) {
		struct pending *p = &s->pending.at[i];
		struct sonde_range_time *t = &s->n->r->ranges.at[p->range].time;
		uint64_t at = s->cpu_ns;

		if (p->ticks > s->cpu_ticks)
			at += sonde_clock_map__u64((double)(p->ticks - s->cpu_ticks) * share);
		if (!p->is_end)
			t->cpu_ns = at;
		else
			t->cpu_ns = at > t->cpu_ns ? at - t->cpu_ns : 0;
	}
	s->pending.nr = 0;
	s->cpu_ns = cpu_ns;
	s->cpu_ticks = ticks;
}

static void cpu_later(struct stream *s, uint32_t range, bool is_end)
{
	sonde_put(&s->n->src->work, &s->pending,
		(struct pending){.range = range, .is_end = is_end, .ticks = s->at.ticks});
}

/* --- ranges ----------------------------------------------------------------------------------- */

/* Gives a name to a domain whose name was not written, so that it is not taken for the default one. */
static void name_domain(struct stream *s, uint32_t domain)
{
	struct sonde_records *r = s->n->r;
	uint32_t *name = &s->n->domains[domain];
	struct sonde_str text;

	if (!domain || *name != SONDE_NONE)
		return;
	text = domain == NATIVE_NO_DOMAIN ? SONDE_STR("(domain not written)")
					  : sonde_arena_printf(&r->arena, "domain %u", domain);
	*name = sonde_records__string(r, text);
}

/* Adds a range entry that begins now, without a parent. SONDE_NONE when memory is short. */
static uint32_t new_range(struct stream *s, uint32_t label, uint32_t domain, unsigned kind)
{
	struct native *n = s->n;
	struct sonde_records *r = n->r;

	name_domain(s, domain);
	r->arena.failed |= r->ranges.nr >= SONDE_NONE;
	sonde_put(&r->arena, &r->ranges,
		(struct sonde_range){.parent = SONDE_NONE,
			.label = label,
			.domain = n->domains[domain],
			.process = n->process,
			.thread = s->tid,
			.kind = (uint8_t)kind,
			.begun = s->when,
			.time.begin_ns = sonde_stream__now(s)});
	if (n->kept)
		sonde_put(&n->src->work, &n->piece_of, s->piece);
	return sonde_native__failed(n) ? SONDE_NONE : (uint32_t)(r->ranges.nr - 1);
}

/* The length of a path of `above` bytes after appending a separator and `label`. */
static size_t path_bytes(const struct stream *s, size_t above, uint32_t label)
{
	return above + sonde_records_str(s->n->r, label).n + 1;
}

/* A hash that identifies the region of a range, so that its path is counted once. */
static uint64_t region_hash(const struct stream *s, uint32_t label, uint32_t domain, unsigned kind)
{
	uint32_t words[SONDE_OPEN_LIMIT + 3] = {domain, kind, label}, nr = 3, range;
	const struct sonde_range *ranges = s->n->r->ranges.at;

	for (range = kind == SONDE_PUSH_POP ? s->top[domain] : SONDE_NONE; range != SONDE_NONE;
		range = ranges[range].parent)
		words[nr++] = ranges[range].label;
	return sonde_hash(words, nr * sizeof(*words));
}

/* Whether there is memory left for a region with a path of `nr_bytes`. */
static bool region_fits(struct stream *s, uint64_t hash, size_t nr_bytes)
{
	struct native *n = s->n;
	uint64_t max = LONG_PATHS_ALWAYS + (uint64_t)n->src->file.data.n * LONG_PATHS_SHARE;

	if (sonde_map_find(&n->long_paths, SONDE_BYTES(hash)) != SONDE_NONE)
		return true;
	if (n->long_path_bytes + nr_bytes > max)
		return false;
	n->long_path_bytes += nr_bytes;
	sonde_intern_copy(&n->src->work, &n->long_paths, SONDE_BYTES(hash), NULL);
	return true;
}

static size_t domain_bytes(const struct stream *s, uint32_t domain)
{
	uint32_t name = s->n->domains[domain];

	return name == SONDE_NONE ? 0 : sonde_records_str(s->n->r, name).n + 1;
}

uint32_t sonde_stream__start(struct stream *s, uint32_t label, uint32_t domain)
{
	size_t nr_bytes;

	if (label != SONDE_NONE) {
		nr_bytes = path_bytes(s, domain_bytes(s, domain), label);
		if (nr_bytes > LONG_PATH &&
			!region_fits(s, region_hash(s, label, domain, SONDE_START_END), nr_bytes)) {
			s->n->current_counts->left_out++;
			return SONDE_NONE;
		}
	}
	return new_range(s, label, domain, SONDE_START_END);
}

/* Whether a range may be opened; `*nr_bytes` is then the length of its region's path. */
static bool may_open(struct stream *s, uint32_t label, uint32_t domain, size_t *nr_bytes)
{
	bool is_outermost = s->top[domain] == SONDE_NONE;

	/* A range inside one that was left out is left out too; otherwise pops would not match their pushes. */
	if (s->left_out[domain] || s->nr_deep >= SONDE_OPEN_LIMIT)
		return false;
	*nr_bytes = path_bytes(
		s, is_outermost ? domain_bytes(s, domain) : s->path_bytes[domain], label);
	return *nr_bytes <= LONG_PATH ||
	       region_fits(s, region_hash(s, label, domain, SONDE_PUSH_POP), *nr_bytes);
}

void sonde_stream__push(struct stream *s, uint32_t label, uint32_t domain)
{
	uint32_t i, range;
	size_t nr_bytes = 0;

	if (label != SONDE_NONE && !may_open(s, label, domain, &nr_bytes)) {
		s->left_out[domain]++;
		s->n->current_counts->left_out++;
		return;
	}
	range = new_range(s, label, domain, SONDE_PUSH_POP);
	if (range == SONDE_NONE)
		return;
	for (i = 0; i < s->nr_seen && s->seen[i] != domain; i++)
		;
	if (i == s->nr_seen)
		s->seen[s->nr_seen++] = (uint16_t)domain;
	s->n->r->ranges.at[range].parent = s->top[domain];
	s->top[domain] = range;
	s->path_bytes[domain] = (uint32_t)nr_bytes;
	s->depth[domain]++;
	s->nr_deep++;
	s->set_is_old = true;
	cpu_later(s, range, false);
}

/*
 * If the label of a range was not written, its domain is unknown. The pop that ends such a range is recognised by the
 * order of pushes. Otherwise it would end a range around it, in a domain that has nothing to do with it.
 */
static uint64_t domain_of_pop(const struct stream *s, uint64_t domain)
{
	uint32_t unknown = s->top[NATIVE_NO_DOMAIN];

	if (unknown == SONDE_NONE || domain >= NATIVE_MAX_DOMAINS)
		return domain;
	return s->top[domain] == SONDE_NONE || s->top[domain] < unknown ? NATIVE_NO_DOMAIN : domain;
}

static void end_range(struct stream *s, uint64_t domain)
{
	struct sonde_records *r = s->n->r;
	uint32_t range = s->top[domain];

	if (range == SONDE_NONE) {
		s->n->current_counts->orphan_pops++;
		return;
	}
	r->ranges.at[range].ended = s->when;
	if (!r->ranges.at[range].is_inherited) {
		r->ranges.at[range].time.end_ns = sonde_stream__now(s);
		cpu_later(s, range, true);
	}
	s->top[domain] = r->ranges.at[range].parent;
	s->path_bytes[domain] -= (uint32_t)path_bytes(s, 0, r->ranges.at[range].label);
	s->depth[domain]--;
	s->nr_deep--;
	s->set_is_old = true;
}

void sonde_stream__pop(struct stream *s, uint64_t domain)
{
	if (domain < NATIVE_MAX_DOMAINS && s->left_out[domain]) {
		s->left_out[domain]--;
		return;
	}
	domain = domain_of_pop(s, domain);
	if (domain > NATIVE_NO_DOMAIN)
		s->n->current_counts->orphan_pops++;
	else
		end_range(s, domain);
}

void sonde_stream__end_window(struct stream *s)
{
	struct sonde_range *ranges = s->n->r->ranges.at;
	uint64_t end_ns = sonde_native__window_end_ns(s->n, s->window), begin_ns;
	uint8_t ended = s->window < s->n->windows.nr ? s->n->windows.at[s->window].ended : s->when;
	uint32_t i, range;

	for (i = 0; i < s->nr_seen; i++) {
		uint32_t domain = s->seen[i];

		for (range = s->top[domain]; range != SONDE_NONE; range = ranges[range].parent) {
			begin_ns = ranges[range].time.begin_ns;
			if (ranges[range].is_inherited)
				continue;
			ranges[range].time.end_ns = end_ns > begin_ns ? end_ns : begin_ns + 1;
			ranges[range].time.cpu_ns = 0; /* the thread's CPU clock was not read at that moment */
			ranges[range].ended = ended;
			s->n->counts.cut_by_windows += ended == SONDE_NOW;
		}
		s->nr_deep -= s->depth[domain];
		s->depth[domain] = 0;
		s->path_bytes[domain] = 0;
		s->top[domain] = SONDE_NONE;
	}
	s->pending.nr = 0;
	s->set_is_old = true;
}

void sonde_stream__reopen(struct stream *s, uint32_t domain, const uint32_t *labels, uint32_t nr)
{
	const struct sonde_range *ranges = s->n->r->ranges.at;
	uint32_t chain[SONDE_OPEN_LIMIT] = {0}, depth = s->depth[domain], same, i, range;

	for (i = depth, range = s->top[domain]; i--; range = ranges[range].parent)
		chain[i] = range;
	for (same = 0; same < nr && same < depth; same++) {
		if (ranges[chain[same]].label != labels[same])
			break;
	}
	for (; depth > same; depth--) {
		range = s->top[domain];
		end_range(s, domain);
		s->n->current_counts->closed_by_loss += !s->is_gap;
		if (s->is_gap) { /* it ended in a file that was folded, where it was counted */
			s->n->r->ranges.at[range].time.end_ns = ranges[range].time.begin_ns + 1;
			s->n->r->ranges.at[range].ended = SONDE_BEFORE;
		}
	}
	for (; same < nr; same++)
		sonde_stream__push(s, labels[same], domain);
}
