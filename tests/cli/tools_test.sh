#!/usr/bin/env bash
# `sonde kernels`, `sonde top`, `sonde doctor` and Nsight Systems exports, without a GPU.
. "$(dirname "$0")/../lib.sh"
export PATH="$PWD/tests/standin:$PATH"
quiet() { "$@" >/dev/null; }
do_() { "$SONDE" "$@" >"$TMP/out" 2>"$TMP/err"; rc=$?; }

# --- top
do_ top tests/data/ncu/seed_kernel.ncu-rep --topk 2
short_names() { sed -n 2p "$TMP/out" | grep -qE '^gemm_tile +6 +363\.9 +60\.66 +76\.3%' && grep -q 'and 2 more kernels' "$TMP/out"; }
ok top_prints_a_table_with_short_names short_names
do_ top tests/data/ncu/seed_kernel.ncu-rep --full-names
ok top_has_full_names_on_request grep -q '^void gemm_tile<(int)2>(const float' "$TMP/out"
do_ top tests/data/ncu/seed_kernel.ncu-rep --topk 2 -f text -o "$TMP/top.yaml"
ok top_writes_what_is_asked_for grep -q '^gemm_tile ' "$TMP/top.yaml"
do_ top tests/data/ncu/seed_kernel.ncu-rep --topk 2 -f yaml
ok top_ranks_a_report grep -q '^  - name: "void gemm_tile<(int)2>' "$TMP/out"
ok top_takes_topk [ "$(grep -c 'name:' "$TMP/out")" -eq 2 ]
ok top_escapes_and_anchors grep -qF 'regex: "^void gemm_tile<\\(int\\)2>\\(const float \\*' "$TMP/out"
printf 'Time (%%),Total Time (ns),Instances,Name\n70.0,700,7,"void gemm<float>(float *, int)"\n30.0,"1,300",3,axpy(float *)\n' >"$TMP/sum.csv"
do_ top "$TMP/sum.csv" -o "$TMP/top.yaml"
ok top_reads_a_kernel_summary grep -q 'gemm<float>(float \*, int)' "$TMP/top.yaml"
ok top_ranks_by_time output_has axpy head -2 "$TMP/top.yaml"
same_kernels() { # in JSON and CSV, by the ending of the file
	"$SONDE" top tests/data/ncu/seed_kernel.ncu-rep -o "$TMP/top.json" && "$SONDE" top tests/data/ncu/seed_kernel.ncu-rep -o "$TMP/top.csv" &&
		python3 -c 'import csv, json, sys
j = json.load(open(sys.argv[1]))["kernels"]; c = list(csv.DictReader(open(sys.argv[2])))
assert len(j) == 4 and [k["name"] for k in j] == [k["name"] for k in c] and [k["launches"] for k in j] == [int(k["launches"]) for k in c] == [6, 9, 12, 2]
assert abs(sum(k["time_pct"] for k in j) - 100) < 1e-6' "$TMP/top.json" "$TMP/top.csv"
}
ok top_has_json_and_csv same_kernels
copies() { # are rows by their time, marked for programs; a list for `sonde kernels` has none
	"$SONDE" top examples/h200_train -k all -f csv >"$TMP/copies.csv" 2>"$TMP/err" && "$SONDE" report examples/h200_train -f json >"$TMP/run.json" &&
		"$SONDE" top examples/h200_train -k 1 | grep -qF '[CUDA memcpy Host-to-Device] ' && "$SONDE" top examples/h200_train -k 3 -f yaml >"$TMP/copies.yaml" &&
		[ "$(grep -c 'name:' "$TMP/copies.yaml")" = 3 ] && absent memcpy "$TMP/copies.yaml" && "$SONDE" top examples/h200_train -k 1 -f json | jq -e '.kernels[0].kind == "copy"' &&
		python3 -c '
import csv, json, sys
rows = list(csv.DictReader(open(sys.argv[1])))
run = json.load(open(sys.argv[2]))["aggregate"]
assert {r["kind"] for r in rows} == {"kernel", "copy"} and [r["kind"] for r in rows if "memcpy" in r["name"]] != []
assert all(("memcpy" in r["name"]) <= (r["kind"] == "copy") for r in rows)
assert abs(sum(float(r["time_ns"]) for r in rows) / 1e6 / (run["totals"]["total_ms"] + run["unattributed"]["total_ms"]) - 1) < 1e-6' "$TMP/copies.csv" "$TMP/run.json"
}
ok top_has_copies_as_rows copies
one_region() { # as many launches as the report has in that region
	[ "$("$SONDE" top tests/data/ncu/seed_kernel.ncu-rep --nvtx-include B -f csv | python3 -c 'import csv, sys; print(sum(int(k["launches"]) for k in csv.DictReader(sys.stdin)))')" = \
		"$("$SONDE" report tests/data/ncu/seed_kernel.ncu-rep --nvtx-include B -f csv | python3 -c 'import csv, sys; print(next(r for r in csv.DictReader(sys.stdin) if r["id"] == "B")["launches"])')" ]
}
ok top_of_a_region one_region
do_ top "$TMP/sum.csv" --nvtx-include B
ok top_of_a_summary_has_no_regions [ $rc -eq 2 ]
do_ top "$TMP/none.csv"
ok top_missing_input_fails [ $rc -eq 1 ]
do_ top
ok top_without_input_is_usage [ $rc -eq 2 ]
do_ top Makefile
ok top_refuses_other_files [ $rc -eq 1 ]
if [ -e "$BUILD/libsonde_inject.so" ]; then
	"$SONDE" run -q -o "$TMP/host" -- "$BUILD/workloads/resnet_cpu" 1 >/dev/null 2>&1
	do_ top "$TMP/host"
	ok top_of_a_run_without_kernels_says_so grep -q 'host: there is no kernel in it; `sonde report` shows what it has' "$TMP/err"
