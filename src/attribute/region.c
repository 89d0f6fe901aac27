/*
 * Range entries → regions.
 *
 * The stack is the truth about nesting: an entry's region is the path of labels
 * from the outermost range of its thread and domain down to itself. One
 * exception: an outermost range whose label is `P::rest`, where `P` is itself
 * an outermost range of the same process, is placed below `P` (the label rule).
 * Start/end ranges are roots of their own and never nest.
 *
 * The id of a region is its whole path, so the ids of nested ranges with long labels
 * need memory that grows with the square of the bytes in the capture. Ids longer than
 * LONG_ID share an amount of memory that grows with the labels and the entries. When it
 * is used up, a range that would need more counts in the range around it.
 */
#include "attribute/launches_int.h"

#include <string.h>

#define LONG_ID		1024u	    /* bytes; ids up to this length are not limited */
#define LONG_IDS_ALWAYS (16u << 20) /* bytes of long ids that any capture may have … */
#define LONG_IDS_SHARE	16u	    /* … and this many more for each byte of labels and of entries */
#define BYTES_OF_ENTRY	4u	    /* bytes that an entry counts as */
#define MAX_DEPTH	512u /* levels of a region of selection.known */
#define MAX_NAMED	64u /* most parents that a label `P::rest` may name, and most `::` of a label that are tried for one */

const char *sonde_region_kind_name(enum sonde_region_kind k)
{
	static const char *const names[] = {"push_pop", "start_end", "graph", "backward"};

	return names[k];
}

const char *sonde_region_kind_words(enum sonde_region_kind k)
{
	static const char *const words[] = {
		"push/pop", "start/end", "captured here into a CUDA graph", "backward pass of work here"};

	return words[k];
}

const char *sonde_region_kind_mark(enum sonde_region_kind k)
{
	static const char *const marks[] = {"", " (start/end)", " (graph)", " (backward)"};

	return marks[k];
}

struct sonde_str sonde_region_path(struct sonde_str id, enum sonde_region_kind k)
{
	return (struct sonde_str){id.p, k == SONDE_REGION_START_END && id.n >= 2 ? id.n - 2 : id.n};
}

void sonde_region_say(struct sonde_buf *out, struct sonde_str id, enum sonde_region_kind k)
{
	sonde_buf_str(out, sonde_region_path(id, k));
	sonde_buf_puts(out, sonde_region_kind_mark(k));
}

uint32_t sonde_build__key(struct sonde_arena *arena, struct sonde_map *map, const uint32_t *words,
	size_t nr, bool *is_new)
{
	const struct sonde_str bytes = {(const char *)words, nr * sizeof(*words)};

	return sonde_intern_copy(arena, map, bytes, is_new);
}

static void id_label(struct sonde_buf *b, struct sonde_str label)
{
	size_t i;

	for (i = 0; i < label.n; i++) {
		if (label.p[i] == '/' || label.p[i] == '\\' || label.p[i] == '@')
			sonde_buf_putc(b, '\\');
		sonde_buf_putc(b, label.p[i]);
	}
}

/*
 * No two regions have the same id, whatever the labels are: separators are escaped
 * inside labels and domains, and only the id of a start/end range ends in `@@`.
 */
static struct sonde_str make_id(struct sonde_build *b, const struct sonde_region *region)
{
	struct sonde_buf buf = {0};
	struct sonde_str id;

	if (region->parent != SONDE_NONE) {
		sonde_buf_str(&buf, b->l->regions.at[region->parent].id);
		sonde_buf_putc(&buf, '/');
	} else if (region->domain != SONDE_NONE) {
		id_label(&buf, sonde_records_str(b->r, region->domain));
		sonde_buf_putc(&buf, '@');
	}
	id_label(&buf, sonde_region_label(b->l, region));
	sonde_buf_puts(&buf, region->kind == SONDE_REGION_START_END ? "@@" : "");
	id = sonde_arena_dup(&b->l->arena, sonde_buf_view(&buf));
	b->l->arena.failed |= buf.failed;
	sonde_buf_release(&buf);
	return id;
}

/*
 * Returns the region `label` below region `parent`, creating it if new. `stack` gives its domain and kind. SONDE_NONE:
 * no memory.
 */
