/*
 * Writes native captures of a job of many ranks with a planted straggler:
 *
 *     ranks_make FOLDER [ranks=8] [per_host=4] [steps=20] [layers=1] [percent=10] [spread=0] [jitter=0] [seed=0]
 *                [slow_rank=N] [slow_gpu=N] [slow_host=N] [late_rank=N] [late_host=N] [late_us=1000] [idle_rank=N]
 *                [offset_ms=0] [ppm=0] [window=0] [budget_ppm=0] [start_s=0]
 *
 * A step has `fwd` and `bwd` with `layers` regions of two kernels each, then an all-reduce, which
 * ends for all ranks when the last one has arrived. slow_rank is slower by `percent` in step/fwd only,
 * slow_gpu is slower everywhere, and so are all GPUs of slow_host. late_rank and the ranks of late_host wait late_us before
 * each step. The GPU of idle_rank waits for its host between kernels, for `percent` of their time. The speeds of GPUs scatter
 * by `spread` percent, and that of each GPU from step to step by `jitter` percent: standard deviations, drawn from the seed.
 * The clock of each host is ahead of that of the host before by offset_ms, and faster by ppm. With window=1 the capture is
 * closed before the program ends, and with a budget too. The job starts start_s later than without it.
 */
#include "../unit/capture_make.h"

#include "base/map.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { RANKS, PER_HOST, STEPS, LAYERS, PERCENT, SLOW_RANK, SLOW_GPU, LATE_HOST, LATE_US, OFFSET_MS, PPM, WINDOW, BUDGET_PPM,
	SPREAD, JITTER, SEED, SLOW_HOST, LATE_RANK, IDLE_RANK, START_S, NR_KEYS };
static const char *const keys[NR_KEYS] = {"ranks", "per_host", "steps", "layers", "percent", "slow_rank", "slow_gpu",
	"late_host", "late_us", "offset_ms", "ppm", "window", "budget_ppm", "spread", "jitter", "seed", "slow_host", "late_rank",
	"idle_rank", "start_s"};

#define NOBODY	     -1
#define KERNEL_NS    100e3
#define TRANSFER_NS  60e3
#define FIRST_NS     1e13
#define NCCL	     "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"

/* The numbers of the strings in the capture. */
enum { STEP = 1, FWD, BWD, GEMM, SOFTMAX, ALL_REDUCE, FIRST_LAYER };

struct job {
	double of[NR_KEYS];
	double *ends; /* when the all-reduce of each step ends, on the first host's clock */
};

struct writer {
	const struct job *j;
	unsigned rank;
	struct capture c;
	struct sonde_buf gpu; /* events of the device */
	struct sonde_event_base host_base, gpu_base;
	uint32_t correlation;
	double at; /* the present time of the rank, on the first host's clock */
};

/* An approximately normal number, from twelve uniform ones: mean 0, standard deviation 1. */
static double deviate(const struct job *j, uint32_t a, uint32_t b)
{
	uint32_t key[4] = {(uint32_t)j->of[SEED], a, b, 0};
	double sum = -6;

	for (; key[3] < 12; key[3]++)
		sum += (double)(sonde_hash(key, sizeof(key)) % 1000000) / 1e6;
	return sum;
}

static double kernel_ns(const struct job *j, unsigned rank, unsigned step, unsigned kernel, bool is_fwd)
{
	uint32_t key[4] = {rank, step, kernel, is_fwd};
	double noise = 0.99 + 0.02 * (double)(sonde_hash(key, sizeof(key)) % 1000) / 1000;
	bool is_slow = rank == j->of[SLOW_GPU] || (is_fwd && rank == j->of[SLOW_RANK]) ||
		       floor(rank / j->of[PER_HOST]) == j->of[SLOW_HOST];

	noise *= (1 + j->of[SPREAD] / 100 * deviate(j, rank, UINT32_MAX)) * (1 + j->of[JITTER] / 100 * deviate(j, rank, step));
	return KERNEL_NS * (is_fwd ? 1 : 2) * noise * (is_slow ? 1 + j->of[PERCENT] / 100 : 1);
}

/* How long the GPU waits after a kernel until its host has launched the next one. */
static double gap_ns(const struct job *j, unsigned rank, bool is_fwd)
{
	return rank == j->of[IDLE_RANK] ? KERNEL_NS * (is_fwd ? 1 : 2) * j->of[PERCENT] / 100 : 0;
}

static double begin_of(const struct job *j, unsigned rank, unsigned step)
{
	bool is_late = floor(rank / j->of[PER_HOST]) == j->of[LATE_HOST] || rank == j->of[LATE_RANK];

	return (step ? j->ends[step - 1] : FIRST_NS) + 20e3 + (is_late ? 1e3 * j->of[LATE_US] : 0);
}

