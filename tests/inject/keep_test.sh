#!/usr/bin/env bash
# capture.keep: the oldest files of a capture are folded while it is written, and the report covers
# all files: counts, sums and entries are exact, times that depend on clocks are right to the microsecond.
# Mostly waits.
. "$(dirname "$0")/../native.sh"
FAKE=$PWD/$BUILD/fake/libcupti_fake.so
[ -e "$FAKE" ] || skip_all "the CUPTI headers were not found when building"
export CUDA_INJECTION64_PATH=$LIB

same() { # WHOLE FOLDED: two directories have the same report, but for single entries and launches
	! "$SONDE" whatif "$2" >/dev/null 2>"$TMP/whatif" && grep -q "nothing to replay: .* summed up and removed" "$TMP/whatif" || { cat "$TMP/whatif"; return 1; } # what is gone cannot be replayed
	"$SONDE" report "$1" -f json report.whatif=off >"$TMP/whole.json" && "$SONDE" report "$2" -f json report.whatif=off >"$TMP/folded.json" &&
		"$SONDE" validate "$TMP/folded.json" && python3 - "$TMP/whole.json" "$TMP/folded.json" <<-'P'
		import json, sys
		whole, folded = (json.load(open(f)) for f in sys.argv[1:3])
		skipped = {"entries", "generated_at", "file", "files", "longest_gaps", "notes", "loads", "findings", "step"}
		bad = []

		def is_same(path, a, b):
		    # A cut takes gaps from a cause, or from the tail, and never adds to one; idle ones go to other_stream (docs/always-on-reference.md).
		    if path.endswith("other_stream_ms") or path.endswith("tail_ms") or ".idle." in path:
		        return b >= a - 1e-3 if path.endswith("other_stream_ms") else b <= a + 1e-3
		    # A thread's processor clock is read once per block, and what passed between two reads is divided by time: a cut is a read.
		    if path.endswith("cpu_ms"):
		        return abs(a - b) <= 10e-3 + 1e-9 * abs(a)
		    if isinstance(a, float) or isinstance(b, float):
		        return abs(a - b) <= 1e-3 + 1e-9 * abs(a)
		    return a == b

		def walk(path, a, b):
		    if isinstance(a, dict) and isinstance(b, dict):
		        for k in sorted((set(a) | set(b)) - skipped):
		            walk(path + "." + k, a.get(k), b.get(k))
		    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
		        if a and isinstance(a[0], dict) and "id" in a[0]: # regions that began in a later file come later
		            a, b = (sorted(x, key=lambda r: r["id"]) for x in (a, b))
		        for i, (x, y) in enumerate(zip(a, b)):
		            walk("%s[%d]" % (path, i), x, y)
		    elif a is None or b is None or not is_same(path, a, b):
		        if a != b:
		            bad.append((path, a, b))

		walk("", whole, folded)
		own = [n.split(": ", 1)[1] for n in folded["notes"]]
		assert any("its oldest files were folded" in n for n in folded["notes"]), folded["notes"]
		assert [n.split(": ", 1)[1] for n in whole["notes"]] == [n for n in own if "its oldest files were" not in n], own
		print(*bad[:20], sep="\n")
		assert not bad
		gaps = [[round(g["ms"], 3) for g in r["aggregate"].get("longest_gaps", [])] for r in (whole, folded)]
		assert len(gaps[0]) == len(gaps[1]) and all(abs(x - y) <= 2e-3 for x, y in zip(*gaps)), gaps
	P
}

