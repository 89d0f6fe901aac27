/*
 * Scopes: one per process and device. Replayed ranges get a scope of their own
 * beside the kernels of the same process and device, as the two are never summed.
 */
#include "attribute/launches_int.h"

#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *sonde_measured_name(enum sonde_measured m)
{
	static const char *const names[] = {"kernel", "range", "app-range"};

	return names[m];
}

static enum sonde_measured measured_of(
	const struct sonde_records *r, const struct sonde_record *rec)
{
	const struct sonde_input *in = &r->inputs.at[r->processes.at[rec->process].input];

	if (rec->kind != SONDE_RESULT_RANGE)
		return SONDE_MEASURED_KERNEL;
	return sonde_str_is(in->replay_mode, "app-range") ? SONDE_MEASURED_APP_RANGE
							  : SONDE_MEASURED_RANGE;
}

static int add_scope(struct sonde_build *b, const struct sonde_scope *scope, uint32_t *out,
	struct sonde_err *err)
{
	uint32_t key[3] = {scope->process, scope->device, scope->measured};
	struct sonde_scope *slot;
	bool is_new;

	*out = sonde_build__key(b, &b->scope_keys, key, 3, &is_new);
	if (*out == SONDE_NONE)
		return sonde_err_nomem(err);
	if (!is_new)
		return 0;
	slot = sonde_vec_push(&b->l->scopes);
	if (!slot)
		return sonde_err_nomem(err);
	*slot = *scope;
	return 0;
}

/* By pid, host and input: the order of scopes does not depend on file layout. */
static int by_process(const void *a, const void *b, void *processes)
{
	const struct sonde_scope *x = a, *y = b;
	const struct sonde_process *p = (const struct sonde_process *)processes + x->process;
	const struct sonde_process *q = (const struct sonde_process *)processes + y->process;
	int c;

	if (p->has_rank != q->has_rank)
		return p->has_rank ? -1 : 1;
	if (p->has_rank && p->rank != q->rank)
		return p->rank < q->rank ? -1 : 1;
	if (p->pid != q->pid)
		return p->pid < q->pid ? -1 : 1;
	c = sonde_str_cmp(p->host, q->host);
	if (c || p->input != q->input)
		return c ? c : p->input < q->input ? -1 : 1;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return (int)x->measured - (int)y->measured;
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

/* Sorted scopes: processes named alike are neighbours. */
static bool is_name_twice(
	const struct sonde_scope *scopes, size_t nr, const struct sonde_process *processes, size_t i)
{
	const struct sonde_process *p = &processes[scopes[i].process];
	size_t k;

	for (k = i; k-- > 0 && are_named_alike(&processes[scopes[k].process], p);)
		if (scopes[k].process != scopes[i].process)
			return true;
	for (k = i + 1; k < nr && are_named_alike(&processes[scopes[k].process], p); k++)
		if (scopes[k].process != scopes[i].process)
			return true;
	return false;
}

static bool are_of_one_device(const struct sonde_scope *a, const struct sonde_scope *b)
{
	return a->process == b->process && a->device == b->device;
}

/* rank 2 · node3 · GPU 1: a rank is what people know a process of a job by. */
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
	const struct sonde_process *p, bool is_twice, bool has_both)
{
	const char *ranges = has_both && s->measured != SONDE_MEASURED_KERNEL ? "/ranges" : "";
	char device[32] = "host", input[32] = "";

	if (s->nr_folded) /* what differs in kind, another GPU say, is added up apart */
		return sonde_arena_printf(
			arena, is_twice ? "rest:%u/input:%u" : "rest:%u", s->nr_folded, p->input + 1);
	if (p->has_rank)
		return rank_name(arena, s, p, is_twice, ranges);
	if (s->device != SONDE_NONE)
		snprintf(device, sizeof(device), "device:%u", s->device);
	if (is_twice)
		snprintf(input, sizeof(input), "/input:%u", p->input + 1);
	return sonde_arena_printf(arena, "process:%llu/%s%s%s", (unsigned long long)p->pid, device,
		input, ranges);
}

bool sonde_scopes_name(struct sonde_scope *scopes, size_t nr, const struct sonde_process *processes,
	struct sonde_arena *arena)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		struct sonde_scope *s = &scopes[i];
		bool has_both = (i && are_of_one_device(s, s - 1)) ||
				(i + 1 < nr && are_of_one_device(s, s + 1));

		s->name = scope_name(arena, s, &processes[s->process],
			is_name_twice(scopes, nr, processes, i), has_both);
		if (!s->name.p)
			return false;
	}
	return true;
}

