#include "attribute/levels.h"
#include "cli/run_int.h"

#include <string.h>

static bool is_near(struct sonde_str word, struct sonde_str label)
{
	size_t i;

	if (label.n == word.n) {
		for (i = 0; i < word.n && (word.p[i] | 0x20) == (label.p[i] | 0x20); i++)
			;
		if (i == word.n)
			return true;
	}
	return sonde_str_distance(word, label, 2) <= 2 && word.n > 3;
}

static void suggest(const struct sonde_run *r, const struct sonde_launches *l, uint32_t region)
{
	struct sonde_str label = sonde_records_str(l->records, l->regions.at[region].label);
	size_t i;

	for (i = 0; i < r->set.nvtx_include.nr; i++) {
		struct sonde_str rest, word = sonde_str_from(r->set.nvtx_include.at[i]);

		sonde_str_cut(word, '@', &rest);
		word = rest.n ? rest : word;
		while (word.n && strchr("/]*", word.p[word.n - 1]))
			word.n--;
		while (word.n && word.p[0] == '[')
			word = (struct sonde_str){word.p + 1, word.n - 1};
		if (is_near(word, label))
			sonde_say(
				"  instead of '%s' try: pipeline.ncu.ncu_cli.nvtx.include=['%.*s']",
				r->set.nvtx_include.at[i], SONDE_STR_ARG(label));
	}
}

/* Nothing matched: say which ranges there really are. Nothing is ever made up. */
void sonde_run_explain_nothing(struct sonde_run *run, struct sonde_look *look)
{
	struct sonde_err why = {0};
	struct sonde_buf b = {0};
	uint32_t i;

	if (!look->launches && sonde_run_look(look, run, &why)) {
		sonde_say("the program's own ranges could not be listed: %s", why.msg);
		return;
	}
	if (look->launches->regions.nr == 0) {
		sonde_say(
			"the program entered no NVTX range at all: nothing region-specific can be "
			"profiled; without nvtx.include every kernel is");
		return;
	}
	sonde_say("the program has these ranges:");
	for (i = 0; i < look->launches->regions.nr && i < 40; i++) {
		sonde_buf_clear(&b);
		sonde_region_expression(&b, look->launches, i);
		sonde_say("  %.*s   (ncu: %s)", SONDE_STR_ARG(look->launches->regions.at[i].id),
			b.failed ? "?" : b.p);
		suggest(run, look->launches, i);
	}
	if (i < look->launches->regions.nr)
		sonde_say("  … and %zu more", look->launches->regions.nr - i);
	sonde_buf_release(&b);
}
