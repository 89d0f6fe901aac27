/* The timeline: range entries per thread over launches per stream over counters of the device. A canvas, drawn per pixel, not per event. */

const LANE_PX = 18, TRACK_GAP = 22, AXIS_PX = 24, CURVE_PX = 44, EMPTY_PX = 16, MOST_ARROWS = 150, LEAST_SEEN_PX = 2, PRINT_PX = 900;
const view = {tracks: [], curves: [], gaps: [], from: 0, to: 1, end: 1, home: 0, drag: null, height: 0, wanted: false, isOver: false, pointer: null, picked: null};
const PALETTE = ["#4c86bd", "#c98a2b", "#5b9a78", "#b3669a", "#8c8f3c", "#5aa7c4", "#b5644a", "#7d79b8"];

/* --- drawing -------------------------------------------------------------------------------------- */

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

function eventColour(track, i) {
	const n = track.n ? track.n[i] : track.regions[i];
	return PALETTE[n % PALETTE.length];
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
		g.fillText(cutMiddle(name, fits), x + 4, y + 12);
	}
	g.globalAlpha = 1;
}

/* Round steps of about 130 pixels; every tick has as many digits as it takes to differ from its neighbours. */
function timeStep(width) {
	const rough = (view.to - view.from) / Math.max(2, width / 130), power = 10 ** Math.floor(Math.log10(rough));
	return Math.max(1, [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough));
}

function ticks(width) {
	const step = timeStep(width), list = [];
	for (let k = Math.ceil(view.from / step); k * step <= view.to; k++)
		list.push([(k * step - view.from) / (view.to - view.from) * width, moment(k * step, step)]);
	return list;
}

function drawGrid(g, width, colour, height) {
	g.fillStyle = colour("line");
	for (const [x] of ticks(width))
		g.fillRect(x, 0, 1, height);
}

/* The axis covers tracks that are scrolled below it. */
function drawTimeAxis(g, width, colour) {
	g.fillStyle = colour("card");
	g.fillRect(0, 0, width, AXIS_PX - 6);
	g.textAlign = "left";
	for (const [x, text] of ticks(width)) {
		g.fillStyle = colour("line");
		g.fillRect(x, 0, 1, AXIS_PX - 6);
		g.fillStyle = colour("soft");
		g.fillText(text, x + 4, 13);
	}
}

/* Draws the gaps behind the launches of a device, coloured by cause, with the cause's word if there is room. */
function drawGaps(g, gaps, width) {
	const streams = tracksShown().filter((t) => t.kind === "stream" && t.process === gaps.process && t.device === gaps.device && !t.isEmpty);
	if (!streams.length)
		return;
	const top = streams[0].y + TRACK_GAP - 4, last = streams[streams.length - 1], bottom = last.y + TRACK_GAP - 6 + last.lanes.length * LANE_PX, scale = width / (view.to - view.from);
	for (let i = bisect(gaps.starts.length, (k) => gaps.ends[k] < view.from); i < gaps.starts.length && gaps.starts[i] < view.to; i++) {
		const x = Math.max(0, (gaps.starts[i] - view.from) * scale), w = Math.min(width, (gaps.ends[i] - view.from) * scale) - x, cause = CAUSES[gaps.c.charCodeAt(i) - 97];
		if (w < 1)
			continue;
		g.globalAlpha = 0.3;
		g.fillStyle = IDLE[cause];
		g.fillRect(x, top, w, bottom - top);
		g.globalAlpha = 1;
		view.causes.add(cause);
		if (w > 66) {
			g.fillStyle = view.ink;
			g.fillText(cutMiddle("idle: " + causeWord(cause) + (w > 130 ? ", " + time(Math.round(gaps.d[i])) : ""), Math.floor((w - 8) / 6.2)), x + 4, top + 12);
		}
	}
}

