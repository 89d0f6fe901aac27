#include "base/escape.h"
#include "base/json_out.h"
#include "base/number.h"
#include "base/wrap.h"
#include "cli/command.h"
#include "cli/messages.h"
#include "cli/newest_run.h"
#include "cli/option.h"
#include "cli/terminal.h"
#include "lib/pipeline.h"
#include "lib/whatif.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#define MOST_OFFERS 10u
#define NOTHING_NS  10 /* a smaller gain is none: two digits of a µs do not show it */
#define INDENT	    4    /* of the further lines of a sentence */
#define LEAST_SHOWN 0.01 /* share of the step's wall time; regions with less are in JSON only */

enum format { FORMAT_TEXT, FORMAT_JSON };

struct request {
	int format;
	const char *step, *output;
	size_t width;
	bool together, shows_all;
};

/* One line of the answer: a change, or several together. */
struct answer {
	struct sonde_str text;
	struct sonde_gain gain;
};

/* One call of the command. */
struct job {
	const struct request *q;
	struct sonde_whatif *w;
	struct sonde_pipeline *report; /* for counters; NULL = no change needs them */
	SONDE_VEC(struct answer) answers;
	struct sonde_arena arena;
};

/* --- text -------------------------------------------------------------------------------- */

/* Appends text as this terminal can show it, on one line. */
static void put_text(struct sonde_buf *out, struct sonde_str text)
{
	sonde_escape_sentence(out, text, sonde_terminal_is_utf8());
}

static void put_time(struct sonde_buf *out, double ns)
{
	struct sonde_buf time = {0};

	sonde_number_human(&time, ns, "ns");
	put_text(out, sonde_buf_view(&time));
	out->failed |= time.failed;
	sonde_buf_release(&time);
}

/* Prints an error with its sign, or 0.0 without one. */
static void put_error(struct sonde_buf *out, double share, int width)
{
	double pct = round(1000 * share) / 10 + 0.0;

	sonde_buf_printf(out, pct == 0 ? "%*.1f %%\n" : "%+*.1f %%\n", width, pct);
}

static void put_head(struct job *j, struct sonde_buf *out)
{
	const struct sonde_replay_summary *s = sonde_whatif_summary(j->w);

	sonde_buf_puts(out, "step = ");
	put_text(out, sonde_whatif_region_id(j->w, s->step));
	sonde_buf_printf(out, ": %llu entries, ", (unsigned long long)s->nr_steps);
	put_time(out, s->measured_ns);
	sonde_buf_puts(out, " each as captured");
	if (!sonde_whatif_refusal(j->w)) { /* else this figure is no better than the replay */
		sonde_buf_puts(out, ", ");
		put_time(out, s->base_ns);
		sonde_buf_puts(out, " without the profiler's own time");
	}
	sonde_buf_puts(out, "\nreplayed as it was: ");
	put_error(out, s->error, 0);
}

static void put_answers(struct job *j, struct sonde_buf *out)
{
	double base = sonde_whatif_summary(j->w)->base_ns;
	size_t i;

	for (i = 0; i < j->answers.nr; i++) {
		const struct answer *a = &j->answers.at[i];

		sonde_buf_puts(out, i ? "" : "\n");
		put_text(out, a->text);
		if (isnan(a->gain.ns)) {
			sonde_buf_printf(out, ": not known; %.*s\n", SONDE_STR_ARG(a->gain.why));
			continue;
		}
		if (a->gain.ns < NOTHING_NS) {
			sonde_buf_puts(out, ": gains nothing (95 %: ");
			put_time(out, a->gain.low_ns);
			sonde_buf_puts(out, " to ");
			put_time(out, a->gain.high_ns);
			sonde_buf_puts(out, " of a step)\n");
			continue;
		}
		sonde_buf_puts(out, a->gain.is_most ? ": saves at most " : ": saves ");
		put_time(out, a->gain.ns);
		sonde_buf_printf(
			out, " of a step (%.0f %%; 95 %%: ", 100 * a->gain.ns / base);
		put_time(out, a->gain.low_ns);
		sonde_buf_puts(out, " to ");
		put_time(out, a->gain.high_ns);
		sonde_buf_puts(out, "): ");
		put_time(out, base - a->gain.ns);
		sonde_buf_puts(out, " then\n");
	}
}

/* The signs that a text takes on the terminal. */
static size_t width_of(struct sonde_str text)
{
	size_t i, nr = 0;

	for (i = 0; i < text.n; i++)
		nr += (text.p[i] & 0xc0) != 0x80;
	return nr;
}

