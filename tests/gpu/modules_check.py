#!/usr/bin/env python3
"""Checks reports of the programs of modules_gpu.py. Prints figures behind `#`; if something is wrong, prints it and exits with 1.

    modules_check.py same REPORT REPORT         two runs have the same regions: paths, entries, launches
    modules_check.py twins REPORT REPORT A=B…   all regions called A in the first report have the launches of all called B in the second
    modules_check.py inside REPORT MIN [NAME]   at least this share of launches is in regions (with NAME: of those in any region, in regions called NAME)
    modules_check.py holds REPORT MEMORY TRUTH  the allocator's figures agree with the program's own
    modules_check.py turns MOST FILE             the ratio that `modules_gpu.py turns` wrote to FILE is at most MOST
"""
import json
import sys


def regions_of(path):
    with open(path) as f:
        return {tuple(r["path"]): r for r in json.load(f)["aggregate"]["regions"]}


def same(a, b):
    a, b = ({p: (r.get("instances", 0), r["kernel_count"]) for p, r in regions_of(f).items()} for f in (a, b))
    for p in sorted(set(a) | set(b)):
        if a.get(p) != b.get(p):
            print("  %s: %s and %s (entries, launches)" % ("/".join(p), a.get(p), b.get(p)))
    print("# %d regions" % len(a))
    return a != b or not a


def twins(a, b, pairs):
    """Regions that lie in none of the same name, added up."""
    def launches(regions, name):
        return sum(r["kernel_count"] for p, r in regions.items() if p[-1] == name and name not in p[:-1])

    a, b = regions_of(a), regions_of(b)
    wrong = 0
    for pair in pairs:
        x, y = pair.split("=")
        n, m = launches(a, x), launches(b, y)
        print("# %s %d, %s %d launches" % (x, n, y, m))
        wrong += n != m or not n
    return wrong


def inside(path, least, name=None):
    with open(path) as f:
        report = json.load(f)
    c = report["coverage"]
    part, whole = c["launches_attributed"], c["launches_total"]
    if name:
        part, whole = sum(r["kernel_count"] for r in report["aggregate"]["regions"] if r["path"][-1] == name and name not in r["path"][:-1]), part
    print("# %d of %d launches, %.2f %%" % (part, whole, 100 * part / max(1, whole)))
    return part < least * whole or not part


def holds(report, seen, truth):
    with open(seen) as f:
        seen = json.load(f)
    with open(truth) as f:
        truth = json.load(f)
    found = {}
    for path, r in regions_of(report).items():
        if path[0] == "step" and "allocator" in r and len(path) > 1:
            found["/".join(path[1:])] = r["allocator"]
    wrong = near = 0
    for name, calls in truth.items():
        a, late = found.get(name), calls[1:]
        if not a:
            print("  %s: not read" % name)
            wrong += 1
            continue
        nets = [after - before for before, after, _ in late + seen[name][1:]]
        peak, rise = max(c[2] for c in late), max(c[2] - c[0] for c in late)
        near += a["peak_bytes"] >= 0.98 * peak
        if not min(nets) - 512 <= a["net_bytes"] <= max(nets) + 512:
            wrong += 1
            print("  %s: an entry leaves %s bytes, not %d to %d" % (name, a["net_bytes"], min(nets), max(nets)))
        if a["peak_bytes"] > peak + 512 or a["rise_bytes"] > rise + 512:
            wrong += 1
            print("  %s: a peak of %s (rise %s) where the most was %d (%d)" % (name, a["peak_bytes"], a["rise_bytes"], peak, rise))
    reads = [a["entries"] for a in found.values()]
    print("# %d modules, %d with the peak within 2 %%, %s to %s of %d entries read" % (len(truth), near, min(reads, default=0), max(reads, default=0), len(next(iter(truth.values()))) - 1))
    return wrong or near < 0.9 * len(truth)


def turns(most, text):
    said = [json.loads(line.partition("turns ")[2]) for line in text.splitlines() if line.startswith("turns ")]
    for s in said:
        print("# %s: %.4f (%.4f to %.4f) of %.1f us a step" % (s["program"], s["ratio"], s["from"], s["to"], s["step_us"]))
    return not said or any(s["ratio"] > most for s in said)


def main(command, *args):
    if command == "inside":
        return inside(args[0], float(args[1]), *args[2:])
    if command == "twins":
        return twins(args[0], args[1], args[2:])
    if command == "turns":
        return turns(float(args[0]), open(args[1]).read())
    return {"same": same, "holds": holds}[command](*args)


if __name__ == "__main__":
    sys.exit(1 if main(*sys.argv[1:]) else 0)
