#!/usr/bin/env bash
# Findings on a real GPU: ten PyTorch programs with a planted problem each (planted_gpu.py), and each reason for which
# workloads/idle.cu keeps a GPU idle, with its region chosen as the step. The first finding must name the problem and its place. About
# two minutes.
#
#   make gpu-programs                       on any machine; copy build/gpu to the one with the GPU
#   tests/gpu/findings_gpu.sh build/gpu     on the machine with the GPU
#   tests/gpu/findings_gpu.sh BUILD NAME…   these programs only; `idle` is workloads/idle.cu
#
# Prints one `ok`, `not ok` or `skip` line per program, and the wrong finding behind `#`. $KEEP: a folder for the runs; $OVERRIDES: words for
# `sonde run`; $IDLE: a program in place of workloads/idle.cu.
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=${1:-build/gpu}
[ $# = 0 ] || shift
SONDE=${SONDE:-$PWD/$BUILD/sonde}
export LC_ALL=C.UTF-8
T=${KEEP:-$(mktemp -d)}
mkdir -p "$T"
IDLE=${IDLE:-$PWD/$BUILD/workloads/idle}
failed=0

if [ "$IDLE" = "$PWD/$BUILD/workloads/idle" ] && ! nvidia-smi -L >/dev/null 2>&1; then
	echo "skip findings_gpu: no GPU here"
	exit 0
fi
is_asked() { # NAME, of WORDS: all where there are none
	local name=$1 word
	shift
	for word; do [ "$word" != "$name" ] || return 0; done
	[ $# = 0 ]
}
capture() { # NAME COMMAND…: in $T/NAME
	local name=$1
	shift
	# shellcheck disable=SC2086
	"$SONDE" run -q counters=off ${OVERRIDES:-} "hydra.run.dir=$T/$name" -- "$@" >"$T/$name.out" 2>"$T/$name.err" </dev/null
}
judge() { # NAME RUN CAUSES REGIONS [WORDS for the report]
	local name=$1 run=$2 causes=$3 where=$4
	shift 4
	if "$SONDE" report "$run" "$@" -f json >"$T/$name.json" 2>"$T/$name.err" && "$SONDE" validate "$T/$name.json" >/dev/null 2>>"$T/$name.err" &&
		python3 tests/cli/planted_first.py "$T/$name.json" "$causes" "$where" >"$T/$name.said" 2>>"$T/$name.err"; then
		echo "ok findings: $name is $causes at $where"
	else
		echo "not ok findings: $name is $causes at $where"
		failed=1
		sed 's/^/#   /' "$T/$name.said" "$T/$name.err" 2>/dev/null | tail -6
	fi
	python3 - "$T/$name.json" <<'END' 2>/dev/null
import json, sys
for f in json.load(open(sys.argv[1]))["findings"][:3]:
    gain, cost = f["gain"], f["cost"]
    known = "gain not known" if gain["step_ms"] is None else "gain %.3f (%.3f to %.3f) ms" % (gain["step_ms"], gain["low_ms"], gain["high_ms"])
    print("#   %-16s %-24s %8.3f ms (%2.0f%%), %s" % (f["cause"], f["where"], cost["step_ms"] or cost["run_ms"], cost["share_pct"], known))
END
}

if is_asked idle "$@"; then
	if [ ! -x "${IDLE%% *}" ]; then
		echo "skip findings of idle: $BUILD has no program for this GPU"
	# shellcheck disable=SC2086
	elif capture idle $IDLE; then
		# Each region by itself: beside it the others would be findings too. Right is what most of it was by the program's own clock (a
		# processor that others use too makes the host's part of `launch` the larger one); its blocking copies are small and several.
		for region in launch sync copy alloc host queued tail comm; do
			causes=$(awk -v r="$region" '$1 == "did" && $2 == r && $3 != "comm" && $4 > most { most = $4; field = $3 } END { print field }' "$T/idle.out")
			[ "$causes" != copy ] || causes='copy|small_copies'
			judge "$region" "$T/idle/native" "$causes" "$region" "report.nvtx.include=[$region]" "report.step=$region"
		done
	else
		echo "not ok findings: the program is captured: idle"
		failed=1
		tail -3 "$T/idle.err" | sed 's/^/#   /'
	fi
fi

if ! python3 -c 'import torch; torch.zeros(1, device="cuda")' >/dev/null 2>&1; then
	echo "skip findings of PyTorch programs: PyTorch has no GPU here"
	exit $failed
fi
while IFS=$'\t' read -r name causes where; do
	is_asked "$name" "$@" || continue
	if capture "$name" python3 tests/gpu/planted_gpu.py "$name"; then
		judge "$name" "$T/$name" "$causes" "$where"
	else
		echo "not ok findings: the program is captured: $name"
		failed=1
		tail -3 "$T/$name.err" | sed 's/^/#   /'
	fi
done < <(python3 tests/gpu/planted_gpu.py --list)
exit $failed
