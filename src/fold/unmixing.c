/*
 * Samples and launches → sampled counters of cells. All launches of a device take
 * part, from any process and whether or not they are selected, because the samples
 * contain all their work.
 */
#include "fold/unmixing_int.h"
#include "catalogue/attributes.h"
#include "catalogue/limits.h"

#include "base/alloc.h"
#include "base/keysort.h"

#include <math.h>

/*
 * The name of a counter: its role, or NVIDIA's name. Empty for counters that cannot be split: elapsed cycles, which
 * count whether or not anything runs, and counters that are not sums over the time of their sample (in traces).
 */
static struct sonde_str name_counter(
	const struct sonde_records *r, const struct sonde_series *s, const struct sonde_counter *c)
{
	bool is_native = s->host.n > 0; /* series of traces have no host */
	struct sonde_str role = sonde_records_str(r, c->role), name = sonde_records_str(r, c->name);

	if (role.n)
		return sonde_str_ends(role, "elapsed_cycles") ? (struct sonde_str){0} : role;
	return is_native && sonde_str_ends(name, ".sum") && !sonde_str_ends(name, "__cycles_elapsed.sum") ? name
											     : (struct sonde_str){0};
}

static bool is_same_set(const struct sonde_series *a, const struct sonde_series *b)
{
	size_t i;

	for (i = 0; i < a->counters.nr && i < b->counters.nr; i++)
		if (a->counters.at[i].role != b->counters.at[i].role ||
			(a->counters.at[i].role == SONDE_NONE && a->counters.at[i].name != b->counters.at[i].name))
			return false;
	return a->counters.nr == b->counters.nr;
}

/* Whether any counter in any series of the device can be split. */
static bool can_be_split(const struct sonde_records *r, const struct sonde_series *of)
{
	size_t i, k;

	for (i = 0; i < r->series.nr; i++)
		for (k = 0; k < r->series.at[i].counters.nr; k++)
			if (sonde_series__is_same_device(&r->series.at[i], of) &&
				name_counter(r, &r->series.at[i], &r->series.at[i].counters.at[k]).n)
				return true;
	return false;
}

/* --- samples ---------------------------------------------------------------------------------- */

/*
 * Chooses the counters of a set. Limits are those of the highest clock, as the mean clock may be lower (the GPU slows
 * down when it draws much power).
 */
static bool choose_columns(struct sonde_unmixing *x, struct sonde_sampled_set *set, const struct sonde_series *series,
	const struct sonde_device *d)
{
	double most_cycles_per_ns = fmax(x->s->cycles_per_ns, sonde_sampled__nominal_clock(d));
	size_t i;

	x->columns.nr = x->limits.nr = x->found.nr = x->starts.nr = x->ends.nr = x->values.nr = 0;
	for (i = 0; i < series->counters.nr; i++) {
		struct sonde_str role = name_counter(x->f->r, series, &series->counters.at[i]);

		if (!role.n)
			continue;
		if (!sonde_cells_keep(x->f->c, &role) || !sonde_vec_put(&set->roles, role) ||
			!sonde_vec_put(&x->columns, (uint32_t)i) ||
			!sonde_vec_put(&x->limits, sonde_limit_of(role, most_cycles_per_ns, x->s->bytes_per_ns)) ||
			!sonde_vec_put(&set->peaks,
				sonde_sampled__peak(x->f->r, series, i, x->s->nr_sms)))
			return false;
	}
	return true;
}

static bool find_samples(struct sonde_unmixing *x, const struct sonde_series *series)
{
	size_t i;

	for (i = 0; i < series->times.nr; i++)
		if (sonde_unmixing__is_recorded(x, &series->times.at[i]) &&
			!sonde_vec_put(&x->found,
			    (struct sonde_unmixing_found){
				    series->times.at[i], &series->values.at[i * series->counters.nr]}))
			return false;
	return true;
}

/* Takes the samples of all samplers, in order of time. If two overlap, the first one counts. */
static bool take_samples(struct sonde_unmixing *x)
{
	uint64_t last = 0;
	size_t i, k;

	if (!sonde_vec_reserve(&x->starts, x->found.nr + 1) ||
		!sonde_vec_reserve(&x->ends, x->found.nr + 1) ||
		!sonde_vec_reserve(&x->values, x->found.nr * x->columns.nr + 1) ||
		!sonde_keysort(x->found.at, x->found.nr))
		return false;
	for (i = 0; i < x->found.nr; i++) {
		const struct sonde_unmixing_found *f = &x->found.at[i];

		if (f->time.start_ns < last)
			continue;
		last = f->time.end_ns;
		x->starts.at[x->starts.nr++] = (int64_t)f->time.start_ns;
		x->ends.at[x->ends.nr++] = (int64_t)f->time.end_ns;
		for (k = 0; k < x->columns.nr; k++)
			x->values.at[x->values.nr++] = f->row[x->columns.at[k]];
	}
	return true;
}

