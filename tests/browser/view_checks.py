"""Checks the views of the HTML page: findings, chart, kernels, addresses, keys, widths, print."""
import os
import re

from checks import ROWS, clean, folder, page_of, report_of


def evidence_of_a_finding_opens_below_its_card_and_escape_closes_it():
    want = report_of("run")["findings"][0]
    with page_of("run") as page:
        shown = "document.querySelector('#findings .evidence').checkVisibility()"
        zoom = page.js("state.zoom")
        page.hover(*page.js("(() => { const b = document.querySelector('#findings li').getBoundingClientRect(); return [b.left + 40, b.top + 30]; })()"))
        assert not page.js(shown)  # the pointer alone covers nothing
        page.click("#findings summary")
        assert page.js(shown)
        edges = page.js("(() => { const [card, box, next] = [document.querySelector('#findings li'), document.querySelector('#findings .evidence'), document.querySelectorAll('#findings li')[1]].map((e) => e.getBoundingClientRect()); return [card.bottom - box.top, next.left - box.right]; })()")
        assert 0 <= edges[0] < 10 and edges[1] >= 0, edges
        on_top = page.js("(() => { const b = document.querySelector('#findings .evidence').getBoundingClientRect(); return !!document.elementFromPoint(b.left + 20, b.bottom - 8).closest('.evidence'); })()")
        assert on_top, "something lies over the evidence"
        text = page.js("document.querySelector('#findings .evidence').textContent")
        for e in want["evidence"]:
            assert f"{e['value']:.3f}" in text or str(int(e["value"])) in text.replace("\u202f", "") or f"{e['value'] / 1000:.2f} k" in text, (e, text)
        page.key("Escape")
        assert not page.js(shown) and page.js("state.zoom") == zoom, "Escape closes the evidence and nothing else"
        page.click("#findings summary")
        page.click("h1")
        assert not page.js(shown)
        assert f"{round(100 * want['gain']['step_ms'] / want['gain']['of_ms'])} %of each step saved" == page.js("document.querySelector('#findings .gain').textContent")
        for i, f in enumerate(report_of("run")["findings"][:3]):
            card = page.js(f"document.querySelectorAll('#findings li')[{i}].textContent")
            assert ("at most" in card) == ("upper bound" in f["gain"]["from"]), card
        page.click("#more-findings")
        labels = page.js("[...document.querySelectorAll('#findings .gain')].map((e) => e.textContent)")
        for label, f in zip(labels, report_of("run")["findings"]):
            gain, of = f["gain"]["step_ms"], {"step": "of each step", "ranges": "of the time in ranges"}[f["cost"]["share_of"]]
            assert of in label and (": its cost" in label) == (gain is None or gain < 0.0005), (label, f)
        clean(page)


def a_change_that_saves_nothing_is_not_among_the_first():
    if not os.path.exists(f"{folder}/ranks.html"):
        return "build/tools/ranks_make is not built"
    with page_of("ranks") as page:
        assert page.js("data.findings.some(isInVain) && data.findings.some((f) => !isInVain(f))")
        first = page.js("[...document.querySelectorAll('#findings li')].map((e) => e.textContent)")
        assert first and not any("saves nothing" in text for text in first), first
        page.click("#more-findings")
        texts = page.js("[...document.querySelectorAll('#findings li')].map((e) => e.textContent)")
        assert len(texts) == len(report_of("ranks")["findings"]) and any("saves nothing" in t for t in texts), texts
        assert not any("-0.00" in t for t in texts) and page.js("getComputedStyle(document.querySelector('.gain.cost')).color !== getComputedStyle(document.querySelector('.gain:not(.cost)')).color")
        clean(page)


def a_cause_is_shown_once_with_its_other_places():
    with page_of("run") as page:
        causes = page.js("[...document.querySelectorAll('#findings li')].length === new Set(data.findings.filter((f) => !isInVain(f)).map((f) => f.cause)).size || [...document.querySelectorAll('#findings li')].length === 3")
        assert causes and "Also: warmup/step/forward (3% of the time in ranges)." in page.js("document.querySelector('#findings li').textContent"), page.js("document.querySelector('#findings li').textContent")
        page.click("#more-findings")
        assert "Also:" not in page.js("byId('findings').textContent")


