#!/usr/bin/env python3
"""Makes traces of programs with one or two planted problems each: planted.py DIR.

This was written from the list of causes that a report may name, independently of the code that finds
them: whole training and serving loops with noise, several regions, and ordinary work besides
the problem. For each file, truth.tsv in DIR has the causes and regions that are right; with
two problems, also those of the second, smaller one.
"""
import json
import random
import sys
from pathlib import Path


PROFILER = 7.9  # microseconds behind each call: what torch.profiler adds


class Program:
    """One process: host threads call, streams work in order; times in microseconds."""

    def __init__(self, seed, rank=None, ranks=1):
        self.rng = random.Random(seed)
        self.now = 1000.0
        self.tid = 1
        self.free = {}
        self.events = []
        self.correlation = 0
        self.open = []
        self.rank, self.ranks = rank, ranks

    def noisy(self, us):
        return us * self.rng.lognormvariate(0, 0.04)

    def event(self, cat, name, ts, dur, tid=None, **args):
        self.events.append({"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid or self.tid, "ts": round(ts, 3),
                            "dur": round(dur, 3), "args": args})

    def push(self, name):
        self.open.append((name, self.now))
        self.now += 0.4

    def pop(self):
        name, since = self.open.pop()
        self.event("user_annotation", name, since, self.now - since)
        self.now += 0.4

    def host(self, us):
        self.now += self.noisy(us)

    def call(self, name, us):
        self.correlation += 1
        self.event("cuda_runtime", name, self.now, us, correlation=self.correlation)
        self.now += us + PROFILER
        return self.correlation

    def kernel(self, name, us, stream=7, after=0.0, cost=4.5):
        """Launches; `after`: not before that time. Returns its end."""
        begin = self.now
        c = self.call("cudaLaunchKernel", self.noisy(cost))
        start = max(begin + 5.5, self.free.get(stream, 0) + 0.9, after)
        return self.work("kernel", name, start, self.noisy(us), stream, c)

    def work(self, cat, name, start, us, stream, correlation, **args):
        self.event(cat, name, start, us, tid=stream, correlation=correlation, stream=stream, device=0, **args)
        self.free[stream] = start + us
        return start + us

    def copy(self, us, size, kind="Pinned", stream=7, blocks=False):
        begin = self.now
        c = self.call("cudaMemcpyAsync", 5.0)
        start = max(begin + 6, self.free.get(stream, 0) + 1)
        end = self.work("gpu_memcpy", f"Memcpy HtoD ({kind} -> Device)", start, self.noisy(us), stream, c, bytes=size)
        if blocks:
            self.events[-2]["dur"] = round(end - begin, 3)
            self.now = end + 2
        return end

    def sync(self, stream=7, name="cudaStreamSynchronize"):
        self.call(name, max(self.free.get(stream, 0) - self.now, 0) + 3)

    def ops(self, nr, us, name="sm90_xmma_gemm_bf16", gap=3):
        for i in range(nr):
            self.kernel(f"{name}_{i % 3}" if nr > 3 else name, us)
            self.host(gap)

    def train(self):
        """A step's ordinary work: the GPU is busy, the host runs ahead."""
        self.push("forward")
        self.ops(12, 90)
        self.pop()
        self.push("backward")
        self.ops(18, 110)
        self.pop()
        self.push("optimizer")
        self.ops(4, 60, "multi_tensor_apply_kernel")
        self.pop()

    def write(self, path):
        top = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H200", "computeMajor": 9, "computeMinor": 0,
                                                         "numSms": 132, "totalGlobalMem": 150000000000}],
               "traceEvents": sorted(self.events, key=lambda e: e["ts"])}
        if self.rank is not None:
            top["distributedInfo"] = {"backend": "nccl", "rank": self.rank, "world_size": self.ranks}
        path.write_text(json.dumps(top))


def loop(p, step, between=None, nr=20):
    for _ in range(nr):
        p.push("train_step")
        step(p)
        p.sync()
        p.pop()
        if between:
            between(p)


def loader_between(p):
    loop(p, Program.train, lambda q: q.host(6000))


def loader_inside(p):
    def step(q):
        q.push("next_batch")
        q.host(5000)
        q.pop()
        q.train()
    loop(p, step)


def augment(p):
    def step(q):
        q.push("forward")
        q.ops(12, 90)
        q.sync()
        q.pop()
        q.push("augment")
        q.host(4000)
        q.pop()
        q.push("backward")
        q.ops(18, 110)
        q.pop()
    loop(p, step)


def pageable(p):
    def step(q):
        q.push("to_device")
        for _ in range(4):
            q.copy(2600, 16 << 20, "Pageable", blocks=True)
        q.pop()
        q.train()
    loop(p, step)


