#!/usr/bin/env bash
# A million distinct instructions in PC samples of the stand-in for CUPTI: how large the capture is, how long a report of it
# takes and how much memory. No GPU.
#
#   make && make tools workloads && bench/stalls.sh [BUILD [THOUSANDS]]
set -eu
cd "$(dirname "$0")/.."
BUILD=${1:-build} thousands=${2:-1000}
TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT
mkdir "$TMP/out"
fake=$PWD/$BUILD/fake/libcupti_fake.so lib=$PWD/$BUILD/libsonde_inject.so
[ -e "$fake" ] || { echo "skip: built without CUPTI's headers"; exit; }
printf 'output=%s\ncupti=%s\npc=15\nbuffer_bytes=%d\n' "$TMP/out" "$fake" $((256 << 20)) >"$TMP/conf"
FAKE_PC_MANY=1000 SONDE_INJECT_CONFIG=$TMP/conf CUDA_INJECTION64_PATH=$lib NVTX_INJECTION64_PATH=$lib \
	/usr/bin/time -f 'program: %e s (%U s of a core), %M kB' "$BUILD/fake/fake_pc" "$fake" many "$thousands" >/dev/null
du -sb --apparent-size "$TMP/out" | awk '{printf "capture: %.1f MB\n", $1 / 1e6}'
for format in text json; do
	/usr/bin/time -f "report --format $format: %e s (%U s of a core), %M kB" "$BUILD/sonde" report "$TMP/out" --format "$format" >"$TMP/report.$format"
done
jq -c '.pc_samples[0]' "$TMP/report.json"
/usr/bin/time -f 'partial report: %e s (%U s of a core), %M kB' "$BUILD/sonde" report "$TMP/out" --partial -o "$TMP/x.sondecells" >/dev/null
du -sb --apparent-size "$TMP/x.sondecells" | awk '{printf "partial report: %.1f MB\n", $1 / 1e6}'
