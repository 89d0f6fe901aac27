/*
 * NCCL kernels, kept one by one so that they can be found again across ranks.
 *
 * All ranks of a communicator launch the same collectives in the same order.
 * So a collective is identified by its communicator, its kind and its number there. The
 * source gives communicator and number; if it does not, we use the stream and the order on
 * it. Frameworks give each communicator a stream of its own. Stream ids differ between ranks,
 * but the order in which streams are first used is the same on all ranks.
 *
 * If there are too many, we keep those whose number hashes to a multiple of a step: every rank keeps the
 * same ones, and the choice cannot follow a period of the program.
 */
#include "fold/fold_int.h"

#include "base/alloc.h"
#include "base/bisect.h"
#include "base/keysort.h"
#include "catalogue/metrics.h"
#include "fold/timed_scope.h"

#include <math.h>
#include <string.h>

#define MAX_REPEATS 64 /* the most kernels with one sequence number (calls between ncclGroupStart and ncclGroupEnd) */

const char *sonde_collective_kind_name(enum sonde_collective_kind k)
{
	static const char *const names[] = {"other", "all_reduce", "all_gather", "reduce_scatter",
		"all_to_all", "broadcast", "reduce", "send_recv"};

	return names[k];
}

bool sonde_kernel_communicates(struct sonde_str name)
{
	return sonde_str_starts(name, "nccl") || sonde_str_starts(name, "void nccl");
}

bool sonde_fold__communication(struct sonde_folding *f)
{
	const struct sonde_map *strings = &f->r->strings;
	size_t i;

	for (i = 0; i < strings->nr; i++) { /* all strings, not only kernel names: there are few */
		if (!sonde_kernel_communicates(strings->keys[i]))
			continue;
		if (!f->communicates)
			f->communicates =
				sonde_arena_calloc(&f->scratch, strings->nr, sizeof(*f->communicates));
		if (!f->communicates)
			return false;
		f->communicates[i] = true;
	}
	return true;
}

/* The kind of a collective, from the name of its kernel or the framework's name for it. */
static enum sonde_collective_kind collective_kind_of(struct sonde_str name)
{
	static const struct {
		const char *word;
		enum sonde_collective_kind kind;
	} words[] = {/* a word that is part of another one comes after it */
		{"allreduce", SONDE_COLLECTIVE_ALL_REDUCE},
		{"all_reduce", SONDE_COLLECTIVE_ALL_REDUCE},
		{"allgather", SONDE_COLLECTIVE_ALL_GATHER},
		{"all_gather", SONDE_COLLECTIVE_ALL_GATHER},
		{"reducescatter", SONDE_COLLECTIVE_REDUCE_SCATTER},
		{"reduce_scatter", SONDE_COLLECTIVE_REDUCE_SCATTER},
		{"alltoall", SONDE_COLLECTIVE_ALL_TO_ALL},
		{"all_to_all", SONDE_COLLECTIVE_ALL_TO_ALL},
		{"broadcast", SONDE_COLLECTIVE_BROADCAST},
		{"reduce", SONDE_COLLECTIVE_REDUCE},
		{"sendrecv", SONDE_COLLECTIVE_SEND_RECV},
	};
	char low[64];
	size_t i, n = name.n < sizeof(low) - 1 ? name.n : sizeof(low) - 1;

	for (i = 0; i < n; i++)
		low[i] = name.p[i] >= 'A' && name.p[i] <= 'Z' ? (char)(name.p[i] + 'a' - 'A') : name.p[i];
	low[n] = '\0';
	for (i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (memmem(low, n, words[i].word, strlen(words[i].word)))
			return words[i].kind;
	return SONDE_COLLECTIVE_OTHER;
}

/* A collective as the source describes it. */
struct collective_facts {
	struct sonde_str group, name;
	double nr_bytes, sequence; /* NaN = the source does not say */
};

struct collecting {
	struct sonde_folding *f;
	struct sonde_values values;
	uint32_t group, name, nr_bytes, sequence; /* metric numbers, SONDE_NONE = the records do not have the metric */
	struct sonde_map groups;  /* groups of the current scope: streams, or names of communicators */
	SONDE_VEC(uint64_t) next; /* by group: the number given last (sequence × MAX_REPEATS + repeat) */
	struct sonde_arena arena;
};

static struct collective_facts describe_collective(struct collecting *w, uint32_t record)
{
	struct collective_facts s = {.nr_bytes = NAN, .sequence = NAN};
	const struct sonde_values *v = &w->values;
	size_t i;

