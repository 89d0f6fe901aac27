/*
 * The top level of a trace: an object with `traceEvents` and facts around it in
 * any order, or just an array of events. Damage costs only the event it is in.
 *
 * The text is a mapped file, or comes from a stream piece by piece: if the bytes in memory end inside an event, more
 * are fetched and the event is read again, with its beginning kept in the window.
 */
#include "read/kineto/kineto_int.h"

#include "base/alloc.h"
#include "catalogue/attributes.h"

#define WINDOW (512u * 1024u) /* bytes of a stream in memory, at first */
#define MAX_IN_VAIN (1u << 20) /* bytes that may be read in vain in a text of any size */

/* --- the bytes at hand ----------------------------------------------------------------------------- */

enum kineto_more {
	KINETO_MORE,
	KINETO_END,   /* end of the text */
	KINETO_FULL,  /* the bytes to be kept are longer than KINETO_MAX_EVENT */
	KINETO_NOMEM,
};

/* Makes room behind the bytes that are kept: at least half of the window. */
static enum kineto_more make_room(struct kineto_window *w, size_t kept)
{
	char *bigger;

	if (kept <= w->cap / 2)
		return KINETO_MORE;
	if (kept > KINETO_MAX_EVENT)
		return KINETO_FULL;
	bigger = sonde_realloc(w->buf, w->cap * 2);
	if (!bigger)
		return KINETO_NOMEM;
	w->buf = bigger;
	w->cap *= 2;
	return KINETO_MORE;
}

/* Fetches more bytes and keeps those from `*mark` on; `*mark` is moved with them. */
static enum kineto_more window_more(struct kineto_window *w, const char **mark)
{
	size_t kept = (size_t)(w->scan.end - *mark), got;
	enum kineto_more more;

	if (w->scan.is_last)
		return KINETO_END;
	w->base += (uint64_t)(*mark - w->first);
	if (kept)
		memmove(w->buf, *mark, kept);
	more = make_room(w, kept);
	got = more == KINETO_MORE ? sonde_stream_read(w->stream, w->buf + kept, w->cap - kept) : 0;
	w->first = w->scan.p = *mark = w->buf;
	w->scan.end = w->buf + kept + got;
	w->scan.is_last = more == KINETO_MORE && kept + got < w->cap;
	return more;
}

int sonde_kineto__window_open(struct kineto_window *w, struct sonde_str text,
	struct sonde_stream *stream, struct sonde_err *err)
{
	enum kineto_more more;

	*w = (struct kineto_window){.stream = stream};
	if (!stream) {
		w->scan = sonde_scan_of(text);
		w->first = text.p;
		return 0;
	}
	w->cap = WINDOW;
	w->buf = sonde_malloc(w->cap);
	if (!w->buf)
		return sonde_err_nomem(err);
	w->first = w->scan.p = w->scan.end = w->buf;
	w->scan.is_last = false;
	more = window_more(w, &w->scan.p);
	return more == KINETO_NOMEM ? sonde_err_nomem(err) : 0;
}

void sonde_kineto__window_release(struct kineto_window *w)
{
	sonde_free(w->buf);
	*w = (struct kineto_window){0};
}

uint64_t sonde_kineto__window_pos(const struct kineto_window *w)
{
	return w->base + (uint64_t)(w->scan.p - w->first);
}

/* --- facts around the events: clock, rank, devices ------------------------------------------------- */

/* Reads a number that is not negative; `*is_known` false: the value is something else. */
static enum sonde_scan_rc take_number(struct sonde_scan *s, uint64_t *out, bool *is_known)
{
	struct sonde_scan_text text;
	enum sonde_scan_rc rc = sonde_scan_scalar(s, &text);
	bool is_negative;

	*is_known = rc == SONDE_SCAN_OK && text.raw.p &&
		    sonde_scan_decimal(text.raw, 0, out, &is_negative) && !is_negative;
	return rc;
}

static enum sonde_scan_rc take_base(struct kineto *k, struct sonde_scan *s, void *into)
{
	enum sonde_scan_rc rc;
	bool is_known;
	uint64_t v;

	(void)into;
	rc = take_number(s, &v, &is_known);
	if (is_known)
		k->base_ns = v;
	return rc;
}

