#!/usr/bin/env python3
"""Reads modules and graphs of torch.profiler traces independently, and compares them with what sonde reports.

    modules.py SONDE TRACE [CAPTURE]      prints ok/not ok; CAPTURE: the trace in which the graph was captured, which may be TRACE

This was written from docs/sources.md, not from the reader. The truth is a dict: for each piece of work the path of
the region that must contain it. Every region of sonde's report must have the launches that follow from it, and no other region
may have launches. These limits are for all traces: 95 % of the work whose call is in the trace is in modules; all
layers have the same children; no Python frame is a row; with a capture, all work of the graph is in regions.
"""
import collections
import gzip
import json
import re
import subprocess
import sys

WORK = ("kernel", "gpu_memcpy", "gpu_memset")
MODULE = "nn.Module: "
GRAPH = "## Call CompiledFxGraph "


def events_of(path):
    data = open(path, "rb").read()
    return json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)["traceEvents"]


def ns(us):
    return round(us * 1000)


class Call:
    """One annotation, module or frame, with what is inside it."""

    def __init__(self, kind, name, begin, end):
        self.kind, self.name, self.begin, self.end, self.up = kind, name, begin, end, None
        self.cls = self.number = None
        if kind == "module":
            self.cls, self.number = re.fullmatch(r"(.*)_(\d+)", name[len(MODULE):]).groups()
        elif name.startswith(GRAPH):
            self.kind, self.cls = "module", "CompiledFxGraph"
        self.is_piece = self.cls in ("GraphModule", "CompiledFxGraph")

    def chain(self):
        at, out = self, []
        while at:
            out.insert(0, at)
            at = at.up
        return out


class Trace:
    def __init__(self, path, with_frames):
        self.stacks, self.calls, self.work, self.edges = collections.defaultdict(list), {}, [], []
        for e in events_of(path):
            cat, args = e.get("cat"), e.get("args") or {}
            if e.get("ph") != "X":
                continue
            begin, end = ns(e["ts"]), ns(e["ts"]) + ns(e.get("dur", 0))
            kind = ("annotation" if cat == "user_annotation" else
                    "module" if cat == "python_function" and e["name"].startswith(MODULE) else
                    "frame" if with_frames and cat == "python_function" and self.is_forward(e["name"]) else None)
            if kind:
                self.stacks[e["tid"]].append(Call(kind, e["name"], begin, end))
            elif cat in WORK:
                self.work.append((begin, e["name"], args))
            elif cat in ("cuda_runtime", "cuda_driver") and args.get("correlation"):
                old = self.calls.get(args["correlation"])
                if not old or begin < old[0]:
                    self.calls[args["correlation"]] = (begin, e["tid"], e["name"], args)
            if cat == "cuda_runtime" and "Capture" in e["name"] and ("Begin" in e["name"] or "End" in e["name"]):
                self.edges.append(begin)
        self.nest()
        self.name_modules()

    @staticmethod
    def is_forward(name):
        m = re.fullmatch(r"(.*)\.py\(\d+\): (\S*forward\S*)", name)
        return m and not m[1].startswith("torch/") and "/torch/" not in m[1]

    def nest(self):
        for calls in self.stacks.values():
            calls.sort(key=lambda c: (c.begin, -c.end))
            stack = []
            for c in calls:
                while stack and stack[-1].end <= c.begin:
                    stack.pop()
                if stack:
                    c.up, c.end = stack[-1], min(c.end, stack[-1].end)
                stack.append(c)

    def name_modules(self):
        """A number is the place among the modules of one class in one parent; none where it is alone."""
        families, pieces = collections.defaultdict(list), collections.Counter()
        every = [c for calls in self.stacks.values() for c in calls if c.kind == "module"]
        every.sort(key=lambda c: (c.begin, -c.end))
        for c in every:
            up = c.up
            while up and up.kind != "module":
                up = up.up
            c.identity = (up.identity if up else ()) + ((c.cls, self.instance(c, up, pieces)),)
            family = families[c.identity[:-1], c.cls]
            if c.identity not in family:
                family.append(c.identity)
        for c in every:
            family = families[c.identity[:-1], c.cls]
            c.name = c.cls if len(family) == 1 else f"{c.cls}_{family.index(c.identity)}"

    @staticmethod
    def instance(c, up, pieces):
        if not c.is_piece:
            return c.number
        pieces[up, c.cls] += 1
        return pieces[up, c.cls]

    def path(self, tid, t):
        """Labels of what is open, outermost first; of frames the innermost, in pieces of compiled models alone."""
        open_ = [c for c in self.stacks.get(tid, ()) if c.begin <= t < c.end]
        if not open_:
            return (), 0
        chain = max(open_, key=lambda c: len(c.chain())).chain()
        real = [c for c in chain if c.kind != "frame"]
        path = tuple(c.name for c in real)
        if chain[-1].kind == "frame" and (not real or real[-1].is_piece):
            m = re.fullmatch(r"(?:.*/)?([^/]*)\.py\(\d+\): (.*)", chain[-1].name)
            path += (f"{m[1]}.{m[2]}",)
        return path, sum(c.kind == "module" for c in chain)

    def captured(self):
        """(kernel, path) of the launches that ran nothing, in order."""
        ran = {args.get("correlation") for _, _, args in self.work}
        first, last = min(self.edges), max(self.edges)
        launches = sorted((c for n, c in self.calls.items() if n not in ran and "Launch" in c[2] and first <= c[0] < last),
                          key=lambda c: c[0])
        return [(args.get("kernel"), self.path(tid, t)[0]) for t, tid, _, args in launches]


