#!/usr/bin/env bash
# Impossible numbers (negative times, 1e308, sums that overflow, minima above the average, invalid counts of launches) in
# Proton's profiles and ncu's tables: reports have a note and null instead, and still add up.
# Runs long.
. "$(dirname "$0")/../lib.sh"

cat >"$TMP/cases.py" <<'PY'
import csv, json, os, re, subprocess, sys
sonde, tmp = os.environ["SONDE"], os.environ["TMP"]
FORMATS = "text md csv html folded speedscope hatchet svg perfetto".split()

def run(*words, status=0):
    r = subprocess.run([sonde, *words], capture_output=True, cwd=tmp)
    assert r.returncode == status, (words, r.returncode, r.stderr[:300])
    return r.stdout.decode(errors="replace")

def words_of(text):  # but those of a page's program
    text = re.sub(r"<script>.*?</script>", "", text, flags=re.S)
    for c in '<>="\'(),:;[]{}%|+#':
        text = text.replace(c, " ")
    return {w.strip("-~≤≥≈±").lower() for w in text.split()}

def check(path, is_odd, formats=FORMATS, why=None):
    """The report is valid, finite and says what is missing; returns it."""
    text = run("report", path, "-f", "json", "--deterministic")
    def refuse(word):
        raise AssertionError((path, word))
    d = json.loads(text, parse_constant=refuse)
    open(f"{tmp}/report.json", "w").write(text)
    run("validate", "report.json")
    assert bool(d["losses"]) == is_odd, (path, why, d["losses"])
    for f in formats:
        if f == "perfetto" and path.endswith((".csv", ".json")):
            continue  # there are no times of single launches
        bad = words_of(run("report", path, "-f", f)) & {"inf", "nan", "infinity", "1e+308", "-1e+308"}
        # what was found may be quoted in the note that says so
        assert bad <= ({"1e+308", "-1e+308"} if is_odd else set()), (path, f, bad)
    return d

def compare(path):
    text = run("diff", path, path, "-f", "json")
    json.loads(text, parse_constant=lambda w: 1 / 0)
    open(f"{tmp}/diff.json", "w").write(text)
    run("validate", "diff.json")
    for f in "text", "md", "html", "junit":
        assert not words_of(run("diff", path, path, "-f", f)) & {"inf", "nan", "infinity"}, (path, f)
PY

cat >"$TMP/proton.py" <<'PY'
from cases import *
def profile(name, *leaves):
    node = lambda name, metrics, children: {"frame": {"name": name, "type": "function"}, "metrics": metrics, "children": children}
    tree = [node("ROOT", {"count": 0, "time (ns)": 0}, [node("step", {}, [node(n, m, []) for n, m in leaves])])]
    text = json.dumps(tree)
    for word, number in (("@inf", "1e999"), ("@nan", "NaN"), ("@infinity", "-Infinity")):
        text = text.replace(f'"{word}"', number)
    open(f"{tmp}/{name}.json", "w").write(text)
    return f"{name}.json"

def leaf(name, time=5, count=3, unit="ns", **more):
    return name, {f"time ({unit})": time, "count": count, **more}

def times(d):
    step, = (r for r in d["aggregate"]["regions"] if r["id"] == "step")
    return step["total_ms"], step["kernel_count"], sorted((k["kernel_name"], k["total_ms"]) for k in step["kernels"])