/* Draws an arrow from the launch call, in its thread, to the start in the stream. */
function drawArrow(g, track, i, width) {
	const caller = Array.isArray(track.t) ? track.t[i] : track.t, thread = caller >= 0 ? view.tracks[caller] : null;
	if (!thread || thread.y === undefined || thread.isEmpty || !isNumber(track.q[i]))
		return;
	const scale = width / (view.to - view.from), call = track.starts[i] - track.q[i], x0 = (call - view.from) * scale, x1 = (track.starts[i] - view.from) * scale;
	const y0 = thread.y + TRACK_GAP - 6 + (laneAt(thread, call) + 1) * LANE_PX, y1 = track.y + TRACK_GAP - 4, mid = (y0 + y1) / 2;
	g.beginPath();
	g.moveTo(x0, y0);
	g.bezierCurveTo(x0, mid, x1, mid, x1, y1 - 3);
	g.stroke();
	g.beginPath();
	g.moveTo(x1, y1);
	g.lineTo(x1 - 3, y1 - 6);
	g.lineTo(x1 + 3, y1 - 6);
	g.fill();
	view.arrows++;
}

/* Launches whose arrows are drawn: the clicked one, else those in view of the selected region unless they are too many. */
function arrowsOf() {
	if (view.picked)
		return [view.picked];
	const out = [];
	for (const t of state.region >= 0 ? tracksShown() : []) {
		if (t.kind !== "stream" || !t.q)
			continue;
		for (let i = bisect(t.starts.length, (k) => t.ends[k] < view.from); i < t.starts.length && t.starts[i] < view.to; i++)
			if (view.lit.has(t.regions[i]) && out.push({track: t, i}) > MOST_ARROWS)
				return [];
	}
	return out;
}

function drawArrows(g, width, ink) {
	g.strokeStyle = g.fillStyle = ink;
	g.lineWidth = 1;
	g.globalAlpha = view.picked ? 1 : 0.55;
	view.arrows = 0;
	for (const {track, i} of arrowsOf())
		if (!track.isEmpty)
			drawArrow(g, track, i, width);
	g.globalAlpha = 1;
}

/* Places the tracks; one with nothing in view takes a single line. While the view is dragged, no track moves. */
function placeTracks() {
	if (view.drag && view.drag.isMoved)
		return;
	let y = AXIS_PX;
	view.tracks.forEach((t) => t.y = undefined);
	for (const t of tracksShown()) {
		t.y = y;
		t.isEmpty = !isSeen(t, view.from, view.to);
		y += t.isEmpty ? EMPTY_PX : TRACK_GAP + t.lanes.length * LANE_PX;
	}
	for (const c of curvesShown()) {
		c.y = y;
		y += TRACK_GAP + CURVE_PX;
	}
	view.height = y + 6;
}

function drawTracks(g, width, top, height, colour) {
	const ink = colour("soft"), inView = (y, h) => y + h >= top && y <= top + height;
	for (const gaps of gapsShown())
		drawGaps(g, gaps, width);
	for (const t of tracksShown()) {
		if (!inView(t.y, TRACK_GAP + t.lanes.length * LANE_PX))
			continue;
		g.fillStyle = ink;
		g.fillText(cutMiddle(t.title, Math.floor(width / 6.5)) + (t.isEmpty ? " · nothing here" : ""), 4, t.y + (t.isEmpty ? 11 : 13));
		if (!t.isEmpty)
			t.lanes.forEach((lane, k) => drawLane(g, t, lane, t.y + TRACK_GAP - 4 + k * LANE_PX, width));
	}
	curvesShown().forEach((c, k) => {
		if (!inView(c.y, TRACK_GAP + CURVE_PX))
			return;
		g.fillStyle = ink;
		g.fillText("GPU " + c.device + " · " + seen(c.name) + " · up to " + plain(c.most), 4, c.y + 13);
		drawCurve(g, c, PALETTE[k % PALETTE.length], width, colour("line"));
	});
	drawArrows(g, width, colour("ink"));
}

function drawTimeline() {
	view.wanted = false;
	view.lit = litRegions();
	view.causes = new Set();
	placeTracks();
	const canvas = byId("time-canvas"), box = byId("time-box"), width = box.clientWidth || 900;
	byId("time-space").style.height = view.height + "px";
	/* The canvas is as high as the visible part: there may be hundreds of ranks. */
	const height = Math.min(view.height, view.isPrinting ? PRINT_PX : box.clientHeight || view.height), top = view.isPrinting ? 0 : box.scrollTop;
	const {g, colour} = openCanvas(canvas, width, height, "11.5px");
	view.dim = colour("bar");
	view.ink = colour("ink");
	drawGrid(g, width, colour, height);
	g.save();
	g.translate(0, -top);
	drawTracks(g, width, top, height, colour);
	g.restore();
	drawTimeAxis(g, width, colour);
	const step = timeStep(width) / 10;
	byId("time-span").textContent = moment(view.from, step) + " – " + moment(view.to, step);
	byId("time-legend").replaceChildren(...CAUSES.filter((c) => view.causes.has(c)).map((c) => el("span", {title: data.causes[c]}, el("span.swatch", {style: {background: IDLE[c], opacity: 0.5}}), "idle: " + causeWord(c))));
}

