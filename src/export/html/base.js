"use strict";
/* Small tools: elements, numbers, colours of the theme, one tooltip. Nothing here knows what a region is. */

const SVG = "http://www.w3.org/2000/svg";

/* el("td.name", {title: "…"}, child, "text", …): text is always text, never markup. */
function el(spec, attributes, ...children) {
	const [tag, ...classes] = spec.split(".");
	const e = document.createElement(tag);
	if (classes.length)
		e.className = classes.join(" ");
	return dress(e, attributes, children);
}

function svg(tag, attributes, ...children) {
	return dress(document.createElementNS(SVG, tag), attributes, children);
}

function dress(e, attributes, children) {
	for (const [key, value] of Object.entries(attributes || {})) {
		if (value === null || value === undefined || value === false)
			continue;
		if (key.startsWith("on"))
			e.addEventListener(key.slice(2), value);
		else if (key === "style")
			Object.assign(e.style, value); /* by property: the policy forbids style attributes */
		else
			e.setAttribute(key, value === true ? "" : value);
	}
	e.append(...children.filter((c) => c !== null && c !== undefined && c !== false));
	return e;
}

function byId(id) {
	return document.getElementById(id);
}

function option(value, text, isChosen) {
	const o = el("option", {value}, text);
	o.selected = Boolean(isChosen);
	return o;
}

/* A labelled choice; calls `then` with the value. */
function choice(label, values, chosen, then) {
	const select = el("select", {onchange: () => then(select.value)});
	for (const [value, text] of values)
		select.append(option(value, text, value === chosen));
	return el("label", {}, label, select);
}

/* A row of buttons, one of which is pressed. */
function segments(label, values, chosen, then) {
	const box = el("span.seg", {role: "group", "aria-label": label});
	for (const [value, text] of values) {
		const b = el("button", {type: "button", "aria-pressed": String(value === chosen)}, text);
		b.addEventListener("click", () => {
			for (const other of box.children)
				other.setAttribute("aria-pressed", String(other === b));
			then(value);
		});
		box.append(b);
	}
	return box;
}

/* Makes a table's box as high as whole rows of `px` are: up to two thirds of the window, or as high as the card beside it. */
function fitHeight(box, px) {
	const card = box.closest(".card"), beside = card.nextElementSibling, head = box.querySelector("thead").offsetHeight + box.offsetHeight - box.clientHeight;
	const isBeside = beside && beside.getBoundingClientRect().left >= card.getBoundingClientRect().right;
	const most = Math.max(0.68 * innerHeight, isBeside ? beside.offsetHeight - card.offsetHeight + box.offsetHeight : 0);
	box.style.maxHeight = head + Math.floor((most - head) / px) * px + "px";
}

/* The head of a table. */
function headRow(...heads) {
	return el("thead", {}, el("tr", {}, ...heads.map((head) => el("th", {scope: "col"}, head))));
}

