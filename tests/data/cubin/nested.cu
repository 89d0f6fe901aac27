__device__ __forceinline__ float l3(float x) {
  return __expf(x) + 1.0f;
}
__device__ __forceinline__ float l2(float x) {
  float y = x * 3;
  return l3(y) * 0.5f;
}
__device__ __forceinline__ float l1(float x) {
  float z = x - 7;
  z = l2(z) + z;
  return l3(z) + l2(z * z);
}
extern "C" __global__ void first(float *a) {
  float v = a[threadIdx.x];
  a[threadIdx.x] = l1(v);
}
extern "C" __global__ void second(float *a, int n) {
  for (int i = 0; i < n; i++) {
    float v = a[threadIdx.x + i];
    a[threadIdx.x + i] = l1(v) + l2(v);
  }
}
__device__ __noinline__ float called(float x, int n) {
  float s = 0;
  for (int i = 0; i < n; i++)
    s += l3(x + i);
  return s;
}
extern "C" __global__ void third(float *a, int n) {
  __shared__ float sh[256];
  sh[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  a[threadIdx.x] = called(sh[threadIdx.x ^ 1], n);
}
