#!/usr/bin/env bash
# sonde report: its output is compared byte for byte with tests/cli/golden/ (`make accept` rewrites these files).
# Runs long.
. "$(dirname "$0")/../lib.sh"
DATA=tests/data/ncu GOLDEN=tests/cli/golden

fails() { # NAME STATUS TEXT COMMAND…: exit status, and TEXT on standard error
	local name=$1 want=$2 text=$3 rc
	shift 3
	"$@" >"$TMP/out" 2>"$TMP/err"
	rc=$?
	if [ "$rc" = "$want" ] && grep -qF -- "$text" "$TMP/err" && [ "$(wc -l <"$TMP/err")" = 1 ]; then
		pass "$name"
	else
		echo "exit $rc, standard error: $(cat "$TMP/err")"
		not_ok "$name"
	fi
}
report() { "$SONDE" report --deterministic "$@"; }

REPORTS="seed_kernel names_kernel overlap_kernel domains_kernel seed_range_A mpi2_kernel none_kernel empty_kernel
deep_kernel graph_whole threads_kernel"

for r in $REPORTS; do
	ok "golden $r.txt" golden "$r.txt" report "$DATA/$r.ncu-rep"
	report --format json "$DATA/$r.ncu-rep" >"$TMP/$r.json"
	ok "$r is valid and its parts add up" "$SONDE" validate "$TMP/$r.json"
done
if command -v python3 >/dev/null; then
	python3 tests/cli/ncu_truth.py "$SONDE" $DATA/seed_roofline.ncu-rep $DATA/ops_counts.ncu-rep || : >"$TMP/.not_ok"
else
	skip ncu_truth "python3 is not installed"
fi
ok "golden seed_kernel.md" golden seed_kernel.md report --format md $DATA/seed_kernel.ncu-rep
ok "golden seed_kernel.csv" golden seed_kernel.csv report --format csv $DATA/seed_kernel.ncu-rep
ok "golden names_kernel.csv" golden names_kernel.csv report --format csv --metrics gpu__time_duration.sum $DATA/names_kernel.ncu-rep
ok "golden names_kernel.md" golden names_kernel.md report --format md --metrics gpu__time_duration.sum $DATA/names_kernel.ncu-rep
ok "golden overlap_kernel.json" golden overlap_kernel.json report --format json --metrics gpu__time_duration.sum $DATA/overlap_kernel.ncu-rep
ok "golden ascii_80.txt" golden ascii_80.txt env LC_ALL=C "$SONDE" report --width 80 $DATA/names_kernel.ncu-rep
ascii_bounds() {
	LC_ALL=C "$SONDE" report $DATA/seed_kernel.ncu-rep >"$TMP/ascii" && grep -E '^A  .* <=47\.8 +<=1\.3 +~78\.0' "$TMP/ascii" && absent '<[0-9]' "$TMP/ascii"
}
ok "without UTF-8 a bound is marked <=" ascii_bounds
ok "golden kernels.txt" golden kernels.txt report --max-kernels 2 --sort time $DATA/seed_kernel.ncu-rep
TIMED=tests/data/kineto/h200_train.json.gz
ok "golden idle.txt" golden idle.txt report --idle --width 100 $TIMED
ok idle__causes_stay_on_a_narrow_terminal_and_counters_give_way output_has '^region +idle ms +launch ms ' "$SONDE" report --idle --width 100 examples/h200_train
ok "golden entries.txt" golden entries.txt report --entries --width 130 $TIMED
ok "golden flat.txt" golden flat.txt report --flat --max-kernels 8 $TIMED
ok "without their times there are no entries to show" output_has '^The capture has no times of single entries' "$SONDE" report --entries $DATA/seed_kernel.ncu-rep
whole_names() { # where asked for, and always where programs read
	report --flat --full-names --width 200 $DATA/seed_kernel.ncu-rep | grep -q '^void gemm_tile<(int)2>(const float \*, const float \*, float \*, int) ' &&
		report -f md --full-names $DATA/seed_kernel.ncu-rep | grep -q '^| void gemm_tile' &&
		report -f json $DATA/seed_kernel.ncu-rep | grep -q '"kernel_name": "void gemm_tile'
}
ok "--full-names shows whole names of kernels, JSON always has them" whole_names
flat_is_all() { # each launch once, in regions or not
	report --flat $DATA/seed_kernel.ncu-rep | awk '/^kernel/ {in_table = 1; next} !NF || /^≈/ {in_table = 0} in_table {n += $2} END {exit n != 29}'
}
ok "--flat has every launch once" flat_is_all
aggregate_first() { report --per-scope $DATA/mpi2_kernel.ncu-rep | grep -oE '^(aggregate|process:)' | head -1 | grep -qx aggregate; }
ok "with --per-scope the aggregate comes first" aggregate_first
sections() { report -f md $DATA/mpi2_kernel.ncu-rep "$@" | grep -oE '^## (aggregate|process)' | tr '\n' ' '; }
ok "Markdown has each scope, then the aggregate" [ "$(sections)" = '## process ## process ## aggregate ' ]
ok "without aggregate Markdown loses that section alone" [ "$(sections --no-aggregate)" = '## process ## process ' ]
ncu_markdown() {
	report -f md $DATA/seed_kernel.ncu-rep >"$TMP/ncu.md" && head -1 "$TMP/ncu.md" | grep -qx '# NCU Region Reports' &&
		grep -q '^| Region | Total ms | Kernels | ' "$TMP/ncu.md" && grep -q '^| gemm_tile | void gemm_tile&lt;(int)2&gt;(const float' "$TMP/ncu.md" &&
		report -f md examples/h200_train | head -1 | grep -qx '# Region report'
}
ok "Markdown of ncu reports has the title, the columns and the names that programs look for" ncu_markdown
X=examples/h200_transformer.ncu-rep
in_utf8() { LC_ALL=C.UTF-8 report "$@"; }
three_digits() { # the unit is that of the longest, and three digits of the shortest stay
	in_utf8 $DATA/names_kernel.ncu-rep | grep -qE '^a/b +1 +2\.82 +2\.82 ' &&
		in_utf8 $DATA/seed_kernel.ncu-rep | grep -qE '^A +18 +413\.5 +371\.9 '
}
ok "regions of microseconds keep three digits, in every row of the column" three_digits
told_apart() { # below each region no two kernels read the same, and they stand under its lines
	in_utf8 --max-kernels 2 $X >"$TMP/x.txt" && grep -q '^│  │  │  ·  cudnn' "$TMP/x.txt" &&
		! sed -n 's/^[│ ]*·  \([^ ]*\) .*/\1/p; t; s/^.*$/-/p' "$TMP/x.txt" | uniq -d | grep -v '^-'
}
ok "kernels stand below the lines of their region and are told apart" told_apart
sums_first() { in_utf8 --metrics 'dram__bytes*' $X | grep -qE '^region .* bytes_read\.sum +bytes_write\.sum$'; }
ok "of a pattern's metrics the sums come first" sums_first
narrow() { ! LC_ALL=C report --width 40 $DATA/seed_kernel.ncu-rep | grep -E '.{41}'; }
ok "a table of 40 columns fits" narrow
ok "golden mixed.txt" golden mixed.txt report $DATA/seed_kernel.ncu-rep $DATA/seed_range_A.ncu-rep
ok "golden colour.txt" golden colour.txt report --color always $DATA/seed_kernel.ncu-rep