/* Says how well each region was replayed as it was. */
static void put_regions(struct job *j, struct sonde_buf *out)
{
	const struct sonde_replay_region *regions = sonde_whatif_regions(j->w);
	double least = LEAST_SHOWN * regions[sonde_whatif_summary(j->w)->step].wall_ns;
	size_t i, widest = strlen("region"), nr = sonde_whatif_nr_regions(j->w);
	struct sonde_buf id = {0};

	for (i = 0; i < nr; i++)
		if (regions[i].nr_entries && regions[i].wall_ns >= least && width_of(sonde_whatif_region_id(j->w, (uint32_t)i)) > widest)
			widest = width_of(sonde_whatif_region_id(j->w, (uint32_t)i));
	sonde_buf_printf(out, "\nthe unchanged replay of each region, from the beginning of an entry to the end of its last work:\n%-*s  ms per entry  replay error\n",
		(int)widest, "region");
	for (i = 0; i < nr; i++) {
		const struct sonde_replay_region *r = &regions[i];

		if (!r->nr_entries || r->wall_ns < least)
			continue;
		sonde_buf_clear(&id);
		sonde_escape_terminal(&id, sonde_whatif_region_id(j->w, (uint32_t)i), sonde_terminal_is_utf8());
		sonde_buf_str(out, sonde_buf_view(&id));
		sonde_buf_printf(out, "%*s  %12.3f  ", (int)(widest > width_of(sonde_buf_view(&id)) ? widest - width_of(sonde_buf_view(&id)) : 0), "",
			r->wall_ns / (double)r->nr_entries / 1e6);
		put_error(out, r->replayed_ns / r->wall_ns - 1, 10);
	}
	out->failed |= id.failed;
	sonde_buf_release(&id);
}

static void write_text(struct job *j, struct sonde_sink *to)
{
	size_t width = j->q->width ? j->q->width : sonde_terminal_width();
	struct sonde_buf out = {0};
	struct sonde_str rest;

	put_head(j, &out);
	if (sonde_whatif_refusal(j->w))
		sonde_buf_printf(&out, "\nno predictions: %s\n", sonde_whatif_refusal(j->w));
	else if (!j->answers.nr)
		sonde_buf_puts(&out, "\nno change that sonde knows would gain 1 % of the step\n");
	if (!sonde_whatif_refusal(j->w))
		put_answers(j, &out);
	to->buf.failed |= out.failed;
	for (rest = sonde_buf_view(&out); rest.n;)
		sonde_wrap(to, sonde_str_cut(rest, '\n', &rest), (struct sonde_margins){0, INDENT, width});
	sonde_buf_clear(&out);
	if (j->q->shows_all)
		put_regions(j, &out);
	sonde_sink_str(to, sonde_buf_view(&out));
	sonde_buf_release(&out);
}

/* --- JSON -------------------------------------------------------------------------------- */

static void write_regions(struct job *j, struct sonde_json *w)
{
	const struct sonde_replay_region *regions = sonde_whatif_regions(j->w);
	size_t i;

	sonde_json_open(w, "regions", '[', false);
	for (i = 0; i < sonde_whatif_nr_regions(j->w); i++) {
		const struct sonde_replay_region *r = &regions[i];

		if (!r->nr_entries)
			continue;
		sonde_json_open(w, NULL, '{', true);
		sonde_json_str(w, "id", sonde_whatif_region_id(j->w, (uint32_t)i));
		sonde_json_u64(w, "entries", r->nr_entries);
		sonde_json_number(w, "wall_ms", r->wall_ns / 1e6);
		sonde_json_number(w, "replayed_ms", r->replayed_ns / 1e6);
		sonde_json_close(w, '}');
	}
	sonde_json_close(w, ']');
}

static void write_answers(struct job *j, struct sonde_json *w)
{
	double base = sonde_whatif_summary(j->w)->base_ns;
	size_t i;

	sonde_json_open(w, "changes", '[', false);
	for (i = 0; i < j->answers.nr; i++) {
		const struct answer *a = &j->answers.at[i];

		sonde_json_open(w, NULL, '{', true);
		sonde_json_str(w, "change", a->text);
		sonde_json_number(w, "gain_ms", a->gain.ns / 1e6);
		sonde_json_number(w, "low_ms", a->gain.low_ns / 1e6);
		sonde_json_number(w, "high_ms", a->gain.high_ns / 1e6);
		sonde_json_number(w, "step_ms", (base - a->gain.ns) / 1e6);
		sonde_json_str(w, "why", a->gain.why);
		sonde_json_close(w, '}');
	}
	sonde_json_close(w, ']');
}

