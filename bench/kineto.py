#!/usr/bin/env python3
"""Compares `sonde report` on torch.profiler traces with Python's json.load of the same file, in one run.

    bench/kineto.py [TRACE.json.gz]          large traces are made under build/bench/ and removed
    GIGABYTES=10 bench/kineto.py …           the size of the largest trace (1)

Times are CPU time of the process, medians of 5, interleaved, so that other programs on the machine matter
little. Memory is the peak of anonymous memory (build/bench/watch) minus that of a trace without events.
"""
import gzip
import os
import resource
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DIR = "build/bench"
SONDE = ["build/sonde", "report", "--format", "json"]
JSON_LOAD = [sys.executable, "-c", "import gzip, json, sys; json.load(gzip.open(sys.argv[1]))"]


def cpu(command):
    """Seconds of CPU time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def peak_kib(command):
    out = subprocess.run([DIR + "/watch", *command], capture_output=True, check=True, text=True)
    return int(out.stdout.split()[1])


def interleaved(*commands, times=5):
    took = [[] for _ in commands]
    for _ in range(times):
        for command, list_ in zip(commands, took):
            list_.append(cpu(command))
    return [statistics.median(t) for t in took]


def make(plain, nr_bytes):
    """A trace of that size; its name and how many of its events are kept."""
    name = f"{DIR}/many_{nr_bytes}.json"
    out = subprocess.run([DIR + "/kineto_many", plain, name, str(nr_bytes)], capture_output=True, check=True)
    return name, int(out.stdout)


def row(what, measured, bar=""):
    print(f"| {what} | {measured} | {bar} |")


def main():
    os.chdir(HERE)
    trace = sys.argv[1] if len(sys.argv) > 1 else "tests/data/kineto/h200_train.json.gz"
    largest = int(float(os.environ.get("GIGABYTES", "1")) * 1e9)
    plain = DIR + "/kineto_plain.json"
    made = [plain]
    with gzip.open(trace) as packed, open(plain, "wb") as out:
        out.write(packed.read())
    size = os.path.getsize(plain)
    print(f"sonde report --format json {os.path.basename(trace)} ({size / 1e6:.1f} MB of text)\n")
    print("| what | measured | bar |\n|---|---|---|")
    try:
        load, packed, text = interleaved([*JSON_LOAD, trace], [*SONDE, trace], [*SONDE, plain])
        row("Python's json.load of the gzip file alone", f"{load:.3f} s")
        row("sonde, gzip file to report", f"{packed:.3f} s, {load / packed:.1f} × faster", "≥ 5 ×")
        row("sonde, plain text to report", f"{text:.3f} s, {size / text / 1e6:.0f} MB/s", "≥ 400 MB/s")
        for nr_bytes in (largest // 10, largest):
            name, kept = make(plain, nr_bytes)
            made.append(name)
            seconds = statistics.median([cpu([*SONDE, name]) for _ in range(3)])
            kib = peak_kib([*SONDE, name])
            real = os.path.getsize(name)
            row(f"{real / 1e9:.2f} GB, {kept} events kept", f"{seconds:.2f} s, {real / seconds / 1e6:.0f} MB/s; "
                f"{kib / 1024:.0f} MiB, {kib * 1024 / kept:.0f} bytes per kept event", "≤ 160 bytes")
            os.remove(name)
    finally:
        for name in made:
            if os.path.exists(name):
                os.remove(name)
    print(f"\nmade by: bench/kineto.py {trace}")


if __name__ == "__main__":
    main()
