/*
 * One program, one NVTX shape per argument: the shapes of the reference
 * reports under tests/data/ncu, with the same kernels, so that a native
 * capture of it and an Nsight Compute report of it can be compared launch by
 * launch. `copies` and `captured` are only for native captures.
 */
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#define CK(x)                                                                                      \
	do {                                                                                       \
		cudaError_t e = (x);                                                               \
		if (e) {                                                                           \
			fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(e));                    \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

__global__ void fill(float *p, int n, float v)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		p[i] = v * (i % 13);
}

template <int K> __global__ void gemm_tile(const float *a, const float *b, float *c, int n)
{
	int r = blockIdx.y * 16 + threadIdx.y, k = blockIdx.x * 16 + threadIdx.x;
	float s = 0;
	for (int i = 0; i < n; i++)
		s += a[r * n + i] * b[i * n + k];
	c[r * n + k] = s * K;
}

__global__ void axpy(float *p, int n, float v)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		p[i] = p[i] * v + 1.f;
}

__global__ void reduce_sum(const float *p, float *o, int n)
{
	__shared__ float s[256];
	float t = 0;
	for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
		t += p[i];
	s[threadIdx.x] = t;
	__syncthreads();
	for (int k = 128; k; k >>= 1) {
		if (threadIdx.x < k)
			s[threadIdx.x] += s[threadIdx.x + k];
		__syncthreads();
	}
	if (!threadIdx.x)
		o[blockIdx.x] = s[0];
}

static const int n = 512, N = n * n;
static float *a, *b, *c, *o;

static void G(cudaStream_t s = 0) { gemm_tile<2><<<dim3(n / 16, n / 16), dim3(16, 16), 0, s>>>(a, b, c, n); }
static void X(cudaStream_t s = 0) { axpy<<<N / 256, 256, 0, s>>>(c, N, .99f); }
static void R(cudaStream_t s = 0) { reduce_sum<<<64, 256, 0, s>>>(c, o, N); }
static void S() { CK(cudaDeviceSynchronize()); }

struct P {
	explicit P(const char *m) { nvtxRangePushA(m); }
	~P() { S(); nvtxRangePop(); }
};

static void seed()
{
	for (int i = 0; i < 3; i++) {
		{
			P A("A");
			G(); X();
			{ P A1("A::A1"); X(); X(); R(); }
			G();
		}
		X();
		{ P B("B"); R(); R(); }
	}
}

static void overlap()
{
	nvtxRangeId_t r1 = nvtxRangeStartA("outer");
	G();
	nvtxRangeId_t r2 = nvtxRangeStartA("inner");
	X(); S();
	nvtxRangeEnd(r1);
	R(); S();
	nvtxRangeEnd(r2);
	X(); S();
	P p("push");
	nvtxRangeId_t r3 = nvtxRangeStartA("cross");
	G(); S();
	nvtxRangePushA("late");
	nvtxRangeEnd(r3);
	X(); S();
	nvtxRangePop();
}

static void domains()
{
	nvtxDomainHandle_t d1 = nvtxDomainCreateA("libA"), d2 = nvtxDomainCreateA("libB");
	nvtxStringHandle_t reg = nvtxDomainRegisterStringA(d1, "registered op");
	nvtxEventAttributes_t e = {};
	e.version = NVTX_VERSION;
	e.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	for (int i = 0; i < 2; i++) {
		P t("train");
		e.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
		e.message.registered = reg;
		nvtxDomainRangePushEx(d1, &e);
		G();
		nvtxEventAttributes_t f = e;
		f.messageType = NVTX_MESSAGE_TYPE_ASCII;
		f.message.ascii = "comm";
		f.category = 3;
		f.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
		f.payload.dValue = 2.5;
		nvtxDomainRangePushEx(d2, &f);
		X(); S();
		nvtxDomainRangePop(d2);
		{ P q("opt"); R(); }
		S();
		nvtxDomainRangePop(d1);
	}
}

