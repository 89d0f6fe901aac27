/*
 * Contexts that go under load: rounds of kernels in two streams, and cudaDeviceReset while they run.
 *
 *     reset ROUNDS LAUNCHES
 */
#include <cstdio>
#include <cstdlib>

__global__ void spin(float *p, int n)
{
	float x = p[threadIdx.x];

	for (int i = 0; i < n; i++)
		x = x * 1.0001f + 0.5f;
	p[threadIdx.x] = x;
}

int main(int argc, char **argv)
{
	const int rounds = argc > 1 ? atoi(argv[1]) : 3, launches = argc > 2 ? atoi(argv[2]) : 2000;

	for (int r = 0; r < rounds; r++) {
		cudaStream_t streams[2];
		float *p;

		if (cudaMalloc(&p, 4096) || cudaStreamCreate(&streams[0]) || cudaStreamCreate(&streams[1]))
			return 1;
		for (int i = 0; i < launches; i++)
			spin<<<64, 256, 0, streams[i % 2]>>>(p, 20000);
		if (cudaGetLastError() || cudaDeviceReset())
			return 1;
	}
	puts("reset done");
	return 0;
}
