/*
 * NVTX cells of the CSV → range entries.
 *
 *   push/pop    `1108  "DOMAIN:LABEL:6 fields"  "DOMAIN:LABEL:6 fields" `   thread, outermost first
 *   start/end   ` "ID:DOMAIN:LABEL:6 fields"  "…" `
 *
 * Nothing in a cell is escaped, so a cell is cut at the most likely borders.
 * Rows do not say which entry of a range they belong to: equal rows of one thread in
 * sequence count as one entry, so instance counts are lower bounds.
 */
#include "read/ncu/ncu_csv_nvtx.h"

#include "read/csv_scan.h"

#include <string.h>

#define NR_FIELDS  6   /* payload type, value, colour type, colour, message type, message */
#define MAX_FRAMES 512 /* ranges of one cell; deeper ones count in their ancestor */
#define MAX_TRIES  64  /* attempts to separate a label from the message that repeats it */

static size_t count_char(struct sonde_str s, char c)
{
	size_t i, nr = 0;

	for (i = 0; i < s.n; i++)
		nr += s.p[i] == c;
	return nr;
}

/* Cuts the last `nr` colon fields off. */
static struct sonde_str cut_fields(struct sonde_str s, int nr)
{
	size_t i = s.n;

	while (i > 0 && nr > 0)
		nr -= s.p[--i] == ':';
	return nr == 0 ? (struct sonde_str){s.p, i} : s;
}

/* Returns LABEL of `LABEL:…:MESSAGE` if the message repeats the label, which may contain colons; p NULL if it does not. */
static struct sonde_str repeated_label(struct sonde_str s)
{
	size_t at = 0, tries;

	for (tries = 0; tries < MAX_TRIES && at * 2 < s.n; tries++, at++) {
		struct sonde_str label, middle;

		at += sonde_str_find((struct sonde_str){s.p + at, s.n - at}, ':');
		if (at * 2 + 2 > s.n)
			break;
		label = (struct sonde_str){s.p, at};
		middle = (struct sonde_str){s.p + at + 1, s.n - 2 * at - 2};
		if (s.p[s.n - at - 1] == ':' && memcmp(s.p + s.n - at, s.p, at) == 0 &&
			count_char(middle, ':') == NR_FIELDS - 2)
			return label;
	}
	return (struct sonde_str){NULL, 0};
}

static struct sonde_str label_of(struct sonde_str s)
{
	struct sonde_str label = {NULL, 0};

	if (!sonde_str_ends(s, ":none:none"))
		label = repeated_label(s);
	return label.p ? label : cut_fields(s, NR_FIELDS);
}

/* Reads one quoted item. */
static void read_item(
	struct csv_nvtx *n, struct sonde_records *r, struct sonde_str s, enum sonde_range_kind kind)
{
	static const struct sonde_str none = {"<default domain>", 16};
	struct sonde_str domain, label;
	struct csv_item *item;

	if (count_char(s, ':') < NR_FIELDS + 1u + (kind == SONDE_START_END)) {
		n->nr_lost++;
		return;
	}
	if (n->items.nr == MAX_FRAMES)
		return;
	item = sonde_push(&r->arena, &n->items);
	if (kind == SONDE_START_END) {
		double number = csv_number(sonde_str_cut(s, ':', &s));

		item->id = number >= 0 && number < 1e18 ? (uint64_t)number : 0;
	}
	domain = sonde_str_cut(s, ':', &s);
	label = label_of(s);
	item->domain = SONDE_NONE;
	if (!sonde_str_eq(domain, none)) {
		n->nr_doubtful += sonde_str_find(label, ':') < label.n;
		item->domain = sonde_records__copied(r, domain);
	}
	item->label = sonde_records__copied(r, label);
}

/* Returns where the item ends because another begins, at the first `" "`; or s.n. */
static size_t find_border(struct sonde_str s)
{
	size_t at = 0;

	while (at < s.n) {
		struct sonde_str rest = {s.p + at, s.n - at};

		if (sonde_str_starts(rest, "\"  \""))
			return at;
		at += 1 + sonde_str_find((struct sonde_str){rest.p + 1, rest.n - 1}, '"');
	}
	return s.n;
}

/* Reads the items of a cell: `"…" "…" `. A quote ends an item if the cell ends there or another item begins. */
static void read_items(
	struct csv_nvtx *n, struct sonde_records *r, struct sonde_str cell, enum sonde_range_kind kind)
{
	struct sonde_str rest = cell;

	n->items.nr = 0;
	for (;;) {
		size_t at = sonde_str_find(rest, '"');

		if (at == rest.n)
			return;
		rest = (struct sonde_str){rest.p + at + 1, rest.n - at - 1};
		at = find_border(rest);
		if (at < rest.n) {
			read_item(n, r, (struct sonde_str){rest.p, at}, kind);
			rest = (struct sonde_str){rest.p + at + 3, rest.n - at - 3};
			continue;
		}
		rest = sonde_str_trim(rest);
		if (sonde_str_ends(rest, "\""))
			rest.n--;
		if (rest.n)
			read_item(n, r, rest, kind);
		return;
	}
}

