/*
 * NVTX ranges of an export, and which of them were open at each launch: a walk over both in order of time.
 */
#include "read/nsys/nsys_int.h"

#include "base/alloc.h"
#include "base/keysort.h"
#include "read/start_end.h"

#include <stdio.h>

#define MAX_DOMAINS 64 /* of a thread: each domain may have a range in every set */

/* ENUM_NSYS_EVENT_TYPE */
#define DOMAINS "75"
#define RANGES	"59,60,70,71" /* push/pop and start/end, then both again with texts of other kinds */
enum { START_END = 60, START_END_T = 71 };

/* Process ids and thread ids have 24 bits each. */
static uint64_t thread_key(uint64_t pid, uint64_t tid)
{
	return pid << 24 | tid;
}

/* --- events → spans ----------------------------------------------------------------------------------- */

static uint32_t thread_of(struct nsys *n, uint64_t pid, uint64_t tid)
{
	const uint64_t key[2] = {pid, tid};
	bool is_new;
	uint32_t thread = sonde_intern_copy(&n->src->work, &n->thread_keys, SONDE_BYTES(key), &is_new);

	if (is_new)
		sonde_put(&n->src->work, &n->threads,
			(struct nsys_thread){pid, tid, SONDE_NONE, SONDE_NONE, 0});
	return thread;
}

/* The lane for a domain of a thread. When MAX_DOMAINS have lanes, further domains share the last one. */
static uint32_t lane_of(struct nsys *n, uint32_t thread, uint32_t domain)
{
	struct nsys_thread *t;
	uint32_t lane, *end;

	if (thread >= n->threads.nr)
		return SONDE_NONE;
	t = &n->threads.at[thread];
	for (lane = t->first_lane; lane != SONDE_NONE; lane = n->lanes.at[lane].next)
		if (n->lanes.at[lane].domain == domain)
			return lane;
	if (t->nr_lanes == MAX_DOMAINS)
		return t->last_lane;
	end = t->nr_lanes++ ? &n->lanes.at[t->last_lane].next : &t->first_lane;
	*end = t->last_lane = (uint32_t)n->lanes.nr;
	sonde_put(&n->src->work, &n->lanes, (struct nsys_lane){thread, domain, SONDE_NONE});
	sonde_put(&n->src->work, &n->lane_order, thread_key(t->pid, t->tid));
	return t->last_lane;
}

enum { START, END, TYPE, TID, DOMAIN, TEXT, TEXT_ID }; /* columns of events */

/* The text of the event itself, or one that was registered before. */
static uint32_t event_text(struct nsys *n, sqlite3_stmt *q)
{
	uint32_t text = sonde_nsys__intern(n, q, TEXT);

	return text == SONDE_NONE ? sonde_nsys__text(n, q, TEXT_ID).string : text;
}

static int take_domain(struct nsys *n, sqlite3_stmt *q)
{
	const uint64_t key[2] = {sonde_nsys__pid(sqlite3_column_int64(q, TID)),
		(uint64_t)sqlite3_column_int64(q, DOMAIN)};
	bool is_new;

	sonde_intern_copy(&n->src->work, &n->domain_keys, SONDE_BYTES(key), &is_new);
	if (is_new)
		sonde_put(&n->src->work, &n->domains, event_text(n, q));
	return 0;
}

static uint32_t domain_of(struct nsys *n, uint64_t pid, uint64_t id)
{
	const uint64_t key[2] = {pid, id};
	uint32_t number = id ? sonde_map_find(&n->domain_keys, SONDE_BYTES(key)) : SONDE_NONE;
	char name[32];

	if (id == 0)
		return SONDE_NONE;
	if (number != SONDE_NONE)
		return n->domains.at[number];
	snprintf(name, sizeof(name), "domain %llu", (unsigned long long)id);
	return sonde_records__copied(n->r, sonde_str_from(name));
}

