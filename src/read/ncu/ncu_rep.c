/*
 * The frame of an .ncu-rep file: "NVR\0", a file header, then blocks. Each
 * block has a header (counts, strings, session facts, process) and a payload
 * of length-prefixed messages: sources, then kernel, range, command-list and
 * graph results. All bytes are treated as hostile.
 */
#include "base/secret.h"
#include "catalogue/attributes.h"
#include "read/ncu/ncu_int.h"

#include <math.h>

#define MAGIC "NVR\0"

static const struct ncu_layout layouts[] = {
	{SONDE_RESULT_KERNEL, 13, 17, 21, 22, 23, "kernel"},
	{SONDE_RESULT_RANGE, 4, 7, 10, 11, 0, "range"},
	{SONDE_RESULT_CMDLIST, 4, 7, 10, 11, 12, "cmdlist"},
	{SONDE_RESULT_GRAPH, 4, 7, 10, 11, 12, "graph"},
};

struct block {
	uint64_t counts[5]; /* sources, then results in the order of `layouts` */
	uint64_t payload_size;
	struct sonde_str process;
};

uint32_t ncu_u32(const char *p)
{
	unsigned char b[NCU_LENGTH_BYTES];

	memcpy(b, p, sizeof(b));
	return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

uint64_t ncu_offset(const struct sonde_source *src, const void *p)
{
	return (uint64_t)((const char *)p - src->file.data.p);
}

int ncu_damage(const struct ncu_report *n, const struct sonde_wire *w, struct sonde_err *err)
{
	return sonde_err_at(
		err, SONDE_ERR_FORMAT, n->src->path, ncu_offset(n->src, w->p), "%s", w->bad);
}

static bool knows_ncu_report(struct sonde_str data)
{
	return data.n >= 4 && memcmp(data.p, MAGIC, 4) == 0;
}

static int read_strings(struct ncu_report *n, struct sonde_str msg, struct sonde_err *err)
{
	struct sonde_wire w = sonde_wire_on(msg);
	struct sonde_wire_field f;

	while (sonde_wire_next(&w, &f)) {
		if (!sonde_field_is_bytes(&f, 1))
			continue;
		if (n->device_string == SONDE_NONE && sonde_str_is(f.bytes, "launch__device_id"))
			n->device_string = (uint32_t)n->strings.nr;
		sonde_put(&n->r->arena, &n->strings, f.bytes);
		sonde_put(&n->r->arena, &n->metric_of, SONDE_NONE);
	}
	return w.bad ? ncu_damage(n, &w, err) : 0;
}

static int read_process(struct ncu_report *n, struct sonde_str msg, struct sonde_err *err)
{
	struct sonde_wire w = sonde_wire_on(msg);
	struct sonde_str host = {0}, name = {0};
	struct sonde_wire_field f;
	uint64_t pid = 0;

	while (sonde_wire_next(&w, &f)) {
		if (sonde_field_is_int(&f, 1))
			pid = f.value;
		else if (sonde_field_is_bytes(&f, 2))
			host = f.bytes;
		else if (sonde_field_is_bytes(&f, 3))
			name = f.bytes;
	}
	if (w.bad)
		return ncu_damage(n, &w, err);
	n->process = sonde_records__process(n->r, n->src->input, pid, host, name);
	return 0;
}

static struct sonde_attribute read_attribute(struct sonde_str msg)
{
	struct sonde_attribute a = {.value = NAN};
	struct sonde_wire w = sonde_wire_on(msg);
	struct sonde_wire_field f;

	while (sonde_wire_next(&w, &f)) {
		if (sonde_field_is_bytes(&f, 1))
			a.name = f.bytes;
		else if (sonde_field_is_bytes(&f, 2))
			a.value = ncu_value(f.bytes, &a.text);
	}
	return a;
}

static void add_attributes(struct ncu_report *n, struct sonde_device *d, struct sonde_str msg)
{
	struct sonde_wire w = sonde_wire_on(msg);
	struct sonde_attribute *list;
	struct sonde_wire_field f;
	size_t nr = 0;

	while (sonde_wire_next(&w, &f))
		nr += sonde_field_is_bytes(&f, 3);
	list = sonde_arena_calloc(&n->r->arena, nr, sizeof(*list));
	d->attributes = list;
	for (w = sonde_wire_on(msg); list && sonde_wire_next(&w, &f);) {
		struct sonde_attribute a;

		if (!sonde_field_is_bytes(&f, 3))
			continue;
		a = list[d->nr_attributes++] = read_attribute(f.bytes);
		if (sonde_str_is(a.name, SONDE_ATTR_CC_MAJOR))
			d->cc_major = a.value >= 0 && a.value < 1000 ? (unsigned)a.value : 0;
		if (sonde_str_is(a.name, SONDE_ATTR_CC_MINOR))
			d->cc_minor = a.value >= 0 && a.value < 1000 ? (unsigned)a.value : 0;
	}
}

static int read_device(struct ncu_report *n, struct sonde_str msg, struct sonde_err *err)
{
	struct sonde_wire w = sonde_wire_on(msg);
	struct sonde_device dev = {.process = n->process};
	const struct sonde_device *known;
	struct sonde_wire_field f;

	while (sonde_wire_next(&w, &f)) {
		if (sonde_field_is_int(&f, 1))
			dev.id = (uint32_t)f.value;
		else if (sonde_field_is_bytes(&f, 2))
			dev.name = f.bytes;
	}
	if (w.bad)
		return ncu_damage(n, &w, err);
	if (n->process == SONDE_NONE)
		return 0;
	known = sonde_records_device(n->r, n->process, dev.id);
	if (known && known->process == n->process)
		return 0;
	add_attributes(n, &dev, msg);
	sonde_records__device(n->r, &dev);
	return 0;
}

/* VersionInfo{1 provider, 2 version}: the profiler's own entry becomes "ncu 2025.3.1.0". */
static void read_version(struct ncu_report *n, struct sonde_str msg)
{
	struct sonde_input *in = &n->r->inputs.at[n->src->input];
	struct sonde_wire w = sonde_wire_on(msg);
	struct sonde_str provider = {0}, version = {0};
	struct sonde_wire_field f;

	while (sonde_wire_next(&w, &f)) {
		if (sonde_field_is_bytes(&f, 1))
			provider = f.bytes;
		else if (sonde_field_is_bytes(&f, 2))
			version = f.bytes;
	}
	if (!sonde_str_starts(provider, "Nsight Compute") || in->tool.n)
		return;
	version.n = sonde_str_find(version, ' ');
	in->tool = sonde_arena_printf(&n->r->arena, "ncu %.*s", SONDE_STR_ARG(version));
}

/* The word after `--replay-mode`, or "kernel", Nsight's default. */
static struct sonde_str replay_mode(struct sonde_str command)
{
	static const char flag[] = "--replay-mode";
	struct sonde_str rest = command, word;
	bool take = false;

	while (rest.n) {
		word = sonde_str_cut(rest, ' ', &rest);
		if (take && word.n)
			return word;
		if (sonde_str_is(word, flag))
			take = true;
		else if (sonde_str_starts(word, "--replay-mode="))
			return (struct sonde_str){word.p + sizeof(flag), word.n - sizeof(flag)};
	}
	return SONDE_STR("kernel");
}

/* Session facts are spread over several blocks: takes those that are here. */
static int read_session(struct ncu_report *n, struct sonde_str msg, struct sonde_err *err)
{
	struct sonde_input *in = &n->r->inputs.at[n->src->input];
	struct sonde_wire w = sonde_wire_on(msg);
	struct sonde_wire_field f;
	int rc = 0;

	while (rc == 0 && sonde_wire_next(&w, &f)) {
		if (sonde_field_is_int(&f, 2) && !in->created_s) {
			in->created_s = f.value;
		} else if (sonde_field_is_bytes(&f, 6)) {
			rc = read_device(n, f.bytes, err);
		} else if (sonde_field_is_bytes(&f, 8)) {
			read_version(n, f.bytes);
		} else if (sonde_field_is_bytes(&f, 11) && f.bytes.n) {
			in->command = sonde_secret_mask_line(&n->r->arena, f.bytes);
			in->replay_mode = replay_mode(f.bytes);
		}
	}
	return rc ? rc : w.bad ? ncu_damage(n, &w, err) : 0;
}

/* First the process and the strings, which later parts need; then the session. */
static int read_block_header(
	struct ncu_report *n, struct sonde_str msg, struct block *b, struct sonde_err *err)
{
	static const uint8_t count_of[10] = {[1] = 1, [2] = 2, [7] = 3, [8] = 4, [9] = 5};
	struct sonde_wire w = sonde_wire_on(msg);
	struct sonde_wire_field f;
	int rc = 0;

	while (rc == 0 && sonde_wire_next(&w, &f)) {
		if (f.type == SONDE_WIRE_VARINT && f.number < 10 && count_of[f.number])
			b->counts[count_of[f.number] - 1] = f.value;
		else if (sonde_field_is_int(&f, 5))
			b->payload_size = f.value;
		else if (sonde_field_is_bytes(&f, 4))
			rc = read_strings(n, f.bytes, err);
		else if (sonde_field_is_bytes(&f, 6))
			rc = read_process(n, f.bytes, err);
	}
	if (rc || w.bad)
		return rc ? rc : ncu_damage(n, &w, err);
	for (w = sonde_wire_on(msg); rc == 0 && sonde_wire_next(&w, &f);)
		if (sonde_field_is_bytes(&f, 3))
			rc = read_session(n, f.bytes, err);
	return rc ? rc : sonde_arena_status(&n->r->arena, err);
}

/* Takes `size` bytes off the front of `*s`; an error says where the file ends too early. */
static int take_bytes(const struct ncu_report *n, struct sonde_str *s, uint64_t size, const char *what,
	struct sonde_str *out, struct sonde_err *err)
{
	if (size > s->n)
		return sonde_source__truncated(n->src, what, ncu_offset(n->src, s->p),
			ncu_offset(n->src, s->p + s->n), err);
	*out = (struct sonde_str){s->p, (size_t)size};
	s->p += size;
	s->n -= (size_t)size;
	return 0;
}

/* Takes a u32 length and that many bytes. */
static int take_item(const struct ncu_report *n, struct sonde_str *s, const char *what,
	struct sonde_str *out, struct sonde_err *err)
{
	struct sonde_str len = {NULL, 0};
	int rc = take_bytes(n, s, NCU_LENGTH_BYTES, "a length", &len, err);

	return rc ? rc : take_bytes(n, s, ncu_u32(len.p), what, out, err);
}

static int read_payload(struct ncu_report *n, struct sonde_str payload, const struct block *b,
	struct sonde_err *err)
{
	struct sonde_str item;
	uint64_t i;
	size_t k;
	int rc = 0;

	for (i = 0; i < b->counts[0] && rc == 0; i++)
		rc = take_item(n, &payload, "a source", &item, err); /* cubins: never looked at */
	for (k = 0; k < 4; k++)
		for (i = 0; i < b->counts[k + 1] && rc == 0; i++) {
			rc = take_item(n, &payload, "a result", &item, err);
			if (rc == 0)
				rc = ncu_read_result(n, item, &layouts[k], err);
		}
	return rc;
}

static int read_block(struct ncu_report *n, struct sonde_str *rest, struct sonde_err *err)
{
	struct block b = {{0}, 0, {0}};
	struct sonde_str header, payload;
	int rc = take_item(n, rest, "the head of a block", &header, err);

	if (rc == 0)
		rc = read_block_header(n, header, &b, err);
	if (rc)
		return rc;
	if (b.payload_size > rest->n) { /* the file is cut off: read the results that are complete */
		rc = read_payload(n, *rest, &b, err);
		rest->n = 0;
		return rc;
	}
	rc = take_bytes(n, rest, b.payload_size, "a block", &payload, err);
	return rc ? rc : read_payload(n, payload, &b, err);
}

static void finish_report(struct ncu_report *n)
{
	struct sonde_input *in = &n->r->inputs.at[n->src->input];

	if (!in->replay_mode.n)
		in->replay_mode = SONDE_STR("kernel");
	if (n->too_deep)
		sonde_note(&n->r->notes,
			"%s: ranges nested deeper than %d are counted in their ancestor at that "
			"depth",
			n->src->path, NCU_MAX_DEPTH);
	sonde_source__note_loss(n->src, n->r, n->bad_strings,
		"metric value refers to a string that is missing from the file and is left out",
		"metric values refer to strings that are missing from the file and are left out");
}

static int read_report(struct sonde_source *src, struct sonde_records *r, struct sonde_err *err)
{
	struct ncu_report *n = src->state;
	struct sonde_str rest = {src->file.data.p + 4, src->file.data.n - 4}, header;
	int rc;

	n->src = src;
	n->r = r;
	n->device_string = n->process = n->last_process = SONDE_NONE;
	rc = take_item(n, &rest, "the head", &header, err);
	while (rc == 0 && rest.n)
		rc = read_block(n, &rest, err);
	finish_report(n);
	return rc;
}

const struct sonde_source_ops sonde_source_ncu_rep = {
	.name = "ncu-rep",
	.state_bytes = sizeof(struct ncu_report),
	.knows = knows_ncu_report,
	.read = read_report,
	.values = ncu_read_values,
};
