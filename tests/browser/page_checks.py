"""The HTML page in a real browser: one line `ok NAME` or `not ok NAME` per test.

    page_checks.py FOLDER    FOLDER/NAME.html and FOLDER/NAME.json for every capture
"""
import glob
import json
import re
import math
import os
import sys
import traceback

from chromium import Page
from make_names import HOSTILE

folder, failed = os.path.abspath(sys.argv[1]), False


def page_of(name, fragment="", **how):
    return Page(f"file://{folder}/{name}.html{fragment}", **how)


def report_of(name):
    with open(f"{folder}/{name}.json", encoding="utf-8") as text:
        return json.load(text)


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


def near(a, b):
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)


ROWS = """[...document.querySelectorAll('#rows tr[data-node]')].filter((r) => !r.classList.contains('sum')).map((r) => ({
    name: r.querySelector('.label').textContent, id: data.regions[state.report.region[Number(r.dataset.node)]].id,
    cells: Object.fromEntries([...r.querySelectorAll('td[data-key]')].map((c) => [c.dataset.key, c.dataset.v === undefined ? null : c.dataset.v]))}))"""
FIELDS = {"instances": ("instances",), "launches": ("kernel_count",), "inclusive_ms": ("total_ms",), "share_pct": ("share_pct",),
          "exclusive_ms": ("exclusive", "total_ms"), "exclusive_launches": ("exclusive", "kernel_count"), "host_ms": ("host_ms",),
          "busy_ms": ("busy_ms",), "span_ms": ("span_ms",), "imbalance": ("imbalance",), "idle_ms": ("idle_ms",), "cpu_ms": ("cpu_ms",), "copy_ms": ("copy_ms",)}


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
            if key == "hint": # as in the terminal: the bound, but for the limiter where the GPU is what is waited for
                limiter, bound = value.get("limiter"), value.get("bound")
                assert text == (limiter if limiter and bound in (None, "gpu", "mixed") else bound), (row["id"], key)
                continue
            if key in ("limiter", "bound"):
                assert text == value[key], (row["id"], key)
                continue
            for step in ("metrics", metrics[int(key[1:])]) if key[0] == "m" and key[1:].isdigit() else FIELDS[key]:
                value = value.get(step)
            assert (text is None) == (value is None) and (text is None or near(float(text), value)), (row["id"], key, text, value)
            nr += 1
    return nr


def clean(page):
    assert page.errors == [], page.errors
    assert page.requests == [], page.requests


def every_capture_opens_without_errors_or_requests_and_its_numbers_are_those_of_report_json():
    nr = 0
    for path in sorted(glob.glob(folder + "/*.html")):
        name = os.path.basename(path)[:-5]
        report = report_of(name)
        with page_of(name) as page:
            page.settle()
            for i, scope in enumerate(page.js("reports.map((r) => r.scope)")):
                page.js(f"change({{report: reports[{i}]}})")
                one = next(r for r in [report["aggregate"], *report["scopes"], *report.get("range_aggregates", [])] if r and r["scope"] == scope)
                if "same_as" in one: # the only scope refers to the aggregate
                    one = {**report["aggregate"], **one}
                nr += same_rows(page, one)
            clean(page)
            assert page.js("document.documentElement.dataset.ready") == "yes", name
    print(nr, "figures compared")
    assert nr > 500


def metrics_in_the_panel_are_those_of_report_json():
    report = report_of("h200_transformer")
    region = next(r for r in report["aggregate"]["regions"] if r["id"] == "step/prefill/layer0")
    with page_of("h200_transformer", "#region=step%2Fprefill%2Flayer0") as page:
        page.js("[...document.querySelectorAll('#panel details')].at(-1).open = true")
        page.settle()
        shown = dict(page.js("[...document.querySelectorAll('#panel td[data-metric]')].map((c) => [c.dataset.metric, c.dataset.v])"))
        charts = ("derived__pct_occupancy_per_", "derived_tempMetric")  # for ncu's drawings, no figures for people
        metrics = {m: v for m, v in region["metrics"].items() if not m.startswith(charts)}
        for metric, value in metrics.items():
            assert value is None or near(float(shown[metric]), value), metric
        assert len(shown) >= len(metrics)
        kernels = page.js("[...document.querySelectorAll('#panel .kernels tbody td[data-v]')].map((c) => Number(c.dataset.v))")
        assert all(map(near, kernels, [k["total_ms"] for k in region["kernels"]])), kernels
        how = page.js("document.querySelector('#rows td[data-key^=m]').title")
        assert "weighted" in how or "constituents" in how, how
        clean(page)


