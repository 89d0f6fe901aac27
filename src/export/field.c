#include "export/field.h"

#include "base/glob.h"

#include "base/number.h"

#include <math.h>
#include <string.h>

#define NS_PER_MS 1e6

static double instances(const struct sonde_report *r, const struct sonde_node *n)
{
	(void)r;
	return (double)n->instances;
}

static double launches(const struct sonde_report *r, const struct sonde_node *n)
{
	(void)r;
	return (double)n->launches;
}

static double total_ms(const struct sonde_report *r, const struct sonde_node *n)
{
	(void)r;
	return n->time_ns / NS_PER_MS;
}

static double share(const struct sonde_report *r, const struct sonde_node *n)
{
	return r->time_ns > 0 ? 100 * n->time_ns / r->time_ns : NAN;
}

static double own_launches(const struct sonde_report *r, const struct sonde_node *n)
{
	(void)r;
	return (double)n->own_launches;
}

static double own_ms(const struct sonde_report *r, const struct sonde_node *n)
{
	(void)r;
	return n->own_time_ns / NS_PER_MS;
}

static double busy_ms(const struct sonde_report *r, const struct sonde_node *n)
{
	(void)r;
	return n->busy_ns / NS_PER_MS;
}

static double span_ms(const struct sonde_report *r, const struct sonde_node *n)
{
	(void)r;
	return n->span_ns / NS_PER_MS;
}

static double host_ms(const struct sonde_report *r, const struct sonde_node *n)
{
	(void)r;
	return n->host_ns / NS_PER_MS;
}

static double idle_ms(const struct sonde_report *r, const struct sonde_node *n)
{
	(void)r;
	return n->idle_ns / NS_PER_MS;
}

static double cpu_ms(const struct sonde_report *r, const struct sonde_node *n)
{
	(void)r;
	return n->cpu_ns / NS_PER_MS;
}

/* Only a capture with timestamps tells copies and streams apart. */
static double copy_count(const struct sonde_report *r, const struct sonde_node *n)
{
	(void)r;
	return isnan(n->busy_ns) ? NAN : (double)n->copies;
}

static double copy_ms(const struct sonde_report *r, const struct sonde_node *n)
{
	(void)r;
	return isnan(n->busy_ns) ? NAN : n->copy_ns / NS_PER_MS;
}

static double copy_bytes(const struct sonde_report *r, const struct sonde_node *n)
{
	(void)r;
	return isnan(n->busy_ns) ? NAN : n->copy_bytes;
}

static double streams(const struct sonde_report *r, const struct sonde_node *n)
{
	(void)r;
	return isnan(n->busy_ns) ? NAN : (double)n->streams;
}

static double imbalance(const struct sonde_report *r, const struct sonde_node *n)
{
	return r->is_aggregate && n->nr_scopes > 1 ? n->imbalance : NAN;
}

static double adopted(const struct sonde_report *r, const struct sonde_node *n)
{
	(void)r;
	return n->adopted ? (double)n->adopted : NAN;
}

/* The idle time that is due to one cause. */
#define IDLE(name, cause)                                                                          \
	static double name(const struct sonde_report *r, const struct sonde_node *n)               \
	{                                                                                          \
		(void)r;                                                                           \
		return n->waits.by[cause] / NS_PER_MS;                                             \
	}
IDLE(idle_launch_ms, SONDE_IDLE_LAUNCH)
IDLE(idle_sync_ms, SONDE_IDLE_SYNC)
IDLE(idle_copy_ms, SONDE_IDLE_COPY)
IDLE(idle_alloc_ms, SONDE_IDLE_ALLOC)
IDLE(idle_host_ms, SONDE_IDLE_HOST)
IDLE(idle_queued_ms, SONDE_IDLE_QUEUED)
IDLE(idle_other_stream_ms, SONDE_IDLE_OTHER)
IDLE(idle_unknown_ms, SONDE_IDLE_UNKNOWN)

static double tail_ms(const struct sonde_report *r, const struct sonde_node *n)
{
	(void)r;
	return n->waits.tail_ns / NS_PER_MS;
}

