#include "cli/diff_request.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void sonde_diff_request_release(struct sonde_diff_request *q)
{
	sonde_args_release(&q->args);
	sonde_vec_release(&q->words);
	sonde_vec_release(&q->limits);
	sonde_argv_release(&q->overrides);
}

/* `--base A1 A2` is short for `--base A1 --base A2`, up to the next option. */
static bool spread_sides(struct sonde_diff_request *q, int argc, char **argv)
{
	const char *side = NULL;
	bool ok = true;
	int i;

	for (i = 0; i < argc && ok; i++) {
		bool is_side = strcmp(argv[i], "--base") == 0 || strcmp(argv[i], "--new") == 0;

		if (argv[i][0] == '-' && argv[i][1])
			side = NULL;
		else if (side)
			ok = sonde_word_list_add(&q->words, side);
		ok = ok && sonde_word_list_add(&q->words, argv[i]);
		if (ok && is_side && i + 1 < argc) { /* its own input follows by itself */
			side = argv[i++];
			ok = sonde_word_list_add(&q->words, argv[i]);
		}
	}
	return ok;
}

#define INTO(member) offsetof(struct sonde_diff_request, member)
static const struct sonde_option options[] = {
	SONDE_OPT(0, "base", "RUN...", WORDS, base,
		"runs of the base: captures, run directories, partial reports"),
	SONDE_OPT(0, "new", "RUN...", WORDS, new_side, "runs to compare with it"),
	SONDE_OPT('f', "format", SONDE_DIFF_FORMAT_WORDS, ONE_OF, format, "what to print (text)"),
	SONDE_OPT('o', "output", "FILE", WORD, output, "write it there instead of printing it"),
	SONDE_OPT(0, "min-effect", "PCT", WORD, min_effect, "smaller changes are none (2%)"),
	SONDE_OPT(0, "fail-above", "[GLOB=]PCT", WORDS, limit_words,
		"exit with 3 when a region is slower by more than PCT; with GLOB, only for "
		"regions whose path matches; may be repeated, a GLOB wins over the bound for all"),
	SONDE_OPT(0, "allow-insufficient", NULL, FLAG, options.allows_insufficient,
		"exit with 0, not 4, when entries are too few or too noisy for the gate, or a region "
		"of it is gone; not when nothing was compared"),
	SONDE_OPT(0, "partial-inputs", NULL, FLAG, options.takes_partial,
		"ask the gate also where something of an input is missing or damaged; else that is "
		"exit status 1"),
	SONDE_OPT(0, "per-scope", NULL, FLAG, options.per_scope,
		"compare ranks one by one, or processes where there are none; else all together"),
	SONDE_OPT_KEY("together", NULL, FLAG, together, "report.together=true",
		"a folder is all runs and jobs in it, added up; without, its newest run"),
	SONDE_OPT(0, "force", NULL, FLAG, is_forced,
		"compare what is not comparable, such as different GPUs"),
	SONDE_OPT(0, "self-test", NULL, FLAG, is_selftest,
		"split the entries of the given runs at random and count false alarms"),
	SONDE_OPT(0, "rounds", "N", NUMBER, rounds, "how often --self-test splits (200)"),
	SONDE_OPT(0, "max-regions", "N", LIMIT, max_regions,
		"longest table in text and md (100; 0: all)"),
	SONDE_OPT_WIDTH(width),
	SONDE_OPT_COLOUR(colour),
};

static const struct sonde_usage usage = {"sonde diff BASE NEW [KEY=VALUE...] [options]\n"
				  "       sonde diff --base RUN... --new RUN... [options]\n"
				  "       sonde diff --self-test RUN... [options]",
	"Compares two profiles by region: what got slower or faster, why, and how sure\n"
	"that is. A run is whatever `sonde report` reads, or a report.json. Several runs\n"
	"a side make the answer surer than many entries of one run do.\n"
	"Exit status: 0 good, also when everything got faster; 1 an input cannot be read\n"
	"or compared, or is not whole and there is a gate; 2 wrong usage; 3 a region is\n"
	"slower than --fail-above allows; 4 nothing fails, but the gate cannot tell: one\n"
	"of its regions is insufficient or gone, or a run has nothing to compare.",
	options, sizeof(options) / sizeof(*options),
	{{"what a change did", "sonde diff before.sonde after.sonde"},
		{"a gate for CI, three runs a side",
			"sonde diff --base a1 a2 a3 --new b1 b2 b3 --fail-above 5%"}}};

