#include "base/alloc.h"
#include "base/clock.h"
#include "cli/command.h"
#include "cli/sample_int.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t is_stopped;

static void stop(int signal)
{
	(void)signal;
	is_stopped = 1;
}

static void take(void *of, const struct sonde_sample_rows *rows)
{
	struct sonde_sample *w = of;

	sonde_tally_take(w->tally, rows);
	if (w->file)
		sonde_samples_file_take(w->file, rows);
	if (w->q->format == SONDE_SAMPLE_CSV)
		sonde_sample__put_csv(w, rows);
}

static bool is_over(void *of)
{
	struct sonde_sample *w = of;
	uint64_t now_ns = sonde_now_ns();

	if (!w->begin_ns) /* setting up takes half a second that does not count */
		w->begin_ns = now_ns;
	sonde_sample__show_live(w, now_ns);
	if (w->file && !sonde_samples_file_tick(w->file))
		return true;
	return is_stopped || now_ns - w->begin_ns >= w->q->span_ns;
}

static int sample(struct sonde_sample *w, struct sonde_err *err)
{
	const struct sonde_sample_taker taker = {.take = take, .is_over = is_over, .of = w};
	struct sigaction on = {.sa_handler = stop, .sa_flags = SA_RESETHAND};
	int rc;

	sigaction(SIGINT, &on, NULL);
	sigaction(SIGTERM, &on, NULL);
	if (w->q->format == SONDE_SAMPLE_CSV)
		sonde_sample__put_csv_head(w);
	rc = sonde_sampling_run(w->sampling, &taker, err);
	if (w->is_live)
		fputs("\r\033[K", stderr);
	return rc;
}

static int run(const struct sonde_sample_request *q, struct sonde_err *err)
{
	static const char *const usual[] = {"basic"};
	const struct sonde_sampling_request r = {
		.device = q->device ? (unsigned)strtoul(q->device, NULL, 10) : 0,
		.counters = q->counters.nr ? q->counters.at : usual,
		.nr_counters = q->counters.nr ? q->counters.nr : 1,
		.interval_ns = q->interval_ns,
		.burst_ns = q->burst_ns};
	struct sonde_sample w = {.q = q, .is_live = isatty(STDERR_FILENO)};
	struct sonde_err late = {0};
	int rc = sonde_sampling_open(&w.sampling, &r, err), end;

	w.tally = sonde_malloc(sizeof(*w.tally));
	sonde_sink_init_fd(&w.out, STDOUT_FILENO);
	if (rc == 0 && !w.tally)
		rc = sonde_err_nomem(err);
	if (rc == 0 && q->out)
		rc = sonde_samples_file_open(&w.file, q->out, w.sampling, err);
	if (rc == 0) {
		sonde_tally_init(w.tally, q->span_ns, sonde_sampling_facts(w.sampling)->bytes_per_ns);
		rc = sample(&w, err);
	}
	if (rc == 0)
		sonde_tally_end(w.tally);
	if (rc == 0 && q->format != SONDE_SAMPLE_CSV)
		(q->format == SONDE_SAMPLE_JSON ? sonde_sample__show_json
						: sonde_sample__show_text)(&w);
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

static int read_values(struct sonde_sample_request *q, struct sonde_err *err)
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

#define INTO(member) offsetof(struct sonde_sample_request, member)
static const struct sonde_option options[] = {
	SONDE_OPT(0, "seconds", "N", WORD, seconds, "how long (5); Ctrl-C ends it earlier"),
	SONDE_OPT(0, "interval", "TIME", WORD, interval,
		"length of a sample: 50us, 1ms; auto = what this machine can do"),
	SONDE_OPT(0, "burst", "TIME", WORD, burst,
		"sample for this long (20ms), pause for a random time, repeat; off"),
	SONDE_OPT(0, "counters", "NAMES", LIST, counters,
		"basic|tensor|memory|nvlink|full, or counters by name (basic)"),
	SONDE_OPT(0, "device", "N", WORD, device, "CUDA's number of the GPU (0)"),
	SONDE_OPT(0, "calibrate", NULL, FLAG, calibrates,
		"measure how kernels' time stamps lie to samples, with kernels of sonde's own, "
		"and keep it for later captures: once for each GPU, while it is idle"),
	SONDE_OPT('f', "format", "text|json|csv", CHOICE, format, "csv has every sample"),
	SONDE_OPT('o', "out", "FILE", WORD, out,
		"also write the samples as a capture (FILE.sonde)"),
};

static const struct sonde_usage usage = {"sonde sample [options]",
	"Samples the hardware counters of a GPU, whatever runs there, and shows what it did.\n"
	"Nothing is launched and no program is touched. The samples are of the device: every\n"
	"program on it is in them. `sonde doctor` says whether this machine permits it.",
	options, sizeof(options) / sizeof(*options),
	{{"two seconds of the first GPU", "sonde sample --seconds 2"},
		{"every sample of two counters, as CSV",
			"sonde sample --counters dram.read_bytes,l2.sectors -f csv > samples.csv"}}};

int sonde_cmd_sample(int argc, char **argv)
{
	struct sonde_sample_request q = {0};
	struct sonde_err err = {0};
	int rc = sonde_options_read(&q.args, &usage, &q, argc, argv, &err);

	if (rc == 0 && q.args.operands.nr)
		rc = sonde_err_set(&err, SONDE_ERR_USAGE, "sample takes no operand: leave out '%s'",
			q.args.operands.at[0]);
	if (rc == 0)
		rc = read_values(&q, &err);
	if (rc == 0)
		rc = q.calibrates ? sonde_sample__calibrate(&q, &err) : run(&q, &err);
	sonde_args_release(&q.args);
	return rc < 0 ? sonde_cmd_fail(&err) : 0;
}
