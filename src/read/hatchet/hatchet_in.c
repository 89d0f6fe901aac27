/*
 * Profiles as Hatchet literals: what Triton's Proton writes, and any other list
 * of nodes with a frame, metrics and children. Nodes with children are regions.
 * A leaf is a kernel, summed over all its launches: its time is that of all of
 * them, and nothing is known about a single launch.
 */
#include "catalogue/attributes.h"
#include "catalogue/metrics.h"
#include "read/json_scan.h"
#include "read/source.h"

#include <math.h>

#define MAX_DEPTH 512

struct hatchet_node {
	uint32_t parent; /* SONDE_NONE = a root */
	uint32_t name;	 /* string number */
	uint32_t range;	 /* number of its range, SONDE_NONE = not a region */
	struct sonde_str metrics; /* text of the object with its metrics */
	bool has_children, is_region; /* is_region: the file marks it as a region */
};

struct hatchet_figure {
	uint32_t metric;
	double value;
};

struct hatchet_state {
	SONDE_VEC(struct hatchet_figure) figures; /* figures of all records, one record after the other; metric SONDE_NONE ends a record */
};

struct hatchet {
	struct sonde_source *src;
	struct sonde_records *r;
	struct sonde_err *err;
	struct hatchet_state *state;
	struct sonde_scan scan;
	const char *begin; /* where the last node began */
	struct sonde_str devices; /* text of the object that lists devices */
	uint32_t process, caller;
	SONDE_VEC(struct hatchet_node) nodes;
	struct sonde_buf scratch;
	bool has_time, has_plain_time;
	uint64_t nr_bad_counts; /* counts that cannot be a number of launches */
	uint64_t nr_no_numbers; /* metrics that are NaN, Infinity or 1e999 */
};

/* --- text → nodes, parents first ------------------------------------------------------------------ */

static int read_nodes(struct hatchet *h, uint32_t parent, unsigned depth);

static int refuse_at(struct hatchet *h, const char *what)
{
	return sonde_err_at(h->err, SONDE_ERR_FORMAT, h->src->path,
		(uint64_t)(h->scan.p - h->src->file.data.p), "%s", what);
}

static int check_scan(struct hatchet *h, enum sonde_scan_rc rc)
{
	if (rc == SONDE_SCAN_OK)
		return 0;
	if (rc == SONDE_SCAN_BAD)
		return refuse_at(h, "not JSON: write the profile again");
	return sonde_source__truncated(h->src, "a node", (uint64_t)(h->begin - h->src->file.data.p),
		h->src->file.data.n, h->err);
}

static uint32_t intern_text(struct hatchet *h, const struct sonde_scan_text *text)
{
	if (!text->has_escapes)
		return sonde_records__string(h->r, text->raw); /* points into the file */
	sonde_buf_clear(&h->scratch);
	sonde_scan_unescape(&h->scratch, text->raw);
	return sonde_records__copied(h->r, sonde_buf_view(&h->scratch));
}

static int read_frame(struct hatchet *h, struct hatchet_node *node)
{
	struct sonde_scan_text key, text;
	bool is_first, is_end;
	int rc = 0;

	if (*h->scan.p != '{')
		return check_scan(h, sonde_scan_value(&h->scan));
	for (h->scan.p++, is_first = true; rc == 0; is_first = false) {
		rc = check_scan(h, sonde_scan_member(&h->scan, is_first, &key, &is_end));
		if (rc || is_end)
			break;
		if (*h->scan.p != '"') {
			rc = check_scan(h, sonde_scan_value(&h->scan));
			continue;
		}
		rc = check_scan(h, sonde_scan_string(&h->scan, &text, SONDE_SCAN_VALUE));
		if (rc == 0 && sonde_str_is(key.raw, "name"))
			node->name = intern_text(h, &text);
		if (rc == 0 && sonde_str_is(key.raw, "type"))
			node->is_region = sonde_str_is(text.raw, "region");
	}
	return rc;
}

static int read_member(struct hatchet *h, uint32_t number, struct sonde_str key, unsigned depth)
{
	const char *begin = h->scan.p;
	int rc;

	if (sonde_str_is(key, "frame"))
		return read_frame(h, &h->nodes.at[number]);
	if (sonde_str_is(key, "children") && *begin == '[') {
		size_t before = h->nodes.nr;

		h->scan.p++;
		rc = read_nodes(h, number, depth + 1);
		h->nodes.at[number].has_children = h->nodes.nr > before;
		return rc;
	}
	rc = check_scan(h, sonde_scan_value(&h->scan));
	if (rc == 0 && sonde_str_is(key, "metrics") && *begin == '{')
		h->nodes.at[number].metrics =
			(struct sonde_str){begin, (size_t)(h->scan.p - begin)};
	return rc;
}

