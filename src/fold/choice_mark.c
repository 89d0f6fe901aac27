/* Marks the metrics and sections of a capture that are chosen (choice.h). */
#include "fold/choice.h"

#include "base/glob.h"

#include "catalogue/metrics.h"
#include "fold/rule.h"

/*
 * Half-precision instructions outside the tensor cores may keep the tensor pipe busy too, so the
 * metrics by kind of tensor operation come first.
 */
const char *const sonde_tensor_patterns[SONDE_NR_TENSOR] = {
	"sm__pipe_tensor_*_cycles_active.avg*",
	SONDE_COUNTER_TENSOR ".avg*",
	SONDE_COUNTERS_TENSOR_INSTRUCTIONS "*.sum",
};

static const char pseudo_section[] = "section0"; /* Nsight's name for metrics given by --metrics */

/* Metrics without a role that reports need: for the time of copies, the roofline and kernel tables. */
static const char *const judged[] = {
	SONDE_METRIC_TIME,
	SONDE_METRIC_COPIED,
	SONDE_METRIC_GRID,
	SONDE_METRIC_BLOCK,
	SONDE_METRIC_THREADS,
	SONDE_METRIC_REGISTERS,
	SONDE_METRIC_SHARED "*",
	SONDE_METRICS_TENSOR_FLOP,
	SONDE_COUNTER_DRAM "*.sum.per_second",
};

static bool is_judged(struct sonde_str metric)
{
	size_t i, k;

	if (sonde_metric_is_flop(metric))
		return true;
	for (i = 0; i < sizeof(judged) / sizeof(judged[0]); i++)
		if (sonde_str_glob(metric, sonde_str_from(judged[i])))
			return true;
	for (i = 0; i < SONDE_NR_ROLES; i++)
		for (k = 0; k < SONDE_ROLE_METRICS && sonde_metric_roles[i].at[k].name; k++)
			if (sonde_str_is(metric, sonde_metric_roles[i].at[k].name))
				return true;
	return false;
}

bool sonde_choice_is_brief(struct sonde_str metric)
{
	return is_judged(metric) || sonde_str_ends(metric, "__cycles_elapsed.avg.per_second");
}

/* Whether a metric is in the default choice, apart from those that sections list. */
static bool is_default(
	const struct sonde_choice *c, const struct sonde_offer *from, struct sonde_str name)
{
	if (c->headline_only)
		return sonde_choice_is_brief(name);
	if (from->is_partial || !from->nr_sections)
		return !sonde_rule_for(name)->on_request;
	return is_judged(name);
}

static void mark_section(const struct sonde_offer *from, const struct sonde_section *s, bool *wanted)
{
	size_t i;

	for (i = 0; i < s->metrics.nr; i++) {
		uint32_t m =
			sonde_map_find(from->metrics, from->strings->keys[s->metrics.at[i]]);

		if (m != SONDE_NONE)
			wanted[m] = true;
	}
}

/* Whether this input lacks a section that the user named. It may have the metrics of that section nevertheless;
 * only another input knows which they are, so all are kept for now. */
static bool is_short(const struct sonde_choice *c, const struct sonde_offer *from,
	const struct sonde_name_filter *sections)
{
	size_t i, k;

	for (i = 0; i < c->sections.nr && from->is_partial; i++) {
		for (k = 0; k < from->nr_sections; k++)
			if (sonde_name_filter_word_takes(sections, i, from->sections[k].id))
				break;
		if (k == from->nr_sections)
			return true;
	}
	return false;
}

static void mark_chosen(const struct sonde_choice *c, const struct sonde_offer *from,
	const struct sonde_name_filter *metrics, const struct sonde_name_filter *sections,
	bool *wanted, bool *take)
{
	bool is_unnamed = c->metrics.nr == 0 && c->sections.nr == 0, is_taken, lists;
	bool by_default = (is_unnamed || c->adds_default) && !c->takes_all;
	bool keeps = is_short(c, from, sections);
	size_t i;

	for (i = 0; i < from->metrics->nr; i++) {
		struct sonde_str name = from->metrics->keys[i];

		wanted[i] = c->takes_all || (by_default && is_default(c, from, name)) ||
			    (c->metrics.nr && sonde_name_filter_takes(metrics, name)) ||
			    (keeps && !sonde_rule_for(name)->on_request) ||
			    (c->also && sonde_str_is(name, c->also));
	}
	for (i = 0; i < from->nr_sections; i++) {
		struct sonde_str id = from->sections[i].id;
		bool is_pseudo = sonde_str_is(id, pseudo_section);

		is_taken = c->sections.nr ? sonde_name_filter_takes(sections, id)
					  : (by_default || c->takes_all) && !is_pseudo;
		lists = is_taken || (by_default && is_pseudo);
		if (lists && !(by_default && c->headline_only))
			mark_section(from, &from->sections[i], wanted);
		if (take)
			take[i] = is_taken;
	}
}

int sonde_choice_mark(const struct sonde_choice *c, const struct sonde_offer *from, bool *wanted,
	bool *take, struct sonde_err *err)
{
	struct sonde_name_filter *metrics = NULL, *sections = NULL;
	int rc = sonde_name_filter_build(&metrics, c->metrics, err);

	if (rc == 0)
		rc = sonde_name_filter_build(&sections, c->sections, err);
	if (rc == 0)
		mark_chosen(c, from, metrics, sections, wanted, take);
	sonde_name_filter_free(metrics);
	sonde_name_filter_free(sections);
	return rc;
}

void sonde_choice_mark_tensor(const struct sonde_map *metrics, bool *wanted)
{
	size_t i, k;

	for (i = 0; i < metrics->nr; i++)
		if (wanted[i] && sonde_metric_is_flop(metrics->keys[i]))
			break;
	if (i == metrics->nr)
		return;
	for (i = 0; i < metrics->nr; i++)
		for (k = 0; k < SONDE_NR_TENSOR; k++)
			wanted[i] |= sonde_str_glob(
				metrics->keys[i], sonde_str_from(sonde_tensor_patterns[k]));
}
