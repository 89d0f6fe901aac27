/*
 * Scopes: one per process and device. Replayed ranges get a scope of their own
 * beside the kernels of the same process and device, as the two are never summed.
 */
#include "attribute/launches_int.h"

#include <stdio.h>
#include <stdlib.h>

const char *sonde_measured_name(enum sonde_measured m)
{
	static const char *const names[] = {"kernel", "range", "app-range"};

	return names[m];
}

static enum sonde_measured measured_of(
	const struct sonde_records *r, const struct sonde_record *rec)
{
	const struct sonde_input *in;

	if (rec->kind != SONDE_RESULT_RANGE)
		return SONDE_MEASURED_KERNEL;
	in = &r->inputs.at[r->processes.at[sonde_record_caller(r, rec)->process].input];
	return sonde_str_is(in->replay_mode, "app-range") ? SONDE_MEASURED_APP_RANGE
							  : SONDE_MEASURED_RANGE;
}

static uint32_t add_scope(struct sonde_build *b, const struct sonde_scope *scope)
{
	uint32_t key[3] = {scope->process, scope->device, scope->measured};
	bool is_new;
	uint32_t number = sonde_build__key(&b->arena, &b->scope_keys, key, 3, &is_new);

	if (is_new)
		sonde_put(&b->l->arena, &b->l->scopes, *scope);
	b->arena.failed |= number >= SONDE_MAX_SCOPES;
	return number;
}

/* Most records have the scope of the previous record. */
uint32_t sonde_build__scope(struct sonde_build *b, const struct sonde_record *rec)
{
	uint8_t measured = (uint8_t)measured_of(b->r, rec);
	const struct sonde_scope *last = b->l->scopes.nr ? &b->l->scopes.at[b->last_scope] : NULL;
	uint32_t process = sonde_record_caller(b->r, rec)->process,
		 device = sonde_record_queue(b->r, rec)->device;

	if (last && last->process == process && last->device == device &&
		last->measured == measured)
		return b->last_scope;
	b->last_scope = add_scope(
		b, &(struct sonde_scope){.process = process, .device = device, .measured = measured});
	return b->last_scope;
}

/* Ranks first, then by pid, host and input, so that the order of scopes does not depend on the order in the file. */
static int by_process(const void *a, const void *b, void *processes)
{
	const struct sonde_scope *x = a, *y = b;
	const struct sonde_process *p = (const struct sonde_process *)processes + x->process;
	const struct sonde_process *q = (const struct sonde_process *)processes + y->process;
	int c = sonde_cmp(q->has_rank, p->has_rank);

	c = c || !p->has_rank ? c : sonde_cmp(p->rank, q->rank);
	c = c ? c : sonde_cmp(p->pid, q->pid);
	c = c ? c : sonde_str_cmp(p->host, q->host);
	c = c ? c : sonde_cmp(p->input, q->input);
	c = c ? c : sonde_cmp(x->device, y->device);
	return c ? c : sonde_cmp(x->measured, y->measured);
}

void sonde_scopes_sort(struct sonde_scope *scopes, size_t nr, const struct sonde_process *processes)
{
	if (nr)
		qsort_r(scopes, nr, sizeof(*scopes), by_process, (void *)(uintptr_t)processes);
}

/* Whether two processes would be named alike. */
static bool are_named_alike(const struct sonde_process *p, const struct sonde_process *q)
{
	if (p->has_rank || q->has_rank)
		return p->has_rank && q->has_rank && p->rank == q->rank;
	return p->pid == q->pid;
}

/*
 * Counts the scopes, from the first on, whose processes are named like that of the first; they are neighbours in
 * sorted scopes. Sets `*are_several` if they belong to more than one process.
 */
static size_t count_alike(
	const struct sonde_scope *scopes, size_t nr, const struct sonde_process *processes, bool *are_several)
{
	size_t i;

	*are_several = false;
	for (i = 1; i < nr && are_named_alike(&processes[scopes[0].process], &processes[scopes[i].process]); i++)
		*are_several |= scopes[i].process != scopes[0].process;
	return i;
}

static bool are_of_one_device(const struct sonde_scope *a, const struct sonde_scope *b)
{
	return a->process == b->process && a->device == b->device;
}

/* "rank 2 · node3 · GPU 1": people know the processes of a job by their ranks. */
static struct sonde_str rank_name(struct sonde_arena *arena, const struct sonde_scope *s,
	const struct sonde_process *p, bool is_twice, const char *ranges)
{
	char device[32] = "no GPU", process[80] = "";

	if (s->device != SONDE_NONE)
		snprintf(device, sizeof(device), "GPU %u", s->device);
	if (is_twice)
		snprintf(process, sizeof(process), " · process %llu of input %u",
			(unsigned long long)p->pid, p->input + 1);
	return sonde_arena_printf(arena, "rank %u%s%.*s · %s%s%s", p->rank,
		p->host.n ? " · " : "", SONDE_STR_ARG(p->host), device, process, ranges);
}

