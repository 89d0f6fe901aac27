"""Opens an export in speedscope itself, and compares the figures on the screen with report.json.

    speedscope.py INDEX_HTML EXPORT REPORT_JSON FOLDER

INDEX_HTML is that of the speedscope package. Its importer is a part of the page, so the test must use the page.
"""
import base64
import json
import os
import pathlib
import re
import sys
import time

import chromium

NS = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}


def time_of(text):
    """"730.37µs (79%)" in ns."""
    value, unit = re.match(r"([\d.]+)(ns|µs|ms|s)\b", text).groups()
    return float(value) * NS[unit]


def rows_of(page):
    """What the sandwich view lists: total, self and name of each frame."""
    end, rows = time.time() + 30, []
    while not rows and time.time() < end:
        time.sleep(0.1)
        rows = page.js("[...document.querySelectorAll('tr')].map((r) => [...r.children].map((c) => c.innerText.trim())).filter((r) => r.length === 3 && /^[0-9.]+(ns|.s|s)/.test(r[0]))")
    return {name: (time_of(total), time_of(own)) for total, own, name in rows}


def main():
    index, export, report, folder = sys.argv[1:]
    chromium.FLAGS += ["--allow-file-access-from-files", "--enable-unsafe-swiftshader"]  # it draws with WebGL
    script = os.path.join(folder, "profile.js")
    text = base64.b64encode(pathlib.Path(export).read_bytes()).decode()
    pathlib.Path(script).write_text(f"speedscope.loadFileFromBase64('run.speedscope.json', '{text}')")
    want = json.loads(pathlib.Path(report).read_text())["aggregate"]
    regions = {r["name"]: r["total_ms"] * 1e6 for r in want["regions"]}
    kernels = {}
    for r in want["regions"]:
        if r["depth"] == 0:
            for k in r["kernels"]:
                name = re.sub(r"^void |[<(].*", "", k["kernel_name"])
                kernels[name] = kernels.get(name, 0) + k["total_ms"] * 1e6
    with chromium.Page(f"file://{index}#view=sandwich&localProfilePath={script}") as page:
        rows = rows_of(page)
        near = lambda a, b: abs(a - b) <= 0.006 * b  # it shows three or more digits
        assert not [e for e in page.errors if "GL Driver Message" not in e], page.errors
        assert kernels and set(kernels) | set(regions) == set(rows), (sorted(rows), sorted(kernels), sorted(regions))
        for name, ns in kernels.items():
            assert near(rows[name][1], ns), (name, rows[name], ns)
        for name, ns in regions.items():
            assert near(rows[name][0], ns), (name, rows[name], ns)
        total = sum(own for _, own in rows.values())
        assert near(total, want["totals"]["total_ms"] * 1e6), (total, want["totals"])


main()
