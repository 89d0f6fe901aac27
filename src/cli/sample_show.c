#include "base/json_out.h"
#include "cli/sample_int.h"
#include "cli/terminal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void sonde_sample__show_live(struct sonde_sample *w, uint64_t now)
{
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
static void show_line(struct sonde_sample *w, const struct sonde_tally_figure *f, double peak)
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

static void show_figures(struct sonde_sample *w)
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

static void show_counters(struct sonde_sample *w)
{
	size_t k;
	uint32_t i;

	sonde_sink_printf(&w->out, "\n%16s %16s  counter\n", "total", "per second");
	for (k = 0; k < sonde_sampling_nr_sets(w->sampling); k++) {
		const struct sonde_counter_set *set = sonde_sampling_set(w->sampling, k);
		double seconds = (double)w->tally->set_ns[k] * 1e-9;

		for (i = 0; i < set->nr; i++)
			if (!sonde_tally_refused(w->tally, set->at[i].role))
				sonde_sink_printf(&w->out, "%16.0f %16.6g  %.*s\n", w->tally->totals[k][i],
				seconds > 0 ? w->tally->totals[k][i] / seconds : 0,
				SONDE_STR_ARG(set->at[i].name));
	}
}

/* Counters that cannot be right, one line each. */
static void show_refused(struct sonde_sample *w)
{
	size_t k;
	uint32_t i;

	for (k = 0; k < sonde_sampling_nr_sets(w->sampling); k++) {
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

static void show_losses(struct sonde_sample *w)
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
		sonde_sink_printf(&w->out, "this GPU cannot count: %s\n", left_out);
}

void sonde_sample__show_text(struct sonde_sample *w)
{
	const struct sonde_counter_set *set = sonde_sampling_set(w->sampling, 0);

	sonde_sink_printf(&w->out, "%.*s (GPU %u, %s): %llu samples every %.4g us in %.3f s\n",
		SONDE_STR_ARG(set->product), set->device, sonde_sampling_chip(w->sampling),
		(unsigned long long)w->tally->nr_samples, (double)set->interval_ns / 1e3,
		(double)(w->tally->last_ns - w->tally->first_ns) * 1e-9);
	show_losses(w);
	show_refused(w);
	show_figures(w);
	show_counters(w);
}

static void put_figures(struct sonde_sample *w, struct sonde_json *j)
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
		SONDE_JSON_LIST(j, "over_time", i, SONDE_TALLY_SLICES, sonde_tally_value(f, &w->tally->slices[i]));
		sonde_json_close(j, '}');
	}
	sonde_json_close(j, ']');
}

static void put_counters(struct sonde_sample *w, struct sonde_json *j)
{
	size_t k;
	uint32_t i;

	sonde_json_array(j, "counters", false, k, sonde_sampling_nr_sets(w->sampling)) {
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

void sonde_sample__show_json(struct sonde_sample *w)
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
void sonde_sample__put_csv_head(struct sonde_sample *w)
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

void sonde_sample__put_csv(struct sonde_sample *w, const struct sonde_sample_rows *rows)
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
