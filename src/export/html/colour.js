/* Colours that stay apart for every kind of colour vision: cividis for amounts, Okabe and Ito for kinds. */

const CIVIDIS = [[0, 34, 78], [18, 53, 112], [59, 73, 108], [87, 93, 109], [112, 113, 115], [138, 134, 120], [165, 156, 116],
	[195, 179, 105], [225, 204, 85], [254, 232, 56]];
/* The words that a region may have as limiter or bound, by letter: [colour, word, family]. Words and colours are those of the SVG charts. */
const NO_WORD = ["#cfd3d6", "unknown"];
const LETTERS = Object.fromEntries([...data.words.map((w, i) => ["abcdefghijklmnopqr"[i], [w.colour, w.word, w.family]]), ["-", NO_WORD]]);
const WORDS = {bound: LETTERS, limiter: LETTERS}, WORD_HEADS = {bound: "bound", limiter: "bound of kernels"};
/* Colours of the causes of idle time. They are drawn in stripes, so that no idle time looks like work. */
const IDLE = {launch: "#e0a93b", sync: "#c06c9f", copy: "#5b9bd0", alloc: "#8672c4", host: "#d2774f", queued: "#4fa884", other_stream: "#b4bac0", unknown: "#9aa2aa"};
const CAUSES = Object.keys(data.causes);
const DEPTHS = ["#8fb3d6", "#a9c5df", "#bdd2e6", "#9dbcd9", "#b3cce3"];

function ramp(share) {
	const x = Math.max(0, Math.min(1, share)) * (CIVIDIS.length - 1), i = Math.min(Math.floor(x), CIVIDIS.length - 2);
	const mix = CIVIDIS[i].map((c, k) => Math.round(c + (CIVIDIS[i + 1][k] - c) * (x - i)));
	return "#" + mix.map((c) => c.toString(16).padStart(2, "0")).join("");
}

const AMOUNTS = [["SM %", data.roles.sm], ["Memory %", data.roles.memory], ["Occupancy", data.roles.occupancy]];

/* Whether some region of some report has a word of this kind that says more than its bound. */
function tells(word) {
	return reports.some((r) => /[^-]/.test(r[word])) && (word === "bound" || reports.some((r) => r[word] !== r.bound));
}

const WORDS_TOLD = Object.keys(WORDS).filter(tells);

/* What colours may mean: [value, text] with value "limiter", "bound", "m<column>" or "depth". */
function colourings() {
	const list = [];
	for (const [text, columns] of AMOUNTS) {
		const column = columns.find((c) => slotOf.has(c));
		if (column !== undefined)
			list.push(["m" + column, text]);
	}
	list.unshift(...WORDS_TOLD.map((word) => [word, WORD_HEADS[word]]));
	list.push(["depth", "nothing"]);
	return list;
}

/* The top of the scale: the next round figure above the greatest one in the report. */
function topOf(report) {
	const slot = slotOf.get(Number(state.colour.slice(1))), column = slot === undefined ? null : report.inc.v[slot];
	const most = Array.isArray(column) ? column.reduce((m, v, i) => i < report.nr && v > m ? v : m, 0) : column || 0;
	return [10, 20, 40, 60, 80].find((top) => most <= top) || 100;
}

function colourOf(report, node) {
	if (WORDS[state.colour])
		return WORDS[state.colour][report[state.colour][node]][0];
	if (state.colour[0] === "m") {
		const f = figure(report, node, Number(state.colour.slice(1)), false);
		return isNumber(f.v) ? ramp(f.v / state.top) : NO_WORD[0];
	}
	return DEPTHS[report.depth[node] % DEPTHS.length];
}

function legend() {
	const box = el("span.legend", {"aria-label": "Legend"});
	if (WORDS[state.colour]) {
		for (const [letter, [colour, text]] of Object.entries(WORDS[state.colour]))
			if (state.report[state.colour].includes(letter))
				box.append(el("span", {}, el("span.swatch", {style: {background: colour}}), text));
	} else if (state.colour[0] === "m") {
		const stops = CIVIDIS.map((_, i) => ramp(i / (CIVIDIS.length - 1))).join(",");
		box.append("0 %", el("span.ramp", {style: {background: "linear-gradient(90deg," + stops + ")"}}), state.top + " %");
	}
	if (state.by === "wall_ms")
		for (const cause of CAUSES)
			if ((state.report.f[fieldOf.get("idle_" + cause + "_ms")] || []).some((v) => v > 0))
				box.append(el("span", {title: "the GPU was idle: " + data.causes[cause]}, el("span.swatch", {style: {background: stripes(IDLE[cause])}}), "idle: " + causeWord(cause)));
	return box;
}

function stripes(colour) {
	return "repeating-linear-gradient(135deg," + colour + " 0 3px,transparent 3px 6px)";
}

function causeWord(cause) {
	return cause.replace("_", " ");
}

/* Idle time of a node, without its children, by cause: [cause, ms], the longest first. */
function idleCauses(report, node) {
	const of = (n, cause) => field(report, n, "idle_" + cause + "_ms") || 0;
	return CAUSES.map((cause) => [cause, report.children[node].reduce((rest, child) => rest - of(child, cause), of(node, cause))]).filter(([, ms]) => ms > 0).sort((a, b) => b[1] - a[1]);
}
