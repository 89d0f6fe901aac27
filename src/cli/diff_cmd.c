#include "base/file.h"
#include "check/validate.h"
#include "cli/browser.h"
#include "cli/command.h"
#include "cli/messages.h"
#include "cli/overrides.h"
#include "cli/terminal.h"
#include "compare/diff.h"
#include "compare/report_in.h"
#include "export/diff_out.h"
#include "lib/pipeline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STATUS_ALARMS 3 /* exit status of --self-test with more alarms than allowed */

/* --- the command line -------------------------------------------------------------------------- */

struct request {
	struct sonde_args args;
	struct sonde_word_list
		words; /* argv with `--base` or `--new` before each input of that side */
	struct sonde_word_list base, new_side;
	struct sonde_word_list limit_words;
	SONDE_VEC(struct sonde_diff_limit) limits;
	struct sonde_argv overrides;
	struct sonde_diff_options options;
	const char *output, *min_effect, *format; /* format NULL = text */
	int colour;
	size_t width, max_regions, rounds;
	bool together, is_forced, is_selftest, is_opened, shows_all;
	char made[SONDE_PAGE_PATH]; /* --open without -o: path of the page */
};

static void release_request(struct request *q)
{
	sonde_args_release(&q->args);
	sonde_vec_release(&q->words);
	sonde_vec_release(&q->limits);
	sonde_argv_release(&q->overrides);
}

/* `--base A1 A2` is short for `--base A1 --base A2`, up to the next option. */
static bool spread_sides(struct request *q, int argc, char **argv)
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
		if (ok && is_side && i + 1 < argc) { /* the first input follows its option anyway */
			side = argv[i++];
			ok = sonde_word_list_add(&q->words, argv[i]);
		}
	}
	return ok;
}

#define INTO(member) offsetof(struct request, member)
static const struct sonde_option options[] = {
	SONDE_OPT(0, "base", "RUN...", WORDS, base,
		"runs of the base: captures, run directories, partial reports"),
	SONDE_OPT(0, "new", "RUN...", WORDS, new_side, "runs to compare with it"),
	SONDE_OPT('f', "format", SONDE_DIFF_FORMAT_WORDS, ONE_OF, format, "what to print (text)"),
	SONDE_OPT('o', "output", "FILE", WORD, output, "write it there instead of printing it; the ending says the format unless -f does "
		"(.html, .json, .md, .xml for junit); a directory (DIR/) gets all of these and the text"),
	SONDE_OPT(0, "open", NULL, FLAG, is_opened,
		"make the page (html) and show it in a browser, as `sonde view` does"),
	SONDE_OPT(0, "min-effect", "PCT", WORD, min_effect, "ignore changes below this (2%)"),
	SONDE_OPT(0, "fail-above", "[GLOB=]PCT", WORDS, limit_words,
		"exit with 3 when the step, the repeated region with the most time, is slower by more "
		"than PCT; with GLOB, when any region is whose path matches; gpu:, host:, wall: or "
		"iteration: before it compares that time alone (gpu:decode=5%); may be repeated"),
	SONDE_OPT(0, "allow-insufficient", NULL, FLAG, options.allows_insufficient,
		"exit with 0, not 4, when entries are too few or too noisy for the gate, or a region "
		"of it is gone; not when nothing was compared"),
	SONDE_OPT(0, "partial-inputs", NULL, FLAG, options.takes_partial,
		"let the gate decide although a part of an input is missing or damaged; otherwise that "
		"is exit status 1"),
	SONDE_OPT(0, "single", NULL, FLAG, options.accepts_single,
		"let a gate fail on one capture a side, although that is weaker evidence; otherwise "
		"that is exit status 4"),
	SONDE_OPT(0, "per-scope", NULL, FLAG, options.per_scope,
		"compare ranks one by one, or processes where there are no ranks; otherwise all together"),
	SONDE_OPT_KEY("together", NULL, FLAG, together, "report.together=true",
		"of a folder, add up all runs and jobs in it; otherwise take its newest run"),
	SONDE_OPT(0, "force", NULL, FLAG, is_forced,
		"compare what is not comparable, such as different GPUs"),
	SONDE_OPT(0, "self-test", NULL, FLAG, is_selftest,
		"split the entries of the given runs at random and count false alarms"),
	SONDE_OPT(0, "rounds", "N", NUMBER, rounds, "how often --self-test splits (200)"),
	SONDE_OPT(0, "all", NULL, FLAG, shows_all,
		"text: also regions with too few or too noisy entries to be compared"),
	SONDE_OPT(0, "max-regions", "N", LIMIT, max_regions,
		"most rows of a table (text: 20, with --all and in md: 100; 0: all)"),
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
	"of its regions is insufficient, gone or likely slower by one capture a side, or\n"
	"a run has nothing to compare.",
	options, sizeof(options) / sizeof(*options),
	{{"what a change did", "sonde diff before.sonde after.sonde"},
		{"a gate for CI, three runs a side",
			"sonde diff --base a1 a2 a3 --new b1 b2 b3 --fail-above 5%"}}};