static int take_range(struct nsys *n, sqlite3_stmt *q)
{
	int type = sqlite3_column_int(q, TYPE);
	bool is_start = type == START_END || type == START_END_T;
	sqlite3_int64 tid = sqlite3_column_int64(q, TID), begin = sqlite3_column_int64(q, START),
		      end = sqlite3_column_int64(q, END);
	bool is_closed = end > 0;
	struct sonde_record_time time =
		sonde_nsys__time(begin, is_closed ? end : begin, &n->nr_bad_ranges);
	uint64_t pid = sonde_nsys__pid(tid);
	uint32_t domain = domain_of(n, pid, (uint64_t)sqlite3_column_int64(q, DOMAIN));
	uint32_t thread = thread_of(n, pid, sonde_nsys__tid(tid)), label = event_text(n, q);
	struct sonde_span span = {.begin_ns = time.start_ns,
		.end_ns = is_closed ? time.end_ns : UINT64_MAX,
		.lane = is_start ? thread : lane_of(n, thread, domain)};

	if (label == SONDE_NONE)
		label = sonde_records__string(n->r, SONDE_STR(""));
	span.what = (uint64_t)domain << 32 | label;
	if (is_start)
		sonde_put(&n->src->work, &n->starts, span);
	else
		sonde_put(&n->src->work, &n->spans, span);
	return sonde_nsys__check_rows(n, n->spans.nr + n->starts.nr);
}

/* Reads domains first, because ranges name them by id. */
int sonde_nsys__read_ranges(struct nsys *n)
{
	static const char columns[] = "start end eventType globalTid domainId text textId";
	int rc;

	if (!sonde_nsys__has(n, NSYS_EVENTS, "start eventType globalTid"))
		return 0;
	rc = sonde_nsys__select(n, NSYS_EVENTS, columns, "eventType=" DOMAINS, take_domain);
	return rc ? rc : sonde_nsys__select(n, NSYS_EVENTS, columns, "eventType IN (" RANGES ") AND start "
					"IS NOT NULL AND globalTid IS NOT NULL", take_range);
}

/* --- spans → ranges of the records --------------------------------------------------------------------- */

static void append_range(struct nsys *n, const struct sonde_span *span, uint32_t thread, uint8_t kind)
{
	const struct nsys_thread *t = &n->threads.at[thread];
	struct sonde_range range = {.parent = SONDE_NONE,
		.label = (uint32_t)span->what,
		.domain = (uint32_t)(span->what >> 32),
		.process = sonde_nsys__process(n, t->pid),
		.thread = t->tid,
		.kind = kind,
		.time = {.begin_ns = span->begin_ns,
			.end_ns = span->end_ns == UINT64_MAX ? 0 : span->end_ns}};

	if (kind == SONDE_PUSH_POP && span->parent != SONDE_NONE)
		range.parent = n->first_range + span->parent;
	sonde_put(&n->r->arena, &n->r->ranges, range);
}

/* Appends push/pop ranges first, then start/end ranges. */
static void add_ranges(struct nsys *n)
{
	size_t i;

	sonde_reserve(&n->r->arena, &n->r->ranges, n->first_range + n->spans.nr + n->starts.nr);
	for (i = 0; i < n->spans.nr; i++)
		append_range(n, &n->spans.at[i], n->lanes.at[n->spans.at[i].lane].thread, SONDE_PUSH_POP);
	for (i = 0; i < n->starts.nr; i++)
		append_range(n, &n->starts.at[i], n->starts.at[i].lane, SONDE_START_END);
	sonde_spans__note(&n->spans, n->src, n->r);
	sonde_vec_release(&n->spans);
}

/* --- launches -------------------------------------------------------------------------------- */

static const struct sonde_record *record_at(const void *of, uint32_t i)
{
	const struct nsys *n = of;

	return &n->r->records.at[n->first_record + i];
}

static uint64_t start_key(const void *of, uint32_t i)
{
	return record_at(of, i)->time.start_ns;
}

static uint64_t call_key(const void *of, uint32_t i)
{
	return record_at(of, i)->call_ns;
}

