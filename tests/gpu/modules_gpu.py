#!/usr/bin/env python3
"""Programs that measure what `sonde run --modules` costs and changes on a GPU; each runs in its own process.

    modules_gpu.py turns decode|train     run it under `sonde run --modules`: seconds of blocks with and without guards, in turn
    modules_gpu.py compile [MODE]         how often torch.compile traced, broke the graph and compiled again, and the result
    modules_gpu.py tree [--ranges]        a training loop; --ranges: with its own ranges, which have the names that sonde gives modules
    modules_gpu.py memory OUT.json        the same loop; writes by module what PyTorch's allocator had around each call (sonde reads it too)
    modules_gpu.py truth OUT.json         the same with the peak inside each call, which the program resets again and again
    modules_gpu.py reading                the time of one reading of the allocator
    modules_gpu.py ddp|fsdp|loop          real training loops: one rank of DDP, of FSDP; data loading, autocast, scaling, a schedule
    modules_gpu.py snapshot OUT.pickle    a history of the allocator, dumped by torch.cuda.memory
    modules_gpu.py trace OUT.json [graph] a model under torch.profiler with stacks; graph: captured and replayed inside the trace

tests/gpu/modules_check.py checks the reports.
"""
import contextlib
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


# --- programs -----------------------------------------------------------------------------------------


def label_of(model, path):
    """The path of attributes from the nearest module that can be called, as --modules has it."""
    if not path:
        return type(model).__name__
    around = path.rpartition(".")[0]
    while around and isinstance(model.get_submodule(around), torch.nn.ModuleList):
        around = around.rpartition(".")[0]
    return path[len(around) + 1:] if around else path