US = 1e-6  # ns as ms
cases = [
    ("plain", [leaf("a"), leaf("b", 10, 1)], False, (15 * US, 4, [("a", 5 * US), ("b", 10 * US)])),
    ("negative", [leaf("a", -5)], True, (None, 3, [("a", None)])),
    ("negative_and_not", [leaf("a", -5), leaf("b", 10, 1)], True, (10 * US, 4, [("a", None), ("b", 10 * US)])),
    ("huge", [leaf("a", 1e308)], True, (None, 3, [("a", None)])),
    ("huge_seconds", [leaf("a", 1e308, unit="s")], True, (None, 3, [("a", None)])),
    ("overflow", [leaf("a", 1.5e308), leaf("b", 1.5e308)], True, (None, 6, [("a", None), ("b", None)])),
    ("cancel", [leaf("a", 1e308), leaf("b", -1e308), leaf("c", 3)], True, (3 * US, 9, [("a", None), ("b", None), ("c", 3 * US)])),
    ("infinite", [leaf("a", "@inf"), leaf("b", 10, 1)], True, (10 * US, 4, [("a", None), ("b", 10 * US)])),
    ("no_number", [leaf("a", "@nan"), leaf("b", "@infinity"), leaf("c", 1)], True, (1 * US, 9, [("a", None), ("b", None), ("c", 1 * US)])),
    ("flops", [leaf("a", flops8=1.7e308), leaf("b", flops8=1.7e308)], True, (10 * US, 6, [("a", 5 * US), ("b", 5 * US)])),
    ("bytes", [leaf("a", bytes=1e308), leaf("a", bytes=-1e308)], True, (10 * US, 6, [("a", 10 * US)])),
    ("percent", [leaf("a", **{"sm__throughput.avg.pct_of_peak_sustained_elapsed": 1e308})], True, (5 * US, 3, [("a", 5 * US)])),
    ("count_negative", [leaf("a", count=-3)], True, (5 * US, 1, [("a", 5 * US)])),
    ("count_huge", [leaf("a", count=1e308)], True, (5 * US, 1, [("a", 5 * US)])),
    ("count_part", [leaf("a", count=2.5)], True, (5 * US, 1, [("a", 5 * US)])),
    ("tiny", [leaf("a", 5e-324), leaf("b", 1e-300)], False, None),
]
for name, leaves, is_odd, want in cases:
    path = profile(name, *leaves)
    got = times(check(path, is_odd, FORMATS if name in ("negative_and_not", "overflow") else ["text", "md"]))
    close = lambda a, b: a == b or (isinstance(a, float) and isinstance(b, float) and abs(a - b) <= 1e-9 * abs(b))
    assert want is None or (close(got[0], want[0]) and got[1] == want[1] and
                            all(a[0] == b[0] and close(a[1], b[1]) for a, b in zip(got[2], want[2]))), (name, got, want)
    if name in ("negative_and_not", "overflow", "tiny"):
        compare(path)
PY

cat >"$TMP/table.py" <<'PY'
from cases import *
rows = list(csv.reader(open("tests/data/ncu/seed_kernel.raw.csv")))
head, units, body = rows[0], rows[1], [r for r in rows[2:] if len(r) == len(rows[0])]

def table(column, values):  # one after the other, again and again; None = as it was
    with open(f"{tmp}/table.csv", "w") as f:
        w = csv.writer(f, quoting=csv.QUOTE_ALL)
        w.writerows([head, units])
        for k, r in enumerate(body):
            v = values[k] if k < len(values) else values[-1]
            w.writerow([v if i == head.index(column) and v is not None else cell for i, cell in enumerate(r)])
    return "table.csv"

assert not check(table(head[0], [None]), False, FORMATS)["losses"]
for column in ("gpu__time_duration.sum", "gpu__time_duration.avg", "gpu__time_duration.max", "sm__inst_executed.sum", "sm__inst_executed.min", "sm__inst_executed.avg",
               "sm__inst_executed.max", "sm__cycles_elapsed.avg", "sm__throughput.avg.pct_of_peak_sustained_elapsed", "dram__bytes_read.sum", "lts__t_sector_hit_rate.pct"):
    for values in (["1e308"], ["-1e308", "1e308", None]):
        check(table(column, values), True, ["text", "md"] if len(values) == 1 else [], (column, values))
    for values in (["-5", None], ["nan", "inf", "3"]):  # what is no number is missing, as ncu's own words for that are
        is_odd = "-5" in values and not column.endswith((".pct", "_elapsed"))
        d = json.loads(run("report", table(column, values), "-f", "json"), parse_constant=lambda w: 1 / 0)
        json.dump(d, open(f"{tmp}/report.json", "w"))
        run("validate", "report.json")
        assert not is_odd or d["losses"], (column, values)