/* Reads the stack of one domain: the items of that domain from `first` on. */
static void read_stack(
	struct csv_nvtx *n, struct sonde_records *r, const struct csv_result *res, size_t first)
{
	uint32_t domain = n->items.at[first].domain;
	struct sonde_range range = {.parent = SONDE_NONE,
		.domain = domain,
		.process = res->process,
		.thread = res->thread};
	struct ncu_stack *stack = ncu_entries_stack(&n->entries, r, &range);
	size_t i, depth = 0, last = first;
	bool same = true;

	for (i = first; i < n->items.nr; i++)
		last = n->items.at[i].domain == domain ? i : last;
	for (i = first; i <= last; i++) {
		if (n->items.at[i].domain != domain)
			continue;
		range.label = n->items.at[i].label;
		same = same && !(res->rec.kind == SONDE_RESULT_RANGE && i == last);
		ncu_stack_frame(stack, r, depth++, &range, 0, &same);
		n->items.at[i].is_handled = true;
	}
	stack->frames.nr = depth;
	sonde_put(&r->arena, &n->entries.members, range.parent);
}

/* `1108  "…` → 1108 */
static void read_push_pop(struct csv_nvtx *n, struct sonde_records *r, struct csv_result *res,
	struct sonde_str cell)
{
	struct sonde_str rest, thread = sonde_str_cut(cell, ' ', &rest);
	double number = csv_number(thread);
	size_t i, nr_domains = 0;

	read_items(n, r, cell, SONDE_PUSH_POP);
	if (number >= 0 && number < 1e18)
		res->thread = (uint64_t)number;
	for (i = 0; i < n->items.nr; i++) {
		if (n->items.at[i].is_handled)
			continue;
		if (++nr_domains > 64) { /* no program has that many; the limit bounds a hostile cell */
			n->nr_lost++;
			break;
		}
		read_stack(n, r, res, i);
	}
}

/* Finds the entry, in the list of the row before, that `item` continues. */
static const struct ncu_frame *find_started(
	const struct ncu_stack *stack, const struct csv_item *item, const struct sonde_records *r)
{
	size_t i;

	for (i = 0; i < stack->frames.nr; i++) {
		const struct ncu_frame *f = &stack->frames.at[i];

		if (f->id == item->id && f->label == item->label &&
			r->ranges.at[f->range].domain == item->domain)
			return f;
	}
	return NULL;
}

/* Reads the start/end ranges; one list has those of all domains. */
static void read_started(struct csv_nvtx *n, struct sonde_records *r, const struct csv_result *res,
	struct sonde_str cell)
{
	struct sonde_range range = {
		.parent = SONDE_NONE, .process = res->process, .kind = SONDE_START_END};
	struct ncu_stack *stack = ncu_entries_stack(&n->entries, r, &range), now = {0};
	size_t i;

	read_items(n, r, cell, SONDE_START_END);
	for (i = 0; i < n->items.nr; i++) {
		const struct csv_item *item = &n->items.at[i];

		range.label = item->label;
		range.domain = item->domain;
		ncu_entries_started(&n->entries, r, &now,
			res->rec.kind == SONDE_RESULT_RANGE ? NULL : find_started(stack, item, r), &range, 0,
			item->id);
	}
	sonde_vec_release(&stack->frames);
	*stack = now;
}

void csv_read_nvtx(struct csv_nvtx *n, struct sonde_records *r, struct csv_result *res,
	const struct sonde_str cells[2])
{
	n->entries.members.nr = 0;
	if (cells[0].n)
		read_push_pop(n, r, res, cells[0]);
	if (cells[1].n || n->entries.stacks.nr)
		read_started(n, r, res, cells[1]);
	res->rec.open = sonde_records__set(r, n->entries.members.at, n->entries.members.nr);
}

void csv_read_range(struct csv_nvtx *n, struct sonde_records *r, struct csv_result *res, struct sonde_str label)
{
	struct sonde_range range = {.process = res->process,
		.domain = SONDE_NONE,
		.parent = SONDE_NONE,
		.kind = SONDE_PUSH_POP,
		.label = sonde_records__copied(r, label.n ? label : SONDE_STR("(unlabeled)"))};
	bool is_same = true;

	/* The offset of the row distinguishes entries, as ids of API calls do in a report. */
	ncu_stack_frame(
		ncu_entries_stack(&n->entries, r, &range), r, 0, &range, res->rec.payload + 1, &is_same);
	res->rec.open = sonde_records__set(r, &range.parent, 1);
}
