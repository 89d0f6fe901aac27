/*
 * Reads a report.json as a tree that can be compared: regions, kernels and metrics of the aggregate and of each scope,
 * and entries.
 *
 * The file has been validated (check/validate.h), so its structure is not checked again.
 */
#include "compare/report_in.h"

#include "base/alloc.h"
#include "base/file.h"
#include "catalogue/attributes.h"
#include "tree/tree.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PEEK 256
#define MOST_SCHEMA 64

/* State while a report is read. */
struct reading {
	struct sonde_cells *c;
	struct sonde_tree *t;
	struct sonde_map regions; /* kind and id → region number */
	bool failed;		  /* memory was short */
};

/* Appends a cleared element to a vector; NULL, with `failed` set, when memory is short. */
#define READING_PUSH(r, vec) reading_note((r), sonde_vec_push(vec))
static void *reading_note(struct reading *r, void *element)
{
	r->failed |= !element;
	return element;
}

/* A member that is a number; NaN if it is missing or null. */
static double number_of(const json_t *object, const char *key)
{
	const json_t *v = json_object_get(object, key);

	return json_is_number(v) ? json_number_value(v) : NAN;
}

/* A copy of a member that is text; p NULL if it is missing or null. */
static struct sonde_str text_of(struct reading *r, const json_t *object, const char *key)
{
	const json_t *v = json_object_get(object, key);
	struct sonde_str s = {json_string_value(v), json_string_length(v)};

	if (!s.p)
		return s;
	s = sonde_arena_dup(&r->c->arena, s);
	r->failed |= !s.p;
	return s;
}

static struct sonde_words read_words(struct reading *r, const json_t *object, const char *key)
{
	const json_t *list = json_object_get(object, key), *word;
	const char **at = sonde_arena_calloc(&r->c->arena, json_array_size(list) + 1, sizeof(*at));
	struct sonde_words out = {at, 0};
	size_t i;

	r->failed |= !at;
	json_array_foreach(list, i, word)
	{
		if (at && json_is_string(word))
			at[out.nr++] = sonde_arena_z(
				&r->c->arena, (struct sonde_str){json_string_value(word),
						      json_string_length(word)});
	}
	return out;
}

static bool is_word(const json_t *object, const char *key, const char *word)
{
	const char *s = json_string_value(json_object_get(object, key));

	return s && strcmp(s, word) == 0;
}

static void read_selection(struct reading *r, const json_t *from)
{
	struct sonde_selection *s = &r->c->selection;

	s->nvtx_include = read_words(r, from, "nvtx_include");
	s->nvtx_exclude = read_words(r, from, "nvtx_exclude");
	s->kernel_include = read_words(r, from, "kernel_include");
	s->kernel_exclude = read_words(r, from, "kernel_exclude");
	s->labels = read_words(r, from, "labels");
	s->stack_only = is_word(from, "nesting", "stack");
	s->own_threads = is_word(from, "threads", "own");
	s->no_origins = is_word(from, "origins", "off");
}

/* The clocks of a device: two devices of one model may have different ones. */
static void read_clocks(struct reading *r, struct sonde_device *d, const json_t *from)
{
	static const char *const names[] = {SONDE_ATTR_CLOCK, SONDE_ATTR_MEMORY_CLOCK};
	struct sonde_attribute *at = sonde_arena_calloc(&r->c->arena, 2, sizeof(*at));
	size_t i;

	r->failed |= !at;
	for (i = 0; at && i < 2; i++)
		if (number_of(from, names[i]) > 0)
			at[d->nr_attributes++] = (struct sonde_attribute){
				.name = sonde_str_from(names[i]), .value = number_of(from, names[i])};
	d->attributes = at;
}

static void read_capture(struct reading *r, const json_t *capture)
{
	const json_t *item;
	size_t i;

	json_array_foreach(json_object_get(capture, "inputs"), i, item)
	{
		struct sonde_input *in = READING_PUSH(r, &r->c->inputs);

		if (!in)
			return;
		in->path = text_of(r, item, "file");
		in->source = text_of(r, item, "source");
		in->tool = text_of(r, item, "tool");
		in->replay_mode = text_of(r, item, "replay_mode");
		in->command = text_of(r, item, "command");
	}
	json_array_foreach(json_object_get(capture, "devices"), i, item)
	{
		struct sonde_device *d = READING_PUSH(r, &r->c->devices);

		if (!d)
			return;
		d->name = text_of(r, item, "name");
		read_clocks(r, d, json_object_get(item, "attributes"));
	}
}