static int read_words(struct request *q, struct sonde_err *err)
{
	return sonde_options_read(
		&q->args, &usage, q, (int)q->words.nr, (char **)(uintptr_t)q->words.at, err);
}

/* Reads "5%", "5" or "0.5 %". */
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

/* Reads the prefix of "gpu:decode=5%": this limit is about another time than the one that regions are compared by. */
static void read_time(struct sonde_diff_limit *l, struct sonde_str *word, struct sonde_str *value)
{
	static const unsigned times[] = {SONDE_ENTRY_WALL, SONDE_ENTRY_GPU, SONDE_ENTRY_HOST, SONDE_DIFF_ITERATION};
	size_t i, n;

	for (i = 0; i < sizeof(times) / sizeof(*times); i++) {
		const char *name = sonde_diff_time_name(times[i]);

		n = strlen(name);
		if (!sonde_str_starts(*word, name) || word->n <= n || word->p[n] != ':')
			continue;
		l->has_time = true;
		l->time = (uint8_t)times[i];
		*word = *value = (struct sonde_str){word->p + n + 1, word->n - n - 1};
		return;
	}
}

static int read_limits(struct request *q, struct sonde_err *err)
{
	size_t i;

	for (i = 0; i < q->limit_words.nr; i++) {
		struct sonde_str word = sonde_str_from(q->limit_words.at[i]), value = word;
		struct sonde_diff_limit *l = sonde_vec_push(&q->limits);
		const char *sign = strrchr(q->limit_words.at[i], '=');

		if (!l)
			return sonde_err_nomem(err);
		read_time(l, &word, &value);
		if (sign) { /* paths may contain a `=`, numbers do not */
			l->glob = (struct sonde_str){word.p, (size_t)(sign - word.p)};
			value = sonde_str_from(sign + 1);
		}
		if (!read_percent(value, &l->above) || (sign && !l->glob.n))
			return sonde_err_set(err, SONDE_ERR_USAGE,
				"diff: --fail-above is [wall:|gpu:|host:|iteration:][GLOB=]PCT, as 5%%, 'decode/**=3%%' or "
				"gpu:decode=5%%, not '%s'",
				q->limit_words.at[i]);
	}
	q->options.limits = q->limits.at;
	q->options.nr_limits = q->limits.nr;
	return 0;
}

/* Sorts operands into overrides, and into BASE and NEW or the runs of --self-test. */
static int sort_operands(struct request *q, struct sonde_err *err)
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

/* Returns 0, more than 0 when help was printed, or an error. Release `q` in any case. */
static int read_request(
	struct request *q, int argc, char **argv, struct sonde_err *err)
{
	int rc;

