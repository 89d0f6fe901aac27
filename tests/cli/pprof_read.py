"""pprof_read.py PROFILE REPORT [LINES]: checks that a pprof profile, read by its own rules, has the numbers of report.json.

It uses profile.proto and no code of sonde: the cumulative values of each stack of regions are compared with those of the region.
With LINES: so many functions are lines of source. They have their real file and line, so that pprof can show the source.
"""
import collections, gzip, json, re, sys


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
functions = {f[1]: (strings[f[2]], strings[f[4]], f.get(5, 0)) for f in (dict(fields(f)) for f in profile[5])}
locations, lines = {}, 0
for location in profile[4]:
    l = dict(fields(location))
    line = dict(fields(l[4]))
    name, file, start = functions[line[1]]
    assert line.get(2, 0) == start and (start > 0) == (file not in ("region", "kernel")), (name, file, start)
    assert not start or name == f"{file}:{start}", (name, file, start)
    locations[l[1]] = name, "line" if start else file
    lines += start > 0
assert lines == (int(sys.argv[3]) if len(sys.argv) > 3 else 0), lines

by_path = collections.defaultdict(lambda: [0, 0, 0])
for sample in profile[2]:
    s = dict(fields(sample))
    stack, values = [locations[i] for i in packed(s[1])][::-1], packed(s[2])
    assert len(values) == 3 and all(kind != "line" for _, kind in stack[:-1])
    assert all(kind == "region" for _, kind in stack[: -2 if stack[-1][1] == "line" else -1])
    regions = [name for name, kind in stack if kind == "region"]
    for depth in range(1, len(regions) + 1):  # cumulative, as pprof shows it
        for i in range(3):
            by_path["/".join(regions[:depth])][i] += values[i]

report = json.load(open(sys.argv[2]))
main = report["aggregate"] or report["scopes"][0]
seen = 0
for region in main["regions"]:
    path = "/".join(region["path"])
    got = by_path[re.sub("\ufffd([89A-F][0-9A-F])", lambda byte: "\\x" + byte[1].lower(), path)]  # bytes that are not UTF-8
    for value, want, slack in (got[0], (region["total_ms"] or 0) * 1e6, 2000), (got[1], region["kernel_count"], 0):
        assert abs(value - want) <= slack, (region["id"], value, want)
    if region.get("wall_ms"):  # children that overlap may take more than the region around them
        assert got[2] >= region["wall_ms"] * 1e6 * (1 - 1e-9) - 100, (region["id"], got[2], region["wall_ms"])
    seen += 1
assert seen and sum(v[1] for v in by_path.values())
