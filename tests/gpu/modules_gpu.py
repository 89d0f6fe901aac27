#!/usr/bin/env python3
"""What `sonde run --modules` costs and changes, on a GPU: one process of this file each.

    modules_gpu.py turns decode|train     inside `sonde run --modules`: seconds of blocks with and without guards, by turns
    modules_gpu.py compile [MODE]         how often torch.compile traced, broke and compiled again, and the result
"""
import json
import statistics
import sys
import time

import torch
import torch.nn.functional as F


class Layer(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm1, self.norm2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.qkv = torch.nn.Linear(width, 3 * width, bias=False)
        self.out = torch.nn.Linear(width, width, bias=False)
        self.up, self.down = torch.nn.Linear(width, 4 * width, bias=False), torch.nn.Linear(4 * width, width, bias=False)

    def forward(self, x):
        b, n, w = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, n, 3, w // 64, 64).transpose(1, 3).unbind(2)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=n > 1).transpose(1, 2).reshape(b, n, w))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Model(torch.nn.Module):
    def __init__(self, layers, width):
        super().__init__()
        self.layers = torch.nn.ModuleList(Layer(width) for _ in range(layers))
        self.head = torch.nn.Linear(width, 4096, bias=False)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def stepper(kind):
    torch.manual_seed(0)
    if kind == "decode":
        model, x = Model(4, 1024).half().cuda().eval(), torch.randn(1, 1, 1024, device="cuda", dtype=torch.half)

        def step():
            with torch.inference_mode():
                return model(x)
    else:
        model, x = Model(4, 1024).bfloat16().cuda(), torch.randn(8, 256, 1024, device="cuda", dtype=torch.bfloat16)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

        def step():
            loss = model(x).float().square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            return loss

    return model, step


def turns(kind):
    guard = torch.nn.Module.__call__
    plain = torch.nn.Module._wrapped_call_impl
    assert guard is not plain, "not inside sonde run --modules"
    _, step = stepper(kind)
    for _ in range(40):
        step()
    torch.cuda.synchronize()
    seconds = {"guard": [], "plain": []}
    for i in range(60):
        for name in ("guard", "plain") if i % 2 else ("plain", "guard"):
            torch.nn.Module.__call__ = guard if name == "guard" else plain
            start = time.perf_counter()
            for _ in range(25):
                step()
            torch.cuda.synchronize()
            seconds[name].append(time.perf_counter() - start)
    torch.nn.Module.__call__ = guard
    ratios = [a / b for a, b in zip(seconds["guard"], seconds["plain"])]
    q = statistics.quantiles(ratios, n=20)
    print("turns", json.dumps({"program": kind, "ratio": round(statistics.median(ratios), 4), "from": round(q[4], 4), "to": round(q[14], 4),
        "step_us": round(1e6 * statistics.median(seconds["plain"]) / 25, 1)}))


def compiled(mode):
    import torch._dynamo.utils as u

    model, _ = stepper("decode")
    x = torch.randn(1, 1, 1024, device="cuda", dtype=torch.half)
    fast = torch.compile(model, mode=mode)
    with torch.no_grad():
        for _ in range(8):
            out = fast(x)
    torch.cuda.synchronize()
    c = u.counters
    print("compile", json.dumps({"mode": mode, "unique_graphs": c["stats"].get("unique_graphs"), "calls_captured": c["stats"].get("calls_captured"),
        "graph_break": sum(c["graph_break"].values()), "recompiles": sum(c["recompiles"].values()) if "recompiles" in c else 0,
        "sum": round(float(out.float().abs().sum()), 1)}))


if __name__ == "__main__":
    if sys.argv[1] == "turns":
        turns(sys.argv[2])
    else:
        compiled(sys.argv[2] if len(sys.argv) > 2 else "default")
