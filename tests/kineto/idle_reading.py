#!/usr/bin/env python3
"""Computes idle time and its causes independently, from torch.profiler traces and Nsight Systems exports.

    idle_reading.py SONDE FILE…      prints ok/not ok per file

This was written from docs/idle-internals.md, not from the code: every gap is cut wherever a host thread began or ended something, and
each piece is explained separately. It compares idle_ms and its causes for every region of every process and device.
"""
import bisect
import collections
import json
import sqlite3
import sys

import reading

NEAR, BETWEEN, LATENCY = 10_000, 100_000, 20_000  # ns
CAUSES = ("launch", "sync", "copy", "alloc", "host", "queued", "other_stream", "unknown")
# What a host thread can be held up in, by how the name goes on behind "cuda" or "cu".
WAITS = (("StreamSynchronize", "sync"), ("EventSynchronize", "sync"), ("DeviceSynchronize", "sync"), ("CtxSynchronize", "sync"),
         ("ThreadSynchronize", "sync"), ("Memcpy", "copy"), ("Memset", "copy"), ("Malloc", "alloc"), ("HostAlloc", "alloc"),
         ("MemAlloc", "alloc"), ("MemHostAlloc", "alloc"), ("MemHostRegister", "alloc"), ("MemCreate", "alloc"), ("Free", "alloc"),
         ("MemFree", "alloc"), ("MemHostUnregister", "alloc"), ("MemRelease", "alloc"))

Work = collections.namedtuple("Work", "start end call thread kind chain")  # chain: the entries it lies in, outermost first
Act = collections.namedtuple("Act", "begin end cause")  # of a host thread; a launch is a moment


def wait_of(name):
    rest = name[4:] if name.startswith("cuda") else name[2:] if name.startswith("cu") else None
    return next((cause for word, cause in WAITS if rest is not None and rest.startswith(word)), None)


class Thread:
    """What one host thread did, by when it began."""

    def __init__(self, acts):
        self.acts = sorted(set(acts))
        self.begins = [a.begin for a in self.acts]
        self.edges = sorted({e for a in self.acts for e in (a.begin, a.end)})

    def next_after(self, t):
        i = bisect.bisect_right(self.begins, t)
        return self.acts[i] if i < len(self.acts) else None

    def at(self, t, until):
        """What the thread did at a moment between two edges, before `until`: a cause, or None for a long pause."""
        began = self.acts[:bisect.bisect_right(self.begins, t)]
        inside = [a for a in began if a.end > t]
        if inside:
            return inside[-1].cause
        if not began:
            return None
        last = max(a.end for a in began)
        follows = self.next_after(t)
        pause = min(until, follows.begin if follows else until) - last
        ended = [a.cause for a in began if a.end == last]
        # A copy that was launched and whose call ended then: the call says more.
        cause = next((c for c in ended if c != "launch"), "launch")
        return cause if pause <= (BETWEEN if cause == "launch" else NEAR) else None


def explain(a, b, before, after, threads, has_calls):
    """A gap from a to b, cause by cause."""
    by = collections.Counter()
    if after.call is None:
        by["unknown"] += b - a
        return by
    thread = threads[after.thread]
    other = threads[before.thread] if before.call is not None and before.thread != after.thread else None
    is_copy = after.kind != "kernel"
    own = [x for x in thread.acts if is_copy and x.cause == "copy" and x.begin == after.call]
    follows = thread.next_after(after.call)
    if own:
        returned = max(after.call + LATENCY, own[-1].end)
    elif follows:
        returned = max(after.call + LATENCY, follows.begin)
    else:  # nothing tells when the call returned; the launch of a gap it was called for in ends with the gap
        returned = b if after.call > a else after.call + LATENCY
    called, returned = min(max(after.call, a), b), min(max(returned, a), b)
    by["copy" if is_copy else "launch"] += returned - called
    by["queued"] += b - returned
    cuts = {a, called}
    for t in (thread, other):
        if t:
            cuts.update(t.edges[bisect.bisect_right(t.edges, a):bisect.bisect_left(t.edges, called)])
    cuts = sorted(cuts)
    for p, q in zip(cuts, cuts[1:]):
        cause = thread.at(p, called)
        if cause is None and other:
            follows = thread.next_after(p)
            cause = other.at(p, min(called, follows.begin if follows else called))
        by[cause or ("host" if has_calls else "unknown")] += q - p
    return by


