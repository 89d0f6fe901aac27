#!/usr/bin/env python3
"""Reads torch.profiler traces independently, and compares them with what sonde reports.

    reading.py SONDE TRACE… [KEY=VALUE…]     prints ok/not ok per trace

This was written from the description of the format (docs/sources.md), not from the reader: it uses Python's json,
and searches lists of open ranges one by one. It compares per process, device and region path: launches, GPU time in ns,
entries, and every kernel with its launches and time; and what is outside all regions.
"""
import collections
import decimal
import gzip
import io
import json
import subprocess
import sys
import tarfile

GPU = {"kernel": "kernel", "gpu_memcpy": "memcpy", "memcpy": "memcpy", "gpu_memset": "memset", "memset": "memset"}
WORDS = {"HtoD": "Host-to-Device", "DtoH": "Device-to-Host", "DtoD": "Device-to-Device", "PtoP": "Peer-to-Peer",
         "HtoH": "Host-to-Host", "HtoA": "Host-to-Array", "AtoH": "Array-to-Host", "AtoA": "Array-to-Array",
         "AtoD": "Array-to-Device", "DtoA": "Device-to-Array"}


def ns(us):
    return int((decimal.Decimal(us) * 1000).to_integral_value(decimal.ROUND_HALF_UP))


def traces(path):
    """(name, bytes) of every trace in a file."""
    data = open(path, "rb").read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    if data[257:262] == b"ustar":
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            return [(m.name, archive.extractfile(m).read()) for m in archive.getmembers() if m.isfile()]
    return [(path, data)]


def is_call(cat):
    return cat in ("runtime", "driver") or cat.endswith("_runtime") or cat.endswith("_driver")


def work_name(kind, name):
    if kind == "memset":
        return "[CUDA memset]"
    if kind == "memcpy":
        words = [to for word, to in WORDS.items() if word in name]
        pageable = ", pageable" if "Pageable" in name and words and words[0] in ("Host-to-Device", "Device-to-Host") else ""
        return f"[CUDA memcpy {words[0]}{pageable}]" if words else "[CUDA memcpy]"
    return name or "(unnamed kernel)"


def end_crossing(ranges):
    """Ranges of one thread, sorted: one that outlives the range around it ends where that one ends."""
    stack = []
    for r in ranges:
        while stack and stack[-1]["end"] <= r["begin"]:
            stack.pop()
        if stack and r["end"] > stack[-1]["end"]:
            r["end"] = stack[-1]["end"]
        r["path"] = (stack[-1]["path"] if stack else ()) + (r["label"],)
        stack.append(r)


def innermost(ranges, t):
    path = ()
    for r in ranges:
        if r["begin"] <= t < r["end"] and len(r["path"]) > len(path):
            path = r["path"]
    return path


class Reading:
    """What one trace says."""

    def __init__(self, data, regions):
        doc = json.loads(data.decode("utf-8", "replace"), strict=False, parse_float=decimal.Decimal)
        events = doc["traceEvents"] if isinstance(doc, dict) else doc
        self.calls, self.work = {}, []
        self.ranges = collections.defaultdict(list)
        self.first_pid = None
        for e in events:
            cat = str(e.get("cat", "")).lower()
            if e.get("ph") != "X":
                continue
            begin = ns(e["ts"])
            args = e.get("args") or {}
            if cat in regions:
                self.host(e)
                self.ranges[e["pid"], e["tid"]].append(
                    {"label": e["name"], "begin": begin, "end": begin + ns(e.get("dur", 0))})
            elif cat in GPU:
                self.work.append((begin, ns(e.get("dur", 0)), GPU[cat], e, args))
            elif is_call(cat) and args.get("correlation"):
                self.host(e)
                known = self.calls.get(args["correlation"])
                if known is None or begin < known[0]:
                    self.calls[args["correlation"]] = (begin, e["pid"], e["tid"])
        for ranges in self.ranges.values():
            ranges.sort(key=lambda r: (r["begin"], -r["end"]))
            end_crossing(ranges)

    def host(self, e):
        if self.first_pid is None:
            self.first_pid = e["pid"]

    def path_of(self, call, adopt):
        """The open stack of the call's thread, or of the one other thread of its process that has one."""
        t, pid, tid = call
        path = innermost(self.ranges.get((pid, tid), ()), t)
        if path or not adopt:
            return path
        others = [p for p in (innermost(r, t) for (p_, t_), r in self.ranges.items() if p_ == pid and t_ != tid) if p]
        return others[0] if len(others) == 1 else ()

    def launches(self, adopt):
        """(pid, device, path, kernel, ns) of each."""
        for begin, dur, kind, e, args in self.work:
            call = self.calls.get(args.get("correlation") or None)
            path = self.path_of(call, adopt) if call else ()
            pid = call[1] if call else self.first_pid or 0
            yield pid, args.get("device", e["pid"]), path, work_name(kind, e["name"]), dur


