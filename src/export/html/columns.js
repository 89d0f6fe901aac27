/* The columns of the table: those of the column table, then metrics; which of them are shown. */

/* A column: head, title, form, and `get(report, node)` with value, mark and how it was made. */
const EXCLUSIVE_OF = {launches: "exclusive_launches", inclusive_ms: "exclusive_ms"};
const FIELD_TITLES = {
	instances: "how often the region was entered", launches: "kernels and copies launched inside",
	inclusive_ms: "GPU time with nested regions, ms", exclusive_ms: "GPU time without nested regions, ms",
	exclusive_launches: "launches outside nested regions", busy_ms: "time the GPU was busy, overlaps counted once, ms",
	span_ms: "from the first start to the last end, ms", idle_ms: "without work between the first and last launch of an entry, ms",
	cpu_ms: "CPU time of the threads inside the range, ms", copy_ms: "GPU time of copies, ms", host_ms: "time the host was inside the range, ms",
	wall_ms: "from the begin of each entry until it and all that it launched had ended, ms",
	share_pct: "share of all GPU time inside regions", imbalance: "longest time of a scope ÷ mean over scopes",
};

function fieldColumn(f) {
	return {
		key: f.key, head: f.head, title: FIELD_TITLES[f.key] || f.key, form: f.form,
		get(report, node, isExclusive) {
			const key = isExclusive ? EXCLUSIVE_OF[f.key] || f.key : f.key;
			return {v: field(report, node, key), mark: ""};
		},
	};
}

function metricColumn(column) {
	const metric = data.metrics[column];
	return {
		key: "m" + column, head: metric.h || metric.n, title: metric.n, form: "metric", metric: column,
		get: (report, node, isExclusive) => figure(report, node, column, isExclusive),
	};
}

function wordColumn(key, title) {
	return {
		key, head: key, title, form: "word",
		get: (report, node) => ({v: report[key][node] === "-" ? null : WORDS[key][report[key][node]][1], mark: ""}),
	};
}

const allColumns = [
	...data.fields.map(fieldColumn), wordColumn("bound", "what the region waits for: the CPU, copies, or what limits its kernels"),
	wordColumn("limiter", "what limits its kernels, whoever is waited for (inclusive)"), ...data.region_columns.map(metricColumn),
];
const columnByKey = new Map(allColumns.map((c) => [c.key, c]));

function hasAny(column, report) {
	const i = fieldOf.get(column.key);
	return i === undefined || report.f[i] !== null || column.key === "launches";
}

/* Left out one after the other where there is no room, as in a narrow terminal. */
const LEFT_OUT = ["busy_ms", "host_ms", "exclusive_ms"];

/* As many of the columns as fit into so many pixels, two metrics at least among them. */
function fittingColumns(keys, room) {
	const metrics = keys.filter((key) => columnByKey.get(key).form === "metric");
	const first = LEFT_OUT.filter((key) => keys.includes(key)), rest = [...first, ...metrics.slice(2).reverse(), "idle_ms"];
	const shown = new Set(keys), width = () => [...shown].reduce((sum, key) => sum + columnWidth(columnByKey.get(key)), 0);
	for (const key of rest)
		if (width() > room)
			shown.delete(key);
	return keys.filter((key) => shown.has(key));
}

function defaultColumns() {
	const keys = data.fields.filter((f) => f.shown).map((f) => f.key);
	for (const column of data.headline)
		if (slotOf.has(column))
			keys.push("m" + column);
	if (tells("bound"))
		keys.push("bound");
	return keys.filter((key) => reports.some((r) => hasAny(columnByKey.get(key), r)));
}

/* The longest text of a field in a report: that of its greatest number, sums included. */
function longestField(column, report) {
	const list = report.f[fieldOf.get(column.key)] || [];
	let most = SUMS[column.key] ? Math.max(...SUMS[column.key].map((key) => report[key] || 0)) : 0;
	for (const v of list)
		if (v > most)
			most = v;
	return fieldText(most, column.form).length;
}

/* The widest ± of a column, in pixels; 0 where nothing was sampled. Kept, since fitting asks often. */
function errorWidth(column, report) {
	const slot = slotOf.get(column.metric), unit = data.metrics[column.metric].u;
	report.errorWidths ||= new Map();
	if (!report.errorWidths.has(slot)) {
		let most = 0;
		for (let node = 0; report.inc.q[slot].includes("p") && node < report.nr + 2; node++)
			most = Math.max(most, errorText(figure(report, node, column.metric, false), unit).length);
		report.errorWidths.set(slot, 6.6 * most);
	}
	return report.errorWidths.get(slot);
}

/* In pixels: wide enough that no number is ever cut. */
function columnWidth(column) {
	const unit = column.form === "metric" ? data.metrics[column.metric].u : "";
	const characters = column.form === "word" ? 8 : column.form !== "metric" ? longestField(column, state.report) :
		unit === "%" ? 6 : unit === "ns" ? 10 : unit.startsWith("byte") ? 8 + unit.length - 4 : 7; /* with its mark */
	return Math.max(18 + 8.7 * characters + (column.form === "metric" ? errorWidth(column, state.report) : 0), Math.min(150, 18 + 7.2 * column.head.length));
}

function cellText(column, cell) {
	if (column.form === "metric")
		return human(cell.v, data.metrics[column.metric].u);
	return column.form === "word" ? cell.v || "" : fieldText(cell.v, column.form);
}

function cellTitle(column, cell) {
	return column.form === "metric" ? howMade(column.metric, cell) : column.title;
}

/* The list of columns to choose from, made when it is first opened. */
function columnChooser(shown, then) {
	const box = el("div", {}), filter = el("input", {type: "search", placeholder: "Find a column", "aria-label": "Find a column"});
	const list = el("div", {});
	const fill = () => {
		const word = filter.value.toLowerCase();
		list.replaceChildren();
		for (const column of allColumns) {
			if (word && !(column.head + " " + column.title).toLowerCase().includes(word))
				continue;
			const tick = el("input", {type: "checkbox"});
			tick.checked = shown().includes(column.key);
			tick.addEventListener("change", () => then(column.key, tick.checked));
			list.append(el("label", {title: column.title}, tick, column.metric === undefined ? column.head + " – " + column.title : column.title));
		}
	};
	filter.addEventListener("input", fill);
	box.append(filter, list);
	const details = el("details.chooser", {}, el("summary", {}, "Columns"), box);
	details.addEventListener("toggle", () => details.open && fill());
	document.addEventListener("click", (event) => {
		if (details.open && !details.contains(event.target))
			details.open = false;
	});
	return details;
}
