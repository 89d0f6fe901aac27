/*
 * What-if: a capture replayed with changes, as `sonde whatif` and the findings of reports ask for
 * it.
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
#include "tree/tree.h"

/* The capture that is replayed. All is borrowed during the call only. */
struct sonde_whatif_source {
	const char *const *paths; /* captures, folders of them, or run directories */
	size_t nr_paths;
	const struct sonde_read_options *read; /* NULL = the defaults */
	const struct sonde_selection
		*selection; /* labels and threads as reports have them; NULL = the defaults */
	/* The report of the capture, whose counters tell how close kernels are to their roofline (roof.h). Outlives what is opened; NULL =
	 * there is none. */
	const struct sonde_tree *report;
	const char *step; /* the region that figures are about: its id; NULL = the repeated one with
			     the most wall time */
};

struct sonde_gain {
	double ns_per_step, low_ns, high_ns; /* NaN = unknown */
	const char
		*why; /* how it is known, or why not; lives as long as what gave it, or for ever */
	bool is_most; /* an upper bound: what a fix would leave of it is not known */
};

struct sonde_whatif;

/*
 * SONDE_ERR_NOTFOUND when the capture has nothing to replay (no launches with times, no
 * region that was entered three times), with the reason.
 */
int sonde_whatif_open(
	struct sonde_whatif **out, const struct sonde_whatif_source *source, struct sonde_err *err);
void sonde_whatif_free(struct sonde_whatif *w);

const struct sonde_replay_summary *sonde_whatif_summary(const struct sonde_whatif *w);
const struct sonde_replay_region *sonde_whatif_regions(
	const struct sonde_whatif *w); /* by region */
size_t sonde_whatif_nr_regions(const struct sonde_whatif *w);
struct sonde_str sonde_whatif_region_id(const struct sonde_whatif *w, uint32_t region);
/* The region around it, SONDE_NONE = none. */
uint32_t sonde_whatif_parent(const struct sonde_whatif *w, uint32_t region);
/* Why the replay is not good enough to predict anything; NULL = it is. */
const char *sonde_whatif_refusal(const struct sonde_whatif *w);
/* Assumptions of the figures that the capture does not prove: a sentence each. */
const struct sonde_notes *sonde_whatif_notes(const struct sonde_whatif *w);

/* The gain of all of these changes together. SONDE_ERR_USAGE for a change that is none, or is
 * about nothing there. */
int sonde_whatif_ask(struct sonde_whatif *w, struct sonde_gain *out, const char *const *changes,
	size_t nr, struct sonde_err *err);

/* A change worth asking for, found by looking at the step: `text` as one writes it. */
struct sonde_whatif_offer {
	const char *text;
	struct sonde_gain gain;
};
/* The changes that would gain most, at most `most` of them, best first; returns how many, or a
 * negative code. */
int sonde_whatif_offers(
	struct sonde_whatif *w, struct sonde_whatif_offer *out, size_t most, struct sonde_err *err);

/*
 * Opens, asks for each change by itself, and closes: `out[i]` belongs to `changes[i]`. Removing
 * launches is no fix, and so has no gain here. A change that cannot be answered has NaN and says
 * why. An error only when nothing could be asked at all, `out` then has its reason too.
 */
int sonde_whatif_gains(struct sonde_gain *out, const char *const *changes, size_t nr,
	const struct sonde_whatif_source *source, struct sonde_err *err);

#endif
