// A shallow residual network, forward only, made of plain kernels. Its ranges are stem, residual (with
// block.conv1 and block.conv2 inside) and head. Deterministic: weights and input come from a fixed
// generator, and no kernel uses atomics. Prints one checksum.
//
// Sizes come from --name=VALUE, else from $SONDE_MODEL_NAME / $SONDE_INFER_NAME (which `sonde run --demo` sets
// from model.* and infer.*), else they are the defaults:
//   channels 64, blocks 2, kernel_size 3, classes 10, image_size 64, seed 0
//   batch_size 8, warmup_steps 2, steps 5; device cuda:0
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#define CHECK(call)                                                                                \
	do {                                                                                       \
		cudaError_t e_ = (call);                                                           \
		if (e_ != cudaSuccess) {                                                           \
			fprintf(stderr, "resnet: %s: %s\n", #call, cudaGetErrorString(e_));        \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

struct sizes {
	int channels, blocks, kernel_size, classes, image_size, seed, batch_size, warmup_steps, steps;
};

__global__ void make_numbers(float *x, int n, unsigned seed, float scale)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned v = (unsigned)i * 2654435761u + seed * 40503u + 12345u;

	if (i >= n)
		return;
	v ^= v >> 16, v *= 2246822519u, v ^= v >> 13, v *= 3266489917u, v ^= v >> 16;
	x[i] = ((float)(v & 0xffffff) / 16777216.0f - 0.5f) * scale;
}

// A convolution of NCHW data that keeps the image size; one thread per output value.
__global__ void conv2d(const float *in, const float *weight, float *out, int batch, int from, int to,
	int side, int k)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, half = k / 2;
	int x = i % side, y = i / side % side, c = i / (side * side) % to, b = i / (side * side * to);
	float sum = 0;

	if (b >= batch)
		return;
	for (int f = 0; f < from; f++)
		for (int dy = 0; dy < k; dy++)
			for (int dx = 0; dx < k; dx++) {
				int yy = y + dy - half, xx = x + dx - half;

				if (yy >= 0 && yy < side && xx >= 0 && xx < side)
					sum += in[((b * from + f) * side + yy) * side + xx] *
					       weight[((c * from + f) * k + dy) * k + dx];
			}
	out[i] = sum;
}

__global__ void relu(float *x, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n && x[i] < 0)
		x[i] = 0;
}

__global__ void add_relu(float *x, const float *shortcut, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		x[i] = fmaxf(x[i] + shortcut[i], 0.0f);
}

__global__ void mean_pool(const float *in, float *out, int planes, int area)
{
	int p = blockIdx.x * blockDim.x + threadIdx.x;
	float sum = 0;

	if (p >= planes)
		return;
	for (int i = 0; i < area; i++)
		sum += in[p * area + i];
	out[p] = sum / area;
}

__global__ void linear(const float *in, const float *weight, float *out, int batch, int from, int to)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, b = i / to, c = i % to;
	float sum = 0;

	if (b >= batch)
		return;
	for (int f = 0; f < from; f++)
		sum += in[b * from + f] * weight[c * from + f];
	out[i] = sum;
}

static int grid(int n)
{
	return (n + 255) / 256;
}

static float *numbers(int n, unsigned seed, float scale)
{
	float *p;

	CHECK(cudaMalloc(&p, (size_t)n * sizeof(float)));
	make_numbers<<<grid(n), 256>>>(p, n, seed, scale);
	CHECK(cudaGetLastError());
	return p;
}

struct network {
	sizes s;
	float *input, *stem_w, **conv1_w, **conv2_w, *head_w;
	float *x, *y, *z, *pooled, *logits;
};

static void build(network *m)
{
	const sizes *s = &m->s;
	const int c = s->channels, k2 = s->kernel_size * s->kernel_size;
	const int plane = s->batch_size * s->image_size * s->image_size;
	const float scale = 2.0f / (float)(c * k2);

	m->input = numbers(3 * plane, s->seed + 1, 2.0f);
	m->stem_w = numbers(c * 3 * k2, s->seed + 2, 0.5f);
	m->conv1_w = (float **)calloc(s->blocks, sizeof(float *));
	m->conv2_w = (float **)calloc(s->blocks, sizeof(float *));
	for (int i = 0; i < s->blocks; i++) {
		m->conv1_w[i] = numbers(c * c * k2, s->seed + 10 + 2 * i, scale);
		m->conv2_w[i] = numbers(c * c * k2, s->seed + 11 + 2 * i, scale);
	}
	m->head_w = numbers(s->classes * c, s->seed + 3, 0.5f);
	m->x = numbers(c * plane, 0, 0.0f);
	m->y = numbers(c * plane, 0, 0.0f);
	m->z = numbers(c * plane, 0, 0.0f);
	m->pooled = numbers(s->batch_size * c, 0, 0.0f);
	m->logits = numbers(s->batch_size * s->classes, 0, 0.0f);
}