lists_metrics() {
	"$SONDE" report --list-metrics $DATA/seed_kernel.ncu-rep >"$TMP/names" && grep -qP '^dram__bytes_read.sum\tbyte\tsum\tdefault\tbytes read from the GPU.s memory \(DRAM\)$' "$TMP/names" &&
		grep -qP '^dram__bytes_read.max\tbyte\tsum of max: upper bound\t\t' "$TMP/names" && [ "$(wc -l <"$TMP/names")" = 295 ]
}
ok "the metrics of a capture are listed with unit and method" lists_metrics
metric_table() { # on a terminal: the same words below heads, each column where its head is; no name is cut
	python3 - "$SONDE" $DATA/seed_kernel.ncu-rep "$TMP/names" <<-'END'
	import os, pty, subprocess, sys
	sonde, capture, names = sys.argv[1:]
	master, slave = pty.openpty()
	out = b""
	with subprocess.Popen([sonde, "report", "--list-metrics", capture], stdout=slave, env=dict(os.environ, COLUMNS="220", NO_COLOR="1")) as p:
	    os.close(slave)
	    while True:
	        try:
	            piece = os.read(master, 65536)
	        except OSError:
	            break
	        out += piece
	lines = out.decode().replace("\r", "").splitlines()
	heads = ["metric", "unit", "rolls up by", "in reports", "what it means"]
	at = [lines[0].index(h) for h in heads] + [None]
	cells = ["\t".join(line[a:b].strip() for a, b in zip(at, at[1:])) for line in lines[1:]]
	assert cells == [line.rstrip("\n") for line in open(names)], "not the words of the list with tabs"
	assert sum(bool(c.split("\t")[4]) for c in cells) > 200
	END
}
ok "on a terminal the list of metrics is a table" metric_table
metric_width() { "$SONDE" report --list-metrics --width 90 $DATA/seed_kernel.ncu-rep >"$TMP/table" && absent -P '\t|.{91}' "$TMP/table" && grep -q '^dram__bytes_read.sum  ' "$TMP/table" && grep -q 'no room for' "$TMP/table"; }
ok "with --width it is a table too" metric_width
json_has() { "$SONDE" report -f json "${@:2}" | jq -e "$1"; } # JQ ARGS…
ok "--metrics all reports every one of them" json_has '.metric_info | length == 295' --metrics all $DATA/seed_kernel.ncu-rep
one_tree() { # by default what the report shows and what was asked for; the only scope has the tree as the aggregate has
	local x=examples/h200_transformer.ncu-rep
	report -f json $x >"$TMP/one.json" && "$SONDE" validate "$TMP/one.json" && [ "$(wc -c <"$TMP/one.json")" -lt 2000000 ] &&
		jq -e '(.scopes | length == 1) and (.scopes[0] | .totals.launches == 111) and
			([.scopes[0].regions[] | [.id, .kernel_count, .total_ms]] == [.aggregate.regions[] | [.id, .kernel_count, .total_ms]]) and (.aggregate.regions | length == 16) and .selection.metrics == ["default"] and
			(.selection.metrics_left_out + (.metric_info | length) == 624) and (.aggregate.regions[0].roofline.flop > 0)' "$TMP/one.json" &&
		report -f json --no-aggregate $x | jq -e '.aggregate == null and (.scopes[0].regions | length == 16)' &&
		report -f json --scope 'process:*' $x | jq -e '.aggregate == null and (.scopes[0].regions | length == 16)'
}
ok "a report of one scope has its tree there and in the aggregate, and the default metrics" one_tree
ok "the default metrics of a capture are those asked for by name too" \
	json_has '.metric_info | has("lts__t_sector_hit_rate.pct") and (has("lts__t_sectors.max") | not)' $DATA/seed_kernel.ncu-rep
ok "more than the default metrics can be asked for" \
	json_has '.selection.metrics == ["default", "lts__t_sectors.max"] and (.metric_info | has("lts__t_sectors.max") and has("sm__inst_executed.sum"))' \
	$DATA/seed_kernel.ncu-rep 'report.metrics=[default,lts__t_sectors.max]'
ok "a chart by a metric outside the default ones" \
	output_has '^step;prefill;layer0;attn [0-9]' "$SONDE" report -f folded --by lts__cycles_elapsed.sum examples/h200_transformer.ncu-rep
