#include "lib/whatif.h"

#include "base/alloc.h"
#include "base/glob.h"
#include "base/hypot.h"
#include "base/nearest.h"
#include "base/quantile.h"
#include "cellfile/cellfile.h"
#include "lib/replay_in.h"
#include "lib/roof.h"
#include "lib/run_in.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * The time that a profiler adds to each launch and to each other call, by source. Native: 15.5 % of loops of operators
 * with about 66 launches in 0.95 ms, measured side by side (docs/performance-internals.md). torch.profiler: 7.9 µs per
 * call, measured once with its stacks off. Nsight Systems: not measured here; about what CUPTI's records and callbacks
 * take.
 */
static const struct profiler {
	const char *source;
	double launch_ns, call_ns;
} profilers[] = {
	{"native", 2200, 600},
	{"kineto", 7900, 3000},
	{"nsys", 2500, 1000},
};

#define LEAST_STEPS 3 /* fewer entries of the step are not replayed */
#define LEAST_PART 0.01 /* share of the step: a smaller gain is not offered, and a smaller cost is not tried */
#define MOST_OF_WAIT 0.6 /* a region inside with this share of the waits is meant */
#define MOST_PARTS 64u /* processes that are replayed: the processes of a large job are much alike */

/* A process of the job. Each is replayed by itself; what is predicted of a step is the mean over all. */
struct part {
	struct sonde_replay_arrays arrays;
	struct sonde_replay *replay;
};

struct sonde_whatif {
	struct sonde_records *records;
	struct sonde_launches *launches;
	struct part parts[MOST_PARTS]; /* the first is the process with the most launches, whose regions are shown */
	size_t nr_parts;
	struct sonde_replay_summary summary; /* summary of the first process, but times of the step and `error` are means over all */
	struct sonde_notes notes;
	const char *refusal;
	const struct sonde_tree *report; /* the report of the same capture; NULL = none */
	struct sonde_arena arena;
};

void sonde_whatif_free(struct sonde_whatif *w)
{
	size_t i;

	if (!w)
		return;
	for (i = 0; i < MOST_PARTS; i++) {
		sonde_replay_free(w->parts[i].replay);
		sonde_replay_arrays_release(&w->parts[i].arrays);
	}
	sonde_launches_free(w->launches);
	sonde_records_free(w->records);
	sonde_notes_release(&w->notes);
	sonde_arena_release(&w->arena);
	sonde_free(w);
}

const struct sonde_replay_summary *sonde_whatif_summary(const struct sonde_whatif *w)
{
	return &w->summary;
}

const struct sonde_replay_region *sonde_whatif_regions(const struct sonde_whatif *w)
{
	return sonde_replay_regions(w->parts[0].replay);
}

size_t sonde_whatif_nr_regions(const struct sonde_whatif *w)
{
	return w->launches->regions.nr;
}

struct sonde_str sonde_whatif_region_id(const struct sonde_whatif *w, uint32_t region)
{
	return w->launches->regions.at[region].id;
}

uint32_t sonde_whatif_parent(const struct sonde_whatif *w, uint32_t region)
{
	return w->launches->regions.at[region].parent;
}

const char *sonde_whatif_refusal(const struct sonde_whatif *w)
{
	return w->refusal;
}

const struct sonde_notes *sonde_whatif_notes(const struct sonde_whatif *w)
{
	return &w->notes;
}

/* --- opening ----------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/*
 * A run directory may have captures of several stages: takes the first stage with times of launches. Sorts the paths by
 * name: if two works begin in the same nanosecond, the one that was read first comes first, and gains must not depend on
 * the order of arguments.
 */
static int find_paths(struct sonde_whatif *w, const struct sonde_whatif_source *s,
	const char ***out, struct sonde_err *err)
{
	static const char *const stages[] = {"native", "nsys", "torch_profiler"};
	const char **paths = sonde_arena_calloc(&w->arena, s->nr_paths + 1, sizeof(*paths));
	size_t i, k;

	if (!paths)
		return sonde_err_nomem(err);
	for (i = 0; i < s->nr_paths; i++) {
		paths[i] = s->paths[i];
		for (k = 0; sonde_is_run(s->paths[i]) && k < sizeof(stages) / sizeof(*stages);
			k++) {
			if (!sonde_run_has_captures(s->paths[i], stages[k]))
				continue;
			paths[i] = sonde_arena_printf(&w->arena, "%s/%s", s->paths[i], stages[k]).p;
			if (!paths[i])
				return sonde_err_nomem(err);
			break;
		}
	}
	qsort(paths, s->nr_paths, sizeof(*paths), by_name);
	*out = paths;
	return 0;
}

