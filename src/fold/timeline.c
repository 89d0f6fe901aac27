/*
 * Records → the timeline. A capture may have millions of launches, so lists are reserved at their full length.
 */
#include "fold/timeline.h"

#include "base/alloc.h"
#include "base/keysort.h"
#include "catalogue/limits.h"
#include "fold/fold_int.h"

#include <math.h>

/*
 * Series → curves over time, for the formats that show single events. Counters with one of
 * sonde's roles become rates and percentages; counters without a role (Nsight Systems,
 * Kineto) are shown as they are. A few thousand points are enough for any screen.
 */

#define MOST_POINTS 4000
#define MOST_CURVES 24 /* for one series: curves of counters without a role */

/* How a curve is computed as a quotient of counters. */
struct recipe {
	const char *name;
	const char *above[2]; /* roles of the counters in the numerator, which are added up; NULL = none */
	bool is_of_cycles; /* true: divided by the cycles of all SMs; false: by time */
	double factor;
};
static const struct recipe recipes[] = {
	{"SM active %", {"sm.active_cycles"}, true, 100},
	{"DRAM GB/s", {"dram.read_bytes", "dram.write_bytes"}, false, 1},
	{"Tensor %", {"tensor.cycles"}, true, 100.0 / SONDE_SM_TENSOR_PIPES},
	{"SM active % gpm", {"gpm.sm_ns"}, false, 100},
	{"DRAM % gpm", {"gpm.dram_ns"}, false, 100},
	{"Tensor % gpm", {"gpm.tensor_ns"}, false, 100},
};

struct drawing {
	struct sonde_folding *f;
	struct sonde_timeline *t;
	const struct sonde_series *first; /* the first series of the device */
	double cycles_per_ns;		  /* used if elapsed cycles are not among the counters */
	double bytes_per_ns;
	SONDE_VEC(struct sonde_timeline_point) raw;
	size_t nr_above; /* samples left out of `raw`: their counts are more than the device can do */
};

static bool add_raw(struct drawing *d, const struct sonde_sample_time *time, double v)
{
	return !isfinite(v) || time->end_ns <= time->start_ns ||
	       sonde_vec_put(&d->raw, (struct sonde_timeline_point){time->start_ns, time->end_ns, v});
}

/* Whether one of the counters is more than the device can count in that time. */
static bool is_above(const struct drawing *d, const struct recipe *c, const double *row,
	const uint32_t *at, double ns, double cycles)
{
	size_t k;

	for (k = 0; k < 2 && c->above[k]; k++) {
		double limit = sonde_limit_of(sonde_str_from(c->above[k]), cycles / ns, d->bytes_per_ns);

		if (limit > 0 && row[at[k]] > SONDE_LIMIT_SLACK * limit * ns)
			return true;
	}
	return false;
}

/* Adds the samples of one series to `raw`, computed by a recipe. A series without its counters adds nothing. */
static bool follow_counter(struct drawing *d, const struct sonde_series *s, const struct recipe *c)
{
	const struct sonde_records *r = d->f->r;
	uint32_t at[2], elapsed = sonde_series_counter(s, r, "sm.elapsed_cycles");
	size_t i, k, nr = c->above[1] ? 2 : 1;

	for (k = 0; k < nr; k++) {
		at[k] = sonde_series_counter(s, r, c->above[k]);
		if (at[k] == SONDE_NONE)
			return true;
	}
	for (i = 0; i < s->times.nr; i++) {
		const double *row = &s->values.at[i * s->counters.nr];
		double ns = (double)(s->times.at[i].end_ns - s->times.at[i].start_ns), v = 0;
		double below = elapsed != SONDE_NONE ? row[elapsed] : d->cycles_per_ns * ns;

		if (is_above(d, c, row, at, ns, below)) {
			d->nr_above++;
			continue;
		}
		for (k = 0; k < nr; k++)
			v += row[at[k]];
		v *= c->factor / (c->is_of_cycles ? below : ns);
		if (!add_raw(d, &s->times.at[i], c->is_of_cycles ? fmin(v, 100) : v))
			return false;
	}
	return true;
}

/* Merges neighbours to one point, their mean weighted by time. No point spans a gap that would be visible. */
static bool thin_curve(struct drawing *d, struct sonde_timeline_curve *curve)
{
	size_t step = d->raw.nr / MOST_POINTS + 1, nr = 0, i;
	uint64_t gap = (d->raw.at[d->raw.nr - 1].end_ns - d->raw.at[0].start_ns) / MOST_POINTS;
	struct sonde_timeline_point *p = NULL;
	double sum = 0, ns = 0;

	for (i = 0; i < d->raw.nr; i++) {
		const struct sonde_timeline_point *q = &d->raw.at[i];

		if (p && q->start_ns < p->end_ns) /* two samplers at the same time: the first one counts */
			continue;
		if (!p || nr == step || q->start_ns - p->end_ns > gap) {
			p = sonde_vec_push(&d->t->points);
			if (!p)
				return false;
			*p = *q;
			curve->nr++;
			nr = 0;
			sum = ns = 0;
		}
		sum += q->v * (double)(q->end_ns - q->start_ns);
		ns += (double)(q->end_ns - q->start_ns);
		p->end_ns = q->end_ns;
		p->v = sum / ns;
		nr++;
	}
	return true;
}

