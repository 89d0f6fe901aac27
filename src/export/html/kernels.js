/* The kernels of the selected region, or of all regions: a line each, as wide as the page. A click opens one. */

const KERNEL_PX = 27, KERNEL_OVERSCAN = 10, SPARK_PX = 120, KERNEL_PRINT_ROWS = 60;
const kernelGrid = {rows: [], first: 0, sort: "ns", isDown: true, openHeight: 0, from: -1, to: -1, isPrinting: false};

/* Metrics that a row shows: those with a short head. */
const kernelHeads = data.headline.filter((c) => kernelSlotOf.has(c) && data.metrics[c].h).slice(0, 6);

/* The slice of kernels that is shown: [first, nr, title]. */
function kernelSlice(report) {
	const node = selectedNode();
	if (node >= 0)
		return [report.k0[node], report.kn[node], "Kernels of " + pathText(regionOf(report, node))];
	return [report.flat_k0, report.flat_kn, "All kernels"];
}

const KERNEL_COLUMNS = [
	{key: "name", head: "kernel", title: "its short name; the whole one is in its title", get: (k, i) => kernelName(k.name[i])},
	{key: "calls", head: "launches", title: "how often it was launched", get: (k, i) => k.calls[i]},
	{key: "ns", head: "GPU ms", title: "GPU time of all launches", get: (k, i) => k.ns[i]},
	{key: "mean", head: "mean µs", title: "GPU time of a launch", get: (k, i) => k.ns[i] === null ? null : k.ns[i] / k.calls[i]},
	{key: "limiter", head: "bound", title: "what limits it", get: (k, i) => k.limiter[i] === "-" ? null : LETTERS[k.limiter[i]][1]},
	...kernelHeads.map((c) => ({key: "m" + c, head: data.metrics[c].h, title: data.metrics[c].n, metric: c, get: (k, i) => made(k.m, kernelSlotOf.get(c), i, c).v})),
];

function hasLimiters() {
	return reports.some((r) => /[^-]/.test(r.kernels.limiter));
}

/* On a phone the time is beside the name. */
function kernelColumns() {
	const all = KERNEL_COLUMNS.filter((c) => c.key !== "limiter" || hasLimiters());
	return innerWidth < 600 ? [all[0], all[2], all[1], ...all.slice(3)] : all;
}

/* Numbers of the rows in their order; with a search, only kernels whose names contain the word. */
function listKernels() {
	const report = state.report, k = report.kernels, [first, nr] = kernelSlice(report), matches = matcher();
	const column = KERNEL_COLUMNS.find((c) => c.key === kernelGrid.sort), sign = kernelGrid.isDown ? -1 : 1;
	let rows = Array.from({length: nr}, (_, i) => first + i);
	const isHit = (i) => matches(data.strings[k.name[i]]) || matches(kernelName(k.name[i]));
	if (matches && rows.some(isHit))
		rows = rows.filter(isHit);
	const keys = new Map(rows.map((i) => [i, column.get(k, i)]));
	kernelGrid.rows = rows.sort((a, b) => {
		const x = keys.get(a), y = keys.get(b);
		return (x === null) - (y === null) || (x < y ? -sign : x > y ? sign : 0) || a - b;
	});
	kernelGrid.most = rows.reduce((most, i) => Math.max(most, k.ns[i] || 0), 0);
	kernelGrid.total = rows.reduce((sum, i) => sum + (k.ns[i] || 0), 0);
}

function kernelCell(report, i, column) {
	const k = report.kernels;
	if (column.metric !== undefined) {
		const f = kernelFigure(report, i, column.metric), unit = data.metrics[column.metric].u;
		return el("td", {title: howMade(column.metric, f)}, f.mark ? el("span.q", {}, f.mark) : null, human(f.v, unit), el("span.pm", {}, errorText(f, unit)));
	}
	if (column.key === "name") {
		const word = state.search.trim().toLowerCase(), text = kernelGrid.cut.get(i), hit = word ? text.toLowerCase().indexOf(word) : -1;
		const isOpen = k.name[i] === state.kernel;
		return el("td.name", {title: seen(data.strings[k.name[i]])}, el("span.twist", {"aria-hidden": "true"}, isOpen ? "▾" : "▸"),
			hit < 0 ? el("span.label", {}, text) : el("span.label", {}, text.slice(0, hit), el("mark", {}, text.slice(hit, hit + word.length)), text.slice(hit + word.length)));
	}
	if (column.key === "ns") {
		const td = el("td.share", {title: kernelGrid.total > 0 && k.ns[i] !== null ? (100 * k.ns[i] / kernelGrid.total).toFixed(1) + " % of these kernels" : ""},
			el("i", {style: {width: kernelGrid.most > 0 ? 92 * (k.ns[i] || 0) / kernelGrid.most + "%" : "0"}}), el("b", {}, fieldText(k.ns[i] === null ? null : k.ns[i] / 1e6, "ms")));
		if (k.ns[i] !== null)
			td.dataset.v = k.ns[i] / 1e6;
		return td;
	}
	if (column.key === "limiter")
		return el("td.words", {}, k.limiter[i] === "-" ? "" : el("span.swatch", {style: {background: LETTERS[k.limiter[i]][0]}}), column.get(k, i) || "");
	return el("td", {}, column.key === "mean" ? (isNumber(column.get(k, i)) ? (column.get(k, i) / 1e3).toFixed(2) : "–") : fieldText(column.get(k, i), "count"));
}