static uint32_t add_region(
	struct sonde_build *b, uint32_t parent, const struct sonde_stack *stack, uint32_t label)
{
	/*
	 * Entered ranges and origins share one region: the key holds no other kind than start/end. If it was ever
	 * entered, its kind is push/pop.
	 */
	uint32_t key[4] = {parent, label, stack->domain, stack->kind == SONDE_REGION_START_END};
	struct sonde_region region = {.parent = parent,
		.label = label,
		.domain = stack->domain,
		.kind = stack->kind};
	bool is_new;
	uint32_t number = sonde_build__key(&b->arena, &b->region_keys, key, 4, &is_new);

	if (is_new) {
		region.depth = parent == SONDE_NONE ? 0 : b->l->regions.at[parent].depth + 1;
		region.id = make_id(b, &region);
		b->long_id_bytes += region.id.n > LONG_ID ? region.id.n : 0;
		sonde_put(&b->l->arena, &b->l->regions, region);
	}
	if (sonde_build__failed(b))
		return SONDE_NONE;
	if (stack->kind == SONDE_REGION_PUSH_POP)
		b->l->regions.at[number].kind = SONDE_REGION_PUSH_POP;
	return number;
}

static bool is_outermost(
	struct sonde_build *b, const struct sonde_range *of, struct sonde_str label)
{
	uint32_t key[3] = {of->process, of->domain, sonde_map_find(&b->l->labels, label)};

	return key[2] != SONDE_NONE &&
	       sonde_map_find(&b->outermost, SONDE_BYTES(key)) != SONDE_NONE;
}

/* The longest prefix `P` of a label `P::rest` such that the process also has an outermost range `P`; n = 0 = none. */
static struct sonde_str named_parent(
	struct sonde_build *b, const struct sonde_range *of, struct sonde_str label)
{
	size_t i, nr_asked = 0;

	for (i = label.n; i-- > 1 && nr_asked < MAX_NAMED;) {
		struct sonde_str prefix = {label.p, i};

		if (i + 1 >= label.n || label.p[i] != ':' || label.p[i + 1] != ':')
			continue;
		nr_asked++;
		if (is_outermost(b, of, prefix))
			return prefix;
	}
	return (struct sonde_str){NULL, 0};
}

/* The region of an outermost stack: a root, or below the parents that its label names (the label rule). */
static uint32_t root_region(
	struct sonde_build *b, const struct sonde_stack *stack, const struct sonde_range *of)
{
	struct sonde_str label = b->l->labels.keys[stack->label];
	uint32_t region = SONDE_NONE;

	b->scratch.nr = 0;
	while (!b->l->selection.stack_only && stack->kind == SONDE_PUSH_POP) {
		label = named_parent(b, of, label);
		if (!label.n)
			break;
		if (b->scratch.nr == MAX_NAMED) { /* so many parents are not real nesting: the region becomes a root */
			b->scratch.nr = 0;
			break;
		}
		sonde_put(&b->arena, &b->scratch, sonde_map_find(&b->l->labels, label));
	}
	while (b->scratch.nr)
		region = add_region(b, region, stack, b->scratch.at[--b->scratch.nr]);
	return add_region(b, region, stack, stack->label);
}

/* Whether a label could name its parent. */
static bool may_name_parent(struct sonde_str label)
{
	return label.n && memmem(label.p, label.n, "::", 2) != NULL;
}

/* Whether the id of a nested region would exceed the memory for long ids. Invariant 13. */
static bool is_too_long(const struct sonde_build *b, const struct sonde_stack *stack)
{
	size_t around = b->l->regions.at[b->stacks.at[stack->parent].region].id.n,
	       need = around + 1 + b->l->labels.keys[stack->label].n;

	return need > LONG_ID && b->long_id_bytes + need > b->max_long_ids;
}

/*
 * Returns the number of `stack`, adding it if new, or the number of its parent if its id would take too much memory.
 * `of` is a range with this stack if the stack is outermost, else NULL. SONDE_NONE: no memory.
 */
static uint32_t add_stack(struct sonde_build *b, struct sonde_stack *stack,
	const struct sonde_range *of)
{
	uint32_t key[5] = {stack->parent, stack->label, stack->domain, stack->kind,
		of ? of->process : SONDE_NONE};
	uint32_t number, *recent = sonde_recent__of(&b->recent_stacks, key);
	bool is_new;

	if (*recent)
		return *recent - 1;
	/*
	 * Only a label that may name its parent can belong to different regions in different processes, so only then
	 * the process is in the key.
	 */
	if (!of || !may_name_parent(b->l->labels.keys[stack->label]))
		key[4] = SONDE_NONE;
	if (!of && is_too_long(b, stack) && sonde_map_find(&b->stack_keys, SONDE_BYTES(key)) == SONDE_NONE)
		return stack->parent;
	number = sonde_build__key(&b->arena, &b->stack_keys, key, 5, &is_new);
	*recent = number == SONDE_NONE ? 0 : number + 1;
	if (!is_new)
		return number;
	if (of)
		stack->region = root_region(b, stack, of);
	else
		stack->region = add_region(
			b, b->stacks.at[stack->parent].region, stack, stack->label);
	stack->depth = of ? 0 : b->stacks.at[stack->parent].depth + 1;
	sonde_put(&b->arena, &b->stacks, *stack);
	return sonde_build__failed(b) ? SONDE_NONE : number;
}

