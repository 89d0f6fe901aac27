/* Why the warps of each kernel did not go on, and at which source lines: members of the page's kernels. */
#include "catalogue/stall_reasons.h"
#include "export/html_int.h"
#include "export/source_text.h"
#include "tree/hot_lines.h"
#include "tree/stall_profile.h"

#define MOST_LINES   20
#define MOST_PCS     10
#define MOST_CALLERS 8
#define MOST_TEXT    160u /* most bytes of a source line */

static bool write_reasons(struct sonde_html *h, const struct sonde_report *r, uint32_t kernel, struct sonde_stall_profile *p)
{
	struct sonde_json *w = &h->x.w;
	size_t i;

	if (!sonde_stall_profile_make(p, h->x.tree, r, SONDE_PART_KERNEL, kernel))
		return false;
	sonde_json_array(w, NULL, true, i, p->at.nr) {
		sonde_json_open(w, NULL, '[', true);
		sonde_json_str(w, NULL, sonde_stall_reason_words(p->at.at[i].name));
		sonde_json_number(w, NULL, 100 * p->at.at[i].share);
		sonde_json_close(w, ']');
	}
	return true;
}

/* The places in source files that rows refer to, each once: a line may be inlined in many places. */
struct places {
	struct sonde_map keys;
	SONDE_VEC(struct sonde_line) at;
	struct sonde_arena arena;
};

static void write_place(struct sonde_html *h, struct places *p, uint32_t number)
{
	const struct sonde_line *line = &h->x.tree->cells->lines.at[number];
	const uint32_t key[2] = {line->file, line->line};
	bool is_new = false;
	uint32_t at = sonde_intern_copy(&p->arena, &p->keys, SONDE_BYTES(key), &is_new);

	if (is_new)
		sonde_put(&p->arena, &p->at, *line);
	sonde_json_u64(&h->x.w, NULL, at);
}

static void write_share(struct sonde_json *w, const struct sonde_hot_line *line, double samples)
{
	sonde_json_number(w, NULL, (double)(int)(1000 * line->samples / samples + 0.5) / 10);
	if (line->reason == SONDE_NONE)
		sonde_json_null(w, NULL);
	else
		sonde_json_u64(w, NULL, line->reason);
}

/* Writes the lines with the most samples: place, share, main reason, then where it was inlined, innermost first. */
static bool write_lines(struct sonde_html *h, const struct sonde_report *r, uint32_t kernel, struct sonde_hot_lines *lines, struct places *p)
{
	const struct sonde_line *all = h->x.tree->cells->lines.at;
	struct sonde_json *w = &h->x.w;
	uint32_t at, left;
	size_t i;

	if (!sonde_hot_lines_make(lines, h->x.tree, r, SONDE_PART_KERNEL, kernel))
		return false;
	sonde_json_array(w, NULL, true, i, lines->at.nr < MOST_LINES ? lines->at.nr : MOST_LINES) {
		sonde_json_open(w, NULL, '[', true);
		write_place(h, p, lines->at.at[i].line);
		write_share(w, &lines->at.at[i], lines->samples);
		for (at = all[lines->at.at[i].line].caller, left = MOST_CALLERS; at != SONDE_NONE && left; at = all[at].caller, left--)
			write_place(h, p, at);
		sonde_json_close(w, ']');
	}
	return true;
}

/* Writes the instructions with the most samples: offset in the function, share, main reason, place. */
static bool write_code(struct sonde_html *h, const struct sonde_report *r, uint32_t kernel, struct sonde_hot_lines *pcs, struct places *p)
{
	struct sonde_json *w = &h->x.w;
	size_t i;

	if (!sonde_hot_lines_make_pcs(pcs, h->x.tree, r, SONDE_PART_KERNEL, kernel))
		return false;
	sonde_json_array(w, NULL, true, i, pcs->at.nr < MOST_PCS ? pcs->at.nr : MOST_PCS) {
		sonde_json_open(w, NULL, '[', true);
		sonde_json_u64(w, NULL, pcs->at.at[i].pc);
		write_share(w, &pcs->at.at[i], pcs->samples);
		if (pcs->at.at[i].line != SONDE_NONE)
			write_place(h, p, pcs->at.at[i].line);
		sonde_json_close(w, ']');
	}
	return true;
}

/* Writes each place as `gemm.cu:17`, and its text: null if the file is not there, 0 if it has changed. */
static void write_places(struct sonde_html *h, const struct places *p)
{
	const struct sonde_cells *c = h->x.tree->cells;
	struct sonde_json *w = &h->x.w;
	struct sonde_source_texts sources;
	struct sonde_buf name = {0};
	struct sonde_str text;
	size_t i;

	sonde_source_texts_open(&sources, c);
	sonde_json_array(w, "places", true, i, p->at.nr) {
		sonde_buf_clear(&name);
		sonde_buf_str(&name, sonde_cells_str(c, p->at.at[i].file));
		sonde_buf_printf(&name, ":%u", p->at.at[i].line);
		sonde_json_str(w, NULL, sonde_buf_view(&name));
	}
	sonde_json_array(w, "texts", true, i, p->at.nr) {
		enum sonde_source_state state = sonde_source_text(&sources, &p->at.at[i], &text);

		text.n = text.n < MOST_TEXT ? text.n : MOST_TEXT;
		if (state == SONDE_SOURCE_IS_THERE)
			sonde_json_str(w, NULL, text);
		else if (state == SONDE_SOURCE_CHANGED)
			sonde_json_u64(w, NULL, 0);
		else
			sonde_json_null(w, NULL);
	}
	sonde_json_array(w, "reasons", true, i, c->stall_reasons.nr)
		sonde_json_str(w, NULL, sonde_stall_reason_words(sonde_cells_str(c, c->stall_reasons.at[i])));
	h->json.buf.failed |= name.failed | sources.arena.failed;
	sonde_source_texts_release(&sources);
	sonde_buf_release(&name);
}

int sonde_html__write_stalls(struct sonde_html *h, const struct sonde_report *r)
{
	struct sonde_stall_profile p = {0};
	struct sonde_hot_lines lines = {0};
	struct places places = {0};
	bool ok = true;
	uint32_t i;

	if (!sonde_tree_has_stalls(h->x.tree))
		return 0;
	sonde_json_open(&h->x.w, "stalls", '[', true);
	for (i = 0; ok && i < r->kernels.nr; i++)
		ok = write_reasons(h, r, i, &p);
	sonde_json_close(&h->x.w, ']');
	sonde_json_open(&h->x.w, "lines", '[', true);
	for (i = 0; ok && i < r->kernels.nr; i++)
		ok = write_lines(h, r, i, &lines, &places);
	sonde_json_close(&h->x.w, ']');
	sonde_json_open(&h->x.w, "code", '[', true);
	for (i = 0; ok && i < r->kernels.nr; i++)
		ok = write_code(h, r, i, &lines, &places);
	sonde_json_close(&h->x.w, ']');
	write_places(h, &places);
	ok = ok && !places.arena.failed;
	sonde_arena_release(&places.arena);
	sonde_stall_profile_release(&p);
	sonde_hot_lines_release(&lines);
	return ok ? 0 : sonde_err_nomem(h->err);
}
