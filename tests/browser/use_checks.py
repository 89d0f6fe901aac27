"""Checks the use of the HTML page: pointer, keys, addresses, themes, small screens, hostile names."""
import os

from make_names import HOSTILE
from checks import ROWS, clean, folder, near, page_of, report_of


def findings_lead_to_their_regions():
    want = report_of("train")["findings"]
    with page_of("train") as page:
        page.settle()
        assert page.js("byId('findings').getBoundingClientRect().top < byId('overview').getBoundingClientRect().top")
        useful = {f["cause"]: f for f in want if (f["gain"]["step_ms"] is None or f["gain"]["step_ms"] >= 0.0005)}
        assert page.js("document.querySelectorAll('#findings li').length") == min(3, len(useful))
        assert want[0]["says"] in page.js("document.querySelector('#findings li').textContent")
        page.js("document.querySelector('#findings button.link').click()")
        assert page.js("data.regions[state.region].id") == want[0]["region"]
        if len(want) > 3:
            page.click("#more-findings")
        assert page.js("document.querySelectorAll('#findings li').length") == len(want)
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
        assert page.js("view.to < view.end && byId('time-span').textContent.startsWith(moment(view.from, timeStep(byId('time-box').clientWidth) / 10))")
        clean(page)


def a_click_in_the_chart_zooms_and_breadcrumbs_lead_back():
    with page_of("h200_transformer") as page:
        node = page.js("state.report.nodeOf.get(data.regions.findIndex((r) => r.id === 'step/prefill'))")
        page.click(f"#frame{node}")
        assert page.js(f"document.getElementById('frame{node}').getBoundingClientRect().width / document.getElementById('frames').clientWidth") > 0.99
        assert page.js("document.getElementById('selected').textContent") == "prefill"
        assert page.js("location.hash") == "#region=step%2Fprefill&zoom=step%2Fprefill", page.js("location.hash")
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
        column = page.js("'m' + data.metrics.findIndex((m) => m.n === 'lts__t_sector_hit_rate.pct')")
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
        page.js("change({colour: 'depth'})")
        assert page.js(f"byId('dot{node}').getAttribute('fill')") != fill
        clean(page)


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


def the_table_ends_with_a_whole_row_and_the_search_says_all():
    for width in (1440, 1024, 390):
        with page_of("run", width=width, phone=width < 600) as page:
            rest = page.js("(() => { const b = byId('scroll'); return (b.clientHeight - b.querySelector('thead').offsetHeight) % LINE_PX; })()")
            whole = page.js("byId('scroll').scrollHeight <= byId('scroll').clientHeight + 1")
            assert whole or rest < 1, (width, rest)
            page.js("byId('scroll').style.maxHeight = '', byId('search').value = byId('search').placeholder")
            assert page.js("byId('search').scrollWidth <= byId('search').clientWidth"), width
    with page_of("run", width=1440) as page:  # beside a high panel there is no empty space below rows that are cut off
        assert page.js("byId('scroll').scrollHeight <= byId('scroll').clientHeight + 1")


def kernels_on_a_phone_have_their_time_and_different_names():
    with page_of("run", width=390, height=800, phone=True) as page:
        page.settle()
        edge, right = page.js("(() => { const s = byId('kernel-scroll').getBoundingClientRect(), c = document.querySelector('#kernel-rows td.share').getBoundingClientRect(); return [s.right, c.right]; })()")
        assert right <= edge + 1, (right, edge)
        rows = page.js("[...document.querySelectorAll('#kernel-rows td.name')].map((c) => [c.querySelector('.label').textContent, c.title, c.scrollWidth <= c.clientWidth])")
        assert len({shown for shown, _, _ in rows}) == len(rows) and all(fits for _, _, fits in rows) and any("…" in shown for shown, _, _ in rows), rows
        clean(page)


def the_page_fits_a_phone():
    with page_of("h200_transformer", width=390, height=800, phone=True) as page:
        page.settle()
        assert page.js("document.documentElement.scrollWidth") <= 390, page.js("document.documentElement.scrollWidth")
        clean(page)


def ranks_have_a_map_that_shows_the_slow_one_and_selects_its_region():
    if not os.path.exists(f"{folder}/ranks.html"):
        return "build/tools/ranks_make is not built"
    report = report_of("ranks")
    with page_of("ranks") as page:
        page.settle()
        assert report["ranks"]["stragglers"][0]["sentence"].split(" (nvidia-smi")[0] in page.js("byId('slow').textContent")
        tops = page.js("['slow', 'findings-box', 'overview', 'ranks', 'table', 'kernels', 'timeline'].map((id) => byId(id).getBoundingClientRect().top)")
        assert tops == sorted(tops), tops
        page.click("#slow button")
        assert abs(page.js("byId('ranks').getBoundingClientRect().top")) < 60 and page.js("state.tab") == "ranks"
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
