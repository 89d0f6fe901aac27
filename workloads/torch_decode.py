#!/usr/bin/env python3
"""A decode loop over a fixed cache, eager or replayed from a CUDA graph: the same kernels both ways.

    eager:    ranges decode/step/layerN/{attn,mlp}, decode/step/lm_head
    --graph:  ranges capture/layerN/{attn,mlp}, capture/lm_head; then decode/step, with one replay in each step

    python3 workloads/torch_decode.py [--steps 200] [--layers 4] [--width 2048] [--graph] [--seconds S]

Deterministic (fixed seed). Prints a checksum and the wall time of the loop.
"""
import argparse
import time

import torch
import torch.nn.functional as F

nvtx = torch.cuda.nvtx


class Layer(torch.nn.Module):
    def __init__(self, width, heads, context):
        super().__init__()
        self.heads = heads
        self.norm1 = torch.nn.LayerNorm(width)
        self.qkv = torch.nn.Linear(width, 3 * width, bias=False)
        self.out = torch.nn.Linear(width, width, bias=False)
        self.norm2 = torch.nn.LayerNorm(width)
        self.up = torch.nn.Linear(width, 4 * width, bias=False)
        self.down = torch.nn.Linear(4 * width, width, bias=False)
        shape = (1, heads, context, width // heads)
        self.register_buffer("keys", torch.randn(shape))
        self.register_buffer("values", torch.randn(shape))

    def forward(self, x):
        with nvtx.range("attn"):
            b, n, w = x.shape
            q, k, v = self.qkv(self.norm1(x)).view(b, n, 3, self.heads, w // self.heads).unbind(2)
            self.keys[:, :, -1:].copy_(k.transpose(1, 2))
            self.values[:, :, -1:].copy_(v.transpose(1, 2))
            a = F.scaled_dot_product_attention(q.transpose(1, 2), self.keys, self.values)
            x = x + self.out(a.transpose(1, 2).reshape(b, n, w))
        with nvtx.range("mlp"):
            return x + self.down(F.gelu(self.up(self.norm2(x))))


class Model(torch.nn.Module):
    def __init__(self, a):
        super().__init__()
        self.layers = torch.nn.ModuleList(Layer(a.width, a.width // 64, a.context) for _ in range(a.layers))
        self.head = torch.nn.Linear(a.width, 32000, bias=False)

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            with nvtx.range(f"layer{i}"):
                x = layer(x)
        with nvtx.range("lm_head"):
            return self.head(x)


def capture(model, x):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            model(x)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with nvtx.range("capture"), torch.cuda.graph(graph):
        out = model(x)
    return graph, out


@torch.inference_mode()
def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--steps", type=int, default=200)
    p.add_argument("--seconds", type=float, default=0, help="go on for so long instead of --steps")
    p.add_argument("--layers", type=int, default=4)
    p.add_argument("--width", type=int, default=2048)
    p.add_argument("--context", type=int, default=512)
    p.add_argument("--graph", action="store_true")
    a = p.parse_args()
    torch.manual_seed(0)
    model = Model(a).half().cuda().eval()
    x = torch.randn(1, 1, a.width, device="cuda", dtype=torch.half)
    with nvtx.range("warmup"):
        for _ in range(3):
            out = model(x)
        graph, out = capture(model, x) if a.graph else (None, out)
    torch.cuda.synchronize()
    start, steps = time.perf_counter(), 0
    with nvtx.range("decode"):
        while time.perf_counter() - start < a.seconds if a.seconds else steps < a.steps:
            with nvtx.range("step"):
                if graph:
                    graph.replay()
                else:
                    out = model(x)
            steps += 1
            if steps % 50 == 0:
                torch.cuda.synchronize()
        torch.cuda.synchronize()
    took = time.perf_counter() - start
    print(f"checksum {out.float().abs().sum().item():.3f}")
    print(f"inner {took:.6f} s for {steps} steps")


if __name__ == "__main__":
    main()
