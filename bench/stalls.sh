#!/usr/bin/env bash
# PC samples of a million distinct instructions from the fake CUPTI: the size of the capture, and the time and memory of a
# report. No GPU. Fails if a report of at most a million instructions takes more than 3 s or 200 MB.
#
#   make && make tools workloads && bench/stalls.sh [BUILD [THOUSANDS]]
set -eu
cd "$(dirname "$0")/.."
BUILD=${1:-build} thousands=${2:-1000}
TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT
mkdir "$TMP/out"
fake=$PWD/$BUILD/fake/libcupti_fake.so lib=$PWD/$BUILD/libsonde_inject.so failed=0
[ -e "$fake" ] || { echo "skip: built without CUPTI's headers"; exit; }
timed() { # NAME COMMAND…: says what it takes
	/usr/bin/time -o "$TMP/time" -f '%e %U %M' "${@:2}"
	awk -v name="$1" '{printf "%s: %s s (%s s of a core), %d MB\n", name, $1, $2, $3 / 1000}' "$TMP/time"
}
bounded() { # … and whether that is little enough
	timed "$@"
	[ "$thousands" -gt 1000 ] || awk '{exit !($1 <= 3 && $3 <= 200000)}' "$TMP/time" || { echo "not ok $1: more than 3 s or 200 MB"; failed=1; }
}
printf 'output=%s\ncupti=%s\npc=15\nbuffer_bytes=%d\n' "$TMP/out" "$fake" $((256 << 20)) >"$TMP/conf"
FAKE_PC_MANY=1000 SONDE_INJECT_CONFIG=$TMP/conf CUDA_INJECTION64_PATH=$lib NVTX_INJECTION64_PATH=$lib \
	timed program "$BUILD/fake/fake_pc" "$fake" many "$thousands" | grep -v done
du -sb --apparent-size "$TMP/out" | awk '{printf "capture: %.1f MB\n", $1 / 1e6}'
for format in text json html; do
	bounded "report --format $format" "$BUILD/sonde" report "$TMP/out" --format "$format" -o "$TMP/report.$format"
done
python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["pc_samples"][0])' "$TMP/report.json"
bounded "partial report" "$BUILD/sonde" report "$TMP/out" --partial -o "$TMP/x.sondecells"
du -sb --apparent-size "$TMP/x.sondecells" | awk '{printf "partial report: %.1f MB\n", $1 / 1e6}'
exit $failed
