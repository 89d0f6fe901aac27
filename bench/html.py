"""Measures pages with the Performance API; called by bench/html.sh."""
import os
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../tests/browser"))
from chromium import Page  # noqa: E402

folder, regions, kernels = sys.argv[1:]
PAINT = """new Promise((done) => new PerformanceObserver((list) => { const e = list.getEntries().find((e) => e.name === 'first-contentful-paint');
    if (e) done(e.startTime); }).observe({type: 'paint', buffered: true}))"""
# From the input to the frame that shows its result.
ACT = """(async () => {{ const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    await frame(); const start = performance.now(); {0}; await frame(); return performance.now() - start; }})()"""
ACTIONS = {
    "select a region in the table": "document.querySelectorAll('#rows tr[data-node]')[{i}].click()",
    "open all": "document.getElementById('open-all').click()",
    "scroll to the end": "document.getElementById('scroll').scrollTop = {i} * 8000",
    "sort": "document.querySelectorAll('#heads button')[{i} % 6].click()",
    "search": "change({{search: 'region 1' + {i}}})",
    "search a kernel": "change({{search: 'kernel_1' + {i}}})",
    "end the search": "change({{search: ''}})",
    "inclusive or exclusive": "change({{exclusive: !state.exclusive}})",
    "zoom into a region": "(() => {{ const f = document.querySelectorAll('.frame'); f[Math.min({i} + 1, f.length - 1)].click(); }})()",
    "zoom out": "change({{zoom: -1}})",
    "colour": "change({{colour: colourings()[{i} % 4][0]}})",
    "width": "change({{by: additive(state.report)[{i} % 4][0]}})",
    "all metrics of a region": "[...document.querySelectorAll('#panel details')].at(-1).open ^= true",
    "theme": "document.getElementById('theme').click()",
}
TIME_ACTIONS = {"zoom the timeline out": "showTime(0, view.end)", "zoom in": "zoomTime(0.6, 0.5)", "move": "showTime(view.from + 1e5, view.to + 1e5)"}


def paint(name):
    times = []
    for _ in range(5):
        with Page(f"file://{folder}/{name}.html") as page:
            page.settle()
            times.append(page.js(PAINT))
    return statistics.median(times)


def act(page, action):
    times = [page.js(ACT.format(action.format(i=i))) for i in range(5)]
    return f"{statistics.median(times):.0f} ms, worst {max(times):.0f} ms"


def row(what, measured, bar=""):
    print(f"| {what} | {measured} | {bar} |")


print("| what | measured (median of 5) | bar |\n|---|---|---|")
empty, big = paint("empty"), paint("big")
row(f"{regions} regions × {kernels} kernels, file", f"{os.path.getsize(folder + '/big.html') / 1e6:.1f} MB", "≤ 15 MB")
row("empty page, first paint", f"{empty:.0f} ms")
row("report, first paint", f"{big:.0f} ms, {big / empty:.1f} × the empty page", "≤ 1000 ms")
with Page(f"file://{folder}/big.html") as p:
    p.settle()
    for name, action in ACTIONS.items():
        row(name, act(p, action), "≤ 100 ms")
if os.path.exists(folder + "/long.html"):
    long = paint("long")
    row("a million range entries, file", f"{os.path.getsize(folder + '/long.html') / 1e6:.1f} MB")
    row("first paint", f"{long:.0f} ms, {long / empty:.1f} × the empty page")
    with Page(f"file://{folder}/long.html") as p:
        p.settle()
        for name, action in TIME_ACTIONS.items():
            row(name, act(p, action), "≤ 100 ms")
