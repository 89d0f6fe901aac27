#include "capture/plan.h"

#include "capture/machine.h"
#include "catalogue/attributes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_LEVELS	 64
#define SECONDS_PER_PASS 0.018 /* for each kernel: on an H200, 9 passes (3 metrics) took 0.16 s */

bool sonde_replay_is_ranges(const char *mode)
{
	return strcmp(mode, "range") == 0 || strcmp(mode, "app-range") == 0;
}

/* The label that an expression opens, which is its last one: `D@[A/B]` → `B`. */
static struct sonde_str label_opened_by(const char *expression)
{
	struct sonde_str s = sonde_str_from(expression);
	size_t i;

	if (sonde_str_starts(s, "regex:"))
		s = (struct sonde_str){s.p + 6, s.n - 6};
	while (s.n && strchr("/]", s.p[s.n - 1]))
		s.n--;
	for (i = s.n; i && !(strchr("/[@,", s.p[i - 1]) && (i < 2 || s.p[i - 2] != '\\')); i--)
		;
	s = (struct sonde_str){s.p + i, s.n - i};
	if (s.n && s.p[0] == '^')
		s = (struct sonde_str){s.p + 1, s.n - 1};
	if (s.n && s.p[s.n - 1] == '$')
		s.n--;
	return s;
}

/* Whether ranges of `inner` are inside ranges of `outer`, as far as the text shows. */
static bool may_nest_in(const char *inner, const char *outer)
{
	struct sonde_str a = label_opened_by(outer), b = label_opened_by(inner), rest = sonde_str_from(inner);

	if (a.n && b.n > a.n + 2 && memcmp(b.p, a.p, a.n) == 0 && memcmp(b.p + a.n, "::", 2) == 0)
		return true;
	while (rest.n) { /* A/B is inside A */
		struct sonde_str element = sonde_str_cut(rest, '/', &rest);

		if (element.n && element.p[0] == '[')
			element = (struct sonde_str){element.p + 1, element.n - 1};
		if (rest.n && sonde_str_eq(element, a))
			return true;
	}
	return false;
}

static unsigned text_level(struct sonde_words all, size_t i)
{
	unsigned level = 0;
	size_t k;

	for (k = 0; k < all.nr; k++)
		if (k != i && may_nest_in(all.at[i], all.at[k]))
			level++;
	return level;
}

static struct sonde_plan_capture *capture_of(
	struct sonde_plan *p, const char *mode, unsigned level, bool is_leveled)
{
	struct sonde_plan_capture *c;
	size_t i;

	for (i = 0; i < p->captures.nr; i++)
		if (p->captures.at[i].level == level)
			return &p->captures.at[i];
	c = sonde_vec_push(&p->captures);
	if (!c)
		return NULL;
	c->mode = mode;
	c->level = level;
	c->name = is_leveled ? sonde_arena_printf(&p->arena, "%s.level%u", mode, level).p : mode;
	return c->name ? c : NULL;
}

static int add_range(struct sonde_plan *p, const struct sonde_plan_request *q,
	const char *expression, unsigned level)
{
	struct sonde_plan_capture *c = capture_of(p, q->replay_mode, level, true);
	const char **slot = c ? sonde_vec_push(&c->include) : NULL;

	if (!slot)
		return SONDE_ERR_NOMEM;
	*slot = sonde_arena_z(&p->arena, sonde_str_from(expression));
	return *slot ? 0 : SONDE_ERR_NOMEM;
}

static int by_level(const void *a, const void *b)
{
	const struct sonde_plan_capture *x = a, *y = b;

	return (x->level > y->level) - (x->level < y->level);
}

/* Whether one of the words may match ranges that nest in each other. */
static bool takes_several(struct sonde_words words)
{
	size_t i;

	for (i = 0; i < words.nr; i++)
		if (strpbrk(words.at[i], "*?") || strncmp(words.at[i], "regex:", 6) == 0)
			return true;
	return false;
}

static int plan_ranges(
	struct sonde_plan *p, const struct sonde_plan_request *q, struct sonde_err *err)
{
	size_t i, nr = q->ranges ? q->nr_ranges : q->include.nr;
	int rc = 0;

	if (nr == 0)
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"replay_mode=%s needs to know the ranges to replay: "
			"pipeline.ncu.ncu_cli.nvtx.include=[...] names them",
			q->replay_mode);
	for (i = 0; i < nr && rc == 0; i++) {
		unsigned level =
			q->ranges ? q->ranges[i].level : text_level(q->words, q->word_of[i]);

		rc = add_range(p, q, q->ranges ? q->ranges[i].expression : q->include.at[i],
			level < MAX_LEVELS ? level : MAX_LEVELS);
	}
	sonde_vec_sort(&p->captures, by_level);
	p->is_open_ended = q->is_found_later && takes_several(q->words);
	if (p->is_open_ended)
		sonde_note(&p->notes,
			"the number of captures depends on discovery: the run lists the program's ranges first "
			"and makes one capture for each level at which chosen ranges nest "
			"(`sonde regions -- COMMAND` lists them now)");
	else if (!q->ranges && q->words.nr > 1)
		sonde_note(
			&p->notes, "the nesting of ranges is guessed from the expressions: where "
				   "two nest in one capture, ncu profiles only the outer one");
	return rc ? sonde_err_nomem(err) : 0;
}

