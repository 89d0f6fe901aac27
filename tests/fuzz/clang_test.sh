#!/usr/bin/env bash
# Everything also compiles with clang, without a warning; the fuzz targets use the same build.
# Runs long.
. "$(dirname "$0")/../lib.sh"
command -v clang >/dev/null || skip_all "clang is not installed"
ok clang__compiles_everything_without_a_warning one_make fuzz -s -j"$(nproc)" clang
