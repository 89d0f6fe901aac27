/* The reader of native captures, the files that libsonde_inject.so writes. */
#include "base/alloc.h"
#include "read/launch.h"
#include "read/native/native_int.h"

#include <assert.h>
#include <string.h>

static bool knows_native(struct sonde_str data)
{
	return sonde_str_starts(data, SONDE_CAPTURE_MAGIC);
}

/* --- notes: what a capture does not have, each count once, with what it means ------------------------ */

#define TEXT_OF(x) #x
#define TEXT(x)	   TEXT_OF(x)

static void note(const struct native *n, uint64_t nr, const char *one, const char *many)
{
	sonde_source__note(n->src, n->r, nr, one, many);
}

#define GONE "the program ended without its exit handlers (killed, crashed, _exit or exec)"

static void note_loss(const struct native *n, uint64_t nr, const char *one, const char *many)
{
	sonde_source__note_loss(n->src, n->r, nr, one, many);
}

/*
 * For older captures, which do not say how many launches should have a record: counts the launches after the last
 * one whose work is known. Some launches make no work (a copy from host to host), so one in between means nothing;
 * at the end of a program that was killed, they are launches whose work CUPTI had not handed over.
 */
static uint64_t count_unfinished(const struct native *n)
{
	bool *have = sonde_native__have_work(n);
	uint64_t last = 0, nr = 0;
	size_t i;

	for (i = 0; i < n->launches.nr && have; i++)
		if (have[i] && n->launches.at[i].ns > last)
			last = n->launches.at[i].ns;
	for (i = 0; i < n->launches.nr && have; i++)
		nr += !have[i] && n->launches.at[i].ns > last;
	sonde_free(have);
	return nr;
}

static void note_end(const struct native *n)
{
	bool is_gone = n->ended && n->end == SONDE_END_GONE && n->nr_works && !n->status.nr_owed;
	uint64_t nr = is_gone ? count_unfinished(n) : 0;

	if (nr)
		sonde_note_loss(&n->r->notes,
			"%s: " GONE ": the GPU work of the last %llu launch%s is missing, because CUPTI had not handed it over",
			n->src->path, (unsigned long long)nr, nr == 1 ? "" : "es");
	else if (is_gone)
		sonde_note(&n->r->notes, "%s: " GONE "; the work of its last launch was recorded", n->src->path);
	if (n->ended && n->end == SONDE_END_FULL && !n->says_loss) /* older captures have only a NOTE about it */
		sonde_note_loss(&n->r->notes, "%s: the capture ended before the program did",
			n->src->path);
}

static void note_damage(const struct native *n)
{
	const struct native_counts *c = &n->counts;
	bool is_running = n->r->inputs.at[n->src->input].is_running;

	if (!n->ended && !n->is_cut && !is_running)
		sonde_note_loss(&n->r->notes,
			"%s: the capture has no end (it is still being written, or was killed "
			"with the program): what came after its last write is missing",
			n->src->path);
	if (n->is_cut && !is_running)
		sonde_note_loss(&n->r->notes,
			"%s: the capture has no end: truncated after %zu bytes, inside a block (or that block "
			"is damaged); copy it again, unless it is still being written or was killed with "
			"the program",
			n->src->path, n->src->file.data.n);
	note_end(n);
	if (c->bad_blocks || c->bad_chunks || c->missing_blocks)
		sonde_note_loss(&n->r->notes,
			"%s: the capture is damaged: %llu unreadable place%s, %llu missing block%s, %llu group%s of events that "
			"cannot be decoded; copy it again",
			n->src->path, (unsigned long long)c->bad_blocks, c->bad_blocks == 1 ? "" : "s",
			(unsigned long long)c->missing_blocks, c->missing_blocks == 1 ? "" : "s",
			(unsigned long long)c->bad_chunks, c->bad_chunks == 1 ? "" : "s");
}