static void write_json(struct job *j, struct sonde_sink *to)
{
	const struct sonde_replay_summary *s = sonde_whatif_summary(j->w);
	const struct sonde_notes *notes = sonde_whatif_notes(j->w);
	struct sonde_json w = {.sink = to};

	sonde_json_open(&w, NULL, '{', false);
	sonde_json_open(&w, "step", '{', false);
	sonde_json_str(&w, "id", sonde_whatif_region_id(j->w, s->step));
	sonde_json_u64(&w, "entries", s->nr_steps);
	sonde_json_number(&w, "measured_ms", s->measured_ns / 1e6);
	sonde_json_number(&w, "base_ms", s->base_ns / 1e6);
	sonde_json_number(&w, "replay_error_pct", 100 * s->error);
	sonde_json_z(&w, "refused", sonde_whatif_refusal(j->w));
	sonde_json_close(&w, '}');
	write_answers(j, &w);
	write_regions(j, &w);
	sonde_json_texts(&w, "notes", notes->texts.keys, notes->texts.nr, false);
	sonde_json_close(&w, '}');
	sonde_sink_puts(to, "\n");
}

/* --- the answer -------------------------------------------------------------------------- */

static int add_answer(struct job *j, const char *const *changes, size_t nr, struct sonde_err *err)
{
	struct answer *a = sonde_vec_push(&j->answers);
	struct sonde_buf text = {0};
	size_t i;
	int rc;

	for (i = 0; i < nr; i++) {
		sonde_buf_puts(&text, i ? " " : "");
		sonde_buf_puts(&text, changes[i]);
	}
	if (a)
		a->text = sonde_arena_dup(&j->arena, sonde_buf_view(&text));
	rc = !a || text.failed || !a->text.p ? sonde_err_nomem(err)
					     : sonde_whatif_ask(j->w, &a->gain, changes, nr, err);
	sonde_buf_release(&text);
	return rc;
}

/*
 * Answers for all changes together and, if there are several, for each one alone. Without changes, lists what sonde
 * offers.
 */
static int answer_changes(struct job *j, const char *const *changes, size_t nr, struct sonde_err *err)
{
	struct sonde_whatif_offer offers[MOST_OFFERS];
	int rc = 0, nr_offers;
	size_t i;

	if (nr) {
		rc = add_answer(j, changes, nr, err);
		for (i = 0; i < nr && nr > 1 && rc == 0; i++)
			rc = add_answer(j, &changes[i], 1, err);
		return rc;
	}
	nr_offers = sonde_whatif_offers(j->w, offers, MOST_OFFERS, err);
	for (i = 0; nr_offers > 0 && i < (size_t)nr_offers; i++)
		if (!sonde_vec_put(&j->answers,
			    (struct answer){sonde_str_from(offers[i].text), offers[i].gain}))
			return sonde_err_nomem(err);
	return nr_offers < 0 ? nr_offers : 0;
}

/* Reads the report of the capture, for its counters, if a change is about a roofline. */
static int read_counters(struct job *j, const char *const *words, size_t nr, struct sonde_err *err)
{
	bool is_asked = false;
	size_t i;

	for (i = 1; i < nr; i++)
		is_asked |= sonde_str_ends(sonde_str_from(words[i]), "=roofline");
	if (!is_asked)
		return 0;
	j->report = sonde_pipeline_new();
	if (!j->report || sonde_pipeline_add_input(j->report, words[0]) || sonde_pipeline_set(j->report, "report.whatif=off") ||
		(j->q->together && sonde_pipeline_set(j->report, "report.together=true")))
		return sonde_err_nomem(err);
	return sonde_pipeline_run(j->report, err);
}

/* Whether no capture is named: there are no words, or changes only. */
static bool is_without_run(const struct sonde_word_list *words)
{
	const char *first = words->nr ? words->at[0] : "";

	return !words->nr || (access(first, F_OK) != 0 && (strchr(first, ':') || strcmp(first, "level-ranks") == 0));
}