	if (w->group == SONDE_NONE && w->name == SONDE_NONE)
		return s;
	if (sonde_records_values(w->f->r, record, &w->values, NULL) != 0)
		return s;
	s.nr_bytes = w->nr_bytes == SONDE_NONE ? NAN : v->num[w->nr_bytes];
	s.sequence = w->sequence == SONDE_NONE ? NAN : v->num[w->sequence];
	for (i = 0; i < v->texts.nr; i++) {
		if (v->texts.at[i].metric == w->group)
			s.group = v->texts.at[i].text;
		else if (v->texts.at[i].metric == w->name)
			s.name = v->texts.at[i].text;
	}
	return s;
}

/* Returns the group's number in `groups`, and sets `*string` to its name in the cells. SONDE_NONE: no memory. */
static uint32_t find_group(
	struct collecting *w, const struct sonde_record *rec, const struct collective_facts *s, uint32_t *string)
{
	struct sonde_buf name = {0};
	const struct sonde_queue *q = sonde_record_queue(w->f->r, rec);
	uint64_t stream[3] = {0, q->context, q->stream};
	struct sonde_str key = s->group.n ? s->group : SONDE_BYTES(stream);
	bool is_new;
	uint32_t number = sonde_map_keep(&w->groups, &w->arena, key, &is_new);

