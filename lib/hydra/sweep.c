/*
 * The jobs of a sweep: every argument is a list of override lines, and the jobs are all combinations
 * with one line of each list.
 */
#include "hydra/sweep.h"

#include "hydra/pytext.h"

struct plan {
	struct hydra_compose *master;
	struct hydra_ctx *cx;
	struct hydra_datum *args; /* map: key element → list of "key=text" */
};

static int push_text(struct plan *p, struct hydra_datum *list, struct sonde_str key,
	const struct hydra_datum *value)
{
	struct sonde_buf b = {0};

	sonde_buf_str(&b, key);
	sonde_buf_putc(&b, '=');
	hydra_override__value_text(&b, value);
	return hydra_datum__push(
		p->cx, list, hydra_datum__string(p->cx, hydra_ctx__take(p->cx, &b)));
}

static void shuffle(struct hydra_datum *list, int64_t seed)
{
	unsigned short state[3] = {
		(unsigned short)seed, (unsigned short)(seed >> 16), (unsigned short)(seed >> 32)};
	uint32_t i;

	for (i = list->seq.nr; i > 1; i--) {
		uint32_t k = (uint32_t)((unsigned long)nrand48(state) % i);
		struct hydra_datum *t = list->seq.at[k];

		list->seq.at[k] = list->seq.at[i - 1];
		list->seq.at[i - 1] = t;
	}
}

/* The options that a glob selects from its group. */
static struct hydra_datum *glob_values(struct plan *p, const struct hydra_override *o)
{
	struct hydra_datum *options = hydra_search__options(&p->master->search, o->key);
	struct hydra_datum *list = hydra_datum__new(p->cx, HYDRA_LIST);
	uint32_t i;

	for (i = 0; list && options && i < options->seq.nr; i++)
		if (hydra_override__glob_matches(o->value, options->seq.at[i]->s) &&
			hydra_datum__push(
				p->cx, list, hydra_datum__copy(p->cx, options->seq.at[i])))
			return NULL;
	return list;
}

static struct hydra_datum *sweep_values(struct plan *p, const struct hydra_override *o)
{
	struct hydra_datum *list;

	if (o->value->kind == HYDRA_INTERVAL)
		return hydra_ctx__refuse(p->cx, "HydraException",
			"BasicSweeper does not support sweep type : INTERVAL_SWEEP");
	if (o->value->kind == HYDRA_GLOB)
		return glob_values(p, o);
	list = hydra_override__expand(p->cx, o->value);
	if (list && o->value->shuffle)
		shuffle(list, p->master->now);
	return list;
}

static int add_argument(struct plan *p, struct sonde_str line)
{
	struct hydra_override o;
	struct hydra_datum *texts = hydra_datum__new(p->cx, HYDRA_LIST), *values;
	struct sonde_str key;
	uint32_t i;

	if (!texts || hydra_override__parse(&o, p->cx, line))
		return p->cx->fail.code;
	key = hydra_override__key_element(p->cx, &o);
	if (!hydra_datum__is_sweep(o.value)) {
		push_text(p, texts, key, o.value);
	} else {
		values = sweep_values(p, &o);
		for (i = 0; values && i < values->seq.nr; i++)
			if (push_text(p, texts, key, values->seq.at[i]))
				return p->cx->fail.code;
	}
	if (p->cx->fail.code)
		return p->cx->fail.code;
	return hydra_datum__set(p->cx, p->args, hydra_datum__string(p->cx, key), texts);
}

static int add_params(struct plan *p)
{
	struct hydra_datum *params = hydra_datum__path_get(p->master->root, "hydra.sweeper.params");
	uint32_t i;

	for (i = 0; params && params->kind == HYDRA_MAP && i < params->seq.nr; i++) {
		struct sonde_str key = hydra_pytext__show(p->cx, params->seq.at[i]->key);
		struct sonde_str value = hydra_pytext__show(p->cx, params->seq.at[i]);

		if (add_argument(p, HYDRA_JOIN(p->cx, key, SONDE_STR("="), value)))
			return p->cx->fail.code;
	}
	return p->cx->fail.code;
}

static uint64_t count_jobs(const struct hydra_datum *args)
{
	uint64_t nr = 1;
	uint32_t i;

	for (i = 0; i < args->seq.nr && nr <= HYDRA_MAX_SWEEP; i++)
		nr *= args->seq.at[i]->seq.nr;
	return nr;
}

/* Makes job number `n` of the cartesian product. */
static struct hydra_datum *make_job(struct plan *p, uint64_t n)
{
	struct hydra_datum *job = hydra_datum__new(p->cx, HYDRA_LIST);
	uint64_t stride = count_jobs(p->args);
	uint32_t i;

	for (i = 0; job && i < p->args->seq.nr; i++) {
		const struct hydra_datum *choices = p->args->seq.at[i];

		stride /= choices->seq.nr;
		if (hydra_datum__push(p->cx, job,
			    hydra_datum__copy(
				    p->cx, choices->seq.at[n / stride % choices->seq.nr])))
			return NULL;
	}
	return job;
}

struct hydra_datum *hydra_sweep__plan(struct hydra_compose *master, uint32_t *batch)
{
	struct plan p = {.master = master, .cx = master->cx};
	struct hydra_datum *jobs = hydra_datum__new(p.cx, HYDRA_LIST), *size;
	uint64_t i, nr;
	size_t k;

	p.args = hydra_datum__new(p.cx, HYDRA_MAP);
	if (!jobs || !p.args || add_params(&p))
		return NULL;
	for (k = 0; k < master->overrides.nr; k++)
		if (!hydra_override__is_hydra(&master->overrides.at[k]) &&
			add_argument(&p, master->overrides.at[k].line))
			return NULL;
	nr = count_jobs(p.args);
	if (nr > HYDRA_MAX_SWEEP) {
		hydra_ctx__limit(p.cx, "the sweep has more than %d jobs", HYDRA_MAX_SWEEP);
		return NULL;
	}
	for (i = 0; i < nr; i++)
		if (hydra_datum__push(p.cx, jobs, make_job(&p, i)) || p.cx->fail.code)
			return NULL;
	size = hydra_datum__path_get(master->root, "hydra.sweeper.max_batch_size");
	*batch = size && size->kind == HYDRA_INT && size->i > 0 ? (uint32_t)size->i : 0;
	return jobs;
}
