#include "capture/window.h"

#include "capture/capture_settings.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

#define MIN_NS 1000000u /* shortest window, and shortest time between two */
#define SECOND UINT64_C(1000000000)

static int refuse_text(const char *text, const char *why, struct sonde_err *err)
{
	return sonde_err_set(err, SONDE_ERR_USAGE,
		"capture.window=%s: %s; write RANGE[FIRST:END], after=TIME,for=TIME[,every=TIME], "
		"profiler, nvtx, signal[=USR1|USR2] or ctl",
		text, why);
}

static int parse_entries(struct sonde_window *w, struct sonde_str text, struct sonde_arena *arena,
	struct sonde_err *err)
{
	size_t at = text.n;
	struct sonde_str first, end;

	while (at && text.p[at - 1] != '[')
		at--;
	if (at < 2)
		return refuse_text(w->text, "there is no range before [", err);
	w->label = sonde_arena_z(arena, sonde_str_trim((struct sonde_str){text.p, at - 1}));
	if (!w->label)
		return sonde_err_nomem(err);
	first = sonde_str_cut((struct sonde_str){text.p + at, text.n - at - 1}, ':', &end);
	w->kind = SONDE_WINDOW_ENTRIES;
	w->end = UINT64_MAX;
	if ((first.n && !sonde_str_u64(first, &w->first)) || (end.n && !sonde_str_u64(end, &w->end)))
		return refuse_text(w->text, "the entries must be FIRST:END, two numbers from 0 on", err);
	if (text.n - at == 1)
		return refuse_text(w->text, "it has no entry; step[5] is one entry, step[5:] all from there on", err);
	if (first.n && first.n == text.n - at - 1)
		w->end = w->first + 1; /* step[5]: entry 5 alone */
	if (w->first >= w->end)
		return refuse_text(w->text, "it has no entry: END must be more than FIRST", err);
	return 0;
}

/* Refuses times below 1 ms: the library opens and closes windows by a clock that it looks at only now and then. */
static int check_times(const struct sonde_window *w, struct sonde_err *err)
{
	if (w->every_ns && (!w->for_ns || w->every_ns <= w->for_ns))
		return refuse_text(w->text, "every= needs for=, and must be longer", err);
	if (w->for_ns && w->for_ns < MIN_NS)
		return refuse_text(w->text, "for= must be 1ms or more, as in for=500ms", err);
	if (w->every_ns && w->every_ns - w->for_ns < MIN_NS)
		return refuse_text(w->text, "every= must be longer than for= by 1ms or more, as in for=500ms,every=10s", err);
	return 0;
}

static int parse_time(struct sonde_window *w, struct sonde_str text, struct sonde_err *err)
{
	uint64_t *seen[3] = {NULL};
	size_t nr = 0, i;

	w->kind = SONDE_WINDOW_TIME;
	while (text.n) {
		struct sonde_str value, part = sonde_str_cut(text, ',', &text);
		struct sonde_str key = sonde_str_trim(sonde_str_cut(part, '=', &value));
		uint64_t *to = sonde_str_is(key, "after")   ? &w->after_ns
			       : sonde_str_is(key, "for")   ? &w->for_ns
			       : sonde_str_is(key, "every") ? &w->every_ns
							    : NULL;

		if (!to)
			return refuse_text(w->text, "not a window", err);
		for (i = 0; i < nr; i++)
			if (seen[i] == to)
				return refuse_text(w->text,
					to == &w->after_ns ? "after= is given twice"
					: to == &w->for_ns ? "for= is given twice"
							   : "every= is given twice",
					err);
		seen[nr++] = to;
		value = sonde_str_trim(value);
		if (!sonde_str_ns(value, to) && !(to == &w->after_ns && sonde_str_is(value, "0s")))
			return refuse_text(w->text, "a time is written 500ms, 30s or 10min", err);
	}
	return check_times(w, err);
}

static int parse_signal(struct sonde_window *w, struct sonde_str name, struct sonde_err *err)
{
	if (sonde_str_starts(name, "SIG"))
		name = (struct sonde_str){name.p + 3, name.n - 3};
	w->kind = SONDE_WINDOW_SIGNAL;
	w->signal = SIGUSR2;
	if (sonde_str_is(name, "USR1"))
		w->signal = SIGUSR1;
	else if (name.n && !sonde_str_is(name, "USR2"))
		return refuse_text(w->text, "the signal must be USR1 or USR2", err);
	return 0;
}

int sonde_window_parse(struct sonde_window *out, const char *text, struct sonde_arena *arena,
	struct sonde_err *err)
{
	static const struct {
		const char *word;
		uint8_t kind;
	} words[] = {{"profiler", SONDE_WINDOW_PROFILER}, {"nvtx", SONDE_WINDOW_NVTX},
		{"ctl", SONDE_WINDOW_CTL}};
	struct sonde_str s = sonde_str_trim(sonde_str_from(text)), value;
	size_t i;

