#!/usr/bin/env bash
# bench/whatif_time.sh BUILD [STEPS]: measures `sonde whatif` on a capture of STEPS · 100 launches (default 10,000 steps: a million
# launches) that is made with the fake CUPTI: CPU seconds and peak memory for one change, for the list of the largest gains, and, for
# comparison, for a report.
set -eu
cd "$(dirname "$0")/.."
build=$PWD/${1:-build} steps=${2:-10000} dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/out"
printf 'output=%s\ncupti=%s\nbuffer_bytes=268435456\n' "$dir/out" "$build/fake/libcupti_fake.so" >"$dir/conf"
env CUDA_INJECTION64_PATH="$build/libsonde_inject.so" NVTX_INJECTION64_PATH="$build/libsonde_inject.so" SONDE_INJECT_CONFIG="$dir/conf" \
	"$build/fake/fake_loop" "$build/fake/libcupti_fake.so" "$steps" 100 >/dev/null
timed() { # NAME COMMAND…
	local name=$1
	shift
	/usr/bin/time -f "$name: %U s of a core, %e s, %M KB" "$@" >/dev/null 2>"$dir/time" && tail -1 "$dir/time"
}
timed "one change" "$build/sonde" whatif "$dir/out" graph:layer
timed "the list" "$build/sonde" whatif "$dir/out"
timed "a report" "$build/sonde" report "$dir/out"
