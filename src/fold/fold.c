/*
 * Launches → accumulators. Each launch is decoded once and added to exactly one
 * cell; every number of every report is then a sum over cells. All accumulators
 * merge: that is what makes inclusive = exclusive + children hold by
 * construction.
 */
#include "fold/fold_int.h"
#include "fold/timeline.h"

#include "base/alloc.h"
#include "fold/rollups.h"

#include <math.h>
#include <stdio.h>

#define MAX_BYTES (4ull << 30) /* the most bytes of accumulators; beyond this the user must choose fewer metrics */

struct filling {
	struct sonde_folding f;
	struct sonde_cells *c;
	struct sonde_rollups rollups;
	struct sonde_values values;
	uint32_t time_metric;	/* SONDE_NONE: the capture has no times */
	uint32_t bytes_metric;	/* the bytes of a copy; SONDE_NONE: not captured */
	struct sonde_map cell_keys;
	uint32_t last_cell;   /* number of the cell looked up last, SONDE_NONE = it was new */
	uint64_t nr_bytes;    /* bytes of all accumulators */
	uint64_t nr;	      /* number of launches that the current result counts for, at least 1 */
};

static void add_fact(struct filling *x, struct sonde_acc *acc, double v, bool is_text)
{
	struct sonde_mode *mode;

	if (!acc->modes)
		acc->modes = sonde_arena_calloc(&x->c->arena, 1, sizeof(*acc->modes));
	if (acc->modes) {
		mode = sonde_modes_find(acc->modes, v, is_text, &x->c->arena);
		*(mode ? &mode->count : &acc->modes->other) += x->nr;
	}
	if (!is_text) {
		acc->a = acc->nr == 0 || v < acc->a ? v : acc->a;
		acc->b = acc->nr == 0 || v > acc->b ? v : acc->b;
	}
	acc->nr += x->nr;
}

static void add_weighed(
	struct filling *x, const struct sonde_rollup *p, struct sonde_acc *acc, double v, double t)
{
	const double *num = x->values.num;
	double w = p->weight[0] == SONDE_NONE ? NAN : num[p->weight[0]];

	if (p->weight[1] != SONDE_NONE)
		w *= num[p->weight[1]];
	if (w >= 0) {
		acc->a += w * v;
		acc->w += w;
		acc->nr_weighed += x->nr;
	}
	if (t >= 0) {
		acc->b += t * v;
		acc->t += t;
	}
	acc->top = acc->nr == 0 || v > acc->top ? v : acc->top;
	acc->nr += x->nr;
}

static void add_number(
	struct filling *x, const struct sonde_rollup *p, struct sonde_acc *acc, double v)
{
	double t = x->time_metric == SONDE_NONE ? NAN : x->values.num[x->time_metric];

	switch (p->method) {
	case SONDE_METHOD_SUM:
	case SONDE_METHOD_LOWER:
	case SONDE_METHOD_UPPER:
		acc->b = acc->nr == 0 || v > acc->b ? v : acc->b;
		acc->a += v;
		acc->nr += x->nr;
		break;
	case SONDE_METHOD_MAX:
		acc->a = acc->nr == 0 || v > acc->a ? v : acc->a;
		acc->nr += x->nr;
		break;
	case SONDE_METHOD_MEAN:
	case SONDE_METHOD_PEAK:
		add_weighed(x, p, acc, v, t);
		break;
	default:
		add_fact(x, acc, v, false);
		break;
	}
}

#define ROUNDED 0.01 /* relative slack for rounded values: tables in inputs print two decimals, each in a unit of its own */

static double slack_of(double v, double avg)
{
	return ROUNDED * fmax(fabs(v), fabs(avg));
}

/*
 * Whether a launch can have this value. Metrics that add up are counts and cannot be negative (in a sum, values of
 * both signs would cancel). A largest value cannot be below the average, nor a smallest one above it.
 */
