#!/usr/bin/env bash
# `sonde run` with a fake ncu and a fake nsys, without a GPU: command lines, plans, fallbacks, messages, signals,
# files of the run.
# Runs long.
. "$(dirname "$0")/../lib.sh"
export PATH="$PWD/tests/standin:$PATH" SONDE_INJECT_LIB=/nonexistent
NCU=pipeline.ncu.enable=true
n=0

run() { # ARGS…: sonde run into a fresh directory; $dir, $rc, $TMP/out, $TMP/err
	n=$((n + 1))
	dir=$TMP/run$n
	"$SONDE" run "hydra.run.dir=$dir" "$@" >"$TMP/out" 2>"$TMP/err" </dev/null
	rc=$?
}
quiet() { "$@" >/dev/null; }
says() { grep -qF -e "$1" "$TMP/err"; }
args() { tr '\0' '\n' <"$TMP/record"; }
has_arg() { args | grep -qxF -e "$1"; } # WORD: ncu or nsys got it as one argument
aggregate_has() { sed -n '/^aggregate/,$p' "$TMP/out" | grep -qE "$1"; } # REGEX
third_line_has() { sed -n 3p "$1" | grep -q "$2"; } # FILE PATTERN
report_json() { "$SONDE" report "$dir" -f json "$@"; } # ARGS…: of the run
fail() { STANDIN_FAIL=$1 run $NCU "${@:2}"; }

run $NCU "pipeline.ncu.ncu_cli.nvtx.include=[A/,B/]" -- /bin/echo 'a  b' "it's" $'new\nline'
ok run_keeps_weird_arguments [ "$(head -2 "$TMP/out")" = "$(printf 'a  b it'"'"'s new\nline')" ]
ok run_exits_with_the_programs_status [ $rc -eq 0 ]
ok run_prints_the_region_tree grep -q 'A::A1 ' "$TMP/out"
ok run_prints_coverage grep -q '24 of 29 launches in regions' "$TMP/out"
for f in config.yaml env.json inputs.yaml report.md ncu/cmd.txt ncu/kernel.cmd.txt ncu/kernel.log \
	ncu/kernel.ncu-rep ncu/raw.csv ncu/sections_report.txt ncu/regions/report.json \
	ncu/regions/report.md ncu/regions/A__A1/report.json ncu/regions/A__A1/kernels.csv; do
	ok "run_writes_$f" [ -s "$dir/$f" ]
done
unread "$SONDE" run "hydra.run.dir=$TMP/unread" $NCU -- /bin/true 2>"$TMP/err"
ok run_without_a_reader_keeps_the_status [ $? -eq 0 ]
ok run_without_a_reader_is_silent_about_it absent "Broken pipe" "$TMP/err"
ok run_json_is_valid quiet "$SONDE" validate "$dir/ncu/regions/report.json"
ok run_leaves_the_clocks_alone grep -qe '--clock-control none' "$dir/ncu/cmd.txt"
ok run_report_says_so grep -q 'clocks: the card' "$dir/ncu/regions/report.json"
ok run_inputs_keep_every_argument grep -qF '"new\x0aline"' "$dir/inputs.yaml"
ok run_directory_is_an_input output_has 'A::A1 ' "$SONDE" report "$dir"

before=$(find "$dir" -type f | sort | xargs sha256sum)
"$SONDE" run $NCU "hydra.run.dir=$dir" -- /bin/true >"$TMP/out" 2>"$TMP/err"
ok run_refuses_a_directory_that_holds_a_run [ $? -eq 2 ]
ok run_says_which_directory says "$dir already contains a run"
ok run_loses_nothing_then [ "$before" = "$(find "$dir" -type f | sort | xargs sha256sum)" ]
"$SONDE" run -o "$dir/config.yaml/x" -- /bin/true >"$TMP/out" 2>"$TMP/err"
ok run_says_how_to_name_another_directory says 'choose another run directory with -o DIR'
mkdir -p "$TMP/t/20260131-120000/ncu"
"$SONDE" run $NCU "hydra.run.dir=$TMP/t/20260131-120000" -- /bin/true >"$TMP/out" 2>"$TMP/err"
ok run_numbers_a_time_that_is_taken [ -s "$TMP/t/20260131-120000-2/ncu/kernel.ncu-rep" ]

# --- command lines
STANDIN_RECORD=$TMP/record run $NCU "pipeline.ncu.ncu_cli.nvtx.include=[A/]" \
	"pipeline.ncu.ncu_cli.nvtx.exclude=['B/']" pipeline.ncu.ncu_cli.launch_skip=3 \
	pipeline.ncu.ncu_cli.launch_count=7 'pipeline.ncu.ncu_cli.kernel_name=gemm*' \
	pipeline.ncu.ncu_cli.push_pop_scope=process 'pipeline.ncu.ncu_cli.range_filter=":2:"' \
	pipeline.ncu.ncu_cli.clock_control=none 'pipeline.ncu.ncu_cli.metrics=[dram__bytes_read.sum]' \
	'pipeline.ncu.ncu_cli.sections=[Occupancy]' pipeline.ncu.ncu_cli.set=null \
	'pipeline.ncu.ncu_cli.extra_args=[--cache-control,none]' -- /bin/true
args >"$TMP/args"
cat >"$TMP/want" <<END
-f
-o
$dir/ncu/kernel
--log-file
$dir/ncu/kernel.log
--target-processes
all
--replay-mode
kernel
--clock-control
none
--import-sass
no
--nvtx
--nvtx-include
A/
--nvtx-exclude
B/
--nvtx-push-pop-scope
process
--range-filter
:2:
--kernel-name-base
function
-k
regex:^gemm.*\$
--launch-skip
3
--launch-count
7
--section
Occupancy
--metrics
dram__bytes_read.sum
--cache-control
none
/bin/true

END
ok run_passes_every_key_one_to_one diff "$TMP/want" "$TMP/args"
# Each key of ncu_cli alone: KEY=VALUE, and the words of ncu's command line that it must be; `-` before a word: it must not be there.
while IFS='|' read -r override words; do
	[ -n "$override" ] || continue
	rm -f "$TMP/record"
	STANDIN_RECORD=$TMP/record run $NCU "pipeline.ncu.ncu_cli.$override" -- /bin/true
	tr '\0' '|' <"$TMP/record" | head -c 100000 | sed 's/^/|/' >"$TMP/line"
	case $words in
	not*) ok "ncu_cli.${override%%=*} goes to ncu as given" absent -F -e "|${words#not }" "$TMP/line" ;;
	*) ok "ncu_cli.${override%%=*} goes to ncu as given" grep -qF -e "|${words//;/|}|" "$TMP/line" ;;
	esac
	echo "pipeline.ncu.ncu_cli.${override%%=*}"
