#!/usr/bin/env bash
# The cost of the injected library: nanoseconds per push/pop pair beyond those of a library with empty
# hooks, by number of threads, and with other work that uses the caches; bytes per range; how fast captures are read.
# The figures are medians of interleaved runs.
#
#   make && make tools && bench/native.sh [BUILD [REPETITIONS]]
set -eu
cd "$(dirname "$0")/.."
BUILD=${1:-build} reps=${2:-9}
TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT
mkdir "$TMP/out"
printf 'output=%s\n' "$TMP/out" >"$TMP/conf"
export SONDE_INJECT_CONFIG=$TMP/conf

with() { # LIBRARY PROGRAM ARGUMENT…
	rm -f "$TMP"/out/*
	NVTX_INJECTION64_PATH=$PWD/$BUILD/$1 "$BUILD/workloads/$2" "${@:3}"
}
compare() { # NAME PROGRAM ARGUMENT…: a row
	local e f
	: >"$TMP/empty" && : >"$TMP/full" && : >"$TMP/diff"
	for _ in $(seq "$reps"); do
		e=$(with libsonde_inject_empty.so "${@:2}")
		f=$(with libsonde_inject.so "${@:2}")
		echo "$e" >>"$TMP/empty" && echo "$f" >>"$TMP/full"
		awk "BEGIN {print $f - $e}" >>"$TMP/diff"
	done
	printf '%-12s %10.1f %10.1f %10.1f %10.1f\n' "$1" "$(median <"$TMP/empty")" "$(median <"$TMP/full")" \
		"$(median <"$TMP/diff")" "$(sort -n "$TMP/diff" | head -1)"
}
median() { sort -n | awk '{a[NR] = $1} END {print a[int((NR + 1) / 2)]}'; }

echo "push/pop pairs, ns each, median of $reps interleaved runs ($(nproc) processors)"
printf '%-12s %10s %10s %10s %10s\n' threads empty hooks difference least
for t in 1 2 16; do compare "$t" pairs $((1000000 / t)) "$t"; done
compare "1, cold" cold_pairs

with libsonde_inject.so pairs 5000000 1 >/dev/null
echo
echo "volume: $(($(cat "$TMP"/out/*.sonde | wc -c) * 100 / 5000000)) bytes per 100 ranges"
echo "reading 10000000 events:"
timed() {
	local start
	start=$(date +%s%N)
	"$@" || return
	echo "  $((($(date +%s%N) - start) / 1000000)) ms"
}
for _ in 1 2 3; do
	timed "$BUILD/tools/capture_dump" --count "$TMP"/out/*.sonde
done

quiet() { "$@" >/dev/null; }
fake() { # COUNT: kernels in one range, by a CUPTI of our own: two events each
	rm -f "$TMP"/out/*
	printf 'output=%s\ncupti=%s\n' "$TMP/out" "$PWD/$BUILD/fake/libcupti_fake.so" >"$TMP/conf"
	CUDA_INJECTION64_PATH=$PWD/$BUILD/libsonde_inject.so NVTX_INJECTION64_PATH=$PWD/$BUILD/libsonde_inject.so \
		"$BUILD/fake/fake_cuda" "$PWD/$BUILD/fake/libcupti_fake.so" "$1" >/dev/null
}
echo "sonde report, text, end to end (bar: 3 s for 10000000 events, linear):"
for n in 2500000 5000000; do
	with libsonde_inject.so pairs "$n" 1 >/dev/null
	printf '  %s events, all ranges:' $((2 * n))
	timed quiet "$BUILD/sonde" report "$TMP/out"
	[ -e "$BUILD/fake/fake_cuda" ] || continue
	fake "$n"
	printf '  %s events, all launches:' $((2 * n))
	timed quiet "$BUILD/sonde" report "$TMP/out"
done
