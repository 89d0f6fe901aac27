#!/usr/bin/env bash
# Sampled counters against Nsight Compute, in one go: an eager decode loop, the same loop as a CUDA graph, training
# with backward. What a region counts per entry must agree; the table is printed.
#
#   make gpu-programs                          anywhere; build/gpu travels
#   tests/gpu/counters_gpu.sh build/gpu        on the machine with the GPU, ncu and PyTorch (about 3 minutes)
#
# One `ok`, `not ok` or `skip` line per check, figures behind `#`. $KEEP: a folder for the runs.
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=${1:-build/gpu}
SONDE=$PWD/$BUILD/sonde
export PATH="$PATH:/usr/local/cuda/bin" LC_ALL=C.UTF-8
T=${KEEP:-$(mktemp -d)}
mkdir -p "$T"
failed=0

if ! nvidia-smi -L >/dev/null 2>&1 || ! command -v ncu >/dev/null || ! python3 -c 'import torch' 2>/dev/null; then
	echo "skip counters_gpu: no GPU, no ncu or no PyTorch here"
	exit 0
fi

METRICS=gpu__time_duration.sum,sm__inst_executed.sum,sm__pipe_tensor_cycles_active.sum,sm__inst_executed_pipe_fma.sum
METRICS=$METRICS,lts__t_sectors.sum,dram__bytes_read.sum,sm__cycles_active.sum,sm__warps_active.sum

sampled() { # NAME KEYS… -- PROGRAM…
	local name=$1
	shift
	"$SONDE" run -q "hydra.run.dir=$T/$name" "$@" >"$T/$name.out" 2>"$T/$name.err" </dev/null ||
		tail -5 "$T/$name.err" | sed 's/^/#   /'
	"$SONDE" report "$T/$name/native" -f json --metrics '*' >"$T/$name.json" 2>>"$T/$name.err" ||
		"$SONDE" report "$T/$name/native" -f json >"$T/$name.json" 2>>"$T/$name.err"
	grep -h "counters of GPU" "$T/$name.err" | sed 's/^/#   /'
}

truth() { # NAME NCU-OPTION… -- PROGRAM…
	local name=$1 options=()
	shift
	while [ "$1" != -- ]; do options+=("$1") && shift; done
	shift
	ncu --nvtx "${options[@]}" --cache-control none --clock-control none --import-sass no --metrics "$METRICS" \
		-f -o "$T/$name" "$@" >"$T/$name.log" 2>&1 || tail -n 3 "$T/$name.log" | sed 's/^/#   /'
	"$SONDE" report "$T/$name.ncu-rep" -f json >"$T/$name.json" 2>"$T/$name.err"
}

agree() { # CHECK SAMPLED TRUTH BASE GLOB LIMITS: per entry of BASE; limits in % by metric, `metric=5,…`
	if python3 - "$T" "$@" <<'END'; then echo "ok $1"; else
import fnmatch, json, sys
folder, check, sampled, truth, base, glob, limits = sys.argv[1:8]
def regions(name):
    doc = json.load(open(f"{folder}/{name}.json"))
    agg = doc.get("aggregate") or {}
    return {r["id"]: r for r in (agg if "regions" in agg else doc["scopes"][0])["regions"]}
a, b = regions(sampled), regions(truth)
limits = {k: float(v) for k, v in (x.split("=") for x in limits.split(","))}
ids = [i for i in b if fnmatch.fnmatchcase(i, glob) and i in a]
total = max(r["total_ms"] for r in a.values())
worst, bad = {}, []
print(f"#   {'region':40}" + "".join(f"{m.split('.')[0][-22:]:>24}" for m in limits))
for i in ids:
    if a[i]["total_ms"] < 0.05 * total:
        continue
    row = ""
    for m, limit in limits.items():
        x, y = a[i]["metrics"].get(m), b[i]["metrics"].get(m)
        if x is None or not y:
            row += f"{'-':>24}"
            bad.append((i, m, "missing"))
            continue
        # The same program, another number of steps.
        off = 100 * (x / a[base]["instances"] / (y / b[base]["instances"]) - 1)
        error = a[i].get("metric_ranges", {}).get(m, {}).get("error")
        row += f"{off:+12.1f} % (±{100 * error / x if error and x else 0:5.1f} %)"
        if y < 0.01 * b[base]["metrics"][m]:
            row += "*"
        worst[m] = max(worst.get(m, 0), abs(off))
        if abs(off) > limit:
            bad.append((i, m, round(off, 1)))
    print(f"#   {i:40}{row}")
print("#   * less than 1 % of what all of", base, "counts: hardly any to agree on")
print("#   worst", {m: round(v, 1) for m, v in worst.items()}, "limits", limits)
print("#   beyond", bad) if bad else None
sys.exit(bool(bad) or not worst)
END
		echo "not ok $1"
		failed=$((failed + 1))
	fi
}

CORE=sm__inst_executed.sum=5,sm__pipe_tensor_cycles_active.sum=5,sm__inst_executed_pipe_fma.sum=5,lts__t_sectors.sum=10
GRAPH=sm__inst_executed.sum=15,sm__pipe_tensor_cycles_active.sum=15,sm__inst_executed_pipe_fma.sum=15,lts__t_sectors.sum=15

truth decode_ncu --nvtx-include decode/ -- python3 workloads/torch_decode.py --steps 2
sampled decode counters=basic -- python3 workloads/torch_decode.py --steps 800
agree "eager decode: regions count what ncu counts" decode decode_ncu decode/step 'decode*' "$CORE,dram__bytes_read.sum=10"
sampled graph counters=basic -- python3 workloads/torch_decode.py --steps 3000 --graph
agree "a CUDA graph: regions count what ncu counts" graph decode_ncu decode/step 'decode/step/*' "$GRAPH"
# Backward runs on a thread without ranges: ncu's filter would leave it out, sonde adopts it.
truth train_ncu -- python3 workloads/torch_train.py --steps 1 --warmup 1 --fused
sampled train counters=basic -- python3 workloads/torch_train.py --steps 150 --fused
agree "training with backward: regions count what ncu counts" train train_ncu step 'step*' "$CORE"
# What 100 % is: the peaks sonde divides by.
ncu --clock-control none --metrics sm__pipe_tensor_cycles_active.sum.peak_sustained,sm__inst_executed.sum.peak_sustained,sm__warps_active.sum.peak_sustained,sm__cycles_active.sum.peak_sustained,dram__bytes.sum.peak_sustained,dram__cycles_elapsed.avg.per_second \
	"$PWD/$BUILD/workloads/three_ranges" 2>/dev/null | grep -E 'peak_sustained|per_second' | sort | uniq -c | sed 's/^/#   /'
"$SONDE" report "$T/train/native" --width 190 2>/dev/null | sed -n '1,30p' | sed 's/^/#   /'
exit $((failed > 0))