static void simulate(struct job *j)
{
	unsigned step, rank, k, way;

	for (step = 0; step < j->of[STEPS]; step++) {
		for (rank = 0; rank < j->of[RANKS]; rank++) {
			double at = begin_of(j, rank, step);

			for (way = 0; way < 2; way++)
				for (k = 0; k < 2 * j->of[LAYERS]; k++)
					at += kernel_ns(j, rank, step, k, way == 0) + gap_ns(j, rank, way == 0);
			j->ends[step] = fmax(j->ends[step], at);
		}
		j->ends[step] += TRANSFER_NS;
	}
}

/* A time on the clock of the rank's host, as captures have it. */
static uint64_t shown(const struct writer *w, double ns)
{
	double host = floor(w->rank / w->j->of[PER_HOST]);

	return (uint64_t)(ns + host * (1e6 * w->j->of[OFFSET_MS] + 1e-6 * w->j->of[PPM] * ns));
}

static void put(struct sonde_buf *to, struct sonde_event_base *base, const struct sonde_event *e)
{
	uint8_t bytes[512];

	sonde_buf_add(to, bytes, (size_t)(sonde_event_put(bytes, base, e) - bytes));
}

static void put_host(struct writer *w, unsigned type, uint32_t label)
{
	struct sonde_event e = {.type = (uint8_t)type, .ticks = shown(w, w->at - 5e3), .label = {.number = label}};

	e.field[0] = w->correlation;
	put(&w->c.events, &w->host_base, &e);
}

static void put_kernel(struct writer *w, uint32_t name, uint64_t stream, double ns)
{
	struct sonde_event e = {.type = SONDE_EVENT_KERNEL, .label = {.number = name}};

	w->correlation++;
	put_host(w, SONDE_EVENT_LAUNCH, 0);
	e.field[SONDE_GPU_START] = shown(w, w->at);
	e.field[SONDE_GPU_DURATION] = shown(w, w->at + ns) - shown(w, w->at);
	e.field[SONDE_GPU_CORRELATION] = w->correlation;
	e.field[SONDE_GPU_DEVICE] = w->rank % (unsigned)w->j->of[PER_HOST];
	e.field[SONDE_GPU_CONTEXT] = 1;
	e.field[SONDE_GPU_STREAM] = stream;
	e.field[SONDE_KERNEL_GRID_X] = e.field[SONDE_KERNEL_GRID_X + 1] = e.field[SONDE_KERNEL_GRID_X + 2] = 1;
	e.field[SONDE_KERNEL_BLOCK_X] = e.field[SONDE_KERNEL_BLOCK_X + 1] = e.field[SONDE_KERNEL_BLOCK_X + 2] = 1;
	put(&w->gpu, &w->gpu_base, &e);
	w->at += ns;
}

static void put_way(struct writer *w, unsigned step, bool is_fwd)
{
	unsigned layer;

	put_host(w, SONDE_EVENT_PUSH, is_fwd ? FWD : BWD);
	for (layer = 0; layer < w->j->of[LAYERS]; layer++) {
		if (w->j->of[LAYERS] > 1)
			put_host(w, SONDE_EVENT_PUSH, FIRST_LAYER + layer);
		put_kernel(w, GEMM, 7, kernel_ns(w->j, w->rank, step, 2 * layer, is_fwd));
		w->at += gap_ns(w->j, w->rank, is_fwd);
		put_kernel(w, SOFTMAX, 7, kernel_ns(w->j, w->rank, step, 2 * layer + 1, is_fwd));
		w->at += gap_ns(w->j, w->rank, is_fwd);
		if (w->j->of[LAYERS] > 1)
			put_host(w, SONDE_EVENT_POP, 0);
	}
	put_host(w, SONDE_EVENT_POP, 0);
}

static void put_mark(struct writer *w, unsigned state, double ns)
{
	struct sonde_window_mark mark = {.ticks = shown(w, ns), .state = state};

	capture_block(&w->c, SONDE_BLOCK_WINDOW, &mark, sizeof(mark));
}

static void put_step(struct writer *w, unsigned step)
{
	w->at = begin_of(w->j, w->rank, step);
	put_host(w, SONDE_EVENT_PUSH, STEP);
	put_way(w, step, true);
	put_way(w, step, false);
	put_kernel(w, ALL_REDUCE, 20 + w->rank % 3, w->j->ends[step] - w->at);
	put_host(w, SONDE_EVENT_POP, 0);
}

