#!/usr/bin/env bash
# `sonde diff` on a real GPU: the same program twice names nothing; one layer's MLP made 1.5 times as large
# is named with its ancestors, and the gate fails; a fused optimizer is explained in words.
#
#   make gpu-programs                    anywhere; build/gpu travels
#   tests/gpu/diff_gpu.sh build/gpu      on the machine with the GPU and PyTorch (about two minutes)
#
# One `ok`, `not ok` or `skip` line per check, what sonde says behind `#`. With $OUT the captures go there.
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=${1:-build/gpu}
SONDE=$PWD/$BUILD/sonde
export LC_ALL=C.UTF-8
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
RUNS=${OUT:-$T}/diff
TRAIN="python3 workloads/torch_train.py --steps 40 --layers 4"

if [ ! -e /dev/nvidiactl ] || ! python3 -c 'import torch' 2>/dev/null; then
	echo "skip diff_gpu: no GPU or no PyTorch here"
	exit 0
fi
check() { # NAME COMMAND…
	local name=$1
	shift
	if "$@"; then echo "ok $name"; else echo "not ok $name"; fi
	head -8 "$T/out" | sed 's/^/#   /'
}
captures() { # NAME COMMAND: three runs of the base and of the command, in turns
	"$SONDE" run -q counters=off -o "$RUNS/$1" --base-cmd "$TRAIN" --repeat 3 -- $2 >"$T/log" 2>&1 || {
		echo "not ok diff_gpu_$1_runs"
		tail -5 "$T/log" | sed 's/^/#   /'
	}
}
compare() { # NAME OPTIONS…
	local d=$RUNS/$1
	shift
	"$SONDE" diff --base "$d"/base-1 "$d"/base-2 "$d"/base-3 --new "$d"/new-1 "$d"/new-2 "$d"/new-3 "$@" >"$T/out" 2>&1
}
named() { # NAME: the regions that are slower or faster, without the warm-up
	compare "$1" -f json && python3 -c '
import json, sys
for r in json.load(open(sys.argv[1]))["regions"]:
    if r["verdict"] in ("slower", "faster") and not r["id"].startswith("warmup"):
        print(r["verdict"], r["id"])' "$T/out" >"$T/named" && compare "$1"
}
nothing() { named same && [ ! -s "$T/named" ]; }
# The wide layer has more weights too: its backward and the optimizer have more to do.
wide() {
	named wide && cat "$T/named" >>"$T/out" && grep -qx 'slower step/forward/layer2/mlp' "$T/named" &&
		grep -qx 'slower step/forward/layer2' "$T/named" && grep -qx 'slower step/forward' "$T/named" && grep -qx 'slower step' "$T/named" &&
		! grep -vE '^slower step(/forward(/layer2(/mlp)?)?|/backward(/.*layer2.*)?|/optimizer(/.*)?)?$' "$T/named"
}
gate() {
	compare wide --fail-above 5%
	[ $? -eq 3 ]
}
fused() { compare fused && grep -qE '^[1-5]\. .*(optimizer|Optimizer)' "$T/out"; }
selftest() { "$SONDE" diff --self-test "$RUNS/same/base-1" >"$T/out" 2>&1; }

captures same "$TRAIN"
check diff_gpu_same_program_names_nothing nothing
check diff_gpu_self_test_raises_few_alarms selftest
captures wide "$TRAIN --wide-layer 2 --wide 1.5"
check diff_gpu_a_wide_layer_is_named_with_its_ancestors wide
check diff_gpu_the_gate_fails gate
captures fused "$TRAIN --fused"
check diff_gpu_a_fused_optimizer_is_explained fused
