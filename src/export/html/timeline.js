/* What happened when: range entries per thread over launches per stream over counters of the device. A canvas, drawn per pixel, not per event. */

const LANE_PX = 18, TRACK_GAP = 22, AXIS_PX = 24, MOST_LANES = 40, CURVE_PX = 44;
const view = {tracks: [], curves: [], from: 0, to: 1, end: 1, drag: null, height: 0, wanted: false};

/* Nested entries lie below what holds them; overlapping ones take the first free lane. */
function lanesOf(track, starts, ends) {
	const lanes = [], open = [];
	const put = (lane, i) => (lanes[lane] || (lanes[lane] = [])).push(i);
	for (let i = 0; i < starts.length; i++) {
		let lane = 0;
		if (track.kind === "thread") {
			while (open.length && open[open.length - 1] <= starts[i])
				open.pop();
			lane = open.push(ends[i]) - 1;
		} else {
			while (lane < open.length && open[lane] > starts[i])
				lane++;
			open[lane] = ends[i];
		}
		put(Math.min(lane, MOST_LANES), i);
	}
	return lanes.map((list) => Int32Array.from(list));
}

/* Times that are told each from the one before. */
function sumUp(list) {
	let t = 0;
	return Float64Array.from(list, (d) => t += d);
}

function unpack(track) {
	const starts = sumUp(track.s), ends = starts.map((t, i) => t + track.d[i]);
	return {...track, starts, ends, lanes: lanesOf(track, starts, ends), regions: Int32Array.from(track.r)};
}

function tracksShown() {
	const r = state.report;
	return view.tracks.filter((t) => r.process === null || t.process === r.process &&
		(t.device === undefined || r.device === null || t.device === r.device));
}

/* A counter over time; percentages have 100 on top, others the most there is. */
function unpackCurve(curve) {
	const most = curve.v.reduce((a, b) => Math.max(a, b), 0);
	return {...curve, starts: sumUp(curve.s), most, top: /%\]?$/.test(curve.name) ? Math.max(100, most) : most || 1};
}

function curvesShown() {
	const r = state.report, of = (c) => c.of.some((p, i) => i % 2 === 0 && p === r.process && (r.device === null || c.of[i + 1] === r.device));
	return view.curves.filter((c) => r.process === null || of(c));
}

/* Number of the last point that starts before `t`, -1 = none. */
function pointBefore(curve, t) {
	return bisect(curve.starts.length, (i) => curve.starts[i] <= t) - 1;
}

function drawCurve(g, curve, colour, width, line) {
	const scale = width / (view.to - view.from), base = curve.y + TRACK_GAP - 4 + CURVE_PX;
	g.fillStyle = line;
	g.fillRect(0, base, width, 1);
	g.fillRect(0, base - CURVE_PX, width, 1);
	g.fillStyle = colour;
	for (let i = Math.max(0, pointBefore(curve, view.from)); i < curve.starts.length && curve.starts[i] < view.to; i++) {
		const x = Math.max(0, (curve.starts[i] - view.from) * scale), end = Math.min(width, (curve.starts[i] + curve.d[i] - view.from) * scale);
		const h = curve.v[i] / curve.top * CURVE_PX;
		if (end > x && h > 0)
			g.fillRect(x, base - h, Math.max(end - x, 0.7), h);
	}
}

function curveUnder(event) {
	const box = byId("time-canvas").getBoundingClientRect(), y = event.clientY - box.top;
	const t = view.from + (event.clientX - box.left) / box.width * (view.to - view.from);
	const curve = curvesShown().find((c) => y >= c.y && y < c.y + TRACK_GAP + CURVE_PX);
	const i = curve ? pointBefore(curve, t) : -1;
	return i >= 0 && t <= curve.starts[i] + curve.d[i] ? {curve, i} : null;
}

