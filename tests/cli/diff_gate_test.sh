#!/usr/bin/env bash
# The gate of `sonde diff` against a second implementation of its rules, which knows nothing of the first.
. "$(dirname "$0")/../lib.sh"
gate() { PYTHONDONTWRITEBYTECODE=1 python3 tests/cli/diff_gate.py 60 7; }
ok "exit status, JSON, JUnit and text of a gate are what its rules come to" gate
