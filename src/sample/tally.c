#include "sample/tally.h"

#include "sample/roles.h"

#include <math.h>
#include <string.h>

#define GB	     1e-9
#define SECTOR_BYTES 32
#define SLOTS	     4 /* warp instructions an SM issues in a cycle */
#define PIPES 4 /* tensor pipes of an SM */

const struct sonde_tally_figure sonde_tally_figures[] = {
	{"SM active", "%", "sm.active_cycles", "sm.elapsed_cycles", 100},
	{"issue slots used", "%", "sm.instructions", "sm.elapsed_cycles", 100.0 / SLOTS},
	{"tensor pipe", "%", "tensor.cycles", "sm.elapsed_cycles", 100.0 / PIPES},
	{"warps per active SM", "", "sm.warp_cycles", "sm.active_cycles", 1},
	{"DRAM read", "GB/s", "dram.read_bytes", NULL, GB},
	{"DRAM write", "GB/s", "dram.write_bytes", NULL, GB},
	{"L2", "GB/s", "l2.sectors", NULL, GB *SECTOR_BYTES},
	{"PCIe read", "GB/s", "pcie.read_bytes", NULL, GB},
	{"PCIe write", "GB/s", "pcie.write_bytes", NULL, GB},
	{"NVLink receive", "GB/s", "nvlink.receive_bytes", NULL, GB},
	{"NVLink transmit", "GB/s", "nvlink.transmit_bytes", NULL, GB},
	{0},
};

void sonde_tally_init(struct sonde_tally *t, uint64_t span_ns)
{
	memset(t, 0, sizeof(*t));
	t->slice_ns = span_ns / SONDE_TALLY_SLICES + 1;
}

/* The number of a role in the table of all; SONDE_TALLY_ROLES = none. */
static size_t role_number(struct sonde_str role)
{
	const struct sonde_role *r = role.n ? sonde_role_find(role) : NULL;

	return r && r - sonde_roles < SONDE_TALLY_ROLES ? (size_t)(r - sonde_roles)
							: SONDE_TALLY_ROLES;
}

static void add(struct sonde_tally_sums *s, size_t role, double value, uint64_t ns)
{
	s->sum[role] += value;
	s->ns[role] += ns;
}

static void add_row(
	struct sonde_tally *t, const struct sonde_sample_rows *rows, size_t i, const size_t *roles)
{
	const struct sonde_counter_set *set = rows->set;
	const double *row = &rows->values[i * set->nr];
	uint64_t ns = rows->end_ns[i] - rows->start_ns[i], slice;
	uint32_t k;

	if (!t->first_ns)
		t->first_ns = rows->start_ns[i];
	t->last_ns = rows->end_ns[i];
	slice = (rows->start_ns[i] - t->first_ns) / t->slice_ns;
	if (slice >= SONDE_TALLY_SLICES)
		slice = SONDE_TALLY_SLICES - 1;
	for (k = 0; k < set->nr; k++) {
		t->totals[set->set][k] += row[k];
		if (roles[k] == SONDE_TALLY_ROLES)
			continue;
		add(&t->all, roles[k], row[k], ns);
		add(&t->latest, roles[k], row[k], ns);
		add(&t->slices[slice], roles[k], row[k], ns);
	}
	t->set_ns[set->set] += ns;
	t->nr_samples++;
}

void sonde_tally_take(struct sonde_tally *t, const struct sonde_sample_rows *rows)
{
	size_t roles[SONDE_COUNTER_LIMIT], i;

	for (i = 0; i < rows->set->nr; i++)
		roles[i] = role_number(rows->set->at[i].role);
	for (i = 0; i < rows->nr; i++)
		add_row(t, rows, i, roles);
}

static double rate(const struct sonde_tally_sums *s, const char *role)
{
	size_t n = role_number(sonde_str_from(role));

	return n == SONDE_TALLY_ROLES || !s->ns[n] ? NAN : s->sum[n] / ((double)s->ns[n] * 1e-9);
}

double sonde_tally_value(const struct sonde_tally_figure *f, const struct sonde_tally_sums *sums)
{
	double value = rate(sums, f->role) * f->scale;

	return f->per ? value / rate(sums, f->per) : value;
}
