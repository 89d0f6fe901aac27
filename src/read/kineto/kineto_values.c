/* Which metrics the launches of a trace have, and their values. */
#include "read/kineto/kineto_int.h"

static const struct kineto_facts *facts_of(const struct kineto_state *s, uint64_t number)
{
	return (const struct kineto_facts *)(const void *)s->facts.keys[number].p;
}

/* Which metrics the kernels of this trace have. */
static void find_metrics(const struct kineto_state *s, bool has[NR_LAUNCH_METRICS])
{
	size_t i;

	has[LAUNCH_TIME] = true;
	for (i = 0; i < s->facts.nr; i++) {
		const struct kineto_facts *f = facts_of(s, i);
		unsigned m;

		for (m = LAUNCH_GRID_X; m <= LAUNCH_GRID && f->grid[0]; m++)
			has[m] = true;
		for (m = LAUNCH_BLOCK_X; m <= LAUNCH_THREADS && f->block[0]; m++)
			has[m] = true;
		has[LAUNCH_REGISTERS] |= f->registers != 0;
		has[LAUNCH_SHARED] |= f->block[0] != 0;
		has[LAUNCH_GRAPH] |= f->graph != 0;
		has[LAUNCH_NODE] |= f->node != 0;
		has[LAUNCH_COLLECTIVE] |= f->collective != SONDE_NONE;
		has[LAUNCH_GROUP] |= f->group != SONDE_NONE;
		has[LAUNCH_GROUP_SIZE] |= f->group_size != 0;
		has[LAUNCH_MESSAGE] |= f->in_elements != 0;
		has[LAUNCH_SEQUENCE] |= f->sequence != 0;
	}
}

bool sonde_kineto__add_metrics(struct kineto *k, struct kineto_state *s)
{
	bool has[NR_LAUNCH_METRICS] = {false};
	size_t i;

	find_metrics(s, has);
	for (i = k->first_record; i < k->r->records.nr && !has[LAUNCH_BYTES]; i++)
		has[LAUNCH_BYTES] = k->r->records.at[i].kind != SONDE_RESULT_KERNEL;
	return sonde_launch_metrics__add(&s->metrics, k->r, has);
}

/* What is 0 was not said. */
static void set(const struct kineto_state *s, struct sonde_values *v, enum sonde_launch_metric m,
	uint64_t value)
{
	if (value)
		sonde_launch_metrics__set(&s->metrics, v, m, (double)value);
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

static bool set_text(const struct kineto_state *s, struct sonde_values *v,
	enum sonde_launch_metric m, uint32_t text)
{
	return text == SONDE_NONE ||
	       sonde_values__text(v, s->metrics.number[m], sonde_records_str(s->r, text));
}

static bool set_collective(
	const struct kineto_state *s, const struct kineto_facts *f, struct sonde_values *v)
{
	unsigned size = size_of(sonde_records_str(s->r, f->dtype));

	set(s, v, LAUNCH_GROUP_SIZE, f->group_size);
	if (f->in_elements && size)
		sonde_launch_metrics__set(
			&s->metrics, v, LAUNCH_MESSAGE, (double)f->in_elements * size);
	if (f->sequence)
		sonde_launch_metrics__set(
			&s->metrics, v, LAUNCH_SEQUENCE, (double)(f->sequence - 1));
	return set_text(s, v, LAUNCH_COLLECTIVE, f->collective) &&
	       set_text(s, v, LAUNCH_GROUP, f->group);
}

int sonde_kineto__fill_values(const struct sonde_source *src, const struct sonde_record *rec,
	struct sonde_values *v, struct sonde_err *err)
{
	const struct kineto_state *s = src->state;
	const struct kineto_facts *f;

	if (rec->time.end_ns)
		sonde_launch_metrics__set(
			&s->metrics, v, LAUNCH_TIME, (double)(rec->time.end_ns - rec->time.start_ns));
	if (rec->kind != SONDE_RESULT_KERNEL) {
		sonde_launch_metrics__set(&s->metrics, v, LAUNCH_BYTES, (double)rec->payload);
		return 0;
	}
	f = facts_of(s, rec->payload);
	sonde_launch_metrics__set_shape(&s->metrics, v,
		(uint64_t[3]){f->grid[0], f->grid[1], f->grid[2]},
		(uint64_t[3]){f->block[0], f->block[1], f->block[2]});
	if (f->block[0])
		sonde_launch_metrics__set(&s->metrics, v, LAUNCH_SHARED, f->shared);
	set(s, v, LAUNCH_REGISTERS, f->registers);
	set(s, v, LAUNCH_GRAPH, f->graph);
	set(s, v, LAUNCH_NODE, f->node);
	return set_collective(s, f, v) ? 0 : sonde_err_nomem(err);
}