def common(paths):
    n = 0
    while all(len(p) > n and p[n] == paths[0][n] for p in paths):
        n += 1
    return n


def truth(trace, capture):
    """(path of each piece of work, how many have a call, are in modules, were joined, are of graphs)"""
    counts, groups, paths = collections.Counter(), collections.defaultdict(list), []
    for begin, name, args in sorted(trace.work, key=lambda w: w[0]):
        groups[args.get("correlation")].append(name)
    for correlation, names in groups.items():
        call = trace.calls.get(correlation)
        place, modules = trace.path(call[1], call[0]) if call else ((), 0)
        counts["called"] += len(names) if call else 0
        inner = [()] * len(names)
        if capture and len(names) > 1:
            captured = capture.captured()
            counts["graph"] += len(names)
            if len(captured) == len(names) and all(c in (None, name) for (c, _), name in zip(captured, names)):
                counts["joined"] += len(names)
                cut = common([p for _, p in captured])
                inner = [p[cut:] for _, p in captured]
                counts["in pieces"] += sum(bool(i) for i in inner)
        counts["in modules"] += sum(modules > 0 or bool(i) for i in inner) if call else 0
        counts["in layers"] += sum(any(re.search(r"Layer_\d+$", label) for label in place + i) for i in inner)
        paths += [place + i for i in inner]
    return paths, counts


def layers_differ(paths):
    """Layers of one parent that do not have the same regions below them."""
    below = collections.defaultdict(lambda: collections.defaultdict(set))
    for path in paths:
        for n, label in enumerate(path):
            if re.search(r"Layer_\d+$", label):
                below[path[:n]][label].add(path[n + 1:])
    return [parent for parent, layers in below.items() if len({frozenset(s) for s in layers.values()}) != 1]


def main():
    sonde, path = sys.argv[1:3]
    named = sys.argv[3] if len(sys.argv) > 3 else None
    capture = Trace(named, named != path) if named else None  # of a trace's own captures no frames are kept
    out = subprocess.run([sonde, "report", path, "-f", "json", "--nesting", "stack", "report.labels=raw",
                          "report.kineto.captures=" + (named if named and named != path else "none")], capture_output=True, check=False)
    if out.returncode:
        raise SystemExit(f"not ok {path}: {out.stderr.decode()}")
    report = json.loads(out.stdout)
    paths, counts = truth(Trace(path, False), capture)
    want = collections.Counter(p[:n] for p in paths for n in range(1, len(p) + 1))
    got = {tuple(r["path"]): r["kernel_count"] for r in report["aggregate"]["regions"]}
    wrong = [f"{p}: {got.get(p)} launches, not {n}" for p, n in want.items() if got.get(p) != n]
    wrong += [f"{p}: {n} launches where there are none" for p, n in got.items() if n and p not in want]
    wrong += [f"{p}: a Python frame" for p in got if re.search(r"\.py\(|<built-in|nn\.Module|_call_impl", p[-1])]
    wrong += [f"{p}: its layers have different children" for p in layers_differ(got)]
    if counts["in modules"] < 0.95 * (counts["graph"] if capture else counts["called"]):
        wrong.append(f"{counts['in modules']} of {counts['called']} launches are in modules")
    if capture and counts["in layers"] and counts["in layers"] < 0.95 * counts["graph"]:
        wrong.append(f"{counts['in layers']} of {counts['graph']} launches of graphs are in layers")
    if capture and counts["in pieces"] != counts["graph"]:
        wrong.append(f"{counts['in pieces']} of {counts['graph']} launches of graphs are in a piece of the model")
    if capture and counts["joined"] != counts["graph"]:
        wrong.append(f"{counts['joined']} of {counts['graph']} launches of graphs are joined")
    torch = report["coverage"]["torch"]
    if capture and (torch["graph_launches"], torch["graph_launches_at_capture"]) != (counts["graph"], counts["joined"]):
        wrong.append(f"the coverage says {torch}")
    for line in wrong[:8]:
        print("  " + line)
    said = ", ".join(f"{n} {what}" for what, n in counts.items() if n)
    print(f"{'not ok' if wrong else 'ok'} kineto_modules__{path.split('/')[-1].split('.json')[0]} ({len(paths)} launches: {said})")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