def the_chart_begins_at_the_step_and_a_finding_leads_to_its_row():
    step = "state.report.nodeOf.get(regionNumber('step'))"
    with page_of("run") as page:
        width = lambda: page.js(f"(() => {{ const e = byId('frame' + {step}); return e ? e.getBoundingClientRect().width / byId('frames').clientWidth : 0; }})()")
        assert width() > 0.99 and page.js("byId('crumbs').textContent") == "all regions›step" and page.js("location.hash") == ""
        page.click("#crumbs button")
        assert width() < 0.2 and page.js("location.hash") == "#zoom="
        page.click("#findings li:nth-child(3) h3 button")
        assert page.js("pathText(data.regions[state.zoom])") == "step/optimizer" == page.js("pathText(data.regions[state.region])")
        row = page.js("(() => { const b = byId('row' + selectedNode()).getBoundingClientRect(); return [b.top, b.bottom]; })()")
        assert 46 < row[0] and row[1] <= 900, row
        clean(page)
    with page_of("run", "#zoom=") as page:
        assert page.js("state.zoom") == -1
    with page_of("train") as page:
        assert page.js("state.zoom") == page.js("homeZoom(state.report)")


WAIT = "new Promise((done) => setTimeout(done, 2 * ONE_STEP_MS))"


def back_and_forward_lead_through_what_was_shown():
    with page_of("run") as page:
        page.settle()
        where = "[location.hash, state.region < 0 ? '' : pathText(data.regions[state.region]), state.tab, state.kernel >= 0]"
        seen = [page.js(where)]
        length = page.js("history.length")
        forward = page.js("'#frame' + state.report.nodeOf.get(regionNumber('step/forward'))")
        for what in ("#findings h3 button", forward, "#tabs button[data-tab=kernels]", "#kernel-rows tr td.name"):
            page.js("scrollTo(0, 0)")
            page.click(what)
            page.js(WAIT)
            seen.append(page.js(where))
        assert page.js("history.length") == length + 4 and len({str(s) for s in seen}) == 5, seen
        page.js("showTime(view.from + 1e6, view.to)")  # no step: Back does not go through every move of the timeline
        page.js(WAIT)
        assert page.js("history.length") == length + 4
        for want in seen[3::-1]:
            page.js("new Promise((done) => { addEventListener('hashchange', () => done(), {once: true}); history.back(); })")
            page.js(WAIT)
            assert page.js(where) == want, (page.js(where), want)
        page.js("new Promise((done) => { addEventListener('hashchange', () => done(), {once: true}); history.forward(); })")
        assert page.js(where) == seen[1], (page.js(where), seen[1])
        assert page.js("history.length") == length + 4
        clean(page)


def a_key_held_down_is_one_step_of_the_history():
    with page_of("run") as page:
        page.settle()
        length = page.js("history.length")
        page.js("for (let i = 0; i < 8; i++) selectNode(i)")
        assert page.js("history.length") == length + 1


def a_card_of_a_launch_says_where_the_others_are():
    with page_of("run", "#region=step") as page:
        page.settle()
        page.js("change({kernel: state.report.kernels.name[kernelGrid.rows.find((i) => launchesOf(state.report.kernels.name[i]).length > state.report.kernels.calls[i])]})")
        calls = page.js("state.report.kernels.calls[Number(document.querySelector('#kernel-rows tr[aria-expanded=true]').dataset.kernel)]")
        head = page.js("document.querySelector('tr.detail h3').textContent")
        assert head.endswith(f"launches over time, {calls} of them in step"), (head, calls)
        clean(page)


def advice_has_no_flags_of_the_command_line():
    for name in ("run", "h200_transformer", "ranks"):
        with page_of(name) as page:
            page.settle()
            said = page.js("['findings-box', 'ranks', 'panel', 'kernels', 'overview'].map((id) => byId(id).innerText).join('\\n')")
            flags = re.findall(r".*(?:\s--?[a-z]|sonde [a-z]+ [A-Z]).*", said)
            assert not flags, flags
            clean(page)


def a_finding_leads_to_its_kernel_and_its_gap():
    with page_of("run") as page:
        page.settle()
        page.click("#findings li:nth-child(3) .small button")
        assert page.js("state.kernel === data.findings[2].kernel && document.querySelectorAll('#kernel-rows tr.detail').length") == 1
        clean(page)


