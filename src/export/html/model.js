/* The data of the page and the choices of the user. Views read `state` and listen; only `change` writes it. */

const data = JSON.parse(byId("data").textContent);

/* A column of a matrix is a list, or one value for all rows. */
function at(column, row) {
	return Array.isArray(column) ? column[row] : column;
}

function prepare(report) {
	const nr = report.region.length;
	report.nr = nr;
	report.nodeOf = new Map(report.region.map((region, node) => [region, node]));
	report.children = Array.from({length: nr}, () => []);
	report.roots = [];
	report.depth = new Uint16Array(nr);
	report.excRow = new Int32Array(nr).fill(-1);
	for (let i = 0; i < nr; i++) {
		const parent = report.parent[i];
		(parent < 0 ? report.roots : report.children[parent]).push(i);
		report.depth[i] = parent < 0 ? 0 : report.depth[parent] + 1;
	}
	for (let i = 0, row = 0; i < nr; i++)
		if (report.children[i].length)
			report.excRow[i] = row++;
	return report;
}

const reports = data.reports.map(prepare);
reports.sort((a, b) => b.aggregate - a.aggregate); /* stable: aggregates first */
const slotOf = new Map(data.region_columns.map((column, slot) => [column, slot]));
const kernelSlotOf = new Map(data.kernel_columns.map((column, slot) => [column, slot]));
const fieldOf = new Map(data.fields.map((field, i) => [field.key, i]));

const QUALITY = {e: "exact", a: "approx", y: "approx", u: "bound", l: "bound", x: "bound", c: "const", s: "stat", t: "stat", p: "sampled"};
const MARK = {a: "≈", t: "≈", u: "≤", l: "≥", p: "~"};
const QUALITY_WORDS = {
	exact: "exact", approx: "approximate: the exact weight was not captured", bound: "a bound: the exact value cannot be recovered",
	const: "the same in every launch", stat: "a statistic over launches",
	sampled: "sampled while the program ran, no kernel replayed",
};
const NO_FIGURE = {sampled: "nothing ran here, there are too few samples for a figure, or ± would be above 50 %"};

/* A figure of a region: its value, its mark, and in words how it was made. Nodes nr and nr + 1 are the totals and the launches outside. */
function figure(report, node, column, isExclusive) {
	const slot = slotOf.get(column);
	if (slot === undefined)
		return {v: null, mark: "", quality: "", method: ""};
	const useExc = isExclusive && node < report.nr && report.excRow[node] >= 0;
	return made(useExc ? report.exc : report.inc, slot, useExc ? report.excRow[node] : node, column);
}

function kernelFigure(report, kernel, column) {
	const slot = kernelSlotOf.get(column);
	return slot === undefined ? {v: null, mark: "", quality: "", method: ""} : made(report.kernels.m, slot, kernel, column);
}

function made(matrix, slot, row, column) {
	const v = at(matrix.v[slot], row), marks = matrix.q[slot];
	const letter = marks.length === 1 ? marks : marks[row] || "e", low = letter.toLowerCase();
	const metric = data.metrics[column], method = matrix.k ? at(matrix.k[slot], row) : 0;
	return {
		v: v === undefined ? null : v,
		mark: v === null ? "" : MARK[low] || "",
		quality: QUALITY[low],
		method: method > 1 ? metric.o[method - 2] : letter === low ? metric.m : metric.M,
		lo: matrix.lo ? at(matrix.lo[slot], row) : null,
		hi: matrix.hi ? at(matrix.hi[slot], row) : null,
	};
}

/* Half of the 95 % interval of a sampled figure, else null. */
function errorOf(f) {
	return f.quality === "sampled" && isNumber(f.v) && isNumber(f.hi) ? f.hi - f.v : null;
}

function errorText(f, unit) {
	const error = errorOf(f);
	return error === null ? "" : "±" + human(error, unit);
}

function howMade(column, f) {
	const metric = data.metrics[column];
	let text = metric.n + "\n" + (f.v === null ? NO_FIGURE[f.quality] || "not in this capture for this row" : f.method + " · " + QUALITY_WORDS[f.quality]);
	const error = errorOf(f);
	if (error !== null)
		text += "\n" + human(f.v, metric.u) + " ± " + human(error, metric.u) + " (95 %: " + human(f.lo, metric.u) + " to " + human(f.hi, metric.u) + ")";
	else if (isNumber(f.lo) && isNumber(f.hi) && f.lo !== f.hi)
		text += "\nbetween " + human(f.lo, metric.u) + " and " + human(f.hi, metric.u);
	return text;
}

