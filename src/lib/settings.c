#include "lib/settings.h"

#include "catalogue/metrics.h"

#define CLI "pipeline.ncu.ncu_cli."

static int read_list(struct sonde_word_list *into, const struct hydra_config *c, const char *key,
	struct sonde_words *out, struct sonde_err *err)
{
	const struct sonde_str *items;
	size_t i, nr = hydra_config_list(c, key, &items);

	for (i = 0; i < nr; i++)
		if (!sonde_vec_put(into, items[i].p)) /* NUL-terminated, as config.h promises */
			return sonde_err_nomem(err);
	*out = (struct sonde_words){into->at, into->nr};
	return 0;
}

/* Nobody set this key on the command line, so it is no mistake if the capture does not have it. */
static bool is_default(const struct hydra_config *c, const char *key)
{
	return !sonde_str_starts(hydra_config_origin(c, key), "override");
}

static size_t limit_of(int64_t n)
{
	return n > 0 ? (size_t)n : SONDE_NO_LIMIT;
}

static enum sonde_columns_view view_named(struct sonde_str name)
{
	return sonde_str_is(name, "idle")     ? SONDE_VIEW_IDLE
	       : sonde_str_is(name, "memory") ? SONDE_VIEW_MEMORY
	       : sonde_str_is(name, "ranks")  ? SONDE_VIEW_RANKS
	       : sonde_str_is(name, "stalls") ? SONDE_VIEW_STALLS
					      : SONDE_VIEW_COST;
}

static enum sonde_sort sort_named(struct sonde_str word)
{
	if (sonde_str_is(word, "time"))
		return SONDE_SORT_TIME;
	if (sonde_str_is(word, "launches"))
		return SONDE_SORT_LAUNCHES;
	return sonde_str_is(word, "name") ? SONDE_SORT_NAME : SONDE_SORT_ORDER;
}

/* False if ncu compares the patterns with other names than sonde does: `regex:` patterns match function names. */
static bool is_comparable(const struct hydra_config *c)
{
	const struct sonde_str *names;
	size_t i, nr = hydra_config_list(c, CLI "kernel_name", &names);

	if (sonde_str_is(hydra_config_str(c, CLI "kernel_name_base"), "demangled"))
		return true;
	for (i = 0; i < nr; i++)
		if (sonde_str_starts(names[i], "regex:"))
			return false;
	return true;
}

static bool uses_capture_list(const struct hydra_config *c, enum sonde_capture_lists when, const char *key)
{
	if (!key || when == SONDE_CAPTURE_LISTS_NEVER)
		return false;
	return when == SONDE_CAPTURE_LISTS_ALWAYS || !is_default(c, key);
}

/* `all` and `default` in the list of metrics are choices, not names of metrics. */
static void read_choices(struct sonde_choice *c, struct sonde_word_list *metrics)
{
	size_t i, nr = 0;

	for (i = 0; i < metrics->nr; i++) {
		struct sonde_str word = sonde_str_from(metrics->at[i]);

		if (sonde_str_is(word, "all"))
			c->takes_all = true;
		else if (sonde_str_is(word, "default"))
			c->adds_default = true;
		else
			metrics->at[nr++] = metrics->at[i];
	}
	metrics->nr = nr;
	c->metrics = (struct sonde_words){metrics->at, nr};
}

/* Replaces metrics of nvprof by their successors, which the capture has in their place. */
static bool replace_by_successors(struct sonde_word_list *metrics)
{
	struct sonde_word_list now = {0};
	bool ok = true;
	size_t i, k;

	for (i = 0; i < metrics->nr && ok; i++) {
		struct sonde_words to = sonde_metric_successors(metrics->at[i]);

		for (k = 0; k < to.nr && ok; k++)
			ok = sonde_word_list_add(&now, to.at[k]);
		if (!to.nr)
			ok = sonde_word_list_add(&now, metrics->at[i]);
	}
	sonde_vec_release(metrics);
	*metrics = now;
	return ok;
}

