#include <cstdio>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
// operations: each kernel has 256 x 256 threads that do 100 of one kind, on values the compiler cannot know
#define N (256*256)
#define OP(name, type, init, expr) __global__ void name(type *p, type a, type b){ int i=blockIdx.x*blockDim.x+threadIdx.x; type x=p[i]; _Pragma("unroll 100") for(int k=0;k<100;k++) x=expr; p[i]=x; }
OP(k_hfma2, __half2, 0, __hfma2(x,a,b))
OP(k_hadd2, __half2, 0, __hadd2(x,a))
OP(k_hmul2, __half2, 0, __hmul2(x,a))
OP(k_hfma, __half, 0, __hfma(x,a,b))
OP(k_hadd, __half, 0, __hadd(x,a))
OP(k_ffma, float, 0, fmaf(x,a,b))
OP(k_fadd, float, 0, x+a)
OP(k_dfma, double, 0, fma(x,a,b))
int main(){ void*p; cudaMalloc(&p,N*16); cudaMemset(p,0,N*16);
 __half h=__float2half(1.5f); __half2 h2=__floats2half2_rn(1.5f,.5f);
 nvtxRangePushA("half"); k_hfma2<<<256,256>>>((__half2*)p,h2,h2); k_hadd2<<<256,256>>>((__half2*)p,h2,h2); k_hmul2<<<256,256>>>((__half2*)p,h2,h2); k_hfma<<<256,256>>>((__half*)p,h,h); k_hadd<<<256,256>>>((__half*)p,h,h); cudaDeviceSynchronize(); nvtxRangePop();
 nvtxRangePushA("float"); k_ffma<<<256,256>>>((float*)p,1.5f,.5f); k_fadd<<<256,256>>>((float*)p,1.5f,.5f); cudaDeviceSynchronize(); nvtxRangePop();
 nvtxRangePushA("double"); k_dfma<<<256,256>>>((double*)p,1.5,.5); cudaDeviceSynchronize(); nvtxRangePop();
 puts("done"); return cudaGetLastError(); }