/* The first of the numbers 0 to `nr` - 1 for which isBefore is false, else `nr`. isBefore has to be true for all numbers before it. */
function bisect(nr, isBefore) {
	let low = 0, high = nr;
	while (low < high) {
		const mid = (low + high) >> 1;
		if (isBefore(mid))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Makes a canvas that is `width` × `height` pixels of the page ready for drawing; returns its context and the colours of the theme. */
function openCanvas(canvas, width, height, font) {
	const ratio = devicePixelRatio || 1, g = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
	canvas.width = width * ratio;
	canvas.height = height * ratio;
	canvas.style.height = height + "px";
	g.scale(ratio, ratio);
	g.font = font + " system-ui, sans-serif";
	return {g, colour: (name) => style.getPropertyValue("--" + name)};
}

/* A label as it is shown: characters that move, hide or reorder text become visible. */
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

function seen(text) {
	return text.replace(UNSEEN, (c) => ({"\n": "\\n", "\t": "\\t", "\r": "\\r"})[c] ||
		"\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
}

/* Cuts the middle out of a long text: names mostly differ at their ends. */
function cutMiddle(text, most) {
	if (text.length <= most)
		return text;
	const head = Math.ceil((most - 1) / 2);
	return text.slice(0, head) + "…" + text.slice(text.length - (most - 1 - head));
}

/* Texts cut to `most` characters. Different ones never look the same: then the part in which they differ is kept. */
function cutApart(texts, most) {
	const cut = texts.map((text) => cutMiddle(text, most)), groups = new Map();
	cut.forEach((text, i) => groups.set(text, [...(groups.get(text) || []), i]));
	for (const members of groups.values()) {
		const whole = members.map((i) => texts[i]);
		if (new Set(whole).size < 2)
			continue;
		let same = 0;
		while (whole.every((text) => text[same] !== undefined && text[same] === whole[0][same]))
			same++;
		members.forEach((i) => {
			const tail = texts[i].slice(Math.max(0, same - 2));
			cut[i] = "…" + (tail.length > most - 1 ? tail.slice(0, most - 2) + "…" : tail);
		});
	}
	const seenBefore = new Map();
	return cut.map((text, i) => {
		const other = seenBefore.get(text);
		if (other === undefined)
			seenBefore.set(text, texts[i]);
		return other === undefined || other === texts[i] ? text : text + " #" + (i + 1);
	});
}

const EMPTY_LABEL = "(empty label)";

function labelOf(text) {
	return text === "" ? el("span.label.empty-label", {}, EMPTY_LABEL) : el("span.label", {dir: "auto"}, seen(text));
}

/* Numbers for people, as in the terminal report. */
function isNumber(v) {
	return typeof v === "number" && Number.isFinite(v);
}

function factor(v, unit) {
	const prefixes = ["", "k", "M", "G", "T", "P", "E"];
	let i = 0;
	while (Math.abs(v) >= 999.5 && i + 1 < prefixes.length) {
		v /= 1000;
		i++;
	}
	const digits = i === 0 && v === Math.floor(v) ? 0 : Math.abs(v) < 9.995 ? 2 : Math.abs(v) < 99.95 ? 1 : 0;
	const tail = prefixes[i] + unit;
	return v.toFixed(digits) + (tail ? " " + tail : "");
}

function time(ns) {
	for (const [size, name] of [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]])
		if (Math.abs(ns) >= size)
			return (ns / size).toFixed(ns % size === 0 ? 0 : 2) + " " + name;
	return ns.toFixed(ns === Math.floor(ns) ? 0 : 2) + " ns";
}

/* A moment, with enough digits that moments `step` ns apart look different. */
function moment(ns, step) {
	const [size, name] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]].find(([one]) => Math.abs(ns) >= one || step >= one) || [1, "ns"];
	return (ns / size).toFixed(Math.max(0, Math.min(9, Math.ceil(Math.log10(size / step) - 1e-9)))) + " " + name;
}

/* A number without a unit, or whose unit is said elsewhere: thousands are grouped, as counts are in tables. */
function plain(v) {
	return Math.abs(v) >= 1000 ? fieldText(Math.round(v), "count") : human(v, "");
}

function human(v, unit) {
	if (typeof v === "string")
		return seen(v);
	if (!isNumber(v))
		return "–";
	if (unit === "%")
		return v.toFixed(1);
	if (unit === "ns")
		return time(v);
	if (unit.startsWith("byte"))
		return factor(v, "B" + unit.slice(4));
	return factor(v, "");
}

/* Decimals of milliseconds, the same in a whole report so that columns line up. */
let msDigits = 3;

function fitDigits(most) {
	msDigits = most < 10 ? 4 : most < 1000 ? 3 : most < 100000 ? 1 : 0;
}

function fieldText(v, form) {
	if (!isNumber(v))
		return "–";
	if (form === "count")
		return v.toLocaleString("en-US").replaceAll(",", "\u202f");
	if (form === "ms")
		return v.toFixed(msDigits);
	return v.toFixed(form === "percent" ? 1 : 2) + (form === "percent" ? " %" : "");
}

/* One tooltip for all drawings; tables use the title attribute. */
const tip = el("div", {id: "tip", role: "tooltip", hidden: true});

function showTip(event, text) {
	tip.textContent = text;
	tip.hidden = !text;
	const w = tip.offsetWidth, h = tip.offsetHeight;
	tip.style.left = Math.max(4, Math.min(event.clientX + 12, innerWidth - w - 8)) + "px";
	tip.style.top = (event.clientY + h + 24 > innerHeight ? event.clientY - h - 10 : event.clientY + 16) + "px";
}

function hideTip() {
	tip.hidden = true;
}

function copyButton(text, what, name = "Copy") {
	const b = el("button.copy", {type: "button", "aria-label": "Copy " + what}, name);
	b.addEventListener("click", async () => {
		let done = false;
		try {
			await navigator.clipboard.writeText(text);
			done = true;
		} catch {
			const area = el("textarea", {}, text);
			document.body.append(area);
			area.select();
			done = document.execCommand("copy");
			area.remove();
		}
		b.textContent = done ? "Copied" : "Press Ctrl+C";
		setTimeout(() => { b.textContent = name; }, 1500);
	});
	return b;
}

