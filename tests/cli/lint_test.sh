#!/usr/bin/env bash
# The source passes clang-tidy (.clang-tidy), including the injected library.
# Runs long.
. "$(dirname "$0")/../lib.sh"
command -v clang-tidy >/dev/null || skip_all "clang-tidy is not installed"
ok lint__finds_nothing make -s --no-print-directory lint
