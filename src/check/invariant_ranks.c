/* Ranks side by side: what the figures of a rank and of a region over ranks must be to each other. */
#include "check/validate_int.h"

static bool differs(double a, double b)
{
	return sonde_invariant__exceeds(a, b) || sonde_invariant__exceeds(b, a);
}

/* "slower_pct" of anything is `ms` against `others_ms`. */
static bool is_slower_by(const json_t *of, const char *ms)
{
	return !differs(100 + sonde_invariant__number(of, "slower_pct"),
		100 * sonde_invariant__number(of, ms) / sonde_invariant__number(of, "others_ms"));
}

int sonde_invariant__spread(struct sonde_validation *v, const json_t *region)
{
	const json_t *s = json_object_get(region, "ranks");
	double least = sonde_invariant__number(s, "min_ms"), middle = sonde_invariant__number(s, "median_ms"),
	       most = sonde_invariant__number(s, "max_ms");
	size_t mark;

	if (!s)
		return 0;
	mark = sonde_validation__key(v, "ranks");
	if (sonde_invariant__exceeds(least, middle) || sonde_invariant__exceeds(middle, most))
		return sonde_invariant__fail(v, "median_ms", "is not between min_ms and max_ms");
	if (!is_slower_by(s, "max_ms"))
		return sonde_invariant__fail(v, "slower_pct", "is not max_ms against others_ms");
	sonde_validation__leave(v, mark);
	return 0;
}

static int check_stragglers(struct sonde_validation *v, const json_t *ranks)
{
	const json_t *s;
	size_t i, mark = sonde_validation__key(v, "stragglers");

	json_array_foreach(json_object_get(ranks, "stragglers"), i, s)
	{
		size_t at = sonde_validation__index(v, i);

		if (!is_slower_by(s, "ms"))
			return sonde_invariant__fail(v, "slower_pct", "is not ms against others_ms");
		sonde_validation__leave(v, at);
	}
	sonde_validation__leave(v, mark);
	return 0;
}

static int check_rows(struct sonde_validation *v, const json_t *ranks)
{
	const json_t *rows = json_object_get(ranks, "per_rank"), *row;
	double nr_clocks = (double)json_array_size(json_object_get(ranks, "clocks"));
	size_t i, mark;

	if (sonde_invariant__number(ranks, "count") != (double)json_array_size(rows))
		return sonde_invariant__fail(v, "count", "is not how many there are in per_rank");
	mark = sonde_validation__key(v, "per_rank");
	json_array_foreach(rows, i, row)
	{
		size_t at = sonde_validation__index(v, i);

		if (sonde_invariant__number(row, "last") > sonde_invariant__number(row, "collectives"))
			return sonde_invariant__fail(v, "last", "is more than collectives");
		if (sonde_invariant__exceeds(
			    sonde_invariant__number(row, "exposed_comm_ms"), sonde_invariant__number(row, "comm_ms")))
			return sonde_invariant__fail(v, "exposed_comm_ms", "is more than comm_ms");
		if (sonde_invariant__number(row, "clock") >= nr_clocks)
			return sonde_invariant__fail(v, "clock", "is none of clocks");
		sonde_validation__leave(v, at);
	}
	sonde_validation__leave(v, mark);
	return 0;
}

static int check_collectives(struct sonde_validation *v, const json_t *ranks)
{
	const json_t *c = json_object_get(ranks, "collectives"), *group;
	double compared = 0, odd = 0;
	size_t i, mark = sonde_validation__key(v, "collectives");

	json_array_foreach(json_object_get(c, "groups"), i, group)
	{
		compared += sonde_invariant__number(group, "compared");
		odd += sonde_invariant__number(group, "odd");
	}
	if (compared != sonde_invariant__number(c, "compared") || odd != sonde_invariant__number(c, "odd"))
		return sonde_invariant__fail(v, "groups", "do not sum up to compared and odd");
	sonde_validation__leave(v, mark);
	return 0;
}

int sonde_invariant__ranks(struct sonde_validation *v, const json_t *document)
{
	const json_t *ranks = json_object_get(document, "ranks");
	size_t mark;
	int rc;

	if (!ranks)
		return 0;
	mark = sonde_validation__key(v, "ranks");
	rc = check_stragglers(v, ranks);
	if (rc == 0)
		rc = check_rows(v, ranks);
	if (rc == 0)
		rc = check_collectives(v, ranks);
	if (rc == 0)
		sonde_validation__leave(v, mark);
	return rc;
}
