#!/usr/bin/env bash
# Servers: arguments of entries (batch, tokens) and tokens per second are compared with known values.
. "$(dirname "$0")/../native.sh"
truth=tests/cli/serving_truth.py
rule='^request \d+-\d+ out=(?<tokens>\d+) => request'

report() { # FORMAT FILE WORDS…
	"$SONDE" report "$TMP/trace.json" "report.labels=[known,'$rule']" -f "$1" -o "$TMP/$2" "${@:3}" >"$TMP/said" 2>"$TMP/err"
}

"$truth" make "$TMP"
ok serving__a_report_is_made report json report.json
ok serving__tokens_and_arguments_are_what_was_planted "$truth" check "$TMP" "$TMP/report.json"
ok serving__the_report_is_valid "$SONDE" validate "$TMP/report.json"
report csv report.csv && report sqlite report.sqlite && report perfetto perfetto.json
ok serving__other_formats_say_the_same "$truth" formats "$TMP" "$TMP/report.csv" "$TMP/report.sqlite" "$TMP/perfetto.json"

"$SONDE" report "$TMP/trace.json" "report.labels=[known,'$rule']" --partial -o "$TMP/p.sondecells"
"$SONDE" report "$TMP/p.sondecells" -f json -o "$TMP/again.json"
ok serving__a_partial_report_keeps_arguments "$truth" check "$TMP" "$TMP/again.json"

"$SONDE" report "$TMP/trace.json" "report.labels=[known,'$rule']" --entries >"$TMP/text"
ok serving__the_table_has_tokens_per_second grep -q 'tokens/s' "$TMP/text"
ok serving__slow_entries_show_their_arguments grep -Eq '(batch|tokens)=[0-9]' "$TMP/text"
"$SONDE" report tests/data/kineto/h200_train.json.gz >"$TMP/text"
ok serving__other_captures_have_no_such_column absent 'tokens' "$TMP/text"

# A server with several threads, whose ranges have all kinds of payloads.
fresh
traced "$WORK/serve" 160 4 >"$TMP/served"
settle
"$SONDE" report "$OUT" -f json -o "$TMP/served.json" >"$TMP/said" 2>"$TMP/err"
"$SONDE" report "$OUT" -f perfetto -o "$TMP/served.trace" >>"$TMP/said" 2>>"$TMP/err"
if grep -q '^decode' "$TMP/served"; then
	ok serving__payloads_and_counters_are_those_that_were_given "$truth" served "$TMP/served" "$TMP/served.json" "$TMP/served.trace"
	ok serving__the_report_of_payloads_is_valid "$SONDE" validate "$TMP/served.json"
else
	skip serving__payloads_and_counters_are_those_that_were_given "these NVTX headers have no extended payloads"
fi
windowed() { # payloads outside windows belong to nothing that is written
	"$SONDE" run -q hydra.run.dir="$TMP/w" pipeline.native.cupti=off 'capture.window=request*[40:60]' -- "$WORK/serve" 160 2 >"$TMP/served" &&
		"$SONDE" report "$TMP/w" -f json -o "$TMP/w.json" && "$SONDE" validate "$TMP/w.json" && grep -q '"tokens"' "$TMP/w.json"
}
ok serving__a_window_of_payloads_is_valid windowed
unprofiled() { "$WORK/serve" 10 2 >"$TMP/served" && [ "$(grep -c '^request' "$TMP/served")" = 10 ]; }
ok serving__the_program_runs_without_sonde_too unprofiled