function kernelRow(report, i, columns) {
	const isOpen = report.kernels.name[i] === state.kernel;
	const row = el("tr", {role: "row", tabindex: "0", "aria-expanded": String(isOpen)}, ...columns.map((c) => kernelCell(report, i, c)));
	row.dataset.kernel = i;
	return row;
}

/* Draws the rows in view; the open one has its details below it. */
function drawKernelRows(isForced) {
	const box = byId("kernel-scroll"), report = state.report, columns = kernelColumns(), nr = kernelGrid.rows.length;
	const open = kernelGrid.rows.findIndex((i) => report.kernels.name[i] === state.kernel), all = kernelGrid.isPrinting;
	const behind = (y) => open >= 0 && y > (open + 1) * KERNEL_PX ? Math.max((open + 1) * KERNEL_PX, y - kernelGrid.openHeight) : y;
	const height = Math.max(box.clientHeight, innerHeight * 0.6);
	const from = all ? 0 : Math.max(0, Math.floor(behind(box.scrollTop) / KERNEL_PX) - KERNEL_OVERSCAN);
	const to = all ? Math.min(nr, KERNEL_PRINT_ROWS) : Math.min(nr, Math.ceil(behind(box.scrollTop + height) / KERNEL_PX) + KERNEL_OVERSCAN);
	if (!isForced && from === kernelGrid.from && to === kernelGrid.to)
		return;
	kernelGrid.from = from;
	kernelGrid.to = to;
	const gap = (rows, more) => el("tr.gap", {"aria-hidden": "true"}, el("td", {style: {height: rows * KERNEL_PX + more + "px", padding: "0"}}));
	const rows = [];
	if (from > 0)
		rows.push(gap(from, open >= 0 && open < from ? kernelGrid.openHeight : 0));
	for (let at = from; at < to; at++) {
		rows.push(kernelRow(report, kernelGrid.rows[at], columns));
		if (at === open)
			rows.push(kernelGrid.detail || (kernelGrid.detail = el("tr.detail", {}, el("td", {colspan: columns.length}, kernelDetail(report, kernelGrid.rows[at])))));
	}
	if (to < nr)
		rows.push(gap(nr - to, open >= to ? kernelGrid.openHeight : 0));
	byId("kernel-rows").replaceChildren(...rows);
	if (kernelGrid.detail && kernelGrid.detail.isConnected) {
		kernelGrid.openHeight = kernelGrid.detail.offsetHeight;
		drawSpark();
	}
}

