#!/usr/bin/env bash
# Attaches to a running loop have the same figures as the whole run: the shares of its regions, and the hardware counters in them (SM
# active, tensor and DRAM %), within 2 points. An eager loop, and the same loop as a CUDA graph. About two minutes.
#
#   make gpu-programs                      on any machine; copy build/gpu to the one with the GPU
#   tests/gpu/attach_gpu.sh build/gpu      on the machine with the GPU
#   tests/gpu/attach_gpu.sh BUILD COMMAND… another program, which runs until SIGTERM
#
# Prints one `ok` or `not ok` line, figures behind `#`, and figures that differ behind `#!`. $KEEP: a folder for the runs; $OVERRIDES: words
# for both runs; $WHOLE: seconds of the whole run (12); $FOR: length of an attach (5s); $WARM: seconds before the first one (4); $PARTS: which
# parts to run, of `eager graph`.
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=${1:-build/gpu}
shift
SONDE=${SONDE:-$PWD/$BUILD/sonde}
export LC_ALL=C.UTF-8
T=${KEEP:-$(mktemp -d)}
mkdir -p "$T"
if [ $# = 0 ] && ! nvidia-smi -L >/dev/null 2>&1; then
	echo "skip attach_gpu: no GPU here"
	exit 0
fi
counters=yes
case " ${OVERRIDES:-} " in *" counters=off "*) counters=no ;; esac
good=0 all=0

tally() { # LINE: NR of ALL
	good=$((good + ${1%% *})) all=$((all + ${1##* }))
}
attaches() { # PART COMMAND…: the whole run, then two attaches to a program that slept
	local part=$1 dir=$T/$1 pid i
	shift
	mkdir -p "$dir"
	# shellcheck disable=SC2086
	"$SONDE" run -q ${OVERRIDES:-} -o "$dir/whole" -- timeout -s TERM "${WHOLE:-12}" "$@" >"$dir/out" 2>"$dir/err" </dev/null
	(eval "$("$SONDE" env)" && exec "$@" >"$dir/asleep.out" 2>&1 </dev/null) &
	pid=$!
	for _ in $(seq 300); do
		"$SONDE" attach 2>/dev/null | grep -q "^ *$pid " && break
		sleep 0.1
	done
	sleep "${WARM:-4}" # the first steps are others
	for i in 1 2; do
		# shellcheck disable=SC2086
		"$SONDE" attach $pid -q --for "${FOR:-5s}" ${OVERRIDES:-} -o "$dir/attach$i" >>"$dir/out" 2>>"$dir/err" || tail -5 "$dir/err" | sed 's/^/#   /'
		python3 tests/gpu/attach_agree.py "$dir/whole/report.json" "$dir/attach$i/report.json" "$part $i" $counters >"$dir/figures$i" 2>>"$dir/err" || echo "0 of 1" >>"$dir/figures$i"
		sed '$d' "$dir/figures$i"
		tally "$(tail -1 "$dir/figures$i")"
	done
	kill $pid
	wait $pid
	case $? in 0 | 143) ;; *) tally "0 of 1" && echo "#! $part: the program did not end as it should: $(tail -1 "$dir/asleep.out")" ;; esac
}

if [ $# -gt 0 ]; then
	attaches program "$@"
else
	for part in ${PARTS:-eager graph}; do
		# shellcheck disable=SC2046
		attaches "$part" python3 workloads/torch_decode.py --seconds 90 $([ "$part" = eager ] || echo --graph)
	done
fi
verdict=ok
[ "$good" = "$all" ] && [ "$all" -gt 0 ] || verdict="not ok"
echo "$verdict an attach has the figures of the whole run # $good of $all within 2 points"
[ "$verdict" = ok ]