	if (number == SONDE_NONE || (is_new && !sonde_vec_push(&w->next)))
		return SONDE_NONE;
	if (s->group.n)
		sonde_buf_printf(&name, "group %.*s", SONDE_STR_ARG(s->group));
	else
		sonde_buf_printf(&name, "NCCL stream %u", number + 1);
	*string = name.failed ? SONDE_NONE
			      : sonde_map_keep(&w->f->c->strings, &w->f->c->arena, sonde_buf_view(&name), NULL);
	sonde_buf_release(&name);
	return *string == SONDE_NONE ? SONDE_NONE : number;
}

/*
 * The number of a collective: its sequence number and its position among kernels with that sequence number; without
 * one, the next number.
 */
static uint64_t next_number(uint64_t *next, const struct collective_facts *s)
{
	uint64_t at = isnan(s->sequence) || s->sequence < 0 || s->sequence > 1e15
			      ? (*next / MAX_REPEATS + 1) * MAX_REPEATS
			      : (uint64_t)s->sequence * MAX_REPEATS;

	if (!isnan(s->sequence) && *next / MAX_REPEATS == at / MAX_REPEATS)
		at = *next + 1;
	return *next = at;
}

static bool add_collective(struct collecting *w, uint32_t launch, uint64_t step)
{
	const struct sonde_launch *l = &w->f->l->launches.at[launch];
	const struct sonde_record *rec = &w->f->r->records.at[launch];
	const struct collective_facts s = describe_collective(w, launch);
	enum sonde_collective_kind kind =
		collective_kind_of(sonde_records_str(w->f->r, sonde_record_function(w->f->r, rec)->name));
	uint32_t string, group = find_group(w, rec, &s, &string);
	uint64_t number;

	if (group == SONDE_NONE)
		return false;
	number = next_number(&w->next.at[group], &s);
	if (sonde_hash(&number, sizeof(number)) % step)
		return true;
	if (s.name.n && (kind == SONDE_COLLECTIVE_OTHER || kind == SONDE_COLLECTIVE_SEND_RECV))
		kind = collective_kind_of(s.name) == SONDE_COLLECTIVE_OTHER ? kind : collective_kind_of(s.name);
	return sonde_vec_put(&w->f->c->collectives,
		(struct sonde_collective){.scope = l->scope,
			.folded_scope = SONDE_NONE,
			.place = l->state == SONDE_LAUNCH_TAKEN ? l->place : 0,
			.group = string,
			.kind = (uint8_t)kind,
			.number = number,
			.start_ns = rec->time.start_ns,
			.end_ns = rec->time.end_ns,
			.nr_bytes = s.nr_bytes > 0 && s.nr_bytes < 1e18 ? (uint64_t)s.nr_bytes : 0});
}

/* Whether the input of a launch has all its collectives: if some are missing, numbers by order are wrong. */
static bool has_all(const struct sonde_folding *f, size_t launch)
{
	uint32_t process = f->l->scopes.at[f->l->launches.at[launch].scope].process;

	return !f->r->inputs.at[f->r->processes.at[process].input].is_cut_anywhere;
}

static bool is_collective(const struct sonde_folding *f, size_t launch)
{
	const struct sonde_record *rec = &f->r->records.at[launch];

	return sonde_fold__communicates(f, rec) && rec->when == SONDE_NOW && rec->time.end_ns &&
	       rec->time.end_ns >= rec->time.start_ns && has_all(f, launch);
}

/*
 * Sorts and adds the collectives of one scope. Steps are powers of two, so a collective that is kept with a larger step
 * is kept with a smaller one too.
 */
static bool add_collectives_of(struct collecting *w, uint32_t scope, struct sonde_keyed *stamps, size_t nr)
{
	struct sonde_scope_sum *sum = &w->f->c->sums.at[scope];
	uint64_t step = 1;
	size_t i;
	bool ok = sonde_keysort(stamps, nr);

	while (nr / step > SONDE_MAX_COLLECTIVES)
		step *= 2;
	sum->collectives = nr;
	sum->collective_step = nr ? (uint32_t)step : 0;
	for (i = 0; i < nr && ok; i++)
		ok = add_collective(w, stamps[i].index, step);
	sonde_map_release(&w->groups);
	w->groups = (struct sonde_map){0};
	w->next.nr = 0;
	return ok;
}

static bool add_all_collectives(struct collecting *w, size_t nr)
{
	const struct sonde_launches *l = w->f->l;
	struct sonde_keyed *stamps = sonde_malloc((nr + 1) * sizeof(*stamps));
	size_t *first = sonde_calloc(l->scopes.nr + 2, sizeof(*first)), i;
	bool ok = stamps && first && sonde_values_init(&w->values, w->f->r, NULL) == 0;

	for (i = 0; ok && i < l->launches.nr; i++)
		first[l->launches.at[i].scope + 2] += is_collective(w->f, i);
	for (i = 2; ok && i < l->scopes.nr + 2; i++)
		first[i] += first[i - 1];
	for (i = 0; ok && i < l->launches.nr; i++)
		if (is_collective(w->f, i))
			stamps[first[l->launches.at[i].scope + 1]++] = (struct sonde_keyed){
				w->f->r->records.at[i].time.start_ns, (uint32_t)i};
	for (i = 0; ok && i < l->scopes.nr; i++)
		ok = add_collectives_of(w, (uint32_t)i, &stamps[first[i]], first[i + 1] - first[i]);
	sonde_free(stamps);
	sonde_free(first);
	return ok;
}

bool sonde_fold__collectives(struct sonde_folding *f)
{
	struct collecting w = {.f = f,
		.group = sonde_records_metric(f->r, SONDE_METRIC_GROUP),
		.name = sonde_records_metric(f->r, SONDE_METRIC_COLLECTIVE),
		.nr_bytes = sonde_records_metric(f->r, SONDE_METRIC_MESSAGE),
		.sequence = sonde_records_metric(f->r, SONDE_METRIC_SEQUENCE)};
	size_t i, nr = 0;
	bool ok, is_left_out = false;

	for (i = 0; f->communicates && f->r->has_record_times && i < f->l->launches.nr; i++) {
		nr += is_collective(f, i);
		is_left_out |= sonde_fold__communicates(f, &f->r->records.at[i]) && !has_all(f, i);
	}
	if (is_left_out)
		sonde_note(&f->c->notes,
			"collectives are not compared between ranks: a capture with a budget, or with windows by "
			"time or order, has only some of them; a window of entries (step[100:110]) has the same "
			"ones in every rank");
	ok = !nr || add_all_collectives(&w, nr);
	sonde_values_release(&w.values);
	sonde_vec_release(&w.next);
	sonde_arena_release(&w.arena);
	return ok;
}

/*
 * Exposed communication.
 *
 * Communication is the work of NCCL kernels (`nccl…`). It is exposed while no
 * other kernel of the process runs on the device: then the GPU does nothing but
 * wait for other ranks and links.
 */

/* A time in which other kernels ran; `before_ns` is the sum of all such times before it. */
struct stretch {
	uint64_t from_ns, to_ns, before_ns;
};

struct exposure {
	const struct sonde_folding *f;
	const struct sonde_timed_scope *timed;
	SONDE_VEC(struct stretch) compute;
	struct sonde_busy *busy; /* by visit: union of its communication */
};

static const struct sonde_record *record_of(const struct exposure *w, const struct sonde_timed_launch *s)
{
	return &w->f->r->records.at[s->launch];
}

static bool is_compute(const struct exposure *w, const struct sonde_record *rec)
{
	return rec->kind != SONDE_RESULT_MEMCPY && rec->kind != SONDE_RESULT_MEMSET &&
	       !sonde_fold__communicates(w->f, rec);
}

/* Adds a kernel. Kernels come in order of start. */
static bool add_compute(struct exposure *w, const struct sonde_record_time *time)
{
	struct stretch *last = w->compute.nr ? &w->compute.at[w->compute.nr - 1] : NULL;
	uint64_t before = last ? last->before_ns + last->to_ns - last->from_ns : 0;

	if (time->end_ns <= time->start_ns)
		return true;
	if (last && time->start_ns <= last->to_ns) {
		last->to_ns = time->end_ns > last->to_ns ? time->end_ns : last->to_ns;
		return true;
	}
	return sonde_vec_put(&w->compute, (struct stretch){time->start_ns, time->end_ns, before});
}

/* The time in which other kernels ran, up to `ns`. */
static uint64_t compute_until(const struct exposure *w, uint64_t ns)
{
	size_t low = 0;
	const struct stretch *s;

	sonde_bisect(low, w->compute.nr, mid, w->compute.at[mid].from_ns < ns);
	if (!low)
		return 0;
	s = &w->compute.at[low - 1];
	return s->before_ns + (ns < s->to_ns ? ns : s->to_ns) - s->from_ns;
}

static void add_comm(
	struct exposure *w, uint32_t visit, const struct sonde_record_time *time, bool is_counted)
{
	struct sonde_times *times = &w->timed->at[visit].times;
	struct sonde_busy *busy = &w->busy[visit];
	uint64_t from = time->start_ns, hidden;