function drawKernels() {
	const [, nr, title] = kernelSlice(state.report), columns = kernelColumns();
	kernelGrid.detail = null;
	kernelGrid.isWanted = false;
	listKernels();
	byId("kernel-title").textContent = title;
	byId("kernel-nr").textContent = kernelGrid.rows.length < nr ? kernelGrid.rows.length + " of " + nr + " have “" + seen(state.search.trim()) + "” in their name" : nr + (nr === 1 ? " kernel" : " kernels");
	byId("kernel-heads").replaceChildren(...columns.map((c) => {
		const isHere = kernelGrid.sort === c.key, b = el("button", {type: "button", title: c.title + "\nclick to sort"}, c.head + (isHere ? kernelGrid.isDown ? " ↓" : " ↑" : ""));
		b.addEventListener("click", () => {
			[kernelGrid.isDown, kernelGrid.sort] = [isHere ? !kernelGrid.isDown : c.key !== "name", c.key];
			drawKernels();
		});
		return el("th", {scope: "col", role: "columnheader", "aria-sort": isHere ? kernelGrid.isDown ? "descending" : "ascending" : "none", class: c.key === "limiter" ? "words" : null}, b);
	}));
	const errors = (c) => !state.report.kernels.m.q[kernelSlotOf.get(c.metric)].includes("p") ? 0 : Math.max(0, ...kernelGrid.rows.slice(0, 500).map((i) => errorText(kernelFigure(state.report, i, c.metric), data.metrics[c.metric].u).length));
	const wide = (c) => c.metric !== undefined ? Math.max(metricWidth(c.metric) + 6.6 * errors(c), 26 + 7.2 * c.head.length) : {calls: 84, ns: 120, mean: 92, limiter: 96}[c.key];
	const others = columns.slice(1).reduce((sum, c) => sum + wide(c), 0), least = innerWidth < 600 ? 170 : 220, name = Math.max(least, byId("kernel-scroll").clientWidth - others);
	const cut = cutApart(kernelGrid.rows.map((i) => seen(kernelName(state.report.kernels.name[i]))), Math.floor((name - 36) / 7.6));
	kernelGrid.cut = new Map(kernelGrid.rows.map((i, at) => [i, cut[at]]));
	byId("kernel-cols").replaceChildren(...columns.map((c) => el("col", {style: {width: c.key === "name" ? name + "px" : wide(c) + "px"}})));
	byId("kernel-grid").style.minWidth = least + others + "px";
	fitHeight(byId("kernel-scroll"), KERNEL_PX);
	drawKernelRows(true);
}

function requestKernels() {
	if (kernelGrid.isWanted)
		return;
	kernelGrid.isWanted = true;
	requestAnimationFrame(() => setTimeout(() => {
		if (kernelGrid.isWanted)
			drawKernels();
	}));
}

/* --- one kernel ----------------------------------------------------------------------------------- */

/* The launches of a kernel in the streams of this scope: [start, length, is in the selected region]. */
function launchesOf(name) {
	const out = [], lit = state.region >= 0 ? litRegions() : null;
	for (const t of tracksShown())
		for (let i = 0; t.kind === "stream" && i < t.starts.length; i++)
			if (t.n[i] === name)
				out.push([t.starts[i], t.ends[i] - t.starts[i], !lit || lit.has(t.regions[i])]);
	return out.sort((a, b) => a[0] - b[0]);
}

/* How long each launch took, over time. */
function drawSpark() {
	const canvas = byId("spark");
	if (!canvas)
		return;
	const launches = kernelGrid.launches, width = canvas.parentNode.clientWidth || 600, {g, colour} = openCanvas(canvas, width, SPARK_PX, "11px");
	const from = launches[0][0], to = launches[launches.length - 1][0] + launches[launches.length - 1][1], most = launches.reduce((m, l) => Math.max(m, l[1]), 1);
	const left = 70, x = (t) => left + (t - from) / Math.max(1, to - from) * (width - left - 8), y = (v) => SPARK_PX - 20 - v / most * (SPARK_PX - 34);
	g.fillStyle = colour("soft");
	g.fillText(time(Math.round(most)), 4, y(most) + 4);
	g.fillText("0", 4, y(0) + 4);
	const step = Math.max(1, (to - from) / 1000);
	g.fillText(moment(from, step), left, SPARK_PX - 5);
	g.textAlign = "right";
	g.fillText(moment(to, step), width - 8, SPARK_PX - 5);
	g.fillStyle = colour("line");
	g.fillRect(left, y(0), width - left, 1);
	g.fillRect(left, y(most), width - left, 1);
	for (const [start, length, isHere] of launches) {
		g.fillStyle = isHere ? colour("accent") : colour("bar");
		g.fillRect(x(start) - 1, y(length) - 1.5, 3, 3);
	}
}

function sparkBox(name) {
	kernelGrid.launches = view.tracks.length ? launchesOf(name) : [];
	if (!kernelGrid.launches.length)
		return null;
	const canvas = el("canvas", {id: "spark", role: "img", "aria-label": "Length of " + kernelGrid.launches.length + " launches over time"});
	canvas.addEventListener("mousemove", (event) => {
		const box = canvas.getBoundingClientRect(), from = kernelGrid.launches[0][0], last = kernelGrid.launches[kernelGrid.launches.length - 1], to = last[0] + last[1];
		const t = from + (event.clientX - box.left - 70) / (box.width - 78) * (to - from), k = Math.min(bisect(kernelGrid.launches.length, (i) => kernelGrid.launches[i][0] < t), kernelGrid.launches.length - 1);
		const near = k > 0 && t - kernelGrid.launches[k - 1][0] < kernelGrid.launches[k][0] - t ? k - 1 : k;
		showTip(event, time(kernelGrid.launches[near][1]) + "\nlaunch " + (near + 1) + " of " + kernelGrid.launches.length + ", begun at " + moment(kernelGrid.launches[near][0], 1000) + "\nclick: show it in the timeline");
		kernelGrid.near = kernelGrid.launches[near];
	});
	canvas.addEventListener("mouseleave", hideTip);
	canvas.addEventListener("click", () => kernelGrid.near && showSpan(kernelGrid.near[0], kernelGrid.near[1]));
	const here = kernelGrid.launches.filter((l) => l[2]).length, elsewhere = here < kernelGrid.launches.length ? ", " + fieldText(here, "count") + " of them in " + pathText(data.regions[state.region]) : "";
	return el("div", {}, el("h3", {}, fieldText(kernelGrid.launches.length, "count") + " launches over time" + elsewhere), el("div.spark", {}, canvas));
}

