/* Ranks side by side: a map of ranks × regions, coloured by how far each is from the median; then tables. */

const MAP = {left: 190, top: 120, right: 90, cell: 26, low: 3, high: 20, most: 640}, PRINT_RANKS = 24;
const SLOW = [179, 88, 6], EVEN = [247, 247, 247], FAST = [33, 102, 172]; /* distinct for every kind of colour vision */

/* The colour of a percentage: white at the median, full colour at ±`top`. */
function apart(v, top) {
	const share = Math.min(1, Math.abs(v) / top), to = v > 0 ? SLOW : FAST;
	return "rgb(" + EVEN.map((c, i) => Math.round(c + (to[i] - c) * share)).join(",") + ")";
}

function mapTop(values) {
	const sorted = values.filter(isNumber).map(Math.abs).sort((a, b) => a - b);
	const most = sorted[Math.floor(0.98 * (sorted.length - 1))] || 0; /* a few values may be beyond the scale */
	return [5, 10, 20, 50].find((top) => most <= top) || 100;
}

/* The map is as wide as its card; names take a third of it at most. */
function mapSize(box, ranks) {
	const nrColumns = ranks.regions.length, nrRows = ranks.v.length / nrColumns, width = box.clientWidth || 900;
	MAP.left = Math.min(190, 0.32 * width);
	MAP.right = Math.min(90, 0.12 * width);
	return {
		nrColumns, nrRows, width,
		w: Math.min(MAP.cell * 2, (width - MAP.left - MAP.right) / nrColumns),
		h: Math.max(MAP.low, Math.min(MAP.high, MAP.most / nrRows)),
	};
}

/* The rank of a row, or the first and the last of several. */
function rowName(ranks, row) {
	const first = row * ranks.per_row, last = Math.min(first + ranks.per_row, ranks.names.length) - 1;
	return seen(ranks.names[first]) + (last > first ? " … " + seen(ranks.names[last]) : "");
}

function drawMapHeads(context, ranks, s) {
	const every = Math.max(1, Math.ceil(11 / s.w)), chars = Math.floor((MAP.top - 12) / 0.71 / 6);
	const heads = cutApart(ranks.regions.map((r) => pathText(data.regions[r])), chars);
	context.textAlign = "left";
	for (let c = 0; c < s.nrColumns; c += every) {
		context.save();
		context.translate(MAP.left + (c + 0.5) * s.w + 3, MAP.top - 6);
		context.rotate(-Math.PI / 4);
		context.fillText(heads[c], 0, 0);
		context.restore();
	}
	const step = Math.ceil(13 / s.h), names = cutApart(Array.from({length: s.nrRows}, (_, r) => rowName(ranks, r)), Math.floor((MAP.left - 14) / 5.9));
	context.textAlign = "right";
	for (let r = 0; r < s.nrRows; r += step)
		context.fillText(names[r], MAP.left - 6, MAP.top + r * s.h + Math.min(s.h, 13) - 2);
}

function drawMap() {
	const ranks = data.ranks, canvas = byId("map"), s = mapSize(canvas.parentNode, ranks), top = mapTop(ranks.v);
	const {g, colour} = openCanvas(canvas, s.width, MAP.top + s.nrRows * s.h + 4, "11px");
	g.fillStyle = colour("soft");
	drawMapHeads(g, ranks, s);
	for (let r = 0; r < s.nrRows; r++)
		for (let c = 0; c < s.nrColumns; c++) {
			const v = ranks.v[r * s.nrColumns + c];
			g.fillStyle = v === null ? colour("line") : apart(v, top);
			g.fillRect(MAP.left + c * s.w, MAP.top + r * s.h, s.w - (s.w > 4 ? 1 : 0), s.h - (s.h > 6 ? 1 : 0));
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

/* A table whose long words are cut in the middle, different ones never to the same text; print has only the first rows. */
function rankTable(table) {
	const nr = table.heads.length, nrRows = table.cells.length / nr, rows = [];
	const columns = table.heads.map((_, k) => {
		const whole = Array.from({length: nrRows}, (__, i) => seen(table.cells[i * nr + k]));
		return {whole, cut: table.words[k] ? cutApart(whole, 48) : whole};
	});
	for (let i = 0; i < nrRows; i++)
		rows.push(el(i < PRINT_RANKS ? "tr" : "tr.screen", {}, ...columns.map((c, k) => el(table.words[k] ? "td.words" : "td", {title: c.whole[i]}, c.cut[i]))));
	return el("div.wide", {}, el("table.ranks", {},
		el("thead", {}, el("tr", {}, ...table.heads.map((head, k) => el(table.words[k] ? "th.words" : "th", {scope: "col"}, head)))), el("tbody", {}, ...rows)),
	nrRows > PRINT_RANKS ? el("p.small.soft.paper", {}, "… and " + (nrRows - PRINT_RANKS) + " more rows in the page.") : null);
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
	const longest = ranks.regions.reduce((most, r) => Math.max(most, pathText(data.regions[r]).length), 0);
	MAP.top = Math.min(MAP.top, 30 + 4.4 * longest); /* heads are slanted */
	byId("ranks").hidden = false;
	byId("ranks").append(el("div.row.between", {}, el("h2", {}, ranks.names.length + " ranks"), key),
		el("p.small.soft", {}, "Time of kernels without communication, against the median of the region. A click selects the region." +
			(ranks.per_row > 1 ? " Each row is " + ranks.per_row + " ranks, and shows the slowest of them." : "")),
		el("div.canvas-box", {}, canvas), ...ranks.tables.slice(0, 1).map(rankTable),
		ranks.tables.length < 2 ? "" : el("details.tables", {}, el("summary", {}, "All ranks, collectives and waits"), ...ranks.tables.slice(1).map(rankTable)));
	listenTo(["theme"], drawMap);
	addEventListener("resize", drawMap);
	drawMap();
}
