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

function startTheme() {
	theme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}

function drawFirst(linked) {
	state.report = linked.report;
	fitReport(state.report);
	openSome();
	byId("table").hidden = !state.report.nr;
	drawIcicle();
	drawTable();
	drawPanel();
	if (linked.region >= 0)
		change({region: linked.region});
}

function drawRest() {
	if (hasRoofline())
		drawRoofline();
	initRanks();
	initTimeline();
	drawAbout();
	document.documentElement.dataset.ready = "yes";
}

function listenToWindow() {
	listenTo(["region", "report"], () => history.replaceState(null, "", toFragment() || location.pathname + location.search));
	addEventListener("hashchange", followAddress);
	addEventListener("keydown", globalKey);
	let width = innerWidth;
	addEventListener("resize", () => {
		if (innerWidth !== width) {
			drawIcicle();
			drawTable();
		}
		width = innerWidth;
	});
}

function start() {
	document.body.append(tip);
	drawHeader();
	startTheme();
	if (!state.report) {
		byId("overview").append(el("p", {}, "Nothing to show: no scope of this capture was selected, or it holds nothing at all."));
		for (const id of ["table", "panel"])
			byId(id).hidden = true;
		drawAbout();
		return;
	}
	loadTimeline();
	initIcicle();
	initTable();
	initPanel();
	initRoofline();
	drawFirst(fromFragment(location.hash));
	requestAnimationFrame(() => setTimeout(drawRest)); /* after the first paint */
	listenToWindow();
}

start();