same_as_read() { # older ones: a report.json whose scope refers to its aggregate is an input as before, entries included
	report -f json $DATA/../kineto/h200_train.json.gz >"$TMP/k2.json" &&
		jq '.scopes[0] |= (del(.regions, .unattributed, .longest_gaps) | .same_as = "aggregate")' "$TMP/k2.json" >"$TMP/k1.json" &&
		"$SONDE" validate "$TMP/k1.json" &&
		for k in k1 k2; do "$SONDE" diff -f json "$TMP/$k.json" $DATA/../kineto/h200_train.json.gz | jq 'del(.base, .notes)' >"$TMP/$k.diff" || return; done
	cmp "$TMP/k1.diff" "$TMP/k2.diff" && jq -e '[.regions[].base.samples] | add > 10' "$TMP/k1.diff"
}
ok "a report.json that refers is compared like one that repeats" same_as_read
without_bars() {
	"$SONDE" report --width 80 examples/h200_transformer.ncu-rep >"$TMP/80.txt" && grep -q '^region .*SM %' "$TMP/80.txt" && absent '█' "$TMP/80.txt"
}
ok "a narrow table keeps metrics before bars" without_bars

no_usual_notes() { # a note that every capture of a kind has says nothing about this one
	local f
	for f in $DATA/seed_kernel.ncu-rep $DATA/seed_kernel.raw.csv $DATA/seed_range_A.ncu-rep tests/data/nsys/h100.sqlite tests/data/proton/frame.json \
		tests/data/kineto/triton_example__triton_example.json.gz; do
		report -f json $f | jq -e '.notes == []' || { echo "$f"; return 1; }
	done
	! report examples/h200_train | grep -E 'of overhead|samples split among'
}
ok "no capture has a note that all of its kind have" no_usual_notes
units() { # GPU time in ms beside means in µs: each column has the unit of its longest
	report --flat examples/h200_train >"$TMP/flat.txt" && grep -q '^kernel .* total ms  mean µs ' "$TMP/flat.txt" &&
		report --idle --width 160 examples/h200_train >"$TMP/idle.txt" && grep -q '^region .* idle ms  launch ms  copy µs .* queued µs  tail µs ' "$TMP/idle.txt" &&
		report --width 120 $DATA/seed_kernel.ncu-rep | grep -q '^region .* incl µs  excl µs '
}
ok "each column of times has one unit, that of its longest" units
gap_ranks() { # where there are several scopes, the longest gaps say on which of them; one alone has no such column
	local two=tests/data/kineto/dlrm_two_ranks.tar.gz
	report -f json $two | jq -r '.aggregate.longest_gaps[].scope' >"$TMP/on" && [ "$(sort -u "$TMP/on" | wc -l)" = 2 ] &&
		report --idle --width 160 $two | sed -n '/^longest gaps .* on$/,/^2 scopes/p' | sed '1d;$d' | grep -o 'rank [01] · GPU [01]$' | cmp - "$TMP/on" &&
		report --idle -f md $two | sed -n '/^| longest gap .* on |$/,/^$/p' | grep -o 'rank [01] · GPU [01]' | cmp - "$TMP/on" &&
		report -f html $two | grep -o '"on": "[^"]*"' | cut -d'"' -f4 | cmp - "$TMP/on" && ! report --idle $TIMED | grep -q '^longest gaps .* on$'
}
ok "the longest gaps of several ranks name theirs" gap_ranks
largest_first() { # a finding that stands for others with its cause is the largest of them
	report examples/h200_transformer.ncu-rep --width 1000 | grep '^1\..* Also: ' >"$TMP/first" && python3 - "$TMP/first" <<-'P'
		import re, sys
		head, also = open(sys.argv[1]).read().split(" Also: ")
		assert re.findall(r"\((\d+)%\)", also), also
		assert int(re.search(r"\((\d+)%\)", head)[1]) >= max(int(p) for p in re.findall(r"\((\d+)%\)", also)), (head, also)
	P
}
ok "the finding that stands for others is the largest" largest_first
no_strangers() { # captures that are no ranks of one job are not compared as if they were
	report examples/h200_train examples/h200_transformer.ncu-rep --findings all >"$TMP/strangers" && ! grep -qE 'slowest rank|imbal' "$TMP/strangers" &&
		report tests/data/kineto/dlrm_two_ranks.tar.gz --width 200 | grep -q ' imbal '
}
ok "captures of different programs are no ranks" no_strangers
everything() { # what a long table folds is there with --all, and the page of findings too
	report tests/data/nsys/h100.sqlite >"$TMP/few" && report tests/data/nsys/h100.sqlite --all --findings all >"$TMP/all" &&
		grep -q ' more: --all' "$TMP/few" && ! grep -q ' more: --all' "$TMP/all" && [ "$(wc -l <"$TMP/all")" -gt "$(wc -l <"$TMP/few")" ] &&
		! report tests/data/nsys/h100.sqlite --findings none | grep -q '^1\. '
}
ok "a long table folds what is small, --all shows it" everything
lacking() { # a view of what is not in the capture says so, and how to get it
	report --memory $DATA/seed_kernel.ncu-rep | grep -q '^GPU memory is not in this capture: .sonde run pipeline.native.memory=true' &&
		report --memory -f md $DATA/seed_kernel.ncu-rep | grep -q '^GPU memory is not in this capture' &&
		report --idle $DATA/seed_kernel.ncu-rep | grep -q '^No region has idle time' &&
		! report --idle $TIMED | grep 'not in this capture' &&
		report --width 300 tests/data/kineto/inference__vllm_decode_full__graph_execution.json.gz | grep -q '^1. .* what limits it is not known'
}
ok "what is not in the capture is said, with what to do" lacking

