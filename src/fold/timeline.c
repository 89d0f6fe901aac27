/*
 * Records → the timeline, and the timelines of parts into one. A capture may have millions of launches: lists
 * are reserved at their full length, and the first part's are taken over as they are.
 */
#include "fold/timeline.h"

#include "base/alloc.h"
#include "fold/fold_int.h"

static bool add_entries(struct sonde_folding *f, struct sonde_timeline *t)
{
	size_t i;

	if (!sonde_vec_reserve(&t->entries, f->r->ranges.nr + 1))
		return false;
	for (i = 0; i < f->r->ranges.nr; i++) {
		const struct sonde_range *range = &f->r->ranges.at[i];

		if (!range->time.begin_ns || f->l->region_of.at[i] == SONDE_NONE)
			continue;
		t->entries.at[t->entries.nr++] =
			(struct sonde_timeline_entry){.begin_ns = range->time.begin_ns,
				.end_ns = range->time.end_ns,
				.thread = range->thread,
				.process = range->process,
				.region = f->l->region_of.at[i],
				.label = f->string_of[range->label],
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

		t->launches.at[t->launches.nr++] = (struct sonde_timeline_launch){
			.start_ns = rec->time.end_ns ? rec->time.start_ns : 0,
			.end_ns = rec->time.end_ns,
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
		!sonde_vec_reserve(&t->threads, f->r->thread_names.nr + 1))
		return false;
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
	struct sonde_timeline *t = f->c->timeline = sonde_calloc(1, sizeof(*t));
	bool ok = t && add_entries(f, t) && add_marks(f, t) && sonde_fold__curves(f, t);

	if (ok && (f->r->has_record_times || keeps_untimed))
		ok = add_launches(f, t);
	return ok;
}

static bool append(struct sonde_timeline *to, const struct sonde_timeline *from)
{
	return sonde_vec_append(&to->launches, &from->launches) &&
	       sonde_vec_append(&to->entries, &from->entries) &&
	       sonde_vec_append(&to->marks, &from->marks) &&
	       sonde_vec_append(&to->threads, &from->threads) &&
	       sonde_vec_append(&to->curves, &from->curves) &&
	       sonde_vec_append(&to->points, &from->points) &&
	       sonde_vec_append(&to->curve_scopes, &from->curve_scopes);
}

static void translate(struct sonde_timeline *t, const struct sonde_moving *m)
{
	size_t i;

	for (i = 0; i < t->launches.nr; i++) {
		struct sonde_timeline_launch *l = &t->launches.at[i];

		l->scope = m->of.scope[l->scope];
		l->place = m->of.place[l->place];
		l->kernel = m->of.string[l->kernel];
	}
	for (i = 0; i < t->entries.nr; i++) {
		struct sonde_timeline_entry *e = &t->entries.at[i];

		e->process += m->process;
		e->region = m->of.region[e->region];
		e->label = m->of.string[e->label];
	}
	for (i = 0; i < t->marks.nr; i++) {
		t->marks.at[i].process += m->process;
		t->marks.at[i].label = m->of.string[t->marks.at[i].label];
	}
	for (i = 0; i < t->threads.nr; i++) {
		t->threads.at[i].process += m->process;
		t->threads.at[i].name = m->of.string[t->threads.at[i].name];
	}
	for (i = 0; i < t->curve_scopes.nr; i++)
		t->curve_scopes.at[i] = m->of.scope[t->curve_scopes.at[i]];
}

bool sonde_timeline_move(const struct sonde_moving *m)
{
	struct sonde_timeline *from = m->from->timeline, *to = m->to->timeline;
	bool ok;
	size_t i;

	if (!from)
		return true;
	translate(from, m);
	m->from->timeline = NULL;
	if (!to) { /* the first: there may be millions */
		m->to->timeline = from;
		return true;
	}
	for (i = 0; i < from->curves.nr; i++) {
		from->curves.at[i].first += to->points.nr;
		from->curves.at[i].first_scope += to->curve_scopes.nr;
	}
	ok = append(to, from);
	sonde_timeline_free(from);
	return ok;
}

void sonde_timeline_free(struct sonde_timeline *t)
{
	if (!t)
		return;
	sonde_vec_release(&t->launches);
	sonde_vec_release(&t->entries);
	sonde_vec_release(&t->marks);
	sonde_vec_release(&t->threads);
	sonde_vec_release(&t->curves);
	sonde_vec_release(&t->points);
	sonde_vec_release(&t->curve_scopes);
	sonde_free(t);
}
