"""Checks that the HTML page shows the figures of report.json."""
import glob
import os
import re

from checks import clean, folder, near, page_of, report_of, same_rows


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
        kernels = page.js("[...document.querySelectorAll('#kernel-rows td[data-v]')].map((c) => Number(c.dataset.v))")
        assert kernels and all(map(near, kernels, sorted((k["total_ms"] for k in region["kernels"]), reverse=True))), kernels
        how = page.js("document.querySelector('#rows td[data-key^=m]').title")
        assert "weighted" in how or "constituents" in how, how
        clean(page)


def the_title_names_the_program_and_the_file():
    program = report_of("h200_transformer")["capture"]["processes"][0]["name"].split("/")[-1]
    with page_of("h200_transformer") as page:
        assert page.js("document.title") == f"{program} · h200_transformer.ncu-rep · sonde", page.js("document.title")
        assert page.js("document.querySelector('h1').textContent") in page.js("document.title")


def entries_have_a_histogram_and_the_slowest_lead_to_the_timeline():
    region = next(r for r in report_of("train")["aggregate"]["regions"] if r["id"] == "forward/layer0")
    with page_of("train", "#region=forward%2Flayer0") as page:
        assert page.js("[...document.querySelectorAll('#entries h4')].map((h) => h.textContent.split(':')[0])") == ["wall", "GPU", "host"]
        assert page.js("document.querySelectorAll('#entries .histogram .median').length") == 3
        where = page.js("parseFloat(document.querySelector('#entries .median').style.left)")
        outside = "[...document.querySelectorAll('#panel table')].filter((t) => t.scrollWidth > t.parentNode.clientWidth && !t.closest('.wide')).map((t) => t.ariaLabel)"
        assert not page.js(outside), "tables that are too wide for the panel can be scrolled"
        wall = region["entries"]["wall"]
        assert abs(where - 100 * (wall["median_ms"] - wall["min_ms"]) / (wall["max_ms"] - wall["min_ms"])) < 0.01, where
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
        assert page.js("byId('kernel-title').textContent") == "All kernels"
        assert page.js("state.report.kernels.calls.slice(state.report.flat_k0, state.report.flat_k0 + state.report.flat_kn).reduce((a, b) => a + b)") == report_of("train")["coverage"]["launches_total"]
        names = page.js("[...document.querySelectorAll('#kernel-rows td.name')].map((d) => [d.textContent, d.title])")
        assert len({short for short, _ in names}) == len(names) and any(len(short) < len(whole) / 2 for short, whole in names), names
        clean(page)


def widths_by_entries_nest():
    with page_of("h200_transformer") as page:
        wider = page.js("state.report.region.map((_, n) => n).filter((n) => state.report.children[n].reduce((sum, c) => sum + weightOf(state.report, c, 'instances'), 0) >= weightOf(state.report, n, 'instances'))")
        assert wider == [], wider


def no_region_is_busy_for_more_than_all_of_the_time():
    with page_of("h200_transformer") as page:
        text = page.js("(() => { const r = state.report; r.bound = r.bound || []; r.bound = [...r.bound]; r.bound[0] = 'a'; for (const [key, v] of [['busy_ms', 166], ['host_ms', 100]]) { const l = [...(r.f[fieldOf.get(key)] || r.region.map(() => null))]; l[0] = v; r.f[fieldOf.get(key)] = l; } return waited(r, 0).textContent; })()")
        assert "1.7 times as long" in text and "166 %" not in text, text


def a_capture_without_regions_shows_its_kernels():
    with page_of("none_kernel") as page:
        assert page.js("document.querySelectorAll('#kernel-rows tr').length") == 4
        assert "No NVTX range" in page.js("document.getElementById('overview').textContent")
        clean(page)


def no_number_is_ever_cut():
    cut_cells = "[...document.querySelectorAll('#rows td[data-key], #kernel-rows td:not(:first-child)')].filter((c) => c.scrollWidth > c.clientWidth).map((c) => c.textContent)"
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


def without_gpu_work_nothing_is_added_up():
    if not os.path.exists(f"{folder}/native.html"):
        return "the NVTX headers were not found when building"
    with page_of("native") as page:
        assert page.js("document.querySelectorAll('#rows tr').length") > 5 and page.js("document.querySelectorAll('#rows tr.sum').length") == 0
    with page_of("train") as page:
        assert page.js("document.querySelector('#rows tr.sum').textContent").startswith("total in regions")