static double queue_ms(const struct sonde_report *r, const struct sonde_node *n)
{
	(void)r;
	return n->waits.queue_ns / NS_PER_MS;
}

static double queue_mean_ms(const struct sonde_report *r, const struct sonde_node *n)
{
	(void)r;
	return n->waits.nr_queued ? n->waits.queue_ns / NS_PER_MS / (double)n->waits.nr_queued : NAN;
}

static double comm_ms(const struct sonde_report *r, const struct sonde_node *n)
{
	(void)r;
	return n->waits.comm_ns / NS_PER_MS;
}

static double exposed_comm_ms(const struct sonde_report *r, const struct sonde_node *n)
{
	(void)r;
	return n->waits.exposed_ns / NS_PER_MS;
}

static double comm_wait_ms(const struct sonde_report *r, const struct sonde_node *n)
{
	(void)r;
	return n->comm_wait_ns / NS_PER_MS;
}

/* With a budget: how much of a region was timed, and what its time may be off by. */
static double timed(const struct sonde_report *r, const struct sonde_node *n)
{
	(void)r;
	return n->timed;
}

static double total_error_ms(const struct sonde_report *r, const struct sonde_node *n)
{
	(void)r;
	return n->time_error_ns / NS_PER_MS;
}

/* GPU memory, in bytes. */
#define MEMORY(what)                                                                               \
	static double memory_##what(const struct sonde_report *r, const struct sonde_node *n)      \
	{                                                                                          \
		(void)r;                                                                           \
		return n->memory.what;                                                             \
	}
MEMORY(allocated)
MEMORY(freed)
MEMORY(left)
MEMORY(peak)