/* Adds the scopes of a curve: those of every process that used the device. */
static bool add_scopes(struct drawing *d, struct sonde_timeline_curve *curve)
{
	const struct sonde_launches *l = d->f->l;
	uint32_t i;

	for (i = 0; i < l->scopes.nr; i++) {
		const struct sonde_scope *s = &l->scopes.at[i];

		if (s->device == SONDE_NONE ||
			!sonde_series_is_of(d->first, d->f->r, s->process, s->device))
			continue;
		if (!sonde_vec_put(&d->t->curve_scopes, i))
			return false;
		if (!curve->nr_scopes++)
			curve->device = s->device; /* its number may differ from the sampler's */
	}
	return true;
}

/*
 * Makes a curve from the collected points, if there are any. In a capture with launches, devices that nobody used
 * are left out; in a capture without launches all devices are shown.
 */
static bool add_curve(struct drawing *d, struct sonde_str name)
{
	struct sonde_timeline_curve curve = {.name = name,
		.device = d->first->device,
		.first = d->t->points.nr,
		.first_scope = d->t->curve_scopes.nr};

	if (!d->raw.nr)
		return true;
	if (!add_scopes(d, &curve))
		return false;
	if (!curve.nr_scopes && d->f->l->scopes.nr)
		return true;
	return sonde_keysort(d->raw.at, d->raw.nr) && /* by start */
	       sonde_cells_keep(d->f->c, &curve.name) && thin_curve(d, &curve) &&
	       sonde_vec_put(&d->t->curves, curve);
}

/* Computes the points of a curve by a recipe, from all series of the device. */
static bool collect_points(struct drawing *d, const struct recipe *c)
{
	const struct sonde_records *r = d->f->r;
	size_t i;

	d->raw.nr = d->nr_above = 0;
	for (i = 0; i < r->series.nr; i++)
		if (sonde_series__is_same_device(&r->series.at[i], d->first) &&
			!follow_counter(d, &r->series.at[i], c))
			return false;
	/*
	 * Too many impossible samples: no curve. A note says so for the figures of these counters, which are not
	 * shown either.
	 */
	if ((double)d->nr_above > SONDE_REFUSED_SHARE * (double)(d->raw.nr + d->nr_above))
		d->raw.nr = 0;
	return true;
}

static bool draw_roles(struct drawing *d)
{
	size_t k;

	for (k = 0; k < sizeof(recipes) / sizeof(*recipes); k++)
		if (!collect_points(d, &recipes[k]) || !add_curve(d, sonde_str_from(recipes[k].name)))
			return false;
	return true;
}

bool sonde_fold__describe_load(
	struct sonde_folding *f, const struct sonde_series *first, struct sonde_buf *to)
{
	struct drawing d = {.f = f, .first = first, .cycles_per_ns = NAN, .bytes_per_ns = NAN};
	bool is_ok = true;
	size_t i, k;

	for (k = 0; k < sizeof(recipes) / sizeof(*recipes) && is_ok; k++) {
		double sum = 0, ns = 0;

		is_ok = collect_points(&d, &recipes[k]);
		for (i = 0; i < d.raw.nr; i++) {
			double length = (double)(d.raw.at[i].end_ns - d.raw.at[i].start_ns);

			sum += d.raw.at[i].v * length;
			ns += length;
		}
		if (ns > 0)
			sonde_buf_printf(to, "%s%s %.1f", to->n ? ", " : "", recipes[k].name, sum / ns);
	}
	sonde_vec_release(&d.raw);
	return is_ok && !to->failed;
}

/* Whether a counter ever changes. If not, it is not shown. */
static bool counter_changes(const struct sonde_series *s, size_t counter)
{
	size_t i;

	for (i = 1; i < s->times.nr; i++)
		if (s->values.at[i * s->counters.nr + counter] != s->values.at[counter])
			return true;
	return false;
}

static bool draw_names(struct drawing *d)
{
	const struct sonde_series *s = d->first;
	size_t i, k, nr = 0;

	for (k = 0; k < s->counters.nr && nr < MOST_CURVES; k++) {
		if (s->counters.at[k].role != SONDE_NONE || !counter_changes(s, k))
			continue;
		d->raw.nr = 0;
		for (i = 0; i < s->times.nr; i++)
			if (!add_raw(d, &s->times.at[i], s->values.at[i * s->counters.nr + k]))
				return false;
		if (!add_curve(d, sonde_records_str(d->f->r, s->counters.at[k].name)))
			return false;
		nr++;
	}
	return true;
}

