#!/usr/bin/env bash
# Measures the HTML report of 2,000 regions with 20 kernels each, and of a timeline of a million events, in
# headless Chromium: size, first paint compared with an empty page, and every interaction.
#
#   bench/html.sh [REGIONS [KERNELS]]        files are made under build/bench/ and removed
set -eu
cd "$(dirname "$0")/.."
regions=${1:-2000} kernels=${2:-20} dir=build/bench
export PYTHONDONTWRITEBYTECODE=1
mkdir -p "$dir/html"
trap 'rm -rf "$dir/html"' EXIT

python3 tests/browser/make_csv.py big "$regions" "$kernels" >"$dir/html/big.csv"
build/sonde report -f html -o "$dir/html/big.html" "$dir/html/big.csv"
echo '<!doctype html><title>empty</title><p>empty' >"$dir/html/empty.html"
if [ -e build/libsonde_inject.so ]; then
	mkdir -p "$dir/html/capture" && echo "output=$PWD/$dir/html/capture" >"$dir/html/inject.conf"
	SONDE_INJECT_CONFIG=$dir/html/inject.conf NVTX_INJECTION64_PATH=$PWD/build/libsonde_inject.so build/workloads/pairs 1000000 >/dev/null
	build/sonde report -f html -o "$dir/html/long.html" "$dir/html/capture"
fi
python3 bench/html.py "$PWD/$dir/html" "$regions" "$kernels"
echo
echo "made by: bench/html.sh $regions $kernels"
