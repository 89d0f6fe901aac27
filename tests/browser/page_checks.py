"""The HTML page in a real browser: one line `ok NAME` or `not ok NAME` per test.

    page_checks.py FOLDER    FOLDER/NAME.html and FOLDER/NAME.json for every capture
"""
import sys
import traceback

import figure_checks
import use_checks

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


for module in (figure_checks, use_checks):
    for check in [f for f in vars(module).values() if callable(f) and f.__module__ == module.__name__]:
        test(check)
sys.exit(failed)
