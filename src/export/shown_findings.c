#include "export/shown_findings.h"

#include "export/shown_reports.h"

#include <string.h>

#define LONG_NAME 60 /* bytes; longer names are cut, because they are part of a sentence */

#define MOST_ALSO 3  /* most places named after a finding whose cause they share */

/* The index of the first finding with the same cause. */
static size_t leader_of(const struct sonde_findings *f, size_t i)
{
	size_t k = 0;

	while (f->at.at[k].cause != f->at.at[i].cause)
		k++;
	return k;
}

static bool is_grouped(const struct sonde_export_options *o)
{
	return o->max_findings != SONDE_NO_LIMIT;
}

size_t sonde_findings_shown(
	const struct sonde_finding *out[SONDE_MAX_FINDINGS], const struct sonde_tree *t, const struct sonde_export_options *o)
{
	const struct sonde_findings *f = t->findings;
	size_t max = o->max_findings ? o->max_findings : SONDE_FEW_FINDINGS, nr = 0, i;

	if (!f || o->no_findings || !sonde_report_is_shown(f->report, o) || o->is_flat ||
		o->view == SONDE_VIEW_MEMORY || o->view == SONDE_VIEW_RANKS)
		return 0;
	for (i = 0; i < f->at.nr && i < SONDE_MAX_FINDINGS && nr < max; i++)
		if (!is_grouped(o) || leader_of(f, i) == i)
			out[nr++] = &f->at.at[i];
	return nr;
}

static struct sonde_str end_of(struct sonde_str name)
{
	size_t from = name.n > LONG_NAME ? name.n - LONG_NAME : 0;

	while (from < name.n && from && (name.p[from] & 0xc0) == 0x80)
		from++;
	return (struct sonde_str){name.p + from, name.n - from};
}

void sonde_finding_say(struct sonde_buf *out, const struct sonde_finding *f)
{
	struct sonde_str where = end_of(f->where);

	sonde_buf_puts(out, where.n < f->where.n ? "..." : "");
	sonde_buf_str(out, where);
	sonde_buf_puts(out, ": ");
	sonde_buf_str(out, f->says);
	if (!sonde_str_ends(f->says, "."))
		sonde_buf_putc(out, '.');
}

/* Whether `text` has the placeholder of a command at `at`: `sonde report RUN`. */
static bool is_run_word(struct sonde_str text, size_t at)
{
	static const char *const commands[] = {"`sonde report ", "`sonde whatif ", "`sonde view "};
	struct sonde_str before = {text.p, at};
	size_t i;

	if (text.n - at < 4 || memcmp(text.p + at, "RUN", 3) != 0 || !strchr(" `", text.p[at + 3]))
		return false;
	for (i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		if (sonde_str_ends(before, commands[i]))
			return true;
	return false;
}

void sonde_finding_name_run(struct sonde_buf *line, const char *run)
{
	struct sonde_buf out = {0};
	struct sonde_str text = sonde_buf_view(line);
	size_t i;

	for (i = 0; i < text.n; i++) {
		if (!is_run_word(text, i)) {
			sonde_buf_putc(&out, text.p[i]);
			continue;
		}
		i += 2;
		if (*run)
			sonde_buf_puts(&out, run);
		else /* nor the blank before it */
			out.n--;
	}
	line->failed |= out.failed;
	sonde_buf_clear(line);
	sonde_buf_str(line, sonde_buf_view(&out));
	sonde_buf_release(&out);
}

/* Whether the report is what the command would show. */
static bool is_shown_already(struct sonde_str command, const struct sonde_export_options *o)
{
	static const struct {
		const char *option;
		enum sonde_columns_view view;
	} views[] = {{" --idle", SONDE_VIEW_IDLE}, {" --memory", SONDE_VIEW_MEMORY}, {" --ranks", SONDE_VIEW_RANKS}, {" --stalls", SONDE_VIEW_STALLS}};
	size_t i;

	for (i = 0; i < sizeof(views) / sizeof(*views); i++)
		if (o->view == views[i].view && sonde_str_ends(command, views[i].option))
			return true;
	return false;
}

void sonde_finding_say_next(struct sonde_buf *out, const struct sonde_findings *all, const struct sonde_export_options *o, const struct sonde_finding *f)
{
	sonde_buf_puts(out, "Do: ");
	sonde_buf_str(out, f->action);
	sonde_buf_puts(out, ". Gain: ");
	sonde_finding_say_gain(out, all, f, true);
	sonde_buf_putc(out, '.');
	if (is_shown_already(f->next, o))
		return;
	sonde_buf_puts(out, " More: `");
	sonde_buf_str(out, f->next);
	sonde_buf_puts(out, "`");
}

/* Appends "step/optimizer (7%)" or "gemv in step/decode (3%)". */
static void put_other(struct sonde_buf *out, const struct sonde_tree *t, const struct sonde_finding *f, uint32_t leader)
{
	const char *whole = f->is_in_step ? "" : t->findings->is_gpu_time ? " of GPU time" : " of the time in ranges";
	struct sonde_str where = end_of(f->where);

	if (f->kernel != SONDE_NONE)
		sonde_buf_str(out, sonde_tree_short_name(t, f->kernel));
	if (f->kernel != SONDE_NONE && f->node != leader)
		sonde_buf_puts(out, " in ");
	if (f->kernel == SONDE_NONE || f->node != leader) {
		sonde_buf_puts(out, where.n < f->where.n ? "..." : "");
		sonde_buf_str(out, where);
	}
	sonde_buf_printf(out, " (%.0f%%%s)", 100 * f->share, whole);
}

void sonde_finding_say_also(
	struct sonde_buf *out, const struct sonde_tree *t, const struct sonde_export_options *o, const struct sonde_finding *f)
{
	const struct sonde_findings *all = t->findings;
	size_t i, nr = 0;

	if (!is_grouped(o))
		return;
	for (i = 0; i < all->at.nr; i++) {
		const struct sonde_finding *other = &all->at.at[i];

		if (other == f || other->cause != f->cause)
			continue;
		if (nr < MOST_ALSO) {
			sonde_buf_puts(out, nr ? ", " : "Also: ");
			put_other(out, t, other, f->node);
		}
		nr++;
	}
	if (nr > MOST_ALSO)
		sonde_buf_printf(out, " and %zu more", nr - MOST_ALSO);
	sonde_buf_puts(out, nr ? "." : "");
}

/* Whether a finding is shown, or named after one with its cause. */
static bool is_told(const struct sonde_finding *f, const struct sonde_finding *const *shown, size_t nr, bool are_groups)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (f == shown[i] || (are_groups && f->cause == shown[i]->cause))
			return true;
	return false;
}

