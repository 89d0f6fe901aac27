#!/usr/bin/env bash
# Ctrl-Z, bg and fg of `sonde run` on a terminal of its own.
set -u
cd "$(dirname "$0")/../.." || exit 1
unset OMPI_COMM_WORLD_RANK PMI_RANK SLURM_PROCID RANK
if ! python3 -c 'import pty; pty.openpty()' 2>/dev/null; then
	echo "skip background_leaves_the_terminal_to_the_shell: no python3, or no terminals to open"
	exit 0
fi
exec timeout 120 python3 tests/cli/job_control.py "$SONDE" "$TMP"
