#!/usr/bin/env python3
"""Compares sampled counters with those of Nsight Compute: the counts of a region, or of a kernel in it, per step.

    counters_agree.py regions SAMPLED.json TRUTH.json BASE GLOB LIMITS   regions with at least 5 % of BASE's time
    counters_agree.py kernels SAMPLED.json TRUTH.json BASE GLOB LIMITS   kernels in their region, with at least 2 %
    counters_agree.py times BASE WITH WITHOUT …                          durations of kernels with and without sampling

BASE is the region of one step; the two sides may have different numbers of steps. WITH and WITHOUT are runs: NAME.json is the
report, NAME.out the program's output with its line `inner T s for N steps`. LIMITS are percentages by metric,
`lts__t_sectors.sum=10,…`. A percentage is multiplied by its time before it is compared, a percentage of the SMs' peak by their cycles: alone
under ncu, a short kernel takes longer than among others, at another clock, and has a smaller share of its peak. A count below 1 % of that
of BASE is shown with a *, and not judged, because it is so small. Exit status 1: a judged figure exceeds its limit.
"""
import fnmatch
import json
import os
import statistics
import sys

CLOCK = "sm__cycles_elapsed.avg.per_second"


def regions(path):
    doc = json.load(open(path))
    agg = doc.get("aggregate") or {}
    return {r["id"]: r for r in (agg if "regions" in agg else doc["scopes"][0])["regions"]}


def own_kernels(all_regions, region):
    """The kernels of a region that are in no region below it."""
    below = {}
    for r in all_regions.values():
        if r["parent_id"] == region["id"]:
            for k in r["kernels"]:
                below[k["kernel_name"]] = below.get(k["kernel_name"], 0) + k["calls"]
    return {k["kernel_name"]: k for k in region["kernels"] if not below.get(k["kernel_name"])}


def rows_of(what, all_regions, glob):
    """{(region, kernel or None): counted}"""
    rows = {}
    for i, r in all_regions.items():
        if fnmatch.fnmatchcase(i, glob):
            if what == "regions":
                rows[i, None] = r
            else:
                rows.update({(i, name): k for name, k in own_kernels(all_regions, r).items()})
    return rows


def launches(row):
    """Of kernels: ncu does not see copies and memsets."""
    if "calls" in row:
        return row["calls"]
    return sum(k["calls"] for k in row["kernels"] if not k["kernel_name"].startswith("[CUDA "))


def same_row(rows, key):
    """The row of the same kernel. Both spell some C++ names differently: then the one whose name begins most alike."""
    if key in rows or key[1] is None:
        return rows.get(key)
    alike = lambda name: len(os.path.commonprefix([name, key[1]]))
    return max((row for (region, _), row in rows.items() if region == key[0]),
               key=lambda row: alike(row["kernel_name"]), default=None)


class Side:
    def __init__(self, what, path, base, glob):
        found = regions(path)
        self.base = found[base]
        self.steps = self.base["instances"]
        self.rows = rows_of(what, found, glob)

    def weight(self, row, metric):
        """Of a count: that of one step. Of a percentage: the time, or cycles, that a step would take at its peak."""
        weight = (row["total_ms"] / 100 if ".pct_" in metric else 1) / self.steps
        return weight * (row["metrics"].get(CLOCK) or float("nan")) if metric.startswith("sm__") and ".pct_" in metric else weight

    def per_step(self, row, metric):
        value = row["metrics"].get(metric)
        return None if value is None else value * self.weight(row, metric)


def head(metric):
    name, _, rest = metric.partition(".")
    return name[-18:] + " %" if ".pct_" in rest else name[-20:]


