#!/usr/bin/env bash
# How good estimates with a budget are, without a GPU: a loop on the stand-in for CUPTI, captured once in
# full and RUNS times with a budget; how often the truth is within ±, and the largest error.
#
#   make all && bench/budget.sh build [RUNS [BUDGET_PPM [LINE…]]]
#
# The library takes callbacks to cost what they do on a GPU: with a small budget launches are counted at times only.
# LINEs are more settings of it, e.g. lever.call_ns=0 to have them all counted.
cd "$(dirname "$0")/.." || exit 1
export BUILD=${1:-build} FAKE_CUPTI_VARIES=1 FAKE_LOOP_VARIES=1
runs=${2:-40} ppm=${3:-10000}
. tests/native.sh
FAKE=$PWD/$BUILD/fake/libcupti_fake.so
capture() { # NAME LINE…
	fresh cupti="$FAKE" "${@:2}"
	CUDA_INJECTION64_PATH=$LIB traced "$BUILD/fake/fake_loop" "$FAKE" 8000 8 100 >"$TMP/$1.txt" && "$SONDE" report "$OUT" report.threads=own -f json >"$TMP/$1.json"
}
capture full || exit 1
for i in $(seq "$runs"); do capture "part.$i" budget_ppm="$ppm" "${@:4}"; done
python3 - "$TMP" "$runs" <<'P'
import json, sys
def read(name):
    r = json.load(open(f"{sys.argv[1]}/{name}.json"))
    r["region"] = {g["id"]: g for g in r["aggregate"]["regions"]}
    r["strays"] = int(open(f"{sys.argv[1]}/{name}.txt").read().split()[1])
    return r
full, parts = read("full"), [read(f"part.{i}") for i in range(1, int(sys.argv[2]) + 1)]
timed = [p["coverage"]["timed"] for p in parts]
print(f'launches {timed[0]["launches_are"]}, {100 * sum(t["launches_timed"] for t in timed) / sum(t["launches"] for t in timed):.1f} % of them timed, capture took {sum(t["cost_pct"] for t in timed) / len(timed):.2f} %')
for region in "train", "train/step", "train/eval":
    for what in "total_ms", "kernel_count":
        t = full["region"][region][what]
        offs = [abs(p["region"][region][what] - t) for p in parts]
        errors = [p["region"][region].get(what + "_error", 0 if what == "kernel_count" and timed[0]["launches_are"] == "counted" else None) for p in parts]
        good = sum(e is not None and o <= e for o, e in zip(offs, errors))
        mean = sum(p["region"][region][what] for p in parts) / len(parts) / t - 1
        print(f"{region} {what}: within ± in {good} of {len(parts) - errors.count(None)} runs that tell it, largest error {100 * max(offs) / t:.2f} %, mean {100 * mean:+.2f} %")
out = [p["coverage"]["launches_unattributed"] / p["strays"] - 1 for p in parts]
print(f"outside any range: launches {100 * min(out):+.1f} % to {100 * max(out):+.1f} %, mean {100 * sum(out) / len(out):+.2f} %")
P
