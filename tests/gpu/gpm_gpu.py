#!/usr/bin/env python3
"""A program whose regions are long enough for GPM's samples, and checks that compare GPM with PM sampling.

    gpm_gpu.py work ROUNDS            runs the program: alternating phases of half a second each
    gpm_gpu.py agree REPORT.json      for a run with counters.source=both: each figure of GPM is within 3 points of PM sampling's
    gpm_gpu.py late TRACE.json        for the same run in Perfetto's format: how late GPM's values are; the fold assumes 0 to 100 ms
    gpm_gpu.py figures REPORT.json    for a run with GPM only: the figures exist and are plausible
"""
import bisect
import json
import sys
import time

POINTS = 3
PAIRS = [("SM active", "gpm__sm_active.pct", "sm__cycles_active.avg.pct_of_peak_sustained_elapsed"),
         ("tensor", "gpm__tensor.pct", "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"),
         ("DRAM", "gpm__dram.pct", "dram__bytes.sum.pct_of_peak_sustained_elapsed"),
         ("occupancy", "gpm__occupancy.pct", "sm__warps_active.avg.pct_of_peak_sustained_active")]
FILLING = ["matmul", "copy", "elementwise", "step"]


def work(rounds):
    import torch
    a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    c = torch.empty_like(a)
    big = torch.zeros(1 << 28, device="cuda")
    to = torch.empty_like(big)

    def phase(name, seconds, *steps):
        torch.cuda.synchronize()
        with torch.cuda.nvtx.range(name):
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                for label, step, times in steps:
                    if label:
                        torch.cuda.nvtx.range_push(label)
                    for _ in range(times):
                        step()
                    if label:
                        torch.cuda.nvtx.range_pop()
                torch.cuda.synchronize()

    matmul, copy, multiply = lambda: torch.mm(a, a, out=c), lambda: to.copy_(big), lambda: big.mul_(1.0)
    for step in (matmul, copy, multiply):
        step()
    for _ in range(rounds):
        phase("matmul", .5, (None, matmul, 4))
        phase("copy", .5, (None, copy, 6))
        with torch.cuda.nvtx.range("idle"):
            time.sleep(.3)
        phase("elementwise", .5, (None, multiply, 6))
        phase("short", .05, (None, matmul, 4))
        phase("step", .7, ("forward", matmul, 4), ("backward", multiply, 8))
    print("rounds", rounds)


def regions(path):
    doc = json.load(open(path))
    agg = doc.get("aggregate") or {}
    for note in doc.get("notes", []):
        print("#  ", note)
    return {r["id"]: r for r in (agg if "regions" in agg else doc["scopes"][0])["regions"]}


def value(region, metric):
    found = region["metrics"].get(metric)
    return found.get("v") if isinstance(found, dict) else found


def show(found, name, metrics):
    row = found.get(name)
    cells = ["-" if row is None or value(row, m) is None else "%.1f" % value(row, m) for m in metrics]
    print("# %-14s" % name, *["%8s" % c for c in cells])
    return [None if row is None else value(row, m) for m in metrics]


def agree(path):
    found, bad, nr = regions(path), 0, 0
    print("# %-14s" % "", *["%8s %8s" % (w, "PM") for w, _, _ in PAIRS])
    for name in FILLING + ["step/forward", "step/backward", "short"]:
        at = show(found, name, [m for _, g, p in PAIRS for m in (g, p)])
        for (words, _, _), gpm, pm in zip(PAIRS, at[::2], at[1::2]):
            if gpm is None or pm is None:
                if name in FILLING and words != "occupancy":
                    print("not ok %s of %s is missing" % (words, name))
                    bad += 1
                continue
            nr += 1
            if abs(gpm - pm) > POINTS:
                print("not ok %s of %s: GPM %.1f, PM %.1f" % (words, name, gpm, pm))
                bad += 1
    print("# %d figures compared, %d bad" % (nr, bad))
    return 1 if bad or nr < 12 else 0


def curve(events, name):
    """(start in ms, value), up to the next one"""
    return sorted((e["ts"] / 1e3, e["args"]["value"]) for e in events if e["ph"] == "C" and e["name"].endswith(" · " + name))


def lag_of(gpm, pm):
    """Which shift makes PM's means over GPM's intervals most alike them: ms, and the root of the mean square left, in points."""
    at, sums = [t for t, _ in pm], [0]
    for (t, v), (u, _) in zip(pm, pm[1:]):
        sums.append(sums[-1] + v * (u - t))

    def integral(t):
        i = min(max(bisect.bisect_right(at, t) - 1, 0), len(at) - 1)
        return sums[i] + (min(t, at[-1]) - at[i]) * pm[i][1] if t > at[0] else 0

    def misfit(lag):
        rows = [((integral(u - lag) - integral(t - lag)) / (u - t), v) for (t, v), (u, _) in zip(gpm, gpm[1:])
                if t - 200 > at[0] and u < at[-1]]
        return (sum((a - b) ** 2 for a, b in rows) / len(rows)) ** .5

    return min((misfit(lag), lag) for lag in range(-50, 251))[::-1]


def late(path):
    events = json.load(open(path))["traceEvents"]
    gpm, pm = curve(events, "SM active % gpm"), curve(events, "SM active %")
    half = len(gpm) // 2
    for words, part in (("all", gpm), ("first half", gpm[:half]), ("second half", gpm[half:])):
        lag, left = lag_of(part, pm)
        print("# %s: GPM's values are %d ms late, %.1f points are left" % (words, lag, left))
        if not 0 <= lag <= 100:
            return 1
    return 0


def figures(path):
    found = regions(path)
    at = {name: show(found, name, [g for _, g, _ in PAIRS]) for name in FILLING + ["step/forward", "short"]}
    good = (at["matmul"][0] or 0) > 80 and (at["matmul"][1] or 0) > 50 and (at["copy"][2] or 0) > 50
    good = good and at["copy"][1] is not None and at["copy"][1] < 3
    others = [m for m in found["matmul"]["metrics"] if m.startswith("sm__") and value(found["matmul"], m) is not None]
    if others:
        print("not ok these are not GPM's:", *others)
    return 0 if good and not others else 1


if __name__ == "__main__":
    if sys.argv[1] == "work":
        work(int(sys.argv[2]))
    else:
        sys.exit({"agree": agree, "late": late, "figures": figures}[sys.argv[1]](sys.argv[2]))
