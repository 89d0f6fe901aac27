/*
 * Profiles as Hatchet literals: what Triton's Proton writes, and any other list
 * of nodes with a frame, metrics and children. Nodes with children are regions.
 * A leaf is what ran there, added up over all its launches: its time is theirs
 * together, and nothing is known of one alone.
 */
#include "catalogue/metrics.h"
#include "read/hatchet/hatchet_int.h"

#include <math.h>

static bool knows(struct sonde_str data)
{
	static const char *const keys[] = {"frame", "metrics", "children"};
	struct sonde_scan s = sonde_scan_of(data);
	struct sonde_scan_text key;
	bool is_end;
	size_t i;

	if (!sonde_scan_space(&s) || *s.p++ != '[' || !sonde_scan_space(&s) || *s.p++ != '{' ||
		sonde_scan_member(&s, true, &key, &is_end) != SONDE_SCAN_OK || is_end)
		return false;
	for (i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (sonde_str_is(key.raw, keys[i]))
			return true;
	return false;
}

/* Proton's root and the frame it puts around what it runs itself are no scopes of the program. */
static bool is_hidden(const struct hatchet *h, const struct hatchet_node *n)
{
	return n->parent == SONDE_NONE && n->has_children &&
	       sonde_str_is(sonde_records_str(h->r, n->name), "ROOT");
}

static bool add_range(struct hatchet *h, struct hatchet_node *n)
{
	struct sonde_range *range = sonde_vec_push(&h->r->ranges);

	if (!range)
		return false;
	n->range = (uint32_t)(h->r->ranges.nr - 1);
	*range = (struct sonde_range){
		.parent = n->parent == SONDE_NONE ? SONDE_NONE : h->nodes.at[n->parent].range,
		.label = n->name,
		.domain = SONDE_NONE,
		.process = h->process,
		.kind = SONDE_PUSH_POP};
	return range->label != SONDE_NONE;
}

/* The unit in a name, `time (ns)`, cut off it; how many base units one is. */
static double take_unit(struct sonde_str *name, struct sonde_str *unit)
{
	static const struct {
		const char *suffix, *base;
		double scale;
	} units[] = {{" (ns)", "ns", 1}, {" (us)", "ns", 1e3}, {" (ms)", "ns", 1e6},
		{" (s)", "ns", 1e9}, {" (sec)", "ns", 1e9}, {" (bytes)", "byte", 1}};
	size_t i;

	*unit = sonde_str_is(*name, "bytes") ? SONDE_STR("byte") : SONDE_STR("");
	for (i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (sonde_str_ends(*name, units[i].suffix)) {
			name->n -= strlen(units[i].suffix);
			*unit = sonde_str_from(units[i].base);
			return units[i].scale;
		}
	return 1;
}

/* Under which name a metric is reported: those of profilers' own keep theirs, others add up. */
static uint32_t metric_of(struct hatchet *h, struct sonde_str key, double *scale)
{
	struct sonde_str name = key, unit;
	uint32_t metric;

	*scale = take_unit(&name, &unit);
	sonde_buf_clear(&h->scratch);
	if (sonde_str_is(name, "time") && unit.n)
		sonde_buf_puts(&h->scratch, SONDE_METRIC_TIME);
	else
		sonde_buf_str(&h->scratch, name);
	if (h->scratch.n && !memmem(h->scratch.p, h->scratch.n, "__", 2))
		sonde_buf_puts(&h->scratch, ".sum");
	if (h->scratch.failed)
		return SONDE_NONE;
	name = sonde_buf_view(&h->scratch);
	h->has_time |= sonde_str_is(name, SONDE_METRIC_TIME);
	h->has_plain_time |= sonde_str_is(name, "time.sum");
	if (sonde_records_metric(h->r, h->scratch.p) == SONDE_NONE)
		name = sonde_arena_dup(&h->r->arena, name);
	else
		name = h->r->metric_names.keys[sonde_records_metric(h->r, h->scratch.p)];
	metric = name.p ? sonde_records__metric(h->r, name) : SONDE_NONE;
	if (metric != SONDE_NONE && !h->r->metrics.at[metric].unit.n)
		h->r->metrics.at[metric].unit =
			sonde_str_is(name, SONDE_METRIC_TIME) ? SONDE_STR("ns") : unit;
	return metric;
}

/* Whether a word stands where a number was meant: it is no text in quotes, and not true, false or null. */
static bool is_like_number(struct sonde_str word)
{
	return word.n && word.p[-1] != '"' && strchr("0123456789-+.NI", word.p[0]);
}

/* One metric of a node; totals over what lies below are ours to make. */
static int take_metric(struct hatchet *h, struct sonde_str key, struct sonde_str word,
	struct sonde_record *rec, uint32_t *device)
{
	double value, scale;
	uint32_t metric;

	if (sonde_str_ends(key, "(inc)"))
		return 0;
	if (!sonde_scan_double(word, &value) || !isfinite(value)) {
		h->nr_no_numbers += is_like_number(word);
		return 0;
	}
	if (sonde_str_is(key, "device_id")) {
		*device = (uint32_t)(value >= 0 && value < 1e6 ? value : 0);
		return 0;
	}
	if (sonde_str_is(key, "count") && (value < 0 || value >= INT32_MAX || value != floor(value))) {
		h->nr_bad_counts++;
		return 0;
	}
	if (sonde_str_is(key, "count") && value >= 1)
		rec->nr_launches = (uint32_t)value;
	metric = metric_of(h, key, &scale);
	if (metric == SONDE_NONE ||
		!sonde_vec_put(&h->state->figures, (struct hatchet_figure){metric, value * scale}))
		return sonde_err_nomem(h->err);
	return 0;
}

static int read_metrics(
	struct hatchet *h, const struct hatchet_node *n, struct sonde_record *rec, uint32_t *device)
{
	struct sonde_scan s = sonde_scan_of(n->metrics);
	struct sonde_scan_text key, text = {0};
	bool is_first, is_end;
	int rc = 0;

	if (!n->metrics.n)
		return 0;
	for (s.p++, is_first = true; rc == 0; is_first = false) {
		if (sonde_scan_member(&s, is_first, &key, &is_end) != SONDE_SCAN_OK || is_end)
			break;
		if (sonde_scan_scalar(&s, &text) != SONDE_SCAN_OK)
			break;
		rc = take_metric(h, key.raw, text.raw, rec, device);
	}
	return rc;
}

/* What a leaf ran, or what a region says of itself. */
static int add_record(struct hatchet *h, const struct hatchet_node *n)
{
	uint32_t range = n->range != SONDE_NONE	   ? n->range
			 : n->parent != SONDE_NONE ? h->nodes.at[n->parent].range
						   : SONDE_NONE;
	struct sonde_record rec = {.caller = h->caller,
		.payload = h->state->figures.nr,
		.is_sum = true,
		.nr_launches = n->range == SONDE_NONE}; /* a region is launched if it says so */
	uint32_t device = 0, name = n->name;
	bool is_any = false;
	size_t i;
	int rc = read_metrics(h, n, &rec, &device);

	for (i = rec.payload; i < h->state->figures.nr && rc == 0; i++)
		is_any |= h->state->figures.at[i].value != 0;
	if (rc || !is_any)
		return rc;
	if (n->range != SONDE_NONE)
		name = sonde_records__string(h->r, SONDE_STR("(scope)"));
	rec.function = sonde_records__function(h->r, name, name);
	rec.queue = sonde_records__queue(h->r, device, 0, 0);
	rec.open = range == SONDE_NONE ? 0 : sonde_records__set(h->r, &range, 1);
	if (rec.open == SONDE_NONE || rec.function == SONDE_NONE || rec.queue == SONDE_NONE ||
		!sonde_vec_put(&h->state->figures, (struct hatchet_figure){.metric = SONDE_NONE}) ||
		!sonde_vec_put(&h->r->records, rec))
		return sonde_err_nomem(h->err);
	return 0;
}

static bool is_region(const struct hatchet_node *n)
{
	return n->has_children || n->is_region || n->metrics.n < 3;
}

static int add_nodes(struct hatchet *h)
{
	size_t i;
	int rc = 0;

	for (i = 0; i < h->nodes.nr && rc == 0; i++) {
		struct hatchet_node *n = &h->nodes.at[i];

		if (n->name == SONDE_NONE)
			n->name = sonde_records__string(h->r, SONDE_STR("(unnamed)"));
		if (is_hidden(h, n))
			continue;
		if (is_region(n) && !add_range(h, n))
			return sonde_err_nomem(h->err);
		rc = add_record(h, n);
	}
	return rc;
}

/* --- the reader --------------------------------------------------------------------------------- */

static void note_all(const struct hatchet *h)
{
	if (h->has_plain_time && !h->has_time)
		sonde_note(&h->r->notes,
			"%s: its time has no unit: it is the metric time.sum, not GPU time", h->src->path);
	sonde_source__note_loss(h->src, h->r, h->nr_no_numbers,
		"metric is no finite number and left out", "metrics are no finite numbers and left out");
	sonde_source__note_loss(h->src, h->r, h->nr_bad_counts,
		"count is no number of launches: it is taken for one launch",
		"counts are no numbers of launches: each is taken for one launch");
}

static int read_all(struct hatchet *h)
{
	int rc;

	h->process = sonde_records__process(h->r, h->src->input, 0, (struct sonde_str){NULL, 0},
		(struct sonde_str){NULL, 0});
	h->caller = sonde_records__caller(h->r, h->process, 0);
	if (h->caller == SONDE_NONE)
		return sonde_err_nomem(h->err);
	h->begin = h->scan.p;
	sonde_scan_space(&h->scan);
	h->scan.p++;
	rc = sonde_hatchet__read_nodes(h, SONDE_NONE, 0);
	if (rc == SONDE_ERR_NOMEM)
		return rc;
	if (add_nodes(h) || !sonde_hatchet__devices(h))
		return sonde_err_nomem(h->err);
	if (h->devices.n) /* nobody else lists devices */
		h->r->inputs.at[h->src->input].tool = SONDE_STR("Proton");
	note_all(h);
	return rc; /* what came before damage is there */
}

static int read(struct sonde_source *src, struct sonde_records *r, struct sonde_err *err)
{
	struct hatchet h = {
		.src = src, .r = r, .err = err, .state = src->state, .scan = sonde_scan_of(src->file.data)};
	int rc;

	rc = read_all(&h);
	sonde_vec_release(&h.nodes);
	sonde_buf_release(&h.scratch);
	return rc;
}

static int values(const struct sonde_source *src, const struct sonde_record *rec,
	struct sonde_values *v, struct sonde_err *err)
{
	const struct hatchet_state *s = src->state;
	const struct hatchet_figure *f;

	(void)err;
	for (f = &s->figures.at[rec->payload]; f->metric != SONDE_NONE; f++)
		v->num[f->metric] = f->value;
	return 0;
}

static void release(struct sonde_source *src)
{
	struct hatchet_state *s = src->state;

	sonde_vec_release(&s->figures);
}

const struct sonde_source_ops sonde_source_hatchet = {
	.name = "hatchet",
	.state_bytes = sizeof(struct hatchet_state),
	.knows = knows,
	.read = read,
	.values = values,
	.release = release,
};
