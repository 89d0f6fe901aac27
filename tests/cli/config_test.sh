#!/usr/bin/env bash
# sonde config: the manual is current and its examples run; errors are one line and exit 2.
. "$(dirname "$0")/../lib.sh"
repo=$PWD


verdict() { # NAME STATUS
	if [ "$2" -eq 0 ]; then pass "config__$1"; else not_ok "config__$1"; fi
}

# Every `sonde config` line of the manual.
failed=0
while IFS= read -r line; do
	(eval "\"$SONDE\" ${line#sonde }") >"$TMP/out" 2>"$TMP/err" || {
		echo "$line: $(cat "$TMP/err")"
		failed=1
	}
	[ -s "$TMP/out" ] || failed=1
done < <(sed -n '/^```sh$/,/^```$/p' docs/configuration.md docs/sonde-config.md | grep '^sonde config ')
verdict examples_of_the_manual_run $failed

# `sonde config ARGS…` fails with status 2 and one line that contains WORD.
refused() { # NAME WORD ARGS…
	local name=$1 word=$2 status
	shift 2
	"$SONDE" config "$@" >"$TMP/out" 2>"$TMP/err"
	status=$?
	if [ $status -eq 2 ] && [ "$(wc -l <"$TMP/err")" -eq 1 ] && grep -q -F -- "$word" "$TMP/err" && [ ! -s "$TMP/out" ]; then
		echo "ok config__$name"
	else
		echo "status $status: $(cat "$TMP/err")"
		echo "not ok config__$name"
	fi
}
refused unknown_key_suggests_the_nearest "unknown key 'report.metrcs', did you mean 'report.metrics'?" 'report.metrcs=[a]'
refused unknown_key_without_a_near_one_says_how_to_add_it "unknown key 'report.zzzzzzzz'; 'sonde config --help' lists the keys, +report.zzzzzzzz=VALUE adds one on purpose" 'report.zzzzzzzz=1'
refused unknown_key_suggests_the_nearest_before_a_new_key "sonde: unknown key 'pipeline.ncu.enabled', did you mean 'pipeline.ncu.enable'?" pipeline.ncu.enabled=true
refused unknown_option_lists_the_options 'ncu.default, ncu.h200' profiling/ncu@pipeline.ncu=nosuch
refused unknown_preset_suggests_the_nearest "override 'counters=fulll': 'fulll' is not one of auto, basic, full, memory, nvlink, off, tensor; did you mean 'full'?" counters=fulll
refused unknown_preset_of_a_package_suggests_the_nearest "did you mean 'ncu.high'?" profiling/ncu@pipeline.ncu=ncu.hihg
refused preset_that_is_not_in_use_says_how_to_add_it "'model': the configuration has no preset of that group to replace; +model=NAME adds one" model=resnet
refused open_list_says_what_to_write "override 'report.metrics=[a': it ends too early: a bracket or a quote is not closed; a list is KEY=[a,b], in quotes for the shell" 'report.metrics=[a'
refused odd_value_says_what_to_write "override 'device=device=': unexpected '='; put the value in quotes: 'KEY=\"VALUE\"'" device=device=
refused no_key_is_said "override '=x': there is no key before the '='" =x
for bad in counters=fulll 'report.metrics=[a' device=device= =x model=resnet; do # in other commands too, and never in Hydra's words
	for c in "report tests/data/ncu/seed_kernel.ncu-rep $bad" "diff tests/data/ncu/seed_kernel.ncu-rep tests/data/ncu/seed_kernel.ncu-rep $bad"; do
		# shellcheck disable=SC2086
		"$SONDE" $c >/dev/null 2>"$TMP/err" || ! grep -q 'defaults list\|Could not\|Error parsing\|search path' "$TMP/err" && [ -s "$TMP/err" ]
		verdict "${c%% *}_speaks_of_$bad" $?
	done
done
refused sweep_without_m_says_so '--multirun' report.sort=time,name
refused syntax_error_names_the_override "'report.metrics=[a'" 'report.metrics=[a'
refused unquoted_character_names_the_column 'column 14' 'report.scope=é'
refused unknown_word_in_a_list_names_the_words 'report.formats must be a list of json|md|html|csv' 'report.formats=[json,pdf]'
refused unknown_word_for_a_list_too 'a list of json|md|html|csv' report.formats=pdf
refused unknown_flag_is_usage '--orign' --orign
refused missing_config_dir_is_named 'nosuch_dir' --config-dir nosuch_dir

! LC_ALL=C "$SONDE" config --help | LC_ALL=C grep -q '[^ -~]'
verdict help_is_ascii $?

# Where values come from: the table, a file with its line, an override.
"$SONDE" config --origin report=ci report.sort=time >"$TMP/out"
grep -qx 'report.nesting: label  # the default' "$TMP/out" &&
	grep -qx "report.sort: time  # override 'report.sort=time'" "$TMP/out" &&
	grep -q '^report.formats\[0\]: json  # .*report/ci.yaml:5$' "$TMP/out"
verdict origins_are_the_table_files_and_overrides $?

# A single value is bare; a missing package is status 1.
[ "$("$SONDE" config -p report.nesting)" = label ]
verdict single_value_is_bare $?
"$SONDE" config -p nosuch >/dev/null 2>"$TMP/err"
[ $? -eq 1 ] && grep -q "package 'nosuch' not found" "$TMP/err"
verdict missing_package_is_status_1 $?

# The printed configuration composes to itself.
"$SONDE" config report.sort=time >"$TMP/one.yaml"
"$SONDE" config --config-dir "$TMP" --config-name one >"$TMP/two.yaml"
cmp -s "$TMP/one.yaml" "$TMP/two.yaml"
verdict output_composes_to_itself $?

# The search path: the nearest folder wins.
mkdir -p "$HOME/.config/sonde/profiling/ncu" "$TMP/project/conf/profiling/ncu" "$TMP/dir/profiling/ncu"
for place in "$HOME/.config/sonde" "$TMP/project/conf" "$TMP/dir"; do
	printf 'defaults:\n- ncu.default\n- _self_\nncu_cli:\n  set: %s\n' "$(basename "$place")" >"$place/profiling/ncu/mine.yaml"
done
set_of() { (cd "$1" && shift && "$SONDE" config -p pipeline.ncu.ncu_cli.set profiling/ncu@pipeline.ncu=mine "$@"); }
[ "$(set_of "$TMP")" = sonde ] && [ "$(set_of "$TMP/project")" = conf ] &&
	[ "$(set_of "$TMP/project" --config-dir "$TMP/dir")" = dir ]
verdict nearest_folder_wins $?
mkdir -p "$TMP/other/conf" && printf 'lr: 0.1\n' >"$TMP/other/conf/config.yaml"
(cd "$TMP/other" && "$SONDE" config >/dev/null)
verdict conf_of_another_program_is_left_alone $?
cd "$repo" || exit 1

# Sweeps, in order, each in its own directory.
"$SONDE" config -m hydra.sweep.dir=out report.max_kernels=1,2 report.sort=time,name -p report.sort |
	grep -v '^---' | tr '\n' ' ' >"$TMP/out"
[ "$(cat "$TMP/out")" = '# in out/0 time # in out/1 name # in out/2 time # in out/3 name ' ]
verdict sweep_prints_jobs_in_order $?
phases() { "$SONDE" config profiling/ncu@pipeline.ncu=ncu.llm -p pipeline.ncu.ncu_cli.nvtx.include | tr '\n' ' '; }
ok llm_preset_names_the_phases_of_a_model output_has '- LLM@\* - prefill\* - decode\* ' phases