	*out = (struct sonde_window){.kind = SONDE_WINDOW_ALWAYS, .text = text};
	if (s.n == 0)
		return 0;
	if (sonde_str_find(s, '\n') < s.n)
		return refuse_text(text, "it contains a line end", err);
	for (i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (sonde_str_is(s, words[i].word)) {
			out->kind = words[i].kind;
			return 0;
		}
	if (sonde_str_is(sonde_str_cut(s, '=', &value), "signal"))
		return parse_signal(out, value, err);
	if (s.p[s.n - 1] == ']')
		return parse_entries(out, s, arena, err);
	return parse_time(out, s, err);
}

void sonde_window_lines(const struct sonde_window *w, struct sonde_buf *to)
{
	static const char *const kinds[] = {"all", "entries", "time", "profiler", "range", "order",
		"order"};

	if (w->kind == SONDE_WINDOW_ALWAYS)
		return;
	sonde_buf_printf(to, "window=%s\nwindow.text=%s\n", kinds[w->kind], w->text);
	if (w->kind == SONDE_WINDOW_NVTX)
		sonde_buf_puts(to, "window.label=sonde@capture\n");
	if (w->kind == SONDE_WINDOW_ENTRIES)
		sonde_buf_printf(
			to, "window.label=%s\nwindow.first=%" PRIu64 "\n", w->label, w->first);
	if (w->kind == SONDE_WINDOW_ENTRIES && w->end != UINT64_MAX)
		sonde_buf_printf(to, "window.end=%" PRIu64 "\n", w->end);
	if (w->kind == SONDE_WINDOW_TIME)
		sonde_buf_printf(to,
			"window.after_us=%" PRIu64 "\nwindow.for_us=%" PRIu64
			"\nwindow.every_us=%" PRIu64 "\n",
			w->after_ns / 1000, w->for_ns / 1000, w->every_ns / 1000);
}

/* --- Nsight Compute and Nsight Systems, by the options they have for it ------------------------ */

static int refuse_tool(
	const struct sonde_window *w, const char *tool, const char *why, struct sonde_err *err)
{
	return sonde_err_set(err, SONDE_ERR_USAGE,
		"capture.window=%s: %s cannot do that: %s. The native capture can "
		"(pipeline.native.enable=true)",
		w->text, tool, why);
}

/*
 * Makes ncu profile in the window's ranges. If the user chose ranges too, ncu would profile in the union of both, not
 * in the intersection.
 */
static int include_label(struct sonde_capture_settings *s, const struct sonde_window *w, const char *label,
	struct sonde_err *err)
{
	const char **at;

	if (s->nvtx_include.nr)
		return refuse_tool(w, "Nsight Compute",
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
		return refuse_tool(w, "Nsight Compute", "it needs the last entry, RANGE[FIRST:END]", err);
	if (strpbrk(w->label, "*?"))
		return refuse_tool(w, "Nsight Compute", "it counts the entries of one range, not of a pattern",
			err);
	if (s->ncu.range_filter)
		return refuse_tool(w, "Nsight Compute",
			"pipeline.ncu.ncu_cli.range_filter is set too: leave out one of the two", err);
	/* ncu counts from 1, and includes the last one. */
	s->ncu.range_filter = sonde_arena_printf(
		&s->arena, "::[%" PRIu64 "-%" PRIu64 "]", w->first + 1, w->end)
				      .p;
	return s->ncu.range_filter ? include_label(s, w, w->label, err) : sonde_err_nomem(err);
}

static int apply_ncu(
	struct sonde_capture_settings *s, const struct sonde_window *w, struct sonde_err *err)
{
	switch (w->kind) {
	case SONDE_WINDOW_PROFILER:
		s->ncu.waits_for_start = true;
		return 0;
	case SONDE_WINDOW_NVTX:
		return include_label(s, w, "sonde@capture", err);
	case SONDE_WINDOW_ENTRIES:
		return ncu_entries(s, w, err);
	default:
		return refuse_tool(w, "Nsight Compute",
			"it opens windows by range entries, profiler or nvtx", err);
	}
}

static int nsys_time(
	struct sonde_capture_settings *s, const struct sonde_window *w, struct sonde_err *err)
{
	if (w->every_ns || w->after_ns % SECOND || w->for_ns % SECOND)
		return refuse_tool(w, "Nsight Systems", "it has one window, in whole seconds", err);
	s->nsys.delay_s = w->after_ns / SECOND;
	s->nsys.duration_s = w->for_ns / SECOND;
	return 0;
}

static int nsys_range(struct sonde_capture_settings *s, const struct sonde_window *w,
	const char *range, struct sonde_err *err)
{
	if (s->nsys.capture_range && strcmp(s->nsys.capture_range, "none") != 0)
		return refuse_tool(w, "Nsight Systems",
			"pipeline.nsys.capture_range is set too: leave out one of the two", err);
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
			return refuse_tool(w, "Nsight Systems",
				"it captures the first entry of a range, RANGE[0:1]", err);
		range = sonde_arena_printf(&s->arena, "%s@*", w->label).p;
		return range ? nsys_range(s, w, range, err) : sonde_err_nomem(err);
	default:
		return refuse_tool(w, "Nsight Systems",
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
		rc = refuse_tool(w, "torch.profiler", "the program itself says when it profiles", err);
	if (rc == 0 && s->ncu_enable)
		rc = apply_ncu(s, w, err);
	if (rc == 0 && s->nsys_enable)
		rc = apply_nsys(s, w, err);
	return rc;
}