static int plan_kernels(
	struct sonde_plan *p, const struct sonde_plan_request *q, struct sonde_err *err)
{
	struct sonde_plan_capture *c = capture_of(p, q->replay_mode, 0, false);
	size_t i;

	if (!c || !sonde_vec_reserve(&c->include, q->include.nr + 1))
		return sonde_err_nomem(err);
	for (i = 0; i < q->include.nr; i++) {
		c->include.at[i] = sonde_arena_z(&p->arena, sonde_str_from(q->include.at[i]));
		if (!c->include.at[i])
			return sonde_err_nomem(err);
	}
	c->include.nr = q->include.nr;
	return 0;
}

/* Names that are no hardware counters cost no pass, and CUPTI does not know them. */
static bool is_counter(const char *metric)
{
	static const char *const others[] = {"launch__", SONDE_ATTR_PREFIX,
		"group:", "breakdown:", "regex:", "profiler__", "nvlink__", "numa__", "sass__",
		"smsp__pcsamp", "pmsampling:", "source_", "thread_inst_executed", "inst_executed",
		"memory_", "derived__"};
	size_t i;

	for (i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (strncmp(metric, others[i], strlen(others[i])) == 0)
			return false;
	return *metric != '\0' && strncmp(metric, "pmsampling", 10) != 0 && !strpbrk(metric, "*?");
}

static int count_passes(
	struct sonde_plan *p, const struct sonde_plan_request *q, struct sonde_err *err)
{
	SONDE_VEC(const char *) counters = {0};
	struct sonde_err why = {0};
	size_t i;
	int rc = 0;

	for (i = 0; i < q->metrics.nr; i++) {
		const char **slot = is_counter(q->metrics.at[i]) ? sonde_vec_push(&counters) : NULL;

		if (slot)
			*slot = q->metrics.at[i];
	}
	if (q->chip)
		snprintf(p->chip, sizeof(p->chip), "%s", q->chip);
	else
		p->is_chip_assumed = !sonde_machine_chip(p->chip, sizeof(p->chip));
	if (p->is_chip_assumed)
		snprintf(p->chip, sizeof(p->chip), "GH100");
	if (counters.nr)
		rc = sonde_passes_count(&p->passes, p->chip, counters.at, counters.nr, &why);
	if (rc == SONDE_ERR_USAGE && q->chip) {
		sonde_vec_release(&counters);
		return sonde_err_set(err, rc, "--chip: %s", why.msg);
	}
	if (rc)
		sonde_note(&p->notes, "the number of passes is not known: %s", why.msg);
	sonde_vec_release(&counters);
	return 0;
}

int sonde_plan_build(
	struct sonde_plan *out, const struct sonde_plan_request *q, struct sonde_err *err)
{
	int rc;

	*out = (struct sonde_plan){0};
	rc = sonde_replay_is_ranges(q->replay_mode) ? plan_ranges(out, q, err)
						    : plan_kernels(out, q, err);
	out->has_base_clocks = q->clock_control && strcmp(q->clock_control, "base") == 0;
	if (rc == 0)
		rc = count_passes(out, q, err);
	if (rc)
		sonde_plan_release(out);
	return rc;
}

void sonde_plan_release(struct sonde_plan *p)
{
	size_t i;

	for (i = 0; i < p->captures.nr; i++)
		sonde_vec_release(&p->captures.at[i].include);
	sonde_vec_release(&p->captures);
	sonde_notes_release(&p->notes);
	sonde_arena_release(&p->arena);
}

static void show_passes(const struct sonde_plan *p, struct sonde_buf *out)
{
	if (p->passes.nr == 0)
		return;
	sonde_buf_printf(out, "  passes: %zu for the named metrics on %s%s", p->passes.nr, p->chip,
		p->is_chip_assumed ? " (no GPU here; --chip plans for another)" : "");
	if (p->launches)
		sonde_buf_printf(out, "; %" PRIu64 " launches: about %.0f s with kernel replay",
			p->launches,
			(double)p->launches * (double)(p->passes.nr + 1) * SECONDS_PER_PASS + 2);
	sonde_buf_puts(out, "; sections and sets may add more\n");
}

const char *sonde_plan_clocks(const struct sonde_plan *p)
{
	return p->has_base_clocks ? "locked to base by ncu while it profiles (clock_control=base)"
				  : "the card's settings are left alone (clock_control=none)";
}

void sonde_plan_show(const struct sonde_plan *p, struct sonde_buf *out)
{
	size_t i, k;

	sonde_buf_printf(out, "plan: %zu ncu capture%s%s\n", p->captures.nr,
		p->captures.nr == 1 ? "" : "s", p->is_open_ended ? " or more" : "");
	for (i = 0; i < p->captures.nr; i++) {
		const struct sonde_plan_capture *c = &p->captures.at[i];

		sonde_buf_printf(out, "  %s: %s replay, ", c->name, c->mode);
		if (c->include.nr == 0)
			sonde_buf_puts(out, "all launches");
		for (k = 0; k < c->include.nr; k++)
			sonde_buf_printf(out, "%s%s", k ? " " : "ranges ", c->include.at[k]);
		sonde_buf_putc(out, '\n');
	}
	show_passes(p, out);
	sonde_buf_printf(out, "  clocks: %s\n", sonde_plan_clocks(p));
	for (i = 0; i < p->notes.texts.nr; i++)
		sonde_buf_printf(out, "  note: %.*s\n", SONDE_STR_ARG(p->notes.texts.keys[i]));
}