/* Calls `fn` for each member of an object; anything but an object is skipped. */
static enum sonde_scan_rc each_member(struct kineto *k, struct sonde_scan *s,
	enum sonde_scan_rc (*fn)(struct kineto *, struct sonde_scan *, struct sonde_str, void *),
	void *into)
{
	struct sonde_scan_text key;
	enum sonde_scan_rc rc = SONDE_SCAN_OK;
	bool is_first, is_end;

	if (*s->p != '{')
		return sonde_scan_value(s);
	for (s->p++, is_first = true; rc == SONDE_SCAN_OK; is_first = false) {
		rc = sonde_scan_member(s, is_first, &key, &is_end);
		if (rc != SONDE_SCAN_OK || is_end)
			return rc;
		rc = fn(k, s, key.raw, into);
	}
	return rc;
}

static enum sonde_scan_rc take_rank_member(
	struct kineto *k, struct sonde_scan *s, struct sonde_str key, void *into)
{
	uint32_t *to = sonde_str_is(key, "rank")	 ? &k->rank
		       : sonde_str_is(key, "world_size") ? &k->world_size
							 : NULL;
	enum sonde_scan_rc rc;
	bool is_known;
	uint64_t v;

	(void)into;
	rc = take_number(s, &v, &is_known);
	if (to && is_known && v < SONDE_NONE)
		*to = (uint32_t)v;
	return rc;
}

static enum sonde_scan_rc take_ranks(struct kineto *k, struct sonde_scan *s, void *into)
{
	return each_member(k, s, take_rank_member, into);
}

/* Attributes of a device, with the names that Nsight Compute gives them. */
static const struct {
	const char *key, *name;
} attributes[] = {
	{"numSms", SONDE_ATTR_SMS},
	{"totalGlobalMem", SONDE_ATTR_MEMORY},
	{"maxThreadsPerBlock", SONDE_ATTR_BLOCK_THREADS},
	{"maxThreadsPerMultiprocessor", SONDE_ATTR_SM_THREADS},
	{"regsPerBlock", SONDE_ATTR_BLOCK_REGISTERS},
	{"regsPerMultiprocessor", SONDE_ATTR_SM_REGISTERS},
	{"warpSize", SONDE_ATTR_WARP_SIZE},
	{"sharedMemPerBlock", SONDE_ATTR_BLOCK_SHARED},
	{"sharedMemPerMultiprocessor", SONDE_ATTR_SM_SHARED},
};
#define NR_ATTRIBUTES (sizeof(attributes) / sizeof(*attributes))

struct device {
	struct sonde_device it;
	struct sonde_attribute attributes[NR_ATTRIBUTES];
};

static void add_attribute(struct device *d, struct sonde_str key, uint64_t v)
{
	size_t i;

	for (i = 0; i < NR_ATTRIBUTES && d->it.nr_attributes < NR_ATTRIBUTES; i++)
		if (sonde_str_is(key, attributes[i].key))
			d->attributes[d->it.nr_attributes++] =
				(struct sonde_attribute){.name = sonde_str_from(attributes[i].name),
					.value = (double)v};
}

static enum sonde_scan_rc take_device_member(
	struct kineto *k, struct sonde_scan *s, struct sonde_str key, void *into)
{
	struct sonde_scan_text text;
	struct device *d = into;
	enum sonde_scan_rc rc;
	bool is_known;
	uint64_t v;

	if (*s->p == '"') {
		rc = sonde_scan_string(s, &text, SONDE_SCAN_VALUE);
		if (rc == SONDE_SCAN_OK && sonde_str_is(key, "name"))
			d->it.name = sonde_records_str(k->r, sonde_kineto__text(k, &text));
		return rc;
	}
	rc = take_number(s, &v, &is_known);
	if (!is_known)
		return rc;
	if (sonde_str_is(key, "id"))
		d->it.id = (uint32_t)v;
	else if (sonde_str_is(key, "computeMajor"))
		d->it.cc_major = (unsigned)v;
	else if (sonde_str_is(key, "computeMinor"))
		d->it.cc_minor = (unsigned)v;
	else
		add_attribute(d, key, v);
	return rc;
}

static enum sonde_scan_rc take_devices(struct kineto *k, struct sonde_scan *s, void *into)
{
	enum sonde_scan_rc rc;
	bool is_first, is_end;

	(void)into;
	k->devices.nr = 0;
	if (*s->p != '[')
		return sonde_scan_value(s);
	for (s->p++, is_first = true;; is_first = false) {
		struct device d = {0};

		rc = sonde_scan_element(s, is_first, &is_end);
		if (rc == SONDE_SCAN_OK && !is_end)
			rc = each_member(k, s, take_device_member, &d);
		if (rc != SONDE_SCAN_OK || is_end)
			return rc;
		d.it.attributes = (const void *)sonde_arena_dup(&k->r->arena,
			(struct sonde_str){(const char *)d.attributes,
				d.it.nr_attributes * sizeof(*d.attributes)}).p;
		sonde_put(&k->src->work, &k->devices, d.it);
	}
}

