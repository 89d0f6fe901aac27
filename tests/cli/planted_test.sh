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

grouped() { # one cause is one finding, its other places are named; all are there when asked for
	"$SONDE" report --width 300 examples/h200_transformer.ncu-rep >"$TMP/few" && [ "$(grep -c 'limited by latency' "$TMP/few")" -eq 1 ] &&
		grep -q 'Also: ' "$TMP/few" && ! "$SONDE" report examples/h200_transformer.ncu-rep --findings all | grep -q 'Also: '
}
ok "findings of one cause are one finding" grouped
