"""Shared by the checks of the HTML page: the page of a capture, its report.json, and functions that compare the two."""
import json
import math
import os
import sys

from chromium import Page

folder = os.path.abspath(sys.argv[1])


def page_of(name, fragment="", **how):
    return Page(f"file://{folder}/{name}.html{fragment}", **how)


def report_of(name):
    with open(f"{folder}/{name}.json", encoding="utf-8") as text:
        return json.load(text)


def near(a, b):
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)


ROWS = """[...document.querySelectorAll('#rows tr[data-node]')].filter((r) => !r.classList.contains('sum')).map((r) => ({
    name: r.querySelector('.label').textContent, id: data.regions[state.report.region[Number(r.dataset.node)]].id,
    cells: Object.fromEntries([...r.querySelectorAll('td[data-key]')].map((c) => [c.dataset.key, c.dataset.v === undefined ? null : c.dataset.v]))}))"""
FIELDS = {"instances": ("instances",), "launches": ("kernel_count",), "inclusive_ms": ("total_ms",), "share_pct": ("share_pct",),
          "exclusive_ms": ("exclusive", "total_ms"), "exclusive_launches": ("exclusive", "kernel_count"), "host_ms": ("host_ms",),
          "busy_ms": ("busy_ms",), "span_ms": ("span_ms",), "imbalance": ("imbalance",), "idle_ms": ("idle_ms",), "cpu_ms": ("cpu_ms",), "wall_ms": ("wall_ms",), "copy_ms": ("copy_ms",)}


def same_rows(page, report):
    """Every cell of the table against report.json."""
    page.js("document.getElementById('open-all').click()")
    page.js("table.isPrinting = true; drawRows(true)")
    rows, metrics = page.js(ROWS), page.js("data.metrics.map((m) => m.n)")
    page.js("table.isPrinting = false; drawRows(true)")
    assert sorted(r["id"] for r in rows) == sorted(r["id"] for r in report["regions"]), "regions differ"
    want = {r["id"]: r for r in report["regions"]}
    nr = 0
    for row in rows:
        for key, text in row["cells"].items():
            value = want[row["id"]]
            if key in ("limiter", "bound"):
                assert text == value[key], (row["id"], key)
                continue
            for step in ("metrics", metrics[int(key[1:])]) if key[0] == "m" and key[1:].isdigit() else FIELDS[key]:
                value = value.get(step)
            assert (text is None) == (value is None) and (text is None or near(float(text), value)), (row["id"], key, text, value)
            nr += 1
    return nr


def spot_of(page, expression):
    """Where in the timeline, on the screen: `expression` gives [time, y in the canvas]."""
    page.js("byId('time-canvas').scrollIntoView({block: 'center'})")
    page.settle()
    return page.js(f"(() => {{ const [t, y] = {expression}, b = byId('time-canvas').getBoundingClientRect(); return [b.left + (t - view.from) / (view.to - view.from) * b.width, b.top + y - byId('time-box').scrollTop]; }})()")


def clean(page):
    assert page.errors == [], page.errors
    assert page.requests == [], page.requests
