// A program with three ranges, A { A::A1 } and B: each has at least 20 launches, and a few launches are outside.
// Deterministic; prints one checksum. Usage: three_ranges [ROUNDS=3] [N=65536]
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#define CHECK(call)                                                                                \
	do {                                                                                       \
		cudaError_t e_ = (call);                                                           \
		if (e_ != cudaSuccess) {                                                           \
			fprintf(stderr, "three_ranges: %s: %s\n", #call, cudaGetErrorString(e_));  \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

__global__ void fill(float *x, int n, float value)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		x[i] = value;
}

__global__ void axpy(float *y, const float *x, int n, float a)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] += a * x[i];
}

__global__ void scale(float *x, int n, float a)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		x[i] *= a;
}

template <int TILE> __global__ void gemm_tile(const float *a, const float *b, float *c, int n)
{
	int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
	float sum = 0;

	if (row >= n || col >= n)
		return;
	for (int k = 0; k < n; k++)
		sum += a[row * n + k] * b[k * n + col];
	c[row * n + col] = sum;
}

static int number(int argc, char **argv, int i, int otherwise)
{
	long n = i < argc ? strtol(argv[i], nullptr, 10) : otherwise;

	return n > 0 && n < 1 << 28 ? (int)n : otherwise;
}

int main(int argc, char **argv)
{
	const int rounds = number(argc, argv, 1, 3), n = number(argc, argv, 2, 65536);
	const int side = 128, threads = 256, blocks = (n + threads - 1) / threads;
	float *x, *y, *c, host = 0;

	CHECK(cudaMalloc(&x, n * sizeof(float)));
	CHECK(cudaMalloc(&y, n * sizeof(float)));
	CHECK(cudaMalloc(&c, side * side * sizeof(float)));
	fill<<<blocks, threads>>>(x, n, 1.0f); // outside every range
	fill<<<blocks, threads>>>(y, n, 2.0f);
	CHECK(cudaDeviceSynchronize());
	for (int round = 0; round < rounds; round++) {
		nvtxRangePushA("A");
		for (int i = 0; i < 4; i++)
			gemm_tile<16><<<dim3(side / 16, side / 16), dim3(16, 16)>>>(x, y, c, side);
		nvtxRangePushA("A::A1");
		for (int i = 0; i < 7; i++)
			axpy<<<blocks, threads>>>(y, x, n, 0.5f);
		nvtxRangePop();
		for (int i = 0; i < 3; i++)
			scale<<<blocks, threads>>>(y, n, 0.99f);
		nvtxRangePop();
		nvtxRangePushA("B");
		for (int i = 0; i < 5; i++)
			axpy<<<blocks, threads>>>(y, x, n, 0.25f);
		for (int i = 0; i < 2; i++)
			scale<<<blocks, threads>>>(y, n, 0.98f);
		nvtxRangePop();
		CHECK(cudaDeviceSynchronize());
	}
	scale<<<blocks, threads>>>(y, n, 1.0f); // outside every range
	CHECK(cudaMemcpy(&host, y, sizeof(host), cudaMemcpyDeviceToHost));
	printf("three_ranges %.6f\n", (double)host);
	return 0;
}
