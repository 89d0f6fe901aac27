/*
 * Findings about idle time. Inside a region, the fold has found the causes (docs/idle.md). Around the region's work,
 * they follow from the entries: the host is in the region and has launched nothing yet, or launches nothing any more, or
 * is in no entry at all.
 */
#include "tree/findings_int.h"
#include "tree/judge.h"

#include "base/alloc.h"
#include "base/bisect.h"
#include "tree/entries.h"
#include "tree/idle.h"

#include <math.h>
#include <string.h>

#define SHORT_GAP_NS 5000 /* the next kernel of a stream or graph starts within this time */
#define LONG_GAP_NS  50000 /* a longer pause between kernels of one stream is a wait for something */

static const char *const idle_figures[SONDE_NR_IDLE_CAUSES] = {"idle.launch_ms", "idle.sync_ms", "idle.copy_ms",
	"idle.alloc_ms", "idle.host_ms", "idle.queued_ms", "idle.other_stream_ms", "idle.unknown_ms"};

#define BY_GAPS	   "no launch ran, by what the host did meanwhile (docs/idle.md)"
#define BY_ENTRIES "from begins and ends of entries and of their launches"

/*
 * The region inside `top` that the host was in during the idle time: one without GPU work that takes about as long.
 * SONDE_NONE: there is none.
 */
static uint32_t find_culprit(const struct sonde_finder *x, uint32_t top, double cost_ns)
{
	const struct sonde_node *nodes = x->r->nodes.at;
	uint32_t i, best = SONDE_NONE;

	for (i = top + 1; i < x->r->nodes.nr && nodes[i].depth > nodes[top].depth; i++)
		if (nodes[i].times.host_ns >= SONDE_MOST_OF_TIME * cost_ns && nodes[i].times.host_ns <= cost_ns / SONDE_MOST_OF_TIME &&
			(best == SONDE_NONE || nodes[i].times.host_ns > nodes[best].times.host_ns) && !sonde_finder__has_work(x, i))
			best = i;
	return best;
}

/* Moves the finding to the region that the host was in, if it is known. */
static void blame_region(struct sonde_finder *x, struct sonde_finding *f)
{
	uint32_t culprit = find_culprit(x, f->node, f->run_ns);

	if (culprit == SONDE_NONE && f->is_in_step) /* the entries that are left out may not have been in such a region */
		culprit = find_culprit(x, f->node, f->step_ns * (double)x->out->nr_entries);
	if (culprit == SONDE_NONE)
		return;
	f->node = culprit;
	f->entries = x->r->nodes.at[culprit].instances;
	sonde_finder__prove_ms(f, culprit, "host_ms", x->r->nodes.at[culprit].times.host_ns, "how long its entries were open");
}

static void say_idle(struct sonde_finder *x, struct sonde_finding *f)
{
	bool is_known = f->cause != SONDE_CAUSE_NOT_TOLD;
	struct sonde_buf line = {0};

	sonde_buf_puts(&line, "the GPU was idle for ");
	sonde_finder__say_cost(x, &line, f);
	sonde_buf_printf(&line, ", %s%s", is_known ? "because " : "", sonde_causes[f->cause].why);
	sonde_finder__keep(x, f, &line);
}

/*
 * Launched work that does not start waits for other work, or it is just the next kernel of its stream. Gaps as short as
 * between two kernels get less only with fewer kernels (finding_work.c).
 */
static bool is_between_kernels(const struct sonde_node *n)
{
	return n->times.idle_by[SONDE_IDLE_QUEUED] < SHORT_GAP_NS * (double)n->launches;
}

/*
 * Work of the only stream of a region cannot wait for another stream of it. Unless it waits for long, which may be for a
 * host function or another program, the GPU takes this time to start it.
 */
static enum sonde_cause queued_cause(const struct sonde_node *n)
{
	bool is_one_stream = n->streams && n->streams <= (n->nr_scopes > 1 ? n->nr_scopes : 1);

	return is_one_stream && n->times.idle_by[SONDE_IDLE_QUEUED] < LONG_GAP_NS * (double)n->launches ? SONDE_CAUSE_STREAM_GAPS
													: SONDE_CAUSE_QUEUED;
}

