/*
 * Measures how often a comparison is wrong, and how often it finds a real difference, for the noise models of
 * tests/tools/noise_models.h.
 *
 *   build/bench/diff_rates [FAMILIES [RUNS [ENTRIES [MODEL]]]]     defaults 200, 1, 30, all
 *
 * A family is a comparison of a program of 41 regions with itself, with RUNS runs per side. The program prints the number of families
 * in which a region is called different (`alarm`), is called likely different (`likely`), and a gate of 2 % on every region fails
 * (`gate`). Then one region of the new side is made 5 % and 10 % slower: it prints the number of families in which that is found, with
 * either verdict, and of those in which the 95 % interval contains it. Seeds are fixed, so the figures are the same every time.
 */
#include "base/alloc.h"
#include "compare/diff.h"

#include "../tests/tools/noise_models.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOW	  13
#define MOST_RUNS 16

struct made_run {
	struct sonde_cells cells;
	struct sonde_tree tree;
	struct sonde_arena arena;
};

static void *must(void *p)
{
	if (!p) {
		fputs("out of memory\n", stderr);
		exit(1);
	}
	return p;
}

static void add_region(struct made_run *s, size_t r, const double *times, size_t nr)
{
	struct sonde_region *g = must(sonde_vec_push(&s->cells.regions));
	struct sonde_node *n = must(sonde_vec_push(&s->tree.reports.at[0].nodes));
	struct sonde_visit *v = must(sonde_vec_push(&s->cells.visits));
	bool is_loop = r == NOISE_REGIONS;
	size_t i;

	g->id = is_loop ? SONDE_STR("loop") : sonde_arena_printf(&s->arena, "loop/r%zu", r);
	g->label = sonde_map_add(&s->cells.strings, g->id, NULL);
	g->domain = SONDE_NONE;
	g->parent = n->parent = is_loop ? SONDE_NONE : 0;
	g->depth = n->depth = !is_loop;
	n->region = v->region = (uint32_t)(s->cells.regions.nr - 1);
	n->instances = n->launches = v->instances = nr;
	v->first_entry = (uint32_t)s->cells.entries.nr;
	v->nr_entries = (uint32_t)nr;
	v->entry_step = 1;
	for (i = 0; i < nr; i++) {
		struct sonde_entry *e = must(sonde_vec_push(&s->cells.entries));

		e->gpu_ns = e->host_ns = (uint64_t)times[i];
		e->wall_ns = SONDE_NO_WALL;
		n->time_ns += times[i];
	}
	n->times.host_ns = n->time_ns;
	n->times.wall_ns = NAN; /* GPU time is enough for this question */
}

static void make_run(struct made_run *s, const struct noise_model *m, size_t nr, double by, uint64_t *seed)
{
	struct sonde_scope *scope = must(sonde_vec_push(&s->cells.scopes));
	struct sonde_report *r = must(sonde_vec_push(&s->tree.reports));
	double *times = must(malloc((NOISE_REGIONS + 1) * nr * sizeof(*times)));
	size_t i;

	scope->name = SONDE_STR("process:1/device:0");
	s->tree.cells = &s->cells;
	r->is_aggregate = true;
	r->nr_scopes = 1;
	r->launches = r->all_launches = nr;
	noise_run(times, nr, m, SLOW, by, seed);
	add_region(s, NOISE_REGIONS, times + NOISE_REGIONS * nr, nr);
	for (i = 0; i < NOISE_REGIONS; i++)
		add_region(s, i, times + i * nr, nr);
	free(times);
}

static void release_run(struct made_run *s)
{
	sonde_map_release(&s->cells.strings);
	sonde_vec_release(&s->cells.regions);
	sonde_vec_release(&s->cells.visits);
	sonde_vec_release(&s->cells.entries);
	sonde_vec_release(&s->cells.scopes);
	sonde_vec_release(&s->tree.reports.at[0].nodes);
	sonde_vec_release(&s->tree.reports);
	sonde_arena_release(&s->arena);
}

