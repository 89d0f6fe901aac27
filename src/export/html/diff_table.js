/* The table of a comparison: both sides of each region and how it changed. Only rows in view are in the document. */

const DIFF_OVERSCAN = 12, DIFF_PRINT_ROWS = 400, NARROW_PX = 480;
const grid = {px: 27, rows: [], open: new Set(), hits: null, first: -1, last: -1, isPrinting: false};

const LEAST_VERDICT_PX = 180, LEAST_NAME_PX = 150, RATIO_PX = 72;
const DIFF_COLUMNS = [
	{key: "base", head: "base ms", title: "median of an entry, base", width: 92, get: (r) => sideOf(r, "base"), text: (r) => msText(sideOf(r, "base"))},
	{key: "new", head: "new ms", title: "median of an entry, new", width: 92, get: (r) => sideOf(r, "new"), text: (r) => msText(sideOf(r, "new"))},
	{key: "delta", head: "Δ ms", title: "what changed in an entry", width: 92, get: (r) => r.delta, text: (r) => signed(r.delta)},
	{key: "ratio", head: "Δ %", title: "what changed in an entry", width: 84, get: (r) => r.ratio, text: (r) => percent(r.ratio)},
	{key: "verdict", head: "verdict", title: "how sure that is, and why", width: LEAST_VERDICT_PX, get: (r) => r.verdict, text: (r) => seen(r.verdict)},
	{key: "bar", head: "faster | slower", title: "the change: full is the largest in the step, pointed is longer, hatched is not sure", width: 116, get: (r) => r.delta, text: () => ""},
	{key: "interval", head: "95 %", title: "the change lies between these", width: 156, get: (r) => r.low, text: intervalText},
	{key: "gpu", head: "GPU Δ %", title: "change of GPU time", width: 88, get: (r) => r.times.gpu ? r.times.gpu.ratio : null, text: (r) => percent(r.times.gpu ? r.times.gpu.ratio : null)},
].filter((c) => c.key === "verdict" || regions.some((r) => isNumber(c.get(r))));
/* These are left out first, in this order, if there is no room: the panel has them. */
const DIFF_LEFT_OUT = ["gpu", "interval", "bar", "base", "new", "delta"], MOST_VERDICT_PX = 420;

/* The columns that there is room for, with their widths; the verdict gets what is left, up to what its longest text takes. */
function fitDiffColumns() {
	const longest = regions.reduce((most, r) => Math.max(most, r.verdict.length), 0), all = byId("scroll").clientWidth, room = all - LEAST_NAME_PX;
	let list = DIFF_COLUMNS;
	Object.assign(grid, all < NARROW_PX ? {isNarrow: true, px: 42, name: Math.floor(0.4 * all)} : {isNarrow: false, px: 27, name: LEAST_NAME_PX});
	if (grid.isNarrow) /* a telephone */
		return list.filter((c) => /ratio|verdict/.test(c.key)).map((c) => ({...c, width: c.key === "ratio" ? RATIO_PX : all - grid.name - RATIO_PX}));
	const width = () => list.reduce((sum, c) => sum + c.width, 0);
	for (const key of DIFF_LEFT_OUT)
		if (width() > room)
			list = list.filter((c) => c.key !== key);
	const more = Math.max(0, Math.min(MOST_VERDICT_PX, 36 + 6.4 * longest, LEAST_VERDICT_PX + room - width()) - LEAST_VERDICT_PX);
	return list.map((c) => c.key === "verdict" ? {...c, width: c.width + more} : c);
}

function diffMatches() {
	const word = state.search.trim().toLowerCase();
	if (!word)
		return null;
	const hits = new Set(), keep = new Set();
	regions.forEach((r, i) => {
		if (!r.id.toLowerCase().includes(word) && !r.kernels.some((k) => k.name.toLowerCase().includes(word)))
			return;
		hits.add(i);
		for (let up = i; up >= 0 && !keep.has(up); up = regions[up].parent)
			keep.add(up);
	});
	return {hits, keep};
}

function diffSorted(list) {
	if (state.sort === "order")
		return list;
	const column = DIFF_COLUMNS.find((c) => c.key === state.sort), sign = state.isDown ? -1 : 1, none = (v) => v === null || v === undefined;
	const key = (i) => column ? column.get(regions[i]) : regions[i].n;
	return [...list].sort((a, b) => {
		const x = key(a), y = key(b);
		return none(x) - none(y) || (x < y ? -sign : x > y ? sign : 0) || rank.get(a) - rank.get(b);
	});
}

function listDiff() {
	grid.hits = diffMatches();
	const stack = [...diffSorted(roots)].reverse();
	grid.rows = [];
	while (stack.length) {
		const i = stack.pop();
		if (grid.hits && !grid.hits.keep.has(i))
			continue;
		grid.rows.push(i);
		if (grid.hits || grid.open.has(i))
			stack.push(...[...diffSorted(regions[i].children)].reverse());
	}
}