static void add_inside(struct sonde_finder *x, enum sonde_idle_cause c)
{
	const struct sonde_node *top = &x->r->nodes.at[x->top];
	size_t at = offsetof(struct sonde_node, times.idle_by) + c * sizeof(double);
	uint32_t node = sonde_finder__descend(x, x->top, at);
	enum sonde_cause cause = c == SONDE_IDLE_QUEUED ? queued_cause(&x->r->nodes.at[node]) : (enum sonde_cause)c;
	struct sonde_finding *f;

	if (c == SONDE_IDLE_OTHER || (c == SONDE_IDLE_QUEUED && is_between_kernels(top)) || c == SONDE_IDLE_COPY)
		return; /* finding_work.c handles calls of copies with the copies */
	f = sonde_finder__add(x, cause, node, (struct sonde_finding_cost){sonde_node__at(&x->r->nodes.at[node], at), x->usual.idle[c]});
	if (!f)
		return;
	sonde_finder__prove_ms(f, node, idle_figures[c], f->run_ns, BY_GAPS);
	sonde_finder__prove(f, (struct sonde_evidence){node, SONDE_NONE, SONDE_STR("kernel_count"),
				       (double)x->r->nodes.at[node].launches, NAN, "", "counted"});
	if (c == SONDE_IDLE_HOST)
		blame_region(x, f);
	say_idle(x, f);
}

/*
 * The devices were idle for no longer than this. Time in which a host waits in an entry may be longer, because it may
 * wait for work of other regions.
 */
double sonde_finder__idle_at_most(const struct sonde_finder *x)
{
	return x->r->all_time_ns > 0 ? fmax(0, x->out->run_ns - x->r->all_time_ns) : x->out->run_ns;
}

static void add_around(struct sonde_finder *x)
{
	double tail = sonde_node__at(&x->r->nodes.at[x->top], offsetof(struct sonde_node, times.tail_ns));
	double head = fmin(x->around_ns - tail, sonde_finder__idle_at_most(x));
	struct sonde_finding *f = sonde_finder__add(x, SONDE_CAUSE_TAIL, x->top, (struct sonde_finding_cost){tail, x->usual.tail});

	if (f) {
		sonde_finder__prove_ms(f, x->top, "tail_ms", tail, "nothing ran from the last launch of an entry to its end");
		blame_region(x, f);
		say_idle(x, f);
	}
	f = head < SONDE_LEAST_SHARE * x->out->run_ns ? NULL : sonde_finder__add(x, SONDE_CAUSE_HEAD, x->top, (struct sonde_finding_cost){head, x->usual.head});
	if (!f)
		return;
	sonde_finder__prove(f, (struct sonde_evidence){SONDE_NONE, SONDE_NONE, SONDE_STR("head_ms"), head / 1e6, NAN, "ms", BY_ENTRIES});
	sonde_finder__prove_ms(f, x->top, "host_ms", x->r->nodes.at[x->top].times.host_ns, "how long its entries were open");
	blame_region(x, f);
	say_idle(x, f);
}

void sonde_finder__idle(struct sonde_finder *x)
{
	uint32_t c;

	for (c = 0; c < SONDE_NR_IDLE_CAUSES; c++)
		add_inside(x, (enum sonde_idle_cause)c);
	add_around(x);
}

/* --- between the entries of the step -------------------------------------------------------------- */

/* The time between two entries. */
struct pause {
	uint64_t from_ns, to_ns;
};

struct pauses {
	SONDE_VEC(struct pause) at; /* the pauses of one scope, in order */
	double total_ns, nr;	    /* nr: how often one entry followed another, with or without a pause */
	uint32_t step; /* every `step`-th entry is known; `at` is empty unless it is 1 */
};

/* Those after entries that are left out are left out too. */
static bool find_pauses(struct pauses *p, const struct sonde_entry_run *run, const bool *is_left_out)
{
	uint64_t end = 0;
	size_t i;

	p->at.nr = 0;
	p->total_ns = p->nr = 0;
	p->step = run->step;
	for (i = 0; i + 1 < run->nr; i++) {
		const struct sonde_entry *e = &run->at[i], *next = e + 1;
		uint64_t wall = sonde_entry__wall_ns(e), pause = 0;

		end = e->begin_ns + wall > end ? e->begin_ns + wall : end;
		if (is_left_out && is_left_out[i])
			continue;
		if (run->step > 1 && (next->begin_ns - e->begin_ns) / run->step > wall)
			pause = (next->begin_ns - e->begin_ns) / run->step - wall;
		else if (run->step == 1 && next->begin_ns > end)
			pause = next->begin_ns - end;
		if (run->step == 1 && pause && !sonde_vec_put(&p->at, ((struct pause){end, next->begin_ns})))
			return false;
		p->total_ns += (double)pause * run->step;
		p->nr += run->step;
	}
	return true;
}

