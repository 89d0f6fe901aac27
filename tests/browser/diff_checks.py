"""Checks the page of a comparison, which is the page of a report with two sides."""
import base64
import json

from checks import clean, folder, near
from chromium import Page

NAMES = ("graph", "fused", "entries")


def diff_page(name, fragment="", **how):
    return Page(f"file://{folder}/diff/{name}.html{fragment}", **how)


diff_page.__module__ = "checks"  # no check itself


def a_comparison_shows_what_its_json_says():
    nr = 0
    for name in NAMES:
        with open(f"{folder}/diff/{name}.json", encoding="utf-8") as text:
            want = json.load(text)
        with diff_page(name) as page:
            page.click("#open-all")
            page.js("grid.isPrinting = true; drawDiffRows(true)")
            rows = page.js("[...document.querySelectorAll('#rows tr[data-region]')].map((r) => ({...regions[r.dataset.region], shown: [...r.cells].map((c) => c.textContent)}))")
            assert len(rows) == len(want["regions"]), (len(rows), len(want["regions"]))
            by_id = {}
            for r in want["regions"]:
                by_id.setdefault(r["id"], []).append(r)
            for row in rows:
                same = [r for r in by_id.get(row["id"], []) + by_id.get(row["id"] + "@@", [])]
                assert same, row["id"]
                match = [r for r in same if row["class"] in r["verdict"] and (r["ratio"] is None) == (row["ratio"] is None) and (r["ratio"] is None or near(r["ratio"], row["ratio"]))]
                assert match, (row["id"], row["class"], row["ratio"], [(r["verdict"], r["ratio"]) for r in same])
                nr += 1
            assert page.js("byId('findings-box').querySelector('h2').textContent") == want["summary"][0], want["summary"][0]
            clean(page)
    assert nr > 60, nr


def a_region_with_another_name_has_one_box():
    with diff_page("graph") as page:
        page.js("change({by: 'gpu'})")
        ids = page.js("[...document.querySelectorAll('.frame')].map((e) => [regions[e.dataset.region].id, regions[e.dataset.region].class])")
        layers = [i for i in ids if i[0] == "decode/step/layer0"]
        assert layers == [["decode/step/layer0", "added"]], layers
        clean(page)


def its_chart_zooms_and_its_search_finds_regions_and_kernels():
    with diff_page("fused") as page:
        i = page.js("regions.findIndex((r) => r.id === 'step')")
        page.click(f"#box{i}")
        assert page.js(f"byId('box{i}').getBoundingClientRect().width / byId('frames').clientWidth") > 0.99
        assert page.js("location.hash") == "#region=step&zoom=step", page.js("location.hash")
        page.key("Escape")
        assert page.js("state.zoom") == -1
        page.key("/", "/")
        page.type("backward")
        assert page.js("grid.rows.length && grid.rows.every((i) => grid.hits.keep.has(i))") and page.js("document.querySelectorAll('#rows mark').length") > 0
        page.key("Escape")
        assert page.js("state.search === '' && document.activeElement.id !== 'search'")
        word = page.js("regions.find((r) => r.kernels.length).kernels[0].name")
        page.js(f"change({{search: {json.dumps(word)}}})")
        assert page.js("grid.hits.hits.size") > 0
        page.click("#heads th:nth-child(4) button")
        deltas = page.js("change({search: ''}), roots.length && grid.rows.filter((i) => regions[i].parent < 0).map((i) => regions[i].delta)")
        assert deltas == sorted(deltas, reverse=True), deltas
        clean(page)