static void names()
{
	const char *labels[] = {"../../etc/passwd", "a/b", "a_b", "A::B::C", "x y\tz", "quote\"'`",
		"<script>alert(1)</script>", "| pipe | md |", "\xe6\xb3\xa8\xe6\x84\x8f\xe5\x8a\x9b",
		"emoji \xf0\x9f\x9a\x80", "comma, semi;", "100%", "", "trailing/", "regex:.*",
		"[bracket]", "very-long-"};
	for (const char *l : labels) {
		std::string s = l;
		if (s == "very-long-")
			s += std::string(300, 'x');
		P p(s.c_str());
		X();
	}
	nvtxRangePushW(L"wide \u6ce8");
	R(); S();
	nvtxRangePop();
}

static void deep()
{
	for (int i = 0; i < 40; i++) {
		nvtxRangePushA(("d" + std::to_string(i)).c_str());
		if (i % 8 == 0)
			X();
	}
	S();
	for (int i = 0; i < 40; i++)
		nvtxRangePop();
}

static void worker(int t)
{
	cudaStream_t s;
	CK(cudaSetDevice(0));
	CK(cudaStreamCreate(&s));
	nvtxRangePushA(("worker" + std::to_string(t)).c_str());
	for (int i = 0; i < 2; i++) {
		nvtxRangePushA("iter");
		X(s); R(s);
		CK(cudaStreamSynchronize(s));
		nvtxRangePop();
	}
	nvtxRangePop();
}

static void threads()
{
	std::vector<std::thread> v;
	for (int t = 0; t < 3; t++)
		v.emplace_back(worker, t);
	for (auto &t : v)
		t.join();
}

/* `region`: the graph is also captured inside a range. */
static void graph(const char *region)
{
	cudaStream_t s;
	cudaGraph_t g;
	cudaGraphExec_t x;
	CK(cudaStreamCreate(&s));
	if (region)
		nvtxRangePushA(region);
	CK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	G(s); X(s); R(s);
	CK(cudaStreamEndCapture(s, &g));
	CK(cudaGraphInstantiate(&x, g, 0));
	if (region)
		nvtxRangePop();
	P p("graph_region");
	for (int i = 0; i < 2; i++)
		CK(cudaGraphLaunch(x, s));
	CK(cudaStreamSynchronize(s));
}

static void copies()
{
	std::vector<float> h(N);
	P p("move");
	CK(cudaMemcpy(a, h.data(), N * 4, cudaMemcpyHostToDevice));
	CK(cudaMemset(b, 0, N * 4));
	CK(cudaMemcpy(c, a, N * 4, cudaMemcpyDeviceToDevice));
	CK(cudaMemcpy(h.data(), c, N * 4, cudaMemcpyDeviceToHost));
}

__global__ void nothing() {}

/* A million kernels of a microsecond, as fast as graphs can launch them. */
static void storm()
{
	cudaStream_t s;
	cudaGraph_t g;
	cudaGraphExec_t x;
	CK(cudaStreamCreate(&s));
	CK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	for (int i = 0; i < 1000; i++)
		nothing<<<1, 1, 0, s>>>();
	CK(cudaStreamEndCapture(s, &g));
	CK(cudaGraphInstantiate(&x, g, 0));
	P p("storm");
	for (int i = 0; i < 1000; i++)
		CK(cudaGraphLaunch(x, s));
	CK(cudaStreamSynchronize(s));
}

int main(int argc, char **argv)
{
	std::string m = argc > 1 ? argv[1] : "seed";
	CK(cudaMalloc(&a, N * 4));
	CK(cudaMalloc(&b, N * 4));
	CK(cudaMalloc(&c, N * 4));
	CK(cudaMalloc(&o, 4096));
	fill<<<N / 256, 256>>>(a, N, 1.f);
	fill<<<N / 256, 256>>>(b, N, .5f);
	S();
	if (m == "seed")
		seed();
	else if (m == "overlap")
		overlap();
	else if (m == "domains")
		domains();
	else if (m == "names")
		names();
	else if (m == "deep")
		deep();
	else if (m == "many")
		for (int i = 0; i < 150; i++) { P p(("region_" + std::to_string(i)).c_str()); X(); }
	else if (m == "threads")
		threads();
	else if (m == "graph")
		graph(NULL);
	else if (m == "captured")
		graph("capture_region");
	else if (m == "copies")
		copies();
	else if (m == "storm")
		storm();
	else if (m == "none") {
		G(); X(); R(); S();
	} else if (m == "empty") {
		{ P p("nothing_here"); }
		{ P p("busy"); G(); }
	}
	printf("done %s\n", m.c_str());
	return 0;
}
