/*
 * What-if: replays a capture with changes, for `sonde whatif` and for the findings of reports.
 *
 *     struct sonde_whatif *w;
 *     sonde_whatif_open(&w, &source, &err);            reads the capture, replays it as it was
 *     sonde_whatif_ask(w, &gain, changes, 2, &err);    both changes together
 *     sonde_whatif_free(w);
 */
#ifndef SONDE_LIB_WHATIF_H
#define SONDE_LIB_WHATIF_H

#include "attribute/regions.h"
#include "read/inputs.h"
#include "replay/replay.h"
#include "tree/findings.h"
#include "tree/tree.h"

/* The capture to replay. Everything but `report` is borrowed only during the call. */
struct sonde_whatif_source {
	const char *const *paths; /* captures, folders of them, or run directories */
	size_t nr_paths;
	const struct sonde_read_options *read; /* NULL = the defaults */
	const struct sonde_selection
		*selection; /* labels and threads as reports have them; NULL = the defaults */
	/*
	 * The report of the capture: its counters show how close kernels are to their roofline (roof.h). It must outlive
	 * the what-if. NULL = there is none.
	 */
	const struct sonde_tree *report;
	const char *step; /* id of the region that figures are about; NULL = the repeated one with GPU work and the most wall time */
};

struct sonde_whatif;

/*
 * SONDE_ERR_NOTFOUND if the capture has nothing to replay (no launches with times, no region that was entered three
 * times); the error says why.
 */
int sonde_whatif_open(
	struct sonde_whatif **out, const struct sonde_whatif_source *source, struct sonde_err *err);
void sonde_whatif_free(struct sonde_whatif *w);

const struct sonde_replay_summary *sonde_whatif_summary(const struct sonde_whatif *w);
const struct sonde_replay_region *sonde_whatif_regions(
	const struct sonde_whatif *w); /* one for each region */
size_t sonde_whatif_nr_regions(const struct sonde_whatif *w);
struct sonde_str sonde_whatif_region_id(const struct sonde_whatif *w, uint32_t region);
/* The region around a region; SONDE_NONE = it is a root. */
uint32_t sonde_whatif_parent(const struct sonde_whatif *w, uint32_t region);
/* Why the replay is too inexact to predict anything; NULL = it is exact enough. */
const char *sonde_whatif_refusal(const struct sonde_whatif *w);
/* Assumptions behind the figures that the capture does not prove, one sentence each. */
const struct sonde_notes *sonde_whatif_notes(const struct sonde_whatif *w);

/*
 * The gain of all these changes together; its `why` lives as long as the what-if. SONDE_ERR_USAGE for a change that does
 * not exist, or that matches nothing in the capture.
 */
int sonde_whatif_ask(struct sonde_whatif *w, struct sonde_gain *out, const char *const *changes,
	size_t nr, struct sonde_err *err);

/* A change worth asking for, found by looking at the step. `text` is what a user would write. */
struct sonde_whatif_offer {
	const char *text;
	struct sonde_gain gain;
};
/*
 * Finds the changes that would gain most, at most `most` of them, best first. Returns how many, or a negative error
 * code.
 */
int sonde_whatif_offers(
	struct sonde_whatif *w, struct sonde_whatif_offer *out, size_t most, struct sonde_err *err);

/*
 * Asks for each change by itself: `out[i]` belongs to `changes[i]`. Removing launches is no fix, and so gets no gain here.
 * A change that cannot be answered gets NaN and the reason.
 */
void sonde_whatif_gains(struct sonde_whatif *w, struct sonde_gain *out, const char *const *changes, size_t nr);

/* Where the host waits most in a step, and what it would gain not to wait there. */
struct sonde_whatif_wait {
	struct sonde_str region;
	const char *change; /* `nosync:` that region */
	double ns_per_step; /* the host's time in synchronisations that wait, and in copies of few bytes that block */
	struct sonde_gain gain;
};
/* Returns whether there is such a region. Negative: memory is short. */
int sonde_whatif_find_wait(struct sonde_whatif *w, struct sonde_whatif_wait *out, struct sonde_err *err);

#endif