static int solve_set(struct sonde_unmixing *x, struct sonde_sampled_set *set, bool is_gpm, struct sonde_err *err)
{
	const struct sonde_unmix_input in = {.classes = is_gpm ? x->units.at : x->classes.at,
		.nr_classes = (uint32_t)x->classes.nr,
		.launches = x->launches.at,
		.nr_launches = x->launches.nr,
		.start_ns = x->starts.at,
		.end_ns = x->ends.at,
		.values = x->values.at,
		.nr_samples = x->starts.nr,
		.nr_counters = (uint32_t)x->columns.nr,
		.limits_per_ns = x->limits.at};

	const struct sonde_unmix_options options = {
		.offset_ns = is_gpm ? SONDE_GPM_LATE_NS / 2 : sonde_unmixing__offset(x), .is_by_name = is_gpm};

	return sonde_unmix_solve(&set->unmixed, &in, &options, err);
}

/* --- one device ------------------------------------------------------------------------------- */

#define FEW_SEEN   4  /* up to so many seen launches are too few … */
#define FEW_AMONG  20 /* … if there are more than so many launches for each seen one */

/*
 * Treats unknowns with too few seen launches as unseen: a few launches at the edge of a gap between samples are no
 * evidence for hundreds of launches inside the gap.
 */
static bool forget_hardly_seen(struct sonde_sampled_set *set)
{
	struct sonde_unmix_state s = sonde_unmixed_state(set->unmixed);
	uint64_t *seen = sonde_calloc(2 * (size_t)s.nr_unknowns + 1, sizeof(*seen));
	uint64_t *all = seen ? seen + s.nr_unknowns : NULL;
	bool is_there = seen != NULL;
	size_t i;

	for (i = 0; seen && i < s.nr_classes; i++) {
		struct sonde_unmix_class_result *c = &s.classes[i];

		if (c->unknown == SONDE_UNMIX_NONE)
			continue;
		seen[c->unknown] += c->nr_seen;
		all[c->unknown] += c->nr_launches;
	}
	for (i = 0; seen && i < s.nr_classes; i++) {
		struct sonde_unmix_class_result *c = &s.classes[i];

		if (c->unknown == SONDE_UNMIX_NONE || seen[c->unknown] > FEW_SEEN ||
			all[c->unknown] <= FEW_AMONG * seen[c->unknown])
			continue;
		*c = (struct sonde_unmix_class_result){.fate = SONDE_UNMIX_UNSEEN,
			.unknown = SONDE_UNMIX_NONE,
			.nr_launches = c->nr_launches};
	}
	sonde_free(seen);
	return is_there;
}

/* Treats regions with too few of GPM's samples as unseen, so that they have no figures. */
static void forget_few(struct sonde_unmixing *x, struct sonde_sampled_set *set)
{
	struct sonde_unmix_state s = sonde_unmixed_state(set->unmixed);
	size_t i;

	for (i = 0; i < s.nr_classes; i++)
		if (x->is_few.at[i])
			s.classes[i] = (struct sonde_unmix_class_result){.fate = SONDE_UNMIX_UNSEEN,
				.unknown = SONDE_UNMIX_NONE,
				.nr_launches = s.classes[i].nr_launches};
}

/* Removes the last set: its counters have no figures. */
static int drop_set(struct sonde_unmixing *x, struct sonde_sampled_set *set)
{
	sonde_unmixed_free(set->unmixed);
	sonde_vec_release(&set->roles);
	sonde_vec_release(&set->peaks);
	x->s->nr_sets--;
	return 0;
}

/* Unmixes all series of the device that have the same counters as series number `number`. */
static int unmix_set(
	struct sonde_unmixing *x, size_t number, const struct sonde_device *d, struct sonde_err *err)
{
	const struct sonde_records *r = x->f->r;
	struct sonde_sampled_set *set = &x->s->sets[x->s->nr_sets];
	const struct sonde_series *series = &r->series.at[number];
	bool is_gpm = sonde_series__is_gpm(r, series);
	size_t i;
	int rc;

	for (i = 0; i < number; i++) /* already done with the first series that has these counters */
		if (sonde_series__is_same_device(&r->series.at[i], series) &&
			is_same_set(&r->series.at[i], series))
			return 0;
	*set = (struct sonde_sampled_set){0};
	x->s->nr_sets++;
	if (!choose_columns(x, set, series, d))
		return sonde_err_nomem(err);
	for (i = number; i < r->series.nr; i++)
		if (sonde_series__is_same_device(&r->series.at[i], series) &&
			is_same_set(&r->series.at[i], series) && !find_samples(x, &r->series.at[i]))
			return sonde_err_nomem(err);
	if (!take_samples(x))
		return sonde_err_nomem(err);
	if (!x->columns.nr) /* none of the counters can be split */
		return drop_set(x, set);
	if (is_gpm && !sonde_unmixing__units(x))
		return sonde_err_nomem(err);
	rc = solve_set(x, set, is_gpm, err);
	if (rc == SONDE_ERR_LIMIT || rc == SONDE_ERR_USAGE) { /* the report goes on without these counters */
		sonde_note(&x->f->c->notes, "the samples of %.*s are not used: %s",
			SONDE_STR_ARG(d->name), err->msg);
		*err = (struct sonde_err){0};
		return drop_set(x, set);
	}
	if (rc == 0 && !(sonde_unmixed_quality(set->unmixed)->seen_time > 0)) {
		sonde_note(&x->f->c->notes, "the samples of %.*s are not used: no %s",
			SONDE_STR_ARG(d->name),
			is_gpm ? "region lasted as long as two GPM samples (0.2 s)" : "launch ran during any sample");
		return drop_set(x, set);
	}
	if (rc == 0 && is_gpm)
		forget_few(x, set);
	else if (rc == 0 && (!forget_hardly_seen(set) || !sonde_loads__add(x->loads, x, set) ||
			       !sonde_unmixing__check_offset(x, set, d) ||
			       !sonde_unmixing__note_set(x, set, d)))
		rc = sonde_err_nomem(err);
	return rc;
}