/* Puts the newest run in front of the changes if no capture is named. */
static int take_newest(struct sonde_args *args, struct sonde_err *err)
{
	struct sonde_word_list *words = &args->operands;
	const char *newest;
	int rc = is_without_run(words) ? sonde_newest_run(&newest, "whatif", &args->arena, err) : 1;

	if (rc)
		return rc < 0 ? rc : 0;
	if (!sonde_word_list_add(words, newest))
		return sonde_err_nomem(err);
	memmove(words->at + 1, words->at, (words->nr - 1) * sizeof(*words->at));
	words->at[0] = newest;
	return 0;
}

static int run_whatif(struct job *j, const char *const *words, size_t nr, struct sonde_err *err)
{
	const struct sonde_read_options read = {.together = j->q->together};
	struct sonde_whatif_source source = {
		.paths = words, .nr_paths = 1, .read = &read, .step = j->q->step};
	struct sonde_sink out;
	int rc = read_counters(j, words, nr, err);

	source.report = j->report ? j->report->tree : NULL;
	if (rc == 0)
		rc = sonde_whatif_open(&j->w, &source, err);
	if (rc == 0)
		rc = answer_changes(j, words + 1, nr - 1, err);
	if (rc == 0)
		rc = sonde_output_open(&out, j->q->output, err);
	if (rc)
		return rc;
	if (j->q->format == FORMAT_JSON) {
		write_json(j, &out);
	} else {
		write_text(j, &out);
		sonde_say_notes(sonde_whatif_notes(j->w));
	}
	return sonde_sink_finish(&out, 0, err);
}

#define INTO(member) offsetof(struct request, member)
static const struct sonde_option options[] = {
	SONDE_OPT('f', "format", "text|json", CHOICE, format, "what to print (text)"),
	SONDE_OPT('o', "output", "FILE", WORD, output, "write there instead of printing"),
	SONDE_OPT(0, "step", "ID", WORD, step,
		"the region whose time the figures are about (the repeated one with GPU work and the most wall time)"),
	SONDE_OPT(0, "all", NULL, FLAG, shows_all, "also show how well each region was replayed as it was"),
	SONDE_OPT(0, "together", NULL, FLAG, together,
		"of a folder, take all runs and jobs in it; otherwise its newest run"),
	SONDE_OPT_WIDTH(width),
};

static const struct sonde_usage usage = {"sonde whatif [RUN] [CHANGE...] [options]",
	"Replays a run with changes, and says how much of a step they would save, with a 95 %\n"
	"interval. RUN is a run directory or any capture with the times of launches; without\n"
	"RUN it is the newest run. Without a CHANGE it lists what would gain most; several\n"
	"are made together. REGION and NAME are globs; `forward` is any region of that name,\n"
	"those in the step first.\n"
	"  graph:REGION             the launches of an entry become one CUDA graph launch\n"
	"  fuse:REGION              the kernels of an entry become one\n"
	"  nosync:REGION            the host does not wait there\n"
	"  async-copy:REGION        copies are from pinned memory, and the host goes on\n"
	"  gather:REGION            the copies of an entry become one of the same bytes\n"
	"  noalloc:REGION           allocations take no time and wait for nothing\n"
	"  ahead:REGION             the host's own work there is done ahead, in other\n"
	"                           threads: the most that can gain\n"
	"  kernel:NAME=0.5x         a kernel takes half its time\n"
	"  kernel:NAME=roofline     it runs at the peak of what limits it, by its counters\n"
	"  overlap-comm:REGION      collectives start earlier, beside the rest of the step\n"
	"  level-ranks              no rank waits for a later one in a collective\n"
	"  remove:REGION            all of it is gone: the most that any change can gain\n"
	"Where the run as it was is replayed with more than 5 % error, nothing is predicted.",
	options, sizeof(options) / sizeof(*options),
	{{"what would gain most in the newest run", "sonde whatif"},
		{"two changes together", "sonde whatif out graph:forward nosync:log"}}};

int sonde_cmd_whatif(int argc, char **argv)
{
	struct request q = {0};
	struct job j = {.q = &q};
	struct sonde_args args = {0};
	struct sonde_err err = {0};
	int rc = sonde_options_read(&args, &usage, &q, argc, argv, &err);

	if (rc == 0)
		rc = take_newest(&args, &err);
	if (rc == 0)
		rc = run_whatif(&j, args.operands.at, args.operands.nr, &err);
	sonde_whatif_free(j.w);
	sonde_pipeline_free(j.report);
	sonde_vec_release(&j.answers);
	sonde_arena_release(&j.arena);
	sonde_args_release(&args);
	return rc < 0 ? sonde_cmd_fail(&err) : 0;
}
