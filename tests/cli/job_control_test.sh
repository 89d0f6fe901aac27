#!/usr/bin/env bash
# Ctrl-Z, bg and fg of `sonde run`, on a pseudo-terminal.
# Mostly waits.
. "$(dirname "$0")/../lib.sh"
python3 -c 'import pty; pty.openpty()' 2>/dev/null || skip_all "no python3, or no terminals to open"
timeout 900 python3 tests/cli/job_control.py "$SONDE" "$TMP"
