#!/usr/bin/env bash
# What native capture costs a PyTorch decode loop, beside the plain run and Triton Proton:
# interleaved repetitions, medians, one table. Needs a GPU, PyTorch and (for its row) Triton.
#
#   tests/gpu/overhead.sh build/gpu [REPETITIONS [STEPS]]
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=${1:?usage: tests/gpu/overhead.sh BUILD [REPETITIONS [STEPS]]}
reps=${2:-9} steps=${3:-400}
TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT
LIB=$PWD/$BUILD/libsonde_inject.so
printf 'output=%s\n' "$TMP/out" >"$TMP/conf"
mkdir -p "$TMP/out"

loop() { python3 tests/gpu/decode_loop.py "$steps" "$@"; }
native() {
	rm -f "$TMP"/out/*
	SONDE_INJECT_CONFIG=$TMP/conf NVTX_INJECTION64_PATH=$LIB CUDA_INJECTION64_PATH=$LIB loop
}
ranges_only() {
	rm -f "$TMP"/out/*
	SONDE_INJECT_CONFIG=$TMP/conf NVTX_INJECTION64_PATH=$LIB loop
}

python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null || {
	echo "skip overhead: no PyTorch with a GPU here"
	exit 0
}
loop >/dev/null || exit 1
for i in $(seq "$reps"); do
	loop >>"$TMP/plain"
	native >>"$TMP/native"
	ranges_only >>"$TMP/ranges"
	loop proton >>"$TMP/proton" 2>>"$TMP/proton.err" || true
done
"$BUILD/tools/capture_dump" --count "$TMP"/out/*.sonde
native >/dev/null
"$BUILD/tools/capture_dump" --count "$TMP"/out/*.sonde
ls -l "$TMP"/out | awk 'NR > 1 {print "capture of " $5 " bytes"}'
python3 - "$TMP" "$reps" "$steps" <<'P'
import statistics, sys, os
tmp, reps, steps = sys.argv[1:]
plain = None
print(f"decode loop of {steps} steps, seconds, {reps} interleaved repetitions")
print(f"{'':14}{'min':>10}{'median':>10}{'ratio':>8}")
for name in ("plain", "ranges", "native", "proton"):
    path = os.path.join(tmp, name)
    t = [float(x) for x in open(path)] if os.path.exists(path) else []
    if not t:
        print(f"{name:14}   not measured")
        continue
    m = statistics.median(t)
    plain = plain or m
    print(f"{name:14}{min(t):10.4f}{m:10.4f}{m / plain:8.3f}")
P
[ -s "$TMP/proton" ] || tail -3 "$TMP/proton.err"
