#include "base/alloc.h"
#include "base/clock.h"
#include "base/json_out.h"
#include "base/sink.h"
#include "cli/command.h"
#include "cli/option.h"
#include "cli/terminal.h"
#include "sample/calibration.h"
#include "sample/samples_file.h"
#include "sample/tally.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_CSV };

struct request {
	struct sonde_args args;
	struct sonde_word_list counters;
	const char *seconds, *interval, *burst, *device, *out;
	int format;
	bool calibrates;
	uint64_t span_ns, interval_ns, burst_ns;
};

/* The state of the command. */
struct work {
	const struct request *q;
	struct sonde_sampling *sampling;
	struct sonde_samples_file *file; /* NULL = no file is written */
	struct sonde_sample_tally *tally;
	struct sonde_sink out;
	uint64_t begin_ns, shown_ns;
	bool is_live;
};

/* --- what was sampled -------------------------------------------------------------------------- */

#define LIVE_NS 250000000u /* time between two updates of the live line */

/* Updates the live line on the terminal, if it is time for that; `now_ns` is monotonic. */
static void show_live(struct work *w, uint64_t now_ns)
{
	const struct sonde_tally_figure *f;
	double v;

	if (!w->is_live || now_ns - w->shown_ns < LIVE_NS)
		return;
	w->shown_ns = now_ns;
	fprintf(stderr, "\r\033[K%.1f s", (double)(now_ns - w->begin_ns) / 1e9);
	for (f = sonde_tally_figures; f->name; f++) {
		v = sonde_tally_value(w->tally, f, &w->tally->latest);
		if (!isnan(v) && strcmp(f->unit, "%") == 0) /* more would not fit on a line */
			fprintf(stderr, "  %s %.1f %%", f->name, v);
	}
	memset(&w->tally->latest, 0, sizeof(w->tally->latest));
}

static double highest_of(const struct sonde_sample_tally *t, const struct sonde_tally_figure *f)
{
	double highest = NAN, v;
	size_t i;

	for (i = 0; i < SONDE_TALLY_SLICES; i++) {
		v = sonde_tally_value(t, f, &t->slices[i]);
		if (!isnan(v) && !(v <= highest))
			highest = v;
	}
	return highest;
}

