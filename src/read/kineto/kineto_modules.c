/*
 * Modules as regions. If stacks were recorded, a trace has a Python event for each call of a module:
 * `nn.Module: Linear_14`, its class and the number of the instance within its class. The frames between modules
 * are ignored. Modules and annotations nest by their times.
 *
 * A region is named by the class and the position among the modules of that class inside the same module, so that
 * all layers have the same children: `DecoderLayer_3/Attention/Linear_2`. A module that is the only one of
 * its class there has no number.
 *
 * Pieces of compiled models cannot be told apart by their numbers: each GraphModule is number 0 of a class of
 * its own, and a compiled graph is named by a hash that layers share. They are numbered in the order of their calls.
 */
#include "read/kineto/kineto_int.h"

#define MODULE	       "nn.Module: "
#define COMPILED_GRAPH "## Call CompiledFxGraph "

bool sonde_kineto__is_module(struct sonde_str name)
{
	return sonde_str_starts(name, MODULE);
}

/*
 * Whether a name is that of a forward function in a file, such as `vllm/attention.py(107): forward`. PyTorch's own
 * are excluded: they are around every module and say nothing.
 */
bool sonde_kineto__is_forward(struct sonde_str name)
{
	const char *end = name.n ? memrchr(name.p, ' ', name.n) : NULL;

	return end && end - name.p > 6 && end[-1] == ':' && end[-2] == ')' &&
	       memmem(end, (size_t)(name.p + name.n - end), "forward", 7) &&
	       memmem(name.p, (size_t)(end - name.p), ".py(", 4) && !sonde_str_starts(name, "torch/") &&
	       !memmem(name.p, (size_t)(end - name.p), "/torch/", 7);
}

/* --- whether modules become regions ---------------------------------------------------------------- */

struct launch_verdict {
	uint32_t annotation, module; /* spans around the last launch … */
	bool is_in_modules, says_little; /* … and the verdict for it */
	uint64_t nr, nr_little; /* launches inside modules, and those among them about which annotations say little */
};

static uint32_t no_compiled_graph(const struct kineto *k, uint32_t range)
{
	while (range != SONDE_NONE &&
		sonde_str_starts(sonde_records_str(k->r, (uint32_t)k->ranges.at[range].what), COMPILED_GRAPH))
		range = k->ranges.at[range].parent;
	return range;
}

/*
 * An annotation says little about a launch if more than half of the modules around the launch are inside the
 * annotation. PyTorch's own annotations around compiled graphs do not count.
 */
static void compare_with_modules(const struct kineto *k, struct launch_verdict *v)
{
	uint32_t annotation = no_compiled_graph(k, v->annotation), module = v->module;
	uint64_t from = annotation == SONDE_NONE ? 0 : k->ranges.at[annotation].begin_ns;
	size_t nr = 0, nr_inside = 0;

	for (; module != SONDE_NONE; module = k->modules.at[module].parent) {
		if (kineto_kind(&k->modules.at[module]) != KINETO_SPAN_MODULE)
			continue;
		nr++;
		nr_inside += k->modules.at[module].begin_ns >= from;
	}
	v->is_in_modules = nr > 0;
	v->says_little = nr_inside * 2 > nr;
}

static void judge_launch(struct kineto *k, struct launch_verdict *v, uint32_t thread, uint64_t ns)
{
	uint32_t module, annotation;

	if (thread == SONDE_NONE)
		return;
	module = sonde_spans__open_at(&k->modules, thread, ns);
	annotation = sonde_spans__open_at(&k->ranges, thread, ns);
	if (module != v->module || annotation != v->annotation) {
		v->module = module;
		v->annotation = annotation;
		compare_with_modules(k, v);
	}
	v->nr += v->is_in_modules;
	v->nr_little += v->is_in_modules && v->says_little;
}