static bool is_possible(const struct sonde_rollup *p, double v, double avg)
{
	switch (p->method) {
	case SONDE_METHOD_SUM:
		return v >= 0;
	case SONDE_METHOD_UPPER:
		return v >= 0 && !(v < avg - slack_of(v, avg));
	case SONDE_METHOD_LOWER:
		return v >= 0 && !(v > avg + slack_of(v, avg));
	default:
		return true;
	}
}

static int tell_impossible(const struct filling *x, const struct sonde_cell *cell,
	const struct sonde_rollup *p, struct sonde_err *damage)
{
	const struct sonde_cells *c = x->c;
	const struct sonde_process *process = &c->processes.at[c->scopes.at[cell->scope].process];
	double v = x->values.num[p->metric];
	char why[64];

	if (v < 0)
		snprintf(why, sizeof(why), "cannot be %g", v);
	else
		snprintf(why, sizeof(why), "is %g where the average is %g", v, x->values.num[p->sibling]);
	return sonde_err_set(damage, SONDE_ERR_FORMAT, "%.*s: %.*s: %.*s %s: it is left out",
		SONDE_STR_ARG(c->inputs.at[process->input].path), SONDE_STR_ARG(c->strings.keys[cell->kernel]),
		SONDE_STR_ARG(x->f.r->metric_names.keys[p->metric]), why);
}

/*
 * Adds the values of a launch to its cell. Impossible values are left out; then it returns an error that describes
 * the last of them.
 */
static int add_values(struct filling *x, struct sonde_cell *cell, struct sonde_err *damage)
{
	const struct sonde_kit *kit = sonde_cells_kit(x->c, cell->scope);
	const struct sonde_kit_slots *planned = &x->rollups.kits[kit - x->c->kits.at];
	const struct sonde_values *values = &x->values;
	size_t i;
	int rc = 0;

	for (i = 0; i < planned->list.nr; i++) {
		const struct sonde_rollup *p = &x->rollups.list.at[planned->list.at[i].slot];
		double v = values->num[p->metric];

		if (isnan(v))
			continue;
		if (!is_possible(p, v, p->sibling == SONDE_NONE ? NAN : values->num[p->sibling]))
			rc = tell_impossible(x, cell, p, damage);
		else
			add_number(x, p, &cell->acc[planned->list.at[i].at], v);
	}
	for (i = 0; i < values->texts.nr; i++) {
		uint32_t metric = values->texts.at[i].metric, slot = planned->slots[metric], text;

		if (slot == SONDE_NONE || x->rollups.list.at[slot].method < SONDE_METHOD_SAME)
			continue; /* a word in place of a number: the value is missing */
		text = sonde_map_keep(&x->c->texts, &x->c->arena, values->texts.at[i].text, NULL);
		if (text != SONDE_NONE)
			add_fact(x, &cell->acc[kit->at[metric]], text, true);
	}
	return rc;
}

/* Adds a cell. Fails beyond MAX_BYTES: then the user must choose fewer metrics. */
static int add_cell(struct sonde_cell **out, struct filling *x, const uint32_t *key,
	struct sonde_err *err)
{
	const struct sonde_str bytes = {(const char *)key, 3 * sizeof(*key)};
	size_t nr = sonde_cells_kit(x->c, key[0])->nr;
	struct sonde_cell *cell = NULL;

	x->nr_bytes += nr * sizeof(*cell->acc);
	if (x->nr_bytes > MAX_BYTES)
		return sonde_err_set(err, SONDE_ERR_LIMIT,
			"%zu metrics over %zu combinations of region and kernel need more than "
			"4 GiB; choose fewer with --metrics",
			nr, x->c->cells.nr);
	if (sonde_map_keep(&x->cell_keys, &x->rollups.arena, bytes, NULL) != SONDE_NONE)
		cell = sonde_vec_push(&x->c->cells);
	if (!cell)
		return sonde_err_nomem(err);
	cell->scope = key[0];
	cell->place = key[1];
	cell->kernel = x->f.string_of[key[2]];
	cell->acc = sonde_arena_calloc(&x->c->arena, nr + 1, sizeof(*cell->acc));
	*out = cell;
	return cell->acc ? 0 : sonde_err_nomem(err);
}

