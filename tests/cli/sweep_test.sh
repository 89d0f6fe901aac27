#!/usr/bin/env bash
# `sonde run -m`: jobs run in order, each in its own directory; and the directory in which a program runs. Fake ncu, no GPU.
. "$(dirname "$0")/../lib.sh"
export PATH="$PWD/tests/standin:$PATH" SONDE_INJECT_LIB=/nonexistent
NCU="pipeline.ncu.enable=true pipeline.ncu.ncu_cli.export.csv=false"
CLI=pipeline.ncu.ncu_cli
n=0

sweep() { # ARGS…: a sweep into a fresh directory; $dir, $rc, $TMP/out, $TMP/err
	n=$((n + 1)) dir=$TMP/sweep$n
	"$SONDE" run -m $NCU "hydra.sweep.dir=$dir" "$@" >"$TMP/out" 2>"$TMP/err" </dev/null
	rc=$?
}
run() {
	n=$((n + 1)) dir=$TMP/run$n
	"$SONDE" run $NCU "hydra.run.dir=$dir" "$@" >"$TMP/out" 2>"$TMP/err" </dev/null
	rc=$?
}
says() { grep -qF -e "$1" "$TMP/err"; }
jobs_said() { grep -o 'sonde: job .*' "$TMP/err"; }

# --- order and places
sweep $CLI.launch_count=1,2 "$CLI.replay_mode=choice(kernel,application)" -- /bin/echo ran
cat >"$TMP/want" <<END
sonde: job 1 of 4: $CLI.launch_count=1 $CLI.replay_mode=kernel
sonde: job 2 of 4: $CLI.launch_count=1 $CLI.replay_mode=application
sonde: job 3 of 4: $CLI.launch_count=2 $CLI.replay_mode=kernel
sonde: job 4 of 4: $CLI.launch_count=2 $CLI.replay_mode=application
END
ok sweep_runs_in_order_last_key_fastest diff <(jobs_said) "$TMP/want"
ok sweep_ends_well [ $rc -eq 0 ]
ok sweep_runs_the_program_each_time [ "$(grep -c '^ran$' "$TMP/out")" -eq 4 ]
ok sweep_reports_each_job [ "$(grep -c '^job . of 4: ' "$TMP/out")" -eq 4 ]
ok sweep_says_how_it_went says "4 of 4 jobs went well; everything is in $dir"
for f in multirun.yaml 0/ncu/kernel.ncu-rep 1/ncu/application.ncu-rep 3/ncu/regions/report.json \
	3/config.yaml 3/inputs.yaml 3/env.json 3/.hydra/config.yaml 3/.hydra/hydra.yaml; do
	ok "sweep_writes_$f" [ -s "$dir/$f" ]
done
ok sweep_leaves_the_jobs_overrides diff "$dir/2/.hydra/overrides.yaml" - <<END
- pipeline.ncu.enable=True
- $CLI.export.csv=False
- $CLI.launch_count=2
- $CLI.replay_mode=kernel
END
ok sweep_jobs_know_their_number grep -q '^    num: 2$' "$dir/2/.hydra/hydra.yaml"
ok sweep_jobs_know_their_directory grep -q "output_dir: $dir/2\$" "$dir/2/.hydra/hydra.yaml"
ok sweep_inputs_repeat_one_job grep -qF "$CLI.launch_count=2" "$dir/2/inputs.yaml"
sweep "$CLI.launch_count=range(1,4)" -- /bin/true
ok sweep_takes_range [ "$(jobs_said | wc -l)" -eq 3 ]
sweep 'profiling/ncu@pipeline.ncu=glob(ncu.rtx3090*)' pipeline.ncu.enable=true -- /bin/true
ok sweep_takes_glob_of_a_group diff <(jobs_said | sed 's/.*=//') <(printf 'ncu.rtx3090%s\n' '' .compute .memory)
sweep -- /bin/true
ok sweep_of_nothing_is_one_job [ -s "$dir/0/ncu/regions/report.json" ]
sweep "hydra.sweep.subdir='\${hydra.job.override_dirname}'" \
	"hydra.job.config.override_dirname.exclude_keys=[pipeline.ncu.enable,$CLI.export.csv]" \
	$CLI.launch_count=5,6 -- /bin/true
