#!/usr/bin/env bash
# What each part of CUPTI costs, and what each way of having it work for less gives, beside the plain run, all
# in one go: run it on the GPU, keep what pays (the defaults stand in src/inject/setup.c).
#
#   make gpu-programs && bench/levers.sh build/gpu [SETS [LOOP]]
#
# Every variant is a process with a CUDA context of its own: about 0.5 GB of GPU memory each.
set -eu
cd "$(dirname "$0")/.."
BUILD=${1:-build/gpu} sets=${2:-7} loop=${3:-bare}
exec bench/overhead.py "$BUILD" --loop "$loop" --sets "$sets" --only "$(
	printf '%s,' empty \
		cupti:{subscribe,driver,runtime,resource,kernels,kernels+zeroed,kernels+pinned,kernels+zeroed+device} \
		cupti:kernels+{driver,runtime,calls,external,copies+overhead,hardware} \
		cupti:{kernels+tenth,kernels+driver+tenth,kernels+driver+tenth+counted} \
		native:{lever.zeroed=on,lever.overhead=off,lever.buffer_kb=8192+lever.zeroed=on,collect_ms=2000,api=off} \
		native:budget_ppm=20000{,+lever.count=off}
	printf native
)"
