/* Notes about sampled counters: their quality, and clocks that disagree. */
#include "fold/unmixing_int.h"

#include "base/alloc.h"
#include "base/keysort.h"
#include "catalogue/attributes.h"

#include <math.h>

#define ENOUGH_SEEN 0.9 /* if less than this share of the launches' time was sampled, a note says so */
#define LEAST_TIME  0.01 /* merged classes are worth a note from this share of all launches' time on */
#define MOST_GROUPS 3	/* the most groups of merged classes that are named */
#define MOST_NAMES  4	/* the most kernels named in a group */
#define NAME_BYTES  60	/* the most bytes of a kernel's name */

void sonde_unmixing__note_clock(struct sonde_unmixing *x, const struct sonde_device *d)
{
	if (sonde_series__is_gpm(x->f->r, x->first) || sonde_sampled__clock(x->f->r, x->first) > 0 || !(x->s->cycles_per_ns > 0))
		return;
	sonde_note(&x->f->c->notes,
		"%.*s: elapsed cycles were not sampled, so %% of the SMs' cycles assumes %.0f "
		"MHz, the highest clock of the device",
		SONDE_STR_ARG(d->name), sonde_device_attribute(d, SONDE_ATTR_CLOCK) / 1e3);
}

static void note_quality(
	struct sonde_unmixing *x, const struct sonde_sampled_set *set, const struct sonde_device *d)
{
	const struct sonde_unmix_quality *q = sonde_unmixed_quality(set->unmixed);

	if (q->nr_no_count)
		sonde_note(&x->f->c->notes,
			"hardware counters of %.*s: %llu sample%s with a missing, negative or invalid value %s left out: the "
			"counters lack what ran then",
			SONDE_STR_ARG(d->name), (unsigned long long)q->nr_no_count,
			q->nr_no_count == 1 ? "" : "s", q->nr_no_count == 1 ? "is" : "are");
	if (q->seen_time < ENOUGH_SEEN)
		sonde_note(&x->f->c->notes,
			"hardware counters of %.*s: %llu samples split among %llu launches in %u "
			"classes, %.1f %% of their time sampled; ± is the 95 %% interval "
			"(docs/counters.md)",
			SONDE_STR_ARG(d->name), (unsigned long long)q->nr_samples,
			(unsigned long long)x->launches.nr, q->nr_unknowns, 100 * q->seen_time);
}

static void note_refused(struct sonde_unmixing *x, const struct sonde_sampled_set *set)
{
	size_t i;

	for (i = 0; i < set->roles.nr; i++) {
		const struct sonde_unmix_counter_result *c =
			sonde_unmixed_counter(set->unmixed, (uint32_t)i);

		if (c->refused)
			sonde_note(&x->f->c->notes, "%.*s is not shown: %s",
				SONDE_STR_ARG(set->roles.at[i]), c->refused);
	}
}

/* Whether two classes are in the same row of the report: turns and sizes of one kernel in one region are. */
static bool is_same_row(const struct sonde_unmix_class *a, const struct sonde_unmix_class *b)
{
	return a->name == b->name && a->group == b->group;
}

static void name_class(struct sonde_buf *b, const struct sonde_unmixing *x, const struct sonde_unmix_class *c)
{
	struct sonde_str kernel = sonde_records_str(x->f->r, c->name);

	sonde_buf_printf(b, "%s%.*s%s", b->n ? "; " : "",
		(int)(kernel.n < NAME_BYTES ? kernel.n : NAME_BYTES), kernel.p,
		kernel.n > NAME_BYTES ? "\u2026" : "");
	if (c->group != SONDE_UNMIX_NONE)
		sonde_buf_printf(b, " in %.*s", SONDE_STR_ARG(x->f->l->regions.at[c->group].id));
}

/* A group of classes that share an unknown. */
struct group {
	uint32_t first; /* its first class */
	double time_ns;
	size_t nr_rows;
};

