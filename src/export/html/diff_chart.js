/* The chart of a comparison: one box per region. It is as wide as the region's time on the side where that is longer; its colour shows the change. */

const BOX_PX = 24, LEAST_BOX_PX = 1.5;

/* Whether a region has a box: it needs a time of the chosen kind. A renamed region is drawn once, by its new name. */
function hasBox(r) {
	return Boolean(r.times[state.by]) && !(r.class === "removed" && r.twin !== undefined);
}

/* The nearest region around `i` that has a box, -1 = none. */
function boxAround(i) {
	for (let up = regions[i].parent; up >= 0; up = regions[up].parent) {
		if (regions[up].class === "removed" && regions[up].twin < up)
			up = regions[up].twin; /* new regions come before removed ones */
		if (hasBox(regions[up]))
			return up;
	}
	return -1;
}

/* By region: the boxes inside its box, and its weight, which is never less than their sum. */
function weighBoxes() {
	const boxes = regions.map(() => ({inside: [], weight: 0})), tops = [];
	for (const i of data.order)
		if (hasBox(regions[i])) {
			const up = boxAround(i);
			(up < 0 ? tops : boxes[up].inside).push(i);
		}
	const weigh = (i) => {
		const t = regions[i].times[state.by], own = Math.max(t.base_total || 0, t.new_total || 0);
		boxes[i].weight = Math.max(own, boxes[i].inside.reduce((sum, k) => sum + boxes[k].weight, 0));
	};
	const order = [], stack = [...tops];
	while (stack.length) {
		const i = stack.pop();
		order.push(i);
		stack.push(...boxes[i].inside);
	}
	order.reverse().forEach(weigh);
	return {boxes, tops};
}

function describeBox(i) {
	const r = regions[i], t = r.times[state.by], lines = [seen(r.id) + r.mark];
	lines.push(TIME_WORDS[state.by] + " of a run: " + msText(t.base_total) + " → " + msText(t.new_total) + " ms");
	lines.push("per entry " + percent(t.ratio) + (isNumber(t.low) && isNumber(t.high) ? " (" + intervalText(t) + ")" : ""), seen(r.verdict));
	return lines.join("\n");
}

function drawBox(i, left, w, level, widthPx) {
	const r = regions[i], colour = changeColour(r.class, r.times[state.by].ratio), text = describeBox(i);
	const moved = r.class === "slower" || r.class === "faster";
	const e = el("div.frame", {id: "box" + i, role: "treeitem", "aria-level": String(level + 1), "aria-label": text.replaceAll("\n", ", "), "aria-selected": String(state.region === i), dir: "auto",
		style: {left: left * 100 + "%", width: w * 100 + "%", top: level * BOX_PX + "px", background: colour, color: inkOn(colour)}},
	w * widthPx > 26 ? nameOf(r) + (moved ? " " + percent(r.times[state.by].ratio) : "") : "");
	e.classList.add(r.class);
	if (w * widthPx <= 26)
		e.classList.add("tiny");
	e.dataset.region = i;
	return e;
}

function drawChart() {
	const box = byId("frames"), widthPx = box.clientWidth || 900, {boxes, tops} = weighBoxes(), zoom = state.zoom >= 0 && hasBox(regions[state.zoom]) ? state.zoom : -1;
	const path = [];
	for (let i = zoom; i >= 0; i = boxAround(i))
		path.unshift(i);
	const all = tops.reduce((sum, i) => sum + boxes[i].weight, 0), out = [], stack = [];
	let x = 0, levels = path.length || 1;
	path.slice(0, -1).forEach((i, level) => {
		const e = drawBox(i, 0, 1, level, widthPx);
		e.classList.add("above");
		out.push(e);
	});
	for (const i of zoom >= 0 ? [zoom] : tops) {
		const w = zoom >= 0 ? 1 : all > 0 ? boxes[i].weight / all : 0;
		stack.push([i, x, w, zoom >= 0 ? path.length - 1 : 0]);
		x += w;
	}
	while (stack.length) {
		const [i, left, w, level] = stack.pop();
		if (w * widthPx < LEAST_BOX_PX)
			continue;
		out.push(drawBox(i, left, w, level, widthPx));
		levels = Math.max(levels, level + 1);
		let next = left;
		for (const k of boxes[i].inside) {
			const part = boxes[i].weight > 0 ? w * boxes[k].weight / boxes[i].weight : 0;
			stack.push([k, next, part, level + 1]);
			next += part;
		}
	}
	box.replaceChildren(el("div.strip", {role: "group", style: {height: levels * BOX_PX + "px"}}, ...out));
	drawDiffCrumbs(path);
	byId("legend").replaceChildren(...["slower", "faster", "same", "insufficient", "added", "removed"].filter((name) => regions.some((r) => r.class === name)).map((name) =>
		el("span", {}, el("span.swatch", {class: "swatch " + name, style: {background: changeColour(name, 2)}}), name)));
	markBox();
}

function drawDiffCrumbs(path) {
	const box = byId("crumbs");
	box.replaceChildren();
	if (!path.length) {
		box.append(el("span.soft.small", {}, "Each region is as wide as its " + TIME_WORDS[state.by] + " in a run, on the side where that is longer. Click one to zoom into it."));
		return;
	}
	box.append(el("button", {type: "button", onclick: () => change({zoom: -1})}, "all regions"));
	path.forEach((i, k) => box.append(el("span.soft", {"aria-hidden": "true"}, "›"), k + 1 < path.length ?
		el("button", {type: "button", onclick: () => change({zoom: i, region: i})}, nameOf(regions[i])) : el("span.here", {"aria-current": "location"}, nameOf(regions[i]))));
}

function markBox() {
	for (const e of byId("frames").querySelectorAll(".frame")) {
		const isHere = Number(e.dataset.region) === state.region;
		e.classList.toggle("selected", isHere);
		e.setAttribute("aria-selected", String(isHere));
	}
}

function initChart() {
	const frames = el("div", {id: "frames", role: "tree", tabindex: "0", "aria-label": "Regions by size, coloured by what changed"});
	const buttons = segments("Width", times.map((t) => [t, TIME_WORDS[t]]), state.by, (by) => change({by}));
	byId("overview").append(el("div.row.between", {}, el("h2", {}, "What changed where"), el("div.row.controls", {}, times.length > 1 ? el("span.row.tight", {}, el("span.soft", {}, "Width"), buttons) : "")),
		el("nav.crumbs", {id: "crumbs", "aria-label": "Zoomed region"}), frames, el("div.legend", {id: "legend"}));
	const under = (event) => {
		const e = event.target.closest(".frame");
		return e ? Number(e.dataset.region) : -1;
	};
	frames.addEventListener("click", (event) => under(event) >= 0 && change({region: under(event), zoom: under(event)}));
	frames.addEventListener("mousemove", (event) => showTip(event, under(event) >= 0 ? describeBox(under(event)) : ""));
	frames.addEventListener("mouseleave", hideTip);
	listen((changed) => {
		if (changed.has("by"))
			[...buttons.children].forEach((b, i) => b.setAttribute("aria-pressed", String(times[i] === state.by)));
		if (["zoom", "by", "theme"].some((key) => changed.has(key)))
			drawChart();
		else if (changed.has("region"))
			markBox();
	});
	byId("overview").hidden = !times.length;
}
