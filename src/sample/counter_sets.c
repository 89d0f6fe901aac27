/*
 * Counters that were asked for → sets of counters that the chip has and that fit into one pass each → configurations
 * of the hardware, which CUPTI's host API makes.
 */
#include "base/alloc.h"
#include "base/nearest.h"
#include "sample/pm_int.h"
#include "sample/roles.h"

#include <string.h>

#define MAX_NAMES 10 /* most names that one counter may have */

/* --- CUPTI's host API -------------------------------------------------------------------------- */

static int open_host(CUpti_Profiler_Host_Object **out, struct sonde_sampling *s, struct sonde_err *err)
{
	CUpti_Profiler_Host_Initialize_Params p = {
		.structSize = CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE,
		.profilerType = CUPTI_PROFILER_TYPE_PM_SAMPLING,
		.pChipName = s->facts.chip,
		.pCounterAvailabilityImage = s->available};
	CUptiResult why = s->pm.cuptiProfilerHostInitialize(&p);

	*out = why ? NULL : p.pHostObject;
	return why ? pm_refuse(&s->pm, "look up the chip's counters", why, err) : 0;
}

void pm_host_close(struct sonde_sampling *s, CUpti_Profiler_Host_Object *host)
{
	CUpti_Profiler_Host_Deinitialize_Params p = {
		.structSize = CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE,
		.pHostObject = host};

	if (host)
		s->pm.cuptiProfilerHostDeinitialize(&p);
}

static CUptiResult add_metrics(
	struct sonde_sampling *s, CUpti_Profiler_Host_Object *host, const char **names, size_t nr)
{
	CUpti_Profiler_Host_ConfigAddMetrics_Params p = {
		.structSize = CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE,
		.pHostObject = host,
		.ppMetricNames = names,
		.numMetrics = nr};

	return s->pm.cuptiProfilerHostConfigAddMetrics(&p);
}

/* Makes the configuration for the counters that were added to `host`; the caller frees it. NULL when CUPTI cannot make one. */
static uint8_t *make_config(
	struct sonde_sampling *s, CUpti_Profiler_Host_Object *host, size_t *size)
{
	CUpti_Profiler_Host_GetConfigImageSize_Params p = {
		.structSize = CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE,
		.pHostObject = host};
	CUpti_Profiler_Host_GetConfigImage_Params image = {
		.structSize = CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE,
		.pHostObject = host};

	if (s->pm.cuptiProfilerHostGetConfigImageSize(&p) != CUPTI_SUCCESS)
		return NULL;
	image.configImageSize = *size = p.configImageSize;
	image.pConfigImage = sonde_malloc(p.configImageSize);
	if (image.pConfigImage && s->pm.cuptiProfilerHostGetConfigImage(&image) != CUPTI_SUCCESS) {
		sonde_free(image.pConfigImage);
		return NULL;
	}
	return image.pConfigImage;
}

static size_t count_passes(struct sonde_sampling *s, uint8_t *config, size_t size)
{
	CUpti_Profiler_Host_GetNumOfPasses_Params p = {
		.structSize = CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE,
		.configImageSize = size,
		.pConfigImage = config};

	return s->pm.cuptiProfilerHostGetNumOfPasses(&p) == CUPTI_SUCCESS ? p.numOfPasses : 0;
}

/*
 * How many passes the counters need together; 0 = the device does not have one of them. We open a host object for
 * each question, since a refused name may leave the object half-configured.
 */
static size_t find_passes(struct sonde_sampling *s, const char **names, size_t nr)
{
	CUpti_Profiler_Host_Object *host = NULL;
	uint8_t *config = NULL;
	size_t size = 0, passes = 0;

	if (open_host(&host, s, NULL) == 0 && add_metrics(s, host, names, nr) == CUPTI_SUCCESS)
		config = make_config(s, host, &size);
	if (config)
		passes = count_passes(s, config, size);
	sonde_free(config);
	pm_host_close(s, host);
	return passes;
}

/* Adds the set's counters to its host object and makes the configuration for the hardware. */
static int configure_set(struct sonde_sampling *s, struct pm_set *set, struct sonde_err *err)
{
	int rc = open_host(&set->host, s, err);
	CUptiResult why;

	if (rc)
		return rc;
	why = add_metrics(s, set->host, set->metrics, set->names.nr);
	if (why)
		return pm_refuse(&s->pm, "choose counters", why, err);
	set->config = make_config(s, set->host, &set->config_size);
	if (!set->config)
		return sonde_err_set(err, SONDE_ERR_IO,
			"CUPTI cannot configure these counters together on %s: ask for fewer", s->facts.chip);
	return 0;
}

/* --- sets -------------------------------------------------------------------------------------- */

/* The groups inside which many counters share a pass, by generation, best first. */
static const char *const groups[] = {"TriageCompute.", "TriageAC.", "TriageSCG.", "TriageA."};

struct choice {
	struct sonde_sampling *s;
	const char **bases; /* the chip's counters, borrowed from `host` */
	size_t nr_bases;
	bool has_extras; /* the set `full` was asked for: also takes counters without a role */
	struct sonde_err *err;
};

