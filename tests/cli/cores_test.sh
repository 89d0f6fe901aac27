#!/usr/bin/env bash
# Inputs are folded on all cores. A report does not depend on the number of cores, nor on the order in which they finish.
. "$(dirname "$0")/../lib.sh"
inputs=(tests/data/ncu/*_kernel.ncu-rep examples/h200_train tests/data/diff/*.sonde.gz)

report() { "$SONDE" report "${inputs[@]}" -f json --deterministic; }

report >"$TMP/all.json" 2>/dev/null
ok "many inputs of many kinds make one report" test -s "$TMP/all.json"
same_each_time() {
	local i
	for i in 1 2 3 4 5; do
		report >"$TMP/again.json" && cmp "$TMP/all.json" "$TMP/again.json" || return
	done
}
ok "the report is the same every time" same_each_time
on_one_core() { taskset -c 0 "$SONDE" report "${inputs[@]}" -f json --deterministic >"$TMP/one.json" && cmp "$TMP/all.json" "$TMP/one.json"; }
if command -v taskset >/dev/null; then
	ok "the report is the same on one core" on_one_core
else
	skip "the report is the same on one core" "no taskset here"
fi
# One input cannot be read: the message is about the first error in the order of the inputs.
printf 'not a capture' >"$TMP/bad"
told() {
	! "$SONDE" report tests/data/ncu/seed_kernel.ncu-rep "$TMP/bad" tests/data/ncu/none_kernel.ncu-rep "$TMP/missing" >/dev/null 2>"$TMP/err" &&
		grep -q "$TMP/bad" "$TMP/err" && ! grep -q missing "$TMP/err"
}
ok "of several bad inputs the first is named" told
