/* The tracks of the timeline: range entries per thread, launches per stream, counters per device, and the gaps between launches. */

const MOST_LANES = 40;

/* Nested entries are below those they are inside of; overlapping ones take the first free lane. */
function lanesOf(track, starts, ends) {
	const lanes = [], open = [];
	const put = (lane, i) => (lanes[lane] || (lanes[lane] = [])).push(i);
	for (let i = 0; i < starts.length; i++) {
		let lane = 0;
		if (track.kind === "thread") {
			while (open.length && open[open.length - 1] <= starts[i])
				open.pop();
			lane = open.push(ends[i]) - 1;
		} else {
			while (lane < open.length && open[lane] > starts[i])
				lane++;
			open[lane] = ends[i];
		}
		put(Math.min(lane, MOST_LANES), i);
	}
	return lanes.map((list) => Int32Array.from(list));
}

/* Times from a list in which each is the distance from the one before. */
function sumUp(list) {
	let t = 0;
	return Float64Array.from(list, (d) => t += d);
}

function unpack(track) {
	const starts = sumUp(track.s), ends = starts.map((t, i) => t + track.d[i]);
	return {...track, starts, ends, lanes: lanesOf(track, starts, ends), regions: Int32Array.from(track.r)};
}

/* A counter over time. The top of the scale is 100 for percentages, else the greatest value. */
function unpackCurve(curve) {
	const most = curve.v.reduce((a, b) => Math.max(a, b), 0);
	return {...curve, starts: sumUp(curve.s), most, top: /%\]?$/.test(curve.name) ? Math.max(100, most) : most || 1};
}

function unpackGaps(gaps) {
	const starts = sumUp(gaps.s);
	return {...gaps, starts, ends: starts.map((t, i) => t + gaps.d[i])};
}

function isOfReport(process, device) {
	const r = state.report;
	return r.process === null || process === r.process && (device === undefined || r.device === null || device === r.device);
}

function tracksShown() {
	return view.tracks.filter((t) => isOfReport(t.process, t.device));
}

function gapsShown() {
	return view.gaps.filter((g) => isOfReport(g.process, g.device));
}

function curvesShown() {
	const r = state.report, of = (c) => c.of.some((p, i) => i % 2 === 0 && p === r.process && (r.device === null || c.of[i + 1] === r.device));
	return view.curves.filter((c) => r.process === null || of(c));
}

/* The name of a process: its rank, else its id; with its host if there are several hosts. */
function processName(p) {
	const all = data.timeline.processes, who = all[p], hosts = new Set(all.map((one) => one.host)).size;
	return (who.rank !== undefined ? "rank " + who.rank : "process " + who.id) + (hosts > 1 ? " · " + seen(who.host) : "");
}

/* Names each track by rank, thread name and number. No two tracks have the same name. */
function nameTracks() {
	const ofSeveral = new Set(view.tracks.map((t) => t.process)).size > 1, ranked = data.timeline.processes.some((p) => p.rank !== undefined), taken = new Set();
	for (const t of view.tracks) {
		const thread = /^thread (\d+)(?: ([^]*))?$/.exec(t.name), own = thread && thread[2] ? thread[2] + " · thread " + thread[1] : t.name;
		let title = (ofSeveral || ranked ? processName(t.process) + " · " : "") + seen(own);
		if (taken.has(title))
			title += " · process " + data.timeline.processes[t.process].id;
		for (let i = 2, first = title; taken.has(title); i++)
			title = first + " · " + i;
		taken.add(title);
		t.title = title;
	}
}

/* When the GPU first worked for a region, or at all; null without GPU work. */
function firstWork() {
	let any = Infinity, inRegion = Infinity;
	for (const t of view.tracks)
		if (t.kind === "stream" && t.starts.length) {
			const k = t.regions.findIndex((r) => r >= 0);
			any = Math.min(any, t.starts[0]);
			inRegion = Math.min(inRegion, k >= 0 ? t.starts[k] : Infinity);
		}
	const first = Number.isFinite(inRegion) ? inRegion : any;
	return Number.isFinite(first) ? first : null;
}

/* The first event of a lane that ends after `from`. In a lane, starts and ends are both in order. */
function firstIn(lane, ends, from) {
	return bisect(lane.length, (k) => ends[lane[k]] < from);
}

/* Whether any event of a track is in the view. */
function isSeen(track, from, to) {
	return track.lanes.some((lane) => {
		const k = firstIn(lane, track.ends, from);
		return k < lane.length && track.starts[lane[k]] <= to;
	});
}

/* The lane with the innermost entry of a thread at a moment. */
function laneAt(track, t) {
	for (let lane = track.lanes.length - 1; lane >= 0; lane--) {
		const list = track.lanes[lane], k = firstIn(list, track.ends, t);
		if (k < list.length && track.starts[list[k]] <= t)
			return lane;
	}
	return 0;
}

/* Number of the last point that starts before `t`, -1 = none. */
function pointBefore(curve, t) {
	return bisect(curve.starts.length, (i) => curve.starts[i] <= t) - 1;
}

/* The selected region and everything nested in it. */
function litRegions() {
	const report = state.report, lit = new Set([state.region]);
	for (let node = 0; node < report.nr; node++) /* parents come first */
		if (report.parent[node] >= 0 && lit.has(report.region[report.parent[node]]))
			lit.add(report.region[node]);
	return lit;
}

function eventName(track, i, isWhole) {
	return track.raw && track.raw[i] >= 0 ? data.strings[track.raw[i]] : track.n ? (isWhole ? data.strings[track.n[i]] : kernelName(track.n[i])) : data.regions[track.regions[i]].n;
}

/* An entry of the selected region to show: rather of a thread than a launch, rather after the first GPU work than before. */
function entryOf(region) {
	const lit = litRegions();
	let best = null, worth = -1;
	for (const t of tracksShown())
		for (let i = 0; i < t.starts.length && worth < 3; i++) {
			const isOwn = t.kind === "stream" ? lit.has(t.regions[i]) : t.regions[i] === region;
			const own = isOwn ? 2 * (t.kind !== "stream") + (t.starts[i] >= view.home) : -1;
			if (own > worth)
				[best, worth] = [{track: t, i}, own];
		}
	return best;
}