def a_click_on_a_head_sorts_siblings_and_a_third_one_restores_the_order():
    with page_of("h200_transformer") as page:
        order = [r["id"] for r in page.js(ROWS)]
        times = lambda: [float(r["cells"]["inclusive_ms"]) for r in page.js(ROWS) if r["id"].count("/") == 1]
        page.click("#heads th:nth-child(3) button")
        assert times() == sorted(times(), reverse=True), times()
        page.click("#heads th:nth-child(3) button")
        assert times() == sorted(times()), times()
        page.click("#heads th:nth-child(3) button")
        assert [r["id"] for r in page.js(ROWS)] == order
        clean(page)


def search_shows_matches_with_what_they_hang_on_and_escape_ends_it():
    with page_of("h200_transformer") as page:
        before = len(page.js(ROWS))
        page.key("/", "/")
        page.type("sample")
        assert [r["name"] for r in page.js(ROWS)] == ["step", "decode", "sample"], page.js(ROWS)
        assert page.js("document.querySelector('#rows mark').textContent") == "sample"
        page.key("Escape")
        assert len(page.js(ROWS)) == before
        page.key("/", "/")
        page.type("nowhere")
        assert "no region and no kernel" in page.js("byId('found').textContent"), page.js("byId('found').textContent")
        clean(page)


def the_title_names_the_program_and_the_file():
    program = report_of("h200_transformer")["capture"]["processes"][0]["name"].split("/")[-1]
    with page_of("h200_transformer") as page:
        assert page.js("document.title") == f"{program} · h200_transformer.ncu-rep · sonde", page.js("document.title")
        assert page.js("document.querySelector('h1').textContent") in page.js("document.title")


def entries_have_a_histogram_and_the_slowest_lead_to_the_timeline():
    region = next(r for r in report_of("train")["aggregate"]["regions"] if r["id"] == "forward/layer0")
    with page_of("train", "#region=forward%2Flayer0") as page:
        assert page.js("[...document.querySelectorAll('#entries h4')].map((h) => h.textContent.split(':')[0])") == ["GPU", "host"]
        assert page.js("document.querySelectorAll('#entries .histogram .median').length") == 2
        where = page.js("parseFloat(document.querySelector('#entries .median').style.left)")
        gpu = region["entries"]["gpu"]
        assert abs(where - 100 * (gpu["median_ms"] - gpu["min_ms"]) / (gpu["max_ms"] - gpu["min_ms"])) < 0.01, where
        before = page.js("view.to - view.from")
        page.click("#entries .slowest button")
        slow = max(range(3), key=lambda i: region["entries"]["gpu_ms"][i])
        begin = page.js("data.timeline.entered") + region["entries"]["begin_ms"][slow] * 1e6
        seen = page.js("[view.from, view.to]")
        assert seen[1] - seen[0] < before and seen[0] <= begin < seen[1], (seen, begin)
        starts = page.js("view.tracks.filter((t) => t.kind === 'thread').flatMap((t) => [...t.starts].filter((_, i) => data.regions[t.regions[i]].id === 'forward/layer0'))")
        assert any(abs(s - begin) < 1 for s in starts), (starts, begin)
        clean(page)


def entries_keep_the_label_they_were_captured_with():
    with page_of("serial", "#region=ProfilerStep%23*") as page:
        assert "ProfilerStep#*" in page.js("byId('selected').textContent"), page.js("byId('selected').textContent")
        slow = page.js("[...document.querySelectorAll('#entries .slowest tbody td:first-child')].map((d) => d.textContent)")
        assert slow and all(re.search(r"ProfilerStep#\d+$", text) for text in slow), slow
        names = page.js("view.tracks.flatMap((t) => t.raw ? [...t.raw].map((_, i) => eventName(t, i, true)) : [])")
        assert sum(1 for n in names if re.fullmatch(r"ProfilerStep#\d+", n)) > 1 and "ProfilerStep#*" not in names, names[:9]
        clean(page)


