/* Computes sampled figures from cells. */
#include "fold/sampled.h"

#include "base/alloc.h"
#include "base/hypot.h"
#include "catalogue/limits.h"
#include "catalogue/metrics.h"
#include "fold/cell_tables.h"

#include <math.h>

/* The metrics: the table below, most of which Nsight Compute has too, then all other counters. */

#define SM_NS "gpm.sm_ns"

const struct sonde_sampled_metric sonde_sampled_metrics[] = {
	{SONDE_COUNTER_SM_ACTIVE ".sum", {"sm.active_cycles"}, SONDE_OVER_NOTHING, 0},
	{SONDE_COUNTER_INSTRUCTIONS ".sum", {"sm.instructions"}, SONDE_OVER_NOTHING, 0},
	{SONDE_COUNTER_WARPS ".sum", {"sm.warp_cycles"}, SONDE_OVER_NOTHING, 0},
	{SONDE_COUNTER_TENSOR ".sum", {"tensor.cycles"}, SONDE_OVER_NOTHING, 0},
	{SONDE_COUNTER_FMA ".sum", {"fma.instructions"}, SONDE_OVER_NOTHING, 0},
	{SONDE_COUNTER_ALU ".sum", {"alu.instructions"}, SONDE_OVER_NOTHING, 0},
	{SONDE_COUNTER_FP64 ".sum", {"fp64.cycles"}, SONDE_OVER_NOTHING, 0},
	{SONDE_COUNTER_L1 ".sum", {"l1.wavefronts"}, SONDE_OVER_NOTHING, 0},
	{SONDE_COUNTER_L2 ".sum", {"l2.sectors"}, SONDE_OVER_NOTHING, 0},
	{SONDE_COUNTER_DRAM_READ ".sum", {"dram.read_bytes"}, SONDE_OVER_NOTHING, 0},
	{SONDE_COUNTER_DRAM_WRITTEN ".sum", {"dram.write_bytes"}, SONDE_OVER_NOTHING, 0},
	{SONDE_COUNTER_PCIE_READ ".sum", {"pcie.read_bytes"}, SONDE_OVER_NOTHING, 0},
	{SONDE_COUNTER_PCIE_WRITTEN ".sum", {"pcie.write_bytes"}, SONDE_OVER_NOTHING, 0},
	{SONDE_COUNTER_NVLINK_RECEIVED ".sum", {"nvlink.receive_bytes"}, SONDE_OVER_NOTHING, 0},
	{SONDE_COUNTER_NVLINK_SENT ".sum", {"nvlink.transmit_bytes"}, SONDE_OVER_NOTHING, 0},
	{SONDE_COUNTER_SM_ACTIVE SONDE_OF_PEAK, {"sm.active_cycles"}, SONDE_OVER_ELAPSED, 1},
	{SONDE_COUNTER_INSTRUCTIONS SONDE_OF_PEAK, {"sm.instructions"}, SONDE_OVER_ELAPSED, SONDE_SM_ISSUE_SLOTS},
	{SONDE_COUNTER_TENSOR SONDE_OF_PEAK, {"tensor.cycles"}, SONDE_OVER_ELAPSED, SONDE_SM_TENSOR_PIPES},
	{SONDE_COUNTER_WARPS SONDE_OF_PEAK_ACTIVE, {"sm.warp_cycles"}, SONDE_OVER_ACTIVE, SONDE_SM_WARPS},
	{SONDE_COUNTER_FMA SONDE_OF_PEAK, {"fma.instructions"}, SONDE_OVER_ELAPSED, 0},
	{SONDE_COUNTER_ALU SONDE_OF_PEAK, {"alu.instructions"}, SONDE_OVER_ELAPSED, 0},
	{SONDE_COUNTER_FP64 SONDE_OF_PEAK, {"fp64.cycles"}, SONDE_OVER_ELAPSED, 0},
	{SONDE_COUNTER_L1 SONDE_OF_PEAK, {"l1.wavefronts"}, SONDE_OVER_ELAPSED, 0},
	{SONDE_COUNTER_L2 SONDE_OF_PEAK, {"l2.sectors"}, SONDE_OVER_ELAPSED, 0},
	{SONDE_METRIC_SM_CLOCK, {NULL}, SONDE_OVER_TIME, 0},
	{SONDE_METRIC_GPM_SM, {SM_NS}, SONDE_OVER_RUNNING, 1},
	{SONDE_METRIC_GPM_TENSOR, {"gpm.tensor_ns"}, SONDE_OVER_RUNNING, 1},
	{SONDE_METRIC_GPM_DRAM, {"gpm.dram_ns"}, SONDE_OVER_RUNNING, 1},
	{SONDE_METRIC_GPM_OCCUPANCY, {"gpm.warp_ns"}, SONDE_OVER_BUSY, 1},
	{SONDE_COUNTER_DRAM SONDE_OF_PEAK_SUM, {"dram.read_bytes", "dram.write_bytes"}, SONDE_OVER_DRAM, 1},
};
#define NR_METRICS (sizeof(sonde_sampled_metrics) / sizeof(*sonde_sampled_metrics))

