#!/usr/bin/env python3
"""Compares what `sonde whatif` predicts with what the fixes really gain (workloads/torch_whatif.py), and measures how well replays
without changes match the runs.

    make gpu-programs && bench/whatif.py build/gpu [--out DIR]      on a machine with a GPU: runs, captures, compares
    bench/whatif.py BUILD --from DIR                                compares the results that are in DIR

The truth is measured without sonde, with base and fixes in turn in one process. The base is captured in another process. Only ratios
to the base are compared, because the time of the same loop differs by a third between processes. A row is right when the interval of
the truth (5 % to 95 % of its rounds, as a standard error of their median) and that of the prediction overlap.
"""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
LOADS = os.path.join(HERE, "..", "workloads")
REPLAYED = {
    "eager decode": ("eager", ["torch_decode.py", "--steps", "100"]),
    "graph decode": ("graph", ["torch_decode.py", "--steps", "200", "--graph"]),
    "training": ("torch_train", ["torch_train.py", "--steps", "30"]),
    "residual network": ("resnet", None),
}


def measure(build, out):
    """Truths and captures, into `out`."""
    os.makedirs(out, exist_ok=True)
    sonde = os.path.join(build, "sonde")

    def capture(name, command):
        done = subprocess.run([sonde, "run", "counters=off", "-q", "-o", os.path.join(out, name), "--", *command],
            capture_output=True, text=True, timeout=90, check=False)
        if done.returncode:
            print(f"{name}: {done.stderr[-400:]}", file=sys.stderr)

    for program in ("plain", "train"):
        script = [sys.executable, os.path.join(LOADS, "torch_whatif.py"), "--program", program]
        with open(os.path.join(out, f"truth_{program}.json"), "w", encoding="utf-8") as f:
            subprocess.run([*script, "--truth"], stdout=f, stderr=subprocess.DEVNULL, timeout=120, check=False)
        capture(program, [*script, "--base", "60"])
    resnet = os.path.join(tempfile.mkdtemp(), "resnet")
    subprocess.run(["nvcc", "-O2", "-o", resnet, os.path.join(LOADS, "resnet.cu")], check=False)
    for name, words in REPLAYED.values():
        capture(name, [sys.executable, os.path.join(LOADS, words[0]), *words[1:]] if words else [resnet, "--steps=50"])


def find(out, name):
    """A capture: a run directory, or the folder of one stage."""
    path = os.path.join(out, name)
    return path if os.path.exists(os.path.join(path, "config.yaml")) else os.path.join(path, "native")


def ask(build, capture, changes=()):
    done = subprocess.run([os.path.join(build, "sonde"), "whatif", capture, *changes, "-f", "json"],
        capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    return json.loads(done.stdout)


def kernel_of(build, capture, region):
    """The longest kernel of a region."""
    done = subprocess.run([os.path.join(build, "sonde"), "report", capture, "-f", "json"], capture_output=True, text=True, check=True)
    for row in json.loads(done.stdout)["aggregate"]["regions"]:
        if row["id"].endswith("step/" + region) and not row["id"].startswith("warmup"):
            return row["kernels"][0]["kernel_name"]
    raise RuntimeError(f"no kernel in {region}")


def compare(build, out):
    held = within = right = rows = 0
    print(f"{'program':9}{'fix':28}{'truth':>8}{'±':>7}{'said':>8}{'low':>8}{'high':>8}{'error':>8}  of the base")
    for program in ("plain", "train"):
        with open(os.path.join(out, f"truth_{program}.json"), encoding="utf-8") as f:
            truth = json.load(f)
        capture = find(out, program)
        for name, fix in truth["fixes"].items():
            changes = fix["changes"]
            for i, change in enumerate(changes):
                if "@" in change:
                    head, factor = change.split("@")[1].split("=")
                    changes[i] = f"kernel:{kernel_of(build, capture, head).split('(')[0].split(' ')[-1]}*={factor}"
            answer = ask(build, capture, changes)
            base, said = answer["step"]["base_ms"], answer["changes"][0]
            if said["gain_ms"] is None:
                print(f"{program:9}{name:28}{fix['ratio']:8.3f}  refused: {answer['step']['refused']}")
                continue
            got, low, high = (1 - said[k] / base for k in ("gain_ms", "high_ms", "low_ms"))
            spread = (fix["high"] - fix["low"]) / 3.3 * 1.25 * 1.96 / math.sqrt(truth["rounds"])
            holds = low - spread <= fix["ratio"] <= high + spread
            rows += 1
            held += holds
            within += abs(got - fix["ratio"]) <= 0.1
            right += (got < 1) == (fix["ratio"] < 1) or abs(fix["ratio"] - 1) <= spread  # no effect has no sign
            print(f"{program:9}{name:28}{fix['ratio']:8.3f}{spread:7.3f}{got:8.3f}{low:8.3f}{high:8.3f}{100 * (got - fix['ratio']):+7.1f}%"
                f"{'' if holds else '  outside'}")
    print(f"{rows} fixes: sign right in {right}, within 10 % of the step in {within}, interval holds in {held}\n")
    for name, (folder, _) in REPLAYED.items():
        step = ask(build, find(out, folder))["step"]
        print(f"{name:20} step {step['id']}: {step['measured_ms']:.3f} ms measured, replayed {step['replay_error_pct']:+.2f} %")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("build")
    p.add_argument("--out", default=None)
    p.add_argument("--from", dest="given", default=None)
    a = p.parse_args()
    out = a.given or a.out or tempfile.mkdtemp()
    if not a.given:
        measure(a.build, out)
    compare(a.build, out)


if __name__ == "__main__":
    main()