/* Does nothing before the canvas exists: initTimeline asks again. */
function requestTimeline() {
	if (view.wanted || !byId("time-canvas"))
		return;
	view.wanted = true;
	requestAnimationFrame(drawTimeline);
}

/* --- moving --------------------------------------------------------------------------------------- */

function setTime(from, to) {
	const least = Math.min(view.end, 50), span = Math.max(least, Math.min(view.end, to - from));
	view.from = Math.max(0, Math.min(from, view.end - span));
	view.to = view.from + span;
	requestTimeline();
}

function showTime(from, to) {
	setTime(from, to);
	change({from: view.from, to: view.to});
}

/* The first view begins with the first GPU work. */
function showHome() {
	setTime(view.home, view.end);
	change({from: null, to: null});
}

/* Shows a span of time with some time around it, and scrolls to the track. */
function showSpan(begin, length, track) {
	const around = Math.max(length, 1000) * 0.3, box = byId("time-box");
	showTime(begin - around, begin + length + around);
	if (!box)
		return;
	placeTracks();
	const t = track || tracksShown().find((one) => one.kind === "stream" && !one.isEmpty);
	if (t && t.y !== undefined)
		box.scrollTop = Math.max(0, t.y - box.clientHeight / 2);
	byId("timeline").scrollIntoView({block: "nearest"});
}

/* Shows an entry by its begin in ms. */
function showEntry(beginMs, hostMs) {
	showSpan(data.timeline.entered + beginMs * 1e6, hostMs * 1e6, tracksShown().find((t) => t.kind === "thread"));
}

function showGap(gap) {
	showSpan(data.timeline.entered + gap.begin_ms * 1e6, gap.ms * 1e6);
}

/* Whether an entry or a launch of the selected region is wide enough to be seen. */
function isSelectionSeen() {
	const least = LEAST_SEEN_PX * (view.to - view.from) / ((byId("time-box") || {}).clientWidth || 900), lit = litRegions();
	return tracksShown().some((t) => t.lanes.some((lane) => {
		for (let k = firstIn(lane, t.ends, view.from); k < lane.length && t.starts[lane[k]] < view.to; k++)
			if (lit.has(t.regions[lane[k]]) && Math.min(t.ends[lane[k]], view.to) - Math.max(t.starts[lane[k]], view.from) >= least)
				return true;
		return false;
	}));
}

/* If the selected region is not in sight, moves the view to it, as wide as before or as the entry needs. */
function followSelection() {
	if (view.picked && !litRegions().has(view.picked.track.regions[view.picked.i]))
		view.picked = null;
	if (state.region < 0 || !view.tracks.length || isSelectionSeen())
		return;
	const found = entryOf(state.region);
	if (!found)
		return;
	const {track, i} = found, length = track.ends[i] - track.starts[i], span = Math.min(view.to - view.from, Math.max(6 * length, 1000)), center = (track.starts[i] + track.ends[i]) / 2;
	showTime(center - span / 2, center + span / 2);
	const box = byId("time-box");
	if (box) {
		placeTracks();
		if (track.y < box.scrollTop || track.y > box.scrollTop + box.clientHeight - 60)
			box.scrollTop = Math.max(0, track.y - box.clientHeight / 3);
	}
}

function zoomTime(factorOf, share) {
	const span = view.to - view.from, center = view.from + span * share;
	showTime(center - span * factorOf * share, center + span * factorOf * (1 - share));
}

/* --- pointer and keys ----------------------------------------------------------------------------- */

function pointerAt(event) {
	const box = byId("time-canvas").getBoundingClientRect();
	return {y: event.clientY - box.top + byId("time-box").scrollTop, share: (event.clientX - box.left) / box.width, slack: (view.to - view.from) / box.width,
		t: view.from + (event.clientX - box.left) / box.width * (view.to - view.from)};
}