/* Finds the cell a launch counts in, and adds it if new. */
static int find_cell(struct sonde_cell **out, struct filling *x, const struct sonde_launch *launch,
	struct sonde_err *err)
{
	uint32_t key[3] = {
		launch->scope, launch->place, sonde_launch_kernel(x->f.l, launch)};

	if (x->last_cell < x->c->cells.nr) { /* launches of one cell often follow each other */
		struct sonde_cell *cell = *out = &x->c->cells.at[x->last_cell];

		if (cell->scope == key[0] && cell->place == key[1] &&
			cell->kernel == x->f.string_of[key[2]])
			return 0;
	}
	x->last_cell = sonde_map_find(&x->cell_keys, SONDE_BYTES(key));
	if (x->last_cell == SONDE_NONE)
		return add_cell(out, x, key, err);
	*out = &x->c->cells.at[x->last_cell];
	return 0;
}

static void add_copy(const struct filling *x, struct sonde_cell *cell, double t)
{
	double bytes = x->bytes_metric == SONDE_NONE ? NAN : x->values.num[x->bytes_metric];

	cell->copies++;
	cell->copy_ns += isnan(t) ? 0 : t;
	cell->copy_bytes += isnan(bytes) ? 0 : bytes;
}

/* Counts a launch with missing values. The message of the first one is kept for all. False: no memory. */
static bool count_damage(struct filling *x, const struct sonde_err *damage)
{
	if (x->c->nr_damaged++)
		return true;
	x->c->damage = sonde_str_from(damage->msg);
	return sonde_cells_keep(x->c, &x->c->damage);
}

/* Invariant 1. This runs exactly once for each launch. */
static int add_launch(struct filling *x, const struct sonde_launch *launch, struct sonde_err *err)
{
	struct sonde_scope_sum *sum = &x->c->sums.at[launch->scope];
	const struct sonde_record *rec = sonde_launch_record(x->f.l, launch);
	struct sonde_err damage; /* not initialized: clearing a kilobyte for each launch is expensive */
	struct sonde_cell *cell = NULL;
	bool is_damaged;
	double t;
	int rc;

	damage.msg[0] = '\0';
	is_damaged = sonde_records_values(x->f.r, (uint32_t)(rec - x->f.r->records.at), &x->values, &damage);
	if (is_damaged && !count_damage(x, &damage))
		return sonde_err_nomem(err);
	if (rec->is_between_windows)
		return 0;
	t = x->time_metric == SONDE_NONE ? NAN : x->values.num[x->time_metric];
	x->c->nr_untimed += isnan(t) && sonde_record_launches(rec);
	x->nr = sonde_record_launches(rec) ? sonde_record_launches(rec) : 1;
	sum->launches += sonde_record_launches(rec);
	sum->time_ns += isnan(t) ? 0 : t;
	if (launch->state == SONDE_LAUNCH_NOT_SELECTED)
		return 0;
	rc = find_cell(&cell, x, launch, err);
	if (rc)
		return rc;
	cell->launches += sonde_record_launches(rec);
	cell->adopted += launch->is_adopted;
	cell->time_ns += isnan(t) ? 0 : t;
	if (rec->kind == SONDE_RESULT_MEMCPY)
		add_copy(x, cell, t);
	if (add_values(x, cell, &damage) && !is_damaged && !count_damage(x, &damage))
		return sonde_err_nomem(err);
	return 0;
}

