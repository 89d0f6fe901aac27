#!/usr/bin/env python3
"""Stall shares of a native capture against ncu's, for reasons of 5 % and more.

    pc_agree.py NATIVE.json NCU.json [POINTS]

Both are reports of `sonde report -f json --metrics '*'`; ncu's with smsp__pcsamp_warps_issue_stalled_* of each kernel.
"""
import json
import sys

PREFIX = "smsp__pcsamp_warps_issue_stalled_"


def regions(path):
    with open(path) as f:
        return {r["id"]: r for r in json.load(f)["aggregate"]["regions"]}


def truth(kernel):
    m = {k.removeprefix(PREFIX): v for k, v in kernel["metrics"].items() if k.startswith(PREFIX) and "not_issued" not in k}
    total = sum(v or 0 for v in m.values())
    return {k.split(".")[0]: 100 * (v or 0) / total for k, v in m.items()} if total else {}


native, ncu = regions(sys.argv[1]), regions(sys.argv[2])
points, bad, seen = float(sys.argv[3]) if len(sys.argv) > 3 else 3, 0, 0
for name in sorted(set(native) & set(ncu)):
    for kernel in ncu[name]["kernels"][:1]:
        mine = [k for k in native[name]["kernels"] if k["kernel_name"] == kernel["kernel_name"] and "stalls" in k]
        want = truth(kernel)
        have = {r["reason"]: r["share_pct"] for r in mine[0]["stalls"]["reasons"]} if mine else {}
        seen += bool(want and have)
        for reason, share in sorted(want.items(), key=lambda x: -x[1]):
            if max(share, have.get(reason, 0)) < 5:
                continue
            off = abs(share - have.get(reason, 0))
            bad += off > points
            print(f"{'OFF' if off > points else '   '} {name:16} {reason:22} {have.get(reason, 0):6.1f} {share:6.1f}")
print(f"{seen} kernels compared")
sys.exit(bad > 0 or seen == 0)
