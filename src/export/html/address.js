/* The address: #scope=…&region=…&tab=…, so that a link leads to what its sender saw. */

/* A region in the address: its id, with `~start` behind it for a start/end range. */
function regionKey(number) {
	return data.regions[number].id + (data.regions[number].s ? "~start" : "");
}

function regionNumber(text) {
	const isStart = text.endsWith("~start"), id = isStart ? text.slice(0, -6) : text;
	return data.regions.findIndex((r) => r.id === id && Boolean(r.s) === isStart);
}

function toFragment() {
	const parts = [], put = (key, value) => parts.push(key + "=" + encodeURIComponent(value));
	if (reports.length > 1)
		put("scope", state.report.scope);
	if (state.region >= 0)
		put("region", regionKey(state.region));
	if (state.zoom !== state.firstZoom)
		put("zoom", state.zoom < 0 ? "" : regionKey(state.zoom)); /* empty: all regions */
	if (state.kernel >= 0)
		put("kernel", data.strings[state.kernel]);
	if (state.by !== state.firstBy)
		put("by", state.by);
	if (state.sort)
		put("sort", (state.isDown ? "" : "-") + state.sort);
	if (state.exclusive)
		put("figures", "exclusive");
	if (state.search)
		put("search", state.search);
	if (state.from !== null)
		put("time", Math.round(state.from) + "-" + Math.round(state.to));
	if (state.tab)
		put("tab", state.tab);
	return parts.length ? "#" + parts.join("&") : "";
}

/* The state that an address asks for; what it does not name is as at the start. */
function fromFragment(hash) {
	const parts = new Map(hash.replace(/^#/, "").split("&").map((part) => {
		const [key, value] = part.split("=");
		try {
			return [key, decodeURIComponent(value || "")];
		} catch {
			return [key, ""];
		}
	}));
	const get = (key) => parts.get(key) || "", region = (key) => parts.has(key) ? regionNumber(get(key) + (key === "region" && get("kind") === "start_end" ? "~start" : "")) : -1;
	const sort = get("sort").replace(/^-/, ""), time = /^(\d+)-(\d+)$/.exec(get("time"));
	return {
		report: reports.find((r) => r.scope === get("scope")) || state.report,
		region: region("region"), zoom: parts.has("zoom") ? get("zoom") ? region("zoom") : -1 : state.firstZoom, kernel: parts.has("kernel") ? data.strings.indexOf(get("kernel")) : -1,
		by: additive(state.report).some(([by]) => by === get("by")) ? get("by") : state.firstBy,
		sort: sort === "name" || columnByKey.has(sort) ? sort : null, isDown: !get("sort").startsWith("-"),
		exclusive: get("figures") === "exclusive", search: get("search"), tab: get("tab"),
		from: time ? Number(time[1]) : null, to: time ? Number(time[2]) : null,
	};
}
