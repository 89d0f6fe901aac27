#!/usr/bin/env bash
# Partial reports on the command line: written, read alone, together with others, and together with captures.
. "$(dirname "$0")/../lib.sh"
D=$PWD/tests/data/ncu
report() { "$SONDE" report --deterministic "$@"; }
partial() { # FILE.sondecells INPUT…
	report "${@:2}" --partial -o "$TMP/$1"
}

same() { # FORMAT PARTIAL CAPTURE
	local in="s,$2,IN,g; s,$3,IN,g" # findings name the input
	diff <(report -f "$1" "$2" --width 1000 | sed "$in") <(report -f "$1" "$3" --width 1000 | sed "$in")
}
ok "a partial report is written" partial a.sondecells "$D/seed_kernel.ncu-rep"
for f in text json md csv folded speedscope hatchet svg; do
	ok "$f of it is that of the capture" same "$f" "$TMP/a.sondecells" "$D/seed_kernel.ncu-rep"
done
ok "another is written" partial b.sondecells "$D/threads_kernel.raw.csv"

in_any_order() {
	report -f json "$D/seed_kernel.ncu-rep" "$D/threads_kernel.raw.csv" >"$TMP/want.json" &&
		report -f json "$TMP/b.sondecells" "$TMP/a.sondecells" | cmp - "$TMP/want.json" &&
		report -f json "$TMP/b.sondecells" "$D/seed_kernel.ncu-rep" | cmp - "$TMP/want.json" &&
		report -f json "$D/threads_kernel.raw.csv" "$D/seed_kernel.ncu-rep" | cmp - "$TMP/want.json"
}
ok "inputs count the same in any order and form" in_any_order

of_a_directory() {
	mkdir -p "$TMP/dir" && cp "$TMP"/[ab].sondecells "$TMP/dir" && ! report "$TMP/dir" && report -f json "$TMP/dir" report.together=true | grep -v together | cmp - <(grep -v together "$TMP/want.json")
}
ok "a directory of them is an input" of_a_directory

# Each kind of capture together with the next: two ranks, a window, a budget, samples, every reader.
T=$PWD/tests/data
"$BUILD"/tools/ranks_make "$TMP/ranks" ranks=2 steps=4 && "$BUILD"/tools/ranks_make "$TMP/window" ranks=1 steps=3 window=1 &&
	"$BUILD"/tools/ranks_make "$TMP/budget" ranks=1 steps=6 budget_ppm=5000 || not_ok "captures are made"
kinds=("$TMP"/ranks/rank0000{0,1}.sonde "$TMP/window/rank00000.sonde" "$TMP/budget/rank00000.sonde" "$T/sampled_capture" "$T/diff/train.sonde.gz"
	"$T/kineto/h200_graph.json.gz" "$T/nsys/mock.sqlite" "$T/proton/cuda.json" "$T/ncu/seed_range_A.ncu-rep" "$T/ncu/deep_kernel.raw.csv")
