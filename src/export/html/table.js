/* The tree table. Only rows in view are in the document, so ten regions and ten thousand feel the same. */

const LINE_PX = 27, OVERSCAN = 12, PRINT_ROWS = 1000;
const table = {columns: [], open: new Set(), rows: [], matches: null, first: -1, last: -1};

function matcher() {
	const word = state.search.trim().toLowerCase();
	return word ? (text) => text.toLowerCase().includes(word) : null;
}

/* Regions whose id, label or kernels contain the word; and the regions around them. */
function findMatches(report) {
	const matches = matcher();
	if (!matches)
		return null;
	const kernelMatch = report.kernels.name.map((n) => matches(data.strings[n]) || matches(kernelName(n)));
	const hits = new Set(), keep = new Set();
	for (let i = 0; i < report.nr; i++) {
		let isHit = matches(regionOf(report, i).id) || matches(regionOf(report, i).n);
		for (let k = report.k0[i]; !isHit && k < report.k0[i] + report.kn[i]; k++)
			isHit = kernelMatch[k];
		if (!isHit)
			continue;
		hits.add(i);
		for (let up = i; up >= 0 && !keep.has(up); up = report.parent[up])
			keep.add(up);
	}
	return {hits, keep};
}

function sortedChildren(report, nodes) {
	if (!state.sort)
		return nodes;
	const column = columnByKey.get(state.sort), sign = state.isDown ? -1 : 1;
	const key = (node) => state.sort === "name" ? regionOf(report, node).n : column.get(report, node, state.exclusive).v;
	const keys = new Map(nodes.map((node) => [node, key(node)]));
	return [...nodes].sort((a, b) => {
		const x = keys.get(a), y = keys.get(b), noX = x === null || x === undefined, noY = y === null || y === undefined;
		if (noX || noY)
			return noX - noY || a - b; /* missing values come last in both directions */
		return (x < y ? -sign : x > y ? sign : 0) * 1 || a - b;
	});
}

function listRows() {
	const report = state.report, rows = [];
	table.matches = findMatches(report);
	const stack = [...sortedChildren(report, report.roots)].reverse();
	while (stack.length) {
		const node = stack.pop();
		if (table.matches && !table.matches.keep.has(node))
			continue;
		rows.push(node);
		if (table.matches || table.open.has(report.region[node]))
			stack.push(...[...sortedChildren(report, report.children[node])].reverse());
	}
	if (!table.matches) {
		if (report.launches) /* host times do not add up */
			rows.push(report.nr);
		if (report.outside_launches)
			rows.push(report.nr + 1);
	}
	table.rows = rows;
}

/* Opens level by level, as long as the table stays within about a screen. */
function openSome() {
	const report = state.report;
	let level = report.roots, nr = level.length;
	table.open.clear();
	while (level.length) {
		const below = level.flatMap((node) => report.children[node]);
		nr += below.length;
		if (nr > 60 || !below.length)
			break;
		level.forEach((node) => table.open.add(report.region[node]));
		level = below;
	}
}

function reveal(node) {
	const report = state.report;
	for (let up = report.parent[node]; up >= 0; up = report.parent[up])
		table.open.add(report.region[up]);
}

function nameCell(report, node) {
	if (node >= report.nr)
		return el("td.name", {}, node === report.nr ? "total in regions" : "(outside any range)");
	const region = regionOf(report, node), isParent = report.children[node].length > 0;
	const isOpen = table.matches ? true : table.open.has(report.region[node]);
	const cell = el("td.name", {title: pathText(region), style: {paddingLeft: 4 + Math.min(report.depth[node], 24) * 15 + "px"}});
	cell.append(isParent ? el("span.twist", {"aria-hidden": "true"}, isOpen ? "▾" : "▸") : el("span.twist", {}));
	const label = labelOf(region.n), text = label.textContent, word = state.search.trim().toLowerCase();
	const hit = word ? text.toLowerCase().indexOf(word) : -1;
	if (hit >= 0)
		label.replaceChildren(text.slice(0, hit), el("mark", {}, text.slice(hit, hit + word.length)), text.slice(hit + word.length));
	if (region.d !== undefined && report.depth[node] === 0)
		cell.append(el("span.soft", {}, seen(region.d) + "@"));
	cell.append(label);
	if (region.s || region.o)
		cell.append(el("span.tag", {title: region.o ? originOf(region) : undefined}, region.o || "start/end"));
	return cell;
}

const SUMS = {launches: ["launches", "outside_launches"], inclusive_ms: ["ms", "outside_ms"]};

function sumCell(report, node, column) {
	const isTotal = node === report.nr;
	if (column.form === "metric")
		return column.get(report, node, false);
	return {v: SUMS[column.key] ? report[SUMS[column.key][isTotal ? 0 : 1]] : null, mark: ""};
}

