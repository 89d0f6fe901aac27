/*
 * Most of a trace's text is arguments, and most events are not kept. So arguments are skipped as a slice first, and
 * read only if their event is kept.
 */
#include "read/kineto/kineto_int.h"

#define MOST_NS 1000000000000000000u /* 31 years: nothing takes that long */

/* --- fields ---------------------------------------------------------------------------------- */

struct word {
	struct sonde_str name;
	uint8_t number;
};
#define WORD(text, number)                                                                         \
	{                                                                                          \
		{text, sizeof(text) - 1}, number                                                   \
	}

/* The number of a word, `none` when it is not in the list. */
static inline uint8_t find_word(
	const struct word *words, size_t nr, struct sonde_str name, uint8_t none)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (name.n == words[i].name.n && memcmp(name.p, words[i].name.p, name.n) == 0)
			return words[i].number;
	return none;
}

/* Names that PyTorch used over the years, compared without case. */
static const struct word categories[] = {
	WORD("kernel", KINETO_KERNEL),
	WORD("gpu_memcpy", KINETO_MEMCPY),
	WORD("memcpy", KINETO_MEMCPY),
	WORD("gpu_memset", KINETO_MEMSET),
	WORD("memset", KINETO_MEMSET),
	WORD("cpu_op", KINETO_OPERATOR),
	WORD("operator", KINETO_OPERATOR),
	WORD("user_annotation", KINETO_ANNOTATION),
	WORD("python_function", KINETO_PYTHON),
	WORD("hardware_counters", KINETO_COUNTERS),
	WORD("fwdbwd", KINETO_FWDBWD),
	WORD("cuda_sync", KINETO_SYNC),
	WORD("overhead", KINETO_OVERHEAD),
	WORD("runtime", KINETO_CALL),
	WORD("driver", KINETO_CALL),
};

#define MAX_CATEGORY 32

static uint8_t category_of(struct sonde_str text)
{
	char lower[MAX_CATEGORY];
	struct sonde_str name = {lower, text.n};
	uint8_t category;
	size_t i;

	if (text.n > sizeof(lower))
		return KINETO_OTHER;
	for (i = 0; i < text.n; i++)
		lower[i] = text.p[i] >= 'A' && text.p[i] <= 'Z' ? (char)(text.p[i] | 0x20) : text.p[i];
	category = find_word(
		categories, sizeof(categories) / sizeof(*categories), name, KINETO_OTHER);
	/* cuda_runtime, hip_runtime, cuda_driver, … */
	if (category == KINETO_OTHER &&
		(sonde_str_ends(name, "_runtime") || sonde_str_ends(name, "_driver")))
		return KINETO_CALL;
	return category;
}

static uint64_t number_of(struct sonde_str word, bool *is_known)
{
	bool is_negative;
	uint64_t v;

	*is_known = sonde_scan_decimal(word, 0, &v, &is_negative);
	return !*is_known ? 0 : is_negative ? -v : v;
}

/* Reads an id. It is mostly a number; another text is replaced by its hash. */
static enum sonde_scan_rc read_id(struct sonde_scan *s, uint64_t *out, bool *has)
{
	struct sonde_scan_text text;
	enum sonde_scan_rc rc = sonde_scan_scalar(s, &text);

	*has = false;
	if (rc != SONDE_SCAN_OK || !text.raw.p)
		return rc;
	*out = number_of(text.raw, has);
	if (!*has && text.raw.n) {
		*out = sonde_hash(text.raw.p, text.raw.n);
		*has = true;
	}
	return rc;
}

static enum sonde_scan_rc read_time(struct sonde_scan *s, struct kineto_event *e, bool is_dur)
{
	struct sonde_scan_text text;
	enum sonde_scan_rc rc = sonde_scan_scalar(s, &text);
	bool is_negative;
	uint64_t ns;

