/*
 * Cells → a tree. The order of the steps matters: everything that is chosen must be planned before the roll-ups are
 * complete; ranks are compared before nodes get their times, which include waits for other ranks; aggregates are summed
 * from scopes.
 */
#include "base/alloc.h"
#include "base/cxx_name.h"
#include "catalogue/attributes.h"
#include "fold/sampled.h"
#include "ranks/ranks.h"
#include "tree/findings.h"
#include "tree/tree_int.h"

#include <string.h>

/* Returns the number of a method among those of a column. Adds the method if it is new. */
static uint8_t add_method(struct sonde_column *c, const char *says)
{
	uint8_t i;

	for (i = 0; i < SONDE_MAX_METHODS && c->methods[i]; i++)
		if (strcmp(c->methods[i], says) == 0)
			return i;
	if (i == SONDE_MAX_METHODS)
		return 1; /* cannot happen: there are not that many weights */
	c->methods[i] = says;
	return i;
}

/* Whether the values of a metric are words. The first value decides. */
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
#define GPM	"gpm: samples of the device by NVML's GPM, every 100 ms, split among the regions that fill them"

/* Fills in how the figures of each column are made, and whether they are words. */
static void describe_columns(struct sonde_tree *t)
{
	struct sonde_rollups *s = t->rollups;
	size_t i;

	for (i = 0; i < t->columns.nr; i++) {
		struct sonde_column *c = &t->columns.at[i];
		const struct sonde_rollup *p;
		uint32_t at;

		if (c->metric == SONDE_NONE) {
			c->methods[0] = sonde_str_starts(c->name, SONDE_METRICS_GPM) ? GPM : SAMPLED;
			c->quality = SONDE_QUALITY_SAMPLED;
			continue;
		}
		p = &s->list.at[s->slot_of[c->metric]];
		c->methods[0] = p->says[0];
		c->methods[1] = p->says[1];
		c->quality = p->quality;
		for (at = p->next; at != SONDE_NONE; at = s->list.at[at].next)
			s->list.at[at].saying = add_method(c, s->list.at[at].says[0]);
		c->is_text = p->method >= SONDE_METHOD_SAME && is_text(t, c->metric);
		c->sampled_method = c->sampled == SONDE_NONE ? 0 : add_method(c, SAMPLED);
	}
}

/* Notes: how figures were made, as far as readers must know it. */

/*
 * Notes which of the user's label rules changed labels, and how many. The shipped rules are left out, because they
 * change labels in most traces.
 */
static void note_rules(struct sonde_tree *t)
{
	const struct sonde_words *words = &t->cells->selection.labels;
	const struct sonde_label_rule *rule;
	size_t i;

	if (words->nr == 1 && strcmp(words->at[0], "known") == 0)
		return;

	for (i = 0; i < t->cells->label_rules.nr; i++) {
		rule = &t->cells->label_rules.at[i];
		if (rule->changed)
			sonde_note(&t->notes, "report.labels: '%.*s' changed %llu %s",
				SONDE_STR_ARG(rule->text), (unsigned long long)rule->changed,
				rule->changed == 1 ? "label" : "labels");
	}
}

/* Whether an input is a partial report, by an older sonde, of a capture with a budget: these had no windows. */
static bool has_estimates(const struct sonde_cells *c)
{
	size_t i;

	for (i = 0; i < c->inputs.nr; i++)
		if (c->inputs.at[i].budget_ppm && !c->inputs.at[i].is_windowed)
			return true;
	return false;
}

