/* Ranks side by side: what the figures of a rank and of a region over ranks must be to each other. */
#include "check/validate_int.h"

/* "slower_pct" of anything is `ms` against `others_ms`. */
static bool is_slower_by(const json_t *of, const char *ms)
{
	return !sonde_invariant__differs(100 + sonde_invariant__number(of, "slower_pct"),
		100 * sonde_invariant__number(of, ms) / sonde_invariant__number(of, "others_ms"));
}

static int check_spread(struct sonde_validation *v, const json_t *s, const json_t *with)
{
	static sonde_limits limits = {{"min_ms", "median_ms"}, {"median_ms", "max_ms"}};
	int rc = SONDE_LIMITS(v, s, limits);

	(void)with;
	if (rc == 0 && !is_slower_by(s, "max_ms"))
		rc = sonde_invariant__fail(v, "slower_pct", "is not max_ms against others_ms");
	return rc;
}

int sonde_invariant__check_spread(struct sonde_validation *v, const json_t *region)
{
	return sonde_invariant__in(v, region, "ranks", check_spread, NULL);
}

static int check_straggler(struct sonde_validation *v, const json_t *s, const json_t *with)
{
	(void)with;
	if (!is_slower_by(s, "ms"))
		return sonde_invariant__fail(v, "slower_pct", "is not ms against others_ms");
	return 0;
}

static int check_row(struct sonde_validation *v, const json_t *row, const json_t *ranks)
{
	static sonde_limits limits = {{"last", "collectives"}, {"exposed_comm_ms", "comm_ms"}};
	int rc = SONDE_LIMITS(v, row, limits);

	if (rc == 0 && sonde_invariant__number(row, "clock") >=
			       (double)json_array_size(json_object_get(ranks, "clocks")))
		rc = sonde_invariant__fail(v, "clock", "is none of clocks");
	return rc;
}

static int check_collectives(struct sonde_validation *v, const json_t *c, const json_t *with)
{
	double compared = 0, odd = 0;
	const json_t *group;
	size_t i;

	(void)with;
	json_array_foreach(json_object_get(c, "groups"), i, group)
	{
		compared += sonde_invariant__number(group, "compared");
		odd += sonde_invariant__number(group, "odd");
	}
	if (compared != sonde_invariant__number(c, "compared") || odd != sonde_invariant__number(c, "odd"))
		return sonde_invariant__fail(v, "groups", "do not sum up to compared and odd");
	return 0;
}

static int check_ranks(struct sonde_validation *v, const json_t *ranks, const json_t *with)
{
	int rc = sonde_invariant__each(v, ranks, "stragglers", check_straggler, NULL);

	(void)with;
	if (rc == 0 && sonde_invariant__number(ranks, "count") !=
			       (double)json_array_size(json_object_get(ranks, "per_rank")))
		rc = sonde_invariant__fail(v, "count", "is not how many there are in per_rank");
	if (rc == 0)
		rc = sonde_invariant__each(v, ranks, "per_rank", check_row, ranks);
	return rc ? rc : sonde_invariant__in(v, ranks, "collectives", check_collectives, NULL);
}

int sonde_invariant__check_ranks(struct sonde_validation *v, const json_t *document)
{
	return sonde_invariant__in(v, document, "ranks", check_ranks, NULL);
}