def small_copies(p):
    def step(q):
        q.push("pack")
        for _ in range(300):
            q.copy(1.6, 2048)
            q.host(1)
        q.pop()
        q.push("forward")
        q.ops(5, 90)
        q.pop()
    loop(p, step)


def allocations(p):
    def step(q):
        q.push("forward")
        for _ in range(6):
            q.sync()
            q.call("cudaMalloc", q.noisy(420))
            q.kernel("elementwise_kernel", 120)
            q.call("cudaFree", max(q.free[7] - q.now, 0) + q.noisy(380))
        q.pop()
    loop(p, step)


def all_reduce(p):
    def step(q):
        q.train()
        q.push("sync_gradients")
        for _ in range(3):
            end = q.kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 1500, 20, q.free[7] + 6)
        q.free[7] = end + 4
        q.pop()
        q.kernel("sm90_xmma_gemm_bf16", 100)
    loop(p, step)


def graph_of_tiny(p):
    def step(q):
        begin = q.now
        c = q.call("cudaGraphLaunch", 14)
        at = begin + 12
        for i in range(420):
            at = q.work("kernel", f"elementwise_kernel_{i % 4}", at, q.noisy(1.3), 7, c, **{"graph node id": i + 1}) + 0.9
    loop(p, step)


def tail(p):
    def step(q):
        q.train()
        q.sync()
        q.push("metrics")
        q.host(5500)
        q.pop()
    for _ in range(20):
        p.push("train_step")
        step(p)
        p.pop()


def side_thread(p):
    """The main thread waits, outside CUDA, for a thread that collates."""
    def step(q):
        begin = q.now
        q.host(5200)
        q.event("user_annotation", "collate", begin + 50, q.now - begin - 60, tid=2)
        q.train()
    loop(p, step)


def outside(p):
    for _ in range(20):
        p.ops(40, 100)
        p.push("evaluate")
        p.ops(4, 90)
        p.pop()
        p.sync()


def ping_pong(p):
    """All is launched ahead; each kernel waits for an event of the other stream."""
    def step(q):
        q.now += 0
        end = q.kernel("spin", 900)
        for i in range(60):
            end = q.kernel("left" if i % 2 else "right", 12, 7 + i % 2, end + 11, 3)
        q.free[7] = max(q.free[7], end)
    loop(p, step)


def item(p):
    def step(q):
        q.push("forward")
        for _ in range(15):
            q.kernel("sm90_xmma_gemm_bf16", 60)
            q.copy(1.5, 4, "Device", blocks=False)
            q.sync()
            q.now += 55
        q.pop()
    loop(p, step)


def unfused_optimizer(p):
    def step(q):
        q.push("forward")
        q.ops(10, 90)
        q.pop()
        q.push("backward")
        q.ops(16, 100)
        q.pop()
        q.push("optimizer")
        q.sync()
        q.ops(350, 3.5, "vectorized_elementwise_kernel", 6)
        q.pop()
    loop(p, step)


def next_batch(q, us):
    q.push("next_batch")
    q.host(us)
    q.pop()


def copies_and_loading(p):
    def step(q):
        next_batch(q, 400)
        q.push("pack")
        for _ in range(300):
            q.copy(1.6, 2048)
            q.host(1)
        q.pop()
        q.push("forward")
        q.ops(5, 90)
        q.pop()
    loop(p, step)


def graph_and_loading(p):
    def step(q):
        next_batch(q, 100)
        begin = q.now
        c = q.call("cudaGraphLaunch", 14)
        at = begin + 12
        for i in range(420):
            at = q.work("kernel", f"elementwise_kernel_{i % 4}", at, q.noisy(1.3), 7, c, **{"graph node id": i + 1}) + 0.9
    loop(p, step)


def comm_and_loading(p):
    def step(q):
        next_batch(q, 500)
        q.train()
        q.push("sync_gradients")
        for _ in range(3):
            end = q.kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 1500, 20, q.free[7] + 6)
        q.free[7] = end + 4
        q.pop()
        q.kernel("sm90_xmma_gemm_bf16", 100)
    loop(p, step)


def pageable_and_augment(p):
    def step(q):
        q.push("to_device")
        for _ in range(3):
            q.copy(2200, 14 << 20, "Pageable", blocks=True)
        q.pop()
        q.push("forward")
        q.ops(12, 90)
        q.sync()
        q.pop()
        q.push("augment")
        q.host(1500)
        q.pop()
        q.push("backward")
        q.ops(18, 110)
        q.pop()
    loop(p, step)


def allocations_and_metrics(p):
    def step(q):
        q.push("forward")
        for _ in range(6):
            q.call("cudaMalloc", q.noisy(520))
            q.kernel("elementwise_kernel", 120)
            q.call("cudaFree", max(q.free[7] - q.now, 0) + q.noisy(380))
        q.pop()
        q.push("metrics")
        q.host(1300)
        q.pop()
    for _ in range(20):
        p.push("train_step")
        step(p)
        p.pop()