	if (rc == SONDE_SCAN_OK && !text.raw.p)
		return SONDE_SCAN_BAD;
	if (rc != SONDE_SCAN_OK)
		return rc;
	/* A time beyond the year 2262 is damage, and so is a duration of more than 31 years. */
	if (!sonde_scan_decimal(text.raw, 3, &ns, &is_negative) || (is_negative && ns) || ns > INT64_MAX ||
		(is_dur && ns > MOST_NS)) {
		e->is_bad = true;
		return rc;
	}
	*(is_dur ? &e->dur_ns : &e->ts_ns) = ns;
	*(is_dur ? &e->has_dur : &e->has_ts) = true;
	return rc;
}

/* Reads a string; empty if the value is something else. */
static enum sonde_scan_rc read_text(
	struct sonde_scan *s, struct sonde_scan_text *out, enum sonde_scan_place place)
{
	*out = (struct sonde_scan_text){{NULL, 0}, false};
	return *s->p == '"' ? sonde_scan_string(s, out, place) : sonde_scan_value(s);
}

/* A name is the only text of an event that may lack backslashes; it never contains another event. */
static enum sonde_scan_rc read_name(struct sonde_scan *s, struct sonde_scan_text *out)
{
	enum sonde_scan_rc rc = read_text(s, out, SONDE_SCAN_VALUE);

	if (rc == SONDE_SCAN_OK && s->is_lenient && out->raw.n &&
		memmem(out->raw.p, out->raw.n, "\"ph\"", 4))
		return SONDE_SCAN_BAD;
	return rc;
}

static inline bool is_key(struct sonde_str key, const char *name, size_t n)
{
	return key.n == n && memcmp(key.p, name, n) == 0;
}
#define IS(key, name) is_key(key, name, sizeof(name) - 1)

static enum sonde_scan_rc read_member(
	struct sonde_scan *s, struct kineto_event *e, struct sonde_str key)
{
	struct sonde_scan_text text;
	enum sonde_scan_rc rc;
	const char *begin = s->p;
	bool has;

	if (IS(key, "ph") || IS(key, "cat")) {
		rc = read_text(s, &text, SONDE_SCAN_KEY);
		if (rc == SONDE_SCAN_OK && key.n == 2)
			e->ph = text.raw.n == 1 ? text.raw.p[0] : 0;
		else if (rc == SONDE_SCAN_OK)
			e->category = category_of(text.raw);
		return rc;
	}
	if (IS(key, "name"))
		return read_name(s, &e->name);
	if (IS(key, "ts") || IS(key, "dur"))
		return read_time(s, e, key.n == 3);
	if (IS(key, "pid") || IS(key, "tid"))
		return read_id(s, key.p[0] == 'p' ? &e->pid : &e->tid, &has);
	if (IS(key, "id"))
		return read_id(s, &e->id, &e->has_id);
	rc = sonde_scan_value(s);
	if (rc == SONDE_SCAN_OK && IS(key, "args") && *begin == '{')
		e->args = (struct sonde_str){begin, (size_t)(s->p - begin)};
	return rc;
}

/* Reads the members of an event until its phase turns out not to be in `wanted`; then skips the rest. */
static enum sonde_scan_rc read_members(
	struct sonde_scan *s, struct kineto_event *e, const char *wanted)
{
	struct sonde_scan_text key;
	enum sonde_scan_rc rc;
	bool is_end, is_first = true;

	*e = (struct kineto_event){0};
	for (s->p++;; is_first = false) {
		rc = sonde_scan_member(s, is_first, &key, &is_end);
		if (rc != SONDE_SCAN_OK || is_end)
			return rc;
		rc = read_member(s, e, key.raw);
		if (rc != SONDE_SCAN_OK)
			return rc;
		if (e->ph && !strchr(wanted, e->ph)) {
			struct sonde_scan_skip rest = {.depth = 1};

			return sonde_scan_skip(s, &rest);
		}
	}
}

/* There are many flows and marks: only flows that link operators are read a second time. */
enum sonde_scan_rc sonde_kineto__event(struct sonde_scan *s, struct kineto_event *e)
{
	const char *begin = s->p;
	enum sonde_scan_rc rc;

