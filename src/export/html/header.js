/* What was captured, where and with what; how much of it is in regions; how to make this page again. */

function baseName(path) {
	return path.replace(/\/+$/, "").replace(/.*\//, "");
}

function unique(list) {
	return [...new Set(list.filter((v) => v !== null && v !== undefined && v !== ""))];
}

function theme(name) {
	document.documentElement.dataset.theme = name;
	byId("theme").textContent = name === "dark" ? "Light" : "Dark";
	byId("theme").setAttribute("aria-label", "Switch to the " + (name === "dark" ? "light" : "dark") + " theme");
	change({theme: name});
}

function themeButton() {
	const system = matchMedia("(prefers-color-scheme: dark)");
	const b = el("button", {type: "button", id: "theme"});
	b.addEventListener("click", () => {
		b.dataset.chosen = "yes";
		theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
	});
	system.addEventListener("change", () => b.dataset.chosen || theme(system.matches ? "dark" : "light"));
	return b;
}

function scopeChoice() {
	if (reports.length < 2)
		return null;
	const values = reports.map((r, i) => [String(i), r.scope + (r.aggregate && r.nr_scopes > 1 ? " over " + r.nr_scopes + " scopes" : "")]);
	const box = choice("Scope", values, String(reports.indexOf(state.report)), (i) => change({report: reports[Number(i)], zoom: -1}));
	listenTo(["report"], () => box.querySelector("select").value = String(reports.indexOf(state.report)));
	return box;
}

/* The directory that holds all files, where there are several. */
function folderOf(files) {
	const folders = unique(files.map((f) => f.replace(/[^/]*$/, "")));
	return files.length > 1 && folders.length === 1 ? baseName(folders[0]) : "";
}

/* What was run: its program and script, without their paths and options. */
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
			el("div.row.controls", {}, scopeChoice(), themeButton())),
		el("div.row.soft", {}, ...facts.map((f, i) => el(i ? "span.sep" : "span", {}, seen(f)))),
		...(data.ranks ? data.ranks.slow.slice(0, 3) : []).map((line, i) => el("p.slow", {}, el("b", {}, i ? "Also: " : "Slow: "), seen(line))),
		...data.coverage_lines.map((line) => el("p", {id: "coverage"}, line)));
	drawFindings(top);
	if (data.notes.length)
		top.append(el("details.notes.small", {}, el("summary", {}, data.notes.length === 1 ? "One note on these figures" : data.notes.length + " notes on these figures"),
			el("ul", {}, ...data.notes.map((n) => el("li", {}, seen(n))))));
}

const FEW_FINDINGS = 3;

/* A finding as a card: where it is leads to the region. */
function findingCard(f, i) {
	const where = f.region >= 0 ? el("button.link", {type: "button", onclick: () => change({region: f.region})}, seen(f.where)) : el("b", {}, seen(f.where));
	return el("li.card", {}, el("div.row.between", {}, el("h3", {}, i + 1 + ". ", where), el("b.pct", {}, Math.round(f.pct) + " %")),
		el("p", {}, seen(f.says)), el("p", {}, el("b", {}, "Do: "), seen(f.do)), el("p.soft", {}, el("b", {}, "Gain: "), seen(f.gain)),
		el("p.soft", {}, el("b", {}, "More: "), el("code", {}, seen(f.next))));
}

/* What to change first; the rest of the list on demand. */
function drawFindings(top) {
	const all = data.findings || [];
	if (!all.length)
		return;
	const list = el("ol", {id: "findings", "aria-label": "What to change first"});
	const fill = (nr) => list.replaceChildren(...all.slice(0, nr).map(findingCard));
	fill(FEW_FINDINGS);
	top.append(list);
	if (all.length > FEW_FINDINGS) {
		const more = el("button", {type: "button", id: "more-findings"}, "show all " + all.length + " findings");
		more.addEventListener("click", () => {
			fill(all.length);
			more.remove();
		});
		top.append(more);
	}
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
	pair(list, "Files", capture.files.join(", "));
	pair(list, "Taken", unique(capture.inputs.map((i) => i.created_at)).join(", "));
	pair(list, "Written", head.generated_at);
	pair(list, "By", head.generator + " · settings " + head.config_fingerprint);
	for (const d of capture.devices.slice(0, 8))
		pair(list, "Device " + d.id, [d.name, d.cc && "compute capability " + d.cc].filter(Boolean).join(", "));
	for (const p of capture.processes.slice(0, 16))
		pair(list, "Process " + p.id, [p.name, p.host].filter(Boolean).join(" on "));
	byId("about").append(el("h2", {}, "About this report"), list);
	if (capture.command && capture.command !== "mixed")
		byId("about").append(el("h3", {}, "The capture was taken with"), code(capture.command, "the capture command"));
	if (data.reproduce)
		byId("about").append(el("h3", {}, "This page was made with"), code(data.reproduce, "the command of this page"));
	if (head.config)
		byId("about").append(el("details", {}, el("summary", {}, "Settings"), code(head.config, "the settings")));
	const legendLine = "≈ approximate · ≤ ≥ a bound · ~ sampled while the program ran, ± its 95 % interval · inclusive: with nested regions, exclusive: without · " +
		"keys: / search, arrows move, Enter zooms the chart, Escape zooms out";
	byId("about").append(el("p.small.soft", {}, legendLine));
}
