#!/usr/bin/env bash
# What windows and a budget promise, on a GPU; about 15 s a run:
#
#   make gpu-programs && bench/always.sh build/gpu [RUNS [OUT]]
#
#   window    step[100:110] has exactly ten entries, and every launch in it has its record
#   accuracy  GPU time and launches by region with a budget of 2 %, RUNS times, against full captures of the same loop
#
# A full capture comes before, after and between every two runs: the GPU is not equally fast in all of them (a kernel
# differed by 3 % between two full captures). A run is compared with the two around it: how far it is from what they
# have in the middle, and whether its ± reaches what they have between them.
#
# What they cost is for bench/overhead.py: --only empty,native,native:budget_ppm=20000,native:window=order, both loops.
set -eu
cd "$(dirname "$0")/.."
BUILD=${1:-build/gpu} runs=${2:-8} OUT=${3:-$(mktemp -d)}
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
capture full0 60000
for i in $(seq "$runs"); do
	capture "budget$i" 60000 pipeline.native.budget=2%
	if ((i % 2 == 0 || i == runs)); then capture "full$(((i + 1) / 2))" 60000; fi
done
python3 - "$OUT" "$runs" <<'P'
import json, sys
def read(name):
    r = json.load(open(f"{sys.argv[1]}/{name}.json"))
    r["region"] = {g["id"]: g for g in r["aggregate"]["regions"]}
    return r
runs = int(sys.argv[2])
window = read("window")
full = [read(f"full{i}") for i in range((runs + 1) // 2 + 1)]
parts = [read(f"budget{i}") for i in range(1, runs + 1)]
step, whole = window["region"]["step"], full[0]["region"]["step"]
print("window: entries", step["instances"], "(10), launches", step["kernel_count"], f'({10 * whole["kernel_count"] / whole["instances"]:.0f})', *window["notes"], sep="\n  ")
t = [p["coverage"]["timed"] for p in parts]
print(f'budget 2 %: launches {t[0]["launches_are"]}, {100 * sum(v["launches_timed"] for v in t) / sum(v["launches"] for v in t):.1f} % of them timed, took {sum(v["cost_pct"] for v in t) / len(t):.2f} % by its own account', *parts[0]["notes"], sep="\n  ")
nr_held = nr_told = 0
for name, w in full[0]["region"].items():
    if w["total_ms"] < 0.05 * whole["total_ms"]:
        continue
    for what in "total_ms", "kernel_count":
        off, errors, held = [], [], 0
        for i, p in enumerate(parts):
            low, high = sorted(f["region"][name][what] for f in full[i // 2 : i // 2 + 2])
            got, error = p["region"][name][what], p["region"][name].get(what + "_error")
            off.append(100 * (2 * got / (low + high) - 1))
            if error is not None:
                errors.append(100 * error / got)
                held += low - error <= got <= high + error
        of = [f["region"][name][what] for f in full]
        print(f"{name} {what}: full {min(of):g} to {max(of):g}; off by {min(off):+.2f} to {max(off):+.2f} %",
              f"± {min(errors):.2f} to {max(errors):.2f} % reaches them in {held} of {len(errors)} runs that tell it" if errors else "no run has seen enough to say a ±", sep="; ")
        nr_held, nr_told = nr_held + held, nr_told + len(errors)
print(f"± holds in {nr_held} of {nr_told}")
P