/* Doubts: damage, estimates, launches without a time, devices of different kinds. */
static void note_doubts(struct sonde_tree *t)
{
	const struct sonde_cells *c = t->cells;

	if (has_estimates(c))
		sonde_note(&t->notes,
			"an older sonde made this capture with a budget: its GPU times, and maybe its numbers of launches, "
			"are estimates; capture again");
	if (t->is_mixed)
		sonde_note(&t->notes,
			"the devices are not all alike: percentages in the aggregate are weighted "
			"by multiprocessors × elapsed cycles, which is an approximation; those of scopes are "
			"exact");
	if (c->nr_damaged)
		sonde_note_loss(&t->notes, "%.*s; the report has the part of that result that could be decoded",
			SONDE_STR_ARG(c->damage));
	if (c->nr_damaged > 1)
		sonde_note_loss(&t->notes,
			"%llu results have damaged metrics: copy the captures again, or make them "
			"again",
			(unsigned long long)c->nr_damaged);
	if (c->nr_untimed &&
		sonde_map_find(&c->metric_names, SONDE_STR(SONDE_METRIC_TIME)) != SONDE_NONE)
		sonde_note(&t->notes,
			"%llu results have no " SONDE_METRIC_TIME
			" and count as 0 ns: capture that metric too",
			(unsigned long long)c->nr_untimed);
}

/* The notes of the inputs. */
static void note_cells(struct sonde_tree *t)
{
	sonde_notes_add(&t->notes, &t->cells->notes);
	note_rules(t);
	sonde_cells_explain(t->cells, &t->notes);
}

/* Results that were measured in different ways are reported side by side. */
static void note_ways(struct sonde_tree *t, const bool *has)
{
	if (has[SONDE_MEASURED_KERNEL] &&
		(has[SONDE_MEASURED_RANGE] || has[SONDE_MEASURED_APP_RANGE]))
		sonde_note(&t->notes,
			"the inputs contain kernel results and replayed ranges; they answer "
			"different questions and are reported side by side, never summed");
	if (has[SONDE_MEASURED_RANGE] && has[SONDE_MEASURED_APP_RANGE])
		sonde_note(&t->notes, "the inputs contain ranges of range replay and of app-range "
				      "replay; they measure the same ranges differently and are "
				      "reported side by side, never summed");
}

/* Kernels that were captured by several tools are added up, like those of several ranks; readers must know that. */
static void note_modes(struct sonde_tree *t)
{
	const struct sonde_cells *l = t->cells;
	struct sonde_str first = {NULL, 0}, mode;
	size_t i;

	for (i = 0; i < l->scopes.nr; i++) {
		const struct sonde_scope *s = &l->scopes.at[i];

		mode = l->inputs.at[l->processes.at[s->process].input].replay_mode;
		if (s->measured != SONDE_MEASURED_KERNEL || !mode.n)
			continue;
		if (first.n && !sonde_str_eq(first, mode)) {
			sonde_note(&t->notes,
				"the aggregate adds up captures made in different ways (%.*s, "
				"%.*s): if "
				"they captured the same work, look at the scopes instead",
				SONDE_STR_ARG(first), SONDE_STR_ARG(mode));
			return;
		}
		first = mode;
	}
}

/* Notes how clocks were aligned. Moments of different clocks can be compared only if there are collectives. */
static void note_clocks(struct sonde_tree *t)
{
	struct sonde_buf line = {0};

	if (t->ranks && t->cells->has_times)
		sonde_clocks_say(&line, t->ranks);
	if (line.n && !line.failed)
		sonde_note(&t->notes, "%.*s", SONDE_STR_ARG(sonde_buf_view(&line)));
	sonde_buf_release(&line);
}

/* The aggregate of one way of measuring. The first aggregate of a tree is just called "aggregate". Invariant 5. */
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
			"nested ranges were captured one level at a time, each level in a run of its "
			"own: in the aggregate, a region with results of its own shows only these, "
			"because they include the ranges inside it");
	sonde_nested__release(&nested);
	return rc;
}

/* With a single scope, the aggregate is that scope again: see share_scope. */
static bool builds_aggregates(const struct sonde_cells *c, const struct sonde_choice *choice)
{
	return !choice->no_aggregate && c->scopes.nr != 1;
}

