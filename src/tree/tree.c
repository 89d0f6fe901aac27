/*
 * Cells → a tree. The order of the steps matters: all that is chosen is planned before plans are complete;
 * ranks are compared before nodes get their times, which say who waited; aggregates are summed from scopes.
 */
#include "fold/sampled.h"
#include "tree/tree_int.h"

#include "base/alloc.h"
#include "catalogue/attributes.h"

#include <string.h>

/* The number of a method among those of a column, added when new. */
static uint8_t add_method(struct sonde_column *c, const char *says)
{
	uint8_t i;

	for (i = 0; i < SONDE_MAX_METHODS && c->methods[i]; i++)
		if (strcmp(c->methods[i], says) == 0)
			return i;
	if (i == SONDE_MAX_METHODS)
		return 1; /* there are not as many weights */
	c->methods[i] = says;
	return i;
}

/* Whether the values of a metric are words: the first one tells. */
static bool is_text(const struct sonde_tree *t, uint32_t metric)
{
	const struct sonde_cells *c = t->cells;
	size_t i;

	for (i = 0; i < c->cells.nr; i++) {
		const struct sonde_cell *cell = &c->cells.at[i];
		uint32_t at = sonde_cells_kit(c, cell->scope)->at[metric];

		if (at != SONDE_NONE && cell->acc[at].nr)
			return cell->acc[at].modes && cell->acc[at].modes->nr &&
			       cell->acc[at].modes->at[0].is_text;
	}
	return false;
}

#define SAMPLED "samples of the device, split among the launches by least squares"

/* Columns know how their figures are made and whether they are words. */
static void describe_columns(struct sonde_tree *t)
{
	struct sonde_plans *s = t->plans;
	size_t i;

	for (i = 0; i < t->columns.nr; i++) {
		struct sonde_column *c = &t->columns.at[i];
		const struct sonde_rollup *p;
		uint32_t at;

		if (c->metric == SONDE_NONE) {
			c->methods[0] = SAMPLED;
			c->quality = SONDE_QUALITY_SAMPLED;
			continue;
		}
		p = &s->plans.at[s->slot_of[c->metric]];
		c->methods[0] = p->says[0];
		c->methods[1] = p->says[1];
		c->quality = p->quality;
		for (at = p->next; at != SONDE_NONE; at = s->plans.at[at].next)
			s->plans.at[at].saying = add_method(c, s->plans.at[at].says[0]);
		c->is_text = p->method >= SONDE_METHOD_SAME && is_text(t, c->metric);
		c->sampled_method = c->sampled == SONDE_NONE ? 0 : add_method(c, SAMPLED);
	}
}

/* The aggregate of one way of measuring; the first one there is has the plain name. */
static int build_aggregate(struct sonde_tree *t, struct sonde_scratch *x, uint8_t measured,
	bool is_first, struct sonde_err *err)
{
	static const char *const names[] = {
		"aggregate", "aggregate/ranges", "aggregate/app-ranges"};
	struct sonde_nested nested = {0};
	const struct sonde_cover cover = {
		.scope = SONDE_NONE, .measured = measured, .nested = &nested};
	struct sonde_report *r;
	int rc = measured == SONDE_MEASURED_KERNEL || sonde_nested__init(&nested, t, measured)
			 ? sonde_tree__report(t, x, &cover, err)
			 : sonde_err_nomem(err);

	if (rc == 0) {
		r = &t->reports.at[t->reports.nr - 1];
		r->name = sonde_str_from(is_first ? "aggregate" : names[measured]);
		rc = sonde_tree__spread(t, r, &nested) ? 0 : sonde_err_nomem(err);
	}
	if (nested.has_levels)
		sonde_note(&t->notes,
			"nested ranges were captured one level at a time, by a run of the program "
			"each: in the aggregate a region with results of its own shows these "
			"alone, as they include the ranges inside it");
	sonde_nested__release(&nested);
	return rc;
}

/* The aggregate of an only scope is that scope again: see share_scope. */
static bool builds_aggregates(const struct sonde_cells *c, const struct sonde_choice *choice)
{
	return !choice->no_aggregate && c->scopes.nr != 1;
}

