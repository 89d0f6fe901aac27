"""layers.py CALLED.json REPLAYED.json: checks that the graph of a model has the kernels of each of its modules.

These are reports of two traces: one calls the model twice, the other captures it and replays the graph three times, in ranges `replay`.
"""
import json
import sys


def kernels(path, root, calls):
    with open(path, encoding="utf-8") as f:
        regions = json.load(f)["aggregate"]["regions"]
    return {
        tuple(r["path"][1:]): sorted((k["kernel_name"], k["calls"] / calls) for k in r["kernels"])
        for r in regions
        if r["path"][0] == root and len(r["path"]) > 1 and r["kernels"]
    }


called, replayed = kernels(sys.argv[1], "Model", 2), kernels(sys.argv[2], "replay", 3)
for name in sorted(set(called) | set(replayed)):
    if called.get(name) != replayed.get(name):
        print(name, called.get(name), replayed.get(name))
sys.exit(len(called) < 20 or called != replayed)
