#!/usr/bin/env python3
"""What sampling hardware counters costs a captured program: an eager decode loop, sampled and not, in one process.

    bench/sampling.py BUILD [--pairs 200] [--steps 40] [--counters basic] [--most 1.01]

The loop runs in one process under the native capture, its main thread on one core. `sonde sample` reads the counters on the
other cores, as the sampler of `sonde run` does, and is stopped (SIGSTOP) during every second stretch of --steps steps: some
50 ms, as a machine that others use too is faster in one second than in the next. What came meanwhile the sampler decodes when
it goes on, so that a sampled stretch has twice the decoding it would have. A sampled stretch is compared with the mean of
the two around it. The noise is the same with no sampler at all. Exit status 1: the median is above --most.
"""
import argparse
import math
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

OTHERS = os.sched_getaffinity(0)
HERE = os.path.dirname(os.path.abspath(__file__))


def stretch(model, x, steps):
    import torch

    start = time.perf_counter()
    for _ in range(steps):
        with torch.cuda.nvtx.range("step"):
            model(x)
    torch.cuda.synchronize()
    return time.perf_counter() - start


class Sampler:
    """`sonde sample`, which can be stopped and go on."""

    def __init__(self, sonde, counters):
        command = [sonde, "sample", "--seconds", "1000", "--counters", counters, "-f", "csv"]
        env = {k: v for k, v in os.environ.items() if not k.endswith("_INJECTION64_PATH")}
        self.out = tempfile.TemporaryFile()
        self.process = subprocess.Popen(command, stdout=self.out, env=env, start_new_session=True,
                                        preexec_fn=lambda: os.sched_setaffinity(0, OTHERS))
        while os.fstat(self.out.fileno()).st_size < 100000:
            self.check()
            time.sleep(0.05)

    def check(self):
        if self.process.poll() is not None:
            sys.exit("sampling.py: the counters cannot be sampled here")

    def go(self, is_on):
        self.check()
        os.killpg(self.process.pid, signal.SIGCONT if is_on else signal.SIGSTOP)

    def end(self):
        """The number of samples."""
        os.killpg(self.process.pid, signal.SIGCONT)
        self.process.terminate()
        self.process.wait()
        self.out.seek(0)
        return sum(1 for _ in self.out) - 1


def ratios(pairs, work, go):
    """Every second stretch ÷ the mean of its neighbours; go(True) before it, go(False) behind."""
    times = []
    for i in range(2 * pairs + 1):
        go(i % 2 == 1)
        times.append(work())
    return [2 * t / (p + q) for p, t, q in zip(times[::2], times[1::2], times[2::2])], statistics.median(times[::2])


def describe(found):
    """The median and its 95 % interval, by ranks: whatever the noise is like."""
    found = sorted(found)
    middle, reach = len(found) / 2, 0.98 * math.sqrt(len(found))
    low, high = max(0, int(middle - reach)), min(len(found) - 1, math.ceil(middle + reach))
    q = statistics.quantiles(found, n=4)
    return (f"median {statistics.median(found):.4f} (95 %: {found[low]:.4f} to {found[high]:.4f}), "
            f"quartiles {q[0]:.4f} {q[2]:.4f}, {len(found)} pairs")


def inner(a):
    import torch

    sys.path.insert(0, os.path.join(HERE, "..", "workloads"))
    from torch_decode import Model

    torch.manual_seed(0)
    with torch.inference_mode():
        model = Model(argparse.Namespace(width=2048, layers=4, context=512)).half().cuda().eval()
        x = torch.randn(1, 1, 2048, device="cuda", dtype=torch.half)
        own = max(OTHERS)
        if len(OTHERS) > 1:
            OTHERS.discard(own)
        os.sched_setaffinity(0, {own})
        stretch(model, x, 2000)
        work = lambda: stretch(model, x, a.steps)
        noise, _ = ratios(a.pairs, work, lambda is_on: None)
        sampler = Sampler(a.sonde, a.counters)
        begin = time.perf_counter()
        found, usual = ratios(a.pairs, work, sampler.go)
        took = time.perf_counter() - begin
        nr = sampler.end()
    print(f"{a.counters}: {nr} samples in {took:.1f} s, a step takes {1e6 * usual / a.steps:.0f} us")
    print(f"sampled / not sampled: {describe(found)}")
    print(f"noise (no sampler):    {describe(noise)}")
    return int(statistics.median(found) > a.most)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("build")
    p.add_argument("--pairs", type=int, default=200)
    p.add_argument("--steps", type=int, default=40)
    p.add_argument("--counters", default="basic")
    p.add_argument("--most", type=float, default=1.01)
    p.add_argument("--inner", action="store_true", help=argparse.SUPPRESS)
    a = p.parse_args()
    a.sonde = os.path.join(os.path.abspath(a.build), "sonde")
    if a.inner:
        return inner(a)
    own = [sys.executable, os.path.abspath(__file__), a.build, "--inner", "--pairs", str(a.pairs), "--steps", str(a.steps),
           "--counters", a.counters, "--most", str(a.most)]
    with tempfile.TemporaryDirectory() as top:
        return subprocess.call([a.sonde, "run", "-q", f"hydra.run.dir={top}/run", "counters=off", "--"] + own)


if __name__ == "__main__":
    sys.exit(main())