/* Processes that only pushed ranges are scopes too. */
static int add_host_scopes(struct sonde_build *b, struct sonde_err *err)
{
	bool *has = sonde_calloc(b->r->processes.nr, sizeof(*has));
	uint32_t number;
	size_t i;
	int rc = has ? 0 : sonde_err_nomem(err);

	for (i = 0; rc == 0 && i < b->l->scopes.nr; i++)
		has[b->l->scopes.at[i].process] = true;
	for (i = 0; rc == 0 && i < b->r->ranges.nr; i++) {
		struct sonde_scope scope = {
			.process = b->r->ranges.at[i].process, .device = SONDE_NONE};

		if (has[scope.process])
			continue;
		has[scope.process] = true;
		rc = add_scope(b, &scope, &number, err);
	}
	sonde_free(has);
	return rc;
}

int sonde_build__scopes(struct sonde_build *b, struct sonde_err *err)
{
	uint32_t *rank = NULL, number, key[3];
	struct sonde_scope *s;
	size_t i;
	int rc = 0;

	for (i = 0; rc == 0 && i < b->r->records.nr; i++) {
		const struct sonde_record *rec = &b->r->records.at[i];
		struct sonde_scope scope = {.process = rec->process,
			.device = rec->device,
			.measured = (uint8_t)measured_of(b->r, rec)};

		rc = add_scope(b, &scope, &b->l->launches.at[i].scope, err);
	}
	if (rc == 0)
		rc = add_host_scopes(b, err);
	if (rc || !b->l->scopes.nr)
		return rc;
	sonde_scopes_sort(b->l->scopes.at, b->l->scopes.nr, b->r->processes.at);
	rank = sonde_calloc(b->l->scopes.nr, sizeof(*rank));
	if (!rank)
		return sonde_err_nomem(err);
	for (i = 0; i < b->l->scopes.nr; i++) {
		s = &b->l->scopes.at[i];
		memcpy(key, (uint32_t[3]){s->process, s->device, s->measured}, sizeof(key));
		number = sonde_map_find(&b->scope_keys, SONDE_BYTES(key));
		rank[number] = (uint32_t)i;
	}
	for (i = 0; i < b->l->launches.nr; i++)
		b->l->launches.at[i].scope = rank[b->l->launches.at[i].scope];
	sonde_free(rank);
	return sonde_scopes_name(
		       b->l->scopes.at, b->l->scopes.nr, b->r->processes.at, &b->l->arena)
		       ? 0
		       : sonde_err_nomem(err);
}

/* Counting entries per scope and region. */
struct counting {
	bool *seen[2];		  /* by range: counted in some scope; [1] of replayed ranges */
	uint32_t *scope_of;	  /* by range: the first that counted it, SONDE_NONE = none yet */
	uint32_t *set_scope;	  /* by set of open ranges: the last scope that counted them */
	bool *is_multi;		  /* by process: has several scopes */
	uint32_t *first_scope;	  /* by process */
	struct sonde_map visited; /* {range, scope}, only where a process has several scopes */
	struct sonde_map keys;	  /* {scope, region} → number in the presences */
};

/* A region is known in a scope, entered or not. NULL: no memory. */
static struct sonde_presence *make_presence(
	struct sonde_build *b, struct counting *c, uint32_t scope, uint32_t region)
{
	uint32_t key[2] = {scope, region}, number;
	struct sonde_presence *p;
	bool is_new;

	number = sonde_build__key(b, &c->keys, key, 2, &is_new);
	if (number == SONDE_NONE)
		return NULL;
	p = is_new ? sonde_vec_push(&b->l->presences) : &b->l->presences.at[number];
	if (p && is_new)
		*p = (struct sonde_presence){.scope = scope, .region = region};
	return p;
}

static bool count_one(
	struct sonde_build *b, struct counting *c, uint32_t range, uint32_t scope, bool is_first)
{
	struct sonde_presence *p =
		make_presence(b, c, scope, b->stacks.at[b->stack_of[range]].region);

	if (!p)
		return false;
	p->instances++;
	p->first_instances += is_first && !b->r->ranges.at[range].is_inherited;
	return true;
}

/* Counts an entry and those around it, unless this scope has counted them already. */
static bool count_entry(struct sonde_build *b, struct counting *c, uint32_t range, uint32_t scope)
{
	bool *seen = c->seen[b->l->scopes.at[scope].measured != SONDE_MEASURED_KERNEL];

	for (; range != SONDE_NONE; range = b->r->ranges.at[range].parent) {
		bool is_first = !seen[range], is_new = is_first;

		if (c->is_multi[b->r->ranges.at[range].process]) {
			uint32_t key[2] = {range, scope};

			if (sonde_build__key(b, &c->visited, key, 2, &is_new) == SONDE_NONE)
				return false;
		}
		if (!is_new)
			return true;
		seen[range] = true;
		if (c->scope_of[range] == SONDE_NONE)
			c->scope_of[range] = scope;
		if (!count_one(b, c, range, scope, is_first))
			return false;
	}
	return true;
}

