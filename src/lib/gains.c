/*
 * The gains of the fixes of findings: reads the capture once more and replays it with the change of each finding. A
 * change may gain more than the finding is about (fusing all kernels of a step removes its launches too), so the order
 * of findings counts a gain only up to what is at stake.
 */
#include "lib/pipeline.h"
#include "lib/whatif.h"
#include "tree/findings.h"

#include <math.h>

#define MOST_ASKED    6u      /* findings that are asked about: those that are shown first */
#define LEAST_WAIT    0.02    /* share of the step: a wait that gains less is no finding */
#define CLEARLY	      1.1     /* a gain that is this many times another is clearly larger */
#define NO_TIMES      "the capture does not have the times of launches and ranges; `sonde run -- COMMAND` captures them"
#define MOST_LAUNCHES 1000000u /* a report with more launches should not have to wait for a replay */

/*
 * Whether the inputs are one capture, or the ranks of one job: then gains are means over its processes. Several captures
 * that are not ranks, or runs that are added up, are programs that have nothing to do with each other. Also false if
 * there are too many launches.
 */
static bool is_one_run(const struct sonde_pipeline *p)
{
	const struct sonde_cells *c = p->cells;
	bool is_one = p->inputs.nr == 1 && !p->settings.fold.read.together, are_ranks = true;
	uint32_t last = SONDE_NONE, world = 0;
	size_t i, nr = 0;

	for (i = 0; i < c->scopes.nr; i++) {
		const struct sonde_scope *s = &c->scopes.at[i];

		if (s->device == SONDE_NONE || s->process == last)
			continue;
		if (s->nr_folded)
			return false;
		last = s->process;
		are_ranks = are_ranks && c->processes.at[last].has_rank && (!nr || world == c->processes.at[last].world_size);
		world = c->processes.at[last].world_size;
		nr++;
	}
	are_ranks = are_ranks && nr > 1 && (!world || nr <= world);
	return nr && (is_one || are_ranks || (nr == 1 && p->inputs.nr == 1)) && c->tally.nr_launches <= MOST_LAUNCHES;
}

/* Whether the times of entries are known: without them no capture can be replayed, and reading it again is in vain. */
static bool has_entries(const struct sonde_cells *c)
{
	return c->has_times && c->entries.nr;
}

static void set_gain(struct sonde_findings *f, struct sonde_finding *to, const struct sonde_gain *gain, const char *why_none)
{
	const struct sonde_gain none = {NAN, NAN, NAN, NAN, false, sonde_str_from(why_none)};

	sonde_finding_set_gain(f, to, why_none ? &none : gain);
}

/* Says why a finding that is not among `asked` has no gain where `sonde whatif` would not know one either. */
static void explain_rest(struct sonde_findings *f, struct sonde_finding *const *asked, size_t nr_asked, const char *why_none)
{
	size_t i, k;

	for (i = 0; i < f->at.nr; i++) {
		struct sonde_finding *it = &f->at.at[i];

		for (k = 0; k < nr_asked && asked[k] != it; k++)
			;
		if (k < nr_asked || !it->change.n || (!why_none && it->is_in_step))
			continue;
		set_gain(f, it, NULL, why_none ? why_none : "gains are of the step, and this is not in it");
	}
}

/* The finding of the host's work that counts most; NULL = there is none. */
static const struct sonde_finding *find_rival(const struct sonde_findings *f)
{
	const struct sonde_finding *best = NULL;
	size_t i;

	for (i = 0; i < f->at.nr; i++)
		if (sonde_finding_is_of_host(&f->at.at[i]) && (!best || sonde_finding_counts(f, &f->at.at[i]) > sonde_finding_counts(f, best)))
			best = &f->at.at[i];
	return best;
}

/*
 * Whether the wait is the cause: without it the step gains clearly more than by any finding of the host's work, or it
 * still gains when that work is done ahead.
 */
