/*
 * Origins: the path where work was written, placed below the place where it was
 * launched (report.origins=below).
 *
 * A node of a CUDA graph was captured inside ranges, and the forward operator of
 * a backward operator ran inside ranges: that place is the origin. Its path is
 * placed below the place of the launch, without the part that all origins of the
 * graph, or of all backward passes launched there, have in common: nodes captured
 * in capture/layer0 and capture/layer1, launched in decode, are in decode/layer0
 * and decode/layer1.
 *
 * Backward operators are found among the ranges: PyTorch's emit_nvtx writes a range per
 * operator, `aten::addmm, seq = 7, op_id = 12`. The autograd engine runs
 * `AddmmBackward0, seq = 7` inside `autograd::engine::evaluate_function:
 * AddmmBackward0`, mostly on a thread of its own. A forward operator and its backward
 * operator have the same number.
 *
 * A backward operator and all ranges inside it are placed below the place that launched it:
 * the range around it, or the open range of the one other thread that it works for.
 */
#include "attribute/launches_int.h"

#include <ctype.h>
#include <string.h>

/* Limit for the bytes of region ids made here. They are paths below paths, so a few bytes of a capture could make many. */
#define MAX_ID_BYTES (128u << 20)
#define ENGINE "autograd::engine::evaluate_function: "
#define NO_SEQ UINT64_MAX

/* --- finding backward operators and their origins ---------------------------------------------- */

/* Facts read from the raw label of a range. */
struct operator {
	uint64_t seq; /* sequence number, NO_SEQ = none */
	bool is_backward;
	bool is_op; /* a PyTorch operator, not a range of the program's own */
	bool is_known; /* the label has been read */
};

/* All of it is in b->step. */
struct search {
	struct sonde_build *b;
	struct operator *ops; /* by string number */
	struct sonde_map forward; /* {process, sequence number} → index in `latest` */
	SONDE_VEC(uint32_t) latest; /* the forward range with that number that began last */
};

static uint64_t number_after(struct sonde_str label, const char *what)
{
	size_t n = strlen(what);
	const char *at = label.n > n ? memmem(label.p, label.n, what, n) : NULL;
	uint64_t v = 0;
	size_t i;

	if (!at)
		return NO_SEQ;
	i = (size_t)(at - label.p) + n;
	if (i == label.n || !isdigit((unsigned char)label.p[i]))
		return NO_SEQ;
	for (; i < label.n && isdigit((unsigned char)label.p[i]) && v < UINT64_MAX / 16; i++)
		v = v * 10 + (uint64_t)(label.p[i] - '0');
	return v;
}

/* `AddmmBackward0, …`, `FlashAttnFuncBackward, …` */
static bool is_backward_name(struct sonde_str label)
{
	const char *end = memmem(label.p, label.n, ", ", 2);
	size_t n = end ? (size_t)(end - label.p) : label.n;

	while (n && isdigit((unsigned char)label.p[n - 1]))
		n--;
	return n >= 8 && memcmp(label.p + n - 8, "Backward", 8) == 0;
}

static const struct operator *read_operator(struct search *s, uint32_t string)
{
	struct operator *op = &s->ops[string];
	struct sonde_str label = sonde_records_str(s->b->r, string);

	if (op->is_known || !label.n)
		return op;
	op->is_known = true;
	op->seq = number_after(label, ", seq = ");
	op->is_op = op->seq != NO_SEQ || number_after(label, ", op_id = ") != NO_SEQ ||
		    sonde_str_starts(label, ENGINE);
	op->is_backward = sonde_str_starts(label, ENGINE) ||
			  (op->seq != NO_SEQ && is_backward_name(label));
	return op;
}