static void convolve(network *m, const char *range, const float *in, const float *w, float *out, int from)
{
	const sizes *s = &m->s;
	const int n = s->batch_size * s->channels * s->image_size * s->image_size;

	nvtxRangePushA(range);
	conv2d<<<grid(n), 256>>>(in, w, out, s->batch_size, from, s->channels, s->image_size, s->kernel_size);
	nvtxRangePop();
}

static void forward(network *m)
{
	const sizes *s = &m->s;
	const int area = s->image_size * s->image_size, n = s->batch_size * s->channels * area;

	nvtxRangePushA("stem");
	conv2d<<<grid(n), 256>>>(m->input, m->stem_w, m->x, s->batch_size, 3, s->channels, s->image_size,
		s->kernel_size);
	relu<<<grid(n), 256>>>(m->x, n);
	nvtxRangePop();
	nvtxRangePushA("residual");
	for (int i = 0; i < s->blocks; i++) {
		convolve(m, "block.conv1", m->x, m->conv1_w[i], m->y, s->channels);
		relu<<<grid(n), 256>>>(m->y, n);
		convolve(m, "block.conv2", m->y, m->conv2_w[i], m->z, s->channels);
		add_relu<<<grid(n), 256>>>(m->x, m->z, n);
	}
	nvtxRangePop();
	nvtxRangePushA("head");
	mean_pool<<<grid(s->batch_size * s->channels), 256>>>(m->x, m->pooled, s->batch_size * s->channels, area);
	linear<<<grid(s->batch_size * s->classes), 256>>>(m->pooled, m->head_w, m->logits, s->batch_size,
		s->channels, s->classes);
	nvtxRangePop();
	CHECK(cudaDeviceSynchronize());
}

static int size_of(int argc, char **argv, const char *group, const char *name, int otherwise)
{
	char variable[64];
	const char *text = nullptr;
	size_t n = strlen(name);
	long v;

	snprintf(variable, sizeof(variable), "SONDE_%s_%s", group, name);
	for (char *c = variable; *c; c++)
		*c = (char)toupper((unsigned char)*c);
	text = getenv(variable);
	for (int i = 1; i < argc; i++)
		if (strncmp(argv[i], "--", 2) == 0 && strncmp(argv[i] + 2, name, n) == 0 && argv[i][2 + n] == '=')
			text = argv[i] + 3 + n;
	v = text && *text ? strtol(text, nullptr, 10) : otherwise;
	if (v < 0 || v > 4096) {
		fprintf(stderr, "resnet: %s=%s is out of range\n", name, text);
		exit(2);
	}
	return (int)v;
}

int main(int argc, char **argv)
{
	network m = {};
	const char *device = getenv("SONDE_DEVICE");
	float sum = 0, *host;
	int nr;

	m.s.channels = size_of(argc, argv, "MODEL", "channels", 64);
	m.s.blocks = size_of(argc, argv, "MODEL", "blocks", 2);
	m.s.kernel_size = size_of(argc, argv, "MODEL", "kernel_size", 3);
	m.s.classes = size_of(argc, argv, "MODEL", "classes", 10);
	m.s.image_size = size_of(argc, argv, "MODEL", "image_size", 64);
	m.s.seed = size_of(argc, argv, "MODEL", "seed", 0);
	m.s.batch_size = size_of(argc, argv, "INFER", "batch_size", 8);
	m.s.warmup_steps = size_of(argc, argv, "INFER", "warmup_steps", 2);
	m.s.steps = size_of(argc, argv, "INFER", "steps", 5);
	if (device && strncmp(device, "cuda:", 5) == 0)
		CHECK(cudaSetDevice((int)strtol(device + 5, nullptr, 10)));
	build(&m);
	for (int i = 0; i < m.s.warmup_steps + m.s.steps; i++)
		forward(&m);
	nr = m.s.batch_size * m.s.classes;
	host = (float *)calloc(nr ? nr : 1, sizeof(float));
	CHECK(cudaMemcpy(host, m.logits, nr * sizeof(float), cudaMemcpyDeviceToHost));
	for (int i = 0; i < nr; i++)
		sum += host[i];
	printf("resnet %.6f\n", (double)sum);
	return 0;
}