nr=${#kinds[@]}
for ((i = 0; i < nr; i++)); do partial "k$i.sondecells" "${kinds[i]}" || not_ok "a partial report of ${kinds[i]}"; done
beside() { # I K: the capture itself, then its partial report, in both orders; gains need the launches
	report -f json report.whatif=off "${kinds[$1]}" "${kinds[$2]}" >"$TMP/want" && report -f json report.whatif=off "$TMP"/k{"$1","$2"}.sondecells | cmp - "$TMP/want" &&
		report -f json report.whatif=off "$TMP"/k{"$2","$1"}.sondecells | cmp - "$TMP/want"
}
grouped() { # I K L: (I K) L and I (K L)
	report -f json report.whatif=off "${kinds[$1]}" "${kinds[$2]}" "${kinds[$3]}" >"$TMP/want" && report "$TMP"/k{"$1","$2"}.sondecells --partial -o "$TMP/ik.sondecells" &&
		report "$TMP"/k{"$3","$2"}.sondecells --partial -o "$TMP/kl.sondecells" &&
		report -f json report.whatif=off "$TMP/k$3.sondecells" "$TMP/ik.sondecells" | cmp - "$TMP/want" &&
		report -f json report.whatif=off "$TMP/kl.sondecells" "$TMP/k$1.sondecells" | cmp - "$TMP/want"
}
every_kind() {
	local i
	for ((i = 0; i < nr; i++)); do
		beside $i $(((i + 1) % nr)) || { echo "${kinds[i]} and the next differ"; return 1; }
		[ $((i % 3)) -gt 0 ] || grouped $i $(((i + 1) % nr)) $(((i + 4) % nr)) || { echo "${kinds[i]} and two more differ"; return 1; }
	done
}
ok "every kind of capture gives the same bytes as its partial report" every_kind
told() { report "$TMP/k$1.sondecells" >"$TMP/out" && grep -q -- "$2" "$TMP/out"; }
ok "a window is told of a partial report" told 2 'captured in 1 window'
ok "a budget is told of a partial report" told 3 'budget 0.5%'
ok "counters are told of a partial report" told 4 'samples split among'

# Layout 13 has no wall times; all else is as a report of the trace has it.
without_findings() { sed '/^ "findings": \[/,/^ \],/d; /{"rule": /d; s/, "ranges_ms": [0-9.]*//'; } # the time in ranges is of wall times; rules for labels are newer
without_wall() { # reads a report
	without_findings | grep -vE '^ *"wall_ms": [0-9.]+,$' | sed -E 's/"wall": \{[^}]*\}, //; s/"wall_ms": \[[^]]*\], //'
}
of_layout_13() {
	report -f json tests/cli/partials/layout13.sondecells >"$TMP/13.json" && ! grep -q wall "$TMP/13.json" &&
		report -f json tests/data/kineto/trace_compare__base__base.json.gz | tee "$TMP/14.json" | without_wall | diff - <(without_findings <"$TMP/13.json") && grep -q '"wall_ms"' "$TMP/14.json"
}
ok "one of the layout before is read, without wall times" of_layout_13
of_layout_14() {
	report -f json tests/cli/partials/layout14.sondecells | without_findings | diff - <(without_findings <"$TMP/14.json")
}
ok "one of the layout before arguments is read" of_layout_14
budget_of_layout_13() { # its errors of estimates are skipped, and what comes behind them is what it was
	report -f json tests/cli/partials/layout13_budget.sondecells -o "$TMP/13.json" && "$SONDE" validate "$TMP/13.json" >/dev/null &&
		grep -q '"host_ms"' "$TMP/13.json" && ! grep -q _error "$TMP/13.json"
}
ok "one of a budget of the layout before is read" budget_of_layout_13

merged() {
	report "$TMP/a.sondecells" "$TMP/b.sondecells" --partial -o "$TMP/ab.sondecells" &&
		report -f json "$TMP/ab.sondecells" | cmp - "$TMP/want.json"
}
ok "partial reports merge into one" merged

with_selection() {
	report "$D/seed_kernel.ncu-rep" --nvtx-include A --kernel-exclude '*fill*' --partial -o "$TMP/s.sondecells" &&
		diff <(report -f json "$TMP/s.sondecells" --nvtx-include A --kernel-exclude '*fill*') \
			<(report -f json "$D/seed_kernel.ncu-rep" --nvtx-include A --kernel-exclude '*fill*') &&
		report "$TMP/s.sondecells" >"$TMP/s.txt" && grep -q 'not selected' "$TMP/s.txt"
}
ok "a selection stays with it" with_selection

fails() { # STATUS TEXT COMMAND…
	local status=$1 text=$2
	shift 2
	"$@" >"$TMP/out" 2>&1
	[ $? = "$status" ] && grep -q -- "$text" "$TMP/out" || {
		cat "$TMP/out"
		return 1
	}
}
ok "another selection is refused" fails 2 'made with another selection' report "$TMP/a.sondecells" --nvtx-include B
ok "two selections are refused" fails 2 'different settings' report "$TMP/a.sondecells" "$TMP/s.sondecells"
ok "what was left out is named" fails 2 'was left out when a partial report was made' \
	report "$TMP/a.sondecells" --metrics device__attribute_clock_rate
ok "it needs a file" fails 2 'needs a file' report "$D/seed_kernel.ncu-rep" --partial
ok "it has no other format" fails 2 'format of its own' report "$D/seed_kernel.ncu-rep" --partial -f json -o "$TMP/x"
by_name() { "$SONDE" report "$D/seed_kernel.ncu-rep" -o "$TMP/x.sondecells" && "$SONDE" report "$D/seed_kernel.ncu-rep" --partial -o "$TMP/y" && cmp "$TMP/x.sondecells" "$TMP/y"; }
ok "its name is enough" by_name
head -c 1000 "$TMP/a.sondecells" >"$TMP/cut.sondecells"
ok "damage is an error" fails 1 'damaged or cut off' "$SONDE" report "$TMP/cut.sondecells"

without_launches() {
	report -f html "$TMP/a.sondecells" >"$TMP/a.html" && grep -q 'partial reports contain no single launches' "$TMP/a.html" &&
		report -f sqlite "$TMP/a.sondecells" -o "$TMP/a.db"
}
ok "formats with single launches say that there are none" without_launches