paths() { # of the files each region has in its folder
	report $DATA/seed_kernel.ncu-rep -o "$TMP/paths" && "$SONDE" validate "$TMP/paths/report.json" || return
	local p
	for p in $(jq -r '.aggregate.regions[], .scopes[].regions[] | .json_path, .markdown_path' "$TMP/paths/report.json"); do [ -s "$TMP/paths/$p" ] || return; done
	jq -e '.aggregate.regions[1].json_path == "A__A1/report.json"' "$TMP/paths/report.json" && report -f json $DATA/seed_kernel.ncu-rep | jq -e '[.. | .json_path?] | all(. == null)'
}
ok "each region says where its own files are" paths
ranges_alone() {
	report -f json $DATA/seed_range_A.ncu-rep >"$TMP/ranges.json" && "$SONDE" validate "$TMP/ranges.json" &&
		jq -e '[.aggregate.regions[].exclusive.total_ms] | all(. == null)' "$TMP/ranges.json" && ! report $DATA/seed_range_A.ncu-rep | grep -q 'excl'
}
ok "replayed ranges have no exclusive time" ranges_alone

# Selections and scopes.
report --format json --kernel-include axpy $DATA/seed_kernel.ncu-rep >"$TMP/axpy.json"
ok "a selection of kernels is valid too" "$SONDE" validate "$TMP/axpy.json"
ok "only the selected kernel is listed" \
	test "$(jq -r '[.. | .kernel_name? // empty] | unique | .[]' "$TMP/axpy.json" | grep -vc '^axpy')" = 0
report --format json --kernel-include nosuch $DATA/seed_kernel.ncu-rep >"$TMP/none.json"
ok "regions stay when no launch matches" \
	test "$(jq '[.aggregate.regions[] | select(.kernel_count == 0 and (.notes | length) == 1)] | length' "$TMP/none.json")" = 3
no_zeros() {
	report --nvtx-include nosuch $DATA/seed_kernel.ncu-rep >"$TMP/nothing.txt" && sed -n 2p "$TMP/nothing.txt" | grep -q '^Nothing is selected' &&
		! grep -q 'total in regions' "$TMP/nothing.txt" && report -f md --nvtx-include nosuch $DATA/seed_kernel.ncu-rep >"$TMP/nothing.md" &&
		grep -q 'Nothing is selected' "$TMP/nothing.md" && ! grep -q '| launches' "$TMP/nothing.md"
}
ok "selecting no region is said first, without a table of zeros" no_zeros
zeros() { # FORMAT HEAD ROW
	report -f "$1" --kernel-include nosuch $DATA/seed_kernel.ncu-rep >"$TMP/zeros" && grep -q 'No kernel is selected' "$TMP/zeros" &&
		grep -q 'kernels in this capture are: fill, gemm' "$TMP/zeros" && grep -qE "$2" "$TMP/zeros" && grep -qE "$3" "$TMP/zeros"
}
ok "idle times do not depend on kernel patterns, and the report says so" output_has 'No kernel is selected: .* idle times do not depend' "$SONDE" report --kernel-include nosuch examples/h200_train
ok "kernel patterns that match nothing leave the regions, in text" zeros text '^region' '^B +0 +0.000'
ok "kernel patterns that match nothing leave the regions, in Markdown" zeros md '^### B' '^- no launch of this region was selected'
ok "kernel patterns leave replayed ranges as they are" output_has '^A +3 +1.100' "$SONDE" report --kernel-include nosuch $DATA/seed_range_A.ncu-rep
fails "--strict: selecting nothing is an error" 2 "nothing is selected" report --strict --nvtx-include nosuch $DATA/seed_kernel.ncu-rep
fails "--strict says why, whatever else there is to note" 2 "no launch matches the NVTX selection" report --strict --nvtx-include nosuch examples/h200_train
ok "--strict prints nothing then" [ -z "$("$SONDE" report --strict --nvtx-include nosuch $DATA/seed_kernel.ncu-rep 2>/dev/null)" ]
ok "--strict changes nothing where something is selected" "$SONDE" report --strict $DATA/seed_kernel.ncu-rep
fails "a missing output folder says how to make it" 1 "mkdir -p '$TMP/no/such'" report -f json -o "$TMP/no/such/x.json" $DATA/seed_kernel.ncu-rep
layers_differ() { # names that are cut: rows of many layers are still told apart
	"$SONDE" report --width 100 tests/data/kineto/sglang_decode | grep -o '─ Qwen[^ ]*' >"$TMP/layers"
	[ "$(wc -l <"$TMP/layers")" -ge 10 ] && [ -z "$(sort "$TMP/layers" | uniq -d)" ]
}
ok "names that are cut stay different" layers_differ
head -c 3000 $DATA/seed_kernel.ncu-rep >"$TMP/cut.ncu-rep"
fails "a file that was cut off says so" 1 "copy it again" report "$TMP/cut.ncu-rep"
: >"$TMP/nothing.ncu-rep"
fails "an empty file says what to do" 1 "make it again" report "$TMP/nothing.ncu-rep"
no_baseline() {
	"$SONDE" report --nvtx-include A $DATA/none_kernel.ncu-rep >"$TMP/none.txt" && ! tr -s '\n ' ' ' <"$TMP/none.txt" | grep 'see the table by kernel'
}
ok "no table by kernel is promised where there is none" no_baseline
report --format json --nvtx-include A --nvtx-include A1 --kernel-exclude axpi $DATA/seed_kernel.ncu-rep >"$TMP/unmet.json"
ok "every pattern that matches nothing is noted" \
	test "$(jq -c '.notes' "$TMP/unmet.json")" = "[\"NVTX include 'A1' matches no range, did you mean 'A::A1'?\",\"kernel exclude 'axpi' matches no kernel\"]"
ok "a selection that leaves no launch lists kernels of the capture" \
	jq -e '[.notes[] | select(test("no launch matches.*are: fill, gemm_tile, axpy, reduce_sum$"))] | length == 1' "$TMP/none.json"
gemms() { report -f json $X +report/kernels@report=gemm | jq -e '.coverage.launches_attributed == 36'; }
ok "the preset of GEMMs knows those of Hopper" gemms
report --format json --no-aggregate $DATA/mpi2_kernel.ncu-rep >"$TMP/noagg.json"
ok "without aggregate only that is gone" \
	test "$(jq -c '[.aggregate, (.scopes | length)]' "$TMP/noagg.json")" = '[null,2]'
