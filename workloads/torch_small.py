#!/usr/bin/env python3
"""A small transformer with nested NVTX ranges: prefill and decode, layerN inside, attn and mlp inside those.

    torch_small.py [LAYERS=2] [DECODE_STEPS=3] [WIDTH=256] [PROMPT=64]

Deterministic: fixed seed, no dropout, float32. Prints one checksum. Falls back to the CPU without a GPU.
"""
import contextlib
import sys

import torch

HAS_GPU = torch.cuda.is_available()
DEVICE = "cuda" if HAS_GPU else "cpu"


@contextlib.contextmanager
def span(name):
    if HAS_GPU:
        torch.cuda.nvtx.range_push(name)
    try:
        yield
    finally:
        if HAS_GPU:
            torch.cuda.nvtx.range_pop()


class Layer(torch.nn.Module):
    def __init__(self, width, heads=4):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def attention(self, x, cache):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        if cache is not None:
            k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
        weights = (q @ k.transpose(-1, -2)) * (q.shape[-1] ** -0.5)
        mixed = torch.softmax(weights, -1) @ v
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width)), (k, v)

    def forward(self, x, cache):
        with span("attn"):
            mixed, cache = self.attention(x, cache)
            x = x + mixed
        with span("mlp"):
            x = x + self.down(torch.nn.functional.gelu(self.up(self.norm2(x))))
        return x, cache


class Model(torch.nn.Module):
    def __init__(self, layers, width):
        super().__init__()
        self.layers = torch.nn.ModuleList(Layer(width) for _ in range(layers))

    def forward(self, x, caches):
        for i, layer in enumerate(self.layers):
            with span(f"layer{i}"):
                x, caches[i] = layer(x, caches[i])
        return x


def main():
    words = [int(w) for w in sys.argv[1:]]
    layers, steps, width, prompt = words + [2, 3, 256, 64][len(words):]
    torch.manual_seed(0)
    model = Model(layers, width).to(DEVICE).eval()
    x = torch.randn(1, prompt, width, device=DEVICE)
    caches = [None] * layers
    with torch.inference_mode():
        with span("prefill"):
            x = model(x, caches)[:, -1:]
        for _ in range(steps):
            with span("decode"):
                x = model(x, caches)
    if HAS_GPU:
        torch.cuda.synchronize()
    print(f"torch_small {x.double().sum().item():.4f}")


main()