/* --- what is chosen: views read `state` and listen, only `change` writes it ----------------------------- */

const listeners = [];

function listen(f) {
	listeners.push(f);
}

/* Calls `f` when one of these parts of the state has changed. */
function listenTo(keys, f) {
	listen((changed) => keys.some((key) => changed.has(key)) && f());
}

function change(what) {
	const changed = new Set(Object.keys(what).filter((key) => state[key] !== what[key]));
	if (!changed.size)
		return;
	Object.assign(state, what);
	for (const f of listeners)
		f(changed);
}

/* --- the address ----------------------------------------------------------------------------------------- */

/* Changes of these are steps of the history, which Back undoes. Steps that follow each other at once, as of a key held down, are one. */
const STEPS = ["report", "region", "zoom", "kernel", "tab"], ONE_STEP_MS = 250;
/* Browsers allow a few hundred changes of the address in half a minute, so of many changes only the last is written. */
let addressTimer = 0, stepAt = -ONE_STEP_MS, isFollowing = false;

function writeAddress(isStep) {
	clearTimeout(addressTimer);
	addressTimer = 0;
	try {
		history[isStep ? "pushState" : "replaceState"](null, "", toFragment() || location.href.split("#")[0]);
	} catch {
		/* In a frame made of text, as in a notebook, the address may not be changed: the page works without it. */
	}
}

function followState(changed) {
	if (changed.has("theme") && changed.size === 1)
		return;
	if (!isFollowing && STEPS.some((key) => changed.has(key))) {
		const isStep = performance.now() - stepAt >= ONE_STEP_MS;
		stepAt = performance.now();
		writeAddress(isStep);
	} else if (isFollowing || changed.has("from") || changed.has("search")) {
		addressTimer = addressTimer || setTimeout(writeAddress, 250);
	} else {
		writeAddress();
	}
}

/* Changes the state to what an address asked for: no new step of the history. */
function follow(asked) {
	isFollowing = true;
	change(asked);
	isFollowing = false;
}

/* Does what an address asks for that was typed, or that Back and Forward lead to. */
function followAddress(show) {
	const asked = fromFragment(location.hash), isElsewhere = asked.tab !== state.tab;
	follow(asked);
	byId("search").value = state.search;
	if (isElsewhere)
		show(asked.tab);
}

/* --- themes and keys ------------------------------------------------------------------------------------ */

/* Black or white, whichever is easier to read on `colour`. */
function inkOn(colour) {
	const [r, g, b] = [1, 3, 5].map((i) => (parseInt(colour.slice(i, i + 2), 16) / 255) ** 2.2);
	return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.25 ? "#14171a" : "#ffffff";
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

function startTheme() {
	theme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}

function helpButton() {
	return el("button", {type: "button", id: "help", "aria-label": "Keys", title: "Keys (?)", onclick: showHelp}, "?");
}

function showHelp() {
	if (!byId("keys")) {
		const close = el("button", {type: "button", onclick: () => byId("keys").close()}, "Close");
		document.body.append(el("dialog", {id: "keys", "aria-label": "Keys"}, el("h2", {}, "Keys"),
			el("dl.kv", {}, ...KEY_LIST.flatMap(([key, words]) => [el("dt", {}, key), el("dd", {}, words)])), close));
	}
	if (!byId("keys").open)
		byId("keys").showModal();
}

function leaveSearch(box) {
	box.value = "";
	box.dispatchEvent(new Event("input"));
	box.blur();
}

/* Closes what is open over the page, unless it contains `but`; returns whether anything was. */
function closeOver(but) {
	const open = [...document.querySelectorAll("details.over[open]")].filter((d) => !d.contains(but));
	open.forEach((d) => d.open = false);
	return open.length > 0;
}

document.addEventListener("click", (event) => closeOver(event.target));

/* Opens notes, tables of ranks and figures of findings for printing. */
function printOpen() {
	let opened = [];
	addEventListener("beforeprint", () => {
		opened = [...document.querySelectorAll("details:is(.notes, .tables, .figures):not([open])")];
		opened.forEach((d) => d.open = true);
	});
	addEventListener("afterprint", () => opened.forEach((d) => d.open = false));
}
