#!/usr/bin/env python3
"""PyTorch programs with one planted problem each, which sonde's first finding must name (tests/gpu/findings_gpu.sh).

    planted_gpu.py --list           prints a line per program: its name, the right causes, the right regions
    planted_gpu.py NAME [--steps 30]

Each is a loop of steps with ordinary work besides the problem; all matrix products are large enough to keep the GPU busy.
"""
import sys
import time

STEPS = 30


class Work:
    """What the programs are made of. PyTorch is loaded when one runs, not to list them."""

    def __init__(self):
        import torch

        self.torch = torch
        self.range = torch.cuda.nvtx.range
        torch.manual_seed(1)
        self.a = torch.randn(3072, 3072, device="cuda", dtype=torch.half)
        self.out = torch.empty_like(self.a)
        for _ in range(3):
            torch.mm(self.a, self.a, out=self.out)
        self.sync()

    def sync(self):
        self.torch.cuda.synchronize()

    def products(self, nr):
        for _ in range(nr):
            self.torch.mm(self.a, self.a, out=self.out)

    def train(self):
        with self.range("forward"):
            self.products(12)
        with self.range("backward"):
            self.products(24)


def loop(w, step, steps, between=None):
    for _ in range(2):  # what is loaded at first use is that here, and too few to be a step
        step()
    w.sync()
    for _ in range(steps):
        with w.range("step"):
            step()
            w.sync()
        if between:
            between()


def item(w, steps):
    """The loss is read after each product."""
    def step():
        with w.range("forward"):
            for _ in range(25):
                w.products(1)
                w.out[0, 0].item()
    loop(w, step, steps)


def optimizer(w, steps):
    """Some 700 launches for each update."""
    torch = w.torch
    parameters = [torch.nn.Parameter(torch.randn(256, 256, device="cuda")) for _ in range(60)]
    for p in parameters:
        p.grad = torch.randn_like(p)
    adam = torch.optim.AdamW(parameters, lr=1e-6, foreach=False, fused=False)

    def step():
        w.train()
        with w.range("optimizer"):
            w.sync()
            adam.step()
    loop(w, step, steps)


def pageable(w, steps):
    batch = w.torch.randn(16 << 20)

    def step():
        with w.range("to_device"):
            batch.to("cuda")
        w.train()
    loop(w, step, steps)


def loader(w, steps):
    """A DataLoader without workers, whose samples take their time."""
    torch = w.torch

    class Slow(torch.utils.data.Dataset):
        def __len__(self):
            return 4 * (steps + 2)

        def __getitem__(self, i):
            end = time.perf_counter() + 0.002
            while time.perf_counter() < end:
                pass
            return torch.zeros(16)

    batches = iter(torch.utils.data.DataLoader(Slow(), batch_size=4))

    def step():
        with w.range("next_batch"):
            next(batches)
        w.train()
    loop(w, step, steps)


def graph(w, steps):
    """400 tiny kernels, launched at once."""
    torch = w.torch
    x = torch.zeros(1024, device="cuda")
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        x.add_(1)
    side.synchronize()
    replayed = torch.cuda.CUDAGraph()
    with torch.cuda.graph(replayed):
        for _ in range(400):
            x.add_(1)
    loop(w, replayed.replay, steps)


def layers(w, steps):
    """Layers so small that the host is slower than the GPU."""
    torch = w.torch
    net = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(128, 128), torch.nn.GELU()) for _ in range(96)]).cuda()
    x = torch.randn(16, 128, device="cuda")

    def step():
        with w.range("forward"), torch.no_grad():
            net(x)
    loop(w, step, steps)


def allocator(w, steps):
    """The caching allocator's memory is given back in each step."""
    torch = w.torch

    def step():
        with w.range("forward"):
            for _ in range(6):
                big = torch.empty(256 << 20, device="cuda", dtype=torch.uint8)
                w.products(2)
                del big
                torch.cuda.empty_cache()
    loop(w, step, steps)


def pack(w, steps):
    """300 copies of 2 KB."""
    torch = w.torch
    rows = [torch.randn(512).pin_memory() for _ in range(300)]
    to = [torch.empty(512, device="cuda") for _ in rows]

    def step():
        with w.range("pack"):
            for there, row in zip(to, rows):
                there.copy_(row, non_blocking=True)
        with w.range("forward"):
            w.products(6)
    loop(w, step, steps)


def metrics(w, steps):
    """The host is busy when the GPU is done."""
    def step():
        w.train()
        w.sync()
        with w.range("metrics"):
            time.sleep(0.006)
    loop(w, step, steps)


def between(w, steps):
    loop(w, w.train, steps, lambda: time.sleep(0.007))


PLANTED = [  # the program, causes that are right, regions that are right
    (item, "sync|copy", "step/forward"),
    (optimizer, "launch", "step/optimizer"),
    (pageable, "pageable_copies|copy", "step/to_device"),
    (loader, "head", "step/next_batch"),
    (graph, "tiny_kernels", "step"),
    (layers, "launch", "step/forward"),
    (allocator, "alloc", "step/forward"),
    (pack, "small_copies", "step/pack"),
    (metrics, "tail", "step/metrics"),
    (between, "between", "step"),
]


def main():
    if sys.argv[1:] == ["--list"]:
        for make, *truth in PLANTED:
            print(make.__name__, *truth, sep="\t")
        return
    steps = int(sys.argv[sys.argv.index("--steps") + 1]) if "--steps" in sys.argv else STEPS
    {make.__name__: make for make, *_ in PLANTED}[sys.argv[1]](Work(), steps)


main()