def the_chart_has_idle_time_by_wall_time_and_a_switch_to_gpu_time():
    report = {r["id"]: r for r in report_of("run")["aggregate"]["regions"]}
    with page_of("run", "#zoom=") as page:
        assert page.js("state.by") == "wall_ms"
        frames = page.js("[...document.querySelectorAll('.frame.idle')].map((e) => [data.regions[state.report.region[e.dataset.node]].id, e.getBoundingClientRect().width / byId('frames').clientWidth])")
        total = sum(r["wall_ms"] for r in report.values() if r["depth"] == 0)
        leaf = dict(frames)["warmup/step/forward/layer0/attn"]
        assert abs(leaf - report["warmup/step/forward/layer0/attn"]["idle_ms"] / total) < 0.01, (leaf, frames)
        wider = page.js("""[...document.querySelectorAll('.frame:not(.idle)')].filter((e) => { const up = byId('frame' + state.report.parent[e.dataset.node]); if (!up) return false;
            const a = up.getBoundingClientRect(), b = e.getBoundingClientRect(); return b.left < a.left - 1 || b.right > a.right + 1; }).length""")
        assert wider == 0 and "idle: launch" in page.js("byId('legend').textContent")
        page.js("[...document.querySelectorAll('.seg[aria-label=Width] button')].find((b) => b.textContent === 'GPU time').click()")
        page.settle()
        assert page.js("document.querySelectorAll('.frame.idle').length") == 0 and page.js("location.hash") == "#zoom=&by=inclusive_ms"
        assert "% of the GPU time of all regions" in page.js("document.querySelector('.frame').getAttribute('aria-label')")
        share = page.js("byId('frame' + state.report.nodeOf.get(regionNumber('step'))).getBoundingClientRect().width / byId('frames').clientWidth")
        assert abs(share - report["step"]["total_ms"] / (report["step"]["total_ms"] + report["warmup"]["total_ms"])) < 0.01, share
        clean(page)


def the_table_has_the_colours_and_words_of_the_chart():
    with page_of("run") as page:
        pairs = page.js("[...document.querySelectorAll('#rows td[data-key=bound] .swatch')].map((s) => { const node = s.closest('tr').dataset.node, f = byId('frame' + node); return f && [s.style.background, f.style.background, s.parentNode.textContent, f.getAttribute('aria-label')]; }).filter(Boolean)")
        assert len(pairs) > 5 and all(a == b and "bound: " + word in label for a, b, word, label in pairs), pairs[:4]
        clean(page)


def a_kernel_takes_a_line_and_a_click_opens_it():
    kernels = sorted((k for k in report_of("run")["aggregate"]["kernels"]), key=lambda k: -k["total_ms"]) if "kernels" in report_of("run")["aggregate"] else None
    with page_of("run", width=1440) as page:
        page.settle()
        heights = page.js("[...document.querySelectorAll('#kernel-rows tr[data-kernel]')].map((r) => r.offsetHeight)")
        assert len(heights) > 20 and max(heights) <= 28, heights
        assert page.js("byId('kernel-grid').clientWidth / document.querySelector('main').clientWidth") > 0.9
        if kernels:
            assert abs(page.js("Number(document.querySelector('#kernel-rows td[data-v]').dataset.v)") - kernels[0]["total_ms"]) < 1e-6
        page.click("#kernel-rows tr:nth-child(2) td.name")
        heads = page.js("[...document.querySelectorAll('tr.detail h3')].map((h) => h.textContent)")
        assert page.js("[...document.querySelectorAll('#kernel-heads th')].slice(0, 5).map((h) => h.textContent)") == ["kernel", "launches", "GPU ms ↓", "mean µs", "bound"]
        assert heads[0].endswith("launches over time") and "Roofline" in heads and "Counters" in heads, heads
        assert "±" in page.js("document.querySelector('tr.detail table[aria-label=Counters]').textContent")
        assert "Do:" in page.js("document.querySelector('tr.detail .advice').textContent")
        calls = page.js("state.report.kernels.calls[Number(document.querySelector('#kernel-rows tr[aria-expanded=true]').dataset.kernel)]")
        assert page.js("kernelGrid.launches.length") == calls
        page.key("Enter")
        page.js("document.querySelector('#kernel-rows tr[aria-expanded=true]').focus()")
        page.key("Enter", "\r")
        assert page.js("document.querySelectorAll('tr.detail').length") == 0
        clean(page)


def a_kernel_has_its_stalls_and_lines():
    if not os.path.exists(f"{folder}/lines.html"):
        return "no stand-in of CUPTI was built"
    stalls = next(r for r in report_of("lines")["aggregate"]["regions"] if r["id"] == "A")["kernels"][0]["stalls"]
    with page_of("lines") as page:
        page.settle()
        page.js("change({tab: 'kernels'})")
        page.js("(() => { const k = state.report.kernels; change({kernel: k.name[kernelGrid.rows[0]]}); })()")
        text = page.js("document.querySelector('tr.detail').textContent")
        for reason in stalls["reasons"][:2]:
            assert f"{reason['share_pct']:.1f} %" in text, (reason, text)
        for line in stalls["lines"]:
            assert f"{line['file'].split('/')[-1]}:{line['line']}{line['share_pct']:.1f} %" in text, (line, text)
        clean(page)


