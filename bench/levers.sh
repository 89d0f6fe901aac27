#!/usr/bin/env bash
# What each way of having CUPTI work for less gives, beside the plain run, all in one go: run it on the
# GPU, keep what pays (the defaults stand in src/inject/setup.c). Also what api=light and memory=on cost.
#
#   make gpu-programs && bench/levers.sh build/gpu [SETS [LOOP]]
#
# Every variant is a process with a CUDA context of its own: about 0.5 GB of GPU memory each.
set -eu
cd "$(dirname "$0")/.."
BUILD=${1:-build/gpu} sets=${2:-7} loop=${3:-bare}
all=lever.zeroed=on+lever.overhead=off+lever.buffer_kb=1024+lever.device_buffers=8
exec bench/overhead.py "$BUILD" --loop "$loop" --sets "$sets" --only "$(
	printf '%s,' empty kernels native \
		native:lever.zeroed=on \
		native:lever.overhead=off \
		native:lever.buffer_kb=1024 \
		native:lever.buffer_kb=8192+lever.zeroed=on \
		native:lever.device_buffers=8 \
		native:lever.device_buffer_kb=16384+lever.device_buffers=4 \
		native:"$all" \
		native:api=off
	printf native:memory=on
)"