static int parse(struct sonde_diff_request *q, struct sonde_err *err)
{
	return sonde_options_read(
		&q->args, &usage, q, (int)q->words.nr, (char **)(uintptr_t)q->words.at, err);
}

/* "5%", "5", "0.5 %". */
static bool read_percent(struct sonde_str s, double *out)
{
	char copy[32], *end;

	s = sonde_str_trim(s);
	if (s.n && s.p[s.n - 1] == '%')
		s = sonde_str_trim((struct sonde_str){s.p, s.n - 1});
	if (!s.n || s.n >= sizeof(copy))
		return false;
	memcpy(copy, s.p, s.n);
	copy[s.n] = '\0';
	*out = strtod(copy, &end) / 100;
	return !*end && *out >= 0 && isfinite(*out);
}

static int read_limits(struct sonde_diff_request *q, struct sonde_err *err)
{
	size_t i;

	for (i = 0; i < q->limit_words.nr; i++) {
		struct sonde_str word = sonde_str_from(q->limit_words.at[i]), value = word;
		struct sonde_diff_limit *l = sonde_vec_push(&q->limits);
		const char *sign = strrchr(q->limit_words.at[i], '=');

		if (!l)
			return sonde_err_nomem(err);
		if (sign) { /* paths may hold a `=`, numbers do not */
			l->glob = (struct sonde_str){word.p, (size_t)(sign - word.p)};
			value = sonde_str_from(sign + 1);
		}
		if (!read_percent(value, &l->above) || (sign && !l->glob.n))
			return sonde_err_set(err, SONDE_ERR_USAGE,
				"diff: --fail-above is PCT or GLOB=PCT, as 5%% or 'decode/**=3%%', "
				"not '%s'",
				q->limit_words.at[i]);
	}
	q->options.limits = q->limits.at;
	q->options.nr_limits = q->limits.nr;
	return 0;
}

/* Operands are overrides, and BASE and NEW or the runs of --self-test. */
static int sort_operands(struct sonde_diff_request *q, struct sonde_err *err)
{
	bool has_sides = q->base.nr || q->new_side.nr;
	size_t i, nr = 0;

	for (i = 0; i < q->args.operands.nr; i++) {
		const char *word = q->args.operands.at[i];

		if (sonde_is_override(word)) {
			sonde_argv_add(&q->overrides, word);
			continue;
		}
		if (!sonde_word_list_add(
			    q->is_selftest || nr == 0 ? &q->base : &q->new_side, word))
			return sonde_err_nomem(err);
		nr++;
	}
	sonde_overrides_take(&q->overrides, &q->args);
	if (q->overrides.failed)
		return sonde_err_nomem(err);
	if (q->is_selftest)
		return q->base.nr && !q->new_side.nr
			       ? 0
			       : sonde_err_set(err, SONDE_ERR_USAGE,
					 "diff: --self-test splits the runs of one side: name these alone, without --new");
	if (has_sides ? nr || !q->base.nr || !q->new_side.nr : nr != 2)
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"diff: give BASE and NEW, or several of each with --base and --new (`sonde "
			"diff --help`)");
	return 0;
}

int sonde_diff_request_read(
	struct sonde_diff_request *q, int argc, char **argv, struct sonde_err *err)
{
	int rc;

	*q = (struct sonde_diff_request){.options = {.min_effect = SONDE_MIN_EFFECT}};
	rc = spread_sides(q, argc, argv) ? parse(q, err) : sonde_err_nomem(err);
	if (rc == 0 && q->min_effect &&
		!read_percent(sonde_str_from(q->min_effect), &q->options.min_effect))
		rc = sonde_err_set(err, SONDE_ERR_USAGE,
			"diff: --min-effect is a percentage such as 2%%, not '%s'", q->min_effect);
	if (rc == 0)
		rc = read_limits(q, err);
	return rc ? rc : sort_operands(q, err);
}
