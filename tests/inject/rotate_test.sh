#!/usr/bin/env bash
# Captures that continue in further files: the report is the same as that of one file, wherever the cuts are.
# Mostly waits.
. "$(dirname "$0")/../native.sh"
FAKE=$PWD/$BUILD/fake/libcupti_fake.so
[ -e "$FAKE" ] || skip_all "the CUPTI headers were not found when building"
export CUDA_INJECTION64_PATH=$LIB

loop() { traced "$BUILD/fake/fake_loop" "$FAKE" "$@" >"$TMP/said" && grep -qx done "$TMP/said"; }

json() { # DIR: its report, without where it is
	local file
	file=$(mktemp "$TMP/json.XXXXXX")
	"$SONDE" report "$1" -f json >"$file" && "$SONDE" validate "$file" >"$file.valid" && sed "s#$1/##g; /\"generated_at\"/d" "$file"
}

cut() { # BYTES: the capture in $OUT, cut, has the same report
	rm -rf "$TMP/cut"
	mkdir "$TMP/cut"
	"$BUILD/tools/capture_cut" "$OUT"/*.sonde "$TMP/cut/$(basename "$OUT"/*.sonde)" "$1" &&
		diff <(json "$OUT") <(json "$TMP/cut")
}

cuts() { # of three threads, start/end ranges, graphs, copies, memory
	local nr
	fresh cupti="$FAKE" flush_ms=1 memory=on
	traced "$BUILD/fake/fake_cuda" "$FAKE" 3000 >"$TMP/said" || return
	for nr in 1 700 2500 20000 60000; do
		cut $nr || return
	done
	fresh cupti="$FAKE" flush_ms=1
	loop 2000 4 0 2 || return
	for nr in 5000 33333; do
		cut $nr || return
	done
}

loop_until() { # COMMAND… -- ARGS…: a loop that goes on until the command succeeds; its number is $pid
	local -a until=()
	while [ "$1" != -- ]; do
		until+=("$1")
		shift
	done
	rm -f "$TMP/stop"
	FAKE_LOOP_STOP=$TMP/stop SONDE_INJECT_CONFIG=$CONF NVTX_INJECTION64_PATH=$LIB "$BUILD/fake/fake_loop" "$FAKE" "${@:2}" >"$TMP/said" &
	pid=$!
	wait_for "${until[@]}"
	: >"$TMP/stop"
	wait "$pid"
}
has_files() { [ -e "$OUT/$pid.0.sonde.$1" ]; }

rotates() { # as many launches and entries as were made: five launches a step, 3000 steps of each thread and more of one
	fresh cupti="$FAKE" flush_ms=2 collect_ms=1 rotate_bytes=20000 "$@"
	loop_until has_files 8 -- 3000 4 100 3 && json "$OUT" >"$TMP/out.json" && python3 - "$TMP/out.json" <<-'P'
		import json, sys
		r = json.load(open(sys.argv[1]))
		n = sum(g["instances"] for g in r["aggregate"]["regions"] if g["id"].endswith("step"))
		print(n, r["coverage"], *r["notes"], sep="\n")
		assert n > 9000 and r["coverage"]["launches_total"] == 5 * n, n
		assert not [t for t in r["notes"] if "damaged" in t or "lost" in t]
	P
}

by_time() {
	fresh cupti="$FAKE" flush_ms=2 collect_ms=1 rotate_ms=10
	loop_until has_files 5 -- 1 1 2000 && json "$OUT" | grep -q '"launches_total"'
}

by_cat() { # the files behind each other are a capture, too
	cat $(ls -v "$OUT"/*.sonde*) >"$TMP/one.sonde"
	diff <(json "$OUT") <(json "$TMP/one.sonde" | sed "s#$TMP/one.sonde#$(basename "$OUT"/*.sonde)#")
}

by_number() {
	! "$SONDE" report "$OUT"/*.sonde.1 >"$TMP/said" 2>&1 && grep -q "this is a later file of a capture" "$TMP/said"
}

ends() { # HOW
	fresh cupti="$FAKE" collect_ms=1 flush_ms=2 rotate_bytes=2000
	same_with_and_without "$BUILD/fake/fake_loop" "$FAKE" 400 2 500 0 "$1" && settle && json "$OUT" >"$TMP/out.json" && python3 - "$TMP/out.json" <<-'P'
		import json, sys
		r = json.load(open(sys.argv[1]))
		n = sum(g["instances"] for g in r["aggregate"]["regions"] if g["id"].endswith("step"))
		print(n, *r["notes"], sep="\n")
		assert n == 400
	P
}

signals() {
	fresh flush_ms=2 collect_ms=1 rotate_bytes=2000
	same_with_and_without "$WORK/faults" signals 4000 && dump >/dev/null
}

flusher() { # it is no child of the program's
	local p
	for p in $(pgrep -x sonde-flush); do
		readlink /proc/"$p"/fd/* | grep -qF "$OUT/$pid.0.sonde" && echo "$p"
	done
}
kill_flusher() { has_files 5 && kill -9 $(flusher) && wait_for is_free; }
is_free() { flock -n -s "$(ls -v "$OUT/$pid".0.sonde* | tail -1)" true; }

flusher_killed() { # what was written is there
	fresh cupti="$FAKE" collect_ms=1 flush_ms=2 rotate_bytes=20000
	loop_until kill_flusher -- 1 2 100 && json "$OUT" >"$TMP/out.json" && grep -q 'the capture has no end' "$TMP/out.json"
}

fill() { has_files 5 && { head -c 1G /dev/zero >"$OUT/filler" 2>/dev/null; wait_for is_free; }; }

full_disk() { # the report says so, and has what was before it
	local rc
	fresh cupti="$FAKE" flush_ms=2 collect_ms=1 rotate_bytes=20000
	mount -t tmpfs -o size=64M tmpfs "$OUT" 2>/dev/null || return 77
	loop_until fill -- 1 1 100 && json "$OUT" >"$TMP/out.json"
	rc=$?
	ls -l "$OUT"
	umount "$OUT"
	[ $rc -eq 0 ] && grep -q 'the disk was full: what the program did after that is missing' "$TMP/out.json" && grep -q '"train/step"' "$TMP/out.json"
}

ok "a capture cut anywhere has the report of the whole one" cuts
ok "a capture that goes on in further files has every launch and entry" rotates
ok "the files of a capture are one when put behind each other" by_cat
ok "a later file by itself is refused, with what to do" by_number
ok "a capture goes on in another file after a time" by_time
for how in exit _exit kill fork exec; do
	ok "a program that ends by $how keeps all its files" ends $how
done
if "$WORK/faults" signals 10 >/dev/null 2>&1; then
	ok "signal handlers push ranges while files change" signals
fi
ok "a flusher that is killed keeps what is written" flusher_killed
may_skip "a full disk is told, whichever file it is" full_disk