static void set_costs(struct sonde_whatif *w, struct sonde_replay_arrays *a)
{
	const struct sonde_process *p = &w->records->processes.at[a->process];
	struct sonde_str source = w->records->inputs.at[p->input].source;
	size_t i;

	for (i = 0; i < sizeof(profilers) / sizeof(*profilers); i++)
		if (sonde_str_starts(source, profilers[i].source)) {
			a->input.launch_cost_ns = profilers[i].launch_ns;
			a->input.call_cost_ns = profilers[i].call_ns;
		}
}

static int set_step(struct sonde_whatif *w, const char *step, struct sonde_err *err)
{
	struct sonde_str asked = sonde_str_from(step), near = {NULL, 0};
	size_t i;

	for (i = 0; step && i < w->launches->regions.nr; i++) {
		struct sonde_str id = w->launches->regions.at[i].id;

		if (sonde_str_eq(id, asked))
			w->parts[0].arrays.input.step = (uint32_t)i;
		if ((!near.n || id.n < near.n) && sonde_str_ends_path(id, asked))
			near = id;
	}
	if (step && w->parts[0].arrays.input.step == SONDE_NONE)
		return sonde_err_set(err, SONDE_ERR_NOTFOUND,
			"there is no region '%.200s' that could be the step; %s%.*s%s", step,
			near.n ? "did you mean '" : "`sonde regions -f json` lists the ids of regions", SONDE_STR_ARG(near), near.n ? "'?" : "");
	return 0;
}

static void note_source(struct sonde_whatif *w)
{
	const struct sonde_replay_arrays *a = &w->parts[0].arrays;

	if (w->nr_parts > 1)
		sonde_note(&w->notes,
			"times of the step and gains are means over %zu processes; regions are those of the process with the most "
			"launches",
			w->nr_parts);
	if (w->summary.nr_odd)
		sonde_note(&w->notes, "%llu of %llu entries of the step took more than three times the median; figures leave them out",
			(unsigned long long)w->summary.nr_odd, (unsigned long long)w->summary.nr_steps);
	if (!a->has_events && a->input.nr_streams > 1)
		sonde_note(&w->notes, "the capture has no events that order its streams (the program recorded none, or the capture does not tell): "
				      "the replay guesses from times what one stream waits for in another");
	if (a->nr_uncalled)
		sonde_note(&w->notes,
			"the calls that launched %llu kernels or copies are not known: the replay leaves these out",
			(unsigned long long)a->nr_uncalled);
}

/* Checks the error of the replay of an unchanged process. The first reason to refuse is kept. */
static int check_error(struct sonde_whatif *w, const struct part *p, struct sonde_err *err)
{
	const struct sonde_replay_summary *s = sonde_replay_summary(p->replay);
	const struct sonde_input *in =
		&w->records->inputs.at[w->records->processes.at[p->arrays.process].input];
	const char *why = "the run depended on something that the capture does not show";

	if (s->step != SONDE_NONE && s->nr_steps && s->nr_steps < LEAST_STEPS)
		return sonde_err_set(err, SONDE_ERR_NOTFOUND, "nothing to replay: the capture has %llu %s of the step '%.*s'; capture at least %d",
			(unsigned long long)s->nr_steps, s->nr_steps > 1 ? "entries" : "entry", SONDE_STR_ARG(w->launches->regions.at[s->step].id), LEAST_STEPS);
	if (s->step == SONDE_NONE || s->nr_steps < LEAST_STEPS)
		return sonde_err_set(err, SONDE_ERR_NOTFOUND,
			"nothing to replay: no region was entered three times or more; mark a step "
			"of the program with an NVTX range, or capture more steps");
	if (w->refusal || fabs(s->error) <= SONDE_REPLAY_MOST_ERROR)
		return 0;
	if (in->budget_ppm || in->is_windowed)
		why = "the capture has only parts of the run";
	else if (!p->arrays.has_events && p->arrays.input.nr_streams > 1)
		why = "its streams may depend on each other, and the capture does not say how";
	else if (s->nr_relays > 1)
		why = "its threads wait for each other in ways that no CUDA call shows";
	w->refusal = sonde_arena_printf(&w->arena,
		"a step of the unchanged replay differs from the measured step by %+.1f %%: %s",
		100 * s->error, why)
			     .p;
	return w->refusal ? 0 : sonde_err_nomem(err);
}

