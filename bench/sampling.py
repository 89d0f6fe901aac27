#!/usr/bin/env python3
"""What sampling hardware counters costs a captured program: an eager decode loop, sampled and not, in one process.

    bench/sampling.py BUILD [--quads 3000] [--steps 2] [--seconds 30] [--counters basic] [--interval 150us] [--most 1.01]

The loop runs under `sonde run counters=basic`. It stops the sampler (SIGSTOP) and lets it go on by turns, every few
milliseconds: a machine that others use too is 20 % faster in one second than in the next, and on every scale down to two
steps its noise is the same, so that the shortest stretches say most. Four stretches are one figure: not sampled, sampled,
sampled, not sampled, and the other way round in the next four. Both sides have the same noise, and drift cancels. Of every
fifth such four none is sampled: these are the noise. A stretch begins with a step that does not count: what the last one
left in caches is not its own.

What comes while it is stopped the sampler decodes when it goes on: a sampled stretch has more of its work than usual, and the
shares of a core are printed to show it. --interval is what `auto` takes on an H200: left to itself the sampler would slow
down, as it is stopped half of the time.

The GPU's own side of sampling goes on throughout. So a second run, of --seconds, samples in bursts of 20 ms: in them the GPU counts
and the sampler sleeps, between them the GPU does not and the sampler decodes. A burst is compared with the pauses around it.
Whether kernels change is for tests/gpu/counters_gpu.sh.

Exit status 1: the median is above --most, or sampled stretches had less of the sampler's work than usual.
"""
import argparse
import bisect
import math
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
NOISE = 5  # of so many figures one is of the noise; odd, so that its order turns round as well
EDGE_NS = 2_000_000  # by which the clocks of host and GPU may be apart
STOP_NS = 5_000_000  # sampling takes so long to stop


class Sampler:
    """The samplers of the `sonde run` that started this process."""

    def __init__(self):
        self.pids = [int(p) for p in os.listdir("/proc") if p.isdigit() and self.is_one(p)]
        if not self.pids:
            sys.exit("sampling.py: `sonde run` has no sampler here: `sonde doctor` says why")

    @staticmethod
    def is_one(pid):
        try:
            name, rest = open(f"/proc/{pid}/stat").read().split("(", 1)[1].rsplit(")", 1)
        except OSError:
            return False
        return name == "sonde-sampler" and int(rest.split()[1]) == os.getppid()

    def go(self, is_on):
        for pid in self.pids:
            os.kill(pid, signal.SIGCONT if is_on else signal.SIGSTOP)

    def cpu_s(self):
        return sum(time.clock_gettime((~pid << 3) | 2) for pid in self.pids)


def model_loop(steps):
    """A function that does so many steps and says how long they took."""
    import torch

    sys.path[:0] = [os.path.join(HERE, "..", "workloads"), "workloads"]
    from torch_decode import Model

    torch.manual_seed(0)
    model = Model(argparse.Namespace(width=2048, layers=4, context=512)).half().cuda().eval()
    x = torch.randn(1, 1, 2048, device="cuda", dtype=torch.half)

    def some(nr):
        start = time.perf_counter()
        with torch.inference_mode():
            for _ in range(nr):
                with torch.cuda.nvtx.range("step"):
                    model(x)
        torch.cuda.synchronize()
        return time.perf_counter() - start

    def work():
        some(1)
        return some(steps)

    return work


def measure(quads, work, go):
    """What four stretches say, each as (two sampled ÷ two not); the same of the noise; seconds of both kinds of stretches."""
    found, noise, seconds = [], [], [0.0, 0.0]
    for i in range(quads):
        order = (0, 1, 1, 0) if i % 2 else (1, 0, 0, 1)
        is_noise = i % NOISE == NOISE - 1
        sides = [0.0, 0.0]
        for side in order:
            go(side == 1 and not is_noise)
            took = work()
            sides[side] += took
            seconds[side == 1 and not is_noise] += took
        (noise if is_noise else found).append(sides[1] / sides[0])
    go(True)
    return found, noise, seconds


def bursts_of(path):
    """[start, end] of every stretch of samples without a pause, in ns."""
    found = []
    for line in open(path):
        words = line.split(maxsplit=3)
        if words[0] == "M":
            continue
        start, end = int(words[1]), int(words[2])
        if found and start - found[-1][1] < EDGE_NS:
            found[-1][1] = end
        else:
            found.append([start, end])
    return found


