#!/usr/bin/env bash
# sonde-mpi: it gives the bytes of `sonde report` with any number of processes; and what happens when a file or a process
# is lost. Tests every MPI for which a program was built (make mpi-programs).
# Runs long.
. "$(dirname "$0")/../lib.sh"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_mpi_yield_when_idle=1
export ASAN_OPTIONS=detect_leaks=0 # MPI's own
ls "$BUILD"/mpi-*/sonde-mpi >/dev/null 2>&1 || skip_all "there is no sonde-mpi in $BUILD: make mpi-programs, where mpicc is"
D=tests/data
mkdir "$TMP/in" && cp $D/ncu/{deep,domains,overlap,seed}_kernel.ncu-rep $D/diff/train.sonde.gz examples/h200_transformer.ncu-rep "$TMP/in"
"$SONDE" report $D/diff/graph.sonde.gz $D/ncu/names_kernel.ncu-rep --partial -o "$TMP/in/two.sondecells"
in=("$TMP"/in/*) keep=
many=$BUILD/bench/capture_many

mpi() { # N ARGS…
	local n=$1
	shift
	timeout 600 "$run" -n "$n" "$program" "$@" --deterministic 2>"$TMP/err"
}
same_bytes() { # FORMAT N…
	local format=$1 n
	shift
	"$SONDE" report "${in[@]}" -f "$format" --deterministic $keep >"$TMP/want" || return
	for n; do mpi "$n" report "${in[@]}" -f "$format" $keep | cmp - "$TMP/want" || return; done
}
same_choice() { # whatever is chosen, all processes choose it
	local in=("$TMP"/in/{deep,seed,overlap}_kernel.ncu-rep) keep
	for keep in '--metrics all' '--metrics default,sm__cycles_elapsed.max'; do same_bytes json 3 || return; done
	keep='--metrics sm__cycles_elapsed.max --by lts__t_sectors.sum' same_bytes folded 3 && [ -s "$TMP/want" ]
}
same_rest() { # N…: where scopes are added up
	local in=("$TMP/ranks") keep=report.scopes.keep=4
	same_bytes json "$@" && grep -q '"folded": 8' "$TMP/want"
}
same_folder() {
	local dir
	for dir in plain shared; do rm -rf "$TMP/$dir"; done
	"$SONDE" report "${in[@]}" -o "$TMP/plain" report.folders=none --deterministic &&
		mpi 3 report "${in[@]}" -o "$TMP/shared" report.folders=none && cmp "$TMP"/{plain,shared}/report.json && cmp "$TMP"/{plain,shared}/report.md
}
same_note() {
	mkdir -p "$TMP/bad" && cp $D/ncu/{deep,domains,overlap}_kernel.ncu-rep "$TMP/bad" && printf 'NVR' >"$TMP/bad/a.ncu-rep" &&
		printf 'NVR' >"$TMP/bad/e.ncu-rep" && : >"$TMP/bad/z.ncu-rep" &&
		"$SONDE" report "$TMP/bad" --together -f json --deterministic >"$TMP/want" && grep -q 'it is left out' "$TMP/want" &&
		mpi 3 report "$TMP/bad" --together -f json | cmp - "$TMP/want" && grep -q 'sonde: process [0-2] on .*e\.ncu-rep' "$TMP/err"
}
named_goes_on() {
	mpi 2 report "$TMP/in/seed_kernel.ncu-rep" "$TMP/missing" --width 1000 >"$TMP/out" && grep -q "missing.*it is left out" "$TMP/out" &&
		grep -q 'process [01] on .*missing' "$TMP/err"
}
fails() { # STATUS TEXT ARGS…
	local status=$1 text=$2
	shift 2
	mpi 3 report "$@" -o "$TMP/none"
	[ $? = "$status" ] && grep -q -- "$text" "$TMP/err" && [ ! -e "$TMP/none" ]
}
# Process 1 is killed as soon as it is there; process 0 comes after that. MPI has not begun by then, or waits for process 0. mpirun says
# what happened; MPICH's ends by SIGPIPE (141) now and then, without a word.
killed() {
	rm -rf "$TMP/none" "$TMP/gone"
	timeout 600 "$run" -n 3 bash -c 'rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
		case $rank in
		1) "$0" "$@" & kill -9 $!; wait $!; : >"$TMP/gone"; kill -9 $$ ;;
		0) while [ ! -e "$TMP/gone" ]; do sleep 0.05; done; exec "$0" "$@" ;;
		*) exec "$0" "$@" ;;
		esac' "$program" report "${in[@]}" -o "$TMP/none" >"$TMP/out" 2>"$TMP/err"
	local status=$?
	[ $status != 0 ] && [ $status != 124 ] && [ ! -e "$TMP/none/report.json" ] && { [ $status = 141 ] || grep -qi 'killed\|signal\|terminat' "$TMP/out" "$TMP/err"; }
}

ok mpi__the_ordinary_program_knows_no_mpi bash -c "! ldd '$SONDE' | grep -qi libmpi"
processes="1 2 3 4 5 6 7"
for program in "$BUILD"/mpi-*/sonde-mpi; do
	which=${program%/sonde-mpi} which=${which##*/mpi-mpicc} which=${which#.}
	run=mpirun${which:+.$which} name=${which:-mpi}
	program=$PWD/$program
	[ -n "$which" ] || [ ! -e "$(ls "$BUILD"/mpi-mpicc.*/sonde-mpi 2>/dev/null | head -1)" ] || continue # one of those
	if ! command -v "$run" >/dev/null; then
		skip "mpi__$name" "no $run here"
		continue
	fi
	ok "mpi__${name}_has_the_same_bytes_on_many_processes" same_bytes json $processes
	if [ -x "$many" ]; then
		[ -d "$TMP/ranks" ] || { gunzip -c $D/diff/train.sonde.gz >"$TMP/one.sonde" && "$many" "$TMP/one.sonde" "$TMP/ranks" 12 600 >/dev/null; }
		ok "mpi__${name}_adds_up_the_same_scopes" same_rest 1 4
	else
		skip "mpi__${name}_adds_up_the_same_scopes" "there is no $many: make tools"
	fi
	processes="2 5"
	ok "mpi__${name}_has_the_same_page_with_its_timeline" same_bytes html 3
	ok "mpi__${name}_folds_what_is_chosen" same_choice
	ok "mpi__${name}_writes_the_same_folder" same_folder
	ok "mpi__${name}_notes_a_file_that_cannot_be_read" same_note
	ok "mpi__${name}_goes_on_without_a_file_that_was_named" named_goes_on
	ok "mpi__${name}_fails_without_any_file" fails 1 missing "$TMP/missing"
	ok "mpi__${name}_refuses_wrong_usage" fails 2 unknown "${in[@]}" --unknown
	ok "mpi__${name}_ends_when_a_process_is_killed" killed
done
