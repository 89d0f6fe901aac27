#include "base/alloc.h"
#include "base/json_out.h"
#include "base/sink.h"
#include "cli/command.h"
#include "cli/option.h"
#include "cli/say.h"
#include "cli/terminal.h"
#include "sample/roles.h"
#include "sample/samples_file.h"
#include "sample/tally.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum format { TEXT, JSON, CSV };

struct request {
	struct sonde_args args;
	struct sonde_word_list counters;
	const char *seconds, *interval, *burst, *device, *out;
	int format;
	uint64_t span_ns, interval_ns, burst_ns;
};

/* The command at work. */
struct work {
	const struct request *q;
	struct sonde_sampling *sampling;
	struct sonde_samples_file *file; /* NULL = none is written */
	struct sonde_tally *tally;
	struct sonde_sink out;
	uint64_t begin_ms, shown_ms;
	bool is_live;
};

static volatile sig_atomic_t is_stopped;

static void stop(int signal)
{
	(void)signal;
	is_stopped = 1;
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000u + (uint64_t)t.tv_nsec / 1000000u;
}

/* --- what is shown --------------------------------------------------------------------------- */

static void show_live(struct work *w)
{
	uint64_t now = now_ms();
	const struct sonde_tally_figure *f;
	double v;

	if (!w->is_live || now - w->shown_ms < 250)
		return;
	w->shown_ms = now;
	fprintf(stderr, "\r\033[K%.1f s", (double)(now - w->begin_ms) / 1e3);
	for (f = sonde_tally_figures; f->name; f++) {
		v = sonde_tally_value(f, &w->tally->latest);
		if (!isnan(v) && (f - sonde_tally_figures < 3 || strncmp(f->name, "DRAM", 4) == 0))
			fprintf(stderr, "  %s %.4g%s%s", f->name, v, *f->unit ? " " : "", f->unit);
	}
	memset(&w->tally->latest, 0, sizeof(w->tally->latest));
}

static double peak_of(const struct sonde_tally *t, const struct sonde_tally_figure *f)
{
	double peak = NAN, v;
	size_t i;

	for (i = 0; i < SONDE_TALLY_SLICES; i++) {
		v = sonde_tally_value(f, &t->slices[i]);
		if (!isnan(v) && !(v <= peak))
			peak = v;
	}
	return peak;
}

/* Percentages against 100, the rest against their own peak. */
static void show_line(struct work *w, const struct sonde_tally_figure *f, double peak)
{
	static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char plain[] = "_.,-=+*#";
	double top = strcmp(f->unit, "%") == 0 ? 100 : peak, v;
	bool is_utf8 = sonde_terminal_is_utf8();
	size_t i;
	int level;

	for (i = 0; i < SONDE_TALLY_SLICES; i++) {
		v = sonde_tally_value(f, &w->tally->slices[i]);
		level = isnan(v) || top <= 0 ? -1 : (int)(v / top * 8);
		level = level > 7 ? 7 : level;
		if (level < 0)
			sonde_sink_putc(&w->out, ' ');
		else if (is_utf8)
			sonde_sink_puts(&w->out, blocks[level]);
		else
			sonde_sink_putc(&w->out, plain[level]);
	}
}

static void show_figures(struct work *w)
{
	const struct sonde_tally_figure *f;

	sonde_sink_printf(&w->out, "\n%-20s %10s %10s        over time\n", "", "mean", "peak");
	for (f = sonde_tally_figures; f->name; f++) {
		double mean = sonde_tally_value(f, &w->tally->all), peak = peak_of(w->tally, f);

		if (isnan(mean) && isnan(peak))
			continue;
		sonde_sink_printf(
			&w->out, "%-20s %10.4g %10.4g %-5s  ", f->name, mean, peak, f->unit);
		show_line(w, f, peak);
		sonde_sink_putc(&w->out, '\n');
	}
}

static void show_counters(struct work *w)
{
	size_t k;
	uint32_t i;

	sonde_sink_printf(&w->out, "\n%16s %16s  counter\n", "total", "per second");
	for (k = 0; k < sonde_sampling_nr_sets(w->sampling); k++) {
		const struct sonde_counter_set *set = sonde_sampling_set(w->sampling, k);
		double seconds = (double)w->tally->set_ns[k] * 1e-9;

		for (i = 0; i < set->nr; i++)
			sonde_sink_printf(&w->out, "%16.0f %16.6g  %.*s\n", w->tally->totals[k][i],
				seconds > 0 ? w->tally->totals[k][i] / seconds : 0,
				SONDE_STR_ARG(set->at[i].name));
	}
}