else
	skip top_of_a_run_without_kernels_says_so "the NVTX headers were not found when building"
fi

# --- kernels
STANDIN_RECORD=$TMP/record do_ kernels --kernel-config "$TMP/top.yaml" --topk 1 --extra-sections Occupancy \
	LaunchStats --ncu-config conf/profiling/ncu/ncu.default.yaml -o "$TMP/k" -- /bin/echo 'a b'
md5=$(printf 'axpy(float *)' | md5sum | cut -d' ' -f1)
ok kernels_folder_is_rank_and_md5 [ -s "$TMP/k/kernel_1_$md5/ncu.ncu-rep" ]
for f in ncu.details.csv ncu.section_Occupancy.csv ncu.section_LaunchStats.csv ncu.section_SpeedOfLight.csv; do
	ok "kernels_writes_$f" [ -s "$TMP/k/kernel_1_$md5/$f" ]
done
ok kernels_writes_provenance grep -qF -e '- "a b"' "$TMP/k/command.yaml"
tr '\0' '\n' <"$TMP/record" >"$TMP/args"
ok kernels_skips_nothing_by_default absent -vx 0 <(grep -A1 -x -e --launch-skip "$TMP/args" | grep -v -e --)
ok kernels_profiles_one output_has '^1$' grep -A1 -x -e --launch-count "$TMP/args"
ok kernels_names_the_kernel grep -qxF 'regex:^axpy\(float \*\)$' "$TMP/args"
do_ kernels --kernel-config "$TMP/top.yaml" --topk 1 -o "$TMP/k" -- /bin/true
ok kernels_overwrites_nothing [ $rc -eq 2 ]
do_ kernels --kernel-config "$TMP/top.yaml" --topk 1 --force-overwrite -o "$TMP/k" -- /bin/true
ok kernels_overwrites_when_told [ $rc -eq 0 ]
do_ kernels --kernel-regex '^gemm' --num-kernel-call-skip 0 -o "$TMP/k2" -- /bin/sh -c 'exit 4'
ok kernels_gives_the_programs_status [ $rc -eq 4 ]
do_ kernels --kernel-regex x -- "$TMP/nowhere"
ok kernels_missing_program_is_125 [ $rc -eq 125 ]
do_ kernels -- /bin/true
ok kernels_without_kernels_is_usage [ $rc -eq 2 ]
printf 'kernels: 5\n' >"$TMP/bad.yaml"
do_ kernels --kernel-config "$TMP/bad.yaml" -- /bin/true
ok kernels_bad_list_is_said grep -q "no list 'kernels'" "$TMP/err"
SONDE_NCU=$TMP/nowhere/ncu do_ kernels --kernel-config "$TMP/nowhere.yaml" -- /bin/true
ok kernels_looks_at_its_arguments_before_it_looks_for_ncu grep -q 'nowhere.yaml: No such file' "$TMP/err"
SONDE_NCU=$TMP/nowhere/ncu do_ kernels --kernel-regex x -- /bin/true
ok kernels_without_ncu_names_doctor grep -q 'nowhere/ncu: not found; try: `sonde doctor`' "$TMP/err"
do_ kernels --kernel-regex '(' -o "$TMP/k4" -- /bin/true
ok kernels_refuses_a_bad_regex_with_its_place grep -q "kernel pattern 'regex:(', character 8: bad regular expression" "$TMP/err"
ok kernels_bad_regex_is_usage_and_leaves_nothing [ $rc -eq 2 -a ! -e "$TMP/k4" ]
echo 'kernels: []' >"$TMP/empty.yaml"
do_ kernels --kernel-config "$TMP/empty.yaml" -o "$TMP/k4" -- /bin/true
ok kernels_of_an_empty_list_says_there_is_nothing_to_do grep -q 'empty.yaml: the list of kernels is empty' "$TMP/err"
ok kernels_of_an_empty_list_is_usage [ $rc -eq 2 ]
mkdir "$TMP/same" && sonde=$(realpath "$SONDE")
for i in 1 2 3; do
	(cd "$TMP/same" && exec "$sonde" kernels --kernel-regex "x$i" -- /bin/true >/dev/null 2>&1) &