/* Reads which ranks of a job there are. If some ranks were added up, the report does not list them, so nothing is read. */
static void read_ranks(struct reading *r, const json_t *capture)
{
	const json_t *item;
	size_t i;

	if (number_of(capture, "inputs_folded") > 0)
		return;
	json_array_foreach(json_object_get(capture, "processes"), i, item)
	{
		double rank = number_of(item, "rank"),
		       size = number_of(item, "world_size");
		struct sonde_process *p;

		if (!(rank >= 0 && size > rank && size < UINT32_MAX))
			continue;
		p = READING_PUSH(r, &r->c->processes);
		if (!p)
			return;
		p->has_rank = true;
		p->rank = (uint32_t)rank;
		p->world_size = (uint32_t)size;
	}
}

/* Reads the notes of the report, and those among them that are losses. */
static void read_notes(struct reading *r, const json_t *document)
{
	static const char *const keys[] = {"notes", "losses"};
	const json_t *item;
	size_t i, k;

	for (k = 0; k < 2; k++) {
		json_array_foreach(json_object_get(document, keys[k]), i, item)
		{
			struct sonde_str text = {json_string_value(item), json_string_length(item)};

			if (text.p)
				sonde_notes_put(&r->t->notes, text, k == 1);
		}
	}
}

/* The capture, the selection and the notes. */
static void read_head(struct reading *r, const json_t *document)
{
	read_ranks(r, json_object_get(document, "capture"));
	read_notes(r, document);
	read_selection(r, json_object_get(document, "selection"));
	read_capture(r, json_object_get(document, "capture"));
}

/* The schema that a file says it has; empty if it names none, or none of sonde's. */
static void find_schema(char *out, size_t size, const char *path)
{
	static const char key[] = "\"schema\"";
	struct sonde_buf head = {0};
	const char *at, *end;
	size_t n;

	out[0] = '\0';
	if (sonde_file_head(&head, path)) {
		n = head.n < PEEK ? head.n : PEEK;
		end = head.p + n;
		at = memmem(head.p, n, key, sizeof(key) - 1);
		for (at = at ? at + sizeof(key) - 1 : end; at < end && strchr(" \t\r\n:", *at); at++)
			;
		n = 0;
		if (end - at > 7 && memcmp(at, "\"sonde.", 7) == 0)
			for (at++; at + n < end && n + 1 < size && at[n] != '"' && at[n] > ' '; n++)
				out[n] = at[n];
		out[n] = '\0';
	}
	sonde_buf_release(&head);
}

bool sonde_report_is_json(const char *path)
{
	char schema[MOST_SCHEMA];

	find_schema(schema, sizeof(schema), path);
	return schema[0];
}

/* Advice on a file of another schema. */
static const char *advise(const char *schema)
{
	static const char report[] = "sonde.report/";

	if (strncmp(schema, report, sizeof(report) - 1) == 0)
		return strtoul(schema + sizeof(report) - 1, NULL, 10) > 1
			       ? "a newer sonde wrote it: compare with that sonde, or make the report again with this one "
				 "(sonde report CAPTURE -f json -o report.json)"
			       : "make the report again from its capture (sonde report CAPTURE -f json -o report.json)";
	if (strcmp(schema, "sonde.region/1") == 0)
		return "this file describes only one region: give the report.json of the folder above it";
	if (strncmp(schema, "sonde.diff/", 11) == 0)
		return "this file is a comparison: give the two reports or captures that it compares";
	return "this file is not a report: give a capture, or a file that `sonde report -f json` wrote";
}

int sonde_report_check_schema(const char *path, struct sonde_err *err)
{
	char schema[MOST_SCHEMA];

	find_schema(schema, sizeof(schema), path);
	if (strcmp(schema, "sonde.report/1") == 0)
		return 0;
	return sonde_err_set(err, SONDE_ERR_FORMAT, "%s: its schema is %s, but sonde diff reads sonde.report/1: %s",
		path, schema, advise(schema));
}

static uint64_t count_at(const json_t *object, const char *key)
{
	double v = number_of(object, key);

	return v > 0 && v < 1e18 ? (uint64_t)v : 0;
}

