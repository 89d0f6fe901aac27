#!/usr/bin/env bash
# Long captures with the fake CUPTI, capture.rotate and capture.keep: a loop of about 10^5 launches per second (PAUSE_US between
# steps of ten launches), for LAUNCHES launches; an hour has 360000000. At ten points it prints the memory of the program with the
# library, that of sonde with the process that folds, and the size of the captures on disk; at the end the number of launches made and
# of launches reported, which must be the same.
#
#   bench/hour.sh [BUILD [LAUNCHES [ROTATE [KEEP]]]]      (build, 360000000, 16MB, 2)
set -eu
cd "$(dirname "$0")/.."
BUILD=${1:-build} LAUNCHES=${2:-360000000} ROTATE=${3:-16MB} KEEP=${4:-2}
FAKE=$PWD/$BUILD/fake/libcupti_fake.so
STEPS=$((LAUNCHES / 10)) # nine kernels in `layer`, one behind it
TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT

rss() { # PROCESS…: MB in memory
	local pid kb sum=0
	for pid in "$@"; do
		kb=$(awk '/^VmRSS/ { print $2 }' "/proc/$pid/status" 2>/dev/null || true)
		sum=$((sum + ${kb:-0}))
	done
	echo $((sum / 1024))
}
children() { pgrep -P "$1" -x "$2" || true; }

"$BUILD/sonde" run hydra.run.dir="$TMP/run" capture.rotate="$ROTATE" capture.keep="$KEEP" pipeline.native.cupti="$FAKE" -- \
	"$BUILD/fake/fake_loop" "$FAKE" "$STEPS" 9 "${PAUSE_US:-30}" >"$TMP/said" 2>&1 &
run=$!
start=$(date +%s) most=0 next=0 step=$((LAUNCHES / 1000000 + 1))
echo "seconds  program MB  sonde MB  files  captures MB"
while kill -0 "$run" 2>/dev/null; do
	sleep 1
	now=$(($(date +%s) - start))
	size=$(du -sm "$TMP/run/native" 2>/dev/null | cut -f1 || true)
	most=$((${size:-0} > most ? size : most))
	loop=$(children "$run" fake_loop | head -1)
	[ -n "$loop" ] && [ "$now" -ge "$next" ] || continue
	next=$((next + step))
	printf '%7d  %10d  %8d  %5d  %11d\n' "$now" "$(rss "$loop")" "$(rss "$run" $(children "$run" sonde))" \
		"$(ls "$TMP/run/native" 2>/dev/null | grep -c '\.sonde' || true)" "${size:-0}"
done
wait "$run" || {
	cat "$TMP/said"
	exit 1
}
"$BUILD/sonde" report "$TMP/run" -f json >"$TMP/r.json"
python3 - "$TMP/r.json" "$((STEPS * 10))" "$most" "$(($(date +%s) - start))" <<'P'
import json, sys
r = json.load(open(sys.argv[1]))
made, told = int(sys.argv[2]), r["coverage"]["launches_total"]
print("launches made %d, told %d; at most %s MB of captures; %s s in all" % (made, told, sys.argv[3], sys.argv[4]))
print(*r["notes"], sep="\n")
sys.exit(made != told)
P