uint32_t sonde_build__child(
	struct sonde_build *b, uint32_t parent, uint32_t label, enum sonde_region_kind kind)
{
	struct sonde_stack stack = {.parent = parent,
		.label = label,
		.domain = b->stacks.at[parent].domain,
		.kind = (uint8_t)kind};

	return add_stack(b, &stack, NULL);
}

uint32_t sonde_build__root(struct sonde_build *b, uint32_t process, uint32_t domain, uint32_t label,
	enum sonde_region_kind kind)
{
	const struct sonde_range of = {.process = process, .domain = domain, .kind = (uint8_t)kind};
	struct sonde_stack stack = {
		.parent = SONDE_NONE, .label = label, .domain = domain, .kind = (uint8_t)kind};

	return add_stack(b, &stack, &of);
}

/* Marks a range that is not an entry of any region. */
static void cut_range(struct sonde_build *b, uint32_t range)
{
	if (!b->is_cut)
		b->is_cut = sonde_arena_calloc(&b->arena, b->r->ranges.nr, sizeof(*b->is_cut));
	if (b->is_cut)
		b->is_cut[range] = true;
	b->nr_cut++;
}

/*
 * Finds the stack of an entry. `below` is the stack that a backward operator is placed below; SONDE_NONE = use the range
 * around it.
 */
static void add_entry(struct sonde_build *b, uint32_t range, uint32_t below)
{
	const struct sonde_range *g = &b->r->ranges.at[range];
	struct sonde_stack stack = {.parent = below,
		.label = sonde_build__label(b, range),
		.domain = g->domain,
		.kind = g->kind};

	if (below == SONDE_NONE && g->parent != SONDE_NONE)
		stack.parent = b->stack_of[g->parent];
	b->stack_of[range] = add_stack(b, &stack, stack.parent == SONDE_NONE ? g : NULL);
	if (stack.parent != SONDE_NONE && b->stack_of[range] == stack.parent)
		cut_range(b, range);
}

/* Adds backward operators and the ranges inside them, once all others have stacks. */
static void add_backward(struct sonde_build *b)
{
	uint32_t i;

	sonde_build__place_backward_below(b);
	for (i = 0; i < b->r->ranges.nr && !sonde_build__failed(b); i++) {
		const struct sonde_backward *w = b->backward_of[i] == SONDE_NONE
							 ? NULL
							 : &b->backward.at[b->backward_of[i]];

		if (w)
			add_entry(b, i, w->range == i ? w->stack : SONDE_NONE);
	}
}

static void add_entries(struct sonde_build *b)
{
	uint32_t i;

	for (i = 0; i < b->r->ranges.nr && !sonde_build__failed(b); i++)
		if (!b->is_left_out || !b->is_left_out[i])
			add_entry(b, i, SONDE_NONE);
	if (b->backward.nr && !sonde_build__failed(b))
		add_backward(b);
}

static void list_outermost(struct sonde_build *b)
{
	uint32_t i, *recent;

	for (i = 0; i < b->r->ranges.nr; i++) {
		const struct sonde_range *g = &b->r->ranges.at[i];
		uint32_t key[SONDE_RECENT_WORDS] = {g->process, g->domain, 0};

		if (g->parent != SONDE_NONE || g->kind != SONDE_PUSH_POP)
			continue;
		key[2] = sonde_build__label(b, i);
		recent = sonde_recent__of(&b->recent_outermost, key);
		if (*recent)
			continue;
		sonde_build__key(&b->arena, &b->outermost, key, 3, NULL);
		*recent = 1;
	}
}