function eventUnder(event) {
	const {y, t, slack} = pointerAt(event);
	for (const track of tracksShown()) {
		const lane = track.isEmpty ? null : track.lanes[Math.floor((y - track.y - TRACK_GAP + 4) / LANE_PX)];
		if (!lane || y < track.y + TRACK_GAP - 4)
			continue;
		const k = firstIn(lane, track.ends, t - slack);
		if (k < lane.length && track.starts[lane[k]] <= t + slack)
			return {track, i: lane[k]};
	}
	return null;
}

function curveUnder(event) {
	const {y, t} = pointerAt(event), curve = curvesShown().find((c) => y >= c.y && y < c.y + TRACK_GAP + CURVE_PX), i = curve ? pointBefore(curve, t) : -1;
	return i >= 0 && t <= curve.starts[i] + curve.d[i] ? {curve, i} : null;
}

function gapUnder(event) {
	const {y, t} = pointerAt(event), track = tracksShown().find((one) => one.kind === "stream" && !one.isEmpty && y >= one.y && y < one.y + TRACK_GAP + one.lanes.length * LANE_PX);
	for (const gaps of track ? gapsShown().filter((g) => g.process === track.process && g.device === track.device) : []) {
		const i = bisect(gaps.starts.length, (k) => gaps.ends[k] < t);
		if (i < gaps.starts.length && gaps.starts[i] <= t)
			return {gaps, i};
	}
	return null;
}

function describeEvent({track, i}) {
	const name = seen(eventName(track, i, true)) || EMPTY_LABEL, start = moment(track.starts[i], 100);
	if (track.kind === "marks")
		return name + "\nmarked at " + start;
	const lines = [name, time(track.ends[i] - track.starts[i]) + " from " + start];
	if (track.kind === "stream" && track.regions[i] >= 0)
		lines.push("in " + pathText(data.regions[track.regions[i]]));
	if (track.q && isNumber(track.q[i]))
		lines.push("started " + time(track.q[i]) + " after its launch call");
	return lines.join("\n");
}

function describePoint({curve, i}) {
	return seen(curve.name) + ": " + plain(curve.v[i]) + "\nsampled for " + time(Math.round(curve.d[i])) + " from " + moment(curve.starts[i], 1000) + ", whatever ran on the device";
}

function describeGap({gaps, i}) {
	return "GPU idle for " + time(Math.round(gaps.d[i])) + " from " + moment(gaps.starts[i], 100) + "\nmostly because " + data.causes[CAUSES[gaps.c.charCodeAt(i) - 97]];
}

function pointTip(event) {
	const hit = eventUnder(event), point = hit ? null : curveUnder(event), gap = hit || point ? null : gapUnder(event);
	showTip(event, hit ? describeEvent(hit) : point ? describePoint(point) : gap ? describeGap(gap) : "");
}

function timelinePointer(canvas) {
	canvas.addEventListener("wheel", (event) => {
		if (!event.ctrlKey && !event.shiftKey && Math.abs(event.deltaY) > Math.abs(event.deltaX) && !event.altKey)
			return; /* the page scrolls; with Ctrl the wheel zooms */
		event.preventDefault();
		const by = (event.deltaX + event.deltaY) / canvas.clientWidth * (view.to - view.from);
		if (event.ctrlKey || event.altKey)
			zoomTime(Math.exp(event.deltaY * 0.004), event.offsetX / canvas.clientWidth);
		else
			showTime(view.from + by, view.to + by);
	}, {passive: false});
	canvas.addEventListener("pointerdown", (event) => {
		view.drag = {x: event.clientX, from: view.from, to: view.to, isMoved: false};
		canvas.setPointerCapture(event.pointerId);
	});
	canvas.addEventListener("pointermove", (event) => {
		view.isOver = true;
		view.pointer = pointerAt(event).share;
		if (!view.drag) {
			pointTip(event);
			return;
		}
		const dx = (event.clientX - view.drag.x) / canvas.clientWidth * (view.drag.to - view.drag.from);
		view.drag.isMoved = view.drag.isMoved || Math.abs(event.clientX - view.drag.x) > 3;
		showTime(view.drag.from - dx, view.drag.to - dx);
	});
	const release = (event) => {
		const hit = view.drag && !view.drag.isMoved && event.type === "pointerup" ? eventUnder(event) : null;
		view.drag = null;
		requestTimeline();
		if (!hit)
			return;
		view.picked = hit.track.kind === "stream" && hit.track.q ? hit : null;
		if (hit.track.regions[hit.i] >= 0)
			change({region: hit.track.regions[hit.i]});
	};
	canvas.addEventListener("pointerup", release);
	canvas.addEventListener("pointercancel", release);
	canvas.addEventListener("pointerleave", () => {
		view.isOver = false;
		hideTip();
	});
}

