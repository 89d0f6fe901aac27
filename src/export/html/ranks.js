/* Ranks side by side: a map of ranks × regions, coloured by how far each is from the median; then tables. */

const MAP = {left: 190, top: 120, cell: 26, low: 3, high: 20, most: 640};
const SLOW = [179, 88, 6], EVEN = [247, 247, 247], FAST = [33, 102, 172]; /* apart for every colour vision */

/* Per cent to colour: white at the median, full at ±`top`. */
function apart(v, top) {
	const share = Math.min(1, Math.abs(v) / top), to = v > 0 ? SLOW : FAST;
	return "rgb(" + EVEN.map((c, i) => Math.round(c + (to[i] - c) * share)).join(",") + ")";
}

function mapTop(values) {
	const sorted = values.filter(isNumber).map(Math.abs).sort((a, b) => a - b);
	const most = sorted[Math.floor(0.98 * (sorted.length - 1))] || 0; /* a few may be beyond */
	return [5, 10, 20, 50].find((top) => most <= top) || 100;
}

function mapSize(box, ranks) {
	const nrColumns = ranks.regions.length, nrRows = ranks.v.length / nrColumns;
	return {
		nrColumns, nrRows,
		w: Math.max(10, Math.min(MAP.cell * 2, (box.clientWidth - MAP.left - 40) / nrColumns)),
		h: Math.max(MAP.low, Math.min(MAP.high, MAP.most / nrRows)),
	};
}

/* The ranks of a row: one, or the first to the last of several. */
function rowName(ranks, row) {
	const first = row * ranks.per_row, last = Math.min(first + ranks.per_row, ranks.names.length) - 1;
	return seen(ranks.names[first]) + (last > first ? " … " + seen(ranks.names[last]) : "");
}

function cutText(context, text, width) {
	if (context.measureText(text).width <= width)
		return text;
	while (text.length > 1 && context.measureText(text + "…").width > width)
		text = text.slice(0, -1);
	return text + "…";
}

function drawMapHeads(context, ranks, s) {
	context.textAlign = "left";
	for (let c = 0; c < s.nrColumns; c++) {
		context.save();
		context.translate(MAP.left + (c + 0.5) * s.w + 3, MAP.top - 6);
		context.rotate(-Math.PI / 4);
		context.fillText(cutText(context, titleOf(data.regions[ranks.regions[c]]), 150), 0, 0);
		context.restore();
	}
	const step = Math.ceil(13 / s.h);
	context.textAlign = "right";
	for (let r = 0; r < s.nrRows; r += step)
		context.fillText(cutText(context, rowName(ranks, r), MAP.left - 14), MAP.left - 6, MAP.top + r * s.h + Math.min(s.h, 13) - 2);
}

function drawMap() {
	const ranks = data.ranks, canvas = byId("map"), s = mapSize(canvas.parentNode, ranks), top = mapTop(ranks.v);
	const width = MAP.left + s.nrColumns * s.w + 90, {g, colour} = openCanvas(canvas, width, MAP.top + s.nrRows * s.h + 4, "11px");
	canvas.style.width = width + "px";
	g.fillStyle = colour("soft");
	drawMapHeads(g, ranks, s);
	for (let r = 0; r < s.nrRows; r++)
		for (let c = 0; c < s.nrColumns; c++) {
			const v = ranks.v[r * s.nrColumns + c];
			g.fillStyle = v === null ? colour("line") : apart(v, top);
			g.fillRect(MAP.left + c * s.w, MAP.top + r * s.h, s.w - 1, s.h - (s.h > 6 ? 1 : 0));
		}
	byId("map-low").textContent = "−" + top + " %";
	byId("map-high").textContent = "+" + top + " %";
}

/* The cell below the pointer, or null. */
function mapCell(event) {
	const canvas = byId("map"), s = mapSize(canvas.parentNode, data.ranks), at = canvas.getBoundingClientRect();
	const c = Math.floor((event.clientX - at.left - MAP.left) / s.w), r = Math.floor((event.clientY - at.top - MAP.top) / s.h);
	return c >= 0 && r >= 0 && c < s.nrColumns && r < s.nrRows ? {c, r, i: r * s.nrColumns + c} : null;
}

function mapTip(cell) {
	const ranks = data.ranks, v = ranks.v[cell.i], median = ranks.median_ms[cell.c];
	const name = ranks.who && ranks.who[cell.i] !== null ? rowName(ranks, cell.r) + "\nslowest: " + seen(ranks.names[ranks.who[cell.i]]) : rowName(ranks, cell.r);
	return name + "\n" + pathText(data.regions[ranks.regions[cell.c]]) + "\n" + (v === null ? "no kernel here" :
		(median * (1 + v / 100)).toFixed(3) + " ms, " + (v < 0 ? "" : "+") + v.toFixed(1) + " % against the median of " + median.toFixed(3) + " ms");
}

function rankTable(table) {
	const nr = table.heads.length, rows = [];
	for (let i = 0; i < table.cells.length; i += nr)
		rows.push(el("tr", {}, ...table.cells.slice(i, i + nr).map((text, k) => el(table.words[k] ? "td.words" : "td", {title: seen(text)}, seen(text)))));
	return el("div.wide", {}, el("table.ranks", {},
		el("thead", {}, el("tr", {}, ...table.heads.map((head, k) => el(table.words[k] ? "th.words" : "th", {scope: "col"}, head)))), el("tbody", {}, ...rows)));
}

function initRanks() {
	const ranks = data.ranks;
	if (!ranks)
		return;
	const canvas = el("canvas", {id: "map", role: "img", "aria-label": "Time of each rank in each region against the median; the tables below have the slowest"});
	canvas.addEventListener("mousemove", (event) => showTip(event, mapCell(event) ? mapTip(mapCell(event)) : ""));
	canvas.addEventListener("mouseleave", hideTip);
	canvas.addEventListener("click", (event) => mapCell(event) && change({region: ranks.regions[mapCell(event).c]}));
	const stops = [apart(-1, 1), apart(0, 1), apart(1, 1)].join(",");
	const key = el("span.legend", {}, el("span", {id: "map-low"}), el("span.ramp", {style: {background: "linear-gradient(90deg," + stops + ")"}}), el("span", {id: "map-high"}));
	const longest = ranks.regions.reduce((most, r) => Math.max(most, titleOf(data.regions[r]).length), 0);
	MAP.top = Math.min(MAP.top, 30 + 4.4 * longest); /* heads are aslant */
	byId("ranks").hidden = false;
	byId("ranks").append(el("div.row.between", {}, el("h2", {}, ranks.names.length + " ranks"), key),
		el("p.small.soft", {}, "Time of kernels without communication, against the median of the region. A click selects the region." +
			(ranks.per_row > 1 ? " Each row is " + ranks.per_row + " ranks, and shows the slowest of them." : "")),
		el("div.canvas-box", {}, canvas), ...ranks.tables.map(rankTable));
	listenTo(["theme"], drawMap);
	addEventListener("resize", drawMap);
	drawMap();
}