done >"$TMP/one_by_one" <<'END'
target_processes=application-only|--target-processes;application-only
replay_mode=application|--replay-mode;application
nvtx.include=[X/]|--nvtx;--nvtx-include;X/
nvtx.exclude=[Y/]|--nvtx-exclude;Y/
push_pop_scope=process|--nvtx-push-pop-scope;process
set=basic|--set;basic
metrics=[dram__bytes_read.sum]|--metrics;dram__bytes_read.sum
sections=[Occupancy]|--section;Occupancy
kernel_name=gemm|-k;gemm
kernel_name_base=mangled|not --kernel-name-base
kernel_exclude=[gemm]|not gemm
range_filter='::2'|--range-filter;::2
launch_skip=5|--launch-skip;5
launch_count=6|--launch-count;6
clock_control=base|--clock-control;base
import_sass=true|--import-sass;yes
export.csv=false|not --csv
force_overwrite=false|not -f|
extra_args=[--cache-control,none]|--cache-control;none
END
grep '^ok\|^not ok' "$TMP/one_by_one"
! grep -q '^not ok' "$TMP/one_by_one" || : >"$TMP/.not_ok"
every_key() { diff <("$SONDE" config --markdown | grep -o 'pipeline\.ncu\.ncu_cli\.[a-z_.]*' | sort) <(grep '^pipeline' "$TMP/one_by_one" | sort); }
ok every_key_of_ncu_cli_is_tried every_key
rm -f "$TMP/record"
STANDIN_RECORD=$TMP/record run $NCU "pipeline.ncu.ncu_cli.nvtx.include=['A*']" -- /bin/true
ok run_translates_label_globs has_arg 'regex:^A.*$/'

STANDIN_REPORT=$PWD/tests/data/ncu/overlap_kernel.ncu-rep run $NCU "pipeline.ncu.ncu_cli.nvtx.exclude=['B/']" -- /bin/true
ok run_says_nothing_of_an_exclude_that_ncu_left_out absent "matches no" "$TMP/out"

# --- what the capture selected is not selected again
for base in mangled function demangled; do
	rm -f "$TMP/record"
	STANDIN_RECORD=$TMP/record run $NCU "pipeline.ncu.ncu_cli.kernel_name='regex:^_Z.*'" pipeline.ncu.ncu_cli.kernel_name_base=$base -- /bin/true
	args | tr '\n' ' ' >"$TMP/args"
	ok "run_passes_kernel_name_base_$base" grep -qF -e "--kernel-name-base $base -k regex:^_Z.* " "$TMP/args"
	ok "run_shows_what_ncu_took_by_$base" grep -q '24 of 29 launches in regions' "$TMP/out"
done
run $NCU pipeline.ncu.ncu_cli.replay_mode=range "pipeline.ncu.ncu_cli.nvtx.include=[A/]" 'pipeline.ncu.ncu_cli.kernel_name=gemm_tile' -- /bin/true
shows_ranges() { grep -Eq '^A +3 +1.100' "$TMP/out" && grep -q 'a replayed range is one result without kernels' "$TMP/out"; }
ok range_with_kernels_shows_the_ranges shows_ranges
run $NCU "pipeline.ncu.ncu_cli.nvtx.include=['[A']" 'report.labels=["^A$ => other"]' -- /bin/true
ok run_keeps_labels_that_the_capture_named grep -Eq '^A +18 ' "$TMP/out"

# --- plans
"$SONDE" run -n $NCU "hydra.run.dir=$TMP/dry" -- /bin/true >"$TMP/out" 2>"$TMP/err"
ok dry_run_plans_one_kernel_capture grep -q '^plan: 1 ncu capture$' "$TMP/out"
ok dry_run_says_what_happens_to_the_clocks grep -q '^  clocks: .*left alone' "$TMP/out"
ok dry_run_makes_nothing [ ! -e "$TMP/dry" ]
"$SONDE" run -n $NCU "hydra.run.dir=$TMP/dry" pipeline.ncu.ncu_cli.replay_mode=range \
	"pipeline.ncu.ncu_cli.nvtx.include=[A/,A::A1/,B/]" -- /bin/true >"$TMP/out" 2>"$TMP/err"
