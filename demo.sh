#!/usr/bin/env bash
# Installs what is missing, builds sonde, and shows it at work.
set -eu
cd "$(dirname "$0")"
scripts/install-deps build
make -j"$(nproc)" --no-print-directory -s

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
[ -t 1 ] || say() { printf '\n%s\n' "$*"; }

out=build/demo
rm -rf "$out"
say "1. A real capture of a PyTorch transformer on an H200, read without a GPU or NVIDIA software:"
echo "   \$ sonde report examples/h200_transformer.ncu-rep"
echo
build/sonde report examples/h200_transformer.ncu-rep

say "2. Only the decode regions, only the matrix kernels:"
echo "   \$ sonde report examples/h200_transformer.ncu-rep --nvtx-include 'decode*' --kernel-include 'regex:gemm|gemv|nvjet'"
echo
build/sonde report examples/h200_transformer.ncu-rep --nvtx-include 'decode*' --kernel-include 'regex:gemm|gemv|nvjet'

say "3. The same as files, checked:"
build/sonde report examples/h200_transformer.ncu-rep -o "$out"
build/sonde validate "$out/report.json"

# A capture of our own: the bundled workload, on the GPU where there is one.
program="build/workloads/resnet_cpu 20" where="no GPU here: a program with nested ranges and threads, its host times"
if command -v nvidia-smi >/dev/null && nvidia-smi -L 2>/dev/null | grep -q '^GPU' &&
	[ -x build/workloads/three_ranges ]; then
	program=build/workloads/three_ranges where="on this machine's GPU"
fi
if [ -e build/libsonde_inject.so ]; then
	say "4. A capture made right now, with sonde's own library ($where):"
	echo "   \$ sonde run -- $program"
	echo
	# shellcheck disable=SC2086
	build/sonde run -q "hydra.run.dir=$out/run" -- $program
	say "5. The ranges it has, and the expression that selects each in Nsight Compute:"
	echo "   \$ sonde regions $out/run/native"
	echo
	build/sonde regions "$out/run/native" 2>/dev/null
else
	say "4. No capture of our own: the NVTX headers (nvtx3/nvToolsExt.h) are not on this machine, so the library was not built."
fi

echo
echo "Read it:     $out/report.md"
echo "Parse it:    $out/report.json"
echo "Per region:  $out/*/"
