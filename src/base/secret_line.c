/*
 * Makes masked copies. A line without a secret, as most are, is not copied. This is not in secret.c, because the
 * injected library links that file and has neither buffers nor arenas.
 */
#include "base/arena.h"
#include "base/secret.h"

void sonde_secret_mask(struct sonde_secret *s, struct sonde_buf *out, struct sonde_str word)
{
	size_t at = 0, from, to;

	sonde_secret_word(s, word.p, word.n);
	while (sonde_secret_next(s, &from, &to)) {
		sonde_buf_add(out, word.p + at, from - at);
		sonde_buf_puts(out, SONDE_SECRET_MASK);
		at = to;
	}
	sonde_buf_add(out, word.p + at, word.n - at);
}

struct sonde_str sonde_secret_mask_line(struct sonde_arena *arena, struct sonde_str line)
{
	struct sonde_str rest = line, masked = line, word;
	struct sonde_secret s = {0};
	struct sonde_buf b = {0};

	while (rest.n) {
		size_t before = rest.n;

		word = sonde_str_cut(rest, ' ', &rest);
		if (word.n)
			sonde_secret_mask(&s, &b, word);
		sonde_buf_puts(&b, before > word.n ? " " : "");
	}
	if (b.failed)
		masked = SONDE_STR("");
	else if (!sonde_str_eq(sonde_buf_view(&b), line))
		masked = sonde_arena_dup(arena, sonde_buf_view(&b));
	sonde_buf_release(&b);
	return masked;
}