def the_longest_gaps_lead_to_the_timeline():
    gaps = report_of("train")["aggregate"]["longest_gaps"]
    with page_of("train") as page:
        rows = page.js("[...document.querySelectorAll('#gaps tbody tr')].map((r) => [r.title, r.children[1].textContent, r.children[2].textContent])")
        assert len(rows) == len(gaps) and abs(float(rows[0][1]) - gaps[0]["ms"]) < 0.001 * gaps[0]["ms"] + 0.001, rows
        assert all(words for _, _, words in rows), rows
        page.click("#gaps button")
        seen = page.js("[view.from, view.to]")
        begin = page.js("data.timeline.entered + state.report.gaps[0].begin_ms * 1e6")
        assert seen[0] <= begin <= seen[1] and seen[1] - seen[0] < 2 * gaps[0]["ms"] * 1e6, (seen, begin)
        clean(page)


def a_gap_chosen_before_the_timeline_is_there_is_shown_by_it():
    with page_of("train") as page:
        page.send("Page.addScriptToEvaluateOnNewDocument", source="var held = [], draw = requestAnimationFrame; requestAnimationFrame = (f) => held.push(f);")
        page.load(page.url)
        page.js("document.querySelector('#gaps button').click()")
        assert page.js("[held.length > 0, !!byId('time-canvas'), view.to < view.end]") == [True, False, True]
        page.js("requestAnimationFrame = draw; for (const f of held) f()")
        page.js("new Promise((done) => { const ask = () => byId('time-span') && byId('time-span').textContent ? done() : setTimeout(ask, 10); ask(); })")
        assert page.js("byId('time-span').textContent === time(Math.round(view.from)) + ' – ' + time(Math.round(view.to)) && view.to < view.end")
        clean(page)


def adopted_launches_are_told_in_words():
    regions = report_of("train")["aggregate"]["regions"]
    region = next(r for r in regions if r.get("adopted_launches"))
    with page_of("train", "#region=" + region["id"].replace("/", "%2F")) as page:
        words = page.js("byId('adopted').textContent")
        assert words.startswith("All launches" if region["adopted_launches"] == region["kernel_count"] else str(region["adopted_launches"])), words
        assert "threads without ranges" in words, words
        clean(page)


def without_a_region_all_kernels_are_listed_by_short_names():
    with page_of("train") as page:
        assert page.js("document.querySelector('#panel h3').textContent") == "All kernels"
        assert page.js("state.report.kernels.calls.slice(state.report.flat_k0, state.report.flat_k0 + state.report.flat_kn).reduce((a, b) => a + b)") == report_of("train")["coverage"]["launches_total"]
        names = page.js("[...document.querySelectorAll('#panel .kernels tbody td:first-child')].map((d) => [d.textContent, d.title])")
        assert len({short for short, _ in names}) == len(names) and any(len(short) < len(whole) / 2 for short, whole in names), names
        clean(page)


def widths_by_entries_nest():
    with page_of("h200_transformer") as page:
        wider = page.js("state.report.region.map((_, n) => n).filter((n) => state.report.children[n].reduce((sum, c) => sum + weightOf(state.report, c, 'instances'), 0) >= weightOf(state.report, n, 'instances'))")
        assert wider == [], wider


def no_region_is_busy_for_more_than_all_of_the_time():
    with page_of("h200_transformer") as page:
        text = page.js("(() => { const r = state.report; r.bound = r.bound || []; r.bound = [...r.bound]; r.bound[0] = 'g'; for (const [key, v] of [['busy_ms', 166], ['host_ms', 100]]) { const l = [...(r.f[fieldOf.get(key)] || r.region.map(() => null))]; l[0] = v; r.f[fieldOf.get(key)] = l; } return waited(r, 0).textContent; })()")
        assert "1.7 times as long" in text and "166 %" not in text, text


def a_click_in_the_chart_zooms_and_breadcrumbs_lead_back():
    with page_of("h200_transformer") as page:
        node = page.js("state.report.nodeOf.get(data.regions.findIndex((r) => r.id === 'step/prefill'))")
        page.click(f"#frame{node}")
        assert page.js(f"document.getElementById('frame{node}').getBoundingClientRect().width / document.getElementById('frames').clientWidth") > 0.99
        assert page.js("document.getElementById('selected').textContent") == "prefill"
        assert page.js("location.hash") == "#region=step%2Fprefill", page.js("location.hash")
        page.click("#crumbs button")
        assert page.js("state.zoom") == -1
        clean(page)


