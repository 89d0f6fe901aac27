/*
 * Inside `sonde sample`: the command (sample_cmd.c), what it shows (sample_show.c) and
 * `--calibrate` (sample_calibrate.c).
 */
#ifndef SONDE_CLI_SAMPLE_INT_H
#define SONDE_CLI_SAMPLE_INT_H

#include "base/sink.h"
#include "cli/option.h"
#include "sample/samples_file.h"
#include "sample/tally.h"

enum sonde_sample_format { SONDE_SAMPLE_TEXT, SONDE_SAMPLE_JSON, SONDE_SAMPLE_CSV };

struct sonde_sample_request {
	struct sonde_args args;
	struct sonde_word_list counters;
	const char *seconds, *interval, *burst, *device, *out;
	int format;
	bool calibrates;
	uint64_t span_ns, interval_ns, burst_ns;
};

/* The command at work. */
struct sonde_sample {
	const struct sonde_sample_request *q;
	struct sonde_sampling *sampling;
	struct sonde_samples_file *file; /* NULL = none is written */
	struct sonde_tally *tally;
	struct sonde_sink out;
	uint64_t begin_ns, shown_ns;
	bool is_live;
};

/* The line that follows the device, if it is time for it; `now_ns` on a clock that never jumps. */
void sonde_sample__show_live(struct sonde_sample *w, uint64_t now_ns);
/* What was sampled. */
void sonde_sample__show_text(struct sonde_sample *w);
void sonde_sample__show_json(struct sonde_sample *w);
void sonde_sample__put_csv_head(struct sonde_sample *w);
void sonde_sample__put_csv(struct sonde_sample *w, const struct sonde_sample_rows *rows);

/* sample_calibrate.c */
int sonde_sample__calibrate(const struct sonde_sample_request *q, struct sonde_err *err);

#endif