/* Marks the ranges that are a backward operator or inside one. */
static void find_operators(struct search *s)
{
	struct sonde_build *b = s->b;
	uint32_t i;

	for (i = 0; i < b->r->ranges.nr; i++) {
		const struct sonde_range *g = &b->r->ranges.at[i];
		uint32_t around = g->parent == SONDE_NONE ? SONDE_NONE : b->backward_of[g->parent];

		b->backward_of[i] = around;
		if (around != SONDE_NONE || g->kind != SONDE_PUSH_POP ||
			!read_operator(s, g->label)->is_backward)
			continue;
		b->backward_of[i] = (uint32_t)b->backward.nr;
		sonde_put(&b->arena, &b->backward, (struct sonde_backward){.range = i, .origin = SONDE_NONE});
	}
}

static uint32_t find_forward(struct search *s, const struct sonde_range *g, bool *is_new)
{
	uint64_t seq = read_operator(s, g->label)->seq;
	uint32_t key[3] = {g->process, (uint32_t)seq, (uint32_t)(seq >> 32)};

	if (is_new)
		return sonde_build__key(&s->b->step, &s->forward, key, 3, is_new);
	return sonde_map_find(&s->forward, SONDE_BYTES(key));
}

/*
 * Among forward operators with the same number, the one that began last made the backward operator:
 * PyTorch increments the number when it makes a backward operator, so enclosing operators got the same number earlier.
 */
static void list_forward(struct search *s)
{
	const struct sonde_range *ranges = s->b->r->ranges.at;
	uint32_t i, n, *slot;
	bool is_new;

	for (i = 0; i < s->b->r->ranges.nr; i++) {
		const struct sonde_range *g = &ranges[i];

		if (s->b->backward_of[i] != SONDE_NONE || g->kind != SONDE_PUSH_POP ||
			read_operator(s, g->label)->seq == NO_SEQ)
			continue;
		n = find_forward(s, g, &is_new);
		slot = sonde_slot(&s->b->step, &s->latest, n);
		if (is_new || ranges[*slot].time.begin_ns <= g->time.begin_ns)
			*slot = i;
	}
}

/* The innermost range around a forward operator that is not an operator itself; SONDE_NONE = none. */
static uint32_t around_operator(struct search *s, uint32_t range)
{
	const struct sonde_range *ranges = s->b->r->ranges.at;

	while (range != SONDE_NONE && read_operator(s, ranges[range].label)->is_op)
		range = ranges[range].parent;
	return range;
}

static void match_backward(struct search *s)
{
	struct sonde_build *b = s->b;
	uint32_t i, n;

	for (i = 0; i < b->r->ranges.nr; i++) {
		const struct sonde_range *g = &b->r->ranges.at[i], *f;
		struct sonde_backward *w;

		if (b->backward_of[i] == SONDE_NONE || read_operator(s, g->label)->seq == NO_SEQ)
			continue;
		w = &b->backward.at[b->backward_of[i]];
		n = w->origin == SONDE_NONE ? find_forward(s, g, NULL) : SONDE_NONE;
		if (n == SONDE_NONE)
			continue;
		f = &b->r->ranges.at[s->latest.at[n]];
		if (f->time.begin_ns <= g->time.begin_ns)
			w->origin = around_operator(s, s->latest.at[n]);
	}
}

/* For backward operators that are outermost on their thread: finds the open ranges of the thread they work for. */
static void ask_for_places(struct sonde_build *b)
{
	SONDE_VEC(struct sonde_question) q = {0};
	bool *is_left_out = sonde_arena_calloc(&b->arena, b->r->ranges.nr, sizeof(*is_left_out));
	uint32_t i;

	for (i = 0; is_left_out && i < b->r->ranges.nr; i++)
		is_left_out[i] = b->backward_of[i] != SONDE_NONE;
	for (i = 0; i < b->backward.nr; i++) {
		const struct sonde_range *g = &b->r->ranges.at[b->backward.at[i].range];

		if (g->parent == SONDE_NONE && g->time.begin_ns && !b->l->selection.own_threads)
			sonde_put(&b->step, &q, (struct sonde_question){.ns = g->time.begin_ns,
							.thread = g->thread,
							.process = g->process,
							.index = i});
	}
	sonde_build__ask(b, q.at, q.nr, is_left_out);
	for (i = 0; i < q.nr; i++)
		b->backward.at[q.at[i].index].lent = q.at[i].set;
	b->is_left_out = is_left_out;
}

