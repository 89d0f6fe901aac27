/* The chart of regions: each is as wide as what it took, nested ones are below. */

const ROW_PX = 24, LEAST_PX = 1.5;

/* Trees that must not be added up are drawn apart: one strip per domain, one for start/end ranges. */
function strips(report) {
	const groups = new Map();
	for (const root of report.roots) {
		const region = regionOf(report, root);
		const key = region.s ? "start/end ranges: they may overlap" : region.d === undefined ? "" : "domain " + seen(region.d);
		if (!groups.has(key))
			groups.set(key, {title: key, isApart: Boolean(region.s), roots: []});
		groups.get(key).roots.push(root);
	}
	return [...groups.values()].sort((a, b) => a.isApart - b.isApart || (a.title !== "") - (b.title !== ""));
}

/* Rectangles in shares of the width. Iterative, since a tree may be deep. */
function layout(report, roots, total, widthPx) {
	const out = [], stack = [];
	let x = 0;
	for (const root of roots) {
		const w = total > 0 ? weightOf(report, root, state.by) / total : 0;
		stack.push([root, x, w, 0]);
		x += w;
	}
	while (stack.length) {
		const [node, left, w, level] = stack.pop();
		if (w * widthPx < LEAST_PX)
			continue;
		out.push([node, left, w, level]);
		/* Wall times of neighbours may overlap: then all are drawn narrower, so that they fit. */
		const own = weightOf(report, node, state.by), inside = report.children[node].reduce((sum, child) => sum + weightOf(report, child, state.by), 0);
		const scale = own > 0 ? w / Math.max(own, inside) : 0;
		let next = left;
		for (const child of report.children[node]) {
			const cw = weightOf(report, child, state.by) * scale;
			stack.push([child, next, cw, level + 1]);
			next += cw;
		}
		const idle = state.by === "wall_ms" ? Math.min(ownIdle(report, node) * scale, left + w - next) : 0;
		if (idle * widthPx >= LEAST_PX)
			out.push([node, next, idle, level + 1, "idle"]);
	}
	return out;
}

function weightText(report, node) {
	const v = weightOf(report, node, state.by);
	if (state.by[0] === "m")
		return human(v, data.metrics[Number(state.by.slice(1))].u);
	return state.by.endsWith("_ms") ? fieldText(v, "ms") + " ms" : fieldText(v, "count");
}

function describe(report, node, total) {
	const lines = [titleOf(regionOf(report, node)), weightText(report, node)];
	if (total > 0)
		lines[1] += " · " + (100 * weightOf(report, node, state.by) / total).toFixed(1) + " % of the " + state.byText + " of all regions";
	if (state.by !== "launches")
		lines.push(fieldText(field(report, node, "launches"), "count") + " launches");
	for (const column of data.headline.slice(0, 4)) {
		const f = figure(report, node, column, false), metric = data.metrics[column];
		if (isNumber(f.v))
			lines.push((metric.h || metric.n) + " " + f.mark + human(f.v, metric.u));
	}
	for (const word of WORDS_TOLD)
		if (report[word][node] !== "-")
			lines.push(WORD_HEADS[word] + ": " + WORDS[word][report[word][node]][1]);
	return lines.join("\n");
}

function describeIdle(report, node) {
	const region = regionOf(report, node), ms = (v) => fieldText(v, "ms") + " ms";
	return ["GPU idle in " + titleOf(region) + (report.children[node].length ? ", outside what is nested in it" : ""), ms(ownIdle(report, node)),
		...idleCauses(report, node).map(([cause, v]) => ms(v) + ": " + data.causes[cause])].join("\n");
}

function idleFrame(report, [node, left, w, level], widthPx) {
	const [cause] = (idleCauses(report, node)[0] || ["unknown"]), text = "idle: " + causeWord(cause);
	const e = el("div.frame.idle", {role: "treeitem", "aria-level": String(report.depth[node] + 2), "aria-label": describeIdle(report, node).replaceAll("\n", ", "),
		style: {left: left * 100 + "%", width: w * 100 + "%", top: level * ROW_PX + "px", background: stripes(IDLE[cause])}}, w * widthPx > 60 ? el("span", {}, text) : "");
	e.dataset.node = node;
	return e;
}

