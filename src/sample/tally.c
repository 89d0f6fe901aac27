#include "sample/tally.h"

#include "catalogue/limits.h"
#include "sample/roles.h"

#include <math.h>
#include <string.h>

#define GB	     1e-9
#define SECTOR_BYTES 32

const struct sonde_tally_figure sonde_tally_figures[] = {
	{"SM active", "%", {"sm.active_cycles"}, "sm.elapsed_cycles", 100},
	{"issue slots used", "%", {"sm.instructions"}, "sm.elapsed_cycles", 100.0 / SONDE_SM_ISSUE_SLOTS},
	{"tensor pipe", "%", {"tensor.cycles"}, "sm.elapsed_cycles", 100.0 / SONDE_SM_TENSOR_PIPES},
	{"warps per active SM", "", {"sm.warp_cycles"}, "sm.active_cycles", 1},
	{"DRAM", "%", {"dram.read_bytes", "dram.write_bytes"}, SONDE_TALLY_BANDWIDTH, 100 * GB},
	{"DRAM read", "GB/s", {"dram.read_bytes"}, NULL, GB},
	{"DRAM write", "GB/s", {"dram.write_bytes"}, NULL, GB},
	{"L2", "GB/s", {"l2.sectors"}, NULL, GB *SECTOR_BYTES},
	{"PCIe read", "GB/s", {"pcie.read_bytes"}, NULL, GB},
	{"PCIe write", "GB/s", {"pcie.write_bytes"}, NULL, GB},
	{"NVLink receive", "GB/s", {"nvlink.receive_bytes"}, NULL, GB},
	{"NVLink transmit", "GB/s", {"nvlink.transmit_bytes"}, NULL, GB},
	{0},
};

#define SHORTEST_SLICE_NS 10000000u

/* Slices begin with the length that fits the whole span, halved while half of it is at least SHORTEST_SLICE_NS. */
void sonde_tally_init(struct sonde_sample_tally *t, uint64_t span_ns, double bytes_per_ns)
{
	memset(t, 0, sizeof(*t));
	t->last_slice_ns = t->slice_ns = span_ns / SONDE_TALLY_SLICES + 1;
	t->bytes_per_ns = bytes_per_ns;
	while (t->slice_ns / 2 >= SHORTEST_SLICE_NS)
		t->slice_ns = t->slice_ns / 2 + t->slice_ns % 2;
}

/* The index of a role in sonde_roles; SONDE_TALLY_ROLES = it is not there. */
static size_t role_number(struct sonde_str role)
{
	const struct sonde_role *r = role.n ? sonde_role_find(role) : NULL;

	return r && r - sonde_roles < SONDE_TALLY_ROLES ? (size_t)(r - sonde_roles)
							: SONDE_TALLY_ROLES;
}

static void add_value(struct sonde_tally_sums *s, size_t role, double value, uint64_t ns)
{
	s->sum[role] += value;
	s->ns[role] += ns;
}

/* Doubles the length of slices: joins every two of them. */
static void join_slices(struct sonde_sample_tally *t)
{
	size_t i, k;

	for (i = 0; i < SONDE_TALLY_SLICES; i++) {
		struct sonde_tally_sums joined = {0};
		size_t from = 2 * i, to = from + 2 < SONDE_TALLY_SLICES ? from + 2 : SONDE_TALLY_SLICES;

		for (; from < to; from++)
			for (k = 0; k < SONDE_TALLY_ROLES; k++)
				add_value(&joined, k, t->slices[from].sum[k], t->slices[from].ns[k]);
		t->slices[i] = joined;
	}
	t->slice_ns *= 2;
}

static struct sonde_tally_sums *find_slice(struct sonde_sample_tally *t, uint64_t start_ns)
{
	uint64_t at;

	while ((start_ns - t->first_ns) / t->slice_ns >= SONDE_TALLY_SLICES && t->slice_ns < t->last_slice_ns)
		join_slices(t);
	at = (start_ns - t->first_ns) / t->slice_ns;
	return &t->slices[at < SONDE_TALLY_SLICES ? at : SONDE_TALLY_SLICES - 1];
}