/* Whether any string of the capture has a sequence number. */
static bool has_numbers(const struct sonde_build *b)
{
	size_t i;

	for (i = 0; i < b->r->strings.nr; i++)
		if (number_after(b->r->strings.keys[i], ", seq = ") != NO_SEQ)
			return true;
	return false;
}

int sonde_build__find_backward(struct sonde_build *b, struct sonde_err *err)
{
	struct search s = {.b = b};

	if (b->l->selection.no_origins || !has_numbers(b))
		return 0;
	s.ops = sonde_arena_calloc(&b->step, b->r->strings.nr + 1, sizeof(*s.ops));
	b->backward_of = sonde_arena_alloc(&b->arena, (b->r->ranges.nr + 1) * sizeof(*b->backward_of));
	if (sonde_build__status(b, err))
		return SONDE_ERR_NOMEM;
	find_operators(&s);
	list_forward(&s);
	if (sonde_build__status(b, err)) /* what they listed is used by number from here on */
		return SONDE_ERR_NOMEM;
	match_backward(&s);
	ask_for_places(b);
	return sonde_build__status(b, err);
}

/* --- placing paths below places ----------------------------------------------------------------- */

/* The innermost frame that two stacks have in common, SONDE_NONE = none. */
static uint32_t common_frame(const struct sonde_build *b, uint32_t x, uint32_t y)
{
	const struct sonde_stack *s = b->stacks.at;

	while (x != y && x != SONDE_NONE && y != SONDE_NONE) {
		uint32_t deeper = s[x].depth >= s[y].depth ? x : y;

		if (s[x].depth == s[y].depth)
			y = s[y].parent;
		if (deeper == x)
			x = s[x].parent;
		else
			y = s[y].parent;
	}
	return x == y ? x : SONDE_NONE;
}

/* Returns the stack `place` extended by those frames of `origin` that are inside `cut`; SONDE_NONE: no memory. */
static uint32_t place_path_below(struct sonde_build *b, uint32_t place, uint32_t origin, uint32_t cut,
	enum sonde_region_kind kind)
{
	uint32_t at, nr = 0, before = (uint32_t)b->l->regions.nr, inner;
	bool is_cut = false;

	if (b->below_bytes > MAX_ID_BYTES) {
		b->nr_not_placed++;
		return place;
	}
	for (at = origin; at != cut && at != SONDE_NONE; at = b->stacks.at[at].parent)
		nr++;
	if (!sonde_reserve(&b->arena, &b->frames, nr))
		return SONDE_NONE;
	b->frames.nr = nr;
	for (at = origin; nr; at = b->stacks.at[at].parent)
		b->frames.at[--nr] = b->stacks.at[at].label;
	for (nr = 0; nr < b->frames.nr && place != SONDE_NONE; nr++, place = inner) {
		inner = sonde_build__child(b, place, b->frames.at[nr], kind);
		is_cut |= inner == place;
	}
	b->nr_not_placed += is_cut;
	for (; before < b->l->regions.nr; before++)
		b->below_bytes += b->l->regions.at[before].id.n;
	return place;
}

/* --- the path that the origins of a group share ------------------------------------------------ */

/*
 * Groups of origin stacks, as a union-find forest with the shared path at each root. Two stacks are in one group if
 * one graph launch has nodes of both, or if their graphs were launched in one entry of a range: such graphs are parts
 * of one step, for example its layers. The arrays are freed at the end of the step of the build.
 */
struct graphs {
	uint32_t *up;	  /* by stack: the next stack towards the root; itself = a root, SONDE_NONE = not an origin */
	uint32_t *shared; /* by root: the stack that all origins of the group share, SONDE_NONE = none */
	bool *has_shared;
	uint32_t *of_entry; /* by range: an origin stack whose graph was launched in it, SONDE_NONE = none */
};