/* Names the rows of the group in `b`, and counts them and their time. */
static struct group find_group(struct sonde_buf *b, const struct sonde_unmixing *x,
	const struct sonde_unmix_state *s, uint32_t first)
{
	struct group g = {.first = first};
	uint32_t i, k;

	sonde_buf_clear(b);
	for (i = first; i < s->nr_classes; i++) {
		if (s->classes[i].unknown != s->classes[first].unknown)
			continue;
		g.time_ns += s->time[i];
		for (k = first; k < i; k++)
			if (s->classes[k].unknown == s->classes[i].unknown &&
				is_same_row(&x->classes.at[k], &x->classes.at[i]))
				break;
		if (k == i && g.nr_rows++ < MOST_NAMES)
			name_class(b, x, &x->classes.at[i]);
	}
	if (g.nr_rows > MOST_NAMES)
		sonde_buf_printf(b, "; and %zu more", g.nr_rows - MOST_NAMES);
	return g;
}

static bool is_first_of_merged(const struct sonde_unmix_state *s, uint32_t class)
{
	uint32_t k;

	if (s->classes[class].fate != SONDE_UNMIX_MERGED)
		return false;
	for (k = 0; s->classes[k].unknown != s->classes[class].unknown; k++)
		;
	return k == class;
}

/* Notes kernels that samples cannot separate, because their rows must not be read as independent figures. */
static bool note_merged(struct sonde_unmixing *x, const struct sonde_sampled_set *set)
{
	struct sonde_unmix_state s = sonde_unmixed_state(set->unmixed);
	struct sonde_buf names = {0};
	double all_ns = 0;
	size_t nr = 0;
	uint32_t i;
	bool ok;

	for (i = 0; i < s.nr_classes; i++)
		all_ns += s.time[i];
	for (i = 0; i < s.nr_classes && !names.failed; i++) {
		struct group g;

		if (!is_first_of_merged(&s, i))
			continue;
		g = find_group(&names, x, &s, i);
		if (g.nr_rows < 2 || g.time_ns < LEAST_TIME * all_ns || nr++ >= MOST_GROUPS || names.failed)
			continue;
		sonde_note(&x->f->c->notes,
			"these kernels always run together, and samples cannot tell them apart: only the sum of "
			"their counters is known, each has between nothing and all of it: %s",
			names.p);
	}
	if (nr > MOST_GROUPS)
		sonde_note(&x->f->c->notes,
			"%zu more groups of kernels always run together: their ± shows how little is known of each", nr - MOST_GROUPS);
	ok = !names.failed;
	sonde_buf_release(&names);
	return ok;
}

bool sonde_unmixing__note_set(
	struct sonde_unmixing *x, const struct sonde_sampled_set *set, const struct sonde_device *d)
{
	note_quality(x, set, d);
	note_refused(x, set);
	return note_merged(x, set);
}

/*
 * Checks the assumed offset between samples and launches. SMs are active while something runs. If another
 * offset, many microseconds away, explains the active cycles far better, the clocks of samples and launches
 * do not agree.
 */

#define ENOUGH_SAMPLES 200
#define MOST_SAMPLES   200000 /* the first ones are enough: a wrong clock is wrong from the beginning */
#define FAR_BETTER     0.5    /* the other offset must reduce the unexplained variance to less than this share … */
#define EXPLAINS       0.5    /* … and explain more than this share of the variance */

/* Offsets to try, in µs to either side. Smaller differences only show when in its time a kernel does its work. */
static const int64_t tried_us[] = {10, 15, 20, 30, 50, 75, 100, 150, 200, 300, 500, 750, 1000, 2000};

struct busy { /* for sonde_keysort: the start must be the first member */
	int64_t start_ns, end_ns;
};

/* Returns the times in which at least one launch ran, in order. The caller frees them. NULL: no memory. */
static struct busy *find_busy(const struct sonde_unmixing *x, size_t *nr)
{
	struct busy *all = sonde_malloc((x->launches.nr + 1) * sizeof(*all));
	size_t i, n = 0;

	for (i = 0; all && i < x->launches.nr; i++)
		all[i] = (struct busy){x->launches.at[i].start_ns, x->launches.at[i].end_ns};
	if (all && !sonde_keysort(all, x->launches.nr)) {
		sonde_free(all);
		all = NULL;
	}
	for (i = 0; all && i < x->launches.nr; i++) {
		if (n && all[i].start_ns <= all[n - 1].end_ns) {
			if (all[i].end_ns > all[n - 1].end_ns)
				all[n - 1].end_ns = all[i].end_ns;
		} else {
			all[n++] = all[i];
		}
	}
	*nr = n;
	return all;
}