/* --- reading something whole ----------------------------------------------------------------------- */

/* Reads one thing as a whole; called again from its beginning when the bytes end inside it. */
typedef enum sonde_scan_rc (*take_fn)(struct kineto *k, struct sonde_scan *s, void *into);

enum outcome {
	TAKEN,
	DAMAGED,  /* the cursor is where it began */
	CUT,	  /* the text ends inside the thing */
	LOST,	  /* damaged, and no event follows */
	TOO_LONG, /* the cursor is where it began */
	NO_MEMORY,
};

static enum outcome take_whole(struct kineto *k, take_fn fn, void *into)
{
	struct kineto_window *w = &k->window;
	const char *mark = w->scan.p;
	enum kineto_more more;

	for (;;) {
		enum sonde_scan_rc rc = fn(k, &w->scan, into);

		if (rc == SONDE_SCAN_OK)
			return TAKEN;
		if (rc == SONDE_SCAN_BAD)
			k->nr_wasted = (uint64_t)(w->scan.p - mark);
		w->scan.p = mark;
		if (rc == SONDE_SCAN_BAD)
			return DAMAGED;
		more = window_more(w, &mark);
		if (more != KINETO_MORE)
			return more == KINETO_FULL ? TOO_LONG : more == KINETO_END ? CUT : NO_MEMORY;
	}
}

/* Skips a value of any length without keeping its bytes. */
static enum outcome skip_value(struct kineto *k)
{
	struct kineto_window *w = &k->window;
	struct sonde_scan_skip state = {0};
	enum sonde_scan_rc rc;

	while ((rc = sonde_scan_skip(&w->scan, &state)) == SONDE_SCAN_MORE) {
		enum kineto_more more = window_more(w, &w->scan.p);

		if (more != KINETO_MORE)
			return more == KINETO_NOMEM ? NO_MEMORY : CUT;
	}
	return rc == SONDE_SCAN_OK ? TAKEN : DAMAGED;
}

/* --- events ---------------------------------------------------------------------------------- */

struct step {
	struct kineto_event event;
	size_t nr_bytes;
	bool is_first, is_end;
};

static enum sonde_scan_rc take_event(struct kineto *k, struct sonde_scan *s, void *into)
{
	struct step *step = into;
	const char *begin = s->p;
	enum sonde_scan_rc rc = sonde_scan_element(s, step->is_first, &step->is_end);

	(void)k;
	step->event.ph = 0;
	if (rc != SONDE_SCAN_OK || step->is_end)
		return rc;
	rc = sonde_kineto__event(s, &step->event);
	step->nr_bytes = (size_t)(s->p - begin);
	return rc;
}