/* One counter that is wanted, and the names it may have. */
struct wish {
	const char *role; /* NULL = the counter has no role */
	const char *names[MAX_NAMES];
	size_t nr;
	bool is_extra; /* take the counter only if that needs no further pass */
};

static void add_name(struct choice *c, struct wish *w, struct sonde_str name, const char *ending)
{
	struct sonde_str whole =
		sonde_arena_printf(&c->s->arena, "%.*s%s", SONDE_STR_ARG(name), ending);

	if (w->nr < MAX_NAMES && whole.p)
		w->names[w->nr++] = whole.p;
}

/*
 * Whether `name` is `base` in `group`: `TPC.TriageCompute.sm__cycles_active` is `sm__cycles_active` in the group
 * `TriageCompute.`.
 */
static bool is_in_group(struct sonde_str name, const char *group, const char *base)
{
	size_t nr_base = strlen(base), nr_group = strlen(group), at;

	if (name.n < nr_base + nr_group || !sonde_str_ends(name, base))
		return false;
	at = name.n - nr_base - nr_group;
	return memcmp(name.p + at, group, nr_group) == 0 && (at == 0 || name.p[at - 1] == '.');
}

/* Adds all names that the base name has on this chip; names in groups come first, as they share a pass. */
static void add_base(struct choice *c, struct wish *w, const char *base)
{
	size_t g, i;

	for (g = 0; g <= sizeof(groups) / sizeof(*groups); g++)
		for (i = 0; i < c->nr_bases; i++) {
			struct sonde_str name = sonde_str_from(c->bases[i]);

			if (g < sizeof(groups) / sizeof(*groups)
					? is_in_group(name, groups[g], base)
					: sonde_str_is(name, base))
				add_name(c, w, name, ".sum");
		}
}

static bool has_counter(const struct pm_set *set, const char *name)
{
	uint32_t i;

	for (i = 0; i < set->names.nr; i++)
		if (strcmp(set->metrics[i], name) == 0)
			return true;
	return false;
}

static bool is_taken(const struct sonde_sampling *s, const struct wish *w)
{
	size_t k;
	uint32_t i;

	for (k = 0; k < s->facts.nr_sets; k++)
		for (i = 0; i < s->sets[k].names.nr; i++)
			if (w->role ? sonde_str_is(s->sets[k].names.at[i].role, w->role)
				    : has_counter(&s->sets[k], w->names[0]))
				return true;
	return false;
}

/* Adds the counter `name` to the set if the set still fits into one pass. */
static bool try_name(
	struct sonde_sampling *s, struct pm_set *set, const char *role, const char *name)
{
	uint32_t nr = set->names.nr;

	if (nr == SONDE_COUNTER_LIMIT || has_counter(set, name))
		return false;
	set->metrics[nr] = name;
	if (find_passes(s, set->metrics, nr + 1) != 1)
		return false;
	set->names.at[nr] = (struct sonde_counter_name){
		.role = sonde_str_from(role), .name = sonde_str_from(name)};
	set->names.nr++;
	return true;
}

static bool try_set(struct sonde_sampling *s, struct pm_set *set, const struct wish *w)
{
	size_t i;

	for (i = 0; i < w->nr; i++)
		if (try_name(s, set, w->role, w->names[i]))
			return true;
	return false;
}

static void leave_out(struct choice *c, const struct wish *w)
{
	struct sonde_buf *b = &c->s->facts.left_out;

	if (!w->is_extra)
		sonde_buf_printf(b, "%s%s", b->n ? ", " : "",
			w->role ? w->role
			: w->nr ? w->names[0]
				: "?");
}

static void place_wish(struct choice *c, const struct wish *w)
{
	struct sonde_sampling *s = c->s;
	size_t k;

	if (w->nr && is_taken(s, w))
		return;
	for (k = 0; k < s->facts.nr_sets; k++)
		if (try_set(s, &s->sets[k], w))
			return;
	if (!w->is_extra && s->facts.nr_sets < PM_MAX_SETS) {
		struct pm_set *fresh = &s->sets[s->facts.nr_sets];

		fresh->names = s->sets[0].names; /* the device's description */
		fresh->names.nr = 0;
		fresh->names.set = (uint32_t)s->facts.nr_sets;
		if (try_set(s, fresh, w)) {
			s->facts.nr_sets++;
			return;
		}
	}
	leave_out(c, w);
}

static void place_role(struct choice *c, const struct sonde_role *role, bool is_extra)
{
	struct wish w = {.role = role->name, .is_extra = is_extra};
	size_t i;

	for (i = 0; i < sizeof(role->bases) / sizeof(*role->bases) && role->bases[i]; i++)
		add_base(c, &w, role->bases[i]);
	place_wish(c, &w);
}