/*
 * The only scope as the aggregate too. Nodes and all else are the scope's: a capture may have a
 * million regions, and making them twice would cost twice the time and memory.
 */
static bool share_scope(struct sonde_tree *t, const struct sonde_choice *choice)
{
	const struct sonde_nested none = {0};
	struct sonde_report *r;

	if (t->cells->scopes.nr != 1 || choice->no_aggregate)
		return true;
	if (!sonde_vec_put(&t->reports, t->reports.at[0]))
		return false;
	r = &t->reports.at[t->reports.nr - 1];
	r->name = SONDE_STR("aggregate");
	r->is_aggregate = r->is_shared = true;
	r->scope = SONDE_NONE;
	return sonde_tree__spread(t, r, &none);
}

static int build_reports(
	struct sonde_tree *t, const struct sonde_choice *choice, struct sonde_err *err)
{
	const struct sonde_cells *l = t->cells;
	const struct sonde_nested none = {0};
	struct sonde_scratch x;
	bool has[SONDE_NR_MEASURED] = {false}, is_first = true;
	uint8_t k;
	size_t i;
	int rc = sonde_scratch__init(&x, t) ? 0 : sonde_err_nomem(err);

	for (i = 0; i < l->scopes.nr && rc == 0; i++) {
		const struct sonde_cover cover = {.scope = (uint32_t)i,
			.measured = l->scopes.at[i].measured,
			.nested = &none};

		has[cover.measured] = true;
		rc = sonde_tree__report(t, &x, &cover, err);
	}
	if (!l->scopes.nr) /* nothing captured: the aggregate is there, and empty */
		has[SONDE_MEASURED_KERNEL] = true;
	for (k = 0; k < SONDE_NR_MEASURED && rc == 0 && builds_aggregates(l, choice); k++) {
		if (!has[k])
			continue;
		rc = build_aggregate(t, &x, k, is_first, err);
		is_first = false;
	}
	sonde_arena_release(&x.arena);
	sonde_tree__note_ways(t, has);
	if (!choice->no_aggregate)
		sonde_tree__note_modes(t);
	return rc;
}

static void hash_words(struct sonde_buf *b, const char *key, struct sonde_words words)
{
	size_t i;

	sonde_buf_printf(b, "%s=%zu\n", key, words.nr);
	for (i = 0; i < words.nr; i++)
		sonde_buf_printf(b, "%zu:%s\n", strlen(words.at[i]), words.at[i]);
}

/*
 * A hash of everything that changes numbers: selection, choice and nesting rule. Lengths are in it, so that
 * two words are not one.
 */
static uint64_t fingerprint(const struct sonde_selection *s, const struct sonde_choice *c)
{
	struct sonde_buf b = {0};
	uint64_t hash;

	hash_words(&b, "nvtx.include", s->nvtx_include);
	hash_words(&b, "nvtx.exclude", s->nvtx_exclude);
	hash_words(&b, "kernels.include", s->kernel_include);
	hash_words(&b, "kernels.exclude", s->kernel_exclude);
	hash_words(&b, "metrics", c->metrics);
	hash_words(&b, "sections", c->sections);
	if (c->takes_all || (c->adds_default && c->metrics.nr))
		sonde_buf_printf(&b, "choice=%s\n", c->takes_all ? "all" : "default");
	sonde_buf_printf(&b, "nesting=%s\n", s->stack_only ? "stack" : "label");
	sonde_buf_printf(&b, "threads=%s\n", s->own_threads ? "own" : "adopt");
	sonde_buf_printf(&b, "origins=%s\n", s->no_origins ? "off" : "below");
	hash_words(&b, "labels", s->labels);
	hash = sonde_hash(b.p, b.n);
	sonde_buf_release(&b);
	return hash;
}

/* Size of a device for weighing percentages across different ones: its multiprocessors. */
static double device_capacity(const struct sonde_device *d)
{
	double nr = sonde_device_attribute(d, SONDE_ATTR_SMS);

	return nr > 0 ? nr : 1;
}