/* Plans the chosen metrics and those they need, and lays out the accumulators. */
static int plan_accumulators(struct filling *x, const struct sonde_choice *choice, struct sonde_err *err)
{
	const struct sonde_records *r = x->f.r;
	const struct sonde_offer offer = {
		&r->metric_names, r->sections.at, r->sections.nr, &r->strings, true};
	bool *wanted = sonde_arena_calloc(&x->f.scratch, r->metrics.nr + 1, sizeof(*wanted));
	bool ok;
	uint32_t i;
	int rc = wanted ? sonde_choice_mark(choice, &offer, wanted, NULL, err)
			: sonde_err_nomem(err);

	if (rc == 0) {
		sonde_choice_mark_tensor(&r->metric_names, wanted);
		ok = sonde_fold__kits(&x->f, &x->values) && sonde_rollups_init(&x->rollups, x->c);
		for (i = 0; ok && i < r->metrics.nr; i++)
			ok = !wanted[i] || sonde_rollups_add(&x->rollups, i);
		ok = ok && sonde_rollups_complete(&x->rollups) && sonde_rollups_lay_out(&x->rollups, x->c);
		rc = ok ? 0 : sonde_err_nomem(err);
	}
	return rc;
}

static int fill_cells(struct filling *x, const struct sonde_choice *choice, struct sonde_err *err)
{
	const struct sonde_launches *l = x->f.l;
	size_t i;
	int rc = sonde_values_init(&x->values, x->f.r, err);

	x->time_metric = sonde_records_metric(x->f.r, SONDE_METRIC_TIME);
	x->bytes_metric = sonde_records_metric(x->f.r, SONDE_METRIC_COPIED);
	if (rc == 0)
		rc = plan_accumulators(x, choice, err);
	for (i = 0; rc == 0 && i < l->scopes.nr; i++)
		if (!sonde_vec_push(&x->c->sums))
			rc = sonde_err_nomem(err);
	for (i = 0; rc == 0 && i < l->launches.nr; i++)
		if (x->f.r->records.at[i].when == SONDE_NOW)
			rc = add_launch(x, &l->launches.at[i], err);
	sonde_values_release(&x->values);
	return rc;
}

/* Adds visits, entries, samples and the timeline to the cells. */
static int add_times(
	struct filling *x, const struct sonde_fold_request *request, struct sonde_err *err)
{
	struct sonde_folding *f = &x->f;
	int rc;

	if (request->keeps_timeline && !(f->c->timeline = sonde_calloc(1, sizeof(*f->c->timeline))))
		return sonde_err_nomem(err);
	if (!sonde_fold__communication(f) || !sonde_fold__arguments(f) || !sonde_fold__visits(f) ||
		!sonde_fold__collectives(f) || !sonde_fold__memory(f) || !sonde_fold__stalls(f) || !sonde_fold__allocator(f))
		return sonde_err_nomem(err);
	rc = sonde_fold__sampled(f, err);
	if (rc == 0 && request->keeps_timeline && !sonde_fold__timeline(f, request->keeps_untimed))
		return sonde_err_nomem(err);
	return rc;
}

int sonde_cells_fold(struct sonde_cells **out, const struct sonde_launches *l,
	const struct sonde_fold_request *request, struct sonde_err *err)
{
	struct sonde_cells *c = sonde_calloc(1, sizeof(*c));
	struct filling x = {.f = {.c = c, .l = l, .r = l->records, .request = request}, .c = c};
	int rc = c && sonde_fold__tables(&x.f, request->keeps_timeline)
			 ? fill_cells(&x, &request->choice, err)
			 : sonde_err_nomem(err);

	*out = NULL;
	if (rc == 0) {
		c->read = request->read;
		rc = add_times(&x, request, err);
	}
	sonde_rollups_release(&x.rollups);
	sonde_map_release(&x.cell_keys);
	sonde_arena_release(&x.f.scratch);
	if (rc)
		sonde_cells_free(c);
	else
		*out = c;
	return rc;
}

int sonde_cells_fold_records(struct sonde_cells **out, const struct sonde_records *records,
	const struct sonde_fold_request *request, struct sonde_err *err)
{
	struct sonde_launches *launches = NULL;
	int rc = sonde_launches_build(&launches, records, &request->selection, err);

	if (rc == 0)
		rc = sonde_cells_fold(out, launches, request, err);
	sonde_launches_free(launches);
	return rc;
}