def union(intervals):
    total, end = 0, None
    for s, e in sorted(intervals):
        if end is None or s > end:
            total, end = total + e - s, e
        elif e > end:
            total, end = total + e - end, e
    return total


def idle_of(works, threads, has_calls):
    """{path: {cause: ns}} of one process on one device."""
    works = sorted(works, key=lambda w: w.start)
    gaps, last = [], None
    for w in works:
        if last is not None and w.start > last.end:
            gaps.append((last.end, w.start, explain(last.end, w.start, last, w, threads, has_calls)))
        if last is None or w.end >= last.end:
            last = w
    windows, launches = collections.defaultdict(dict), collections.defaultdict(list)
    for w in works:
        for entry, path in w.chain:
            s, e = windows[path].get(entry, (w.start, w.end))
            windows[path][entry] = min(s, w.start), max(e, w.end)
        for path in {path for _, path in w.chain}:
            launches[path].append((w.start, w.end))
    found = {}
    for path, entries in windows.items():
        by = collections.Counter()
        for a, b, causes in gaps:
            if any(s <= a and b <= e for s, e in entries.values()):
                by.update(causes)
        by["other_stream"] = union(entries.values()) - union(launches[path]) - sum(by.values())
        found[path] = by
    return found


def open_at(lanes, pid, tid, t):
    """The ranges open on a thread, outermost first, or on the one other thread of the process that has some."""
    def inside(ranges):
        return [r for r in ranges if r["begin"] <= t < r["end"]]
    own = inside(lanes.get((pid, tid), ()))
    if own:
        return own
    others = [r for r in (inside(rs) for (p, th), rs in lanes.items() if p == pid and th != tid) if r]
    return others[0] if len(others) == 1 else []


def scopes_of(works, calls, waits, lanes):
    """Works are (pid or None, device, start, end, kind, call); calls {call: (begin, pid, tid)}; lanes by domain."""
    acts, scopes = collections.defaultdict(list, {key: list(of) for key, of in waits.items()}), collections.defaultdict(list)
    for pid, device, start, end, kind, call in works:
        begin, pid, tid = calls.get(call) or (None, pid, None)
        chain = []
        if begin is not None:
            acts[pid, tid].append(Act(begin, begin, "launch"))
            for domain, ranges in lanes.items():
                chain += [(id(r), (domain,) + r["path"]) for r in open_at(ranges, pid, tid, begin)]
        scopes[pid, device].append(Work(start, end, begin, (pid, tid), kind, tuple(chain)))
    return scopes, {key: Thread(of) for key, of in acts.items()}


def read_trace(data):
    """Idle times of one torch.profiler trace: {(pid, device): {(domain, label…): causes}}."""
    doc = json.loads(data.decode("utf-8", "replace"), strict=False, parse_float=reading.decimal.Decimal)
    trace = reading.Reading(data, {"user_annotation"})
    waits, callers = collections.defaultdict(list), set()
    for e in doc["traceEvents"] if isinstance(doc, dict) else doc:
        if e.get("ph") != "X" or not reading.is_call(str(e.get("cat", "")).lower()):
            continue
        begin, cause = reading.ns(e["ts"]), wait_of(e["name"])
        callers.add(e["pid"])
        if cause:
            waits[e["pid"], e["tid"]].append(Act(begin, begin + reading.ns(e.get("dur", 0)), cause))
    works = [(trace.first_pid or 0, args.get("device", e["pid"]), start, start + dur, kind, args.get("correlation") or None)
             for start, dur, kind, e, args in trace.work]
    scopes, threads = scopes_of(works, trace.calls, waits, {None: trace.ranges})
    return {key: idle_of(of, threads, key[0] in callers) for key, of in scopes.items()}


