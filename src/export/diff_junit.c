/* A comparison as JUnit XML: a test per gated region, or per region without a gate. */
#include "export/diff_shared.h"

#include "base/escape.h"

static bool is_failed(const struct sonde_diff *d, const struct sonde_diff_region *r)
{
	return d->gate == SONDE_GATE_NONE ? r->verdict == SONDE_VERDICT_SLOWER
					  : r->gate == SONDE_GATE_FAIL;
}

static bool is_skipped(const struct sonde_diff *d, const struct sonde_diff_region *r)
{
	return d->gate == SONDE_GATE_NONE ? r->verdict == SONDE_VERDICT_INSUFFICIENT
					  : r->gate == SONDE_GATE_INSUFFICIENT;
}

static bool is_tested(const struct sonde_diff *d, const struct sonde_diff_region *r)
{
	return d->gate == SONDE_GATE_NONE || r->gate != SONDE_GATE_NONE;
}

static void describe(
	struct sonde_buf *b, const struct sonde_diff *d, const struct sonde_diff_region *r)
{
	sonde_diff_out__ms(b, r->base.median_ns);
	sonde_buf_puts(b, " ms \u2192 ");
	sonde_diff_out__ms(b, r->new_half.median_ns);
	sonde_buf_puts(b, " ms per entry, ");
	sonde_diff_out__percent(b, r->ratio);
	sonde_buf_puts(b, " (95 %: ");
	sonde_diff_out__interval(b, r, true);
	sonde_buf_puts(b, " %): ");
	sonde_diff_out__verdict(b, d, r);
}

static void write_case(
	struct sonde_sink *to, const struct sonde_diff *d, const struct sonde_diff_region *r)
{
	bool failed = is_failed(d, r), skipped = is_skipped(d, r);
	struct sonde_buf b = {0};

	sonde_sink_puts(to, "    <testcase classname=\"sonde.diff\" name=\"");
	sonde_escape_xml(&to->buf, sonde_region_path(r->id, r->kind));
	sonde_sink_puts(to, sonde_region_kind_mark(r->kind));
	if (!failed && !skipped) {
		sonde_sink_puts(to, "\"/>\n");
		return;
	}
	describe(&b, d, r);
	sonde_sink_printf(to, "\">\n      <%s message=\"", failed ? "failure" : "skipped");
	sonde_escape_xml(&to->buf, sonde_buf_view(&b));
	sonde_sink_puts(to, "\"/>\n    </testcase>\n");
	to->buf.failed |= b.failed;
	sonde_buf_release(&b);
}

int sonde_export_diff_junit(const struct sonde_diff *d, const struct sonde_diff_out *o,
	struct sonde_sink *to, struct sonde_err *err)
{
	size_t i, tests = 0, failures = 0, skipped = 0;

	(void)o;
	(void)err;
	for (i = 0; i < d->regions.nr; i++) {
		const struct sonde_diff_region *r = &d->regions.at[i];

		tests += is_tested(d, r);
		failures += is_tested(d, r) && is_failed(d, r);
		skipped += is_tested(d, r) && is_skipped(d, r);
	}
	sonde_sink_printf(to,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite "
		"name=\"sonde diff\" tests=\"%zu\" failures=\"%zu\" errors=\"0\" "
		"skipped=\"%zu\">\n",
		tests, failures, skipped);
	for (i = 0; i < d->regions.nr; i++)
		if (is_tested(d, &d->regions.at[i]))
			write_case(to, d, &d->regions.at[i]);
	sonde_sink_puts(to, "    <system-out>");
	for (i = 0; i < d->sentences.texts.nr; i++) {
		sonde_escape_xml(&to->buf, d->sentences.texts.keys[i]);
		sonde_sink_putc(to, '\n');
	}
	sonde_sink_puts(to, "</system-out>\n  </testsuite>\n</testsuites>\n");
	return 0;
}