def the_source_of_a_kernel_is_beside_its_samples():
    with page_of("run") as page:
        page.settle()
        page.js("change({tab: 'kernels'})")
        page.js("""(() => { const k = state.report.kernels, i = kernelGrid.rows[0]; k.stalls = k.name.map(() => null); k.stalls[i] = [['long scoreboard', 61.5]];
            k.places = ['/src/gemm.cu:17', '/src/gemm.cu:30', '/src/gemm.cu:4']; k.texts = ['x = <b>;', 0, null]; k.reasons = ['barrier', 'waits for memory'];
            k.lines = k.name.map(() => null); k.lines[i] = [[0, 40, 1, 1], [2, 20, null]];
            k.code = k.name.map(() => null); k.code[i] = [[496, 30, 0, 0], [512, 10, null]]; change({kernel: k.name[i]}); })()""")
        text = page.js("document.querySelector('tr.detail').textContent")
        assert "long scoreboard61.5 %" in text and "gemm.cu:1740.0 %waits for memoryx = <b>;" in text, text
        assert "in gemm.cu:30the file has changed" in text and "gemm.cu:420.0 %issued only" in text, text
        assert "+0x1f030.0 %barriergemm.cu:17" in text and "+0x20010.0 %issued only" in text, text
        clean(page)


def a_region_shows_what_else_is_known_of_it():
    with page_of("run") as page:
        page.settle()
        page.js("(() => { const f = {key: 'tokens_per_s', head: 'tokens/s', form: 'ratio'}; fieldOf.set(f.key, data.fields.push(f) - 1); state.report.f.push(state.report.region.map(() => 1234.5)); change({region: regionNumber('step')}); })()")
        assert "tokens/s1234.50" in page.js("document.querySelector('#panel .facts').textContent"), page.js("document.querySelector('#panel .facts').textContent")
        clean(page)


ASKED = "[state.region, state.zoom, state.kernel, state.sort, state.isDown, state.search, state.by, state.exclusive, state.tab, Math.round(view.from), Math.round(view.to)]"


def the_address_has_sort_search_selection_zoom_and_tab():
    with page_of("run") as page:
        page.settle()
        page.js("change({region: regionNumber('step/forward'), zoom: regionNumber('step/forward'), by: 'inclusive_ms', exclusive: true})")
        page.click("#heads th:nth-child(2) button")
        page.click("#heads th:nth-child(2) button")
        page.key("/", "/")
        page.type("forward")
        page.js("change({kernel: state.report.kernels.name[kernelGrid.rows[0]]})")
        page.click("#tabs button[data-tab=timeline]")
        page.js("showTime(3.9e9, 3.91e9)")
        page.js("new Promise((done) => setTimeout(done, 400))")
        want, address = page.js(ASKED), page.js("location.hash")
        for part in ("region=", "zoom=", "sort=-", "search=forward", "kernel=", "tab=timeline", "time=3900000000-3910000000", "by=", "figures="):
            assert part in address, (part, address)
    with page_of("run", address) as page:
        page.js("new Promise((done) => { const ask = () => document.documentElement.dataset.ready ? done() : setTimeout(ask, 10); ask(); })")
        page.settle()
        assert page.js(ASKED) == want, (page.js(ASKED), want)
        assert page.js("byId('search').value") == "forward" and abs(page.js("byId('timeline').getBoundingClientRect().top")) < 120
        assert page.js("document.querySelector('#tabs [aria-current]').dataset.tab") == "timeline"
        clean(page)


def a_question_mark_lists_the_keys_and_escape_leaves_the_search():
    with page_of("run") as page:
        page.key("?", "?")
        assert page.js("byId('keys').open") and "zoom the timeline" in page.js("byId('keys').textContent")
        page.key("Escape")
        assert not page.js("byId('keys').open")
        page.key("/", "/")
        page.type("loss")
        assert page.js("document.activeElement.id") == "search"
        page.key("Escape")
        assert page.js("document.activeElement.id !== 'search' && state.search") == ""
        page.key("?", "?")
        assert page.js("byId('keys').open")
        clean(page)


def breadcrumbs_are_spaced():
    with page_of("run", "#region=step%2Fforward%2Flayer0&zoom=step%2Fforward%2Flayer0") as page:
        for box in ("#crumbs", "#panel .crumbs"):
            gaps = page.js(f"(() => {{ const all = [...document.querySelector('{box}').children].map((e) => e.getBoundingClientRect()); return all.slice(1).map((b, i) => b.left - all[i].right); }})()")
            assert len(gaps) >= 3 and min(gaps) >= 4, (box, gaps)
        clean(page)


