#!/usr/bin/env python3
"""Makes jobs with a known straggler, or with none, and checks what sonde reports: prints a table, and whether it is good enough.

    straggler_table.py MAKE SONDE FOLDER [full]      MAKE is build/tools/ranks_make; full: all sizes, 20 jobs of each

A job has eight ranks on two hosts, and 20 steps of 3 ms with an all-reduce each. The truth is known from how it was made.
"""
import json
import os
import shutil
import subprocess
import sys

STEP_US = 3000
SIZES = (2, 4, 6, 10)


def planted(kind, percent, who):
    """What makes rank or host `who` slow by so much of a step; whom and what sonde must name."""
    late_us = STEP_US * percent / 100
    return {
        "GPU": ([f"slow_gpu={who}", f"percent={percent}"], ("gpu",)),
        "host late": ([f"late_rank={who}", f"late_us={late_us}"], ("late",)),
        "host idle": ([f"idle_rank={who}", f"percent={percent}"], ("idle", "late")),
        "node slow": ([f"slow_host={who // 4}", f"percent={percent}"], ("node",)),
        "node late": ([f"late_host={who // 4}", f"late_us={late_us}"], ("node",)),
    }[kind]


def judge(make, sonde, folder, words, who, causes):
    """What was said: right, cause (of the right one, wrongly caused), other (another one is named), silent."""
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([make, folder, "layers=5", "jitter=0.5", *words], check=True)
    report = json.loads(subprocess.run([sonde, "report", "-f", "json", folder], check=True, stdout=subprocess.PIPE).stdout)
    said = report["ranks"]["stragglers"]
    if not said:
        return "silent"
    is_node = causes == ("node",)
    named = int(said[0]["scope"].split()[1])
    # A further sentence about somebody else is as wrong as the first would be.
    if named // 4 != who // 4 if is_node else named != who or len(said) > 1:
        return "other"
    return "right" if said[0]["cause"] in causes else "cause"


class Table:
    def __init__(self, make, sonde, folder):
        self.programs, self.folder = (make, sonde), os.path.join(folder, "job")
        print(f"{'':12} {'spread':>6} {'by':>4} {'jobs':>5} {'right':>6} {'cause':>6} {'other':>6} {'silent':>6}")

    def row(self, nr, kind, spread, percent):
        count = dict.fromkeys(("right", "cause", "other", "silent"), 0)
        for seed in range(nr):
            who = seed * 5 % 8
            words, causes = planted(kind, percent, who) if percent else ([], ())
            count[judge(*self.programs, self.folder, [*words, f"spread={spread}", f"seed={seed + 100}"],
                        who if causes else -1, causes)] += 1
        print(f"{kind:12} {spread:5}% {percent:3}% {nr:5}", *(f"{v:6}" for v in count.values()), flush=True)
        return count


def main():
    is_full = len(sys.argv) > 4
    table, nr, wrong = Table(*sys.argv[1:4]), 20 if is_full else 4, []
    for spread in (0, 1, 3):
        if table.row(20, "nobody", spread, 0)["silent"] < 18:
            wrong.append(f"too many stragglers in jobs with a spread of {spread} % and nothing else")
    large = found = 0
    for kind in ("GPU", "host late", "host idle", "node slow", "node late"):
        for spread, percent in [(s, p) for s in (0, 1) for p in SIZES if is_full or (s, p) in ((0, 2), (0, 6), (1, 6), (1, 10))]:
            count = table.row(nr, kind, spread, percent)
            large, found = large + nr * (percent >= 6), found + count["right"] * (percent >= 6)
            if spread == 0 and count["right"] < nr:
                wrong.append(f"{kind}, {percent} %, where nothing else differs: not right in all {nr} jobs")
    print(f"of 6 % and more: {found} of {large} are right")
    if found < 0.95 * large:
        wrong.append("too few stragglers of 6 % and more are named and caused")
    for line in wrong:
        print(line)
    sys.exit(bool(wrong))


main()