	*q = (struct request){.options = {.min_effect = SONDE_MIN_EFFECT}};
	rc = spread_sides(q, argc, argv) ? read_words(q, err) : sonde_err_nomem(err);
	if (rc == 0 && q->min_effect &&
		!read_percent(sonde_str_from(q->min_effect), &q->options.min_effect))
		rc = sonde_err_set(err, SONDE_ERR_USAGE,
			"diff: --min-effect is a percentage such as 2%%, not '%s'", q->min_effect);
	if (rc == 0)
		rc = read_limits(q, err);
	if (rc == 0 && !q->format && q->output && !q->is_selftest)
		rc = sonde_output_check("diff", q->output, SONDE_DIFF_FORMAT_ENDS, err);
	if (!q->format && q->output)
		q->format = sonde_diff_format_of_file(sonde_output_stem(q->output));
	if (rc == 0 && q->format && strcmp(q->format, "html") == 0 && !q->output && !q->is_opened)
		rc = sonde_output_refuse_terminal("diff", q->format, err);
	return rc ? rc : sort_operands(q, err);
}

/* --- the comparison ---------------------------------------------------------------------------- */

/* All runs, those of the base first, and their trees in the same order. */
struct runs {
	SONDE_VEC(struct sonde_pipeline *) at;
	SONDE_VEC(const struct sonde_tree *) trees;
};

static void release_runs(struct runs *runs)
{
	size_t i;

	for (i = 0; i < runs->at.nr; i++)
		sonde_pipeline_free(runs->at.at[i]);
	sonde_vec_release(&runs->at);
	sonde_vec_release(&runs->trees);
}

/* Checks a finished report and takes it as it is. */
static int read_report(struct sonde_pipeline *p, const char *path, struct sonde_err *err)
{
	int rc = sonde_report_check_schema(path, err);

	if (rc == 0)
		rc = sonde_validate_file(path, err);
	return rc ? rc : sonde_report_read(&p->cells, &p->tree, path, err);
}

static int read_input(struct sonde_pipeline *p, const char *path, struct hydra_config *config,
	struct sonde_err *err)
{
	int rc;

	if (sonde_pipeline_add_input(p, path))
		return sonde_err_nomem(err);
	rc = sonde_pipeline_configure_by(p, config, err);
	p->settings.fold.choice.headline_only = true;
	p->settings.fold.choice.no_aggregate = false; /* the aggregate is what is compared */
	p->settings.fold.keep = 0; /* entries of all scopes are compared, so all are kept */
	if (rc == 0)
		rc = sonde_pipeline_fold(p, err);
	if (rc == 0)
		rc = sonde_pipeline_arrange(p, err);
	return rc;
}

static int open_run(
	struct runs *runs, const char *path, struct hydra_config *config, struct sonde_err *err)
{
	struct sonde_pipeline **slot = sonde_vec_push(&runs->at), *p;
	const struct sonde_tree **tree = sonde_vec_push(&runs->trees);
	int rc;

	if (!slot || !tree)
		return sonde_err_nomem(err);
	*slot = p = sonde_pipeline_new();
	if (!p)
		return sonde_err_nomem(err);
	rc = sonde_report_is_json(path) ? read_report(p, path, err)
					: read_input(p, path, config, err);
	*tree = p->tree;
	return rc;
}

static int open_runs(struct runs *runs, const struct sonde_word_list *paths,
	struct hydra_config *config, struct sonde_err *err)
{
	size_t i;
	int rc = 0;

	for (i = 0; i < paths->nr && rc == 0; i++)
		rc = open_run(runs, paths->at[i], config, err);
	return rc;
}

/* Whether -o names a directory, for diff.html, diff.json and the others. */
static bool writes_dir(const struct request *q)
{
	return q->output && !q->format &&
	       (sonde_str_ends(sonde_str_from(q->output), "/") || sonde_dir_exists(q->output));
}

/* Writes one format, to standard output or to the file `path`. */
static int write_one(const struct sonde_diff *d, const struct request *q, const char *format, const char *path,
	struct sonde_err *err)
{
	const struct sonde_diff_out o = {.base = {q->base.at, q->base.nr},
		.new_side = {q->new_side.at, q->new_side.nr},
		.width = q->width ? q->width : sonde_terminal_width(),
		.max_regions = q->max_regions,
		.shows_all = q->shows_all,
		.is_coloured = !path && sonde_terminal_is_coloured(q->colour),
		.is_utf8 = sonde_terminal_is_utf8()};
	struct sonde_sink out;
	int rc = sonde_output_open(&out, path, err);

