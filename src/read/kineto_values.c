/* Which metrics the launches of a trace have, and their values. */
#include "catalogue/metrics.h"
#include "read/kineto_int.h"

enum metric {
	TIME,
	GRID_X,
	GRID_Y,
	GRID_Z,
	GRID,
	BLOCK_X,
	BLOCK_Y,
	BLOCK_Z,
	BLOCK,
	THREADS,
	REGISTERS,
	SHARED,
	BYTES,
	GRAPH,
	NODE,
	COLLECTIVE,
	GROUP,
	GROUP_SIZE,
	MESSAGE,
	SEQUENCE,
	NR_METRICS,
};

_Static_assert(NR_METRICS == KINETO_NR_METRICS, "a number for each");

static const char *const metrics[NR_METRICS] = {
	[TIME] = SONDE_METRIC_TIME,
	[GRID_X] = SONDE_METRIC_GRID_X,
	[GRID_Y] = SONDE_METRIC_GRID_Y,
	[GRID_Z] = SONDE_METRIC_GRID_Z,
	[GRID] = SONDE_METRIC_GRID,
	[BLOCK_X] = SONDE_METRIC_BLOCK_X,
	[BLOCK_Y] = SONDE_METRIC_BLOCK_Y,
	[BLOCK_Z] = SONDE_METRIC_BLOCK_Z,
	[BLOCK] = SONDE_METRIC_BLOCK,
	[THREADS] = SONDE_METRIC_THREADS,
	[REGISTERS] = SONDE_METRIC_REGISTERS,
	[SHARED] = SONDE_METRIC_SHARED,
	[BYTES] = SONDE_METRIC_COPIED,
	[GRAPH] = "graph__id",
	[NODE] = "graph__node_id",
	[COLLECTIVE] = SONDE_METRIC_COLLECTIVE,
	[GROUP] = SONDE_METRIC_GROUP,
	[GROUP_SIZE] = SONDE_METRIC_GROUP_SIZE,
	[MESSAGE] = SONDE_METRIC_MESSAGE,
	[SEQUENCE] = SONDE_METRIC_SEQUENCE,
};

static const struct kineto_facts *facts_of(const struct kineto_state *s, const struct sonde_record *rec)
{
	return (const struct kineto_facts *)(const void *)s->facts.keys[rec->payload_size].p;
}

/* Which metrics the kernels of this trace have. */
static void find_metrics(const struct kineto_state *s, bool has[NR_METRICS])
{
	size_t i;

	has[TIME] = true;
	for (i = 0; i < s->facts.nr; i++) {
		const struct sonde_record rec = {.payload_size = (uint32_t)i};
		const struct kineto_facts *f = facts_of(s, &rec);
		unsigned m;

		for (m = GRID_X; m <= GRID && f->grid[0]; m++)
			has[m] = true;
		for (m = BLOCK_X; m <= THREADS && f->block[0]; m++)
			has[m] = true;
		has[REGISTERS] |= f->registers != 0;
		has[SHARED] |= f->block[0] != 0;
		has[GRAPH] |= f->graph != 0;
		has[NODE] |= f->node != 0;
		has[COLLECTIVE] |= f->collective != SONDE_NONE;
		has[GROUP] |= f->group != SONDE_NONE;
		has[GROUP_SIZE] |= f->group_size != 0;
		has[MESSAGE] |= f->in_elements != 0;
		has[SEQUENCE] |= f->sequence != 0;
	}
}

bool sonde_kineto__add_metrics(struct kineto *k, struct kineto_state *s)
{
	bool has[NR_METRICS] = {false};
	size_t i;

	find_metrics(s, has);
	for (i = k->first_record; i < k->r->records.nr && !has[BYTES]; i++)
		has[BYTES] = k->r->records.at[i].kind != SONDE_RESULT_KERNEL;
	for (i = 0; i < NR_METRICS; i++) {
		s->number[i] = SONDE_NONE;
		if (!has[i])
			continue;
		s->number[i] = sonde_records__metric(k->r, sonde_str_from(metrics[i]));
		if (s->number[i] == SONDE_NONE)
			return false;
		if (!k->r->metrics.at[s->number[i]].unit.n)
			k->r->metrics.at[s->number[i]].unit =
				sonde_str_from(sonde_metric_unit(sonde_str_from(metrics[i])));
	}
	return true;
}

static void set(const struct kineto_state *s, struct sonde_values *v, enum metric m, double value)
{
	if (s->number[m] != SONDE_NONE)
		v->num[s->number[m]] = value;
}

static void set_dims(
	const struct kineto_state *s, struct sonde_values *v, enum metric m, const uint32_t dims[3])
{
	unsigned i;

	for (i = 0; i < 3 && dims[0]; i++)
		set(s, v, m + i, dims[i]);
	if (dims[0])
		set(s, v, m + 3, (double)dims[0] * dims[1] * dims[2]);
}

/* Bytes of one element, by PyTorch's names of types. */
static unsigned size_of(struct sonde_str dtype)
{
	static const struct {
		const char *name;
		unsigned size;
	} types[] = {{"Float", 4}, {"Int", 4}, {"BFloat16", 2}, {"Half", 2}, {"Short", 2},
		{"Double", 8}, {"Long", 8}, {"Byte", 1}, {"Char", 1}, {"Bool", 1},
		{"ComplexFloat", 8}, {"ComplexDouble", 16}};
	size_t i;

	for (i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (sonde_str_is(dtype, types[i].name))
			return types[i].size;
	return sonde_str_starts(dtype, "Float8") ? 1 : 0;
}

static bool set_collective(
	const struct kineto_state *s, const struct kineto_facts *f, struct sonde_values *v)
{
	unsigned size = size_of(sonde_records_str(s->r, f->dtype));
	bool ok = true;

	if (f->group_size)
		set(s, v, GROUP_SIZE, f->group_size);
	if (f->sequence)
		set(s, v, SEQUENCE, (double)(f->sequence - 1));
	if (f->in_elements && size)
		set(s, v, MESSAGE, (double)f->in_elements * size);
	if (f->collective != SONDE_NONE)
		ok = sonde_values__text(
			v, s->number[COLLECTIVE], sonde_records_str(s->r, f->collective));
	if (ok && f->group != SONDE_NONE)
		ok = sonde_values__text(v, s->number[GROUP], sonde_records_str(s->r, f->group));
	return ok;
}

int sonde_kineto__values(const struct sonde_source *src, const struct sonde_record *rec,
	struct sonde_values *v, struct sonde_err *err)
{
	const struct kineto_state *s = src->state;
	const struct kineto_facts *f;

	set(s, v, TIME, (double)(rec->time.end_ns - rec->time.start_ns));
	if (rec->kind != SONDE_RESULT_KERNEL) {
		set(s, v, BYTES, (double)rec->payload);
		return 0;
	}
	f = facts_of(s, rec);
	set_dims(s, v, GRID_X, f->grid);
	set_dims(s, v, BLOCK_X, f->block);
	if (f->grid[0] && f->block[0])
		set(s, v, THREADS, (double)f->grid[0] * f->grid[1] * f->grid[2] * f->block[0] *
					   f->block[1] * f->block[2]);
	if (f->registers)
		set(s, v, REGISTERS, f->registers);
	if (f->block[0])
		set(s, v, SHARED, f->shared);
	if (f->graph)
		set(s, v, GRAPH, (double)f->graph);
	if (f->node)
		set(s, v, NODE, (double)f->node);
	return set_collective(s, f, v) ? 0 : sonde_err_nomem(err);
}
