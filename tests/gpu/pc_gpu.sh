#!/usr/bin/env bash
# PC samples on a real GPU: stall shares and hottest places compared with ncu's, lines of Triton kernels, every kernel of a graph decode,
# counters and `sonde ctl` at the same time, contexts that are destroyed under load, and the cost of sampling (on and off in turn).
#
#   make gpu-programs                     on any machine; copy build/gpu to the one with the GPU
#   PARTS=agree tests/gpu/pc_gpu.sh build/gpu      on the machine with the GPU, ncu and PyTorch: each part takes less than 5 minutes
#
# Prints one `ok`, `not ok` or `skip` line per check, with figures behind `#`. $PARTS: which parts to run, of `agree graph together cost` (all);
# $COSTS: which loops of `cost` to run, of `gpu graph launch` (all); $KEEP: a folder for the runs.
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=${1:-build/gpu}
SONDE=$PWD/$BUILD/sonde
export PATH="$PATH:/usr/local/cuda/bin" LC_ALL=C.UTF-8
T=${KEEP:-$(mktemp -d)}
mkdir -p "$T"
PARTS=${PARTS:-agree graph together cost}
failed=0

if ! nvidia-smi -L >/dev/null 2>&1 || ! python3 -c 'import torch' 2>/dev/null; then
	echo "skip pc_gpu: no GPU, or no PyTorch here"
	exit 0
fi

wants() { [[ " $PARTS " == *" $1 "* ]]; }
check() { # NAME CHECK ARGUMENT…: one of pc_checks.py
	local name=$1
	shift
	if python3 tests/gpu/pc_checks.py "$@" >"$T/check" 2>&1; then echo "ok $name"; else
		echo "not ok $name"
		failed=$((failed + 1))
	fi
	sed 's/^/#   /' "$T/check"
}
says() { # NAME COMMAND…
	local name=$1
	shift
	if "$@" >"$T/check" 2>&1; then echo "ok $name"; else
		echo "not ok $name"
		failed=$((failed + 1))
		tail -5 "$T/check" | sed 's/^/#   /'
	fi
}
run() { # NAME KEYS… -- PROGRAM…: a run and its report
	local name=$1 begin=$SECONDS
	shift
	rm -rf "${T:?}/$name"
	timeout -k 5 "${LIMIT:-60}" "$SONDE" run -q -o "$T/$name" "$@" >"$T/$name.out" 2>"$T/$name.err" </dev/null || tail -5 "$T/$name.err" | sed 's/^/#   /'
	"$SONDE" report "$T/$name" -f json --metrics '*' >"$T/$name.json" 2>>"$T/$name.err"
	echo "# $name: $((SECONDS - begin)) s $(grep -h '^inner' "$T/$name.out")"
}

agree() {
	run inside counters=off --lines -- python3 tests/gpu/inside_gpu.py
	check "no sample of six kernels is lost" clean "$T/inside.json" 100000
	check "the top five lines of Triton kernels are the program's own, or called there" own "$T/inside.json" inside_gpu.py
	says "code of Triton kernels is kept" sh -c "ls '$T'/inside/native/cubins/*.cubin"
	if ! command -v ncu >/dev/null; then
		echo "skip stall shares are ncu's within 3 points: no ncu here"
		return
	fi
	ncu --nvtx --nvtx-include 'regex:.*/' --cache-control none --clock-control none --section SourceCounters --section SpeedOfLight \
		--import-source yes --metrics 'regex:smsp__pcsamp_warps_issue_stalled_.*,gpu__time_duration.sum' -f -o "$T/inside" \
		python3 tests/gpu/inside_gpu.py --once >"$T/ncu.log" 2>&1 || tail -3 "$T/ncu.log" | sed 's/^/#   /'
	"$SONDE" report "$T/inside.ncu-rep" -f json --metrics '*' >"$T/inside_ncu.json"
	for page in sass cuda; do
		ncu --import "$T/inside.ncu-rep" --page source --csv --print-source $page >"$T/$page.csv" 2>"$T/$page.err" ||
			tail -2 "$T/$page.err" | sed 's/^/#   /'
	done
	head -c 600 "$T/sass.csv" | head -3 | sed 's/^/#   /'
	check "stall shares of six kernels are ncu's within 3 points" agree "$T/inside.json" "$T/inside_ncu.json" 3
	check "the hottest instructions and lines are ncu's" hottest "$T/inside.json" "$T/sass.csv" "$T/cuda.csv"
}

