#!/usr/bin/env bash
# The HTML report in a real browser: every bundled capture, a hostile one and one with timestamps.
# Runs long.
. "$(dirname "$0")/../lib.sh"
pages=$TMP/pages
browser=
for b in chromium chromium-browser google-chrome chrome; do
	command -v $b >/dev/null && browser=$b && break
done
[ -n "$browser" ] || skip_all "no Chromium here (scripts/install-deps test installs it where there is one)"
is_snap() { [ "$(basename "$(readlink -f "$1")")" = snap ] || head -c 4000 "$1" | grep -qa '/snap/bin/'; }
! is_snap "$(command -v "$browser")" || skip_all "Chromium is a snap here, which cannot open pages in $TMP"
command -v python3 >/dev/null || skip_all "no python3 to drive it with"

mkdir -p "$pages"
page() { # NAME INPUT: NAME.html and the NAME.json it is compared with
	"$SONDE" report --deterministic -f html -o "$pages/$1.html" "$2" &&
		"$SONDE" report --deterministic -f json "$2" >"$pages/$1.json"
}
page train tests/data/kineto/h200_train.json.gz || exit 1
page serial tests/data/kineto/nccl_cut.json.gz || exit 1
page sampled tests/data/sampled_capture || exit 1
page run examples/h200_train || exit 1
for f in tests/data/ncu/*.ncu-rep examples/*.ncu-rep; do
	page "$(basename "$f" .ncu-rep)" "$f" || exit 1
done
if [ -x "$BUILD/tools/ranks_make" ]; then
	"$BUILD/tools/ranks_make" "$TMP/ranks" slow_rank=3 && page ranks "$TMP/ranks" || exit 1
	"$BUILD/tools/ranks_make" "$TMP/ranks64" ranks=64 per_host=8 steps=6 layers=8 slow_rank=13 spread=2 && page ranks64 "$TMP/ranks64" || exit 1
fi
PYTHONDONTWRITEBYTECODE=1 python3 tests/browser/make_csv.py hostile >"$TMP/hostile.csv" && page hostile "$TMP/hostile.csv" || exit 1
if [ -e "$BUILD/libsonde_inject.so" ]; then
	mkdir -p "$TMP/capture" && echo "output=$TMP/capture" >"$TMP/inject.conf"
	SONDE_INJECT_CONFIG=$TMP/inject.conf NVTX_INJECTION64_PATH=$PWD/$BUILD/libsonde_inject.so "$BUILD/workloads/resnet_cpu" 5 >/dev/null
	page native "$TMP/capture" || exit 1
fi
if [ -e "$BUILD/fake/fake_cuda" ]; then
	mkdir -p "$TMP/gpu" && printf 'output=%s\ncupti=%s\n' "$TMP/gpu" "$PWD/$BUILD/fake/libcupti_fake.so" >"$TMP/gpu.conf"
	SONDE_INJECT_CONFIG=$TMP/gpu.conf NVTX_INJECTION64_PATH=$PWD/$BUILD/libsonde_inject.so CUDA_INJECTION64_PATH=$PWD/$BUILD/libsonde_inject.so \
		"$BUILD/fake/fake_cuda" "$PWD/$BUILD/fake/libcupti_fake.so" >/dev/null
	page gpu "$TMP/gpu" || exit 1
	mkdir -p "$TMP/lines" && printf 'output=%s\ncupti=%s\npc=15\ncubin_bytes=100000000\n' "$TMP/lines" "$PWD/$BUILD/fake/libcupti_fake.so" >"$TMP/lines.conf"
	FAKE_PC_BARRIER=0x90 SONDE_INJECT_CONFIG=$TMP/lines.conf NVTX_INJECTION64_PATH=$PWD/$BUILD/libsonde_inject.so CUDA_INJECTION64_PATH=$PWD/$BUILD/libsonde_inject.so \
		"$BUILD/fake/fake_pc" "$PWD/$BUILD/fake/libcupti_fake.so" code tests/data/cubin/nested.cubin first >/dev/null
	page lines "$TMP/lines" || exit 1
fi
mkdir -p "$pages/diff"
compared() { # NAME BASE NEW: two sides, beside the JSON they are compared with
	"$SONDE" diff "$2" "$3" -f html -o "$pages/diff/$1.html" && "$SONDE" diff "$2" "$3" -f json -o "$pages/diff/$1.json"
}
for pair in graph:eager.sonde.gz:graph.sonde.gz fused:eager.sonde.gz:fused.sonde.gz slow_start:train.sonde.gz:fused.sonde.gz entries:n5_a.json.gz:n5_b.json.gz; do
	IFS=: read -r name base new <<<"$pair"
	compared "$name" "tests/data/diff/$base" "tests/data/diff/$new" || exit 1
done
PYTHONDONTWRITEBYTECODE=1 python3 tests/browser/page_checks.py "$pages"