const PALETTE = ["#4c86bd", "#c98a2b", "#5b9a78", "#b3669a", "#8c8f3c", "#5aa7c4", "#b5644a", "#7d79b8"];

function eventName(track, i, isWhole) {
	return track.raw && track.raw[i] >= 0 ? data.strings[track.raw[i]] : track.n ? (isWhole ? data.strings[track.n[i]] : kernelName(track.n[i])) : data.regions[track.regions[i]].n;
}

function eventColour(track, i) {
	const n = track.n ? track.n[i] : track.regions[i];
	return PALETTE[n % PALETTE.length];
}

/* First event of a lane that ends after `from`: within a lane neither starts nor ends go back. */
function firstIn(lane, ends, from) {
	return bisect(lane.length, (k) => ends[lane[k]] < from);
}

/* Runs of events narrower than a pixel become one block; wide ones get their name. */
function drawLane(g, track, lane, y, width) {
	const scale = width / (view.to - view.from), {starts, ends} = track;
	let runStart = -1, runEnd = -1;
	const flush = () => {
		if (runStart >= 0) {
			g.fillStyle = view.dim;
			g.fillRect(runStart, y, Math.max(1, runEnd - runStart), LANE_PX - 2);
		}
		runStart = -1;
	};
	for (let k = firstIn(lane, ends, view.from); k < lane.length; k++) {
		const i = lane[k];
		if (starts[i] > view.to)
			break;
		const x = (starts[i] - view.from) * scale, w = (ends[i] - starts[i]) * scale;
		if (w < 1.5 && track.regions[i] !== state.region) {
			if (runStart >= 0 && x > runEnd + 1)
				flush();
			if (runStart < 0)
				runStart = x;
			runEnd = Math.max(runEnd, x + w);
			continue;
		}
		flush();
		drawEvent(g, track, i, Math.max(x, -2), y, Math.min(x + w, width + 2) - Math.max(x, -2));
	}
	flush();
}

function drawEvent(g, track, i, x, y, w) {
	const colour = eventColour(track, i);
	g.globalAlpha = state.region < 0 || view.lit.has(track.regions[i]) ? 1 : 0.45;
	g.fillStyle = colour;
	g.fillRect(x, y, Math.max(w - 0.5, 1), LANE_PX - 2);
	if (w > 34) {
		const name = seen(eventName(track, i)) || EMPTY_LABEL, fits = Math.max(1, Math.floor((w - 8) / 6.2));
		g.fillStyle = inkOn(colour);
		g.fillText(name.length > fits ? name.slice(0, fits - 1) + "…" : name, x + 4, y + 12);
	}
	g.globalAlpha = 1;
}

function drawTimeAxis(g, width, ink, line) {
	const span = view.to - view.from, rough = span / Math.max(2, width / 130), power = 10 ** Math.floor(Math.log10(rough));
	const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
	g.textAlign = "left";
	for (let t = Math.ceil(view.from / step) * step; t <= view.to; t += step) {
		const x = (t - view.from) / span * width;
		g.fillStyle = line;
		g.fillRect(x, 0, 1, view.height);
		g.fillStyle = ink;
		g.fillText(time(Math.round(t)), x + 4, 13);
	}
}

function placeTracks() {
	let y = AXIS_PX;
	for (const t of tracksShown()) {
		t.y = y;
		y += TRACK_GAP + t.lanes.length * LANE_PX;
	}
	for (const c of curvesShown()) {
		c.y = y;
		y += TRACK_GAP + CURVE_PX;
	}
	view.height = y + 6;
}

/* The selected region and everything nested in it. */
function litRegions() {
	const report = state.report, lit = new Set([state.region]);
	for (let node = 0; node < report.nr; node++) /* parents come first */
		if (report.parent[node] >= 0 && lit.has(report.region[report.parent[node]]))
			lit.add(report.region[node]);
	return lit;
}