static bool is_gpm(uint8_t over)
{
	return over == SONDE_OVER_RUNNING || over == SONDE_OVER_BUSY;
}

/* Whether the table has the sum of a counter, or for a counter of GPM its percentage. */
static bool is_in_table(struct sonde_str role)
{
	size_t i;

	for (i = 0; i < NR_METRICS; i++)
		if ((sonde_sampled_metrics[i].over == SONDE_OVER_NOTHING || is_gpm(sonde_sampled_metrics[i].over)) &&
			sonde_str_is(role, sonde_sampled_metrics[i].roles[0]))
			return true;
	return false;
}

static bool add_other(struct sonde_cells *c, struct sonde_str role)
{
	const char **slot;
	size_t i;

	for (i = 0; i < c->sampled_others.nr; i++)
		if (sonde_str_is(role, c->sampled_others.at[i]))
			return true;
	slot = is_in_table(role) ? NULL : sonde_vec_push(&c->sampled_others);
	if (slot)
		*slot = role.p;
	return slot || is_in_table(role);
}

bool sonde_sampled_list_others(struct sonde_cells *c)
{
	size_t i, k, n;

	for (i = 0; i < c->sampled.nr; i++)
		for (k = 0; k < c->sampled.at[i]->nr_sets; k++)
			for (n = 0; n < c->sampled.at[i]->sets[k].roles.nr; n++)
				if (!add_other(c, c->sampled.at[i]->sets[k].roles.at[n]))
					return false;
	return true;
}

size_t sonde_sampled_nr_metrics(const struct sonde_cells *c)
{
	return NR_METRICS + c->sampled_others.nr;
}

struct sonde_sampled_metric sonde_sampled_metric_of(const struct sonde_cells *c, size_t metric)
{
	const char *role;

	if (metric < NR_METRICS)
		return sonde_sampled_metrics[metric];
	role = c->sampled_others.at[metric - NR_METRICS];
	return (struct sonde_sampled_metric){.name = role, .roles = {role}, .over = SONDE_OVER_NOTHING};
}

/* --- figures ------------------------------------------------------------------------------------- */

void sonde_sampled_free(struct sonde_sampled *s)
{
	size_t i;

	if (!s)
		return;
	for (i = 0; i < s->nr_sets; i++) {
		sonde_unmixed_free(s->sets[i].unmixed);
		sonde_vec_release(&s->sets[i].roles);
		sonde_vec_release(&s->sets[i].peaks);
	}
	sonde_free(s->sets);
	sonde_free(s->elapsed);
	sonde_free(s);
}

/* Finds the set and counter of a role. False: it was not sampled, or was refused. */
static bool find_role(
	const struct sonde_sampled *s, const char *role, size_t *set, uint32_t *counter)
{
	size_t i, k;

	for (i = 0; i < s->nr_sets; i++)
		for (k = 0; k < s->sets[i].roles.nr; k++)
			if (sonde_str_is(s->sets[i].roles.at[k], role)) {
				*set = i;
				*counter = (uint32_t)k;
				return !sonde_unmixed_counter(s->sets[i].unmixed, (uint32_t)k)
						->refused;
			}
	return false;
}