graph() {
	run graph counters=off --lines -- python3 workloads/torch_decode.py --steps 6000 --graph
	run graph_off counters=off -- python3 workloads/torch_decode.py --steps 6000 --graph
	check "a graph decode of 6,000 replays loses no sample" clean "$T/graph.json" 1000
	check "its launches are all there, and kernels have samples" launches "$T/graph.json" "$T/graph_off.json"
	check "6,000 replays are there" has "$T/graph.json" "any(g['id'].endswith('decode/step') and g['instances'] == 6000 for g in r['aggregate']['regions'])"
}

# Sampling waits for ctl between windows; a program that is told to start and to stop, twice.
told() {
	rm -rf "$T/told"
	"$SONDE" run -q -o "$T/told" counters=off --lines --window ctl -- python3 workloads/torch_decode.py --seconds 12 >"$T/told.out" 2>"$T/told.err" </dev/null &
	local pid=$! i answered=0
	for i in $(seq 200); do # until it uses CUDA
		ls "$T"/told/native/*.sonde >/dev/null 2>&1 && break
		sleep 0.2
	done
	sleep 3
	for i in 1 2; do
		"$SONDE" ctl $pid start && sleep 1.5 && "$SONDE" ctl $pid stop && answered=$((answered + 1))
		sleep 0.5
	done
	wait $pid
	"$SONDE" report "$T/told" -f json >"$T/told.json"
	[ $answered = 2 ]
}

together() {
	run counters counters=basic --lines -- python3 workloads/torch_decode.py --steps 1500
	check "counters beside PC samples: both are there" has "$T/counters.json" \
		"r['pc_samples'][0]['samples'] > 0 and not r['losses'] and any(any('gpm__' in m for m in g.get('metrics', {})) for g in r['aggregate']['regions'])"
	grep -h 'counters of GPU' "$T/counters.err" | head -2 | sed 's/^/#   /'
	check "no sample is lost beside counters" clean "$T/counters.json"
	says "sonde ctl starts and stops beside PC samples" told
	check "what it asked for has samples" has "$T/told.json" "r['pc_samples'][0]['samples'] > 0 and not r['pc_samples'][0]['dropped']"
	run budget counters=off --lines pipeline.native.budget=2% -- python3 workloads/torch_decode.py --seconds 8
	check "windows of a budget have their samples" has "$T/budget.json" "r['pc_samples'][0]['samples'] > 0 and r['coverage']['launches_total'] > 100"
	if ! command -v nvcc >/dev/null || ! nvcc -O2 -lineinfo -o "$T/reset_program" tests/gpu/reset.cu >"$T/nvcc.log" 2>&1; then
		echo "skip cudaDeviceReset under load: nvcc cannot build it here"
		return
	fi
	run reset counters=off --lines -- "$T/reset_program" 5 2000
	says "cudaDeviceReset under load: the program ends as without" grep -qx 'reset done' "$T/reset.out"
	check "samples of five contexts, one after the other" has "$T/reset.json" \
		"r['pc_samples'][0]['samples'] > 0 and sum(k['calls'] for k in r['aggregate']['unattributed']['kernels']) == 10000"
	check "nvcc's lines are those of its source" has "$T/reset.json" \
		"all(l['file'].endswith('reset.cu') for k in r['aggregate']['unattributed']['kernels'] for l in k['stalls']['lines'][:3])"
}

cost() {
	local kind
	for kind in ${COSTS:-gpu graph launch}; do # each is a line `ok` or `not ok`
		bench/pc_cost.py "$BUILD" --only "$kind" || failed=$((failed + 1))
	done
}

for part in agree graph together cost; do
	if wants $part; then
		begin=$SECONDS
		$part
		echo "# $part: $((SECONDS - begin)) s"
	fi
done
[ "$failed" = 0 ]