/* The list was already applied by the capture that the report reads. */
static void mark_applied(struct sonde_selection *s, const struct hydra_config *c, const struct sonde_words *list)
{
	s->is_include_applied |= list == &s->nvtx_include && hydra_config_bool(c, "pipeline.ncu.gating_nvtx");
	s->is_exclude_applied |= list == &s->nvtx_exclude;
	s->is_kernels_applied |= list == &s->kernel_include;
}

static int read_lists(struct sonde_settings *s, const struct hydra_config *c,
	enum sonde_capture_lists when, struct sonde_err *err)
{
	const struct sonde_str *items;
	bool chooses_metrics = hydra_config_list(c, "report.metrics", &items) ||
			       hydra_config_list(c, "report.sections", &items);
	const struct {
		const char *key, *capture_key;
		struct sonde_words *out;
	} lists[] = {
		{"report.nvtx.include", CLI "nvtx.include", &s->fold.selection.nvtx_include},
		{"report.nvtx.exclude", CLI "nvtx.exclude", &s->fold.selection.nvtx_exclude},
		{"report.kernels.include",
			when == SONDE_CAPTURE_LISTS_ALWAYS || is_comparable(c) ? CLI "kernel_name" : NULL,
			&s->fold.selection.kernel_include},
		{"report.kernels.exclude", CLI "kernel_exclude", &s->fold.selection.kernel_exclude},
		{"report.metrics", chooses_metrics ? NULL : CLI "metrics", &s->fold.choice.metrics},
		{"report.sections", chooses_metrics ? NULL : CLI "sections",
			&s->fold.choice.sections},
		{"report.labels", NULL, &s->fold.selection.labels},
		{"report.scope", NULL, &s->options.scopes},
		{"report.formats", NULL, &s->options.formats},
	};
	size_t i;
	int rc = 0;

	for (i = 0; i < sizeof(lists) / sizeof(lists[0]) && rc == 0; i++) {
		rc = read_list(&s->lists[i], c, lists[i].key, lists[i].out, err);
		if (lists[i].out == &s->fold.choice.metrics && s->lists[i].nr) {
			read_choices(&s->fold.choice, &s->lists[i]);
			continue;
		}
		if (rc || s->lists[i].nr || !uses_capture_list(c, when, lists[i].capture_key))
			continue;
		rc = read_list(&s->lists[i], c, lists[i].capture_key, lists[i].out, err);
		if (rc == 0 && lists[i].out == &s->fold.choice.metrics && !replace_by_successors(&s->lists[i]))
			rc = sonde_err_nomem(err);
		*lists[i].out = (struct sonde_words){s->lists[i].at, s->lists[i].nr};
		if (when == SONDE_CAPTURE_LISTS_ALWAYS)
			mark_applied(&s->fold.selection, c, lists[i].out);
	}
	return rc;
}

static enum sonde_kineto_regions kineto_regions(struct sonde_str word)
{
	return sonde_str_is(word, "annotations") ? SONDE_KINETO_ANNOTATIONS
	       : sonde_str_is(word, "modules")	 ? SONDE_KINETO_MODULES
	       : sonde_str_is(word, "ops")	 ? SONDE_KINETO_OPS
						 : SONDE_KINETO_AUTO;
}

/* Reads "all", "none" or a number. */
static int read_folders(
	struct sonde_export_options *o, struct sonde_str word, struct sonde_err *err)
{
	uint64_t n;

	o->no_folders = sonde_str_is(word, "none") || sonde_str_is(word, "0");
	o->max_folders = SONDE_NO_LIMIT;
	if (o->no_folders || sonde_str_is(word, "all"))
		return 0;
	if (!sonde_str_u64(word, &n))
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"report.folders must be all, none or a number, not '%.*s'",
			SONDE_STR_ARG(word));
	o->max_folders = n;
	return 0;
}

