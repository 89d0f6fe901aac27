#!/usr/bin/env bash
# The bars of windows and the budget on a GPU, in about 90 s with the defaults (more SETS give less noise):
#
#   make gpu-programs && bench/always.sh build/gpu [SETS [OUT]]
#
#   cost      plain, the empty library, all of native, a budget of 2 %, and a capture whose window is closed
#   accuracy  GPU time by region with a budget of 2 % against a full capture of the same loop
#   window    step[100:110] has exactly ten entries, and every launch in it has its record
set -eu
cd "$(dirname "$0")/.."
BUILD=${1:-build/gpu} sets=${2:-3} OUT=${3:-$(mktemp -d)}
SONDE=$PWD/$BUILD/sonde
mkdir -p "$OUT"
for loop in bare modules; do
	echo "== cost, $loop loop"
	bench/overhead.py "$BUILD" --loop $loop --sets "$sets" --only empty,native,native:budget_ppm=20000,native:window=order || echo "$loop: failed"
done

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
	"$SONDE" report "$OUT/$1/native" -f json >"$OUT/$1.json" && "$SONDE" validate "$OUT/$1.json"
}
capture full 20000
capture budget 20000 pipeline.native.budget=2%
capture budget2 20000 pipeline.native.budget=2%
capture window 300 'capture.window=step[100:110]'
echo "== accuracy and window"
python3 - "$OUT" <<'P'
import json, sys
read = lambda n: json.load(open(f"{sys.argv[1]}/{n}.json"))
full, window = read("full"), read("window")
truth = {g["id"]: g for g in full["aggregate"]["regions"]}
total = full["aggregate"]["regions"][0]["total_ms"]
for name in "budget", "budget2":
    r = read(name)
    print(name, r["coverage"].get("timed"), *[n for n in r["notes"] if "budget" in n or "rare" in n], sep="\n  ")
    for g in r["aggregate"]["regions"]:
        w, e = truth[g["id"]], g.get("total_ms_error")
        if w["total_ms"] >= 0.05 * total:
            off = g["total_ms"] - w["total_ms"]
            print(f'  {g["id"]:12} full {w["total_ms"]:.3f} ms, estimate {g["total_ms"]:.3f} ms ({100 * off / w["total_ms"]:+.2f} %), ± {e}, launches {g["kernel_count"] - w["kernel_count"]:+d}, entries {g["instances"] - w["instances"]:+d}')
step = {g["id"]: g for g in window["aggregate"]["regions"]}["step"]
per_step = truth["step"]["kernel_count"] / truth["step"]["instances"]
print("window: entries", step["instances"], "(10), launches", step["kernel_count"], f"({10 * per_step:.0f})", *window["notes"], sep="\n  ")
P
