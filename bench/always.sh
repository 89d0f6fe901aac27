#!/usr/bin/env bash
# Checks what windows and budgets promise, on a GPU. A run takes about 15 s; the default of four runs takes two minutes:
#
#   make gpu-programs && bench/always.sh build/gpu [RUNS [OUT [KEY…]]]
#
#   window    step[100:110] has exactly ten entries, and every launch in it has its record
#   accuracy  shares and times of an entry by region with a budget of 2 %, RUNS times, against full captures of the same loop:
#             regions of at least 5 % within 3 %
#
# There is a full capture before, between and after the runs, because the speed of the GPU varies (a kernel
# differed by 3 % between two full captures). A run is compared with the mean of the two full captures around it. KEYs are more
# settings for the runs with a budget, such as counters=basic. Exit status 1: a figure is further off.
#
# bench/overhead.py measures their cost: --only empty,native:budget_ppm=20000,counters+native:budget_ppm=20000, both loops.
set -eu
cd "$(dirname "$0")/.."
BUILD=${1:-build/gpu} runs=${2:-4} OUT=${3:-$(mktemp -d)}
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
	capture "budget$i" 60000 pipeline.native.budget=2% "${@:4}"
	if ((i % 2 == 0 || i == runs)); then capture "full$(((i + 1) / 2))" 60000; fi
done
python3 - "$OUT" "$runs" <<'P'
import json, sys
MOST = 3  # per cent
def read(name):
    r = json.load(open(f"{sys.argv[1]}/{name}.json"))
    r["region"] = {g["id"]: g for g in r["aggregate"]["regions"]}
    return r
runs = int(sys.argv[2])
window = read("window")
full = [read(f"full{i}") for i in range((runs + 1) // 2 + 1)]
parts = [read(f"budget{i}") for i in range(1, runs + 1)]
step, whole = window["region"]["step"], full[0]["region"]["step"]
want = 10 * whole["kernel_count"] / whole["instances"]
print("window: entries", step["instances"], "(10), launches", step["kernel_count"], f"({want:.0f})", *window["notes"], sep="\n  ")
is_bad = step["instances"] != 10 or step["kernel_count"] != round(want)
for p in parts:
    print("budget:", p["coverage"]["windows"], *p["notes"], sep="\n  ")
figures = {
    "share": lambda g: g["share_pct"],
    "GPU time of an entry, mean": lambda g: g["total_ms"] / g["instances"],
    "GPU time of an entry, median": lambda g: g["entries"]["gpu"]["median_ms"],
    "launches of an entry": lambda g: g["kernel_count"] / g["instances"],
}
for name, w in full[0]["region"].items():
    if w["share_pct"] < 5:
        continue
    for what, of in figures.items():
        off = []
        for i, p in enumerate(parts):
            low, high = (of(f["region"][name]) for f in full[i // 2 : i // 2 + 2])
            off.append(100 * (2 * of(p["region"][name]) / (low + high) - 1))
        fulls = [of(f["region"][name]) for f in full]
        is_off = max(map(abs, off)) > MOST
        is_bad |= is_off
        print(f"{name}: {what}: full {min(fulls):g} to {max(fulls):g}; off by {min(off):+.2f} to {max(off):+.2f} %", "  <-- too far" if is_off else "")
sys.exit(is_bad)
P