static uint64_t time_key(const void *of, uint32_t i)
{
	return record_at(of, i)->call_ns ? record_at(of, i)->call_ns : record_at(of, i)->time.start_ns;
}

static const struct sonde_caller *caller_at(const void *of, uint32_t i)
{
	return sonde_record_caller(((const struct nsys *)of)->r, record_at(of, i));
}

static uint64_t process_key(const void *of, uint32_t i)
{
	return ((const struct nsys *)of)->r->processes.at[caller_at(of, i)->process].pid;
}

static uint64_t launch_key(const void *of, uint32_t i)
{
	return thread_key(process_key(of, i), caller_at(of, i)->thread);
}

/* Sets rec->open to the innermost range that the launching thread had open in each domain. */
static void set_open(struct nsys *n, struct sonde_record *rec)
{
	const struct sonde_caller *caller = sonde_record_caller(n->r, rec);
	const uint64_t key[2] = {n->r->processes.at[caller->process].pid, caller->thread};
	uint32_t thread = rec->call_ns ? sonde_map_find(&n->thread_keys, SONDE_BYTES(key)) : SONDE_NONE,
		 lane = thread == SONDE_NONE ? SONDE_NONE : n->threads.at[thread].first_lane;
	uint32_t members[MAX_DOMAINS];
	size_t nr = 0;

	for (; lane != SONDE_NONE; lane = n->lanes.at[lane].next) {
		uint32_t top = sonde_spans__open_at(&n->spans, lane, rec->call_ns);

		if (top != SONDE_NONE)
			members[nr++] = n->first_range + top;
	}
	rec->open = sonde_records__set(n->r, members, nr);
}

static void open_stacked(struct nsys *n, size_t nr)
{
	static sonde_key_fn *const keys[] = {call_key, launch_key};
	struct sonde_keyed *order = sonde_order_by(n, nr, keys, 2);
	size_t i;

	n->src->work.failed |= !order;
	for (i = 0; order && i < nr; i++)
		set_open(n, &n->r->records.at[n->first_record + order[i].index]);
	sonde_free(order);
}

static uint64_t number_key(const void *of, uint32_t i)
{
	return caller_at(of, i)->process;
}

/* Start/end ranges are open for all threads of their process. */
static void open_starts(struct nsys *n, size_t nr)
{
	static sonde_key_fn *const keys[] = {call_key, number_key};
	struct sonde_starts *s = sonde_starts__build(n->r, n->first_range);
	struct sonde_keyed *order = s ? sonde_order_by(n, nr, keys, 2) : NULL;
	size_t i;

	n->src->work.failed |= !order;
	for (i = 0; order && i < nr; i++) {
		struct sonde_record *rec = &n->r->records.at[n->first_record + order[i].index];

		if (rec->call_ns)
			rec->open = sonde_starts__open_at(s, sonde_record_caller(n->r, rec)->process,
				rec->call_ns, rec->open);
	}
	sonde_source__note(n->src, n->r, sonde_starts__free(s),
		"launch lacks some of its ranges: too many were open at once",
		"launches lack some of their ranges: too many were open at once");
	sonde_free(order);
}

int sonde_nsys__open_ranges(struct nsys *n)
{
	static sonde_key_fn *const keys[] = {start_key, time_key, process_key};
	size_t nr = n->r->records.nr - n->first_record;
	struct sonde_record *at = nr ? &n->r->records.at[n->first_record] : NULL;
	int rc;

	n->first_range = (uint32_t)n->r->ranges.nr;
	n->spans.order = n->lane_order.at;
	sonde_spans__nest(&n->spans, n->src, n->lanes.nr);
	sonde_spans__sort(&n->starts, n->src);
	rc = sonde_source__status(n->src, n->r, n->err);
	if (rc)
		return rc;
	open_stacked(n, nr);
	add_ranges(n);
	if (n->starts.nr)
		open_starts(n, nr);
	n->src->work.failed |= !sonde_order_apply(sonde_order_by(n, nr, keys, 3), at, nr, sizeof(*at));
	return 0;
}
