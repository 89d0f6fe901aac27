#!/usr/bin/env bash
# Installs what is missing, builds sonde, and shows it at work.
set -euo pipefail
cd "$(dirname "$0")"
scripts/install-deps build

build() { # WHAT TARGET…: with a line of progress
	local what=$1 nr
	shift
	nr=$(make -n --no-print-directory "$@" 2>/dev/null | grep -c ' -c ') || true
	[ -t 1 ] || echo "building $what: $nr files"
	make -j"$(nproc)" --no-print-directory "$@" | if [ -t 1 ]; then
		awk -v nr="$nr" -v what="$what" '/ -c / {printf "\rbuilding %s: %d of %d files", what, ++n, nr; fflush()} END {printf "\r\033[K"}'
	else
		cat >/dev/null
	fi
}
build sonde build/sonde # the first screen needs no more

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
[ -t 1 ] || say() { printf '\n%s\n' "$*"; }

out=build/demo
rm -rf "$out"
show() { # ARGS…: the command, then what it prints
	local word line='   $ sonde'
	for word; do
		case $word in *[!a-zA-Z0-9_./-]*) line+=" '$word'" ;; *) line+=" $word" ;; esac
	done
	printf '%s\n\n' "$line"
	build/sonde "$@"
}

say "1. PyTorch training steps on an H200, recorded with 'sonde run -- python3 train.py': each region's
   share of the GPU's time, and hardware counters that were sampled meanwhile (read here without a
   GPU or NVIDIA software):"
show report examples/h200_train --nvtx-exclude warmup
echo
build "what captures programs" all

say "2. A capture by Nsight Compute, of a transformer on the same GPU: exact counters of every kernel,
   rolled up by region:"
show report examples/h200_transformer.ncu-rep

say "3. Of that only the decode regions, only the matrix kernels:"
show report examples/h200_transformer.ncu-rep --nvtx-include 'decode*' --kernel-include 'regex:gemm|gemv|nvjet'

say "4. The same as files, checked:"
show report examples/h200_transformer.ncu-rep -o "$out"
show validate "$out/report.json"

# A capture of our own: the bundled workload, on the GPU where there is one.
program="build/workloads/resnet_cpu 20" where="no GPU here: a program with nested ranges and threads, its host times"
if command -v nvidia-smi >/dev/null && nvidia-smi -L 2>/dev/null | grep -q '^GPU' &&
	[ -x build/workloads/three_ranges ]; then
	program=build/workloads/three_ranges where="on this machine's GPU"
fi
if [ -e build/libsonde_inject.so ]; then
	say "5. A capture made right now, with sonde's own library
   ($where):"
	# shellcheck disable=SC2086
	show run -q -o "$out/run" -- $program
	say "6. The ranges it has, and the expression that selects each in Nsight Compute:"
	show regions "$out/run/native" 2>/dev/null
else
	say "5. No capture of our own: the NVTX headers (nvtx3/nvToolsExt.h) are not on this machine, so the
   library was not built."
fi

echo
echo "Look at it:  $out/report.html"
echo "Read it:     $out/report.md"
echo "Parse it:    $out/report.json"
echo "Per region:  $out/*/"
echo
echo "The program is build/sonde; 'make install' (PREFIX=\$HOME/.local, say) puts it into PATH."
echo "Next: build/sonde run -- YOUR PROGRAM"
