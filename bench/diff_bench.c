/*
 * Measures how long a comparison of very many regions takes.
 *
 *   build/bench/diff_bench [REGIONS [ENTRIES]]     defaults 200000 and 20
 *
 * Both sides are made in memory, so that reading and folding are not measured: a root with REGIONS
 * regions below it, times with 5 % noise, and one region in a thousand is 10 % slower.
 */
#include "base/alloc.h"
#include "compare/diff.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct side {
	struct sonde_cells cells;
	struct sonde_tree tree;
	struct sonde_arena arena;
	uint64_t seed;
};

static void *must(void *p)
{
	if (!p) {
		fputs("out of memory\n", stderr);
		exit(1);
	}
	return p;
}

static double uniform(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return ((double)(*seed >> 33) + 0.5) / 2147483648.0;
}

static double normal(uint64_t *seed)
{
	return sqrt(-2 * log(uniform(seed))) * cos(6.283185307179586 * uniform(seed));
}

static void add_entries(struct side *s, struct sonde_visit *v, size_t nr, double scale)
{
	size_t i;

	v->first_entry = (uint32_t)s->cells.entries.nr;
	v->nr_entries = (uint32_t)nr;
	v->entry_step = 1;
	for (i = 0; i < nr; i++) {
		struct sonde_entry *e = must(sonde_vec_push(&s->cells.entries));

		e->gpu_ns = (uint64_t)(scale * exp(0.05 * normal(&s->seed)));
		e->host_ns = e->gpu_ns * 2;
		e->wall_ns = e->host_ns;
	}
}

static void add_region(struct side *s, size_t i, size_t nr_entries, bool is_new)
{
	struct sonde_region *g = must(sonde_vec_push(&s->cells.regions));
	struct sonde_node *n = must(sonde_vec_push(&s->tree.reports.at[0].nodes));
	struct sonde_visit *v = must(sonde_vec_push(&s->cells.visits));
	double scale = 1e5 * (is_new && i % 1000 == 7 ? 1.1 : 1);

	g->id = sonde_arena_printf(&s->arena, i ? "root/region%zu" : "root", i);
	g->label = sonde_map_add(&s->cells.strings, g->id, NULL);
	g->domain = SONDE_NONE;
	g->parent = n->parent = i ? 0 : SONDE_NONE;
	g->depth = n->depth = i > 0;
	n->region = v->region = (uint32_t)i;
	n->instances = n->launches = v->instances = nr_entries;
	n->time_ns = scale * (double)nr_entries;
	n->times.host_ns = 2 * n->time_ns;
	add_entries(s, v, nr_entries, scale);
}

static void make(struct side *s, size_t nr_regions, size_t nr_entries, bool is_new)
{
	struct sonde_scope *scope = must(sonde_vec_push(&s->cells.scopes));
	struct sonde_report *r = must(sonde_vec_push(&s->tree.reports));
	size_t i;

	scope->name = SONDE_STR("process:1/device:0");
	s->seed = is_new ? 2 : 1;
	s->tree.cells = &s->cells;
	r->is_aggregate = true;
	r->nr_scopes = 1;
	r->all_launches = nr_regions * nr_entries;
	for (i = 0; i < nr_regions; i++)
		add_region(s, i, nr_entries, is_new);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	size_t nr_regions = argc > 1 ? strtoul(argv[1], NULL, 10) : 200000;
	size_t nr_entries = argc > 2 ? strtoul(argv[2], NULL, 10) : 20;
	static struct side a, b;
	const struct sonde_tree *base = &a.tree, *new_tree = &b.tree;
	const struct sonde_diff_options o = {.min_effect = 0.02};
	struct sonde_diff *d = NULL;
	struct sonde_err err = {0};
	double start;

	make(&a, nr_regions, nr_entries, false);
	make(&b, nr_regions, nr_entries, true);
	start = now();
	if (sonde_diff_build(&d, &(struct sonde_diff_side){&base, 1},
		    &(struct sonde_diff_side){&new_tree, 1}, &o, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	printf("diff: %zu regions of %zu entries a side: %.2f s; %u slower, %u faster, %u same, "
	       "%u insufficient\n",
		nr_regions, nr_entries, now() - start, d->nr_by_verdict[SONDE_VERDICT_SLOWER],
		d->nr_by_verdict[SONDE_VERDICT_FASTER], d->nr_by_verdict[SONDE_VERDICT_SAME],
		d->nr_by_verdict[SONDE_VERDICT_INSUFFICIENT]);
	sonde_diff_free(d);
	return 0;
}