def streams_and_the_bound_of_a_region_are_those_of_report_json():
    if not os.path.exists(folder + "/gpu.html"):
        return
    region = next(r for r in report_of("gpu")["aggregate"]["regions"] if r["id"] == "s@@")
    with page_of("gpu", "#region=s%40%40&kind=start_end") as page:
        page.settle()
        rows = page.js("[...document.querySelectorAll('table[aria-label=Streams] tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))")
        assert [(int(r[0]), int(r[1])) for r in rows] == [(s["stream"], s["kernel_count"]) for s in region["per_stream"]], rows
        words = {"gpu": "the GPU:", "copies": "copies:", "cpu": "the CPU:", "waiting": "something else:", "mixed": "alone:"}
        assert words.get(region["bound"], "the GPU:") in page.js("document.querySelector('#panel .verdict').textContent")
        clean(page)


def a_sampled_verdict_names_the_busiest_part_as_the_limiter_does():
    region = next(r for r in report_of("sampled")["aggregate"]["regions"] if r["id"] == "warmup/lm_head")
    of_peak = lambda name: name + ".pct_of_peak_sustained_elapsed"
    dram, active = (region["metrics"][of_peak(n)] for n in ("dram__bytes.sum", "sm__cycles_active.avg"))
    with page_of("sampled", "#region=warmup/lm_head") as page:
        page.settle()
        said = page.js("[...document.querySelectorAll('#panel .verdict')].map((p) => p.textContent)")
        assert any(f"the memory system at ~{dram:.1f} % of peak" in words for words in said), said
        # The capture has no figures of L2: those of another column take their place, to see that L2 counts.
        page.js(f"data.roles.memory_parts.push(data.metrics.findIndex((m) => m.n === '{of_peak('sm__cycles_active.avg')}'))")
        words = page.js("amounts(state.report, selectedNode())[1][1]")
        assert words == f"~{max(dram, active):.1f} %" and active > dram, (words, dram, active)
        clean(page)


def a_sampled_verdict_names_the_pipe_and_not_all_of_the_multiprocessors():
    metrics = next(r for r in report_of("run")["aggregate"]["regions"] if r["id"] == "step")["metrics"]
    tensor = metrics["sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"]
    with page_of("run", "#region=step") as page:
        said = page.js("[...document.querySelectorAll('#panel .verdict')].map((p) => p.textContent).join()")
        assert f"limited by latency: the multiprocessors' busiest part, Tensor, at ~{tensor:.1f} % of peak" in said, said
        clean(page)
    with page_of("h200_transformer", "#region=step%2Fdecode") as page:  # all of their throughput was counted
        said = page.js("[...document.querySelectorAll('#panel .verdict')].map((p) => p.textContent).join()")
        assert "the multiprocessors at " in said and "busiest" not in said, said


def copies_have_no_bound():
    with page_of("run") as page:
        page.settle()
        rows = page.js("[...document.querySelectorAll('#kernel-rows tr[data-kernel]')].map((r) => [data.strings[state.report.kernels.name[r.dataset.kernel]], r.querySelector('.words').textContent])")
        assert any(name.startswith("[CUDA mem") for name, _ in rows) and any(bound for _, bound in rows), rows
        assert not any(bound for name, bound in rows if name.startswith("[CUDA mem")), rows
        clean(page)


def numbers_without_a_unit_are_grouped_as_in_tables():
    with page_of("run") as page:
        assert page.js("evidenceText({v: 1008, unit: ''})") == "1\u202f008" and page.js("plain(3020.4)") == "3\u202f020" and page.js("plain(81.8)") == "81.8"
        page.settle()
        axis = page.js("[...document.querySelectorAll('#roofline text')].map((t) => t.textContent)")
        assert "1000" not in axis and "1.00 k" in axis, axis


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
        none = page.js("[...document.querySelectorAll('#rows td')].filter((c) => c.title.startsWith('" + name + "') && !c.dataset.v).map((c) => c.title)")
        assert none and all("too few samples for a figure" in t for t in none), none
        names = page.js("view.curves.map((c) => c.name)")
        assert names == ["SM active %", "DRAM GB/s", "Tensor %"], names
        page.js("document.getElementById('time-canvas').scrollIntoView()")
        lines = page.js("(() => { const c = document.getElementById('time-canvas'), k = devicePixelRatio || 1, n = view.curves[0]; const d = c.getContext('2d').getImageData(0, (n.y + TRACK_GAP) * k, c.width, CURVE_PX * k - 8).data; let s = 0; for (let i = 3; i < d.length; i += 4) s += d[i] > 0; return s; })()")
        assert lines > 50, lines
        clean(page)
