#!/usr/bin/env bash
# `sonde regions`: the list of a program's ranges, without a GPU.
. "$(dirname "$0")/../lib.sh"
WORK=$PWD/$BUILD/workloads FAKE=$PWD/$BUILD/fake
export TMPDIR=$TMP/scratch
mkdir -p "$TMPDIR"
do_() { "$SONDE" regions "$@" >"$TMP/out" 2>"$TMP/err"; rc=$?; }
row() { # NAME KIND THREADS ENTRIES EXPRESSION, of the table
	grep -qE "^ *$1 +$2 +$3 +$4 +[0-9.]+ +[0-9]+  $5\$" "$TMP/out"
}
field() { # ID KEY, of the JSON
	python3 - "$TMP/out" "$1" "$2" <<'P'
import json, sys
text = open(sys.argv[1], encoding="utf-8").read()
rows = json.loads(text[text.index("{"):])["regions"]
print(*[r[sys.argv[3]] for r in rows if r["id"] == sys.argv[2]])
P
}

# --- usage, with or without the library
in_() { (cd "$TMP/$1" && "$SONDE" regions) >"$TMP/out" 2>"$TMP/err"; rc=$?; }
mkdir -p "$TMP/bare" "$TMP/some/tmp/profile-output/20260131-120000/ncu" && touch "$TMP/some/tmp/profile-output/20260131-120000/"{config,inputs}.yaml && cp tests/data/ncu/seed_kernel.ncu-rep "$TMP/some/tmp/profile-output/20260131-120000/ncu/"
in_ bare
ok regions_without_a_command_or_run_is_usage [ $rc -eq 2 ]
ok regions_says_that_a_capture_will_do grep -q 'name a capture or a run directory, or a program behind `--`' "$TMP/err"
in_ some
ok regions_takes_the_newest_run grep -q '^sonde: the newest run: tmp/profile-output/20260131-120000' "$TMP/err"
ok regions_lists_the_newest_run grep -q '^  A::A1 ' "$TMP/out"
do_ --format xml -- true
ok regions_refuses_other_formats [ $rc -eq 2 ]
do_ tests/data/ncu/seed_kernel.ncu-rep
ok regions_lists_an_ncu_report grep -qE '^  A::A1 .* \[A/A::A1$' "$TMP/out"
do_ tests/data/ncu/domains_kernel.ncu-rep --format json
ok regions_options_may_follow_captures grep -q '"schema": "sonde.regions/1"' "$TMP/out"
do_ tests/data/ncu/names_kernel.ncu-rep --width 104
ok regions_one_long_label_costs_no_column grep -qE '^region +kind +threads +entries +host ms +own launches +ncu --nvtx-include$' "$TMP/out"
ok regions_one_long_label_leaves_short_expressions_whole grep -qE '^A::B::C .* \[A::B::C$' "$TMP/out"
pasted() { # every expression stands in the table as in the JSON, and selects what the row counts
	"$SONDE" regions tests/data/ncu/names_kernel.ncu-rep --width 1000 >"$TMP/table" 2>/dev/null
	python3 - "$SONDE" "$TMP/out" "$TMP/table" <<'P'
import json, subprocess, sys
sonde, listed, table = sys.argv[1:]
ends = [line.rstrip("\n") for line in open(table, encoding="utf-8")]
bad = 0
for row in json.load(open(listed, encoding="utf-8"))["regions"]:
    word = row["ncu"]
    if word is None:
        continue
    out = subprocess.run([sonde, "report", "-f", "json", "tests/data/ncu/names_kernel.ncu-rep",
                          "--nvtx-include", word], stdout=subprocess.PIPE).stdout
    taken = json.loads(out)["coverage"]["launches_attributed"]
    if taken != row["launches"] or not any(e.endswith("  " + word) for e in ends):
        print(repr(word), "selects", taken, "of", row["launches"])
        bad = 1
sys.exit(bad)
P
}
do_ tests/data/ncu/names_kernel.ncu-rep -f json
ok regions_every_expression_selects_its_region_when_pasted pasted
do_ tests/data/ncu/seed_kernel.ncu-rep tests/data/ncu/../ncu/seed_kernel.ncu-rep
ok regions_reads_a_capture_once grep -q 'seed_kernel.ncu-rep was given more than once' "$TMP/err"
ok regions_counts_a_capture_once grep -q ' of 29 launches' "$TMP/err"
do_ tests/data/ncu/none_kernel.ncu-rep
ok regions_of_a_report_without_ranges_says_what_reports_hold grep -q 'no NVTX range was captured; a report of Nsight Compute has only those with a launch inside' "$TMP/err"
ok regions_of_a_report_without_ranges_fails_as_of_a_program [ $rc -eq 1 ]
do_ nope.ncu-rep
ok regions_missing_capture_is_no_program [ $rc -eq 1 ]
ok regions_missing_capture_is_named grep -q 'nope.ncu-rep: No such file' "$TMP/err"
do_ runs/nope
ok regions_missing_path_may_be_either grep -q 'runs/nope: no such file: neither a program nor a capture: check its path' "$TMP/err"
mkdir "$TMP/nothing"
do_ "$TMP/nothing"
ok regions_empty_directory_is_no_program grep -q 'nothing: a directory without captures' "$TMP/err"
mkdir "$TMP/held" && : >"$TMP/held/1.sonde"
do_ --keep "$TMP/held" -- touch "$TMP/started"
ok regions_keeps_captures_apart [ $rc -eq 2 ]
ok regions_says_where_captures_are grep -q 'held already contains captures' "$TMP/err"
do_ -o "$TMP/nowhere/list" -- touch "$TMP/started"
ok regions_finds_out_first_that_it_cannot_write [ $rc -eq 125 ]
do_ -o "$TMP/nothing" -- touch "$TMP/started"
ok regions_finds_out_first_that_it_would_replace_a_directory [ $rc -eq 125 ]
ok regions_starts_no_program_in_vain [ ! -e "$TMP/started" ]

