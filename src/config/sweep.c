#include "config/sweep.h"

#include "config/pytext.h"

#include <stdlib.h>

struct plan {
	struct sonde_compose *master;
	struct sonde_ctx *cx;
	struct sonde_datum *args; /* map: key element → list of "key=text" */
};

static int push_text(struct plan *p, struct sonde_datum *list, struct sonde_str key,
	const struct sonde_datum *value)
{
	struct sonde_buf b = {0};

	sonde_buf_str(&b, key);
	sonde_buf_putc(&b, '=');
	sonde_override__value_text(&b, value);
	return sonde_datum__push(
		p->cx, list, sonde_datum__string(p->cx, sonde_ctx__take(p->cx, &b)));
}

static void shuffle(struct sonde_datum *list, int64_t seed)
{
	unsigned short state[3] = {
		(unsigned short)seed, (unsigned short)(seed >> 16), (unsigned short)(seed >> 32)};
	uint32_t i;

	for (i = list->seq.nr; i > 1; i--) {
		uint32_t k = (uint32_t)((unsigned long)nrand48(state) % i);
		struct sonde_datum *t = list->seq.at[k];

		list->seq.at[k] = list->seq.at[i - 1];
		list->seq.at[i - 1] = t;
	}
}

/* The options of the group that a glob selects. */
static struct sonde_datum *glob_values(struct plan *p, const struct sonde_override *o)
{
	struct sonde_datum *options = sonde_search__options(&p->master->search, o->key);
	struct sonde_datum *list = sonde_datum__new(p->cx, SONDE_LIST);
	uint32_t i;

	for (i = 0; list && options && i < options->seq.nr; i++)
		if (sonde_override__glob_matches(o->value, options->seq.at[i]->s) &&
			sonde_datum__push(
				p->cx, list, sonde_datum__copy(p->cx, options->seq.at[i])))
			return NULL;
	return list;
}

static struct sonde_datum *sweep_values(struct plan *p, const struct sonde_override *o)
{
	struct sonde_datum *list;

	if (o->value->kind == SONDE_INTERVAL) {
		sonde_ctx__fail(p->cx, "HydraException",
			"BasicSweeper does not support sweep type : INTERVAL_SWEEP");
		return NULL;
	}
	if (o->value->kind == SONDE_GLOB)
		return glob_values(p, o);
	list = sonde_override__expand(p->cx, o->value);
	if (list && o->value->shuffle)
		shuffle(list, p->master->now);
	return list;
}

static int add_argument(struct plan *p, struct sonde_str line)
{
	struct sonde_override o;
	struct sonde_datum *texts = sonde_datum__new(p->cx, SONDE_LIST), *values, *old;
	struct sonde_str key;
	uint32_t i;

	if (!texts || sonde_override__parse(&o, p->cx, line))
		return p->cx->fail.code;
	key = sonde_override__key_element(p->cx, &o);
	if (!sonde_datum__is_sweep(o.value)) {
		push_text(p, texts, key, o.value);
	} else {
		values = sweep_values(p, &o);
		for (i = 0; values && i < values->seq.nr; i++)
			if (push_text(p, texts, key, values->seq.at[i]))
				return p->cx->fail.code;
	}
	if (p->cx->fail.code)
		return p->cx->fail.code;
	old = sonde_datum__get(p->args, key);
	if (old) {
		sonde_datum__replace(old, texts);
		return 0;
	}
	return sonde_datum__set(p->cx, p->args, sonde_datum__string(p->cx, key), texts);
}

static int add_params(struct plan *p)
{
	struct sonde_datum *params = sonde_datum__path_get(p->master->root, "hydra.sweeper.params");
	uint32_t i;

	for (i = 0; params && params->kind == SONDE_MAP && i < params->seq.nr; i++) {
		struct sonde_buf b = {0};

		sonde_pytext__str(&b, params->seq.at[i]->key);
		sonde_buf_putc(&b, '=');
		sonde_pytext__str(&b, params->seq.at[i]);
		if (add_argument(p, sonde_ctx__take(p->cx, &b)))
			return p->cx->fail.code;
	}
	return p->cx->fail.code;
}

static uint64_t count_jobs(const struct sonde_datum *args)
{
	uint64_t nr = 1;
	uint32_t i;

	for (i = 0; i < args->seq.nr && nr <= SONDE_MAX_SWEEP; i++)
		nr *= args->seq.at[i]->seq.nr;
	return nr;
}

/* Job number `n` of the cartesian product. */
static struct sonde_datum *make_job(struct plan *p, uint64_t n)
{
	struct sonde_datum *job = sonde_datum__new(p->cx, SONDE_LIST);
	uint64_t stride = count_jobs(p->args);
	uint32_t i;

	for (i = 0; job && i < p->args->seq.nr; i++) {
		const struct sonde_datum *choices = p->args->seq.at[i];

		stride /= choices->seq.nr;
		if (sonde_datum__push(p->cx, job,
			    sonde_datum__copy(
				    p->cx, choices->seq.at[n / stride % choices->seq.nr])))
			return NULL;
	}
	return job;
}

struct sonde_datum *sonde_sweep__plan(struct sonde_compose *master, uint32_t *batch)
{
	struct plan p = {.master = master, .cx = master->cx};
	struct sonde_datum *jobs = sonde_datum__new(p.cx, SONDE_LIST), *size;
	uint64_t i, nr;
	size_t k;

	p.args = sonde_datum__new(p.cx, SONDE_MAP);
	if (!jobs || !p.args || add_params(&p))
		return NULL;
	for (k = 0; k < master->overrides.nr; k++)
		if (!sonde_override__is_hydra(&master->overrides.at[k]) &&
			add_argument(&p, master->overrides.at[k].line))
			return NULL;
	nr = count_jobs(p.args);
	if (nr > SONDE_MAX_SWEEP) {
		sonde_ctx__limit(p.cx, "the sweep has more than %d jobs", SONDE_MAX_SWEEP);
		return NULL;
	}
	for (i = 0; i < nr; i++)
		if (sonde_datum__push(p.cx, jobs, make_job(&p, i)) || p.cx->fail.code)
			return NULL;
	size = sonde_datum__path_get(master->root, "hydra.sweeper.max_batch_size");
	*batch = size && size->kind == SONDE_INT && size->i > 0 ? (uint32_t)size->i : 0;
	return jobs;
}