done
wait
ok kernels_of_the_same_second_have_directories_of_their_own [ "$(find "$TMP/same" -name command.yaml | wc -l)" = 3 ]
STANDIN_FAIL=nothing do_ kernels --kernel-regex x --num-kernel-call-skip 200 -o "$TMP/k3" -- /bin/true
ok kernels_nothing_profiled_names_the_skip grep -q -e 'num-kernel-call-skip 200' "$TMP/err"

# --- doctor
root=$TMP/root
mkdir -p "$root/proc/driver/nvidia" "$root/proc/self" "$root/proc/77" "$TMP/bin"
printf 'ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\n' >"$root/proc/driver/nvidia/params"
printf 'CapInh:\t0\nCapEff:\t0000000000000000\n' >"$root/proc/self/status"
echo nv-hostengine >"$root/proc/77/comm"
: >"$root/.dockerenv"
cat >"$TMP/bin/nvidia-smi" <<'END'
#!/bin/sh
echo "NVIDIA H200, 580.65.06, 9.0, 143771, GPU-1234, Disabled"
END
chmod +x "$TMP/bin/nvidia-smi"
export SONDE_SYSROOT=$root
: >"$TMP/inject.so" # without the NVTX headers there is no real one
export SONDE_INJECT_LIB=$TMP/inject.so
PATH=$TMP/bin:$PATH do_ doctor
ok doctor_sees_the_gpu grep -q 'NVIDIA H200, compute capability 9.0, driver 580.65.06' "$TMP/out"
ok doctor_sees_ncu grep -q 'ncu 2025.3.1.0' "$TMP/out"
ok doctor_sees_missing_permission grep -q 'RmProfilingAdminOnly: 1' "$TMP/out"
ok doctor_tells_the_remedy grep -q 'NVreg_RestrictProfilingToAdminUsers=0' "$TMP/out"
ok doctor_sees_other_profilers grep -q 'nv-hostengine (77)' "$TMP/out"
ok doctor_sees_the_container grep -q 'container (docker)' "$TMP/out"
ok doctor_status_says_bad [ $rc -eq 1 ]
ok doctor_says_why_there_are_no_lines grep -q '^note  lines .*may not profile the GPU' "$TMP/out"
sed -i 's/Only: 1/Only: 0/' "$root/proc/driver/nvidia/params"
PATH=$TMP/bin:$PATH do_ doctor --json
ok doctor_status_says_good [ $rc -eq 0 ]
ok doctor_json_is_json python3 -m json.tool "$TMP/out" /dev/null
if [ -e "$BUILD/fake/libcupti_fake.so" ]; then
	SONDE_CUPTI=$PWD/$BUILD/fake/libcupti_fake.so PATH=$TMP/bin:$PATH do_ doctor
	ok doctor_says_that_lines_can_be_had grep -q '^ok    lines .*sonde run --lines' "$TMP/out"