ok dry_run_range_needs_one_capture_per_level grep -q '^plan: 2 ncu captures$' "$TMP/out"
ok dry_run_disjoint_ranges_share_one grep -q 'range.level0: range replay, ranges A/ B/' "$TMP/out"
"$SONDE" run -n $NCU "hydra.run.dir=$TMP/dry" pipeline.ncu.ncu_cli.replay_mode=app-range \
	"pipeline.ncu.ncu_cli.nvtx.include=[A/B,A,'A::A1',C]" -- /bin/true >"$TMP/out" 2>"$TMP/err"
ok dry_run_levels_are_of_the_users_words grep -q '^plan: 2 ncu captures$' "$TMP/out"
ok dry_run_levels_come_in_order output_has app-range.level0 sed -n 2p "$TMP/out"
if grep -q 'passes: ' "$TMP/out"; then
	ok dry_run_counts_passes grep -q 'passes: 8 for the named metrics on GH100' "$TMP/out"
	"$SONDE" run -n $NCU --chip GA102 -- /bin/true >"$TMP/out" 2>"$TMP/err"
	ok dry_run_plans_for_another_chip grep -q 'on GA102' "$TMP/out"
	"$SONDE" run -n $NCU --chip XX1 -- /bin/true >"$TMP/out" 2>"$TMP/err"
	ok dry_run_refuses_an_unknown_chip says "unknown chip 'XX1'"
else
	echo "skip dry_run_counts_passes: no CUPTI here, or a sanitizer build that cannot load it"
fi
(PATH=/usr/bin:/bin "$SONDE" run -n $NCU -- /bin/true) >"$TMP/out" 2>"$TMP/err"
ok dry_run_needs_no_ncu grep -q '\$ ncu ' "$TMP/out"

"$SONDE" run -n $NCU "hydra.run.dir=$TMP/dry" pipeline.ncu.ncu_cli.replay_mode=range \
	"pipeline.ncu.ncu_cli.nvtx.include='A;B;A::A1'" -- /bin/true >"$TMP/out" 2>"$TMP/err"
ok dry_run_takes_a_list_in_one_word_apart grep -q '^plan: 2 ncu captures$' "$TMP/out"
plans_by_discovery() { [ $rc -eq 0 ] && grep -q '^plan: 1 ncu capture or more$' "$TMP/out" && grep -q 'depends on discovery' "$TMP/out"; }
for include in "'*'" '[]' "['decode*']"; do
	"$SONDE" run -n $NCU "hydra.run.dir=$TMP/dry" pipeline.ncu.ncu_cli.replay_mode=range \
		"pipeline.ncu.ncu_cli.nvtx.include=$include" -- /bin/true >"$TMP/out" 2>"$TMP/err"
	rc=$?
	ok "dry_run_of_ranges_$include: as many captures as discovery finds levels" plans_by_discovery
done
"$SONDE" run -n $NCU pipeline.ncu.ncu_cli.replay_mode=app-range "pipeline.ncu.ncu_cli.kernel_exclude=['fill*']" \
	"pipeline.ncu.ncu_cli.nvtx.include=[A/]" -- /bin/true >"$TMP/out" 2>"$TMP/err"
ok dry_run_refuses_to_leave_kernels_out_of_ranges [ $? -eq 2 ]
ok dry_run_says_why_kernels_stay_in_ranges says 'kernel_exclude and replay_mode=app-range do not go together'

# --- range replay
run $NCU pipeline.ncu.ncu_cli.replay_mode=range "pipeline.ncu.ncu_cli.nvtx.include=[A/,A::A1/,B/]" -- /bin/true
ok range_captures_are_merged grep -q 'A::A1 ' "$TMP/out"
ok range_levels_are_not_added_up aggregate_has '^A +3 +1.100 '
ok range_inner_level_has_its_own_result aggregate_has 'A::A1 +3 +0.858 '
ok range_total_counts_the_outer_level_once aggregate_has '^total in regions +6 +1.826'
ok range_levels_are_said grep -q 'captured one level at a time' "$TMP/out"
ok range_report_is_valid quiet "$SONDE" validate "$dir/ncu/regions/report.json"
"$SONDE" report "$dir" >"$TMP/again"
ok range_report_of_the_directory_says_the_same grep -Eq '^A +3 +1.100 +60.2%' "$TMP/again"
for f in raw.csv sections_report.txt raw.range.level1.csv sections_report.range.level1.txt; do
	ok "range_writes_ncu/$f" [ -s "$dir/ncu/$f" ]
done
ok range_writes_one_report_per_level [ -s "$dir/ncu/range.level0.ncu-rep" -a -s "$dir/ncu/range.level1.ncu-rep" ]
run $NCU pipeline.ncu.ncu_cli.replay_mode=range -- /bin/true
ok range_without_ranges_is_refused says 'nvtx.include'
fail range_api pipeline.ncu.ncu_cli.replay_mode=range "pipeline.ncu.ncu_cli.nvtx.include=[A/]" -- /bin/true
ok range_falls_back_to_kernel_replay [ -s "$dir/ncu/kernel.ncu-rep" ]
ok range_fallback_names_the_api says 'cuKernelSetAttribute'
ok range_fallback_is_in_the_report grep -q 'fell back to kernel replay' "$dir/ncu/regions/report.json"
ok range_fallback_has_nvidias_reading_of_both [ -s "$dir/ncu/raw.csv" -a -s "$dir/ncu/raw.range.level0.csv" ]
ok range_fallback_keeps_what_was_captured [ -s "$dir/ncu/range.level0.ncu-rep" ]
ok range_fallback_ends_well [ $rc -eq 0 ]
fail range_api pipeline.ncu.ncu_cli.replay_mode=range pipeline.ncu.fallback=false \
	"pipeline.ncu.ncu_cli.nvtx.include=[A/]" -- /bin/true
