/* The arithmetic of comparisons. The schema holds when this is called. */
#include "check/validate_int.h"

#include <math.h>

static double bound(const json_t *region, size_t which)
{
	const json_t *ci = json_object_get(region, "ci");

	return json_is_array(ci) ? json_number_value(json_array_get(ci, which)) : NAN;
}

/* A side is missing exactly when the verdict says so: `added` has no base, `removed` no new side. */
static int check_sides(struct sonde_validation *v, const json_t *region)
{
	bool has_base = json_is_object(json_object_get(region, "base"));
	bool has_new = json_is_object(json_object_get(region, "new"));

	if (has_base == sonde_invariant__is_word(region, "verdict", "added"))
		return sonde_invariant__fail(v, "base", "does not agree with the verdict");
	if (has_new == sonde_invariant__is_word(region, "verdict", "removed"))
		return sonde_invariant__fail(v, "new", "does not agree with the verdict");
	return 0;
}

/* The verdict of a region is that of one of its times, which "time" names. */
static int check_headline(struct sonde_validation *v, const json_t *region)
{
	const char *time = json_string_value(json_object_get(region, "time")),
		   *verdict = json_string_value(json_object_get(region, "verdict"));
	const json_t *of = json_object_get(json_object_get(region, "times"), time);

	if (json_is_object(json_object_get(region, "times")) && !sonde_invariant__is_word(of, "verdict", verdict))
		return sonde_invariant__fail(v, "times", "does not agree with the verdict");
	return 0;
}

static bool is_single(const json_t *region)
{
	return sonde_invariant__number(json_object_get(region, "base"), "runs") < 2 &&
	       sonde_invariant__number(json_object_get(region, "new"), "runs") < 2;
}

static int check_verdict(struct sonde_validation *v, const json_t *region, const json_t *document)
{
	double low = bound(region, 0), high = bound(region, 1);
	double min_effect = sonde_invariant__number(document, "min_effect");
	double ratio = sonde_invariant__number(region, "ratio"),
	       q = sonde_invariant__number(region, "q");
	bool is_likely = sonde_invariant__is_word(region, "verdict", "likely_slower") ||
			 sonde_invariant__is_word(region, "verdict", "likely_faster");
	bool is_slower = sonde_invariant__is_word(region, "verdict", "slower") ||
			 sonde_invariant__is_word(region, "verdict", "likely_slower"),
	     is_faster = sonde_invariant__is_word(region, "verdict", "faster") ||
			 sonde_invariant__is_word(region, "verdict", "likely_faster");

	int rc;

	if (low > high)
		return sonde_invariant__fail(v, "ci", "ends before it begins");
	if ((is_slower && !(low > 1)) || (is_faster && !(high < 1)))
		return sonde_invariant__fail(v, "ci", "does not support the verdict");
	if ((is_slower || is_faster) && !(q < 0.05))
		return sonde_invariant__fail(v, "q", "does not support the verdict");
	if ((is_slower || is_faster) && sonde_invariant__exceeds(min_effect, fabs(ratio - 1)))
		return sonde_invariant__fail(v, "ratio", "is below min_effect");
	if ((is_slower || is_faster) && is_likely != is_single(region))
		return sonde_invariant__fail(v, "verdict", "must be `likely` where both sides have one run, and only there");
	if (sonde_invariant__is_word(region, "verdict", "same") &&
		!(low >= 1 - min_effect - 1e-9 && high <= 1 + min_effect + 1e-9))
		return sonde_invariant__fail(v, "ci", "is wider than `same` allows");
	rc = check_headline(v, region);
	return rc ? rc : check_sides(v, region);
}

static int check_total(struct sonde_validation *v, const json_t *document, const char *verdict)
{
	const json_t *region;
	double count = 0, said = sonde_invariant__number(json_object_get(document, "totals"), verdict);
	size_t i, mark;
	int rc = 0;

	json_array_foreach(json_object_get(document, "regions"), i, region)
	{
		count += sonde_invariant__is_word(region, "verdict", verdict);
	}
	mark = sonde_validation__key(v, "totals");
	if (count != (isnan(said) ? 0 : said)) /* comparisons by older versions have no likely verdicts */
		rc = sonde_invariant__fail(v, verdict, "is not the number of such regions");
	sonde_validation__leave(v, mark);
	return rc;
}

/* How bad a gate's verdict under `key` is, 0 (pass) to 4 (damaged); -1 = there is none. */
static int badness(const json_t *of, const char *key)
{
	static const char *const names[] = {"pass", "insufficient", "not_compared", "fail", "damaged"};
	int i;

	for (i = 0; i < 5; i++)
		if (sonde_invariant__is_word(of, key, names[i]))
			return i;
	return -1;
}

/* The gate's verdict is at least as bad as its worst region's, and the exit status follows from it. */
static int check_gate(struct sonde_validation *v, const json_t *gate, const json_t *document)
{
	static const int statuses[] = {0, 4, 4, 3, 1};
	bool has_losses = json_array_size(json_object_get(document, "losses")) &&
			  !json_is_true(json_object_get(gate, "partial_inputs"));
	int end = badness(gate, "verdict"), worst = -1, status;
	const json_t *region;
	size_t i;

	if (!json_is_object(gate))
		return 0;
	json_array_foreach(json_object_get(document, "regions"), i, region)
	{
		int one = badness(region, "gate");

		worst = one > worst ? one : worst;
	}
	if (end < 0 || end < worst || (end == 3 && worst < 3) || has_losses != (end == 4) ||
		(end > 0 && end != worst && !json_array_size(json_object_get(gate, "reasons"))))
		return sonde_invariant__fail(v, "verdict", "does not follow from regions and reasons");
	if (end != badness(json_object_get(document, "totals"), "gate"))
		return sonde_invariant__fail(v, "verdict", "is not the verdict in totals");
	status = end == 1 && json_is_true(json_object_get(gate, "allow_insufficient")) ? 0 : statuses[end];
	if (sonde_invariant__number(gate, "exit_status") != status)
		return sonde_invariant__fail(v, "exit_status", "does not follow from the verdict");
	return 0;
}

int sonde_invariant__check_diff(struct sonde_validation *v, const json_t *document)
{
	static const char *const verdicts[] = {
		"same", "slower", "faster", "likely_slower", "likely_faster", "insufficient", "added", "removed"};
	size_t i;
	int rc = sonde_invariant__each(v, document, "regions", check_verdict, document);

	for (i = 0; i < sizeof(verdicts) / sizeof(*verdicts) && rc == 0; i++)
		rc = check_total(v, document, verdicts[i]);
	return rc ? rc : sonde_invariant__in(v, document, "gate", check_gate, document);
}
