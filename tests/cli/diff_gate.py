#!/usr/bin/env python3
"""A second, independent implementation of the gate of `sonde diff`.

    diff_gate.py CASES SEED       makes CASES pairs of traces, runs `sonde diff` on each with random options, and compares

It uses no code of sonde: the verdict of a region follows from its figures in the JSON, its limit from the globs, and the verdict
of the gate from both and from what is known about the traces (docs/sonde-diff.md has the rules). Exit status, JSON,
JUnit and text must all agree with that. The environment names the program (SONDE) and a folder (TMP).
"""
import fnmatch, json, os, random, subprocess, sys
import xml.etree.ElementTree as xml

SONDE, TMP = os.environ["SONDE"], os.environ["TMP"]

# --- the rules ------------------------------------------------------------------------------------


def region_verdict(r, min_effect):
    if r["base"] is None:
        return "added"
    if r["new"] is None:
        return "removed"
    low, high = r["ci"] or (0, float("inf"))
    is_sure = r["q"] is not None and r["q"] < 0.05 and abs(r["ratio"] - 1) >= min_effect
    likely = "likely_" if r["base"]["runs"] == r["new"]["runs"] == 1 else ""
    if is_sure and low > 1:
        return likely + "slower"
    if is_sure and high < 1:
        return likely + "faster"
    return "same" if 1 - min_effect <= low and high <= 1 + min_effect else "insufficient"


def matches(path, glob):  # `*` crosses `/`, and so does `**`
    return fnmatch.fnmatchcase(path, glob.replace("**", "*"))


def bound(r, limits):
    """The last that names it, else of the step the last without a name: how much, and of which time."""
    named = [l for l in limits if l["glob"] is not None and matches(r["id"], l["glob"])]
    usual = [l for l in limits if l["glob"] is None and r["step"]]
    limit = (named or usual or [dict(above=None, time=None)])[-1]
    return limit["above"], limit["time"]


def region_gate(r, limit, time, single):
    """Without a chosen time, the step's iterations count too, if they seem slower than allowed."""
    gate, i = time_gate(r, limit, time or r["time"], single), r["times"]["iteration"]
    if gate and not time and i and i["ratio"] - 1 > limit:
        return max(gate, time_gate(r, limit, "iteration", single), key=["pass", "insufficient", "fail"].index)
    return gate


def time_gate(r, limit, time, single):
    if limit is None or r["verdict"] == "added" or r["minor"]:
        return None
    t = r["times"][time]
    if t and t["verdict"] in ("slower", "likely_slower") and t["ratio"] - 1 > limit:
        return "fail" if single or t["verdict"] == "slower" else "insufficient"
    is_open = t and t["verdict"] == "insufficient" and not (t["ci"] and t["ci"][1] - 1 <= limit)
    return "insufficient" if not t or is_open or t["verdict"] == "removed" or r["gpu_on_one_side"] else "pass"


def step_and_minor(regions):
    """Regions of these traces are beside each other: the step is the repeated one with the most time."""
    def usual(r):
        return max(h["median_ms"] * h["entries"] for h in (r["base"], r["new"]) if h)
    def repeated(r):
        return all(h["entries"] > 1 for h in (r["base"], r["new"]) if h)
    both = [r for r in regions if r["base"] and r["new"] and repeated(r)]
    often = [r for r in both if min(r["base"]["entries"], r["new"]["entries"]) >= 8]
    step = max(often or both, key=usual, default=None)
    most = usual(step) if step else max(map(usual, regions), default=0)
    step = step and step["id"]
    for r in regions:
        assert r["step"] == (r["id"] == step), (r["id"], step)
        assert r["minor"] == (not r["step"] and (not repeated(r) or usual(r) < 0.01 * most)), r["id"]


