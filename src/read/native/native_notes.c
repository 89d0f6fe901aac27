/* What a capture cannot tell, said in its report: each count once, with what it means. */
#include "base/alloc.h"
#include "read/native/native_int.h"

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
 * Of older captures, which do not count what CUPTI owes: launches after the last one that work is known of. Some launches make none (a copy from host to
 * host), so that one in between says nothing; at the end of a program that was killed they are those
 * whose work CUPTI still had.
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
		nr += !have[i] && n->launches.at[i].ns > last && !n->launches.at[i].is_untimed;
	sonde_free(have);
	return nr;
}

static void note_end(const struct native *n)
{
	bool is_gone = n->ended && n->end == SONDE_END_GONE && n->nr_works && !n->status.nr_owed;
	uint64_t nr = is_gone ? count_unfinished(n) : 0;

	if (nr)
		sonde_note_loss(&n->r->notes,
			"%s: " GONE ": GPU work that CUPTI had not yet handed over is missing, that of the last "
			"%llu launch%s",
			n->src->path, (unsigned long long)nr, nr == 1 ? "" : "es");
	else if (is_gone)
		sonde_note(&n->r->notes, "%s: " GONE "; the work of its last launch is there", n->src->path);
	if (n->ended && n->end == SONDE_END_FULL && !n->says_loss) /* older captures have but a note */
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
			"%s: the capture has no end: truncated after %zu bytes, inside a block (or that "
			"is damaged); copy it again, unless it is still being written or was killed with "
			"the program",
			n->src->path, n->src->file.data.n);
	note_end(n);
	if (c->bad_blocks || c->bad_chunks || c->missing_blocks)
		sonde_note_loss(&n->r->notes,
			"%s: damaged: %llu unreadable places, %llu blocks missing, %llu chunks "
			"of events not understood",
			n->src->path, (unsigned long long)c->bad_blocks,
			(unsigned long long)c->missing_blocks, (unsigned long long)c->bad_chunks);
}

static void note_losses(const struct native *n)
{
	const struct sonde_status *s = &n->status;
	uint64_t lost = s->nr_lost > n->counts.lost ? s->nr_lost : n->counts.lost;

#define FULL "lost, as the buffers were full: a larger pipeline.native.buffer_mb loses fewer"
	note_loss(n, lost, "event was " FULL, "events were " FULL);
#define CROWD "lost: too many threads at once"
	note_loss(n, s->nr_no_slot, "event was " CROWD, "events were " CROWD);
#define NESTED "left out: raised in a signal handler inside a hook, or behind one it jumped out of"
	note_loss(n, s->nr_nested, "event was " NESTED, "events were " NESTED);
#define CUT "cut: longer than " TEXT(SONDE_LABEL_LIMIT) " bytes"
	note(n, s->nr_cut, "label is " CUT, "labels are " CUT);
#define DEEP "left out: nested deeper than " TEXT(SONDE_OPEN_LIMIT)
	note(n, s->nr_too_deep, "push was " DEEP, "pushes were " DEEP);
	note_loss(n, s->nr_gpu_dropped, "activity record was dropped by CUPTI",
		"activity records were dropped by CUPTI");
}

static void note_ranges(const struct native *n)
{
	const struct native_counts *c = &n->counts;

	note(n, c->orphan_pops, "pop without a push", "pops without a push");
#define CUT_OFF "open when a window closed: it counts up to then"
	note(n, c->cut_by_windows, "range was " CUT_OFF, "ranges: each was " CUT_OFF);
	if (!n->r->inputs.at[n->src->input].is_running) {
		note(n, c->unclosed, "push was never popped", "pushes were never popped");
		note(n, c->unstopped, "start/end range was never ended",
			"start/end ranges were never ended");
	}
#define LEFT_OUT                                                                                   \
	"left out: nested deeper than " TEXT(                                                      \
		SONDE_OPEN_LIMIT) ", or in too many regions with long names"
	note(n, c->left_out, "range is " LEFT_OUT, "ranges are " LEFT_OUT);
	note(n, c->orphan_stops, "end of a start/end range without a start",
		"ends of start/end ranges without a start");
	note(n, c->closed_by_loss, "range ended among lost events, at a guess",
		"ranges ended among lost events, at a guess");
	note_loss(n, c->no_label, "event names a label that was not written",
		"events name a label that was not written");
	note(n, c->sets_cut, "launch lacks some of its ranges: too many were open at once",
		"launches lack some of their ranges: too many were open at once");
}

/*
 * Nothing is said of a program that runs, whose work is on its way, of files that are just being folded, and with a
 * budget, where launches without a record are results too. Where recording began and ended with windows, work
 * at their edges is without one in any case: only how the program ended makes it worth a word.
 */
static void note_unrecorded(const struct native *n)
{
	struct sonde_input *in = &n->r->inputs.at[n->src->input];
	uint64_t nr = n->status.nr_owed > n->counts.recorded ? n->status.nr_owed - n->counts.recorded : 0;
	bool is_gone = n->ended && n->end == SONDE_END_GONE;

	if (in->is_running || n->r->options.nr_files || n->budget.budget_ppm ||
		(n->is_windowed && n->ended && n->end == SONDE_END_EXIT))
		return;
	in->nr_unrecorded = nr;
	if (nr)
		sonde_note_loss(&n->r->notes, "%s: %llu %s no record: %s", n->src->path,
			(unsigned long long)nr, nr == 1 ? "launch has" : "launches have",
			is_gone ? GONE " before CUPTI had handed over what the GPU did; one that ends by exit, "
				  "or is quiet for a tenth of a second before, has them"
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
#define ACROSS "was launched just before a window opened or after it closed: it is not selected"
	note(n, c->out_of_windows, "piece of GPU work " ACROSS, "pieces of GPU work: each " ACROSS);
	note(n, c->no_time, "piece of GPU work has no times from CUPTI",
		"pieces of GPU work have no times from CUPTI");
	sonde_records__note_overhead(n->r, n->src->path, c->overhead_ns);
}

void sonde_native__note(struct native *n)
{
	sonde_native__note_windows(n);
	sonde_native__note_budget(n);
	note_damage(n);
	note_losses(n);
	note_ranges(n);
	note_work(n);
}
