/* The selected region on both sides: its times, its entries side by side, kernels and metrics. */

const ENTRY_PX = 150, DIFF_BINS = 28;

function bothFacts(r) {
	const row = (name, get, text, title) => {
		const [a, b] = SIDES.map((side) => r[side] ? get(r[side]) : null);
		return a === null && b === null ? null : el("tr", {title: title || null}, el("td", {}, name), el("td", {}, isNumber(a) ? text(a) : "–"), el("td", {}, isNumber(b) ? text(b) : "–"), el("td", {}, a > 0 && isNumber(b) ? percent(b / a) : "–"));
	};
	const ms = (v) => msText(v) + " ms", number = (v) => v.toFixed(Number.isInteger(v) ? 0 : 1);
	return el("table.metrics", {"aria-label": "Both sides"}, headRow("", "base", "new", "Δ %"), el("tbody", {}, ...[
		row(TIME_WORDS[r.time] + " of an entry", (s) => s.median, ms, "median"), row(TIME_WORDS[r.time] + " of a run", (s) => s.total, ms, "mean over runs"), row("entries", (s) => s.entries, number, "of a run"), row("launches", (s) => s.launches, number, "of a run, nested regions included"),
		row("GPU busy", (s) => s.busy, ms, "of a run"), row("GPU idle", (s) => s.idle, ms, "of a run, inside entries")].filter(Boolean)));
}

/* Entries in the order of the run, base left and new right, over one scale. */
function drawEntries(canvas, r) {
	const width = canvas.parentNode.clientWidth || 600, {g, colour} = openCanvas(canvas, width, ENTRY_PX, "11px"), left = 62, half = (width - left) / 2 - 6;
	const most = SIDES.reduce((m, side) => Math.max(m, ...(r[side] ? r[side].v : [0])), 0), y = (v) => ENTRY_PX - 20 - (most > 0 ? v / most : 0) * (ENTRY_PX - 44);
	g.fillStyle = colour("soft");
	g.fillText(msText(most) + " ms", 2, y(most) + 4);
	g.fillText("0", 2, y(0) + 4);
	SIDES.forEach((side, s) => {
		const x0 = left + s * (half + 12), v = r[side] ? r[side].v : [], x = (i) => x0 + (v.length > 1 ? i / (v.length - 1) : 0.5) * (half - 4);
		g.fillStyle = colour("line");
		g.fillRect(x0, y(0), half, 1);
		g.fillRect(x0, y(most), half, 1);
		g.fillStyle = colour("soft");
		g.fillText(side + (v.length ? "" : ": no entries"), x0, 12);
		g.fillStyle = s ? colour("accent") : colour("soft");
		v.forEach((t, i) => g.fillRect(x(i), y(t) - 1.5, 3, 3));
		if (r[side] && isNumber(r[side].median)) {
			g.globalAlpha = 0.6;
			g.fillRect(x0, y(r[side].median), half, 1);
			g.globalAlpha = 1;
		}
	});
}

function entriesBox(r) {
	const nr = SIDES.map((side) => r[side] ? r[side].v.length : 0);
	if (Math.max(...nr) < 2)
		return null;
	const canvas = el("canvas", {id: "both-entries", role: "img", "aria-label": "Entries in the order of the run, base left, new right"}), step = Math.max(...SIDES.map((side) => r[side] ? r[side].step : 1));
	return el("div", {}, el("h3", {}, "Entries side by side, in the order of the run"), el("div.spark", {}, canvas), el("p.small.soft", {}, "A dot for each entry, a line for the median." + (step > 1 ? " One entry in " + step + " is shown." : "")), spreadBox(r));
}

/* A histogram of entry times over the logarithm of the time: base grey, new in colour. */
function spreadBox(r) {
	const all = SIDES.flatMap((side) => r[side] ? r[side].v.filter((v) => v > 0) : []), low = Math.log(Math.min(...all)), high = Math.log(Math.max(...all));
	if (!(high > low))
		return null;
	const bins = SIDES.map((side) => {
		const list = new Array(DIFF_BINS).fill(0), v = r[side] ? r[side].v.filter((t) => t > 0) : [];
		v.forEach((t) => list[Math.min(DIFF_BINS - 1, Math.floor((Math.log(t) - low) / (high - low) * DIFF_BINS))] += 1 / v.length);
		return list;
	}), most = Math.max(...bins.flat());
	return el("div", {}, el("h4", {}, "How long entries took: " + msText(Math.exp(low)) + " to " + msText(Math.exp(high)) + " ms, base grey, new blue"), el("div.both", {role: "img", "aria-label": "Distribution of both sides"},
		...bins[0].map((_, i) => el("span", {}, ...bins.map((list, s) => el(s ? "i.new" : "i.old", {style: {height: 100 * list[i] / most + "%"}}))))));
}

