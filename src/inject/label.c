/*
 * Labels: a table that has every distinct text once and is searched without a lock. And the gate, which decides which
 * ranges are recorded, by their labels.
 *
 * Entries are bump-allocated and never removed. A slot of the hash table changes from 0 to an
 * entry by compare-and-swap, after the entry is complete: so whoever finds an entry finds all
 * of it. If two threads add the same text at once, one entry is wasted, and the text may be
 * written twice. A full table loses nothing: labels are then written out in each event.
 *
 * The gate's patterns: `GLOB` matches labels in any domain. `DOMAIN@GLOB` matches the labels of one
 * domain, and also any label whose whole text looks like that (base/glob.h).
 */
#include "base/glob.h"
#include "inject/inject_int.h"

#define NR_SLOTS   (MAX_LABELS * 2)
#define TEXT_BYTES (12u << 20)

static uint64_t mix(uint64_t a, uint64_t b)
{
	__uint128_t m = (__uint128_t)(a ^ 0x9e3779b97f4a7c15u) * (b ^ 0xe7037ed1a0b428dbu);

	return (uint64_t)m ^ (uint64_t)(m >> 64);
}

static uint64_t load_bytes(const char *p, size_t n)
{
	uint64_t v = 0;

	memcpy(&v, p, n);
	return v;
}

static uint64_t load8(const char *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return v;
}

static uint64_t hash_of(const char *p, size_t n, uint64_t seed)
{
	uint64_t h = seed ^ n;

	for (; n > 16; p += 16, n -= 16)
		h = mix(load8(p) ^ h, load8(p + 8));
	if (n >= 8)
		return mix(load8(p) ^ h, load8(p + n - 8));
	if (n >= 4) {
		uint32_t a, b;

		memcpy(&a, p, 4);
		memcpy(&b, p + n - 4, 4);
		return mix((uint64_t)a << 32 | b, h);
	}
	return mix(load_bytes(p, n), h);
}

uint64_t sonde_label__hash(const void *p, size_t n)
{
	return hash_of(p, n, 0);
}

bool sonde_label__init(struct labels *l)
{
	l->slots = sonde_ring__reserve(NR_SLOTS * sizeof(*l->slots));
	l->by_id = sonde_ring__reserve(MAX_LABELS * sizeof(*l->by_id));
	l->text = sonde_ring__reserve(TEXT_BYTES + 64); /* comparisons read whole words, beyond the end of a text */
	atomic_store(&l->nr_ids, 1);
	atomic_store(&l->used, 16); /* offsets / 8 of 0 and 1 have other meanings: free, LABEL_ABANDONED */
	return l->slots && l->by_id && l->text;
}

void sonde_label__forked(struct labels *l)
{
	uint32_t id, nr = atomic_load(&l->nr_ids);

	for (id = 1; id < nr && id < MAX_LABELS; id++) {
		if (!atomic_load_explicit(&l->by_id[id], memory_order_relaxed))
			atomic_store_explicit(&l->by_id[id], LABEL_ABANDONED, memory_order_relaxed);
	}
}

struct label *sonde_label__at(const struct labels *l, uint32_t offset8)
{
	return (struct label *)(l->text + (size_t)offset8 * 8);
}

static bool is_same_label(const struct label *e, const struct label *key, const char *text)
{
	return e->hash == key->hash && e->nr_bytes == key->nr_bytes && e->kind == key->kind &&
	       e->domain == key->domain && !memcmp(e->text, text, key->nr_bytes);
}

/* Whether one of `patterns` matches this label. */
static bool matches_label(const struct patterns *patterns, const char *domain, const char *label)
{
	struct sonde_str text = {label, strlen(label)}, of = {domain, strlen(domain)};
	uint32_t i;

	for (i = 0; i < patterns->nr; i++) {
		const struct pattern *p = &patterns->at[i];
		struct sonde_str whole = {p->text, strlen(p->text)}, left = whole, right = {0};

		if (sonde_str_glob(text, whole))
			return true;
		if (!p->label)
			continue;
		left.n = (size_t)(p->label - 1 - p->text);
		right = (struct sonde_str){p->label, whole.n - left.n - 1};
		if (sonde_str_glob(of, left) && sonde_str_glob(text, right))
			return true;
	}
	return false;
}