static void show_losses(struct work *w)
{
	const struct sonde_sampler_status *st = sonde_sampling_status(w->sampling);
	const char *left_out = sonde_sampling_left_out(w->sampling);
	size_t nr = sonde_sampling_nr_sets(w->sampling);

	if (st->nr_samples)
		sonde_sink_printf(&w->out,
			"decoding took %.1f us a sample, evaluating %.1f us; %llu first samples "
			"were left out\n",
			(double)st->decode_ns / 1e3 / (double)st->nr_samples,
			(double)st->evaluate_ns / 1e3 / (double)st->nr_samples,
			(unsigned long long)st->nr_first);
	if (st->nr_gaps || st->nr_overflows)
		sonde_sink_printf(&w->out,
			"%.1f ms are missing in %llu gaps; the hardware buffer was full %llu "
			"times\n",
			(double)st->gap_ns / 1e6, (unsigned long long)st->nr_gaps,
			(unsigned long long)st->nr_overflows);
	if (st->nr_lost)
		sonde_sink_printf(&w->out,
			"sampling had to begin anew %llu times, as CUPTI had lost its place\n",
			(unsigned long long)st->nr_lost);
	if (st->nr_slower)
		sonde_sink_printf(&w->out,
			"this machine decodes slower than asked: sampling was slowed %llu times\n",
			(unsigned long long)st->nr_slower);
	if (nr > 1)
		sonde_sink_printf(&w->out,
			"the counters do not fit into one pass: %zu sets took turns\n", nr);
	if (*left_out)
		sonde_sink_printf(&w->out, "not counted, as this GPU cannot: %s\n", left_out);
}

static void show_text(struct work *w)
{
	const struct sonde_counter_set *set = sonde_sampling_set(w->sampling, 0);

	sonde_sink_printf(&w->out, "%.*s (GPU %u, %s): %llu samples every %.4g us in %.3f s\n",
		SONDE_STR_ARG(set->product), set->device, sonde_sampling_chip(w->sampling),
		(unsigned long long)w->tally->nr_samples, (double)set->interval_ns / 1e3,
		(double)(w->tally->last_ns - w->tally->first_ns) * 1e-9);
	show_losses(w);
	show_figures(w);
	show_counters(w);
}

static void put_figures(struct work *w, struct sonde_json *j)
{
	const struct sonde_tally_figure *f;
	size_t i;

	sonde_json_open(j, "figures", '[', false);
	for (f = sonde_tally_figures; f->name; f++) {
		double mean = sonde_tally_value(f, &w->tally->all);

		if (isnan(mean))
			continue;
		sonde_json_open(j, NULL, '{', true);
		sonde_json_z(j, "name", f->name);
		sonde_json_z(j, "unit", f->unit);
		sonde_json_number(j, "mean", mean);
		sonde_json_open(j, "over_time", '[', true);
		for (i = 0; i < SONDE_TALLY_SLICES; i++)
			sonde_json_tight(j, sonde_tally_value(f, &w->tally->slices[i]), i == 0);
		sonde_json_close(j, ']');
		sonde_json_close(j, '}');
	}
	sonde_json_close(j, ']');
}

static void put_counters(struct work *w, struct sonde_json *j)
{
	size_t k;
	uint32_t i;

	sonde_json_open(j, "counters", '[', false);
	for (k = 0; k < sonde_sampling_nr_sets(w->sampling); k++) {
		const struct sonde_counter_set *set = sonde_sampling_set(w->sampling, k);

		for (i = 0; i < set->nr; i++) {
			sonde_json_open(j, NULL, '{', true);
			sonde_json_str(j, "name", set->at[i].name);
			sonde_json_str(j, "role", set->at[i].role);
			sonde_json_u64(j, "set", k);
			sonde_json_u64(j, "time_ns", w->tally->set_ns[k]);
			sonde_json_number(j, "total", w->tally->totals[k][i]);
			sonde_json_close(j, '}');
		}
	}
	sonde_json_close(j, ']');
}

