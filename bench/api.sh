#!/usr/bin/env bash
# The cost of recording the host's CUDA calls: a native capture with api=light (the default) compared with api=off.
# The limit is 1.02 ×. Takes less than a minute on an H200: 7 sets of 15 interleaved rounds.
#
#   make gpu-programs && bench/api.sh build/gpu [SETS [LOOP]]
set -eu
cd "$(dirname "$0")/.."
bench/overhead.py "${1:-build/gpu}" --sets "${2:-7}" --loop "${3:-modules}" --base native:api=off --only native |
	tee /dev/stderr | awk '$1 == "native" {print ($3 <= 1.02 ? "ok" : "not ok") " api=light costs " $3 " of api=off, range " $4 " (bar 1.02)"}'