def expected(path, regions, adopt):
    """{(pid, device): {path: {kernel: [launches, ns]}}}, inclusive, and () for what is outside; entries by pid."""
    scopes, entries = {}, collections.Counter()
    for _, data in traces(path):
        reading = Reading(data, regions)
        for pid, device, place, kernel, dur in reading.launches(adopt):
            tree = scopes.setdefault((pid, device), collections.defaultdict(dict))
            for p in [place[:n] for n in range(1, len(place) + 1)] or [()]:
                cell = tree[p].setdefault(kernel, [0, 0])
                cell[0] += 1
                cell[1] += dur
        for (pid, _), ranges in reading.ranges.items():
            for r in ranges:
                entries[pid, r["path"]] += 1
    return scopes, entries


def reported(sonde, path, keys):
    out = subprocess.run([sonde, "report", path, "--format", "json", "--nesting", "stack", *keys],
                         capture_output=True, check=False)
    if out.returncode:
        raise SystemExit(f"not ok {path}: {out.stderr.decode()}")
    return json.loads(out.stdout)


def kernels_of(entry):
    return {k["kernel_name"]: [k["calls"], round(k["total_ms"] * 1e6)] for k in entry["kernels"]}


def same_kernels(got, want):
    """sonde demangles; nobody here does: names that are mangled are compared by launches and time."""
    mangled = {name for name in want if name.startswith("_Z")}
    plain = {name: cell for name, cell in want.items() if name not in mangled}
    rest = sorted(cell for name, cell in got.items() if name not in plain)
    return {n: c for n, c in got.items() if n in plain} == plain and rest == sorted(want[n] for n in mangled)


def compare(sonde, path, keys, regions, adopt):
    scopes, entries = expected(path, regions, adopt)
    report = reported(sonde, path, keys)
    wrong = []
    seen = {(s["process_id"], int(s["device"].split(":")[1])): s for s in report["scopes"] if s["device"]}
    for scope in seen.values(): # a scope that is the only one refers to the aggregate
        if "same_as" in scope:
            scope.update(regions=report["aggregate"]["regions"], unattributed=report["aggregate"]["unattributed"])
    if set(seen) != set(scopes):
        wrong.append(f"scopes {sorted(seen)} instead of {sorted(scopes)}")
    for key in set(seen) & set(scopes):
        found = {tuple(r["path"]): r for r in seen[key]["regions"]}
        for place, kernels in scopes[key].items():
            if not place:
                got = kernels_of(seen[key]["unattributed"])
            elif place not in found:
                wrong.append(f"{key} {place}: missing")
                continue
            else:
                got = kernels_of(found[place])
                if found[place]["instances"] != entries[key[0], place]:
                    wrong.append(f"{key} {place}: {found[place]['instances']} entries, not {entries[key[0], place]}")
            if not same_kernels(got, kernels):
                wrong.append(f"{key} {place}: {sum(n for n, _ in got.values())} launches, "
                             f"not {sum(n for n, _ in kernels.values())}, or other kernels or times")
        for place, region in found.items():
            if place not in scopes[key] and region["kernel_count"]:
                wrong.append(f"{key} {place}: {region['kernel_count']} launches where there are none")
    total = sum(n for tree in scopes.values() for p, ks in tree.items() if len(p) < 2 for n, _ in ks.values())
    return wrong, total


def main():
    sonde, args = sys.argv[1], sys.argv[2:]
    keys = [a for a in args if "=" in a and "/" not in a.split("=")[0]]
    paths = [a for a in args if a not in keys]
    regions, adopt = {"user_annotation"}, True
    for key in keys:
        if key.startswith("report.kineto.regions="):
            regions = {"user_annotation", "cpu_op"} if key.endswith("=ops") else {"user_annotation"}
        if key == "report.threads=own":
            adopt = False
    failed = 0
    for path in paths:
        wrong, total = compare(sonde, path, keys, regions, adopt)
        name = f"kineto_reading__{path.split('/')[-1]} {' '.join(keys)}"
        for line in wrong[:5]:
            print("  " + line)
        print(f"{'not ok' if wrong else 'ok'} {name} ({total} launches)")
        failed |= bool(wrong)
    return failed


if __name__ == "__main__":
    sys.exit(main())