/* Places the roles of a set. `full` takes what fits into the passes that there are: none of its counters is worth another turn. */
static void place_set(struct choice *c, struct sonde_str set)
{
	bool is_full = sonde_str_is(set, "full");
	const struct sonde_role *r;

	for (r = sonde_roles; r->name; r++)
		if (sonde_set_has(set, r->name))
			place_role(c, r, is_full);
	c->has_extras |= is_full;
}

/* Places the counters of the chip's compute group that have no role. */
static void place_extras(struct choice *c)
{
	size_t i;

	for (i = 0; c->has_extras && i < c->nr_bases; i++) {
		struct wish w = {.is_extra = true};

		if (!strstr(c->bases[i], groups[0]))
			continue;
		add_name(c, &w, sonde_str_from(c->bases[i]), ".sum");
		place_wish(c, &w);
	}
}

static int refuse_name(struct choice *c, struct sonde_str name)
{
	struct sonde_str rest;
	struct sonde_nearest near = {.word = name, .below = 8};
	const char *ending = "";
	const struct sonde_role *r;
	size_t i;

	for (r = sonde_roles; r->name; r++)
		sonde_nearest_offer(&near, sonde_str_from(r->name));
	near.word = sonde_str_cut(name, '.', &rest);
	for (i = 0; i < c->nr_bases; i++)
		if (sonde_nearest_offer(&near, sonde_str_from(c->bases[i])))
			ending = ".sum";
	return sonde_err_set(c->err, SONDE_ERR_USAGE,
		"%s cannot sample the counter '%.*s'%s%.*s%s%s; sets of counters are %s",
		c->s->facts.chip, SONDE_STR_ARG(name), near.best.n ? ", did you mean '" : "",
		SONDE_STR_ARG(near.best), near.best.n ? ending : "", near.best.n ? "'?" : "",
		sonde_set_names());
}

/* The role that a counter has by NVIDIA's name, so that reports use it; NULL = it has none. */
static const char *role_of(struct sonde_str name)
{
	const struct sonde_role *r;
	size_t i;

	if (sonde_str_ends(name, ".sum"))
		name.n -= strlen(".sum");
	for (r = sonde_roles; r->name; r++)
		for (i = 0; i < sizeof(r->bases) / sizeof(*r->bases) && r->bases[i]; i++)
			if (sonde_str_is(name, r->bases[i]) || is_in_group(name, "", r->bases[i]))
				return r->name;
	return NULL;
}

/* Places what one word asks for: a set, a role, or a counter by NVIDIA's name with or without `.sum`. */
static int place_word(struct choice *c, const char *text)
{
	struct sonde_str word = sonde_str_from(text);
	const struct sonde_role *role = sonde_role_find(word);
	struct wish w = {0};
	size_t i;

	if (sonde_set_is_known(word)) {
		place_set(c, word);
		return 0;
	}
	if (role) {
		place_role(c, role, false);
		return 0;
	}
	for (i = 0; i < c->nr_bases; i++)
		if (sonde_str_is(word, c->bases[i]))
			add_name(c, &w, word, ".sum");
	if (!w.nr) /* the chip may have the counter in a group only */
		add_base(c, &w, text);
	if (!w.nr)
		add_name(c, &w, word, "");
	w.role = role_of(word);
	if (!w.nr || find_passes(c->s, w.names, 1) != 1)
		return refuse_name(c, word);
	place_wish(c, &w);
	return 0;
}

static int choose_sets(struct choice *c)
{
	struct sonde_sampling *s = c->s;
	size_t i;
	int rc = 0;

	s->facts.nr_sets = 1; /* the first set exists from the beginning, and is empty */
	for (i = 0; i < s->q.nr_counters && rc == 0; i++)
		rc = place_word(c, s->q.counters[i]);
	place_extras(c);
	if (rc == 0 && s->arena.failed)
		rc = sonde_err_nomem(c->err);
	if (rc == 0 && s->sets[0].names.nr == 0)
		rc = sonde_err_set(c->err, SONDE_ERR_USAGE,
			"%s can sample none of the counters asked for (%s): ask for the set basic", s->facts.chip,
			s->facts.left_out.n ? s->facts.left_out.p : "none was");
	for (i = 0; i < s->facts.nr_sets && rc == 0; i++)
		rc = configure_set(s, &s->sets[i], c->err);
	return rc;
}

int pm_choose(struct sonde_sampling *s, struct sonde_err *err)
{
	CUpti_Profiler_Host_GetBaseMetrics_Params p = {
		.structSize = CUpti_Profiler_Host_GetBaseMetrics_Params_STRUCT_SIZE,
		.metricType = CUPTI_METRIC_TYPE_COUNTER};
	struct choice c = {.s = s, .err = err};
	CUptiResult why;
	int rc = open_host(&p.pHostObject, s, err);

	if (rc)
		return rc;
	why = s->pm.cuptiProfilerHostGetBaseMetrics(&p);
	c.bases = p.ppMetricNames;
	c.nr_bases = p.numMetrics;
	rc = why ? pm_refuse(&s->pm, "list the chip's counters", why, err) : choose_sets(&c);
	pm_host_close(s, p.pHostObject);
	return rc;
}
