#!/usr/bin/env bash
# Ranks of one job that start at the same time: every program runs, even if the run directory cannot be used.
# Runs long.
. "$(dirname "$0")/../lib.sh"
PROG=$PWD/$BUILD/workloads/pairs
[ -x "$PROG" ] || skip_all "the NVTX headers were not found when building"

rank() { # JOB RANK SIZE ARGS…: its output in $TMP/JOB.RANK
	local job=$1 rank=$2 size=$3
	shift 3
	SLURM_JOB_ID=$job SLURM_PROCID=$rank SLURM_NTASKS=$size SLURM_STEP_ID=0 "$SONDE" run -q "$@" \
		>"$TMP/$job.$rank" 2>&1
	echo "status $?" >>"$TMP/$job.$rank"
}
jobs_of() { # NR RANKS DIRECTORY-FORMAT: all ranks of a job at once
	local j r lost=0 dir
	for j in $(seq "$1"); do
		# shellcheck disable=SC2059
		dir=$TMP/$(printf "$3" "$j")
		for r in $(seq 0 $(($2 - 1))); do rank "$3$j" "$r" "$2" "hydra.run.dir=$dir" -- "$PROG" 3 & done
		wait
		for r in $(seq 0 $(($2 - 1))); do
			grep -qx 'status 0' "$TMP/$3$j.$r" && ! grep -q 'without a profile' "$TMP/$3$j.$r" || {
				cat "$TMP/$3$j.$r"
				lost=$((lost + 1))
			}
		done
		dir=$(echo "$dir"*) # one that is named by the time may have got a number
		[ "$(find "$dir"/native -name '[0-9]*.sonde' | wc -l)" = "$2" ] || lost=$((lost + 1))
		[ -e "$dir/.complete" ] && [ -s "$dir/native/regions/report.json" ] || lost=$((lost + 1))
	done
	[ "$lost" = 0 ]
}
taken() { # another job's directory: the rank is told, and its program runs
	mkdir -p "$TMP/taken/native"
	rank x 1 2 "hydra.run.dir=$TMP/taken" -- sh -c 'echo ran; exit 4'
	grep -qx ran "$TMP/x.1" && grep -qx 'status 4' "$TMP/x.1" && grep -q 'already contains a run' "$TMP/x.1" &&
		grep -q 'rank 1 runs without a profile' "$TMP/x.1"
}
no_place() { # a directory that cannot be made
	: >"$TMP/file"
	rank y 0 2 "hydra.run.dir=$TMP/file/below" -- sh -c 'echo ran'
	grep -qx ran "$TMP/y.0" && grep -qx 'status 0' "$TMP/y.0" && grep -q 'runs without a profile' "$TMP/y.0"
}
alone() { # a run of one process is refused as ever: nothing has started that waits for it
	! "$SONDE" run -q "hydra.run.dir=$TMP/taken" -- sh -c 'echo ran' >"$TMP/alone" 2>&1 && ! grep -qx ran "$TMP/alone"
}
chosen() { # two of four are profiled; the others are the program itself, with nothing of sonde's
	local r dir=$TMP/chosen status=0
	for r in 0 1 2 3; do
		SLURM_JOB_ID=c SLURM_PROCID=$r SLURM_NTASKS=4 SLURM_STEP_ID=0 "$SONDE" run -q 'ranks=[0,2]' "hydra.run.dir=$dir" \
			+pipeline.workload.env.MINE=yes -- sh -c 'echo "pid $$ ${NVTX_INJECTION64_PATH:+lib} $MINE"; '"$PROG"' 3 >&2; exit '"$r" \
			>"$TMP/c.$r" 2>"$TMP/c.$r.err" &
		echo $! >"$TMP/c.$r.pid"
	done
	for r in 0 1 2 3; do
		wait "$(cat "$TMP/c.$r.pid")"
		[ $? = "$r" ] || status=1
	done
	for r in 1 3; do
		[ "$(cat "$TMP/c.$r")" = "pid $(cat "$TMP/c.$r.pid")  yes" ] || status=1
		! grep -q sonde "$TMP/c.$r.err" || status=1
	done
	for r in 0 2; do grep -q '^pid .* lib yes$' "$TMP/c.$r" || status=1; done
	[ $status = 0 ] || { tail "$TMP"/c.*; return 1; }
	[ "$(cd "$dir/native" && echo cmd.*)" = 'cmd.rank0.txt cmd.rank2.txt' ] &&
		grep -qx "ranks: {profiled: '0,2', of: 4}" "$dir/inputs.yaml" &&
		grep -q "2 of the job's 4 ranks are here: 0, 2" "$dir/report.md" &&
		"$SONDE" report "$dir" 2>&1 | grep -q "2 of the job's 4 ranks are here: 0, 2" && [ -e "$dir/.complete" ]
}
chosen_by_the_library() { # sonde around the launcher: the library leaves the other ranks alone
	local dir=$TMP/around
	# shellcheck disable=SC2016
	"$SONDE" run -q ranks=1 "hydra.run.dir=$dir" -- sh -c 'for RANK in 0 1 2; do export RANK WORLD_SIZE=3; '"$PROG"' 3; done' &&
		[ "$(find "$dir/native" -name '*.sonde' | wc -l)" = 1 ] && grep -q "1 of the job's 3 ranks is here: 1" "$dir/report.md" || return 1
	! "$SONDE" run -q ranks=1 "hydra.run.dir=$TMP/none" -- "$PROG" 3 >"$TMP/none.out" 2>&1 &&
		grep -q 'no process of the program was rank 1 (ranks=\[1\]): start the program by a launcher' "$TMP/none.out"
}
refused() { # WORDS MESSAGE: in every rank alike, before a program starts
	local r words=$1
	shift
	for r in 0 1; do
		# shellcheck disable=SC2086
		rank "$TEST" $r 2 "hydra.run.dir=$TMP/refused" $words -- sh -c 'echo ran'
		grep -q -- "$1" "$TMP/$TEST.$r" && grep -qx 'status 2' "$TMP/$TEST.$r" && ! grep -qx ran "$TMP/$TEST.$r" && [ ! -e "$TMP/refused" ] ||
			{ cat "$TMP/$TEST.$r"; return 1; }
	done
}
wrong_choices() {
	TEST=w1 refused 'ranks=[0,8]' 'there is no rank 8: the job has 2 ranks, 0 to 1' &&
		TEST=w2 refused 'ranks=[first]' "'first' is not a rank: write numbers and spans, such as ranks=\[0,8\]" &&
		TEST=w3 refused 'ranks=[0] pipeline.native.enable=true pipeline.nsys.enable=true' 'enable one pipeline' &&
		TEST=w4 refused 'ranks=[0] --ncu pipeline.ncu.ncu_cli.replay_mode=range' 'set pipeline.ncu.ncu_cli.replay_mode=kernel' &&
		TEST=w5 refused 'ranks=[0] hydra.job.chdir=true' 'set pipeline.workload.cwd=DIR instead'
}
pods() { # Kubernetes says the index and not how many there are
	local r dir=$TMP/pods
	for r in 0 1; do
		JOB_NAME=pods JOB_COMPLETION_INDEX=$r WORLD_SIZE=2 "$SONDE" run -q "hydra.run.dir=$dir" -- "$PROG" 3 >"$TMP/pod.$r" 2>&1 || return 1
	done
	[ -s "$dir/native/cmd.rank1.txt" ] && [ -e "$dir/.complete" ] && "$SONDE" report --per-scope "$dir" | grep -q 'rank 1 · ' || return
	dir=$TMP/uncounted # nobody says how many: each reports what is there
	for r in 0 1 2; do
		JOB_NAME=uncounted JOB_COMPLETION_INDEX=$r "$SONDE" run -q "hydra.run.dir=$dir" -- "$PROG" 3 >"$TMP/pod.$r" 2>&1 && ! grep -q 'without a profile' "$TMP/pod.$r" || return 1
		grep -q "^| layer0.attention | $((r + 1)) " "$dir/report.md" && cmp "$dir/report.html" "$dir/native/regions/report.html" || return 1
	done
}
say_what_is_theirs() { # another rank's program goes on, and one had no memory: the others have nothing to say of that
	local dir=$TMP/theirs pid
	SLURM_JOB_ID=t SLURM_PROCID=0 SLURM_NTASKS=4 SLURM_STEP_ID=0 "$SONDE" run -q "hydra.run.dir=$dir" -- "$PROG" 2000000000 >"$TMP/t.0" 2>&1 &
	pid=$!
	wait_for sh -c "ls $dir/native/[0-9]*.sonde >/dev/null 2>&1" || return
	rank t 1 4 "hydra.run.dir=$dir" -- "$BUILD/workloads/lifetimes" limit 10
	rank t 2 4 "hydra.run.dir=$dir" -- "$PROG" 3
	rank t 3 4 "hydra.run.dir=$dir" -- "$BUILD/workloads/lifetimes" service 10
	kill "$pid" "$(sed -n 's/^service \([0-9]*\)$/\1/p' "$TMP/t.3")"
	wait "$pid"
	tail "$TMP"/t.[0-3]
	grep -q 'no memory for the buffers' "$TMP/t.1" && grep -qF '1 process of the run goes on' "$TMP/t.3" &&
		[ "$(grep '^sonde' "$TMP/t.2")" = "sonde: everything is in $dir" ] && ! grep 'goes\? on' "$TMP"/t.[01] && ! grep 'no memory' "$TMP"/t.[023] &&
		[ "$(cd "$dir/native" && echo inject*)" = 'inject.conf inject.status' ]
}
mpi_says_nothing() { # LAUNCHER…: around sonde or below it, ranks that end well end without a word of processes
	local dir=$TMP/quiet.$(basename "$1") i
	for i in 1 2; do
		"$@" -n 6 "$SONDE" run -q "hydra.run.dir=$dir.$i" -- "$PROG" 3000 >"$TMP/out" 2>"$TMP/err" || return
		! grep 'process' "$TMP/err" && [ "$(find "$dir.$i/native" -name '*.sonde' | wc -l)" = 6 ] || return
	done
	"$SONDE" run -q "hydra.run.dir=$dir.below" -- "$@" -n 6 "$PROG" 3000 >"$TMP/out" 2>"$TMP/err" &&
		! grep 'process' "$TMP/err" && [ "$(find "$dir.below/native" -name '*.sonde' | wc -l)" = 6 ]
}
mpi() { # LAUNCHER…: three real ranks, of which one is profiled
	local dir=$TMP/mpi.$(basename "$1")
	"$@" -n 3 "$SONDE" run -q 'ranks=[1]' "hydra.run.dir=$dir" -- "$PROG" 3 || return 1
	[ "$(find "$dir/native" -name '*.sonde' | wc -l)" = 1 ] && grep -q "1 of the job's 3 ranks is here: 1" "$dir/report.md"
}
try_mpi() { # NAME TEST LAUNCHER ARGS…
	if command -v "$3" >/dev/null; then ok "$@"; else skip "$1" "$3 is not installed"; fi
}

ok ranks__that_start_together_share_a_named_directory jobs_of 8 8 named%s
ok ranks__that_start_together_share_a_timed_directory jobs_of 2 8 20260131-12000%s
ok ranks__of_a_taken_directory_run_their_program taken
ok ranks__without_a_directory_run_their_program no_place
ok ranks__a_run_of_its_own_is_refused alone
ok ranks__chosen_ones_are_profiled_and_the_others_untouched chosen
ok ranks__chosen_ones_of_a_launcher_below_sonde chosen_by_the_library
ok ranks__wrong_choices_are_refused_in_all_ranks wrong_choices
ok ranks__pods_of_an_indexed_job_are_ranks pods
ok ranks__say_what_is_theirs_and_no_other_ranks say_what_is_theirs
openmpi="mpirun.openmpi --allow-run-as-root --oversubscribe"
try_mpi ranks__chosen_of_open_mpi mpi $openmpi
try_mpi ranks__chosen_of_mpich mpi mpirun.mpich
try_mpi ranks__of_open_mpi_end_without_false_alarms mpi_says_nothing $openmpi
try_mpi ranks__of_mpich_end_without_false_alarms mpi_says_nothing mpirun.mpich
