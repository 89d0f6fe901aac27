#!/usr/bin/env python3
"""Makes a trace of a server, and checks reports of it against the known values.

serving_truth.py make DIR               writes DIR/trace.json and DIR/truth.json
serving_truth.py check DIR REPORT.json  regions, tokens per second and entries' arguments, from the truth and again from the report's own lists
serving_truth.py formats DIR REPORT.csv REPORT.sqlite TRACE.json
serving_truth.py served TRUTH REPORT.json TRACE.json    compares what workloads/serve.c printed with reports of its capture
"""
import csv
import json
import random
import sqlite3
import sys


def label_of(kind, rng):
    """A label, the region it belongs to, and its arguments."""
    r, g = rng.randrange(1, 9), rng.randrange(1, 64)
    t = r * rng.randrange(1, 512)
    if kind == "vllm":
        phase = rng.choice(["prefill", "decode", "mixed"])
        if phase == "prefill":
            g = 0
        if phase == "decode":
            r = t = 0
        return f"execute_context_{r}({t})_generation_{g}({g})", "execute_* " + phase, {"batch": r + g, "tokens": t + g}
    if kind == "sglang":
        if rng.random() < 0.5:
            return f"step[EXTEND bs={r} toks={t}]", "step[EXTEND]", {"batch": r, "tokens": t}
        return f"step[DECODE bs={g}]", "step[DECODE]", {"batch": g}
    return f"request {rng.randrange(4)}-{rng.randrange(10 ** 6)} out={t}", "request", {"tokens": t}