one_scope() {
	"$SONDE" report -f json --scope process:4519/device:0 $DATA/mpi2_kernel.ncu-rep >"$TMP/one.json" && "$SONDE" validate "$TMP/one.json"
}
ok "one scope alone is a valid report" one_scope

covers() { # TEXT SCOPE: how the second line begins
	[[ "$(report --scope "$2" $DATA/mpi2_kernel.ncu-rep | sed -n 2p)" == "$1"* ]]
}
spread() { # a region that one of two scopes has
	report -f csv $DATA/seed_kernel.ncu-rep $DATA/deep_kernel.ncu-rep | python3 -c '
import csv, sys
rows = [r for r in csv.DictReader(sys.stdin) if r["scope"] == "aggregate" and r["kind"] == "push_pop"]
print([(r["id"], r["imbalance"]) for r in rows])
assert rows and all(r["imbalance"] == "" for r in rows)'
}
ok "a region of one scope has no imbalance" spread
rate_bounds() {
	"$SONDE" report -f md --metrics 'dram__cycles_elapsed.*' examples/h200_transformer.ncu-rep >"$TMP/bounds.md" &&
		grep -q '^| dram__cycles_elapsed.min.per_second | ≥' "$TMP/bounds.md" && grep -q '^| dram__cycles_elapsed.max.per_second | ≤' "$TMP/bounds.md"
}
ok "the smallest instances of a rate are a lower bound, the largest an upper one" rate_bounds
lacking() { # of the 36 launches in A the second capture's have no such metric: nothing can be said from above
	sed 's/sm__inst_executed/sm__inst_executez/g' $DATA/seed_kernel.ncu-rep >"$TMP/other.ncu-rep"
	report -f json --metrics all --scope aggregate $DATA/seed_kernel.ncu-rep "$TMP/other.ncu-rep" |
		jq -e '.aggregate.regions[] | select(.id == "A") | (.metric_ranges["sm__inst_executed.max"] // {} | .high == null) and
			.metric_info["sm__inst_executed.max"].quality == "approx" and .metric_info["sm__inst_executed.sum"].quality == "bound"'
}
ok "launches without a metric leave no upper bound of it" lacking
marks_differing() {
	"$SONDE" report --metrics launch__registers_per_thread,launch__device_id examples/h200_transformer.ncu-rep >"$TMP/most.txt" &&
		grep -q '^step .* ≈32 .* 0$' "$TMP/most.txt" && grep -q '^≈ the launches differ' "$TMP/most.txt"
}
ok "the most frequent value is marked where launches differ, and only there" marks_differing
ok "coverage of more than what is shown says so" covers "whole capture: 48 of 58 launches" 'process:4519*'
ok "coverage of the aggregate is its own" covers "48 of 58 launches" aggregate
ok "coverage of all scopes is their own" covers "48 of 58 launches" 'process:*'

# Configuration: overrides say the same as flags, and what is configured is exactly what appears.
report --format json $DATA/seed_kernel.ncu-rep 'report.metrics=[sm__inst_executed.sum,dram__bytes_read.sum]' \
	'report.kernels.include=["regex:gemm|axpy"]' report.aggregate=false >"$TMP/config.json"
ok "exactly the configured metrics appear, for regions and kernels" \
	test "$(jq -c '[.scopes | .. | .metrics? // empty | keys] | unique' "$TMP/config.json")" = '[["dram__bytes_read.sum","sm__inst_executed.sum"]]'
ok "the configured kernels and scopes are those of the report" \
	test "$(jq -c '[.aggregate, ([.. | .kernel_name? // empty] | unique | length)]' "$TMP/config.json")" = '[null,2]'
report --deterministic --format json --metrics sm__inst_executed.sum $DATA/seed_kernel.ncu-rep >"$TMP/flag.json"
report --deterministic --format json 'report.metrics=[sm__inst_executed.sum]' $DATA/seed_kernel.ncu-rep >"$TMP/key.json"
ok "a flag is short for its key" cmp "$TMP/flag.json" "$TMP/key.json"
report --format json 'pipeline.ncu.ncu_cli.metrics=[sm__inst_executed.sum]' $DATA/seed_kernel.ncu-rep >"$TMP/capture.json"
ok "the capture's own key selects where the report's is empty" \
	test "$(jq -c '.aggregate.regions[0].metrics | keys' "$TMP/capture.json")" = '["sm__inst_executed.sum"]'
report --max-kernels 2 --max-regions 0 $DATA/seed_kernel.ncu-rep >"$TMP/flag.txt"
report report.max_kernels=2 report.max_regions=0 $DATA/seed_kernel.ncu-rep >"$TMP/key.txt"
ok "limits given as flags or keys do the same" cmp "$TMP/flag.txt" "$TMP/key.txt"
ok "kernels asked for are listed" grep -q 'gemm_tile' "$TMP/key.txt"
fails "an unknown key names the nearest" 2 "report.metrics" report report.metricz=1 $DATA/seed_kernel.ncu-rep

report -o "$TMP/formats" 'report.formats=[csv,json]' $DATA/seed_kernel.ncu-rep
ok "a directory holds the configured formats" \
	test "$(cd "$TMP/formats" && echo report.*)" = "report.csv report.json"

# The test capture has A, A::A1 and B, in order of time.
folders() { # VALUE FOLDERS LINES-OF-THE-TABLE
	report -o "$TMP/folders-$1" "report.folders=$1" $DATA/seed_kernel.ncu-rep &&
		[ "$(cd "$TMP/folders-$1" && ls -d */ 2>/dev/null | tr -d '/\n')" = "$2" ] &&
		[ "$(cat "$TMP/folders-$1/other_regions.csv" 2>/dev/null | wc -l)" = "$3" ]
}
ok "folders of the regions that took longest, the rest in a table" folders 2 AB 2
ok "the table has what has no folder" grep -q '^aggregate,kernel,A/A::A1,' "$TMP/folders-2/other_regions.csv"
ok "a folder per region and no table" folders all AA__A1B 0
ok "no folders" folders none "" 0
fails "folders are a number or a word" 2 "all, none or a number" report -o "$TMP/f" report.folders=some $DATA/seed_kernel.ncu-rep