	if (!busy->is_used)
		times->comm_ns = times->exposed_ns = 0;
	else if (busy->last_ns > from)
		from = busy->last_ns;
	sonde_busy__extend(busy, time);
	if (time->end_ns <= from || !is_counted)
		return;
	hidden = compute_until(w, time->end_ns) - compute_until(w, from);
	times->comm_ns += (double)(time->end_ns - from);
	times->exposed_ns += (double)(time->end_ns - from - hidden);
}

/* Adds the communication of a launch to every region it is in. */
static void add_comm_of_launch(struct exposure *w, const struct sonde_timed_launch *s)
{
	const struct sonde_launches *l = w->f->l;
	uint32_t region;

	SONDE_EACH_REGION(l, l->launches.at[s->launch].place, region)
		add_comm(w, w->timed->of[region], &s->time, record_of(w, s)->when == SONDE_NOW);
}

bool sonde_exposed__scope(const struct sonde_folding *f, const struct sonde_timed_scope *timed)
{
	struct exposure w = {.f = f, .timed = timed};
	const struct sonde_timed_launch *stamps = timed->launches;
	size_t nr = timed->nr_launches, i;
	bool ok = true;

	if (!f->communicates)
		return true;
	w.busy = sonde_calloc(timed->nr + 1, sizeof(*w.busy));
	for (i = 0; i < nr && ok; i++)
		if (is_compute(&w, record_of(&w, &stamps[i])))
			ok = add_compute(&w, &stamps[i].time);
	for (i = 0; i < nr && ok && w.busy; i++)
		if (f->l->launches.at[stamps[i].launch].state == SONDE_LAUNCH_TAKEN &&
			sonde_fold__communicates(f, record_of(&w, &stamps[i])))
			add_comm_of_launch(&w, &stamps[i]);
	ok = ok && w.busy;
	sonde_free(w.busy);
	sonde_vec_release(&w.compute);
	return ok;
}
