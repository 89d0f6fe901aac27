#!/usr/bin/env bash
# Compressed inputs of every format give the same report. Truncated inputs give a note, and the data before the end.
# Runs long.
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
cut_export() {
	head -c 15000 "$TMP/mfu.sqlite.gz" >"$TMP/half.sqlite.gz" && "$SONDE" report "$TMP/half.sqlite.gz" --width 1000 >"$TMP/out" 2>&1
	[ "$(grep -c truncated "$TMP/out")" = 1 ] && grep -q 'truncated after [0-9]* %; copy it again' "$TMP/out"
}
ok cut__a_compressed_export_says_it_once cut_export
ok cut__a_partial_report_is_refused says 'copy it again, or make it again' "$(cut_to 60 "$TMP/seed.sondecells")"
ok cut__a_compressed_partial_report_is_refused says 'how much is missing is not known; copy it again' "$(cut_to 60 "$TMP/seed.sondecells.gz")"
refused() { ! "$SONDE" validate "$1" 2>"$TMP/err" && grep -q 'truncated after [0-9]* bytes.*copy it again' "$TMP/err"; }
ok cut__a_report_is_refused refused "$(cut_to 60 "$TMP/report.json")"
ok cut__a_compressed_report_is_refused refused "$(cut_to 60 "$TMP/report.json.gz")"
ok packed__a_report_is_no_capture says 'not a capture: sonde diff compares reports' "$TMP/report.json"
# A run directory as an archive: what sonde itself made of the captures is passed over without a word.
archived_run() {
	"$SONDE" report "$D/sampled_capture/decode.sonde" -o "$TMP/run" 2>/dev/null && cp "$D/sampled_capture/decode.sonde" "$TMP/run" &&
		tar -C "$TMP" -cf "$TMP/run.tar" run && tar tf "$TMP/run.tar" | grep -q 'run/.*/report.json' &&
		"$SONDE" report "$TMP/run.tar" >"$TMP/out" 2>&1 && ! grep -q 'report.json' "$TMP/out"
}
ok packed__reports_of_regions_in_an_archive_are_no_captures archived_run

# --- archives that are not whole: what can be read is, and what cannot is named ---
cap=$D/sampled_capture/decode.sonde
mkdir "$TMP/three" && for i in a b c d; do cp "$cap" "$TMP/three/$i.sonde"; done
tar -C "$TMP/three" -b 1 -cf "$TMP/three.tar" a.sonde b.sonde c.sonde
member=$(((($(stat -c %s "$cap") + 511) / 512 + 1) * 512)) # bytes of one, with its header
inputs() { # FILE: the members that were read
	"$SONDE" report "$1" -f json 2>/dev/null | python3 -c '
import json, os, sys
print(" ".join(sorted(os.path.basename(i["file"]) for i in json.load(sys.stdin)["capture"]["inputs"])))'
}
flipped() { # FILE BYTE…: the file with a bit of these bytes flipped
	python3 - "$@" <<'P'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
for at in sys.argv[2:]:
    data[int(at)] ^= 1
open(sys.argv[1], "wb").write(data)
P
}
lost() { # FILE MEMBERS WORDS: these members are read, and the words are said
	local read
	read=$(inputs "$1")
	[ "$read" = "$2" ] || echo "read: $read"
	[ "$read" = "$2" ] && says "$3" "$1"
}
cp "$TMP/three.tar" "$TMP/flip.tar" && flipped "$TMP/flip.tar" $((member + 5))
ok tar__a_damaged_header_costs_its_member_only lost "$TMP/flip.tar" "a.sonde c.sonde" \
	"flip.tar: damaged at byte $member: $member bytes belong to no file of the archive and are skipped, with the files that were in them; copy it again"
tar -C "$TMP/three" -b 1 -cf "$TMP/flip2.tar" a.sonde b.sonde c.sonde d.sonde && flipped "$TMP/flip2.tar" 7 $((2 * member + 5))
ok tar__damaged_places_are_counted lost "$TMP/flip2.tar" "b.sonde d.sonde" \
	"flip2.tar: damaged in 2 places, the first at byte 0: $((2 * member)) bytes belong to no file of the archive and are skipped"
head -c $((2 * member)) "$TMP/three.tar" >"$TMP/at.tar"
ok tar__an_end_at_a_header_is_told lost "$TMP/at.tar" "a.sonde b.sonde" \
	"at.tar: truncated after $((2 * member)) bytes, where another file or the end of the archive should be; how many files are missing is not known; copy it again"
