#include "export/sqlite_int.h"

#include "tree/entries.h"

#include <math.h>

/* Where a row of figures belongs: 0 = none. */
struct owner {
	int64_t scope, region, kernel;
	const char *part;
};

static void bind_id(sqlite3_stmt *s, int at, int64_t id)
{
	if (id)
		sqlite3_bind_int64(s, at, id);
}

/* The figures now in d->figures; missing ones have no row. */
static int put_figures(struct sonde_db *d, const struct owner *o)
{
	sqlite3_stmt *s = d->insert[SONDE_DB_METRIC];
	size_t i;
	int rc = 0;

	for (i = 0; i < d->tree->columns.nr && rc == 0; i++) {
		const struct sonde_column *c = &d->tree->columns.at[i];
		const struct sonde_figure *f = &d->figures.at[i];

		if (c->is_text ? !f->text.p : isnan(f->v))
			continue;
		bind_id(s, 1, o->scope);
		sonde_db__z(s, 2, o->part);
		bind_id(s, 3, o->region);
		bind_id(s, 4, o->kernel);
		sqlite3_bind_int64(s, 5, (int64_t)i + 1);
		if (c->is_text)
			sonde_db__text(s, 6, f->text);
		else
			sonde_db__number(s, 6, f->v);
		sonde_db__number(s, 7, f->low);
		sonde_db__number(s, 8, f->high);
		sonde_db__z(s, 9, c->methods[f->method]);
		sonde_db__z(s, 10, sonde_quality_name(f->quality));
		sonde_db__number(s, 11, f->error);
		rc = sonde_db__step(d, s);
	}
	return rc;
}

static int put_kernels(struct sonde_db *d, const struct sonde_report *r, struct owner o,
	uint32_t first, uint32_t nr)
{
	sqlite3_stmt *s = d->insert[SONDE_DB_KERNEL];
	uint32_t i;
	int rc = 0;

	o.part = "kernel";
	for (i = first; i < first + nr && rc == 0; i++) {
		const struct sonde_kernel *k = &r->kernels.at[i];

		o.kernel = ++d->nr_kernels;
		bind_id(s, 1, o.kernel);
		bind_id(s, 2, o.scope);
		bind_id(s, 3, o.region);
		sonde_db__text(s, 4, sonde_tree_str(d->tree, k->name));
		sqlite3_bind_int64(s, 5, (int64_t)k->calls);
		sonde_db__number(s, 6, k->time_ns / 1e6);
		sonde_db__number(s, 7, k->calls ? k->time_ns / 1e6 / (double)k->calls : NAN);
		rc = sonde_db__step(d, s);
		sonde_tree_values(d->tree, r, SONDE_PART_KERNEL, i, &d->figures);
		if (rc == 0)
			rc = put_figures(d, &o);
	}
	return rc;
}

static void bind_region(
	struct sonde_db *d, const struct sonde_report *r, uint32_t node, const struct owner *o)
{
	const struct sonde_node *n = &r->nodes.at[node];
	const struct sonde_region *region = sonde_node_region(d->tree, n);
	sqlite3_stmt *s = d->insert[SONDE_DB_REGION];
	size_t i;

	bind_id(s, 1, o->region);
	bind_id(s, 2, o->scope);
	sonde_db__text(s, 3, region->id.n ? region->id : SONDE_STR(""));
	sonde_db__text(s, 4,
		sonde_node_label(d->tree, n).n ? sonde_node_label(d->tree, n) : SONDE_STR(""));
	if (n->parent != SONDE_NONE)
		bind_id(s, 5, o->region - node + n->parent);
	sqlite3_bind_int64(s, 6, n->depth);
	if (region->domain != SONDE_NONE)
		sonde_db__text(s, 7, sonde_tree_str(d->tree, region->domain));
	sonde_db__z(s, 8, sonde_region_kind_name(region->kind));
	sonde_db__z(s, 9, sonde_limiter(d->tree, &d->figures));
	sonde_db__z(s, 10, sonde_bound(n));
	sonde_db__text(s, 11, sonde_slowest_rank(d->tree, r, n));
	for (i = 0; i < sonde_nr_fields; i++)
		sonde_db__number(s, 12 + (int)i, sonde_field_number(&sonde_fields[i], r, n));
}