def inclusive_and_exclusive_switch():
    report = report_of("h200_transformer")
    with page_of("h200_transformer") as page:
        page.click(".seg[aria-label=Figures] button", 1)
        want = {r["id"]: r["exclusive"]["kernel_count"] for r in report["aggregate"]["regions"]}
        for row in page.js(ROWS):
            assert float(row["cells"]["launches"]) == want[row["id"]], row
        clean(page)


def columns_can_be_chosen():
    with page_of("h200_transformer") as page:
        page.click(".chooser summary")
        page.click(".chooser input[type=search]")
        page.type("lts__t_sector_hit_rate")
        page.click(".chooser input[type=checkbox]")
        column = page.js("'m' + columnOf.get('lts__t_sector_hit_rate.pct')")
        report = report_of("h200_transformer")
        want = {r["id"]: r["metrics"]["lts__t_sector_hit_rate.pct"] for r in report["aggregate"]["regions"]}
        assert all(near(float(r["cells"][column]), want[r["id"]]) for r in page.js(ROWS))
        clean(page)


def the_scope_can_be_switched_and_is_kept_in_the_address():
    with page_of("mpi2_kernel", "#scope=aggregate&region=A") as page:
        assert page.js("document.querySelectorAll('#panel .multiples .bars').length") >= 3
        page.js("(() => { const s = document.querySelector('#top select'); s.value = '1'; s.dispatchEvent(new Event('change')); })()")
        page.settle()
        scope = report_of("mpi2_kernel")["scopes"][0]
        assert page.js("state.report.scope") == scope["scope"]
        row = next(r for r in page.js(ROWS) if r["id"] == "A")
        assert near(float(row["cells"]["inclusive_ms"]), scope["regions"][0]["total_ms"])
        assert page.js("decodeURIComponent(location.hash)") == "#scope=" + scope["scope"] + "&region=A"
        clean(page)


def a_deep_link_selects_its_region_and_opens_the_way_to_it():
    with page_of("deep_kernel", "#region=" + "%2F".join(f"d{i}" for i in range(33))) as page:
        assert page.js("document.getElementById('selected').textContent") == "d32"
        assert page.js("document.querySelectorAll('#rows tr[aria-selected=true]').length") == 1
        clean(page)
    with page_of("seed_kernel", "#region=%E0%A4%A&scope=nosuch") as page:
        assert page.js("state.region") == -1
        clean(page)


def arrow_keys_move_through_the_table_and_the_chart():
    with page_of("h200_transformer") as page:
        page.js("document.getElementById('grid').focus()")
        for key, want in (("ArrowDown", "step"), ("ArrowDown", "step/prefill"), ("ArrowLeft", "step/prefill"), ("ArrowDown", "step/decode"),
                          ("ArrowUp", "step/prefill"), ("ArrowRight", "step/prefill"), ("ArrowDown", "step/prefill/layer0")):
            page.key(key)
            assert page.js("data.regions[state.region].id") == want, (key, want)
        page.js("document.getElementById('frames').focus()")
        page.key("ArrowUp")
        page.key("ArrowRight")
        assert page.js("data.regions[state.region].id") == "step/decode"
        page.key("Enter")
        assert page.js("data.regions[state.zoom].id") == "step/decode"
        page.key("Escape")
        page.key("Escape")
        assert page.js("state.zoom") == -1
        clean(page)


def the_theme_follows_the_system_until_it_is_chosen():
    ink = "getComputedStyle(document.body).backgroundColor"
    with page_of("seed_kernel", dark=True) as page:
        dark = page.js(ink)
        page.theme(False)
        page.settle()
        light = page.js(ink)
        assert dark != light and page.js("document.documentElement.dataset.theme") == "light"
        page.click("#theme")
        assert page.js(ink) == dark
        clean(page)


def hostile_labels_are_inert_and_visible():
    with page_of("hostile") as page:
        page.js("table.isPrinting = true; drawRows(true)")
        shown = page.js("[...document.querySelectorAll('#rows .label')].map((e) => e.textContent)")
        for label in HOSTILE:
            seen = label.replace("\t", "\\t").replace("\u202e", "\\u202e").replace("\u202c", "\\u202c")
            assert seen in shown, (seen, shown)
        assert page.js("window.hit === undefined")
        assert page.js("document.scripts.length") == 2 and page.js("document.images.length") == 0
        for i in range(page.js("state.report.nr")):
            page.js(f"selectNode({i})")
        page.settle()
        assert page.js("window.hit === undefined")
        clean(page)


