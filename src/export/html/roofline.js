/* Work per byte against work per second, both logarithmic; with ceilings if the report has the device's peaks. */

const ROOF = {width: 900, height: 420, left: 64, right: 20, top: 16, bottom: 44}, MANY_POINTS = 400; /* size of the drawing in progress */

function pointOf(flop, dram, ns, what) {
	return flop > 0 && dram > 0 && ns > 0 ? {x: flop / dram, y: flop / ns * 1e9, ...what} : null;
}

/* The longest regions, longest first, so that small circles are drawn on top. */
function regionPoints(report) {
	const ms = (node) => field(report, node, "inclusive_ms") || 0;
	return report.region.map((_, i) => pointOf(report.flop[i], report.dram[i], ms(i) * 1e6, {node: i, isLeast: Boolean(report.least && report.least[i])})).filter(Boolean)
		.sort((a, b) => ms(b.node) - ms(a.node)).slice(0, MANY_POINTS);
}

function kernelPoints(report, first, nr) {
	const k = report.kernels;
	return Array.from({length: nr}, (_, i) => pointOf(k.flop[first + i], k.dram[first + i], k.ns[first + i], {kernel: first + i, isLeast: Boolean(k.least && k.least[first + i])})).filter(Boolean);
}

function hasRoofline() {
	return reports.some((r) => r.flop.some((v, i) => v > 0 && r.dram[i] > 0));
}

function powers(low, high) {
	const list = [];
	for (let e = Math.ceil(low); e <= Math.floor(high); e++)
		list.push(e);
	return list;
}

function highestPeak(peaks) {
	return Math.max(peaks.flop_per_s || 0, peaks.tensor_per_s || 0);
}

/* Scales that have room for every kernel, so that they do not change with the selection. */
function roofScale(points, k, peaks) {
	let xa = Infinity, xb = 0, ya = Infinity, yb = 0;
	const widen = (x, y) => {
		xa = Math.min(xa, x);
		xb = Math.max(xb, x);
		ya = Math.min(ya, y);
		yb = Math.max(yb, y);
	};
	points.forEach((p) => widen(p.x, p.y));
	for (let i = 0; i < k.ns.length; i++)
		if (k.flop[i] > 0 && k.dram[i] > 0 && k.ns[i] > 0)
			widen(k.flop[i] / k.dram[i], k.flop[i] / k.ns[i] * 1e9);
	yb = Math.max(yb, highestPeak(peaks));
	ya = Math.min(ya, peaks.flop_per_s || ya);
	if (peaks.bytes_per_s)
		xb = Math.max(xb, highestPeak(peaks) / peaks.bytes_per_s);
	const x0 = Math.floor(Math.log10(xa) - 0.2), x1 = Math.ceil(Math.log10(xb) + 0.4);
	const y0 = Math.floor(Math.log10(ya) - 0.2), y1 = Math.ceil(Math.log10(yb) + 0.2);
	const w = ROOF.width - ROOF.left - ROOF.right, h = ROOF.height - ROOF.top - ROOF.bottom;
	return {
		x0, x1, y0, y1,
		x: (v) => ROOF.left + (Math.log10(v) - x0) / (x1 - x0) * w,
		y: (v) => ROOF.top + h - (Math.log10(v) - y0) / (y1 - y0) * h,
	};
}

function drawAxes(s) {
	const parts = [];
	for (const e of powers(s.x0, s.x1))
		parts.push(svg("line", {class: "axis", x1: s.x(10 ** e), x2: s.x(10 ** e), y1: ROOF.top, y2: ROOF.height - ROOF.bottom}),
			svg("text", {x: s.x(10 ** e), y: ROOF.height - ROOF.bottom + 16, "text-anchor": "middle"}, e < 3 ? String(Number((10 ** e).toPrecision(1))) : factor(10 ** e, "")));
	for (const e of powers(s.y0, s.y1))
		parts.push(svg("line", {class: "axis", x1: ROOF.left, x2: ROOF.width - ROOF.right, y1: s.y(10 ** e), y2: s.y(10 ** e)}),
			svg("text", {x: ROOF.left - 6, y: s.y(10 ** e) + 4, "text-anchor": "end"}, factor(10 ** e, "")));
	parts.push(svg("text", {x: ROOF.width - ROOF.right, y: ROOF.height - 8, "text-anchor": "end"}, ROOF.width < 600 ? "FLOP per DRAM byte" : "FLOP per byte of DRAM traffic"),
		svg("text", {x: ROOF.left, y: 11}, "FLOP/s"));
	return parts;
}