same_as_printed() { # -o writes what would be printed
	local f
	for f in text json md csv; do
		report -f $f $DATA/seed_kernel.ncu-rep >"$TMP/printed" && report -f $f -o "$TMP/one.$f" $DATA/seed_kernel.ncu-rep &&
			diff <(grep -v 'sonde report' "$TMP/printed") <(grep -v 'sonde report' "$TMP/one.$f") || return
	done
}
ok "a format and a name give one file" same_as_printed
mkdir -p "$TMP/taken"
fails "a format into a directory is refused" 2 "taken is a directory" report -f csv -o "$TMP/taken" $DATA/seed_kernel.ncu-rep
slash_is_directory() {
	rm -rf "$TMP/run.html" && "$SONDE" report -o "$TMP/run.html/" $DATA/seed_kernel.ncu-rep && [ -s "$TMP/run.html/report.html" ] && [ ! -e "$TMP/run.md" ]
}
ok "-o with a slash at its end is a directory, whatever its name" slash_is_directory

ln -sf "$PWD/$DATA/seed_kernel.ncu-rep" "$TMP/link.ncu-rep"
report -f json $DATA/seed_kernel.ncu-rep "$TMP/link.ncu-rep" $DATA/../ncu/seed_kernel.ncu-rep >"$TMP/thrice.json"
ok "an input given twice counts once, with a note" \
	test "$(jq -c '[.coverage.launches_total, ([.notes[] | select(test("read once"))] | length)]' "$TMP/thrice.json")" = '[29,2]'
cp $DATA/seed_kernel.ncu-rep "$TMP/copy.ncu-rep"
cp $DATA/mpi2_kernel.ncu-rep "$TMP/ranks.ncu-rep"
doubled() { # WANT INPUT…: how many notes say that launches are counted twice
	[ "$(report -f json "${@:2}" | jq '[.notes[] | select(test("counted twice"))] | length')" = "$1" ]
}
ok "a copy of a capture is noted as counted twice" doubled 1 $DATA/seed_kernel.ncu-rep "$TMP/copy.ncu-rep"
ok "a report and its CSV are noted as counted twice" doubled 1 $DATA/seed_kernel.ncu-rep $DATA/seed_kernel.raw.csv
ok "a copy of a capture of two ranks is noted once" doubled 1 $DATA/mpi2_kernel.ncu-rep "$TMP/ranks.ncu-rep"
ok "ranks and other captures of a program are no copies" \
	doubled 0 $DATA/mpi2_kernel.ncu-rep $DATA/seed_kernel.ncu-rep $DATA/seed_range_A.ncu-rep $DATA/seed_range_A1.ncu-rep

# Hostile labels.
labels='["../../etc/passwd","x y\tz","quote\"'"'"'`","<script>alert(1)</script>","| pipe | md |","注意力","emoji 🚀",""]'
ok "hostile labels are intact in JSON" \
	jq -e --argjson want "$labels" '([.aggregate.regions[].name] as $have | $want - $have) == []' "$TMP/names_kernel.json" -M
rm -rf "$TMP/dir"
report -o "$TMP/dir" $DATA/names_kernel.ncu-rep
impossible() { # a duration below zero, and two without end: they count as none, and that is said
	python3 - "$DATA/seed_kernel.raw.csv" "$TMP/impossible.csv" <<-'P' && report --width 1000 "$TMP/impossible.csv" >"$TMP/out" || return
		import csv, sys
		rows = list(csv.reader(open(sys.argv[1])))
		at = rows[0].index("gpu__time_duration.sum")
		rows[4][at], rows[5][at], rows[6][at] = "-1e21", "inf", "1e999"
		csv.writer(open(sys.argv[2], "w"), quoting=csv.QUOTE_ALL).writerows(rows)
	P
	grep -q 'impossible.csv: gemm_tile: gpu__time_duration.sum cannot be -1e+21: it is left out' "$TMP/out" &&
		grep -q '3 results have no gpu__time_duration.sum and count as 0 ns' "$TMP/out" && ! grep -q -e '-[0-9]*\.[0-9]\|inf\b' "$TMP/out"
}
ok "durations that cannot be are left out and counted" impossible
ok "one folder per region, inside the directory" \
	test "$(find "$TMP/dir" -mindepth 1 -type d | wc -l)" = "$(jq '.aggregate.regions | length' "$TMP/names_kernel.json")"
ok "folder names are safe" \
	test "$(find "$TMP/dir" -mindepth 1 -type d -printf '%f\n' | grep -vcE '^[A-Za-z0-9._-]{1,80}$')" = 0
folder_names() { find "$TMP/dir" -mindepth 1 -type d -printf '%f\n' | LC_ALL=C sort; }
slashes() { # as few as were named
	mkdir -p "$TMP/slash/below" && cp $DATA/seed_kernel.ncu-rep "$TMP/slash/below" && report -f json "$TMP/slash/" | jq -e '.capture.files == ["'"$TMP"'/slash/below/seed_kernel.ncu-rep"]'
}
ok "a directory named with a slash gets no second one" slashes
ok "folder names are stable" golden folders.list folder_names
ok "each folder has its four files" \
	test "$(find "$TMP/dir" -mindepth 2 -type f -printf '%f\n' | LC_ALL=C sort | uniq -c | awk '{print $2}' | tr '\n' ' ')" = \
	"kernels.csv report.json report.md sections.txt "