static void note_losses(const struct native *n)
{
	const struct sonde_status *s = &n->status;
	uint64_t lost = s->nr_lost > n->counts.lost ? s->nr_lost : n->counts.lost;

#define FULL "lost because the buffers were full: a larger pipeline.native.buffer_mb loses fewer"
	note_loss(n, lost, "event was " FULL, "events were " FULL);
#define CROWD "lost: the program had more threads at once than sonde can record"
	note_loss(n, s->nr_no_slot, "event was " CROWD, "events were " CROWD);
#define NESTED "from a signal handler that interrupted sonde's recording, or jumped out of it"
	note_loss(n, s->nr_nested, "event was left out: it came " NESTED, "events were left out: they came " NESTED);
#define CUT "cut: longer than " TEXT(SONDE_LABEL_LIMIT) " bytes"
	note(n, s->nr_cut, "label is " CUT, "labels are " CUT);
#define DEEP "left out: nested deeper than " TEXT(SONDE_OPEN_LIMIT)
	note(n, s->nr_too_deep, "push was " DEEP, "pushes were " DEEP);
	note(n, s->nr_pc_dropped, "PC sample was dropped, by the hardware or for lack of room", "PC samples were dropped, by the hardware or for lack of room");
#define PC_FULL "the hardware's buffer of PC samples was full: the samples in it are lost; set a longer period in pipeline.native.pc"
	note_loss(n, s->nr_pc_full, "time " PC_FULL, "times " PC_FULL);
	note_loss(n, s->nr_gpu_dropped, "activity record was dropped by CUPTI",
		"activity records were dropped by CUPTI");
}

static void note_ranges(const struct native *n)
{
	const struct native_counts *c = &n->counts;

	note(n, c->orphan_pops, "pop has no matching push", "pops have no matching push");
#define CUT_OFF "open when a window opened or closed: only the time inside the window counts"
	note(n, c->cut_by_windows, "range was " CUT_OFF, "ranges were " CUT_OFF);
	if (!n->r->inputs.at[n->src->input].is_running) {
		note(n, c->unclosed, "push was never popped", "pushes were never popped");
		note(n, c->unstopped, "start/end range was never ended",
			"start/end ranges were never ended");
	}
#define LEFT_OUT                                                                                   \
	"left out: nested deeper than " TEXT(                                                      \
		SONDE_OPEN_LIMIT) ", or in too many regions with long names"
	note(n, c->left_out, "range is " LEFT_OUT, "ranges are " LEFT_OUT);
	note(n, c->orphan_stops, "end of a start/end range has no matching start",
		"ends of start/end ranges have no matching start");
	note(n, c->closed_by_loss, "range ended while events were lost: its end time is an estimate",
		"ranges ended while events were lost: their end times are estimates");
	note_loss(n, c->no_label, "event refers to a label that is missing from the capture",
		"events refer to labels that are missing from the capture");
	note(n, c->sets_cut, "launch lacks some of its ranges: too many were open at once",
		"launches lack some of their ranges: too many were open at once");
}

/*
 * There is no note for a program that still runs, whose work is yet to come, or for files that are being folded. With
 * windows, work at their edges never has a record, so a note makes sense only when the program did not end by exit.
 */
static void note_unrecorded(const struct native *n)
{
	struct sonde_input *in = &n->r->inputs.at[n->src->input];
	uint64_t nr = n->status.nr_owed > n->counts.recorded ? n->status.nr_owed - n->counts.recorded : 0;
	bool is_gone = n->ended && n->end == SONDE_END_GONE;

	if (in->is_running || n->r->options.nr_files ||
		(n->is_windowed && n->ended && n->end == SONDE_END_EXIT))
		return;
	in->nr_unrecorded = nr;
	if (nr)
		sonde_note_loss(&n->r->notes, "%s: %llu %s no record: %s", n->src->path,
			(unsigned long long)nr, nr == 1 ? "launch has" : "launches have",
			is_gone ? GONE " before CUPTI had handed over what the GPU did; nothing is missing from a program that "
				  "ends by exit, or is idle for a tenth of a second before it ends"
			: n->ended && n->end == SONDE_END_EXIT
				? "CUPTI gave none (it lost them, or the GPU failed)"
				: "CUPTI had not handed them over, or they were not written");
}

