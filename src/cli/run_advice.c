#include "fold/inventory.h"
#include "attribute/levels.h"
#include "cli/run_int.h"
#include "cli/terminal.h"
#include "export/inventory_out.h"

#include <unistd.h>

#define MAX_ROWS 40

static void suggest(const struct sonde_launches *l, const char *include)
{
	struct sonde_buf line = {0};
	uint32_t i;

	for (i = 0; i < l->regions.nr && i < MAX_ROWS; i++) {
		struct sonde_str label = sonde_region_label(l, &l->regions.at[i]);

		if (!sonde_label_is_near(label, include))
			continue;
		sonde_buf_clear(&line);
		sonde_buf_printf(&line,
			"  instead of '%s' try: pipeline.ncu.ncu_cli.nvtx.include=['%.*s']",
			include, SONDE_STR_ARG(label));
		sonde_say_text(sonde_buf_view(&line));
	}
	sonde_buf_release(&line);
}

/* If the range exists, another name is no help: the range had no kernel in it. */
static void advise(const struct sonde_launches *l, const char *include)
{
	struct sonde_err why = {0};
	bool is_there;

	if (sonde_levels_has(&is_there, l, include, &why))
		sonde_say("%s", why.msg);
	else if (is_there)
		sonde_say("  '%s' is among them, but no kernel was profiled in it", include);
	else
		suggest(l, include);
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
	return sonde_sink_finish(&out, rc, err);
}

#define MAX_NAMED 8

/* Names the program's ranges, for people who read the report and not the terminal. */
static void name_ranges(const struct sonde_launches *l, struct sonde_buf *out)
{
	uint32_t i;

	for (i = 0; i < l->regions.nr && i < MAX_NAMED; i++) {
		sonde_buf_puts(out, i ? ", " : " The program's ranges are ");
		sonde_region_say(out, l->regions.at[i].id, l->regions.at[i].kind);
	}
	if (l->regions.nr > MAX_NAMED)
		sonde_buf_printf(out, " and %zu more", l->regions.nr - MAX_NAMED);
	sonde_buf_puts(out, l->regions.nr ? "." : " The program has no NVTX range.");
}

/* Marks the run's report as a baseline, with the reason: it does not show what was asked for. */
static void set_baseline(struct sonde_run *run, const struct sonde_launches *l)
{
	struct sonde_buf text = {0};
	size_t i;

	sonde_buf_puts(&text, "no launch matched what Nsight Compute was asked to profile");
	for (i = 0; i < run->set.nvtx_include.nr; i++)
		sonde_buf_printf(&text, "%s'%s'", i ? ", " : ": no launch in ranges ", run->set.nvtx_include.at[i]);
	if (run->set.ncu.kernel_name)
		sonde_buf_printf(&text, "%s kernel_name=%s is compared with %s names",
			run->set.nvtx_include.nr ? ";" : ":", run->set.ncu.kernel_name, run->set.ncu.kernel_name_base);
	sonde_buf_puts(&text, ".");
	if (l)
		name_ranges(l, &text);
	sonde_buf_puts(&text, l && l->launches.nr
				      ? " This is a baseline: all launches of the program, from a run without hardware metrics."
				      : " This report has no launches.");
	run->baseline = sonde_arena_take(&run->arena, &text);
}

/* Nothing matched: says which ranges the program really has. Never invents a range. */
void sonde_run_explain_nothing(struct sonde_run *run, struct sonde_pipeline **look)
{
	struct sonde_err why = {0};
	size_t i;

	if (run->set.ncu.kernel_name)
		sonde_say("  kernel_name=%s is compared with %s names as they are (pipeline.ncu.ncu_cli.kernel_name_base)",
			run->set.ncu.kernel_name, run->set.ncu.kernel_name_base);
	if (!*look && sonde_run_look(look, run, &why)) {
		sonde_say("the program's own ranges could not be listed: %s", why.msg);
		set_baseline(run, NULL);
		return;
	}
	set_baseline(run, (*look)->launches);
	if ((*look)->launches->regions.nr == 0) {
		sonde_say_advice(SONDE_WHEN_NO_RANGES, NULL);
		return;
	}
	sonde_say("the program has these ranges:");
	if (show_ranges((*look)->launches, &why))
		sonde_say("%s", why.msg);
	for (i = 0; i < run->set.nvtx_include.nr; i++)
		advise((*look)->launches, run->set.nvtx_include.at[i]);
}