/* Replays one more process as it was. SONDE_ERR_NOTFOUND: the process has nothing to replay. */
static int open_part(struct sonde_whatif *w, struct part *p, uint32_t process, const char *step, struct sonde_err *err)
{
	int rc = sonde_replay_arrays_build(&p->arrays, w->launches, process, err);

	if (rc == 0 && p == w->parts)
		rc = set_step(w, step, err);
	else if (rc == 0)
		p->arrays.input.step = sonde_replay_summary(w->parts[0].replay)->step;
	if (rc)
		return rc;
	set_costs(w, &p->arrays);
	rc = sonde_replay_open(&p->replay, &p->arrays.input, err);
	return rc ? rc : check_error(w, p, err);
}

static void close_part(struct part *p)
{
	sonde_replay_free(p->replay);
	sonde_replay_arrays_release(&p->arrays);
	*p = (struct part){0};
}

/* Opens the other processes that have the step. If there are more than MOST_PARTS, takes every n-th. */
static int open_others(struct sonde_whatif *w, struct sonde_err *err)
{
	uint32_t i, nr = (uint32_t)w->records->processes.nr, stride = 1 + nr / MOST_PARTS;
	int rc = 0;

	for (i = 0; i < nr && rc == 0 && w->nr_parts < MOST_PARTS; i += stride) {
		struct sonde_err own = {0};
		struct part *p = &w->parts[w->nr_parts];

		if (i == w->parts[0].arrays.process)
			continue;
		rc = open_part(w, p, i, NULL, &own);
		if (rc == 0)
			w->nr_parts++;
		else
			close_part(p);
		if (rc == SONDE_ERR_NOTFOUND)
			rc = 0;
		else if (rc)
			*err = own;
	}
	return rc;
}

/* A partial report has sums, and no launches to replay. */
static int refuse_partial(const char *const *paths, size_t nr, struct sonde_err *err)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (sonde_cellfile_is(paths[i]))
			return sonde_err_set(err, SONDE_ERR_NOTFOUND,
				"nothing to replay: %.200s is a partial report, which has no single launches; name the capture", paths[i]);
	return 0;
}

/* Makes the summary: means over the processes. */
static void sum_up(struct sonde_whatif *w)
{
	struct sonde_replay_summary *s = &w->summary;
	double n = (double)w->nr_parts;
	size_t i;

	*s = *sonde_replay_summary(w->parts[0].replay);
	s->measured_ns = s->base_ns = s->error = 0;
	for (i = 0; i < w->nr_parts; i++) {
		const struct sonde_replay_summary *p = sonde_replay_summary(w->parts[i].replay);

		s->measured_ns += p->measured_ns / n;
		s->base_ns += p->base_ns / n;
		s->error += p->error / n;
	}
}

static int open_whatif(
	struct sonde_whatif *w, const struct sonde_whatif_source *s, struct sonde_err *err)
{
	struct sonde_read_options options = s->read ? *s->read : (struct sonde_read_options){0};
	const struct sonde_selection all = {0};
	const char **paths = NULL;
	int rc = find_paths(w, s, &paths, err);

	if (rc == 0)
		rc = refuse_partial(s->paths, s->nr_paths, err);
	w->report = s->report;
	options.for_replay = true;
	if (rc == 0)
		rc = sonde_records_open(&w->records, paths, s->nr_paths, &options, err);
	if (rc == 0 && w->records->rolled.nr)
		rc = sonde_err_set(err, SONDE_ERR_NOTFOUND,
			"nothing to replay: the oldest files of the capture were summed up and removed (capture.keep), "
			"and their single launches with them");
	if (rc == 0)
		rc = sonde_launches_build(
			&w->launches, w->records, s->selection ? s->selection : &all, err);
	if (rc == 0)
		rc = open_part(w, &w->parts[0], SONDE_NONE, s->step, err);
	if (rc == 0)
		w->nr_parts = 1;
	if (rc == 0)
		rc = open_others(w, err);
	if (rc)
		return rc;
	sum_up(w);
	note_source(w);
	return 0;
}

int sonde_whatif_open(
	struct sonde_whatif **out, const struct sonde_whatif_source *source, struct sonde_err *err)
{
	struct sonde_whatif *w = sonde_calloc(1, sizeof(*w));
	int rc = w ? open_whatif(w, source, err) : sonde_err_nomem(err);

	*out = rc ? NULL : w;
	if (rc)
		sonde_whatif_free(w);
	return rc;
}

/* --- asking ------------------------------------------------------------------------------ */

static bool is_in_step(const struct sonde_whatif *w, uint32_t region)
{
	uint32_t step = sonde_whatif_summary(w)->step;

	while (region != SONDE_NONE && region != step)
		region = sonde_whatif_parent(w, region);
	return region != SONDE_NONE;
}

