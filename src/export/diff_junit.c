/*
 * A comparison as JUnit XML: a test per gated region, or per region if there is no gate.
 *
 * The file says what the exit status says. Status 3 is a failure, status 4 an error without a failure, and status 0
 * neither: what could not be judged and may pass is skipped. Status 1 of a gate, for inputs that are not whole, is an
 * error in any case.
 */
#include "export/diff_shared.h"

#include "base/escape.h"

#include <math.h>

enum outcome { PASSED, SKIPPED, UNDECIDED, FAILED };

/* An undecided test is an error; with --allow-insufficient it counts as skipped. */
static enum outcome undecided(const struct sonde_diff *d)
{
	return d->options.allows_insufficient ? SKIPPED : UNDECIDED;
}

static enum outcome outcome_of(const struct sonde_diff *d, const struct sonde_diff_region *r)
{
	bool is_good = r->verdict == SONDE_VERDICT_SAME || r->verdict == SONDE_VERDICT_FASTER ||
		       r->verdict == SONDE_VERDICT_LIKELY_FASTER;

	switch (r->gate) {
	case SONDE_GATE_PASS:
		return PASSED;
	case SONDE_GATE_INSUFFICIENT:
		return undecided(d);
	case SONDE_GATE_FAIL:
		return FAILED;
	default: /* no limit says how slow is too slow */
		return d->options.nr_limits || !is_good ? SKIPPED : PASSED;
	}
}

static bool is_tested(const struct sonde_diff *d, const struct sonde_diff_region *r)
{
	return !d->options.nr_limits || !isnan(r->limit);
}

static void describe_change(
	struct sonde_buf *b, const struct sonde_diff *d, const struct sonde_diff_region *r)
{
	sonde_diff_out__ms(b, r->base.median_ns);
	sonde_buf_puts(b, " ms \u2192 ");
	sonde_diff_out__ms(b, r->new_half.median_ns);
	sonde_buf_puts(b, sonde_diff_is_by_iteration(r) ? " ms per iteration, " : " ms per entry, ");
	sonde_diff_out__percent(b, r->ratio);
	sonde_buf_puts(b, " (95 %: ");
	sonde_diff_out__interval(b, r, true);
	sonde_buf_puts(b, " %): ");
	sonde_diff_out__verdict(b, d, r);
}

static void write_end(struct sonde_sink *to, enum outcome outcome, struct sonde_str message)
{
	static const char *const names[] = {NULL, "skipped", "error", "failure"};

	if (outcome == PASSED) {
		sonde_sink_puts(to, "\"/>\n");
		return;
	}
	sonde_sink_printf(to, "\">\n      <%s message=\"", names[outcome]);
	sonde_escape_xml(&to->buf, message);
	sonde_sink_puts(to, "\"/>\n    </testcase>\n");
}

static void begin_case(struct sonde_sink *to)
{
	sonde_sink_puts(to, "    <testcase classname=\"sonde.diff\" name=\"");
}

static void write_case(
	struct sonde_sink *to, const struct sonde_diff *d, const struct sonde_diff_region *r)
{
	const struct sonde_diff_region iteration = sonde_diff_timed(r, SONDE_DIFF_ITERATION);
	struct sonde_buf b = {0};

	begin_case(to);
	sonde_escape_xml(&to->buf, sonde_region_path(r->id, r->kind));
	sonde_sink_puts(to, sonde_region_kind_mark(r->kind));
	describe_change(&b, d, sonde_diff_is_by_iteration(r) ? &iteration : r);
	if (r->gate > SONDE_GATE_PASS) {
		sonde_buf_puts(&b, "; gate: ");
		sonde_diff_gate_reason_put(&b, d, r);
	}
	write_end(to, outcome_of(d, r), sonde_buf_view(&b));
	to->buf.failed |= b.failed;
	sonde_buf_release(&b);
}

/* The outcome of a test for something else than a region that the gate should have compared and could not. */
static enum outcome outcome_of_gate(const struct sonde_diff *d)
{
	return d->gate == SONDE_GATE_INSUFFICIENT ? undecided(d) : UNDECIDED;
}

static void write_reasons(struct sonde_sink *to, const struct sonde_diff *d)
{
	size_t i;

	for (i = 0; i < d->gate_reasons.texts.nr; i++) {
		begin_case(to);
		sonde_sink_puts(to, "(gate)");
		write_end(to, outcome_of_gate(d), d->gate_reasons.texts.keys[i]);
	}
}

int sonde_export_diff_junit(const struct sonde_diff *d, const struct sonde_diff_out *o,
	struct sonde_sink *to, struct sonde_err *err)
{
	size_t nr[FAILED + 1] = {0}, i;

	(void)o;
	(void)err;
	for (i = 0; i < d->regions.nr; i++)
		if (is_tested(d, &d->regions.at[i]))
			nr[outcome_of(d, &d->regions.at[i])]++;
	nr[outcome_of_gate(d)] += d->gate_reasons.texts.nr;
	sonde_sink_printf(to,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite "
		"name=\"sonde diff\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" "
		"skipped=\"%zu\">\n",
		nr[PASSED] + nr[SKIPPED] + nr[UNDECIDED] + nr[FAILED], nr[FAILED], nr[UNDECIDED],
		nr[SKIPPED]);
	for (i = 0; i < d->regions.nr; i++)
		if (is_tested(d, &d->regions.at[i]))
			write_case(to, d, &d->regions.at[i]);
	write_reasons(to, d);
	sonde_sink_puts(to, "    <system-out>");
	for (i = 0; i < d->sentences.texts.nr; i++) {
		sonde_escape_xml(&to->buf, d->sentences.texts.keys[i]);
		sonde_sink_putc(to, '\n');
	}
	sonde_diff_out__side_notes(to, d, true, (const char *const[]){"not whole: ", "\n"}, sonde_escape_xml);
	sonde_diff_out__side_notes(to, d, false, (const char *const[]){"note: ", "\n"}, sonde_escape_xml);
	sonde_sink_puts(to, "</system-out>\n  </testsuite>\n</testsuites>\n");
	return 0;
}
