/* The report of a pipeline as numbers. No mistake of a caller can crash these functions. */
#include "lib/pipeline.h"

#include <math.h>

const char *sonde_version(void)
{
	return SONDE_VERSION;
}

size_t sonde_pipeline_nr_notes(const struct sonde_pipeline *p)
{
	return p->tree ? p->tree->notes.texts.nr : 0;
}

const char *sonde_pipeline_note(struct sonde_pipeline *p, size_t i)
{
	return i < sonde_pipeline_nr_notes(p)
		       ? sonde_texts__z(&p->texts, p->tree->notes.texts.keys[i])
		       : NULL;
}

size_t sonde_pipeline_nr_views(const struct sonde_pipeline *p)
{
	return p->views.nr;
}

const struct sonde_view *sonde_pipeline_view(const struct sonde_pipeline *p, size_t i)
{
	return i < p->views.nr ? &p->views.at[i] : NULL;
}

const struct sonde_view *sonde_pipeline_main_view(const struct sonde_pipeline *p)
{
	size_t i;

	for (i = 0; i < p->views.nr; i++)
		if (p->views.at[i].report->is_aggregate)
			return &p->views.at[i];
	return sonde_pipeline_view(p, 0);
}

const char *sonde_view_scope(const struct sonde_view *v)
{
	return sonde_texts__z(&v->pipeline->texts, v->report->name);
}

bool sonde_view_is_aggregate(const struct sonde_view *v)
{
	return v->report->is_aggregate;
}

size_t sonde_view_nr_regions(const struct sonde_view *v)
{
	return v->report->nodes.nr;
}

static const struct sonde_node *node_of(const struct sonde_view *v, size_t region)
{
	static const struct sonde_node none = {.parent = SONDE_NONE,
		.time_ns = NAN,
		.own_time_ns = NAN,
		.times = {.host_ns = NAN},
		.region = SONDE_NONE};

	return region < v->report->nodes.nr ? &v->report->nodes.at[region] : &none;
}

const char *sonde_view_id(const struct sonde_view *v, size_t region)
{
	const struct sonde_node *n = node_of(v, region);

	return n->region == SONDE_NONE ? NULL
				       : sonde_texts__z(&v->pipeline->texts,
						 sonde_node_region(v->pipeline->tree, n)->id);
}

const char *sonde_view_name(const struct sonde_view *v, size_t region)
{
	const struct sonde_node *n = node_of(v, region);

	return n->region == SONDE_NONE ? NULL
				       : sonde_texts__z(&v->pipeline->texts,
						 sonde_node_label(v->pipeline->tree, n));
}

size_t sonde_view_depth(const struct sonde_view *v, size_t region)
{
	return node_of(v, region)->depth;
}

size_t sonde_view_parent(const struct sonde_view *v, size_t region)
{
	uint32_t parent = node_of(v, region)->parent;

	return parent == SONDE_NONE ? SONDE_NO_REGION : parent;
}

uint64_t sonde_view_entries(const struct sonde_view *v, size_t region)
{
	return node_of(v, region)->instances;
}

uint64_t sonde_view_launches(const struct sonde_view *v, size_t region)
{
	return node_of(v, region)->launches;
}

uint64_t sonde_view_own_launches(const struct sonde_view *v, size_t region)
{
	return node_of(v, region)->own_launches;
}

double sonde_view_time_ns(const struct sonde_view *v, size_t region)
{
	return node_of(v, region)->time_ns;
}

double sonde_view_own_time_ns(const struct sonde_view *v, size_t region)
{
	return node_of(v, region)->own_time_ns;
}

double sonde_view_host_ns(const struct sonde_view *v, size_t region)
{
	return node_of(v, region)->times.host_ns;
}

size_t sonde_pipeline_nr_metrics(const struct sonde_pipeline *p)
{
	return p->tree ? p->tree->columns.nr : 0;
}

const char *sonde_pipeline_metric(struct sonde_pipeline *p, size_t i)
{
	return i < sonde_pipeline_nr_metrics(p)
		       ? sonde_texts__z(&p->texts, p->tree->columns.at[i].name)
		       : NULL;
}

const char *sonde_pipeline_metric_unit(const struct sonde_pipeline *p, size_t i)
{
	return i < sonde_pipeline_nr_metrics(p) ? p->tree->columns.at[i].unit : NULL;
}

/* All figures of a region are made together, so those of the last region are kept. */
static const struct sonde_figure *figure_of(
	const struct sonde_view *v, size_t region, const char *metric)
{
	struct sonde_pipeline *p = v->pipeline;
	const struct sonde_node *n = node_of(v, region);
	uint32_t column = sonde_tree_column(p->tree, sonde_str_from(metric));

	if (n->region == SONDE_NONE || column == SONDE_NONE)
		return NULL;
	if (p->figures_of != n)
		sonde_tree_values(
			p->tree, v->report, SONDE_PART_INCLUSIVE, (uint32_t)region, &p->figures);
	p->figures_of = n;
	return &p->figures.at[column];
}

double sonde_view_metric(const struct sonde_view *v, size_t region, const char *metric)
{
	const struct sonde_figure *f = figure_of(v, region, metric);

	return f ? f->v : NAN;
}

double sonde_view_metric_error(const struct sonde_view *v, size_t region, const char *metric)
{
	const struct sonde_figure *f = figure_of(v, region, metric);

	return f ? f->error : NAN;
}

const char *sonde_view_metric_quality(const struct sonde_view *v, size_t region, const char *metric)
{
	const struct sonde_figure *f = figure_of(v, region, metric);

	return f ? sonde_quality_name(f->quality) : NULL;
}