def the_policy_stops_any_other_script_and_style():
    with page_of("seed_kernel") as page:
        page.js("""(() => { const s = document.createElement('script'); s.textContent = 'window.hit = 1'; document.body.append(s);
            const d = document.createElement('div'); d.setAttribute('style', 'color: red'); d.id = 'probe'; document.body.append(d); })()""")
        assert page.js("window.hit === undefined")
        assert page.js("document.getElementById('probe').style.color") == ""
        assert page.js("(() => { const i = new Image(); i.src = 'http://127.0.0.1:9/x.png'; return new Promise((d) => { i.onload = () => d('loaded'); i.onerror = () => d('refused'); }); })()") == "refused"
        assert any("Content Security Policy" in e for e in page.errors)


def a_capture_without_regions_shows_its_kernels():
    with page_of("none_kernel") as page:
        assert page.js("document.querySelectorAll('#panel .kernels tbody tr').length") == 4
        assert "No NVTX range" in page.js("document.getElementById('overview').textContent")
        clean(page)


def the_timeline_draws_zooms_and_selects():
    if not os.path.exists(folder + "/native.html"):
        return "no injected library to take a capture with"
    with page_of("native") as page:
        page.settle()
        page.js("document.getElementById('time-canvas').scrollIntoView()")
        painted = "(() => { const c = document.getElementById('time-canvas'), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n; })()"
        assert page.js(painted) > 5000
        spot = page.js("(() => { const b = document.getElementById('time-canvas').getBoundingClientRect(), t = view.tracks.find((t) => t.kind === 'thread'); return [b.left + (t.starts[0] + t.ends[0]) / 2 / view.end * b.width, b.top + t.y + TRACK_GAP + 3]; })()")
        page.click_at(*spot)
        assert page.js("data.regions[state.region].n") == "step", page.js("state.region")
        span = page.js("view.to - view.from")
        page.js("document.getElementById('time-canvas').focus()")
        page.key("+", "+")
        assert page.js("view.to - view.from") < span
        assert page.js("state.report.entries[selectedNode()].entries.count") == 5
        nested = page.js("(() => { const r = state.report, n = r.nodeOf.get(state.region); return r.children[n].map((c) => r.region[c]); })()")
        assert nested and page.js(f"{nested}.every((region) => view.lit.has(region))")  # what is nested does not fade
        clean(page)


def points_of_the_roofline_are_linked_with_the_selection():
    report = report_of("h200_transformer")
    region = next(r for r in report["aggregate"]["regions"] if r["id"] == "step/decode")
    with page_of("h200_transformer", "#region=step%2Fprefill") as page:
        page.settle()
        node = page.js("state.report.nodeOf.get(data.regions.findIndex((r) => r.id === 'step/decode'))")
        at = page.js(f"(() => {{ const p = byId('dot{node}').point; return [p.x, p.y]; }})()")
        assert near(at[0], region["roofline"]["intensity"]) and near(at[1], region["roofline"]["flop_per_s"]), at
        page.click(f"#dot{node}")
        assert page.js("document.querySelectorAll('.dot.selected').length") == 1
        assert page.js("document.getElementById('selected').textContent") == "decode"
        fill = page.js(f"byId('dot{node}').getAttribute('fill')")
        page.js("change({colour: 'limiter'})")
        assert page.js(f"byId('dot{node}').getAttribute('fill')") != fill
        clean(page)


def no_number_is_ever_cut():
    cut_cells = "[...document.querySelectorAll('#rows td[data-key], #panel .kernels td:not(:first-child)')].filter((c) => c.scrollWidth > c.clientWidth).map((c) => c.textContent)"
    for name in ("h200_transformer", "mpi2_kernel", "domains_kernel", "native", "hostile"):
        for width in (1280, 390):
            if not os.path.exists(f"{folder}/{name}.html"):
                continue
            with page_of(name, width=width, phone=width < 600) as page:
                page.settle()
                cut = page.js(cut_cells)
                assert cut == [], (name, width, cut)
    with page_of("native") if os.path.exists(folder + "/native.html") else page_of("h200_transformer") as page:
        page.js("(() => { const l = state.report.f[fieldOf.get('host_ms')] || state.report.f[fieldOf.get('inclusive_ms')]; l[0] = 48163.4567; drawTable(); })()")
        assert page.js(cut_cells) == [], page.js(cut_cells)