static void show_json(struct work *w)
{
	const struct sonde_counter_set *set = sonde_sampling_set(w->sampling, 0);
	const struct sonde_sampler_status *st = sonde_sampling_status(w->sampling);
	struct sonde_json j = {.sink = &w->out};

	sonde_json_open(&j, NULL, '{', false);
	sonde_json_str(&j, "device_name", set->product);
	sonde_json_u64(&j, "device", set->device);
	sonde_json_str(&j, "uuid", set->uuid);
	sonde_json_z(&j, "chip", sonde_sampling_chip(w->sampling));
	sonde_json_u64(&j, "interval_ns", set->interval_ns);
	sonde_json_u64(&j, "start_ns", w->tally->first_ns);
	sonde_json_u64(&j, "end_ns", w->tally->last_ns);
	sonde_json_u64(&j, "samples", st->nr_samples);
	sonde_json_u64(&j, "gaps", st->nr_gaps);
	sonde_json_u64(&j, "gap_ns", st->gap_ns);
	sonde_json_u64(&j, "overflows", st->nr_overflows);
	sonde_json_u64(&j, "slower", st->nr_slower);
	sonde_json_u64(&j, "slice_ns", w->tally->slice_ns);
	put_figures(w, &j);
	put_counters(w, &j);
	sonde_json_close(&j, '}');
	sonde_sink_putc(&w->out, '\n');
}

/* One column for each counter of each set; those of other sets are empty in a row. */
static void put_csv_head(struct work *w)
{
	size_t k;
	uint32_t i;

	sonde_sink_puts(&w->out, "start_ns,end_ns");
	for (k = 0; k < sonde_sampling_nr_sets(w->sampling); k++)
		for (i = 0; i < sonde_sampling_set(w->sampling, k)->nr; i++)
			sonde_sink_printf(&w->out, ",%.*s",
				SONDE_STR_ARG(sonde_sampling_set(w->sampling, k)->at[i].name));
	sonde_sink_putc(&w->out, '\n');
}

static void put_csv(struct work *w, const struct sonde_sample_rows *rows)
{
	size_t i, k;
	uint32_t c;

	for (i = 0; i < rows->nr; i++) {
		sonde_sink_printf(&w->out, "%llu,%llu", (unsigned long long)rows->start_ns[i],
			(unsigned long long)rows->end_ns[i]);
		for (k = 0; k < sonde_sampling_nr_sets(w->sampling); k++) {
			const struct sonde_counter_set *set = sonde_sampling_set(w->sampling, k);

			for (c = 0; c < set->nr; c++)
				if (set == rows->set)
					sonde_sink_printf(
						&w->out, ",%.17g", rows->values[i * set->nr + c]);
				else
					sonde_sink_putc(&w->out, ',');
		}
		sonde_sink_putc(&w->out, '\n');
	}
}

/* --- sampling -------------------------------------------------------------------------------- */

static void begin_set(void *of, const struct sonde_counter_set *set)
{
	struct work *w = of;

	if (w->file)
		sonde_samples_file_begin_set(w->file, set);
}

static void take(void *of, const struct sonde_sample_rows *rows)
{
	struct work *w = of;

	sonde_tally_take(w->tally, rows);
	if (w->file)
		sonde_samples_file_take(w->file, rows);
	if (w->q->format == CSV)
		put_csv(w, rows);
}

static bool is_over(void *of)
{
	struct work *w = of;

	if (!w->begin_ms) /* setting up takes half a second that does not count */
		w->begin_ms = now_ms();
	show_live(w);
	if (w->file && !sonde_samples_file_tick(w->file))
		return true;
	return is_stopped || (now_ms() - w->begin_ms) * 1000000u >= w->q->span_ns;
}

static int sample(struct work *w, struct sonde_err *err)
{
	const struct sonde_sample_taker taker = {
		.begin_set = begin_set, .take = take, .is_over = is_over, .of = w};
	struct sigaction on = {.sa_handler = stop, .sa_flags = SA_RESETHAND};
	int rc;

	sigaction(SIGINT, &on, NULL);
	sigaction(SIGTERM, &on, NULL);
	if (w->q->format == CSV)
		put_csv_head(w);
	rc = sonde_sampling_run(w->sampling, &taker, err);
	if (w->is_live)
		fputs("\r\033[K", stderr);
	return rc;
}