static bool add_curves(struct sonde_folding *f, struct sonde_timeline *t)
{
	const struct sonde_records *r = f->r;
	bool is_ok = true;
	size_t i, k;

	for (i = 0; i < r->series.nr && is_ok; i++) {
		struct drawing d = {.f = f, .t = t, .first = &r->series.at[i]};
		const struct sonde_device *device = sonde_fold__sampled_device(f, d.first);

		for (k = 0; k < i && !sonde_series__is_same_device(&r->series.at[k], d.first); k++)
			;
		d.cycles_per_ns = device ? sonde_sampled__nominal_clock(device) : NAN;
		d.bytes_per_ns = device ? sonde_sampled__bandwidth(device) : NAN;
		if (sonde_series__has_roles(d.first) && k == i)
			is_ok = draw_roles(&d);
		is_ok = is_ok && draw_names(&d);
		sonde_vec_release(&d.raw);
	}
	return is_ok;
}

/* --- events -------------------------------------------------------------------------------------- */

static bool add_entries(struct sonde_folding *f, struct sonde_timeline *t)
{
	size_t i;

	if (!sonde_vec_reserve(&t->entries, f->r->ranges.nr + 1))
		return false;
	for (i = 0; i < f->r->ranges.nr; i++) {
		const struct sonde_range *range = &f->r->ranges.at[i];

		if (!range->time.begin_ns || range->ended == SONDE_BEFORE || f->l->region_of.at[i] == SONDE_NONE)
			continue;
		t->entries.at[t->entries.nr++] =
			(struct sonde_timeline_entry){.begin_ns = range->time.begin_ns,
				.end_ns = range->time.end_ns,
				.thread = range->thread,
				.process = range->process,
				.region = f->l->region_of.at[i],
				.label = f->string_of[range->label],
				.arguments = f->arguments_of ? f->arguments_of[i] : SONDE_NONE,
				.kind = range->kind};
	}
	return true;
}

static bool add_launches(struct sonde_folding *f, struct sonde_timeline *t)
{
	size_t i;

	if (!sonde_vec_reserve(&t->launches, f->l->launches.nr + 1))
		return false;
	for (i = 0; i < f->l->launches.nr; i++) {
		const struct sonde_launch *l = &f->l->launches.at[i];
		const struct sonde_record *rec = &f->r->records.at[i];
		const struct sonde_queue *q = sonde_record_queue(f->r, rec);

		if (rec->when != SONDE_NOW)
			continue;
		t->launches.at[t->launches.nr++] = (struct sonde_timeline_launch){
			.start_ns = rec->time.end_ns ? rec->time.start_ns : 0,
			.end_ns = rec->time.end_ns,
			.call_ns = rec->call_ns,
			.thread = sonde_record_caller(f->r, rec)->thread,
			.stream = q->stream,
			.context = q->context,
			.scope = l->scope,
			.place = l->place,
			.kernel = f->string_of[sonde_launch_kernel(f->l, l)],
			.state = l->state};
	}
	return true;
}

static bool add_marks(struct sonde_folding *f, struct sonde_timeline *t)
{
	size_t i;

	if (!sonde_vec_reserve(&t->marks, f->r->marks.nr + 1) ||
		!sonde_vec_reserve(&t->gauges, f->r->gauges.nr + 1) ||
		!sonde_vec_reserve(&t->threads, f->r->thread_names.nr + 1))
		return false;
	for (i = 0; i < f->r->gauges.nr; i++) {
		const struct sonde_gauge *k = &f->r->gauges.at[i];

		t->gauges.at[t->gauges.nr++] =
			(struct sonde_timeline_gauge){k->ns, k->process, f->string_of[k->name], k->v};
	}
	for (i = 0; i < f->r->marks.nr; i++) {
		const struct sonde_mark *m = &f->r->marks.at[i];

		t->marks.at[t->marks.nr++] = (struct sonde_timeline_mark){
			m->ns, m->process, f->string_of[m->label]};
	}
	for (i = 0; i < f->r->thread_names.nr; i++) {
		const struct sonde_thread_name *n = &f->r->thread_names.at[i];

		t->threads.at[t->threads.nr++] = (struct sonde_timeline_thread){
			n->thread, n->process, f->string_of[n->name]};
	}
	return true;
}

bool sonde_fold__timeline(struct sonde_folding *f, bool keeps_untimed)
{
	struct sonde_timeline *t = f->c->timeline;
	bool ok = add_entries(f, t) && add_marks(f, t) && add_curves(f, t);

	if (ok && (f->r->has_record_times || keeps_untimed))
		ok = add_launches(f, t);
	return ok;
}

void sonde_timeline_free(struct sonde_timeline *t)
{
	if (!t)
		return;
	sonde_vec_release(&t->launches);
	sonde_vec_release(&t->entries);
	sonde_vec_release(&t->gaps);
	sonde_vec_release(&t->marks);
	sonde_vec_release(&t->gauges);
	sonde_vec_release(&t->threads);
	sonde_vec_release(&t->curves);
	sonde_vec_release(&t->points);
	sonde_vec_release(&t->curve_scopes);
	sonde_free(t);
}