/* Whether a word means a region: it is the region's id, the end of its id, or a glob for either. */
static bool is_named(struct sonde_str id, struct sonde_str word)
{
	size_t i;

	if (sonde_str_eq(id, word) || sonde_str_glob(id, word))
		return true;
	for (i = 0; i < id.n; i++)
		if (id.p[i] == '/' && (!i || id.p[i - 1] != '\\') &&
			sonde_str_glob((struct sonde_str){id.p + i + 1, id.n - i - 1}, word))
			return true;
	return false;
}

/* Regions inside the step come first, so that `forward` does not mean that of a warm-up. */
static size_t match_regions(const struct sonde_whatif *w, struct sonde_str word, bool *is_meant)
{
	const struct sonde_replay_region *regions = sonde_whatif_regions(w);
	size_t nr = 0, i, round;

	for (round = 0; round < 2 && !nr; round++)
		for (i = 0; i < w->launches->regions.nr; i++) {
			is_meant[i] = is_named(w->launches->regions.at[i].id, word) &&
				      regions[i].nr_entries &&
				      (round || is_in_step(w, (uint32_t)i));
			nr += is_meant[i];
		}
	return nr;
}

static size_t match_kernels(const struct sonde_whatif *w, struct sonde_str word, bool *is_meant)
{
	const struct sonde_records *r = w->records;
	size_t nr = 0, i;

	for (i = 0; i < r->functions.nr; i++) {
		const struct sonde_function *f = (const void *)r->functions.keys[i].p;

		is_meant[i] = sonde_str_glob(sonde_records_str(r, f->name), word) ||
			      sonde_str_glob(sonde_records_str(r, f->full_name), word) ||
			      (w->report && sonde_roof_matches(w->report, sonde_records_str(r, f->name), word));
		nr += is_meant[i];
	}
	return nr;
}

/*
 * At its roofline, a kernel's time is multiplied by the share of the peak that its limiter reaches. Sets `*error` to the
 * ± of this factor.
 */
static int set_roof_factor(struct sonde_whatif *w, struct sonde_change *c, double *error, const char *text, struct sonde_err *err)
{
	struct sonde_roof roof;

	if (!w->report || !sonde_roof_find(&roof, w->report, c->name))
		return sonde_err_set(err, SONDE_ERR_USAGE,
			"'%.200s': without SM and memory counters of the kernel, sonde does not know how far it is from its "
			"roofline; `sonde doctor` says why a run has none. Or give a factor, as in kernel:%.*s=0.5x",
			text, SONDE_STR_ARG(c->name));
	c->factor = roof.fraction;
	*error = fmin(roof.error, roof.fraction); /* no kernel takes less than 0 ns */
	return 0;
}

/* Refuses a change of a region that the run does not have; names the region that was probably meant. */
static int refuse_region(const struct sonde_whatif *w, struct sonde_str name, const char *text, struct sonde_err *err)
{
	struct sonde_nearest near = {.word = name, .below = 4};
	size_t i;

	for (i = 0; i < w->launches->regions.nr; i++) {
		sonde_nearest_offer(&near, sonde_region_label(w->launches, &w->launches->regions.at[i]));
		sonde_nearest_offer(&near, w->launches->regions.at[i].id);
	}
	return sonde_err_set(err, SONDE_ERR_USAGE, "'%.200s': the run has no region of this name%s%.*s%s", text,
		near.best.n ? ", did you mean '" : "", SONDE_STR_ARG(near.best),
		near.best.n ? "'?" : "; `sonde report` shows its regions");
}

/* Fills in the change that the text asks for. Sets `*error` to the ± of its factor. */
static int read_change(struct sonde_whatif *w, struct sonde_replay_change *out, double *error, const char *text,
	struct sonde_arena *arena, struct sonde_err *err)
{
	size_t nr = w->launches->regions.nr > w->records->functions.nr ? w->launches->regions.nr
								       : w->records->functions.nr;
	bool *is_meant = sonde_arena_calloc(arena, nr + 1, sizeof(*is_meant));
	struct sonde_change c;
	int rc = is_meant ? sonde_change_read(&c, text, err) : sonde_err_nomem(err);

	if (rc)
		return rc;
	*out = (struct sonde_replay_change){c.kind, is_meant, c.factor};
	if (c.kind == SONDE_CHANGE_LEVEL_RANKS)
		return w->parts[0].arrays.nr_ranks > 1 ? 0
					      : sonde_err_set(err, SONDE_ERR_USAGE,
							"level-ranks needs captures of several "
							"ranks, with their collectives");
	if (c.kind == SONDE_CHANGE_KERNEL) {
		if (!match_kernels(w, c.name, is_meant))
			return sonde_err_set(err, SONDE_ERR_USAGE,
				"'%.200s': no kernel has that name; `sonde top --full-names` lists them", text);
		rc = isnan(c.factor) ? set_roof_factor(w, &c, error, text, err) : 0;
		out->factor = c.factor;
		return rc;
	}
	return match_regions(w, c.name, is_meant) ? 0 : refuse_region(w, c.name, text, err);
}

