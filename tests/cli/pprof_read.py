"""pprof_read.py PROFILE REPORT: checks that a pprof profile, read by its own rules, has the numbers of report.json.

It uses profile.proto and no code of sonde: the cumulative values of each stack of regions are compared with those of the region.
"""
import collections, gzip, json, sys


def varint(b, at):
    v = shift = 0
    while True:
        v |= (b[at] & 127) << shift
        shift += 7
        at += 1
        if b[at - 1] < 128:
            return v, at


def fields(b):
    at = 0
    while at < len(b):
        key, at = varint(b, at)
        if key & 7 == 2:
            n, at = varint(b, at)
            yield key >> 3, b[at : at + n]
            at += n
        else:
            assert key & 7 == 0, key
            v, at = varint(b, at)
            yield key >> 3, v


def packed(b):
    out, at = [], 0
    while at < len(b):
        v, at = varint(b, at)
        out.append(v)
    return out


profile = collections.defaultdict(list)
for field, value in fields(gzip.open(sys.argv[1]).read()):
    profile[field].append(value)
strings = [s.decode() for s in profile[6]]
assert strings[0] == ""
types = [dict(fields(t)) for t in profile[1]]
assert [(strings[t[1]], strings[t[2]]) for t in types] == [("gpu-time", "nanoseconds"), ("launches", "count"), ("wall", "nanoseconds")]
assert [strings[t] for t in profile[14]] == ["gpu-time"]
functions = {f[1]: (strings[f[2]], strings[f[4]]) for f in (dict(fields(f)) for f in profile[5])}
locations = {}
for location in profile[4]:
    l = dict(fields(location))
    locations[l[1]] = functions[dict(fields(l[4]))[1]]

by_path = collections.defaultdict(lambda: [0, 0, 0])
for sample in profile[2]:
    s = dict(fields(sample))
    stack, values = [locations[i] for i in packed(s[1])][::-1], packed(s[2])
    assert len(values) == 3 and all(kind == "region" for _, kind in stack[:-1])
    regions = [name for name, kind in stack if kind == "region"]
    for depth in range(1, len(regions) + 1):  # cumulative, as pprof shows it
        for i in range(3):
            by_path["/".join(regions[:depth])][i] += values[i]

report = json.load(open(sys.argv[2]))
main = report["aggregate"] or report["scopes"][0]
seen = 0
for region in main["regions"]:
    got = by_path["/".join(region["path"])]
    for value, want, slack in (got[0], (region["total_ms"] or 0) * 1e6, 2000), (got[1], region["kernel_count"], 0):
        assert abs(value - want) <= slack, (region["id"], value, want)
    if region.get("wall_ms"):  # children that overlap may take more than the region around them
        assert got[2] >= region["wall_ms"] * 1e6 * (1 - 1e-9) - 100, (region["id"], got[2], region["wall_ms"])
    seen += 1
assert seen and sum(v[1] for v in by_path.values())