/*
 * Makes the only scope the aggregate too. They share nodes and everything else: a capture may have a million regions,
 * and making them twice would cost twice the time and memory.
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
	if (!l->scopes.nr) /* nothing was captured: there is an aggregate, and it is empty */
		has[SONDE_MEASURED_KERNEL] = true;
	for (k = 0; k < SONDE_NR_MEASURED && rc == 0 && builds_aggregates(l, choice); k++) {
		if (!has[k])
			continue;
		rc = build_aggregate(t, &x, k, is_first, err);
		is_first = false;
	}
	sonde_arena_release(&x.arena);
	note_ways(t, has);
	if (!choice->no_aggregate)
		note_modes(t);
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
 * A hash of everything that changes numbers: selection, choice and nesting rule. It includes the lengths of words, so
 * that two words differ from one long word.
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

/* The size of a device, for weighing percentages of different devices: its multiprocessors. */
static double device_capacity(const struct sonde_device *d)
{
	double nr = sonde_device_attribute(d, SONDE_ATTR_SMS);

	return nr > 0 ? nr : 1;
}

/* Devices of one kind all weigh 1, so that their percentages are not even scaled. */
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

/* All names are shortened at once, because each short name must be distinct in the whole tree. */

/* Marks the strings that name a kernel and gathers these names, in order. Returns how many there are. */
static size_t gather_names(const struct sonde_cells *c, struct sonde_str *by_string,
	struct sonde_str *names, uint32_t *strings)
{
	size_t i, nr = 0;

	for (i = 0; i < c->cells.nr; i++)
		by_string[c->cells.at[i].kernel] = c->strings.keys[c->cells.at[i].kernel];
	for (i = 0; i < c->strings.nr; i++) {
		if (!by_string[i].p)
			continue;
		names[nr] = by_string[i];
		strings[nr++] = (uint32_t)i;
	}
	return nr;
}

/* Fills t->short_names. False: no memory. */
static bool shorten_names(struct sonde_tree *t)
{
	const struct sonde_cells *c = t->cells;
	size_t max = c->strings.nr + 1, nr = 0, i;
	struct sonde_str *names = sonde_malloc(2 * max * sizeof(*names)), *out;
	uint32_t *strings = sonde_malloc(max * sizeof(*strings));
	bool ok;

	out = names ? names + max : NULL;
	t->short_names = sonde_calloc(max, sizeof(*t->short_names));
	ok = names && strings && t->short_names;
	if (ok) {
		nr = gather_names(c, t->short_names, names, strings);
		ok = sonde_cxx_names_shorten(out, names, nr, &t->names);
	}
	for (i = 0; ok && i < nr; i++)
		t->short_names[strings[i]] = out[i];
	sonde_free(names);
	sonde_free(strings);
	return ok;
}

static int build_tree(struct sonde_tree *t, const struct sonde_choice *choice, struct sonde_err *err)
{
	int rc;

	note_cells(t);
	t->fingerprint = fingerprint(&t->cells->selection, choice);
	t->rollups = sonde_calloc(1, sizeof(*t->rollups));
	if (!t->rollups || !sonde_rollups_init(t->rollups, t->cells))
		return sonde_err_nomem(err);
	rc = sonde_tree__choose(t, choice, err);
	if (rc)
		return rc;
	if (!sonde_tree__watch_tensor(t) || !sonde_rollups_complete(t->rollups) || !weigh_devices(t))
		return sonde_err_nomem(err);
	describe_columns(t);
	note_doubts(t);
	if (!sonde_ranks_build(&t->ranks, t->cells))
		return sonde_err_nomem(err);
	rc = build_reports(t, choice, err);
	if (rc)
		return rc;
	note_clocks(t);
	if (!shorten_names(t) || !sonde_tree__times(t) || !share_scope(t, choice))
		return sonde_err_nomem(err);
	return sonde_findings_build(&t->findings, t, sonde_str_from(choice->step), err);
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
	rc = build_tree(t, choice, err);
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
	sonde_findings_free(t->findings);
	if (t->rollups)
		sonde_rollups_release(t->rollups);
	sonde_free(t->rollups);
	sonde_free(t->capacity);
	sonde_free(t->short_names);
	sonde_arena_release(&t->names);
	sonde_free(t);
}

struct sonde_str sonde_tree_short_name(const struct sonde_tree *t, uint32_t string)
{
	return string != SONDE_NONE && t->short_names[string].p ? t->short_names[string]
								: sonde_tree_str(t, string);
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
