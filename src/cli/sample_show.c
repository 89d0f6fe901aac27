#include "base/json_out.h"
#include "cli/sample_int.h"
#include "cli/terminal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LIVE_NS 250000000u /* between two looks at the line of a terminal */

void sonde_sample__show_live(struct sonde_sample *w, uint64_t now_ns)
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

static double highest_of(const struct sonde_tally *t, const struct sonde_tally_figure *f)
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

/* Percentages against 100, the rest against the highest of them. */
static void show_line(struct sonde_sample *w, const struct sonde_tally_figure *f, double highest)
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

static void show_figures(struct sonde_sample *w)
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

static void show_counters(struct sonde_sample *w)
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

/* Counters that cannot be right, one line each. */
static void show_refused(struct sonde_sample *w)
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

static void show_losses(struct sonde_sample *w)
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
			"sampling had to begin anew %llu time%s, as CUPTI had lost its place\n",
			(unsigned long long)st->nr_lost, s_of(st->nr_lost));
	if (st->nr_slower)
		sonde_sink_printf(&w->out,
			"this machine decodes slower than expected: the interval was made longer %llu "
			"time%s\n",
			(unsigned long long)st->nr_slower, s_of(st->nr_slower));
	if (facts->nr_sets > 1)
		sonde_sink_printf(&w->out,
			"the counters do not fit into one pass: %zu sets took turns\n", facts->nr_sets);
	if (facts->left_out.n)
		sonde_sink_printf(&w->out, "this GPU cannot count: %s\n", facts->left_out.p);
}

void sonde_sample__show_text(struct sonde_sample *w)
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

static void put_figures(struct sonde_sample *w, struct sonde_json *j)
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

static void put_counters(struct sonde_sample *w, struct sonde_json *j)
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

void sonde_sample__show_json(struct sonde_sample *w)
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

/* One column for each counter of each set; those of other sets are empty in a row. */
void sonde_sample__put_csv_head(struct sonde_sample *w)
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

void sonde_sample__put_csv(struct sonde_sample *w, const struct sonde_sample_rows *rows)
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