def agree(what, sampled, truth, base, glob, limits):
    limits = {k: float(v) for k, v in (x.split("=") for x in limits.split(","))}
    a, b = Side(what, sampled, base, glob), Side(what, truth, base, glob)
    least = (0.05 if what == "regions" else 0.02) * a.base["total_ms"]
    worst, beyond, within = {m: 0.0 for m in limits}, [], [0, 0]
    print(f"#   {'':58}{'time':>6}" + "".join(f"{head(m):>22}" for m in limits))
    for key, row in a.rows.items():
        if row["total_ms"] < least:
            continue
        name = key[0] if key[1] is None else f"{key[0].split('/', 1)[-1]}: {key[1]}"
        other = same_row(b.rows, key)
        if other is None or launches(row) * b.steps != launches(other) * a.steps:
            print(f"#   {name[:58]:58} has no counterpart with as many launches")
            beyond.append((name, "launches"))
            continue
        line = f"#   {name[:58]:58}{100 * row['total_ms'] / a.base['total_ms']:5.1f}%"
        for m, limit in limits.items():
            x, y = a.per_step(row, m), b.per_step(other, m)
            if x is None or y is None or x != x or y != y:
                line += f"{'-':>22}"
                beyond.append((name, m, "missing"))
                continue
            little = y < 0.01 * b.per_step(b.base, m)
            error = row.get("metric_ranges", {}).get(m, {}).get("error", 0) * a.weight(row, m)
            if not y:
                line += f"{'none':>21}*"
                continue
            off = 100 * (x / y - 1)
            line += f"{off:+8.1f} (±{100 * error / y:5.1f}) %" + ("*  " if little else "   ")
            if little:
                continue
            worst[m] = max(worst[m], abs(off))
            within[0] += abs(x - y) <= error + 0.04 * y
            within[1] += 1
            if abs(off) > limit:
                beyond.append((name, m, round(off, 1)))
        print(line)
    print(f"#   * less than 1 % of what all of {base} counts: not judged")
    for m in limits:
        if ".pct_" in m:
            print(f"#   {base}: {m} {a.base['metrics'].get(m)} in life, {b.base['metrics'].get(m)} under ncu; SM clock "
                  f"{a.base['metrics'].get(CLOCK)} and {b.base['metrics'].get(CLOCK)}")
    print("#   worst", {m: round(v, 1) for m, v in worst.items()}, "limits", limits)
    print(f"#   {within[0]} of {within[1]} are within their ± and 4 %")
    for name, *why in beyond:
        print("#   beyond:", name[:58], *why)
    return not beyond and within[1] > 0


def inner(run):
    """Seconds a step of the program's own loop takes."""
    words = next(line for line in open(run + ".out") if line.startswith("inner ")).split()
    return float(words[1]) / int(words[4])


def times(base, *runs):
    """Medians over pairs: the GPU time of a step, the mean of each kernel of 2 % of that and more. The loop is shown only:
    three pairs of processes say little about it on a machine that others use too (bench/sampling.py does)."""
    loop, step, by_kernel = [], [], {}
    for one, other in zip(runs[::2], runs[1::2]):
        loop.append(inner(one) / inner(other))
        a, b = (Side("kernels", run + ".json", base, base + "*") for run in (one, other))
        step.append(a.base["total_ms"] / a.steps / (b.base["total_ms"] / b.steps))
        for key, row in a.rows.items():
            if row["total_ms"] >= 0.02 * a.base["total_ms"] and key in b.rows:
                by_kernel.setdefault(key, []).append(row["mean_ms"] / b.rows[key]["mean_ms"])
    kernels = {k: statistics.median(v) for k, v in by_kernel.items()}
    for what, ratios in (("the loop", loop), ("GPU time of a step", step)):
        print(f"#   {what}, with ÷ without, by pair:", " ".join(f"{x:.4f}" for x in ratios))
    for (region, name), x in sorted(kernels.items(), key=lambda e: -abs(e[1] - 1))[:5]:
        print(f"#   {region.split('/', 1)[-1]}: {name[:60]}: {x:.4f}")
    typical = statistics.median(kernels.values())
    print(f"#   medians: loop {statistics.median(loop):.4f}, step {statistics.median(step):.4f}, "
          f"the {len(kernels)} kernels of 2 % and more {typical:.4f}")
    return abs(statistics.median(step) - 1) <= 0.01 and abs(typical - 1) <= 0.01


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    sys.exit(not (times(*rest) if what == "times" else agree(what, *rest)))