/* For a metric over elapsed cycles: the count per cycle of one SM that is 100 %; 0 = not known. */
static double most_of(const struct sonde_sampled *s, const struct sonde_sampled_metric *m)
{
	uint32_t counter;
	size_t set;

	if (m->most > 0 || !find_role(s, m->roles[0], &set, &counter))
		return m->most;
	return s->nr_sms > 0 ? s->sets[set].peaks.at[counter] / s->nr_sms : 0;
}

static bool has_metric(const struct sonde_sampled *s, const struct sonde_sampled_metric *m)
{
	uint32_t counter;
	size_t i, set;

	for (i = 0; i < 2 && m->roles[i]; i++)
		if (!find_role(s, m->roles[i], &set, &counter))
			return false;
	switch (m->over) {
	case SONDE_OVER_ELAPSED:
		return s->cycles_per_ns > 0 && most_of(s, m) > 0;
	case SONDE_OVER_ACTIVE:
		return find_role(s, "sm.active_cycles", &set, &counter);
	case SONDE_OVER_BUSY:
		return find_role(s, SM_NS, &set, &counter);
	case SONDE_OVER_DRAM:
		return s->bytes_per_ns > 0;
	case SONDE_OVER_TIME:
		return s->elapsed && s->nr_sms > 0;
	default:
		return true;
	}
}

bool sonde_sampled_is_there(const struct sonde_cells *c, size_t metric)
{
	struct sonde_sampled_metric m = sonde_sampled_metric_of(c, metric);
	size_t i;

	for (i = 0; i < c->sampled.nr; i++)
		if (has_metric(c->sampled.at[i], &m))
			return true;
	return false;
}

/* The part of a sum that is on one device: its classes, and how long they ran. */
struct share {
	const struct sonde_sampled *s;
	const uint32_t *classes;
	size_t nr;
	double time_ns;
};

#define LEAST_SEEN 0.75 /* share of the time that samples must have seen, else there is no figure */

/* The share of the time of classes that belongs to classes seen by samples. */
static double seen_share(struct sonde_unmixed *u, const uint32_t *classes, size_t nr)
{
	struct sonde_unmix_state s = sonde_unmixed_state(u);
	double seen = 0, all = 0;
	size_t i;

	for (i = 0; i < nr; i++) {
		all += s.time[classes[i]];
		seen += s.classes[classes[i]].fate == SONDE_UNMIX_UNSEEN ? 0 : s.time[classes[i]];
	}
	return all > 0 ? seen / all : 0;
}

/*
 * Sums a counter over classes. Work that no sample saw is assumed to count at the same rate as the rest, with an
 * error of half of it.
 */
static struct sonde_unmix_figure sum_role(const struct share *h, const char *role)
{
	struct sonde_unmix_figure f;
	double share;
	uint32_t counter;
	size_t set;

	if (!find_role(h->s, role, &set, &counter))
		return (struct sonde_unmix_figure){NAN, NAN};
	share = seen_share(h->s->sets[set].unmixed, h->classes, h->nr);
	if (share < LEAST_SEEN)
		return (struct sonde_unmix_figure){NAN, NAN};
	f = sonde_unmixed_sum(h->s->sets[set].unmixed, h->classes, h->nr, counter);
	return (struct sonde_unmix_figure){
		f.value / share, sonde_hypot(f.error, 0.5 * (1 - share) * f.value) / share};
}

/* Cycles of all SMs while the classes ran: as sampled, else from the device's mean clock. */
static double sum_elapsed(const struct share *h)
{
	double sum = 0;
	size_t i;

	if (!h->s->elapsed)
		return h->s->cycles_per_ns * h->time_ns;
	for (i = 0; i < h->nr; i++)
		sum += h->s->elapsed[h->classes[i]];
	return sum;
}

