/* Hardware counters beside the native capture: the sampler's beginning and end. */
#include "capture/local.h"
#include "cli/run_int.h"
#include "sample/sampler.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Why there are none goes to the user and into the report. */
static void say_none(struct sonde_run *r, const char *why)
{
	sonde_say("no hardware counters: %s", why);
	sonde_note(&r->notes, "no hardware counters, times only: %s", why);
}

static bool is_wanted(const struct sonde_run *r)
{
	const struct sonde_capture_settings *set = &r->set;

	if (set->counters_names.nr)
		return true;
	if (strcmp(set->counters_set, "auto") == 0)
		return sonde_sampler_has_gpu() &&
		       !(set->native_cupti && strcmp(set->native_cupti, "off") == 0);
	return strcmp(set->counters_set, "off") != 0;
}

/* Every program of this run has it in its environment, those of other ranks too. */
static const char *mark_of(struct sonde_run *r, const char *dir)
{
	char whole[PATH_MAX];

	return realpath(dir, whole)
		       ? sonde_arena_printf(&r->arena, "SONDE_INJECT_CONFIG=%s/inject.conf", whole)
				 .p
		       : NULL;
}

struct sonde_sampler *sonde_run_counters_start(
	struct sonde_run *r, const char *dir, const struct sonde_local *local)
{
	const char *set = strcmp(r->set.counters_set, "auto") == 0 ? "basic" : r->set.counters_set;
	bool has_names = r->set.counters_names.nr > 0;
	const struct sonde_sampler_spec spec = {.dir = dir,
		.env = r->env,
		.lock_dir = local->owner >= 0 ? local->root : NULL,
		.mark = local->owner >= 0 ? local->mark : mark_of(r, dir),
		.sampling = {.counters = has_names ? r->set.counters_names.at : &set,
			.nr_counters = has_names ? r->set.counters_names.nr : 1,
			.interval_ns = r->set.counters_interval_ns,
			.burst_ns = r->set.counters_burst_ns}};
	struct sonde_sampler *sampler = NULL;
	struct sonde_err why = {0};

	if (!is_wanted(r))
		return NULL;
	if (sonde_sampler_start(&sampler, &spec, &why))
		say_none(r, why.msg);
	return sampler;
}

void sonde_run_counters_end(struct sonde_run *r, struct sonde_sampler *sampler)
{
	struct sonde_sampler_end end = {0};
	size_t i;

	sonde_sampler_end(sampler, &end);
	for (i = 0; i < end.nr; i++) {
		if (end.devices[i].has_failed)
			say_none(r, end.devices[i].says);
		else if (!r->is_quiet)
			sonde_say("%s", end.devices[i].says);
	}
}
