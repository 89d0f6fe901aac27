/*
 * The dummy workload without a GPU: a shallow residual network in plain C.
 *
 * Each step has the range `step`, with `stem`, `residual` (which contains
 * `block.conv1` and `block.conv2`) and `head` inside it. Two loader threads have ranges
 * of a domain `io`, whose labels are registered strings. A start/end range `prefetch`
 * lasts from one step into the next. The numbers depend on the sizes only, so
 * the checksum that it prints is the same on every machine and in every run.
 *
 *     resnet_cpu [STEPS]
 *
 * The sizes come from $SONDE_MODEL_NAME and $SONDE_INFER_NAME, which `sonde run` without a program sets from
 * model.* and infer.*. Defaults: channels 8, blocks 2, kernel_size 3, image_size 24, seed 0,
 * batch_size 1, warmup_steps 0, steps 20. `classes` is not used.
 */
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define NR_IO	 2
#define MAX_SIZE 4096

static struct {
	long channels, blocks, kernel_size, side, seed, batch, warmup, steps;
} sizes;

/* The activations of a batch are integers, so that results are exact with any compiler. */
static int32_t *input, *output, *first, *second, *weight;

struct loader {
	int number;
	long nr_steps;
	uint32_t sum;
};

static uint32_t random_next(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

static long nr_cells(void)
{
	return sizes.batch * sizes.channels * sizes.side * sizes.side;
}

static void load(int32_t *t, long number)
{
	long b, i, per_item = sizes.channels * sizes.side * sizes.side;

	for (b = 0; b < sizes.batch; b++) {
		uint32_t state = (uint32_t)(number * sizes.batch + b + 40503 * sizes.seed);

		for (i = 0; i < per_item; i++)
			*t++ = (int32_t)(random_next(&state) % 512) - 256;
	}
}

/* One row of an output plane: a convolution over neighbouring channels, then a clamp. */
static void conv_row(int32_t *out, const int32_t *in, long channel, long y)
{
	long side = sizes.side, k = sizes.kernel_size, half = k / 2, x, i;

	for (x = half; x < side - half; x++)
		out[x] = 0;
	for (i = 0; i < k * k; i++) {
		const int32_t *row =
			in + ((channel + i) % sizes.channels * side + y + i / k - half) * side;

		for (x = half; x < side - half; x++)
			out[x] += weight[i] * row[x + i % k - half];
	}
	for (x = half; x < side - half; x++)
		out[x] = out[x] < 0 ? 0 : out[x] % 1021;
}

static void conv(int32_t *out, const int32_t *in, long layer)
{
	long b, c, y, i, side = sizes.side, half = sizes.kernel_size / 2;
	uint32_t state = (uint32_t)(layer + 40503 * sizes.seed);

	for (c = 0; c < sizes.channels; c++) {
		for (i = 0; i < sizes.kernel_size * sizes.kernel_size; i++)
			weight[i] = (int32_t)(random_next(&state) % 7) - 3;
		for (b = 0; b < sizes.batch; b++)
			for (y = half; y < side - half; y++)
				conv_row(out + ((b * sizes.channels + c) * side + y) * side,
					in + b * sizes.channels * side * side, c, y);
	}
}

static void residual(int32_t *t)
{
	long i;

	nvtxRangePushA("residual");
	nvtxRangePushA("block.conv1");
	conv(first, t, 11);
	nvtxRangePop();
	nvtxRangePushA("block.conv2");
	conv(second, first, 12);
	nvtxRangePop();
	for (i = 0; i < nr_cells(); i++)
		t[i] = (t[i] + second[i]) % 1021;
	nvtxRangePop();
}

static uint32_t step(long number)
{
	uint32_t sum = 0;
	long i;

	nvtxRangePushA("step");
	nvtxRangePushA("stem");
	load(input, number);
	conv(output, input, 10);
	nvtxRangePop();
	for (i = 0; i < sizes.blocks; i++)
		residual(output);
	nvtxRangePushA("head");
	for (i = 0; i < nr_cells(); i++)
		sum = sum * 31 + (uint32_t)output[i];
	nvtxRangePop();
	nvtxRangePop();
	return sum;
}

static void *loader_run(void *arg)
{
	struct loader *l = arg;
	nvtxDomainHandle_t io = nvtxDomainCreateA("io");
	nvtxStringHandle_t fetch = nvtxDomainRegisterStringA(io, "fetch");
	nvtxEventAttributes_t e = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};
	uint32_t state = (uint32_t)l->number;
	long i, k;

	e.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	e.message.registered = fetch;
	e.category = 7;
	e.colorType = NVTX_COLOR_ARGB;
	e.color = 0xff76b900;
	e.payloadType = NVTX_PAYLOAD_TYPE_INT64;
	for (i = 0; i < l->nr_steps; i++) {
		e.payload.llValue = i;
		nvtxDomainRangePushEx(io, &e);
		for (k = 0; k < 20000; k++)
			l->sum += random_next(&state);
		nvtxDomainRangePop(io);
	}
	return NULL;
}