def make(folder):
    rng = random.Random(7)
    events, truth, correlation = [], [], 1
    for thread, kind in enumerate(["vllm", "sglang", "request", "request", "request"]):
        at = 1000 + 137 * thread
        for _ in range(60):
            at += rng.randrange(1, 400)
            host = rng.randrange(20, 300)
            label, region, arguments = label_of(kind, rng)
            events.append({"ph": "X", "cat": "user_annotation", "name": label, "pid": 1, "tid": 100 + thread, "ts": at, "dur": host})
            end = at + host
            if rng.random() < 0.8:  # a kernel, which may end long after the range
                start, dur = at + host // 2, rng.randrange(1, 400)
                events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 100 + thread,
                               "ts": at + 5, "dur": 2, "args": {"correlation": correlation}})
                events.append({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7 + thread, "ts": start, "dur": dur,
                               "args": {"correlation": correlation, "device": 0, "stream": 7 + thread, "context": 1}})
                correlation += 1
                end = max(end, start + dur)
            truth.append({"region": region, "begin": at, "end": end, "arguments": arguments})
            at += host
    with open(folder + "/trace.json", "w") as f:
        json.dump({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU"}], "traceEvents": events}, f)
    with open(folder + "/truth.json", "w") as f:
        json.dump(truth, f)


def covered(stretches):
    """How long at least one of them was there."""
    total, until = 0.0, float("-inf")
    for begin, end in sorted(stretches):
        total += max(0.0, end - max(begin, until))
        until = max(until, end)
    return total


def close(got, want, what):
    if got is None or abs(got - want) > 1e-6 * max(1, abs(want)):
        sys.exit(f"{what}: {got}, not {want}")


def expected(folder):
    """By region: tokens, tokens per second, mean batch, entries by begin."""
    out = {}
    for e in json.load(open(folder + "/truth.json")):
        out.setdefault(e["region"], []).append(e)
    for name, list_ in out.items():
        list_.sort(key=lambda e: e["begin"])
        told = [e for e in list_ if "tokens" in e["arguments"]]
        batches = [e["arguments"]["batch"] for e in list_ if "batch" in e["arguments"]]
        tokens = sum(e["arguments"]["tokens"] for e in told)
        out[name] = {
            "tokens": tokens if told else None,
            "tokens_per_s": 1e6 * tokens / covered([(e["begin"], e["end"]) for e in told]) if told else None,
            "batch_mean": sum(batches) / len(batches) if batches else None,
            "entries": list_,
        }
    return out


def check_region(r, want):
    name = r["name"]
    for key in ("tokens", "tokens_per_s", "batch_mean"):
        if want[key] is None:
            if key in r:
                sys.exit(f"{name} has {key}, which nobody knows")
        else:
            close(r.get(key), want[key], name + " " + key)
    entries = r["entries"]
    if entries["step"] != 1 or len(entries["begin_ms"]) != len(want["entries"]):
        sys.exit(f"{name} has {len(entries['begin_ms'])} entries, not {len(want['entries'])}")
    for i, e in enumerate(want["entries"]):
        close(entries["wall_ms"][i] * 1e3, e["end"] - e["begin"], f"{name} entry {i} wall")
        got = {k: v[i] for k, v in entries["arguments"].items() if v[i] is not None}
        if got != e["arguments"]:
            sys.exit(f"{name} entry {i}: {got}, not {e['arguments']}")
    tokens = entries["arguments"].get("tokens")
    if tokens:  # the same once more from the report alone
        listed = [(b, b + w) for b, w, t in zip(entries["begin_ms"], entries["wall_ms"], tokens) if t is not None]
        close(r["tokens_per_s"], 1e3 * sum(t for t in tokens if t is not None) / covered(listed), name + " from its lists")


def check(folder, report):
    want = expected(folder)
    scope = json.load(open(report))["scopes"][0]
    regions = {r["name"]: r for r in scope["regions"]}
    if sorted(regions) != sorted(want):
        sys.exit(f"regions {sorted(regions)}, not {sorted(want)}")
    for name, r in regions.items():
        check_region(r, want[name])


def formats(folder, csv_file, database, trace):
    want = expected(folder)
    for row in csv.DictReader(open(csv_file)):
        if row["name"] in want and want[row["name"]]["tokens"] is not None:
            close(float(row["tokens_per_s"]), want[row["name"]]["tokens_per_s"], "CSV " + row["name"])
    db = sqlite3.connect(database)
    for name, w in want.items():
        (tokens,) = db.execute("SELECT sum(json_extract(arguments, '$.tokens')) FROM entries e JOIN regions r ON r.id = e.region "
                               "JOIN scopes s ON s.id = r.scope WHERE r.name = ? AND NOT s.is_aggregate", (name,)).fetchone()
        if tokens != w["tokens"]:
            sys.exit(f"SQLite {name}: {tokens}, not {w['tokens']}")
    total = sum(e["args"]["arguments"].get("tokens", 0) for e in json.load(open(trace))["traceEvents"]
                if e.get("cat") == "nvtx" and "arguments" in e["args"])
    close(total, sum(w["tokens"] or 0 for w in want.values()), "Perfetto")


def served(printed, report, trace):
    lines = [line.split() for line in open(printed)]
    regions = {r["id"]: r for r in json.load(open(report))["scopes"][0]["regions"]}
    want = {
        "request *-*": [{"tokens": int(w[2])} for w in lines if w[0] == "request"],
        "request *-*/prefill": [{"priority": 200, "batch": int(w[1]), "tokens": int(w[2]), "share": float(w[3])} for w in lines if w[0] == "prefill"],
        "request *-*/decode": [{"tokens": int(w[1])} for w in lines if w[0] == "decode"],
        "answer@@": [{"tokens": int(w[1])} for w in lines if w[0] == "answer"],
        "check": [{"tokens": int(w[1]), "odd": 1.5, "sample": float(w[2])} for w in lines if w[0] == "check"],
    }
    for name, list_ in want.items():
        r = regions[name]
        arguments = r["entries"]["arguments"]
        got = [{k: v[i] for k, v in arguments.items() if v[i] is not None} for i in range(len(r["entries"]["begin_ms"]))]
        if name.endswith("decode"):  # the last samples of its counters: 0.25 a request, and the request's number below zero
            for e in got:
                if e.pop("load") != -0.25 * e.pop("queue"):
                    sys.exit("counters of one entry do not belong together")
        key = lambda e: sorted(e.items())
        if sorted(got, key=key) != sorted(list_, key=key):
            sys.exit(f"{name}: other arguments than were given")
        close(r["tokens"], sum(e["tokens"] for e in list_), name + " tokens")
        walls = list(zip(r["entries"]["begin_ms"], r["entries"]["wall_ms"]))
        close(r["tokens_per_s"], 1e3 * r["tokens"] / covered([(b, b + w) for b, w in walls]), name + " from its lists")
    r = regions["request *-*"]
    if r["tokens_per_s"] <= 1e3 * r["tokens"] / r["wall_ms"]:
        sys.exit("requests of several threads did not share their time")
    around = covered([(int(w[3]) / 1e9, int(w[4]) / 1e9) for w in lines if w[0] == "request"])
    if r["tokens_per_s"] < 0.999 * r["tokens"] / around:  # the program's clock is read around each range
        sys.exit(f"{r['tokens_per_s']} tokens/s, and the program saw {r['tokens'] / around}")
    samples = sorted(e["args"]["value"] for e in json.load(open(trace))["traceEvents"] if e["ph"] == "C" and e["name"] == "queue")
    if samples != [float(-n) for n in reversed(range(len(want["request *-*"])))]:
        sys.exit("samples of the counter are missing in the trace")


if __name__ == "__main__":
    {"make": make, "check": check, "formats": formats, "served": served}[sys.argv[1]](*sys.argv[2:])