#define HOW    "replayed without the profiler"
#define AT_ROOF "replayed without the profiler, the kernel at the peak of its limiter, an upper bound"
#define AT_MOST "replayed without the profiler, an upper bound"

static int by_ns(const void *a, const void *b)
{
	const struct sonde_replay_gain *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	if (x->low_ns != y->low_ns)
		return x->low_ns < y->low_ns ? -1 : 1;
	return (x->high_ns > y->high_ns) - (x->high_ns < y->high_ns);
}

/*
 * The mean gain of the processes. Its interval combines the mean of theirs with how much the gains differ: the model
 * does not know which process the rest of the job waits for.
 */
static int predict_mean_gain(struct sonde_whatif *w, struct sonde_replay_gain *out, const struct sonde_replay_change *list, size_t nr,
	bool is_rough, struct sonde_err *err)
{
	struct sonde_replay_gain gains[MOST_PARTS], sum = {0, 0, 0};
	double n = (double)w->nr_parts, square = 0, apart;
	size_t i;
	int rc = 0;

	for (i = 0; i < w->nr_parts && rc == 0; i++)
		rc = sonde_replay_predict(w->parts[i].replay, &gains[i], list, nr, is_rough, err);
	qsort(gains, rc ? 0 : w->nr_parts, sizeof(*gains), by_ns); /* sums have the same bits, in whichever order inputs came */
	for (i = 0; i < w->nr_parts && rc == 0; i++) {
		sum.ns += gains[i].ns / n;
		sum.low_ns += (gains[i].ns - gains[i].low_ns) / n;
		sum.high_ns += (gains[i].high_ns - gains[i].ns) / n;
	}
	for (i = 0; i < w->nr_parts && rc == 0; i++)
		square += (gains[i].ns - sum.ns) * (gains[i].ns - sum.ns);
	apart = w->nr_parts > 1 ? 1.96 * sqrt(square / (n - 1) / n) : 0;
	*out = (struct sonde_replay_gain){sum.ns, sum.ns - sonde_hypot(sum.low_ns, apart), sum.ns + sonde_hypot(sum.high_ns, apart)};
	return rc;
}

/* Widens the interval to include the gains with factors of kernels that are off by ± their errors. */
static int widen_interval(struct sonde_whatif *w, struct sonde_replay_gain *gain, struct sonde_replay_change *list,
	const double *errors, size_t nr, struct sonde_err *err)
{
	struct sonde_replay_gain other;
	int rc = 0, sign;
	size_t i;

	for (sign = -1; sign <= 1 && rc == 0; sign += 2) {
		for (i = 0; i < nr; i++)
			list[i].factor += sign < 0 ? -errors[i] : 2 * errors[i];
		rc = predict_mean_gain(w, &other, list, nr, false, err);
		if (rc == 0) {
			gain->low_ns = fmin(gain->low_ns, other.low_ns);
			gain->high_ns = fmax(gain->high_ns, other.high_ns);
		}
	}
	return rc;
}

/* Whether nobody can make the change completely: its gain is then an upper bound. */
static bool is_upper_bound(const struct sonde_replay_change *c, const char *text)
{
	return c->kind == SONDE_CHANGE_AHEAD || c->kind == SONDE_CHANGE_REMOVE ||
	       (c->kind == SONDE_CHANGE_KERNEL && sonde_str_ends(sonde_str_from(text), "=roofline"));
}

/* Whether a step may take longer with the change. The other changes only take time away. */
static bool can_be_slower(const struct sonde_replay_change *c)
{
	switch (c->kind) {
	case SONDE_CHANGE_GRAPH:
	case SONDE_CHANGE_FUSE:
	case SONDE_CHANGE_GATHER:
		return true;
	case SONDE_CHANGE_KERNEL:
		return c->factor > 1;
	default:
		return false;
	}
}

/* No change saves more than the step, and one that only takes time away loses nothing. */
static double possible_gain(const struct sonde_whatif *w, double ns, bool can_lose)
{
	return fmin(can_lose ? ns : fmax(0, ns), w->summary.base_ns);
}

static struct sonde_gain no_gain(const char *why)
{
	return (struct sonde_gain){NAN, NAN, NAN, NAN, false, sonde_str_from(why)};
}

/*
 * Other threads of the step may wait for this one, or it for them, without CUDA. Work that is done ahead on one of them
 * saves nothing in the replay, where the others keep their pace, and may save much in the program.
 */
