#!/usr/bin/env bash
# What windows and a budget promise, on a GPU; about 8 s a run:
#
#   make gpu-programs && bench/always.sh build/gpu [RUNS [OUT]]
#
#   window    step[100:110] has exactly ten entries, and every launch in it has its record
#   accuracy  GPU time and launches by region with a budget of 2 %, RUNS times, against full captures of the same loop
#
# What they cost is for bench/overhead.py: --only empty,native,native:budget_ppm=20000,native:window=order, both loops.
set -eu
cd "$(dirname "$0")/.."
BUILD=${1:-build/gpu} runs=${2:-10} OUT=${3:-$(mktemp -d)}
SONDE=$PWD/$BUILD/sonde
mkdir -p "$OUT"
cat >"$OUT/loop.py" <<'P'
import sys, torch
steps = int(sys.argv[1])
x = torch.randn(64, 1024, device="cuda", dtype=torch.float16)
w = [torch.randn(1024, 1024, device="cuda", dtype=torch.float16) for _ in range(6)]
push, pop = torch.cuda.nvtx.range_push, torch.cuda.nvtx.range_pop
for i in range(steps):
    push("step")
    push("mlp")
    y = x
    for m in w:
        y = torch.relu(y @ m)
    pop()
    push("norm")
    y = torch.nn.functional.layer_norm(y.float(), (1024,))
    pop()
    push("head")
    z = torch.softmax(y, -1).sum()
    pop()
    pop()
torch.cuda.synchronize()
P
capture() { # NAME STEPS KEY…
	"$SONDE" run -q hydra.run.dir="$OUT/$1" counters=off "${@:3}" -- python3 "$OUT/loop.py" "$2" >"$OUT/$1.log" 2>&1 || tail -5 "$OUT/$1.log"
	"$SONDE" report "$OUT/$1/native" -f json >"$OUT/$1.json" && "$SONDE" validate "$OUT/$1.json" >/dev/null
}
capture window 300 'capture.window=step[100:110]'
capture full 20000
for i in $(seq "$runs"); do capture "budget$i" 20000 pipeline.native.budget=2%; done
capture again 20000
python3 - "$OUT" "$runs" <<'P'
import json, sys
def read(name):
    r = json.load(open(f"{sys.argv[1]}/{name}.json"))
    r["region"] = {g["id"]: g for g in r["aggregate"]["regions"]}
    return r
window, full, again = read("window"), read("full"), read("again")
parts = [read(f"budget{i}") for i in range(1, int(sys.argv[2]) + 1)]
step, whole = window["region"]["step"], full["region"]["step"]
print("window: entries", step["instances"], "(10), launches", step["kernel_count"], f'({10 * whole["kernel_count"] / whole["instances"]:.0f})', *window["notes"], sep="\n  ")
t = [p["coverage"]["timed"] for p in parts]
print(f'budget 2 %: launches {t[0]["launches_are"]}, {100 * sum(v["launches_timed"] for v in t) / sum(v["launches"] for v in t):.1f} % of them timed, took {sum(v["cost_pct"] for v in t) / len(t):.2f} % by its own account', *parts[0]["notes"], sep="\n  ")
for name, w in full["region"].items():
    if w["total_ms"] < 0.05 * whole["total_ms"]:
        continue
    for what in "total_ms", "kernel_count":
        truth = (w[what] + again["region"][name][what]) / 2
        told = [p["region"][name] for p in parts if p["region"][name].get(what + "_error") is not None]
        if not told:
            print(f"{name} {what}: no run has seen enough to say a ±")
            continue
        offs = [g[what] - truth for g in told]
        errors = [g[what + "_error"] for g in told]
        print(f"{name} {what}: full {w[what]:g} and {again['region'][name][what]:g}; off by {100 * min(offs) / truth:+.2f} to {100 * max(offs) / truth:+.2f} %, ± {100 * min(errors) / truth:.2f} to {100 * max(errors) / truth:.2f} %, within ± in {sum(abs(o) <= e for o, e in zip(offs, errors))} of {len(offs)} runs that tell it")
P
