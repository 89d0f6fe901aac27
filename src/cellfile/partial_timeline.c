/*
 * The timeline of a part as bytes: on its way between two processes of one report, never in a file.
 * Numbers that index are checked all the same.
 */
#include "cellfile/cell_walks.h"
#include "fold/timeline.h"

#include "base/alloc.h"

static void move_launches(struct sonde_walk *w, const struct sonde_cells *c, struct sonde_timeline *t)
{
	struct sonde_timeline_launch *l;

	MOVE_ROWS(w, &t->launches, l) {
		uint32_t scope = l->scope, state = l->state;

		MOVE_NUMBER(w, l->start_ns);
		MOVE_NUMBER(w, l->end_ns);
		MOVE_NUMBER(w, l->thread);
		MOVE_NUMBER(w, l->stream);
		MOVE_NUMBER(w, l->context);
		MOVE_INDEX(w, scope, c->scopes.nr);
		MOVE_INDEX(w, l->place, c->places.nr);
		MOVE_INDEX(w, l->kernel, c->strings.nr);
		MOVE_NUMBER(w, state);
		l->scope = scope & 0x3fffffff;
		l->state = state & 3;
	}
}

static void move_ranges(struct sonde_walk *w, const struct sonde_cells *c, struct sonde_timeline *t)
{
	struct sonde_timeline_entry *e;
	struct sonde_timeline_mark *mark;
	struct sonde_timeline_thread *thread;

	MOVE_ROWS(w, &t->entries, e) {
		MOVE_NUMBER(w, e->begin_ns);
		MOVE_NUMBER(w, e->end_ns);
		MOVE_NUMBER(w, e->thread);
		MOVE_INDEX(w, e->process, c->processes.nr);
		MOVE_INDEX(w, e->region, c->regions.nr);
		MOVE_INDEX(w, e->label, c->strings.nr);
		MOVE_NUMBER(w, e->kind);
	}
	MOVE_ROWS(w, &t->marks, mark) {
		MOVE_NUMBER(w, mark->ns);
		MOVE_INDEX(w, mark->process, c->processes.nr);
		MOVE_INDEX(w, mark->label, c->strings.nr);
	}
	MOVE_ROWS(w, &t->threads, thread) {
		MOVE_NUMBER(w, thread->thread);
		MOVE_INDEX(w, thread->process, c->processes.nr);
		MOVE_INDEX(w, thread->name, c->strings.nr);
	}
}

static void move_curves(struct sonde_walk *w, const struct sonde_cells *c, struct sonde_timeline *t)
{
	struct sonde_timeline_point *point;
	struct sonde_timeline_curve *curve;
	uint32_t *scope;

	MOVE_ROWS(w, &t->points, point) {
		MOVE_NUMBER(w, point->start_ns);
		MOVE_NUMBER(w, point->end_ns);
		MOVE_DOUBLE(w, point->v);
	}
	MOVE_ROWS(w, &t->curve_scopes, scope)
		MOVE_INDEX(w, *scope, c->scopes.nr);
	MOVE_ROWS(w, &t->curves, curve) {
		MOVE_TEXT(w, curve->name);
		MOVE_NUMBER(w, curve->device);
		MOVE_INDEX(w, curve->first, t->points.nr + 1);
		MOVE_INDEX(w, curve->nr, t->points.nr - curve->first + 1);
		MOVE_INDEX(w, curve->first_scope, t->curve_scopes.nr + 1);
		MOVE_INDEX(w, curve->nr_scopes, t->curve_scopes.nr - curve->first_scope + 1);
	}
}

void sonde_walk_timeline(struct sonde_walk *w, struct sonde_cells *c)
{
	if (!w->to)
		c->timeline = sonde_calloc(1, sizeof(*c->timeline));
	if (!sonde_walk_got(w, c->timeline))
		return;
	move_launches(w, c, c->timeline);
	move_ranges(w, c, c->timeline);
	move_curves(w, c, c->timeline);
}