function valueCell(report, node, column) {
	const cell = node >= report.nr ? sumCell(report, node, column) : column.get(report, node, state.exclusive);
	const text = node >= report.nr && cell.v === null ? "" : cellText(column, cell);
	const td = el("td", {title: cellTitle(column, cell)});
	if (cell.v !== null && cell.v !== undefined)
		td.dataset.v = cell.v;
	td.dataset.key = column.key;
	if (cell.mark)
		td.append(el("span.q", {}, cell.mark));
	if (column.form === "word" && cell.v) {
		td.append(el("span.swatch", {style: {background: LETTERS[report[column.key][node]][0]}}), text);
	} else if (column.key === "share_pct" && isNumber(cell.v)) {
		td.classList.add("share");
		td.append(el("i", {style: {width: Math.min(100, cell.v) * 0.9 + "%"}}), el("b", {}, text));
	} else {
		td.append(text);
	}
	if (column.form === "metric")
		td.append(el("span.pm", {}, errorText(cell, data.metrics[column.metric].u)));
	return td;
}

function drawRow(index) {
	const report = state.report, node = table.rows[index], isSum = node >= report.nr;
	const isSelected = !isSum && report.region[node] === state.region;
	const row = el(isSum ? "tr.sum" : "tr", {
		id: "row" + node, role: "row", "aria-rowindex": String(index + 2), "aria-level": isSum ? "1" : String(report.depth[node] + 1),
		"aria-selected": String(isSelected),
		"aria-expanded": isSum || !report.children[node].length ? null : String(table.matches ? true : table.open.has(report.region[node])),
	}, nameCell(report, node), ...table.columns.map((key) => valueCell(report, node, columnByKey.get(key))));
	row.dataset.node = node;
	return row;
}

/* Draws the rows in view, with empty space above and below for all others. */
function drawRows(isForced) {
	const box = byId("scroll"), all = table.isPrinting;
	const height = Math.max(box.clientHeight, innerHeight * 0.7), nr = table.rows.length;
	const first = all ? 0 : Math.max(0, Math.floor(box.scrollTop / LINE_PX) - OVERSCAN);
	const last = all ? Math.min(nr, PRINT_ROWS) : Math.min(nr, Math.ceil((box.scrollTop + height) / LINE_PX) + OVERSCAN);
	if (!isForced && first === table.first && last === table.last)
		return;
	table.first = first;
	table.last = last;
	const gap = (rows) => el("tr.gap", {"aria-hidden": "true"}, el("td", {style: {height: rows * LINE_PX + "px", padding: "0"}}));
	const rows = [];
	if (first > 0)
		rows.push(gap(first));
	for (let i = first; i < last; i++)
		rows.push(drawRow(i));
	if (last < nr)
		rows.push(gap(nr - last));
	byId("rows").replaceChildren(...rows);
}

/* Width of the names, about, in pixels. They get up to two fifths of the table: columns make room first. */
function nameWidth() {
	const report = state.report, text = (node) => regionOf(report, node).n.length * 7.5 + (regionOf(report, node).s || regionOf(report, node).o ? 70 : 0);
	if (report.longestName === undefined)
		report.longestName = report.region.reduce((most, _, node) => Math.max(most, 30 + Math.min(report.depth[node], 24) * 15 + text(node)), 0);
	return innerWidth < 600 ? 140 : Math.max(170, Math.min(report.longestName, 0.4 * byId("scroll").clientWidth));
}

/* Fits the default columns to the page; columns that the user chose stay. */
function fitColumns() {
	if (!table.isChosen)
		table.columns = fittingColumns(defaultColumns(), byId("scroll").clientWidth - nameWidth());
}

function drawHeads() {
	const head = (key, text, title) => {
		const b = el("button", {type: "button", title: title + "\nclick to sort"}, text + (state.sort === key ? state.isDown ? " ↓" : " ↑" : ""));
		b.addEventListener("click", () => sortBy(key));
		return el("th", {scope: "col", role: "columnheader", "aria-sort": state.sort === key ? state.isDown ? "descending" : "ascending" : "none"}, b);
	};
	const heads = [head("name", "region", "label of the range"), ...table.columns.map((key) => {
		const c = columnByKey.get(key);
		return head(key, c.head, c.title);
	})];
	const name = nameWidth(), width = (key) => columnWidth(columnByKey.get(key));
	byId("cols").replaceChildren(el("col", {style: {width: innerWidth < 600 ? name + "px" : "auto"}}),
		...table.columns.map((key) => el("col", {style: {width: width(key) + "px"}})));
	byId("grid").style.minWidth = name + table.columns.reduce((sum, key) => sum + width(key), 0) + "px";
	byId("heads").replaceChildren(...heads);
}

function drawTable() {
	fitColumns();
	listRows();
	drawHeads();
	byId("grid").setAttribute("aria-rowcount", String(table.rows.length + 1));
	byId("found").textContent = !table.matches ? "" : table.matches.hits.size ? table.matches.hits.size + " found" :
		"no region and no kernel of this scope has “" + seen(state.search.trim()) + "” in its name; Escape leaves the search";
	fitHeight(byId("scroll"), LINE_PX);
	drawRows(true);
}