/* Whether the brace at p begins an event: its first key is one that events have. */
static bool is_event_at(const char *p, const char *end)
{
	static const char *const keys[] = {"\"ph\"", "\"cat\"", "\"name\"", "\"pid\"", "\"ts\""};
	size_t i;

	for (p++; p < end && sonde_scan__is_space(*p); p++)
		;
	for (i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if ((size_t)(end - p) >= strlen(keys[i]) && memcmp(p, keys[i], strlen(keys[i])) == 0)
			return true;
	return false;
}

/*
 * After damage, events that seem to begin inside the damaged one are tried too. A hostile text can have very many
 * events that turn out to be damaged far behind their beginnings. When reading them in vain has taken several times the
 * length of the text, a damaged event is skipped together with all bytes that were read of it.
 */
static bool has_tried_enough(struct kineto *k)
{
	return k->nr_all_wasted > MAX_IN_VAIN + 4 * sonde_kineto__window_pos(&k->window);
}

/* Moves the cursor to the next event after damage. */
static enum outcome find_event(struct kineto *k)
{
	struct kineto_window *w = &k->window;
	struct sonde_scan *s = &w->scan;
	const char *p = s->p;
	bool skips = k->nr_wasted && has_tried_enough(k);

	p += skips ? k->nr_wasted : 0;
	while (p < s->end && (sonde_scan__is_space(*p) || *p == ','))
		p++;
	p += !skips && p < s->end; /* skips the brace of the damaged event */
	for (;;) {
		enum kineto_more more;

		while (p < s->end && (p = memchr(p, '{', (size_t)(s->end - p)))) {
			if (s->end - p < 64 && !s->is_last)
				break; /* its key may be cut off */
			if (is_event_at(p, s->end)) {
				s->p = p;
				return TAKEN;
			}
			p++;
		}
		s->p = p && p < s->end ? p : s->end;
		more = window_more(w, &s->p);
		if (more != KINETO_MORE)
			return more == KINETO_NOMEM ? NO_MEMORY : LOST;
		p = s->p;
	}
}

/* Moves past an event that is too long or damaged. */
static enum outcome pass_over(struct kineto *k, struct step *step, enum outcome why)
{
	struct sonde_scan *s = &k->window.scan;

	if (why == TOO_LONG) {
		k->counts.too_long++;
		sonde_scan_space(s);
		s->p += !step->is_first && s->p < s->end && *s->p == ',';
		sonde_scan_space(s);
		step->is_first = false;
		return skip_value(k);
	}
	if (!k->counts.damaged++)
		k->damage_at = sonde_kineto__window_pos(&k->window);
	step->is_first = true; /* after damage no comma is expected */
	return find_event(k);
}

static enum outcome read_events(struct kineto *k)
{
	struct step step = {.is_first = true};
	struct sonde_scan *s = &k->window.scan;
	enum outcome out = TAKEN;

	k->has_events = k->is_in_events = true;
	while (out == TAKEN) {
		out = take_whole(k, take_event, &step);
		if (out == DAMAGED) { /* perhaps a string contains a quote without a backslash */
			k->nr_all_wasted += k->nr_wasted;
			s->is_lenient = true;
			out = take_whole(k, take_event, &step);
			s->is_lenient = false;
		}
		k->nr_all_wasted += out == DAMAGED ? k->nr_wasted : 0;
		if (out == DAMAGED || out == TOO_LONG) {
			out = pass_over(k, &step, out);
			continue;
		}
		if (out != TAKEN || step.is_end)
			break;
		step.is_first = false;
		k->counts.events++;
		if (step.nr_bytes > KINETO_MAX_EVENT)
			k->counts.too_long++;
		else if (step.event.ph)
			sonde_kineto__keep(k, &step.event);
		if (k->r->arena.failed || k->src->work.failed)
			out = NO_MEMORY;
	}
	k->is_in_events = out != TAKEN;
	return out;
}

/* --- the top level --------------------------------------------------------------------------- */

static enum sonde_scan_rc take_key(struct kineto *k, struct sonde_scan *s, void *into)
{
	struct step *step = into;
	struct sonde_scan_text key;
	enum sonde_scan_rc rc = sonde_scan_member(s, step->is_first, &key, &step->is_end);

	(void)k;
	step->event.name = key;
	return rc;
}

static enum outcome read_member(struct kineto *k, struct sonde_str key)
{
	static const struct {
		const char *key;
		take_fn fn;
	} facts[] = {
		{"baseTimeNanoseconds", take_base},
		{"distributedInfo", take_ranks},
		{"deviceProperties", take_devices},
	};
	struct sonde_scan *s = &k->window.scan;
	enum outcome out;
	size_t i;

	if (sonde_str_is(key, "traceEvents") && *s->p == '[') {
		s->p++;
		return read_events(k);
	}
	for (i = 0; i < sizeof(facts) / sizeof(*facts); i++)
		if (sonde_str_is(key, facts[i].key)) {
			out = take_whole(k, facts[i].fn, NULL);
			return out == TOO_LONG ? skip_value(k) : out;
		}
	return skip_value(k);
}

static enum outcome read_object(struct kineto *k)
{
	struct step step = {.is_first = true};
	enum outcome out = TAKEN;

	while (out == TAKEN) {
		out = take_whole(k, take_key, &step);
		if (out != TAKEN || step.is_end)
			break;
		out = read_member(k, step.event.name.raw);
		step.is_first = false;
	}
	return out;
}

int sonde_kineto__read_document(struct kineto *k)
{
	struct sonde_scan *s = &k->window.scan;
	enum outcome out;

	if (s->end - s->p >= 3 && memcmp(s->p, "\xef\xbb\xbf", 3) == 0)
		s->p += 3;
	if (!sonde_scan_space(s))
		out = CUT;
	else
		out = *s->p++ == '[' ? read_events(k) : read_object(k);
	if (out == NO_MEMORY)
		return sonde_err_nomem(k->err);
	k->is_cut = out == CUT;
	if (out == DAMAGED && !k->counts.damaged++)
		k->damage_at = sonde_kineto__window_pos(&k->window);
	return 0;
}