static uint32_t intern(struct reading *r, struct sonde_str s)
{
	uint32_t n = s.p ? sonde_map_add(&r->c->strings, s, NULL) : SONDE_NONE;

	r->failed |= s.p && n == SONDE_NONE;
	return n;
}

/* --- metrics ---------------------------------------------------------------------------------- */

/* Makes columns of the report's metrics, and chooses those that tables show. */
static bool read_columns(struct sonde_tree *t, struct sonde_arena *names, const json_t *info)
{
	void *at;
	size_t role;

	for (at = json_object_iter((json_t *)(uintptr_t)info); at;
		at = json_object_iter_next((json_t *)(uintptr_t)info, at)) {
		struct sonde_column *c = sonde_vec_push(&t->columns);

		if (!c)
			return false;
		c->name = sonde_arena_dup(names, sonde_str_from(json_object_iter_key(at)));
		if (!c->name.p)
			return false;
		c->methods[0] = sonde_arena_z(
			names, sonde_str_from(json_string_value(
				       json_object_get(json_object_iter_value(at), "method"))));
		c->metric = c->sampled = SONDE_NONE;
		c->unit = sonde_metric_unit(c->name);
	}
	sonde_tree_sort_columns(t);
	for (role = 0; role < SONDE_NR_ROLES; role++) {
		uint32_t column = sonde_tree_role(t, role);

		if (sonde_metric_roles[role].is_headline && column != SONDE_NONE &&
			t->nr_headline < sizeof(t->headline) / sizeof(*t->headline))
			t->headline[t->nr_headline++] = column;
	}
	return true;
}

/* The quality of a metric: as the region says, else as the report says for all regions. */
static uint8_t quality_of(const json_t *region, const json_t *info, const char *name)
{
	const json_t *own = json_object_get(json_object_get(region, "metric_info"), name);
	const char *word = json_string_value(
		json_object_get(own ? own : json_object_get(info, name), "quality"));
	unsigned q;

	for (q = SONDE_QUALITY_EXACT; q < SONDE_QUALITY_SAMPLED; q++)
		if (word && strcmp(word, sonde_quality_name(q)) == 0)
			break;
	return (uint8_t)q;
}

/* Appends the figures of one region to the report's. `info` is the metric_info of all regions. */
static bool read_figures(const struct sonde_tree *t, struct sonde_report *rep,
	const json_t *region, const json_t *info)
{
	const json_t *values = json_object_get(region, "metrics"),
		     *ranges = json_object_get(region, "metric_ranges");
	size_t i;

	for (i = 0; i < t->columns.nr; i++) {
		const char *name = t->columns.at[i].name.p;
		const json_t *range = json_object_get(ranges, name);
		struct sonde_figure *f = sonde_vec_push(&rep->given);

		if (!f)
			return false;
		*f = (struct sonde_figure){.v = number_of(values, name),
			.low = number_of(range, "low"),
			.high = number_of(range, "high"),
			.error = number_of(range, "error"),
			.quality = quality_of(region, info, name)};
	}
	return true;
}

/* --- regions ---------------------------------------------------------------------------------- */

static uint8_t kind_of(const json_t *region)
{
	unsigned k;

	for (k = 0; k < SONDE_REGION_BACKWARD; k++)
		if (is_word(region, "kind", sonde_region_kind_name(k)))
			break;
	return (uint8_t)k;
}

static uint8_t measured_of(const json_t *report)
{
	unsigned m;

	for (m = 0; m + 1 < SONDE_NR_MEASURED; m++)
		if (is_word(report, "measured", sonde_measured_name(m)))
			break;
	return (uint8_t)m;
}

static struct sonde_str key_of(struct reading *r, uint8_t kind, const char *id)
{
	struct sonde_str key = sonde_arena_printf(&r->c->arena, "%c%s", 'a' + kind, id ? id : "");

	r->failed |= !key.p;
	return key;
}

/* Regions are in depth-first order: the parent is the last region before this one that is less deep. */
static uint32_t parent_of(const struct sonde_report *rep, uint32_t depth)
{
	uint32_t up = rep->nodes.nr > 1 ? (uint32_t)rep->nodes.nr - 2 : SONDE_NONE;

	while (up != SONDE_NONE && rep->nodes.at[up].depth >= depth)
		up = rep->nodes.at[up].parent;
	return up;
}

