/* Everything about the selected region, or about the whole run if none is selected. */

const FEW_KERNELS = 6, MANY_STREAMS = 16;

/* Draws the 95 % interval of a sampled figure on a scale from 0 to `most`. */
function whisker(f, most) {
	if (errorOf(f) === null || !(most > 0))
		return null;
	const left = 100 * Math.min(f.lo, most) / most, right = 100 * Math.min(f.hi, most) / most;
	return el("s.whisker", {style: {left: left + "%", width: right - left + "%"}});
}

function meters(report, node) {
	const box = el("div", {});
	for (const column of data.headline) {
		const f = figure(report, node, column, state.exclusive), metric = data.metrics[column];
		if (metric.u !== "%" || !isNumber(f.v))
			continue;
		box.append(el("div.meter", {title: howMade(column, f)}, el("span", {}, metric.h || metric.n),
			el("span.track", {role: "img", "aria-label": human(f.v, "%") + " %"}, el("i", {style: {width: Math.max(0, Math.min(100, f.v)) + "%"}}), whisker(f, 100)),
			el("span", {}, f.mark ? el("span.q", {}, f.mark) : null, human(f.v, "%"), el("span.pm", {}, errorText(f, "%")), " %")));
	}
	return box;
}

/* How busy multiprocessors and memory system were, with their names. In a sampled run each is as busy as its busiest part, as in tree/judge.c. */
function amounts(report, node) {
	const known = (columns) => columns.map((column) => ({column, ...figure(report, node, column, false)})).filter((f) => isNumber(f.v));
	const busiest = (list) => list.sort((a, b) => b.v - a.v)[0];
	const {roles} = data, sm = known(roles.sm)[0], memory = known(roles.memory)[0], part = sm ? null : busiest(known(roles.sm_parts));
	const text = (f, name) => [name, f ? f.mark + f.v.toFixed(1) + " %" : "unknown"];
	return [text(sm || part, part ? "the multiprocessors' busiest part, " + (data.metrics[part.column].h || data.metrics[part.column].n).replace(/ %$/, "") + "," : "the multiprocessors"),
		text(memory && busiest([memory, ...known(roles.memory_parts)]), "the memory system")];
}

/* The limiter of a region in a sentence. */
function verdict(report, node) {
	const [colour, word, family] = LETTERS[node < report.nr ? report.limiter[node] : "-"];
	const [sm, memory] = amounts(report, node), which = word === family ? "" : " (" + word + ")";
	const at = ([name, v]) => name + " at " + v + " of peak";
	const words = {
		compute: "Its kernels are limited by compute" + which + ": " + at(sm) + ", " + at(memory) + ".",
		memory: "Its kernels are limited by memory" + which + ": " + at(memory) + ", " + at(sm) + ".",
		latency: "Its kernels are limited by latency: " + at(sm) + ", " + at(memory) + ", neither at 40 %. Too little parallel work, too short kernels, or loads that wait for each other.",
	}[word === "latency" ? word : family];
	return words ? el("p.verdict", {style: {borderColor: colour}}, words) : null;
}

/* The bound of a region in a sentence. */
function waited(report, node) {
	const [colour, word, family] = LETTERS[report.bound[node]], share = field(report, node, "busy_ms") / field(report, node, "host_ms");
	const part = share <= 1 ? Math.round(100 * share) + " % of the time the host was in it" :
		"for " + share.toFixed(share < 9.95 ? 1 : 0) + " times as long as the host was in it, since work goes on after the host has left";
	if (!isNumber(share))
		return null;
	const words = {
		gpu: "Waits for the GPU: it was busy with this region " + part + ".",
		copies: "Waits for copies: the GPU was busy with this region " + part + ", mostly copying.",
		comm: "Waits for communication: the GPU was busy with this region " + part + ", mostly with NCCL kernels.",
		cpu: "Waits for the CPU: the GPU was busy with this region only " + part + ".",
		waiting: "Waits for something else: the GPU was busy " + part + ", and its threads ran for less than half of it.",
		mixed: "Neither CPU nor GPU alone: the GPU was busy with this region " + part + ".",
	}[["compute", "memory", "other"].includes(family) && report.bound[node] === report.limiter[node] ? share >= 0.8 ? "gpu" : "mixed" : word];
	return words ? el("p.verdict", {style: {borderColor: colour}}, words) : null;
}