/* Devices of one kind weigh the same: as 1, so that their percentages are not even scaled. */
static bool weigh_devices(struct sonde_tree *t)
{
	const struct sonde_cells *c = t->cells;
	const struct sonde_device *first = NULL, *d;
	size_t i;

	t->capacity = sonde_calloc(c->scopes.nr, sizeof(*t->capacity));
	if (!t->capacity)
		return false;
	for (i = 0; i < c->scopes.nr; i++) {
		d = sonde_cells_device(c, (uint32_t)i);
		t->capacity[i] = device_capacity(d);
		if (d && first && !sonde_str_eq(d->name, first->name))
			t->is_mixed = true;
		first = d ? d : first;
	}
	for (i = 0; i < c->scopes.nr && !t->is_mixed; i++)
		t->capacity[i] = 1;
	t->tensor_ops = sonde_tree__agreed_tensor_ops(t);
	return true;
}

static int build(struct sonde_tree *t, const struct sonde_choice *choice, struct sonde_err *err)
{
	int rc;

	sonde_tree__note_cells(t);
	t->fingerprint = fingerprint(&t->cells->selection, choice);
	t->plans = sonde_calloc(1, sizeof(*t->plans));
	if (!t->plans || !sonde_plans_init(t->plans, t->cells))
		return sonde_err_nomem(err);
	rc = sonde_tree__choose(t, choice, err);
	if (rc)
		return rc;
	if (!sonde_tree__watch_tensor(t) || !sonde_plans_complete(t->plans) || !weigh_devices(t))
		return sonde_err_nomem(err);
	describe_columns(t);
	sonde_tree__note_doubts(t);
	if (!sonde_ranks_build(&t->ranks, t->cells))
		return sonde_err_nomem(err);
	rc = build_reports(t, choice, err);
	if (rc)
		return rc;
	sonde_tree__note_clocks(t);
	return sonde_tree__shorten_names(t) && sonde_tree__times(t) && share_scope(t, choice)
		       ? 0
		       : sonde_err_nomem(err);
}

int sonde_tree_build(struct sonde_tree **out, const struct sonde_cells *cells,
	const struct sonde_choice *choice, struct sonde_err *err)
{
	struct sonde_tree *t = sonde_calloc(1, sizeof(*t));
	int rc;

	*out = NULL;
	if (!t)
		return sonde_err_nomem(err);
	t->cells = cells;
	rc = build(t, choice, err);
	if (rc)
		sonde_tree_free(t);
	else
		*out = t;
	return rc;
}

void sonde_tree_free(struct sonde_tree *t)
{
	size_t i;

	if (!t)
		return;
	for (i = 0; i < t->reports.nr; i++) {
		if (t->reports.at[i].is_shared)
			continue;
		sonde_vec_release(&t->reports.at[i].nodes);
		sonde_vec_release(&t->reports.at[i].kernels);
		sonde_vec_release(&t->reports.at[i].streams);
		sonde_vec_release(&t->reports.at[i].cells);
		sonde_vec_release(&t->reports.at[i].given);
	}
	for (i = 0; i < t->sections.nr; i++)
		sonde_vec_release(&t->sections.at[i].columns);
	sonde_vec_release(&t->reports);
	sonde_vec_release(&t->sections);
	sonde_vec_release(&t->columns);
	sonde_vec_release(&t->tensor_metrics);
	sonde_notes_release(&t->notes);
	sonde_ranks_free(t->ranks);
	if (t->plans)
		sonde_plans_release(t->plans);
	sonde_free(t->plans);
	sonde_free(t->capacity);
	sonde_free(t->short_names);
	sonde_arena_release(&t->names);
	sonde_free(t);
}

const struct sonde_region *sonde_node_region(const struct sonde_tree *t, const struct sonde_node *n)
{
	return &t->cells->regions.at[n->region];
}

struct sonde_str sonde_node_label(const struct sonde_tree *t, const struct sonde_node *n)
{
	return sonde_cells_str(t->cells, sonde_node_region(t, n)->label);
}

bool sonde_kernel_is_copy(const struct sonde_tree *t, const struct sonde_report *r,
	const struct sonde_kernel *k)
{
	return k->nr_cells && t->cells->cells.at[r->cells.at[k->first_cell]].copies > 0;
}

struct sonde_str sonde_tree_str(const struct sonde_tree *t, uint32_t string)
{
	return sonde_cells_str(t->cells, string);
}