static int put_streams(struct sonde_db *d, const struct sonde_report *r, const struct sonde_node *n,
	const struct owner *o)
{
	sqlite3_stmt *st = d->insert[SONDE_DB_STREAM];
	size_t i;
	int rc = 0;

	for (i = 0; i < n->streams && r->streams.nr && rc == 0; i++) {
		const struct sonde_stream *s = &r->streams.at[n->first_stream + i];

		bind_id(st, 1, o->region);
		sqlite3_bind_int64(st, 2, s->context);
		sqlite3_bind_int64(st, 3, (int64_t)s->stream);
		sqlite3_bind_int64(st, 4, (int64_t)s->launches);
		sonde_db__number(st, 5, s->time_ns / 1e6);
		sonde_db__number(st, 6, s->busy_ns / 1e6);
		rc = sonde_db__step(d, st);
	}
	return rc;
}

/* Of an entry too short for samples to tell: NULLs. */
static void bind_load(sqlite3_stmt *st, const struct sonde_entry_load *load)
{
	int i;

	for (i = 0; i < SONDE_NR_LOADS; i++) {
		sonde_db__number(st, 8 + 2 * i, load ? load->v[i] : NAN);
		sonde_db__number(st, 9 + 2 * i, load ? SONDE_WITHIN_95 * load->error[i] : NAN);
	}
}

/* Of single scopes: those of an aggregate are theirs. */
static int put_entries(struct sonde_db *d, const struct sonde_report *r, const struct sonde_node *n,
	const struct owner *o)
{
	sqlite3_stmt *st = d->insert[SONDE_DB_ENTRY];
	struct sonde_entry_runs runs;
	size_t i;
	int rc = 0;

	if (r->is_aggregate)
		return 0;
	if (!sonde_entry_runs_find(&runs, d->tree, r, n))
		return sonde_err_nomem(d->err);
	for (i = 0; i < runs.nr_entries && rc == 0; i++) {
		const struct sonde_entry *e = &runs.at.at[0].at[i];

		bind_id(st, 1, o->region);
		sqlite3_bind_int64(st, 2, runs.step);
		sonde_db__number(st, 3, (double)(e->begin_ns - d->first_ns) / 1e6);
		sonde_db__number(st, 4, (double)e->host_ns / 1e6);
		sonde_db__number(st, 5, (double)e->gpu_ns / 1e6);
		sonde_db__number(st, 6, (double)e->span_ns / 1e6);
		if (e->label == SONDE_NONE)
			sqlite3_bind_null(st, 7);
		else
			sonde_db__text(st, 7, sonde_tree_str(d->tree, e->label));
		bind_load(st, sonde_cells_load(d->tree->cells, e));
		rc = sonde_db__step(d, st);
	}
	sonde_entry_runs_release(&runs);
	return rc;
}

/* Ids of regions grow with the node number: a parent's is known from the child's. */
static int put_region(
	struct sonde_db *d, const struct sonde_report *r, uint32_t node, struct owner o)
{
	const struct sonde_node *n = &r->nodes.at[node];
	int rc;

	o.region = ++d->nr_regions;
	sonde_tree_values(d->tree, r, SONDE_PART_INCLUSIVE, node, &d->figures);
	bind_region(d, r, node, &o);
	rc = sonde_db__step(d, d->insert[SONDE_DB_REGION]);
	if (rc == 0)
		rc = put_streams(d, r, n, &o);
	if (rc == 0)
		rc = put_entries(d, r, n, &o);
	o.part = "inclusive";
	if (rc == 0)
		rc = put_figures(d, &o);
	o.part = "exclusive";
	sonde_tree_values(d->tree, r, SONDE_PART_EXCLUSIVE, node, &d->figures);
	if (rc == 0)
		rc = put_figures(d, &o);
	return rc ? rc : put_kernels(d, r, o, n->first_kernel, n->nr_kernels);
}

static int put_scope(struct sonde_db *d, const struct sonde_report *r, int64_t id)
{
	sqlite3_stmt *s = d->insert[SONDE_DB_SCOPE];
	const struct sonde_scope *scope =
		r->scope == SONDE_NONE ? NULL : &d->tree->cells->scopes.at[r->scope];

	if (scope && scope->nr_folded) /* of many */
		scope = NULL;
	sqlite3_bind_int64(s, 1, id);
	sonde_db__text(s, 2, r->name);
	sqlite3_bind_int64(s, 3, r->is_aggregate);
	sonde_db__z(s, 4, sonde_measured_name(r->measured));
	if (scope)
		sqlite3_bind_int64(s, 5,
			(int64_t)d->tree->cells->processes.at[scope->process].pid);
	if (scope && scope->device != SONDE_NONE)
		sqlite3_bind_int64(s, 6, scope->device);
	sqlite3_bind_int64(s, 7, (int64_t)r->launches);
	sonde_db__number(s, 8, r->time_ns / 1e6);
	sqlite3_bind_int64(s, 9, (int64_t)r->outside_launches);
	sonde_db__number(s, 10, r->outside_time_ns / 1e6);
	return sonde_db__step(d, s);
}