if [ ! -e "$BUILD/libsonde_inject.so" ]; then
	do_ -- true
	ok regions_without_the_library_is_125 [ $rc -eq 125 ]
	echo "skip regions of programs: the NVTX headers were not found when building"
	exit 0
fi

# --- programs
do_ -- "$WORK/resnet_cpu" 5
ok regions_status_is_the_programs [ $rc -eq 0 ]
ok regions_program_output_is_its_own grep -qx 'checksum .* after 5 steps' "$TMP/out"
ok regions_lists_nested_ranges row 'block\.conv1' push/pop 1 10 '\[step/residual/block\.conv1'
ok regions_lists_start_end_ranges row prefetch start/end 1 6 prefetch
ok regions_lists_domains_and_threads row 'io@fetch' push/pop 2 10 'io@\[fetch'
ok regions_leaves_nothing_behind [ -z "$(ls "$TMPDIR")" ]
"$SONDE" regions --width 60 -- "$WORK/resnet_cpu" 2 2>/dev/null | tail -n +2 >"$TMP/out"
ok regions_fits_the_width [ "$(awk 'length($0) > 60' "$TMP/out" | grep -vc 'no room')" -eq 0 ]

do_ -f json -o "$TMP/list.json" --keep "$TMP/kept" -- "$WORK/resnet_cpu" 3
ok regions_writes_to_a_file python3 -c "import json; json.load(open('$TMP/list.json'))"
cp "$TMP/list.json" "$TMP/out"
ok regions_json_counts_entries [ "$(field step/residual instances)" = 6 ]
ok regions_json_has_the_expression [ "$(field io@fetch ncu)" = 'io@[fetch' ]
ok regions_json_has_host_time python3 -c "import sys; sys.exit(not 0 < $(field step host_ms) < 1e5)"
do_ "$TMP/kept"
ok regions_reads_kept_captures row stem push/pop 1 3 '\[step/stem'
echo four | "$SONDE" regions -o "$TMP/none" -- cat >"$TMP/out" 2>"$TMP/err"
rc=$?
ok regions_program_reads_its_own_input grep -qx four "$TMP/out"
ok regions_without_nvtx_says_so grep -q 'left no native capture' "$TMP/err"
ok regions_without_nvtx_fails [ $rc -eq 1 ]
do_ sh -c 'exit 7'
ok regions_failed_programs_keep_their_status [ $rc -eq 7 ]
unread "$SONDE" regions -- sh -c "\"$WORK/resnet_cpu\" 2 >&2; exit 3" 2>"$TMP/err"
ok regions_without_a_reader_keeps_the_status [ $? = 3 ]
ok regions_without_a_reader_is_silent absent 'Broken pipe' "$TMP/err"
do_ -- ./no-such-program
ok regions_missing_program_is_125 [ $rc -eq 125 ]
do_ -- "$WORK/faults" segv
ok regions_of_a_crash_is_128_and_the_signal [ $rc -eq 139 ]