def optimizer_and_metrics(p):
    def step(q):
        q.push("forward")
        q.ops(10, 90)
        q.pop()
        q.push("optimizer")
        q.sync()
        q.ops(350, 3.5, "vectorized_elementwise_kernel", 6)
        q.sync()
        q.pop()
        q.push("metrics")
        q.host(900)
        q.pop()
    for _ in range(20):
        p.push("train_step")
        step(p)
        p.pop()


def loading_and_pageable(p):
    def step(q):
        q.push("to_device")
        q.copy(1400, 9 << 20, "Pageable", blocks=True)
        q.pop()
        q.train()
    loop(p, step, lambda q: q.host(4500))


def compiled_first(p):
    """Half a second of the first step is not what each step costs."""
    steps = iter(range(1000))

    def step(q):
        q.host(500000 if next(steps) == 0 else 0)
        q.push("to_device")
        q.copy(2800, 18 << 20, "Pageable", blocks=True)
        q.pop()
        q.train()
    loop(p, step)


def started_late(p):
    """One stream with all its work launched ahead, but the GPU takes 12 us to start a kernel."""
    def step(q):
        end = q.kernel("spin", 700)
        for _ in range(40):
            end = q.kernel("sm90_xmma_gemm_bf16", 40, 7, end + 12, 3)
    loop(p, step)


def loading_and_pinned(p):
    """Copies that are pinned and asynchronous already, but in the stream of the kernels: async-copy gains nothing."""
    def step(q):
        next_batch(q, 700)
        q.push("to_device")
        for _ in range(4):
            q.copy(900, 48 << 20)
        q.pop()
        q.train()
    loop(p, step)


def item_and_copies(p):
    def step(q):
        q.push("forward")
        for _ in range(25):
            q.kernel("sm90_xmma_gemm_bf16", 60)
            q.copy(1.5, 4, "Device")
            q.sync()
            q.now += 5
        q.pop()
        q.push("pack")
        for _ in range(30):
            q.copy(1.6, 2048)
            q.host(1)
        q.pop()
    loop(p, step)


def read_values(q, nr=10, waits=False):
    """Each value that the host reads is a blocking copy of 4 bytes; then torch also synchronises, which waits for nothing."""
    q.push("forward")
    for _ in range(nr):
        q.ops(2, 60)
        q.copy(1.5, 4, "Pageable", blocks=True)
        if waits:
            q.sync()
        q.now += 55
    q.pop()


def values(p):
    loop(p, read_values)


def items(p):
    loop(p, lambda q: read_values(q, waits=True))


def checkpoint_and_values(p):
    for _ in range(20):
        p.push("train_step")
        read_values(p)
        p.sync()
        p.push("checkpoint")
        p.host(3000)
        p.pop()
        p.pop()


def slow_start(p):
    """The first step compiles for 400 ms; all others are slowed by a pageable copy."""
    def step(q):
        if not q.open[1:] and q.now < 5000:
            q.host(400000)
        q.push("to_device")
        q.copy(2800, 18 << 20, "Pageable", blocks=True)
        q.pop()
        q.train()
    loop(p, step, nr=40)


def two_threads(p):
    """The main thread waits, outside CUDA, for a thread that decodes and copies."""
    def step(q):
        begin = q.now
        q.tid, q.now = 2, begin + 20
        q.push("decode")
        q.host(2500)
        end = q.copy(80, 4 << 20, stream=9)
        q.pop()
        q.tid, q.now = 1, q.now + 10
        q.free[7] = max(q.free.get(7, 0), end)
        q.train()
    for _ in range(20):
        begin = p.now
        step(p)
        p.sync()
        p.event("user_annotation", "train_step", begin, p.now - begin)
        p.now += 0.4


def late_rank(folder):
    ranks = [Program(50 + r, r, 4) for r in range(4)]
    for step in range(20):
        for r, p in enumerate(ranks):
            p.push("train_step")
            p.train()
            if r == 2:
                p.ops(30, 100, "extra_gemm")
            p.push("sync_gradients")
        arrive = [max(p.now + 5.5, p.free[7] + 6) for p in ranks]
        for p, at in zip(ranks, arrive):
            c = p.call("cudaLaunchKernel", 5)
            end = max(arrive) + 300
            p.event("kernel", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", at, end - at, tid=20, correlation=c, stream=20, device=0,
                    **{"Collective name": "allreduce", "In msg nelems": 1 << 20, "Out msg nelems": 1 << 20, "Group size": 4, "dtype": "BFloat16",
                       "Process Group Name": "0"})
            p.free[20] = p.free[7] = end
            p.pop()
            p.sync(20)
            p.pop()
            p.now = max(p.now, end + 8)
    folder.mkdir(exist_ok=True)
    for r, p in enumerate(ranks):
        p.write(folder / f"rank{r}.json")


