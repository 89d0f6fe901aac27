/* Writes values as override text, and matches options against glob sweeps. */
#include "hydra/override.h"

#include "hydra/pytext.h"

#include <fnmatch.h>
#include <string.h>

/* Writes a string in the quotes that it had: backslashes are doubled before a quote and at the end. */
static void put_quoted(struct sonde_buf *b, struct sonde_str s, char quote)
{
	size_t i = 0, j, run;

	sonde_buf_putc(b, quote);
	while (i < s.n) {
		for (run = 0; i + run < s.n && s.p[i + run] == '\\';)
			run++;
		for (j = 0; j < run; j++)
			sonde_buf_putc(b, '\\');
		if (run && (i + run == s.n || s.p[i + run] == quote))
			for (j = 0; j < run; j++)
				sonde_buf_putc(b, '\\');
		i += run;
		if (i == s.n)
			break;
		if (s.p[i] == quote)
			sonde_buf_putc(b, '\\');
		sonde_buf_putc(b, s.p[i++]);
	}
	sonde_buf_putc(b, quote);
}

static void escaped_text(struct sonde_buf *b, struct sonde_str s)
{
	size_t i;

	for (i = 0; i < s.n; i++) {
		if (s.p[i] && strchr("\\()[]{}:=, \t", s.p[i]))
			sonde_buf_putc(b, '\\');
		sonde_buf_putc(b, s.p[i]);
	}
}

static void put_container(struct sonde_buf *b, const struct hydra_datum *n)
{
	bool is_map = n->kind == HYDRA_MAP;
	uint32_t i;

	sonde_buf_putc(b, is_map ? '{' : '[');
	for (i = 0; i < n->seq.nr; i++) {
		if (i)
			sonde_buf_putc(b, ',');
		if (is_map) {
			hydra_override__value_text(b, n->seq.at[i]->key);
			sonde_buf_putc(b, ':');
		}
		hydra_override__value_text(b, n->seq.at[i]);
	}
	sonde_buf_putc(b, is_map ? '}' : ']');
}

void hydra_override__value_text(struct sonde_buf *b, const struct hydra_datum *n)
{
	if (!n || n->kind == HYDRA_NULL)
		sonde_buf_puts(b, "null");
	else if (n->kind == HYDRA_STRING && n->quote)
		put_quoted(b, n->s, n->quote);
	else if (n->kind == HYDRA_STRING)
		escaped_text(b, n->s);
	else if (hydra_datum__is_scalar(n))
		hydra_pytext__str(b, n);
	else
		put_container(b, n);
}

static bool matches_any(const struct hydra_datum *patterns, const char *option)
{
	uint32_t i;

	for (i = 0; i < patterns->seq.nr; i++)
		if (fnmatch(patterns->seq.at[i]->s.p, option, FNM_NOESCAPE) == 0)
			return true;
	return false;
}

bool hydra_override__glob_matches(const struct hydra_datum *glob, struct sonde_str option)
{
	struct sonde_buf b = {0};
	bool hit;

	sonde_buf_str(&b, option);
	hit = !b.failed && b.p && matches_any(glob->seq.at[0], b.p) &&
	      !matches_any(glob->seq.at[1], b.p);
	sonde_buf_release(&b);
	return hit;
}