def end(d, truth):
    """How it ends, and the exit status. `truth`: what is known of the sides."""
    limits, regions = d["gate"]["limits"], d["regions"]
    gates = [region_gate(r, *bound(r, limits), d["gate"]["single"]) for r in regions]
    both = [r for r in regions if r["base"] and r["new"]]
    compared = [r for r in both if bound(r, limits)[0] is not None]
    stray = [l for l in limits if not any((matches(r["id"], l["glob"]) if l["glob"] else r["step"]) and not r["minor"] for r in both)]
    if truth["damaged"] and not d["gate"]["partial_inputs"]:
        return "damaged", 1
    if "fail" in gates:
        return "fail", 3
    if truth["empty"] or not compared:
        return "not_compared", 4
    if stray or "insufficient" in gates:
        return "insufficient", 0 if d["gate"]["allow_insufficient"] else 4
    return "pass", 0


# --- traces of torch.profiler's kind ------------------------------------------------------------------

KINDS = {  # of a region: how much longer it takes on the new side, how often it is entered, how noisy it is
    "same": (1, 80, 0.002), "bit": (1.03, 80, 0.002), "slow": (1.3, 80, 0.01), "fast": (0.7, 80, 0.01), "noisy": (1.01, 12, 0.5), "once": (1.2, 1, 0.01),
    "gone": (None, 60, 0.01), "fresh": (1, 60, 0.01), "moved": (1, 60, 0.01),
}


def write_trace(path, kinds, is_new, seed, has_launches=True):
    rng, events, now, call = random.Random(seed), [], 1000.0, 1
    for kind in kinds:
        by, entries, noise = KINDS[kind]
        if (kind == "gone" and is_new) or (kind == "fresh" and not is_new):
            continue
        for _ in range(entries):
            now += 20 if kind == "bit" and is_new else 0  # between its entries
            begin, us = now, 50 * max(0.1, rng.gauss(1, noise)) * (by if is_new and by else 1)
            if has_launches and not (kind == "moved" and is_new):  # its kernels are launched elsewhere
                events.append(dict(ph="X", cat="cuda_runtime", name="cudaLaunchKernel", pid=7, tid=7, ts=now + 1, dur=2, args=dict(correlation=call)))
                events.append(dict(ph="X", cat="kernel", name=kind, pid=0, tid=7, ts=now + 4, dur=us, args=dict(device=0, stream=7, correlation=call)))
                call += 1
            now += us + 10
            events.append(dict(ph="X", cat="user_annotation", name=kind, pid=7, tid=7, ts=begin, dur=now - begin - 1))
            now += 3
    text = json.dumps(dict(deviceProperties=[dict(id=0, name="NVIDIA H200")], traceEvents=events))
    open(path, "w").write(text)
    return text


