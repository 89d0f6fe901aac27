/* Findings: a card for each, with its gain, its place and the figures it is based on. */

const FEW_FINDINGS = 3;

/* Words written for a terminal, for the page: without options of commands. */
function inPage(text) {
	return seen(text.replace(/ \([\w-]+ -[^)]*\)/g, "").replace(/run `sonde whatif RUN ([^`]*)` to estimate it/, "a replay of the change “$1” may tell"));
}

/* Selects a region, zooms the chart into it, and scrolls to its row. */
function goToRegion(region) {
	change({region, zoom: region});
	const row = byId("row" + selectedNode());
	if (row)
		row.scrollIntoView({block: "nearest"});
}

function regionLink(region, text) {
	return el("button.link", {type: "button", onclick: () => goToRegion(region)}, text);
}

/* The words of a figure: those of its table column if it has one, the head of a metric, else its key in words. */
function figureWords(key) {
	const f = data.fields.find((one) => one.json === key), metric = data.metrics.find((m) => m.n === key);
	return f ? fieldWords(f) : metric ? metric.h || metric.n : key.replaceAll("_", " ");
}

function evidenceText(e) {
	const unit = e.unit === "%" ? " %" : e.unit ? " " + e.unit : "";
	const digits = (v) => e.unit === "%" ? v.toFixed(1) : e.unit === "ms" ? v.toFixed(3) : plain(v);
	return isNumber(e.v) ? digits(e.v) + (isNumber(e.error) ? " ± " + digits(e.error) : "") + unit : "not known";
}

/* The figures behind a card: below it when they are asked for, and in print. */
function evidence(f) {
	const row = (e) => el("div", {title: e.method},
		el("dt", {}, figureWords(e.figure), el("span.soft", {}, e.kernel !== undefined ? " of " + seen(kernelName(e.kernel)) : e.region >= 0 ? " of " + pathText(data.regions[e.region]) : "")),
		el("dd", {}, evidenceText(e), el("span.soft", {}, " · " + e.method)));
	return f.evidence.length ? el("details.figures.over", {}, el("summary", {}, "figures"), el("dl.evidence", {"aria-label": "Evidence"}, ...f.evidence.map(row))) : null;
}

/* Whether a replay has shown that the change of a finding saves nothing. */
function isInVain(f) {
	return isNumber(f.gain_ms) && f.gain_ms < 0.0005;
}

/* Where a finding leads: its kernel, or the longest gap of its cause. */
function leads(f) {
	const box = el("span.leads", {}), report = state.report;
	if (f.kernel !== undefined)
		box.append(el("button.link", {type: "button", onclick: () => openKernel(f.kernel, f.region)}, "the kernel"));
	const gap = (report.gaps || []).find((g) => g.cause === f.cause && (f.region < 0 || g.region >= 0 && isInside(report, g.region, f.region)));
	if (gap && view.tracks.length)
		box.append(el("button.link", {type: "button", onclick: () => showGap(gap)}, "its longest gap in the timeline"));
	return box.children.length ? el("span", {}, "See ", ...[...box.children].flatMap((b, i) => i ? [", ", b] : [b])) : null;
}

/* The number of a card and, below it, what it is: what the change saves, or what the cause costs if that is not known or nothing. */
function cardNumber(f) {
	const isSaved = isNumber(f.gain_pct) && !isInVain(f), pct = Math.round(isSaved ? f.gain_pct : f.pct), of = f.of || "of each step";
	return el(isSaved ? "div.gain" : "div.gain.cost", {}, el("b", {}, (pct || "< 1") + " %"), el("span", {}, of + (!isSaved ? ": its cost" : f.is_most ? " saved at most" : " saved")));
}

function findingCard(f, i, isOneOfMany) {
	const where = f.region >= 0 ? regionLink(f.region, seen(f.where)) : el("b", {}, seen(f.where));
	return el("li.card", {},
		el("div.row.between.nowrap", {}, el("h3", {}, i + 1 + ". ", where), cardNumber(f)),
		el("p", {}, inPage(f.says).replace(/\.$/, "") + "." + (isOneOfMany && f.also ? " " + inPage(f.also) : "")), el("p", {}, el("b", {}, "Do: "), inPage(f.do)), el("p.soft", {}, el("b", {}, "Gain: "), inPage(f.gain)), el("div.row.small", {}, leads(f), evidence(f)));
}

/* Draws the first findings, each cause once and none that saves nothing; the others on demand, and in print. */
function drawFindings() {
	const all = data.findings || [], box = byId("findings-box");
	box.hidden = !all.length;
	if (!all.length)
		return;
	const list = el("ol", {id: "findings"});
	const fill = (some) => list.replaceChildren(...some.map((f, i) => findingCard(f, i, some.length < all.length))), first = all.filter((f) => f === all.find((g) => g.cause === f.cause)), useful = first.filter((f) => !isInVain(f));
	const few = (useful.length ? useful : first).slice(0, FEW_FINDINGS);
	fill(few);
	box.append(el("h2", {}, "What to change first"), list);
	if (all.length > few.length) {
		const more = el("button", {type: "button", id: "more-findings"}, "show all " + all.length + " findings");
		const open = () => {
			fill(all);
			more.remove();
		};
		more.addEventListener("click", open);
		addEventListener("beforeprint", open);
		box.append(more);
	}
}
