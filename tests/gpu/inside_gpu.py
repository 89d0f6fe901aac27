#!/usr/bin/env python3
"""Runs six kernels again and again, each alone in an NVTX range; tests/gpu/pc_gpu.sh compares them with ncu.

    inside_gpu.py [--rounds N] [--once]      --once: each kernel once after a warm-up, for ncu
"""
import argparse

import torch

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

args = argparse.ArgumentParser()
args.add_argument("--rounds", type=int, default=400)
args.add_argument("--once", action="store_true")
args = args.parse_args()
torch.manual_seed(1)
x = torch.randn(4096, 4096, device="cuda")
h = x.half()
q = torch.randn(8, 16, 2048, 64, device="cuda", dtype=torch.half)
out, half_out = torch.empty_like(x), torch.empty_like(h)

if triton:

    @triton.jit
    def softmax_kernel(to, of, n: tl.constexpr):
        row = tl.program_id(0)
        at = tl.arange(0, n)
        v = tl.load(of + row * n + at)
        v = tl.exp(v - tl.max(v, 0))
        tl.store(to + row * n + at, v / tl.sum(v, 0))

    @triton.jit
    def matmul_kernel(c, a, b, n, m: tl.constexpr, k: tl.constexpr):
        rows = tl.program_id(0) * m + tl.arange(0, m)
        cols = tl.program_id(1) * m + tl.arange(0, m)
        acc = tl.zeros((m, m), tl.float32)
        for i in range(0, n, k):
            ks = i + tl.arange(0, k)
            acc += tl.dot(tl.load(a + rows[:, None] * n + ks[None, :]), tl.load(b + ks[:, None] * n + cols[None, :]))
        tl.store(c + rows[:, None] * n + cols[None, :], acc.to(tl.float16))


kernels = {
    "elementwise": lambda: torch.add(x, 1.5, out=out),
    "reduction": lambda: x.sum(1),
    "gemm": lambda: torch.mm(h, h, out=half_out),
    "attention": lambda: torch.nn.functional.scaled_dot_product_attention(q, q, q),
}
if triton:
    kernels["triton_softmax"] = lambda: softmax_kernel[(4096,)](out, x, 4096)
    kernels["triton_matmul"] = lambda: matmul_kernel[(32, 32)](half_out, h, h, 4096, 128, 64)
for name, run in kernels.items():
    run()
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_push(name)
    for _ in range(1 if args.once else args.rounds):
        run()
        torch.cuda.synchronize()  # alone, as under ncu
    torch.cuda.nvtx.range_pop()