function frame(report, [node, left, w, level], total, widthPx) {
	const colour = colourOf(report, node), region = regionOf(report, node), text = describe(report, node, total);
	const e = el("div.frame", {
		id: "frame" + node, role: "treeitem", "aria-level": String(report.depth[node] + 1), "aria-label": text.replaceAll("\n", ", "),
		"aria-selected": String(report.region[node] === state.region), dir: "auto",
		style: {left: left * 100 + "%", width: w * 100 + "%", top: level * ROW_PX + "px", background: colour, color: inkOn(colour)},
	});
	e.dataset.node = node;
	if (w * widthPx > 26)
		e.textContent = seen(region.n) || EMPTY_LABEL;
	else
		e.classList.add("tiny");
	if (report.region[node] === state.region)
		e.classList.add("selected");
	return e;
}

/* The ancestors of the zoomed region are above it, at full width. */
function drawStrip(box, group, widthPx) {
	const report = state.report, zoom = zoomNode();
	const path = zoom >= 0 ? pathOf(report, zoom) : [];
	if (path.length && !group.roots.includes(path[0]))
		return;
	const sum = group.roots.reduce((a, root) => a + weightOf(report, root, state.by), 0);
	const all = group.isApart ? Math.max(...group.roots.map((root) => weightOf(report, root, state.by))) : sum;
	let rects = [];
	if (path.length) {
		path.slice(0, -1).forEach((node, level) => rects.push([node, 0, 1, level]));
		const below = layout(report, [zoom], weightOf(report, zoom, state.by), widthPx);
		rects = rects.concat(below.map(([n, x, w, level, idle]) => [n, x, w, level + path.length - 1, idle]));
	} else if (group.isApart) {
		group.roots.forEach((root, i) => rects.push([root, 0, all > 0 ? weightOf(report, root, state.by) / all : 0, i]));
		rects = rects.filter(([, , w]) => w * widthPx >= LEAST_PX);
	} else {
		rects = layout(report, group.roots, sum, widthPx);
	}
	const height = rects.reduce((h, r) => Math.max(h, r[3] + 1), 1) * ROW_PX;
	if (group.title)
		box.append(el("div.strip-title", {}, group.title));
	const strip = el("div.strip", {role: "group", style: {height: height + "px"}});
	strip.dataset.total = sum;
	strip.append(...rects.map((r) => {
		const e = r[4] ? idleFrame(report, r, widthPx) : frame(report, r, sum, widthPx);
		if (path.length > 1 && r[3] < path.length - 1)
			e.classList.add("above");
		return e;
	}));
	box.append(strip);
}

function zoomNode() {
	return state.zoom >= 0 && state.report.nodeOf.has(state.zoom) ? state.report.nodeOf.get(state.zoom) : -1;
}

function drawCrumbs() {
	const report = state.report, zoom = zoomNode(), box = byId("crumbs");
	box.replaceChildren();
	if (zoom < 0) {
		box.append(el("span.soft.small", {}, report.nr ? (state.by === "wall_ms" ? "Each region is as wide as its wall time; striped is time in which the GPU was idle." : "Each region is as wide as its part of the whole.") + " Click one to zoom into it." : ""));
		return;
	}
	box.append(el("button", {type: "button", onclick: () => change({zoom: -1})}, "all regions"));
	const path = pathOf(report, zoom);
	path.forEach((node, i) => {
		const name = seen(regionOf(report, node).n) || EMPTY_LABEL;
		box.append(el("span.soft", {"aria-hidden": "true"}, "›"), i + 1 < path.length ?
			el("button", {type: "button", onclick: () => change({zoom: report.region[node], region: report.region[node]})}, name) :
			el("span.here", {"aria-current": "location"}, name));
	});
}

function drawIcicle() {
	const frames = byId("frames"), widthPx = frames.clientWidth || 900;
	frames.replaceChildren();
	state.top = topOf(state.report);
	state.byText = (additive(state.report).find(([by]) => by === state.by) || ["", "width"])[1];
	drawCrumbs();
	byId("legend").replaceChildren(legend());
	if (!state.report.nr)
		frames.append(el("p.soft", {}, state.report.flat_kn ? "No NVTX range was open at any launch: nothing region-specific was profiled. The kernels of the run are below." : "No launch to show: the notes say why."));
	for (const group of strips(state.report))
		drawStrip(frames, group, widthPx);
	markFrame();
}

function markFrame() {
	const frames = byId("frames"), node = selectedNode();
	for (const e of frames.querySelectorAll(".frame.selected")) {
		e.classList.remove("selected");
		e.setAttribute("aria-selected", "false");
	}
	const e = node >= 0 ? byId("frame" + node) : null;
	if (e) {
		e.classList.add("selected");
		e.setAttribute("aria-selected", "true");
		frames.setAttribute("aria-activedescendant", e.id);
	} else {
		frames.removeAttribute("aria-activedescendant");
	}
}