/* Opens level by level, as long as the table stays within about a screen. */
function openLevels() {
	let level = roots, nr = level.length;
	while (level.length) {
		const below = level.flatMap((i) => regions[i].children);
		nr += below.length;
		if (nr > 60 || !below.length)
			break;
		level.forEach((i) => grid.open.add(i));
		level = below;
	}
}

/* The largest change in the step; without one, the largest that is sure, else the largest. */
function mostChange() {
	const inStep = [], isSure = (r) => r.class !== "insufficient", most = (isTaken) => regions.reduce((sum, r, i) => isTaken(r, i) ? Math.max(sum, Math.abs(r.delta || 0)) : sum, 0);
	regions.forEach((r, i) => inStep[i] = r.step || inStep[r.parent]);
	return most((r, i) => r.step || inStep[i] && isSure(r)) || most(isSure) || most(() => true);
}

function changeBar(r) {
	const share = grid.most > 0 ? Math.abs(r.delta || 0) / grid.most : 0, w = 50 * Math.min(1, share), isOpen = r.class === "insufficient", isLong = share > 1.001;
	return el("span.change", {role: "img", "aria-label": signed(r.delta) + " ms" + (isOpen ? ", not sure" : "")}, el("i", {class: (r.delta > 0 ? "up" : "down") + (isOpen ? " open" : "") + (isLong ? " long" : ""), style: {left: (r.delta > 0 ? 50 : 50 - w) + "%", width: w + "%"}}));
}

function diffRow(at) {
	const i = grid.rows[at], r = regions[i], isOpen = Boolean(grid.hits) || grid.open.has(i), word = state.search.trim().toLowerCase();
	const label = labelOf(r.n), text = label.textContent, hit = word ? text.toLowerCase().indexOf(word) : -1;
	if (hit >= 0)
		label.replaceChildren(text.slice(0, hit), el("mark", {}, text.slice(hit, hit + word.length)), text.slice(hit + word.length));
	const name = el("td.name", {title: seen(r.id) + r.mark, style: {paddingLeft: 4 + Math.min(r.depth, 24) * (grid.isNarrow ? 7 : 15) + "px"}},
		el("span.twist", {"aria-hidden": "true"}, r.children.length ? isOpen ? "▾" : "▸" : ""), label, r.mark ? el("span.tag", {}, r.mark.replace(/[ ()]/g, "")) : null, r.step ? el("span.tag", {title: "the repeated region with the most time"}, "step") : null);
	const row = el("tr", {id: "row" + i, role: "row", "aria-rowindex": String(at + 2), "aria-level": String(r.depth + 1), "aria-selected": String(i === state.region),
		"aria-expanded": r.children.length ? String(isOpen) : null}, name,
	...grid.columns.map((c) => {
		const td = el(c.key === "verdict" ? "td.words" : "td", {title: c.key === "verdict" ? seen(r.verdict) : c.title}, c.key === "bar" ? changeBar(r) :
			c.key === "verdict" ? el("span", {class: "verdict-word " + r.class}, el("span", {class: "swatch " + r.class, style: {background: changeColour(r.class, r.ratio)}}), c.text(r)) : c.text(r));
		td.dataset.key = c.key;
		return td;
	}));
	row.dataset.region = i;
	return row;
}

function drawDiffRows(isForced) {
	const box = byId("scroll"), nr = grid.rows.length, all = grid.isPrinting, height = Math.max(box.clientHeight, innerHeight * 0.7);
	const first = all ? 0 : Math.max(0, Math.floor(box.scrollTop / grid.px) - DIFF_OVERSCAN), last = all ? Math.min(nr, DIFF_PRINT_ROWS) : Math.min(nr, Math.ceil((box.scrollTop + height) / grid.px) + DIFF_OVERSCAN);
	if (!isForced && first === grid.first && last === grid.last)
		return;
	[grid.first, grid.last] = [first, last];
	const gap = (rows) => el("tr.gap", {"aria-hidden": "true"}, el("td", {style: {height: rows * grid.px + "px", padding: "0"}}));
	byId("rows").replaceChildren(...first > 0 ? [gap(first)] : [], ...Array.from({length: last - first}, (_, k) => diffRow(first + k)), ...last < nr ? [gap(nr - last)] : []);
}

function sortDiff(key) {
	if (state.sort !== key)
		change({sort: key, isDown: key !== "name"});
	else if (state.isDown === (key !== "name"))
		change({isDown: key === "name"});
	else
		change({sort: "order", isDown: true}); /* back to what changed most first */
}