/* Kernels of both sides, per entry of the region. */
function kernelRows(list, isMixed) {
	const most = list.reduce((m, k) => Math.max(m, k.base || 0, k.new || 0), 0);
	const bar = (v, name) => el("td.share", {}, el("i", {class: name, style: {width: most > 0 ? 92 * (v || 0) / most + "%" : "0"}}), el("b", {}, v > 0 ? msText(v) : "–"));
	const calls = (v) => v > 0 ? v.toFixed(Number.isInteger(v) ? 0 : 1) : "–";
	const cut = cutApart(list.map((k) => seen(k.name)), Math.max(18, Math.floor((byId("kernels").clientWidth - 600) / 7.6)));
	return list.map((k, i) => el("tr", {}, el("td.name", {title: seen(k.name)}, el("span.label", {}, cut[i]), isMixed ? el("span.soft", {}, " in " + seen(k.region.id) + k.region.mark) : null), bar(k.base, "old"), bar(k.new, "now"), el("td", {}, k.base > 0 && k.new > 0 ? percent(k.new / k.base) : k.new > 0 ? "added" : "removed"),
		el("td", {}, calls(k.base_calls)), el("td", {}, calls(k.new_calls))));
}

/* Draws the kernels of the selected region, else of the step, or of all outermost ones if the user wants those. */
function drawBothKernels() {
	const step = byId("kernels-of").dataset.all ? null : regions.find((one) => one.step), r = regions[state.region] || step;
	const word = state.search.trim().toLowerCase(), of = r ? [r] : roots.map((i) => regions[i]);
	let list = of.flatMap((one) => one.kernels.map((k) => ({...k, region: one})));
	if (word && list.some((k) => k.name.toLowerCase().includes(word)))
		list = list.filter((k) => k.name.toLowerCase().includes(word));
	byId("kernels-of").hidden = state.region >= 0 || !regions.some((one) => one.step);
	list.sort((a, b) => Math.abs(b.new - b.base) - Math.abs(a.new - a.base));
	byId("kernels").hidden = !regions.some((one) => one.kernels.length);
	byId("kernel-title").textContent = r ? "Kernels of " + seen(r.id) + r.mark : "Kernels of the outermost regions";
	byId("kernel-rows").replaceChildren(...list.length ? kernelRows(list, !r) : [el("tr", {}, el("td.soft", {colspan: 6}, "no kernel accounts for a change here"))]);
}

function initBothKernels() {
	const ofWhich = segments("Kernels of", [["", "the step"], ["all", "all outermost regions"]], "", (all) => {
		ofWhich.dataset.all = all;
		drawBothKernels();
	});
	ofWhich.id = "kernels-of";
	byId("kernels").append(el("div.row.between", {}, el("h2", {id: "kernel-title"}), el("span.row.controls", {}, el("span.small.soft", {}, "ms and launches of an entry; what changed most comes first"), ofWhich)), el("div.wide", {}, el("table.tree.kernel-table.both-kernels", {"aria-label": "Kernels of both sides"},
		el("colgroup", {}, el("col", {}), ...[120, 120, 90, 112, 112].map((w) => el("col", {style: {width: w + "px"}}))), headRow("kernel", "base ms", "new ms", "Δ %", "base launches", "new launches"), el("tbody", {id: "kernel-rows"}))));
	listenTo(["region", "search"], drawBothKernels);
	drawBothKernels();
}

function metricsBox(r) {
	const value = (v, error, unit) => human(v, unit) + (isNumber(error) && error > 0 ? " ±" + human(error, unit) : "");
	const row = (m) => {
		const c = data.columns[m.c];
		return el("tr", {title: seen(c.n)}, el("td", {}, seen(c.h)), el("td", {}, value(m.base, m.base_error, c.u)), el("td", {}, value(m.new, m.new_error, c.u)), el("td", {}, m.change));
	};
	return r.metrics.length ? el("div", {}, el("h3", {}, "Metrics"), el("div.wide", {}, el("table.metrics", {"aria-label": "Metrics"}, headRow("metric", "base", "new", "change"), el("tbody", {}, ...r.metrics.map(row))))) : null;
}

function drawBothSides(panel, r) {
	const path = [];
	for (let up = r.parent; up >= 0; up = regions[up].parent)
		path.unshift(up);
	const parts = [path.length ? el("div.crumbs.small", {}, ...path.flatMap((up) => [el("button", {type: "button", onclick: () => change({region: up})}, nameOf(regions[up])), el("span.soft", {}, "›")])) : null,
		el("div.row.between", {}, el("h2", {id: "selected"}, nameOf(r)), el("span.controls", {}, copyButton(location.href.replace(/#.*/, "") + toFragment(), "a link to this region", "Copy link"))),
		el("p.verdict", {style: {borderColor: changeColour(r.class, r.ratio)}}, percent(r.ratio) === "–" ? "" : percent(r.ratio) + " (95 %: " + intervalText(r) + "): ", seen(r.verdict)), bothFacts(r), entriesBox(r), metricsBox(r)];
	panel.replaceChildren(...parts.filter(Boolean));
	if (byId("both-entries"))
		drawEntries(byId("both-entries"), r);
	panel.scrollTop = 0;
}

function drawDiffPanel() {
	const panel = byId("panel"), r = regions[state.region];
	panel.hidden = !r;
	byId("regions").classList.toggle("alone", !r); /* without a selection the table has the whole width */
	panel.replaceChildren();
	if (r)
		drawBothSides(panel, r);
	drawDiffTable();
}