ok range_fallback_can_be_refused [ ! -e "$dir/ncu/kernel.ncu-rep" -a $rc -ne 0 ]

# --- every failure has its explanation
fail nothing "pipeline.ncu.ncu_cli.nvtx.include=[X/]" -- /bin/true
ok nothing_matched_is_no_failure [ $rc -eq 0 ]
ok nothing_matched_is_said says 'no kernel was profiled'
ok nothing_matched_names_other_threads says 'push_pop_scope=process'
no_region() {
	jq -e '.aggregate == null or (.aggregate.regions | length == 0)' "$dir/ncu/regions/report.json" &&
		[ "$(find "$dir/ncu/regions" -mindepth 1 -type d | wc -l)" = 0 ]
}
baseline_first() {
	local report=$dir/ncu/regions/report.md
	head -1 "$report" | grep -q '^# NCU Region Reports' &&
		third_line_has "$report" '^\*\*Baseline\*\*: no launch matched what Nsight Compute was asked to profile: no launch in ranges .X/.'
}
baseline_in_json() {
	third_line_has "$dir/ncu/regions/report.json" '"baseline": "no launch matched what' && "$SONDE" validate "$dir/ncu/regions/report.json"
}
ok nothing_matched_invents_no_region no_region
ok nothing_matched_is_the_first_line_of_the_report baseline_first
ok nothing_matched_marks_the_json baseline_in_json
again() { # FROM: the run directory alone gives the same report, byte for byte
	"$SONDE" report "$1" -o "$TMP/again$n" && diff -r "$TMP/again$n" "$1/${2:-ncu}/regions"
}
fail nothing report.deterministic=true "pipeline.ncu.ncu_cli.nvtx.include=[X/]" -- /bin/true
ok nothing_matched_is_reported_again_by_the_directory again "$dir"
run $NCU report.deterministic=true "pipeline.ncu.ncu_cli.nvtx.include=[A/]" "pipeline.ncu.ncu_cli.kernel_exclude=['reduce*']" \
	'pipeline.ncu.ncu_cli.metrics=[gpu__time_duration.sum,dram__bytes_read.sum]' 'pipeline.ncu.ncu_cli.sections=[Occupancy]' report.sort=time -- /bin/true
ok run_directory_gives_the_same_report again "$dir"
left_out() { report_json | jq -e '[.. | .kernel_name? // empty] | all(startswith("reduce") | not)'; }
as_configuration() {
	local aggregate
	aggregate=$("$SONDE" report "$dir/ncu/kernel.ncu-rep" --config-dir "$dir" -f json | jq -c .aggregate) &&
		[ "$aggregate" = "$(report_json | jq -c .aggregate)" ]
}
override_on_top() { report_json report.aggregate=false | jq -e '.aggregate == null'; }
ok run_directory_keeps_what_the_capture_left_out left_out
ok run_directory_as_configuration_selects_the_same as_configuration
ok run_directory_takes_overrides_on_top override_on_top
SECRET_WORD=x run $NCU report.deterministic=true '+pipeline.workload.env.WORD="${oc.env:SECRET_WORD}"' -- /bin/true
ok run_directory_needs_none_of_the_environment again "$dir"
run $NCU report.deterministic=true pipeline.ncu.ncu_cli.replay_mode=range "pipeline.ncu.ncu_cli.nvtx.include=[A/,A::A1/,B/]" -- /bin/true
ok run_directory_of_ranges_gives_the_same_report again "$dir"
fail only_start_end "pipeline.ncu.ncu_cli.nvtx.include=[A/]" -- /bin/true
ok only_start_end_is_explained says 'add a `/` at the end'
fail only_push_pop "pipeline.ncu.ncu_cli.nvtx.include=[A/]" -- /bin/true
ok only_push_pop_is_explained says 'leave out the `/`'
fail permission -- /bin/true
ok permission_is_explained says 'NVreg_RestrictProfilingToAdminUsers=0'
ok permission_fails [ $rc -eq 1 ]
fail held -- /bin/true
ok held_counters_are_explained says 'dcgmi profile --pause'
fail driver -- /bin/true
ok missing_driver_is_explained says 'no usable CUDA driver'
fail clocks -- /bin/true
ok clocks_are_explained says 'clock_control=none'
fail metric -- /bin/true
ok bad_metric_is_named says 'sm__nonsense.sum cannot be collected'
fail expression -- /bin/true
ok bad_expression_is_named says 'does not accept the NVTX expression */'
fail mismatch pipeline.ncu.ncu_cli.replay_mode=app-range "pipeline.ncu.ncu_cli.nvtx.include=[A/]" -- /bin/true
ok replay_mismatch_is_explained says 'fix seeds'
ok replay_mismatch_falls_back [ -s "$dir/ncu/kernel.ncu-rep" ]
fail disk -- /bin/true
ok full_disk_is_explained says 'the disk is full'
fail early -- /bin/true
ok profiler_that_cannot_start_is_125 [ $rc -eq 125 ]
ok unknown_error_is_quoted says 'something unheard of'
run $NCU 'pipeline.ncu.ncu_cli.extra_args=[--no-such-option]' -- /bin/true
ok unknown_option_is_named says 'does not know the option --no-such-option'

# --- names are checked before the run
run $NCU 'pipeline.ncu.ncu_cli.sections=[SpeedOfLigth]' -- /bin/true
ok section_typo_has_a_near_match says "no section 'SpeedOfLigth', did you mean 'SpeedOfLight'"
ok section_typo_is_usage [ $rc -eq 2 ]
run $NCU 'pipeline.ncu.ncu_cli.metrics=[gpu__time_duraton.sum]' -- /bin/true
ok metric_typo_has_a_near_match says "did you mean 'gpu__time_duration"
run $NCU pipeline.ncu.ncu_cli.set=ful -- /bin/true
ok set_typo_has_a_near_match says "did you mean 'full'"

