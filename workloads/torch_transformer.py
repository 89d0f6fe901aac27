#!/usr/bin/env python3
"""A small decoder-only transformer with the NVTX ranges people really write.

    step/prefill/layerN/{attn,mlp}, step/decode/layerN/{attn,mlp}, step/decode/sample

Deterministic (fixed seed, no dropout). Prints the generated tokens and the wall time of the decode loop.

    python3 workloads/torch_transformer.py [--layers 2] [--steps 4] [--width 1024] [--prompt 256] [--warmup 1]
"""
import argparse
import time

import torch
import torch.nn.functional as F

nvtx = torch.cuda.nvtx


class Layer(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1 = torch.nn.LayerNorm(width)
        self.qkv = torch.nn.Linear(width, 3 * width, bias=False)
        self.out = torch.nn.Linear(width, width, bias=False)
        self.norm2 = torch.nn.LayerNorm(width)
        self.up = torch.nn.Linear(width, 4 * width, bias=False)
        self.down = torch.nn.Linear(4 * width, width, bias=False)

    def forward(self, x, cache):
        with nvtx.range("attn"):
            b, n, w = x.shape
            q, k, v = self.qkv(self.norm1(x)).view(b, n, 3, self.heads, w // self.heads).unbind(2)
            q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
            if cache is not None:
                k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
            a = F.scaled_dot_product_attention(q, k, v, is_causal=cache is None)
            x = x + self.out(a.transpose(1, 2).reshape(b, n, w))
        with nvtx.range("mlp"):
            x = x + self.down(F.gelu(self.up(self.norm2(x))))
        return x, (k, v)


class Model(torch.nn.Module):
    def __init__(self, layers, width, heads, vocabulary):
        super().__init__()
        self.embed = torch.nn.Embedding(vocabulary, width)
        self.layers = torch.nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.head = torch.nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens, caches):
        x, new = self.embed(tokens), []
        for i, layer in enumerate(self.layers):
            with nvtx.range(f"layer{i}"):
                x, cache = layer(x, caches[i] if caches else None)
                new.append(cache)
        return self.head(x[:, -1]), new


@torch.inference_mode()
def generate(model, prompt, steps):
    made = []
    with nvtx.range("step"):
        with nvtx.range("prefill"):
            logits, caches = model(prompt, None)
        for _ in range(steps):
            with nvtx.range("decode"):
                with nvtx.range("sample"):
                    token = logits.argmax(-1, keepdim=True)
                made.append(token)
                logits, caches = model(token, caches)
    torch.cuda.synchronize()
    return torch.cat(made, 1)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--layers", type=int, default=2)
    p.add_argument("--steps", type=int, default=4)
    p.add_argument("--width", type=int, default=1024)
    p.add_argument("--prompt", type=int, default=256)
    p.add_argument("--warmup", type=int, default=1)
    a = p.parse_args()
    torch.manual_seed(0)
    model = Model(a.layers, a.width, a.width // 64, 32000).half().cuda().eval()
    prompt = torch.randint(0, 32000, (1, a.prompt), device="cuda")
    for _ in range(a.warmup):
        generate(model, prompt, 2)
    start = time.perf_counter()
    tokens = generate(model, prompt, a.steps)
    took = time.perf_counter() - start
    print("tokens", tokens[0, :8].tolist())
    print(f"inner {took:.6f} s for {a.steps} steps")


if __name__ == "__main__":
    main()