static void note_work(const struct native *n)
{
	const struct native_counts *c = &n->counts;

	note_unrecorded(n);

	note(n, c->no_launch, "piece of GPU work has no known launch",
		"pieces of GPU work have no known launch");
#define UNCHOSEN "left out by the capture's own nvtx.include and nvtx.exclude"
	note(n, c->unchosen, "launch was " UNCHOSEN, "launches were " UNCHOSEN);
	note(n, c->between_windows, "kernel or copy was launched outside the windows and is not counted",
		"kernels or copies were launched outside the windows and are not counted");
	note(n, c->no_time, "piece of GPU work has no times from CUPTI",
		"pieces of GPU work have no times from CUPTI");
	sonde_records__note_overhead(n->r, n->src->path, c->overhead_ns);
}

/* PyTorch's allocator is read at only some entries when reading it takes long. */
static void note_readings(const struct native *n)
{
	size_t i, nr = 0, nr_entries = n->r->ranges.nr - n->first_range;

	for (i = n->first_reading; i < n->r->readings.nr; i++)
		nr += n->r->readings.at[i].is_end;
	if (nr && !n->r->options.nr_files)
		sonde_note(&n->r->notes, "%s: PyTorch's allocator was read at %zu of %zu entries of ranges", n->src->path, nr, nr_entries);
}

/* Notes what was lost, left open or not understood. */
static void note_all(struct native *n)
{
	sonde_native__note_windows(n);
	note_damage(n);
	note_losses(n);
	note_ranges(n);
	note_work(n);
	note_readings(n);
}

/* --- reading --------------------------------------------------------------------------------- */

static void add_metrics(struct native *n, struct sonde_launch_metrics *m)
{
	bool has[NR_LAUNCH_METRICS] = {[LAUNCH_BYTES] = true};
	unsigned i;

	for (i = LAUNCH_TIME; i <= LAUNCH_SHARED_DYNAMIC; i++)
		has[i] = true;
	sonde_launch_metrics__add(m, n->r, has);
}

static void describe_input(struct native *n)
{
	struct sonde_input *in = &n->r->inputs.at[n->src->input];
	size_t i;

	in->replay_mode = SONDE_STR("native");
	in->tool = sonde_native__meta(n, "tool");
	in->command = sonde_native__meta(n, "command");
	in->created_s = n->head.start_ns / 1000000000u;
	if (sonde_native__is_sampler(n)) /* a sampler is not a process of the program */
		return;
	n->process = sonde_records__process(n->r, n->src->input, n->head.pid,
		sonde_native__meta(n, "host"), sonde_native__program(n));
	if (n->process != SONDE_NONE)
		sonde_process__set_rank(&n->r->processes.at[n->process],
			sonde_native__meta(n, "rank"), sonde_native__meta(n, "ranks"));
	for (i = n->first_name; i < n->r->thread_names.nr; i++)
		n->r->thread_names.at[i].process = n->process;
}

static_assert(sizeof(struct native_counts) <= SONDE_MAX_ROLLED_COUNTS * sizeof(uint64_t),
	"they have room in the file");

/* Adds the counts of files that were folded, and passes on their cells. */
static void add_rolled(struct native *n)
{
	uint64_t *counts = (uint64_t *)(void *)&n->counts;
	size_t nr = sizeof(n->counts) / sizeof(*counts), i;

	for (i = 0; i < nr && i < n->rolled.nr_counts && i < SONDE_MAX_ROLLED_COUNTS; i++)
		counts[i] += n->rolled.counts[i];
	n->r->counts.nr = 0;
	for (i = 0; i < nr; i++)
		sonde_put(&n->r->arena, &n->r->counts, counts[i]);
	n->r->ahead_ns = !n->r->options.looks_ahead ? 0 : n->last_ns ? n->last_ns : 1;
	if (!n->rolled.next || !sonde_reserve(&n->r->arena, &n->r->rolled, n->r->rolled.nr + 1))
		return;
	sonde_put(&n->r->arena, &n->r->rolled,
		(struct sonde_rolled_up){n->src->input, n->rolled.next, n->cells});
	n->cells = (struct sonde_buf){0};
}

