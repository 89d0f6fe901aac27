#include "read/launch.h"

#include "base/bisect.h"
#include "base/keysort.h"
#include "catalogue/metrics.h"
#include "read/demangle.h"

void sonde_launch_calls__sort(struct sonde_launch_calls *c, struct sonde_source *src)
{
	size_t i, nr = 0;

	src->work.failed |= !sonde_keysort(c->at, c->nr);
	for (i = 0; i < c->nr; i++) {
		if (!nr || c->at[nr - 1].id != c->at[i].id)
			c->at[nr++] = c->at[i];
		else if (c->at[i].ns < c->at[nr - 1].ns)
			c->at[nr - 1] = c->at[i];
	}
	c->nr = nr;
}

size_t sonde_launch_calls__find(const struct sonde_launch_calls *c, uint64_t id)
{
	size_t low = 0;

	sonde_bisect(low, c->nr, mid, c->at[mid].id < id);
	return low;
}

struct sonde_str sonde_launch__copy_name(uint64_t kind)
{
	static const char *const names[] = {"[CUDA memcpy]", "[CUDA memcpy Host-to-Device]",
		"[CUDA memcpy Device-to-Host]", "[CUDA memcpy Host-to-Array]",
		"[CUDA memcpy Array-to-Host]", "[CUDA memcpy Array-to-Array]",
		"[CUDA memcpy Array-to-Device]", "[CUDA memcpy Device-to-Array]",
		"[CUDA memcpy Device-to-Device]", "[CUDA memcpy Host-to-Host]",
		"[CUDA memcpy Peer-to-Peer]"};

	if (kind == (1 | SONDE_COPY_PAGEABLE))
		return SONDE_STR("[CUDA memcpy Host-to-Device, pageable]");
	if (kind == (2 | SONDE_COPY_PAGEABLE))
		return SONDE_STR("[CUDA memcpy Device-to-Host, pageable]");
	kind &= ~(uint64_t)SONDE_COPY_PAGEABLE;
	return sonde_str_from(names[kind < sizeof(names) / sizeof(names[0]) ? kind : 0]);
}

uint32_t sonde_kernel_names__function(
	struct sonde_kernel_names *t, struct sonde_records *r, uint32_t raw)
{
	struct sonde_str full;
	uint32_t full_name;

	if (raw == SONDE_NONE || !sonde_fill(&r->arena, &t->of, raw + 1))
		return SONDE_NONE;
	if (!t->of.at[raw]) {
		full = sonde_demangle(&r->arena, sonde_records_str(r, raw));
		full_name = sonde_records__string(r, full);
		t->of.at[raw] = 1 + sonde_records__function(r,
					    sonde_records__string(r, sonde_demangle_function(full)),
					    full_name);
	}
	return t->of.at[raw] - 1;
}

static const char *const names[NR_LAUNCH_METRICS] = {
	[LAUNCH_TIME] = SONDE_METRIC_TIME,
	[LAUNCH_GRID_X] = SONDE_METRIC_GRID_X,
	[LAUNCH_GRID_X + 1] = SONDE_METRIC_GRID_Y,
	[LAUNCH_GRID_X + 2] = SONDE_METRIC_GRID_Z,
	[LAUNCH_GRID] = SONDE_METRIC_GRID,
	[LAUNCH_BLOCK_X] = SONDE_METRIC_BLOCK_X,
	[LAUNCH_BLOCK_X + 1] = SONDE_METRIC_BLOCK_Y,
	[LAUNCH_BLOCK_X + 2] = SONDE_METRIC_BLOCK_Z,
	[LAUNCH_BLOCK] = SONDE_METRIC_BLOCK,
	[LAUNCH_THREADS] = SONDE_METRIC_THREADS,
	[LAUNCH_REGISTERS] = SONDE_METRIC_REGISTERS,
	[LAUNCH_SHARED_STATIC] = SONDE_METRIC_SHARED_STATIC,
	[LAUNCH_SHARED_DYNAMIC] = SONDE_METRIC_SHARED_DYNAMIC,
	[LAUNCH_SHARED] = SONDE_METRIC_SHARED,
	[LAUNCH_BYTES] = SONDE_METRIC_COPIED,
	[LAUNCH_GRAPH] = "graph__id",
	[LAUNCH_NODE] = "graph__node_id",
	[LAUNCH_COLLECTIVE] = SONDE_METRIC_COLLECTIVE,
	[LAUNCH_GROUP] = SONDE_METRIC_GROUP,
	[LAUNCH_GROUP_SIZE] = SONDE_METRIC_GROUP_SIZE,
	[LAUNCH_MESSAGE] = SONDE_METRIC_MESSAGE,
	[LAUNCH_SEQUENCE] = SONDE_METRIC_SEQUENCE,
};

void sonde_launch_metrics__add(struct sonde_launch_metrics *m, struct sonde_records *r,
	const bool has[NR_LAUNCH_METRICS])
{
	size_t i;

	for (i = 0; i < NR_LAUNCH_METRICS; i++) {
		struct sonde_str name = sonde_str_from(names[i]);

		m->number[i] = has[i] ? sonde_records__metric(r, name) : SONDE_NONE;
		if (m->number[i] != SONDE_NONE && !r->metrics.at[m->number[i]].unit.n)
			r->metrics.at[m->number[i]].unit = sonde_str_from(sonde_metric_unit(name));
	}
}

/* Returns the product of the dimensions. */
static double set_dimensions(const struct sonde_launch_metrics *m, struct sonde_values *v,
	enum sonde_launch_metric first, const uint64_t at[3])
{
	double product = (double)at[0] * (double)at[1] * (double)at[2];
	unsigned i;

	for (i = 0; i < 3; i++)
		sonde_launch_metrics__set(m, v, first + i, (double)at[i]);
	sonde_launch_metrics__set(m, v, first + 3, product);
	return product;
}

void sonde_launch_metrics__set_shape(const struct sonde_launch_metrics *m, struct sonde_values *v,
	const uint64_t grid[3], const uint64_t block[3])
{
	double blocks = grid[0] ? set_dimensions(m, v, LAUNCH_GRID_X, grid) : 0;
	double threads = block[0] ? set_dimensions(m, v, LAUNCH_BLOCK_X, block) : 0;

	if (grid[0] && block[0])
		sonde_launch_metrics__set(m, v, LAUNCH_THREADS, blocks * threads);
}
