/*
 * Labels: every distinct text once (label.c), and whether the gate of include and exclude
 * patterns lets it in (gate.c).
 */
#ifndef SONDE_INJECT_LABEL_INT_H
#define SONDE_INJECT_LABEL_INT_H

#include "inject/setup_int.h"

#include <stdatomic.h>
#include <stddef.h>

#define MAX_LABELS  SONDE_STRING_LIMIT
#define NR_SLOTS    (MAX_LABELS * 2)
#define TEXT_BYTES  (12u << 20)
#define MAX_DOMAINS 1024u

#define GATE_INCLUDED 1
#define GATE_EXCLUDED 2
#define GATE_WINDOW	  4 /* entering it may open a window */

/* One distinct (kind, domain, text). Never changes once it can be found, never goes away. */
struct label {
	uint64_t hash;
	uint32_t id;
	uint32_t nr_bytes;
	uint16_t domain;
	uint8_t kind; /* enum sonde_string_kind */
	uint8_t gate;
	char text[]; /* NUL-terminated */
};

#define LABEL_ABANDONED 1u /* in `by_id`: another thread was first with the same text */

struct labels {
	_Atomic uint32_t *slots; /* offset in `text` / 8; 0 = free */
	_Atomic uint32_t *by_id; /* the same, by label id; 0 = not yet written */
	uint8_t *text;
	_Atomic uint32_t nr_ids;		      /* ids 1 … nr_ids-1 are taken */
	_Atomic uint32_t used;			      /* bytes of `text` */
	_Atomic(struct label *) domains[MAX_DOMAINS]; /* [0] is the default domain: NULL */
};

bool sonde_label__init(struct labels *l);
/* After a fork, in the child: what another thread was just adding will never be finished. */
void sonde_label__forked(struct labels *l);
/*
 * NULL when the table is full. With LABEL_KEPT in `kind`, and for all kinds but labels of ranges,
 * a part of it is kept free: there is no other way to write those down.
 */
#define LABEL_KEPT 0x100u
struct label *sonde_label__intern(unsigned kind, unsigned domain, const char *text, size_t n);
/* What the gate says of a label that has no entry. */
unsigned sonde_label__gate(unsigned domain, const char *text);
struct label *sonde_label__at(const struct labels *l, uint32_t offset8);
/* The label a handle given out earlier stands for, NULL when it is none of ours. */
struct label *sonde_label__of_handle(const void *handle);
/* The number of the domain of that name, new or known. */
unsigned sonde_label__domain(const char *name, size_t n);
/* Whether `patterns` has one for this label. */
bool sonde_gate__matches(const struct patterns *patterns, const char *domain, const char *label);

struct thread;
/* Whether the gate lets in what a label has this decision for (0 = a launch), seen from `t`. */
bool sonde_gate__is_open(const struct thread *t, unsigned gate);
/*
 * A start/end range is known to the whole process until it is ended once: it may hold the gate, or a
 * window, and windows that open meanwhile begin in it. `epoch`: the one in which it was written.
 */
void sonde_gate__hold(uint64_t id, unsigned gate, const struct label *label, uint32_t epoch);
/* The i-th that is held, if it was not written in `epoch`; NULL: it is free, or nothing to write. */
const struct label *sonde_gate__held(uint32_t i, uint32_t epoch, uint64_t *id);
#define MAX_HOLDERS 4096u
/* False when it was ended before. */
bool sonde_gate__let_go(uint64_t id, unsigned gate);

#endif