static int is_cause(struct sonde_whatif *w, const struct sonde_findings *f, const struct sonde_whatif_wait *wait, struct sonde_err *err)
{
	const struct sonde_finding *rival = find_rival(f);
	struct sonde_arena arena = {0};
	const char *both[2] = {wait->change};
	struct sonde_gain gain;
	int rc;

	if (!(wait->gain.ns > LEAST_WAIT * wait->gain.of_ns && wait->gain.low_ns > 0))
		return 0;
	if (!rival || wait->gain.ns * (double)f->nr_entries > CLEARLY * sonde_finding_counts(f, rival))
		return 1;
	if (isnan(rival->gain.ns))
		return 0;
	both[1] = sonde_arena_z(&arena, rival->change);
	rc = both[1] ? sonde_whatif_ask(w, &gain, both, 2, err) : sonde_err_nomem(err);
	sonde_arena_release(&arena);
	return rc < 0 ? rc : gain.ns - rival->gain.ns > wait->gain.ns / 2;
}

/* Adds a finding about the step's longest wait if no finding names it, and it is a cause. Fails only if memory is short. */
static int tell_wait(struct sonde_pipeline *p, struct sonde_whatif *w, struct sonde_err *err)
{
	struct sonde_findings *f = p->tree->findings;
	struct sonde_finding *added = NULL;
	struct sonde_whatif_wait wait;
	struct sonde_err own = {0};
	int rc = sonde_whatif_find_wait(w, &wait, &own);
	uint32_t node = rc > 0 ? sonde_findings_find_wait(f, p->tree, wait.region) : SONDE_NONE;

	if (node != SONDE_NONE)
		rc = is_cause(w, f, &wait, &own);
	if (node != SONDE_NONE && rc > 0 && !sonde_findings_add_wait(&added, f, p->tree, node, wait.ns_per_step))
		rc = SONDE_ERR_NOMEM;
	if (added)
		set_gain(f, added, &wait.gain, NULL);
	return rc == SONDE_ERR_NOMEM ? sonde_err_nomem(err) : 0;
}

int sonde_pipeline__tell_gains(struct sonde_pipeline *p, struct sonde_err *err)
{
	struct sonde_findings *f = p->tree->findings;
	const struct sonde_node *step = f && f->step != SONDE_NONE ? &f->report->nodes.at[f->step] : NULL;
	const char *changes[MOST_ASKED];
	struct sonde_finding *asked[MOST_ASKED];
	struct sonde_gain gains[MOST_ASKED];
	struct sonde_whatif_source source = {.paths = p->inputs.at, .nr_paths = p->inputs.nr, .read = &p->settings.fold.read,
		.selection = &p->settings.fold.selection, .report = p->tree};
	struct sonde_whatif *w = NULL;
	struct sonde_err none = {0};
	size_t i, nr = 0;
	int rc;

	if (!f)
		return 0;
	if (!step || !has_entries(p->cells)) {
		explain_rest(f, NULL, 0, step ? NO_TIMES : "no region was entered three times or more: mark a step of the program with an NVTX range, or capture more steps");
		return 0;
	}
	if (!is_one_run(p))
		return 0;
	source.step = sonde_arena_z(&p->arena, p->cells->regions.at[step->region].id);
	for (i = 0; i < f->at.nr && nr < MOST_ASKED; i++) {
		if (!f->at.at[i].is_in_step || !f->at.at[i].change.n)
			continue;
		asked[nr] = &f->at.at[i];
		changes[nr] = sonde_arena_z(&p->arena, f->at.at[i].change);
		if (!changes[nr++])
			return sonde_err_nomem(err);
	}
	if (!source.step)
		return sonde_err_nomem(err);
	rc = nr ? sonde_whatif_open(&w, &source, &none) : 0;
	if (rc == SONDE_ERR_NOMEM)
		return sonde_err_nomem(err);
	if (w)
		sonde_whatif_gains(w, gains, changes, nr);
	for (i = 0; i < nr; i++)
		set_gain(f, asked[i], &gains[i], rc ? none.msg : NULL);
	explain_rest(f, asked, nr, rc ? none.msg : NULL);
	rc = w ? tell_wait(p, w, err) : 0;
	sonde_whatif_free(w);
	sonde_findings_rank(f);
	return rc;
}