head -c $((2 * member + 100)) "$TMP/three.tar" >"$TMP/in.tar"
ok tar__an_end_inside_a_header_is_told lost "$TMP/in.tar" "a.sonde b.sonde" "in.tar: truncated after $((2 * member + 100)) bytes, where another"
head -c 3000 /dev/zero | tr "\0" x >"$TMP/three/log" && tar -C "$TMP/three" -b 1 -cf "$TMP/passed.tar" a.sonde log
truncate -s -2000 "$TMP/passed.tar"
ok tar__an_end_inside_a_file_that_is_passed_over_is_told lost "$TMP/passed.tar" "a.sonde" \
	"passed.tar: truncated after $(stat -c %s "$TMP/passed.tar") bytes, inside log"
(cat "$TMP/three.tar" && tar -C "$TMP/three" -b 1 -cf - b.sonde) >"$TMP/two.tar"
ok tar__archives_behind_each_other_are_read_with_a_note lost "$TMP/two.tar" "a.sonde b.sonde b.sonde c.sonde" \
	"two.tar: 1024 zero bytes, the first at byte $((3 * member)), come before another file of the archive: a hole in the archive, or several archives in one"
tar -C "$TMP/three" --hard-dereference -cf "$TMP/in.tar" a.sonde && tar -C "$TMP" -czf "$TMP/out.tar.gz" in.tar
ok tar__an_archive_in_a_compressed_archive_is_read lost "$TMP/out.tar.gz" "a.sonde" decode
ln "$TMP/three/a.sonde" "$TMP/three/twin.sonde" && ln -s /nowhere "$TMP/three/far.sonde"
tar -C "$TMP/three" -cf "$TMP/links.tar" a.sonde twin.sonde far.sonde
ok tar__links_are_named lost "$TMP/links.tar" "a.sonde" \
	"links.tar: 2 links to captures are not followed, the first is twin.sonde to a.sonde: only captures that are in the archive themselves are read; \`tar -h\` puts files in place of links"
python3 - "$cap" "$TMP" <<'P'
import io, sys, tarfile
data, tmp = open(sys.argv[1], "rb").read(), sys.argv[2]
def put(t, name, size, pax={}):
    info = tarfile.TarInfo(name)
    info.size, info.pax_headers = size, pax
    t.addfile(info, io.BytesIO(data))
with tarfile.open(tmp + "/long.tar", "w", format=tarfile.GNU_FORMAT) as t:
    put(t, "n" * 70000 + ".sonde", len(data))
    put(t, "b.sonde", len(data))
with tarfile.open(tmp + "/pax.tar", "w", format=tarfile.PAX_FORMAT) as t:
    put(t, "late.sonde", len(data), {"comment": "x" * 9000, "path": "p.sonde"}) # read as a whole
    put(t, "b.sonde", len(data), {"comment": "x" * 70000})
P
ok tar__a_name_beyond_all_bounds_is_cut lost "$TMP/long.tar" "b.sonde $(printf 'n%.0s' {1..100})" \
	"long.tar: damaged at byte 512: 70007 bytes belong to no file of the archive and are skipped"
ok tar__long_attributes_are_read_and_longer_ones_told lost "$TMP/pax.tar" "b.sonde p.sonde" "belong to no file of the archive and are skipped"
truncate -s +1M "$TMP/three/b.sonde" && cat "$cap" >>"$TMP/three/b.sonde"
for format in gnu pax; do
	tar -C "$TMP/three" --format=$format -S --hole-detection=raw -cf "$TMP/sparse.$format.tar" b.sonde c.sonde
	ok "tar__a_sparse_file_is_named_$format" lost "$TMP/sparse.$format.tar" "c.sonde" \
		"sparse.$format.tar: 1 file stored with holes is left out, the first is b.sonde; make the archive without the option -S"
done
mkdir -p "$TMP/node/native" && cp "$TMP/flip.tar" "$TMP/node/native/node1.sonde.tar"
ok tar__the_archive_of_a_node_says_it_too lost "$TMP/node" "a.sonde c.sonde" "native/node1.sonde.tar: damaged at byte $member"
head -c 512 "$TMP/three.tar" >"$TMP/none.tar" && tail -c +1025 "$TMP/three.tar" | head -c 2048 >>"$TMP/none.tar"
ok tar__one_without_captures_says_what_is_wrong_with_it says "none.tar: an archive without captures: truncated after 2560 bytes, inside a.sonde" "$TMP/none.tar"