function fact(name, text, title, raw) {
	const dd = el("dd", {}, text);
	if (isNumber(raw))
		dd.dataset.v = raw;
	return text === null ? null : el("div", {title: title || null}, el("dt", {}, name), dd);
}

/* Fields that facts() shows in its own way or not at all, as they are parts of others. */
const TOLD = /^(inclusive_ms|exclusive_ms|share_pct|launches|exclusive_launches|instances|busy_ms|span_ms|idle_.*|tail_ms|queue_ms|queue_mean_ms|comm_ms|exposed_comm_ms|copy_.*|memory_(peak|allocated|freed|left)_bytes|wall_ms|host_ms|cpu_ms|streams|adopted_launches)$/;

/* All other facts that the capture has about a region. */
function otherFacts(get) {
	return data.fields.filter((f) => !TOLD.test(f.key) && isNumber(get(f.key))).map((f) => {
		const [head, words] = wordsOf(f), v = get(f.key);
		return fact(head.replace(/ ms$/, ""), /bytes$/.test(f.key) ? factor(v, "B") : fieldText(v, f.form) + (f.form === "ms" ? " ms" : ""), words, v);
	});
}

function facts(report, node) {
	const list = el("dl.facts");
	const ms = (v) => isNumber(v) ? fieldText(v, "ms") + " ms" : null;
	if (node >= report.nr) {
		const inside = node > report.nr ? 0 : 1, outside = report.outside_ms || 0;
		list.append(...[fact("launches", fieldText(inside * report.launches + report.outside_launches, "count")),
			fact("GPU time", ms(inside * report.ms + outside)), inside && outside ? fact("in regions", ms(report.ms)) : null].filter(Boolean));
		return list;
	}
	const get = (key) => field(report, node, key);
	const [occupancy] = data.roles.possible;
	const possible = occupancy === undefined ? null : figure(report, node, occupancy, false).v;
	const flop = report.flop[node], dram = report.dram[node], seconds = get("inclusive_ms") / 1e3;
	const isLeast = report.least && report.least[node], least = isLeast ? "≥ " : data.of_pipes ? "~" : "",
		why = isLeast ? "at least: " + data.uncounted : data.of_pipes || "";
	list.append(...[
		fact("GPU time", ms(get("inclusive_ms")), "with nested regions", get("inclusive_ms")),
		fact("its own", ms(get("exclusive_ms")), "without nested regions", get("exclusive_ms")),
		fact("share", isNumber(get("share_pct")) ? fieldText(get("share_pct"), "percent") : null, "of GPU time inside regions"),
		fact("launches", fieldText(get("launches"), "count"), "of which its own: " + get("exclusive_launches"), get("launches")),
		fact("entries", fieldText(get("instances"), "count"), "how often the range was entered", get("instances")),
		fact("busy", ms(get("busy_ms")), "overlapping launches counted once"),
		fact("span", ms(get("span_ms")), "first start to last end"),
		fact("idle", ms(get("idle_ms")), "without work between the first and last launch of an entry"),
		...Object.entries(data.causes).map(([cause, words]) =>
			fact("idle: " + cause.replace("_", " "), get("idle_" + cause + "_ms") > 0 ? ms(get("idle_" + cause + "_ms")) : null, words)),
		fact("tail", get("tail_ms") > 0 ? ms(get("tail_ms")) : null, "nothing ran from the last launch to the end of an entry"),
		fact("queue", ms(get("queue_mean_ms")), "from the launch call to the start, on average"),
		fact("exposed", ms(get("exposed_comm_ms")), "communication (NCCL) while no other kernel ran"),
		fact("copies", get("copy_count") ? ms(get("copy_ms")) : null, fieldText(get("copy_count"), "count") + " copies, " + fieldText(get("copy_bytes"), "count") + " bytes"),
		fact("GPU memory", get("memory_peak_bytes") > 0 ? factor(get("memory_peak_bytes"), "B") : null, "the most the process held on the device while this was open", get("memory_peak_bytes")),
		fact("allocated", get("memory_allocated_bytes") > 0 ? factor(get("memory_allocated_bytes"), "B") : null,
			"freed: " + fieldText(get("memory_freed_bytes"), "count") + " bytes; left at the end of entries: " + fieldText(get("memory_left_bytes"), "count") + " bytes"),
		fact("PyTorch memory", get("allocator_entries") > 0 ? factor(get("allocator_peak_bytes"), "B") : null,
			"held at most in the " + fieldText(get("allocator_entries"), "count") + " entries that were read; at their ends on average: " +
			fieldText(get("allocator_allocated_bytes"), "count") + " bytes; above what an entry began with: " +
			fieldText(get("allocator_rise_bytes"), "count") + " bytes; left by an entry on average: " + fieldText(get("allocator_net_bytes"), "count") + " bytes"),
		fact("wall", ms(get("wall_ms")), "from the beginning of each entry until it and all that it launched had ended"),
		fact("tokens/s", isNumber(get("tokens_per_s")) ? fieldText(get("tokens_per_s"), "ratio") : null, fieldText(get("tokens"), "count") + " tokens, over the time in which at least one entry with tokens was open"),
		fact("batch", isNumber(get("batch_mean")) ? fieldText(get("batch_mean"), "ratio") : null, "of an entry, on average"),
		fact("host", ms(get("host_ms")), "time the host was inside the range"),
		fact("CPU", ms(get("cpu_ms")), "CPU time of the thread inside the range"),
		fact("occupancy possible", isNumber(possible) ? possible.toFixed(1) + " %" : null, "with the launch configurations of this region"),
		fact("intensity", isNumber(flop) && dram > 0 ? least + factor(flop / dram, "FLOP/B") : null, "operations per byte of DRAM traffic" + (why && "; " + why)),
		fact("rate", isNumber(flop) && seconds > 0 ? least + factor(flop / seconds, "FLOP/s") : null, why),
		fact("DRAM", isNumber(dram) && seconds > 0 ? factor(dram / seconds, "B/s") : null, "bytes read and written per second"),
		fact("not counted", isLeast ? "tensor operations" : null, data.uncounted),
		...otherFacts(get),
	].filter(Boolean));
	return list;
}