/* Cycles of all SMs together per nanosecond of the sample; 0 = the sample has no such counter. */
static double clock_of(const double *row, const size_t *roles, uint32_t nr, uint64_t ns)
{
	size_t elapsed = role_number(SONDE_STR("sm.elapsed_cycles"));
	uint32_t k;

	for (k = 0; k < nr; k++)
		if (roles[k] == elapsed && ns)
			return row[k] / (double)ns;
	return 0;
}

static bool is_above(struct sonde_sample_tally *t, size_t role, double value, uint64_t ns, double clock)
{
	double limit = sonde_limit_of(sonde_str_from(sonde_roles[role].name), clock, t->bytes_per_ns);
	bool is_so = limit > 0 && value > SONDE_LIMIT_SLACK * limit * (double)ns;

	t->limits[role].nr++;
	t->limits[role].nr_above += is_so;
	return is_so;
}

static void add_row(
	struct sonde_sample_tally *t, const struct sonde_sample_rows *rows, size_t i, const size_t *roles)
{
	const struct sonde_counter_set *set = rows->set;
	const double *row = &rows->values[i * set->nr];
	uint64_t ns = rows->end_ns[i] - rows->start_ns[i];
	double clock = clock_of(row, roles, set->nr, ns);
	struct sonde_tally_sums *slice;
	uint32_t k;

	if (!t->first_ns)
		t->first_ns = rows->start_ns[i];
	t->last_ns = rows->end_ns[i];
	slice = find_slice(t, rows->start_ns[i]);
	for (k = 0; k < set->nr; k++) {
		if (roles[k] != SONDE_TALLY_ROLES && is_above(t, roles[k], row[k], ns, clock))
			continue;
		t->totals[set->set][k] += row[k];
		if (roles[k] == SONDE_TALLY_ROLES)
			continue;
		add_value(&t->all, roles[k], row[k], ns);
		add_value(&t->latest, roles[k], row[k], ns);
		add_value(slice, roles[k], row[k], ns);
	}
	t->set_ns[set->set] += ns;
	t->nr_samples++;
}

void sonde_tally_take(struct sonde_sample_tally *t, const struct sonde_sample_rows *rows)
{
	size_t roles[SONDE_COUNTER_LIMIT], i;

	for (i = 0; i < rows->set->nr; i++)
		roles[i] = role_number(rows->set->at[i].role);
	for (i = 0; i < rows->nr; i++)
		add_row(t, rows, i, roles);
}

double sonde_tally_refused(const struct sonde_sample_tally *t, struct sonde_str role)
{
	size_t n = role_number(role);
	double share = n == SONDE_TALLY_ROLES || !t->limits[n].nr
			       ? 0
			       : (double)t->limits[n].nr_above / (double)t->limits[n].nr;

	return share > SONDE_REFUSED_SHARE ? share : 0;
}

void sonde_tally_end(struct sonde_sample_tally *t)
{
	size_t n, i;

	for (n = 0; n < SONDE_TALLY_ROLES && sonde_roles[n].name; n++) {
		if (!sonde_tally_refused(t, sonde_str_from(sonde_roles[n].name)))
			continue;
		t->all.ns[n] = t->latest.ns[n] = 0;
		for (i = 0; i < SONDE_TALLY_SLICES; i++)
			t->slices[i].ns[n] = 0;
	}
}

static double rate(const struct sonde_tally_sums *s, const char *role)
{
	size_t n = role_number(sonde_str_from(role));

	return n == SONDE_TALLY_ROLES || !s->ns[n] ? NAN : s->sum[n] / ((double)s->ns[n] * 1e-9);
}

double sonde_tally_value(const struct sonde_sample_tally *t, const struct sonde_tally_figure *f,
	const struct sonde_tally_sums *sums)
{
	double value = (rate(sums, f->roles[0]) + (f->roles[1] ? rate(sums, f->roles[1]) : 0)) * f->scale;

	if (!f->per)
		return value;
	if (strcmp(f->per, SONDE_TALLY_BANDWIDTH) == 0)
		return t->bytes_per_ns > 0 ? value / t->bytes_per_ns : NAN;
	return value / rate(sums, f->per);
}
