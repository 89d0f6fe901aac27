/*
 * The top level of a trace: an object with `traceEvents` and facts around it in
 * any order, or just an array of events. Damage costs the event it is in.
 */
#include "read/kineto/kineto_int.h"

#define MAX_IN_VAIN (1u << 20) /* bytes */

/* Something that is read as a whole: begun again when the bytes end inside of it. */
typedef enum sonde_scan_rc (*take_fn)(struct kineto *k, struct sonde_scan *s, void *into);

enum outcome {
	TAKEN,
	DAMAGED,  /* the cursor is where it began */
	CUT,	  /* the text ends inside of it */
	LOST,	  /* damaged, and nothing behind it is an event */
	TOO_LONG, /* the cursor is where it began */
	NO_MEMORY,
};

static enum outcome take(struct kineto *k, take_fn fn, void *into)
{
	struct kineto_window *w = &k->window;
	const char *mark = w->scan.p;
	enum kineto_more more;

	for (;;) {
		enum sonde_scan_rc rc = fn(k, &w->scan, into);

		if (rc == SONDE_SCAN_OK)
			return TAKEN;
		if (rc == SONDE_SCAN_BAD)
			k->nr_in_vain = (uint64_t)(w->scan.p - mark);
		w->scan.p = mark;
		if (rc == SONDE_SCAN_BAD)
			return DAMAGED;
		more = sonde_kineto__window_more(w, &mark);
		if (more != KINETO_MORE)
			return more == KINETO_FULL ? TOO_LONG : more == KINETO_END ? CUT : NO_MEMORY;
	}
}

/* Skips a value however long it is, without keeping any of it. */
static enum outcome skip_value(struct kineto *k)
{
	struct kineto_window *w = &k->window;
	struct sonde_scan_skip state = {0};
	enum sonde_scan_rc rc;

	while ((rc = sonde_scan_skip(&w->scan, &state)) == SONDE_SCAN_MORE) {
		enum kineto_more more = sonde_kineto__window_more(w, &w->scan.p);

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

/* Whether an event begins at the brace at p: its first key is one that events have. */
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
 * Events behind the beginning of a damaged one may lie in it, so they are tried, too. A text can be made so that
 * each of very many is found to be damaged far behind them all: when that has taken several times as long as
 * the text is, what was read in vain is skipped with its event.
 */
static bool has_tried_enough(struct kineto *k)
{
	return k->nr_all_in_vain > MAX_IN_VAIN + 4 * sonde_kineto__window_pos(&k->window);
}

/* Moves the cursor to the next event behind damage. */
static enum outcome find_event(struct kineto *k)
{
	struct kineto_window *w = &k->window;
	struct sonde_scan *s = &w->scan;
	const char *p = s->p;
	bool skips = k->nr_in_vain && has_tried_enough(k);

	p += skips ? k->nr_in_vain : 0;
	while (p < s->end && (sonde_scan__is_space(*p) || *p == ','))
		p++;
	p += !skips && p < s->end; /* its own brace */
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
		more = sonde_kineto__window_more(w, &s->p);
		if (more != KINETO_MORE)
			return more == KINETO_NOMEM ? NO_MEMORY : LOST;
		p = s->p;
	}
}

/* Past an event that is too long, or past one that is damaged. */
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
	step->is_first = true; /* no comma any more */
	return find_event(k);
}

static enum outcome read_events(struct kineto *k)
{
	struct step step = {.is_first = true};
	struct sonde_scan *s = &k->window.scan;
	enum outcome out = TAKEN;

	k->has_events = k->is_in_events = true;
	while (out == TAKEN) {
		out = take(k, take_event, &step);
		if (out == DAMAGED) { /* a quote without its backslash? */
			k->nr_all_in_vain += k->nr_in_vain;
			s->is_lenient = true;
			out = take(k, take_event, &step);
			s->is_lenient = false;
		}
		k->nr_all_in_vain += out == DAMAGED ? k->nr_in_vain : 0;
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
		else if (step.event.ph && sonde_kineto__keep(k, &step.event))
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
		{"baseTimeNanoseconds", sonde_kineto__take_base},
		{"distributedInfo", sonde_kineto__take_ranks},
		{"deviceProperties", sonde_kineto__take_devices},
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
			out = take(k, facts[i].fn, NULL);
			return out == TOO_LONG ? skip_value(k) : out;
		}
	return skip_value(k);
}

static enum outcome read_object(struct kineto *k)
{
	struct step step = {.is_first = true};
	enum outcome out = TAKEN;

	while (out == TAKEN) {
		out = take(k, take_key, &step);
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