static bool depends_on_threads(const struct sonde_whatif *w, const struct sonde_replay_change *c, const struct sonde_replay_gain *gain)
{
	return w->summary.nr_relays > 1 && c->kind == SONDE_CHANGE_AHEAD && gain->ns < LEAST_PART * w->summary.base_ns;
}

/* Whether a region that is meant is entered between the first step and the last one, in the process with the most launches. */
static bool is_among_steps(const struct sonde_whatif *w, const bool *is_meant)
{
	const struct sonde_replay_input *in = &w->parts[0].arrays.input;
	uint32_t step = sonde_whatif_summary(w)->step, region;
	bool has_step = false, is_entered = false;
	size_t i;

	for (i = 0; i < in->nr_ops; i++) {
		if (in->ops[i].kind != SONDE_REPLAY_ENTER)
			continue;
		region = in->entry_regions[in->ops[i].entry];
		if (region == step && is_entered)
			return true;
		has_step |= region == step;
		is_entered |= has_step && is_meant[region];
	}
	return false;
}

/* Whether a change is about regions that have nothing to do with the step: none is in, around or between steps, and it gains nothing. */
static bool is_beside(const struct sonde_whatif *w, const struct sonde_replay_change *c, const struct sonde_replay_gain *gain)
{
	uint32_t up = sonde_whatif_summary(w)->step;
	size_t i;

	if (c->kind == SONDE_CHANGE_KERNEL || c->kind == SONDE_CHANGE_LEVEL_RANKS || fabs(gain->ns) >= 1 || gain->high_ns >= 1)
		return false;
	for (; up != SONDE_NONE; up = sonde_whatif_parent(w, up))
		if (c->is_meant[up])
			return false;
	for (i = 0; i < w->launches->regions.nr; i++)
		if (c->is_meant[i] && is_in_step(w, (uint32_t)i))
			return false;
	return !is_among_steps(w, c->is_meant);
}

static int compute_gain(struct sonde_whatif *w, struct sonde_gain *out, const char *const *changes,
	size_t nr, bool is_rough, struct sonde_err *err)
{
	struct sonde_arena arena = {0};
	struct sonde_replay_change *list = sonde_arena_calloc(&arena, nr + 1, sizeof(*list));
	double *errors = sonde_arena_calloc(&arena, nr + 1, sizeof(*errors)), worst = 0;
	struct sonde_replay_gain gain;
	bool is_most = false, can_lose = false;
	int rc = list && errors ? 0 : sonde_err_nomem(err);
	size_t i;

	*out = no_gain(w->refusal);
	for (i = 0; i < nr && rc == 0; i++) {
		rc = read_change(w, &list[i], &errors[i], changes[i], &arena, err);
		is_most |= rc == 0 && is_upper_bound(&list[i], changes[i]);
		can_lose |= rc == 0 && can_be_slower(&list[i]);
	}
	if (rc == 0 && !w->refusal)
		rc = predict_mean_gain(w, &gain, list, nr, is_rough, err);
	for (i = 0; i < nr && rc == 0; i++)
		worst = fmax(worst, errors[i]);
	if (rc == 0 && !w->refusal && worst > 0)
		rc = widen_interval(w, &gain, list, errors, nr, err);
	if (rc == 0 && !w->refusal)
		*out = (struct sonde_gain){possible_gain(w, gain.ns, can_lose), possible_gain(w, gain.low_ns, can_lose),
			possible_gain(w, gain.high_ns, can_lose), w->summary.base_ns, is_most,
			sonde_str_from(!is_most ? HOW : nr == 1 && list->kind == SONDE_CHANGE_KERNEL ? AT_ROOF : AT_MOST)};
	if (rc == 0 && !w->refusal && nr == 1 && depends_on_threads(w, list, &gain))
		*out = no_gain("several threads work in the step, and the capture does not show when they wait for each other");
	else if (rc == 0 && !w->refusal && nr == 1 && is_beside(w, list, &gain))
		*out = no_gain("gains are of the step, and this is not in it");
	sonde_arena_release(&arena);
	return rc;
}

int sonde_whatif_ask(struct sonde_whatif *w, struct sonde_gain *out, const char *const *changes,
	size_t nr, struct sonde_err *err)
{
	if (nr > SONDE_REPLAY_MOST_CHANGES)
		return sonde_err_set(err, SONDE_ERR_USAGE, "more than %d changes: leave some out",
			SONDE_REPLAY_MOST_CHANGES);
	return compute_gain(w, out, changes, nr, false, err);
}

/* Why a change that does not exist, or that matches nothing, has no gain. */
static const char *why_not(const char *text)
{
	struct sonde_change c;

	if (sonde_change_read(&c, text, NULL) == 0 && c.kind == SONDE_CHANGE_KERNEL &&
		isnan(c.factor))
		return "capture the kernel's counters to learn how far it is from its roofline";
	return "no region or kernel of the capture matches this change";
}