const struct sonde_field sonde_fields[] = {
	/* key, csv, head, number, form; exclusive, optional, in tables, timed, host only */
	{"instances", "instances", "entries", instances, SONDE_FIELD_COUNT, 0, 0, 0, 0, 1},
	{"kernel_count", "launches", "launches", launches, SONDE_FIELD_COUNT, 0, 0, 1, 1, 0},
	{"total_ms", "inclusive_ms", "incl ms", total_ms, SONDE_FIELD_MS, 0, 0, 1, 1, 0},
	{"total_ms_error", "inclusive_ms_error", "± ms", total_error_ms, SONDE_FIELD_MS, 0, 1, 0, 1, 0},
	{"timed_launches", "timed_launches", "timed", timed, SONDE_FIELD_COUNT, 0, 1, 0, 1, 0},
	{"kernel_count", "exclusive_launches", "own", own_launches, SONDE_FIELD_COUNT, 1, 0, 0, 0,
		0},
	{"total_ms", "exclusive_ms", "excl ms", own_ms, SONDE_FIELD_MS, 1, 0, 1, 0, 0},
	{"busy_ms", "busy_ms", "busy ms", busy_ms, SONDE_FIELD_MS, 0, 1, 0, 1, 0},
	{"span_ms", "span_ms", "span ms", span_ms, SONDE_FIELD_MS, 0, 1, 0, 0, 0},
	{"idle_ms", "idle_ms", "idle ms", idle_ms, SONDE_FIELD_MS, 0, 1, 0, 1, 0},
	{"idle.launch_ms", "idle_launch_ms", "launch ms", idle_launch_ms, SONDE_FIELD_MS, 0, 1, 0, 0,
		0},
	{"idle.sync_ms", "idle_sync_ms", "sync ms", idle_sync_ms, SONDE_FIELD_MS, 0, 1, 0, 0,
		0},
	{"idle.copy_ms", "idle_copy_ms", "copy ms", idle_copy_ms, SONDE_FIELD_MS, 0, 1, 0, 0,
		0},
	{"idle.alloc_ms", "idle_alloc_ms", "alloc ms", idle_alloc_ms, SONDE_FIELD_MS, 0, 1, 0, 0,
		0},
	{"idle.host_ms", "idle_host_ms", "host ms", idle_host_ms, SONDE_FIELD_MS, 0, 1, 0, 0,
		0},
	{"idle.queued_ms", "idle_queued_ms", "queued ms", idle_queued_ms, SONDE_FIELD_MS, 0, 1, 0, 0,
		0},
	{"idle.other_stream_ms", "idle_other_stream_ms", "other ms", idle_other_stream_ms, SONDE_FIELD_MS, 0, 1, 0, 0,
		0},
	{"idle.unknown_ms", "idle_unknown_ms", "unknown ms", idle_unknown_ms, SONDE_FIELD_MS, 0, 1, 0, 0,
		0},
	{"tail_ms", "tail_ms", "tail ms", tail_ms, SONDE_FIELD_MS, 0, 1, 0, 0, 0},
	{"queue_ms", "queue_ms", "queue ms", queue_ms, SONDE_FIELD_MS, 0, 1, 0, 0, 0},
	{"queue_mean_ms", "queue_mean_ms", "queue mean ms", queue_mean_ms, SONDE_FIELD_MS, 0, 1, 0, 0, 0},
	{"comm_ms", "comm_ms", "comm ms", comm_ms, SONDE_FIELD_MS, 0, 1, 0, 0, 0},
	{"exposed_comm_ms", "exposed_comm_ms", "exposed ms", exposed_comm_ms, SONDE_FIELD_MS, 0, 1, 0, 0, 0},
	{"comm_wait_ms", "comm_wait_ms", "waited ms", comm_wait_ms, SONDE_FIELD_MS, 0, 1, 0, 0, 0},
	{"host_ms", "host_ms", "host ms", host_ms, SONDE_FIELD_MS, 0, 1, 0, 1, 1},
	{"cpu_ms", "cpu_ms", "cpu ms", cpu_ms, SONDE_FIELD_MS, 0, 1, 0, 0, 1},
	{"memory.allocated_bytes", "memory_allocated_bytes", "allocated bytes", memory_allocated, SONDE_FIELD_COUNT, 0, 1, 0,
		0, 0},
	{"memory.freed_bytes", "memory_freed_bytes", "freed bytes", memory_freed, SONDE_FIELD_COUNT, 0, 1, 0,
		0, 0},
	{"memory.left_bytes", "memory_left_bytes", "left bytes", memory_left, SONDE_FIELD_COUNT, 0, 1, 0,
		0, 0},
	{"memory.peak_bytes", "memory_peak_bytes", "peak bytes", memory_peak, SONDE_FIELD_COUNT, 0, 1, 0,
		0, 0},
	{"copy_count", "copy_count", "copies", copy_count, SONDE_FIELD_COUNT, 0, 1, 0, 0, 0},
	{"copy_ms", "copy_ms", "copy ms", copy_ms, SONDE_FIELD_MS, 0, 1, 0, 1, 0},
	{"copy_bytes", "copy_bytes", "copy bytes", copy_bytes, SONDE_FIELD_COUNT, 0, 1, 0, 0, 0},
	{"streams", "streams", "streams", streams, SONDE_FIELD_COUNT, 0, 1, 0, 0, 0},
	{"share_pct", "share_pct", "share", share, SONDE_FIELD_PERCENT, 0, 0, 1, 1, 0},
	{"imbalance", "imbalance", "imbal", imbalance, SONDE_FIELD_RATIO, 0, 1, 1, 1, 0},
	{"adopted_launches", "adopted_launches", "adopted", adopted, SONDE_FIELD_COUNT, 0, 1, 0, 0,
		0},
};
const size_t sonde_nr_fields = sizeof(sonde_fields) / sizeof(*sonde_fields);

struct sonde_str sonde_field_head(const struct sonde_field *f, const struct sonde_report *r)
{
	return sonde_str_from(r->is_ranges && f->number == launches ? "results" : f->head);
}

static bool is_cause(const struct sonde_field *f)
{
	return sonde_str_starts(sonde_str_from(f->key), "idle.");
}

