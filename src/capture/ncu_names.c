#include "capture/ncu_names.h"

#include "catalogue/attributes.h"
#include "base/nearest.h"

#include <ctype.h>
#include <string.h>

#define ASK_MS 60000

static void add_name(struct sonde_ncu_names *o, struct sonde_map *to, struct sonde_str name)
{
	struct sonde_str copy = sonde_arena_dup(&o->arena, name);

	if (copy.p)
		sonde_map_add(to, copy, NULL);
}

static struct sonde_str first_word(struct sonde_str line)
{
	size_t n;

	for (n = 0; n < line.n && !isspace((unsigned char)line.p[n]); n++)
		;
	return (struct sonde_str){line.p, n};
}

/* ncu's tables: a line of dashes, the headings, another line of dashes, then one row per line. */
static void read_table(struct sonde_ncu_names *o, struct sonde_map *to, struct sonde_str text)
{
	unsigned nr_rules = 0;

	while (text.n) {
		struct sonde_str line = sonde_str_cut(text, '\n', &text), word;

		if (sonde_str_starts(line, "---")) {
			nr_rules++;
			continue;
		}
		if (sonde_str_starts(line, "Device ") || sonde_str_starts(line, "==")) {
			nr_rules = 0; /* metrics have one table per chip, after a line that names the chip */
			continue;
		}
		word = first_word(line);
		if (nr_rules >= 2 && word.n && (isalpha((unsigned char)word.p[0])))
			add_name(o, to, word);
	}
}

static void ask_ncu(struct sonde_ncu_names *o, struct sonde_map *to, char *const *argv)
{
	struct sonde_buf text = {0};
	int status = 0;

	if (sonde_tool_output(&text, &status, argv, ASK_MS, NULL) == 0 && status == 0)
		read_table(o, to, sonde_buf_view(&text));
	sonde_buf_release(&text);
}

static void ask_list(struct sonde_ncu_names *o, struct sonde_map *to, const struct sonde_tool *ncu,
	const char *option)
{
	struct sonde_argv a = {0};

	sonde_argv_pair(&a, ncu->path, option);
	if (!a.failed)
		ask_ncu(o, to, a.words.at);
	sonde_argv_release(&a);
}

static void ask_metrics(struct sonde_ncu_names *o, const struct sonde_tool *ncu, const char *chip)
{
	struct sonde_argv a = {0};
	char lower[32];
	size_t i;

	sonde_argv_pair(&a, ncu->path, "--query-metrics");
	if (chip) {
		for (i = 0; chip[i] && i < sizeof(lower) - 1; i++)
			lower[i] = (char)tolower((unsigned char)chip[i]);
		lower[i] = '\0';
		sonde_argv_pair(&a, "--chips", lower);
	}
	if (!a.failed)
		ask_ncu(o, &o->metrics, a.words.at);
	sonde_argv_release(&a);
}

/* Names that every ncu since 2021 has. They are not checked, because asking ncu takes a second. */
static bool is_common(const char *name)
{
	static const char *const common[] = {"SpeedOfLight", "MemoryWorkloadAnalysis", "Occupancy",
		"SchedulerStats", "LaunchStats", "ComputeWorkloadAnalysis", "WarpStateStats",
		"InstructionStats", "SourceCounters", "basic", "detailed", "full", "roofline",
		"none", ""};
	size_t i;

	for (i = 0; i < sizeof(common) / sizeof(*common); i++)
		if (strcmp(common[i], name) == 0)
			return true;
	return false;
}

void sonde_ncu_names_open(struct sonde_ncu_names *out, const struct sonde_tool *ncu,
	const struct sonde_ncu_request *q, const char *chip, bool with_metrics)
{
	bool asks_sections = false;
	size_t i;

	*out = (struct sonde_ncu_names){0};
	for (i = 0; i < q->sections.nr; i++)
		asks_sections |= !is_common(q->sections.at[i]);
	if (asks_sections)
		ask_list(out, &out->sections, ncu, "--list-sections");
	if (q->set && !is_common(q->set))
		ask_list(out, &out->sets, ncu, "--list-sets");
	if (with_metrics)
		ask_metrics(out, ncu, chip);
}

void sonde_ncu_names_release(struct sonde_ncu_names *o)
{
	sonde_map_release(&o->sections);
	sonde_map_release(&o->sets);
	sonde_map_release(&o->metrics);
	sonde_arena_release(&o->arena);
}

/* Whether the word means something else than one entry of ncu's lists. */
static bool is_pattern(struct sonde_str word)
{
	return sonde_str_starts(word, "regex:") || sonde_str_starts(word, "group:") ||
	       sonde_str_starts(word, "breakdown:") || sonde_str_starts(word, "pmsampling:") ||
	       sonde_str_starts(word, "launch__") || sonde_str_starts(word, SONDE_ATTR_PREFIX) ||
	       sonde_str_starts(word, "profiler__");
}

/* `list` is the option with which ncu lists all names of this kind. */
static int check_name(const struct sonde_map *have, const char *kind, const char *list,
	struct sonde_str word, struct sonde_err *err)
{
	struct sonde_nearest near = {.word = word, .below = (unsigned)word.n / 3 + 2};
	size_t i;

	if (have->nr == 0 || is_pattern(word) || sonde_map_find(have, word) != SONDE_NONE)
		return 0;
	for (i = 0; i < have->nr; i++)
		sonde_nearest_offer(&near, have->keys[i]);
	if (near.best.n)
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"ncu here has no %s '%.*s', did you mean '%.*s'?", kind,
			SONDE_STR_ARG(word), SONDE_STR_ARG(near.best));
	return sonde_err_set(err, SONDE_ERR_NOTFOUND, "ncu here has no %s '%.*s': `ncu --%s` lists those it has",
		kind, SONDE_STR_ARG(word), list);
}

int sonde_ncu_names_check(const struct sonde_ncu_names *o, const struct sonde_ncu_request *q, size_t *metric,
	struct sonde_err *err)
{
	struct sonde_str rest;
	size_t i;
	int rc = 0;

	for (i = 0; i < q->sections.nr && rc == 0; i++)
		rc = check_name(&o->sections, "section", "list-sections",
			sonde_str_from(q->sections.at[i]), err);
	if (rc == 0 && q->set && strcmp(q->set, "none") != 0)
		rc = check_name(&o->sets, "set", "list-sets", sonde_str_from(q->set), err);
	if (rc)
		return SONDE_ERR_USAGE;
	for (i = 0; i < q->metrics.nr && rc == 0; *metric = i++)
		rc = check_name(&o->metrics, "metric", "query-metrics",
			sonde_str_cut(sonde_str_from(q->metrics.at[i]), '.', &rest), err);
	return rc;
}
