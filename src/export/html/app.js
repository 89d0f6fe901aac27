/* Puts the views together: first what is seen first, the rest a moment later. */

function globalKey(event) {
	const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
	if (event.key === "/" && !isTyping) {
		byId("search").focus();
		event.preventDefault();
	} else if (event.key === "Escape") {
		if (isTyping && event.target.value) {
			event.target.value = "";
			event.target.dispatchEvent(new Event("input"));
		} else {
			const zoom = zoomNode();
			change({zoom: zoom >= 0 && state.report.parent[zoom] >= 0 ? state.report.region[state.report.parent[zoom]] : -1});
		}
	}
}

function followAddress() {
	change(fromFragment(location.hash));
}

function start() {
	document.body.append(tip);
	if (!state.report) {
		byId("top").append(el("h1", {}, "Nothing to show"), el("p", {}, "No scope of this capture was selected, or it holds nothing at all."));
		drawHeader();
		theme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
		drawAbout();
		return;
	}
	loadTimeline();
	drawHeader();
	initIcicle();
	initTable();
	initPanel();
	initRoofline();
	const linked = fromFragment(location.hash);
	state.report = linked.report;
	fitReport(state.report);
	theme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
	openSome();
	drawIcicle();
	byId("table").hidden = !state.report.nr;
	drawTable();
	drawPanel();
	if (linked.region >= 0)
		change({region: linked.region});
	requestAnimationFrame(() => {
		if (hasRoofline())
			drawRoofline();
		initTimeline();
		drawAbout();
		document.documentElement.dataset.ready = "yes";
	});
	listen((changed) => {
		if (changed.has("region") || changed.has("report"))
			history.replaceState(null, "", toFragment() || location.pathname + location.search);
	});
	addEventListener("hashchange", followAddress);
	addEventListener("keydown", globalKey);
	let width = innerWidth;
	addEventListener("resize", () => {
		if (innerWidth !== width)
			drawIcicle();
		width = innerWidth;
	});
}

start();
