#!/usr/bin/env python3
"""Compares build/sonde with another build of it, on the same inputs: processor time and memory.

    git worktree add --detach ../before COMMIT && make -C ../before
    make bench-tools inject workloads && bench/against.py ../before/build/sonde [REPETITIONS [WORD]]

The two take turns, so that other work of the machine affects both equally. The medians of the processor time
(user + system) are compared. Memory is the highest peak of anonymous memory of three runs. With WORD: only
the rows whose name contains it. Inputs are made under build/bench/against/ and removed.
"""

import os
import resource
import shutil
import sqlite3
import statistics
import subprocess
import sys

os.chdir(os.path.dirname(os.path.abspath(__file__)) + "/..")
OLD, NEW = os.path.abspath(sys.argv[1]), os.path.abspath("build/sonde")
REPS = int(sys.argv[2]) if len(sys.argv) > 2 else 15
WORD = sys.argv[3] if len(sys.argv) > 3 else ""
DIR = os.path.abspath("build/bench/against")


def make_ncu(path, launches):
    subprocess.run(["build/bench/multiply", "tests/data/ncu/seed_kernel.ncu-rep", path, str(launches)], check=True)


def capture(name, *program):
    """What the other's injected library writes about a program: an older sonde does not read newer captures."""
    out = f"{DIR}/{name}"
    os.makedirs(out)
    fake = os.path.abspath("build/fake/libcupti_fake.so")
    with open(f"{DIR}/{name}.conf", "w") as f:
        f.write(f"output={out}\ncupti={fake}\nbuffer_bytes=268435456\n")
    lib = os.path.dirname(OLD) + "/libsonde_inject.so"
    env = dict(os.environ, SONDE_INJECT_CONFIG=f"{DIR}/{name}.conf", NVTX_INJECTION64_PATH=lib, CUDA_INJECTION64_PATH=lib)
    subprocess.run(program, env=env, check=True, stdout=subprocess.DEVNULL)
    return out


def make_nsys(path, copies):
    """An export of Nsight Systems: the small one of the tests, its closed ranges and kernels `copies` times, each a second later."""
    db = sqlite3.connect(path)
    db.executescript(open("tests/data/nsys/small.sql").read())
    for table in ("NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME"):
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
        later = {"start": "start + n * 1000000000", "end": "end + n * 1000000000", "correlationId": "correlationId + n * 100000"}
        db.execute(f"""WITH RECURSIVE many(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM many WHERE n < {copies})
            INSERT INTO {table} ({', '.join(columns)}) SELECT {', '.join(later.get(c, c) for c in columns)} FROM {table}, many WHERE end IS NOT NULL""")
    db.commit()
    db.close()


def home(sonde):
    """Each reads the configuration of its own source."""
    return os.path.dirname(os.path.dirname(sonde))


def cpu_seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=home(command[0]), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def peak_mib(command):
    watch = [os.path.abspath("build/bench/watch")] + command
    return max(int(subprocess.run(watch, cwd=home(command[0]), check=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL).stdout.split()[1]) for _ in range(3)) / 1024


def compare(name, *args, times=1):
    if WORD not in name:
        return
    old, new = [], []
    for i in range(REPS):
        for sonde, to in ((OLD, old), (NEW, new)) if i % 2 else ((NEW, new), (OLD, old)):
            to.append(sum(cpu_seconds([sonde, *args]) for _ in range(times)) / times)
    a, b = statistics.median(old), statistics.median(new)
    m, n = peak_mib([OLD, *args]), peak_mib([NEW, *args])
    print(f"| {name} | {a * 1e3:.1f} ms | {b * 1e3:.1f} ms | {100 * (b / a - 1):+.1f} % | {m:.1f} MiB | {n:.1f} MiB |", flush=True)


shutil.rmtree(DIR, ignore_errors=True)
os.makedirs(DIR)
try:
    make_ncu(f"{DIR}/small.ncu-rep", 226)
    make_ncu(f"{DIR}/big.ncu-rep", 100000)
    ranges = capture("ranges", "build/workloads/pairs", "1000000")
    kernels = capture("kernels", "build/fake/fake_cuda", os.path.abspath("build/fake/libcupti_fake.so"), "1000000")
    make_nsys(f"{DIR}/nsys.sqlite", 20000)
    print("| what | before | now | | memory before | now |\n|---|---|---|---|---|---|")
    compare("ncu, 226 launches, JSON", "report", f"{DIR}/small.ncu-rep", "-f", "json", times=10)
    for f in ("json", "text", "html"):
        compare(f"ncu, 100,000 launches, {f}", "report", f"{DIR}/big.ncu-rep", "-f", f)
    for f in ("text", "json", "html", "perfetto"):
        compare(f"native, 1,000,000 ranges, {f}", "report", ranges, "-f", f)
    for f in ("text", "json", "html"):
        compare(f"native, 1,000,000 kernels, {f}", "report", kernels, "-f", f)
    compare("Nsight Systems, 140,000 kernels, JSON", "report", f"{DIR}/nsys.sqlite", "-f", "json")
finally:
    shutil.rmtree(DIR, ignore_errors=True)
print(f"\nmade by: bench/against.py {sys.argv[1]} {REPS}")