int sonde_build__regions(struct sonde_build *b, struct sonde_err *err)
{
	uint32_t i;

	list_outermost(b);
	b->stack_of = sonde_arena_calloc(&b->arena, b->r->ranges.nr, sizeof(*b->stack_of));
	b->max_long_ids = LONG_IDS_ALWAYS + BYTES_OF_ENTRY * LONG_IDS_SHARE * (uint64_t)b->r->ranges.nr;
	for (i = 0; i < b->l->labels.nr; i++)
		b->max_long_ids += LONG_IDS_SHARE * b->l->labels.keys[i].n;
	add_entries(b);
	if (b->placed_below.nr && !sonde_build__failed(b))
		sonde_build__place_records_below(b);
	if (b->nr_not_placed)
		sonde_note(&b->l->notes,
			"%llu launches count only where they were launched, because the regions where they were written would "
			"take too much memory; with report.origins=off all launches count where they were launched",
			(unsigned long long)b->nr_not_placed);
	sonde_reserve(&b->l->arena, &b->l->region_of, b->r->ranges.nr);
	if (sonde_build__status(b, err))
		return SONDE_ERR_NOMEM;
	for (i = 0; i < b->r->ranges.nr; i++)
		b->l->region_of.at[b->l->region_of.nr++] =
			b->is_cut && b->is_cut[i] ? SONDE_NONE : b->stacks.at[b->stack_of[i]].region;
	if (b->nr_cut)
		sonde_note(&b->l->notes,
			"%llu %s nested too deep for their long names: what is in them counts in the range "
			"around them; rules in report.labels can make names shorter",
			(unsigned long long)b->nr_cut, b->nr_cut == 1 ? "range is" : "ranges are");
	return 0;
}

/*
 * --- regions that are known from another capture -------------------------------------------------
 *
 * The look (the first, cheap capture of a run) saw their ranges. An ncu report knows only ranges with launches,
 * so the capture itself has no entry of the others.
 */

/*
 * Writes the next part of an id to `out`, up to a `/` or `@` that is not escaped, without escapes. Returns that `/`
 * or `@`, or 0 at the end.
 */
static char next_part(struct sonde_str *rest, struct sonde_buf *out)
{
	char end = '\0';
	size_t i;

	sonde_buf_clear(out);
	for (i = 0; i < rest->n && !end; i++) {
		if (rest->p[i] == '\\' && i + 1 < rest->n)
			sonde_buf_putc(out, rest->p[++i]);
		else if (rest->p[i] == '/' || rest->p[i] == '@')
			end = rest->p[i];
		else
			sonde_buf_putc(out, rest->p[i]);
	}
	*rest = (struct sonde_str){rest->p + i, rest->n - i};
	return end;
}

/* Makes the stacks of one id in one process. An id is skipped if the capture does not have its domain. */
static int add_known_id(struct sonde_build *b, struct sonde_str id, uint32_t process, struct sonde_err *err)
{
	bool is_start_end = sonde_str_ends(id, "@@");
	enum sonde_region_kind kind = is_start_end ? SONDE_REGION_START_END : SONDE_REGION_PUSH_POP;
	uint32_t domain = SONDE_NONE, stack = SONDE_NONE;
	struct sonde_str rest = {id.p, id.n - (is_start_end ? 2 : 0)};
	struct sonde_buf part = {0};
	unsigned depth;
	int rc = 0;

	for (depth = 0; rc == 0 && depth < MAX_DEPTH; depth++) {
		char end = next_part(&rest, &part);
		uint32_t label;

		if (end == '@' && depth == 0) {
			domain = sonde_map_find(&b->r->strings, sonde_buf_view(&part));
			if (domain == SONDE_NONE)
				break;
			continue;
		}
		rc = sonde_build__rewrite(b, sonde_buf_view(&part), &label, err);
		if (rc)
			break;
		stack = stack == SONDE_NONE ? sonde_build__root(b, process, domain, label, kind)
					    : sonde_build__child(b, stack, label, kind);
		rc = sonde_build__status(b, err);
		if (end != '/')
			break;
	}
	if (stack != SONDE_NONE)
		sonde_put(&b->arena, &b->known, (struct sonde_known){stack, process});
	b->step.failed |= part.failed;
	sonde_buf_release(&part);
	return rc ? rc : sonde_build__status(b, err);
}

int sonde_build__known(struct sonde_build *b, struct sonde_err *err)
{
	const struct sonde_words ids = b->l->selection.known;
	uint32_t process;
	size_t i;
	int rc = 0;

	for (process = 0; process < b->r->processes.nr; process++)
		for (i = 0; i < ids.nr && rc == 0; i++)
			rc = add_known_id(b, sonde_str_from(ids.at[i]), process, err);
	return rc;
}
