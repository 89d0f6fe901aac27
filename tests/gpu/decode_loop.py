"""A decode loop as the bar for overhead: many small kernels, CPU-bound, nested NVTX ranges.

    decode_loop.py [STEPS] [proton]     prints the seconds of the loop alone
"""
import sys
import time

import torch

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 400
torch.manual_seed(0)
dim, layers, heads = 512, 6, 8
dev = "cuda"
w = [{k: torch.randn(dim, dim * m, device=dev, dtype=torch.float16) * 0.02
      for k, m in (("qkv", 3), ("o", 1), ("up", 4))} | {
          "down": torch.randn(dim * 4, dim, device=dev, dtype=torch.float16) * 0.02}
     for _ in range(layers)]
cache = torch.randn(layers, 2, heads, 128, dim // heads, device=dev, dtype=torch.float16)
push, pop = torch.cuda.nvtx.range_push, torch.cuda.nvtx.range_pop
proton = None
if "proton" in sys.argv:
    import triton.profiler as proton


class region:
    """An NVTX range, and the same scope for Proton where it runs."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        push(self.name)
        if proton:
            proton.enter_scope(self.name)

    def __exit__(self, *_):
        if proton:
            proton.exit_scope()
        pop()


def step(x):
    for i in range(layers):
        with region(f"layer{i}"):
            with region("attn"):
                q, k, v = (x @ w[i]["qkv"]).chunk(3, -1)
                q = q.view(heads, 1, -1)
                s = torch.softmax(q @ cache[i, 0].transpose(-1, -2) / 8, -1)
                x = x + (s @ cache[i, 1]).reshape(1, -1) @ w[i]["o"]
            with region("mlp"):
                x = x + torch.relu(x @ w[i]["up"]) @ w[i]["down"]
    return torch.nn.functional.layer_norm(x, (dim,))


def loop(n, x):
    for _ in range(n):
        with region("decode"):
            x = step(x)
    torch.cuda.synchronize()
    return x


with torch.no_grad():
    x = loop(20, torch.randn(1, dim, device=dev, dtype=torch.float16))
    if proton:
        proton.start("/tmp/sonde_proton", context="shadow")
        loop(20, x)
    start = time.perf_counter()
    x = loop(steps, x)
    print(f"{time.perf_counter() - start:.6f}")
    if proton:
        proton.finalize()
