/* What a report says of sampled counters beyond their figures: one sentence each. */
#include "fold/unmixing_int.h"
#include "catalogue/attributes.h"

#define ENOUGH_SEEN 0.9 /* of the launches' time: with less a note says so */
#define LEAST_TIME  0.01 /* of all launches: merged classes that are worth a note */
#define MOST_GROUPS 3	/* of them that are named … */
#define MOST_NAMES  4	/* … with so many of their kernels each … */
#define NAME_BYTES  60	/* … of so many bytes at most */

void sonde_unmixing__note_clock(struct sonde_unmixing *x, const struct sonde_device *d)
{
	if (sonde_sampled__clock(x->f->r, x->first) > 0 || !(x->s->cycles_per_ns > 0))
		return;
	sonde_note(&x->f->c->notes,
		"%.*s: elapsed cycles were not sampled, so %% of the SMs' cycles is taken of %.0f "
		"MHz, the highest clock of the device",
		SONDE_STR_ARG(d->name), sonde_device_attribute(d, SONDE_ATTR_CLOCK) / 1e3);
}

static void note_quality(
	struct sonde_unmixing *x, const struct sonde_sampled_set *set, const struct sonde_device *d)
{
	const struct sonde_unmix_quality *q = sonde_unmixed_quality(set->unmixed);

	if (q->nr_no_count)
		sonde_note(&x->f->c->notes,
			"hardware counters of %.*s: %llu sample%s a value that is missing, no number or below "
			"zero and %s left out: what ran then is not in the counters",
			SONDE_STR_ARG(d->name), (unsigned long long)q->nr_no_count,
			q->nr_no_count == 1 ? " has" : "s have", q->nr_no_count == 1 ? "is" : "are");
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

/* Turns and sizes of a kernel in a region are classes, but one row of the report. */
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

/* Classes that share an unknown, by the first of them. */
struct group {
	uint32_t first;
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

/* Kernels that samples never see apart: their rows must not be read as two figures. */
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
			"these always run together, and samples cannot tell them apart: only the sum of "
			"their counters is known, each has between nothing and all of it: %s",
			names.p);
	}
	if (nr > MOST_GROUPS)
		sonde_note(&x->f->c->notes,
			"%zu more groups of kernels always run together: their ± says so", nr - MOST_GROUPS);
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