	if (rc)
		return rc;
	return sonde_sink_finish(&out, sonde_diff_writer_named(format)(d, &o, &out, err), err);
}

static int write_dir(const struct sonde_diff *d, const struct request *q, struct sonde_err *err)
{
#define NAMES(name, extension) {#name, "diff" extension},
	static const char *const files[][2] = {SONDE_DIFF_FORMATS(NAMES)};
#undef NAMES
	struct sonde_buf path = {0};
	int rc = sonde_dir_make(q->output, err);
	size_t i;

	for (i = 0; i < sizeof(files) / sizeof(*files) && rc == 0; i++) {
		sonde_buf_clear(&path);
		sonde_buf_printf(&path, "%s/%s", q->output, files[i][1]);
		rc = path.failed ? sonde_err_nomem(err) : write_one(d, q, files[i][0], path.p, err);
	}
	sonde_buf_release(&path);
	return rc ? rc : write_one(d, q, "text", NULL, err);
}

static int write_diff(const struct sonde_diff *d, const struct request *q, struct sonde_err *err)
{
	if (writes_dir(q))
		return write_dir(d, q, err);
	return write_one(d, q, q->format ? q->format : "text", q->output, err);
}

/* --open shows a page: the one that -o writes, or one made for it. */
static int place_page(struct request *q, struct sonde_err *err)
{
	bool is_page = q->format && strcmp(q->format, "html") == 0;
	int rc;

	if (!q->is_opened || writes_dir(q) || (q->output && is_page))
		return 0;
	if (q->output || q->is_selftest || (q->format && !is_page))
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"diff: --open shows the page: leave out --self-test and other formats than html");
	rc = sonde_page_view_place(q->made, err);
	q->output = q->made;
	q->format = "html";
	return rc;
}

static int look_at_page(const struct request *q, struct sonde_err *err)
{
	struct sonde_page_view look = {.is_made = q->made[0]};
	struct sonde_buf page = {0};
	int rc;

	sonde_buf_printf(&page, writes_dir(q) ? "%s/diff.html" : "%s", q->output);
	look.page = page.p;
	rc = page.failed ? sonde_err_nomem(err) : sonde_page_view_show(&look, err);
	sonde_buf_release(&page);
	return rc;
}

static int refuse_sides(const struct sonde_diff *d, struct sonde_err *err)
{
	sonde_say_notes(&d->reasons);
	return sonde_err_set(err, SONDE_ERR_FORMAT,
		"diff: the sides are not comparable; --force compares them anyway");
}

/* A limit or a step that no region has is a mistake in the command: unnoticed, the gate would pass for ever. */
static int refuse_stray(const struct sonde_diff *d, struct sonde_err *err)
{
	const struct sonde_diff_limit *l = sonde_diff_stray_limit(d);
	struct sonde_str near = {NULL, 0};
	size_t i;

	if (sonde_diff_lacks_step(d))
		return sonde_err_set(err, SONDE_ERR_USAGE, "diff: report.step: neither side has a region '%.*s'; `sonde regions -f json` lists their ids",
			SONDE_STR_ARG(d->options.step));
	if (!l)
		return 0;
	for (i = 0; i < d->regions.nr; i++)
		if ((!near.n || d->regions.at[i].path.n < near.n) && sonde_str_ends_path(d->regions.at[i].path, l->glob))
			near = d->regions.at[i].path;
	return sonde_err_set(err, SONDE_ERR_USAGE, "diff: --fail-above '%.*s=%g%%': no region of either side matches; %s '%.*s'%s",
		SONDE_STR_ARG(l->glob), 100 * l->above, near.n ? "did you mean" : "`sonde regions -f json` lists their paths, such as",
		SONDE_STR_ARG(near.n ? near : d->regions.at[0].path), near.n ? "?" : "");
}

