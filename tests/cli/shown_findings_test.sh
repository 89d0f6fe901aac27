#!/usr/bin/env bash
# What findings say agrees with the rows, with other views of the same run, and with other selections of it.
. "$(dirname "$0")/../lib.sh"
TRAIN=examples/h200_train NCU=examples/h200_transformer.ncu-rep

idle_places() { # ARGS…: cause and region of each finding about idle time
	"$SONDE" report "$TRAIN" --nvtx-exclude warmup -f json "$@" >"$TMP/out" || return
	jq -r '.findings[] | select(.says | contains("was idle")) | .cause + " " + (.region // "none")' "$TMP/out"
}
same_places() {
	idle_places >"$TMP/all" && [ "$(wc -l <"$TMP/all")" -ge 2 ] && idle_places --kernel-include 'multi_tensor*' >"$TMP/some" && diff "$TMP/all" "$TMP/some"
}
ok idle_findings__do_not_depend_on_the_kernel_filter same_places

decode() { "$SONDE" report "$NCU" --nvtx-include 'decode*' --width 2000 "$@" >"$TMP/out"; }
torch_words() { decode --kernel-include 'regex:gemm|gemv|nvjet' && grep -qF 'Do: use larger batches' "$TMP/out"; }
ok advice__is_in_words_of_pytorch_under_a_kernel_filter torch_words
torch_partial() { # the same from a partial report
	"$SONDE" report "$NCU" --nvtx-include 'decode*' --kernel-include 'regex:gemm|gemv|nvjet' --partial -o "$TMP/p.sondecells" &&
		"$SONDE" report "$TMP/p.sondecells" >"$TMP/out" && grep -qF 'use larger batches' "$TMP/out"
}
ok advice__is_in_words_of_pytorch_in_a_partial_report torch_partial
selected() {
	decode --kernel-include 'regex:gemm|gemv|nvjet' && grep -qF 'takes 0.023 of the selected 0.071 ms of each entry of decode (32%)' "$TMP/out" &&
		grep -qF '3 entries of 0.071 ms in selected kernels (' "$TMP/out" && decode && grep -qF 'takes 0.023 of 0.158 ms of each entry of decode (14%)' "$TMP/out"
}
ok costs__are_of_the_selected_time_if_only_that_is_known selected

in_ranges() { # a start-up costs time in ranges, whose length the sentence and JSON say
	local ms
	"$SONDE" report "$TRAIN" -f json >"$TMP/run.json" && "$SONDE" validate "$TMP/run.json" && ms=$(jq -r '.step.ranges_ms' "$TMP/run.json") &&
		"$SONDE" report "$TRAIN" --findings all --width 2000 >"$TMP/out" && grep -qF "$(printf 'of %.3f ms in ranges (43%%)' "$ms")" "$TMP/out" &&
		jq -e '[.findings[] | select(.cost.share_of == "ranges")] | length > 0' "$TMP/run.json"
}
ok costs__beside_the_step_are_of_the_time_in_ranges in_ranges
wrong_ranges() { jq '.step.ranges_ms *= 2' "$TMP/run.json" >"$TMP/wrong.json" && ! "$SONDE" validate "$TMP/wrong.json" 2>"$TMP/err" && grep -q 'share_pct' "$TMP/err" "$TMP/out"; }
ok validate__compares_shares_with_the_time_in_ranges wrong_ranges

one_clock() { # a slow entry of the warm-up is where its gap is, in ms
	local entry gap
	"$SONDE" report "$TRAIN" --entries --width 300 >"$TMP/out" && entry=$(awk '/^slowest/{is=1} is && $1 == "warmup/step" {print $2 * 1000; exit}' "$TMP/out") &&
		"$SONDE" report "$TRAIN" --idle --width 300 >"$TMP/idle" && gap=$(awk '$1 == "warmup/step/forward/layer0/attn" {print $3; exit}' "$TMP/idle") &&
		awk -v e="$entry" -v g="$gap" 'BEGIN {exit !(e > 3000 && g > e && g < e + 400)}' && grep -q '^at: ' "$TMP/out" && grep -q '^at: ' "$TMP/idle"
}
ok entries_and_gaps__have_one_clock one_clock
json_clock() { # gaps on the clock of the entries
	jq -e '(.scopes[0].regions[] | select(.region_id? == "warmup" or .id == "warmup") | .entries.begin_ms[0] // 0) as $warmup | .scopes[0].longest_gaps |
		(map(select(.region == "warmup/step/forward/layer0/attn"))[0].begin_ms) as $g | $g > $warmup and $g < $warmup + 400' "$TMP/run.json"
}
ok json__gaps_begin_on_the_clock_of_entries json_clock

no_more() { "$SONDE" report "$TRAIN" --idle --width 2000 >"$TMP/out" && grep -q 'Do: ' "$TMP/out" && absent -e 'More: .*--idle' "$TMP/out"; }
ok more__does_not_name_the_view_that_is_shown no_more
bare() { "$SONDE" report "$TRAIN" --idle --width 100 >"$TMP/out" && absent -e '^total in regions *$' -e '^(outside any range) *$' "$TMP/out"; }
ok rows__without_figures_are_left_out bare

copies() { # copies cost what the row of their region says, not what one around it has
	"$SONDE" report tests/data/nsys/h100.sqlite -f json | python3 -c 'import json, sys
nr = 0
for f in json.load(sys.stdin)["findings"]:
    row = {e["figure"]: e["value"] for e in f["evidence"]}
    if f["cause"] == "copies":
        nr += 1
        assert f["cost"]["run_ms"] <= 1.0001 * (row["copy_ms"] + row["idle.copy_ms"]), f
assert nr > 2'
}
no_calls() { # work from before the recording: ranges would not help
	"$SONDE" report tests/data/nsys/h100.sqlite -f json | jq -e '.findings[0] | .cause == "outside" and (.says | startswith("most of the GPU'"'"'s work has no host call in the capture")) and (.do | startswith("begin the recording before"))'
}
ok "work without host calls is not told to have ranges" no_calls
large_causes() { "$SONDE" report tests/data/kineto/dlrm_two_ranks.tar.gz --idle --width 80 | grep -q '^region .* idle ms .*launch ms .*host ms'; }
ok "the columns of large causes stay when the table is narrow" large_causes

chosen_first() { # the step that the user chose, each finding once
	"$SONDE" report examples/h200_train report.step=step/optimizer -f json >"$TMP/chosen.json" &&
		jq -e '(.findings | .[0].region == "step/optimizer" and .[0].cost.share_of == "step") and ([.findings[] | [.cause, .region, .kernel]] | length == (unique | length))' "$TMP/chosen.json" &&
		! "$SONDE" report examples/h200_train report.step=forward 2>"$TMP/err" && grep -q "did you mean 'step/forward'?" "$TMP/err"
}
ok "findings of the step that was chosen come first" chosen_first

ok "copies cost what their row says" copies