/* The longest kernels of the region, each a link to its row; the table of kernels has all. */
function kernelList(title, report, first, nr) {
	if (!nr)
		return null;
	const k = report.kernels, most = Math.max(...k.ns.slice(first, first + nr).map((v) => v || 0));
	const row = (_, i) => {
		const at = first + i, name = k.name[at];
		return el("tr", {}, el("td", {title: seen(data.strings[name])}, el("button.link", {type: "button", onclick: () => openKernel(name, state.region)}, seen(cutMiddle(kernelName(name), 44)))),
			el("td.share", {}, el("i", {style: {width: most > 0 ? 92 * k.ns[at] / most + "%" : "0"}}), el("b", {}, fieldText(k.ns[at] === null ? null : k.ns[at] / 1e6, "ms"))));
	};
	return el("div", {}, el("h3", {}, title), el("table.metrics.few", {"aria-label": title}, headRow("kernel", "ms"), el("tbody", {}, ...Array.from({length: Math.min(nr, FEW_KERNELS)}, row))),
		nr > FEW_KERNELS ? el("p.small", {}, el("button.link", {type: "button", onclick: () => showTab("kernels")}, "all " + nr + " kernels")) : null);
}

/* Says why launches of threads without ranges are in this region. */
function adoptedIn(report, node) {
	const nr = field(report, node, "adopted_launches"), all = field(report, node, "launches");
	return (nr === all ? "All launches" : fieldText(nr, "count") + " of " + fieldText(all, "count") + " launches") +
		" came from threads without ranges of their own, such as autograd's, while only one other thread had a range open: this one, or one inside it.";
}

/* When the GPU had nothing to do for longest, in this region or inside; each a link to the timeline. */
function gapTable(report, node) {
	const isHere = (gap) => node >= report.nr || (gap.region >= 0 && report.nodeOf.has(gap.region) && pathOf(report, report.nodeOf.get(gap.region)).includes(node));
	const list = (report.gaps || []).filter(isHere);
	if (!list.length)
		return null;
	const at = (gap) => time(Math.round((data.timeline ? data.timeline.entered : 0) + gap.begin_ms * 1e6));
	const where = (gap) => gap.region >= 0 ? pathText(data.regions[gap.region]) : gap.before >= 0 ? "before " + pathText(data.regions[gap.before]) : "outside any range";
	const row = (gap) => el("tr", {title: where(gap)}, el("td", {}, view.tracks.length ? el("button", {type: "button", title: "show it in the timeline", onclick: () => showGap(gap)}, at(gap)) : at(gap)),
		el("td", {}, fieldText(gap.ms, "ms")), el("td.how", {}, gap.why),
		...(report.nr_scopes > 1 ? [el("td.how", {}, gap.on)] : []));
	return el("div", {id: "gaps"}, el("h3", {}, "Longest gaps"), el("table.metrics.slowest", {"aria-label": "Longest gaps"},
		headRow("begun at", "ms", "because", ...(report.nr_scopes > 1 ? ["on"] : [])), el("tbody", {}, ...list.map(row))));
}