/*
 * Whether a change removes launches with their region. Nobody fixes anything that way; it only shows the most there is
 * to gain.
 */
static bool removes_launches(const struct sonde_whatif *w, const char *text)
{
	const struct sonde_replay_region *regions = sonde_whatif_regions(w);
	struct sonde_change c;
	size_t i;

	if (sonde_change_read(&c, text, NULL) < 0 || c.kind != SONDE_CHANGE_REMOVE)
		return false;
	for (i = 0; i < w->launches->regions.nr; i++)
		if (regions[i].nr_launches && is_named(w->launches->regions.at[i].id, c.name))
			return true;
	return false;
}

static double wait_of(const struct sonde_replay_region *r)
{
	return r->waited_ns + r->read_ns;
}

void sonde_whatif_gains(struct sonde_whatif *w, struct sonde_gain *out, const char *const *changes, size_t nr)
{
	struct sonde_err own;
	size_t i;

	for (i = 0; i < nr; i++) {
		own = (struct sonde_err){0};
		if (compute_gain(w, &out[i], &changes[i], 1, false, &own) < 0)
			out[i] = no_gain(why_not(changes[i]));
		else if (removes_launches(w, changes[i]))
			out[i] = no_gain("a fix would keep part of this work, and sonde cannot tell how much");
		else if (w->refusal)
			out[i] = no_gain("the replay of the unchanged run differs from the measured step by more than 5 %");
	}
}

/* The innermost region that has most of the waits of the region around it. */
static uint32_t find_waiting(const struct sonde_whatif *w)
{
	const struct sonde_replay_region *regions = sonde_whatif_regions(w);
	uint32_t at = w->summary.step, i;

	for (i = at + 1; i < w->launches->regions.nr; i++)
		if (sonde_whatif_parent(w, i) == at && wait_of(&regions[i]) >= MOST_OF_WAIT * wait_of(&regions[at]))
			at = i;
	return at;
}

/* Whether all that the region waits for is the end of the step: programs measure it, or read its results there. */
static bool waits_for_end(const struct sonde_whatif *w, uint32_t region)
{
	const struct sonde_replay_region *r = &sonde_whatif_regions(w)[region];

	return region == w->summary.step && r->nr_waits <= r->nr_entries;
}

int sonde_whatif_find_wait(struct sonde_whatif *w, struct sonde_whatif_wait *out, struct sonde_err *err)
{
	uint32_t at = find_waiting(w);
	int rc;

	*out = (struct sonde_whatif_wait){.region = sonde_whatif_region_id(w, at),
		.ns_per_step = wait_of(&sonde_whatif_regions(w)[at]) / (double)sonde_replay_summary(w->parts[0].replay)->nr_steps};
	if (w->refusal || out->ns_per_step < LEAST_PART * w->summary.measured_ns || waits_for_end(w, at))
		return 0;
	out->change = sonde_arena_printf(&w->arena, "nosync:%.*s", SONDE_STR_ARG(out->region)).p;
	rc = out->change ? compute_gain(w, &out->gain, &out->change, 1, false, err) : sonde_err_nomem(err);
	return rc == SONDE_ERR_USAGE ? 0 : rc < 0 ? rc : 1;
}

/* --- offering ---------------------------------------------------------------------------- */

#define MOST_TRIED   40u  /* the most changes that are tried */
#define LONG_NS	     20000.0
#define MANY_COPIES  8	/* copies per entry: with that many it is worth gathering them */
#define FEW_LAUNCHES 4	  /* per entry: with fewer, it is not worth making a graph or fusing kernels */

struct offering {
	struct sonde_whatif *w;
	struct sonde_whatif_offer tried[MOST_TRIED];
	size_t nr;
	struct sonde_err *err;
	int rc;
};

static void try_change(struct offering *o, const char *text)
{
	struct sonde_whatif_offer *t = &o->tried[o->nr];

	if (!text)
		o->rc = sonde_err_nomem(o->err);
	if (o->rc || o->nr == MOST_TRIED)
		return;
	t->text = text;
	o->rc = compute_gain(o->w, &t->gain, &text, 1, true, o->err);
	if (o->rc == 0 && t->gain.ns > LEAST_PART * sonde_whatif_summary(o->w)->base_ns)
		o->nr++;
}

static const char *write_change(
	struct offering *o, const char *word, struct sonde_str name, const char *rest)
{
	return sonde_arena_printf(&o->w->arena, "%s:%.*s%s", word, SONDE_STR_ARG(name), rest).p;
}

