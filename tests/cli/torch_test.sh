#!/usr/bin/env bash
# torch.profiler as a stage of `sonde run`: the program writes a trace; sonde collects it and makes the report.
. "$(dirname "$0")/../lib.sh"
trace=$PWD/tests/data/kineto/h200_train.json.gz
nr=0

run() { # WORDS…: `sonde run` into $dir
	nr=$((nr + 1)) dir=$TMP/run$nr
	"$SONDE" run hydra.run.dir="$dir" pipeline.torch.enable=true "$@" >"$TMP/out" 2>"$TMP/err"
	rc=$?
}

run -- sh -c "cp '$trace' \"\$TORCH_TRACE_DIR/rank0.pt.trace.json.gz\""
ok torch__the_trace_is_in_the_run_directory [ -s "$dir/torch_profiler/rank0.pt.trace.json.gz" ]
ok torch__its_report_is_printed grep -q 'optimizer' "$TMP/out"
ok torch__its_report_is_written [ -s "$dir/torch_profiler/regions/report.json" ]
ok torch__the_trace_is_the_users_alone [ -z "$(find "$dir" ! -type l -perm /077)" ]
ok torch__nothing_else_runs [ "$rc" -eq 0 -a ! -d "$dir/native" ]

mkdir -p "$TMP/here/log"
touch -d '2 hours ago' "$TMP/here/log/old.json"
run "pipeline.workload.cwd=$TMP/here" "pipeline.torch.pattern=log/*.json*" -- sh -c "cp '$trace' log/t.json.gz"
ok torch__a_pattern_finds_it [ -s "$dir/torch_profiler/t.json.gz" ]
ok torch__traces_of_earlier_runs_stay [ ! -e "$dir/torch_profiler/old.json" ]

TORCH_TRACE_DIR=$TMP/mine
export TORCH_TRACE_DIR
mkdir -p "$TORCH_TRACE_DIR"
run -- sh -c "cp '$trace' \"\$TORCH_TRACE_DIR/t.json.gz\""
ok torch__a_directory_of_the_users_own_is_kept [ -s "$TMP/mine/t.json.gz" -a -s "$dir/torch_profiler/t.json.gz" ]
unset TORCH_TRACE_DIR

run -- true
ok torch__without_a_trace_it_says_what_to_do grep -q 'export_chrome_trace' "$TMP/err"
ok torch__without_a_trace_it_fails [ "$rc" -ne 0 ]
run -- sh -c 'exit 3'
ok torch__the_status_is_the_programs [ "$rc" -eq 3 ]
"$SONDE" run --dry-run pipeline.torch.enable=true -- python3 train.py >"$TMP/out" 2>"$TMP/err"
ok torch__a_plan_says_so grep -q 'TORCH_TRACE_DIR=torch_profiler python3 train.py' "$TMP/out"