/* The work of each stream, if there are several. */
function streamTable(report, node) {
	const nr = field(report, node, "streams") || 0, s = report.streams;
	if (nr < 2 || !s)
		return null;
	const row = (i) => el("tr", {}, el("td", {title: "context " + s.context[i]}, String(s.stream[i])), el("td", {}, fieldText(s.launches[i], "count")),
		el("td", {title: "sum of launches: " + fieldText(s.ms[i], "ms") + " ms"}, fieldText(s.busy_ms[i], "ms")));
	return el("div", {}, el("h3", {}, "Streams"), el("div.wide", {}, el("table.metrics", {"aria-label": "Streams"},
		headRow("stream", "launches", "busy ms"),
		el("tbody", {}, ...Array.from({length: Math.min(nr, MANY_STREAMS)}, (_, i) => row(report.s0[node] + i))))),
		nr > MANY_STREAMS ? el("p.small.soft", {}, "The other " + (nr - MANY_STREAMS) + " streams are in report.json.") : null);
}

function metricTable(report, node, columns) {
	const body = el("tbody", {});
	for (const column of columns) {
		const metric = data.metrics[column], f = figure(report, node, column, state.exclusive);
		const value = el("td", {title: errorOf(f) === null ? null : howMade(column, f)}, f.mark ? el("span.q", {}, f.mark) : null, human(f.v, metric.u), el("span.pm", {}, errorText(f, metric.u)), metric.u === "%" && isNumber(f.v) ? " %" : "");
		const bar = metric.u === "%" ? whisker(f, 100) : whisker(f, f.hi);
		if (bar)
			value.append(el("span.track", {role: "img", "aria-label": "95 %: " + human(f.lo, metric.u) + " to " + human(f.hi, metric.u)},
				el("i", {style: {width: 100 * Math.min(1, f.v / (metric.u === "%" ? 100 : f.hi)) + "%"}}), bar));
		if (f.v !== null)
			value.dataset.v = f.v;
		value.dataset.metric = metric.n;
		body.append(el("tr", {}, el("td", {}, metric.n), value, el("td.how", {}, f.v === null ? "" : f.method + (f.quality === "exact" ? "" : ", " + f.quality))));
	}
	return el("table.metrics", {"aria-label": "Metrics"},
		headRow("metric", "value", "how"), body);
}

/* A long list that is made when it is first opened. */
function lazily(title, make, isOpen) {
	const details = el("details", {}, el("summary", {}, title));
	const fill = () => details.open && details.children.length === 1 && details.append(make());
	details.addEventListener("toggle", fill);
	details.open = Boolean(isOpen);
	fill();
	return details;
}

function sections(report, node) {
	const box = el("div", {}, el("h3", {}, "Metrics"));
	for (const s of data.sections)
		box.append(lazily(s.name || s.id, () => metricTable(report, node, s.c.filter((c) => slotOf.has(c)))));
	box.append(lazily("All " + data.region_columns.length + " metrics", () => {
		const filter = el("input", {type: "search", placeholder: "Find a metric", "aria-label": "Find a metric"}), list = el("div.wide", {});
		const fill = () => list.replaceChildren(metricTable(report, node,
			data.region_columns.filter((c) => data.metrics[c].n.includes(filter.value.trim()))));
		filter.addEventListener("input", fill);
		fill();
		return el("div", {}, filter, list);
	}));
	if (data.region_columns.length < data.metrics.length)
		box.append(el("p.small.soft", {}, "The other " + (data.metrics.length - data.region_columns.length) + " metrics are in report.json."));
	return data.metrics.length ? box : null;
}