static int put_report(struct sonde_db *d, const struct sonde_report *r, int64_t id)
{
	struct owner o = {.scope = id, .part = "total"};
	size_t i;
	int rc = put_scope(d, r, id);

	for (i = 0; i < r->nodes.nr && rc == 0; i++)
		rc = put_region(d, r, (uint32_t)i, o);
	sonde_tree_values(d->tree, r, SONDE_PART_TOTAL, 0, &d->figures);
	if (rc == 0)
		rc = put_figures(d, &o);
	o.part = "outside";
	sonde_tree_values(d->tree, r, SONDE_PART_OUTSIDE, 0, &d->figures);
	if (rc == 0)
		rc = put_figures(d, &o);
	return rc ? rc : put_kernels(d, r, o, r->outside_first_kernel, r->nr_outside_kernels);
}

int sonde_db__reports(struct sonde_db *d, const struct sonde_export_options *o)
{
	sqlite3_stmt *s = d->insert[SONDE_DB_NAME];
	size_t i;
	int rc = 0;

	for (i = 0; i < d->tree->columns.nr && rc == 0; i++) {
		const struct sonde_column *c = &d->tree->columns.at[i];

		sqlite3_bind_int64(s, 1, (int64_t)i + 1);
		sonde_db__text(s, 2, c->name);
		sonde_db__z(s, 3, c->unit);
		sonde_db__z(s, 4, c->methods[0]);
		sonde_db__z(s, 5, sonde_quality_name(c->quality));
		rc = sonde_db__step(d, s);
	}
	for (i = 0; i < d->tree->reports.nr && rc == 0; i++)
		if (sonde_report_is_shown(&d->tree->reports.at[i], o))
			rc = put_report(d, &d->tree->reports.at[i], (int64_t)i + 1);
	return rc;
}

static int put_launch(struct sonde_db *d, const struct sonde_timeline_launch *launch, int64_t id)
{
	static const char *const states[] = {[SONDE_LAUNCH_TAKEN] = "in regions",
		[SONDE_LAUNCH_OUTSIDE] = "outside",
		[SONDE_LAUNCH_NOT_SELECTED] = "not selected"};
	sqlite3_stmt *s = d->insert[SONDE_DB_LAUNCH];

	sqlite3_bind_int64(s, 1, id);
	sqlite3_bind_int64(s, 2, (int64_t)launch->scope + 1); /* scopes are the first reports */
	sonde_db__text(s, 3, sonde_tree_str(d->tree, launch->kernel));
	sonde_db__z(s, 4, states[launch->state]);
	sqlite3_bind_int64(s, 5, (int64_t)launch->thread);
	sqlite3_bind_int64(s, 6, (int64_t)launch->stream);
	sqlite3_bind_int64(s, 7, launch->context);
	if (launch->end_ns) {
		sqlite3_bind_int64(s, 8, (int64_t)launch->start_ns);
		sqlite3_bind_int64(s, 9, (int64_t)launch->end_ns);
	}
	return sonde_db__step(d, s);
}

/* Of a partial report, whose launches are not known, none; a note says so. */
int sonde_db__launches(struct sonde_db *d)
{
	const struct sonde_cells *c = d->tree->cells;
	const struct sonde_timeline *t = c->timeline;
	sqlite3_stmt *s = d->insert[SONDE_DB_LAUNCH_REGION];
	size_t i, k;
	int rc = 0;

	for (i = 0; t && i < t->launches.nr && rc == 0; i++) {
		const struct sonde_place *place = &c->places.at[t->launches.at[i].place];

		rc = put_launch(d, &t->launches.at[i], (int64_t)i + 1);
		for (k = 0; k < place->nr && rc == 0; k++) {
			sqlite3_bind_int64(s, 1, (int64_t)i + 1);
			sonde_db__text(s, 2, c->regions.at[c->homes.at[place->first + k]].id);
			rc = sonde_db__step(d, s);
		}
	}
	return rc;
}