counted_alike() { # WHOLE FOLDED: launches, entries, kernels, GPU times, memory and notes are the same, wherever the cuts were
	"$SONDE" report "$1" -f json report.whatif=off >"$TMP/whole.json" && "$SONDE" report "$2" -f json report.whatif=off >"$TMP/folded.json" &&
		"$SONDE" validate "$TMP/folded.json" && python3 - "$TMP/whole.json" "$TMP/folded.json" <<-'P'
		import json, os, sys
		whole, folded = (json.load(open(f)) for f in sys.argv[1:3])
		counts = ["instances", "kernel_count", "total_ms", "copy_count", "copy_bytes", "metrics", "streams"]
		memory = ["allocated_bytes", "freed_bytes", "left_bytes"]

		def told(r):
		    regions = {g["id"]: ([g.get(k) for k in counts], [(g.get("memory") or {}).get(k) for k in memory],
		        g["exclusive"]["kernel_count"], sorted((k["kernel_name"], k["calls"]) for k in g["kernels"])) for g in r["aggregate"]["regions"]}
		    notes = [n.split(": ", 1)[1] for n in r["notes"] if "its oldest files were folded" not in n]
		    r["coverage"].get("threads", []).sort(key=lambda t: t["thread"])
		    windows = r["coverage"].get("windows") or {}
		    for k in ("captured_ms", "of_ms"): # by clocks that are compared
		        if k in windows: windows[k] = round(windows[k], 1)
		    return regions, r["coverage"], notes

		def differ_by_one(a, b): # a launch counts on the other side of a region's edge
		    (x, _, own_x, _), (y, _, own_y, _) = a, b
		    return x[0] == y[0] and abs(x[1] - y[1]) <= 1 and abs(own_x - own_y) <= 1

		for a, b in zip(told(whole), told(folded)):
		    if isinstance(a, dict) and "ADOPTED" in os.environ:
		        other = [k for k in a if a[k] != b.get(k)]
		        assert len(other) <= 2 and all(k in b and differ_by_one(a[k], b[k]) for k in other) and len(a) == len(b), [(k, a[k], b.get(k)) for k in other][:5]
		    else:
		        assert a == b, [(k, a[k], b.get(k)) for k in a if a[k] != b.get(k)][:5] if isinstance(a, dict) else (a, b)
	P
}