all_valid() { find "$TMP/dir" -name report.json -print0 | xargs -0 "$SONDE" validate; }
ok "every report.json on disk is valid" all_valid
no_controls() { LC_ALL=C absent -aP '[\x00-\x09\x0b-\x1f\x7f]' "$TMP/dir/report.md" $GOLDEN/names_kernel.txt $GOLDEN/names_kernel.csv; }
ok "no control character gets through" no_controls
ok "no markup gets through" absent -r '<script' "$TMP/dir" --include=*.md
rm -rf "$TMP/AA1"
report -o "$TMP/AA1" $DATA/seed_kernel.ncu-rep
ok "A::A1 below A is in A__A1" test -s "$TMP/AA1/A__A1/report.json"

# Determinism.
report --format json $DATA/mpi2_kernel.ncu-rep >"$TMP/again.json"
ok "two runs give the same bytes" cmp "$TMP/mpi2_kernel.json" "$TMP/again.json"
"$SONDE" report --format json $DATA/mpi2_kernel.ncu-rep | grep -v '"generated_at"' >"$TMP/dated.json"
ok "only the time of writing differs" cmp "$TMP/dated.json" "$TMP/again.json"

# Colours.
no_colour() { "$SONDE" report $DATA/seed_kernel.ncu-rep >"$TMP/plain" && absent $'\x1b' "$TMP/plain"; }
ok "no colour in a pipe" no_colour
on_terminal() { script -qec "'$SONDE' report $DATA/seed_kernel.ncu-rep" /dev/null; }
no_colour_wanted() { NO_COLOR=1 on_terminal >"$TMP/terminal" && absent $'\x1b\\[1m' "$TMP/terminal"; }
if command -v script >/dev/null; then
	ok "colour on a terminal" output_has $'\x1b\\[1m' on_terminal
	ok "NO_COLOR is honoured" no_colour_wanted
	no_floods() { # of pages, pictures and other programs' data
		local f
		for f in html svg pprof speedscope; do
			script -qec "$SONDE report $DATA/seed_kernel.ncu-rep -f $f" /dev/null >"$TMP/terminal" </dev/null
			[ $? = 2 ] && grep -q 'not for a terminal: name a file with -o FILE, or look at the page with `sonde view`' "$TMP/terminal" || return
		done
		"$SONDE" report $DATA/seed_kernel.ncu-rep -f html | grep -q '<html' && script -qec "$SONDE report $DATA/seed_kernel.ncu-rep -f json" /dev/null </dev/null | grep -q '"schema"'
	}
	ok "a page does not flood the terminal" no_floods
else
	echo "skip colour on a terminal: no script(1)"
fi