/* Draws the peaks of the device: DRAM bandwidth, single precision, 16-bit floats in the tensor cores. */
function drawCeilings(s, peaks) {
	const parts = [], x1 = 10 ** s.x1, y0 = 10 ** s.y0, bytes = peaks.bytes_per_s;
	if (bytes) {
		const from = Math.max(10 ** s.x0, y0 / bytes), to = Math.min((highestPeak(peaks) || 10 ** s.y1) / bytes, x1);
		parts.push(svg("path", {class: "roof", d: "M" + s.x(from) + "," + s.y(from * bytes) + "L" + s.x(to) + "," + s.y(to * bytes)}),
			svg("text", {x: s.x(from) + 34, y: s.y(from * bytes) + 8}, "DRAM " + factor(bytes, "B/s")));
	}
	for (const [name, flop] of [["FP32 ", peaks.flop_per_s], ["FP16 tensor ", peaks.tensor_per_s]])
		if (flop)
			parts.push(svg("path", {class: "roof", d: "M" + s.x(bytes ? Math.max(10 ** s.x0, flop / bytes) : 10 ** s.x0) + "," + s.y(flop) + "L" + s.x(x1) + "," + s.y(flop)}),
				svg("text", {x: s.x(x1), y: s.y(flop) - 6, "text-anchor": "end"}, name + factor(flop, "FLOP/s")));
	return parts;
}

function roofTip(p) {
	const report = state.report;
	const name = p.node === undefined ? seen(kernelName(report.kernels.name[p.kernel])) : titleOf(regionOf(report, p.node));
	const sign = p.isLeast ? "≥ " : data.of_pipes ? "~" : "", why = p.isLeast ? data.uncounted : data.of_pipes;
	return name + "\n" + sign + factor(p.x, "FLOP/B") + " · " + sign + factor(p.y, "FLOP/s") + (why ? "\n" + why : "");
}

function drawPoint(s, p) {
	const isKernel = p.kernel !== undefined;
	const colour = isKernel ? "#d55e00" : colourOf(state.report, p.node);
	const share = isKernel ? 0 : field(state.report, p.node, "share_pct") || 0;
	const shape = isKernel ?
		svg("rect", {x: s.x(p.x) - 4, y: s.y(p.y) - 4, width: 8, height: 8, class: "dot", fill: colour}) :
		svg("circle", {cx: s.x(p.x), cy: s.y(p.y), r: 4 + Math.sqrt(Math.min(share, 100)), class: "dot", id: "dot" + p.node, fill: colour, "fill-opacity": 0.85});
	if (p.isLeast)
		shape.classList.add("least");
	shape.setAttribute("aria-label", roofTip(p).replaceAll("\n", ", "));
	shape.setAttribute("role", "img");
	shape.point = p;
	return shape;
}

let roof = null; /* the scale of the drawing, and where its kernels are drawn */

function drawRoofline() {
	const report = state.report, points = regionPoints(report), box = byId("roofline-box");
	roof = null;
	ROOF.width = Math.max(360, box.clientWidth || 900); /* as wide as the place for it, so that text is as large as elsewhere */
	ROOF.height = ROOF.width < 600 ? 320 : 420;
	if (!points.length) {
		box.replaceChildren(el("p.soft", {}, "This scope has no operations and DRAM traffic to show."));
		return;
	}
	const peaks = data.peaks, s = roofScale(points, report.kernels, peaks);
	const drawing = svg("svg", {viewBox: "0 0 " + ROOF.width + " " + ROOF.height, role: "group", "aria-label": "Roofline of regions"});
	roof = {scale: s, points, kernels: svg("g", {})};
	drawing.addEventListener("mousemove", (event) => event.target.point ? showTip(event, roofTip(event.target.point)) : hideTip());
	drawing.addEventListener("mouseleave", hideTip);
	drawing.addEventListener("click", (event) => event.target.point && event.target.point.node !== undefined && selectNode(event.target.point.node));
	drawing.append(...drawAxes(s), ...drawCeilings(s, peaks), ...points.map((p) => drawPoint(s, p)), roof.kernels);
	const note = peaks.flop_per_s && peaks.bytes_per_s ?
		"Ceilings from the device's clocks, width and multiprocessors; tensor cores can do more with 8 bits or sparsity." :
		"The report does not have the device's peaks: points only, no ceilings.";
	box.replaceChildren(drawing, el("p.small.soft", {}, "Circles are regions, as large as their share of time; squares are the kernels of the selected region. " +
		(points.length === MANY_POINTS ? "The " + MANY_POINTS + " longest regions are shown. " : "") +
		(points.some((p) => p.isLeast) ? "Dashed points are lower bounds, the true ones are further up and right: " + data.uncounted + ". " : "") + (data.of_pipes ? "FLOP are " + data.of_pipes + ". " : "") + note));
	markRoofline();
}

function markRoofline() {
	const report = state.report, node = selectedNode();
	if (!roof)
		return;
	for (const dot of document.querySelectorAll(".dot.selected"))
		dot.classList.remove("selected");
	if (node >= 0 && byId("dot" + node))
		byId("dot" + node).classList.add("selected");
	const points = node < 0 ? [] : kernelPoints(report, report.k0[node], report.kn[node]).slice(0, MANY_POINTS);
	roof.kernels.replaceChildren(...points.map((p) => drawPoint(roof.scale, p)));
}

function initRoofline() {
	if (!hasRoofline())
		return;
	byId("roofline").hidden = false;
	byId("roofline").append(el("h2", {}, "Roofline"), el("div", {id: "roofline-box"}));
	listen((changed) => {
		if (changed.has("report"))
			drawRoofline();
		if (changed.has("colour") && roof)
			roof.points.forEach((p) => byId("dot" + p.node).setAttribute("fill", colourOf(state.report, p.node)));
		if (changed.has("region"))
			markRoofline();
	});
}