/* How much of the pauses is between two moments. */
static double overlap_ns(const struct pauses *p, uint64_t from_ns, uint64_t to_ns)
{
	size_t i = 0;
	double sum = 0;

	sonde_bisect(i, p->at.nr, mid, p->at.at[mid].to_ns <= from_ns);
	for (; i < p->at.nr && p->at.at[i].from_ns < to_ns; i++) {
		const struct pause *a = &p->at.at[i];

		sum += (double)((a->to_ns < to_ns ? a->to_ns : to_ns) - (a->from_ns > from_ns ? a->from_ns : from_ns));
	}
	return sum;
}

/* How much of a scope's pauses was spent in a region beside the step. */
static double pauses_in_region(const struct sonde_finder *x, const struct pauses *p, uint32_t scope, uint32_t node)
{
	const struct sonde_node *n = &x->r->nodes.at[node];
	bool has_work = sonde_finder__has_work(x, node);
	const struct sonde_visit *v = sonde_cells_visit(x->t->cells, scope, n->region);
	double sum = 0;
	uint32_t i;

	if (!v || !v->nr_entries)
		return 0;
	if (p->step > 1)
		return fmin(p->total_ns, v->times.host_ns > 0 ? v->times.host_ns : 0);
	for (i = 0; i < v->nr_entries; i++) {
		const struct sonde_entry *e = &x->t->cells->entries.at[v->first_entry + i];

		sum += overlap_ns(p, e->begin_ns, e->begin_ns + (has_work ? sonde_entry__wall_ns(e) : e->host_ns));
	}
	return sum * v->entry_step;
}

/*
 * Whether a region is beside the step: it is neither inside nor around the step, and it is a root or the child of a
 * region around the step.
 */
static bool is_beside(const struct sonde_report *r, uint32_t node, uint32_t step)
{
	uint32_t parent = r->nodes.at[node].parent;

	return !sonde_report__is_inside(r, step, node) && !sonde_report__is_inside(r, node, step) &&
	       (parent == SONDE_NONE || sonde_report__is_inside(r, step, parent));
}

/* The time of the launches that are not selected. */
static double time_of_unselected(const struct sonde_report *r)
{
	double taken = (r->time_ns > 0 ? r->time_ns : 0) + (r->outside_time_ns > 0 ? r->outside_time_ns : 0);

	return r->all_time_ns > taken ? r->all_time_ns - taken : 0;
}

/* How long a scope's pauses were without work of regions beside the step. Sets x->culprit. */
static double idle_pauses(struct sonde_finder *x, const struct pauses *p, uint32_t scope, uint32_t step)
{
	const struct sonde_report *r = x->r;
	double sum = p->total_ns, most = 0;
	uint32_t k;

	for (k = 0; k < r->nodes.nr; k++) {
		double of = is_beside(r, k, step) ? pauses_in_region(x, p, scope, k) : 0;
		bool has_work = sonde_finder__has_work(x, k);

		if (has_work)
			sum -= of;
		else if (of > most && of > SONDE_MOST_OF_TIME * p->total_ns)
			x->culprit = k;
		most = fmax(most, has_work ? 0 : of);
	}
	return sum;
}