/* Says why a gate compared nothing, or only a part, whatever the format shows. */
static int say_reasons(const struct sonde_diff *d, struct sonde_err *err)
{
	if (d->gate == SONDE_GATE_NOT_COMPARED || d->gate == SONDE_GATE_DAMAGED)
		sonde_say_notes(&d->gate_reasons);
	if (d->gate != SONDE_GATE_DAMAGED)
		return 0;
	return sonde_err_set(err, SONDE_ERR_FORMAT,
		"diff: a gate needs whole inputs: copy or capture them again, or let it decide by what "
		"is there with --partial-inputs");
}

static int compare_runs(const struct runs *runs, const struct request *q, int *status,
	struct sonde_err *err)
{
	const struct sonde_diff_side base = {runs->trees.at, q->base.nr},
				     new_side = {runs->trees.at + q->base.nr, q->new_side.nr};
	struct sonde_diff *d = NULL;
	int rc = sonde_diff_build(&d, &base, &new_side, &q->options, err);

	if (rc == 0 && !d->is_comparable && !q->is_forced)
		rc = refuse_sides(d, err);
	if (rc == 0)
		rc = refuse_stray(d, err);
	if (rc == 0)
		rc = write_diff(d, q, err);
	if (rc == 0) {
		*status = sonde_diff_status(d);
		rc = say_reasons(d, err);
	}
	sonde_diff_free(d);
	return rc;
}

static int test_self(const struct runs *runs, const struct request *q, int *status,
	struct sonde_err *err)
{
	const struct sonde_diff_side side = {runs->trees.at, runs->trees.nr};
	uint32_t rounds = q->rounds && q->rounds < 1000000 ? (uint32_t)q->rounds : 200;
	struct sonde_diff_selftest t;
	struct sonde_sink out;
	int rc = sonde_diff_selftest(&t, &side, &q->options, rounds, err);

	if (rc == 0)
		rc = sonde_output_open(&out, q->output, err);
	if (rc)
		return rc;
	sonde_sink_printf(&out,
		"%u regions have enough entries to be split; of %u random splits into two sides "
		"that do not differ, %u (%.1f %%) would have named one\n",
		t.regions, t.rounds, t.alarms, 100.0 * t.alarms / t.rounds);
	*status = t.alarms > 0.05 * t.rounds ? STATUS_ALARMS : 0;
	return sonde_sink_close(&out, err);
}

/* config → read … tree → compare → export */
static int run_diff(struct request *q, int *status, struct sonde_err *err)
{
	const struct sonde_config_request want = {
		.overrides = (const char *const *)q->overrides.words.at, .nr_overrides = q->overrides.words.nr};
	struct hydra_config *config = NULL;
	struct runs runs = {0};
	int rc = sonde_settings_compose(&config, &want, false, err);

	if (rc == 0) {
		q->options.step = hydra_config_str(config, "report.step");
		rc = open_runs(&runs, &q->base, config, err);
	}
	if (rc == 0)
		rc = open_runs(&runs, &q->new_side, config, err);
	if (rc == 0)
		rc = q->is_selftest ? test_self(&runs, q, status, err)
				    : compare_runs(&runs, q, status, err);
	release_runs(&runs);
	hydra_config_free(config);
	return rc;
}

int sonde_cmd_diff_check(int argc, char **argv, struct sonde_err *err)
{
	struct request q;
	int rc = read_request(&q, argc, argv, err);

	release_request(&q);
	return rc;
}

int sonde_cmd_diff(int argc, char **argv)
{
	struct request q;
	struct sonde_err err = {0};
	int status = 0, rc = read_request(&q, argc, argv, &err);

	if (rc == 0)
		rc = place_page(&q, &err);
	if (rc == 0)
		rc = run_diff(&q, &status, &err);
	if (rc == 0 && q.is_opened)
		rc = look_at_page(&q, &err);
	release_request(&q);
	return rc < 0 ? sonde_cmd_fail(&err) : status;
}