/* Notes how busy a device without launches was: its samples belong to no launch. */
static int note_unused(struct sonde_unmixing *x, struct sonde_err *err)
{
	const struct sonde_series *s = x->first;
	struct sonde_buf load = {0};
	bool is_ok = sonde_fold__describe_load(x->f, s, &load);

	if (is_ok && load.n && s->times.nr)
		sonde_note(&x->f->c->notes,
			"device %u was sampled for %.3f s, but no launch on it was captured; on average: %s. "
			"--format html and perfetto show its counters over time; to see them by region, report on the "
			"program's capture too",
			s->device, (double)(s->times.at[s->times.nr - 1].end_ns - s->times.at[0].start_ns) / 1e9,
			load.p);
	else if (is_ok)
		sonde_note(&x->f->c->notes,
			"device %u was sampled, but no launch on it was captured", s->device);
	sonde_buf_release(&load);
	return is_ok ? 0 : sonde_err_nomem(err);
}

static int unmix_device(struct sonde_unmixing *x, struct sonde_err *err)
{
	const struct sonde_records *r = x->f->r;
	const struct sonde_device *d = sonde_fold__sampled_device(x->f, x->first);
	size_t i;
	int rc = 0;

	if (!d)
		return note_unused(x, err);
	if (!sonde_unmixing__launches(x) || !sonde_unmixing__windows(x))
		return sonde_err_nomem(err);
	x->s = sonde_calloc(1, sizeof(*x->s));
	if (!x->s || !sonde_vec_put(&x->f->c->sampled, x->s)) {
		sonde_free(x->s);
		return sonde_err_nomem(err);
	}
	x->s->sets = sonde_calloc(r->series.nr, sizeof(*x->s->sets));
	x->s->cycles_per_ns = sonde_sampled__clock(r, x->first);
	if (!(x->s->cycles_per_ns > 0))
		x->s->cycles_per_ns = sonde_sampled__nominal_clock(d);
	x->s->bytes_per_ns = sonde_sampled__bandwidth(d);
	x->s->nr_sms = sonde_device_attribute(d, SONDE_ATTR_SMS);
	if (!x->s->sets || !sonde_unmixing__clocks(x) || !sonde_loads__begin(&x->loads, x))
		rc = sonde_err_nomem(err);
	for (i = 0; i < r->series.nr && rc == 0 && x->launches.nr; i++)
		if (sonde_series__is_same_device(&r->series.at[i], x->first))
			rc = unmix_set(x, i, d, err);
	if (rc || !x->s->nr_sets)
		return rc;
	sonde_unmixing__note_clock(x, d);
	if (!sonde_loads__end(x->loads, x))
		return sonde_err_nomem(err);
	return sonde_unmixing__mark_cells(x, (uint32_t)x->f->c->sampled.nr - 1) ? 0 : sonde_err_nomem(err);
}

int sonde_fold__sampled(struct sonde_folding *f, struct sonde_err *err)
{
	const struct sonde_records *r = f->r;
	size_t i, k;
	int rc = 0;

	for (i = 0; i < f->c->cells.nr; i++)
		f->c->cells.at[i].sampled = SONDE_NONE;
	for (i = 0; i < r->series.nr && rc == 0; i++) {
		struct sonde_unmixing x = {.f = f, .first = &r->series.at[i]};

		for (k = 0; k < i && !sonde_series__is_same_device(&r->series.at[k], x.first); k++)
			;
		if (k == i && can_be_split(r, x.first))
			rc = unmix_device(&x, err);
		sonde_map_release(&x.keys);
		sonde_vec_release(&x.kinds);
		sonde_vec_release(&x.turns);
		sonde_vec_release(&x.opens);
		sonde_vec_release(&x.cycles);
		sonde_loads__free(x.loads);
		sonde_vec_release(&x.classes);
		sonde_vec_release(&x.launches);
		sonde_vec_release(&x.found);
		sonde_vec_release(&x.starts);
		sonde_vec_release(&x.ends);
		sonde_vec_release(&x.values);
		sonde_vec_release(&x.limits);
		sonde_vec_release(&x.columns);
		sonde_vec_release(&x.units);
		sonde_vec_release(&x.is_few);
		sonde_vec_release(&x.recorded);
		sonde_vec_release(&x.others);
		sonde_arena_release(&x.arena);
	}
	sonde_loads__sort(f->c);
	return rc;
}