static bool is_in_view(
	const struct sonde_field *f, enum sonde_times times, enum sonde_columns_view view)
{
	if (view == SONDE_VIEW_IDLE && times == SONDE_TIMES_GPU)
		return is_cause(f) || f->number == launches || f->number == busy_ms ||
		       f->number == idle_ms || f->number == tail_ms ||
		       f->number == queue_mean_ms || f->number == exposed_comm_ms;
	if (view == SONDE_VIEW_RANKS)
		return f->number == launches || f->number == total_ms || f->number == comm_ms ||
		       f->number == exposed_comm_ms || f->number == comm_wait_ms ||
		       f->number == imbalance;
	if (view == SONDE_VIEW_MEMORY)
		return sonde_str_starts(sonde_str_from(f->key), "memory.") ||
		       f->number == instances || f->number == launches;
	return times == SONDE_TIMES_GPU	   ? f->is_in_timed
	       : times == SONDE_TIMES_HOST ? f->is_in_host
					   : f->is_in_tables;
}

/* Without launches at the same time, busy time is GPU time: the column would be there twice. */
static bool overlaps(const struct sonde_report *r)
{
	size_t i;

	for (i = 0; i < r->nodes.nr; i++)
		if (r->nodes.at[i].busy_ns < r->nodes.at[i].time_ns * (1 - 1e-9))
			return true;
	return false;
}

static bool is_used(const struct sonde_field *f, const struct sonde_report *r)
{
	size_t i;

	if (f->number == busy_ms && !overlaps(r))
		return false;
	for (i = 0; f->is_optional && i < r->nodes.nr; i++) {
		double v = f->number(r, &r->nodes.at[i]);

		if (f->number == copy_ms || is_cause(f) ? v > 0 : !isnan(v))
			return true;
	}
	return !f->is_optional;
}

const char *sonde_no_launch(const struct sonde_tree *t)
{
	const struct sonde_selection *s = &t->cells->selection;

	return s->nvtx_include.nr || s->nvtx_exclude.nr || s->kernel_include.nr ||
			       s->kernel_exclude.nr
		       ? "no launch of this region was selected"
		       : "no GPU work was launched in this region";
}

uint64_t sonde_fields_in_table(const struct sonde_report *r, enum sonde_columns_view view)
{
	enum sonde_times times = sonde_report_times(r);
	uint64_t set = 0;
	size_t i;

	for (i = 0; i < sonde_nr_fields; i++) {
		const struct sonde_field *f = &sonde_fields[i];

		if (is_in_view(f, times, view) && is_used(f, r))
			set |= 1ull << i;
	}
	return set;
}

struct sonde_str sonde_headline_head(const struct sonde_tree *t, size_t i)
{
	struct sonde_str name = t->columns.at[t->headline[i]].name, head = sonde_metric_head(name);
	size_t k;

	for (k = 0; k < t->nr_headline; k++)
		if (k != i &&
			sonde_str_eq(head, sonde_metric_head(t->columns.at[t->headline[k]].name)))
			return name;
	return head;
}

struct sonde_str sonde_kernel_name(
	const struct sonde_tree *t, const struct sonde_export_options *o, uint32_t string)
{
	return o->full_names ? sonde_tree_str(t, string) : sonde_tree_short_name(t, string);
}

const char *sonde_figure_mark(const struct sonde_figure *f, bool is_utf8)
{
	bool is_least = f->v == f->low;

	if (f->quality == SONDE_QUALITY_SAMPLED && !isnan(f->v))
		return "~";
	if (isnan(f->v) || f->low == f->high) /* bounds that meet leave no doubt */
		return "";
	if (f->quality == SONDE_QUALITY_APPROX ||
		(f->quality == SONDE_QUALITY_STAT && f->low < f->high))
		return is_utf8 ? "\u2248" : "~";
	if (f->quality == SONDE_QUALITY_BOUND && is_least)
		return is_utf8 ? "\u2265" : ">=";
	if (f->quality == SONDE_QUALITY_BOUND)
		return is_utf8 ? "\u2264" : "<=";
	return "";
}

