#!/usr/bin/env python3
"""Reads exports of Nsight Systems without sonde, by plain SQL and loops over everything, and checks reports of them.

  reference.py make EXPORT SEED     makes a random export: processes, threads, devices, domains, ranges of both kinds
  reference.py check EXPORT REPORT  compares a report of it (-f json, report.labels=raw report.nesting=stack)

The rules are those of docs/attribution.md and docs/report-format-reference.md. Every number is computed in the slowest and
plainest way, so that the code is easy to read; it is too slow for large exports.
"""
import json
import random
import sqlite3
import statistics
import sys

TABLES = """
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER, textId INTEGER, domainId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER,
 correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER,
 correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER);
INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel'), (2, 'gemm'), (3, 'axpy');
"""
PUSH_POP, START_END, DOMAIN = 59, 60, 75
END = 100_000  # of the program


# --- a random export ------------------------------------------------------------------------------------------------------

def push_pop(r, begin, end, depth, out):
    """Ranges that lie in each other, between two moments."""
    at = begin
    while end - begin > 10:
        at += r.randrange(1, (end - begin) // 2)
        last = at + r.randrange(1, (end - begin) // 2)
        if last >= end:
            return
        out.append((at, last, r.choice("abc")))
        if depth < 4 and r.random() < 0.6:
            push_pop(r, at, last, depth + 1, out)
        at = last


def make(path, seed):
    r = random.Random(seed)
    db = sqlite3.connect(path)
    db.executescript(TABLES)
    correlation = 0
    for pid in r.sample(range(10, 90), r.randrange(1, 3)):
        threads = [pid << 24 | pid + k for k in range(r.randrange(1, 4))]
        devices = r.sample(range(4), r.randrange(1, 4))
        db.execute("INSERT INTO NVTX_EVENTS VALUES (0, NULL, ?, 'lib', ?, NULL, 1)", (DOMAIN, threads[0]))
        for tid in threads[:r.randrange(1, 3)]:  # the others have no ranges
            for domain in (0, 1)[:r.randrange(1, 3)]:
                ranges = []
                push_pop(r, 0, END, 0, ranges)
                for begin, end, label in ranges:
                    db.execute("INSERT INTO NVTX_EVENTS VALUES (?, ?, ?, ?, ?, NULL, ?)", (begin, end, PUSH_POP, label, tid, domain))
        for _ in range(r.randrange(12)):  # any of them may overlap any other, and some never end
            begin = r.randrange(1, END)
            end = r.choice((begin + r.randrange(END // 2), begin + r.randrange(END // 10), None))
            db.execute("INSERT INTO NVTX_EVENTS VALUES (?, ?, ?, ?, ?, NULL, 0)", (begin, end, START_END, r.choice("pq"), r.choice(threads)))
        for _ in range(r.randrange(60)):
            correlation += 1
            call, tid = r.randrange(1, END), r.choice(threads)
            start = call + r.randrange(5000)
            calls = [(call, call + 10, tid, correlation, 1)]
            if r.random() < 0.2:  # the driver's call inside: of two with one id the earlier one counts
                calls.append((call + r.randrange(1, 3000), call + 4000, tid, correlation, 1))
            r.shuffle(calls)
            if r.random() < 0.9:
                db.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, ?)", calls)
            head = (start, start + r.randrange(1, 3000), r.choice(devices), 1, r.randrange(7, 9), correlation, pid << 24)
            if r.random() < 0.8:
                db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, ?, ?, ?, ?, ?, 2, 2)", head)
            else:
                db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?, ?, ?, ?, ?, ?, ?, 64, 1)", head)
    db.commit()


# --- what it says ---------------------------------------------------------------------------------------------------------

class Entry:
    """One entry into a range, and the launches it was open at."""

    def __init__(self, begin, end, label, tid, domain, kind):
        self.begin, self.end, self.label, self.tid, self.domain, self.kind = begin, end, label, tid, domain, kind
        self.pid, self.parent, self.launches = tid >> 24 & 0xffffff, None, []

    def is_open(self, ns):
        return self.begin <= ns < self.end

    def path(self):
        return (self.parent.path() if self.parent else []) + [self.label]

    def region(self):
        return ("lib@" if self.domain else "") + "/".join(self.path()) + ("@@" if self.kind == START_END else "")


class Launch:
    def __init__(self, start, end, device, pid):
        self.start, self.end, self.device, self.pid = start, end, device, pid
        self.call = self.tid = None
        self.open = []

    def ns(self):
        return self.end - self.start


def read(path):
    db = sqlite3.connect(path)
    calls = db.execute("SELECT start, globalTid, correlationId FROM CUPTI_ACTIVITY_KIND_RUNTIME").fetchall()
    launches, entries = [], []
    for table in ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY"):
        for start, end, device, correlation, pid in db.execute(f"SELECT start, end, deviceId, correlationId, globalPid FROM {table}"):
            launch = Launch(start, end, device, pid >> 24)
            own = [(begin, tid) for begin, tid, c in calls if c == correlation and tid >> 24 == pid >> 24]
            if own:
                launch.call, launch.tid = min(own)
            launches.append(launch)
    last = {}  # of a process: what was never closed ends with it
    for begin, end, label, tid, domain, kind in db.execute(
            "SELECT start, end, text, globalTid, domainId, eventType FROM NVTX_EVENTS WHERE eventType IN (59, 60)"):
        entries.append(Entry(begin, end, label, tid, domain, kind))
        last[tid >> 24] = max(last.get(tid >> 24, 0), begin, end or 0)
    for launch in launches:
        last[launch.pid] = max(last.get(launch.pid, 0), launch.end)
    for e in entries:
        e.is_closed = e.end is not None
        e.end = e.end if e.is_closed else last[e.pid]
    for e in entries:
        around = [o for o in entries if e.kind == o.kind == PUSH_POP and o is not e and o.tid == e.tid and o.domain == e.domain
                  and o.begin <= e.begin and e.end <= o.end]
        e.parent = min(around, key=lambda o: o.end - o.begin) if around else None
    return launches, entries


def attribute(launches, entries):
    for launch in launches:
        if launch.call is None:
            continue
        # What was never closed is open, too, at a call behind the last thing that is known.
        is_open = [e for e in entries if e.pid == launch.pid and (e.is_open(launch.call) or (not e.is_closed and e.begin <= launch.call))]
        stacks = [e for e in is_open if e.kind == PUSH_POP]
        tids = {e.tid for e in stacks}
        tid = launch.tid
        if tid not in tids:  # a thread without ranges takes those of the one other that has some
            tid = tids.pop() if len(tids) == 1 else None
        launch.open = [e for e in stacks if e.tid == tid] + [e for e in is_open if e.kind == START_END]
        for e in launch.open:
            e.launches.append(launch)


def count_instances(launches, entries):
    """{(pid, device, region): entries}: where an entry launched something; without launches where the one around it is.
    And where each entry is listed: on the device it launched something on first."""
    devices = {}  # of a process
    for launch in launches:
        devices.setdefault(launch.pid, set()).add(launch.device)
    nr, home = {}, {}
    order = {id(launch): i for i, launch in enumerate(sorted(launches, key=lambda x: (x.pid, x.call or x.start, x.start)))}
    for e in sorted(entries, key=lambda e: len(e.path())):
        if e.launches:
            on = {launch.device for launch in e.launches}
            home[e] = min(e.launches, key=lambda x: order[id(x)]).device
        else:
            home[e] = home[e.parent] if e.parent else min(devices.get(e.pid, {None}), default=None)
            on = {home[e]}
        for device in on:
            key = (e.pid, device, e.region())
            nr[key] = nr.get(key, 0) + 1
    return nr, home


# --- what the report says -------------------------------------------------------------------------------------------------

wrong = []


def expect(what, got, want):
    if got is None or want is None:
        good = got == want
    else:
        good = abs(got - want) <= 1e-9 * max(1, abs(want))
    if not good:
        wrong.append(f"{what}: {got}, not {want}")


def check_region(name, g, launches):
    mine = [x for x in launches if any(e.region() == g["id"] for e in x.open)]
    expect(f"{name} kernel_count", g["kernel_count"], len(mine))
    expect(f"{name} total_ms", g["total_ms"], sum(x.ns() for x in mine) / 1e6)


def check_distribution(name, d, times):
    if not times:
        expect(name, d and d["median_ms"], None)
        return
    expect(f"{name} median_ms", d and d["median_ms"], statistics.median(times) / 1e6)
    expect(f"{name} mean_ms", d and d["mean_ms"], statistics.mean(times) / 1e6)
    expect(f"{name} max_ms", d and d["max_ms"], max(times) / 1e6)
    expect(f"{name} min_ms", d and d["min_ms"], min(times) / 1e6)


def check_entries(name, g, here):
    """Entry by entry, with the launches of all devices: an entry is listed once."""
    e = g.get("entries", {})
    expect(f"{name} entries", e.get("count", 0), len(here))
    check_distribution(f"{name} host", e.get("host"), [x.end - x.begin for x in here])
    check_distribution(f"{name} gpu", e.get("gpu"), [sum(y.ns() for y in x.launches) for x in here if x.launches])
    check_distribution(f"{name} span", e.get("span"),
                       [max(y.end for y in x.launches) - min(y.start for y in x.launches) for x in here if x.launches])


def check(path, report):
    launches, entries = read(path)
    attribute(launches, entries)
    instances, home = count_instances(launches, entries)
    document = json.load(open(report))
    regions = document["aggregate"]["regions"]
    expect("regions", len(regions), len({e.region() for e in entries}))
    expect("launches", document["coverage"]["launches_total"], len(launches))
    expect("launches in regions", document["coverage"]["launches_attributed"], len([x for x in launches if x.open]))
    for g in regions:
        here = [e for e in entries if e.region() == g["id"]]
        check_region(g["id"], g, launches)
        check_entries(g["id"], g, here)
        expect(f"{g['id']} instances", g["instances"], len(here))
    for scope in document["scopes"]:
        pid, device = scope["process_id"], scope["device"] and int(scope["device"].split(":")[1])
        for g in scope.get("regions", document["aggregate"]["regions"]):
            name = f"{scope['scope']} {g['id']}"
            check_region(name, g, [x for x in launches if x.pid == pid and x.device == device])
            check_entries(name, g, [e for e in entries if e.region() == g["id"] and (e.pid, home[e]) == (pid, device)])
            expect(f"{name} instances", g["instances"], instances.get((pid, device, g["id"]), 0))
    for line in wrong[:20]:
        print(line)
    return bool(wrong)


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2], int(sys.argv[3]))
    else:
        sys.exit(check(sys.argv[2], sys.argv[3]))