/* Whether annotations say little about at least half of the launches inside modules. Call it when both are nested. */
static bool wants_modules(struct kineto *k)
{
	struct launch_verdict v = {.annotation = SONDE_NONE, .module = SONDE_NONE};
	size_t i;

	sonde_spans__rewind(&k->ranges);
	sonde_spans__rewind(&k->modules);
	for (i = 0; i < k->captured.nr && !k->src->work.failed; i++) /* a graph's work gets the regions of its captured calls */
		judge_launch(k, &v, k->captured.at[i].thread, k->captured.at[i].ns);
	sonde_spans__rewind(&k->ranges);
	sonde_spans__rewind(&k->modules);
	for (i = k->first_record; i < k->r->records.nr; i++)
		judge_launch(k, &v, k->r->records.at[i].call, k->r->records.at[i].call_ns);
	return v.nr ? v.nr_little * 2 >= v.nr : !k->ranges.nr;
}

/* --- names ----------------------------------------------------------------------------------------- */

/* A label of the trace, split into its parts. */
struct module_name {
	uint32_t class; /* string number */
	uint32_t instance;
	bool is_module, is_piece; /* is_piece: a piece of a compiled model */
};

/* A module at one position of the tree. */
struct module_node {
	uint32_t family, place; /* `place`: position in the family */
	uint32_t label; /* string number; SONDE_NONE = not made yet */
	uint32_t class;
};

struct naming {
	struct kineto *k;
	struct sonde_arena work;
	struct sonde_map labels; /* labels (string numbers, is_module) … */
	SONDE_VEC(struct module_name) names; /* … and their parts */
	struct sonde_map node_keys; /* {node around it, class, instance} */
	SONDE_VEC(struct module_node) nodes;
	struct sonde_map families;  /* {node around it, class}: modules of one class in one place … */
	SONDE_VEC(uint32_t) sizes;  /* … and the number of modules in each */
	struct sonde_map calls;	    /* pieces: {span of the module around it, class} … */
	SONDE_VEC(uint32_t) nr_calls; /* … and how often they were called so far */
	uint32_t *node, *inner; /* by span: its innermost module, as a node and as a span */
};

static struct module_name read_name(struct naming *n, uint32_t label, bool is_module)
{
	struct sonde_str text = sonde_records_str(n->k->r, label);
	struct module_name m = {.is_module = is_module};
	size_t i;

	if (!is_module) {
		m.is_module = m.is_piece = sonde_str_starts(text, COMPILED_GRAPH);
		if (m.is_piece)
			m.class = sonde_records__string(n->k->r, SONDE_STR("CompiledFxGraph"));
		return m;
	}
	text.p += strlen(MODULE);
	text.n -= strlen(MODULE);
	for (i = text.n; i && text.p[i - 1] >= '0' && text.p[i - 1] <= '9'; i--)
		;
	if (i > 1 && i < text.n && text.p[i - 1] == '_' && text.n - i < 10) {
		for (size_t d = i; d < text.n; d++)
			m.instance = m.instance * 10 + (uint32_t)(text.p[d] - '0');
		text.n = i - 1;
	}
	m.class = sonde_records__copied(n->k->r, text);
	m.is_piece = sonde_str_is(text, "GraphModule");
	return m;
}

static const struct module_name *name_of(struct naming *n, const struct sonde_span *span)
{
	uint32_t label = (uint32_t)span->what, number;
	bool is_module = kineto_kind(span) == KINETO_SPAN_MODULE, is_new;
	uint32_t key[2] = {label, is_module};

	number = sonde_intern_copy(&n->work, &n->labels, SONDE_BYTES(key), &is_new);
	if (is_new)
		sonde_put(&n->work, &n->names, read_name(n, label, is_module));
	return number < n->names.nr ? &n->names.at[number] : NULL;
}

/* How many pieces of this class were called before in the same call of the module around them. */
static uint32_t count_call(struct naming *n, uint32_t span, uint32_t class)
{
	uint32_t key[2] = {span, class}, number;

	number = sonde_intern_copy(&n->work, &n->calls, SONDE_BYTES(key), NULL);
	return sonde_fill(&n->work, &n->nr_calls, n->calls.nr) && number < n->nr_calls.nr ? n->nr_calls.at[number]++ : 0;
}