def it_has_kernels_of_both_sides_and_entries_side_by_side():
    with diff_page("entries") as page:
        page.js("change({region: regions.findIndex((r) => r.base && r.new && r.base.v.length > 4)})")
        assert page.js("document.querySelectorAll('#both-entries').length") == 1
        sides = page.js("""(() => { const c = byId('both-entries'), k = devicePixelRatio || 1, g = c.getContext('2d'), d = g.getImageData(0, 16 * k, c.width, (ENTRY_PX - 40) * k).data, n = [0, 0];
            for (let i = 3; i < d.length; i += 4) { const x = (i >> 2) % c.width; n[x > c.width / 2 + 24 ? 1 : 0] += d[i] > 0 && x > 66 && Math.abs(x - c.width / 2) > 24; } return n; })()""")
        assert min(sides) > 20, sides
        clean(page)
    with diff_page("fused") as page:
        page.js("change({region: regions.findIndex((r) => r.kernels.some((k) => k.base > 0) && r.kernels.some((k) => k.new > 0))})")
        rows = page.js("[...document.querySelectorAll('#kernel-rows tr')].map((r) => [...r.cells].map((c) => c.textContent))")
        assert any(r[1] != "–" for r in rows) and any(r[2] != "–" for r in rows), rows
        clean(page)


def kernels_are_those_of_the_step_at_first():
    with diff_page("graph") as page:
        assert page.js("byId('kernel-title').textContent") == "Kernels of decode/step"
        heads = page.js("[...document.querySelectorAll('#kernels th')].map((h) => h.textContent)")
        assert heads[-2:] == ["base launches", "new launches"], heads
        page.click("#kernels-of button", 1)
        assert page.js("byId('kernel-title').textContent") == "Kernels of the outermost regions"
        assert page.js("[...document.querySelectorAll('#kernel-rows td.name')].every((c) => / in (warmup|decode)$/.test(c.textContent))")
        page.js("change({region: regions.findIndex((r) => r.id === 'warmup')})")
        assert page.js("byId('kernel-title').textContent") == "Kernels of warmup" and not page.js("byId('kernels-of').checkVisibility()")
        clean(page)


def its_table_has_the_whole_width_and_nothing_is_cut():
    cut = "[...document.querySelectorAll('#rows td:not(:first-child)')].filter((c) => c.scrollWidth > c.clientWidth || [...c.children].some((e) => e.scrollHeight > e.clientHeight + 1 && e.className.includes('verdict'))).map((c) => c.textContent)"
    for width in (1440, 1280, 1024, 768):
        with diff_page("graph", width=width) as page:
            for what in ("", "change({region: regions.findIndex((r) => r.step)})"):
                page.js(what + ";0")
                page.settle()
                assert page.js("byId('scroll').scrollWidth <= byId('scroll').clientWidth + 1"), (width, what)
                assert page.js(cut) == [], (width, what, page.js(cut))
                beside = page.js("[byId('panel').checkVisibility(), byId('table').getBoundingClientRect().width / document.querySelector('main').clientWidth]")
                assert beside[0] == bool(what) and (what or beside[1] > 0.9), (width, beside)
            clean(page)


def on_a_telephone_the_verdict_can_be_read():
    cut = "[...document.querySelectorAll('#rows td[data-key=verdict]')].filter((c) => c.clientWidth < 90 || c.getBoundingClientRect().right > innerWidth || c.scrollWidth > c.clientWidth || c.firstChild.scrollHeight > c.firstChild.clientHeight + 1).map((c) => c.textContent)"
    dots = "[...document.querySelectorAll('.sep')].filter((e) => e.offsetLeft <= e.parentNode.offsetLeft).map((e) => [getComputedStyle(e, '::before').left, getComputedStyle(e.parentNode).overflowX])"
    for name in ("graph", "fused"):
        for width in (390, 360):
            with diff_page(name, width=width, phone=True) as page:
                assert page.js("byId('scroll').scrollWidth <= byId('scroll').clientWidth + 1"), (name, width)
                assert page.js("document.querySelectorAll('#rows td[data-key=verdict]').length") > 5 and page.js(cut) == [], (name, width, page.js(cut))
                assert all(left.startswith("-") and over == "clip" for left, over in page.js(dots)) and page.js(dots), page.js(dots)
                clean(page)


