/* The metrics of a finished report: columns and figures as they were written. */
#include "compare/reading_int.h"

#include <string.h>

bool sonde_report__read_columns(
	struct sonde_tree *t, struct sonde_arena *names, const json_t *document)
{
	const json_t *info = json_object_get(document, "metric_info");
	void *at;
	size_t role;

	for (at = json_object_iter((json_t *)(uintptr_t)info); at;
		at = json_object_iter_next((json_t *)(uintptr_t)info, at)) {
		struct sonde_column *c = sonde_vec_push(&t->columns);

		if (!c)
			return false;
		c->name = sonde_arena_dup(names, sonde_str_from(json_object_iter_key(at)));
		if (!c->name.p)
			return false;
		c->methods[0] = sonde_arena_z(
			names, sonde_str_from(json_string_value(
				       json_object_get(json_object_iter_value(at), "method"))));
		c->metric = c->sampled = SONDE_NONE;
		c->unit = sonde_metric_unit(c->name);
	}
	sonde_tree_sort_columns(t);
	for (role = 0; role < SONDE_NR_ROLES; role++) {
		uint32_t column = sonde_tree_role(t, role);

		if (sonde_metric_roles[role].is_headline && column != SONDE_NONE &&
			t->nr_headline < sizeof(t->headline) / sizeof(*t->headline))
			t->headline[t->nr_headline++] = column;
	}
	return true;
}

/* How far it may be trusted: as its region says, else as is said of all. */
static uint8_t quality_of(const json_t *region, const json_t *info, const char *name)
{
	const json_t *own = json_object_get(json_object_get(region, "metric_info"), name);
	const char *word = json_string_value(
		json_object_get(own ? own : json_object_get(info, name), "quality"));
	unsigned q;

	for (q = SONDE_QUALITY_EXACT; q < SONDE_QUALITY_SAMPLED; q++)
		if (word && strcmp(word, sonde_quality_name(q)) == 0)
			break;
	return (uint8_t)q;
}

bool sonde_report__read_figures(const struct sonde_tree *t, struct sonde_report *rep,
	const json_t *region, const json_t *info)
{
	const json_t *values = json_object_get(region, "metrics"),
		     *ranges = json_object_get(region, "metric_ranges");
	size_t i;

	for (i = 0; i < t->columns.nr; i++) {
		const char *name = t->columns.at[i].name.p;
		const json_t *range = json_object_get(ranges, name);
		struct sonde_figure *f = sonde_vec_push(&rep->given);

		if (!f)
			return false;
		*f = (struct sonde_figure){.v = sonde_report__number(values, name),
			.low = sonde_report__number(range, "low"),
			.high = sonde_report__number(range, "high"),
			.error = sonde_report__number(range, "error"),
			.quality = quality_of(region, info, name)};
	}
	return true;
}
