#!/usr/bin/env python3
"""Measures what PC sampling adds to the cost of a capture: `sonde run --lines` with sampling on and off in turn, in one process.

    make gpu-programs && bench/pc_cost.py build/gpu [--only graph,gpu,launch] [--ways on] [--pairs 60] [--seconds 60]

Needs a GPU, PyTorch and a C compiler. A small library (bench/lib/pc_switch.c) is loaded before CUPTI and switches its sampling between
stretches of a loop, while the GPU has nothing to do; the rest of the capture goes on. The first steps of a stretch do not count. One
pair is a stretch without and one with sampling, in random order; the figure is the median of their ratios, with its 95 % interval.
CUPTI takes some tenths of a second to switch, so a loop ends after --seconds even if it has fewer pairs.

--ways: `on` samples as sonde does; EXPONENT/MS uses another period, 2^EXPONENT cycles, and another sleep of CUPTI's own thread.
The exit status is 1 if the median of `on` is above the limit.
"""
import argparse
import ctypes
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from types import SimpleNamespace

HERE = os.path.dirname(os.path.abspath(__file__))
BARS = {"graph": 1.03, "gpu": 1.03, "launch": 1.05}
STEPS = {"graph": 100, "gpu": 8, "launch": 40}  # of a stretch: 30 to 60 ms


def loop_of(name):
    """A step to run again and again."""
    sys.path[0] = os.path.join(HERE, "..", "workloads")  # instead of this folder: its html.py is not Python's
    import torch

    torch.manual_seed(0)
    if name == "gpu":
        import torch_train

        model = torch_train.Model(SimpleNamespace(width=1024, hidden=4096, layers=2, wide=1, wide_layer=-1)).bfloat16().cuda()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
        tokens = torch.randint(0, 8000, (64, 257), device="cuda")
        return lambda: torch_train.train(model, optimizer, tokens, 1)
    import torch_decode

    torch.set_grad_enabled(False)
    model = torch_decode.Model(SimpleNamespace(width=2048, layers=4, context=512)).half().cuda().eval()
    x = torch.randn(1, 1, 2048, device="cuda", dtype=torch.half)
    if name == "launch":
        return lambda: model(x)
    model(x)
    graph, out = torch_decode.capture(model, x)
    return lambda: (graph.replay(), out)


def work(name, ways, pairs, seconds):
    """Prints a line of stretches' seconds for each pair, by way."""
    switch = ctypes.CDLL(os.environ["PC_SWITCH"]).pc_switch
    step = loop_of(name)
    import torch

    def stretch(way):
        exponent, ms = map(int, way.split("/")) if "/" in way else (0, 0)
        torch.cuda.synchronize()
        rc = switch(int(way != "off"), exponent, ms)
        if rc:
            sys.exit(f"CUPTI could not be switched: {rc}")
        for _ in range(max(2, STEPS[name] // 4)):
            step()
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(STEPS[name]):
            with torch.cuda.nvtx.range("step"):
                step()
        torch.cuda.synchronize()
        return time.perf_counter() - start

    for _ in range(3):
        stretch("off")
    order = ["off", *ways]
    until = time.monotonic() + seconds
    while pairs > 0 and time.monotonic() < until:
        pairs -= 1
        random.shuffle(order)
        took = {way: stretch(way) for way in order}
        print("took", *(took[way] for way in ("off", *ways)), flush=True)
    switch(1, 0, 0)


def build_switch(to):
    """The library, linked with the CUPTI that PyTorch loads: two do not get along in one process."""
    found = subprocess.run([sys.executable, "-c", "import torch\nprint(*(l.split()[-1] for l in open('/proc/self/maps') if 'libcupti' in l))"],
        capture_output=True, text=True, check=True).stdout.split()
    cupti = found[0] if found else "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so"
    library = os.path.join(to, "libcupti.so.switch")
    cuda = "/usr/local/cuda"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-D_GNU_SOURCE", "-o", library, os.path.join(HERE, "lib", "pc_switch.c"), f"-I{cuda}/include",
        f"-I{cuda}/extras/CUPTI/include", "-Wl,--no-as-needed", cupti, f"-Wl,-rpath,{os.path.dirname(cupti)}", "-ldl"], check=True)
    return library


def interval(values):
    """Of the median, by order statistics: 95 %."""
    v, half = sorted(values), 0.98 * len(values) ** 0.5
    return v[max(0, int(len(v) / 2 - half))], v[min(len(v) - 1, int(len(v) / 2 + half))]


def measure(build, to, library, name, a):
    ways = a.ways.split(",")
    env = {**os.environ, "PC_SWITCH": library}
    loop = [sys.executable, os.path.abspath(__file__), a.build, "--loop", name, "--pairs", str(a.pairs), "--ways", a.ways, "--seconds", str(a.seconds)]
    ran = subprocess.run([os.path.join(a.build, "sonde"), "run", "-q", "-o", os.path.join(to, name), "--lines", "counters=off", "--",
        "env", f"LD_PRELOAD={library}", *loop], env=env, capture_output=True, text=True, timeout=a.seconds + 120, check=False)
    rows = [list(map(float, line.split()[1:])) for line in ran.stdout.splitlines() if line.startswith("took")]
    if ran.returncode or len(rows) < 5:
        print(f"not ok {name} did not run: {ran.stderr[-600:]}")
        return False
    off = [row[0] for row in rows]
    print(f"# {name}: {len(rows)} pairs, a stretch without sampling {1e3 * statistics.median(off):.1f} ms ({1e3 * min(off):.1f} to {1e3 * max(off):.1f})")
    good = True
    for k, way in enumerate(ways, 1):
        ratios = [row[k] / row[0] for row in rows]
        low, high = interval(ratios)
        middle = statistics.median(ratios)
        says = f"{name} {way} {middle:.4f} [{low:.4f}, {high:.4f}]"
        if way == "on":
            good = middle <= BARS[name]
            says = f"{'ok' if good else 'not ok'} {says}, bar {BARS[name]}"
        print(says, flush=True)
    return good


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("build")
    p.add_argument("--only", default="graph,gpu,launch")
    p.add_argument("--ways", default="on")
    p.add_argument("--pairs", type=int, default=60)
    p.add_argument("--seconds", type=int, default=60)
    p.add_argument("--loop", help=argparse.SUPPRESS)
    a = p.parse_args()
    if a.loop:
        work(a.loop, a.ways.split(","), a.pairs, a.seconds)
        return 0
    with tempfile.TemporaryDirectory() as to:
        library = build_switch(to)
        return int(not all([measure(a.build, to, library, name, a) for name in a.only.split(",")]))


if __name__ == "__main__":
    sys.exit(main())