static struct sonde_str scope_name(struct sonde_arena *arena, const struct sonde_scope *s,
	const struct sonde_process *p, bool is_twice, bool has_both, bool has_host)
{
	const char *ranges = has_both && s->measured != SONDE_MEASURED_KERNEL ? "/ranges" : "";
	const struct sonde_str host = has_host ? p->host : SONDE_STR("");
	char device[32] = "host", input[32] = "";

	if (s->nr_folded) /* there may be several of these: scopes of another kind, for example GPU, are added up separately */
		return sonde_arena_printf(
			arena, is_twice ? "rest:%u/input:%u" : "rest:%u", s->nr_folded, p->input + 1);
	if (p->has_rank)
		return rank_name(arena, s, p, is_twice, ranges);
	if (s->device != SONDE_NONE)
		snprintf(device, sizeof(device), "device:%u", s->device);
	if (is_twice)
		snprintf(input, sizeof(input), "/input:%u", p->input + 1);
	return sonde_arena_printf(arena, "process:%llu/%s%s%s%.*s%s", (unsigned long long)p->pid, device,
		input, has_host ? "/host:" : "", SONDE_STR_ARG(host), ranges);
}

/* If `has_host` is NULL, names all scopes without their host; else names the marked scopes, with their host. */
static void name_scopes(struct sonde_scope *scopes, size_t nr, const struct sonde_process *processes,
	const bool *has_host, struct sonde_arena *arena)
{
	bool are_several = false;
	size_t i, end = 0;

	for (i = 0; i < nr; i++) {
		struct sonde_scope *s = &scopes[i];
		bool has_both = (i && are_of_one_device(s, s - 1)) ||
				(i + 1 < nr && are_of_one_device(s, s + 1));

		if (i == end)
			end += count_alike(s, nr - i, processes, &are_several);
		if (has_host && !has_host[i])
			continue;
		s->name = scope_name(arena, s, &processes[s->process], are_several, has_both, has_host);
	}
}

/* Marks scopes that share their name with another. */
static void find_alike(const struct sonde_scope *scopes, size_t nr, bool *is_alike, struct sonde_arena *work)
{
	struct sonde_map names = {0};
	SONDE_VEC(uint32_t) first = {0}; /* by number in `names`: the first scope with the name */
	bool is_new;
	size_t i;

	for (i = 0; i < nr; i++) {
		uint32_t number = sonde_intern(work, &names, scopes[i].name, &is_new);
		uint32_t *slot = sonde_slot(work, &first, number);

		if (is_new)
			*slot = (uint32_t)i;
		else
			is_alike[i] = is_alike[*slot] = true;
	}
}

/* Adds " #2", " #3", … to names that are still alike, as a host may have any name. */
static void number_names(
	struct sonde_scope *scopes, size_t nr, struct sonde_arena *arena, struct sonde_arena *work)
{
	struct sonde_map names = {0};
	bool is_new;
	unsigned times;
	size_t i;

	for (i = 0; i < nr; i++) {
		struct sonde_str plain = scopes[i].name;

		sonde_intern(work, &names, plain, &is_new);
		for (times = 2; !is_new && !work->failed && !arena->failed; times++) {
			scopes[i].name = sonde_arena_printf(arena, "%.*s #%u", SONDE_STR_ARG(plain), times);
			sonde_intern(work, &names, scopes[i].name, &is_new);
		}
	}
}

/* Processes of several hosts in one input may have the same pid, so names that are alike get the host too. */
bool sonde_scopes_name(struct sonde_scope *scopes, size_t nr, const struct sonde_process *processes,
	struct sonde_arena *arena)
{
	struct sonde_arena work = {0};
	bool *is_alike = sonde_arena_calloc(&work, nr, sizeof(*is_alike));

	if (is_alike) {
		name_scopes(scopes, nr, processes, NULL, arena);
		find_alike(scopes, nr, is_alike, &work);
		name_scopes(scopes, nr, processes, is_alike, arena);
		number_names(scopes, nr, arena, &work);
	}
	arena->failed |= work.failed;
	sonde_arena_release(&work);
	return !arena->failed;
}

/* A process that only pushed ranges gets a scope without a device. */
static void add_host_scopes(struct sonde_build *b)
{
	bool *has = sonde_arena_calloc(&b->step, b->r->processes.nr, sizeof(*has));
	size_t i;

	for (i = 0; has && i < b->l->scopes.nr; i++)
		has[b->l->scopes.at[i].process] = true;
	for (i = 0; has && i < b->r->ranges.nr; i++) {
		struct sonde_scope scope = {
			.process = b->r->ranges.at[i].process, .device = SONDE_NONE};

		if (has[scope.process])
			continue;
		has[scope.process] = true;
		add_scope(b, &scope);
	}
}

/* Sorts the scopes and renumbers those of launches, which are numbered in the order of first use. */
static void sort_scopes(struct sonde_build *b)
{
	uint32_t *rank = sonde_arena_calloc(&b->step, b->l->scopes.nr, sizeof(*rank));
	bool has_moved = false;
	size_t i;

	if (sonde_build__failed(b))
		return;
	sonde_scopes_sort(b->l->scopes.at, b->l->scopes.nr, b->r->processes.at);
	for (i = 0; i < b->l->scopes.nr; i++) {
		const struct sonde_scope *s = &b->l->scopes.at[i];
		const uint32_t key[3] = {s->process, s->device, s->measured};
		uint32_t number = sonde_map_find(&b->scope_keys, SONDE_BYTES(key));

		rank[number] = (uint32_t)i;
		has_moved |= number != i;
	}
	for (i = 0; i < b->l->launches.nr && has_moved; i++)
		b->l->launches.at[i].scope = rank[b->l->launches.at[i].scope];
}

int sonde_build__scopes(struct sonde_build *b, struct sonde_err *err)
{
	add_host_scopes(b);
	sort_scopes(b);
	sonde_scopes_name(b->l->scopes.at, b->l->scopes.nr, b->r->processes.at, &b->l->arena);
	return sonde_build__status(b, err);
}