def read_export(path):
    """The same of an export of Nsight Systems. A thread is numbered by its process and its own number, together."""
    db = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
    tables = {n for n, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    strings = dict(db.execute("SELECT id, value FROM StringIds"))

    def pid_of(number):
        return number >> 24 & 0xFFFFFF

    calls, waits, callers, works = {}, collections.defaultdict(list), set(), []
    for start, end, tid, correlation, name in db.execute(
            "SELECT start, end, globalTid, correlationId, nameId FROM CUPTI_ACTIVITY_KIND_RUNTIME"):
        pid, cause = pid_of(tid), wait_of(strings[name])
        callers.add(pid)
        if cause:
            waits[pid, tid].append(Act(start, max(start, end), cause))
        known = calls.get((pid, correlation))
        if known is None or start < known[0]:
            calls[pid, correlation] = (start, pid, tid)
    for table, kind in (("KERNEL", "kernel"), ("MEMCPY", "memcpy"), ("MEMSET", "memset")):
        if f"CUPTI_ACTIVITY_KIND_{table}" in tables:
            works += [(pid_of(pid), device, start, max(start, end), kind, (pid_of(pid), correlation)) for start, end, device, correlation, pid in
                      db.execute(f"SELECT start, end, deviceId, correlationId, globalPid FROM CUPTI_ACTIVITY_KIND_{table}")]
    lanes = collections.defaultdict(lambda: collections.defaultdict(list))
    if "NVTX_EVENTS" in tables:
        domains = {(pid_of(tid), number): text or strings.get(text_id) for number, text, text_id, tid in
                   db.execute("SELECT domainId, text, textId, globalTid FROM NVTX_EVENTS WHERE eventType = 75")}
        for start, end, text, text_id, tid, domain in db.execute(
                "SELECT start, end, text, textId, globalTid, domainId FROM NVTX_EVENTS WHERE eventType = 59 AND end NOT NULL"):
            name = domains.get((pid_of(tid), domain), f"domain {domain}") if domain else None
            lanes[name][pid_of(tid), tid].append({"label": text or strings.get(text_id, ""), "begin": start, "end": end})
    for of in lanes.values():
        for ranges in of.values():
            ranges.sort(key=lambda r: (r["begin"], -r["end"]))
            reading.end_crossing(ranges)
    scopes, threads = scopes_of(works, calls, waits, lanes)
    return {key: idle_of(of, threads, key[0] in callers) for key, of in scopes.items()}


def compare(sonde, path):
    wrong, nr = [], 0
    report = reading.reported(sonde, path, ["report.labels=raw", "report.origins=off", "report.scopes.keep=10000",
                                             "report.kineto.regions=annotations"])
    seen = {(s["process_id"], int(s["device"].split(":")[1])): s for s in report["scopes"] if s["device"]}
    for found in [read_export(path)] if path.endswith(".sqlite") else [read_trace(data) for _, data in reading.traces(path)]:
        for key, regions in found.items():
            scope = report["aggregate"] if "same_as" in seen[key] else seen[key]
            shown = {(r["domain"], *r["path"]): r for r in scope["regions"]}
            for place, by in regions.items():
                nr += 1
                got = {c: round((shown[place]["idle"] or {}).get(c + "_ms", 0) * 1e6) for c in CAUSES}
                bad = [f"{c} {got[c] / 1e3:.3f} µs, truth {by[c] / 1e3:.3f}" for c in CAUSES if abs(got[c] - by[c]) > 2]
                if bad or abs(round(shown[place]["idle_ms"] * 1e6) - sum(by.values())) > 2:
                    wrong.append(f"{key} {'/'.join(map(str, place))}: {', '.join(bad)}")
    return wrong, nr


def main():
    failed = 0
    for path in sys.argv[2:]:
        wrong, nr = compare(sys.argv[1], path)
        for line in wrong[:8]:
            print("  " + line)
        print(f"{'not ok' if wrong else 'ok'} idle_reading__{path.split('/')[-1]} ({len(wrong)} of {nr} regions differ)")
        failed |= bool(wrong)
    return failed


if __name__ == "__main__":
    sys.exit(main())
