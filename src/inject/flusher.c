/*
 * The flusher: takes what the threads have committed and appends it to the
 * file, several times a second and when the buffers get full. It runs in a
 * process of its own (helper.c) and blocks every signal: so a file size limit
 * makes write() fail, and does not kill any process.
 */
#include "format/varint.h"
#include "inject/inject_int.h"
#include "inject/raw_int.h"

#include <sched.h>
#include <string.h>
#include <sys/prctl.h>

#define FINISH_MS 5000u /* how long the host waits for the flusher's end at most */
/* Time until the first flush, for programs that run only for a moment; doubled for each next flush, up to flush_ms. */
#define FIRST_MS   2u
#define COLLECT_MS 1000u /* how long to wait for threads that write GPU events */
/* How often to check at least whether the host is still there. */
#define LOOK_MS 100u

/* What is written so far. Only the flusher uses this; a new file resets most of it (begin_file). */
static struct {
	uint32_t nr_ids;		 /* all labels with lower ids are written */
	uint8_t written[MAX_LABELS / 8]; /* bit set of all labels that are written: higher ids may be complete before lower ones */
	uint32_t nr_domains;		 /* names of domains that are written */
	uint32_t nr_notes;
	uint32_t nr_marks; /* marks of the runner that are written */
	struct sonde_status status;
	struct sonde_budget_status budget;
} f;

void sonde_flusher__wake(void)
{
	if (!atomic_exchange_explicit(&sonde_inject.flush_wanted, 1, memory_order_release))
		sonde_futex__wake(&sonde_inject.flush_wanted);
}

static void add_note(const char *text, bool is_loss)
{
	uint32_t i, n;

	for (i = 0; i < MAX_NOTES; i++)
		if (atomic_load(&sonde_inject.notes[i]) == text)
			return;
	n = atomic_fetch_add(&sonde_inject.nr_notes, 1);
	if (n >= MAX_NOTES)
		return;
	if (is_loss) /* set before the note itself is visible: whoever sees the note must see this bit */
		atomic_fetch_or(&sonde_inject.losses, 1u << n);
	atomic_store(&sonde_inject.notes[n], text);
}

void sonde_flusher__note(const char *text)
{
	add_note(text, false);
}

void sonde_flusher__note_loss(const char *text)
{
	add_note(text, true);
}

/* --- the parts of a flush ------------------------------------------------------------------ */

static size_t string_put(uint8_t *to, const struct label *e, unsigned domain)
{
	uint8_t *p = sonde_varint_put(to, e->id);

	p = sonde_varint_put(p, e->kind);
	p = sonde_varint_put(p, domain);
	p = sonde_varint_put(p, e->nr_bytes);
	memcpy(p, e->text, e->nr_bytes);
	return (size_t)(p - to) + e->nr_bytes;
}

/*
 * The label with this id, if it must be written now, else NULL. A label that a thread is just adding comes with
 * a later flush, or never if that thread was stopped in the middle.
 */
static const struct label *string_next(uint32_t id)
{
	const struct labels *l = &sonde_inject.labels;
	uint32_t at = atomic_load_explicit(&l->by_id[id], memory_order_acquire);

	if (!at || f.written[id / 8] >> id % 8 & 1)
		return NULL;
	f.written[id / 8] |= (uint8_t)(1u << id % 8);
	if (at == LABEL_ABANDONED || sonde_label__at(l, at)->kind == SONDE_STRING_DOMAIN)
		return NULL;
	return sonde_label__at(l, at);
}

static void strings_put(void)
{
	struct labels *l = &sonde_inject.labels;
	static uint8_t buf[65536];
	size_t n = 0;
	uint32_t nr = atomic_load(&l->nr_ids), id;

	for (id = f.nr_ids; id < nr && id < MAX_LABELS; id++) {
		const struct label *e = string_next(id);

		if (!e)
			continue;
		if (n + SONDE_LABEL_LIMIT + 64 > sizeof(buf)) {
			sonde_outfile__put_block(SONDE_BLOCK_STRINGS, buf, n, NULL, 0);
			n = 0;
		}
		n += string_put(buf + n, e, e->domain);
	}
	while (f.nr_ids < nr && f.nr_ids < MAX_LABELS &&
		f.written[f.nr_ids / 8] >> f.nr_ids % 8 & 1)
		f.nr_ids++;
	for (; f.nr_domains < MAX_DOMAINS; f.nr_domains++) {
		struct label *d = atomic_load(&l->domains[f.nr_domains]);

		if (f.nr_domains && !d)
			break;
		if (n + SONDE_LABEL_LIMIT + 64 > sizeof(buf)) {
			sonde_outfile__put_block(SONDE_BLOCK_STRINGS, buf, n, NULL, 0);
			n = 0;
		}
		if (d)
			n += string_put(buf + n, d, f.nr_domains);
	}
	if (n)
		sonde_outfile__put_block(SONDE_BLOCK_STRINGS, buf, n, NULL, 0);
}