# --- gzip files that are small and hold gigabytes: the file is named, the others are read, and memory stays small ---
python3 - "$TMP" <<'P'
import gzip, os, random, sys
def bomb(name, head, unit, nr_mib=2000):
    member = gzip.compress(unit * ((1 << 20) // len(unit) + 1), 9)
    with open(sys.argv[1] + "/bombs/" + name, "wb") as f:
        f.write(gzip.compress(head))
        f.write(member * nr_mib)
os.mkdir(sys.argv[1] + "/bombs")
bomb("zeros.sonde.gz", b"", b"\0")
bomb("log.sonde.gz", b"", b"epoch 1\n")
bomb("table.sonde.gz", b'"ID","Process ID","Process Name","Host Name","Kernel Name"\n"","","","",""\n', b'"0","1","a","h","k"\n')
bomb("trace.sonde.gz", b'{"traceEvents": [', b'{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":1},\n')
with gzip.open(sys.argv[1] + "/inner.gz", "wb") as f, open(sys.argv[1] + "/bombs/trace.sonde.gz", "rb") as t:
    f.write(t.read()) # twice compressed
r = random.Random(1)
with gzip.open(sys.argv[1] + "/genuine.json.gz", "wb") as f:
    f.write(b'{"traceEvents": [')
    for i in range(70000):
        f.write(b'{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":%d,"dur":1,"args":{"id":"%s%s"}},\n' % (i * 9, b"%08x" % r.getrandbits(32), b"a" * 1000))
    f.write(b"{}]}")
open(sys.argv[1] + "/long.csv", "w").write("a line of the program\n" * 30000) # before the table
P
cat "$TMP/long.csv" "$D/ncu/seed_kernel.raw.csv" | gzip >"$TMP/long.csv.gz"
cp "$cap" "$TMP/bombs/good.sonde"
within() { # MIB ARGS…: the memory sonde report needs; $TMP/out, $TMP/err
	python3 - "$@" <<'P'
import os, resource, subprocess, sys
with open(os.environ["TMP"] + "/out", "w") as out, open(os.environ["TMP"] + "/err", "w") as err:
    status = subprocess.run([os.environ["SONDE"], "report", "--width", "1000"] + sys.argv[2:], stdout=out, stderr=err).returncode
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
print(status, peak, "MiB")
sys.exit(status or peak > int(sys.argv[1]))
P
}
bombs() { # the good capture is read; of the others it is said which, and why
	within 1000 "$TMP/bombs" --cores 1 && [ "$(inputs "$TMP/bombs")" = "good.sonde trace.sonde.gz" ] &&
		grep -q 'bombs/zeros.sonde.gz: byte 0: not a capture sonde can read.*; it is left out' "$TMP/out" && grep -q 'bombs/log.sonde.gz: byte 0: not a capture' "$TMP/out" &&
		grep -q 'bombs/table.sonde.gz: inflates to more than 256 times its size, which no capture does; decompress it first if it is genuine; it is left out' "$TMP/out" &&
		grep -q 'bombs/trace.sonde.gz: inflates to more than 256 times its size.* results before it are reported' "$TMP/out"
}
ok bomb__a_folder_goes_on_without_them bombs
ok bomb__one_in_another_is_found_out says 'inner.gz: inflates to more than 256 times its size' "$TMP/inner.gz"
ok bomb__a_genuine_trace_is_none output_has '"launches": *70000' "$SONDE" report "$TMP/genuine.json.gz" -f json
ok bomb__a_table_far_from_the_beginning_is_found says 'A::A1' "$TMP/long.csv.gz"

# --- links in a directory: what they lead to is read, once ---
mkdir -p "$TMP/linked/own" "$TMP/linked/more" "$TMP/far/deep"
cp "$cap" "$TMP/linked/own/1.sonde" && cp "$cap" "$TMP/far/2.sonde" && cp "$cap" "$TMP/far/store" && cp "$cap" "$TMP/far/deep/9.sonde"
ln -s own/1.sonde "$TMP/linked/latest.sonde" && ln -s own "$TMP/linked/now" # both are read where they lie
ln -s ../far/2.sonde "$TMP/linked/2.sonde" && ln -s ../../far/2.sonde "$TMP/linked/more/again.sonde"
ln -s ../far/store "$TMP/linked/3.sonde" # known by the name of the link
ln -s ../nowhere.sonde "$TMP/linked/4.sonde" && ln -s ../far/deep "$TMP/linked/deep" && ln -s nowhere "$TMP/linked/log"
ok links__what_they_lead_to_is_read_once lost "$TMP/linked" "1.sonde 2.sonde store" "linked/4.sonde: a broken link; it is left out"
ok links__a_folder_elsewhere_is_named says "linked/deep: a link to another folder, which sonde does not follow: name it to report on its captures" "$TMP/linked"
ok links__no_others_are [ "$(grep -c 'linked/.*: a \(broken \)\?link' "$TMP/out")" = 2 ]