static uint32_t root_of(struct graphs *g, uint32_t stack)
{
	while (g->up[stack] != stack)
		stack = g->up[stack] = g->up[g->up[stack]];
	return stack;
}

static void unite_graphs(struct graphs *g, uint32_t a, uint32_t c)
{
	uint32_t x, y;

	if (g->up[a] == SONDE_NONE)
		g->up[a] = a;
	if (g->up[c] == SONDE_NONE)
		g->up[c] = c;
	x = root_of(g, a);
	y = root_of(g, c);
	if (x != y)
		g->up[x > y ? x : y] = x > y ? y : x;
}

static void find_shared(const struct sonde_build *b, struct graphs *g)
{
	uint32_t i, root;

	for (i = 0; i < b->stacks.nr; i++) {
		if (g->up[i] == SONDE_NONE)
			continue;
		root = root_of(g, i);
		g->shared[root] = g->has_shared[root] ? common_frame(b, g->shared[root], i) : i;
		g->has_shared[root] = true;
	}
}

static void graphs_init(struct graphs *g, struct sonde_arena *step, size_t nr, size_t nr_ranges)
{
	g->up = sonde_arena_alloc(step, nr * sizeof(*g->up));
	g->shared = sonde_arena_alloc(step, nr * sizeof(*g->shared));
	g->has_shared = sonde_arena_calloc(step, nr, sizeof(*g->has_shared));
	g->of_entry = sonde_arena_alloc(step, nr_ranges * sizeof(*g->of_entry));
	if (step->failed)
		return;
	memset(g->up, 0xff, nr * sizeof(*g->up));
	memset(g->of_entry, 0xff, nr_ranges * sizeof(*g->of_entry));
}

/* For each stack that launched backward work: the path that all origins of that work share; in b->step. */
struct passes {
	struct sonde_map keys; /* launching stack → index in `shared` */
	SONDE_VEC(uint32_t) shared;
};

static void add_pass(struct sonde_build *b, struct passes *p, uint32_t place, uint32_t origin)
{
	bool is_new;
	uint32_t n = sonde_build__key(&b->step, &p->keys, &place, 1, &is_new),
		 *slot = sonde_slot(&b->step, &p->shared, n);

	*slot = is_new ? origin : common_frame(b, *slot, origin);
}

static uint32_t shared_at(const struct passes *p, uint32_t place)
{
	uint32_t n = sonde_map_find(&p->keys, SONDE_BYTES(place));

	return n == SONDE_NONE ? SONDE_NONE : p->shared.at[n];
}

/* --- origins of records ------------------------------------------------------------------------ */

/* The open range in the domain of the origin: the launch is placed below it. SONDE_NONE = none was open. */
static uint32_t entry_of_launch(const struct sonde_build *b, uint32_t launch)
{
	const struct sonde_record *rec = &b->r->records.at[launch];
	const uint32_t *members;
	struct sonde_set set =
		sonde_launches_set(b->l, b->l->launches.at[launch].open, &members);
	uint32_t i;

	for (i = 0; i < set.nr; i++) {
		const struct sonde_range *g = &b->r->ranges.at[members[i]];

		if (g->kind == SONDE_PUSH_POP && g->domain == b->r->ranges.at[rec->origin].domain)
			return members[i];
	}
	return SONDE_NONE;
}

static uint32_t place_of_launch(const struct sonde_build *b, uint32_t launch)
{
	uint32_t entry = entry_of_launch(b, launch);

	return entry == SONDE_NONE ? SONDE_NONE : b->stack_of[entry];
}

static bool is_same_call(const struct sonde_record *a, const struct sonde_record *c)
{
	return a->caller == c->caller && a->call_ns == c->call_ns;
}

