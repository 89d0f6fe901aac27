"""Checks the timeline of the HTML page."""
import os

from checks import clean, folder, page_of, report_of, spot_of

STREAM = "view.tracks.find((t) => t.kind === 'stream' && t.starts.length > 100)"


def it_starts_at_the_first_work_of_a_region_on_the_gpu():
    with page_of("run") as page:
        page.settle()
        first, start, end = page.js(f"[{STREAM}.starts[{STREAM}.regions.findIndex((r) => r >= 0)], view.from, view.to]")
        assert start <= first and first - start < 0.02 * (end - start) and start > 3e9, (first, start, end)
        assert page.js("view.to === view.end")
        page.js("byId('time-canvas').focus()")
        page.key("0", "0")
        assert page.js("view.from") == 0
        clean(page)


def ticks_differ_at_every_zoom():
    with page_of("run") as page:
        nr = 0
        for zoom in range(60):
            labels = page.js(f"(() => {{ const span = Math.max(50, view.end * 0.7 ** {zoom}), middle = 0.9971 * view.end; setTime(middle - span / 2, middle + span / 2); return ticks(1200).map(([, text]) => text); }})()")
            assert len(labels) >= 2 and len(set(labels)) == len(labels), (zoom, labels)
            nr += len(labels)
        assert nr > 300 and page.js("view.to - view.from") < 100, (nr, page.js("view.to - view.from"))
        clean(page)


def letters_and_signs_zoom_and_move_around_the_pointer():
    with page_of("run") as page:
        page.settle()
        spot = spot_of(page, "[view.from + 0.25 * (view.to - view.from), 60]")
        page.hover(*spot)
        where = "view.from + 0.25 * (view.to - view.from)"
        for key, narrower in (("w", True), ("+", True), ("s", False), ("-", False)):
            before = page.js(f"[{where}, view.to - view.from]")
            page.key(key, key)
            after = page.js(f"[{where}, view.to - view.from]")
            assert (after[1] < before[1]) == narrower and abs(after[0] - before[0]) < 0.01 * before[1], (key, before, after)
        page.key("w", "w")
        before = page.js("view.from")
        page.key("d", "d")
        assert page.js("view.from") > before
        page.key("a", "a")
        assert abs(page.js("view.from") - before) < 1
        clean(page)


def keys_zoom_the_timeline_that_is_in_sight_without_the_pointer():
    with page_of("run") as page:
        page.settle()
        page.js("window.scrollTo(0, 0)")
        page.key("+", "+")
        assert page.js("view.from === view.home"), "the timeline is not in sight"
        page.click("#tabs button[data-tab=timeline]")
        before = page.js("[(view.from + view.to) / 2, view.to - view.from]")
        page.key("+", "+")
        after = page.js("[(view.from + view.to) / 2, view.to - view.from]")
        assert after[1] < 0.7 * before[1] and abs(after[0] - before[0]) < 1e-6 * before[1] + 1, (before, after)
        page.key("ArrowRight")
        assert page.js("(view.from + view.to) / 2") > after[0]
        page.js("byId('search').focus({preventScroll: true})")
        page.key("0", "0")
        assert page.js("view.from") > 0, "what is typed is for the search"
        assert "in sight" in page.js("showHelp(), byId('keys').textContent")
        clean(page)


def streams_without_work_in_view_are_collapsed():
    with page_of("run") as page:
        page.js("setTime(0.99 * view.end, view.end)")
        page.settle()
        rows = page.js("tracksShown().map((t) => [t.title, t.isEmpty, t.y])")
        empty = [r for r in rows if r[1]]
        assert len(empty) == 2 and all("stream" in r[0] for r in empty), rows
        assert abs(empty[1][2] - empty[0][2]) == page.js("EMPTY_PX") < page.js("TRACK_GAP + LANE_PX"), rows
        clean(page)


def tracks_are_named_by_rank_and_thread_and_no_two_alike():
    with page_of("run") as page:
        assert "python3 · thread 1411" in page.js("view.tracks.map((t) => t.title)")
    if not os.path.exists(f"{folder}/ranks.html"):
        return "build/tools/ranks_make is not built"
    with page_of("ranks") as page:
        names = page.js("view.tracks.map((t) => t.title)")
        assert len(names) > 16 and len(set(names)) == len(names) and all(n.startswith("rank ") for n in names), names[:9]
        clean(page)


