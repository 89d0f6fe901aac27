#!/usr/bin/env python3
"""What sampling hardware counters costs a captured program: an eager decode loop, sampled and not, in one process.

    bench/sampling.py BUILD [--rounds 12] [--stretch 0.5] [--counters basic]

The loop runs in one process under the native capture, its main thread on one core. Beside every second stretch `sonde sample`
reads the counters on the other cores, as the sampler of `sonde run` does. A stretch counts as the median of its pieces of 20
steps. A sampled stretch is compared with the mean of the two around it that are not sampled, so that what the machine
does in the long run cancels out; each other stretch is compared in the same way with its own neighbours: that is the noise.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

STEPS = 20
OTHERS = os.sched_getaffinity(0)
HERE = os.path.dirname(os.path.abspath(__file__))


def stretch(model, x, seconds):
    import torch

    pieces, end = [], time.perf_counter() + seconds
    torch.cuda.synchronize()
    while time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(STEPS):
            with torch.cuda.nvtx.range("step"):
                model(x)
        torch.cuda.synchronize()
        pieces.append(time.perf_counter() - start)
    return statistics.median(pieces)


def sampled(sonde, counters, work):
    """Does the work once samples come, and ends the sampler."""
    command = [sonde, "sample", "--seconds", "1000", "--counters", counters, "-f", "csv"]
    env = {k: v for k, v in os.environ.items() if not k.endswith("_INJECTION64_PATH")}
    with tempfile.TemporaryFile("w+") as out:
        sampler = subprocess.Popen(command, stdout=out, env=env, preexec_fn=lambda: os.sched_setaffinity(0, OTHERS))
        while os.fstat(out.fileno()).st_size < 100000:
            if sampler.poll() is not None:
                sys.exit("sampling.py: the counters cannot be sampled here")
            time.sleep(0.05)
        took = work()
        sampler.terminate()
        sampler.wait()
    return took


def spread(ratios):
    q = statistics.quantiles(ratios, n=4)
    return f"median {statistics.median(ratios):.4f}, quartiles {q[0]:.4f} {q[2]:.4f}, range {min(ratios):.4f} {max(ratios):.4f}"


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
        stretch(model, x, 2)
        work = lambda: stretch(model, x, a.stretch)
        alone, beside = [work()], []
        for _ in range(a.rounds):
            beside.append(sampled(a.sonde, a.counters, work))
            alone.append(work())
    ratios = [2 * t / (p + q) for t, p, q in zip(beside, alone, alone[1:])]
    noise = [2 * t / (p + q) for t, p, q in zip(alone[1:], alone, alone[2:])]
    print(f"{a.counters}, {a.rounds} rounds of {a.stretch} s, a step {1e6 * statistics.median(alone) / STEPS:.0f} us")
    print(f"sampled / not sampled: {spread(ratios)}")
    print(f"noise (not sampled):   {spread(noise)}")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("build")
    p.add_argument("--rounds", type=int, default=12)
    p.add_argument("--stretch", type=float, default=0.5)
    p.add_argument("--counters", default="basic")
    p.add_argument("--inner", action="store_true", help=argparse.SUPPRESS)
    a = p.parse_args()
    a.sonde = os.path.join(a.build, "sonde")
    if a.inner:
        return inner(a)
    with tempfile.TemporaryDirectory() as top:
        own = [sys.executable, os.path.abspath(__file__), os.path.abspath(a.build), "--inner", "--rounds", str(a.rounds), "--stretch", str(a.stretch),
               "--counters", a.counters]
        sys.exit(subprocess.call([a.sonde, "run", "-q", f"hydra.run.dir={top}/run", "counters=off", "--"] + own))


if __name__ == "__main__":
    main()
