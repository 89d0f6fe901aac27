/*
 * Waits of the host that gaps do not show. After a synchronisation or a small copy that blocks, the GPU has nothing to do
 * until the host has caught up, and that idle time is named after the host's work. Only a replay shows that the wait is
 * the cause.
 */
#include "tree/findings_int.h"

#include <math.h>

bool sonde_finding_is_of_host(const struct sonde_finding *of)
{
	switch (of->cause) {
	case SONDE_CAUSE_LAUNCH:
	case SONDE_CAUSE_HOST:
	case SONDE_CAUSE_HEAD:
	case SONDE_CAUSE_BETWEEN:
	case SONDE_CAUSE_TAIL:
		return of->is_in_step;
	default:
		return false;
	}
}

/* Whether a finding about this region, one inside or one around it names the wait already. */
static bool is_named(const struct sonde_findings *f, uint32_t node)
{
	size_t i;

	for (i = 0; i < f->at.nr; i++) {
		const struct sonde_finding *a = &f->at.at[i];
		bool waits = a->cause == SONDE_CAUSE_SYNC || a->cause == SONDE_CAUSE_COPY_CALL || a->cause == SONDE_CAUSE_PAGEABLE;

		if (waits && a->node != SONDE_NONE &&
			(sonde_report__is_inside(f->report, a->node, node) || sonde_report__is_inside(f->report, node, a->node)))
			return true;
	}
	return false;
}

uint32_t sonde_findings_find_wait(const struct sonde_findings *f, const struct sonde_tree *t, struct sonde_str region)
{
	uint32_t i;

	for (i = 0; i < f->report->nodes.nr && f->at.nr < SONDE_MAX_FINDINGS; i++)
		if (sonde_str_eq(sonde_node_region(t, &f->report->nodes.at[i])->id, region))
			return is_named(f, i) ? SONDE_NONE : i;
	return SONDE_NONE;
}

bool sonde_findings_add_wait(struct sonde_finding **out, struct sonde_findings *f, const struct sonde_tree *t, uint32_t node, double step_ns)
{
	struct sonde_finder x = {.out = f, .t = t, .r = f->report, .is_torch = sonde_finder__is_torch(t->cells), .top = f->step, .culprit = SONDE_NONE};
	struct sonde_buf line = {0};
	struct sonde_finding *to;

	x.top_ns = (f->step_ns + f->between_ns) * (double)f->nr_entries;
	*out = to = sonde_finder__add(&x, SONDE_CAUSE_SYNC, node, (struct sonde_finding_cost){step_ns * (double)f->nr_entries, 1});
	if (!to)
		return !x.failed;
	sonde_finder__prove(to, (struct sonde_evidence){SONDE_NONE, SONDE_NONE, SONDE_STR("wait_ms"), to->run_ns / 1e6, NAN, "ms",
					"how long synchronisations and small copies took that waited for the GPU"});
	sonde_buf_puts(&line, "the host waited for the GPU for ");
	sonde_finder__say_cost(&x, &line, to);
	sonde_buf_puts(&line, ", in synchronisations or small copies that block, and after each the GPU waits for the host");
	sonde_finder__keep(&x, to, &line);
	sonde_finder__fill_texts(&x, to);
	return !x.failed;
}
