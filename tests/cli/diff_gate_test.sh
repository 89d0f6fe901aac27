#!/usr/bin/env bash
# Compares the gate of `sonde diff` with a second, independent implementation of its rules.
. "$(dirname "$0")/../lib.sh"
gate() { PYTHONDONTWRITEBYTECODE=1 python3 tests/cli/diff_gate.py 60 7; }
ok "exit status, JSON, JUnit and text of a gate are what its rules come to" gate