function drawDiffTable() {
	grid.most = mostChange();
	listDiff();
	grid.columns = fitDiffColumns();
	const head = (key, text, title) => {
		const isHere = state.sort === key, b = el("button", {type: "button", title: title + "\nclick to sort", onclick: () => sortDiff(key)}, text + (isHere ? state.isDown ? " ↓" : " ↑" : ""));
		return el(key === "verdict" ? "th.words" : "th", {scope: "col", role: "columnheader", "aria-sort": isHere ? state.isDown ? "descending" : "ascending" : "none"}, b);
	};
	byId("heads").replaceChildren(head("name", "region", "label of the range"), ...grid.columns.map((c) => head(c.key, c.head, c.title)));
	byId("cols").replaceChildren(el("col", {style: {width: "auto"}}), ...grid.columns.map((c) => el("col", {style: {width: c.width + "px"}})));
	byId("grid").classList.toggle("narrow", grid.isNarrow);
	byId("grid").style.minWidth = grid.name + grid.columns.reduce((sum, c) => sum + c.width, 0) + "px";
	byId("grid").setAttribute("aria-rowcount", String(grid.rows.length + 1));
	byId("found").textContent = !grid.hits ? "" : grid.hits.hits.size ? grid.hits.hits.size + " found" : "no region and no kernel has “" + seen(state.search.trim()) + "” in its name; Escape leaves the search";
	fitHeight(byId("scroll"), grid.px);
	drawDiffRows(true);
}

function toggleDiff(i) {
	if (!grid.open.delete(i))
		grid.open.add(i);
	drawDiffTable();
}

function revealDiff(i) {
	if (grid.rows.indexOf(i) < 0 && !grid.hits) {
		for (let up = regions[i].parent; up >= 0; up = regions[up].parent)
			grid.open.add(up);
		drawDiffTable();
	}
	const box = byId("scroll"), y = grid.rows.indexOf(i) * grid.px;
	if (y >= 0 && (y < box.scrollTop || y + 2 * grid.px > box.scrollTop + box.clientHeight - grid.px))
		box.scrollTop = Math.max(0, y - box.clientHeight / 2);
}

function diffKey(event) {
	const at = grid.rows.indexOf(state.region), i = state.region, has = i >= 0 && regions[i].children.length > 0;
	const move = {ArrowDown: at + 1, ArrowUp: Math.max(0, at - 1), Home: 0, End: grid.rows.length - 1}[event.key];
	if (move !== undefined)
		change({region: grid.rows[Math.max(0, Math.min(move, grid.rows.length - 1))]});
	else if (event.key === "ArrowRight" && has && !grid.open.has(i) || event.key === "ArrowLeft" && has && grid.open.has(i))
		toggleDiff(i);
	else if (event.key === "ArrowLeft" && i >= 0 && regions[i].parent >= 0)
		change({region: regions[i].parent});
	else if (event.key === "Enter" && i >= 0)
		change({zoom: i});
	else
		return;
	event.preventDefault();
}

function initDiffTable() {
	const search = el("input", {type: "search", id: "search", placeholder: "Search regions and kernels", "aria-label": "Search regions and kernels"});
	const all = (isOpen) => () => {
		grid.open = new Set(isOpen ? regions.keys() : []);
		drawDiffTable();
	};
	search.addEventListener("input", () => change({search: search.value}));
	const table = el("table.tree", {id: "grid", role: "treegrid", "aria-label": "Regions", tabindex: "0"}, el("colgroup", {id: "cols"}), el("thead", {}, el("tr", {id: "heads"})), el("tbody", {id: "rows"}));
	const scroll = el("div.scroll", {id: "scroll", tabindex: "-1"}, table);
	byId("table").append(el("div.row.between", {}, el("h2", {}, "Regions"), el("div.row.controls", {}, search, el("span.small.soft", {id: "found", role: "status"}),
		el("span.seg", {role: "group", "aria-label": "Open and close"}, el("button", {type: "button", id: "open-all", onclick: all(true)}, "open all"), el("button", {type: "button", id: "close-all", onclick: all(false)}, "close all")))), scroll,
	el("p.small.soft", {}, "Times are medians of an entry: wall time where both sides have it, else on the GPU, else on the host."));
	scroll.addEventListener("scroll", () => drawDiffRows(false), {passive: true});
	table.addEventListener("click", (event) => {
		const row = event.target.closest("tbody tr"), i = row && row.dataset.region !== undefined ? Number(row.dataset.region) : -1;
		if (i >= 0)
			event.target.closest(".twist") ? toggleDiff(i) : change({region: i});
	});
	table.addEventListener("keydown", diffKey);
	for (const [name, isPrinting] of [["beforeprint", true], ["afterprint", false]])
		addEventListener(name, () => {
			grid.isPrinting = isPrinting;
			drawDiffRows(true);
		});
	openLevels();
	listen((changed) => {
		if (["search", "sort", "isDown", "theme"].some((key) => changed.has(key)))
			drawDiffTable();
		if (changed.has("region")) {
			if (state.region >= 0)
				revealDiff(state.region);
			drawDiffRows(true);
		}
	});
}