ok sweep_subdir_may_be_the_overrides [ -d "$dir/$CLI.launch_count=6/ncu" ]
"$SONDE" run $NCU hydra.mode=MULTIRUN "hydra.sweep.dir=$TMP/mode" $CLI.launch_count=1,2 -- /bin/true \
	>"$TMP/out" 2>"$TMP/err"
ok sweep_by_hydra_mode [ -d "$TMP/mode/1/ncu" ]

# --- before anything runs
"$SONDE" run -m -n $NCU "hydra.sweep.dir=$TMP/dry" $CLI.launch_count=1,2 -- /bin/true >"$TMP/out" 2>"$TMP/err"
ok sweep_dry_run_shows_all_plans [ "$(grep -c '^plan: 1 ncu capture$' "$TMP/out")" -eq 2 ]
ok sweep_dry_run_names_the_jobs grep -q "^job 2 of 2: $CLI.launch_count=2\$" "$TMP/out"
ok sweep_dry_run_makes_nothing [ ! -e "$TMP/dry" ]
sweep $CLI.launch_count=1,2,x -- /bin/true
ok sweep_refuses_a_bad_job_before_the_first_runs [ $rc -eq 2 -a ! -e "$dir" ]
ok sweep_names_the_bad_job says 'job 3 of 3: '
run $CLI.launch_count=1,2 -- /bin/true
ok sweep_without_m_is_usage [ $rc -eq 2 -a ! -e "$dir" ]
ok sweep_without_m_says_how says 'add --multirun'
run "$CLI.launch_count=range(3)" -- /bin/true
ok sweep_function_without_m_says_how says 'requires --multirun'
sweep hydra.job.name=a,b -- /bin/true
ok sweep_over_hydra_is_refused says "Sweeping over Hydra's configuration is not supported"
sweep $CLI.launch_count=1,2 -- "$TMP/nowhere"
ok sweep_without_program_is_125 [ $rc -eq 125 -a ! -e "$dir" ]
mkdir -p "$TMP/taken/1/ncu"
"$SONDE" run -m $NCU "hydra.sweep.dir=$TMP/taken" $CLI.launch_count=1,2 -- /bin/true >"$TMP/out" 2>"$TMP/err"
ok sweep_refuses_a_job_directory_that_holds_a_run [ $? -eq 2 -a ! -e "$TMP/taken/0" ]
mkdir -p "$TMP/20260131-120000/0/ncu" && : >"$TMP/20260131-120000/multirun.yaml"
"$SONDE" run -m $NCU "hydra.sweep.dir=$TMP/20260131-120000" $CLI.launch_count=1,2 -- /bin/true >"$TMP/out" 2>"$TMP/err"
ok sweep_numbers_a_time_that_is_taken [ -s "$TMP/20260131-120000-2/1/ncu/kernel.ncu-rep" ]

# --- failures and signals
sweep '+pipeline.workload.env.CODE=0,3,4' -- /bin/sh -c 'exit $CODE'
ok sweep_exits_with_the_first_failure [ $rc -eq 3 ]
ok sweep_goes_on_after_a_failure [ -s "$dir/2/ncu/regions/report.json" ]
ok sweep_counts_failures says '1 of 3 jobs went well'
set -m
n=$((n + 1)) dir=$TMP/sweep$n
STANDIN_SLOW=1 "$SONDE" run -m $NCU "hydra.sweep.dir=$dir" '+pipeline.workload.env.S=0,600,0' -- \
	/bin/sh -c 'sleep $S' >"$TMP/out" 2>"$TMP/err" </dev/null &
pid=$!
wait_for grep -q Profiling "$dir/1/ncu/kernel.log"
kill -INT $pid
wait $pid
rc=$?
set +m
ok sweep_stops_at_ctrl_c [ $rc -ge 128 -a ! -e "$dir/2" ]
ok sweep_stopped_keeps_what_was_done [ -s "$dir/0/ncu/regions/report.json" -a -s "$dir/1/ncu/regions/report.json" ]
ok sweep_stopped_is_said says 'stopped in job 2 of 3'

