/* How long single entries of the selected region took: their distribution, and the slowest. */

const MOST_BINS = 40, NR_SLOWEST = 5;

/* Bars by duration, with a line at the median. */
function histogram(title, list, d) {
	const span = d.max_ms - d.min_ms, bins = new Array(Math.min(MOST_BINS, Math.max(8, list.length))).fill(0);
	for (const v of list)
		bins[span > 0 ? Math.max(0, Math.min(bins.length - 1, Math.floor((v - d.min_ms) / span * bins.length))) : 0]++;
	const ms = (v) => time(Math.round(v * 1e6)), most = Math.max(...bins), at = (i) => ms(d.min_ms + span * i / bins.length);
	const text = "median " + ms(d.median_ms) + ", p95 " + ms(d.p95_ms) + ", p99 " + ms(d.p99_ms) + ", " + ms(d.min_ms) + " to " + ms(d.max_ms);
	return el("div", {}, el("h4", {}, title + ": " + text),
		el("div.bars.histogram", {role: "img", "aria-label": title + " per entry: " + text, title: "mean " + ms(d.mean_ms) + (isNumber(d.sd_ms) ? ", standard deviation " + ms(d.sd_ms) : "")},
			...bins.map((nr, i) => el("i", {title: at(i) + " to " + at(i + 1) + "\n" + nr + (nr === 1 ? " entry" : " entries"), style: {height: nr ? Math.max(4, 100 * nr / most) + "%" : "0"}})),
			el("b.median", {title: "median " + ms(d.median_ms), style: {left: (span > 0 ? 100 * (d.median_ms - d.min_ms) / span : 0) + "%"}})));
}

/* The label, as captured, of the entry that began at this time: `step 17` of the region `step *`. */
function rawLabel(region, beginNs) {
	for (const t of view.tracks)
		for (let i = 0; t.raw && i < t.starts.length; i++)
			if (t.regions[i] === region && t.raw[i] >= 0 && Math.abs(t.starts[i] - beginNs) < 1)
				return data.strings[t.raw[i]];
	return null;
}

/* The longest entries, each a link to its place in the timeline. */
function slowest(e, region) {
	const byGpu = e.gpu_ms && e.gpu_ms.filter((v) => v > 0).length > 1; /* with a single one, nothing is slow */
	const list = byGpu ? e.gpu_ms : e.host_ms, name = byGpu ? "GPU" : "host", median = (byGpu ? e.gpu : e.host).median_ms;
	const loads = Object.values(e.metrics || {}), heads = Object.keys(e.metrics || {}).map((name) => (data.metrics.find((m) => m.n === name) || {}).h || name);
	const given = Object.entries(e.arguments || {});
	const order = list.map((_, i) => i).filter((i) => list[i] > median).sort((a, b) => list[b] - list[a] || a - b).slice(0, NR_SLOWEST);
	const row = (i) => {
		const text = time(Math.round(list[i] * 1e6)), began = (data.timeline ? data.timeline.entered : 0) + e.begin_ms[i] * 1e6, begin = time(Math.round(began)), raw = rawLabel(region, began);
		return el("tr", {}, el("td", {}, view.tracks.length ? el("button", {type: "button", title: "show it in the timeline", onclick: () => showEntry(e.begin_ms[i], e.host_ms[i])}, begin) : begin, raw ? " " + seen(raw) : ""),
			el("td", {}, text), el("td", {}, time(Math.round(e.host_ms[i] * 1e6))), el("td", {}, median > 0 ? (list[i] / median).toFixed(2) + " ×" : "–"),
			...loads.map((m) => el("td", {title: isNumber(m.value[i]) ? "± " + human(m.error[i], "%") + ": sampled while the entry ran" : "too few samples for a figure"},
				isNumber(m.value[i]) ? "~" + human(m.value[i], "%") : "–")),
			...given.map(([, values]) => el("td", {}, isNumber(values[i]) ? String(values[i]) : "–")));
	};
	if (!order.length)
		return null;
	return el("div.wide", {}, el("table.metrics.slowest", {"aria-label": "Slowest entries"}, headRow("slowest, begun at", name, "host", "of median", ...heads, ...given.map(([name]) => name)),
		el("tbody", {}, ...order.map(row))));
}

function entries(report, node) {
	const e = report.entries && report.entries[node].entries;
	if (!e || e.count < 2)
		return null;
	return el("div", {id: "entries"}, el("h3", {}, fieldText(e.count, "count") + " entries"), e.wall ? histogram("wall", e.wall_ms.filter(isNumber), e.wall) : null, e.gpu ? histogram("GPU", e.gpu_ms.filter((v) => v > 0), e.gpu) : null, histogram("host", e.host_ms, e.host), slowest(e, report.region[node]),
		e.step > 1 ? el("p.small.soft", {}, "The bars and the slowest entries are taken from one entry in " + e.step + ".") : null);
}
