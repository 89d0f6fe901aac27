/* Puts the views together: what is visible first is drawn first, the rest a moment later. */

const KEY_LIST = [
	["/", "search regions and kernels"], ["Escape", "leave the search, close figures, else zoom the chart out"], ["?", "this list"],
	["↑ ↓", "the region before and after, in the table"], ["← →", "close and open a region in the table; the one beside it in the chart"], ["Enter", "zoom the chart into the region"],
	["+ −  or  w s", "zoom the timeline that is in sight, around the pointer if that is over it"], ["a d  or  ← →", "move the timeline"], ["0", "the whole timeline"],
	["Ctrl + wheel", "zoom the timeline"], ["Shift + wheel", "move the timeline"],
];

function globalKey(event) {
	const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
	if (event.ctrlKey || event.metaKey || event.altKey || byId("keys") && byId("keys").open)
		return;
	if (event.key === "Escape" && isTyping) {
		leaveSearch(event.target);
	} else if (event.key === "Escape" && closeOver(null)) {
		return;
	} else if (event.key === "Escape") {
		const zoom = zoomNode();
		change({zoom: zoom >= 0 && state.report.parent[zoom] >= 0 ? state.report.region[state.report.parent[zoom]] : -1});
	} else if (isTyping) {
		return;
	} else if (event.key === "/") {
		byId("search").focus();
		event.preventDefault();
	} else if (event.key === "?") {
		showHelp();
		event.preventDefault();
	} else if (!event.defaultPrevented && !event.target.closest("[role^=tree]") && hasKeys()) {
		timelineKey(event);
	}
}

/* --- parts of the page ---------------------------------------------------------------------------- */

const TABS = [["overview", "Chart"], ["ranks", "Ranks"], ["table", "Regions"], ["kernels", "Kernels"], ["timeline", "Timeline"], ["roofline", "Roofline"], ["about", "About"]];

function showTab(id) {
	const e = TABS.some(([tab]) => tab === id) ? byId(id) : null;
	if (e && !e.hidden)
		e.scrollIntoView({block: "start"});
}

function openTab(id) {
	change({tab: id});
	showTab(id);
}

function drawTabs() {
	const has = TABS.filter(([id]) => !byId(id).hidden);
	byId("tabs").replaceChildren(...has.map(([id, name]) => el("button", {type: "button", "data-tab": id, "aria-current": state.tab === id ? "true" : null, onclick: () => openTab(id)}, name)));
}

/* --- start ---------------------------------------------------------------------------------------- */

function drawFirst(linked) {
	state.report = linked.report;
	fitReport(state.report);
	openSome();
	byId("table").hidden = !state.report.nr;
	Object.assign(state, {by: linked.by, zoom: linked.zoom, sort: linked.sort, isDown: linked.isDown, exclusive: linked.exclusive, search: linked.search});
	byId("search").value = state.search;
	drawIcicle();
	initRanks();
	drawTable();
	drawPanel();
	if (linked.region >= 0)
		change({region: linked.region});
}

function drawRest(linked) {
	if (hasRoofline())
		drawRoofline();
	initKernels();
	initTimeline();
	drawAbout();
	drawTabs();
	/* What the user clicked meanwhile counts more than an address that does not name this part of the state. */
	follow({kernel: linked.kernel >= 0 ? linked.kernel : state.kernel, tab: linked.tab || state.tab, ...linked.from === null ? {} : {from: linked.from, to: linked.to}});
	showTab(linked.tab);
	document.documentElement.dataset.ready = "yes";
}

function listenToWindow() {
	listen(followState);
	listenTo(["tab", "report"], drawTabs);
	addEventListener("hashchange", () => followAddress(showTab));
	addEventListener("keydown", globalKey);
	let width = innerWidth;
	addEventListener("resize", () => {
		if (innerWidth !== width) {
			drawIcicle();
			drawTable();
		}
		width = innerWidth;
	});
	printOpen();
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
	drawFindings();
	initIcicle();
	initTable();
	initPanel();
	initRoofline();
	const linked = fromFragment(location.hash);
	drawFirst(linked);
	requestAnimationFrame(() => setTimeout(() => drawRest(linked))); /* after the first paint */
	listenToWindow();
}

start();