CUT = """[...document.querySelectorAll('#rows td.name')].filter((c) => c.scrollWidth > c.clientWidth + 1)
    .map((c) => [c.querySelector('.label') ? c.querySelector('.label').textContent : '', c.title])"""


def names_have_room_and_those_that_are_cut_can_be_read():
    with page_of("train", width=1280) as page:
        assert any(len(r["name"]) > 30 for r in page.js(ROWS)) and page.js(CUT) == [], page.js(CUT)
    with page_of("hostile", width=1280) as page:
        cut = page.js(CUT)
        assert any(label == "x" * 300 for label, _ in cut) and all(label in title for label, title in cut), cut
    with page_of("overlap_kernel") as page:
        titles = page.js("[...document.querySelectorAll('#rows td.name')].map((c) => c.title)")
        assert "outer (start/end)" in titles and not any("@@" in t for t in titles), titles


def without_gpu_work_nothing_is_added_up():
    if not os.path.exists(f"{folder}/native.html"):
        return "the NVTX headers were not found when building"
    with page_of("native") as page:
        assert page.js("document.querySelectorAll('#rows tr').length") > 5 and page.js("document.querySelectorAll('#rows tr.sum').length") == 0
    with page_of("train") as page:
        assert page.js("document.querySelector('#rows tr.sum').textContent").startswith("total in regions")


def the_page_fits_a_phone():
    with page_of("h200_transformer", width=390, height=800, phone=True) as page:
        page.settle()
        assert page.js("document.documentElement.scrollWidth") <= 390, page.js("document.documentElement.scrollWidth")
        clean(page)


def streams_and_the_bound_of_a_region_are_those_of_report_json():
    if not os.path.exists(folder + "/gpu.html"):
        return
    region = next(r for r in report_of("gpu")["aggregate"]["regions"] if r["id"] == "s@@")
    with page_of("gpu", "#region=s%40%40&kind=start_end") as page:
        page.settle()
        rows = page.js("[...document.querySelectorAll('table[aria-label=Streams] tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))")
        assert [(int(r[0]), int(r[1])) for r in rows] == [(s["stream"], s["kernel_count"]) for s in region["per_stream"]], rows
        words = {"gpu": "the GPU:", "copies": "copies:", "cpu": "the CPU:", "waiting": "something else:", "mixed": "alone:"}
        assert words[region["bound"]] in page.js("document.querySelector('#panel .verdict').textContent")
        clean(page)


def a_sampled_verdict_names_the_busiest_part_as_the_limiter_does():
    region = next(r for r in report_of("sampled")["aggregate"]["regions"] if r["id"] == "warmup/lm_head")
    of_peak = lambda name: name + ".pct_of_peak_sustained_elapsed"
    dram, active = (region["metrics"][of_peak(n)] for n in ("dram__bytes.sum", "sm__cycles_active.avg"))
    with page_of("sampled", "#region=warmup/lm_head") as page:
        page.settle()
        assert f"at ~{dram:.1f} % of its peak" in page.js("document.querySelector('#panel .verdict').textContent")
        # The capture has no figures of L2: those of another column take their place, to see that L2 counts.
        page.js(f"columnOf.set('{of_peak('lts__t_sectors.avg')}', columnOf.get('{of_peak('sm__cycles_active.avg')}'))")
        words = page.js("amounts(state.report, selectedNode())[1]")
        assert words == f"~{max(dram, active):.1f} %" and active > dram, (words, dram, active)
        clean(page)