# Findings name the input as it was typed, and none if the newest run was taken.
named() {
	local run="$TMP/na med/tmp/profile-output/20260131-120000"
	mkdir -p "$run/native" && cp examples/h200_train/* "$run/native/" && : >"$run/config.yaml" && : >"$run/inputs.yaml" && "$SONDE" report "$run" | tr -s '\n ' ' ' | grep -qF "More: \`sonde report '$run' --" &&
		(cd "$TMP/na med" && "$SONDE" report 2>/dev/null | tr -s '\n ' ' ' | grep -qF 'More: `sonde report --') && "$SONDE" report "$run" -f md | grep -qF 'sonde report RUN'
}
ok "findings name the run that was named" named
fails "a mistyped key" 2 "did you mean 'report.formats'" "$SONDE" report $DATA/seed_kernel.ncu-rep report.form=x
fails "a short key" 2 "did you mean 'counters'" "$SONDE" run conuters=off -- true
fails "an unknown key" 2 "'sonde config --help' lists the keys, +zzz=VALUE adds one on purpose" "$SONDE" config zzz=1

# What is missing comes before what the rest says.
loss_first() {
	head -c 40000 examples/h200_train/1411.0.sonde >"$TMP/cut.sonde" && "$SONDE" report "$TMP/cut.sonde" >"$TMP/plain" && sed -n 2p "$TMP/plain" | grep -q '^not whole: .*the capture has no end' && [ "$(grep -c 'the capture has no end' "$TMP/plain")" = 1 ]
}
ok "a capture that was cut says so first" loss_first

# Usage errors and failures: one line each.
commands() { "$SONDE" >"$TMP/out" 2>"$TMP/err"; [ $? = 2 ] && [ ! -s "$TMP/out" ] && "$SONDE" --help | cmp - "$TMP/err"; }
ok "without a word the commands are listed" commands
fails "unknown command" 2 "did you mean 'report'?" "$SONDE" reprot
fails "an unknown option before the command" 2 "a command comes first" "$SONDE" --reprot
fails "no input" 2 "no input" "$SONDE" report
fails "view has no file to write to" 2 '`sonde report INPUT -o x.html` writes the page' "$SONDE" view x.ncu-rep -o x.html
fails "unknown option" 2 "did you mean '--format'?" "$SONDE" report --fromat x
fails "unknown format" 2 "'xml' is not one of text|json|md|html|csv|svg" "$SONDE" report --format xml x
fails "option without value" 2 "--format needs a value" "$SONDE" report --format
fails "limit that is none" 2 "--max-regions: 'x' is neither a number nor 'all'" "$SONDE" report --max-regions x x
fails "width that is none" 2 "--width: '0' is not a number from 1 on" "$SONDE" report --width 0 x
fails "order that is none" 2 "--sort: 'size' is not one of order|time|launches|name" "$SONDE" report --sort size x
fails "no such folder of configs" 2 "'nosuch_dir' not found" report --config-dir nosuch_dir $DATA/seed_kernel.ncu-rep
fails "unknown scope" 2 "there are: process:466/device:0, aggregate" report --scope nope $DATA/seed_kernel.ncu-rep
fails "unknown metric" 2 "sm__throughput" report --metrics sm__throughputt.avg.pct_of_peak_sustained_elapsed $DATA/seed_kernel.ncu-rep
fails "no such file" 1 "nosuch.ncu-rep" report nosuch.ncu-rep
fails "not a report" 1 "Makefile" report Makefile
fails "a directory without captures" 1 "src: a directory without captures" report src
fails "validate: no file" 2 "name a report.json" "$SONDE" validate
fails "validate: not JSON" 1 "Makefile: byte" "$SONDE" validate Makefile
jq '.aggregate.regions[0].kernel_count += 1' "$TMP/seed_kernel.json" >"$TMP/broken.json"
one_change() { # every figure that follows from others is noticed when it is another
	local change
	report -f json --metrics all $DATA/mpi2_kernel.ncu-rep >"$TMP/sound.json"
	for change in '.aggregate.regions[0].share_pct += 1' '.aggregate.regions[0].scopes.median_ms *= 2' '.aggregate.regions[0].scopes.count += 1' \
		'.aggregate.regions[0].scopes.imbalance += 0.1' '.scopes[0].regions[0].metric_ranges["sm__inst_executed.max"].high = 1' \
		'.scopes[0].unattributed.kernel_count += 1' '.scopes[0].unattributed.total_ms *= 2' '.scopes[0].unattributed.kernels[0].calls += 1' \
		'.scopes[0].totals.total_ms *= 2' '.coverage.gpu_time_ns_total += 100'; do
		jq "$change" "$TMP/sound.json" >"$TMP/changed.json" && ! cmp -s <(jq . "$TMP/sound.json") "$TMP/changed.json" || { echo "no such figure: $change"; return 1; }
		! "$SONDE" validate "$TMP/changed.json" 2>&1 || { echo "not noticed: $change"; return 1; }
	done
}
ok "validate notices one figure that was changed" one_change
fails "validate names the path" 1 '$.aggregate.regions[0].' "$SONDE" validate "$TMP/broken.json"
escaped_errors() { # a file's text in an error cannot move the cursor or begin a line
	printf '{"schema": "\\u001b[2J\\nsonde: all is well"}' >"$TMP/esc.json"
	! "$SONDE" validate "$TMP/esc.json" 2>"$TMP/esc" && ! grep -q "$(printf '\033')" "$TMP/esc" && ! grep -q '^sonde: all' "$TMP/esc" &&
		! "$SONDE" report "$(printf 'a\033[31m.ncu-rep')" 2>"$TMP/esc" && grep -qF 'a\x1b[31m.ncu-rep' "$TMP/esc" &&
		! "$SONDE" "$(printf 'rep\033ort')" 2>"$TMP/esc" && ! grep -q "$(printf '\033')" "$TMP/esc"
}
ok "errors are escaped for the terminal" escaped_errors

fits() { # what a report says by itself is no longer than a screen of 50 lines, whatever program was captured
	local file lines nr=0
	while read -r file; do
		lines=$(report --width 100 "$file" 2>/dev/null | wc -l)
		nr=$((nr + 1))
		[ "$lines" -le 50 ] || {
			echo "$file: $lines lines"
			return 1
		}
	done < <(find examples tests/data/{kineto,nsys,ncu,diff,whatif,first,sampled_capture} -type f \( -name '*.sonde' -o -name '*.sonde.gz' -o -name '*.json.gz' -o -name '*.sqlite' -o -name '*.ncu-rep' \))
	[ "$nr" -gt 40 ]
}
ok "a report fits a screen" fits

# One run has one answer, whatever it is written in: a table with few columns rests on the same metrics.
same_findings() {
	local f
	for f in examples/h200_transformer.ncu-rep examples/h200_train $DATA/{seed_kernel,seed_sections,seed_roofline,threads_kernel,graph_whole}.ncu-rep tests/data/kineto/h200_train.json.gz; do
		report "$f" --findings all --width 5000 | sed -nE 's/\.$//; s/^ *[0-9]+\. //p' | sort >"$TMP/in_text"
		report "$f" -f json | jq -r '.findings[]? | ((if .where then .where + ": " else "" end) + .says)' | sort >"$TMP/in_json"
		[ -s "$TMP/in_text" ] && [ -z "$(comm -23 "$TMP/in_text" "$TMP/in_json")" ] || {
			echo "$f"
			diff "$TMP/in_text" "$TMP/in_json"
			return 1
		}
	done
}
ok "text has the findings of JSON" same_findings

# Nobody reads, or writing fails.
closed_pipe() { # the reader is gone before the first write
	unread "$SONDE" report --format json $DATA/mpi2_kernel.ncu-rep 2>"$TMP/err"
	[ $? = 141 ] && [ ! -s "$TMP/err" ]
}
ok "a closed pipe ends it without a word" closed_pipe
if [ -w /dev/full ]; then
	full_disk() {
		"$SONDE" report $DATA/seed_kernel.ncu-rep >/dev/full 2>"$TMP/err"
		[ $? = 1 ] && grep -q 'No space left' "$TMP/err"
	}
	ok "a full disk is an error in one line" full_disk
else
	echo "skip a full disk: no /dev/full"
fi
: >"$TMP/file"
fails "a directory that cannot be made" 1 "Not a directory" report -o "$TMP/file/dir" $DATA/seed_kernel.ncu-rep
if [ "$(id -u)" != 0 ]; then
	mkdir -p "$TMP/ro" && chmod 555 "$TMP/ro"
	fails "an unwritable directory" 1 "Permission denied" report -o "$TMP/ro/out" $DATA/seed_kernel.ncu-rep
elif [ -d /proc/self ]; then
	fails "an unwritable directory" 1 "/proc/sonde-out" report -o /proc/sonde-out $DATA/seed_kernel.ncu-rep
fi
no_half_report() { # a file where a folder must go stops the writing: the old report.json stays
	rm -rf "$TMP/half" && mkdir -p "$TMP/half" && echo old >"$TMP/half/report.json" && : >"$TMP/half/B"
	report -o "$TMP/half" $DATA/seed_kernel.ncu-rep 2>/dev/null
	[ $? = 1 ] && [ "$(cat "$TMP/half/report.json")" = old ] && [ -z "$(find "$TMP/half" -name '*.tmp-*')" ]
}
ok "no half-written report.json" no_half_report
