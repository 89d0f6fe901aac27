#!/usr/bin/env bash
# `sonde diff` on a real GPU: for two runs of the same program it names no region; if one layer's MLP is 1.5 times as large,
# it names the MLP with its ancestors, and the gate fails; it explains a fused optimizer in words. Four captures, about 40 seconds.
#
#   make gpu-programs                    on any machine; copy build/gpu to the one with the GPU
#   tests/gpu/diff_gpu.sh build/gpu      on the machine with the GPU and PyTorch
#
# Prints one `ok`, `not ok` or `skip` line per check, with sonde's sentences behind `#`. $OUT: a folder for the captures; $TRAIN: a
# program in place of the PyTorch one, with the same options; $OVERRIDES: words for `sonde run`.
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=${1:-build/gpu}
SONDE=$PWD/$BUILD/sonde
export LC_ALL=C.UTF-8
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
RUNS=${OUT:-$T}/diff

if [ -z "${TRAIN:-}" ] && { ! nvidia-smi -L >/dev/null 2>&1 || ! python3 -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)' 2>/dev/null; }; then
	echo "skip diff_gpu: no GPU or no PyTorch here"
	exit 0
fi
TRAIN=${TRAIN:-python3 workloads/torch_train.py}

failed=0
check() { # NAME COMMAND…
	local name=$1
	shift
	if "$@"; then echo "ok $name"; else
		echo "not ok $name"
		failed=1
	fi
	head -8 "$T/out" | cut -c1-300 | sed 's/^/#   /'
}
capture() { # NAME OPTIONS…: 60 steps
	local name=$1
	shift
	# shellcheck disable=SC2086
	"$SONDE" run -q counters=off ${OVERRIDES:-} -o "$RUNS/$name" -- $TRAIN --steps 60 "$@" >"$T/log" 2>&1 </dev/null || {
		echo "not ok diff_gpu_${name}_runs"
		tail -5 "$T/log" | sed 's/^/#   /'
		failed=1
	}
}
named() { # BASE NEW: the regions that take the GPU longer or shorter, without the warm-up; the host of one capture is noisy
	"$SONDE" diff "$RUNS/$1" "$RUNS/$2" -f json -o "$T/diff.json" 2>"$T/out" && "$SONDE" validate "$T/diff.json" >"$T/out" 2>&1 && python3 -c '
import json, sys
for r in json.load(open(sys.argv[1]))["regions"]:
    verdict = (r["times"]["gpu"] or r)["verdict"].replace("likely_", "")
    if verdict in ("slower", "faster") and not r["id"].startswith("warmup"):
        print(verdict, r["id"])' "$T/diff.json" >"$T/named" && "$SONDE" diff "$RUNS/$1" "$RUNS/$2" >"$T/out" 2>&1
}
nothing() { named base again && [ ! -s "$T/named" ]; }
# The wide layer has more weights too: its backward and the optimizer may have more to do.
wide() {
	local r
	named base wide || return
	for r in step step/forward step/forward/layer1 step/forward/layer1/mlp; do grep -qx "slower $r" "$T/named" || return; done
	! grep -vxE 'slower step(/forward(/layer1(/mlp)?)?|/backward(/.*)?|/optimizer(/.*)?)?' "$T/named"
}
gate() {
	"$SONDE" diff "$RUNS/base" "$RUNS/wide" --fail-above gpu:5% --single >"$T/out" 2>&1
	[ $? -eq 3 ]
}
fused() { "$SONDE" diff "$RUNS/single" "$RUNS/base" >"$T/out" 2>&1 && grep -qE '^[1-5]\. step/optimizer.* is .*(faster|slower).*fused\?' "$T/out"; }
selftest() { "$SONDE" diff --self-test "$RUNS/base" >"$T/out" 2>&1; }

capture base --fused
capture again --fused
capture wide --fused --wide-layer 1 --wide 1.5
capture single # an optimizer of many kernels
check diff_gpu_same_program_names_nothing nothing
check diff_gpu_self_test_raises_few_alarms selftest
check diff_gpu_a_wide_layer_is_named_with_its_ancestors wide
check diff_gpu_the_gate_fails gate
check diff_gpu_a_fused_optimizer_is_explained fused
exit $failed
