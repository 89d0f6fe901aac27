#!/usr/bin/env bash
# Installs what is missing, builds with sanitizers, runs every test.
# The last line is `N passed, N failed` (`, N skipped` may follow).
set -eu
cd "$(dirname "$0")"
scripts/install-deps test
exec make -j"$(nproc)" --no-print-directory -s test