/* Arrow keys move to the parent, the first child and the siblings. */
function icicleKey(event) {
	const report = state.report, node = selectedNode();
	const siblings = node < 0 ? report.roots : report.parent[node] < 0 ? report.roots : report.children[report.parent[node]];
	const i = siblings.indexOf(node);
	const to = {
		ArrowUp: node >= 0 ? report.parent[node] : -1, ArrowDown: node < 0 ? report.roots[0] : report.children[node][0],
		ArrowLeft: siblings[i - 1], ArrowRight: siblings[i + 1],
	}[event.key];
	if (event.key === "Enter" && node >= 0)
		change({zoom: state.zoom === state.region ? -1 : state.region});
	else if (to !== undefined && to >= 0)
		selectNode(to);
	else if (!event.key.startsWith("Arrow"))
		return;
	event.preventDefault();
}

function frameUnder(event) {
	const e = event.target.closest(".frame");
	return e && e.dataset.node ? Number(e.dataset.node) : -1;
}

/* A switch between wall time and GPU time, and a list of all else that adds up. */
function widthControls() {
	const list = additive(state.report), main = list.filter(([by]) => by === "wall_ms" || by === "inclusive_ms"), rest = list.filter((one) => !main.includes(one));
	const pick = (by) => change({by});
	const buttons = main.length > 1 ? segments("Width", main, state.by, pick) : null;
	const others = choice(buttons ? "or" : "Width", buttons ? [["", "other widths"], ...rest] : [...main, ...rest], state.by, (by) => by && pick(by));
	const show = () => {
		if (buttons)
			[...buttons.children].forEach((b, i) => b.setAttribute("aria-pressed", String(main[i][0] === state.by)));
		others.querySelector("select").value = !buttons || rest.some(([by]) => by === state.by) ? state.by : "";
	};
	listenTo(["by"], show);
	show();
	return [buttons ? el("span.row.tight", {}, el("span.soft", {}, "Width"), buttons) : null, others];
}

/* Where the chart begins: at the outermost region of the step, if that would be less than half of all; else -1. */
function homeZoom(report) {
	let node = report.nodeOf.has(data.step) ? report.nodeOf.get(data.step) : -1;
	while (node >= 0 && report.parent[node] >= 0)
		node = report.parent[node];
	const strip = node < 0 ? null : strips(report).find((group) => group.roots.includes(node));
	const all = strip && !strip.isApart ? strip.roots.reduce((sum, root) => sum + weightOf(report, root, state.by), 0) : 0;
	return all > 0 && weightOf(report, node, state.by) < all / 2 ? report.region[node] : -1;
}

function initIcicle() {
	const colours = colourings();
	state.by = state.firstBy = additive(state.report)[0][0];
	state.zoom = state.firstZoom = homeZoom(state.report);
	/* If all regions have the same word, colours show amounts instead. */
	const [first] = colours[0];
	state.colour = WORDS[first] && new Set(state.report[first]).size < 2 ? colours[1][0] : first;
	const frames = el("div", {id: "frames", role: "tree", tabindex: "0", "aria-label": "Regions by size; arrow keys move, Enter zooms"});
	byId("overview").append(
		el("div.row.between", {},
			el("h2", {}, "Where it went"),
			el("div.row.controls", {}, ...widthControls(), choice("Colour", colours, state.colour, (colour) => change({colour})))),
		el("nav.crumbs", {id: "crumbs", "aria-label": "Zoomed region"}), frames, el("div", {id: "legend"}));
	frames.addEventListener("click", (event) => {
		const node = frameUnder(event);
		if (node >= 0)
			change({region: state.report.region[node], zoom: state.report.region[node]});
	});
	frames.addEventListener("mousemove", (event) => {
		const node = frameUnder(event);
		if (node >= 0)
			showTip(event, event.target.closest(".idle") ? describeIdle(state.report, node) : describe(state.report, node, Number(event.target.closest(".strip").dataset.total)));
		else
			hideTip();
	});
	frames.addEventListener("mouseleave", hideTip);
	frames.addEventListener("keydown", icicleKey);
	listen((changed) => {
		if (["report", "zoom", "by", "colour"].some((key) => changed.has(key)))
			drawIcicle();
		else if (changed.has("region"))
			markFrame();
	});
}