static uint32_t node_of(struct naming *n, uint32_t around, uint32_t class, uint32_t instance)
{
	uint32_t key[3] = {around, class, instance}, node, family;
	bool is_new;

	node = sonde_intern_copy(&n->work, &n->node_keys, SONDE_BYTES(key), &is_new);
	if (!is_new)
		return node;
	family = sonde_intern_copy(
		&n->work, &n->families, (struct sonde_str){(const char *)key, 2 * sizeof(*key)}, NULL);
	if (sonde_fill(&n->work, &n->sizes, n->families.nr) && family < n->sizes.nr)
		sonde_put(&n->work, &n->nodes,
			(struct module_node){family, n->sizes.at[family]++, SONDE_NONE, class});
	return node;
}

static void find_node(struct naming *n, uint32_t i)
{
	const struct sonde_span *span = &n->k->ranges.at[i];
	const struct module_name *name = kineto_kind(span) <= KINETO_SPAN_MODULE ? name_of(n, span) : NULL;
	uint32_t around = span->parent == SONDE_NONE ? SONDE_NONE : n->node[span->parent];
	uint32_t inner = span->parent == SONDE_NONE ? SONDE_NONE : n->inner[span->parent];

	n->node[i] = around;
	n->inner[i] = inner;
	if (!name || !name->is_module)
		return;
	n->node[i] = node_of(n, around, name->class,
		name->is_piece ? count_call(n, inner, name->class) : name->instance);
	n->inner[i] = i;
}

static uint32_t label_of(struct naming *n, struct module_node *node)
{
	struct sonde_buf *text = &n->k->scratch;

	if (node->label != SONDE_NONE)
		return node->label;
	sonde_buf_clear(text);
	sonde_buf_printf(text, "%.*s", SONDE_STR_ARG(sonde_records_str(n->k->r, node->class)));
	if (n->sizes.at[node->family] > 1)
		sonde_buf_printf(text, "_%u", node->place);
	n->work.failed |= text->failed;
	node->label = sonde_records__copied(n->k->r, sonde_buf_view(text));
	return node->label;
}

/*
 * Names the modules. Parents come before their children. The size of a family is known only after all spans were
 * seen, hence two passes.
 */
static void name_modules(struct naming *n)
{
	struct kineto *k = n->k;
	uint32_t i;

	n->node = sonde_arena_alloc(&n->work, k->ranges.nr * sizeof(*n->node));
	n->inner = sonde_arena_alloc(&n->work, k->ranges.nr * sizeof(*n->inner));
	for (i = 0; i < k->ranges.nr && !n->work.failed && !k->r->arena.failed; i++)
		find_node(n, i);
	for (i = 0; i < k->ranges.nr && !n->work.failed && !k->r->arena.failed; i++) {
		struct sonde_span *span = &k->ranges.at[i];
		const struct module_name *name = n->inner[i] == i ? name_of(n, span) : NULL;

		if (name)
			span->what = kineto_what(name->is_piece ? KINETO_SPAN_PIECE : KINETO_SPAN_MODULE,
				label_of(n, &n->nodes.at[n->node[i]]));
	}
	k->src->work.failed |= n->work.failed;
	sonde_arena_release(&n->work);
}

/* Adds the modules to the ranges, if they become ranges, and names them. */
void sonde_kineto__add_modules(struct kineto *k)
{
	bool is_auto = k->r->options.kineto_regions == SONDE_KINETO_AUTO;
	struct naming n = {.k = k};
	size_t i;

	sonde_spans__nest(&k->ranges, k->src, k->threads.nr);
	if (is_auto && k->modules.nr)
		sonde_spans__nest(&k->modules, k->src, k->threads.nr);
	if (!k->modules.nr || k->src->work.failed || (is_auto && !wants_modules(k)))
		return;
	for (i = 0; i < k->modules.nr; i++)
		sonde_put(&k->src->work, &k->ranges, k->modules.at[i]);
	k->nr_modules = k->modules.nr;
	sonde_vec_release(&k->modules);
	sonde_spans__nest(&k->ranges, k->src, k->threads.nr);
	if (!k->src->work.failed)
		name_modules(&n);
}
