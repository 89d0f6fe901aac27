/* Windows of Nsight Compute and Nsight Systems, by the options they have for it. */
#include "capture/capture_settings.h"
#include "capture/window.h"

#include <inttypes.h>
#include <string.h>

#define SECOND UINT64_C(1000000000)

static int cannot(
	const struct sonde_window *w, const char *tool, const char *why, struct sonde_err *err)
{
	return sonde_err_set(err, SONDE_ERR_USAGE,
		"capture.window=%s: %s cannot do that: %s. The native capture can "
		"(pipeline.native.enable=true)",
		w->text, tool, why);
}

/* The ranges ncu profiles in. The user's own and the window's would add up, not intersect. */
static int include(struct sonde_capture_settings *s, const struct sonde_window *w, const char *label,
	struct sonde_err *err)
{
	const char **at;

	if (s->nvtx_include.nr)
		return cannot(w, "Nsight Compute",
			"it takes a window or pipeline.ncu.ncu_cli.nvtx.include, not both", err);
	at = sonde_arena_calloc(&s->arena, 2, sizeof(*at));
	if (!at)
		return sonde_err_nomem(err);
	at[0] = label;
	s->nvtx_include = (struct sonde_words){at, 1};
	s->ncu_gating = true;
	return 0;
}

static int ncu_entries(
	struct sonde_capture_settings *s, const struct sonde_window *w, struct sonde_err *err)
{
	if (w->end == UINT64_MAX)
		return cannot(w, "Nsight Compute", "it needs the last entry, RANGE[FIRST:END]", err);
	if (strpbrk(w->label, "*?"))
		return cannot(w, "Nsight Compute", "it counts the entries of one range, not of a pattern",
			err);
	if (s->ncu.range_filter)
		return cannot(w, "Nsight Compute",
			"pipeline.ncu.ncu_cli.range_filter says something else", err);
	/* It counts from 1, and the last one is in it. */
	s->ncu.range_filter = sonde_arena_printf(
		&s->arena, "::[%" PRIu64 "-%" PRIu64 "]", w->first + 1, w->end)
				      .p;
	return s->ncu.range_filter ? include(s, w, w->label, err) : sonde_err_nomem(err);
}

static int apply_ncu(
	struct sonde_capture_settings *s, const struct sonde_window *w, struct sonde_err *err)
{
	switch (w->kind) {
	case SONDE_WINDOW_PROFILER:
		s->ncu.waits_for_start = true;
		return 0;
	case SONDE_WINDOW_NVTX:
		return include(s, w, "sonde@capture", err);
	case SONDE_WINDOW_ENTRIES:
		return ncu_entries(s, w, err);
	default:
		return cannot(w, "Nsight Compute",
			"it opens windows by range entries, profiler or nvtx", err);
	}
}

static int nsys_time(
	struct sonde_capture_settings *s, const struct sonde_window *w, struct sonde_err *err)
{
	if (w->every_ns || w->after_ns % SECOND || w->for_ns % SECOND)
		return cannot(w, "Nsight Systems", "it has one window, in whole seconds", err);
	s->nsys.delay_s = w->after_ns / SECOND;
	s->nsys.duration_s = w->for_ns / SECOND;
	return 0;
}

static int nsys_range(struct sonde_capture_settings *s, const struct sonde_window *w,
	const char *range, struct sonde_err *err)
{
	if (s->nsys.capture_range && strcmp(s->nsys.capture_range, "none") != 0)
		return cannot(w, "Nsight Systems",
			"pipeline.nsys.capture_range says something else", err);
	s->nsys.capture_range = range ? "nvtx" : "cudaProfilerApi";
	s->nsys.nvtx_capture = range ? range : s->nsys.nvtx_capture;
	return 0;
}

static int apply_nsys(
	struct sonde_capture_settings *s, const struct sonde_window *w, struct sonde_err *err)
{
	const char *range;

	switch (w->kind) {
	case SONDE_WINDOW_PROFILER:
		return nsys_range(s, w, NULL, err);
	case SONDE_WINDOW_NVTX:
		return nsys_range(s, w, "capture@sonde", err);
	case SONDE_WINDOW_TIME:
		return nsys_time(s, w, err);
	case SONDE_WINDOW_ENTRIES:
		if (w->first || w->end != 1 || strpbrk(w->label, "*?@"))
			return cannot(w, "Nsight Systems",
				"it captures the first entry of a range, RANGE[0:1]", err);
		range = sonde_arena_printf(&s->arena, "%s@*", w->label).p;
		return range ? nsys_range(s, w, range, err) : sonde_err_nomem(err);
	default:
		return cannot(w, "Nsight Systems",
			"it opens a window by time, profiler, nvtx or RANGE[0:1]", err);
	}
}

int sonde_window_apply(
	struct sonde_capture_settings *s, const struct sonde_window *w, struct sonde_err *err)
{
	int rc = 0;

	if (w->kind == SONDE_WINDOW_ALWAYS)
		return 0;
	if (s->torch_enable)
		rc = cannot(w, "torch.profiler", "the program itself says when it profiles", err);
	if (rc == 0 && s->ncu_enable)
		rc = apply_ncu(s, w, err);
	if (rc == 0 && s->nsys_enable)
		rc = apply_nsys(s, w, err);
	return rc;
}
