#!/usr/bin/env bash
# Every format, compressed: the same report. Every format, cut off: it says so, and gives what was before.
. "$(dirname "$0")/../lib.sh"
D=tests/data
files=("$D"/ncu/seed_kernel.ncu-rep "$D"/ncu/seed_kernel.raw.csv "$D"/sampled_capture/decode.sonde "$D"/nsys/mfu.sqlite
	"$D"/proton/leaf_nodes.json "$D"/kineto/call_stack__backward_thread.json)
"$SONDE" report "$D"/ncu/seed_kernel.ncu-rep --partial -o "$TMP/seed.sondecells"
"$SONDE" report "$D"/ncu/seed_kernel.ncu-rep --deterministic -f json >"$TMP/report.json"
printf 'Time (%%),Total Time (ns),Instances,Name\n60.0,600,3,foo\n' >"$TMP/sum.csv"

same() { # COMMAND… FILE: of the file and of it compressed
	local f=${*: -1}
	gzip -c "$f" >"$TMP/$(basename "$f").gz"
	"$SONDE" "${@:1:$#-1}" "$f" >"$TMP/plain" && "$SONDE" "${@:1:$#-1}" "$TMP/$(basename "$f").gz" >"$TMP/packed" &&
		[ -s "$TMP/plain" ] && cmp "$TMP/plain" "$TMP/packed"
}
for f in "${files[@]}" "$TMP/seed.sondecells"; do
	ok "packed__$(basename "$f")_is_the_same_compressed" same report -f csv "$f"
done
ok packed__a_kernel_summary_is_the_same_compressed same top "$TMP/sum.csv"
gzip -kf "$TMP/report.json"
ok packed__a_compressed_report_is_valid "$SONDE" validate "$TMP/report.json.gz"
ok packed__compressed_reports_are_compared "$SONDE" diff "$TMP/report.json.gz" "$TMP/report.json"
mkdir "$TMP/dir" && cp "$TMP/seed.sondecells.gz" "$TMP/dir"
ok packed__a_directory_may_hold_them "$SONDE" report "$TMP/dir"

says() { # WORDS FILE: what is said of it, as one line
	"$SONDE" report "$2" --width 1000 >"$TMP/out" 2>&1
	grep -qF -- "$1" "$TMP/out" || { head -30 "$TMP/out" && false; }
}
cut_to() { # PERCENT FILE
	local to
	to=$TMP/cut.$(basename "$2")
	head -c $(($(stat -c %s "$2") * $1 / 100)) "$2" >"$to" && echo "$to"
}
ok cut__an_ncu_report_gives_the_results_before says 'inside a result that begins at byte 262199; how much is missing is not known; copy it again; the 16 results before it are reported' \
	"$(cut_to 60 "${files[0]}")"
ok cut__an_ncu_table_gives_the_rows_before says 'inside a row that begins at byte 57073; how much is missing is not known; copy it again; the 15 results before it are reported' \
	"$(cut_to 60 "${files[1]}")"
ok cut__a_native_capture_says_so says ': the capture has no end: truncated after' "$(cut_to 60 "${files[2]}")"
ok cut__an_nsys_export_says_after_how_much says 'truncated after 80 %; copy it again' "$(cut_to 80 "${files[3]}")"
ok cut__a_proton_profile_gives_the_nodes_before says 'inside a node that begins at byte 1606; how much is missing is not known; copy it again; the 6 results before it are reported' \
	"$(cut_to 60 "${files[4]}")"
zcat "$D"/kineto/h200_train.json.gz >"$TMP/train.json"
ok cut__a_trace_names_the_event_it_ends_in says 'inside event 3737 that begins at byte 831551; how much is missing is not known; copy it again' \
	"$(cut_to 60 "$TMP/train.json")"
ok cut__a_compressed_export_says_it_once bash -c '
	head -c 15000 "$1" >"$2/half.sqlite.gz" && "$SONDE" report "$2/half.sqlite.gz" --width 1000 >"$2/out" 2>&1
	[ "$(grep -c truncated "$2/out")" = 1 ] && grep -q "truncated after [0-9]* %; copy it again" "$2/out"' - "$TMP/mfu.sqlite.gz" "$TMP"
ok cut__a_partial_report_is_refused says 'copy it again, or make it again' "$(cut_to 60 "$TMP/seed.sondecells")"
ok cut__a_compressed_partial_report_is_refused says 'how much is missing is not known; copy it again' "$(cut_to 60 "$TMP/seed.sondecells.gz")"
refused() { ! "$SONDE" validate "$1" 2>"$TMP/err" && grep -q 'truncated after [0-9]* bytes.*copy it again' "$TMP/err"; }
ok cut__a_report_is_refused refused "$(cut_to 60 "$TMP/report.json")"
ok cut__a_compressed_report_is_refused refused "$(cut_to 60 "$TMP/report.json.gz")"
ok packed__a_report_is_no_capture says 'not a capture: sonde diff compares such reports' "$TMP/report.json"
# A run directory as an archive: what sonde itself made of the captures is passed over without a word.
archived_run() {
	"$SONDE" report "$D/sampled_capture/decode.sonde" -o "$TMP/run" 2>/dev/null && cp "$D/sampled_capture/decode.sonde" "$TMP/run" &&
		tar -C "$TMP" -cf "$TMP/run.tar" run && tar tf "$TMP/run.tar" | grep -q 'run/.*/report.json' &&
		"$SONDE" report "$TMP/run.tar" >"$TMP/out" 2>&1 && ! grep -q 'report.json' "$TMP/out"
}
ok packed__reports_of_regions_in_an_archive_are_no_captures archived_run
