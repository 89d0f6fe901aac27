#!/usr/bin/env python3
"""A step with planted problems and their fixes, to compare what `sonde whatif` predicts with what happens.

    plain:  step/load, copy, forward, head, log, optimizer: work on the host, a pageable copy of 16 MB, 24 small layers,
            one large product, one .item(), an optimizer with about 430 launches
    train:  step/forward, backward, log, optimizer: 12 small layers with autograd

    python3 workloads/torch_whatif.py [--program plain|train] --base STEPS      runs the base alone, to capture it
    python3 workloads/torch_whatif.py [--program plain|train] --truth [--rounds 12] [--block 20]

--truth measures the base and each fix in one process, in alternating blocks and in random order, since the time of the same loop
differs by a third between processes. It prints JSON: for each fix its changes as `sonde whatif` takes them, and the time of a step
divided by that of the base in the same round (median, 5 % and 95 % quantiles over rounds). Deterministic (fixed seed).
"""
import argparse
import gc
import json
import random
import statistics
import sys
import time

import torch

nvtx = torch.cuda.nvtx
LOAD_S = 0.0008


class Layer(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = torch.nn.Linear(width, width)

    def forward(self, x):
        return x + torch.nn.functional.gelu(self.linear(x))


def optimizers(parameters):
    parameters = list(parameters)
    slow = torch.optim.AdamW(parameters, lr=1e-5, amsgrad=True, foreach=False, fused=False)
    fast = torch.optim.AdamW(parameters, lr=1e-5, amsgrad=True, fused=True)
    return slow, fast


def captured(function):
    """Returns a CUDA graph of the launches of `function`, and what `function` returned."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            function()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = function()
    return graph, out


class Plain:
    """Forward only; the optimizer works on gradients that never change."""

    fixes = {
        "fused": ["fuse:optimizer"],
        "graph": ["graph:forward"],
        "pinned": ["async-copy:copy"],
        "nosync": ["nosync:log"],
        "fused+graph": ["fuse:optimizer", "graph:forward"],
        "noload": ["remove:load"],
        "half": ["kernel:@head=RATIOx"],
        "fused+pinned": ["fuse:optimizer", "async-copy:copy"],
        "fused+graph+pinned+nosync": ["fuse:optimizer", "graph:forward", "async-copy:copy", "nosync:log"],
    }

    def __init__(self):
        width = 256
        self.model = torch.nn.Sequential(*(Layer(width) for _ in range(24))).cuda()
        for p in self.model.parameters():
            p.grad = torch.randn_like(p) * 1e-3
        self.slow, self.fast = optimizers(self.model.parameters())
        self.host = torch.randn(4 << 20)
        self.pinned = self.host.pin_memory()
        self.x = self.host.cuda()
        self.a = torch.randn(4096, 4096, device="cuda", dtype=torch.half)
        self.b = torch.randn(4096, 8192, device="cuda", dtype=torch.half)
        self.half_b = self.b[:, :4096].contiguous()
        self.graph, self.graph_out = captured(self.forward)
        self.kept = None

    @torch.no_grad()
    def forward(self):
        return self.model(self.x[: 64 * 256].view(64, 256)).mean()

    @torch.no_grad()
    def step(self, fixes=()):
        with nvtx.range("step"):
            if "noload" not in fixes:
                with nvtx.range("load"):
                    until = time.perf_counter() + LOAD_S
                    while time.perf_counter() < until:
                        pass
            with nvtx.range("copy"):
                if "pinned" in fixes:
                    self.x.copy_(self.pinned, non_blocking=True)
                else:
                    self.x.copy_(self.host)
            with nvtx.range("forward"):
                if "graph" in fixes:
                    self.graph.replay()
                    out = self.graph_out
                else:
                    out = self.forward()
            with nvtx.range("head"):
                head = self.a @ (self.half_b if "half" in fixes else self.b)
            with nvtx.range("log"):
                self.kept = (head[0, 0], out)
                if "nosync" not in fixes:
                    out.item()
            with nvtx.range("optimizer"):
                (self.fast if "fused" in fixes else self.slow).step()

    def ratio(self):
        """Time of the product with half the columns ÷ that of the whole product."""
        took = []
        for b in (self.b, self.half_b):
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            self.a @ b
            begin.record()
            for _ in range(50):
                self.a @ b
            end.record()
            end.synchronize()
            took.append(begin.elapsed_time(end))
        return took[1] / took[0]


class Train:
    """Forward and backward; the fix `graph` puts both into one CUDA graph."""

    fixes = {
        "fused": ["fuse:optimizer"],
        "graph": ["graph:forward", "graph:backward"],
        "nosync": ["nosync:log"],
        "fused+graph": ["fuse:optimizer", "graph:forward", "graph:backward"],
        "fused+graph+nosync": ["fuse:optimizer", "graph:forward", "graph:backward", "nosync:log"],
    }

    def __init__(self):
        width = 512
        self.model = torch.nn.Sequential(*(Layer(width) for _ in range(12))).cuda()
        self.slow, self.fast = optimizers(self.model.parameters())
        self.x = torch.randn(256, width, device="cuda")
        self.graph, self.graph_out = captured(self.both)
        # The graph writes to its own gradients; steps that use the graph must use these.
        self.graph_grads = [p.grad for p in self.model.parameters()]
        self.kept = None

    def both(self):
        for p in self.model.parameters():
            p.grad = None
        loss = self.model(self.x).square().mean()
        loss.backward()
        return loss

    def step(self, fixes=()):
        with nvtx.range("step"):
            if "graph" in fixes:
                with nvtx.range("forward"):
                    self.graph.replay()
                    out = self.graph_out
                for p, g in zip(self.model.parameters(), self.graph_grads):
                    p.grad = g
            else:
                with nvtx.range("forward"):
                    out = self.model(self.x).square().mean()
                with nvtx.range("backward"):
                    out.backward()
            with nvtx.range("log"):
                self.kept = out.detach()
                if "nosync" not in fixes:
                    self.kept.item()
            with nvtx.range("optimizer"):
                (self.fast if "fused" in fixes else self.slow).step()
                self.slow.zero_grad(set_to_none=True)

    def ratio(self):
        return None


def block(program, fixes, steps, before=0):
    """Returns the milliseconds of a step; runs `before` more steps first, which are not timed."""
    for _ in range(before):
        program.step(fixes)
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(steps):
        program.step(fixes)
    torch.cuda.synchronize()
    return (time.perf_counter() - start) * 1000 / steps


def truth(program, a):
    names = ["base"] + list(program.fixes)
    chosen = {}
    for name in names:
        fixes = () if name == "base" else tuple(name.split("+"))
        try:
            block(program, fixes, 10)
            chosen[name] = fixes
        except Exception as e:  # a fix that does not work on this machine does not stop the others
            print(f"{name}: {e}", file=sys.stderr)
    took = {name: [] for name in chosen}
    for _ in range(a.rounds):
        for name in random.sample(list(chosen), len(chosen)):
            took[name].append(block(program, chosen[name], a.block, 3))
    ratio = program.ratio()
    out = {"program": a.program, "rounds": a.rounds, "block": a.block, "base_ms": statistics.median(took["base"]), "fixes": {}}
    for name in list(chosen)[1:]:
        ratios = sorted(t / b for t, b in zip(took[name], took["base"]))
        at = lambda q: ratios[min(len(ratios) - 1, int(q * len(ratios)))]
        out["fixes"][name] = {
            "changes": [c.replace("RATIO", f"{ratio:.3f}") if ratio else c for c in program.fixes[name]],
            "ratio": statistics.median(ratios),
            "low": at(0.05),
            "high": at(0.95),
            "ms": statistics.median(took[name]),
        }
    print(json.dumps(out, indent=1))


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--program", choices=("plain", "train"), default="plain")
    p.add_argument("--truth", action="store_true")
    p.add_argument("--base", type=int, default=0, metavar="STEPS")
    p.add_argument("--rounds", type=int, default=12)
    p.add_argument("--block", type=int, default=20)
    a = p.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    random.seed(0)
    gc.disable()  # pauses of the garbage collector are longer than a step
    with nvtx.range("warmup"):
        program = Plain() if a.program == "plain" else Train()
        for _ in range(10):
            program.step()
        torch.cuda.synchronize()
    if a.truth:
        truth(program, a)
    if a.base:
        print(f"inner {block(program, (), a.base) * a.base / 1000:.6f} s for {a.base} steps")


if __name__ == "__main__":
    main()