/* Numerator and denominator of a metric, with the squares of their errors. */
struct fraction {
	double above, below, above_variance, below_variance;
};

static void add_share(
	struct fraction *x, const struct share *h, const struct sonde_sampled_metric *m)
{
	struct sonde_unmix_figure f;
	size_t i;

	for (i = 0; i < 2 && m->roles[i]; i++) {
		f = sum_role(h, m->roles[i]);
		x->above += f.value;
		x->above_variance += f.error * f.error;
	}
	if (m->over == SONDE_OVER_ELAPSED)
		x->below += most_of(h->s, m) * sum_elapsed(h);
	if (m->over == SONDE_OVER_DRAM)
		x->below += m->most * h->s->bytes_per_ns * h->time_ns;
	if (m->over == SONDE_OVER_TIME) {
		x->above += sum_elapsed(h) / h->s->nr_sms;
		x->below += h->time_ns;
	}
	if (m->over == SONDE_OVER_RUNNING)
		x->below += m->most * h->time_ns;
	if (m->over == SONDE_OVER_ACTIVE || m->over == SONDE_OVER_BUSY) {
		f = sum_role(h, m->over == SONDE_OVER_BUSY ? SM_NS : "sm.active_cycles");
		x->below += m->most * f.value;
		x->below_variance += m->most * f.error * m->most * f.error;
	}
}

#define MOST_GPM_ERROR 5 /* half of the 95 % interval, in percentage points: GPM figures with a larger error are not shown */

/* Numerator and denominator are positively correlated; treating them as independent overstates the error. */
static struct sonde_unmix_figure divide_figures(const struct fraction *x, uint8_t over)
{
	double r = x->above / x->below, scale = over == SONDE_OVER_TIME ? 1e9 : 100, error;

	if (over == SONDE_OVER_NOTHING)
		return (struct sonde_unmix_figure){x->above, sqrt(x->above_variance)};
	if (!(x->below > 0))
		return (struct sonde_unmix_figure){NAN, NAN};
	error = scale * sqrt(x->above_variance + r * r * x->below_variance) / x->below;
	if (is_gpm(over) && !(1.96 * error <= MOST_GPM_ERROR))
		return (struct sonde_unmix_figure){NAN, NAN};
	return (struct sonde_unmix_figure){scale * r, error};
}

static size_t count_classes(const struct sonde_cells *c, const uint32_t *cells, size_t nr)
{
	size_t i, sum = 0;

	for (i = 0; i < nr; i++)
		sum += c->cells.at[cells[i]].sampled == SONDE_NONE
			       ? 0
			       : c->cells.at[cells[i]].nr_classes;
	return sum;
}

struct sonde_unmix_figure sonde_sampled_figure_of(
	const struct sonde_cells *c, const uint32_t *cells, size_t nr, size_t metric)
{
	const struct sonde_sampled_metric m = sonde_sampled_metric_of(c, metric);
	uint32_t *classes = sonde_malloc((count_classes(c, cells, nr) + 1) * sizeof(*classes)), n;
	struct fraction x = {0};
	size_t i, k, nr_met = 0, nr_cells;

	for (i = 0; classes && i < c->sampled.nr; i++) {
		struct share h = {.s = c->sampled.at[i], .classes = classes};

		for (k = nr_cells = 0; k < nr; k++) {
			const struct sonde_cell *cell = &c->cells.at[cells[k]];

			if (cell->sampled != i)
				continue;
			nr_cells++;
			for (n = 0; n < cell->nr_classes; n++)
				classes[h.nr++] = cell->first_class + n;
			h.time_ns += cell->time_ns;
		}
		if (!h.nr || !has_metric(h.s, &m))
			continue;
		nr_met += nr_cells;
		add_share(&x, &h, &m);
	}
	sonde_free(classes);
	if (!nr_met || nr_met < nr) /* some cells have no samples, so the sum is not known */
		return (struct sonde_unmix_figure){NAN, NAN};
	return divide_figures(&x, m.over);
}
