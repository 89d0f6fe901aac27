/* Words that name metrics or sections: each must name one, or it is said which are near. */
#include "tree/tree_int.h"

/* Up to three names near `word`, then how many there are in all. */
static void suggest(struct sonde_buf *out, struct sonde_str word, const struct sonde_map *names)
{
	uint32_t best[3] = {SONDE_NONE, SONDE_NONE, SONDE_NONE};
	unsigned max = word.n > 24 ? 10 : 2 + (unsigned)word.n / 3, d;
	unsigned score[3] = {max + 1, max + 1, max + 1};
	size_t i, k, nr = 0;

	for (i = 0; i < names->nr; i++) {
		struct sonde_str head = {
			names->keys[i].p, names->keys[i].n > word.n ? word.n : names->keys[i].n};

		d = sonde_str_distance(word, names->keys[i], max);
		if (d > max && word.n > 3 && sonde_str_eq(head, word))
			d = max; /* it begins like this */
		for (k = 3; k > 0 && d < score[k - 1]; k--)
			if (k < 3)
				score[k] = score[k - 1], best[k] = best[k - 1];
		if (k < 3 && d < score[k])
			score[k] = d, best[k] = (uint32_t)i;
	}
	for (k = 0; k < 3 && best[k] != SONDE_NONE; k++, nr++) {
		sonde_buf_puts(out, nr ? ", " : "; did you mean ");
		sonde_buf_str(out, names->keys[best[k]]);
	}
	sonde_buf_puts(out, nr ? "?" : "");
}

/* A word that matches nothing: an error if the user typed it, a note if a default did. */
static int refuse_unknown(struct sonde_tree *t, const struct sonde_wording *w, const char *word,
	struct sonde_err *err)
{
	const struct sonde_map *names = w->names;
	const char *what = w->what;
	struct sonde_buf b = {0};
	size_t i;
	int rc = 0;

	sonde_buf_printf(&b, "%s '%s' is not in the capture", what, word);
	suggest(&b, sonde_str_from(word), names);
	if (names->nr == 0) {
		sonde_buf_printf(&b, "; it has no %ss", what);
	} else if (names->nr <= 12) {
		sonde_buf_puts(&b, "; there are: ");
		for (i = 0; i < names->nr; i++) {
			sonde_buf_puts(&b, i ? ", " : "");
			sonde_buf_str(&b, names->keys[i]);
		}
	} else {
		sonde_buf_printf(&b, "; it has %zu %ss (sonde report %s names them)", names->nr,
			what, what[0] == 'm' ? "--list-metrics" : "--format json");
	}
	if (w->by_default)
		sonde_note(&t->notes, "%s", b.failed ? what : b.p);
	else
		rc = sonde_err_set(err, SONDE_ERR_USAGE, "%s", b.failed ? what : b.p);
	sonde_buf_release(&b);
	return rc;
}

/* Named, captured, but not among what a partial report kept. */
static int left_out(struct sonde_tree *t, const struct sonde_wording *w, const char *word,
	struct sonde_err *err)
{
	static const char text[] = "%s '%s' was left out when a partial report was made; make it "
				   "again with --metrics, or from the capture";

	if (!w->by_default)
		return sonde_err_set(err, SONDE_ERR_USAGE, text, w->what, word);
	sonde_note(&t->notes, text, w->what, word);
	return 0;
}

static int check_word(
	struct sonde_tree *t, const struct sonde_wording *w, size_t word, struct sonde_err *err)
{
	bool is_captured = false;
	size_t i;

	for (i = 0; i < w->names->nr; i++) {
		if (!sonde_name_filter_word_takes(w->filter, word, w->names->keys[i]))
			continue;
		if (!w->is_kept || w->is_kept[i])
			return 0;
		is_captured = true;
	}
	return (is_captured ? left_out : refuse_unknown)(t, w, w->words.at[word], err);
}

int sonde_tree__check_words(
	struct sonde_tree *t, const struct sonde_wording *w, struct sonde_err *err)
{
	size_t i;
	int rc = 0;

	for (i = 0; i < w->words.nr && rc == 0; i++)
		rc = check_word(t, w, i, err);
	return rc;
}