fi
printf '#!/bin/sh\necho "Tesla P100, 580.65.06, 6.0, 16000, GPU-1234, Disabled"\n' >"$TMP/old_smi"
mkdir "$TMP/old" && mv "$TMP/old_smi" "$TMP/old/nvidia-smi" && chmod +x "$TMP/old/nvidia-smi"
PATH=$TMP/old:$TMP/bin:$PATH do_ doctor
ok doctor_knows_gpus_without_lines grep -q 'older than compute capability 7.0' "$TMP/out"
SONDE_NCU=/nowhere/ncu PATH=$TMP/bin:/usr/bin:/bin do_ doctor
ok doctor_without_ncu_is_good [ $rc -eq 0 ]
ok doctor_notes_the_missing_ncu grep -q '^note  ncu .* not installed' "$TMP/out"
SONDE_INJECT_LIB=/nowhere/lib.so PATH=$TMP/bin:$PATH do_ doctor
ok doctor_without_the_injected_library_is_bad [ $rc -eq 1 ]
STANDIN_VERSION=2019.1.0 PATH=$TMP/bin:$PATH do_ doctor
ok doctor_sees_an_old_ncu grep -q 'ncu 2019.1.0 (.*) is too old' "$TMP/out"
mkdir "$TMP/odd" && printf '#!/bin/sh\nprintf "$ODD"\n' >"$TMP/odd/ncu" && chmod +x "$TMP/odd/ncu"
digits=$(printf '1%.0s' $(seq 72))
for odd in "$digits.1" 'version 12.' '12..' '11\000.'; do
	ODD="$odd\n" PATH=$TMP/odd:$TMP/bin:$PATH do_ doctor
	ok "doctor_survives_the_odd_version_${odd#1111111}" grep -q 'ncu of unknown version' "$TMP/out"
done
ODD='Version 2025.3.1.0.\n' PATH=$TMP/odd:$TMP/bin:$PATH do_ doctor
ok doctor_reads_a_version_that_ends_a_sentence grep -q 'ncu 2025.3.1.0 (' "$TMP/out"
"$SONDE" doctor >"$TMP/out" <&- 2>&-
ok doctor_needs_no_stdin grep -q 'ncu 2025.3.1.0' "$TMP/out"
unset SONDE_SYSROOT SONDE_INJECT_LIB
(PATH=/usr/bin:/bin "$SONDE" doctor) >"$TMP/out" 2>"$TMP/err"
ok doctor_without_gpu_is_bad [ $? -eq 1 ]

