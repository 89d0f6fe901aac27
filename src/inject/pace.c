/*
 * The arithmetic of a budget.
 *
 * The cost of a launch is measured in the run, as the difference between calls in windows and outside. The cost of
 * a switch is the time that launches waited for it. The program also loses time that neither shows: cold caches, CUPTI's
 * own threads, the first launches after a switch. Windows come at random, so they are an experiment: if the program
 * enters ranges more slowly in windows than around them, per processor time, by more than launches, ranges and switches
 * explain, then that slowdown is what a window really costs. The `factor` between the two costs is used once it is two
 * standard errors above one. It is never below one: a program that waits for the GPU loses nothing now, but would lose
 * all of the computed cost when it no longer waits.
 *
 * How long a window should be. Each window costs its switches, and the cost of its launches and ranges while it
 * lasts. Each window shows one more stretch of the program, and neighbors in a stretch resemble each other. This
 * is cluster sampling: if a cluster costs C, an element costs c, and elements of a cluster have the correlation r, the
 * scatter is least with sqrt(C ÷ c × (1 − r) ÷ r) elements in each cluster. With entries of a millisecond and a
 * correlation of a tenth, that is about the length at which switching costs as much as the rest, and the
 * scatter hardly changes around it. So we use that length, between 10 and 500 ms.
 */
#include "inject/pace.h"

#define FIRST_NS   2000000u /* length of the first window: no cost is known yet */
#define WINDOW_NS  10e6	    /* shortest window */
#define LONGEST_NS 500e6    /* longest window */
#define PAUSE_NS   2e6	    /* shortest pause; a smaller debt is carried on */
#define MOST_NS	   3.6e12   /* longest pause: an hour */
#define FEW_RANGES 100 /* fewer ranges do not show how fast the program enters them */
#define FEW_CHECKS 8
#define MOST_WINDOWS 100u /* most windows in a row without a pause */
#define FORGET	   (1.0 / 256) /* how much each check fades the earlier ones */
#define MOST_FACTOR 20.0

/*
 * Returns a random length between half and one and a half of `mean`. Xorshift, so that the program's own random numbers
 * are not touched.
 */
static double draw_length(struct pace *p, double mean)
{
	p->seed ^= p->seed << 13;
	p->seed ^= p->seed >> 7;
	p->seed ^= p->seed << 17;
	return mean * (0.5 + (double)(p->seed >> 11) / 9007199254740992.0);
}

static struct pace_span span_since(const struct pace_sight *a, const struct pace_sight *b)
{
	return (struct pace_span){(double)(b->ns - a->ns), (double)(b->cpu_ns - a->cpu_ns),
		(double)(b->nr_launches - a->nr_launches), (double)(b->nr_ranges - a->nr_ranges)};
}

static struct pace_span join_spans(struct pace_span a, struct pace_span b)
{
	return (struct pace_span){a.ns + b.ns, a.cpu_ns + b.cpu_ns, a.launches + b.launches,
		a.ranges + b.ranges};
}

uint64_t sonde_pace__begin(struct pace *p, const struct pace_sight *now, uint64_t seed)
{
	p->seed = seed | 1;
	p->is_open = true;
	p->factor = 1;
	p->last = *now;
	p->begin_ns = now->ns;
	return FIRST_NS;
}

/*
 * Updates a rate, from times in which something happened only: else a program that mostly waits would have a low rate,
 * and windows would cost it too much once it works. The rate goes up at once and down slowly: too many windows are worse
 * than too few.
 */
static void update_rate(double *known, double nr, double ns)
{
	double rate = ns > 0 ? nr / ns : 0;

	if (rate > *known)
		*known = rate;
	else if (rate > 0)
		*known = 0.7 * *known + 0.3 * rate;
}

/* The cost outside windows is paid first, but with half of the budget at most, or there would be no windows. */
static void update_costs(struct pace *p, const struct pace_sight *now)
{
	double record = now->record_ns > p->least_record_ns ? now->record_ns : p->least_record_ns;
	double all = (double)(now->ns - p->begin_ns);

	p->base = all > 0 ? p->base_ns / all : 0;
	if (p->base > p->budget / 2)
		p->base = p->budget / 2;
	p->record_ns = record * p->factor;
	p->per_launch = (record + p->call_ns) * p->factor;
	p->per_range = now->range_ns * p->factor;
}

/*
 * Whether the window stays open because its cost needs hardly any pause. Even when the budget allows everything, pauses
 * are needed to measure what windows cost: a few at first, later one after every hundred windows. With a budget of all
 * the time, nothing needs to be measured.
 */
static bool may_go_on(struct pace *p, double pause)
{
	return p->budget >= 1 || (pause < PAUSE_NS && p->nr_pauses > 2 * FEW_CHECKS &&
					 p->nr_going_on++ < MOST_WINDOWS);
}