/* A click sorts down, the next one up, the next restores the order of entry; names go up first. */
function sortBy(key) {
	const first = key !== "name";
	if (state.sort !== key)
		change({sort: key, isDown: first});
	else if (state.isDown === first)
		change({isDown: !first});
	else
		change({sort: null, isDown: true});
}

function toggle(node) {
	const region = state.report.region[node];
	if (!table.open.delete(region))
		table.open.add(region);
	drawTable();
}

function scrollToNode(node) {
	const box = byId("scroll"), index = table.rows.indexOf(node), y = index * LINE_PX;
	if (index < 0)
		return;
	if (y < box.scrollTop)
		box.scrollTop = y;
	else if (y + 2 * LINE_PX > box.scrollTop + box.clientHeight - LINE_PX)
		box.scrollTop = y - box.clientHeight + 3 * LINE_PX;
}

function tableKey(event) {
	const report = state.report, node = selectedNode(), regions = table.rows.filter((n) => n < report.nr);
	const i = regions.indexOf(node);
	const move = {ArrowDown: i + 1, ArrowUp: i < 0 ? 0 : i - 1, Home: 0, End: regions.length - 1}[event.key];
	if (move !== undefined)
		selectNode(regions[Math.max(0, Math.min(move, regions.length - 1))]);
	else if (event.key === "ArrowRight" && node >= 0 && !table.open.has(state.region) && report.children[node].length)
		toggle(node);
	else if (event.key === "ArrowLeft" && node >= 0 && table.open.has(state.region))
		toggle(node);
	else if (event.key === "ArrowLeft" && node >= 0 && report.parent[node] >= 0)
		selectNode(report.parent[node]);
	else if (event.key === "Enter" && node >= 0)
		change({zoom: state.region});
	else
		return;
	event.preventDefault();
}

function tableClick(event) {
	const row = event.target.closest("tr"), node = row && row.dataset.node !== undefined ? Number(row.dataset.node) : -1;
	if (node < 0 || node >= state.report.nr)
		return;
	if (event.target.closest(".twist"))
		toggle(node);
	else
		selectNode(node);
}

function tableControls() {
	const search = el("input", {type: "search", id: "search", placeholder: "Search regions and kernels", "aria-label": "Search regions and kernels"});
	search.addEventListener("input", () => change({search: search.value}));
	const all = (isOpen) => () => {
		table.open.clear();
		for (let i = 0; isOpen && i < state.report.nr; i++)
			if (state.report.children[i].length)
				table.open.add(state.report.region[i]);
		drawTable();
	};
	const figures = segments("Figures", [[false, "inclusive"], [true, "exclusive"]], state.exclusive, (exclusive) => change({exclusive}));
	listenTo(["exclusive"], () => [...figures.children].forEach((b, i) => b.setAttribute("aria-pressed", String(Boolean(i) === state.exclusive))));
	return el("div.row.controls", {}, search, el("span.small.soft", {id: "found", role: "status"}),
		figures,
		el("span.seg", {role: "group", "aria-label": "Open and close"},
			el("button", {type: "button", id: "open-all", onclick: all(true)}, "open all"),
			el("button", {type: "button", id: "close-all", onclick: all(false)}, "close all")),
		columnChooser(() => table.columns, (key, isShown) => {
			table.isChosen = true;
			table.columns = isShown ? [...table.columns, key] : table.columns.filter((k) => k !== key);
			drawTable();
		}));
}

function tableChanged(changed) {
	if (["report", "exclusive", "search", "sort", "isDown"].some((key) => changed.has(key))) {
		if (changed.has("report"))
			openSome();
		byId("table").hidden = !state.report.nr;
		if (changed.has("search"))
			byId("scroll").scrollTop = 0;
		drawTable();
	}
	const node = selectedNode();
	if (changed.has("region") && node >= 0) {
		if (table.rows.indexOf(node) < 0 && !table.matches) {
			reveal(node);
			drawTable();
		}
		scrollToNode(node);
	}
	if (changed.has("region"))
		drawRows(true);
}

function initTable() {
	const grid = el("table.tree", {id: "grid", role: "treegrid", "aria-label": "Regions", tabindex: "0"},
		el("colgroup", {id: "cols"}), el("thead", {}, el("tr", {id: "heads"})), el("tbody", {id: "rows"}));
	const scroll = el("div.scroll", {id: "scroll", tabindex: "-1"}, grid);
	byId("table").append(el("div.row.between", {}, el("h2", {}, "Regions"), tableControls()), scroll);
	scroll.addEventListener("scroll", () => drawRows(false), {passive: true});
	grid.addEventListener("click", tableClick);
	grid.addEventListener("dblclick", (event) => {
		const row = event.target.closest("tbody tr");
		if (row && Number(row.dataset.node) < state.report.nr && !event.target.closest(".twist"))
			toggle(Number(row.dataset.node));
	});
	grid.addEventListener("keydown", tableKey);
	for (const [name, isPrinting] of [["beforeprint", true], ["afterprint", false]])
		addEventListener(name, () => {
			table.isPrinting = isPrinting;
			drawRows(true);
		});
	openSome();
	listen(tableChanged);
}
