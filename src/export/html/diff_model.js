/* A comparison: the data of the page with two sides, the choices of the user, and the address that contains them. */

const data = JSON.parse(byId("data").textContent);
const {regions} = data, rank = new Map(data.order.map((region, i) => [region, i]));
const KEY_LIST = [
	["/", "search regions and kernels"], ["Escape", "leave the search, else zoom the chart out"], ["?", "this list"],
	["↑ ↓", "the region before and after"], ["← →", "close and open a region"], ["Enter", "zoom the chart into the region"],
];
const SIDES = ["base", "new"], TIME_WORDS = {wall: "wall time", gpu: "GPU time", host: "host time", span: "span"};

regions.forEach((r) => r.children = []);
const roots = data.order.filter((i) => {
	const up = regions[i].parent;
	if (up >= 0)
		regions[up].children.push(i);
	return up < 0;
});
regions.forEach((r) => r.depth = r.parent < 0 ? 0 : regions[r.parent].depth + 1); /* parents come first */

/* Times that widths may show: those that some region has on both sides. */
const times = ["wall", "gpu", "host"].filter((t) => regions.some((r) => r.times[t]));

const state = {region: -1, zoom: -1, search: "", sort: "order", isDown: true, by: times[0] || "", tab: ""};

function nameOf(r) {
	return (seen(r.n) || EMPTY_LABEL) + r.mark;
}

function percent(ratio) {
	return isNumber(ratio) ? (ratio < 1 ? "−" : "+") + Math.abs(100 * (ratio - 1)).toFixed(1) + " %" : "–";
}

function msText(v) {
	return isNumber(v) ? v.toFixed(Math.abs(v) >= 1000 ? 0 : Math.abs(v) >= 10 ? 2 : 4) : "–";
}

function signed(v) {
	return isNumber(v) ? (v < 0 ? "−" : "+") + msText(Math.abs(v)) : "–";
}

function sideOf(r, side) {
	return r[side] ? r[side].median : null;
}

function intervalText(r) {
	return isNumber(r.low) && isNumber(r.high) ? percent(r.low).replace(" %", "") + " to " + percent(r.high) : "–";
}

/* --- colours ---------------------------------------------------------------------------------------- */

const CHANGE = {light: {slower: "#e5534b", faster: "#46a758", same: "#dfe3e8", insufficient: "#eef0f2", added: "#f2b84b", removed: "#ffffff"},
	dark: {slower: "#e5534b", faster: "#3f9a50", same: "#39414a", insufficient: "#2a3138", added: "#b98a2e", removed: "#1b1f23"}};
const FULL_CHANGE = 0.3; /* a change of 30 % and more has the strongest colour */

function mixed(a, b, share) {
	const part = (c, i) => parseInt(c.slice(i, i + 2), 16);
	return "#" + [1, 3, 5].map((i) => Math.round(part(a, i) + (part(b, i) - part(a, i)) * share).toString(16).padStart(2, "0")).join("");
}

function changeColour(name, ratio) {
	const set = CHANGE[state.theme === "dark" ? "dark" : "light"], moved = name === "slower" || name === "faster";
	return moved && isNumber(ratio) ? mixed(set.same, set[name], Math.min(1, 0.35 + 0.65 * Math.abs(ratio - 1) / FULL_CHANGE)) : set[name] || set.same;
}

/* --- the address ------------------------------------------------------------------------------------ */

function toFragment() {
	const parts = [], put = (key, value) => parts.push(key + "=" + encodeURIComponent(value));
	if (state.region >= 0)
		put("region", regions[state.region].id + regions[state.region].mark);
	if (state.zoom >= 0)
		put("zoom", regions[state.zoom].id + regions[state.zoom].mark);
	if (state.by !== times[0])
		put("by", state.by);
	if (state.sort !== "order")
		put("sort", (state.isDown ? "" : "-") + state.sort);
	if (state.search)
		put("search", state.search);
	if (state.tab)
		put("tab", state.tab);
	return parts.length ? "#" + parts.join("&") : "";
}

function fromFragment(hash) {
	const parts = new Map(hash.replace(/^#/, "").split("&").map((part) => {
		const [key, value] = part.split("=");
		try {
			return [key, decodeURIComponent(value || "")];
		} catch {
			return [key, ""];
		}
	}));
	const get = (key) => parts.get(key) || "", region = (key) => parts.has(key) ? regions.findIndex((r) => r.id + r.mark === get(key)) : -1, sort = get("sort").replace(/^-/, "");
	return {region: region("region"), zoom: region("zoom"), by: times.includes(get("by")) ? get("by") : times[0] || "", search: get("search"), tab: get("tab"),
		sort: DIFF_COLUMNS.some((c) => c.key === sort) ? sort : "order", isDown: !get("sort").startsWith("-")};
}