struct fit {
	double n, t, v, tt, tv, vv; /* sums */
};

static void add_point(struct fit *f, double t, double v)
{
	f->n++;
	f->t += t;
	f->v += v;
	f->tt += t * t;
	f->tv += t * v;
	f->vv += v * v;
}

/* The share of the variance that a straight line leaves unexplained; 1 if there is nothing to explain. */
static double unexplained(const struct fit *f)
{
	double tt = f->tt - f->t * f->t / f->n, tv = f->tv - f->t * f->v / f->n;
	double vv = f->vv - f->v * f->v / f->n;

	return tt > 0 && vv > 0 && tv > 0 ? fmax(0, 1 - tv * tv / (tt * vv)) : 1;
}

/* Fits counts per nanosecond to the busy share of each sample, with this offset, and returns the unexplained variance. */
static double try_offset(const struct sonde_unmixing *x, uint32_t column, const struct busy *busy,
	size_t nr_busy, int64_t offset_ns)
{
	size_t i, k = 0, j, nr = x->starts.nr < MOST_SAMPLES ? x->starts.nr : MOST_SAMPLES;
	struct fit f = {0};

	for (i = 0; i < nr; i++) {
		int64_t start = x->starts.at[i] - offset_ns, end = x->ends.at[i] - offset_ns, a, b;
		double length = (double)(end - start), t = 0;

		while (k < nr_busy && busy[k].end_ns <= start)
			k++;
		for (j = k; j < nr_busy && busy[j].start_ns < end; j++) {
			a = busy[j].start_ns > start ? busy[j].start_ns : start;
			b = busy[j].end_ns < end ? busy[j].end_ns : end;
			t += (double)(b - a);
		}
		add_point(&f, t / length, x->values.at[i * x->columns.nr + column] / length);
	}
	return unexplained(&f);
}

struct search {
	const struct sonde_unmixing *x;
	uint32_t column;
	const struct busy *busy;
	size_t nr_busy;
	double best; /* the least unexplained share so far */
	int64_t at;  /* the offset of that share */
};

static void try_and_remember(struct search *s, int64_t offset_ns)
{
	double there = try_offset(s->x, s->column, s->busy, s->nr_busy, offset_ns);

	if (there < s->best) {
		s->best = there;
		s->at = offset_ns;
	}
}

/* An offset in ns that is far better than the one in use; 0 = none. */
static int64_t find_better(struct search *s)
{
	int64_t own = sonde_unmixing__offset(s->x), step;
	double there;
	size_t i;

	s->best = 2;
	try_and_remember(s, own);
	there = s->best;
	for (i = 0; i < sizeof(tried_us) / sizeof(*tried_us); i++) {
		try_and_remember(s, own - tried_us[i] * 1000);
		try_and_remember(s, own + tried_us[i] * 1000);
	}
	for (step = s->at == own ? 0 : tried_us[0] * 500; step > 1000; step /= 2) {
		int64_t middle = s->at;

		try_and_remember(s, middle - step);
		try_and_remember(s, middle + step);
	}
	return s->best < FAR_BETTER * there && s->best < 1 - EXPLAINS ? s->at : 0;
}

bool sonde_unmixing__check_offset(
	struct sonde_unmixing *x, const struct sonde_sampled_set *set, const struct sonde_device *d)
{
	struct search s = {.x = x};
	struct busy *busy;
	int64_t better;
	uint32_t column;

	for (column = 0; column < set->roles.nr; column++)
		if (sonde_str_is(set->roles.at[column], "sm.active_cycles"))
			break;
	if (column == set->roles.nr || x->starts.nr < ENOUGH_SAMPLES)
		return true;
	busy = find_busy(x, &s.nr_busy);
	if (!busy)
		return false;
	s.busy = busy;
	s.column = column;
	better = find_better(&s);
	sonde_free(busy);
	if (better)
		sonde_note(&x->f->c->notes,
			"the samples of %.*s seem %+.0f µs apart from the launches (sonde assumes %+.2f µs%s): "
			"the clocks disagree, and the counters are probably assigned to the wrong kernels (docs/counters.md)",
			SONDE_STR_ARG(d->name), (double)better / 1e3, (double)sonde_unmixing__offset(x) / 1e3,
			x->first->is_calibrated ? ", as calibrated" : "");
	return true;
}
