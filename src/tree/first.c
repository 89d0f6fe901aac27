/* One finding, not a list: whoever fixes it makes another report. */
#include "tree/first.h"

#include "catalogue/advice.h"
#include "tree/idle.h"
#include "tree/judge.h"
#include "tree/tree_int.h"

#include <string.h>

/* The region with the most time of its own, SONDE_NONE without times. */
static uint32_t busiest(const struct sonde_report *r)
{
	uint32_t i, best = SONDE_NONE;
	double most = 0;

	for (i = 0; i < r->nodes.nr; i++)
		if (r->nodes.at[i].own_time_ns > most) {
			most = r->nodes.at[i].own_time_ns;
			best = i;
		}
	return best;
}

/* A node's kernels are those of the regions inside it too: its own ones only without these. */
static const struct sonde_kernel *largest_kernel(const struct sonde_report *r, uint32_t node)
{
	const struct sonde_node *n = &r->nodes.at[node];
	bool is_parent = node + 1 < r->nodes.nr && r->nodes.at[node + 1].depth > n->depth;

	return is_parent || !n->nr_kernels ? NULL : &r->kernels.at[n->first_kernel];
}

/* Whether the capture may have counters: a report of chosen metrics need not show them. */
static bool has_counters(const struct sonde_tree *t)
{
	return t->choice.metrics.nr || t->choice.sections.nr || sonde_tree_role(t, SONDE_ROLE_SM) != SONDE_NONE ||
	       sonde_tree_role(t, SONDE_ROLE_ISSUE) != SONDE_NONE ||
	       sonde_tree_role(t, SONDE_ROLE_MEMORY) != SONDE_NONE;
}

static enum sonde_situation situation_of(const struct sonde_tree *t, const char *limiter)
{
	if (!limiter)
		return sonde_tree__is_own(t) ? SONDE_WHEN_NOT_SAMPLED : SONDE_WHEN_NO_COUNTERS;
	if (strcmp(limiter, "compute") == 0)
		return SONDE_WHEN_COMPUTE_BOUND;
	return strcmp(limiter, "memory") == 0 ? SONDE_WHEN_MEMORY_BOUND : SONDE_WHEN_LATENCY_BOUND;
}

/* Copies and collectives are skipped: no SM limits them. So are kernels that were hardly sampled. */
static void advise(
	struct sonde_buf *line, const struct sonde_tree *t, const char *limiter, bool is_transfer)
{
	const struct sonde_advice *a = sonde_advice_on(situation_of(t, limiter));

	if (limiter || (!is_transfer && !has_counters(t)))
		sonde_buf_printf(line, " %s: %s.", a->says, a->next);
}

#define LONG_NAME 60 /* bytes; longer ones are cut: it is a sentence */

/* The end of a long path, which says most. */
static void put_region(struct sonde_buf *line, const struct sonde_region *g)
{
	struct sonde_str id = sonde_region_path(g->id, g->kind);
	const char *from = id.n > LONG_NAME ? id.p + id.n - LONG_NAME : id.p;

	if (from > id.p) {
		while (from < id.p + id.n && (*from & 0xc0) == 0x80)
			from++;
		sonde_buf_puts(line, "...");
	}
	sonde_buf_str(line, id.n ? (struct sonde_str){from, (size_t)(id.p + id.n - from)}
				 : SONDE_STR("the region without a name"));
	sonde_buf_puts(line, sonde_region_kind_mark(g->kind));
}

static void put_kernel(struct sonde_buf *line, struct sonde_str name)
{
	size_t n = name.n > LONG_NAME ? LONG_NAME : name.n;

	while (n < name.n && n && (name.p[n] & 0xc0) == 0x80)
		n--;
	sonde_buf_str(line, (struct sonde_str){name.p, n});
	sonde_buf_puts(line, n < name.n ? "..." : "");
}

static int say_busiest(struct sonde_buf *line, const struct sonde_tree *t,
	const struct sonde_report *r, uint32_t node, struct sonde_err *err)
{
	const struct sonde_node *n = &r->nodes.at[node];
	const struct sonde_kernel *k = largest_kernel(r, node);
	struct sonde_figures figures;
	int rc = sonde_figures_init(&figures, t, err);

	if (rc)
		return rc;
	sonde_buf_printf(line, " has %.0f%% of the GPU time in regions, %.3f ms",
		100 * n->own_time_ns / r->time_ns, n->own_time_ns / 1e6);
	if (k) {
		sonde_buf_printf(line, "; %.0f%% of that is ", 100 * k->time_ns / n->own_time_ns);
		put_kernel(line, sonde_tree_short_name(t, k->name));
	}
	sonde_buf_puts(line, ".");
	if (k)
		sonde_tree_values(t, r, SONDE_PART_KERNEL, n->first_kernel, &figures);
	else
		sonde_tree_values(t, r, SONDE_PART_EXCLUSIVE, node, &figures);
	advise(line, t, sonde_limiter(t, &figures),
		n->times.comm_ns > n->time_ns / 2 || (k && sonde_kernel_is_copy(t, r, k)));
	sonde_figures_release(&figures);
	return 0;
}

int sonde_first_say(struct sonde_buf *line, const struct sonde_tree *t,
	const struct sonde_report *r, struct sonde_err *err)
{
	struct sonde_idle_finding idle = sonde_idle_judge(t, r);
	uint32_t node = idle.node;

	if (node == SONDE_NONE && !r->is_ranges && r->time_ns > 0)
		node = busiest(r);
	if (node == SONDE_NONE)
		return 0;
	put_region(line, sonde_node_region(t, &r->nodes.at[node]));
	if (idle.node == SONDE_NONE)
		return say_busiest(line, t, r, node, err);
	sonde_idle_say(line, &idle);
	return 0;
}