# The capture in $OUT, cut after so many bytes and folded in groups of one to three files, in $TMP/cut. The seed of the groups is said.
cut_and_fold() { # BYTES SEED
	local name nr left at_once
	name=$(basename "$OUT"/*.sonde)
	rm -rf "$TMP/cut"
	mkdir "$TMP/cut"
	nr=$("$BUILD/tools/capture_cut" "$OUT/$name" "$TMP/cut/$name" "$1" flush)
	RANDOM=$2
	echo "cut after $1 bytes: $nr files, seed $2"
	for ((left = nr; left > 2; left -= at_once)); do
		at_once=$((RANDOM % 3 + 1))
		[ $at_once -le $((left - 2)) ] || at_once=$((left - 2))
		"$BUILD/tools/capture_roll" "$TMP/cut/$name" 1 $at_once || return
		[ $((RANDOM % 16)) -ne 0 ] || break
	done
}

cut_anywhere() { # PROGRAM…: what its capture counts, by small files and large ones
	local nr seed=$((RANDOM + 1))
	traced "$@" >"$TMP/said" || return
	for nr in 1 3000 40000; do
		cut_and_fold $nr $((seed++)) && counted_alike "$OUT" "$TMP/cut" || return
	done
}
any_kinds() {
	fresh cupti="$FAKE" flush_ms=1 collect_ms=3 memory=on
	cut_anywhere "$BUILD/fake/fake_cuda" "$FAKE" 3000
}
# A start/end range around everything, threads without ranges, launches outside any. Which ranges a launch of another thread is in
# depends on the nanosecond of its call and of their edges; files apart have other clock readings, so one at an edge may go either way.
any_threads() {
	fresh cupti="$FAKE" flush_ms=2 collect_ms=5
	ADOPTED=yes FAKE_LOOP_EPOCH=1 FAKE_LOOP_VARIES=1 cut_anywhere "$BUILD/fake/fake_loop" "$FAKE" 300 3 100 3
}
any_graphs() {
	: >"$TMP/graph"
	fresh cupti="$FAKE" flush_ms=2 collect_ms=5
	FAKE_LOOP_GRAPH=$TMP/graph cut_anywhere "$BUILD/fake/fake_loop" "$FAKE" 300 3 100 1
}
any_windows() {
	fresh cupti="$FAKE" flush_ms=2 collect_ms=5 window=time window.after_us=5000 window.for_us=15000 window.every_us=25000
	cut_anywhere "$BUILD/fake/fake_loop" "$FAKE" 500 3 100 2
}

loop() { traced "$BUILD/fake/fake_loop" "$FAKE" "$@" >"$TMP/said" && grep -qx done "$TMP/said"; }

loop_files() { # NUMBER ARGUMENT…: a loop that goes on until there are so many files
	goes_on_until "has_files $1" loop "${@:2}"
}
has_files() { [ "$(ls "$OUT" | wc -l)" -ge "$1" ]; }

folded() { fold "$1" && same "$TMP/whole" "$OUT"; } # FILES
fold() { # FILES: the capture in $OUT, which has so many, all but its last two folded one by one; and as one file in $TMP/whole
	local name
	name=$(basename "$OUT"/*.sonde)
	rm -rf "$TMP/whole"
	mkdir "$TMP/whole"
	cat $(ls -v "$OUT/$name"*) >"$TMP/whole/$name"
	[ "$(ls "$OUT" | wc -l)" -ge "$1" ] || { echo "too few files"; ls -l "$OUT"; return 1; }
	"$BUILD/tools/capture_roll" "$OUT/$name" $(($(ls "$OUT" | wc -l) - 2)) && [ "$(ls "$OUT" | wc -l)" -eq 3 ]
}

one_thread() {
	fresh cupti="$FAKE" flush_ms=2 collect_ms=5 rotate_ms=20
	loop_files 6 1 3 300 && folded 4
}

threads() {
	fresh cupti="$FAKE" flush_ms=2 collect_ms=5 rotate_ms=20
	loop_files 6 300 2 300 3 && folded 4
}

no_gpu() { # host times alone
	fresh cupti=off flush_ms=2 collect_ms=5 rotate_ms=10
	loop_files 6 1 1 200 && folded 4
}

all_kinds() { # start/end ranges over many files, graphs captured in the first, memory held, marks, copies
	fresh cupti="$FAKE" flush_ms=2 collect_ms=5 rotate_ms=20 memory=on
	goes_on_until "has_files 6" traced "$BUILD/fake/fake_cuda" "$FAKE" 3 >"$TMP/said" && folded 4
}

unrecorded() { # CUPTI hands over what fills a buffer, until the program leaves by _exit: every launch is a result or without a record
	local -x FAKE_CUPTI_LATE_MS=600000
	fresh cupti="$FAKE" flush_ms=2 collect_ms=5 rotate_ms=20
	goes_on_until "has_much 6" traced "$BUILD/fake/fake_loop" "$FAKE" 1 20 300 0 _exit >"$TMP/said"
	settle
	fold 4 && "$SONDE" report "$TMP/whole" -f json >"$TMP/whole.json" && "$SONDE" report "$OUT" -f json >"$TMP/folded.json" &&
		python3 - "$TMP/whole.json" "$TMP/folded.json" "$(sed -n 's/^steps //p' "$TMP/said")" <<-'P'
			import json, sys
			n = 21 * int(sys.argv[3])
			for f in sys.argv[1:3]:
			    c = json.load(open(f))["coverage"]
			    print(n, c)
			    assert 0 < c["launches_without_record"] == n - c["launches_total"] < n
		P
}
has_much() { has_files "$1" && "$BUILD/tools/capture_dump" --count "$OUT"/*.sonde | grep -v ' records=0 '; }

at_once() { # all but two files in one go
	fresh cupti="$FAKE" flush_ms=2 collect_ms=5 rotate_ms=20
	loop_files 6 300 2 300 2 || return
	local name nr
	name=$(basename "$OUT"/*.sonde) nr=$(ls "$OUT" | wc -l)
	[ "$nr" -ge 5 ] || { echo "too few files"; return 1; }
	rm -rf "$TMP/whole"
	mkdir "$TMP/whole"
	cat $(ls -v "$OUT/$name"*) >"$TMP/whole/$name"
	"$BUILD/tools/capture_roll" "$OUT/$name" 1 2 && "$BUILD/tools/capture_roll" "$OUT/$name" 1 $((nr - 4)) && [ "$(ls "$OUT" | wc -l)" -eq 3 ] &&
		same "$TMP/whole" "$OUT"
}

again() { # whoever is killed between the two leaves a file that counts no more
	local name
	name=$(basename "$OUT"/*.sonde)
	cp "$(ls -v "$OUT/$name".* | head -1)" "$TMP/last"
	cp "$TMP/last" "$OUT/$name.1"
	same "$TMP/whole" "$OUT"
}

in_a_run() { # COUNT-OF-PROCESSES: what `sonde run` leaves is bounded, and every launch is told
	rm -rf "$TMP/run"
	"$SONDE" run hydra.run.dir="$TMP/run" capture.rotate='1GB|1s' capture.keep=1 pipeline.native.cupti="$FAKE" -- \
		"$BUILD/fake/fake_loop" "$FAKE" 5000 4 1000 2 >"$TMP/said" 2>&1 || { cat "$TMP/said"; return 1; }
	ls "$TMP/run/native"
	[ "$(ls "$TMP/run/native" | grep -c '\.sonde')" -le 4 ] && [ -n "$(ls "$TMP/run/native" | grep '\.sonde\.')" ] &&
		"$SONDE" report "$TMP/run" -f json >"$TMP/r.json" && python3 - "$TMP/r.json" <<-'P'
		import json, sys
		r = json.load(open(sys.argv[1]))
		n = sum(g["instances"] for g in r["aggregate"]["regions"] if g["id"].endswith("step"))
		print(n, r["coverage"], *r["notes"], sep="\n")
		assert n == 15000 and r["coverage"]["launches_total"] == 75000
		assert any("its oldest files were folded" in t for t in r["notes"])
	P
}

with_counters() { # samples go on in further files, too, and go with the files that they are of
	local pm=$PWD/$BUILD/fake/libpm_fake.so
	[ -e "$pm" ] || { echo "CUPTI's headers (12.6 or newer) were not found when building"; return 0; }
	rm -rf "$TMP/run" "$TMP/stop"
	SONDE_CUPTI=$pm FAKE_LOOP_STOP=$TMP/stop "$SONDE" run -q hydra.run.dir="$TMP/run" counters=basic capture.rotate=1s capture.keep=1 pipeline.native.cupti="$FAKE" -- \
		"$BUILD/fake/fake_loop" "$FAKE" 1 3 500 >"$TMP/said" 2>&1 &
	local runner=$!
	wait_for is_trimmed || { cat "$TMP/said"; ls "$TMP/run/native"; return 1; }
	touch "$TMP/stop"
	wait $runner && "$SONDE" report "$TMP/run" -f json >"$TMP/r.json" && "$SONDE" validate "$TMP/r.json" &&
		"$BUILD/tools/samples_dump" "$TMP/run/native" | grep '^series ' && python3 - "$TMP/r.json" <<-'P'
		import json, sys
		r = json.load(open(sys.argv[1]))
		print(r["capture"]["files"], *r["notes"], sep="\n")
		assert any("its oldest files were folded" in t for t in r["notes"]) and any("was sampled for" in t for t in r["notes"])
		assert not any("damaged" in t for t in r["notes"])
	P
}
is_trimmed() { # the first files of samples are gone, and the first one says so
	compgen -G "$TMP/run/native/samples-*.sonde.[3-9]" && ! compgen -G "$TMP/run/native/samples-*.sonde.1"
}

killed() { # sonde is killed in the middle: the program goes on, and what was folded and what was not is told once
	rm -rf "$TMP/run"
	"$SONDE" run -q hydra.run.dir="$TMP/run" counters=off capture.rotate=1s capture.keep=1 pipeline.native.cupti="$FAKE" -- \
		"$BUILD/fake/fake_loop" "$FAKE" 5000 4 1000 >"$TMP/said" 2>&1 &
	local runner=$! program
	wait_for compgen -G "$TMP/run/native/*.sonde.[2-9]" || return 1
	kill -9 $runner
	wait $runner 2>/dev/null
	program=$(basename "$(ls "$TMP"/run/native/*.sonde)" .0.sonde)
	wait_for is_gone "$program" && "$SONDE" report "$TMP/run/native" >"$TMP/r" && grep '^25000 of 25000 launches in regions' "$TMP/r"
}

# Files are folded, replaced and removed while `sonde ctl PID report` and --every read them. What a report has is never more than the program has
# done by its end (nothing twice), and never less than an earlier one had (nothing lost); the last one has it all. Kernels come in
# later than launches: they are counted at the end.
live() {
	local runner
	rm -rf "$TMP/run" "$TMP/stop" "$TMP/reports"
	mkdir "$TMP/reports"
	head -c 8 /dev/zero >"$TMP/count"
	FAKE_LOOP_COUNT=$TMP/count FAKE_LOOP_STOP=$TMP/stop "$SONDE" run -q hydra.run.dir="$TMP/run" counters=off capture.rotate=1s capture.keep=1 \
		capture.every=200ms pipeline.native.cupti="$FAKE" -- "$BUILD/fake/fake_loop" "$FAKE" 1 3 500 >"$TMP/said" 2>"$TMP/trees" &
	runner=$!
	wait_for sh -c "ls $TMP/run/native/*.sonde $TMP/run/native/ctl.$runner"
	wait_for tells || return
	touch "$TMP/stop"
	wait $runner && "$SONDE" report "$TMP/run/native" -f json >"$TMP/r.json" && python3 - "$TMP" <<-'P'
		import glob, json, re, sys
		tmp = sys.argv[1]
		def steps(r): return next((g["instances"] for g in r["aggregate"]["regions"] if g["id"] == "train/step"), 0) if r["aggregate"] else 0
		def read(f): return json.load(open(f))
		names = sorted(glob.glob(tmp + "/reports/*.json"))
		told = [(steps(read(f)), int(open(f[:-5] + ".done").read())) for f in names]
		last, n = read(tmp + "/r.json"), int(re.search(r"steps (\d+)", open(tmp + "/said").read())[1])
		trees = [int(m) for m in re.findall(r"^(\d+) of \d+ launches in regions", open(tmp + "/trees").read(), re.M)]
		print(n, told, trees, last["coverage"], last["notes"], sep="\n")
		assert all(0 < s <= done + 1 for s, done in told) and [s for s, _ in told] == sorted(s for s, _ in told)
		assert len(trees) > 2 and trees == sorted(trees) and trees[-1] <= 4 * n
		assert steps(last) == n and last["coverage"]["launches_total"] == 4 * n
	P
}
tells() { # one more report, and how far the program was when it had been made; enough when three were of files that had been folded
	local name
	name=$TMP/reports/$(printf %03d $(ls "$TMP/reports" | wc -l))
	"$SONDE" ctl "$runner" report -f json >"$name.json" || { rm "$name.json"; return 1; }
	od -An -tu8 "$TMP/count" | tr -d ' ' >"$name.done"
	[ "$(grep -l 'its oldest files were folded' "$TMP"/reports/*.json | wc -l)" -ge 3 ]
}

refused() { # SETTINGS… TEXT: said before anything runs
	! "$SONDE" run hydra.run.dir="$TMP/no" "${@:1:$#-1}" -- true >"$TMP/said" 2>&1 && grep -qF -- "${@: -1}" "$TMP/said" && [ ! -e "$TMP/no" ]
}

ok "one thread: files folded one by one have the report of the whole" one_thread
ok "a file that was folded and not removed counts once" again
ok "four threads: files folded one by one have the report of the whole" threads
ok "several files folded at once have the report of the whole" at_once
ok "ranges alone: files folded one by one have the report of the whole" no_gpu
ok "start/end ranges, graphs and memory over many files are those of the whole" all_kinds
ok "launches without a record are those of the whole" unrecorded
ok "a capture of all kinds, cut anywhere and folded in any groups, counts everything once" any_kinds
ok "a capture of four threads, cut anywhere and folded in any groups, counts everything once" any_threads
ok "a capture with graphs, cut anywhere and folded in any groups, counts everything once" any_graphs
ok "a capture with windows, cut anywhere and folded in any groups, counts everything once" any_windows
ok "a run keeps one file and tells every launch" in_a_run
ok "hardware counters beside it: samples that no file needs any more are gone" with_counters
ok "sonde is killed while it folds: nothing is lost, nothing told twice" killed
ok "reports of a capture whose files are being folded have everything once" live
ok "capture.keep without capture.rotate is refused" refused capture.keep=2 "it needs capture.rotate"
ok "a capture.rotate that is no size is refused" refused capture.rotate=often "not a size or time"