/* Reads one object: a node, or at the top level the list of devices. */
static int read_node(struct hatchet *h, uint32_t parent, unsigned depth)
{
	struct hatchet_node *node = sonde_push(&h->src->work, &h->nodes);
	uint32_t number = (uint32_t)(h->nodes.nr - 1);
	const char *begin = h->begin = h->scan.p;
	struct sonde_scan_text key;
	bool is_first, is_end;
	int rc = 0;

	h->src->work.failed |= h->nodes.nr >= SONDE_NONE;
	rc = sonde_source__status(h->src, h->r, h->err);
	*node = (struct hatchet_node){.parent = parent, .name = SONDE_NONE, .range = SONDE_NONE};
	for (h->scan.p++, is_first = true; rc == 0; is_first = false) {
		rc = check_scan(h, sonde_scan_member(&h->scan, is_first, &key, &is_end));
		if (rc || is_end)
			break;
		rc = read_member(h, number, key.raw, depth);
	}
	if (rc == 0 && h->nodes.at[number].name == SONDE_NONE && number + 1 == h->nodes.nr) {
		h->nodes.nr--; /* an object without a frame lists devices */
		h->devices = (struct sonde_str){begin, (size_t)(h->scan.p - begin)};
	}
	return rc;
}

/* Reads the nodes of a list, after its bracket; nodes before damage are kept. */
static int read_nodes(struct hatchet *h, uint32_t parent, unsigned depth)
{
	bool is_first, is_end;
	int rc = 0;

	if (depth > MAX_DEPTH)
		return refuse_at(h, "nodes are nested deeper than 512, which is as far as sonde reads");
	for (is_first = true; rc == 0; is_first = false) {
		rc = check_scan(h, sonde_scan_element(&h->scan, is_first, &is_end));
		if (rc || is_end)
			break;
		rc = *h->scan.p == '{' ? read_node(h, parent, depth)
				       : check_scan(h, sonde_scan_value(&h->scan));
	}
	return rc;
}

/* --- nodes → ranges and records ------------------------------------------------------------------- */

/* Proton's root node is not a scope of the program. */
static bool is_hidden(const struct hatchet *h, const struct hatchet_node *n)
{
	return n->parent == SONDE_NONE && n->has_children &&
	       sonde_str_is(sonde_records_str(h->r, n->name), "ROOT");
}

static void add_range(struct hatchet *h, struct hatchet_node *n)
{
	n->range = (uint32_t)h->r->ranges.nr;
	sonde_put(&h->r->arena, &h->r->ranges,
		(struct sonde_range){
			.parent = n->parent == SONDE_NONE ? SONDE_NONE : h->nodes.at[n->parent].range,
			.label = n->name,
			.domain = SONDE_NONE,
			.process = h->process,
			.kind = SONDE_PUSH_POP});
}

/* Cuts the unit off a name like `time (ns)`; returns how many base units it is. */
static double cut_unit(struct sonde_str *name, struct sonde_str *unit)
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