/* Charges the time since the last turn; returns the length of the pause that pays for it; 0 = the window stays open. */
static double charge_window(struct pace *p, const struct pace_span *s)
{
	double due = p->rate * s->ns, cost, pause, left = p->budget - p->base;
	double others = p->unpaid_ns * p->factor + s->ranges * p->per_range;

	p->spent_ns += s->launches * p->per_launch + others;
	p->computed_ns += (s->launches * p->per_launch + others) / p->factor;
	if (p->unpaid_ns > 0)
		p->switches_ns += (p->unpaid_ns - p->switches_ns) / (p->switches_ns > 0 ? 8 : 1);
	p->unpaid_ns = 0;
	cost = (s->launches > due ? s->launches : due) * p->per_launch + others;
	p->owed_ns += cost - (s->ns > cost ? s->ns - cost : 0) * left;
	pause = p->owed_ns / left;
	if (pause <= 0)
		p->owed_ns = 0;
	if (may_go_on(p, pause))
		return 0;
	p->owed_ns = 0;
	p->nr_going_on = 0;
	p->nr_pauses++;
	return pause < PAUSE_NS ? WINDOW_NS : pause < MOST_NS ? pause : MOST_NS;
}

/*
 * Measures what the last window cost, by how fast the program entered ranges in it. The speed is compared with that of the
 * two pauses around the window, so that the program may change its pace; and scaled by the mean of all pauses, so that
 * pauses without ranges count as much as those with many.
 */
static void check_cost(struct pace *p, const struct pace_span *after)
{
	struct pace_span off = join_spans(p->before, *after), *on = &p->window;
	double keep = 1 - FORGET, base = on->ns < on->cpu_ns ? on->ns : on->cpu_ns, lost;
	struct pace_check *c = &p->check;

	c->ranges = c->ranges * keep + after->ranges;
	c->cpu_ns = c->cpu_ns * keep + after->cpu_ns;
	if (c->ranges < FEW_RANGES || off.cpu_ns <= 0 || on->cpu_ns <= 0 || p->before.ns <= 0)
		return;
	lost = base * (off.ranges / off.cpu_ns - on->ranges / on->cpu_ns) * c->cpu_ns / c->ranges;
	c->nr = c->nr * keep + 1;
	c->lost = c->lost * keep + lost;
	c->lost2 = c->lost2 * keep + lost * lost;
	c->computed = c->computed * keep + p->computed_ns;
	c->computed2 = c->computed2 * keep + p->computed_ns * p->computed_ns;
	c->both = c->both * keep + lost * p->computed_ns;
}

/*
 * The factor is measured loss ÷ computed cost, each summed. Its variance comes from the scatter that the ratio leaves
 * unexplained.
 */
static void update_factor(struct pace *p)
{
	const struct pace_check *c = &p->check;
	double ratio, left;

	p->factor = 1;
	if (c->nr < FEW_CHECKS || c->computed <= 0)
		return;
	ratio = c->lost / c->computed;
	left = c->lost2 - 2 * ratio * c->both + ratio * ratio * c->computed2;
	if (ratio > 1 && (ratio - 1) * (ratio - 1) * c->computed * c->computed > 4 * left)
		p->factor = ratio < MOST_FACTOR ? ratio : MOST_FACTOR;
}

static double window_ns(const struct pace *p)
{
	double cost = p->rate * p->per_launch + p->range_rate * p->per_range;
	double length = cost > 0 ? p->switches_ns * p->factor / cost : LONGEST_NS;

	if (p->switches_ns <= 0)
		length = WINDOW_NS;

	return length < WINDOW_NS ? WINDOW_NS : length > LONGEST_NS ? LONGEST_NS : length;
}

static double end_window(struct pace *p, const struct pace_span *s)
{
	double pause;

	p->window = join_spans(p->window, *s);
	pause = charge_window(p, s);
	p->is_open = pause <= 0;
	return p->is_open ? draw_length(p, window_ns(p)) : draw_length(p, pause);
}

static double end_pause(struct pace *p, const struct pace_span *s)
{
	p->base_ns += s->ranges * p->last.passed_ns + p->last.borne_ns;
	check_cost(p, s);
	update_factor(p);
	p->before = *s;
	p->window = (struct pace_span){0};
	p->computed_ns = 0;
	p->is_open = true;
	return draw_length(p, window_ns(p));
}

uint64_t sonde_pace__turn(struct pace *p, const struct pace_sight *now)
{
	struct pace_span s = span_since(&p->last, now);
	double length;

	p->last = *now;
	p->unpaid_ns += now->switch_ns;
	if (p->is_open) {
		update_rate(&p->rate, s.launches, s.ns);
		update_rate(&p->range_rate, s.ranges, s.ns);
	}
	update_costs(p, now);
	length = p->is_open ? end_window(p, &s) : end_pause(p, &s);
	return (uint64_t)length;
}

/* The time of both switches, the opening one and the closing one, counts as part of the window. */
void sonde_pace__switched(struct pace *p, const struct pace_sight *now)
{
	struct pace_span s = span_since(&p->last, now);

	if (p->is_open)
		return;
	p->window = join_spans(p->window, s);
	p->last = *now;
}

void sonde_pace__wait(struct pace *p, const struct pace_sight *now)
{
	p->base_ns += span_since(&p->last, now).ranges * now->passed_ns;
	p->last = *now;
}
