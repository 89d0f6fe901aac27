/* A whole line, word by word. Most lines have no secret and are not copied. */
#include "base/secret.h"

#include "base/arena.h"

struct sonde_str sonde_secret_mask_line(struct sonde_arena *arena, struct sonde_str line)
{
	struct sonde_str rest = line, masked = line, word;
	struct sonde_buf b = {0};
	bool is_value = false, is_changed = false;
	size_t visible;

	while (rest.n) {
		size_t before = rest.n;

		word = sonde_str_cut(rest, ' ', &rest);
		visible = word.n ? sonde_secret_visible(word.p, word.n, &is_value) : 0;
		sonde_buf_add(&b, word.p, visible);
		sonde_buf_puts(&b, visible < word.n ? SONDE_SECRET_MASK : "");
		sonde_buf_puts(&b, before > word.n ? " " : "");
		is_changed |= visible < word.n;
	}
	if (is_changed)
		masked = b.failed ? SONDE_STR("") : sonde_arena_dup(arena, sonde_buf_view(&b));
	sonde_buf_release(&b);
	return masked;
}
