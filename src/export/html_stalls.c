/* Why the warps of each kernel did not go on, and at which lines of its source: rows of the page's kernels. */
#include "catalogue/stall_reasons.h"
#include "export/html_int.h"
#include "tree/hot_lines.h"
#include "tree/stall_profile.h"

#define MOST_LINES 20

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

/* The lines with the most samples, as `gemm.cu:17`. */
static bool write_lines(struct sonde_html *h, const struct sonde_report *r, uint32_t kernel, struct sonde_hot_lines *lines)
{
	const struct sonde_cells *c = h->x.tree->cells;
	struct sonde_json *w = &h->x.w;
	struct sonde_buf name = {0};
	size_t i;

	if (!sonde_hot_lines_make(lines, h->x.tree, r, SONDE_PART_KERNEL, kernel))
		return false;
	sonde_json_array(w, NULL, true, i, lines->at.nr < MOST_LINES ? lines->at.nr : MOST_LINES) {
		const struct sonde_line *line = &c->lines.at[lines->at.at[i].line];

		sonde_buf_clear(&name);
		sonde_buf_str(&name, sonde_cells_str(c, line->file));
		sonde_buf_printf(&name, ":%u", line->line);
		sonde_json_open(w, NULL, '[', true);
		sonde_json_str(w, NULL, sonde_buf_view(&name));
		sonde_json_number(w, NULL, 100 * lines->at.at[i].samples / lines->samples);
		sonde_json_close(w, ']');
	}
	h->json.buf.failed |= name.failed;
	sonde_buf_release(&name);
	return true;
}

int sonde_html__write_stalls(struct sonde_html *h, const struct sonde_report *r)
{
	struct sonde_stall_profile p = {0};
	struct sonde_hot_lines lines = {0};
	bool ok = true;
	uint32_t i;

	if (!sonde_tree_has_stalls(h->x.tree))
		return 0;
	sonde_json_open(&h->x.w, "stalls", '[', true);
	for (i = 0; ok && i < r->kernels.nr; i++)
		ok = write_reasons(h, r, i, &p);
	sonde_json_close(&h->x.w, ']');
	if (h->x.tree->cells->lines.nr) {
		sonde_json_open(&h->x.w, "lines", '[', true);
		for (i = 0; ok && i < r->kernels.nr; i++)
			ok = write_lines(h, r, i, &lines);
		sonde_json_close(&h->x.w, ']');
	}
	sonde_stall_profile_release(&p);
	sonde_hot_lines_release(&lines);
	return ok ? 0 : sonde_err_nomem(h->err);
}