def gaps_are_shaded_by_their_cause():
    want = report_of("run")["aggregate"]["longest_gaps"]
    with page_of("run") as page:
        page.settle()
        causes = page.js("state.report.gaps.map((g) => { const t = data.timeline.entered + g.begin_ms * 1e6 + g.ms * 5e5; for (const all of view.gaps) for (let i = 0; i < all.starts.length; i++) if (all.starts[i] <= t && t < all.ends[i]) return CAUSES[all.c.charCodeAt(i) - 97]; })")
        assert causes == [g["cause"] for g in want], causes
        page.js("showGap(state.report.gaps[1])")
        page.settle()
        middle = f"[data.timeline.entered + (state.report.gaps[1].begin_ms + state.report.gaps[1].ms / 2) * 1e6, {STREAM}.y + TRACK_GAP + 12]"
        spot = spot_of(page, middle)
        page.hover(*spot)
        assert "GPU idle for" in page.js("tip.textContent") and page.js(f"tip.textContent.endsWith(data.causes['{causes[1]}'])"), page.js("tip.textContent")
        assert "idle: " + causes[1] in page.js("byId('time-legend').textContent")
        clean(page)


def launches_and_gaps_fill_the_time_of_a_device():
    with page_of("run") as page:
        # Gaps are the capture's, whatever is selected; here all launches are shown.
        busy, first, last, idle = page.js("""(() => {
            const all = view.tracks.filter((t) => t.kind === 'stream').flatMap((t) => [...t.starts].map((s, i) => [s, t.ends[i]])).sort((a, b) => a[0] - b[0]);
            let busy = 0, end = all[0][0]; for (const [s, e] of all) { busy += Math.max(0, e - Math.max(s, end)); end = Math.max(end, e); }
            return [busy, all[0][0], end, view.gaps[0].d.reduce((a, b) => a + b)]; })()""")
        assert abs(busy + idle - (last - first)) < 2e-4 * (last - first) and idle > busy, (busy, idle, last - first)
        clean(page)


def launches_of_the_selection_have_arrows_from_their_calls():
    with page_of("run") as page:
        page.js("change({region: regionNumber('step/optimizer')})")
        page.js("(() => { const t = view.tracks.find((x) => x.kind === 'thread'), i = t.regions.lastIndexOf(state.region); setTime(t.starts[i] - 1e5, t.ends[i] + 1e6); })()")
        page.settle()
        assert 0 < page.js("view.arrows") <= page.js("MOST_ARROWS"), page.js("view.arrows")
        spot = spot_of(page, f"(() => {{ const t = {STREAM}, i = t.regions.lastIndexOf(state.region); return [(t.starts[i] + t.ends[i]) / 2, t.y + TRACK_GAP + 2]; }})()")
        page.click_at(*spot)
        assert page.js("view.picked !== null && view.arrows") == 1, page.js("view.arrows")
        page.hover(*spot)
        assert "after its launch call" in page.js("tip.textContent"), page.js("tip.textContent")
        clean(page)


def a_selection_is_always_in_sight():
    for name in ("run", "train"):
        with page_of(name) as page:
            page.settle()
            for i in range(page.js("state.report.nr")):
                page.js("change({region: -1}); setTime(0, 1000)")
                page.js(f"selectNode({i})")
                page.settle()
                assert page.js("isSelectionSeen()"), page.js("pathText(data.regions[state.region])")
                seen = page.js("tracksShown().some((t) => !t.isEmpty && t.y + TRACK_GAP + t.lanes.length * LANE_PX > byId('time-box').scrollTop && t.y < byId('time-box').scrollTop + byId('time-box').clientHeight)")
                assert seen, i
            clean(page)


def many_tracks_take_a_canvas_no_higher_than_its_window():
    if not os.path.exists(f"{folder}/ranks.html"):
        return "build/tools/ranks_make is not built"
    with page_of("ranks") as page:
        page.settle()
        assert page.js("view.height > byId('time-canvas').clientHeight && byId('time-canvas').clientHeight <= 0.63 * innerHeight"), page.js("[view.height, byId('time-canvas').clientHeight]")
        last = page.js("tracksShown().at(-1).y")
        page.js(f"byId('time-box').scrollTop = {last}")
        page.settle()
        spot = spot_of(page, "(() => { const t = tracksShown().at(-1); return [(t.starts[0] + t.ends[0]) / 2, t.y + TRACK_GAP + 2]; })()")
        hit = page.js("(() => { const h = eventUnder({clientX: %f, clientY: %f}); return h && h.track === tracksShown().at(-1); })()" % tuple(spot))
        assert hit, "what is under the pointer after scrolling"
        clean(page)