def l1_bound(path):
    """A report of `ncu --csv --page raw`: one kernel has most of the time, L1 is at 86 % and DRAM at 2 %."""
    heads = ["ID", "Process ID", "Process Name", "Host Name", "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg",
             "Id:Domain:Start/Stop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg", "Kernel Name", "Context", "Stream", "Device", "CC",
             "gpu__time_duration.sum", "sm__throughput.avg.pct_of_peak_sustained_elapsed",
             "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", "dram__throughput.avg.pct_of_peak_sustained_elapsed",
             "l1tex__throughput.avg.pct_of_peak_sustained_active", "lts__t_sectors.avg.pct_of_peak_sustained_elapsed",
             "sm__warps_active.avg.pct_of_peak_sustained_active"]
    rows = [heads, [""] * 11 + ["ns", "%", "%", "%", "%", "%", "%"]]
    for i in range(24):
        stencil = i % 3 == 1
        name, figures = ("stencil27(const float *, float *)", [410000 + 300 * i, 41, 86, 2, 86, 9, 71]) if stencil else \
            ("axpy(float *)", [21000 + 30 * i, 12, 88, 88, 30, 40, 80])
        stack = '1  "<default domain>:%s:none:none:none:none:none:none" ' % ("sweep" if stencil else "update")
        rows.append([str(i), "1", "solver", "127.0.0.1", stack, "", name, "1", "7", "0", "9.0"] + ["%.2f" % f for f in figures])
    path.write_text("".join(",".join('"' + cell.replace('"', '""') + '"' for cell in row) + "\n" for row in rows))


PLANTED = [  # the program, causes that are right, regions that are right
    (loader_between, "between", "train_step"),
    (loader_inside, "head", "train_step/next_batch"),
    (augment, "host", "train_step/augment"),
    (pageable, "pageable_copies|copy", "train_step/to_device"),
    (small_copies, "small_copies", "train_step/pack"),
    (allocations, "alloc", "train_step/forward|train_step"),
    (all_reduce, "exposed_comm", "train_step/sync_gradients"),
    (graph_of_tiny, "tiny_kernels", "train_step"),
    (tail, "tail", "train_step/metrics"),
    (side_thread, "head|host", "train_step"),
    (outside, "outside", "outside any range"),
    (ping_pong, "queued", "train_step"),
    (item, "sync", "train_step/forward"),
    (unfused_optimizer, "launch", "train_step/optimizer"),
    (compiled_first, "pageable_copies|copy", "train_step/to_device"),
    (started_late, "stream_gaps", "train_step"),
]

PAIRS = [  # the same of two problems, the larger one first
    (copies_and_loading, "small_copies", "train_step/pack", "head", "train_step/next_batch"),
    (graph_and_loading, "tiny_kernels", "train_step", "head", "train_step/next_batch"),
    (comm_and_loading, "exposed_comm", "train_step/sync_gradients", "head", "train_step/next_batch"),
    (pageable_and_augment, "pageable_copies|copy", "train_step/to_device", "host", "train_step/augment"),
    (allocations_and_metrics, "alloc", "train_step/forward", "tail", "train_step/metrics"),
    (optimizer_and_metrics, "launch", "train_step/optimizer", "tail", "train_step/metrics"),
    (loading_and_pageable, "between", "train_step", "pageable_copies|copy", "train_step/to_device"),
    (loading_and_pinned, "copies", "train_step/to_device", "head", "train_step/next_batch"),
    (item_and_copies, "sync", "train_step/forward", "small_copies", "train_step/pack"),
]

LATER = [  # these were named wrongly until a review made such programs
    (values, "sync", "train_step/forward"),
    (items, "sync", "train_step/forward"),
    (checkpoint_and_values, "tail", "train_step/checkpoint", "sync", "train_step/forward"),
    (slow_start, "pageable_copies", "train_step/to_device"),
    (two_threads, "head", "train_step"),
]


def main():
    to = Path(sys.argv[1])
    lines = []
    for seed, (make, *truth) in enumerate(PLANTED + PAIRS + LATER):
        p = Program(seed)
        make(p)
        p.write(to / f"{make.__name__}.json")
        lines.append("\t".join([f"{make.__name__}.json", *truth]))
    late_rank(to / "late_rank")
    lines.append("late_rank\tlate_rank\ttrain_step/sync_gradients")
    l1_bound(to / "l1_bound.csv")
    lines.append("l1_bound.csv\tl1\tsweep")
    (to / "truth.tsv").write_text("\n".join(lines) + "\n")


main()
