#!/usr/bin/env python3
"""Trains a small transformer: forward, backward on autograd's own thread, optimizer.

    step/forward/layerN/{attn,mlp}, step/forward/loss, step/backward, step/optimizer

    python3 workloads/torch_train.py [--steps 20] [--layers 2] [--width 1024] [--emit-nvtx]
        [--wide-layer K --wide 1.5] [--fused]

`--emit-nvtx` makes PyTorch mark every operator too (labels with sequence numbers). `--wide-layer` makes
the MLP of one layer larger, `--fused` uses the fused optimizer: `sonde diff` should find these two changes.
Deterministic (fixed seed, no dropout). Prints the last loss and the wall time of the timed steps.
"""
import argparse
import contextlib
import time

import torch
import torch.nn.functional as F

nvtx = torch.cuda.nvtx


class Layer(torch.nn.Module):
    def __init__(self, width, heads, hidden):
        super().__init__()
        self.heads = heads
        self.norm1 = torch.nn.LayerNorm(width)
        self.qkv = torch.nn.Linear(width, 3 * width, bias=False)
        self.out = torch.nn.Linear(width, width, bias=False)
        self.norm2 = torch.nn.LayerNorm(width)
        self.up = torch.nn.Linear(width, hidden, bias=False)
        self.down = torch.nn.Linear(hidden, width, bias=False)

    def forward(self, x):
        with nvtx.range("attn"):
            b, n, w = x.shape
            q, k, v = self.qkv(self.norm1(x)).view(b, n, 3, self.heads, w // self.heads).unbind(2)
            a = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=True)
            x = x + self.out(a.transpose(1, 2).reshape(b, n, w))
        with nvtx.range("mlp"):
            return x + self.down(F.gelu(self.up(self.norm2(x))))


class Model(torch.nn.Module):
    def __init__(self, a):
        super().__init__()
        hidden = lambda i: int(4 * a.width * (a.wide if i == a.wide_layer else 1))
        self.embed = torch.nn.Embedding(8000, a.width)
        self.layers = torch.nn.ModuleList(Layer(a.width, a.width // 64, hidden(i)) for i in range(a.layers))
        self.head = torch.nn.Linear(a.width, 8000, bias=False)

    def forward(self, tokens):
        x = self.embed(tokens)
        for i, layer in enumerate(self.layers):
            with nvtx.range(f"layer{i}"):
                x = layer(x)
        return self.head(x)


def train(model, optimizer, tokens, steps):
    for _ in range(steps):
        with nvtx.range("step"):
            with nvtx.range("forward"):
                logits = model(tokens[:, :-1])
                with nvtx.range("loss"):
                    loss = F.cross_entropy(logits.flatten(0, 1).float(), tokens[:, 1:].flatten())
            with nvtx.range("backward"):
                loss.backward()
            with nvtx.range("optimizer"):
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
    torch.cuda.synchronize()
    return loss


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--steps", type=int, default=20)
    p.add_argument("--layers", type=int, default=2)
    p.add_argument("--width", type=int, default=1024)
    p.add_argument("--batch", type=int, default=8)
    p.add_argument("--length", type=int, default=256)
    p.add_argument("--warmup", type=int, default=2)
    p.add_argument("--wide-layer", type=int, default=-1)
    p.add_argument("--wide", type=float, default=1.5)
    p.add_argument("--emit-nvtx", action="store_true")
    p.add_argument("--fused", action="store_true")
    a = p.parse_args()
    torch.manual_seed(0)
    model = Model(a).bfloat16().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=a.fused, foreach=False if not a.fused else None)
    tokens = torch.randint(0, 8000, (a.batch, a.length + 1), device="cuda")
    with nvtx.range("warmup"):
        train(model, optimizer, tokens, a.warmup)
    start = time.perf_counter()
    with torch.autograd.profiler.emit_nvtx() if a.emit_nvtx else contextlib.nullcontext():
        loss = train(model, optimizer, tokens, a.steps)
    took = time.perf_counter() - start
    print(f"loss {loss.item():.6f}")
    print(f"inner {took:.6f} s for {a.steps} steps")


if __name__ == "__main__":
    main()