unsigned sonde_label__gate(unsigned domain, const char *text)
{
	struct inject *g = &sonde_inject;
	const struct label *of =
		domain < MAX_DOMAINS ? atomic_load(&g->labels.domains[domain]) : NULL;
	const char *name = of ? of->text : "";
	unsigned gate = 0;

	if (!atomic_load(&g->has_patterns))
		return 0;
	if (matches_label(&g->config.include, name, text))
		gate |= GATE_INCLUDED;
	if (matches_label(&g->config.exclude, name, text))
		gate |= GATE_EXCLUDED;
	if (matches_label(&g->config.window.label, name, text))
		gate |= GATE_WINDOW;
	return gate;
}

/* Makes a new entry, which is not yet in the hash table. Returns its offset / 8, or 0 when there is no room. */
static uint32_t add_label(struct labels *l, const struct label *key, const char *text, bool is_kept)
{
	uint32_t bytes = (uint32_t)(sizeof(*key) + key->nr_bytes + 1 + 7) & ~7u, at, id;
	uint32_t spare_ids = is_kept ? 0 : MAX_LABELS / 16, spare = is_kept ? 0 : TEXT_BYTES / 16;
	struct label *e;

	if (atomic_load_explicit(&l->used, memory_order_relaxed) > TEXT_BYTES - spare - bytes ||
		atomic_load_explicit(&l->nr_ids, memory_order_relaxed) >= MAX_LABELS - spare_ids)
		return 0;
	at = atomic_fetch_add_explicit(&l->used, bytes, memory_order_relaxed);
	if (at > TEXT_BYTES - bytes)
		return 0;
	id = atomic_fetch_add_explicit(&l->nr_ids, 1, memory_order_relaxed);
	if (id >= MAX_LABELS)
		return 0;
	e = sonde_label__at(l, at / 8);
	*e = *key;
	e->id = id;
	memcpy(e->text, text, key->nr_bytes);
	e->text[key->nr_bytes] = '\0';
	if (e->kind == SONDE_STRING_LABEL)
		e->gate = (uint8_t)sonde_label__gate(e->domain, e->text);
	return at / 8;
}

void sonde_label__regate(void)
{
	struct labels *l = &sonde_inject.labels;
	uint32_t id, at, nr = atomic_load(&l->nr_ids);
	struct label *e;

	for (id = 1; id < nr && id < MAX_LABELS; id++) {
		at = atomic_load_explicit(&l->by_id[id], memory_order_acquire);
		e = at > LABEL_ABANDONED ? sonde_label__at(l, at) : NULL;
		if (e && e->kind == SONDE_STRING_LABEL)
			e->gate = (uint8_t)sonde_label__gate(e->domain, e->text);
	}
}

static void publish(struct labels *l, uint32_t mine, uint32_t as)
{
	if (mine)
		atomic_store_explicit(
			&l->by_id[sonde_label__at(l, mine)->id], as, memory_order_release);
}

struct label *sonde_label__intern(unsigned kind, unsigned domain, const char *text, size_t n)
{
	struct labels *l = &sonde_inject.labels;
	struct label key = {
		.nr_bytes = (uint32_t)n, .domain = (uint16_t)domain, .kind = (uint8_t)kind};
	bool is_kept = kind & LABEL_KEPT || key.kind != SONDE_STRING_LABEL;
	uint32_t i, nr_probes, mine = 0;

	key.hash = hash_of(text, n, (uint64_t)domain << 8 | key.kind);
	i = (uint32_t)key.hash & (NR_SLOTS - 1);
	for (nr_probes = 0; nr_probes < 256; i = (i + 1) & (NR_SLOTS - 1), nr_probes++) {
		uint32_t at = atomic_load_explicit(&l->slots[i], memory_order_acquire);

		if (!at) {
			if (!mine && !(mine = add_label(l, &key, text, is_kept)))
				return NULL;
			publish(l, mine, mine); /* must come before other threads can find and use the entry */
			if (atomic_compare_exchange_strong_explicit(&l->slots[i], &at, mine,
				    memory_order_acq_rel, memory_order_acquire))
				return sonde_label__at(l, mine);
		}
		if (is_same_label(sonde_label__at(l, at), &key, text)) {
			publish(l, mine, LABEL_ABANDONED);
			return sonde_label__at(l, at);
		}
	}
	publish(l, mine, LABEL_ABANDONED);
	return NULL;
}

struct label *sonde_label__of_handle(const void *handle)
{
	const struct labels *l = &sonde_inject.labels;
	uintptr_t at = (uintptr_t)handle, base = (uintptr_t)l->text;

