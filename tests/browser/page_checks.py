"""Checks the HTML page in a real browser; prints one line `ok NAME` or `not ok NAME` per test.

    page_checks.py FOLDER [WORD…]    FOLDER/NAME.html and FOLDER/NAME.json for every capture
"""
import sys
import traceback

import diff_checks
import figure_checks
import time_checks
import use_checks
import view_checks

failed = False


def test(f):
    global failed
    name = f.__name__.replace("_", " ")
    try:
        why = f()
        print("skip " + name + ": " + why if why else "ok " + name)
    except Exception:
        failed = True
        traceback.print_exc(file=sys.stdout)
        print("not ok", name)


words = sys.argv[2:]  # of the names of checks; none = all of them
for module in (figure_checks, use_checks, view_checks, time_checks, diff_checks):
    for check in [f for f in vars(module).values() if callable(f) and f.__module__ == module.__name__]:
        if not words or any(w in check.__name__ for w in words):
            test(check)
sys.exit(failed)