/* A small chart of one quantity, one bar per scope. `here` is the scope that is shown, -1 = none. */
function bars(title, values, names, here, text) {
	const most = Math.max(...values.map((v) => v || 0));
	const known = values.filter(isNumber), least = Math.min(...known);
	const range = !known.length ? "" : text(least) === text(most) ? " " + text(most) : " " + text(least) + " – " + text(most);
	return el("div", {}, el("h4", {}, title + range), el("div.bars", {role: "img", "aria-label": title + ": " + values.map(text).join(", ")},
		...values.map((v, i) => el(i === here ? "i.here" : "i", {title: names[i] + "\n" + text(v), style: {height: most > 0 ? Math.max(2, 100 * (v || 0) / most) + "%" : "2%"}}))));
}

function spread(region) {
	const scopes = reports.filter((r) => !r.aggregate && r.measured === state.report.measured && r.nodeOf.has(region));
	if (scopes.length < 2)
		return null;
	const names = scopes.map((r) => r.scope), here = scopes.indexOf(state.report), box = el("div.multiples");
	const column = (title, get, text) => {
		const values = scopes.map((r) => get(r, r.nodeOf.get(region)));
		if (values.some((v) => isNumber(v)))
			box.append(bars(title, values, names, here, text));
	};
	column("GPU time", (r, n) => field(r, n, "inclusive_ms"), (v) => fieldText(v, "ms") + " ms");
	column("host time", (r, n) => field(r, n, "host_ms"), (v) => fieldText(v, "ms") + " ms");
	column("launches", (r, n) => field(r, n, "launches"), (v) => fieldText(v, "count"));
	for (const c of data.headline)
		column(data.metrics[c].h || data.metrics[c].n, (r, n) => figure(r, n, c, false).v, (v) => human(v, data.metrics[c].u));
	return el("div", {}, el("h3", {}, "Over " + scopes.length + " scopes"), box);
}

function drawWhole(panel, report) {
	panel.append(el("h2", {}, report.scope), el("p.soft.small", {}, report.nr ? "Select a region for its metrics and kernels." :
		report.flat_kn ? "No regions: these are the kernels of the whole run." : "No launch to show."), facts(report, report.nr ? report.nr : 1), meters(report, report.nr ? report.nr : 1));
	panel.append(kernelList("Longest kernels", report, report.flat_k0, report.flat_kn) || "",
		report.nr && kernelList("Outside any range", report, report.outside_k0, report.outside_kn) || "", gapTable(report, report.nr) || "");
}

function drawSelected(panel, report, node) {
	const region = regionOf(report, node), path = pathOf(report, node).slice(0, -1);
	panel.append(
		path.length || region.d !== undefined ? el("div.crumbs.small", {}, region.d === undefined ? null : el("span.soft", {}, seen(region.d) + "@"), ...path.flatMap((up) => [
			el("button", {type: "button", onclick: () => selectNode(up)}, seen(regionOf(report, up).n) || EMPTY_LABEL), el("span.soft", {}, "›")])) : "",
		el("div.row.between", {}, el("h2", {id: "selected"}, labelOf(region.n), region.s || region.o ? el("span.tag", {}, region.o || "start/end") : null),
			el("span.controls", {}, copyButton(location.href.replace(/#.*/, "") + toFragment(), "a link to this region", "Copy link"))));
	if (region.o)
		panel.append(el("p.soft", {}, originOf(region)));
	if (field(report, node, "launches") === 0)
		panel.append(el("p.soft", {}, data.no_launch[0].toUpperCase() + data.no_launch.slice(1) + "."));
	if (field(report, node, "adopted_launches") > 0)
		panel.append(el("p.soft", {id: "adopted"}, adoptedIn(report, node)));
	for (const part of [waited(report, node), verdict(report, node), facts(report, node), meters(report, node), spread(state.region), entries(report, node), gapTable(report, node),
		kernelList("Kernels", report, report.k0[node], report.kn[node]), streamTable(report, node), sections(report, node)])
		if (part)
			panel.append(part);
}

function drawPanel() {
	const panel = byId("panel"), report = state.report, node = selectedNode();
	panel.replaceChildren();
	if (node < 0) {
		if (state.region >= 0)
			panel.append(el("p", {}, titleOf(data.regions[state.region]) + " does not occur in this scope."));
		drawWhole(panel, report);
	} else {
		drawSelected(panel, report, node);
	}
	panel.scrollTop = 0;
	fitHeight(byId("scroll"), LINE_PX);
	drawRows(false);
}

function initPanel() {
	listenTo(["report", "region", "exclusive"], drawPanel);
}