void sonde_finder__measure_between(struct sonde_finder *x, uint32_t step)
{
	const struct sonde_report *r = x->r;
	const struct sonde_node *n = &r->nodes.at[step];
	double all = 0, usual = 0, nr = 0, sum;
	struct sonde_windows windows;
	struct pauses p = {0};
	struct sonde_usual u;
	size_t i, first = 0;

	x->failed |= !sonde_usual__find(&u, x, step);
	for (i = 0; !x->failed && i < u.runs.at.nr; first += u.runs.at.at[i++].nr) {
		const struct sonde_entry_run *run = &u.runs.at.at[i];
		double idle;

		x->failed |= !find_pauses(&p, run, NULL);
		idle = idle_pauses(x, &p, run->scope, step);
		all += idle;
		if (u.nr_left_out) {
			x->failed |= !find_pauses(&p, run, &u.is_left_out[first]);
			idle = idle_pauses(x, &p, run->scope, step);
		}
		usual += idle;
		nr += p.nr;
	}
	sonde_vec_release(&p.at);
	sonde_usual__release(&u);
	sum = all;
	if (sonde_windows_build(&windows, x->t)) /* between windows nobody knows what the host did */
		sum = fmin(sum, fmax(0, windows.captured_ns - sonde_node__wall_ns(n)));
	sum -= r->outside_time_ns > 0 ? r->outside_time_ns : 0;
	sum -= time_of_unselected(r); /* it may have run there */
	x->all_between_ns = fmax(0, fmin(sum, sonde_finder__idle_at_most(x)));
	/* There are fewer pauses than entries: the mean is over the pauses. */
	x->between_ns = all > 0 && nr > 0 ? fmax(0, usual / nr) * x->all_between_ns / all * (double)(n->instances ? n->instances : 1) : 0;
}

/*
 * The cause that has the most time in the long gaps outside the step, if it is a call that waits; else
 * SONDE_CAUSE_BETWEEN.
 */
static enum sonde_cause cause_between(struct sonde_finder *x)
{
	const struct sonde_gap *gaps[SONDE_NR_GAPS];
	size_t nr = sonde_report_gaps(x->t, x->r, gaps), i;
	double by[SONDE_NR_IDLE_CAUSES] = {0};
	enum sonde_idle_cause most = SONDE_IDLE_HOST;
	struct sonde_usual u;

	x->failed |= !sonde_usual__find(&u, x, x->out->step);
	for (i = 0; i < nr; i++) {
		uint32_t inner = SONDE_NONE, k;

		if (u.is_left_out && sonde_usual__leaves_out(&u, gaps[i]) && x->between_ns > 0)
			continue;
		for (k = 0; k < x->r->nodes.nr && inner == SONDE_NONE; k++)
			if (x->r->nodes.at[k].region == gaps[i]->region)
				inner = k;
		if (inner == SONDE_NONE || !sonde_report__is_inside(x->r, inner, x->out->step))
			by[gaps[i]->cause] += (double)gaps[i]->ns;
	}
	sonde_usual__release(&u);
	for (i = 0; i < SONDE_NR_IDLE_CAUSES; i++)
		if (by[i] > by[most])
			most = (enum sonde_idle_cause)i;
	return sonde_idle_cause_waits(most) ? (enum sonde_cause)most : SONDE_CAUSE_BETWEEN;
}

void sonde_finder__between(struct sonde_finder *x)
{
	struct sonde_finding_cost cost = {x->all_between_ns, x->all_between_ns > 0 ? x->between_ns / x->all_between_ns : 0};
	struct sonde_finding *f = sonde_finder__add(x, cause_between(x), x->top, cost);
	struct sonde_buf line = {0};

	if (!f)
		return;
	sonde_finder__prove(f, (struct sonde_evidence){SONDE_NONE, SONDE_NONE, SONDE_STR("between_ms"), x->all_between_ns / 1e6, NAN, "ms",
				       BY_ENTRIES ", without work of other regions"});
	sonde_buf_puts(&line, "the GPU was idle for ");
	sonde_finder__say_cost(x, &line, f);
	if (x->culprit != SONDE_NONE) {
		f->node = x->culprit;
		f->entries = x->r->nodes.at[f->node].instances;
		sonde_finder__prove_ms(f, f->node, "host_ms", x->r->nodes.at[f->node].times.host_ns, "how long its entries were open");
	}
	sonde_buf_printf(&line, ", because %s", sonde_causes[f->cause].why);
	if (x->culprit == SONDE_NONE && f->cause != SONDE_CAUSE_BETWEEN)
		sonde_buf_puts(&line, " between the entries");
	else if (x->culprit == SONDE_NONE && x->r->nodes.at[x->top].parent == SONDE_NONE)
		sonde_buf_puts(&line, ", outside any range");
	sonde_finder__keep(x, f, &line);
}
