#!/usr/bin/env python3
"""Measures what a launch costs the host, in nanoseconds, with parts of CUPTI and with ways to make CUPTI cheaper.

    make gpu-programs && bench/launch_cost.py build/gpu [--repeats N] [--only NAME,...]

The variants are those of bench/overhead.py. A C program (bench/launch_cost.c) launches empty kernels; each variant has its own
process, and all variants take turns, again and again. The figures of a variant are medians over its processes: the fastest and the
median round, and how much more than the plain run that is. This is more precise than the loops of overhead.py, but less realistic:
it shows which options of CUPTI make a difference, and overhead.py shows how large that is for a real program.
"""
import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from overhead import environments  # noqa: E402

VARIANTS = """plain empty ranges cupti:subscribe cupti:driver cupti:runtime cupti:kernels cupti:kernels+zeroed cupti:kernels+pinned
cupti:kernels+device cupti:kernels+copies cupti:kernels+overhead cupti:kernels+driver cupti:kernels+calls cupti:kernels+external
native native:lever.zeroed=on native:lever.overhead=off native:lever.buffer_kb=2048 native:collect_ms=2000 native:api=off
native:budget_ppm=1000000+lever.record_ns=0+lever.call_ns=0 native:budget_ppm=20000 native:window=order""".split()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default=",".join(VARIANTS))
    args = parser.parse_args()
    variants = environments(args.build, args.only.split(","), tempfile.mkdtemp())
    program, took = os.path.join(args.build, "bench", "launch_cost"), {name: [] for name in variants}
    for _ in range(args.repeats):
        for name in random.sample(list(variants), len(variants)):
            said = subprocess.run([program], env={**os.environ, **variants[name]}, capture_output=True, text=True, check=False)
            if said.returncode == 0:
                took[name].append([float(v) for v in said.stdout.split()])
            else:
                print(f"{name}: status {said.returncode} {said.stderr[-200:]}")
    base = [statistics.median(v) for v in zip(*took["plain"])] if took.get("plain") else [0, 0]
    print(f"{'ns a launch':52}{'least':>8}{'median':>8}{'more':>8}{'more':>8}")
    for name in variants:
        if took[name]:
            least, median = (statistics.median(v) for v in zip(*took[name]))
            print(f"{name:52}{least:8.0f}{median:8.0f}{least - base[0]:8.0f}{median - base[1]:8.0f}")


if __name__ == "__main__":
    main()
