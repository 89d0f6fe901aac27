"""prometheus_read.py SERIES REPORT [MOST]: checks that series in Prometheus' text format have the numbers of report.json.

It uses the exposition format and no code of sonde. With MOST: no scope has more than MOST regions besides "other".
"""
import collections, json, re, sys

LINE = re.compile(r'^([a-z_]+)\{((?:[a-z]+="(?:[^"\\]|\\.)*",?)*)\} (\S+)$')
series, types = collections.OrderedDict(), {}
last = None
for line in open(sys.argv[1], encoding="utf-8", newline="\n"):
    assert line.endswith("\n")
    words = line.split()
    if words[0] == "#":
        if words[1] == "TYPE":
            types[words[2]] = words[3]
        continue
    name, labels, value = LINE.match(line[:-1]).groups()
    assert name in types and (types[name] == "counter") == name.endswith("_total"), name
    assert name == last or name not in {k[0] for k in series}, "series of a family are together"
    last = name
    labels = tuple(re.findall(r'([a-z]+)="((?:[^"\\]|\\.)*)"', labels))
    assert (name, labels) not in series, (name, labels)
    series[name, labels] = float(value)

report = json.load(open(sys.argv[2]))
ranks = {p["id"]: p.get("rank") for p in report["capture"]["processes"]}
regions = collections.defaultdict(set)
for (name, labels), value in series.items():
    if "region" in dict(labels):
        regions[tuple(l for l in labels if l[0] not in ("region", "cause"))].add(dict(labels)["region"])
if len(sys.argv) > 3:
    assert all(len(r - {"other"}) <= int(sys.argv[3]) and "other" in r for r in regions.values() if len(r) > 1), regions


def find(name, scope, region, **more):
    for (n, labels), value in series.items():
        l = dict(labels)
        if n == name and l["region"] == region and l.get("cause") == more.get("cause") and l.get("rank") == scope[0] and l.get("gpu") == scope[1] and l.get("process", scope[2]) == scope[2]:
            return value
    return None


seen = 0
for s in report["scopes"]:
    rank = ranks.get(s["process_id"])
    scope = (None if rank is None else str(rank), s["device"] and s["device"].split(":")[1], str(s["process_id"]))
    launches = 0
    for r in s["regions"]:
        got = find("sonde_region_launches_total", scope, r["id"])
        if got is None:
            assert len(sys.argv) > 3, r["id"]
            continue
        assert got == r["kernel_count"] and find("sonde_region_entries_total", scope, r["id"]) == r["instances"], r["id"]
        if r["kernel_count"] and r["total_ms"] is not None:
            assert abs(find("sonde_region_gpu_seconds_total", scope, r["id"]) * 1e3 - r["total_ms"]) < 1e-6
        if r.get("wall_ms") is not None:
            assert abs(find("sonde_region_wall_seconds_total", scope, r["id"]) * 1e3 - r["wall_ms"]) < 1e-6
        for cause, ms in (r.get("idle") or {}).items():
            assert abs(find("sonde_region_idle_seconds_total", scope, r["id"], cause=cause[:-3]) * 1e3 - ms) < 1e-6
        seen += 1
    # What has no series is in "other", once: wall and idle time of regions include those inside.
    has = {r["id"] for r in s["regions"] if find("sonde_region_launches_total", scope, r["id"]) is not None}
    for name, cause in [("wall", None), *(("idle", c) for c in ("launch", "sync", "host"))]:
        rest = 0
        for r in s["regions"]:
            ms = r.get("wall_ms") if cause is None else (r.get("idle") or {}).get(cause + "_ms")
            is_within = r["parent_id"] is not None and r["parent_id"] not in has
            rest += (ms or 0) * ((r["id"] not in has and not is_within) - (r["id"] in has and is_within))
        got = find(f"sonde_region_{name}_seconds_total", scope, "other", **({"cause": cause} if cause else {}))
        assert abs((got or 0) * 1e3 - max(rest, 0)) < 1e-6, (name, cause, got, rest)
assert seen