run $NCU 'pipeline.ncu.ncu_cli.metrics=[flop_count_hp,gpu__time_duration.sum,nothing_like_it]' -- /bin/true
successors() {
	grep -q 'smsp__sass_thread_inst_executed_op_hfma_pred_on.sum,gpu__time_duration.sum' "$dir/ncu/cmd.txt" && absent flop_count "$dir/ncu/cmd.txt"
}
ok old_metrics_have_successors successors
ok old_metrics_are_named_in_the_report grep -q 'flop_count_hp is a metric of nvprof' "$dir/report.md"
ok metrics_that_are_none_are_left_out says 'nothing_like_it is left out'
ok leaving_metrics_out_is_no_failure [ $rc -eq 0 ]
run $NCU pipeline.ncu.ncu_cli.replay_mode=range 'pipeline.ncu.ncu_cli.nvtx.include=[A]' 'pipeline.ncu.ncu_cli.metrics=[flop_count_hp,gpu__time_duration.sum]' -- /bin/true
ok metrics_that_range_replay_lacks_are_left_out says 'op_hfma_pred_on.sum is left out: ncu does not collect it in range replay'
ok leaving_them_out_the_ranges_are_replayed [ $rc -eq 0 -a -s "$dir/ncu/range.level0.ncu-rep" ]
run $NCU pipeline.ncu.strict=true 'pipeline.ncu.ncu_cli.metrics=[flop_count_hp]' -- /bin/true
ok strict_refuses_metrics_that_ncu_does_not_have [ $rc -eq 2 ]
run -n pipeline.workload.modules=auto -- /bin/true
ok modules_of_a_program_that_is_not_python_are_noted says '--modules is for PyTorch: /bin/true is no Python program'
run -n pipeline.workload.modules=auto -- sh -c 'python3 -c 1'
ok modules_of_what_a_launcher_starts_are_not absent 'is for PyTorch' "$TMP/err"
run -n pipeline.torch_profiler.enable=true -- /bin/true
ok torch_profiler_is_another_word_for_torch grep -q 'torch.profiler, one run' "$TMP/out"

# --- Python modules
mkdir -p "$TMP/modules/pkg" && : >"$TMP/modules/pkg/__init__.py" && echo 'import sys; print("module", *sys.argv[1:])' >"$TMP/modules/pkg/mod.py"
PYTHONPATH=$TMP/modules run $NCU pipeline.workload.module=pkg.mod +dataset.size=3 report.sort=time device=cuda:1 model.channels=8
ok module_runs_with_the_overrides_that_are_its_own \
	[ "$(head -1 "$TMP/out")" = "module +dataset.size=3 device=cuda:1 model.channels=8 hydra.run.dir=$dir/workload" ]
ok module_is_recorded grep -q 'pkg.mod' "$dir/inputs.yaml"

# --- programs and tools
run $NCU -- "$TMP/no such program"
ok missing_program_is_125 [ $rc -eq 125 ]
ok missing_program_is_named says "$TMP/no such program"
run $NCU -- /bin/sh -c 'exit 3'
ok failing_program_gives_its_status [ $rc -eq 3 ]
ok failing_program_keeps_the_report [ -s "$dir/ncu/regions/report.json" ]
ok failing_program_is_said says 'ended with exit code 3'
SONDE_NCU=$TMP/nowhere/ncu run $NCU -- /bin/true
ok missing_ncu_is_125 [ $rc -eq 125 ]
ok missing_ncu_names_doctor says 'sonde doctor'
STANDIN_VERSION=2019.5.0 run $NCU -- /bin/true
ok old_ncu_is_refused says 'too old'
ok old_ncu_is_125 [ $rc -eq 125 ]
run $NCU nonsense.key=1 -- /bin/true
ok unknown_key_is_usage [ $rc -eq 2 ]
run $NCU pipeline.ncu.ncu_cli.nvtx.include='[A/' -- /bin/true
ok bad_override_is_usage [ $rc -eq 2 ]

# --- places
mkdir "$TMP/ro" && chmod 500 "$TMP/ro"
if [ "$(id -u)" -ne 0 ]; then
	"$SONDE" run $NCU "hydra.run.dir=$TMP/ro/x" -- /bin/true >"$TMP/out" 2>"$TMP/err"
	ok unwritable_directory_is_said grep -q 'ro/x' "$TMP/err"
else
	echo "skip unwritable_directory_is_said: root may write everywhere"
fi
: >"$TMP/file"
"$SONDE" run $NCU "hydra.run.dir=$TMP/file/x" -- /bin/true >"$TMP/out" 2>"$TMP/err"
ok file_in_the_way_is_said [ $? -eq 1 ]
if mkdir "$TMP/small" && mount -t tmpfs -o size=16k none "$TMP/small" 2>/dev/null; then
	head -c 20000 /dev/zero >"$TMP/small/fill" 2>/dev/null
	"$SONDE" run $NCU "hydra.run.dir=$TMP/small/x" -- /bin/true >"$TMP/out" 2>"$TMP/err"
	ok full_disk_before_the_run_is_said grep -q 'No space left' "$TMP/err"
	umount "$TMP/small"
else
	echo "skip full_disk_before_the_run_is_said: cannot mount a small file system"
fi