function drawTimeline() {
	view.wanted = false;
	view.lit = litRegions();
	placeTracks();
	const canvas = byId("time-canvas"), width = canvas.parentNode.clientWidth || 900;
	const {g, colour} = openCanvas(canvas, width, view.height, "11.5px"), ink = colour("soft"), line = colour("line");
	view.dim = colour("bar");
	drawTimeAxis(g, width, ink, line);
	const severalProcesses = new Set(view.tracks.map((t) => t.process)).size > 1;
	for (const t of tracksShown()) {
		g.fillStyle = ink;
		g.fillText((severalProcesses ? "process " + data.timeline.processes[t.process] + " · " : "") + seen(t.name), 4, t.y + 13);
		t.lanes.forEach((lane, k) => drawLane(g, t, lane, t.y + TRACK_GAP - 4 + k * LANE_PX, width));
	}
	curvesShown().forEach((c, k) => {
		g.fillStyle = ink;
		g.fillText("GPU " + c.device + " · " + seen(c.name) + " · up to " + human(c.most, ""), 4, c.y + 13);
		drawCurve(g, c, PALETTE[k % PALETTE.length], width, line);
	});
	byId("time-span").textContent = time(Math.round(view.from)) + " – " + time(Math.round(view.to));
}

/* Nothing before the canvas is there: initTimeline asks again. */
function requestTimeline() {
	if (view.wanted || !byId("time-canvas"))
		return;
	view.wanted = true;
	requestAnimationFrame(drawTimeline);
}

function showTime(from, to) {
	const least = Math.min(view.end, 50), span = Math.max(least, Math.min(view.end, to - from));
	view.from = Math.max(0, Math.min(from, view.end - span));
	view.to = view.from + span;
	requestTimeline();
}

/* An entry, from its begin in ms, with some time around it. */
function showEntry(beginMs, hostMs) {
	const begin = data.timeline.entered + beginMs * 1e6, around = Math.max(hostMs * 1e6, 1000) * 0.3;
	showTime(begin - around, begin + hostMs * 1e6 + around);
	byId("timeline").scrollIntoView({block: "nearest"});
}

function zoomTime(factorOf, share) {
	const span = view.to - view.from, center = view.from + span * share;
	showTime(center - span * factorOf * share, center + span * factorOf * (1 - share));
}

function eventUnder(event) {
	const box = byId("time-canvas").getBoundingClientRect(), y = event.clientY - box.top;
	const t0 = view.from + (event.clientX - box.left) / box.width * (view.to - view.from), slack = (view.to - view.from) / box.width;
	for (const t of tracksShown()) {
		const lane = t.lanes[Math.floor((y - t.y - TRACK_GAP + 4) / LANE_PX)];
		if (!lane || y < t.y + TRACK_GAP - 4)
			continue;
		const k = firstIn(lane, t.ends, t0 - slack);
		if (k < lane.length && t.starts[lane[k]] <= t0 + slack)
			return {track: t, i: lane[k]};
	}
	return null;
}

function describePoint({curve, i}) {
	return seen(curve.name) + ": " + human(curve.v[i], "") + "\nsampled for " + time(Math.round(curve.d[i])) + " from " + time(Math.round(curve.starts[i])) + ", whatever ran on the device";
}