function kernelMetrics(report, i) {
	const columns = data.kernel_columns.filter((c) => kernelFigure(report, i, c).v !== null);
	if (!columns.length)
		return null;
	const rows = columns.map((c) => {
		const metric = data.metrics[c], f = kernelFigure(report, i, c);
		return el("tr", {}, el("td", {}, metric.h ? metric.h + " " : "", el("span.soft", {}, metric.n)),
			el("td", {"data-metric": metric.n, "data-v": f.v, title: howMade(c, f)}, f.mark ? el("span.q", {}, f.mark) : null, human(f.v, metric.u), errorOf(f) === null ? "" : el("span.pm", {}, " " + errorText(f, metric.u)), metric.u === "%" && isNumber(f.v) ? " %" : ""));
	});
	const few = 14, all = el("tbody", {}, ...rows.slice(0, few));
	const more = rows.length > few ? el("button", {type: "button", onclick: () => {
		all.replaceChildren(...rows);
		more.remove();
		kernelGrid.openHeight = kernelGrid.detail.offsetHeight;
	}}, "all " + rows.length + " counters") : null;
	return el("div", {}, el("h3", {}, "Counters"), el("div.wide", {}, el("table.metrics", {"aria-label": "Counters"}, headRow("counter", "value"), all)), more);
}

/* Draws the kernel's point below the roofs of the device. */
function kernelRoof(report, i) {
	const point = kernelPoints(report, i, 1)[0];
	if (!point)
		return null;
	const kept = {...ROOF};
	Object.assign(ROOF, {width: 460, height: 250});
	const s = roofScale([point], {ns: [], flop: [], dram: []}, data.peaks);
	const drawing = svg("svg", {viewBox: "0 0 460 250", role: "img", "aria-label": roofTip(point).replaceAll("\n", ", ")}, ...drawAxes(s), ...drawCeilings(s, data.peaks), drawPoint(s, point));
	Object.assign(ROOF, kept);
	return el("div", {}, el("h3", {}, "Roofline"), drawing, el("p.small.soft", {}, roofTip(point).split("\n").slice(1).join(" · ")));
}

/* Shares of a kernel: rows of [name, pct, …more cells]. */
function shares(title, rows, wide) {
	if (!rows || !rows.length)
		return null;
	const most = Math.max(...rows.map((r) => r[1] || 0));
	return el(wide ? "div.wide" : "div", {}, el("h3", {}, title), el("table.metrics.few", {"aria-label": title}, el("tbody", {}, ...rows.map(([name, pct, ...more]) => el("tr", {}, el("td", {}, name),
		el("td.share", {}, ...(isNumber(pct) ? [el("i", {style: {width: most > 0 ? 92 * pct / most + "%" : "0"}}), el("b", {}, pct.toFixed(1) + " %")] : [])), ...more.map((m) => el("td", {}, m)))))));
}

/* The source beside its samples: a line with its share and what its warps mostly wait for; below it, where it was inlined. */
function sourceRows(k, i) {
	const place = (at, before) => el("span.mono", {title: seen(k.places[at])}, (before || "") + seen(k.places[at].split("/").pop()));
	const text = (at) => k.texts[at] === 0 ? el("i.soft", {}, "the file has changed") : el("span.mono", {}, k.texts[at] === null ? "" : seen(k.texts[at]));
	const why = (r) => r === null ? "issued only" : k.reasons[r];
	const lines = (k.lines && k.lines[i] || []).flatMap(([at, pct, reason, ...callers]) => [[place(at), pct, why(reason), text(at)],
		...callers.map((c) => [place(c, "\u00a0\u00a0in "), null, "", text(c)])]);
	const code = (k.code && k.code[i] || []).map(([pc, pct, reason, at]) => [el("span.mono", {}, "+0x" + pc.toString(16)), pct, why(reason), at === undefined ? "" : place(at)]);
	return [shares("Lines", lines, true), shares("Instructions", code, true)];
}

