#include "export/field.h"

#include "base/escape.h"
#include "base/number.h"

#include <math.h>
#include <string.h>

#define NS_PER_MS 1e6

static double make_share(const struct sonde_report *r, const struct sonde_node *n)
{
	return r->time_ns > 0 ? 100 * n->time_ns / r->time_ns : NAN;
}

static double make_imbalance(const struct sonde_report *r, const struct sonde_node *n)
{
	return r->is_aggregate && n->nr_scopes > 1 ? n->imbalance : NAN;
}

static double make_adopted(const struct sonde_report *r, const struct sonde_node *n)
{
	(void)r;
	return n->adopted ? (double)n->adopted : NAN;
}

static double make_queue_mean(const struct sonde_report *r, const struct sonde_node *n)
{
	(void)r;
	return n->nr_queued ? n->times.queue_ns / NS_PER_MS / (double)n->nr_queued : NAN;
}

static double make_net(const struct sonde_report *r, const struct sonde_node *n)
{
	(void)r;
	return n->times.allocator.net / n->times.allocator.entries;
}

static double make_held(const struct sonde_report *r, const struct sonde_node *n)
{
	(void)r;
	return n->times.allocator_end / n->times.allocator.entries;
}

static double make_tokens_per_s(const struct sonde_report *r, const struct sonde_node *n)
{
	(void)r;
	return n->times.tokens_ns > 0 ? n->times.tokens / n->times.tokens_ns * 1e9 : NAN;
}

static double make_batch(const struct sonde_report *r, const struct sonde_node *n)
{
	(void)r;
	return n->times.nr_batches > 0 ? n->times.batches / n->times.nr_batches : NAN;
}

/* How a number is stored: nanoseconds and bytes as double, counts as uint64_t. */
enum type { MADE, NS, BYTES, COUNT };