# --- signals (job control on: a shell makes background jobs ignore SIGINT otherwise)
set -m
# With the real library: a stand-in profiler is not the program.
export SONDE_INJECT_LIB=/dev/null
run pipeline.native.enable=false -- /bin/echo ran
ok no_pipeline_is_refused [ $rc -eq 2 -a ! -s "$TMP/out" ]
ok no_pipeline_says_what_to_set says 'pipeline.native.enable'
run "pipeline.native.nvtx.include=[$(seq -s, 300)]" -- /bin/echo ran
ok too_many_patterns_are_refused [ $rc -ne 0 -a ! -s "$TMP/out" ]
run $'hydra.run.dir="'"$TMP"$'/a\nb"' -- /bin/echo ran
ok a_line_end_in_the_path_is_refused says 'line end'
"$SONDE" run "hydra.run.dir=$TMP/usr" -- sh -c 'trap "echo caught; exit 4" USR1; echo begun; i=0; while [ $i -lt 6000 ]; do sleep 0.1; i=$((i + 1)); done' >"$TMP/out" 2>"$TMP/err" </dev/null &
pid=$!
wait_for grep -q begun "$TMP/out"
kill -USR1 $pid
wait $pid
ok user_signals_reach_the_program [ $? -eq 4 -a "$(tail -1 "$TMP/out")" = caught ]
for key in report.kernels.include report.nvtx.include; do
	run "$key=['regex:(']" -- /bin/echo ran
	ok "a_bad_pattern_of_${key}_is_refused_before_the_run" [ $rc -eq 2 -a ! -s "$TMP/out" ]
done
mkdir "$TMP/shared"
for i in 1 2 3 4 5 6 7 8; do
	"$SONDE" run "hydra.run.dir=$TMP/shared" -- /bin/sleep 0.2 >"$TMP/out" 2>"$TMP/err$i" </dev/null &
done
wait
ok of_runs_at_once_one_has_the_directory [ "$(grep -l 'already contains a run' "$TMP"/err? | wc -l)" -eq 7 ]
export SONDE_INJECT_LIB=/nonexistent
for sig in INT TERM; do
	n=$((n + 1)) dir=$TMP/run$n
	STANDIN_SLOW=1 "$SONDE" run $NCU "hydra.run.dir=$dir" -- /bin/sleep 600 >"$TMP/out" 2>"$TMP/err" </dev/null &
	pid=$!
	wait_for grep -q Profiling "$dir/ncu/kernel.log"
	kill -$sig $pid
	wait $pid
	rc=$?
	ok "sig${sig}_reaches_the_program" [ $rc -ge 128 ]
	ok "sig${sig}_keeps_partial_results" [ -s "$dir/ncu/regions/report.json" ]
	ok "sig${sig}_is_said" says 'stopped; what was captured is in'
done
set +m
n=$((n + 1)) dir=$TMP/run$n
printf 'from stdin\n' | "$SONDE" run $NCU "hydra.run.dir=$dir" -- /bin/cat >"$TMP/out" 2>"$TMP/err"
ok stdin_is_the_programs_own grep -qx 'from stdin' "$TMP/out"

# --- ranks
for rank in 0 1; do
	OMPI_COMM_WORLD_RANK=$rank OMPI_COMM_WORLD_SIZE=2 PMIX_NAMESPACE=job1 "$SONDE" run $NCU \
		"hydra.run.dir=$TMP/ranks" -- /bin/true >"$TMP/out" 2>"$TMP/err"
done
ok ranks_write_their_own_reports [ -s "$TMP/ranks/ncu/kernel.rank0.ncu-rep" -a -s "$TMP/ranks/ncu/kernel.rank1.ncu-rep" ]
ok ranks_are_merged_by_the_last grep -q 'over 2 scopes' "$TMP/out"
launch() { # RANKS…: what torchrun does for a script, as a process of its own
	bash -c 'cd "$1" && for rank in "${@:2}"; do
		RANK=$rank WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 MASTER_PORT=29500 TORCHELASTIC_RUN_ID=none \
			bash -c "\"\$SONDE\" run '"$NCU"' -- /bin/true; exit \$?"
	done' - "$TMP/launches" "$@" >"$TMP/out" 2>"$TMP/err" </dev/null
}
mkdir "$TMP/launches"
launch 0
launch 1
ok ranks_of_two_launches_are_not_mixed [ "$(find "$TMP/launches" -name '.begun*' -printf '%h\n' | sort -u | wc -l)" = 2 ]
launch 0 1
ok ranks_of_scripts_find_each_other grep -q 'over 2 scopes' "$TMP/out"

# --- Nsight Systems
rm -f "$TMP/record"
STANDIN_RECORD=$TMP/record run pipeline.nsys.enable=true pipeline.nsys.capture_range=nvtx \
	pipeline.nsys.nvtx_capture=A@* -- /bin/true
ok nsys_report_by_region grep -q 'registered op' "$TMP/out"
ok nsys_writes_sqlite_and_stats [ -s "$dir/nsys/trace.sqlite" -a -s "$dir/nsys/stats_cuda_gpu_kern_sum.csv" ]
ok nsys_gets_the_capture_range has_arg '--nvtx-capture=A@*'
ok nsys_takes_unregistered_strings output_has REGISTER_ONLY=0 args
STANDIN_NSYS_FAIL=range run pipeline.nsys.enable=true pipeline.nsys.capture_range=nvtx \
	pipeline.nsys.nvtx_capture=X -- /bin/true