static int read_all(struct native *n, struct sonde_launch_metrics *m, struct sonde_err *err)
{
	struct sonde_buf *reduced = sonde_native__options(n).reduced;
	int rc = sonde_native__map_files(n, err);

	if (!rc)
		rc = sonde_native__read_blocks(n, err);
	if (rc)
		return rc;
	describe_input(n);
	if (sonde_native__is_sampler(n)) {
		sonde_native__note_sampler(n);
		sonde_native__keep_clock(n);
		return reduced ? sonde_native__reduce(n, reduced, err) : 0;
	}
	if (reduced)
		n->kept = sonde_arena_calloc(&n->src->work, n->pieces.nr, sizeof(*n->kept));
	rc = sonde_source__status(n->src, n->r, err);
	if (!rc)
		rc = sonde_native__read_streams(n, err);
	if (!rc)
		rc = sonde_native__join(n, err);
	if (!rc)
		rc = sonde_native__read_values(n, err);
	if (!rc && n->nr_works)
		add_metrics(n, m);
	if (!rc && n->kept)
		rc = sonde_native__reduce(n, reduced, err);
	if (rc)
		return rc;
	add_rolled(n);
	note_all(n);
	sonde_native__lines(n);
	sonde_native__keep_clock(n);
	return sonde_native__keep_windows(n) ? 0 : sonde_err_nomem(err);
}

static int read_capture(struct sonde_source *src, struct sonde_records *r, struct sonde_err *err)
{
	struct native *n = sonde_arena_calloc(&src->work, 1, sizeof(*n));
	int rc;

	if (!n)
		return sonde_err_nomem(err);
	n->src = src;
	n->current_counts = &n->counts;
	n->first_name = r->thread_names.nr;
	n->r = r;
	n->first_range = (uint32_t)r->ranges.nr;
	n->first_reading = r->readings.nr;
	n->first_record = r->records.nr;
	n->first_batch = r->pc_batches.nr;
	rc = read_all(n, src->state, err);
	sonde_buf_release(&n->cells);
	sonde_vec_release(&n->windows);
	return rc;
}

/* --- values ---------------------------------------------------------------------------------- */

bool sonde_native__event(const struct sonde_source *src, uint64_t at, struct sonde_event *out)
{
	const uint8_t *base = (const uint8_t *)src->file.data.p;
	struct sonde_event_base start = {0};

	return sonde_event_get(base + at, base + src->file.data.n, &start, out) != NULL;
}

static int native_values(const struct sonde_source *src, const struct sonde_record *rec,
	struct sonde_values *v, struct sonde_err *err)
{
	const struct sonde_launch_metrics *m = src->state;
	struct sonde_event e;
	const uint64_t *f = e.field;

	(void)err;
	if (rec->time.end_ns)
		sonde_launch_metrics__set(
			m, v, LAUNCH_TIME, (double)(rec->time.end_ns - rec->time.start_ns));
	if (!sonde_native__event(src, rec->payload, &e))
		return 0;
	if (e.type == SONDE_EVENT_MEMCPY)
		sonde_launch_metrics__set(m, v, LAUNCH_BYTES, (double)f[SONDE_COPY_BYTES]);
	if (e.type == SONDE_EVENT_MEMSET)
		sonde_launch_metrics__set(m, v, LAUNCH_BYTES, (double)f[SONDE_SET_BYTES]);
	if (e.type != SONDE_EVENT_KERNEL)
		return 0;
	sonde_launch_metrics__set_shape(m, v, &f[SONDE_KERNEL_GRID_X], &f[SONDE_KERNEL_BLOCK_X]);
	sonde_launch_metrics__set(m, v, LAUNCH_REGISTERS, (double)f[SONDE_KERNEL_REGISTERS]);
	sonde_launch_metrics__set(m, v, LAUNCH_SHARED_STATIC, (double)f[SONDE_KERNEL_SHARED_STATIC]);
	sonde_launch_metrics__set(
		m, v, LAUNCH_SHARED_DYNAMIC, (double)f[SONDE_KERNEL_SHARED_DYNAMIC]);
	return 0;
}

const struct sonde_source_ops sonde_source_native = {
	.name = "native",
	.state_bytes = sizeof(struct sonde_launch_metrics),
	.knows = knows_native,
	.read = read_capture,
	.values = native_values,
};