/* The short name of a kernel; its whole name is data.strings[string]. */
function kernelName(string) {
	return data.short[string] || data.strings[string];
}

function field(report, node, key) {
	const list = report.f[fieldOf.get(key)];
	return list ? list[node] : null;
}

function regionOf(report, node) {
	return data.regions[report.region[node]];
}

function pathOf(report, node) {
	const path = [];
	for (; node >= 0; node = report.parent[node])
		path.unshift(node);
	return path;
}

function kindMark(region) {
	return region.s ? " (start/end)" : region.o ? " (" + region.o + ")" : "";
}

function titleOf(region) {
	return (region.d !== undefined ? seen(region.d) + "@" : "") + (seen(region.n) || EMPTY_LABEL) + kindMark(region);
}

/* The path of a region; the "@@" at the end of an id becomes words. */
function pathText(region) {
	return seen(region.s ? region.id.slice(0, -2) : region.id) + kindMark(region);
}

/* Explains the row of a region that was never open itself. */
function originOf(region) {
	return region.o === "graph" ? "No range was open here: this work was launched in the region above, as part of a CUDA graph, and captured in a range of this name." :
		"No range was open here: this is the backward pass, launched in the region above, of operators whose forward pass ran in a range of this name.";
}

/* Quantities that add up over regions, so that widths can show them. */
function additive(report) {
	const list = [];
	const has = (key) => report.f[fieldOf.get(key)] !== null && report.f[fieldOf.get(key)].some((v) => v > 0);
	if (has("wall_ms"))
		list.push(["wall_ms", "wall time"]);
	if (has("inclusive_ms"))
		list.push(["inclusive_ms", "GPU time"]);
	if (has("host_ms"))
		list.push(["host_ms", "host time"]);
	if (has("launches"))
		list.push(["launches", "launches"]);
	list.push(["instances", "entries"]);
	for (const column of data.region_columns) {
		const metric = data.metrics[column];
		if (metric.m === "sum" && metric.n !== data.time_metric && !metric.n.endsWith(".avg"))
			list.push(["m" + column, metric.n]);
	}
	return list;
}

/* By node: its entries and those nested in it, so that children are never wider than their parent. */
function entriesWithin(report) {
	if (!report.within) {
		report.within = report.parent.map((_, node) => field(report, node, "instances") || 0);
		for (let node = report.parent.length - 1; node >= 0; node--)
			if (report.parent[node] >= 0)
				report.within[report.parent[node]] += report.within[node];
	}
	return report.within;
}

function weightOf(report, node, by) {
	const v = by === "instances" ? entriesWithin(report)[node] : by[0] === "m" ? figure(report, node, Number(by.slice(1)), false).v : field(report, node, by);
	return isNumber(v) && v > 0 ? v : 0;
}

/* Whether region `inner` is region `outer`, or nested in it. */
function isInside(report, inner, outer) {
	for (let node = report.nodeOf.get(inner); node !== undefined && node >= 0; node = report.parent[node])
		if (report.region[node] === outer)
			return true;
	return false;
}

/* Idle time inside a node, but in none of its children. */
function ownIdle(report, node) {
	const all = field(report, node, "idle_ms");
	return isNumber(all) ? Math.max(0, report.children[node].reduce((rest, child) => rest - (field(report, child, "idle_ms") || 0), all)) : 0;
}

/* The choices of the user. `region` is a number in data.regions, or -1. `kernel` is the string number of the open one. `from` and `to` are what the timeline shows, in ns. */
const state = {report: reports[0], region: -1, zoom: -1, firstZoom: -1, by: "", colour: "", exclusive: false, search: "", sort: null, isDown: true, kernel: -1, tab: "", from: null, to: null};
/* The longest GPU time of a report decides how many decimals its times get; without GPU time, the longest host time does. */
function fitReport(report) {
	const longest = (name) => (report.f[fieldOf.get(name)] || []).reduce((m, v) => Math.max(m, v || 0), 0);
	fitDigits(Math.max(longest("inclusive_ms"), report.ms || 0) || longest("host_ms"));
}

listenTo(["report"], () => fitReport(state.report));

function selectedNode() {
	return state.report && state.region >= 0 && state.report.nodeOf.has(state.region) ? state.report.nodeOf.get(state.region) : -1;
}

function selectNode(node) {
	change({region: node < 0 ? -1 : state.report.region[node]});
}
