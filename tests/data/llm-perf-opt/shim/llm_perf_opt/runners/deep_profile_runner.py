"""Stands in for llm-perf-opt's runner: `sonde run` with the same overrides, around $SHIM_PROGRAM where that is set."""
import os
import shlex
import sys

program = shlex.split(os.environ.get("SHIM_PROGRAM", ""))
os.execvp(os.environ["SONDE"], ["sonde", "run", *sys.argv[1:], *(["--", *program] if program else [])])