static void group_records(struct sonde_build *b, struct graphs *g, struct passes *p)
{
	const struct sonde_record *last = NULL;
	uint32_t place, entry;
	size_t i;

	for (i = 0; i < b->placed_below.nr; i++) {
		const struct sonde_record *rec = &b->r->records.at[b->placed_below.at[i].launch];

		if (rec->origin_kind == SONDE_ORIGIN_GRAPH) {
			unite_graphs(g, b->stack_of[rec->origin],
				b->stack_of[last && is_same_call(last, rec) ? last->origin
									    : rec->origin]);
			entry = entry_of_launch(b, b->placed_below.at[i].launch);
			if (entry != SONDE_NONE && g->of_entry[entry] != SONDE_NONE)
				unite_graphs(g, b->stack_of[rec->origin], g->of_entry[entry]);
			if (entry != SONDE_NONE)
				g->of_entry[entry] = b->stack_of[rec->origin];
			last = rec;
		}
		place = rec->origin_kind == SONDE_ORIGIN_BACKWARD
				? place_of_launch(b, b->placed_below.at[i].launch)
				: SONDE_NONE;
		if (place != SONDE_NONE)
			add_pass(b, p, place, b->stack_of[rec->origin]);
	}
	find_shared(b, g);
}

static void place_record_below(
	struct sonde_build *b, struct graphs *g, struct passes *p, struct sonde_placed_below *below)
{
	const struct sonde_record *rec = &b->r->records.at[below->launch];
	bool is_graph = rec->origin_kind == SONDE_ORIGIN_GRAPH;
	uint32_t place = place_of_launch(b, below->launch), origin, cut;

	if (place == SONDE_NONE)
		return;
	origin = b->stack_of[rec->origin];
	cut = is_graph ? g->shared[root_of(g, origin)] : shared_at(p, place);
	below->place = place;
	below->stack = place_path_below(b, place, origin, cut,
		is_graph ? SONDE_REGION_GRAPH : SONDE_REGION_BACKWARD);
}

void sonde_build__place_records_below(struct sonde_build *b)
{
	struct graphs g = {0};
	struct passes p = {0};
	size_t i;

	graphs_init(&g, &b->step, b->stacks.nr, b->r->ranges.nr);
	if (!b->step.failed)
		group_records(b, &g, &p);
	for (i = 0; i < b->placed_below.nr && !sonde_build__failed(b); i++)
		place_record_below(b, &g, &p, &b->placed_below.at[i]);
}

/* --- backward operators that are ranges themselves -------------------------------------------- */

/* The stack a backward operator was launched in: the stack around it, or one of the thread it works for. */
static uint32_t place_of_operator(const struct sonde_build *b, const struct sonde_backward *w)
{
	const struct sonde_range *g = &b->r->ranges.at[w->range];
	const uint32_t *members;
	struct sonde_set set;
	uint32_t i;

	if (g->parent != SONDE_NONE)
		return b->stack_of[g->parent];
	set = sonde_launches_set(b->l, w->lent, &members);
	for (i = 0; i < set.nr; i++)
		if (b->r->ranges.at[members[i]].domain == g->domain)
			return b->stack_of[members[i]];
	return SONDE_NONE;
}

void sonde_build__place_backward_below(struct sonde_build *b)
{
	struct passes p = {0};
	size_t i;

	for (i = 0; i < b->backward.nr; i++) {
		struct sonde_backward *w = &b->backward.at[i];

		w->stack = place_of_operator(b, w);
		if (w->stack != SONDE_NONE && w->origin != SONDE_NONE)
			add_pass(b, &p, w->stack, b->stack_of[w->origin]);
	}
	for (i = 0; i < b->backward.nr && !sonde_build__failed(b); i++) {
		struct sonde_backward *w = &b->backward.at[i];

		if (w->stack == SONDE_NONE || w->origin == SONDE_NONE)
			continue;
		w->stack = place_path_below(b, w->stack, b->stack_of[w->origin], shared_at(&p, w->stack),
			SONDE_REGION_BACKWARD);
	}
}
