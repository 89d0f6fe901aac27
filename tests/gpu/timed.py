#!/usr/bin/env python3
"""Runs a Python program and adds `SECONDS CPU_SECONDS` to a file: of its loop, which it prints itself, and of the process.

    timed.py FILE PROGRAM ARGUMENT…
"""
import contextlib
import io
import re
import resource
import runpy
import sys

to, sys.argv = sys.argv[1], sys.argv[2:]
out = io.StringIO()
with contextlib.redirect_stdout(out):
    runpy.run_path(sys.argv[0], run_name="__main__")
print(out.getvalue(), end="")
used = resource.getrusage(resource.RUSAGE_SELF)
with open(to, "a") as f:
    print(re.search(r"inner ([0-9.]+) s", out.getvalue()).group(1), used.ru_utime + used.ru_stime, file=f)