# --- Nsight Systems exports
if command -v sqlite3 >/dev/null; then
	sqlite3 "$TMP/t.sqlite" <tests/data/nsys/small.sql
	do_ report "$TMP/t.sqlite" --format csv --deterministic
	ok nsys_export_is_read [ $rc -eq 0 ]
	do_ report "$TMP/t.sqlite" --format json --deterministic
	ok nsys_json_is_valid quiet "$SONDE" validate "$TMP/out"
	python3 - "$TMP/out" <<'END' >"$TMP/got"
import json, sys
d = json.load(open(sys.argv[1]))
for s in d["scopes"]:
    for r in (d["aggregate"] if "same_as" in s else s)["regions"]:
        print(s["scope"], r["id"], r["kind"], r["kernel_count"], r["exclusive"]["kernel_count"], round(r["total_ms"] * 1e6))
print(d["coverage"]["launches_attributed"], d["coverage"]["launches_total"])
END
	cat >"$TMP/want" <<'END'
process:100/device:0 A push_pop 3 1 1500
process:100/device:0 A/A::A1 push_pop 2 2 500
process:100/device:0 libA@registered op push_pop 1 1 200
process:100/device:0 B push_pop 1 1 500
process:100/device:0 worker loop push_pop 1 1 400
process:100/device:0 overlap@@ start_end 3 3 1200
process:200/device:0 A push_pop 1 1 600
process:200/device:0 never closed push_pop 1 1 50
7 9
END
	ok nsys_attributes_by_the_launching_thread diff "$TMP/want" "$TMP/got"
	do_ report "$TMP/t.sqlite" --format sqlite -o "$TMP/report.db"
	sqlite3 "$TMP/report.db" "SELECT name FROM pragma_table_info('regions') LIMIT -1 OFFSET 1" | paste -sd, >"$TMP/got"
	sed -n 's/^| `regions` | a region in a scope | `id`, //p' docs/formats.md | sed 's/, then the numbers of the CSV:/,/' |
		tr -d '`| ' >"$TMP/want"
	ok docs_of_sqlite_have_the_columns_as_they_are diff "$TMP/want" "$TMP/got"
	"$SONDE" report "$TMP/t.sqlite" --format csv | python3 -c '
import csv, sys
for r in csv.DictReader(sys.stdin):
    if r["kind"] in ("push_pop", "start_end"): print(r["scope"], r["id"], r["bound"], sep="|")' | sort >"$TMP/want"
	sqlite3 "$TMP/report.db" "SELECT s.name, r.region_id, ifnull(r.bound, '') FROM regions r JOIN scopes s ON s.id = r.scope" | sort >"$TMP/got"
	ok sqlite_has_the_bounds_of_the_csv diff "$TMP/want" "$TMP/got"
	ok sqlite_has_bounds grep -q '|[a-z][a-z]*$' "$TMP/got"
	sqlite3 "$TMP/other.sqlite" 'CREATE TABLE x (y)'
	do_ report "$TMP/other.sqlite"
	ok nsys_other_databases_are_refused grep -q 'not an export of Nsight Systems' "$TMP/err"
	head -c 3000 "$TMP/t.sqlite" >"$TMP/cut.sqlite"
	do_ report "$TMP/cut.sqlite"
	ok nsys_cut_file_is_an_error [ $rc -eq 1 ]
	sqlite3 "$TMP/view.sqlite" 'CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT); CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE c(start) AS (SELECT 1 UNION ALL SELECT start+1 FROM c) SELECT start, start AS end FROM c'
	timeout 600 "$SONDE" report "$TMP/view.sqlite" >"$TMP/out" 2>"$TMP/err"
	ok nsys_views_are_never_run [ $? -ne 124 ]
else
	echo "skip nsys_export_is_read: no sqlite3 here"
fi
mkdir -p "$TMP/empty"
do_ report "$TMP/empty"
ok empty_directory_is_an_error grep -q 'a directory without captures' "$TMP/err"