static void thread_put(const struct chunk *c)
{
	char path[64], name[64];
	struct raw_text file = {path, 0, sizeof(path)};
	uint8_t head[2 * SONDE_VARINT_MAX], *p;
	size_t n;

	sonde_raw__text(&file, "/proc/");
	sonde_raw__number(&file, (uint64_t)sonde_inject.pid);
	sonde_raw__text(&file, "/task/");
	sonde_raw__number(&file, c->tid);
	sonde_raw__text(&file, "/comm");
	n = sonde_raw__slurp(path, name, sizeof(name));
	while (n && name[n - 1] == '\n')
		n--;
	p = sonde_varint_put(head, c->stream);
	p = sonde_varint_put(p, c->tid);
	sonde_outfile__put_block(SONDE_BLOCK_THREAD, head, (size_t)(p - head), name, n);
}

static void chunk_put(struct chunk *c, uint32_t number)
{
	uint32_t state = atomic_load_explicit(&c->state, memory_order_acquire), committed;
	struct sonde_events head;

	if (state == CHUNK_FREE)
		return;
	committed = atomic_load_explicit(&c->committed, memory_order_acquire);
	if (committed > c->flushed) {
		if (!c->seq && !c->flushed)
			thread_put(c);
		head = (struct sonde_events){.tid = c->tid,
			.stream = c->stream,
			.chunk = c->seq,
			.offset = c->flushed,
			.nr_bytes = committed - c->flushed};
		sonde_outfile__put_block(SONDE_BLOCK_EVENTS, &head, sizeof(head),
			sonde_inject.data + (size_t)number * CHUNK_BYTES + c->flushed,
			head.nr_bytes);
		c->flushed = committed;
	}
	if (state == CHUNK_FULL)
		sonde_ring__give(c);
}

static void status_put(void)
{
	struct inject *g = &sonde_inject;
	struct sonde_status s = {.nr_lost = atomic_load(&g->nr_lost),
		.nr_nested = atomic_load(&g->nr_nested),
		.nr_inline = atomic_load(&g->nr_inline),
		.nr_cut = atomic_load(&g->nr_cut),
		.nr_no_slot = atomic_load(&g->nr_no_slot),
		.nr_gpu_dropped = atomic_load(&g->nr_gpu_dropped),
		.nr_too_deep = atomic_load(&g->nr_too_deep),
		.nr_pc_dropped = atomic_load(&g->nr_pc_dropped),
		.nr_pc_full = atomic_load(&g->nr_pc_full)};
	uint32_t i, nr = atomic_load(&g->nr_used);

	for (i = 0; i < nr && i < MAX_THREADS; i++) {
		s.nr_lost += atomic_load_explicit(&g->threads[i].nr_lost, memory_order_relaxed);
		s.nr_owed += atomic_load_explicit(&g->threads[i].nr_owed, memory_order_relaxed);
	}
	if (!memcmp(&s, &f.status, sizeof(s)))
		return;
	f.status = s;
	sonde_outfile__put_block(SONDE_BLOCK_STATUS, &s, sizeof(s), NULL, 0);
}

static void notes_put(void)
{
	struct inject *g = &sonde_inject;

	for (; f.nr_notes < MAX_NOTES; f.nr_notes++) {
		const char *text = atomic_load(&g->notes[f.nr_notes]);

		if (!text)
			return;
		sonde_outfile__put_block(
			atomic_load(&g->losses) >> f.nr_notes & 1 ? SONDE_BLOCK_LOSS : SONDE_BLOCK_NOTE, text,
			strlen(text), NULL, 0);
	}
}

/* Writes a mark that the runner asked for: like an event of a thread, in a stream of its own. */
static void mark_put(void)
{
	struct inject *g = &sonde_inject;
	uint8_t bytes[SONDE_EVENT_LIMIT + 64], *p;
	struct sonde_event_base base = {.ticks = ticks_now()};
	struct sonde_events head = {.tid = (uint64_t)g->pid};
	struct sonde_event e = {.type = SONDE_EVENT_MARK, .ticks = base.ticks};
	uint32_t nr = atomic_load(&g->orders->nr_marks);

	if (nr == f.nr_marks)
		return;
	f.nr_marks = nr;
	e.label.domain = sonde_label__domain("sonde", 5);
	e.label.text = g->orders->mark;
	e.label.nr_bytes = strnlen(g->orders->mark, sizeof(g->orders->mark));
	p = sonde_base_put(bytes, &base, 0, 0);
	p = sonde_event_put(p, &base, &e);
	head.stream = atomic_fetch_add(&g->nr_streams, 1);
	head.nr_bytes = (uint32_t)(p - bytes);
	sonde_outfile__put_block(SONDE_BLOCK_EVENTS, &head, sizeof(head), bytes, head.nr_bytes);
}

static void flush_events(bool last)
{
	uint32_t i;

	sonde_ring__reap();
	strings_put();
	notes_put();
	sonde_outfile__put_clock(last);
	for (i = 0; i < sonde_inject.nr_chunks; i++)
		chunk_put(&sonde_inject.chunks[i], i);
	mark_put();
	strings_put(); /* the events just written may need labels that were added since */
	sonde_window__put(last);
	sonde_budget__put(&f.budget);
	status_put();
	if (atomic_load(&sonde_inject.traces_gpu)) /* a forked child only has its parent's cubins */
		sonde_cubins__put(last);
}