def sampled_figures_have_their_interval_and_counters_over_time():
    want = next(r for r in report_of("sampled")["aggregate"]["regions"] if r["id"] == "warmup")
    name = "sm__cycles_active.avg.pct_of_peak_sustained_elapsed"
    error, v = want["metric_ranges"][name]["error"], want["metrics"][name]
    with page_of("sampled", "#region=warmup") as page:
        page.settle()
        title = page.js("document.querySelector('.meter').title")
        assert f"{v:.1f} ± {error:.1f} (95 %:" in title, title
        bar = page.js("(() => { const w = document.querySelector('.meter .whisker').getBoundingClientRect(), t = document.querySelector('.meter .track').getBoundingClientRect(); return w.width / t.width; })()")
        assert abs(bar - 2 * error / 100) < 0.02, bar
        cell = "[...document.querySelectorAll('#rows td')].find((c) => c.title.startsWith('" + name + "'))"
        assert page.js(cell + ".textContent") == f"~{v:.1f}±{error:.1f}", page.js(cell + ".textContent")
        assert page.js(f"{cell}.scrollWidth <= {cell}.clientWidth"), "the interval is cut off"
        names = page.js("view.curves.map((c) => c.name)")
        assert names == ["SM active %", "DRAM GB/s", "Tensor %"], names
        page.js("document.getElementById('time-canvas').scrollIntoView()")
        lines = page.js("(() => { const c = document.getElementById('time-canvas'), k = devicePixelRatio || 1, n = view.curves[0]; const d = c.getContext('2d').getImageData(0, (n.y + TRACK_GAP) * k, c.width, CURVE_PX * k - 8).data; let s = 0; for (let i = 3; i < d.length; i += 4) s += d[i] > 0; return s; })()")
        assert lines > 50, lines
        clean(page)


def ranks_have_a_map_that_shows_the_slow_one_and_selects_its_region():
    if not os.path.exists(f"{folder}/ranks.html"):
        return "build/tools/ranks_make is not built"
    report = report_of("ranks")
    with page_of("ranks") as page:
        page.settle()
        assert report["ranks"]["stragglers"][0]["sentence"] in page.js("document.querySelector('p.slow').textContent")
        ids = page.js("data.ranks.regions.map((r) => data.regions[r].id)")
        rows = page.js("data.ranks.v.length / data.ranks.regions.length")
        assert rows == report["ranks"]["count"] and set(ids) == {"step", "step/fwd", "step/bwd"}, (rows, ids)
        v = page.js(f"data.ranks.v[3 * {len(ids)} + {ids.index('step/fwd')}]")
        want = next(r for r in report["aggregate"]["regions"] if r["id"] == "step/fwd")["ranks"]
        assert abs(v - 100 * (want["max_ms"] / want["median_ms"] - 1)) < 0.06, v
        where = page.js("(() => { byId('map').scrollIntoView({block: 'center'}); const s = mapSize(byId('map').parentNode, data.ranks), b = byId('map').getBoundingClientRect();"
                        f" return [b.left + MAP.left + {ids.index('step/fwd') + 0.5} * s.w, b.top + MAP.top + 3.5 * s.h]; }})()")
        even, slow = page.js("(() => { const s = mapSize(byId('map').parentNode, data.ranks), k = devicePixelRatio || 1, n = Math.round(k * s.h);"
                             f" const d = byId('map').getContext('2d').getImageData(k * (MAP.left + {ids.index('step/fwd') + 0.5} * s.w), k * MAP.top, 1, 4 * n).data;"
                             " return [0, 3].map((row) => [...d.slice(4 * Math.round((row + 0.5) * n)).slice(0, 3)]); })()")
        assert slow[2] < 100 and min(even) > 200, (slow, even)
        tip = page.js("mapTip(mapCell({clientX: %f, clientY: %f}))" % tuple(where))
        assert tip.startswith("rank 3 · node0 · GPU 3\nstep/fwd\n"), tip
        page.click_at(*where)
        assert page.js("data.regions[state.region].id") == "step/fwd"
        clean(page)


def every_control_has_a_name():
    with page_of("h200_transformer", "#region=step") as page:
        bare = page.js("""[...document.querySelectorAll('button, select, input, [role=tree], [role=treegrid], canvas')].filter((e) =>
            !(e.textContent.trim() || e.getAttribute('aria-label') || e.closest('label'))).map((e) => e.outerHTML.slice(0, 80))""")
        assert bare == [], bare


for check in [f for f in list(globals().values()) if callable(f) and getattr(f, "__module__", "") == "__main__" and
              f.__name__ not in ("page_of", "report_of", "test", "near", "same_rows", "clean")]:
    test(check)
sys.exit(failed)