/* Short names for the rows below. A row has: key, csv, head; form, tables, flags; where the number is. */
#define IN(type, member) type, offsetof(struct sonde_node, member), NULL
#define BY(function)	 MADE, 0, function
#define MS	SONDE_FIELD_MS
#define NUMBER	SONDE_FIELD_COUNT
#define PLAIN	SONDE_TABLE_PLAIN
#define TIMED	SONDE_TABLE_TIMED
#define HOST	SONDE_TABLE_HOST
#define IDLE	SONDE_TABLE_IDLE
#define MEMORY	SONDE_TABLE_MEMORY
#define RANKS	SONDE_TABLE_RANKS
#define OWN	SONDE_FIELD_EXCLUSIVE
#define MAYBE	SONDE_FIELD_OPTIONAL
#define ADDS	SONDE_FIELD_ADDS
#define CAUSE	(SONDE_FIELD_OPTIONAL | SONDE_FIELD_NOT_ZERO)
#define COPY	(SONDE_FIELD_OPTIONAL | SONDE_FIELD_WITH_TIMES | SONDE_FIELD_ADDS)
#define WAIT(name, head, cause)                                                                    \
	{"idle." name "_ms", "idle_" name "_ms", head " ms", MS, IDLE, CAUSE,                      \
		IN(NS, times.idle_by[SONDE_IDLE_##cause])}
#define HELD(name)                                                                                 \
	{"memory." #name "_bytes", "memory_" #name "_bytes", #name " bytes", NUMBER, MEMORY,       \
		MAYBE, IN(BYTES, times.memory.name)}

const struct sonde_field sonde_fields[] = {
	{"instances", "instances", "entries", NUMBER, HOST | MEMORY, ADDS, IN(COUNT, instances)},
	{"kernel_count", "launches", "launches", NUMBER, PLAIN | TIMED | IDLE | MEMORY | RANKS, ADDS,
		IN(COUNT, launches)},
	{"total_ms", "inclusive_ms", "incl ms", MS, PLAIN | TIMED | RANKS, ADDS, IN(NS, time_ns)},
	{"kernel_count", "exclusive_launches", "own", NUMBER, 0, OWN, IN(COUNT, own_launches)},
	{"total_ms", "exclusive_ms", "excl ms", MS, PLAIN, OWN, IN(NS, own_time_ns)},
	{"busy_ms", "busy_ms", "busy ms", MS, TIMED | IDLE, MAYBE, IN(NS, times.busy_ns)},
	{"span_ms", "span_ms", "span ms", MS, 0, MAYBE, IN(NS, times.span_ns)},
	{"idle_ms", "idle_ms", "idle ms", MS, TIMED | IDLE, MAYBE, IN(NS, times.idle_ns)},
	WAIT("launch", "launch", LAUNCH),
	WAIT("sync", "sync", SYNC),
	WAIT("copy", "copy", COPY),
	WAIT("alloc", "alloc", ALLOC),
	WAIT("host", "host", HOST),
	WAIT("queued", "queued", QUEUED),
	WAIT("other_stream", "other", OTHER),
	WAIT("unknown", "unknown", UNKNOWN),
	{"tail_ms", "tail_ms", "tail ms", MS, IDLE, MAYBE, IN(NS, times.tail_ns)},
	{"queue_ms", "queue_ms", "queue ms", MS, 0, MAYBE, IN(NS, times.queue_ns)},
	{"queue_mean_ms", "queue_mean_ms", "queue mean ms", MS, IDLE, MAYBE, BY(make_queue_mean)},
	{"comm_ms", "comm_ms", "comm ms", MS, RANKS, MAYBE, IN(NS, times.comm_ns)},
	{"exposed_comm_ms", "exposed_comm_ms", "exposed ms", MS, IDLE | RANKS, MAYBE,
		IN(NS, times.exposed_ns)},
	{"comm_wait_ms", "comm_wait_ms", "waited ms", MS, RANKS, MAYBE, IN(NS, comm_wait_ns)},
	{"wall_ms", "wall_ms", "wall ms", MS, 0, MAYBE, IN(NS, times.wall_ns)},
	{"host_ms", "host_ms", "host ms", MS, TIMED | HOST, MAYBE | ADDS, IN(NS, times.host_ns)},
	{"cpu_ms", "cpu_ms", "cpu ms", MS, HOST, MAYBE | ADDS, IN(NS, times.cpu_ns)},
	{"tokens", "tokens", "tokens", NUMBER, 0, MAYBE, IN(BYTES, times.tokens)},
	{"tokens_per_s", "tokens_per_s", "tokens/s", SONDE_FIELD_RATIO, TIMED | HOST, MAYBE, BY(make_tokens_per_s)},
	{"batch_mean", "batch_mean", "batch", SONDE_FIELD_RATIO, 0, MAYBE, BY(make_batch)},
	HELD(allocated),
	HELD(freed),
	HELD(left),
	HELD(peak),
	{"allocator.entries", "allocator_entries", "read entries", NUMBER, MEMORY, MAYBE, IN(BYTES, times.allocator.entries)},
	{"allocator.allocated_bytes", "allocator_allocated_bytes", "torch held", NUMBER, MEMORY, MAYBE, BY(make_held)},
	{"allocator.peak_bytes", "allocator_peak_bytes", "torch peak", NUMBER, MEMORY, MAYBE, IN(BYTES, times.allocator.peak)},
	{"allocator.rise_bytes", "allocator_rise_bytes", "torch rise", NUMBER, MEMORY, MAYBE, IN(BYTES, times.allocator.rise)},
	{"allocator.net_bytes", "allocator_net_bytes", "torch net", NUMBER, MEMORY, MAYBE, BY(make_net)},
	{"copy_count", "copy_count", "copies", NUMBER, 0, COPY, IN(COUNT, copies)},
	{"copy_ms", "copy_ms", "copy ms", MS, TIMED, COPY | SONDE_FIELD_NOT_ZERO, IN(NS, copy_ns)},
	{"copy_bytes", "copy_bytes", "copy bytes", NUMBER, 0, COPY, IN(BYTES, copy_bytes)},
	{"streams", "streams", "streams", NUMBER, 0, MAYBE | SONDE_FIELD_WITH_TIMES, IN(COUNT, streams)},
	{"share_pct", "share_pct", "share", SONDE_FIELD_PERCENT, PLAIN | TIMED, ADDS, BY(make_share)},
	{"imbalance", "imbalance", "imbal", SONDE_FIELD_RATIO, PLAIN | TIMED | RANKS, MAYBE,
		BY(make_imbalance)},
	{"adopted_launches", "adopted_launches", "adopted", NUMBER, 0, MAYBE, BY(make_adopted)},
};
const size_t sonde_nr_fields = sizeof(sonde_fields) / sizeof(*sonde_fields);

double sonde_field_number(
	const struct sonde_field *f, const struct sonde_report *r, const struct sonde_node *n)
{
	const void *at = (const char *)n + f->at;

	if (f->flags & SONDE_FIELD_WITH_TIMES && isnan(n->times.busy_ns))
		return NAN;
	switch (f->type) {
	case NS:
		return *(const double *)at / NS_PER_MS;
	case BYTES:
		return *(const double *)at;
	case COUNT:
		return (double)*(const uint64_t *)at;
	default:
		return f->make(r, n);
	}
}

double sonde_field_sum_rest(
	const struct sonde_field *f, const struct sonde_report *r, const uint32_t *next, uint32_t node)
{
	double sum = NAN;

	for (; f->flags & SONDE_FIELD_ADDS && node != SONDE_NONE; node = next[node]) {
		double v = sonde_field_number(f, r, &r->nodes.at[node]);

		sum = isnan(v) ? sum : isnan(sum) ? v : sum + v;
	}
	return sum;
}

double sonde_field_sum(const struct sonde_field *f, double launches, double time_ns)
{
	if (sonde_field_is(f, "launches"))
		return launches;
	return sonde_field_is(f, "inclusive_ms") ? time_ns / NS_PER_MS : NAN;
}

bool sonde_field_is(const struct sonde_field *f, const char *csv)
{
	return strcmp(f->csv, csv) == 0;
}

struct sonde_str sonde_field_head(const struct sonde_field *f, const struct sonde_report *r)
{
	return sonde_str_from(r->is_ranges && sonde_field_is(f, "launches") ? "results" : f->head);
}

/* The kind of table that shows a report in a view. */
static uint8_t table_of(enum sonde_report_times times, enum sonde_columns_view view)
{
	if (view == SONDE_VIEW_IDLE && times == SONDE_TIMES_GPU)
		return SONDE_TABLE_IDLE;
	if (view == SONDE_VIEW_RANKS)
		return SONDE_TABLE_RANKS;
	if (view == SONDE_VIEW_MEMORY)
		return SONDE_TABLE_MEMORY;
	return times == SONDE_TIMES_GPU	   ? SONDE_TABLE_TIMED
	       : times == SONDE_TIMES_HOST ? SONDE_TABLE_HOST
					   : SONDE_TABLE_PLAIN;
}

/* Whether launches overlap. If they do not, busy time is GPU time, and the column would be there twice. */
static bool overlaps(const struct sonde_report *r)
{
	size_t i;

	for (i = 0; i < r->nodes.nr; i++)
		if (r->nodes.at[i].times.busy_ns < r->nodes.at[i].time_ns * (1 - 1e-9))
			return true;
	return false;
}

bool sonde_report_is_figures(const struct sonde_report *r)
{
	return r->nodes.nr && sonde_report_times(r) == SONDE_TIMES_NONE && !r->all_launches && !(r->time_ns > 0);
}

static bool is_used(const struct sonde_field *f, const struct sonde_report *r)
{
	bool is_optional = f->flags & SONDE_FIELD_OPTIONAL;
	size_t i;

	if (sonde_field_is(f, "busy_ms") && !overlaps(r))
		return false;
	if (sonde_field_is(f, "imbalance") && !r->has_ranks)
		return false;
	if (f->flags & SONDE_FIELD_EXCLUSIVE && r->is_ranges)
		return false; /* not known for replayed ranges */
	if (!is_optional && sonde_report_is_figures(r))
		return false; /* it would be zeros and dashes */
	for (i = 0; is_optional && i < r->nodes.nr; i++) {
		double v = sonde_field_number(f, r, &r->nodes.at[i]);

		if (f->flags & SONDE_FIELD_NOT_ZERO ? v > 0 : !isnan(v))
			return true;
	}
	return !is_optional;
}

uint64_t sonde_fields_in_table(const struct sonde_report *r, enum sonde_columns_view view)
{
	uint8_t table = table_of(sonde_report_times(r), view);
	uint64_t set = 0;
	size_t i;

	for (i = 0; i < sonde_nr_fields; i++)
		if (sonde_fields[i].tables & table && is_used(&sonde_fields[i], r))
			set |= 1ull << i;
	return set;
}

const char *sonde_view_lacks(uint64_t fields, enum sonde_columns_view view)
{
	static const struct {
		const char *prefix, *words; /* prefix of the view's columns; what to say without them */
	} views[] = {[SONDE_VIEW_IDLE] = {"idle_",
			     "No region has idle time: it is known for regions with launches, in captures with their times "
			     "(`sonde run`, Nsight Systems, torch.profiler)."},
		[SONDE_VIEW_MEMORY] = {"memory_",
			"GPU memory is not in this capture: `sonde run pipeline.native.memory=true -- "
			"COMMAND` records it, and with --modules what PyTorch's allocator has."},
		[SONDE_VIEW_RANKS] = {0},
		[SONDE_VIEW_STALLS] = {0}}; /* no column shows stalls: see stall_tables.h */
	size_t i;

	for (i = 0; i < sonde_nr_fields && views[view].prefix; i++)
		if (fields >> i & 1 && (sonde_str_starts(sonde_str_from(sonde_fields[i].csv), views[view].prefix) ||
					       (view == SONDE_VIEW_MEMORY && sonde_str_starts(sonde_str_from(sonde_fields[i].csv), "allocator_"))))
			return NULL;
	return views[view].words;
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

struct sonde_str sonde_column_head(const struct sonde_tree *t, size_t column)
{
	struct sonde_str name = t->columns.at[column].name, head = sonde_metric_head(name);
	size_t i;

	for (i = 0; i < t->nr_headline; i++)
		if (t->headline[i] == column)
			return sonde_headline_head(t, i);
	for (i = 0; i < t->columns.nr && !sonde_str_eq(head, name); i++)
		if (i != column && sonde_str_eq(head, sonde_metric_head(t->columns.at[i].name)))
			return name;
	return head;
}

struct sonde_str sonde_kernel_name(
	const struct sonde_tree *t, const struct sonde_export_options *o, uint32_t string)
{
	return o->full_names ? sonde_tree_str(t, string) : sonde_tree_short_name(t, string);
}

struct sonde_str sonde_shown_domain(const struct sonde_tree *t, const struct sonde_node *n)
{
	return sonde_tree_str(t, n->depth ? SONDE_NONE : sonde_node_region(t, n)->domain);
}

const char *sonde_figure_mark(const struct sonde_figure *f, bool is_utf8)
{
	bool is_least = f->v == f->low;

	if (f->quality == SONDE_QUALITY_SAMPLED && !isnan(f->v))
		return "~";
	if (isnan(f->v) || f->low == f->high) /* limits that meet leave no doubt */
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
	const char *pm = is_utf8 ? "±" : "+-";
	struct sonde_buf number = {0};

	sonde_buf_puts(to, sonde_figure_mark(f, is_utf8));
	if (!isnan(f->v) && f->error >= 10 && strcmp(unit, "%") == 0) { /* beside such an error, tenths would say nothing */
		sonde_buf_printf(to, "%.0f%s%.0f", f->v, pm, f->error);
		return;
	}
	sonde_number_human(&number, f->v, unit);
	if (!isnan(f->v) && f->error > 0) { /* a clock frequency, for example, has no error */
		sonde_buf_puts(&number, pm);
		sonde_number_human(&number, f->error, unit);
	}
	sonde_escape_sentence(to, sonde_buf_view(&number), is_utf8);
	to->failed |= number.failed;
	sonde_buf_release(&number);
}

struct sonde_figure sonde_load_figure(const struct sonde_entry_load *load, size_t metric)
{
	return (struct sonde_figure){.v = load ? load->v[metric] : NAN,
		.error = load ? SONDE_WITHIN_95 * load->error[metric] : NAN,
		.quality = SONDE_QUALITY_SAMPLED};
}

const char *sonde_no_launch(const struct sonde_tree *t)
{
	const struct sonde_selection *s = &t->cells->selection;

	if (s->nvtx_include.nr || s->nvtx_exclude.nr || s->kernel_include.nr || s->kernel_exclude.nr)
		return "no launch of this region was selected";
	return sonde_tree_unrecorded(t) ? "no GPU work was recorded in this region"
					: "no GPU work was launched in this region";
}

const char *sonde_open_words(const struct sonde_tree *t)
{
	bool is_running = false;
	size_t i;

	for (i = 0; i < t->cells->inputs.nr; i++)
		is_running |= t->cells->inputs.at[i].is_running;
	return is_running ? "an entry is still open: host time is at least that, CPU time is not known"
			  : "an entry was never closed: host time is at least that, CPU time is not known";
}

struct sonde_str sonde_slowest_rank(
	const struct sonde_tree *t, const struct sonde_report *r, const struct sonde_node *n)
{
	const struct sonde_rank_spread *s =
		r->is_aggregate && !r->is_ranges ? sonde_ranks_spread(t->ranks, n->region) : NULL;

	return s && s->nr > 1 ? sonde_rank_name(t->ranks, s->slowest) : (struct sonde_str){NULL, 0};
}
