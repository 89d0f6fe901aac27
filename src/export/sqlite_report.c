#include "export/sqlite_int.h"

#include "base/alloc.h"
#include "tree/entries.h"

#include <math.h>

/* Where a row of figures belongs: 0 = none. */
struct owner {
	int64_t scope, region, kernel;
	const char *part;
};

/* The figures now in d->figures; missing ones have no row. */
static void put_figures(struct sonde_db *d, const struct owner *o)
{
	size_t i;

	for (i = 0; i < d->tree->columns.nr; i++) {
		const struct sonde_column *c = &d->tree->columns.at[i];
		const struct sonde_figure *f = &d->figures.at[i];

		if (c->is_text ? !f->text.p : isnan(f->v))
			continue;
		SONDE_DB_ROW(d, SONDE_DB_METRIC, SONDE_DB_ID(o->scope), SONDE_DB_WORD(o->part),
			SONDE_DB_ID(o->region), SONDE_DB_ID(o->kernel), SONDE_DB_INT(i + 1),
			c->is_text ? SONDE_DB_TEXT(f->text) : SONDE_DB_REAL(f->v),
			SONDE_DB_REAL(f->low), SONDE_DB_REAL(f->high),
			SONDE_DB_WORD(c->methods[f->method]),
			SONDE_DB_WORD(sonde_quality_name(f->quality)), SONDE_DB_REAL(f->error));
	}
}

static void put_kernels(struct sonde_db *d, const struct sonde_report *r, struct owner o,
	uint32_t first, uint32_t nr)
{
	uint32_t i;

	o.part = "kernel";
	for (i = first; i < first + nr; i++) {
		const struct sonde_kernel *k = &r->kernels.at[i];

		o.kernel = ++d->nr_kernels;
		SONDE_DB_ROW(d, SONDE_DB_KERNEL, SONDE_DB_ID(o.kernel), SONDE_DB_ID(o.scope),
			SONDE_DB_ID(o.region), SONDE_DB_TEXT(sonde_tree_str(d->tree, k->name)),
			SONDE_DB_INT(k->calls), SONDE_DB_REAL(k->time_ns / 1e6),
			SONDE_DB_REAL(k->calls ? k->time_ns / 1e6 / (double)k->calls : NAN));
		sonde_tree_values(d->tree, r, SONDE_PART_KERNEL, i, &d->figures);
		put_figures(d, &o);
	}
}

static struct sonde_str known(struct sonde_str text)
{
	return text.n ? text : SONDE_STR("");
}

/* Ids of regions grow with the node number: a parent's is known from the child's. */
static void put_row(struct sonde_db *d, const struct sonde_report *r, uint32_t node, const struct owner *o)
{
	const struct sonde_node *n = &r->nodes.at[node];
	const struct sonde_region *region = sonde_node_region(d->tree, n);
	const struct sonde_db_value words[SONDE_DB_NR_WORDS] = {SONDE_DB_ID(o->region), SONDE_DB_ID(o->scope),
		SONDE_DB_TEXT(known(region->id)), SONDE_DB_TEXT(known(sonde_node_label(d->tree, n))),
		SONDE_DB_ID(n->parent == SONDE_NONE ? 0 : o->region - node + n->parent),
		SONDE_DB_INT(n->depth), SONDE_DB_TEXT(sonde_tree_str(d->tree, region->domain)),
		SONDE_DB_WORD(sonde_region_kind_name(region->kind)),
		SONDE_DB_WORD(sonde_limiter(d->tree, &d->figures)), SONDE_DB_WORD(sonde_bound(n)),
		SONDE_DB_TEXT(sonde_slowest_rank(d->tree, r, n))};
	struct sonde_db_value *row = sonde_malloc(sizeof(words) + sonde_nr_fields * sizeof(*row));
	size_t i;

	if (!row) {
		d->rc = sonde_err_nomem(d->err);
		return;
	}
	for (i = 0; i < SONDE_DB_NR_WORDS; i++)
		row[i] = words[i];
	for (i = 0; i < sonde_nr_fields; i++)
		row[SONDE_DB_NR_WORDS + i] = SONDE_DB_REAL(sonde_field_number(&sonde_fields[i], r, n));
	sonde_db__insert(d, SONDE_DB_REGION, row, SONDE_DB_NR_WORDS + sonde_nr_fields);
	sonde_free(row);
}