d = check(table("gpu__time_duration.sum", ["-5"]), True)
assert all(r["total_ms"] is None for r in d["aggregate"]["regions"]) and d["aggregate"]["totals"]["total_ms"] is None
d = check(table("sm__inst_executed.max", ["0"]), True)  # below the average of the same launch
assert all(r["metrics"]["sm__inst_executed.max"] is None for r in d["aggregate"]["regions"]), [r["metrics"]["sm__inst_executed.max"] for r in d["aggregate"]["regions"]]
assert any("sm__inst_executed.max is 0 where the average is" in n for n in d["losses"])
compare(table("gpu__time_duration.sum", ["-5", None]))
PY
cat >"$TMP/chance.py" <<'PY'
# By chance, always the same: reports of whatever stands in such files are valid, and finite in every format.
import random
from cases import *
random.seed(20)
NUMBERS = [-5, 1e308, -1e308, 5, 1e17, 1e59, -1e59, 0, 1e-300, 1e9]
COUNTS = [-1, 0, 1, 3, 2.5, 1e308, 2**31, 1e9]
NAMES = ["flops8", "bytes", "sm__throughput.avg.pct_of_peak_sustained_elapsed", "sm__inst_executed.max", "sm__inst_executed.avg", "sm__inst_executed.min", "launch__grid_size"]
rows = list(csv.reader(open("tests/data/ncu/seed_kernel.raw.csv")))
head, body = rows[0], [r for r in rows[2:] if len(r) == len(rows[0])]
columns = [i for i, h in enumerate(head) if i > 10 and not h.startswith("device__")]

def node(depth):
    m = {f"time ({random.choice(['ns', 'us', 'ms', 's'])})": random.choice(NUMBERS)} if random.random() < 0.8 else {}
    if random.random() < 0.8:
        m["count"] = random.choice(COUNTS)
    m.update({k: random.choice(NUMBERS) for k in NAMES if random.random() < 0.3})
    return {"frame": {"name": random.choice("abcdef"), "type": "function"}, "metrics": m,
            "children": [node(depth + 1) for _ in range(random.randrange(3))] if depth < 4 else []}

def profile():
    json.dump([{"frame": {"name": "ROOT", "type": "function"}, "metrics": {}, "children": [node(0) for _ in range(3)]}], open(f"{tmp}/chance.json", "w"))
    return "chance.json"

def table():
    chosen = random.sample(columns, 8)
    values = ["-5", "1e308", "-1e308", "0", "-0", "3", "1e59", "-1e59", "1e18", "1e-300", "", "n/a", "7.5"]
    with open(f"{tmp}/chance.csv", "w") as f:
        w = csv.writer(f, quoting=csv.QUOTE_ALL)
        w.writerows(rows[:2])
        for r in body:
            w.writerow([random.choice(values) if i in chosen and random.random() < 0.5 else cell for i, cell in enumerate(r)])
    return "chance.csv"

def trace():
    times = [-5, 1e308, 1e18, 1e15, 9.3e15, 1.8e16, 0, 5e-324, 2**63, 2**64, 123.456]
    odd = lambda share, usual: random.choice(times) if random.random() < share else usual
    events, now = [], 1000.0
    for k in range(6):
        args = dict(device=0, context=1, stream=7, correlation=k + 1)
        events += [dict(ph="X", cat="user_annotation", name=f"r{k % 3}", pid=7, tid=7, ts=odd(0.2, now), dur=odd(0.3, 100.0)),
                   dict(ph="X", cat="cuda_runtime", name="cudaLaunchKernel", pid=7, tid=7, ts=now + 1, dur=2, args=dict(correlation=k + 1)),
                   dict(ph="X", cat=random.choice(["kernel", "gpu_memcpy"]), name="k", pid=0, tid=7, ts=odd(0.3, now + 5), dur=odd(0.4, 50.0),
                        args=dict(args, bytes=odd(0.3, 8), **{"est. achieved occupancy %": odd(0.3, 50)}))]
        now += 120
    json.dump(dict(traceEvents=events, **({"baseTimeNanoseconds": odd(1, 0)} if random.random() < 0.3 else {})), open(f"{tmp}/chance.json", "w"))
    return "chance.json"

for make in profile, table, trace:
    for n in range(12):
        path = make()
        kept = open(f"{tmp}/{path}").read()
        try:
            text = run("report", path, "-f", "json")
            json.loads(text, parse_constant=lambda w: 1 / 0)
            open(f"{tmp}/report.json", "w").write(text)
            run("validate", "report.json")
            f = random.choice(FORMATS[:-1])
            assert not words_of(run("report", path, "-f", f)) & {"inf", "nan", "infinity"}, f
        except Exception:
            print(kept[:3000])
            raise
PY
python() { PYTHONPATH=$TMP PYTHONDONTWRITEBYTECODE=1 python3 "$TMP/$1.py"; }
ok "values that cannot be are left out of Proton's profiles, with a note" python proton
ok "values that cannot be are left out of ncu's tables, with a note" python table
ok "reports of any numbers are valid, and finite" python chance