	if (*begin != '{') {
		e->ph = 0;
		return sonde_scan_value(s);
	}
	rc = read_members(s, e, "XMC");
	if (rc != SONDE_SCAN_OK || (e->ph != 's' && e->ph != 'f') ||
		!memmem(begin, (size_t)(s->p - begin), "\"fwdbwd\"", 8))
		return rc;
	s->p = begin;
	return read_members(s, e, "sf");
}

/* --- arguments ------------------------------------------------------------------------------- */

static const struct word args[] = {
	WORD("correlation", KINETO_CORRELATION),
	WORD("device", KINETO_DEVICE),
	WORD("stream", KINETO_STREAM),
	WORD("context", KINETO_CONTEXT),
	WORD("bytes", KINETO_BYTES),
	WORD("registers per thread", KINETO_REGISTERS),
	WORD("shared memory", KINETO_SHARED),
	WORD("graph id", KINETO_GRAPH),
	WORD("graph node id", KINETO_NODE),
	WORD("Sequence number", KINETO_SEQUENCE),
	WORD("Fwd thread id", KINETO_FWD_THREAD),
	WORD("Group size", KINETO_GROUP_SIZE),
	WORD("Seq", KINETO_COLLECTIVE_SEQUENCE),
	WORD("In msg nelems", KINETO_IN_ELEMENTS),
	WORD("grid", KINETO_GRID),
	WORD("block", KINETO_BLOCK),
	WORD("Collective name", KINETO_COLLECTIVE),
	WORD("Process Group Name", KINETO_GROUP),
	WORD("dtype", KINETO_DTYPE),
	WORD("name", KINETO_NAME),
	WORD("labels", KINETO_LABELS),
	WORD("kernel", KINETO_KERNEL_NAME),
};

static enum sonde_scan_rc read_dims(struct sonde_scan *s, uint32_t dims[3])
{
	enum sonde_scan_rc rc;
	struct sonde_str word;
	unsigned i;
	bool is_end, is_known;

	for (s->p++, i = 0;; i++) {
		rc = sonde_scan_element(s, i == 0, &is_end);
		if (rc != SONDE_SCAN_OK || is_end)
			return rc;
		rc = sonde_scan_word(s, &word);
		if (rc != SONDE_SCAN_OK)
			return rc;
		if (i < 3)
			dims[i] = (uint32_t)number_of(word, &is_known);
	}
}

static enum sonde_scan_rc read_arg(struct sonde_scan *s, struct kineto_args *a, uint8_t arg)
{
	enum sonde_scan_rc rc;
	bool has = true;

	if (arg >= KINETO_COLLECTIVE) {
		rc = read_text(s, &a->text[arg - KINETO_COLLECTIVE], SONDE_SCAN_VALUE);
		has = a->text[arg - KINETO_COLLECTIVE].raw.p;
	} else if (arg >= KINETO_NR_NUMBERS) {
		if (*s->p != '[')
			return sonde_scan_value(s);
		rc = read_dims(s, arg == KINETO_GRID ? a->grid : a->block);
	} else {
		rc = read_id(s, &a->number[arg], &has);
	}
	a->has |= (uint32_t)(rc == SONDE_SCAN_OK && has) << arg;
	return rc;
}

/* The text was scanned once before; a part that cannot be read this time is left out. */
void sonde_kineto__read_args(struct sonde_str text, struct kineto_args *a)
{
	struct sonde_scan s = sonde_scan_of(text);
	enum sonde_scan_rc rc = SONDE_SCAN_OK;
	struct sonde_scan_text key;
	bool is_end, is_first;
	uint8_t arg;

	a->has = 0;
	if (!text.n)
		return;
	s.p++;
	for (is_first = true; rc == SONDE_SCAN_OK; is_first = false) {
		rc = sonde_scan_member(&s, is_first, &key, &is_end);
		if (rc != SONDE_SCAN_OK || is_end)
			return;
		arg = find_word(args, sizeof(args) / sizeof(*args), key.raw, KINETO_NR_ARGS);
		rc = arg < KINETO_NR_ARGS ? read_arg(&s, a, arg) : sonde_scan_value(&s);
	}
}