/* Draws a figure over time: a percentage relative to 100, any other relative to its highest value. */
static void show_line(struct work *w, const struct sonde_tally_figure *f, double highest)
{
	static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char plain[] = "_.,-=+*#";
	double top = strcmp(f->unit, "%") == 0 ? 100 : highest, v;
	bool is_utf8 = sonde_terminal_is_utf8();
	size_t i;
	int level;

	for (i = 0; i < SONDE_TALLY_SLICES; i++) {
		v = sonde_tally_value(w->tally, f, &w->tally->slices[i]);
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

	sonde_sink_printf(&w->out, "\n%-20s %10s %10s        over time, of 100 %% or of the highest\n", "",
		"mean", "highest");
	for (f = sonde_tally_figures; f->name; f++) {
		double mean = sonde_tally_value(w->tally, f, &w->tally->all);
		double highest = highest_of(w->tally, f);

		if (isnan(mean) && isnan(highest))
			continue;
		sonde_sink_printf(
			&w->out, "%-20s %10.4g %10.4g %-5s  ", f->name, mean, highest, f->unit);
		show_line(w, f, highest);
		sonde_sink_putc(&w->out, '\n');
	}
}

static void show_counters(struct work *w)
{
	size_t k;
	uint32_t i;

	sonde_sink_printf(&w->out, "\n%16s %16s  counter\n", "total", "per second");
	for (k = 0; k < sonde_sampling_facts(w->sampling)->nr_sets; k++) {
		const struct sonde_counter_set *set = sonde_sampling_set(w->sampling, k);
		double seconds = (double)w->tally->set_ns[k] * 1e-9;

		for (i = 0; i < set->nr; i++)
			if (!sonde_tally_refused(w->tally, set->at[i].role))
				sonde_sink_printf(&w->out, "%16.0f %16.6g  %.*s\n", w->tally->totals[k][i],
				seconds > 0 ? w->tally->totals[k][i] / seconds : 0,
				SONDE_STR_ARG(set->at[i].name));
	}
}

/* Names counters whose values cannot be right, one line each. */
static void show_refused(struct work *w)
{
	size_t k;
	uint32_t i;

	for (k = 0; k < sonde_sampling_facts(w->sampling)->nr_sets; k++) {
		const struct sonde_counter_set *set = sonde_sampling_set(w->sampling, k);

		for (i = 0; i < set->nr; i++) {
			double share = sonde_tally_refused(w->tally, set->at[i].role);

			if (share > 0)
				sonde_sink_printf(&w->out,
					"%.*s is not shown: %.0f %% of its samples are above what the GPU can "
					"count; sample again\n",
					SONDE_STR_ARG(set->at[i].role), 100 * share);
		}
	}
}

static const char *s_of(uint64_t nr)
{
	return nr == 1 ? "" : "s";
}

static void show_losses(struct work *w)
{
	const struct sonde_sampling_facts *facts = sonde_sampling_facts(w->sampling);
	const struct sonde_sampler_status *st = &facts->status;

	if (st->nr_samples)
		sonde_sink_printf(&w->out,
			"decoding took %.1f us a sample, evaluating %.1f us; %llu start%s, the first "
			"sample of each is left out\n",
			(double)st->decode_ns / 1e3 / (double)st->nr_samples,
			(double)st->evaluate_ns / 1e3 / (double)st->nr_samples,
			(unsigned long long)st->nr_first, s_of(st->nr_first));
	if (st->nr_gaps)
		sonde_sink_printf(&w->out, "%.1f ms are missing in %llu gap%s\n", (double)st->gap_ns / 1e6,
			(unsigned long long)st->nr_gaps, s_of(st->nr_gaps));
	if (st->nr_refused)
		sonde_sink_printf(&w->out, "%llu sample%s had times that cannot be right, and are left out\n",
			(unsigned long long)st->nr_refused, s_of(st->nr_refused));
	if (st->nr_overflows)
		sonde_sink_printf(&w->out, "the hardware's buffer was full %llu time%s\n",
			(unsigned long long)st->nr_overflows, s_of(st->nr_overflows));
	if (st->nr_lost)
		sonde_sink_printf(&w->out,
			"sampling had to start again %llu time%s, as CUPTI had lost its place\n",
			(unsigned long long)st->nr_lost, s_of(st->nr_lost));
	if (st->nr_slower)
		sonde_sink_printf(&w->out,
			"this machine decodes slower than expected: the interval was made longer %llu "
			"time%s\n",
			(unsigned long long)st->nr_slower, s_of(st->nr_slower));
	if (facts->nr_sets > 1)
		sonde_sink_printf(&w->out,
			"the GPU cannot count all these counters at once: %zu sets took turns\n", facts->nr_sets);
	if (facts->left_out.n)
		sonde_sink_printf(&w->out, "this GPU cannot count: %s\n", facts->left_out.p);
}

static void show_text(struct work *w)
{
	const struct sonde_counter_set *set = sonde_sampling_set(w->sampling, 0);

	sonde_sink_printf(&w->out, "%.*s (GPU %u, %s): %llu samples every %.10g us in %.3f s\n",
		SONDE_STR_ARG(set->product), set->device, sonde_sampling_facts(w->sampling)->chip,
		(unsigned long long)w->tally->nr_samples, (double)set->interval_ns / 1e3,
		(double)(w->tally->last_ns - w->tally->first_ns) * 1e-9);
	show_losses(w);
	show_refused(w);
	show_figures(w);
	show_counters(w);
}

static void put_figures(struct work *w, struct sonde_json *j)
{
	const struct sonde_tally_figure *f;
	size_t i;

	sonde_json_open(j, "figures", '[', false);
	for (f = sonde_tally_figures; f->name; f++) {
		double mean = sonde_tally_value(w->tally, f, &w->tally->all);

		if (isnan(mean))
			continue;
		sonde_json_open(j, NULL, '{', true);
		sonde_json_z(j, "name", f->name);
		sonde_json_z(j, "unit", f->unit);
		sonde_json_number(j, "mean", mean);
		SONDE_JSON_LIST(j, "over_time", i, SONDE_TALLY_SLICES, sonde_tally_value(w->tally, f, &w->tally->slices[i]));
		sonde_json_close(j, '}');
	}
	sonde_json_close(j, ']');
}

static void put_counters(struct work *w, struct sonde_json *j)
{
	size_t k;
	uint32_t i;

	sonde_json_array(j, "counters", false, k, sonde_sampling_facts(w->sampling)->nr_sets) {
		const struct sonde_counter_set *set = sonde_sampling_set(w->sampling, k);

		for (i = 0; i < set->nr; i++) {
			sonde_json_open(j, NULL, '{', true);
			sonde_json_str(j, "name", set->at[i].name);
			sonde_json_str(j, "role", set->at[i].role);
			sonde_json_u64(j, "set", k);
			sonde_json_u64(j, "time_ns", w->tally->set_ns[k]);
			sonde_json_number(j, "total",
				sonde_tally_refused(w->tally, set->at[i].role) > 0 ? NAN
										   : w->tally->totals[k][i]);
			sonde_json_close(j, '}');
		}
	}
}

static void show_json(struct work *w)
{
	const struct sonde_counter_set *set = sonde_sampling_set(w->sampling, 0);
	const struct sonde_sampler_status *st = &sonde_sampling_facts(w->sampling)->status;
	struct sonde_json j = {.sink = &w->out};

	sonde_json_open(&j, NULL, '{', false);
	sonde_json_str(&j, "device_name", set->product);
	sonde_json_u64(&j, "device", set->device);
	sonde_json_str(&j, "uuid", set->uuid);
	sonde_json_z(&j, "chip", sonde_sampling_facts(w->sampling)->chip);
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

/* One column for each counter of each set. Each row belongs to one set; the columns of the others are empty. */
static void put_csv_head(struct work *w)
{
	size_t k;
	uint32_t i;

	sonde_sink_puts(&w->out, "start_ns,end_ns");
	for (k = 0; k < sonde_sampling_facts(w->sampling)->nr_sets; k++)
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
		for (k = 0; k < sonde_sampling_facts(w->sampling)->nr_sets; k++) {
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

/* --- --calibrate ------------------------------------------------------------------------------- */

static void show_calibration(const struct sonde_calibration *c, unsigned device)
{
	struct sonde_buf path = {0};

	printf("GPU %u is calibrated: its kernels work %.0f ± %.0f ns (95 %%) %s than their timestamps say\n"
	       "the first warp of a kernel starts %+.0f ns after the first timestamp, its last one ends %+.0f ns "
	       "after the second\n"
	       "%llu kernels, %llu samples, %.1f %% unexplained\n",
		device, fabs(c->offset_ns), 1.96 * c->error_ns, c->offset_ns < 0 ? "earlier" : "later", c->first_ns, c->last_ns,
		(unsigned long long)c->nr_kernels, (unsigned long long)c->nr_samples,
		100 * c->misfit);
	if (sonde_calibration_path(&path, c->uuid))
		printf("kept in %s: captures from now on use it\n", path.p);
	sonde_buf_release(&path);
}

static int calibrate(const struct request *q, struct sonde_err *err)
{
	unsigned device = q->device ? (unsigned)strtoul(q->device, NULL, 10) : 0;
	struct sonde_calibration_data data;
	struct sonde_calibration c;
	int rc = sonde_calibration_record(&data, device, err);

	if (rc)
		return rc;
	rc = sonde_calibration_fit(&c, &data, err);
	sonde_calibration_release(&data);
	sonde_calibration_name_driver(c.driver, sizeof(c.driver));
	if (rc == 0)
		rc = sonde_sampling_identify(c.uuid, sizeof(c.uuid), device, err);
	if (rc == 0)
		rc = sonde_calibration_keep(&c, err);
	if (rc == 0)
		show_calibration(&c, device);
	return rc;
}

/* --- the command ------------------------------------------------------------------------------- */

static volatile sig_atomic_t is_stopped;

static void on_signal(int signal)
{
	(void)signal;
	is_stopped = 1;
}

static void take_rows(void *of, const struct sonde_sample_rows *rows)
{
	struct work *w = of;

	sonde_tally_take(w->tally, rows);
	if (w->file)
		sonde_samples_file_take(w->file, rows);
	if (w->q->format == FORMAT_CSV)
		put_csv(w, rows);
}

static bool is_over(void *of)
{
	struct work *w = of;
	uint64_t now_ns = sonde_now_ns();

	if (!w->begin_ns) /* setting up takes half a second, which does not count */
		w->begin_ns = now_ns;
	show_live(w, now_ns);
	if (w->file && !sonde_samples_file_tick(w->file))
		return true;
	return is_stopped || now_ns - w->begin_ns >= w->q->span_ns;
}

static int sample_device(struct work *w, struct sonde_err *err)
{
	const struct sonde_sample_receiver receiver = {.take = take_rows, .is_over = is_over, .of = w};
	struct sigaction on = {.sa_handler = on_signal, .sa_flags = SA_RESETHAND};
	int rc;

	sigaction(SIGINT, &on, NULL);
	sigaction(SIGTERM, &on, NULL);
	if (w->q->format == FORMAT_CSV)
		put_csv_head(w);
	rc = sonde_sampling_run(w->sampling, &receiver, err);
	if (w->is_live)
		fputs("\r\033[K", stderr);
	return rc;
}

static int run_sample(const struct request *q, struct sonde_err *err)
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
		rc = sonde_samples_file_open(&w.file, q->out, w.sampling, (struct sonde_samples_rotation){0}, err);
	if (rc == 0) {
		sonde_tally_init(w.tally, q->span_ns, sonde_sampling_facts(w.sampling)->bytes_per_ns);
		rc = sample_device(&w, err);
	}
	if (rc == 0)
		sonde_tally_end(w.tally);
	if (rc == 0 && q->format != FORMAT_CSV)
		(q->format == FORMAT_JSON ? show_json
						: show_text)(&w);
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

static int read_values(struct request *q, struct sonde_err *err)
{
	char *end = "";
	double seconds = q->seconds ? strtod(q->seconds, &end) : 5;
	int rc = read_span(&q->interval_ns, "interval", q->interval, "auto", err);

	if (rc == 0)
		rc = read_span(&q->burst_ns, "burst", q->burst, "off", err);
	if (rc == 0 && q->device && (strspn(q->device, "0123456789") != strlen(q->device) || !*q->device))
		rc = sonde_err_set(err, SONDE_ERR_USAGE,
			"--device %s: not a number of a GPU: `nvidia-smi -L` lists them", q->device);
	if (rc == 0 && (*end || !(seconds > 0 && seconds < 1e6)))
		rc = sonde_err_set(
			err, SONDE_ERR_USAGE, "--seconds %s: not a number above 0 and below 1000000", q->seconds);
	q->span_ns = rc ? 0 : (uint64_t)(seconds * 1e9);
	return rc;
}

#define INTO(member) offsetof(struct request, member)
static const struct sonde_option options[] = {
	SONDE_OPT(0, "seconds", "N", WORD, seconds, "how long to sample (5); Ctrl-C ends it earlier"),
	SONDE_OPT(0, "interval", "TIME", WORD, interval,
		"length of a sample: 50us, 1ms; auto = what this machine can do"),
	SONDE_OPT(0, "burst", "TIME", WORD, burst,
		"sample for this long (20ms), pause for a random time, repeat; off"),
	SONDE_OPT(0, "counters", "NAMES", LIST, counters,
		"basic|tensor|memory|nvlink|full, or counters by name (basic)"),
	SONDE_OPT(0, "device", "N", WORD, device, "CUDA's number of the GPU (0)"),
	SONDE_OPT(0, "calibrate", NULL, FLAG, calibrates,
		"measure how samples are aligned with kernels' timestamps, by kernels of sonde's "
		"own, and keep it for later captures: once for each GPU, while it is idle"),
	SONDE_OPT('f', "format", "text|json|csv", CHOICE, format, "csv has every sample"),
	SONDE_OPT('o', "out", "FILE", WORD, out,
		"also write the samples as a capture (FILE.sonde)"),
};

static const struct sonde_usage usage = {"sonde sample [options]",
	"Samples the hardware counters of a GPU, whatever runs there, and shows what it did.\n"
	"It launches nothing and touches no program. The GPU is sampled as a whole: every\n"
	"program on it counts. `sonde doctor` says whether this machine permits it.",
	options, sizeof(options) / sizeof(*options),
	{{"two seconds of the first GPU", "sonde sample --seconds 2"},
		{"every sample of two counters, as CSV",
			"sonde sample --counters dram.read_bytes,l2.sectors -f csv > samples.csv"}}};

int sonde_cmd_sample(int argc, char **argv)
{
	struct request q = {0};
	struct sonde_err err = {0};
	int rc = sonde_options_read(&q.args, &usage, &q, argc, argv, &err);

	if (rc == 0 && q.args.operands.nr)
		rc = sonde_err_set(&err, SONDE_ERR_USAGE, "sample takes no operand: leave out '%s'",
			q.args.operands.at[0]);
	if (rc == 0)
		rc = read_values(&q, &err);
	if (rc == 0)
		rc = q.calibrates ? calibrate(&q, &err) : run_sample(&q, &err);
	sonde_args_release(&q.args);
	return rc < 0 ? sonde_cmd_fail(&err) : 0;
}