static int read_findings(struct sonde_export_options *o, struct sonde_str word, struct sonde_err *err)
{
	uint64_t n = 0;

	o->no_findings = sonde_str_is(word, "none") || sonde_str_is(word, "0");
	o->max_findings = SONDE_NO_LIMIT;
	if (o->no_findings || sonde_str_is(word, "all"))
		return 0;
	if (!sonde_str_u64(word, &n))
		return sonde_err_set(err, SONDE_ERR_USAGE, "report.findings must be all, none or a number, not '%.*s'",
			SONDE_STR_ARG(word));
	o->max_findings = n;
	return 0;
}

int sonde_settings_read(struct sonde_settings *s, const struct hydra_config *c,
	enum sonde_capture_lists when, struct sonde_err *err)
{
	bool is_named = when == SONDE_CAPTURE_LISTS_IF_SET;
	int rc = read_lists(s, c, when, err);

	s->fold.read.kineto_regions = kineto_regions(hydra_config_str(c, "report.kineto.regions"));
	s->fold.read.kineto_captures = hydra_config_str(c, "report.kineto.captures").p;
	s->fold.read.together = hydra_config_bool(c, "report.together");
	s->fold.selection.stack_only = sonde_str_is(hydra_config_str(c, "report.nesting"), "stack");
	s->fold.selection.own_threads = sonde_str_is(hydra_config_str(c, "report.threads"), "own");
	s->fold.selection.no_origins = sonde_str_is(hydra_config_str(c, "report.origins"), "off");
	s->fold.choice.metrics_by_default =
		is_default(c, "report.metrics") && !(is_named && !is_default(c, CLI "metrics"));
	s->fold.choice.sections_by_default =
		is_default(c, "report.sections") && !(is_named && !is_default(c, CLI "sections"));
	s->fold.choice.step = hydra_config_str(c, "report.step").p;
	s->has_gains = sonde_str_is(hydra_config_str(c, "report.whatif"), "on");
	s->fold.choice.no_aggregate = !hydra_config_bool(c, "report.aggregate");
	s->options.view = view_named(hydra_config_str(c, "report.view"));
	s->options.shows_all = hydra_config_bool(c, "report.all");
	s->options.lists_entries = hydra_config_bool(c, "report.entries");
	s->options.is_flat = hydra_config_bool(c, "report.flat");
	s->options.full_names = hydra_config_bool(c, "report.full_names");
	s->options.per_scope = hydra_config_bool(c, "report.per_scope");
	s->fold.keep = (size_t)hydra_config_int(c, "report.scopes.keep");
	if (s->options.scopes.nr) /* scopes that are asked for must not be added up */
		s->fold.keep = 0;
	s->options.max_regions =
		hydra_config_int(c, "report.max_regions") < 0 ? 0 : limit_of(hydra_config_int(c, "report.max_regions"));
	s->options.max_series = (size_t)hydra_config_int(c, "report.series");
	s->options.max_lines = (size_t)hydra_config_int(c, "report.lines");
	s->options.max_kernels = limit_of(hydra_config_int(c, "report.max_kernels"));
	s->options.sort = sort_named(hydra_config_str(c, "report.sort"));
	if (rc == 0)
		rc = read_findings(&s->options, hydra_config_str(c, "report.findings"), err);
	return rc ? rc : read_folders(&s->options, hydra_config_str(c, "report.folders"), err);
}

void sonde_settings_release(struct sonde_settings *s)
{
	size_t i;

	for (i = 0; i < sizeof(s->lists) / sizeof(s->lists[0]); i++)
		sonde_vec_release(&s->lists[i]);
}

int sonde_settings_record(struct hydra_config *c, struct sonde_sink *yaml, struct sonde_err *err)
{
	const struct hydra_dump how = sonde_config_record(c, HYDRA_PART_JOB, "report");

	return hydra_config_dump(c, yaml, &how, err);
}