/* Whether keys are for the timeline: the pointer is over it, or half of it or of the window shows it. */
function hasKeys() {
	const box = byId("time-box") ? byId("time-box").getBoundingClientRect() : null;
	return view.isOver || Boolean(box) && Math.min(box.bottom, innerHeight) - Math.max(box.top, 0) >= Math.min(box.height, innerHeight) / 2;
}

function timelineKey(event) {
	const step = (view.to - view.from) * 0.15, at = view.isOver && isNumber(view.pointer) ? Math.max(0, Math.min(1, view.pointer)) : 0.5;
	const closer = () => zoomTime(0.6, at), wider = () => zoomTime(1 / 0.6, at), back = () => showTime(view.from - step, view.to - step), on = () => showTime(view.from + step, view.to + step);
	const actions = {ArrowLeft: back, ArrowRight: on, a: back, d: on, "+": closer, "=": closer, w: closer, "-": wider, s: wider, 0: () => showTime(0, view.end)};
	if (!actions[event.key] || event.ctrlKey || event.metaKey)
		return;
	actions[event.key]();
	event.preventDefault();
}

/* --- start ---------------------------------------------------------------------------------------- */

/* Prepares the tracks: the panel asks for entries before anything is drawn. */
function loadTimeline() {
	if (!data.timeline)
		return;
	view.tracks = data.timeline.tracks.map(unpack);
	view.curves = data.timeline.curves.map(unpackCurve);
	view.gaps = data.timeline.gaps.map(unpackGaps);
	nameTracks();
	view.end = Math.max(1, data.timeline.ns);
	const first = firstWork();
	view.home = first === null ? 0 : Math.max(0, first - 0.01 * (view.end - first));
	setTime(view.home, view.end);
}

function timelineChanged(changed) {
	if (changed.has("from") && state.from !== null && (state.from !== view.from || state.to !== view.to))
		setTime(state.from, state.to);
	else if (changed.has("from") && state.from === null)
		setTime(view.home, view.end);
	if (changed.has("region") || changed.has("report"))
		followSelection();
	if (["report", "region", "theme"].some((key) => changed.has(key)))
		requestTimeline();
}

function initTimeline() {
	if (!view.tracks.length && !view.curves.length)
		return;
	const canvas = el("canvas", {id: "time-canvas", tabindex: "0", role: "img",
		"aria-label": "Timeline of ranges, launches and counters; arrow keys or a and d move, plus and minus or w and s zoom, zero shows all"});
	const button = (text, name, f) => el("button", {type: "button", "aria-label": name, title: name, onclick: f}, text);
	byId("timeline").hidden = false;
	byId("timeline").append(el("div.row.between", {}, el("h2", {}, "Timeline"), el("div.row.controls", {},
		el("span.small.soft", {id: "time-span"}), el("span.seg", {role: "group", "aria-label": "Zoom"},
			button("−", "Zoom out", () => zoomTime(1 / 0.6, 0.5)), button("+", "Zoom in", () => zoomTime(0.6, 0.5)), button("work", "From the first GPU work of a region", showHome), button("all", "Show all", () => showTime(0, view.end))))),
	el("div.canvas-box", {id: "time-box"}, el("div", {id: "time-space"}, canvas)), el("div.legend", {id: "time-legend"}),
	el("p.small.soft", {}, "Drag to move, Ctrl and wheel to zoom, keys: ? lists them. Events narrower than a pixel are drawn together; a click on a launch shows the call it came from." +
		(view.home > 0 ? " Begins with the first GPU work of a region." : "") + (data.timeline.left_out ? " The last " + data.timeline.left_out + " events are left out." : "")));
	timelinePointer(canvas);
	canvas.addEventListener("keydown", timelineKey);
	byId("time-box").addEventListener("scroll", requestTimeline, {passive: true});
	for (const [name, isPrinting] of [["beforeprint", true], ["afterprint", false]])
		addEventListener(name, () => {
			view.isPrinting = isPrinting;
			drawTimeline();
		});
	listen(timelineChanged);
	addEventListener("resize", requestTimeline);
	view.lit = litRegions();
	followSelection();
	requestTimeline();
}
