/* "stalls" of a region, its exclusive part, a kernel (with "lines") or totals; "pc_samples" of the document. */
#include "export/json_int.h"

#include "catalogue/stall_reasons.h"
#include "tree/hot_lines.h"
#include "tree/stall_profile.h"

#define MOST_LINES   100
#define MOST_CALLERS 64
#define MOST_PCS     20

static void write_place(struct sonde_json_export *x, const struct sonde_line *line)
{
	sonde_json_str(&x->w, "file", sonde_cells_str(x->tree->cells, line->file));
	sonde_json_u64(&x->w, "line", line->line);
}

/* Writes where the line was inlined, the innermost caller first. */
static void write_callers(struct sonde_json_export *x, const struct sonde_line *line)
{
	const struct sonde_line *lines = x->tree->cells->lines.at;
	uint32_t at = line->caller, left = MOST_CALLERS;

	sonde_json_open(&x->w, "callers", '[', true);
	for (; at != SONDE_NONE && left; at = lines[at].caller, left--) {
		sonde_json_open(&x->w, NULL, '{', true);
		write_place(x, &lines[at]);
		sonde_json_close(&x->w, '}');
	}
	sonde_json_close(&x->w, ']');
}

static void write_reason(struct sonde_json_export *x, uint32_t reason)
{
	const struct sonde_cells *c = x->tree->cells;

	if (reason == SONDE_NONE)
		sonde_json_null(&x->w, "reason");
	else
		sonde_json_str(&x->w, "reason", sonde_cells_str(c, c->stall_reasons.at[reason]));
}

/* Writes the hottest instructions, also of code without line tables. */
static void write_pcs(struct sonde_json_export *x, const struct sonde_hot_lines *hot)
{
	const struct sonde_cells *c = x->tree->cells;
	size_t i, nr = hot->at.nr < MOST_PCS ? hot->at.nr : MOST_PCS;

	sonde_json_each(&x->w, "instructions", false, i, nr) {
		const struct sonde_hot_line *h = &hot->at.at[i];

		sonde_json_str(&x->w, "function", sonde_cells_str(c, c->symbols.at[h->symbol].name));
		sonde_json_u64(&x->w, "offset", h->pc);
		sonde_json_number(&x->w, "samples", h->samples);
		sonde_json_number(&x->w, "share_pct", 100 * h->samples / hot->samples);
		write_reason(x, h->reason);
		if (h->line != SONDE_NONE)
			write_place(x, &c->lines.at[h->line]);
	}
}

/* Writes the hottest lines, and how many samples are in other lines or in none. */
static void write_lines(struct sonde_json_export *x, const struct sonde_hot_lines *hot)
{
	const struct sonde_cells *c = x->tree->cells;
	size_t i, nr = hot->at.nr < MOST_LINES ? hot->at.nr : MOST_LINES;
	double left = hot->samples;

	sonde_json_each(&x->w, "lines", false, i, nr) {
		const struct sonde_hot_line *h = &hot->at.at[i];

		write_place(x, &c->lines.at[h->line]);
		sonde_json_number(&x->w, "samples", h->samples);
		sonde_json_number(&x->w, "share_pct", 100 * h->samples / hot->samples);
		write_reason(x, h->reason);
		write_callers(x, &c->lines.at[h->line]);
		left -= h->samples;
	}
	/* A rest below a millionth comes from adding fractions. */
	sonde_json_number(&x->w, "unlisted_samples", left > hot->samples * 1e-6 ? left : 0);
}

void sonde_json__write_stalls(
	struct sonde_json_export *x, const struct sonde_report *r, enum sonde_part part, uint32_t index)
{
	struct sonde_stall_profile p = {0};
	struct sonde_hot_lines hot = {0};
	size_t i;

	if (!sonde_tree_has_stalls(x->tree))
		return;
	x->w.sink->buf.failed |= !sonde_stall_profile_make(&p, x->tree, r, part, index);
	if (p.at.nr) {
		sonde_json_open(&x->w, "stalls", '{', false);
		sonde_json_number(&x->w, "samples", p.samples);
		sonde_json_number(&x->w, "exact_samples", p.exact);
		sonde_json_z(&x->w, "method", sonde_stall_profile_is_exact(&p) ? "exact" : "by time");
		sonde_json_number(&x->w, "sampled_ms", p.sampled_ns / 1e6);
		sonde_json_each(&x->w, "reasons", false, i, p.at.nr) {
			sonde_json_str(&x->w, "reason", p.at.at[i].name);
			sonde_json_str(&x->w, "words", sonde_stall_reason_words(p.at.at[i].name));
			sonde_json_number(&x->w, "share_pct", 100 * p.at.at[i].share);
			sonde_json_number(&x->w, "samples", p.at.at[i].samples);
			sonde_json_number(&x->w, "not_issued", p.at.at[i].not_issued);
		}
		if (part == SONDE_PART_KERNEL && x->tree->cells->lines.nr) {
			x->w.sink->buf.failed |= !sonde_hot_lines_make(&hot, x->tree, r, part, index);
			write_lines(x, &hot);
		}
		if (part == SONDE_PART_KERNEL) {
			x->w.sink->buf.failed |= !sonde_hot_lines_make_pcs(&hot, x->tree, r, part, index);
			write_pcs(x, &hot);
		}
		sonde_json_close(&x->w, '}');
	}
	sonde_hot_lines_release(&hot);
	sonde_stall_profile_release(&p);
}

void sonde_json__write_pc_samples(struct sonde_json_export *x)
{
	const struct sonde_cells *c = x->tree->cells;
	size_t i, nr = c ? c->stall_sources.nr : 0;

	if (!nr)
		return;
	sonde_json_each(&x->w, "pc_samples", false, i, nr) {
		const struct sonde_stall_source *s = &c->stall_sources.at[i];

		sonde_json_u64(&x->w, "process_id", c->processes.at[s->process].pid);
		if (s->period)
			sonde_json_u64(&x->w, "period_cycles", s->period);
		else
			sonde_json_null(&x->w, "period_cycles");
		sonde_json_u64(&x->w, "samples", s->samples);
		sonde_json_u64(&x->w, "without_launch", s->unplaced);
		sonde_json_u64(&x->w, "dropped", s->dropped);
		sonde_json_u64(&x->w, "full_drains", s->full_drains);
	}
}