def make_case(rng):
    """Two traces, options, and what is known of the traces."""
    kinds = rng.sample(sorted(KINDS) if rng.random() < 0.7 else ["same", "bit", "fast"], rng.randrange(1, 4))
    truth, base, new = dict(damaged=False, empty=False), f"{TMP}/base.json", f"{TMP}/new.json"
    way = rng.choice(["whole"] * 5 + ["empty", "idle", "cut", "other"])
    write_trace(base, kinds, False, rng.random())
    text = write_trace(new, ["noisy", "same"] if way == "other" else kinds, True, rng.random(), way != "idle")
    if way == "empty":
        open(new, "w").write('{"traceEvents": []}')
    way = "whole" if way == "cut" and '"ph"' not in text else way  # of nothing, nothing can be read
    if way == "cut":
        open(new, "w").write(text[: len(text) * 9 // 10])
        truth["damaged"] = True
    names = {e["name"] for p in (base, new) if p == base or way != "cut" for e in json.load(open(p))["traceEvents"] if e["cat"] == "user_annotation"}
    names |= {e["name"] for e in json.loads(text)["traceEvents"] if e["cat"] == "user_annotation"} if way == "cut" else set()
    sides = [json.load(open(p))["traceEvents"] if p == base or way != "cut" else json.loads(text)["traceEvents"] for p in (base, new)]
    ranges, launches = ([any(e["cat"] == cat for e in s) for s in sides] for cat in ("user_annotation", "kernel"))
    truth["empty"] = not all(ranges) or (any(launches) and not all(launches))
    limits = rng.choice([["5%"], ["50%"], ["slow=5%"], ["s*=2%"], ["*=40%", "slow=5%"], ["5%", "slow=50%"], ["nonesuch=5%"], ["5%", "nonesuch=5%"], ["gpu:5%"], ["gpu:slow=5%", "host:same=5%"], ["gone=5%"], ["once=5%", "same=5%"]])
    options = [w for l in limits for w in ("--fail-above", l)]
    options += ["--allow-insufficient"] * rng.choice([0, 1]) + ["--partial-inputs"] * rng.choice([0, 0, 1]) + ["--single"] * rng.choice([0, 1])
    globs = [l.split(":")[-1].split("=")[0] for l in limits if "=" in l]
    truth["misnamed"] = not truth["empty"] and not (truth["damaged"] and "--partial-inputs" not in options) and any(not any(matches(n, g) for n in names) for g in globs)
    return [base, new, *options], truth


# --- what sonde says --------------------------------------------------------------------------------


def ask(words, form):
    r = subprocess.run([SONDE, "diff", *words, "-f", form], capture_output=True, text=True)
    assert r.returncode in (0, 1, 2, 3, 4), (r.returncode, r.stderr)
    return r.returncode, r.stdout, r.stderr


def check_junit(text, status):
    suite = xml.fromstring(text).find("testsuite")
    found = {k: len(suite.findall(f"testcase/{t}")) for k, t in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped"))}
    assert all(int(suite.get(k)) == n for k, n in found.items()), found
    said = 1 if status == 1 and found["errors"] else 3 if found["failures"] else 4 if found["errors"] else 0
    assert said == status, ("JUnit", found, status)
    return {c.get("name") for c in suite.findall("testcase") if len(c) == 0}


def check_case(words, truth):
    status, text, errors = ask(words, "json")
    assert (status == 2) == truth["misnamed"], (status, errors)
    if status == 2:
        assert "no region of either side matches" in errors, errors
        return "misnamed"
    d = json.loads(text)
    step_and_minor(d["regions"])
    for r in d["regions"]:
        assert r["verdict"] == region_verdict(r, d["min_effect"]), (r["id"], r["verdict"])
        limit, time = bound(r, d["gate"]["limits"])
        assert r["limit"] == limit and r["gate"] == region_gate(r, limit, time, d["gate"]["single"]), (r["id"], r["limit"], r["gate"])
    want, want_status = end(d, truth)
    assert (d["gate"]["verdict"], d["gate"]["exit_status"], status) == (want, want_status, want_status), (d["gate"], status, want, want_status)
    assert bool(d["gate"]["reasons"]) or want in ("pass", "insufficient", "fail"), d["gate"]
    assert want not in ("not_compared", "damaged") or all(r in errors for r in d["gate"]["reasons"]), errors
    junit_status, text, _ = ask(words, "junit")
    passed = check_junit(text, junit_status)
    assert junit_status == status and passed == {r["id"] for r in d["regions"] if r["gate"] == "pass"}, (junit_status, passed)
    text = ask(words, "text")[1]
    assert ("gate: passed" in text) == (want == "pass") and ("gate: failed" in text) == (want == "fail"), text
    return want


def main(cases, seed):
    met = {}
    for n in range(cases):
        words, truth = make_case(random.Random(f"{seed} {n}"))
        try:
            want = check_case(words, truth)
        except Exception:
            print("case", n, "of seed", seed, words, truth)
            raise
        met[want] = met.get(want, 0) + 1
    print(met)
    assert cases < 40 or set(met) == {"pass", "insufficient", "not_compared", "fail", "damaged", "misnamed"}, met


main(int(sys.argv[1]), sys.argv[2])