/* The metric for a key. Names with `__` come from a profiler and are kept; others get `.sum`. */
static uint32_t metric_of(struct hatchet *h, struct sonde_str key, double *scale)
{
	struct sonde_str name = key, unit;
	uint32_t metric;

	*scale = cut_unit(&name, &unit);
	sonde_buf_clear(&h->scratch);
	if (sonde_str_is(name, "time") && unit.n)
		sonde_buf_puts(&h->scratch, SONDE_METRIC_TIME);
	else
		sonde_buf_str(&h->scratch, name);
	if (h->scratch.n && !memmem(h->scratch.p, h->scratch.n, "__", 2))
		sonde_buf_puts(&h->scratch, ".sum");
	if (!h->scratch.p) /* out of memory */
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

/* Whether a word was meant as a number: it is not in quotes, and not true, false or null. */
static bool is_like_number(struct sonde_str word)
{
	return word.n && word.p[-1] != '"' && strchr("0123456789-+.NI", word.p[0]);
}

/* Adds one metric of a node. Totals that include children are skipped: sonde adds them up itself. */
static void add_metric(struct hatchet *h, struct sonde_str key, struct sonde_str word,
	struct sonde_record *rec, uint32_t *device)
{
	double value, scale;
	uint32_t metric;

	if (sonde_str_ends(key, "(inc)"))
		return;
	if (!sonde_scan_double(word, &value) || !isfinite(value)) {
		h->nr_no_numbers += is_like_number(word);
		return;
	}
	if (sonde_str_is(key, "device_id")) {
		*device = (uint32_t)(value >= 0 && value < 1e6 ? value : 0);
		return;
	}
	if (sonde_str_is(key, "count") && (value < 0 || value >= INT32_MAX || value != floor(value))) {
		h->nr_bad_counts++;
		return;
	}
	if (sonde_str_is(key, "count") && value >= 1)
		rec->nr_launches = (uint32_t)value;
	metric = metric_of(h, key, &scale);
	sonde_put(&h->r->arena, &h->state->figures, (struct hatchet_figure){metric, value * scale});
}

static void read_metrics(
	struct hatchet *h, const struct hatchet_node *n, struct sonde_record *rec, uint32_t *device)
{
	struct sonde_scan s = sonde_scan_of(n->metrics);
	struct sonde_scan_text key, text = {0};
	bool is_first, is_end;

	if (!n->metrics.n)
		return;
	for (s.p++, is_first = true;; is_first = false) {
		if (sonde_scan_member(&s, is_first, &key, &is_end) != SONDE_SCAN_OK || is_end)
			break;
		if (sonde_scan_scalar(&s, &text) != SONDE_SCAN_OK)
			break;
		add_metric(h, key.raw, text.raw, rec, device);
	}
}

/* Adds the record for the launches of a leaf, or for the metrics that a region has itself. */
static void add_record(struct hatchet *h, const struct hatchet_node *n)
{
	uint32_t range = n->range != SONDE_NONE	   ? n->range
			 : n->parent != SONDE_NONE ? h->nodes.at[n->parent].range
						   : SONDE_NONE;
	struct sonde_record rec = {.caller = h->caller,
		.payload = h->state->figures.nr,
		.is_sum = true,
		.nr_launches = n->range == SONDE_NONE}; /* a region has launches only if it has a count */
	uint32_t device = 0, name = n->name;
	bool is_any = false;
	size_t i;

	read_metrics(h, n, &rec, &device);
	for (i = rec.payload; i < h->state->figures.nr; i++)
		is_any |= h->state->figures.at[i].value != 0;
	if (!is_any)
		return;
	if (n->range != SONDE_NONE)
		name = sonde_records__string(h->r, SONDE_STR("(scope)"));
	rec.function = sonde_records__function(h->r, name, name);
	rec.queue = sonde_records__queue(h->r, device, 0, 0);
	rec.open = range == SONDE_NONE ? 0 : sonde_records__set(h->r, &range, 1);
	sonde_put(&h->r->arena, &h->state->figures, (struct hatchet_figure){.metric = SONDE_NONE});
	sonde_put(&h->r->arena, &h->r->records, rec);
}

static bool is_region(const struct hatchet_node *n)
{
	return n->has_children || n->is_region || n->metrics.n < 3;
}

static void add_nodes(struct hatchet *h)
{
	size_t i;

	for (i = 0; i < h->nodes.nr && !h->r->arena.failed; i++) {
		struct hatchet_node *n = &h->nodes.at[i];

		if (n->name == SONDE_NONE)
			n->name = sonde_records__string(h->r, SONDE_STR("(unnamed)"));
		if (is_hidden(h, n))
			continue;
		if (is_region(n))
			add_range(h, n);
		add_record(h, n);
	}
}

/* --- the devices that Proton lists after the nodes -------------------------------------------------- */

static const struct {
	const char *key, *name;
} attributes[] = {
	{"num_sms", SONDE_ATTR_SMS},
	{"clock_rate", SONDE_ATTR_CLOCK},
	{"memory_clock_rate", SONDE_ATTR_MEMORY_CLOCK},
	{"bus_width", SONDE_ATTR_BUS_WIDTH},
};
#define NR_ATTRIBUTES (sizeof(attributes) / sizeof(*attributes))

/* Sets the compute capability: "90" is 9.0, "100" is 10.0. Other vendors have names. */
static void set_arch(struct sonde_device *d, struct sonde_str arch)
{
	double v;

	if (sonde_scan_double(arch, &v) && v >= 10 && v < 1000) {
		d->cc_major = (unsigned)v / 10;
		d->cc_minor = (unsigned)v % 10;
	} else {
		d->name = arch;
	}
}

/* Reads the facts of one device; the cursor is at its object. */
static void add_device(struct hatchet *h, struct sonde_scan *s, uint32_t id)
{
	struct sonde_attribute *list = sonde_arena_calloc(&h->r->arena, NR_ATTRIBUTES, sizeof(*list));
	struct sonde_device d = {.id = id, .process = h->process, .attributes = list};
	struct sonde_scan_text key, text = {0};
	bool is_first, is_end;
	size_t i;

	for (s->p++, is_first = true;; is_first = false) {
		if (sonde_scan_member(s, is_first, &key, &is_end) != SONDE_SCAN_OK || is_end)
			break;
		if (sonde_scan_scalar(s, &text) != SONDE_SCAN_OK)
			break;
		if (sonde_str_is(key.raw, "arch"))
			set_arch(&d, text.raw);
		for (i = 0; list && i < NR_ATTRIBUTES && d.nr_attributes < NR_ATTRIBUTES; i++)
			if (sonde_str_is(key.raw, attributes[i].key) &&
				sonde_scan_double(text.raw, &list[d.nr_attributes].value))
				list[d.nr_attributes++].name = sonde_str_from(attributes[i].name);
	}
	sonde_records__device(h->r, &d);
}

/* {"CUDA": {"0": {…}, "1": {…}}}. Devices that cannot be read are left out. */
static void add_devices(struct hatchet *h)
{
	struct sonde_scan s = sonde_scan_of(h->devices);
	struct sonde_scan_text kind, id;
	bool is_first, is_end, is_first_id;
	double number;

	if (!h->devices.n)
		return;
	for (s.p++, is_first = true;; is_first = false) {
		if (sonde_scan_member(&s, is_first, &kind, &is_end) != SONDE_SCAN_OK || is_end ||
			*s.p != '{')
			return;
		for (s.p++, is_first_id = true;; is_first_id = false) {
			if (sonde_scan_member(&s, is_first_id, &id, &is_end) != SONDE_SCAN_OK)
				return;
			if (is_end)
				break;
			if (*s.p != '{' || !sonde_scan_double(id.raw, &number) || number < 0 || number > 1e6)
				return;
			add_device(h, &s, (uint32_t)number);
		}
	}
}

/* --- the reader --------------------------------------------------------------------------------- */

static bool knows_hatchet(struct sonde_str data)
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

static void note_all(const struct hatchet *h)
{
	if (h->has_plain_time && !h->has_time)
		sonde_note(&h->r->notes,
			"%s: its time has no unit: it is shown as the metric time.sum, not as GPU time", h->src->path);
	sonde_source__note_loss(h->src, h->r, h->nr_no_numbers,
		"metric is not a finite number and is left out", "metrics are not finite numbers and are left out");
	sonde_source__note_loss(h->src, h->r, h->nr_bad_counts,
		"count is not a valid number of launches: one launch is assumed",
		"counts are not valid numbers of launches: one launch is assumed for each");
}

static int read_all(struct hatchet *h)
{
	int rc;

	h->process = sonde_records__process(h->r, h->src->input, 0, (struct sonde_str){NULL, 0},
		(struct sonde_str){NULL, 0});
	h->caller = sonde_records__caller(h->r, h->process, 0);
	h->begin = h->scan.p;
	sonde_scan_space(&h->scan);
	h->scan.p++;
	rc = read_nodes(h, SONDE_NONE, 0);
	h->src->work.failed |= h->scratch.failed;
	if (rc == SONDE_ERR_NOMEM || sonde_source__status(h->src, h->r, h->err))
		return SONDE_ERR_NOMEM;
	add_nodes(h);
	add_devices(h);
	h->src->work.failed |= h->scratch.failed;
	if (h->devices.n) /* only Proton lists devices */
		h->r->inputs.at[h->src->input].tool = SONDE_STR("Proton");
	note_all(h);
	return rc; /* the nodes before the damage were added */
}

static int read_hatchet(struct sonde_source *src, struct sonde_records *r, struct sonde_err *err)
{
	struct hatchet h = {
		.src = src, .r = r, .err = err, .state = src->state, .scan = sonde_scan_of(src->file.data)};
	int rc = read_all(&h);

	sonde_buf_release(&h.scratch);
	return rc;
}

static int hatchet_values(const struct sonde_source *src, const struct sonde_record *rec,
	struct sonde_values *v, struct sonde_err *err)
{
	const struct hatchet_state *s = src->state;
	const struct hatchet_figure *f;

	(void)err;
	for (f = &s->figures.at[rec->payload]; f->metric != SONDE_NONE; f++)
		v->num[f->metric] = f->value;
	return 0;
}

const struct sonde_source_ops sonde_source_hatchet = {
	.name = "hatchet",
	.state_bytes = sizeof(struct hatchet_state),
	.knows = knows_hatchet,
	.read = read_hatchet,
	.values = hatchet_values,
};
