/* What was captured, where and with what; how much of it is in regions; how to make this page again. */

const MANY_FILES = 6;

function baseName(path) {
	return path.replace(/\/+$/, "").replace(/.*\//, "");
}

function unique(list) {
	return [...new Set(list.filter((v) => v !== null && v !== undefined && v !== ""))];
}

function scopeChoice() {
	if (reports.length < 2)
		return null;
	const values = reports.map((r, i) => [String(i), r.scope + (r.aggregate && r.nr_scopes > 1 ? " over " + r.nr_scopes + " scopes" : "")]);
	const box = choice("Scope", values, String(reports.indexOf(state.report)), (i) => change({report: reports[Number(i)], zoom: state.firstZoom}));
	listenTo(["report"], () => box.querySelector("select").value = String(reports.indexOf(state.report)));
	return box;
}

/* The directory that contains all files, if there are several. */
function folderOf(files) {
	const folders = unique(files.map((f) => f.replace(/[^/]*$/, "")));
	return files.length > 1 && folders.length === 1 ? baseName(folders[0]) : "";
}

/* What was run: program and script, without their paths and options. */
function programOf(capture) {
	const words = capture.command && capture.command !== "mixed" && capture.replay_mode === "native" ? capture.command.split(" ") : [];
	const script = /^python/.test(baseName(words[0] || "")) && words[1] && !words[1].startsWith("-") ? " " + baseName(words[1]) : "";
	return words.length ? baseName(words[0]) + script : "";
}

function drawHeader() {
	const capture = data.head.capture, files = capture.files.map(baseName);
	const folder = folderOf(capture.files);
	const name = folder ? folder : files.length > 1 ? files[0] + " and " + (files.length - 1) + " more" : files[0] || "report";
	const programs = unique(capture.processes.map((p) => p.name && baseName(p.name)));
	const programText = programs.length > 2 ? programs[0] + " and " + (programs.length - 1) + " more" : programs.join(" and ");
	const program = programOf(capture) || programText;
	const title = program ? program + " · " + name : name;
	document.title = seen(title) + " · sonde";
	const facts = [
		...unique(capture.devices.map((d) => d.name)),
		capture.tool,
		capture.replay_mode ? capture.replay_mode + (capture.replay_mode === "native" ? " capture" : " replay") : null,
		reports.length > 1 ? reports.filter((r) => !r.aggregate).length + " scopes" : null,
	].filter(Boolean);
	const top = byId("top");
	top.append(
		el("div.row.between", {},
			el("h1", {title: capture.files.join("\n")}, seen(title)),
			el("div.row.controls", {}, scopeChoice(), helpButton(), themeButton())),
		el("div.row.soft", {}, ...facts.map((f, i) => el(i ? "span.sep" : "span", {}, seen(f)))),
		);
	const slow = (data.ranks ? data.ranks.slow : []).slice(0, 3);
	byId("slow").hidden = !slow.length;
	byId("slow").append(...slow.map((line, i) => el("p", {}, el("b", {}, i ? "Also: " : "Slow: "), inPage(line), i ? "" : " ", i ? "" : el("button.link", {type: "button", onclick: () => openTab("ranks")}, "See the ranks"))));
	byId("about-figures").append(...data.coverage_lines.map((line) => el("p.coverage", {}, line)));
	if (data.notes.length)
		byId("about-figures").append(el("details.notes.small", {}, el("summary", {}, data.notes.length === 1 ? "One note on these figures" : data.notes.length + " notes on these figures"),
			el("ul", {}, ...data.notes.map((n) => el("li", {}, seen(n))))));
}

function pair(list, key, value) {
	if (value)
		list.append(el("dt", {}, key), el("dd", {}, typeof value === "string" ? seen(value) : value));
}

function code(text, what) {
	return el("div", {}, el("pre", {tabindex: "0", "aria-label": what}, text), copyButton(text, what));
}

function drawAbout() {
	const head = data.head, capture = head.capture, list = el("dl.kv");
	pair(list, "Files", capture.files.slice(0, MANY_FILES).join(", ") + (capture.files.length > MANY_FILES ? " and " + (capture.files.length - MANY_FILES) + " more" : ""));
	pair(list, "Taken", unique(capture.inputs.map((i) => i.created_at)).join(", "));
	pair(list, "Written", head.generated_at);
	pair(list, "By", head.generator + " · settings " + head.config_fingerprint);
	for (const d of capture.devices.slice(0, 8))
		pair(list, "Device " + d.id, [d.name, d.cc && "compute capability " + d.cc].filter(Boolean).join(", "));
	for (const p of capture.processes.slice(0, 16))
		pair(list, "Process " + p.id, [p.name, p.host && "on " + p.host, p.rank !== undefined && "rank " + p.rank].filter(Boolean).join(" "));
	if (capture.processes.length > 16)
		pair(list, "Processes", capture.processes.length + " in all");
	byId("about").append(el("h2", {}, "About this report"), list);
	if (capture.command && capture.command !== "mixed")
		byId("about").append(el("h3", {}, "The capture was taken with"), code(capture.command, "the capture command"));
	if (data.reproduce)
		byId("about").append(el("h3", {}, "This page was made with"), code(data.reproduce, "the command of this page"));
	if (head.config)
		byId("about").append(el("details", {}, el("summary", {}, "Settings"), code(head.config, "the settings")));
	const legendLine = "≈ approximate · ≤ ≥ a bound · ~ sampled while the program ran, ± its 95 % interval · inclusive: with nested regions, exclusive: without · ? lists the keys";
	byId("about").append(el("p.small.soft", {}, legendLine));
}