	if (at < base + 16 || at >= base + TEXT_BYTES || (at - base) % 8)
		return NULL;
	return (struct label *)at;
}

static unsigned other_domains(void)
{
	static const char name[] = "(other domains)";
	struct label *e = sonde_label__intern(SONDE_STRING_DOMAIN, 0, name, sizeof(name) - 1);

	atomic_store(&sonde_inject.labels.domains[MAX_DOMAINS - 1], e);
	sonde_flusher__note("the program uses more NVTX domains than sonde can tell apart: the others are shown as one, (other domains)");
	return MAX_DOMAINS - 1;
}

unsigned sonde_label__domain(const char *name, size_t n)
{
	struct labels *l = &sonde_inject.labels;
	struct label *e = sonde_label__intern(SONDE_STRING_DOMAIN, 0, name, n);
	unsigned i;

	for (i = 1; e && i < MAX_DOMAINS - 1; i++) {
		struct label *there = atomic_load_explicit(&l->domains[i], memory_order_acquire);

		if (there == e)
			return i;
		if (!there && atomic_compare_exchange_strong(&l->domains[i], &there, e))
			return i;
		if (there == e)
			return i;
	}
	return other_domains();
}

/* --- the gate ---------------------------------------------------------------------------------- */

/* Open start/end ranges. They are found by their id, since a program may end a range twice. */
#define CLAIMED 1u /* value of `id`: a thread is just filling the entry in */
static struct held_range {
	_Atomic uint64_t id; /* 0 = free */
	_Atomic(const struct label *) label;
	_Atomic uint32_t epoch;
} held_ranges[MAX_HELD_RANGES];

/* Finds the entry with the id `from` and changes its id to `to`. NULL when there is no such entry. */
static struct held_range *swap_held_range(uint64_t from, uint64_t to)
{
	uint64_t was;
	size_t i;

	for (i = 0; i < MAX_HELD_RANGES; i++) {
		was = from;
		if (atomic_load_explicit(&held_ranges[i].id, memory_order_relaxed) == from &&
			atomic_compare_exchange_strong(&held_ranges[i].id, &was, to))
			return &held_ranges[i];
	}
	return NULL;
}

void sonde_gate__hold(uint64_t id, unsigned gate, const struct label *label, uint32_t epoch)
{
	struct held_range *h = swap_held_range(0, CLAIMED);

	if (!h) {
		sonde_flusher__note("more start/end ranges were open at once than sonde can follow: the others include and exclude no "
				    "work (pipeline.native.nvtx), and windows that open inside them do not show them");
		return;
	}
	atomic_store(&h->label, label);
	atomic_store(&h->epoch, epoch);
	atomic_store(&h->id, id);
	atomic_fetch_add(&sonde_inject.nr_included, gate & GATE_INCLUDED ? 1 : 0);
	atomic_fetch_add(&sonde_inject.nr_excluded, gate & GATE_EXCLUDED ? 1 : 0);
}

const struct label *sonde_gate__held(uint32_t i, uint32_t epoch, uint64_t *id)
{
	*id = atomic_load(&held_ranges[i].id);
	return *id > CLAIMED && atomic_load(&held_ranges[i].epoch) != epoch
		       ? atomic_load(&held_ranges[i].label)
		       : NULL;
}

bool sonde_gate__let_go(uint64_t id, unsigned gate)
{
	if (!swap_held_range(id, 0))
		return false;
	atomic_fetch_sub(&sonde_inject.nr_included, gate & GATE_INCLUDED ? 1 : 0);
	atomic_fetch_sub(&sonde_inject.nr_excluded, gate & GATE_EXCLUDED ? 1 : 0);
	return true;
}

void sonde_gate__clear(void)
{
	size_t i;

	for (i = 0; i < MAX_HELD_RANGES; i++)
		atomic_store_explicit(&held_ranges[i].id, 0, memory_order_relaxed);
	atomic_store(&sonde_inject.nr_included, 0);
	atomic_store(&sonde_inject.nr_excluded, 0);
}

bool sonde_gate__is_open(const struct thread *t, unsigned gate)
{
	const struct inject *g = &sonde_inject;

	if (gate & GATE_EXCLUDED || t->nr_excluded || t->is_left_out ||
		atomic_load_explicit(&g->nr_excluded, memory_order_relaxed))
		return false;
	return !g->config.include.nr || gate & GATE_INCLUDED || t->nr_included ||
	       atomic_load_explicit(&g->nr_included, memory_order_relaxed);
}