ok nsys_range_never_entered_is_said says 'never entered the range'
run pipeline.nsys.enable=true pipeline.nsys.capture_range=nvtx -- /bin/true
ok nsys_capture_range_needs_a_range [ $rc -eq 2 ]
rm -f "$TMP/record"
STANDIN_RECORD=$TMP/record run pipeline.nsys.enable=true pipeline.nsys.capture_range=nvtx pipeline.nsys.gating_nvtx=false -- /bin/true
args >"$TMP/args"
ok nsys_without_gating_captures_all absent capture-range "$TMP/args"

# --- names CUPTI knows, without ncu and without a GPU
PATH=/usr/bin:/bin SONDE_NCU= run -n pipeline.ncu.enable=true --chip GH100 "pipeline.ncu.ncu_cli.metrics=[dram__bytes_read.sums]" -- /bin/true
if [ "$rc" = 2 ]; then
	ok a_dry_run_names_the_metric_the_chip_has says "GH100 has no metric 'dram__bytes_read.sums', did you mean 'dram__bytes_read.sum'?"
else
	echo "skip a_dry_run_names_the_metric_the_chip_has: no CUPTI to ask"
fi

# --- the native capture, and what it knows about a program
unset SONDE_INJECT_LIB
if [ -f "$BUILD/libsonde_inject.so" ] && [ -x "$BUILD/workloads/resnet_cpu" ]; then
	export ASAN_OPTIONS=detect_leaks=1
	run model/dummy_shallow_resnet/arch@model=dummy_shallow_resnet.tiny
	ok native_is_the_default_and_so_is_the_workload grep -q 'block.conv1' "$TMP/out"
	ok native_capture_is_kept output_has '\.sonde$' ls "$dir/native"
	mkdir "$TMP/same" && sonde=$(realpath "$SONDE") work=$(realpath "$BUILD/workloads/resnet_cpu")
	for i in 1 2 3 4; do
		(cd "$TMP/same" && exec "$sonde" run -- "$work" 1 >/dev/null 2>&1) &
	done
	wait
	ok runs_of_the_same_second_have_directories_of_their_own [ "$(find "$TMP/same" -name '*.sonde' -printf '%h\n' | sort -u | wc -l)" = 4 ]
	run -- sh -c 'exit 3'
	ok without_a_capture_the_status_is_still_the_programs [ "$rc" = 3 ]
	ok a_failed_program_is_said says 'the program ended with status 3'
	ok a_program_without_ranges_is_explained says 'the program left no capture: it uses neither NVTX nor CUDA'
	run -- sh -c 'kill -9 $$'
	ok a_signal_is_said says 'the program was ended by signal 9 (Killed)'
	ok a_signal_is_the_status [ "$rc" = 137 ]
	run -- true
	ok without_a_capture_profiling_failed [ "$rc" = 1 ]
	plain() { grep -vE '^(CUDA_INJECTION64_PATH|NVTX_INJECTION64_PATH|SONDE_INJECT_[A-Z]*|_)=' | sort; } # but for those that load the library
	run -- env
	same_variables() { diff <(env | plain) <(plain <"$TMP/out"); }
	ok a_programs_variables_are_those_it_has_without_sonde same_variables
	same_output() { run -- "$BUILD/workloads/resnet_cpu" 2 && [ "$(head -1 "$TMP/out")" = "$("$BUILD/workloads/resnet_cpu" 2)" ]; }
	ok a_program_prints_what_it_prints_without_sonde same_output
	run device=cpu model.channels=4 -- env
	ok a_variable_for_what_the_user_set [ "$(grep -E '^SONDE_(MODEL|INFER|DEVICE)' "$TMP/out" | sort | tr '\n' ' ')" = 'SONDE_DEVICE=cpu SONDE_MODEL_CHANNELS=4 ' ]
	run model/dummy_shallow_resnet/arch@model=dummy_shallow_resnet.tiny -- env
	ok a_preset_that_the_user_chose_counts_whole [ "$(grep -cE '^SONDE_MODEL_' "$TMP/out")" = 7 -a "$(grep -c '^SONDE_INFER' "$TMP/out")" = 0 ]
	mkdir "$TMP/mine" && sed 's/steps: 5/steps: 7/' conf/model/dummy_shallow_resnet/infer/dummy_shallow_resnet.default.yaml >"$TMP/sizes"
	mkdir -p "$TMP/mine/model/dummy_shallow_resnet/infer" && mv "$TMP/sizes" "$TMP/mine/model/dummy_shallow_resnet/infer/dummy_shallow_resnet.default.yaml"
	run --config-dir "$TMP/mine" -- env
	ok a_file_of_the_user_counts [ "$(grep -E '^SONDE_(MODEL|INFER_STEPS)' "$TMP/out")" = SONDE_INFER_STEPS=7 ]
	run infer.steps=2 infer.warmup_steps=1 model.blocks=3 model.channels=4 model.image_size=16 -- "$BUILD/workloads/resnet_cpu"
	ok the_workload_takes_its_steps_from_the_configuration grep -qx 'checksum .* after 3 steps' "$TMP/out"
	ok the_workload_takes_its_sizes_from_the_configuration grep -qE ' residual +9 ' "$TMP/out"
	run model.channels=5000 -- "$BUILD/workloads/resnet_cpu"
	ok the_workload_refuses_other_sizes says 'SONDE_MODEL_CHANNELS=5000 is out of range'
	make -s -o all BUILD="$BUILD" PREFIX=/p DESTDIR="$TMP/installed" install >"$TMP/out" 2>"$TMP/err"
	"$TMP/installed/p/bin/sonde" run --demo "hydra.run.dir=$TMP/installed/run" infer.steps=1 >"$TMP/out" 2>"$TMP/err" </dev/null
	ok an_installed_sonde_has_the_workload grep -q 'block.conv1' "$TMP/out"
	run pipeline.workload.name=nosuch
	ok a_workload_that_is_not_there_is_named says "there is no workload 'nosuch'"
	SONDE_INJECT_LIB=$(realpath --relative-to=. "$BUILD/libsonde_inject.so") run pipeline.workload.cwd=/ -- "$work" 1
	ok a_library_is_found_from_another_folder [ "$rc" = 0 ]
	run pipeline.native.graphs=whole -- "$BUILD/workloads/resnet_cpu" 1
	ok graphs_can_be_captured_whole [ "$(grep '^graphs=' "$dir/native/inject.conf")" = graphs=whole ]
	run "pipeline.native.nvtx.include=[stm]" -- "$BUILD/workloads/resnet_cpu" 1
	tr -s '\n ' ' ' <"$TMP/out" >"$TMP/unwrapped"
	ok a_native_include_that_lets_nothing_through_is_said grep -qF 'pipeline.native.nvtx match no range of the program; `sonde regions -- COMMAND`' "$TMP/unwrapped"
	ok a_native_include_that_lets_nothing_through_is_no_failure [ "$rc" = 0 ]
	run report.deterministic=true "report.nvtx.include=[stm]" -- "$BUILD/workloads/resnet_cpu" 1
	"$SONDE" report "$dir" --nvtx-include stm >"$TMP/again"
	sed 1d "$TMP/out" >"$TMP/out.rest"
	ok a_run_selects_as_its_report_does_afterwards cmp "$TMP/out.rest" "$TMP/again"
	run pipeline.native.cupti=off -- "$BUILD/workloads/resnet_cpu" 1
	ok cupti_can_be_switched_off [ "$(grep '^cupti=' "$dir/native/inject.conf")" = cupti=off ]
	run pipeline.native.cupti=lib/libcupti.so -- "$BUILD/workloads/resnet_cpu" 1
	ok a_cupti_that_is_not_there_is_refused_before_the_run [ "$rc" = 2 -a ! -e "$dir" ]
	ok a_cupti_that_is_not_there_is_named says 'pipeline.native.cupti=lib/libcupti.so: write auto, off'
	run "report.formats=[json,csv]" -- "$BUILD/workloads/resnet_cpu" 1
	regions=$dir/native/regions
	ok a_run_writes_the_configured_formats [ -e "$regions/report.csv" -a -e "$regions/report.json" -a ! -e "$regions/report.html" ]
	fail nothing "pipeline.ncu.ncu_cli.nvtx.include=[Stem/]" -- "$BUILD/workloads/resnet_cpu"
	ok nothing_matched_lists_the_real_ranges says 'residual/block.conv1'
	ok nothing_matched_corrects_the_expression says "instead of 'Stem/' try: pipeline.ncu.ncu_cli.nvtx.include=['stem']"
	ok nothing_matched_gives_a_baseline grep -q 'residual' "$TMP/out"
	ok nothing_matched_says_in_the_report_what_there_is \
		third_line_has "$dir/ncu/regions/report.md" "The program.s ranges are .*stem.* This \(is a baseline\|report has no launches\)"
	ok nothing_matched_has_a_folder_for_each_real_range [ -s "$dir/ncu/regions/step__stem/report.md" ]
	ok nothing_matched_is_at_the_top_of_the_run cmp "$dir/report.json" "$dir/ncu/regions/report.json"
	STANDIN_REPORT=$PWD/tests/data/ncu/seed_kernel.ncu-rep run $NCU pipeline.native.enable=true report.deterministic=true -- "$BUILD/workloads/resnet_cpu"
	ok ranges_that_a_look_found_are_empty_regions jq -e '.aggregate.regions |
		(map(select(.id == "step/stem")) | length == 1 and .[0].kernel_count == 0) and (map(select(.id == "A"))[0].kernel_count == 18)' "$dir/ncu/regions/report.json"
	ok ranges_that_a_look_found_make_a_valid_report quiet "$SONDE" validate "$dir/ncu/regions/report.json"
	ok ranges_that_a_look_found_come_again again "$dir"
	fail nothing "pipeline.ncu.ncu_cli.nvtx.include=[residual,step/]" -- "$BUILD/workloads/resnet_cpu" 1
	ok nothing_profiled_in_a_range_that_is_there_is_said says "'residual' is among them, but no kernel was profiled in it"
	ok nothing_profiled_suggests_no_range_that_was_asked_for absent 'instead of' "$TMP/err"
	fail permission "pipeline.ncu.ncu_cli.nvtx.include=[stm]" -- "$BUILD/workloads/resnet_cpu" 1
	ok locked_counters_are_no_reason_to_look_at_ranges absent -E 'looking at|these ranges|instead of' "$TMP/err"
	ok locked_counters_let_the_program_run_once [ "$(grep -c checksum "$TMP/out")" = 1 -a ! -e "$dir/discover" ]
	run $NCU pipeline.ncu.ncu_cli.replay_mode=range \
		"pipeline.ncu.ncu_cli.nvtx.include=[stem,residual,head,'block.*']" -- "$BUILD/workloads/resnet_cpu"
	ok range_levels_come_from_the_real_nesting says 'plan: 2 ncu captures'
	ok range_outer_ranges_share_a_capture says 'range.level0: range replay, ranges [step/stem [step/residual [step/head'
	ok range_inner_ranges_share_the_next says '[step/residual/block.conv1 [step/residual/block.conv2'
else
	echo "skip native_is_the_default_and_so_is_the_workload: no NVTX headers to build the library"
fi
