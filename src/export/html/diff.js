/* Puts the page of a comparison together. */

const DIFF_TABS = [["overview", "Chart"], ["table", "Regions"], ["kernels", "Kernels"], ["about", "Notes"]];

function drawDiffHeader() {
	const short = (names) => seen(names.length > 1 ? names[0].replace(/.*\//, "") + " and " + (names.length - 1) + " more" : (names[0] || "").replace(/\/+$/, "").replace(/.*\//, ""));
	const title = short(data.base) + " → " + short(data.new);
	document.title = title + " · sonde diff";
	byId("top").append(el("div.row.between", {}, el("h1", {title: [...data.base, "→", ...data.new].join("\n")}, title), el("div.row.controls", {}, helpButton(), themeButton())),
		el("div.row.soft", {}, el("span", {}, "Profile comparison"), ...SIDES.map((side) => el("span.sep", {}, side + ": " + seen(data[side].join(", "))))));
}

/* The sentences of the comparison, most important first. */
function drawSentences() {
	const [first, ...rest] = data.sentences, box = byId("findings-box");
	box.hidden = false;
	box.append(el("h2", {}, seen(first || "")), rest.length ? el("ol", {id: "findings"}, ...rest.map((text, i) => {
		const region = regions.findIndex((r) => r.id && text.startsWith(r.id + " "));
		return el("li.card", {}, el("p", {}, el("b", {}, i + 1 + ". "), ...region >= 0 ? [el("button.link", {type: "button", onclick: () => change({region})}, seen(regions[region].id)), seen(text.slice(regions[region].id.length))] : [seen(text)]));
	})) : "");
	const bad = [...data.gate ? [["Gate " + data.gate + ".", data.gate_failed]] : [], ...data.gate_reasons.map((t) => ["Gate: " + t, true]), ...data.losses.map((n) => ["Not whole: " + n.side + ": " + n.text, true]),
		...data.reasons.map((t) => ["Not comparable: " + t, true]), ...data.warnings.map((t) => ["Differs: " + t, false])];
	byId("about-figures").append(...bad.map(([text, isBad]) => el(isBad ? "p.not" : "p", {}, seen(text))));
	if (data.notes.length)
		byId("about-figures").append(el("details.notes.small", {}, el("summary", {}, data.notes.length === 1 ? "One note on these figures" : data.notes.length + " notes on these figures"), el("ul", {}, ...data.notes.map((n) => el("li", {}, seen(n.side + ": " + n.text))))));
}

function drawDiffAbout() {
	byId("about").append(el("h2", {}, "How it was compared"), el("p.small.soft", {}, "slower and faster need a 95 % interval that leaves out 0, a false discovery rate below 5 % over all regions, and a change that matters; " +
		"same needs an interval within what does not matter. With one run a side they are likely, since nothing shows how far runs differ. Everything else is insufficient."));
}

function diffKeys(event) {
	const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
	if (event.ctrlKey || event.metaKey || event.altKey || byId("keys") && byId("keys").open)
		return;
	if (event.key === "Escape" && isTyping) {
		leaveSearch(event.target);
	} else if (event.key === "Escape") {
		change({zoom: state.zoom >= 0 ? boxAround(state.zoom) : -1});
	} else if (!isTyping && event.key === "/") {
		byId("search").focus();
		event.preventDefault();
	} else if (!isTyping && event.key === "?") {
		showHelp();
	}
}

function showDiffTab(id) {
	if (DIFF_TABS.some(([tab]) => tab === id) && !byId(id).hidden)
		byId(id).scrollIntoView({block: "start"});
}

function drawDiffTabs() {
	byId("tabs").replaceChildren(...DIFF_TABS.filter(([id]) => !byId(id).hidden).map(([id, name]) => el("button", {type: "button", "data-tab": id, "aria-current": state.tab === id ? "true" : null, onclick: () => {
		change({tab: id});
		showDiffTab(id);
	}}, name)));
}

function startDiff() {
	document.body.append(tip);
	drawDiffHeader();
	startTheme();
	drawSentences();
	initChart();
	initDiffTable();
	Object.assign(state, fromFragment(location.hash));
	byId("search").value = state.search;
	if (times.length)
		drawChart();
	initBothKernels();
	drawDiffPanel();
	if (state.region >= 0)
		revealDiff(state.region);
	drawDiffAbout();
	drawDiffTabs();
	showDiffTab(state.tab);
	listenTo(["region", "theme"], drawDiffPanel);
	listenTo(["tab"], drawDiffTabs);
	listen(followState);
	addEventListener("hashchange", () => followAddress(showDiffTab));
	addEventListener("keydown", diffKeys);
	addEventListener("resize", () => {
		if (times.length)
			drawChart();
		drawDiffPanel();
		drawBothKernels();
	});
	printOpen();
	document.documentElement.dataset.ready = "yes";
}

startDiff();