/* Reads a region. The aggregate comes first and has all regions; scopes find them by id and kind. */
static void read_region(struct reading *r, struct sonde_report *rep, const json_t *from)
{
	struct sonde_node *n = &rep->nodes.at[rep->nodes.nr - 1];
	const char *id = json_string_value(json_object_get(from, "id"));
	struct sonde_region *g;

	n->depth = (uint32_t)count_at(from, "depth");
	n->parent = parent_of(rep, n->depth);
	n->region = sonde_map_find(&r->regions, key_of(r, kind_of(from), id));
	g = n->region == SONDE_NONE ? READING_PUSH(r, &r->c->regions) : NULL;
	if (!g)
		return;
	g->id = text_of(r, from, "id");
	g->label = intern(r, text_of(r, from, "name"));
	g->domain = intern(r, text_of(r, from, "domain"));
	g->kind = kind_of(from);
	g->depth = n->depth;
	g->parent = n->parent == SONDE_NONE ? SONDE_NONE : rep->nodes.at[n->parent].region;
	n->region = (uint32_t)(r->c->regions.nr - 1);
	sonde_map_add(&r->regions, key_of(r, g->kind, g->id.p), NULL);
}

static void read_kernels(struct reading *r, struct sonde_report *rep, const json_t *list)
{
	struct sonde_node *n = &rep->nodes.at[rep->nodes.nr - 1];
	const json_t *item;
	size_t i;

	n->first_kernel = (uint32_t)rep->kernels.nr;
	json_array_foreach(list, i, item)
	{
		struct sonde_kernel *k = READING_PUSH(r, &rep->kernels);

		if (!k)
			return;
		k->name = intern(r, text_of(r, item, "kernel_name"));
		k->calls = count_at(item, "calls");
		k->time_ns = number_of(item, "total_ms") * 1e6;
		n->nr_kernels++;
	}
}

/* Reads one report. `scope` is SONDE_NONE for the aggregate, which comes first. */
static void read_nodes(struct reading *r, uint32_t scope, const json_t *from, const json_t *info)
{
	struct sonde_report *rep = READING_PUSH(r, &r->t->reports);
	const json_t *item, *totals = json_object_get(from, "totals"),
			    *outside = json_object_get(from, "unattributed");
	size_t i;

	if (!rep)
		return;
	rep->name = text_of(r, from, "scope");
	rep->is_aggregate = scope == SONDE_NONE;
	rep->scope = scope;
	rep->nr_scopes = !rep->is_aggregate;
	rep->measured = measured_of(from);
	rep->launches = count_at(totals, "launches");
	rep->time_ns = number_of(totals, "total_ms") * 1e6;
	rep->outside_launches = count_at(outside, "kernel_count");
	rep->outside_time_ns = number_of(outside, "total_ms") * 1e6;
	json_array_foreach(json_object_get(from, "regions"), i, item)
	{
		struct sonde_node *n = READING_PUSH(r, &rep->nodes);

		if (!n)
			return;
		read_region(r, rep, item);
		n->instances = count_at(item, "instances");
		n->launches = count_at(item, "kernel_count");
		n->time_ns = number_of(item, "total_ms") * 1e6;
		n->times.wall_ns = number_of(item, "wall_ms") * 1e6;
		n->times.host_ns = number_of(item, "host_ms") * 1e6;
		n->times.busy_ns = number_of(item, "busy_ms") * 1e6;
		n->times.idle_ns = number_of(item, "idle_ms") * 1e6;
		n->nr_scopes = (uint32_t)count_at(json_object_get(item, "scopes"), "count");
		read_kernels(r, rep, json_object_get(item, "kernels"));
		r->failed |= !read_figures(r->t, rep, item, info);
	}
}

/* --- entries ---------------------------------------------------------------------------------- */

static uint64_t ns_at(const json_t *list, size_t i)
{
	double v = json_number_value(json_array_get(list, i)) * 1e6;

	return v > 0 && v < 1e18 ? (uint64_t)llround(v) : 0;
}

