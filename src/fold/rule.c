/*
 * Rules match metric names by pattern, because a list of all metrics of all devices would never be complete. The name
 * says what was measured, and so also which counter is the right weight. That counter is looked up in the capture under
 * each name it may have there.
 */
#include "fold/rule.h"

#include "base/glob.h"

#include <stdio.h>
#include <string.h>

#define TIME SONDE_METRIC_TIME

/* These metrics, device facts among others, are reported on request only. */
#define ON_REQUEST(pattern, quality) \
	{pattern, SONDE_METHOD_MODE, SONDE_WEIGHT_NONE, SONDE_QUALITY_##quality, true}
#define RULE(pattern, method, weight, quality) \
	{pattern, SONDE_METHOD_##method, SONDE_WEIGHT_##weight, SONDE_QUALITY_##quality, false}

/*
 * The roll-up rules, in the order they are tried. docs/attribution.md explains
 * them to users; this table is what runs.
 */
static const struct sonde_rule rules[] = {
	ON_REQUEST("breakdown:*", STAT),
	ON_REQUEST("device__*", CONST),
	ON_REQUEST("nvlink__*", CONST),
	ON_REQUEST("numa__*", CONST),
	ON_REQUEST("c2clink__*", CONST),
	ON_REQUEST("profiler__*", STAT),
	/* launch facts */
	RULE(SONDE_METRIC_GRID, SUM, NONE, EXACT),
	RULE(SONDE_METRIC_THREADS, SUM, NONE, EXACT),
	RULE("launch__*", MODE, NONE, STAT),
	RULE("sm*__maximum_warps_*", MEAN, TIME, STAT),
	/* throughputs: the maximum of their constituents */
	RULE("*throughput.*.pct_of_peak_sustained_elapsed", PEAK, ELAPSED, EXACT),
	RULE("*throughput.*.pct_of_peak_sustained_active", PEAK, ACTIVE, EXACT),
	/* submetrics of counters */
	RULE("*.pct_of_peak_sustained_elapsed", MEAN, ELAPSED, EXACT),
	RULE("*.pct_of_peak_sustained_active", MEAN, ACTIVE, EXACT),
	RULE("*.per_second", MEAN, TIME, EXACT),
	RULE("*.per_cycle_elapsed", MEAN, ELAPSED, EXACT),
	RULE("*.per_cycle_active", MEAN, ACTIVE, EXACT),
	RULE("*.per_cycle_*", MEAN, ELAPSED, APPROX),
	RULE("*.pct_of_*", MEAN, ELAPSED, APPROX),
	RULE("*.peak_sustained", SAME, NONE, CONST),
	RULE("*.peak_sustained_*", SUM, NONE, EXACT),
	/* ratios */
	RULE("*.max_rate", MAX, NONE, EXACT),
	RULE("*.pct", MEAN, DENOMINATOR, EXACT),
	RULE("*.ratio", MEAN, DENOMINATOR, EXACT),
	/* counters */
	RULE("*.sum", SUM, NONE, EXACT),
	RULE("*.avg", SUM, NONE, EXACT),
	RULE("*.max", UPPER, NONE, BOUND),
	RULE("*.min", LOWER, NONE, BOUND),
	RULE("smsp__pcsamp_interval*", MODE, NONE, STAT), /* settings of the PC sampling */
	RULE("smsp__pcsamp_buffer_size_bytes", MODE, NONE, STAT),
	RULE("smsp__pcsamp_aggregated_passes", MODE, NONE, STAT),
	RULE("smsp__pcsamp_*", SUM, NONE, EXACT),
	RULE("inst_executed", SUM, NONE, EXACT),
	RULE("thread_inst_executed", SUM, NONE, EXACT),
	RULE("thread_inst_executed_true", SUM, NONE, EXACT),
	RULE("memory_l1_*", SUM, NONE, EXACT),
	RULE("memory_l2_*", SUM, NONE, EXACT),
	RULE("sass__*inst_executed*", SUM, NONE, EXACT),
	/*
	 * Metrics that Nsight Compute's sections compute from others. The first six are N times an SM's peak or N
	 * times a rate.
	 */
	RULE("derived__sm__*_x2", SAME, NONE, CONST),
	RULE("derived__sm__*_x4", SAME, NONE, CONST),
	RULE("derived__sm__*_x512", SAME, NONE, CONST),
	RULE("derived__smsp__*_x2", MEAN, ELAPSED, EXACT),
	RULE("derived__smsp__*_x4", MEAN, ELAPSED, EXACT),
	RULE("derived__smsp__*_x512", MEAN, ELAPSED, EXACT),
	RULE("derived__memory_*_excessive", SUM, NONE, EXACT), /* counted − ideal */
	RULE("derived__*_spilling_requests", SUM, NONE, EXACT),
	RULE("derived__local_spilling_requests_pct", MEAN, DENOMINATOR, APPROX),
	RULE("derived__smsp__inst_executed_op_branch_pct", MEAN, DENOMINATOR, EXACT),
	RULE("*_pct", MEAN, TIME, APPROX),
	RULE("*", MODE, NONE, STAT),
};

const char *sonde_quality_name(enum sonde_quality q)
{
	static const char *const names[] = {"exact", "approx", "bound", "const", "stat", "sampled"};

	return names[q];
}

const struct sonde_rule *sonde_rule_for(struct sonde_str metric)
{
	size_t i = 0;

	while (!sonde_str_glob(metric, sonde_str_from(rules[i].pattern)))
		i++;
	return &rules[i];
}

/* The hardware unit of a metric: its name up to "__"; empty if the name has none. */
static struct sonde_str name_unit(struct sonde_str name)
{
	static const char derived[] = "derived__";
	size_t i;

	if (sonde_str_starts(name, derived))
		name = (struct sonde_str){name.p + strlen(derived), name.n - strlen(derived)};
	for (i = 0; i + 1 < name.n && name.p[i] != '.'; i++)
		if (name.p[i] == '_' && name.p[i + 1] == '_')
			return (struct sonde_str){name.p, i};
	return (struct sonde_str){name.p, 0};
}

/* Finds a metric, but only if this capture has it: its figures must not depend on other inputs. */
static uint32_t metric_of(const struct sonde_capture *c, const char *name)
{
	uint32_t metric = sonde_map_find(c->names, sonde_str_from(name));

	return sonde_input_has(c->input, metric) ? metric : SONDE_NONE;
}

/* Finds the metric `unit` + `rest`. */
static uint32_t find_metric(const struct sonde_capture *c, struct sonde_str unit, const char *rest)
{
	char name[512];
	int n = snprintf(name, sizeof(name), "%.*s%s", SONDE_STR_ARG(unit), rest);

	return n > 0 && (size_t)n < sizeof(name) ? metric_of(c, name) : SONDE_NONE;
}

/* Sets the weight. A weight can make the quality worse than that of the rule, never better. */
static void set_weight(struct sonde_rollup *p, uint32_t first, uint32_t second, uint8_t quality)
{
	p->weight[0] = first;
	p->weight[1] = second;
	if (quality > p->quality)
		p->quality = quality;
}

/*
 * Weighs by the cycles of a unit, in order of preference: the counter itself (over all instances, or
 * per instance), its rate × time, the slowest instance.
 */
static bool weigh_by_cycles(const struct sonde_capture *c, struct sonde_rollup *p,
	struct sonde_str unit, const char *which, uint8_t quality)
{
	static const struct {
		const char *suffix;
		bool times_time, per_instance;
		uint8_t quality;
	} forms[] = {
		{".sum", false, false, SONDE_QUALITY_EXACT},
		{".avg", false, true, SONDE_QUALITY_EXACT},
		{".avg.per_second", true, true, SONDE_QUALITY_EXACT},
		{".max", false, true, SONDE_QUALITY_APPROX},
	};
	uint32_t time = metric_of(c, TIME), metric;
	char rest[64];
	size_t i;

	for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		snprintf(rest, sizeof(rest), "__cycles_%s%s", which, forms[i].suffix);
		metric = find_metric(c, unit, rest);
		if (metric == SONDE_NONE || (forms[i].times_time && time == SONDE_NONE))
			continue;
		p->per_instance = forms[i].per_instance;
		set_weight(p, metric, forms[i].times_time ? time : SONDE_NONE,
			forms[i].quality > quality ? forms[i].quality : quality);
		return true;
	}
	return false;
}

/* Whether a unit runs on the SMs' clock: all these units have the same elapsed cycles. */
static bool is_sm_clocked(struct sonde_str unit)
{
	static const char *const units[] = {"sm", "smsp", "l1tex", "idc", "tpc", "gpc"};
	size_t i;

	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (sonde_str_is(unit, units[i]))
			return true;
	return false;
}

static bool weigh_by_elapsed(
	const struct sonde_capture *c, struct sonde_rollup *p, struct sonde_str unit, uint8_t quality)
{
	if (weigh_by_cycles(c, p, unit, "elapsed", quality))
		return true;
	return is_sm_clocked(unit) &&
	       (weigh_by_cycles(c, p, SONDE_STR("sm"), "elapsed", quality) ||
		       weigh_by_cycles(c, p, SONDE_STR("gpc"), "elapsed", quality));
}

static void weigh_by_time(const struct sonde_capture *c, struct sonde_rollup *p, uint8_t quality)
{
	set_weight(p, metric_of(c, TIME), SONDE_NONE, quality);
}

/* Weighs by the counter `unit__<name>`, in the singular or plural; without it by its rate × time, which is
 * proportional to it. */
static bool weigh_by_counter(const struct sonde_capture *c, struct sonde_rollup *p,
	struct sonde_str unit, struct sonde_str name)
{
	static const char *const forms[] = {
		"__%.*s%s.sum", "__t_%.*s%s.sum", "__%.*s%s.avg", "__t_%.*s%s.avg"};
	uint32_t time = metric_of(c, TIME), metric;
	char rest[256];
	size_t i;

	for (i = 0; i < 2 * sizeof(forms) / sizeof(forms[0]); i++) {
#pragma GCC diagnostic push /* the formats are those above */
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(rest, sizeof(rest), forms[i / 2], SONDE_STR_ARG(name), i % 2 ? "s" : "");
#pragma GCC diagnostic pop
		metric = find_metric(c, unit, rest);
		if (metric != SONDE_NONE) {
			set_weight(p, metric, SONDE_NONE, SONDE_QUALITY_EXACT);
			return true;
		}
	}
	snprintf(rest, sizeof(rest), "__%.*s.avg.pct_of_peak_sustained_elapsed",
		SONDE_STR_ARG(name));
	metric = find_metric(c, unit, rest);
	if (metric == SONDE_NONE || time == SONDE_NONE)
		return false;
	set_weight(p, metric, time, SONDE_QUALITY_APPROX);
	return true;
}

/* Ratios whose names do not say what they divide by. */
static const struct {
	const char *ratio, *by;
} dividers[] = {
	{"derived__smsp__inst_executed_op_branch_pct", SONDE_METRIC_INSTRUCTIONS},
	/*
	 * The divisor also has stores, but a weight can only be a product, not a sum. Everything spilled is loaded at
	 * least once.
	 */
	{"derived__local_spilling_requests_pct", "sass__inst_executed_local_loads"},
};

/*
 * Weighs a ratio by the counter it divides by, which is found from its name: `X_per_Y` divides by Y,
 * `t_sector_op_read_hit_rate` by `t_sectors_op_read`.
 */
static bool weigh_by_denominator(
	const struct sonde_capture *c, struct sonde_rollup *p, struct sonde_str name)
{
	struct sonde_str unit = name_unit(name), rest;
	char lookups[256];
	size_t i;

	for (i = 0; i < sizeof(dividers) / sizeof(dividers[0]); i++)
		if (sonde_str_is(name, dividers[i].ratio)) {
			set_weight(p, metric_of(c, dividers[i].by), SONDE_NONE, SONDE_QUALITY_EXACT);
			return p->weight[0] != SONDE_NONE;
		}
	if (!unit.n)
		return false;
	rest.p = unit.p + unit.n + strlen("__");
	rest.n = (size_t)(name.p + name.n - rest.p);
	if (rest.n > sizeof(lookups) - 8)
		return false;
	rest.n = sonde_str_find(rest, '.');
	for (i = rest.n; i-- > 0;)
		if (rest.n - i > 5 && memcmp(rest.p + i, "_per_", 5) == 0)
			return weigh_by_counter(
				c, p, unit, (struct sonde_str){rest.p + i + 5, rest.n - i - 5});
	if (sonde_str_ends(rest, "_hit_rate"))
		rest.n -= strlen("_hit_rate");
	else if (sonde_str_ends(rest, "_success_rate"))
		rest.n -= strlen("_success_rate");
	else
		return false;
	if (sonde_str_starts(rest, "average_"))
		rest = (struct sonde_str){rest.p + 8, rest.n - 8};
	for (i = 0; i + 6 <= rest.n; i++) {
		struct sonde_str head = {rest.p, i + 6};

		if (memcmp(rest.p + i, "sector", 6) != 0)
			continue;
		snprintf(lookups, sizeof(lookups), "%.*ss%.*s", SONDE_STR_ARG(head),
			(int)(rest.n - i - 6), rest.p + i + 6);
		return weigh_by_counter(c, p, unit, sonde_str_from(lookups));
	}
	return weigh_by_counter(c, p, unit, rest);
}

static void choose_weight(const struct sonde_capture *c, struct sonde_rollup *p,
	const struct sonde_rule *rule, struct sonde_str name)
{
	struct sonde_str unit = name_unit(name);

	switch (rule->weight) {
	case SONDE_WEIGHT_ELAPSED:
		if (weigh_by_elapsed(c, p, unit, SONDE_QUALITY_EXACT))
			return;
		break;
	case SONDE_WEIGHT_ACTIVE:
		if (weigh_by_cycles(c, p, unit, "active", SONDE_QUALITY_EXACT))
			return;
		if (sonde_str_is(unit, "smsp") &&
			weigh_by_cycles(c, p, SONDE_STR("sm"), "active", SONDE_QUALITY_APPROX))
			return;
		if (weigh_by_elapsed(c, p, unit, SONDE_QUALITY_APPROX))
			return;
		break;
	case SONDE_WEIGHT_DENOMINATOR:
		if (weigh_by_denominator(c, p, name))
			return;
		break;
	case SONDE_WEIGHT_TIME:
		weigh_by_time(c, p, rule->quality);
		return;
	default:
		return;
	}
	/* Time replaces the cycles of one instance, or the lookups of all instances together. */
	p->per_instance = rule->weight != SONDE_WEIGHT_DENOMINATOR;
	weigh_by_time(c, p, SONDE_QUALITY_APPROX);
}

/* How the figure is computed, in words for people, with the weight that was found. */
static const char *method_words(
	const struct sonde_rollup *p, const struct sonde_map *names, struct sonde_arena *arena)
{
	static const char *const plain[] = {[SONDE_METHOD_SUM] = "sum",
		[SONDE_METHOD_MAX] = "max",
		[SONDE_METHOD_UPPER] = "sum of max: upper bound",
		[SONDE_METHOD_LOWER] = "sum of min: lower bound",
		[SONDE_METHOD_SAME] = "constant",
		[SONDE_METHOD_MODE] = "most frequent value"};
	const char *what = p->method == SONDE_METHOD_PEAK && p->constituents.nr
				   ? "max of constituents' means"
				   : "mean";
	struct sonde_str s, a, b;

	if (p->method != SONDE_METHOD_MEAN && p->method != SONDE_METHOD_PEAK)
		return plain[p->method];
	if (p->weight[0] == SONDE_NONE)
		return "mean weighted by time";
	a = names->keys[p->weight[0]];
	if (sonde_str_is(a, TIME) && p->weight[1] == SONDE_NONE)
		a = SONDE_STR("time");
	b = p->weight[1] == SONDE_NONE ? SONDE_STR("") : SONDE_STR(" x time");
	s = sonde_arena_printf(arena, "%s weighted by %.*s%s", what, SONDE_STR_ARG(a), b.p);
	return s.p ? s.p : "mean";
}

/* The `.avg` of a `.max` or `.min`. Any input may have it: a launch without it gets no bound anyway. */
static uint32_t average_of(const struct sonde_map *names, struct sonde_str name)
{
	char average[512];
	int n = snprintf(average, sizeof(average), "%.*s.avg", (int)name.n - 4, name.p);

	return n > 0 && (size_t)n < sizeof(average) ? sonde_map_find(names, sonde_str_from(average))
						    : SONDE_NONE;
}

struct sonde_rollup sonde_rollup_for(
	const struct sonde_capture *c, uint32_t metric, struct sonde_arena *arena)
{
	struct sonde_str name = c->names->keys[metric];
	const struct sonde_rule *rule = sonde_rule_for(name);
	struct sonde_rollup p = {.metric = metric,
		.method = rule->method,
		.quality = rule->quality,
		.weight = {SONDE_NONE, SONDE_NONE},
		.sibling = SONDE_NONE,
		.next = SONDE_NONE};

	choose_weight(c, &p, rule, name);
	if (p.method == SONDE_METHOD_PEAK)
		p.quality = SONDE_QUALITY_BOUND; /* until its constituents are found */
	p.is_lower = sonde_str_glob(name, SONDE_STR("*.min.*"));
	if ((p.method == SONDE_METHOD_MEAN || p.method == SONDE_METHOD_PEAK) &&
		p.quality == SONDE_QUALITY_EXACT &&
		(p.is_lower || sonde_str_glob(name, SONDE_STR("*.max.*"))))
		p.quality = SONDE_QUALITY_BOUND; /* the largest or smallest instance may be another one in each
						    launch */
	if (p.method == SONDE_METHOD_UPPER || p.method == SONDE_METHOD_LOWER)
		p.sibling = average_of(c->names, name);
	p.says[0] = method_words(&p, c->names, arena);
	p.says[1] = "mean weighted by time";
	return p;
}

bool sonde_rollup_same_constituents(const struct sonde_rollup *a, const struct sonde_rollup *b)
{
	size_t nr = a->constituents.nr;

	return nr == b->constituents.nr && (!nr || memcmp(a->constituents.at, b->constituents.at,
							   nr * sizeof(*a->constituents.at)) == 0);
}
