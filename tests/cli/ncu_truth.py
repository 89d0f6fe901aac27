#!/usr/bin/env python3
"""Computes what the regions of an .ncu-rep must show from the raw metrics of its kernels, and compares.

    ncu_truth.py SONDE REPORT…      prints ok/not ok per report and kind of figure

It uses no code of sonde: the file is read by the description of its format, a region is a stack of push/pop ranges of
the launching thread, and each derived__ metric is computed as in Nsight Compute's section files. A rate over
several kernels is the sum of their counts divided by the sum of their cycles or seconds.
"""
import collections
import json
import re
import struct
import subprocess
import sys

TIME = "gpu__time_duration.sum"


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """(number, value) of a protobuf message: numbers as they are, all else as bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(key & 7)
            if size is None:
                size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        yield key >> 3, value


def all_of(data, number):
    return [v for n, v in fields(data) if n == number]


def first(data, number, otherwise=b""):
    return next((v for n, v in fields(data) if n == number), otherwise)


def value_of(data):
    for number, v in fields(data):
        if number == 2:
            return struct.unpack("<f", v)[0]
        if number == 3:
            return struct.unpack("<d", v)[0]
        if number in (4, 5):
            return float(v)
    return None


def kernels(path):
    """(labels of the open ranges, metrics) of every kernel."""
    data = open(path, "rb").read()
    at, strings = 8 + struct.unpack_from("<I", data, 4)[0], []
    while at < len(data):
        size = struct.unpack_from("<I", data, at)[0]
        head = data[at + 4:at + 4 + size]
        at += 4 + size
        for table in all_of(head, 4):
            strings += [s.decode("utf-8", "replace") for s in all_of(table, 1)]
        end, number = at + first(head, 5, 0), 0
        while at < end:
            size = struct.unpack_from("<I", data, at)[0]
            message, at = data[at + 4:at + 4 + size], at + 4 + size
            number += 1
            if first(head, 1, 0) < number <= first(head, 1, 0) + first(head, 2, 0):
                yield open_ranges(message), {strings[first(m, 1, 0)]: value_of(first(m, 2)) for m in all_of(message, 13)}


def open_ranges(message):
    nvtx, stack = first(message, 21), []
    for thread in all_of(nvtx, 2):
        if first(thread, 1, 0) != first(message, 1, 0):
            continue
        for domain in all_of(thread, 2):
            if first(domain, 1, 0) == first(nvtx, 4, 0):
                stack = [first(r, 1).decode() for r in all_of(domain, 3)]
    return stack


def regions(path):
    """The kernels of each region, those of regions inside it included."""
    found = collections.defaultdict(list)
    for labels, metrics in kernels(path):
        for n in range(len(labels)):
            found["/".join(labels[:n + 1])].append(metrics)
    return found


def cycles(k, unit):
    return k[unit + "__cycles_elapsed.avg.per_second"] * k[TIME] / 1e9


def total(ks, counter, unit):
    """How many there were, from whichever form was captured; None: it was not."""
    if all(counter in k for k in ks):
        return sum(k[counter] for k in ks)
    if all(counter + ".per_second" in k for k in ks):
        return sum(k[counter + ".per_second"] * k[TIME] / 1e9 for k in ks)
    if all(counter + ".per_cycle_elapsed" in k for k in ks):
        return sum(k[counter + ".per_cycle_elapsed"] * cycles(k, unit) for k in ks)
    return None


def one(values):
    return values[0] if len(set(values)) == 1 else None


def derived(ks, name):
    """(value, quality) over kernels, from the metrics it is made of; None: not a figure of this kind."""
    by_cycles = re.fullmatch(r"derived__(smsp)__(.*)_x(\d+)", name)
    if by_cycles:
        unit, counter, factor = by_cycles.groups()
        count = total(ks, f"{unit}__{counter}.sum", unit)  # so a capture must have that, or its rate
        return int(factor) * count / sum(cycles(k, unit) for k in ks), "exact"
    of_peak = re.fullmatch(r"derived__(sm)__(.*)_x(\d+)", name)
    if of_peak:
        return one([int(of_peak[3]) * k[f"sm__{of_peak[2]}.sum.peak_sustained"] for k in ks]), "const"
    moved = re.fullmatch(r"derived__(l1tex__lsu_writeback|lts__lts2xbar)_bytes(.*)\.sum\.(\w+)", name)
    if moved:
        of, factor = {"l1tex__lsu_writeback": ("l1tex__lsu_writeback_active", 128),
                      "lts__lts2xbar": ("lts__lts2xbar_cycles_active", 32)}[moved[1]]
        values = [factor * k[f"{of}{moved[2]}.sum.{moved[3]}"] for k in ks]
        if moved[3] == "peak_sustained":
            return one(values), "const"
        return sum(v * k[TIME] for v, k in zip(values, ks)) / sum(k[TIME] for k in ks), "exact"
    return None


# Operations of one thread's instruction. A half-precision one works on two values at once, a fused one counts twice:
# so Nsight Compute's derived__smsp__…_x2 and _x4 have it.
FLOP = {"fadd": 1, "fmul": 1, "ffma": 2, "dadd": 1, "dmul": 1, "dfma": 2, "hadd": 2, "hmul": 2, "hfma": 4}
TENSOR = re.compile(r"(sm__ops_path_tensor_src_(?!int)\w+\.sum)(\.per_cycle_elapsed|\.per_second)?")


def roofline(ks):
    seconds = sum(k[TIME] for k in ks) / 1e9
    counts = [n and n * FLOP[op] for op in FLOP
              for n in [total(ks, f"smsp__sass_thread_inst_executed_op_{op}_pred_on.sum", "smsp")]]
    tensor = {m[1] for k in ks for m in map(TENSOR.fullmatch, k) if m}
    counts += [total(ks, counter, "smsp") for counter in tensor] or [None]
    flop = sum(n for n in counts if n is not None) or (None if None in counts else 0)
    size = total(ks, "dram__bytes.sum", "dram")
    return {"flop": flop, "dram_bytes": size, "intensity": None if flop is None or not size else flop / size,
            "flop_per_s": None if flop is None else flop / seconds, "bytes_per_s": None if size is None else size / seconds}


def near(a, b):
    return a is b or (a is not None and b is not None and abs(a - b) <= 1e-6 * max(abs(a), abs(b), 1e-9))


def check(name, wrong):
    for line in wrong[:20]:
        print("  " + line)
    print(("not ok " if wrong else "ok ") + name)
    return not wrong


def check_derived(path, report, truth):
    wrong, seen = [], 0
    for region in report["aggregate"]["regions"]:
        for name, got in region["metrics"].items():
            want = derived(truth[region["id"]], name) if name.startswith("derived__") else None
            if not want:
                continue
            seen += 1
            quality = report["metric_info"][name]["quality"]
            if not near(got, want[0]) or quality != want[1]:
                wrong.append(f"{region['id']} {name}: {got} {quality}, truth {want[0]} {want[1]}")
    return check(f"ncu_truth__derived {path}", wrong or ([] if seen else ["there is no derived metric"]))


def check_roofline(path, report, truth):
    wrong = []
    for region in report["aggregate"]["regions"]:
        for name, want in roofline(truth[region["id"]]).items():
            if not near(region["roofline"][name], want):
                wrong.append(f"{region['id']} {name}: {region['roofline'][name]}, truth {want}")
    return check(f"ncu_truth__roofline {path}", wrong)


def main():
    good = True
    for path in sys.argv[2:]:
        report = json.loads(subprocess.run([sys.argv[1], "report", "-f", "json", "--metrics", "*", path], check=True,
                                           stdout=subprocess.PIPE).stdout)
        truth = regions(path)
        good &= check_derived(path, report, truth)
        good &= check_roofline(path, report, truth)
    sys.exit(not good)


main()