void sonde_findings_say_rest(struct sonde_buf *out, const struct sonde_tree *t, const struct sonde_export_options *o)
{
	const struct sonde_finding *shown[SONDE_MAX_FINDINGS];
	size_t nr = sonde_findings_shown(shown, t, o), i, rest = 0, nr_gains = 0;

	for (i = 0; nr && i < t->findings->at.nr; i++)
		rest += !is_told(&t->findings->at.at[i], shown, nr, is_grouped(o));
	for (i = 0; i < nr; i++)
		nr_gains += shown[i]->gain.ns > 0 && !sonde_finding_gains_nothing(shown[i]);
	if (rest)
		sonde_buf_printf(out, "%zu more: --findings all%s", rest, nr_gains > 1 ? ". " : "");
	if (nr_gains > 1)
		sonde_buf_puts(out, "Gains overlap: they do not add up.");
}

void sonde_findings_say_step(struct sonde_buf *out, const struct sonde_tree *t, const struct sonde_export_options *o)
{
	const struct sonde_finding *shown[SONDE_MAX_FINDINGS];
	size_t nr = sonde_findings_shown(shown, t, o), i;
	const struct sonde_findings *f = t->findings;
	bool is_meant = false;

	for (i = 0; i < nr; i++)
		is_meant |= shown[i]->is_in_step;
	if (!is_meant || (sonde_str_is(f->each, "each step") && !f->nr_left_out))
		return;
	sonde_buf_puts(out, "step = ");
	sonde_node_say(out, t, &f->report->nodes.at[f->step]);
	sonde_buf_printf(out, ": %llu %s of %.3f ms%s", (unsigned long long)f->nr_entries, f->nr_entries == 1 ? "entry" : "entries", (f->step_ns + f->between_ns) / 1e6,
		f->is_selected_time ? " in selected kernels" : "");
	if (f->nr_left_out)
		sonde_buf_printf(out, ", without %llu that took far longer", (unsigned long long)f->nr_left_out);
	sonde_buf_puts(out, " (report.step=ID chooses another)");
}

bool sonde_findings_name(const struct sonde_tree *t, const struct sonde_report *r, const struct sonde_export_options *o, uint32_t node)
{
	const struct sonde_finding *shown[SONDE_MAX_FINDINGS];
	size_t i, k, nr = sonde_findings_shown(shown, t, o);
	uint32_t region = r->nodes.at[node].region;

	for (i = 0; i < nr; i++) {
		const struct sonde_finding *f = shown[i];
		const struct sonde_node *nodes = t->findings->report->nodes.at;

		if (f->node != SONDE_NONE && nodes[f->node].region == region)
			return true;
		for (k = 0; k < f->nr_evidence; k++)
			if (f->evidence[k].node != SONDE_NONE && nodes[f->evidence[k].node].region == region)
				return true;
	}
	return false;
}
