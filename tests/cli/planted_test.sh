#!/usr/bin/env bash
# Traces of synthetic programs, each with a planted problem (planted.py): the first finding names the problem. Where there are
# two problems, the first finding names the larger one, the second finding the other.
. "$(dirname "$0")/../lib.sh"

mkdir "$TMP/planted" && python3 tests/cli/planted.py "$TMP/planted"

first() { # FILE CAUSES REGIONS [CAUSES REGIONS]: alternatives are separated by |
	"$SONDE" report "$TMP/planted/$1" -f json >"$TMP/report.json" && "$SONDE" validate "$TMP/report.json" >/dev/null &&
		python3 tests/cli/planted_first.py "$TMP/report.json" "${@:2}"
}
while IFS=$'\t' read -r file causes where second there; do
	ok "${file%.*}: the first finding is $causes at $where${second:+, then $second at $there}" first "$file" "$causes" "$where" ${second:+"$second" "$there"}
done <"$TMP/planted/truth.tsv"

threads() { # threads that wait for each other: the gain is not known, rather than none
	"$SONDE" report "$TMP/planted/two_threads.json" -f json >"$TMP/threads.json" &&
		python3 - "$TMP/threads.json" <<-'P' &&
			import json, sys
			gain = json.load(open(sys.argv[1]))["findings"][0]["gain"]
			assert gain["step_ms"] is None and "threads" in gain["from"], gain
		P
		"$SONDE" whatif "$TMP/planted/two_threads.json" ahead:train_step 2>/dev/null | grep -q 'ahead:train_step: not known; several threads'
}
ok "two threads: the gain of work done ahead is not known" threads
usual() { # gains are of a usual step, and reading no value is what saves most
	"$SONDE" report "$TMP/planted/slow_start.json" -f json >"$TMP/slow.json" && "$SONDE" report "$TMP/planted/values.json" -f json >"$TMP/values.json" &&
		python3 - "$TMP/slow.json" "$TMP/values.json" <<-'P'
			import json, sys
			slow, values = (json.load(open(p))["findings"][0] for p in sys.argv[1:])
			assert 5.5 < slow["gain"]["of_ms"] < 7.5 and 2.2 < slow["gain"]["step_ms"] < 2.9, slow["gain"]
			assert values["change"] == "nosync:train_step/forward" and 0.5 < values["gain"]["step_ms"] < 0.9, values["gain"]
		P
}
ok "gains are of a usual step" usual
grouped() { # one cause is one finding, its other places are named; all are there when asked for
	"$SONDE" report --width 300 examples/h200_transformer.ncu-rep >"$TMP/few" && [ "$(grep -c 'limited by latency' "$TMP/few")" -eq 1 ] &&
		grep -q 'Also: ' "$TMP/few" && ! "$SONDE" report examples/h200_transformer.ncu-rep --findings all | grep -q 'Also: '
}
ok "findings of one cause are one finding" grouped

same_order() { # JSON has the findings in the order of text, in which each cause is shown once
	local f
	for f in examples/h200_transformer.ncu-rep "$TMP/planted"/{compiled_first,item_and_copies}.json; do
		"$SONDE" report "$f" -f json | python3 -c 'import json, sys
seen, n = set(), 0
for f in json.load(sys.stdin)["findings"]:
    if f["cause"] not in seen and n < 3:
        n += 1
        print("%d. %s: %s" % (n, f["where"], f["says"]))
    seen.add(f["cause"])' >"$TMP/in_json"
		"$SONDE" report "$f" --width 5000 | sed -nE 's/\.( Also: .*)?$//; /^[0-9]\. /p' >"$TMP/in_text"
		[ -s "$TMP/in_text" ] && diff "$TMP/in_text" "$TMP/in_json" || return
	done
}
ok "text and JSON have one order" same_order

slow_first() { # half a second in the first of 25 steps is a cost of the run, in no mean, and it is told
	"$SONDE" report "$TMP/planted/compiled_first.json" --width 300 >"$TMP/few" && grep -q ' entries of [0-9.]* ms, without 1 that took far longer' "$TMP/few" &&
		grep -qE '^2\. train_step: the GPU was idle for [45][0-9.]* of [0-9.]* ms in ranges \([0-9]+%\), mostly in 1 of [0-9]+ entries, because the host' "$TMP/few" &&
		"$SONDE" report "$TMP/planted/compiled_first.json" -f json | jq -e '.step.entries_left_out == 1 and .step.entry_ms < 12 and .findings[-1].cost.step_ms == null and .findings[-1].cost.share_of == "ranges"' >/dev/null
}
ok "a slow first entry is not in the mean" slow_first

none() { # what has no times of launches has no findings; the key is there
	"$SONDE" report tests/data/ncu/seed_apprange.ncu-rep -f json >"$TMP/none.json" && "$SONDE" validate "$TMP/none.json" >/dev/null && jq -e '.findings == []' "$TMP/none.json" >/dev/null
}
ok "no findings are an empty list" none