struct counts {
	size_t alarms, likely, gates, found, held;
};

static bool is_such(const struct sonde_diff_region *r, const char *word)
{
	return strcmp(sonde_verdict_name(r->verdict), word) == 0;
}

static void count(struct counts *c, const struct sonde_diff *d, double by)
{
	bool is_alarm = false, is_likely = false;
	size_t i;

	for (i = 0; i < d->regions.nr; i++) {
		const struct sonde_diff_region *r = &d->regions.at[i];

		is_alarm |= is_such(r, "slower") || is_such(r, "faster");
		is_likely |= is_such(r, "likely_slower") || is_such(r, "likely_faster");
	}
	c->alarms += is_alarm;
	c->likely += is_likely;
	c->gates += d->gate == SONDE_GATE_FAIL;
	c->found += is_such(&d->regions.at[SLOW + 1], "slower") || is_such(&d->regions.at[SLOW + 1], "likely_slower");
	c->held += d->regions.at[SLOW + 1].low <= by && d->regions.at[SLOW + 1].high >= by;
}

static void compare_family(struct counts *c, const struct noise_model *m, size_t runs, size_t nr, double by, uint64_t *seed)
{
	static struct made_run made[2][MOST_RUNS];
	const struct sonde_tree *trees[2][MOST_RUNS];
	const struct sonde_diff_limit limit = {.glob = SONDE_STR("*"), .above = 0.02};
	const struct sonde_diff_options o = {.min_effect = 0.02, .limits = &limit, .nr_limits = 1};
	struct sonde_diff *d = NULL;
	size_t side, i;

	for (side = 0; side < 2; side++)
		for (i = 0; i < runs; i++) {
			made[side][i] = (struct made_run){0};
			make_run(&made[side][i], m, nr, side ? by : 1, seed);
			trees[side][i] = &made[side][i].tree;
		}
	if (sonde_diff_build(&d, &(struct sonde_diff_side){trees[0], runs}, &(struct sonde_diff_side){trees[1], runs}, &o, NULL))
		exit(1);
	count(c, d, by);
	sonde_diff_free(d);
	for (side = 0; side < 2; side++)
		for (i = 0; i < runs; i++)
			release_run(&made[side][i]);
}

static double percent(size_t nr, size_t of)
{
	return 100.0 * (double)nr / (double)of;
}

int main(int argc, char **argv)
{
	size_t families = argc > 1 ? strtoul(argv[1], NULL, 10) : 200, runs = argc > 2 ? strtoul(argv[2], NULL, 10) : 1,
	       nr = argc > 3 ? strtoul(argv[3], NULL, 10) : 30, m, i, k;
	static const double factors[] = {1, 1.05, 1.1};

	if (!families || !runs || runs > MOST_RUNS || !nr)
		return 2;
	printf("%zu families, %zu runs a side, %zu entries\n%-18s  A/A:  alarm likely   gate   +5 %%: found   held  +10 %%: found   held\n",
		families, runs, nr, "noise");
	for (m = 0; m < NR_NOISE_MODELS; m++) {
		struct counts c[3] = {0};

		if (argc > 4 && strcmp(argv[4], noise_models[m].name) != 0)
			continue;
		for (k = 0; k < 3; k++) {
			uint64_t seed = 1000 * m + k;

			for (i = 0; i < families; i++)
				compare_family(&c[k], &noise_models[m], runs, nr, factors[k], &seed);
		}
		printf("%-18s %11.1f %6.1f %6.1f %13.1f %6.1f %13.1f %6.1f\n", noise_models[m].name, percent(c[0].alarms, families),
			percent(c[0].likely, families), percent(c[0].gates, families), percent(c[1].found, families),
			percent(c[1].held, families), percent(c[2].found, families), percent(c[2].held, families));
		fflush(stdout);
	}
	return 0;
}
