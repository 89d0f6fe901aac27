#include "aggregate/inventory.h"
#include "cli/run_int.h"
#include "cli/terminal.h"
#include "export/inventory_out.h"

#include <string.h>
#include <unistd.h>

#define MAX_ROWS 40

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
	struct sonde_buf line = {0};
	size_t i;

	for (i = 0; i < r->set.nvtx_include.nr; i++) {
		struct sonde_str rest, word = sonde_str_from(r->set.nvtx_include.at[i]);

		sonde_str_cut(word, '@', &rest);
		word = rest.n ? rest : word;
		while (word.n && strchr("/]*", word.p[word.n - 1]))
			word.n--;
		while (word.n && word.p[0] == '[')
			word = (struct sonde_str){word.p + 1, word.n - 1};
		if (!is_near(word, label))
			continue;
		sonde_buf_clear(&line);
		sonde_buf_printf(&line,
			"  instead of '%s' try: pipeline.ncu.ncu_cli.nvtx.include=['%.*s']",
			r->set.nvtx_include.at[i], SONDE_STR_ARG(label));
		sonde_say_text(sonde_buf_view(&line));
	}
	sonde_buf_release(&line);
}

static int show_ranges(const struct sonde_launches *l, struct sonde_err *err)
{
	const struct sonde_inventory_options o = {
		.max_rows = MAX_ROWS, .is_utf8 = sonde_terminal_is_utf8()};
	struct sonde_inventory inventory;
	struct sonde_sink out;
	int rc = sonde_inventory_build(&inventory, l, err);

	if (rc)
		return rc;
	sonde_sink_init_fd(&out, STDERR_FILENO);
	rc = sonde_export_inventory_text(&inventory, &o, &out, err);
	sonde_inventory_release(&inventory);
	if (rc) {
		sonde_sink_abort(&out);
		return rc;
	}
	return sonde_sink_close(&out, err);
}

/* Nothing matched: say which ranges there really are. Nothing is ever made up. */
void sonde_run_explain_nothing(struct sonde_run *run, struct sonde_look *look)
{
	struct sonde_err why = {0};
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
	if (show_ranges(look->launches, &why))
		sonde_say("%s", why.msg);
	for (i = 0; i < look->launches->regions.nr && i < MAX_ROWS; i++)
		suggest(run, look->launches, i);
}
