/*
 * Label globs in Nsight Compute's words.
 *
 * Nsight has no label globs, so each becomes regular expressions: for push/pop
 * (with the `/`) and for start/end (without), in the default domain and in any
 * other. What means something to either grammar becomes `.`: the result takes
 * at least what the glob takes, and reading filters exactly. (A label with a
 * line end in place of such a character is the one thing it misses.)
 */
#include "attribute/nvtx_expr_int.h"

#include <string.h>

bool nvtx_is_plain(char c)
{
	return (unsigned char)c >= ' ' && c != 0x7f && !strchr("@,;[]/*+?\\^$.|(){}", c);
}

static void put_regex(struct sonde_buf *out, const struct nvtx_text *t, size_t from, size_t to)
{
	size_t i;

	sonde_buf_putc(out, '^');
	for (i = from; i < to; i++) {
		const struct nvtx_char *ch = &t->at[i];

		if (ch->role == '*')
			sonde_buf_puts(out, ".*");
		else if (ch->role == '?')
			sonde_buf_puts(out, ".+"); /* Nsight may count bytes, we count characters */
		else
			sonde_buf_putc(out, nvtx_is_plain(ch->c) ? ch->c : '.');
	}
	sonde_buf_putc(out, '$');
}

/* Both kinds of ranges: `DOMAIN@regex/` and `DOMAIN@regex`. */
static void put_twins(struct sonde_buf *out, struct sonde_str domain, struct sonde_str label)
{
	static const char *const end[] = {"/\n", "\n"};
	size_t i;

	for (i = 0; i < 2; i++) {
		sonde_buf_puts(out, "regex:");
		sonde_buf_str(out, domain);
		if (domain.n)
			sonde_buf_putc(out, '@');
		sonde_buf_str(out, label);
		sonde_buf_puts(out, end[i]);
	}
}

static void put_label(struct sonde_buf *out, const struct nvtx_text *t)
{
	struct sonde_buf label = {0}, domain = {0};
	size_t at = nvtx_find_role(t, 0, "@");

	put_regex(&label, t, 0, t->nr);
	put_twins(out, (struct sonde_str){NULL, 0}, sonde_buf_view(&label));
	put_twins(out, SONDE_STR(".*"), sonde_buf_view(&label));
	if (at > 0 && at + 1 < t->nr) {
		sonde_buf_clear(&label);
		put_regex(&domain, t, 0, at);
		put_regex(&label, t, at + 1, t->nr);
		put_twins(out, sonde_buf_view(&domain), sonde_buf_view(&label));
	}
	out->failed = out->failed || label.failed || domain.failed;
	sonde_buf_release(&label);
	sonde_buf_release(&domain);
}

/* Untouched, but for the `\` that only protected a `;` from our lists. */
static void put_untouched(struct sonde_buf *out, struct sonde_str item)
{
	size_t i;

	for (i = 0; i < item.n; i++) {
		if (item.p[i] == '\\' && i + 1 < item.n) {
			if (item.p[i + 1] != ';')
				sonde_buf_putc(out, '\\');
			i++;
		}
		sonde_buf_putc(out, item.p[i]);
	}
	sonde_buf_putc(out, '\n');
}

int sonde_nvtx_filter_translate(struct sonde_buf *out, const char *word, struct sonde_err *err)
{
	struct sonde_str rest = sonde_str_from(word), item;
	struct sonde_pool pool = {0};
	struct nvtx_text text;
	struct nvtx_expr e;
	int rc = 0;

	while (rc == 0 && sonde_nvtx_next_item(&rest, &item)) {
		if (!item.n)
			continue;
		rc = nvtx_expr_build(&e, &pool, item, err); /* refuses what Nsight would refuse */
		if (rc == 0)
			rc = nvtx_lex(&text, &pool, item, err);
		if (rc)
			break;
		if (nvtx_is_label(&text))
			put_label(out, &text);
		else
			put_untouched(out, item);
	}
	sonde_pool__release(&pool);
	return rc ? rc : out->failed ? sonde_err_nomem(err) : 0;
}
