#!/usr/bin/env bash
# How good estimates with a budget are, without a GPU: a loop on the stand-in for CUPTI, captured once in
# full and RUNS times with a budget; how often the truth is within ±, and the largest error.
#
#   make all && bench/budget.sh build [RUNS [BUDGET_PPM]]
cd "$(dirname "$0")/.." || exit 1
export BUILD=${1:-build} FAKE_CUPTI_VARIES=1
runs=${2:-40} ppm=${3:-3000}
. tests/native.sh
FAKE=$PWD/$BUILD/fake/libcupti_fake.so
capture() { # FILE LINE…
	fresh cupti="$FAKE" "${@:2}"
	CUDA_INJECTION64_PATH=$LIB traced "$BUILD/fake/fake_loop" "$FAKE" 4000 8 100 >/dev/null && "$SONDE" report "$OUT" -f json >"$1"
}
capture "$TMP/full.json" || exit 1
for i in $(seq "$runs"); do capture "$TMP/part.$i.json" budget_ppm="$ppm"; done
python3 - "$TMP" "$runs" <<'P'
import json, sys
read = lambda name: {g["id"]: g for g in json.load(open(f"{sys.argv[1]}/{name}.json"))["aggregate"]["regions"]}
truth, parts = read("full"), [read(f"part.{i}") for i in range(1, int(sys.argv[2]) + 1)]
for region in "train", "train/step":
    t = truth[region]["total_ms"]
    offs = [abs(p[region]["total_ms"] - t) for p in parts]
    good = sum(o <= p[region]["total_ms_error"] for o, p in zip(offs, parts))
    share = sum(p[region]["timed_launches"] / p[region]["kernel_count"] for p in parts) / len(parts)
    print(f"{region}: within ± in {good} of {len(parts)} runs, largest error {100 * max(offs) / t:.2f} %, {100 * share:.1f} % of the launches timed")
P