void sonde_figure_put(
	struct sonde_buf *to, const struct sonde_figure *f, const char *unit, bool is_utf8)
{
	sonde_buf_puts(to, sonde_figure_mark(f, is_utf8));
	sonde_number_human(to, f->v, unit);
	if (isnan(f->v) || !(f->error > 0)) /* a clock has none */
		return;
	sonde_buf_puts(to, is_utf8 ? "±" : "+-");
	sonde_number_human(to, f->error, unit);
}

#define CAUTION                                                                                    \
	"each figure is of the range as a whole, launch gaps included. Not to be compared with "   \
	"sums over kernels."

const char *sonde_report_caution(const struct sonde_report *r)
{
	static const char *const cautions[] = {[SONDE_MEASURED_RANGE] = "Replayed ranges: " CAUTION,
		[SONDE_MEASURED_APP_RANGE] = "Replayed ranges (app-range replay): " CAUTION};

	return cautions[r->measured];
}

bool sonde_report_is_shown(const struct sonde_report *r, const struct sonde_export_options *o)
{
	size_t i;

	for (i = 0; i < o->scopes.nr; i++)
		if (sonde_str_glob(r->name, sonde_str_from(o->scopes.at[i])))
			return true;
	return o->scopes.nr == 0;
}

bool sonde_report_is_printed(const struct sonde_tree *t, const struct sonde_report *r,
	const struct sonde_export_options *o)
{
	size_t i;

	if (o->scopes.nr || o->per_scope || r->is_aggregate)
		return sonde_report_is_shown(r, o);
	for (i = 0; i < t->reports.nr; i++) {
		const struct sonde_report *other = &t->reports.at[i];

		if (other->is_aggregate && other->measured == r->measured && other->nr_scopes > 1)
			return false;
	}
	return true;
}

bool sonde_report_is_doubled(const struct sonde_tree *t, const struct sonde_report *r,
	const struct sonde_export_options *o)
{
	size_t i;

	if (r->nr_scopes > 1 || !r->is_aggregate)
		return false;
	for (i = 0; i < t->reports.nr; i++) {
		const struct sonde_report *other = &t->reports.at[i];

		if (!other->is_aggregate && other->measured == r->measured &&
			sonde_report_is_shown(other, o))
			return true;
	}
	return false;
}

bool sonde_report_comes_first(const struct sonde_tree *t, const struct sonde_report *r,
	const struct sonde_export_options *o)
{
	return r->is_aggregate && !sonde_report_is_doubled(t, r, o);
}

static bool scope_matches(const struct sonde_tree *t, const char *word)
{
	const struct sonde_export_options one = {.scopes = {&word, 1}};
	size_t i;

	for (i = 0; i < t->reports.nr; i++)
		if (sonde_report_is_shown(&t->reports.at[i], &one))
			return true;
	return false;
}

int sonde_export_check_scopes(
	const struct sonde_tree *t, const struct sonde_export_options *o, struct sonde_err *err)
{
	struct sonde_buf names = {0};
	size_t i, k;
	int rc = 0;

	for (i = 0; i < o->scopes.nr && rc == 0; i++) {
		if (scope_matches(t, o->scopes.at[i]))
			continue;
		for (k = 0; k < t->reports.nr; k++)
			sonde_buf_printf(&names, "%s%.*s", k ? ", " : "",
				SONDE_STR_ARG(t->reports.at[k].name));
		rc = sonde_err_set(err, SONDE_ERR_USAGE, "no scope matches '%s'; there are: %s",
			o->scopes.at[i], names.p ? names.p : "none");
	}
	sonde_buf_release(&names);
	return rc;
}

bool sonde_selects_nothing(const struct sonde_tree *t)
{
	struct sonde_coverage kernels, ranges;

	sonde_coverage_build(&kernels, t, false);
	sonde_coverage_build(&ranges, t, true);
	if (kernels.total + ranges.total == 0) /* ranges of the host only */
		return t->cells->regions.nr && !t->cells->tally.takes_range;
	return kernels.not_selected + ranges.not_selected == kernels.total + ranges.total;
}