static int run(const struct request *q, struct sonde_err *err)
{
	static const char *const usual[] = {"basic"};
	const struct sonde_sampling_request r = {
		.device = q->device ? (unsigned)strtoul(q->device, NULL, 10) : 0,
		.counters = q->counters.nr ? q->counters.at : usual,
		.nr_counters = q->counters.nr ? q->counters.nr : 1,
		.interval_ns = q->interval_ns,
		.burst_ns = q->burst_ns};
	struct work w = {.q = q, .is_live = isatty(STDERR_FILENO)};
	struct sonde_err late = {0};
	int rc = sonde_sampling_open(&w.sampling, &r, err), end;

	w.tally = sonde_malloc(sizeof(*w.tally));
	sonde_sink_init_fd(&w.out, STDOUT_FILENO);
	if (rc == 0 && !w.tally)
		rc = sonde_err_nomem(err);
	if (rc == 0 && q->out)
		rc = sonde_samples_file_open(&w.file, q->out, w.sampling, err);
	if (rc == 0) {
		sonde_tally_init(w.tally, q->span_ns);
		rc = sample(&w, err);
	}
	if (rc == 0 && q->format != CSV)
		(q->format == JSON ? show_json : show_text)(&w);
	end = sonde_samples_file_close(w.file, &late);
	if (rc == 0 && end)
		rc = sonde_err_set(err, end, "%s", late.msg);
	end = sonde_sink_close(&w.out, &late);
	if (rc == 0 && end)
		rc = sonde_err_set(err, end, "%s", late.msg);
	sonde_sampling_close(w.sampling);
	sonde_free(w.tally);
	return rc;
}

static int read_span(
	uint64_t *out, const char *option, const char *text, const char *off, struct sonde_err *err)
{
	*out = 0;
	if (!text || strcmp(text, off) == 0 || sonde_str_ns(sonde_str_from(text), out))
		return 0;
	return sonde_err_set(
		err, SONDE_ERR_USAGE, "--%s %s: not a time such as 50us, 2ms or 1s", option, text);
}

static int read_times(struct request *q, struct sonde_err *err)
{
	double seconds = q->seconds ? strtod(q->seconds, NULL) : 5;
	int rc = read_span(&q->interval_ns, "interval", q->interval, "auto", err);

	if (rc == 0)
		rc = read_span(&q->burst_ns, "burst", q->burst, "off", err);
	if (rc == 0 && !(seconds > 0 && seconds < 1e6))
		rc = sonde_err_set(
			err, SONDE_ERR_USAGE, "--seconds %s: not a number above 0", q->seconds);
	q->span_ns = rc ? 0 : (uint64_t)(seconds * 1e9);
	return rc;
}

int sonde_cmd_sample(int argc, char **argv)
{
	struct request q = {0};
	const struct sonde_option options[] = {
		{0, "seconds", "N", "how long (5); Ctrl-C ends it earlier", SONDE_OPTION_WORD,
			&q.seconds},
		{0, "interval", "TIME", "of a sample: 50us, 1ms; auto = what this machine can do",
			SONDE_OPTION_WORD, &q.interval},
		{0, "burst", "TIME", "sample so long, pause at random, and so on; off",
			SONDE_OPTION_WORD, &q.burst},
		{0, "counters", "NAMES",
			"basic|tensor|memory|nvlink|full, or counters by name (basic)",
			SONDE_OPTION_LIST, &q.counters},
		{0, "device", "N", "CUDA's number of the GPU (0)", SONDE_OPTION_WORD, &q.device},
		{'f', "format", "text|json|csv", "csv has every sample", SONDE_OPTION_CHOICE,
			&q.format},
		{'o', "out", "FILE", "also write the samples as a capture (FILE.sonde)",
			SONDE_OPTION_WORD, &q.out},
	};
	const struct sonde_usage usage = {"sonde sample [options]",
		"Samples the hardware counters of a GPU, whatever runs there, and shows what it "
		"did.\n"
		"Nothing is launched and no program is touched. The samples are of the device: "
		"every\n"
		"program on it is in them. `sonde doctor` says whether this machine permits it.",
		options, sizeof(options) / sizeof(*options),
		{{"two seconds of the first GPU", "sonde sample --seconds 2"},
			{"every sample of two counters, as CSV",
				"sonde sample --counters dram.read_bytes,l2.sectors -f csv > "
				"samples.csv"}}};
	struct sonde_err err = {0};
	struct sonde_sink out;
	int rc = sonde_options_parse(&q.args, &usage, argc, argv, &err);

	if (rc == 0 && q.args.wants_help) {
		sonde_sink_init_fd(&out, STDOUT_FILENO);
		sonde_usage_print(&usage, &q.args, &out);
		rc = sonde_sink_close(&out, &err);
	} else {
		if (rc == 0 && q.args.operands.nr)
			rc = sonde_err_set(&err, SONDE_ERR_USAGE, "sample takes no operand");
		if (rc == 0)
			rc = read_times(&q, &err);
		if (rc == 0)
			rc = run(&q, &err);
	}
	sonde_args_release(&q.args);
	sonde_vec_release(&q.counters);
	return rc ? sonde_cmd_fail(&err) : 0;
}