def train(model, steps, around, x):
    """`around` gives a context for each part; the first iteration has no step, as nobody knows yet that it is one."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    for i in range(steps):
        torch.cuda.reset_peak_memory_stats()
        with around("step") if i else contextlib.nullcontext():
            out = model(x)
            loss = out.float().square().mean()
            with around("backward"):
                loss.backward()
            with around("AdamW.step"):
                optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        out = None
    torch.cuda.synchronize()
    print("loss %.3g" % loss.item())


def a_model():
    """The same numbers in each run: attention without atomic additions."""
    torch.backends.cuda.enable_flash_sdp(False)
    torch.backends.cuda.enable_mem_efficient_sdp(False)
    torch.manual_seed(0)
    return Model(3, 512).bfloat16().cuda(), torch.randn(8, 128, 512, device="cuda", dtype=torch.bfloat16)


def mark(module, label):
    def push(m, args):
        torch.cuda.nvtx.range_push(label)

    def pop(m, args, out):
        torch.cuda.nvtx.range_pop()

    module.register_forward_pre_hook(push)
    module.register_forward_hook(pop)


def tree(has_ranges):
    model, x = a_model()
    for path, m in model.named_modules() if has_ranges else ():
        if not isinstance(m, torch.nn.ModuleList):
            mark(m, label_of(model, path))
    train(model, 6, torch.cuda.nvtx.range if has_ranges else lambda name: contextlib.nullcontext(), x)


def memory(out, is_truth):
    """By module: [allocated before, after, peak inside] of each call; without resets the peak is not known."""
    model, x = a_model()
    calls, stack = {}, []

    def boundary():
        most = torch.cuda.max_memory_allocated()
        for entry in stack:
            entry[1] = max(entry[1], most)
        if is_truth:
            torch.cuda.reset_peak_memory_stats()
        return torch.cuda.memory_allocated()

    def enter(m, a):
        now = boundary()
        stack.append([now, now])

    def leave(m, a, o, label=None):
        now = boundary()
        before, peak = stack.pop()
        calls.setdefault(label, []).append([before, now, peak])

    for path, m in model.named_modules():
        if not isinstance(m, torch.nn.ModuleList):
            m.register_forward_pre_hook(enter)
            m.register_forward_hook(lambda m, a, o, path=path: leave(m, a, o, path))
    train(model, 600, lambda name: contextlib.nullcontext(), x)
    with open(out, "w") as f:
        json.dump({label_path(model, p): c for p, c in calls.items()}, f)


def label_path(model, path):
    """The region of a module, below its root."""
    parts, at = [], path
    while at:
        label = label_of(model, at)
        parts.insert(0, label)
        at = at[: len(at) - len(label)].rstrip(".")
    return "/".join([type(model).__name__] + parts)


def reading():
    torch.zeros(1, device="cuda")
    times = []
    for _ in range(2000):
        start = time.perf_counter_ns()
        torch._C._cuda_memoryStats(torch._C._cuda_getDevice())
        times.append(time.perf_counter_ns() - start)
    q = statistics.quantiles(times, n=20)
    print("reading", json.dumps({"us": round(statistics.median(times) / 1000, 2), "from": round(q[0] / 1000, 2), "to": round(q[18] / 1000, 2)}))


def distributed(kind):
    import os
    import tempfile

    import torch.distributed as dist

    store = os.path.join(tempfile.mkdtemp(), "store")
    torch.cuda.set_device(0)
    dist.init_process_group("nccl", init_method="file://" + store, rank=0, world_size=1)
    model, x = a_model()
    if kind == "ddp":
        model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[0])
    else:
        from torch.distributed.fsdp import fully_shard

        for layer in model.layers:
            fully_shard(layer)
        fully_shard(model)
    train(model, 60, lambda name: contextlib.nullcontext(), x)
    one = torch.ones(4, device="cuda")
    dist.all_reduce(one)
    print("sum", one.sum().item())
    dist.destroy_process_group()


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 256

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        return torch.randn(64, 256, generator=g), i % 10


class Classifier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Sequential(*(torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.GELU(), torch.nn.LayerNorm(256)) for _ in range(4)))
        self.head = torch.nn.Linear(256, 10)

    def forward(self, x):
        return self.head(self.body(x).mean(1))


def loop():
    """Data loading by workers, autocast, a gradient scaler, clipping, a schedule, an evaluation after each epoch."""
    torch.manual_seed(0)
    model = Classifier().cuda()
    loss_of = torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-3, total_steps=3 * 16)
    scaler = torch.amp.GradScaler("cuda")
    loader = torch.utils.data.DataLoader(Data(), batch_size=16, num_workers=2, pin_memory=True)
    for epoch in range(3):
        model.train()
        for x, y in loader:
            x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
            with torch.autocast("cuda", dtype=torch.float16):
                loss = loss_of(model(x), y)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            schedule.step()
            optimizer.zero_grad(set_to_none=True)
        model.eval()
        with torch.no_grad():
            right = sum((model(x.cuda()).argmax(1).cpu() == y).sum().item() for x, y in loader)
        print("epoch", epoch, "loss %.2g" % loss.item(), "right", right // 8)
    torch.cuda.synchronize()


def snapshot(out):
    torch.cuda.memory._record_memory_history(max_entries=20000)
    model, x = a_model()
    train(model, 3, lambda name: contextlib.nullcontext(), x)
    torch.cuda.memory._dump_snapshot(out)
    torch.cuda.memory._record_memory_history(enabled=None)


def trace(out, has_graph):
    model, x = a_model()
    model.eval()
    with torch.inference_mode():
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                model(x)
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        with torch.profiler.profile(with_stack=True, record_shapes=True) as p:
            if has_graph:
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph):
                    model(x)
                torch.cuda.synchronize()
                for _ in range(3):
                    with torch.profiler.record_function("replay"):
                        graph.replay()
            else:
                for _ in range(2):
                    model(x)
            torch.cuda.synchronize()
    p.export_chrome_trace(out)


def main(command, *args):
    if command == "turns":
        turns(*args)
    elif command == "compile":
        compiled(*(args or ["default"]))
    elif command == "tree":
        tree("--ranges" in args)
    elif command in ("memory", "truth"):
        memory(args[0], command == "truth")
    elif command in ("ddp", "fsdp"):
        distributed(command)
    elif command == "trace":
        trace(args[0], "graph" in args)
    else:
        {"reading": reading, "loop": loop, "snapshot": snapshot}[command](*args)


if __name__ == "__main__":
    main(*sys.argv[1:])
