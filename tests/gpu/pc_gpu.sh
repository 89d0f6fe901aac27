#!/usr/bin/env bash
# PC samples on a real GPU: stall shares against ncu's (within 3 points for every reason of 5 % or more), every kernel of a graph
# decode sampled without loss, lines of a Triton program, and what sampling costs by turns.
#
#   make gpu-programs                     anywhere; build/gpu travels
#   tests/gpu/pc_gpu.sh build/gpu         on the machine with the GPU, ncu and PyTorch
#
# One `ok`, `not ok` or `skip` line per check, figures behind `#`. $KEEP: a folder for the runs; $ROUNDS: turns (5).
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=${1:-build/gpu}
SONDE=$PWD/$BUILD/sonde
export PATH="$PATH:/usr/local/cuda/bin" LC_ALL=C.UTF-8
T=${KEEP:-$(mktemp -d)}
mkdir -p "$T"
failed=0

if ! nvidia-smi -L >/dev/null 2>&1 || ! command -v ncu >/dev/null || ! python3 -c 'import torch' 2>/dev/null; then
	echo "skip pc_gpu: no GPU, no ncu or no PyTorch here"
	exit 0
fi

check() { # NAME COMMAND…
	local name=$1
	shift
	if "$@" >"$T/check" 2>&1; then echo "ok $name"; else
		echo "not ok $name"
		failed=$((failed + 1))
	fi
	sed 's/^/#   /' "$T/check"
}
run() { # NAME KEYS… -- PROGRAM…
	local name=$1
	shift
	rm -rf "$T/$name"
	"$SONDE" run -q -o "$T/$name" counters=off "$@" >"$T/$name.out" 2>"$T/$name.err" </dev/null || tail -5 "$T/$name.err" | sed 's/^/#   /'
	"$SONDE" report "$T/$name" -f json --metrics '*' >"$T/$name.json"
}
ask() { # NAME JQ
	jq -e "$2" "$T/$1.json"
}

run inside --lines -- python3 tests/gpu/inside_gpu.py
ncu --nvtx --nvtx-include 'regex:.*/' --cache-control none --clock-control none --section SourceCounters --section SpeedOfLight \
	--metrics 'regex:smsp__pcsamp_warps_issue_stalled_.*,gpu__time_duration.sum' -f -o "$T/inside" \
	python3 tests/gpu/inside_gpu.py --once >"$T/ncu.log" 2>&1 || tail -3 "$T/ncu.log" | sed 's/^/#   /'
"$SONDE" report "$T/inside.ncu-rep" -f json --metrics '*' >"$T/inside_ncu.json"
check "stall shares are ncu's within 3 points" python3 tests/gpu/pc_agree.py "$T/inside.json" "$T/inside_ncu.json" 3
check "no sample was lost" ask inside '.pc_samples[0] | .samples > 100000 and .dropped == 0 and .full_drains == 0'
check "code of Triton kernels is kept" sh -c "ls '$T'/inside/native/cubins/*.cubin"

run graph --lines -- python3 workloads/torch_decode.py --steps 6000 --graph
check "a graph decode of 6,000 replays loses no sample" ask graph '.pc_samples[0] | .samples > 0 and .dropped == 0 and .full_drains == 0'
check "all its kernels are there" ask graph '[.aggregate.regions[] | .kernels[] | select(.stalls == null and (.total_ms > 1))] | length == 0'

# By turns, so that a GPU that warms up is nobody's advantage.
turns() { # NAME LIMIT PROGRAM…
	local name=$1 limit=$2 i side key ratio
	shift 2
	: >"$T/$name.times"
	for ((i = 0; i < ${ROUNDS:-5}; i++)); do
		for side in off on; do
			key=$side
			((i % 2)) && { [ $side = off ] && key=on || key=off; }
			run turn pipeline.native.pc=$key -- "$@"
			echo "$key $(jq '.aggregate.regions | map(select(.depth == 0).wall_ms // .total_ms) | max' "$T/turn.json")" >>"$T/$name.times"
		done
	done
	ratio=$(awk '{n[$1]++; v[$1, n[$1]] = $2} END {for (i = 1; i <= n["on"]; i++) print v["on", i] / v["off", i]}' "$T/$name.times" |
		sort -n | awk '{a[NR] = $1} END {print a[int((NR + 1) / 2)]}')
	check "$name: sampling costs at most $limit (median of turns $ratio)" awk "BEGIN {exit !($ratio <= $limit)}"
}
turns gpu_bound 1.03 python3 workloads/torch_train.py --steps 300 --fused
turns graphs 1.03 python3 workloads/torch_decode.py --steps 6000 --graph
turns launch_bound 1.05 python3 workloads/torch_decode.py --steps 1500

[ "$failed" = 0 ]
