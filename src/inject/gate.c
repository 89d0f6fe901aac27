/*
 * The gate's patterns: `GLOB` for labels in any domain; `DOMAIN@GLOB` for the
 * labels of one domain, and for any label that looks so (base/glob.h).
 */
#include "inject/inject_int.h"

#include "base/glob.h"

#include <string.h>

/* Start/end ranges that are open, by id: a program may end one twice. */
#define CLAIMED 1u /* in `id`: somebody is about to fill it in */
static struct holder {
	_Atomic uint64_t id; /* 0 = free */
	_Atomic(const struct label *) label;
	_Atomic uint32_t epoch;
} holders[MAX_HOLDERS];

static struct holder *swap(uint64_t from, uint64_t to)
{
	uint64_t was;
	size_t i;

	for (i = 0; i < MAX_HOLDERS; i++) {
		was = from;
		if (atomic_load_explicit(&holders[i].id, memory_order_relaxed) == from &&
			atomic_compare_exchange_strong(&holders[i].id, &was, to))
			return &holders[i];
	}
	return NULL;
}

void sonde_gate__hold(uint64_t id, unsigned gate, const struct label *label, uint32_t epoch)
{
	struct holder *h = swap(0, CLAIMED);

	if (!h) {
		sonde_flusher__note("more start/end ranges were open at once than can be followed: the "
				    "rest select nothing, and windows that open in them do not know "
				    "them");
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
	*id = atomic_load(&holders[i].id);
	return *id > CLAIMED && atomic_load(&holders[i].epoch) != epoch
		       ? atomic_load(&holders[i].label)
		       : NULL;
}

bool sonde_gate__let_go(uint64_t id, unsigned gate)
{
	if (!swap(id, 0))
		return false;
	atomic_fetch_sub(&sonde_inject.nr_included, gate & GATE_INCLUDED ? 1 : 0);
	atomic_fetch_sub(&sonde_inject.nr_excluded, gate & GATE_EXCLUDED ? 1 : 0);
	return true;
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

bool sonde_gate__matches(const struct patterns *patterns, const char *domain, const char *label)
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