/* A new file is empty: all names, notes and totals must be written again. */
static void begin_file(void)
{
	f.nr_ids = 1;
	memset(f.written, 0, sizeof(f.written));
	f.nr_domains = f.nr_notes = 0;
	memset(&f.status, 0, sizeof(f.status));
	memset(&f.budget, 0, sizeof(f.budget));
}

/*
 * Goes on in another file, which can be understood without this one: chunks that threads are still
 * writing to are in both files from their beginning. The reader takes each event once.
 */
static void begin_next_file(void)
{
	uint32_t i;

	if (atomic_load(&sonde_inject.traces_gpu))
		sonde_cubins__put(true); /* a complete file may be folded at once, and folding needs the lines of its code */
	if (!sonde_outfile__next())
		return;
	begin_file();
	for (i = 0; i < sonde_inject.nr_chunks; i++) {
		struct chunk *c = &sonde_inject.chunks[i];

		if (atomic_load_explicit(&c->state, memory_order_acquire) == CHUNK_FREE)
			continue;
		c->flushed = 0;
		thread_put(c);
	}
}

static void end_file(bool is_alone)
{
	const uint8_t how = is_alone ? SONDE_END_GONE : SONDE_END_EXIT;

	flush_events(true);
	sonde_outfile__put_block(SONDE_BLOCK_END, &how, sizeof(how), NULL, 0);
	sonde_outfile__drain();
}

/* Sleeps until the next flush is due. True when the host is gone: then the next flush is the last one. */
static bool await_flush(uint32_t ms)
{
	struct inject *g = &sonde_inject;
	uint64_t next_us, other_us;
	uint32_t step;

	for (; ms && !atomic_load(&g->flush_wanted); ms -= step) {
		next_us = sonde_window__update(false);
		other_us = sonde_budget__update(false);
		next_us = other_us < next_us ? other_us : next_us;
		step = ms < LOOK_MS ? ms : LOOK_MS;
		step = next_us / 1000 < step ? (uint32_t)(next_us / 1000) + 1 : step;
		step = step < ms ? step : ms;
		sonde_futex__wait(&g->flush_wanted, 0, step);
		if (sonde_helper__is_alone())
			return true;
	}
	atomic_store(&g->flush_wanted, 0);
	return false;
}

static void run_flusher(void)
{
	struct inject *g = &sonde_inject;
	uint32_t ms = FIRST_MS;
	bool is_alone = false;

	raw_call(SYS_prctl, PR_SET_NAME, (long)SONDE_HELPER_TASK, 0, 0, 0);
	begin_file();
	f.nr_marks = atomic_load(&g->orders->nr_marks);
	sonde_outfile__open();
	while (!sonde_outfile__failed() && !atomic_load(&g->stop) && !is_alone) {
		is_alone = await_flush(ms < g->config.flush_ms ? ms : g->config.flush_ms);
		ms = ms < g->config.flush_ms ? ms * 2 : ms;
		if (!is_alone) {
			flush_events(false);
			sonde_outfile__drain();
		}
		if (!is_alone && sonde_outfile__is_due())
			begin_next_file();
	}
	if (!sonde_outfile__failed())
		end_file(is_alone);
	atomic_fetch_add(&g->attach->nr_ended, !sonde_outfile__failed());
	atomic_store(&g->done, 1);
	sonde_futex__wake(&g->done);
}

bool sonde_flusher__start(void)
{
	struct inject *g = &sonde_inject;
	uint32_t none = 0;

	if (!atomic_compare_exchange_strong(&g->flusher_runs, &none, 1))
		return true;
	atomic_fetch_add(&g->attach->nr_attached, 1);
	if (sonde_helper__start(run_flusher))
		return true;
	sonde_attach__fault(g->fault_errno ? SONDE_FAULT_HELPER : SONDE_FAULT_SHARING, g->fault_errno);
	return false;
}

void sonde_flusher__await_collectors(void)
{
	uint64_t start = sonde_now_ns();

	while (atomic_load(&sonde_inject.nr_collecting) &&
		sonde_now_ns() - start < (uint64_t)COLLECT_MS * 1000000)
		sched_yield();
}

void sonde_flusher__finish(void)
{
	struct inject *g = &sonde_inject;
	uint64_t start = sonde_now_ns();

	if (!atomic_load(&g->flusher_runs))
		return;
	sonde_flusher__await_collectors();
	atomic_store(&g->stop, 1);
	sonde_flusher__wake();
	/* Uses futex and clock_gettime only: the host may have forbidden itself all other system calls. */
	do
		sonde_futex__wait(&g->done, 0, 100);
	while (!atomic_load(&g->done) && !sonde_helper__has_ended() &&
		sonde_now_ns() - start < (uint64_t)FINISH_MS * 1000000);
}