def the_menu_of_columns_has_what_the_capture_has_in_words():
    with page_of("h200_transformer") as page:
        page.click(".chooser summary")
        texts = page.js("[...document.querySelectorAll('.chooser label')].map((l) => l.textContent)")
        assert any(t.startswith("incl ms – GPU time with nested regions") for t in texts), texts[:9]
        assert not any("wall" in t or "idle" in t or "_ms" in t for t in texts if "__" not in t), texts[:20]
        clean(page)
    with page_of("run") as page:
        page.click(".chooser summary")
        texts = page.js("[...document.querySelectorAll('.chooser label')].map((l) => l.textContent)")
        assert any("idle, because the host did not launch fast enough" in t for t in texts) and any(t.startswith("wall ms") for t in texts), texts[:20]


HIDDEN = """[...document.querySelectorAll('body *')].filter((e) => { const b = e.getBoundingClientRect(); return b.width && b.right > innerWidth + 1 && !e.closest('.scroll, .wide, #tabs, .skip, #frames'); }).map((e) => e.tagName + '#' + e.id + '.' + e.className).slice(0, 5)"""
CUT_OFF = """[...document.querySelectorAll('.scroll, .wide, #tabs')].filter((e) => e.scrollWidth > e.clientWidth + 1 && !(getComputedStyle(e).overflowX === 'auto' && getComputedStyle(e).backgroundImage.includes('gradient'))).map((e) => e.id + e.className)"""


def nothing_is_off_the_screen_without_a_cue():
    for name in ("run", "h200_transformer", "ranks", "hostile"):
        for width in (1440, 1024, 768, 390):
            with page_of(name, width=width, phone=width < 600) as page:
                page.settle()
                if name == "run":
                    page.js("change({region: regionNumber('step/forward'), kernel: state.report.kernels.name[kernelGrid.rows[0]]})")
                page.settle()
                assert page.js("document.documentElement.scrollWidth") <= width, (name, width, page.js("document.documentElement.scrollWidth"))
                assert page.js(HIDDEN) == [] and page.js(CUT_OFF) == [], (name, width, page.js(HIDDEN), page.js(CUT_OFF))
                clean(page)


def on_paper_notes_are_open_and_verdicts_are_on_the_sheet():
    with page_of("run") as page:
        page.settle()
        page.send("Emulation.setEmulatedMedia", media="print")
        page.js("dispatchEvent(new Event('beforeprint'))")
        page.settle()
        assert page.js("[...document.querySelectorAll('details.notes')].every((d) => d.open)")
        assert page.js("document.querySelectorAll('#findings li').length") == len(report_of("run")["findings"])
        last = page.js("(() => { const c = [...document.querySelectorAll('#rows td[data-key=bound]')][3].getBoundingClientRect(); return [c.right, document.querySelector('main').getBoundingClientRect().right]; })()")
        assert last[0] <= last[1] + 1, last
        page.js("dispatchEvent(new Event('afterprint'))")
        page.send("Emulation.setEmulatedMedia", media="")
        assert not page.js("document.querySelector('details.notes').open")
        assert 2 <= page.sheets() <= 9
        clean(page)


def many_ranks_take_four_sheets_at_most():
    with page_of("ranks64") as page:
        page.settle()
        fits = page.js("(() => { const c = byId('map').getBoundingClientRect(), b = byId('ranks').getBoundingClientRect(); return c.left >= b.left && c.right <= b.right; })()")
        assert fits, "the map is wider than its card"
        names = page.js("cutApart(Array.from({length: 64}, (_, r) => rowName(data.ranks, r)), 12)")
        assert len(set(names)) == 64, names
        heads = page.js("cutApart(data.ranks.regions.map((r) => pathText(data.regions[r])), 10)")
        assert len(set(heads)) == len(heads) and any("…" in h for h in heads), heads
        page.js("document.querySelectorAll('main > :not(#ranks), header').forEach((e) => e.hidden = true)")
        assert page.sheets() <= 4, page.sheets()
        clean(page)


def the_same_names_are_never_made_by_cutting():
    with page_of("seed_kernel") as page:
        texts = ["a_very_long_name_of_a_kernel_" + c + "_with_a_long_end_that_is_the_same" for c in "xyz"] + ["short"]
        cut = page.js(f"cutApart({texts}, 16)")
        assert len(set(cut)) == 4 and cut[3] == "short" and all(len(t) <= 20 for t in cut), cut