def bars_show_the_step_and_what_is_not_sure_is_hatched():
    bars = """Object.fromEntries([...document.querySelectorAll('#rows tr[data-region]')].map((r) => { const i = r.querySelector('.change i'); return [regions[r.dataset.region].id, [i.style.width, i.className, regions[r.dataset.region].class]]; }))"""
    with diff_page("slow_start", width=1440) as page:
        page.click("#open-all")
        page.js("grid.isPrinting = true; drawDiffRows(true)")
        found = page.js(bars)
        assert found["step"][0] == "50%" and found["step/optimizer"] == [found["step/optimizer"][0], "down", "faster"], found
        assert float(found["step/optimizer"][0][:-1]) > 25 and found["warmup"][:2] == ["50%", "down open long"], found
        assert all(("open" in how) == (verdict == "insufficient") for _, how, verdict in found.values()), found
        clean(page)


def a_region_that_went_into_a_graph_says_so():
    with diff_page("graph") as page:
        words = page.js("regions.filter((r) => r.id === 'decode/step/layer1').map((r) => r.verdict)")
        assert sorted(words) == ["added, now in the graph", "removed, now in the graph"], words


def back_leads_to_the_region_before():
    with diff_page("graph") as page:
        pause = "new Promise((done) => setTimeout(done, 2 * ONE_STEP_MS))"
        length = page.js("history.length")
        for i in (2, 1):
            page.click(f"#rows tr:nth-child({i}) td.name .label")
            page.js(pause)
        assert page.js("history.length") == length + 2
        page.js("new Promise((done) => { addEventListener('hashchange', () => done(), {once: true}); history.back(); })")
        assert page.js("regions[state.region].id") == "decode/step" and page.js("byId('selected').textContent") == "step"
        page.js(pause)
        page.js("new Promise((done) => { addEventListener('hashchange', () => done(), {once: true}); history.back(); })")
        assert page.js("state.region") == -1 and not page.js("byId('panel').checkVisibility()")
        clean(page)


def letters_of_a_search_are_one_change_of_the_address():
    with diff_page("fused") as page:
        page.js("globalThis.changes = 0; history.replaceState = new Proxy(history.replaceState, {apply: (f, self, args) => { changes++; return Reflect.apply(f, self, args); }})")
        page.key("/", "/")
        for letter in "backward":
            page.type(letter)
        page.js("new Promise((done) => setTimeout(done, 400))")
        assert page.js("changes") in (1, 2, 3), page.js("changes")  # eight letters in 250 ms or some more
        assert page.js("location.hash") == "#search=backward", page.js("location.hash")
        clean(page)


def pages_work_in_a_frame_made_of_text():
    for name in ("diff/fused", "run"):
        with open(f"{folder}/{name}.html", "rb") as text:
            page_text = base64.b64encode(text.read()).decode()
        with Page("data:text/html;base64," + page_text) as page:
            for what in ("{search: 'backward'}", "{search: ''}", "{region: 1}", "{region: -1}"):
                page.js(f"change({what}); new Promise((done) => setTimeout(done, 300))")
            assert page.js("document.documentElement.dataset.ready") == "yes"
            assert not page.errors, page.errors


def text_can_be_read_in_both_themes():
    contrast = """[...document.querySelectorAll('.frame')].filter((e) => e.textContent).map((e) => { const of = (c) => { const [r, g, b] = c.match(/\\d+/g).map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
        const s = getComputedStyle(e), a = of(s.color), b = of(s.backgroundColor); return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05); })"""
    for dark in (False, True):
        for name in NAMES:
            with diff_page(name, dark=dark) as page:
                ratios = page.js(contrast)
                assert ratios and min(ratios) > 4, (dark, name, min(ratios))
                page.click("#theme")
                assert min(page.js(contrast)) > 4
                clean(page)


def a_comparison_fits_every_width_and_prints():
    for width in (1440, 1024, 768, 390):
        with diff_page("fused", width=width, phone=width < 600) as page:
            page.js("change({region: regions.findIndex((r) => r.id === 'warmup')})")
            page.settle()
            assert page.js("document.documentElement.scrollWidth") <= width, (width, page.js("document.documentElement.scrollWidth"))
            clean(page)
    with diff_page("fused") as page:
        assert 1 <= page.sheets() <= 6, page.sheets()
        assert page.js("document.querySelector('meta[http-equiv]').content").startswith("default-src 'none'")
