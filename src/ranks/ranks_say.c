/* Ranks side by side, in sentences. */
#include "ranks/ranks_int.h"

#include <math.h>

#define NOT_SLOWER 0.1 /* of what a rank is late: less is said to be nothing */

const char *sonde_slow_cause_name(enum sonde_slow_cause c)
{
	static const char *const names[] = {"rank", "work", "gpu", "node", "idle", "late"};

	return names[c];
}

static void say_who(struct sonde_buf *line, const struct sonde_ranks *r, const struct sonde_straggler *s)
{
	struct sonde_str host = r->rows.at[s->rank].host;

	if (s->cause == SONDE_SLOW_NODE)
		sonde_buf_printf(line, "host %.*s (all %u ranks, most of all %.*s)", SONDE_STR_ARG(host),
			s->nr_ranks, SONDE_STR_ARG(sonde_rank_name(r, s->rank)));
	else
		sonde_buf_str(line, sonde_rank_name(r, s->rank));
}

/* Why it is that, and what to look at. */
static void say_cause(struct sonde_buf *line, const struct sonde_straggler *s)
{
	switch ((enum sonde_slow_cause)s->cause) {
	case SONDE_SLOW_RANK:
		sonde_buf_puts(line, ". The same kernels take longer there and not elsewhere: it is the "
				     "rank, its data or shapes");
		break;
	case SONDE_SLOW_WORK:
		sonde_buf_puts(line, ". It launches more kernels there: it is the rank, which has more work");
		break;
	case SONDE_SLOW_GPU:
		sonde_buf_printf(line, ". %.0f%% of its kernel time is in kernels that are slower than on "
				       "the others, in all regions: it is the GPU",
			100 * s->slower_share);
		if (s->clock_ghz < s->others_ghz)
			sonde_buf_printf(line, ", its SMs at %.2f GHz where the others have %.2f",
				s->clock_ghz, s->others_ghz);
		else
			sonde_buf_puts(line, "; look at its clocks, power limit and temperature "
					     "(nvidia-smi -q -d CLOCK,PERFORMANCE)");
		break;
	case SONDE_SLOW_NODE:
		sonde_buf_printf(line, ". All its ranks are %s: it is the node",
			s->region == SONDE_NONE ? "late" : "slow");
		break;
	case SONDE_SLOW_IDLE:
		sonde_buf_puts(line, ". Its kernels are not slower, its GPU waits more for the host: "
				     "--idle shows for what");
		break;
	case SONDE_SLOW_LATE:
		if (s->kernels_share < NOT_SLOWER)
			sonde_buf_puts(line, ". Its kernels are not slower: look at what its host does "
					     "before (--idle)");
		else
			sonde_buf_printf(line, ". %.0f%% of that is slower kernels; for the rest look at what its host "
					       "does before (--idle)",
				100 * s->kernels_share);
		break;
	}
}

static void say_late(struct sonde_buf *line, const struct sonde_ranks *r, const struct sonde_straggler *s)
{
	double waits = 0;
	size_t i;

	for (i = 0; i < r->rows.nr; i++)
		waits += isnan(r->rows.at[i].wait_ns) ? 0 : r->rows.at[i].wait_ns;
	sonde_buf_printf(line, " is last at %llu of %llu collectives, on average %.3f ms after the median rank; all "
			       "ranks together wait for %.3f ms",
		(unsigned long long)s->nr_last, (unsigned long long)s->nr, s->ns / (double)s->nr / 1e6,
		waits / 1e6);
}

static void say_slow(struct sonde_buf *line, const struct sonde_ranks *r, const struct sonde_straggler *s)
{
	sonde_buf_printf(line, " is %.1f%% slower than the median of the %s in ", 100 * (s->ns / s->others_ns - 1),
		s->cause == SONDE_SLOW_NODE ? "other hosts' ranks" : "other ranks");
	sonde_region_say(line, r->cells->regions.at[s->region].id, r->cells->regions.at[s->region].kind);
	sonde_buf_printf(line, " (%.3f against %.3f ms of %s)", s->ns / 1e6, s->others_ns / 1e6,
		s->cause == SONDE_SLOW_IDLE ? "GPU busy and idle" : "kernels");
	if (s->nr_last * 2 > s->nr)
		sonde_buf_printf(line, " and last at %llu of %llu collectives", (unsigned long long)s->nr_last,
			(unsigned long long)s->nr);
}

bool sonde_straggler__say(struct sonde_straggler *s, struct sonde_ranks *r)
{
	struct sonde_buf line = {0};

	say_who(&line, r, s);
	if (s->region == SONDE_NONE)
		say_late(&line, r, s);
	else
		say_slow(&line, r, s);
	say_cause(&line, s);
	sonde_buf_putc(&line, '.');
	s->sentence = sonde_str_from(sonde_arena_take(&r->arena, &line));
	return s->sentence.p;
}

void sonde_clocks_say(struct sonde_buf *line, const struct sonde_ranks *r)
{
	double error = 0;
	size_t i, nr_left = 0, first_left = 0, nr_aligned = 0, nr_firsts = 0;

	for (i = 0; i < r->clocks.nr; i++) {
		const struct sonde_rank_clock *k = &r->clocks.at[i];

		error = k->is_aligned ? fmax(error, k->error_ns) : error;
		first_left = k->is_aligned || nr_left++ ? first_left : i;
		nr_firsts += k->is_aligned && k->with == i;
		nr_aligned += k->is_aligned && k->with != i;
	}
	if (r->clocks.nr < 2)
		return;
	if (!nr_aligned) {
		sonde_buf_printf(line, "the ranks have %zu clocks and no collective in common by which they "
				       "could be aligned: moments of one are not compared with those of another",
			r->clocks.nr);
		return;
	}
	sonde_buf_printf(line, "%zu clocks were aligned by the ends of collectives, to ±%.1f µs (95 %% of these "
			       "end within that of each other)",
		nr_aligned + nr_firsts, error / 1e3);
	if (nr_firsts > 1)
		sonde_buf_printf(line, ", in %zu sets that have no collective in common", nr_firsts);
	if (nr_left)
		sonde_buf_printf(line, "; %zu could not, the first %.*s: it has no collective in common with "
				       "them, and is not compared",
			nr_left, SONDE_STR_ARG(r->clocks.at[first_left].name));
}