static void put_streams(
	struct sonde_db *d, const struct sonde_report *r, const struct sonde_node *n, const struct owner *o)
{
	size_t i;

	for (i = 0; i < n->streams && r->streams.nr; i++) {
		const struct sonde_stream *s = &r->streams.at[n->first_stream + i];

		SONDE_DB_ROW(d, SONDE_DB_STREAM, SONDE_DB_ID(o->region), SONDE_DB_INT(s->context),
			SONDE_DB_INT(s->stream), SONDE_DB_INT(s->launches),
			SONDE_DB_REAL(s->time_ns / 1e6), SONDE_DB_REAL(s->busy_ns / 1e6));
	}
}

/* Of single scopes: those of an aggregate are theirs. */
static void put_entries(
	struct sonde_db *d, const struct sonde_report *r, const struct sonde_node *n, const struct owner *o)
{
	struct sonde_entry_runs runs;
	size_t i;

	if (r->is_aggregate)
		return;
	if (!sonde_entry_runs_find(&runs, d->tree, r, n)) {
		d->rc = sonde_err_nomem(d->err);
		return;
	}
	for (i = 0; i < runs.nr_entries; i++) {
		const struct sonde_entry *e = &runs.at.at[0].at[i];
		const struct sonde_entry_load *load = sonde_cells_load(d->tree->cells, e);
		struct sonde_figure sm = sonde_load_figure(load, 0),
				    tensor = sonde_load_figure(load, 1),
				    dram = sonde_load_figure(load, 2);

		SONDE_DB_ROW(d, SONDE_DB_ENTRY, SONDE_DB_ID(o->region), SONDE_DB_INT(runs.step),
			SONDE_DB_REAL((double)(e->begin_ns - d->first_ns) / 1e6),
			SONDE_DB_REAL((double)e->host_ns / 1e6), SONDE_DB_REAL((double)e->gpu_ns / 1e6),
			SONDE_DB_REAL((double)e->span_ns / 1e6),
			SONDE_DB_TEXT(sonde_tree_str(d->tree, e->label)), SONDE_DB_REAL(sm.v),
			SONDE_DB_REAL(sm.error), SONDE_DB_REAL(tensor.v), SONDE_DB_REAL(tensor.error),
			SONDE_DB_REAL(dram.v), SONDE_DB_REAL(dram.error));
	}
	sonde_entry_runs_release(&runs);
}

static void put_region(struct sonde_db *d, const struct sonde_report *r, uint32_t node, struct owner o)
{
	const struct sonde_node *n = &r->nodes.at[node];

	o.region = ++d->nr_regions;
	sonde_tree_values(d->tree, r, SONDE_PART_INCLUSIVE, node, &d->figures);
	put_row(d, r, node, &o);
	put_streams(d, r, n, &o);
	put_entries(d, r, n, &o);
	o.part = "inclusive";
	put_figures(d, &o);
	o.part = "exclusive";
	sonde_tree_values(d->tree, r, SONDE_PART_EXCLUSIVE, node, &d->figures);
	put_figures(d, &o);
	put_kernels(d, r, o, n->first_kernel, n->nr_kernels);
}