def compare_bursts(bursts, stamps):
    """Of each burst: its steps ÷ those of the pauses around it."""
    def mean_step(start, end):
        first, last = bisect.bisect_left(stamps, start), bisect.bisect_right(stamps, end) - 1
        return (stamps[last] - stamps[first]) / (last - first) if last > first + 1 else None

    ratios = []
    for before, own, behind in zip(bursts, bursts[1:], bursts[2:]):
        inside = mean_step(own[0] + EDGE_NS, own[1] - EDGE_NS)
        around = mean_step(before[1] + STOP_NS, own[0] - EDGE_NS), mean_step(own[1] + STOP_NS, behind[0] - EDGE_NS)
        if inside and all(around):
            ratios.append(2 * inside / sum(around))
    return ratios


def describe(ratios):
    """The median and its 95 % interval, by ranks: whatever the noise is like."""
    ratios = sorted(ratios)
    middle, reach = len(ratios) / 2, 0.98 * math.sqrt(len(ratios))
    low, high = ratios[max(0, int(middle - reach))], ratios[min(len(ratios) - 1, math.ceil(middle + reach))]
    q = statistics.quantiles(ratios, n=4)
    return (f"median {statistics.median(ratios):.4f} (95 %: {low:.4f} to {high:.4f}, standard error {(high - low) / 3.92:.4f}), "
            f"quartiles {q[0]:.4f} {q[2]:.4f}, {len(ratios)} of them")


def stamp(a):
    """Steps until --seconds are over; when each began, in ns."""
    work, stamps = model_loop(1), []
    for _ in range(a.warmup):
        work()
    end = time.time() + a.seconds
    while time.time() < end:
        stamps.append(time.time_ns())
        work()
    with open(a.inner, "w") as out:
        out.write("\n".join(map(str, stamps)))
    return 0


def toggle(a):
    sampler = Sampler()
    work = model_loop(a.steps)
    for _ in range(a.warmup):
        work()
    cpu, usual = sampler.cpu_s(), sum(work() for _ in range(a.warmup))
    usual_share = (sampler.cpu_s() - cpu) / usual
    cpu = sampler.cpu_s()
    found, noise, (off, on) = measure(a.quads, work, sampler.go)
    share = (sampler.cpu_s() - cpu) / on
    nr_off, nr_on = 2 * len(found) + 4 * len(noise), 2 * len(found)
    with open(a.inner, "w") as out:
        print(f"{a.counters} every {a.interval}: a step takes {1e6 * off / nr_off / a.steps:.0f} us, the sampler {usual_share:.2f} of a "
              f"core as a rule and {share:.2f} in sampled stretches", file=out)
        print(f"sampled / not sampled: {describe(found)}; all of it {on / nr_on / (off / nr_off):.4f}", file=out)
        print(f"noise (both not):      {describe(noise)}", file=out)
        if share < usual_share:
            print("sampled stretches had less of the sampler's work than usual: this shows nothing", file=out)
    return int(statistics.median(found) > a.most or share < usual_share)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("build")
    p.add_argument("--quads", type=int, default=3000)
    p.add_argument("--steps", type=int, default=2)
    p.add_argument("--warmup", type=int, default=500, help="stretches before anything is measured (500)")
    p.add_argument("--seconds", type=float, default=30, help="of the run in bursts (30)")
    p.add_argument("--counters", default="basic")
    p.add_argument("--interval", default="150us")
    p.add_argument("--most", type=float, default=1.01)
    p.add_argument("--stamps", action="store_true", help=argparse.SUPPRESS)
    p.add_argument("--inner", metavar="FILE", help=argparse.SUPPRESS)
    a = p.parse_args()
    if a.inner:
        return stamp(a) if a.stamps else toggle(a)
    build = os.path.abspath(a.build)

    def run(name, *keys):
        """Itself under `sonde run`; what it wrote, and the status."""
        own = [sys.executable, os.path.abspath(__file__)] + sys.argv[1:] + ["--inner", f"{top}/{name}.txt"]
        status = subprocess.call([f"{build}/sonde", "run", "-q", f"hydra.run.dir={top}/{name}", f"counters={a.counters}",
                                  f"counters.interval={a.interval}", *keys, "--"] + own + (["--stamps"] if keys else []),
                                 stdout=subprocess.DEVNULL)
        return open(f"{top}/{name}.txt").read() if os.path.exists(f"{top}/{name}.txt") else "", status

    with tempfile.TemporaryDirectory() as top:
        figures, status = run("stopped")
        sys.stdout.write(figures)
        if figures and a.seconds > 0:
            stamps, _ = run("bursts", "counters.burst=20ms")
            subprocess.call([f"{build}/tools/samples_dump", "--data", f"{top}/data", f"{top}/bursts/native"], stdout=subprocess.DEVNULL)
            ratios = compare_bursts(bursts_of(f"{top}/data.samples"), [int(x) for x in stamps.split()])
            print(f"in bursts / between:   {describe(ratios) if len(ratios) > 3 else 'too few bursts to tell'}")
        return status


if __name__ == "__main__":
    sys.exit(main())