static long size_of(const char *variable, long otherwise)
{
	const char *text = getenv(variable);
	long v = text && *text ? strtol(text, NULL, 10) : otherwise;

	if (v < 0 || v > MAX_SIZE) {
		fprintf(stderr, "resnet_cpu: %s=%s is out of range\n", variable, text);
		exit(2);
	}
	return v;
}

static int32_t *cells_new(size_t nr)
{
	int32_t *p = calloc(nr ? nr : 1, sizeof(*p));

	if (!p) {
		fputs("resnet_cpu: not enough memory for these sizes\n", stderr);
		exit(1);
	}
	return p;
}

static void build(void)
{
	sizes.channels = size_of("SONDE_MODEL_CHANNELS", 8);
	sizes.blocks = size_of("SONDE_MODEL_BLOCKS", 2);
	sizes.kernel_size = size_of("SONDE_MODEL_KERNEL_SIZE", 3);
	sizes.side = size_of("SONDE_MODEL_IMAGE_SIZE", 24);
	sizes.seed = size_of("SONDE_MODEL_SEED", 0);
	sizes.batch = size_of("SONDE_INFER_BATCH_SIZE", 1);
	sizes.warmup = size_of("SONDE_INFER_WARMUP_STEPS", 0);
	sizes.steps = size_of("SONDE_INFER_STEPS", 20);
	input = cells_new((size_t)nr_cells());
	output = cells_new((size_t)nr_cells());
	first = cells_new((size_t)nr_cells());
	second = cells_new((size_t)nr_cells());
	weight = cells_new((size_t)(sizes.kernel_size * sizes.kernel_size));
}

int main(int argc, char **argv)
{
	long nr_steps, i;
	struct loader loaders[NR_IO] = {{0}};
	pthread_t threads[NR_IO];
	uint32_t sum = 0;
	nvtxRangeId_t prefetch;

	build();
	nr_steps = argc > 1 ? strtol(argv[1], NULL, 10) : sizes.warmup + sizes.steps;
	prefetch = nvtxRangeStartA("prefetch");
	nvtxNameCategoryA(7, "input");
	nvtxMarkA("begin");
	for (i = 0; i < NR_IO; i++) {
		loaders[i] = (struct loader){.number = (int)i + 1, .nr_steps = nr_steps};
		if (pthread_create(&threads[i], NULL, loader_run, &loaders[i]))
			return 1;
	}
	for (i = 0; i < nr_steps; i++) {
		nvtxRangeId_t next = nvtxRangeStartA("prefetch");

		sum = sum * 31 + step(i);
		nvtxRangeEnd(prefetch);
		prefetch = next;
	}
	nvtxRangeEnd(prefetch);
	for (i = 0; i < NR_IO; i++) {
		pthread_join(threads[i], NULL);
		sum = sum * 31 + loaders[i].sum;
	}
	printf("checksum %08x after %ld steps\n", sum, nr_steps);
	return 0;
}