static void put_scope(struct sonde_db *d, const struct sonde_report *r, int64_t id)
{
	const struct sonde_scope *scope = sonde_report_scope(d->tree, r);
	const struct sonde_db_value none = {.is_null = true};

	SONDE_DB_ROW(d, SONDE_DB_SCOPE, SONDE_DB_ID(id), SONDE_DB_TEXT(r->name),
		SONDE_DB_INT(r->is_aggregate), SONDE_DB_WORD(sonde_measured_name(r->measured)),
		scope ? SONDE_DB_INT(d->tree->cells->processes.at[scope->process].pid) : none,
		scope && scope->device != SONDE_NONE ? SONDE_DB_INT(scope->device) : none,
		SONDE_DB_INT(r->launches), SONDE_DB_REAL(r->time_ns / 1e6),
		SONDE_DB_INT(r->outside_launches), SONDE_DB_REAL(r->outside_time_ns / 1e6));
}

static void put_report(struct sonde_db *d, const struct sonde_report *r, int64_t id)
{
	struct owner o = {.scope = id, .part = "total"};
	size_t i;

	put_scope(d, r, id);
	for (i = 0; i < r->nodes.nr && d->rc == 0; i++)
		put_region(d, r, (uint32_t)i, o);
	sonde_tree_values(d->tree, r, SONDE_PART_TOTAL, 0, &d->figures);
	put_figures(d, &o);
	o.part = "outside";
	sonde_tree_values(d->tree, r, SONDE_PART_OUTSIDE, 0, &d->figures);
	put_figures(d, &o);
	put_kernels(d, r, o, r->outside_first_kernel, r->nr_outside_kernels);
}

void sonde_db__put_reports(struct sonde_db *d, const struct sonde_export_options *o)
{
	size_t i;

	for (i = 0; i < d->tree->columns.nr; i++) {
		const struct sonde_column *c = &d->tree->columns.at[i];

		SONDE_DB_ROW(d, SONDE_DB_NAME, SONDE_DB_INT(i + 1), SONDE_DB_TEXT(c->name),
			SONDE_DB_WORD(c->unit), SONDE_DB_WORD(c->methods[0]),
			SONDE_DB_WORD(sonde_quality_name(c->quality)));
	}
	for (i = 0; i < d->tree->reports.nr && d->rc == 0; i++)
		if (sonde_report_is_shown(&d->tree->reports.at[i], o))
			put_report(d, &d->tree->reports.at[i], (int64_t)i + 1);
}

static void put_launch(struct sonde_db *d, const struct sonde_timeline_launch *l, int64_t id)
{
	static const char *const states[] = {[SONDE_LAUNCH_TAKEN] = "in regions",
		[SONDE_LAUNCH_OUTSIDE] = "outside",
		[SONDE_LAUNCH_NOT_SELECTED] = "not selected"};
	const struct sonde_db_value none = {.is_null = true};

	SONDE_DB_ROW(d, SONDE_DB_LAUNCH, SONDE_DB_ID(id),
		SONDE_DB_INT(l->scope + 1u), /* scopes are the first reports */
		SONDE_DB_TEXT(sonde_tree_str(d->tree, l->kernel)), SONDE_DB_WORD(states[l->state]),
		SONDE_DB_INT(l->thread), SONDE_DB_INT(l->stream), SONDE_DB_INT(l->context),
		l->end_ns ? SONDE_DB_INT(l->start_ns) : none, l->end_ns ? SONDE_DB_INT(l->end_ns) : none);
}

/* Of a partial report, whose launches are not known, none; a note says so. */
void sonde_db__put_launches(struct sonde_db *d)
{
	const struct sonde_cells *c = d->tree->cells;
	const struct sonde_timeline *t = c->timeline;
	size_t i, k;

	for (i = 0; t && i < t->launches.nr && d->rc == 0; i++) {
		const struct sonde_place *place = &c->places.at[t->launches.at[i].place];

		put_launch(d, &t->launches.at[i], (int64_t)i + 1);
		for (k = 0; k < place->nr; k++)
			SONDE_DB_ROW(d, SONDE_DB_LAUNCH_REGION, SONDE_DB_ID((int64_t)i + 1),
				SONDE_DB_TEXT(c->regions.at[c->homes.at[place->first + k]].id));
	}
}
