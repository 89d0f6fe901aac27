#!/usr/bin/env bash
# `sonde run --modules` on a GPU: cost by turns, torch.compile with and without, programs without their own ranges.
#
#   tests/gpu/modules_gpu.sh BUILD
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=${1:-build/gpu} P=tests/gpu/modules_gpu.py
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
failed=0
check() { # WORDS COMMAND…
	local what=$1
	shift
	if "$@"; then echo "ok $what"; else echo "not ok $what" && failed=1; fi
}
python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null || { echo "skip modules_gpu: no PyTorch with a GPU"; exit 0; }

# A program of ours without its own ranges.
bare() { # SCRIPT ARGS…
	printf 'import sys, runpy, torch\nclass range_:\n  def __init__(s, *a): pass\n  def __enter__(s): pass\n  def __exit__(s, *a): pass\ntorch.cuda.nvtx.range = range_\nsys.argv = sys.argv[1:]\nrunpy.run_path(sys.argv[0], run_name="__main__")\n' >"$T/bare.py"
	python3 "$T/bare.py" "$@"
}
for kind in ${TURNS-decode train}; do
	"$BUILD/sonde" run -q counters=off --modules=all -o "$T/turns_$kind" -- python3 $P turns $kind 2>&1 | grep turns || failed=1
	"$BUILD/sonde" run -q counters=off --modules -o "$T/auto_$kind" -- python3 $P turns $kind 2>&1 | grep -E 'turns|leaf modules' || failed=1
done
for mode in ${MODES:-default reduce-overhead}; do
	python3 $P compile $mode 2>&1 | grep ^compile >"$T/without"
	"$BUILD/sonde" run -q counters=off --modules -o "$T/compile_$mode" -- python3 $P compile $mode >"$T/with.all" 2>&1
	grep ^compile "$T/with.all" >"$T/with"
	check "compile $mode: traced, broken and compiled as without" diff "$T/without" "$T/with"
	cat "$T/with"
	sed -n '/^region/,/^$/p' "$T/with.all" | head -30
done
bare >/dev/null 2>&1
for w in "torch_decode.py --steps 100" "torch_train.py --steps 20" "torch_decode.py --steps 100 --graph"; do
	echo "== $w"
	# shellcheck disable=SC2086
	"$BUILD/sonde" run -q counters=off --modules=all -o "$T/bare" -- python3 "$T/bare.py" workloads/$w 2>&1 | grep -v '^sonde:' | head -45
	jq -c '{total: .coverage.launches_total, inside: .coverage.launches_attributed}' "$T/bare/report.json" 2>/dev/null || python3 -c 'import json,sys; c=json.load(open(sys.argv[1]))["coverage"]; print({k: v for k, v in c.items() if "launch" in k})' "$T/bare/report.json"
	rm -rf "$T/bare"
done
[ "$failed" = 0 ] && echo "modules_gpu: all ok"
exit $failed