function timelinePointer(canvas) {
	canvas.addEventListener("wheel", (event) => {
		if (!event.ctrlKey && !event.shiftKey && Math.abs(event.deltaY) > Math.abs(event.deltaX) && !event.altKey)
			return; /* the page scrolls; Ctrl zooms */
		event.preventDefault();
		const share = event.offsetX / canvas.clientWidth;
		if (event.ctrlKey || event.altKey)
			zoomTime(Math.exp(event.deltaY * 0.004), share);
		else
			showTime(view.from + (event.deltaX + event.deltaY) / canvas.clientWidth * (view.to - view.from), view.to + (event.deltaX + event.deltaY) / canvas.clientWidth * (view.to - view.from));
	}, {passive: false});
	canvas.addEventListener("pointerdown", (event) => {
		view.drag = {x: event.clientX, from: view.from, to: view.to, isMoved: false};
		canvas.setPointerCapture(event.pointerId);
	});
	canvas.addEventListener("pointermove", (event) => {
		if (view.drag) {
			const dx = (event.clientX - view.drag.x) / canvas.clientWidth * (view.drag.to - view.drag.from);
			view.drag.isMoved = view.drag.isMoved || Math.abs(event.clientX - view.drag.x) > 3;
			showTime(view.drag.from - dx, view.drag.to - dx);
			return;
		}
		const hit = eventUnder(event);
		if (hit)
			showTip(event, (seen(eventName(hit.track, hit.i, true)) || EMPTY_LABEL) + "\n" + (hit.track.kind === "marks" ? "marked at " : time(hit.track.ends[hit.i] - hit.track.starts[hit.i]) +
				" from ") + time(hit.track.starts[hit.i]) + (hit.track.kind === "stream" && hit.track.regions[hit.i] >= 0 ? "\nin " + pathText(data.regions[hit.track.regions[hit.i]]) : ""));
		else if (curveUnder(event))
			showTip(event, describePoint(curveUnder(event)));
		else
			hideTip();
	});
	canvas.addEventListener("pointerup", (event) => {
		const hit = view.drag && !view.drag.isMoved ? eventUnder(event) : null;
		view.drag = null;
		if (hit && hit.track.regions[hit.i] >= 0)
			change({region: hit.track.regions[hit.i]});
	});
	canvas.addEventListener("pointerleave", hideTip);
}

function timelineKey(event) {
	const step = (view.to - view.from) * 0.15;
	const actions = {
		ArrowLeft: () => showTime(view.from - step, view.to - step), ArrowRight: () => showTime(view.from + step, view.to + step),
		"+": () => zoomTime(0.6, 0.5), "=": () => zoomTime(0.6, 0.5), "-": () => zoomTime(1 / 0.6, 0.5), 0: () => showTime(0, view.end),
	};
	if (!actions[event.key])
		return;
	actions[event.key]();
	event.preventDefault();
}

/* Makes the tracks ready; the panel asks for entries before anything is drawn. */
function loadTimeline() {
	if (!data.timeline)
		return;
	view.tracks = data.timeline.tracks.map(unpack);
	view.curves = data.timeline.curves.map(unpackCurve);
	view.end = Math.max(1, data.timeline.ns);
	view.to = view.end;
}

function initTimeline() {
	if (!view.tracks.length && !view.curves.length)
		return;
	const canvas = el("canvas", {id: "time-canvas", tabindex: "0", role: "img",
		"aria-label": "Timeline of ranges, launches and counters; arrow keys move, plus and minus zoom, zero shows all"});
	const button = (text, name, f) => el("button", {type: "button", "aria-label": name, onclick: f}, text);
	byId("timeline").hidden = false;
	byId("timeline").append(el("div.row.between", {}, el("h2", {}, "Timeline"), el("div.row.controls", {},
		el("span.small.soft", {id: "time-span"}), el("span.seg", {role: "group", "aria-label": "Zoom"},
			button("−", "Zoom out", () => zoomTime(1 / 0.6, 0.5)), button("+", "Zoom in", () => zoomTime(0.6, 0.5)), button("all", "Show all", () => showTime(0, view.end))))),
	el("div.canvas-box", {}, canvas), el("p.small.soft", {}, "Drag to move, Ctrl and wheel to zoom; events narrower than a pixel are drawn together." +
		(data.timeline.left_out ? " The last " + data.timeline.left_out + " events are left out." : "")));
	timelinePointer(canvas);
	canvas.addEventListener("keydown", timelineKey);
	listenTo(["report", "region", "theme"], requestTimeline);
	addEventListener("resize", requestTimeline);
	requestTimeline();
}
