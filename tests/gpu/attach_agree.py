"""attach_agree.py WHOLE ATTACH NAME WANTS_COUNTERS: checks that the report.json of an attach has the figures of the whole run.

It compares the shares of time of the regions in the longest one, the time per entry of that one, and SM active, tensor and DRAM % of all of
them, each within 2 points. Counters are compared if both figures have a ± below 2. Prints one line per figure, behind `#`; the last is `NR of ALL`.
"""
import json
import sys

METRICS = {
    "SM active": "sm__cycles_active.avg.pct_of_peak_sustained_elapsed",
    "tensor": "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "DRAM": "dram__bytes.sum.pct_of_peak_sustained_elapsed",
}
BAR = 2


def regions(path):
    with open(path, encoding="utf-8") as f:
        report = json.load(f)
    return {g["id"]: g for g in (report["aggregate"] or {"regions": []})["regions"]}


def twin(whole, name):
    """The region of the whole run: the attach has not seen the ranges around it."""
    return min((w for w in whole if w == name or w.endswith("/" + name)), key=len, default=None)


def counter(region, metric):
    """A figure that is known well enough, else None."""
    error = region.get("metric_ranges", {}).get(metric, {}).get("error")
    value = region.get("metrics", {}).get(metric)
    return value if error is not None and error < BAR else None


def figures(part, whole, root):
    """(what, of the attach, of the run) of all that can be compared."""
    of_part, of_whole = part[root], whole[twin(whole, root)]
    if of_part["instances"] and of_whole["instances"]:
        per_entry = of_whole["total_ms"] / of_whole["instances"]
        yield f"{root}, GPU time of an entry, % of the run's", 100 * of_part["total_ms"] / of_part["instances"] / per_entry, 100
    for name, region in part.items():
        other = whole.get(twin(whole, name)) if name == root or name.startswith(root + "/") else None
        if not other or not other["total_ms"]:
            continue
        if name != root:
            yield f"{name}, share", 100 * region["total_ms"] / of_part["total_ms"], 100 * other["total_ms"] / of_whole["total_ms"]
        for what, metric in METRICS.items():
            got, want = counter(region, metric), counter(other, metric)
            if got is not None and want is not None:
                yield f"{name}, {what} %", got, want


def main():
    whole, part, name, wants = regions(sys.argv[1]), regions(sys.argv[2]), sys.argv[3], sys.argv[4] == "yes"
    root = max((g for g in part if "/" not in g and twin(whole, g)), key=lambda g: part[g]["total_ms"] or 0, default=None)
    good = nr = nr_counters = 0
    for what, got, want in figures(part, whole, root) if root else ():
        near = abs(got - want) <= BAR
        good, nr, nr_counters = good + near, nr + 1, nr_counters + what.endswith(tuple(f"{m} %" for m in METRICS))
        print(f"#{' ' if near else '! '}{name}: {what}: {got:.2f}, of the run {want:.2f}")
    if wants and not nr_counters:
        nr += 1
        print(f"#! {name}: there are no counters to compare")
    print(f"{good} of {max(nr, 1)}")


if __name__ == "__main__":
    main()