/* Advice: the findings about this kernel, else the action for its limiter. */
function kernelAdvice(report, i) {
	const k = report.kernels, own = (data.findings || []).filter((f) => f.kernel === k.name[i]);
	const word = data.words["abcdefghijklmnopqr".indexOf(k.limiter[i])];
	const rows = own.map((f) => el("p", {}, inPage(f.says) + ". ", el("b", {}, "Do: "), inPage(f.do) + ".", isNumber(f.gain_ms) ? " " + inPage(f.gain)[0].toUpperCase() + inPage(f.gain).slice(1) + "." : ""));
	if (!own.length && word && word.do)
		rows.push(el("p", {}, "Limited by ", el("b", {}, word.word), ". ", el("b", {}, "Do: "), word.do + "."));
	return rows.length ? el("div.advice", {style: {borderColor: LETTERS[k.limiter[i]][0]}}, ...rows) : null;
}

function kernelDetail(report, i) {
	const k = report.kernels, name = k.name[i], extra = (key) => k[key] ? k[key][i] : null;
	const parts = [kernelRoof(report, i), kernelMetrics(report, i), shares("Stalls", (extra("stalls") || []).map((r) => [seen(r[0]), r[1]])), ...sourceRows(k, i)].filter(Boolean);
	return el("div.kernel-detail", {}, el("p.mono", {}, seen(data.strings[name]), " ", copyButton(data.strings[name], "the name of the kernel")), kernelAdvice(report, i) || "", sparkBox(name) || "",
		el("div.columns", {}, ...parts));
}

/* Opens a kernel in the table, in that of its region if the region has it. */
function openKernel(name, region) {
	const node = region === undefined || region < 0 ? -1 : state.report.nodeOf.get(region);
	const has = node !== undefined && node >= 0 && state.report.kernels.name.slice(state.report.k0[node], state.report.k0[node] + state.report.kn[node]).includes(name);
	change({region: has ? region : -1, kernel: name, tab: "kernels"});
	scrollToKernel();
	byId("kernels").scrollIntoView({block: "start"});
}

function scrollToKernel() {
	if (!byId("kernel-scroll"))
		return;
	const at = kernelGrid.rows.findIndex((i) => state.report.kernels.name[i] === state.kernel);
	if (at >= 0)
		byId("kernel-scroll").scrollTop = at * KERNEL_PX;
	drawKernelRows(true);
}

function initKernels() {
	byId("kernels").hidden = !reports.some((r) => r.flat_kn);
	if (byId("kernels").hidden)
		return;
	const grid = el("table.tree.kernel-table", {id: "kernel-grid", "aria-label": "Kernels"}, el("colgroup", {id: "kernel-cols"}), el("thead", {}, el("tr", {id: "kernel-heads"})), el("tbody", {id: "kernel-rows"}));
	const scroll = el("div.scroll", {id: "kernel-scroll", tabindex: "-1"}, grid);
	byId("kernels").append(el("div.row.between", {}, el("h2", {id: "kernel-title"}), el("span.small.soft", {id: "kernel-nr", role: "status"})), scroll);
	scroll.addEventListener("scroll", () => drawKernelRows(false), {passive: true});
	const toggleRow = (event) => {
		const row = event.target.closest("tr[data-kernel]");
		if (!row)
			return;
		const name = state.report.kernels.name[Number(row.dataset.kernel)];
		change({kernel: state.kernel === name ? -1 : name});
	};
	grid.addEventListener("click", toggleRow);
	grid.addEventListener("keydown", (event) => {
		if ((event.key === "Enter" || event.key === " ") && event.target.closest("tr[data-kernel]")) {
			toggleRow(event);
			event.preventDefault();
		}
	});
	for (const [name, isPrinting] of [["beforeprint", true], ["afterprint", false]])
		addEventListener(name, () => {
			kernelGrid.isPrinting = isPrinting;
			drawKernelRows(true);
		});
	/* The clicked view is drawn first, the kernels a moment later. */
	listen((changed) => {
		if (changed.has("kernel"))
			drawKernels();
		else if (["report", "region", "search"].some((key) => changed.has(key)))
			requestKernels();
		else if (changed.has("theme"))
			drawSpark();
	});
	addEventListener("resize", drawKernels);
	drawKernels();
}