static void read_entries(struct reading *r, struct sonde_visit *v, const json_t *entries)
{
	const json_t *begin = json_object_get(entries, "begin_ms"),
		     *wall = json_object_get(entries, "wall_ms"),
		     *host = json_object_get(entries, "host_ms"),
		     *gpu = json_object_get(entries, "gpu_ms");
	size_t i;

	v->first_entry = (uint32_t)r->c->entries.nr;
	v->entry_step = (uint32_t)count_at(entries, "step");
	for (i = 0; i < json_array_size(host); i++) {
		struct sonde_entry *e = READING_PUSH(r, &r->c->entries);

		if (!e)
			return;
		e->begin_ns = ns_at(begin, i);
		e->host_ns = ns_at(host, i);
		e->gpu_ns = ns_at(gpu, i);
		e->wall_ns = json_is_number(json_array_get(wall, i)) ? ns_at(wall, i) : SONDE_NO_WALL;
		v->nr_entries++;
	}
}

/* The regions of a scope: its own, or those of the aggregate if it refers to that. */
static const json_t *regions_of(const json_t *scope, const json_t *aggregate)
{
	const json_t *own = json_object_get(scope, "regions");
	const json_t *name = json_object_get(scope, "same_as");

	if (!own && json_equal(json_object_get(aggregate, "scope"), name))
		return json_object_get(aggregate, "regions");
	return own;
}

static void read_scope(
	struct reading *r, const json_t *from, const json_t *aggregate, const json_t *info)
{
	struct sonde_scope *s = READING_PUSH(r, &r->c->scopes);
	const json_t *item;
	size_t i;

	if (!s)
		return;
	s->name = text_of(r, from, "scope");
	s->measured = measured_of(from);
	json_array_foreach(regions_of(from, aggregate), i, item)
	{
		const char *id = json_string_value(json_object_get(item, "id"));
		uint32_t region = sonde_map_find(&r->regions, key_of(r, kind_of(item), id));
		struct sonde_visit *v;

		if (region == SONDE_NONE || !(v = READING_PUSH(r, &r->c->visits)))
			continue;
		v->scope = (uint32_t)(r->c->scopes.nr - 1);
		v->region = region;
		read_entries(r, v, json_object_get(item, "entries"));
	}
	if (json_object_get(from, "regions"))
		read_nodes(r, (uint32_t)(r->c->scopes.nr - 1), from, info);
}

/* --- all of it -------------------------------------------------------------------------------- */

static void read_document(struct reading *r, const json_t *document)
{
	const json_t *aggregate = json_object_get(document, "aggregate"), *scope,
		     *info = json_object_get(document, "metric_info");
	size_t i;

	read_head(r, document);
	r->failed |= !read_columns(r->t, &r->c->arena, info);
	read_nodes(r, SONDE_NONE, aggregate, info);
	if (r->failed)
		return;
	r->t->reports.at[0].all_launches = count_at(json_object_get(document, "coverage"), "launches_total");
	json_array_foreach(json_object_get(document, "scopes"), i, scope)
	{
		read_scope(r, scope, aggregate, info);
		if (r->failed)
			return;
		r->t->reports.at[0].nr_scopes +=
			r->c->scopes.at[i].measured == r->t->reports.at[0].measured;
	}
	sonde_cells_sort_visits(r->c);
}

static json_t *load_document(const char *path, struct sonde_err *err)
{
	struct sonde_mapping file;
	json_error_t where;
	json_t *document;

	if (sonde_mapping_open_inflated(&file, path, err))
		return NULL;
	document = json_loadb(file.data.p ? file.data.p : "", file.data.n,
		JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, &where);
	sonde_mapping_release(&file);
	if (!document)
		sonde_err_set(err, SONDE_ERR_FORMAT, "%s:%d: %s", path, where.line, where.text);
	else if (!json_is_object(json_object_get(document, "aggregate")))
		sonde_err_set(err, SONDE_ERR_FORMAT,
			"%s: the report has no aggregate: write it without --no-aggregate", path);
	else
		return document;
	json_decref(document);
	return NULL;
}

int sonde_report_read(struct sonde_cells **cells, struct sonde_tree **tree, const char *path,
	struct sonde_err *err)
{
	struct reading r = {.c = sonde_calloc(1, sizeof(*r.c)), .t = sonde_calloc(1, sizeof(*r.t))};
	json_t *document = load_document(path, err);

	*cells = r.c;
	*tree = r.t;
	if (!document)
		return SONDE_ERR_FORMAT;
	r.failed = !r.c || !r.t;
	if (!r.failed) {
		r.t->cells = r.c;
		read_document(&r, document);
	}
	sonde_map_release(&r.regions);
	json_decref(document);
	return r.failed ? sonde_err_nomem(err) : 0;
}
