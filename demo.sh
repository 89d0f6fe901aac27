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
echo
echo "Read it:     $out/report.md"
echo "Parse it:    $out/report.json"
echo "Per region:  $out/*/"