static void try_region(struct offering *o, uint32_t region)
{
	const struct sonde_replay_region *r = &sonde_whatif_regions(o->w)[region];
	const struct sonde_replay_summary *s = sonde_whatif_summary(o->w);
	double least = LEAST_PART * s->measured_ns * (double)s->nr_steps;
	struct sonde_str id = sonde_whatif_region_id(o->w, region);
	double per_entry = (double)r->nr_launches / (double)r->nr_entries;

	if (r->wall_ns < least)
		return;
	if (per_entry >= FEW_LAUNCHES && !r->nr_graphs)
		try_change(o, write_change(o, "graph", id, ""));
	/* Not tried for long kernels, nor for a whole step unless it is one graph: these do not become one kernel. */
	if ((double)r->nr_kernels >= FEW_LAUNCHES * (double)r->nr_entries && r->busy_ns < LONG_NS * (double)r->nr_kernels &&
		(region != s->step || r->nr_graphs))
		try_change(o, write_change(o, "fuse", id, ""));
	if (r->waited_ns > least)
		try_change(o, write_change(o, "nosync", id, ""));
	if (r->copied_ns > least || r->nr_copies >= r->nr_entries)
		try_change(o, write_change(o, "async-copy", id, ""));
	if (region == s->step)
		try_change(o, write_change(o, "overlap-comm", id, ""));
	if (r->nr_copies >= MANY_COPIES * r->nr_entries)
		try_change(o, write_change(o, "gather", id, ""));
	if (r->allocated_ns > least)
		try_change(o, write_change(o, "noalloc", id, ""));
	/* Tried where the host works alone, and between the steps. */
	if (region == s->step || (!r->nr_launches && !r->copied_ns && !r->waited_ns))
		try_change(o, write_change(o, "ahead", id, ""));
}

static void try_kernels(struct offering *o)
{
	const double *ns = sonde_replay_kernels(o->w->parts[0].replay);
	const struct sonde_records *r = o->w->records;
	size_t i, k, best;
	bool *is_tried = sonde_arena_calloc(&o->w->arena, r->functions.nr + 1, sizeof(*is_tried));

	for (k = 0; is_tried && k < 3; k++) {
		for (best = r->functions.nr, i = 0; i < r->functions.nr; i++)
			if (!is_tried[i] && ns[i] > (best == r->functions.nr ? 0 : ns[best]))
				best = i;
		if (best == r->functions.nr)
			return;
		is_tried[best] = true;
		try_change(o,
			write_change(o, "kernel",
				sonde_records_str(r, ((const struct sonde_function *)(const void *)
								     r->functions.keys[best]
									     .p)
							     ->name),
				"=0.5x"));
	}
}

/* Whether the second change is about a part of what the first is about: `nosync:step` and `nosync:step/log`. */
static bool is_around(const char *around, const char *inner)
{
	size_t n = strlen(around);

	return strncmp(around, inner, n) == 0 && inner[n] == '/';
}

/* If a part gains nearly as much as the whole, only the part is offered. */
static void drop_wider(struct offering *o)
{
	size_t i, k;

	for (i = 0; i < o->nr; i++)
		for (k = 0; k < o->nr; k++)
			if (is_around(o->tried[i].text, o->tried[k].text) &&
				o->tried[k].gain.ns > 0.8 * o->tried[i].gain.ns) {
				o->tried[i] = o->tried[--o->nr];
				i--;
				break;
			}
}

static int by_gain(const void *a, const void *b)
{
	const struct sonde_whatif_offer *x = a, *y = b;

	return sonde_cmp(y->gain.ns, x->gain.ns);
}

int sonde_whatif_offers(
	struct sonde_whatif *w, struct sonde_whatif_offer *out, size_t most, struct sonde_err *err)
{
	struct offering o = {.w = w, .err = err};
	uint32_t i;
	size_t k;

	if (w->refusal)
		return 0;
	for (i = 0; i < w->launches->regions.nr && o.rc == 0; i++)
		if (sonde_whatif_regions(w)[i].nr_entries && is_in_step(w, i))
			try_region(&o, i);
	if (o.rc == 0)
		try_kernels(&o);
	if (o.rc == 0 && w->parts[0].arrays.nr_ranks > 1)
		try_change(&o, "level-ranks");
	if (o.rc)
		return o.rc;
	drop_wider(&o);
	qsort(o.tried, o.nr, sizeof(*o.tried), by_gain);
	for (k = 0; k < o.nr && k < most; k++) {
		out[k] = o.tried[k];
		o.rc = compute_gain(w, &out[k].gain, &out[k].text, 1, false, err);
		if (o.rc)
			return o.rc;
	}
	return (int)k;
}
