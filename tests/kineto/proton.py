#!/usr/bin/env python3
"""Reads Proton profiles independently, and compares them with what sonde reports: proton.py SONDE FILE…

A node with children is a region, a leaf with metrics is a kernel in the region around it; ROOT is neither.
It compares per device and path: time in ns, and the sum of every other metric of the leaves; `count` also as launches.
"""
import collections
import json
import subprocess
import sys


def walk(node, path, out):
    name, metrics, children = node["frame"]["name"], node.get("metrics", {}), node.get("children", [])
    is_region = bool(children) or not metrics
    inner = path + (name,) if is_region and not (name == "ROOT" and not path) else path
    device = int(metrics.get("device_id", 0))
    for key, value in metrics.items():
        if isinstance(value, (int, float)) and key != "device_id":
            for n in range(len(inner) + 1):
                out[device, inner[:n], key] += value
    for child in children:
        walk(child, inner, out)


def expected(path):
    out = collections.Counter()
    for node in json.load(open(path, encoding="utf-8")):
        if "frame" in node:
            walk(node, (), out)
    return out


def check(sonde, path):
    report = json.loads(subprocess.run([sonde, "report", path, "--format", "json", "--metrics", "*"],
                                       capture_output=True, check=True).stdout)
    names = {"time (ns)": "gpu__time_duration.sum", "cpu_time (ns)": "cpu_time.sum"}
    found = {(int(s["device"].split(":")[1]), tuple(r["path"])): r
             for s in report["scopes"] for r in s.get("regions", report["aggregate"]["regions"])}
    wrong, nr = [], 0
    for (device, place, key), value in expected(path).items():
        if not place or not value:
            continue
        nr += 1
        region = found.get((device, place), {"metrics": {}, "kernel_count": 0})
        got = region["metrics"].get(names.get(key, key + ".sum"))
        if got != value:
            wrong.append(f"  device {device} {place} {key}: {got}, not {value}")
        if key == "count" and region["kernel_count"] != value:
            wrong.append(f"  device {device} {place}: {region['kernel_count']} launches, not {value}")
    for key, member in (("time (ns)", "gpu_time_ns_total"), ("count", "launches_total")):
        total = sum(v for (_, place, k), v in expected(path).items() if not place and k == key)
        nr += 1
        if report["coverage"][member] != total:
            wrong.append(f"  {member} {report['coverage'][member]}, not {total}")
    print("\n".join(wrong))
    print(f"{'not ok' if wrong else 'ok'} proton_reading__{path.split('/')[-1]} ({nr} figures)")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(any([check(sys.argv[1], path) for path in sys.argv[2:]]))
