/*
 * Threads that take turns are one relay: autograd's thread launches the backward pass while the main thread waits for
 * it, and no call of CUDA shows that. If two threads worked side by side, their operations would be mixed at random. If
 * they change turns far less often than that, one of them waits for the other.
 */
#include "replay/replay_int.h"

#define FEW_TURNS 0.25 /* a thread takes turns if it has less than this share of the turns in a random mix */

struct thread {
	uint64_t nr, nr_turns; /* number of its operations, and of runs of them without another thread's in between */
	uint64_t first, last;  /* positions of its first and last operation among those of all threads */
};

/* Entries do not count: a range can open while another thread works, so it says nothing about turns. */
static bool shows_turn(const struct sonde_replay_op *op)
{
	return op->kind != SONDE_REPLAY_ENTER && op->kind != SONDE_REPLAY_LEAVE;
}

static void count_turns(const struct sonde_replay_input *in, struct thread *threads)
{
	uint32_t last = REPLAY_NONE;
	uint64_t nr = 0;
	size_t i;

	for (i = 0; i < in->nr_ops; i++) {
		struct thread *t = &threads[in->ops[i].thread];

		if (!shows_turn(&in->ops[i]))
			continue;
		if (!t->nr++)
			t->first = nr;
		t->last = nr++;
		t->nr_turns += in->ops[i].thread != last;
		last = in->ops[i].thread;
	}
}

/* The thread with the most operations is the first relay; others join it, or are relays of their
 * own.
 */
static bool joins_main(const struct thread *t, uint64_t nr_all)
{
	uint64_t others = t->last - t->first + 1 - t->nr;
	/* A random mix of n own and m other operations has n·m/(n+m) turns. */
	double random = (double)t->nr * (double)others / (double)(t->nr + others);

	return nr_all &&
	       (!others || (double)t->nr_turns <= 1 || (double)t->nr_turns < FEW_TURNS * random);
}

bool sonde_replay__find_relays(struct sonde_replay *r)
{
	const struct sonde_replay_input *in = &r->in;
	struct thread *threads =
		sonde_arena_calloc(&r->arena, (size_t)in->nr_threads + 1, sizeof(*threads));
	uint32_t *relays =
		sonde_arena_calloc(&r->arena, (size_t)in->nr_threads + 1, sizeof(*relays));
	uint64_t most = 0;
	uint32_t i, main_thread = 0, nr = 1;
	size_t k;

	if (!threads || !relays)
		return false;
	count_turns(in, threads);
	for (i = 0; i < in->nr_threads; i++)
		if (threads[i].nr > most)
			most = threads[i].nr, main_thread = i;
	for (i = 0; i < in->nr_threads; i++)
		relays[i] = i == main_thread || joins_main(&threads[i], most) ? 0 : nr++;
	for (k = 0; k < in->nr_ops; k++)
		r->fates[k].relay = relays[in->ops[k].thread];
	r->summary.nr_relays = nr;
	return true;
}
