/* The columns of the table: fields, then metrics; and which of them are shown. */

/* The field with the exclusive value, for each inclusive one. */
const EXCLUSIVE_OF = {launches: "exclusive_launches", inclusive_ms: "exclusive_ms"};
/* What fields mean. Their heads are those of all formats. */
const FIELD_WORDS = {
	instances: "how often the region was entered", launches: "kernels and copies launched inside",
	inclusive_ms: "GPU time with nested regions", exclusive_ms: "GPU time without nested regions",
	exclusive_launches: "launches outside nested regions", busy_ms: "the GPU was busy, overlaps counted once",
	span_ms: "from the first start to the last end", idle_ms: "without work between the first and last launch of an entry",
	tail_ms: "nothing ran from the last launch to the end of an entry",
	queue_ms: "from launch calls to starts, summed", queue_mean_ms: "from the launch call to the start, on average",
	comm_ms: "communication between ranks", exposed_comm_ms: "communication while no other kernel ran",
	comm_wait_ms: "in communication for the last rank",
	cpu_ms: "CPU time of the threads inside the range", copy_ms: "GPU time of copies", copy_count: "how many", copy_bytes: "by all copies",
	host_ms: "time the host was inside the range",
	wall_ms: "from the beginning of each entry until it and all that it launched had ended",
	memory_allocated_bytes: "bytes of GPU memory allocated inside", memory_freed_bytes: "bytes of GPU memory freed inside",
	memory_left_bytes: "bytes allocated in entries and not yet freed at their end", memory_peak_bytes: "the most bytes that the process held meanwhile",
	streams: "how many its work ran in", share_pct: "of all GPU time inside regions",
	imbalance: "longest time of a scope ÷ mean over scopes", adopted_launches: "launches by threads without ranges of their own",
	tokens: "of all entries, from their labels or payloads", tokens_per_s: "per second in which at least one entry with tokens was open",
	batch_mean: "of an entry, on average",
};

/* [head, meaning] of a field of the data. */
function wordsOf(f) {
	const cause = /^idle_(.*)_ms$/.exec(f.key);
	if (cause && data.causes[cause[1]])
		return ["idle: " + causeWord(cause[1]) + " ms", "idle, because " + data.causes[cause[1]]];
	return [f.head, FIELD_WORDS[f.key] || f.key.replaceAll("_", " ")];
}

function fieldWords(f) {
	const [head, words] = wordsOf(f);
	return head + (words ? " (" + words + ")" : "");
}

function fieldColumn(f) {
	const [head, title] = wordsOf(f);
	return {
		key: f.key, head, title, form: f.form,
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
		key, head: WORD_HEADS[key], title, form: "word",
		get: (report, node) => ({v: report[key][node] === "-" ? null : WORDS[key][report[key][node]][1], mark: ""}),
	};
}

const allColumns = [
	...data.fields.map(fieldColumn), wordColumn("bound", "what the region waits for: the CPU, copies, or what limits its kernels"),
	wordColumn("limiter", "what limits its kernels, whatever the region itself waits for"), ...data.region_columns.map(metricColumn),
];
const columnByKey = new Map(allColumns.map((c) => [c.key, c]));

function hasAny(column, report) {
	const i = fieldOf.get(column.key);
	return i === undefined || report.f[i] !== null || column.key === "launches";
}

/* Whether the capture has anything to show in a column. */
function isCaptured(column) {
	if (column.form === "word")
		return tells(column.key);
	if (column.form === "metric")
		return reports.some((r) => {
			const v = r.inc.v[slotOf.get(column.metric)];
			return Array.isArray(v) ? v.some((one) => one !== null) : v !== null;
		});
	return reports.some((r) => (r.f[fieldOf.get(column.key)] || []).some((v) => v > 0));
}

/* These columns are left out first, in this order, if there is no room, as in a narrow terminal. */
const LEFT_OUT = ["busy_ms", "host_ms", "exclusive_ms"];

/* As many of the columns as fit into `room` pixels; two metrics stay in any case. */
function fittingColumns(keys, room) {
	const metrics = keys.filter((key) => columnByKey.get(key).form === "metric");
	const first = LEFT_OUT.filter((key) => keys.includes(key)), rest = [...first, ...metrics.slice(2).reverse(), "wall_ms", "idle_ms"];
	const shown = new Set(keys), width = () => [...shown].reduce((sum, key) => sum + columnWidth(columnByKey.get(key)), 0);
	for (const key of rest)
		if (width() > room)
			shown.delete(key);
	return keys.filter((key) => shown.has(key));
}

function defaultColumns() {
	const keys = data.fields.filter((f) => f.shown).map((f) => f.key);
	if (!keys.includes("wall_ms"))
		keys.splice(Math.max(0, keys.indexOf("inclusive_ms")), 0, "wall_ms");
	for (const column of data.headline)
		if (slotOf.has(column))
			keys.push("m" + column);
	if (tells("bound"))
		keys.push("bound");
	return keys.filter((key) => key === "wall_ms" ? isCaptured(columnByKey.get(key)) : reports.some((r) => hasAny(columnByKey.get(key), r)));
}

/* Length of the longest text of a field in a report: that of its greatest number, sums included. */
function longestField(column, report) {
	const list = report.f[fieldOf.get(column.key)] || [];
	let most = SUMS[column.key] ? Math.max(...SUMS[column.key].map((key) => report[key] || 0)) : 0;
	for (const v of list)
		if (v > most)
			most = v;
	return fieldText(most, column.form).length;
}

/* Width of the widest ± in a column, in pixels; 0 if nothing was sampled. The report keeps it, since fitting asks often. */
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

/* Width of a figure with its mark, in pixels. */
function metricWidth(column) {
	const unit = data.metrics[column].u;
	return 18 + 8.7 * (unit === "%" ? 6 : unit === "ns" ? 10 : unit.startsWith("byte") ? 8 + unit.length - 4 : 7);
}

/* Width of a column, in pixels: no number is ever cut. */
function columnWidth(column) {
	const width = column.form === "metric" ? metricWidth(column.metric) + errorWidth(column, state.report) : 18 + 8.7 * (column.form === "word" ? 9.5 : longestField(column, state.report));
	return Math.max(width, Math.min(150, 18 + 7.2 * column.head.length));
}

function cellText(column, cell) {
	if (column.form === "metric")
		return human(cell.v, data.metrics[column.metric].u);
	return column.form === "word" ? cell.v || "" : fieldText(cell.v, column.form);
}

function cellTitle(column, cell) {
	return column.form === "metric" ? howMade(column.metric, cell) : column.title;
}

/* The list of columns to choose from; it is made when it is first opened. */
function columnChooser(shown, then) {
	const box = el("div", {}), filter = el("input", {type: "search", placeholder: "Find a column", "aria-label": "Find a column"});
	const list = el("div", {});
	const fill = () => {
		const word = filter.value.toLowerCase();
		list.replaceChildren();
		for (const column of allColumns) {
			if (!isCaptured(column) || word && !(column.head + " " + column.title).toLowerCase().includes(word))
				continue;
			const tick = el("input", {type: "checkbox"});
			tick.checked = shown().includes(column.key);
			tick.addEventListener("change", () => then(column.key, tick.checked));
			list.append(el("label", {title: column.title}, tick, el("span", {}, column.head, column.head === column.title ? null : el("span.soft", {}, " – " + column.title))));
		}
	};
	filter.addEventListener("input", fill);
	box.append(filter, list);
	const details = el("details.chooser.over", {}, el("summary", {}, "Columns"), box);
	details.addEventListener("toggle", () => details.open && fill());
	return details;
}