static void put_head(struct writer *w)
{
	static const char *const names[] = {"", "step", "fwd", "bwd", "gemm", "softmax", NCCL};
	struct sonde_clock clock = {0, 0, 1700000000000000000u + (uint64_t)(w->j->of[START_S] * 1e9)};
	uint64_t last = shown(w, w->j->ends[(unsigned)w->j->of[STEPS] - 1]);
	char text[128];
	unsigned i;

	snprintf(text, sizeof(text), "host=node%u\nrank=%u\nranks=%u\n", w->rank / (unsigned)w->j->of[PER_HOST], w->rank,
		(unsigned)w->j->of[RANKS]);
	capture_begin(&w->c);
	capture_block(&w->c, SONDE_BLOCK_META, text, strlen(text));
	for (i = STEP; i <= ALL_REDUCE; i++)
		capture_string(&w->c, i, i < GEMM ? SONDE_STRING_LABEL : SONDE_STRING_KERNEL, 0, names[i]);
	for (i = 0; i < w->j->of[LAYERS]; i++) {
		snprintf(text, sizeof(text), "layer%u", i);
		capture_string(&w->c, FIRST_LAYER + i, SONDE_STRING_LABEL, 0, text);
	}
	capture_block(&w->c, SONDE_BLOCK_CLOCK, &clock, sizeof(clock));
	clock = (struct sonde_clock){last, last, clock.real_ns + last};
	capture_block(&w->c, SONDE_BLOCK_CLOCK, &clock, sizeof(clock));
}

static void put_end(struct writer *w)
{
	const struct sonde_budget_status budget = {.budget_ppm = (uint32_t)w->j->of[BUDGET_PPM],
		.cost_ppm = (uint32_t)w->j->of[BUDGET_PPM] / 2,
		.record_ns = 500,
		.nr_calibrated = 100};

	if (budget.budget_ppm)
		capture_block(&w->c, SONDE_BLOCK_BUDGET, &budget, sizeof(budget));
	if (w->j->of[WINDOW] > 0 || w->j->of[BUDGET_PPM] > 0) {
		put_mark(w, SONDE_WINDOW_CLOSED, w->at + 1e6);
		put_mark(w, SONDE_WINDOW_END, w->at + 9e6);
	}
	capture_block(&w->c, SONDE_BLOCK_END, "", 1); /* SONDE_END_EXIT */
}

static bool write_rank(const struct job *j, const char *folder, unsigned rank)
{
	struct writer w = {.j = j, .rank = rank};
	struct sonde_event clock = {.type = SONDE_EVENT_GPU_CLOCK};
	char path[4096];
	unsigned step;
	bool ok = false;
	FILE *f;

	put_head(&w);
	event_base(&w.c, 0, 0, 0);
	put(&w.c.events, &w.host_base, &clock);
	for (step = 0; step < j->of[STEPS]; step++)
		put_step(&w, step);
	capture_chunk(&w.c, 0, 0, 77);
	event_base(&w.c, 0, 0, 0);
	sonde_buf_str(&w.c.events, sonde_buf_view(&w.gpu));
	capture_chunk(&w.c, 1, 0, 78);
	put_end(&w);
	snprintf(path, sizeof(path), "%s/rank%05u.sonde", folder, rank);
	f = fopen(path, "wb");
	if (f)
		ok = fwrite(w.c.file.p, 1, w.c.file.n, f) == w.c.file.n && fclose(f) == 0;
	sonde_buf_release(&w.gpu);
	capture_release(&w.c);
	return ok;
}

static bool read_key(struct job *j, const char *word)
{
	unsigned i;

	for (i = 0; i < NR_KEYS; i++) {
		size_t n = strlen(keys[i]);

		if (strncmp(word, keys[i], n) != 0 || word[n] != '=')
			continue;
		j->of[i] = strtod(word + n + 1, NULL);
		return true;
	}
	return false;
}

int main(int argc, char **argv)
{
	struct job j = {{8, 4, 20, 1, 10, NOBODY, NOBODY, NOBODY, 1000, 0, 0, 0, 0, 0, 0, 0, NOBODY, NOBODY, NOBODY, 0}, NULL};
	unsigned rank;
	int i;

	for (i = 2; i < argc; i++)
		if (!read_key(&j, argv[i])) {
			fprintf(stderr, "ranks_make: %s is not one of its keys\n", argv[i]);
			return 2;
		}
	j.ends = calloc((size_t)j.of[STEPS] + 1, sizeof(*j.ends));
	if (argc < 2 || !j.ends) {
		fprintf(stderr, "usage: ranks_make FOLDER [KEY=VALUE…]\n");
		return 2;
	}
	mkdir(argv[1], 0777);
	simulate(&j);
	for (rank = 0; rank < j.of[RANKS]; rank++)
		if (!write_rank(&j, argv[1], rank)) {
			perror(argv[1]);
			return 1;
		}
	free(j.ends);
	return 0;
}
