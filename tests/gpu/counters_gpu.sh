#!/usr/bin/env bash
# Compares sampled counters with Nsight Compute, in one go: an eager decode loop, the same loop as a CUDA graph, and training
# with backward. The counts of a region per step must agree, and those of single kernels; sampling must not change the
# duration of kernels. The tables are printed.
#
#   make gpu-programs                          on any machine; copy build/gpu to the one with the GPU
#   tests/gpu/counters_gpu.sh build/gpu        on the machine with the GPU, ncu and PyTorch (about 6 minutes)
#
# Prints one `ok`, `not ok` or `skip` line per check, with figures behind `#`. $KEEP: a folder for the runs; $OUT: a folder for one
# small archive per program, to copy back. $ROUNDS: runs with and without sampling (3). $PARTS: which parts to run, of
# `eager cost graph train` (all).
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=${1:-build/gpu}
SONDE=$PWD/$BUILD/sonde
export PATH="$PATH:/usr/local/cuda/bin" LC_ALL=C.UTF-8
T=${KEEP:-$(mktemp -d)}
mkdir -p "$T" ${OUT:+"$OUT"}
failed=0

if ! nvidia-smi -L >/dev/null 2>&1 || ! command -v ncu >/dev/null || ! python3 -c 'import torch' 2>/dev/null; then
	echo "skip counters_gpu: no GPU, no ncu or no PyTorch here"
	exit 0
fi

INST=sm__inst_executed.sum TENSOR=sm__pipe_tensor_cycles_active.sum FMA=sm__inst_executed_pipe_fma.sum
L2=lts__t_sectors.sum DRAM=dram__bytes_read.sum
OF_PEAK=pct_of_peak_sustained_elapsed
L2_PCT=lts__t_sectors.avg.$OF_PEAK TENSOR_PCT=sm__pipe_tensor_cycles_active.avg.$OF_PEAK
METRICS=gpu__time_duration.sum,$INST,$TENSOR,$FMA,$L2,$DRAM,$L2_PCT,$TENSOR_PCT,sm__cycles_elapsed.avg.per_second
METRICS=$METRICS,sm__cycles_active.sum,sm__warps_active.sum

sampled() { # NAME KEYS… -- PROGRAM…: a run, and its report
	local name=$1 begin=$SECONDS
	shift
	"$SONDE" run -q "hydra.run.dir=$T/$name" "$@" >"$T/$name.out" 2>"$T/$name.err" </dev/null ||
		tail -5 "$T/$name.err" | sed 's/^/#   /'
	"$SONDE" report "$T/$name/native" -f json --metrics '*' >"$T/$name.json" 2>>"$T/$name.err"
	echo "# $name: $((SECONDS - begin)) s, $(grep -h '^inner' "$T/$name.out")"
	grep -h "counters of GPU" "$T/$name.err" | sed 's/^/#   /'
	grep -o '"[^"]*sample[sd] [^"]*"' "$T/$name.json" | sort -u | sed 's/^/#   /'
}

truth() { # NAME NCU-OPTION… -- PROGRAM…
	local name=$1 options=() begin=$SECONDS
	shift
	while [ "$1" != -- ]; do options+=("$1") && shift; done
	shift
	ncu --nvtx "${options[@]}" --cache-control none --clock-control none --import-sass no --metrics "$METRICS" \
		-f -o "$T/$name" "$@" >"$T/$name.log" 2>&1 || tail -n 3 "$T/$name.log" | sed 's/^/#   /'
	"$SONDE" report "$T/$name.ncu-rep" -f json --metrics '*' >"$T/$name.json" 2>"$T/$name.err"
	echo "# $name: $((SECONDS - begin)) s under ncu"
}

home() { # PROGRAM TRUTH: the capture and ncu's report
	[ -z "${OUT:-}" ] || [ ! -d "$T/$1" ] || tar czf "$OUT/$1.tar.gz" -C "$T" "$1/native" "$2.ncu-rep" "$1.out" "$1.err"
}

check() { # NAME COMMAND…
	local name=$1 failure
	shift
	python3 "$@" >"$T/check" 2>&1
	failure=$?
	sed '/^#/!s/^/#   /' "$T/check"
	if [ $failure = 0 ]; then echo "ok $name"; else
		echo "not ok $name"
		failed=$((failed + 1))
	fi
}
agree() { # WHAT SAMPLED TRUTH BASE GLOB LIMITS
	check "$2: $1 count what ncu counts" tests/gpu/counters_agree.py "$1" "$T/$2.json" "$T/$3.json" "${@:4}"
}

CORE=$INST=5,$TENSOR=5,$FMA=5,$L2=10,$L2_PCT=10,$TENSOR_PCT=10
KERNEL=$INST=10,$TENSOR=10,$FMA=10,$L2=10
GRAPH=$INST=15,$TENSOR=15,$FMA=15,$L2=15,$L2_PCT=15,$TENSOR_PCT=15

does() { [[ " ${PARTS:-eager cost graph train} " == *" $1 "* ]]; }

eager() {
	local runs=() order side set i
	for ((i = 1; i <= ${ROUNDS:-3}; i++)); do # by turns which comes first: a GPU that warms up is nobody's advantage
		order=(with without)
		((i % 2)) || order=(without with)
		for side in "${order[@]}"; do
			set=basic
			[ "$side" != without ] || set=off
			sampled "$side$i" counters=$set -- python3 workloads/torch_decode.py --steps 3000
		done
		runs+=("$T/with$i" "$T/without$i")
	done
	agree regions with1 decode_ncu decode/step 'decode/step*' "$CORE,$DRAM=10"
	agree kernels with1 decode_ncu decode/step 'decode/step*' "$KERNEL,$DRAM=10"
	check "sampling changes no kernel" tests/gpu/counters_agree.py times decode/step "${runs[@]}"
	home with1 decode_ncu
	home with2 decode_ncu
}

graph() {
	sampled graph counters=basic counters.interval=20us counters.burst=20ms -- \
		python3 workloads/torch_decode.py --steps 15000 --graph
	agree regions graph decode_ncu decode/step 'decode/step*' "$GRAPH,$DRAM=15"
	home graph decode_ncu
}

# Backward runs on a thread without ranges: ncu's filter would leave it out, sonde adopts it.
train() {
	truth train_ncu -- python3 workloads/torch_train.py --steps 1 --warmup 1 --fused
	sampled train counters=basic -- python3 workloads/torch_train.py --steps 1200 --fused
	agree regions train train_ncu step 'step*' "$CORE"
	agree kernels train train_ncu step 'step*' "$KERNEL"
	home train train_ncu
	"$SONDE" report "$T/train/native" --width 190 2>/dev/null | sed -n '1,30p' | sed 's/^/#   /'
}

if does eager || does graph; then
	truth decode_ncu --nvtx-include decode/ -- python3 workloads/torch_decode.py --steps 2
fi
if does eager; then eager; fi
if does cost; then check "sampling does not slow the loop down" bench/sampling.py "$BUILD"; fi
if does graph; then graph; fi
if does train; then train; fi
echo "# $SECONDS s in all"
exit $((failed > 0))