SONDE_INJECT_LIB=/dev/null "$SONDE" run -m "hydra.sweep.dir=$TMP/own" infer.steps=1,2 -- sh -c 'kill -TERM $$' >"$TMP/out" 2>"$TMP/err" </dev/null
ok sweep_goes_on_when_a_program_ends_itself [ $? -eq 143 -a -e "$TMP/own/1" ]

# --- ranks
for rank in 0 1; do
	OMPI_COMM_WORLD_RANK=$rank OMPI_COMM_WORLD_SIZE=2 PMIX_NAMESPACE=job2 "$SONDE" run -m $NCU \
		"hydra.sweep.dir=$TMP/ranks" $CLI.launch_count=1,2 -- /bin/true >"$TMP/out" 2>"$TMP/err"
done
ok sweep_ranks_share_each_job [ -s "$TMP/ranks/0/ncu/kernel.rank0.ncu-rep" -a -s "$TMP/ranks/1/ncu/kernel.rank1.ncu-rep" ]
ok sweep_ranks_are_merged grep -q 'over 2 scopes' "$TMP/out"

# --- where and how the program runs
printf '#!/bin/sh\npwd; echo "X=$X Y=$Y"; sleep ${S:-0}\n' >"$TMP/where" && chmod +x "$TMP/where"
cd "$TMP" || exit 1
"$SONDE" run $NCU hydra.run.dir=rel/run hydra.job.chdir=true -- ./where >"$TMP/out" 2>"$TMP/err" </dev/null
rc=$?
ok chdir_runs_in_the_run_directory grep -qx "$TMP/rel/run" "$TMP/out"
ok chdir_reports_as_ever [ $rc -eq 0 -a -s "$TMP/rel/run/ncu/regions/report.json" ]
"$SONDE" run $NCU hydra.run.dir=rel/plain -- ./where >"$TMP/out" 2>"$TMP/err" </dev/null
ok without_chdir_it_runs_here grep -qx "$TMP" "$TMP/out"
mkdir -p there
"$SONDE" run $NCU hydra.run.dir=rel/cwd pipeline.workload.cwd=there hydra.job.chdir=true -- ../where >"$TMP/out" 2>"$TMP/err" </dev/null
ok workload_cwd_wins_over_chdir grep -qx "$TMP/there" "$TMP/out"
ok run_dir_is_relative_to_the_start [ -s "$TMP/rel/cwd/ncu/regions/report.json" ]
run pipeline.workload.cwd="$TMP/nowhere" -- /bin/true
ok missing_cwd_is_said says "pipeline.workload.cwd=$TMP/nowhere: no such directory"
run '+pipeline.workload.env.X="a b"' '+hydra.job.env_set.Y=2' -- ./where
ok workload_env_reaches_the_program grep -qx 'X=a b Y=2' "$TMP/out"
run 'pipeline.workload.command=[./where]' '+pipeline.workload.env.X=${hydra:runtime.output_dir}'
ok configured_command_runs grep -qx "X=$dir Y=" "$TMP/out"
run 'pipeline.workload.command=[/usr/bin/printf,"<%s>","",a]'
ok configured_command_keeps_empty_words grep -q '^<><a>' "$TMP/out"
for s in 2 10 50; do # on a busy machine the profiler may not have begun by then
	STANDIN_SLOW=1 run pipeline.workload.timeout_s=$s -- /bin/sleep 600
	! grep -qs Profiling "$dir/ncu/kernel.log" || break
done
ok timeout_ends_the_program [ $rc -ge 124 ]
ok timeout_is_said says "stopped after $s s"
ok timeout_keeps_what_was_captured grep -q "stopped after $s s" "$dir/ncu/regions/report.json"
run hydra.output_subdir=null -- /bin/true
ok hydra_subdir_can_be_left_out [ ! -e "$dir/.hydra" -a -s "$dir/config.yaml" ]
