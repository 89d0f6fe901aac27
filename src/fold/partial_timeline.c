/*
 * The timeline of a part as bytes: on its way between two processes of one report, never in a file.
 * Numbers that index are checked all the same.
 */
#include "fold/partial_int.h"
#include "fold/timeline.h"

#include "base/alloc.h"

static void put_launches(struct sonde_buf *b, const struct sonde_timeline *t)
{
	size_t i;

	sonde_put_u(b, t->launches.nr);
	for (i = 0; i < t->launches.nr; i++) {
		const struct sonde_timeline_launch *l = &t->launches.at[i];

		sonde_put_u(b, l->start_ns);
		sonde_put_u(b, l->end_ns);
		sonde_put_u(b, l->thread);
		sonde_put_u(b, l->stream);
		sonde_put_u(b, l->context);
		sonde_put_u(b, l->scope);
		sonde_put_u(b, l->place);
		sonde_put_u(b, l->kernel);
		sonde_put_u(b, l->state);
	}
}

static void put_entries(struct sonde_buf *b, const struct sonde_timeline *t)
{
	size_t i;

	sonde_put_u(b, t->entries.nr);
	for (i = 0; i < t->entries.nr; i++) {
		const struct sonde_timeline_entry *e = &t->entries.at[i];

		sonde_put_u(b, e->begin_ns);
		sonde_put_u(b, e->end_ns);
		sonde_put_u(b, e->thread);
		sonde_put_u(b, e->process);
		sonde_put_u(b, e->region);
		sonde_put_u(b, e->label);
		sonde_put_u(b, e->kind);
	}
	sonde_put_u(b, t->marks.nr);
	for (i = 0; i < t->marks.nr; i++) {
		sonde_put_u(b, t->marks.at[i].ns);
		sonde_put_u(b, t->marks.at[i].process);
		sonde_put_u(b, t->marks.at[i].label);
	}
	sonde_put_u(b, t->threads.nr);
	for (i = 0; i < t->threads.nr; i++) {
		sonde_put_u(b, t->threads.at[i].thread);
		sonde_put_u(b, t->threads.at[i].process);
		sonde_put_u(b, t->threads.at[i].name);
	}
}

void sonde_partial__put_timeline(struct sonde_buf *b, const struct sonde_timeline *t)
{
	size_t i;

	put_launches(b, t);
	put_entries(b, t);
	sonde_put_u(b, t->points.nr);
	for (i = 0; i < t->points.nr; i++) {
		sonde_put_u(b, t->points.at[i].start_ns);
		sonde_put_u(b, t->points.at[i].end_ns);
		sonde_put_f64(b, t->points.at[i].v);
	}
	sonde_put_u(b, t->curve_scopes.nr);
	for (i = 0; i < t->curve_scopes.nr; i++)
		sonde_put_u(b, t->curve_scopes.at[i]);
	sonde_put_u(b, t->curves.nr);
	for (i = 0; i < t->curves.nr; i++) {
		sonde_put_str(b, t->curves.at[i].name);
		sonde_put_u(b, t->curves.at[i].first);
		sonde_put_u(b, t->curves.at[i].nr);
		sonde_put_u(b, t->curves.at[i].first_scope);
		sonde_put_u(b, t->curves.at[i].nr_scopes);
	}
}

/* Makes room for the rows of a list that follow; each is a byte at least. */
#define RESERVE(in, list)                                                                          \
	((list).nr = sonde_get_count(in), sonde_vec_reserve(&(list), (list).nr + 1))

static bool get_launches(struct sonde_cursor *in, const struct sonde_cells *c, struct sonde_timeline *t)
{
	size_t i;

	if (!RESERVE(in, t->launches))
		return false;
	for (i = 0; i < t->launches.nr; i++) {
		struct sonde_timeline_launch *l = &t->launches.at[i];

		l->start_ns = sonde_get_u(in);
		l->end_ns = sonde_get_u(in);
		l->thread = sonde_get_u(in);
		l->stream = sonde_get_u(in);
		l->context = (uint32_t)sonde_get_u(in);
		l->scope = sonde_get_index(in, c->scopes.nr);
		l->place = sonde_get_index(in, c->places.nr);
		l->kernel = sonde_get_index(in, c->strings.nr);
		l->state = (uint8_t)sonde_get_u(in);
	}
	return true;
}

static bool get_entries(struct sonde_cursor *in, const struct sonde_cells *c, struct sonde_timeline *t)
{
	size_t i;

	if (!RESERVE(in, t->entries))
		return false;
	for (i = 0; i < t->entries.nr; i++) {
		struct sonde_timeline_entry *e = &t->entries.at[i];

		e->begin_ns = sonde_get_u(in);
		e->end_ns = sonde_get_u(in);
		e->thread = sonde_get_u(in);
		e->process = sonde_get_index(in, c->processes.nr);
		e->region = sonde_get_index(in, c->regions.nr);
		e->label = sonde_get_index(in, c->strings.nr);
		e->kind = (uint8_t)sonde_get_u(in);
	}
	if (!RESERVE(in, t->marks))
		return false;
	for (i = 0; i < t->marks.nr; i++) {
		t->marks.at[i].ns = sonde_get_u(in);
		t->marks.at[i].process = sonde_get_index(in, c->processes.nr);
		t->marks.at[i].label = sonde_get_index(in, c->strings.nr);
	}
	if (!RESERVE(in, t->threads))
		return false;
	for (i = 0; i < t->threads.nr; i++) {
		t->threads.at[i].thread = sonde_get_u(in);
		t->threads.at[i].process = sonde_get_index(in, c->processes.nr);
		t->threads.at[i].name = sonde_get_index(in, c->strings.nr);
	}
	return true;
}

static bool get_curves(struct sonde_cursor *in, struct sonde_cells *c, struct sonde_timeline *t)
{
	size_t i;

	if (!RESERVE(in, t->points))
		return false;
	for (i = 0; i < t->points.nr; i++) {
		t->points.at[i].start_ns = sonde_get_u(in);
		t->points.at[i].end_ns = sonde_get_u(in);
		t->points.at[i].v = sonde_get_f64(in);
	}
	if (!RESERVE(in, t->curve_scopes))
		return false;
	for (i = 0; i < t->curve_scopes.nr; i++)
		t->curve_scopes.at[i] = sonde_get_index(in, c->scopes.nr);
	if (!RESERVE(in, t->curves))
		return false;
	for (i = 0; i < t->curves.nr; i++) {
		struct sonde_timeline_curve *curve = &t->curves.at[i];

		curve->name = sonde_get_str(in);
		if (!sonde_cells__keep(c, &curve->name))
			return false;
		curve->first = sonde_get_index(in, t->points.nr + 1);
		curve->nr = sonde_get_index(in, t->points.nr - curve->first + 1);
		curve->first_scope = sonde_get_index(in, t->curve_scopes.nr + 1);
		curve->nr_scopes =
			sonde_get_index(in, t->curve_scopes.nr - curve->first_scope + 1);
	}
	return true;
}

bool sonde_partial__timeline(struct sonde_cursor *in, struct sonde_cells *c)
{
	c->timeline = sonde_calloc(1, sizeof(*c->timeline));
	return c->timeline && get_launches(in, c, c->timeline) &&
	       get_entries(in, c, c->timeline) && get_curves(in, c, c->timeline);
}