/*
 * A launch that hangs below where it was written may be in regions nobody entered in its scope.
 * The kind of a region does not tell: another process may have entered it.
 */
static bool count_homes(struct sonde_build *b, struct counting *c, const struct sonde_launch *x)
{
	const struct sonde_place *place = &b->l->places.at[x->place];
	uint32_t k;

	for (k = 0; k < place->nr; k++)
		if (!make_presence(b, c, x->scope, b->l->homes.at[place->first + k]))
			return false;
	return true;
}

/* An entry nobody launched anything in goes where the one around it is. Parents come first. */
static bool count_idle_entry(struct sonde_build *b, struct counting *c, uint32_t range)
{
	const struct sonde_range *at = &b->r->ranges.at[range];
	uint32_t scope =
		at->parent == SONDE_NONE ? c->first_scope[at->process] : c->scope_of[at->parent];

	c->scope_of[range] = scope;
	return count_one(b, c, range, scope, true);
}

static bool count_all(struct sonde_build *b, struct counting *c)
{
	const struct sonde_records *r = b->r;
	size_t i, k;

	for (i = 0; i < r->records.nr; i++) {
		const struct sonde_launch *launch = &b->l->launches.at[i];
		const uint32_t *members;
		struct sonde_set set = sonde_launches_set(b->l, launch->open, &members);

		if (b->hung && b->hung[i].stack != SONDE_NONE && !count_homes(b, c, launch))
			return false;
		if (c->set_scope[launch->open] == launch->scope)
			continue;
		c->set_scope[launch->open] = launch->scope;
		for (k = 0; k < set.nr; k++)
			if (!count_entry(b, c, members[k], launch->scope))
				return false;
	}
	for (i = 0; i < r->ranges.nr; i++)
		if (c->scope_of[i] == SONDE_NONE && !count_idle_entry(b, c, (uint32_t)i))
			return false;
	return true;
}

static int by_scope_and_region(const void *a, const void *b)
{
	const struct sonde_presence *x = a, *y = b;

	if (x->scope != y->scope)
		return x->scope < y->scope ? -1 : 1;
	return x->region < y->region ? -1 : x->region > y->region;
}

/*
 * How often each region was entered, per scope: an entry counts in every scope
 * it launched something in, one without launches where the one around it counts
 * first, an outermost one in its process's first scope.
 */
int sonde_build__presences(struct sonde_build *b, struct sonde_err *err)
{
	struct counting c = {0};
	size_t i, nr_sets = b->r->sets.nr + b->l->sets.nr;
	int rc = 0;

	c.seen[0] = sonde_calloc(b->r->ranges.nr, sizeof(*c.seen[0]));
	c.seen[1] = sonde_calloc(b->r->ranges.nr, sizeof(*c.seen[1]));
	c.is_multi = sonde_calloc(b->r->processes.nr, sizeof(*c.is_multi));
	c.first_scope = sonde_calloc(b->r->processes.nr, sizeof(*c.first_scope));
	c.scope_of = sonde_malloc((b->r->ranges.nr + 1) * sizeof(*c.scope_of));
	c.set_scope = sonde_malloc((nr_sets + 1) * sizeof(*c.set_scope));
	if (!c.seen[0] || !c.seen[1] || !c.is_multi || !c.first_scope || !c.scope_of ||
		!c.set_scope)
		rc = sonde_err_nomem(err);
	if (rc == 0) {
		memset(c.scope_of, 0xff, b->r->ranges.nr * sizeof(*c.scope_of));
		memset(c.set_scope, 0xff, nr_sets * sizeof(*c.set_scope));
	}
	for (i = b->l->scopes.nr; rc == 0 && i-- > 0;) {
		uint32_t process = b->l->scopes.at[i].process;

		c.first_scope[process] = (uint32_t)i;
		c.is_multi[process] = i > 0 && b->l->scopes.at[i - 1].process == process
					      ? true
					      : c.is_multi[process];
	}
	if (rc == 0 && !count_all(b, &c))
		rc = sonde_err_nomem(err);
	if (rc == 0 && b->l->presences.nr)
		qsort(b->l->presences.at, b->l->presences.nr, sizeof(*b->l->presences.at),
			by_scope_and_region);
	sonde_map_release(&c.visited);
	sonde_map_release(&c.keys);
	sonde_free(c.seen[0]);
	sonde_free(c.seen[1]);
	sonde_free(c.scope_of);
	sonde_free(c.set_scope);
	sonde_free(c.is_multi);
	sonde_free(c.first_scope);
	return rc;
}
