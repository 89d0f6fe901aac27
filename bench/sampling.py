#!/usr/bin/env python3
"""What sampling hardware counters costs a captured program: an eager decode loop, sampled and not, in one process.

    bench/sampling.py BUILD [--pairs 15] [--steps 400] [--counters basic]

The loop runs in one process under the native capture. Beside every second stretch `sonde sample` reads the counters, as the
sampler of `sonde run` does; which of a pair comes first is random. A pair's ratio is sampled / not sampled. Of the
not sampled stretches pairs of neighbours are compared too: that is the noise.
"""
import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))


def stretch(model, x, steps):
    import torch

    torch.cuda.synchronize()
    start = time.perf_counter()
    for i in range(steps):
        with torch.cuda.nvtx.range("step"):
            model(x)
        if i % 50 == 49:
            torch.cuda.synchronize()
    torch.cuda.synchronize()
    return time.perf_counter() - start


def sampled(sonde, counters, work):
    """Does the work once samples come, and ends the sampler."""
    command = [sonde, "sample", "--seconds", "1000", "--counters", counters, "-f", "csv"]
    env = {k: v for k, v in os.environ.items() if not k.endswith("_INJECTION64_PATH")}
    with tempfile.TemporaryFile("w+") as out:
        sampler = subprocess.Popen(command, stdout=out, env=env)
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
        stretch(model, x, 2 * a.steps)
        ratios, alone, rng = [], [], random.Random(1)
        for _ in range(a.pairs):
            order = rng.sample([True, False], 2)
            took = {}
            for is_sampled in order:
                work = lambda: stretch(model, x, a.steps)
                took[is_sampled] = sampled(a.sonde, a.counters, work) if is_sampled else work()
            ratios.append(took[True] / took[False])
            alone.append(took[False])
    noise = [b / c for b, c in zip(alone, alone[1:])]
    print(f"{a.counters}: sampled / not sampled, {a.pairs} pairs of {a.steps} steps: {spread(ratios)}")
    print(f"noise: not sampled / not sampled, neighbours: {spread(noise)}")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("build")
    p.add_argument("--pairs", type=int, default=15)
    p.add_argument("--steps", type=int, default=400)
    p.add_argument("--counters", default="basic")
    p.add_argument("--inner", action="store_true", help=argparse.SUPPRESS)
    a = p.parse_args()
    a.sonde = os.path.join(a.build, "sonde")
    if a.inner:
        return inner(a)
    with tempfile.TemporaryDirectory() as top:
        own = [sys.executable, os.path.abspath(__file__), a.build, "--inner", "--pairs", str(a.pairs), "--steps", str(a.steps),
               "--counters", a.counters]
        sys.exit(subprocess.call([a.sonde, "run", "-q", f"hydra.run.dir={top}/run", "counters=off", "--"] + own))


if __name__ == "__main__":
    main()