# --- labels that are no friends
do_ -- "$WORK/faults" hostile
ok regions_hostile_labels_are_inert absent $'\x1b' "$TMP/out" "$TMP/err"
ok regions_hostile_labels_are_shown grep -qF '\x1b[2Jcleared' "$TMP/out"
do_ -f json -- "$WORK/faults" hostile
ok regions_escapes_what_ncu_would_read [ "$(field '[x]/inner' ncu)" = '[\[x\]/inner' ]
ok regions_escapes_slashes [ "$(field 'a\/b' ncu) $(field 'a\/b@@' ncu)" = '[a\/b a\/b' ]
ok regions_says_when_there_is_no_expression [ "$(field ' blank ' ncu) $(field ' blank @@' ncu)" = 'None None' ]
do_ -f json -- "$WORK/faults" deep
ok regions_deep_ranges_have_no_expression python3 - "$TMP/out" <<'P'
import json, sys
text = open(sys.argv[1]).read()
rows = json.loads(text[text.index("{"):])["regions"]
sys.exit(not all((r["ncu"] is None) == (r["depth"] >= 128) for r in rows))
P
do_ -- "$WORK/faults" threads 50
ok regions_counts_threads row thread push/pop 320 16000 '\[thread'

# --- launches of threads without ranges: ncu's filter does not take them, reports do
do_ -f json examples/h200_train
own_launches() {
	[ "$(field step launches) $(field step/backward launches)" = '420 12' ] && grep -q '"launches_outside": 708' "$TMP/out" && grep -q '"launches_adopted": 688' "$TMP/out"
}
ok regions_counts_own_launches own_launches
said_apart() { grep -q 'sonde: 20 of 1254 launches were outside any range' "$TMP/err" && grep -q '688 more are of threads without ranges' "$TMP/err"; }
ok regions_says_what_reports_count_more said_apart

# --- launches, with a CUPTI of our own
if [ -e "$FAKE/libcupti_fake.so" ]; then
	printf 'output=%s\ncupti=%s\n' "$TMP/gpu" "$FAKE/libcupti_fake.so" >"$TMP/conf"
	mkdir -p "$TMP/gpu"
	CUDA_INJECTION64_PATH=$PWD/$BUILD/libsonde_inject.so NVTX_INJECTION64_PATH=$PWD/$BUILD/libsonde_inject.so \
		SONDE_INJECT_CONFIG=$TMP/conf "$FAKE/fake_cuda" "$FAKE/libcupti_fake.so" >/dev/null
	do_ -f json "$TMP/gpu"
	ok regions_counts_launches_inclusively [ "$(field A launches) $(field A/B launches) $(field s@@ launches)" = '2 1 4' ]
	ok regions_says_what_is_outside grep -q '1 of 8 launches were outside any range' "$TMP/err"
fi
