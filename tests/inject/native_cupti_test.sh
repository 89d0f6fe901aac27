#!/usr/bin/env bash
# The CUPTI part of the injected library, with a fake CUPTI. It needs no GPU, but does not prove
# that NVIDIA's CUPTI behaves the same; tests/gpu does.
# Mostly waits.
. "$(dirname "$0")/../native.sh"
FAKE=$PWD/$BUILD/fake/libcupti_fake.so
CUDA=$PWD/$BUILD/fake/fake_cuda
if [ ! -e "$FAKE" ]; then
	echo "skip native_cupti: the CUPTI headers were not found when building"
	exit 0
fi

cuda() {
	env CUDA_INJECTION64_PATH="$LIB" SONDE_INJECT_CONFIG="$CONF" NVTX_INJECTION64_PATH="$LIB" \
		timeout -k 1 600 "$CUDA" "$FAKE" "$@"
}

launches() {
	cat <<-'T'
		launch kernel fill(float *, int, float) in (nothing)
		launch kernel void gemm_tile<(int)2>(const float *, const float *, float *, int) in A
		launch kernel void gemm_tile<(int)2>(const float *, const float *, float *, int) in A/B + start:s
		launch kernel axpy(float *, int, float) in start:s + worker
		launch kernel axpy(float *, int, float) in start:s + worker
		launch kernel axpy(float *, int, float) in start:s + worker
		launch memcpy [CUDA memcpy Host-to-Device] in move
		launch kernel reduce_sum(const float *, float *, int) in replay captured in capture
	T
}

all_launches() {
	fresh cupti="$FAKE"
	[ "$(cuda)" = done ] && dump | grep '^launch' | diff <(launches) -
}

own_advice() { # it is a capture of `sonde run`: the same once more is no advice
	local -x FAKE_LONG=1
	fresh cupti="$FAKE"
	cuda && "$SONDE" report "$OUT" --nvtx-include replay --width 300 | tee "$TMP/advice" && grep -q 'what limits it is not known' "$TMP/advice" &&
		grep -q 'sonde doctor. says why a run has none' "$TMP/advice" && ! sed 's/sonde run --ncu//' "$TMP/advice" | grep -q 'sonde run'
}

own_ids() { # an older CUPTI, whose overhead records are shorter, too: the driver's correlation id differs from the runtime's; records carry either
	local whose
	for whose in driver runtime; do
		fresh cupti="$FAKE"
		FAKE_CUPTI_IDS=$whose cuda && dump | grep '^launch' | diff <(launches) - || return
	done
}

quick() { # quick_exit runs no handler of exit
	fresh cupti="$FAKE"
	[ "$(cuda quick)" = done ] && dump | grep '^launch' | diff <(launches) -
}

late() { # what an exit handler launches after CUDA's last collection is missing, and that is said
	fresh cupti="$FAKE"
	[ "$(cuda late)" = done ] && has "range push_pop late entries=1 open=0 threads=1" \
		"note GPU work launched by late exit handlers is missing"
}

times() {
	fresh cupti="$FAKE"
	cuda && "$BUILD/tools/capture_dump" --times "$OUT"/*.sonde | grep -c 'kernel.* ns=1234$' | grep -x 7
}

many() {
	fresh cupti="$FAKE" collect_ms=5
	cuda 200000 >/dev/null
	"$BUILD/tools/capture_dump" --count "$OUT"/*.sonde >"$TMP/count"
	cat "$TMP/count"
	ls -l "$OUT"
	grep -q 'records=200005' "$TMP/count" &&
		[ "$(cat "$OUT"/*.sonde | wc -c)" -le $((200005 * 64)) ]
}

at_exit() { # full buffers that the collector is at when the program ends: by chance, so several times
	local i
	for i in 1 2 3 4 5 6 7 8 9 10; do
		fresh cupti="$FAKE" collect_ms=1
		FAKE_CUPTI_HOLDS=1 cuda 200000 >/dev/null
		"$BUILD/tools/capture_dump" --count "$OUT"/*.sonde | tee /dev/stderr | grep -q 'records=200005' || return
	done
}

streams() { # what a simulation needs: when launches returned, and which events order streams
	fresh cupti="$FAKE"
	[ "$(cuda streams)" = done ] || return
	"$BUILD/tools/capture_dump" --replay "$OUT"/*.sonde >"$TMP/replay"
	[ "$(grep -c '^launch .* returned$' "$TMP/replay")" = 8 ] && grep -E '^call (record|await|sync)' "$TMP/replay" | diff - <(cat <<-'T'
		call record stream=7 (default) event=e0
		call await stream=13 event=e0
		call sync_event event=e0
		call sync_stream stream=13
		call sync_stream
	T
	) && ! dump | grep -E 'call (record|await)'
}

another_subscriber() {
	fresh cupti="$FAKE"
	FAKE_CUPTI_TAKEN=1 cuda && has \
		"note another tool in this process uses CUPTI: sonde cannot tell which region launched a kernel" \
		"launch kernel fill(float *, int, float) in (nothing)" \
		"range push_pop A/B entries=1 open=0 threads=1"
}

missing() {
	fresh cupti=/not/there/libcupti.so
	[ "$(cuda)" = done ] && has "note CUPTI was not found: host times only, no kernels; set pipeline.native.cupti to the path of libcupti.so" \
		"range push_pop A/B entries=1 open=0 threads=1" && ! dump | grep '^launch'
}

off() {
	fresh cupti=off
	[ "$(cuda)" = done ] && has "note CUPTI is switched off: host times only, no kernels"
}

sqlite() {
	python3 -c 'import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchone()[0])' "$TMP/r.db" "$1"
}

report() { # the figures timestamps give, in every format
	fresh cupti="$FAKE"
	cuda && "$SONDE" report "$OUT" -f json >"$TMP/r.json" && "$SONDE" validate "$TMP/r.json" || return
	python3 - "$TMP/r.json" <<-'P' || return
		import json, sys
		rows = {r["id"]: r for r in json.load(open(sys.argv[1]))["aggregate"]["regions"]}
		move, a = rows["move"], rows["A"]
		assert (move["copy_count"], move["copy_bytes"], move["kernel_count"]) == (1, 4096, 1), move
		assert move["copy_ms"] == move["total_ms"] and a["copy_count"] == 0
		assert abs(a["idle_ms"] + a["busy_ms"] - a["span_ms"]) < 1e-9 and a["host_ms"] > 0, a
		streams = [(s["stream"], s["kernel_count"]) for s in rows["s@@"]["per_stream"]]
		assert rows["s@@"]["streams"] == 2 and streams == [(13, 3), (7, 1)], rows["s@@"]
		assert a["bound"] in ("gpu", "cpu", "waiting", "mixed"), a
	P
	"$SONDE" report "$OUT" | tee /dev/stderr | grep -qE '^region .*launches .*busy (ms|µs) .*idle (ms|µs) .*host (ms|µs) .*copy (ms|µs) .*bound$' &&
		"$SONDE" report "$OUT" -f md | grep -q '^- copies: 1, .* ms, 4096 bytes$' &&
		"$SONDE" report "$OUT" -f md | grep -qE '^  - stream 13: busy .* ms, 3 launches$' &&
		"$SONDE" report "$OUT" -f sqlite -o "$TMP/r.db" &&
		[ "$(sqlite "SELECT sum(s.launches) FROM streams s JOIN regions r ON r.id = s.region JOIN scopes c ON c.id = r.scope
			WHERE c.is_aggregate AND r.region_id = 's@@'")" = 4 ] &&
		"$SONDE" report "$OUT" tests/data/ncu/seed_kernel.ncu-rep | grep -q '^31 of 37 launches in regions' &&
		"$SONDE" report "$OUT" -f csv | head -1 | grep -q ',copy_count,copy_ms,copy_bytes,'
}

selected() { # what the capture's own selection left out is told as that
	fresh cupti="$FAKE" nvtx.include=A
	cuda && "$SONDE" report "$OUT" -f json >"$TMP/r.json" && "$SONDE" validate "$TMP/r.json" || return
	python3 - "$TMP/r.json" <<-'P' && has "note 6 launches were left out by the capture's own nvtx.include and nvtx.exclude"
		import json, sys
		c = json.load(open(sys.argv[1]))["coverage"]
		got = {k: v for k, v in c.items() if k.startswith("launches")}
		print(got)
		assert (c["launches_attributed"], c["launches_unattributed"], c["launches_not_selected"]) == (2, 0, 6), got
	P
}

calls() { # synchronisations, copies, allocations and frees, with how long they took
	fresh cupti="$FAKE"
	cuda && dump | grep '^call' | diff <(printf 'call %s\n' alloc copy sync_stream free) - || return
	"$BUILD/tools/capture_dump" --times "$OUT"/*.sonde | tee /dev/stderr |
		awk '/^call sync_stream/ {sub("ms=", "", $3); ok = $3 + 0 >= 2} END {exit !ok}' || return
	fresh cupti="$FAKE" api=off
	cuda && ! dump | grep '^call'
}

memory() { # by region of the call
	fresh cupti="$FAKE" memory=on
	cuda && dump | grep '^memory' | diff <(printf 'memory %s\n' 'alloc 4096 in move' 'free 4096 in (nothing)') - || return
	fresh cupti="$FAKE"
	cuda && ! dump | grep '^memory'
}

idle() { # the program synchronises for 2 ms between `move` and `replay`, and allocates 4096 bytes in `move`
	fresh cupti="$FAKE" memory=on
	cuda && settle && "$SONDE" report "$OUT" -f json >"$TMP/idle.json" && "$SONDE" validate "$TMP/idle.json" &&
		python3 - "$TMP/idle.json" <<-'P' || return
			import json, sys
			r = json.load(open(sys.argv[1]))["aggregate"]
			gap = next(g for g in r["longest_gaps"] if g["before"] == "replay") # others are longer when the machine is busy
			move = next(g for g in r["regions"] if g["id"] == "move")
			assert gap["region"] is None and gap["cause"] in ("sync", "host") and gap["ms"] >= 2, gap
			assert gap["cause"] == "sync" or gap["ms"] > 4, gap
			assert 2 <= move["tail_ms"] <= gap["ms"], move
			assert move["memory"] == {"allocated_bytes": 4096, "freed_bytes": 0, "left_bytes": 4096, "peak_bytes": 4096}, move
			assert all("unknown_ms" not in g.get("idle", {}) or g["idle"]["unknown_ms"] == 0 for g in r["regions"])
		P
	"$SONDE" report "$OUT" --idle | grep -q '^(before replay) .* the host \(was\|waited\) ' &&
		"$SONDE" report "$OUT" --memory | grep -Eq '^move +1 +1 +4096 +0 +4096 +4096' || return
	"$SONDE" report "$OUT" -f md report.view=memory >"$TMP/idle.md" && grep -q '^- GPU memory: 4096 bytes allocated, 0 freed, 4096 left; 4096 held at most' "$TMP/idle.md" &&
		grep -q '^| \*before\* replay | .* | the host \(was\|waited\) ' "$TMP/idle.md" && grep -q '^| Region | .* | peak bytes |' "$TMP/idle.md"
}

devices() { # under the names reports look for, so that there are peaks
	fresh cupti="$FAKE"
	cuda && has "device Fake GPU GPU-12345678-9abc-def0-2073-6f6e64652e00 device__attribute_multiprocessor_count=132 $(
	)device__attribute_total_memory=0 device__attribute_clock_rate=1500000 device__attribute_memory_clock_rate=2000000 $(
	)device__attribute_global_memory_bus_width=4096"
}

names() { # what the program calls a thread, and what it marks: in records, on the page, in a trace
	fresh cupti="$FAKE"
	cuda && has "thread conductor" "mark moved" && "$SONDE" report "$OUT" -f perfetto >"$TMP/r.trace" &&
		"$SONDE" report "$OUT" -f html >"$TMP/r.html" || return
	grep -q '"kind": "marks", "name": "marks"' "$TMP/r.html" && grep -q '"name": "thread [0-9]* conductor"' "$TMP/r.html" &&
		grep -q '"moved"' "$TMP/r.html" && python3 - "$TMP/r.trace" <<-'P'
			import json, sys
			events = json.load(open(sys.argv[1]))["traceEvents"]
			assert [e["name"] for e in events if e["ph"] == "i"] == ["moved"]
			assert any("conductor" in e["args"]["name"] for e in events if e["name"] == "thread_name")
		P
}

levers() { # what is switched for CUPTI changes nothing that is captured
	local line
	for line in lever.zeroed=on lever.buffer_kb=1024 lever.overhead=off lever.device_buffers=4; do
		fresh cupti="$FAKE" collect_ms=5 "$line"
		cuda 20000 >/dev/null && "$BUILD/tools/capture_dump" --count "$OUT"/*.sonde | tee /dev/stderr | grep -q 'records=20005' || return
	done
	dump >/dev/null
	fresh cupti="$FAKE" lever.overhead=off
	cuda && ! dump | grep 'of overhead'
}

LOOP=$PWD/$BUILD/fake/fake_loop
figures() { # NAME…: of the report's coverage; - where there is none
	settle
	"$SONDE" report "$OUT" -f json >"$TMP/r.json" && "$SONDE" validate "$TMP/r.json" >"$TMP/valid" && python3 - "$TMP/r.json" "$@" <<-'P'
		import json, sys
		r = json.load(open(sys.argv[1]))
		print(*r["notes"], sep="\n", file=sys.stderr)
		print(*[r["coverage"].get(name, "-") for name in sys.argv[2:]])
	P
}
ends_early() { # HOW: nothing was handed over by then: so many launches have no record, five graphs among them, and the report says why
	local reason="the program ended without its exit handlers (killed, crashed, _exit or exec) before CUPTI had handed over what the GPU did"
	local -x FAKE_CUPTI_LATE_MS=600000 FAKE_LOOP_GRAPH=/dev/null CUDA_INJECTION64_PATH=$LIB
	fresh cupti="$FAKE"
	same_with_and_without "$LOOP" "$FAKE" 5 2 0 0 "$1" && [ "$(figures launches_total launches_without_record)" = "0 20" ] || return
	"$SONDE" report "$OUT" --width 1000 >"$TMP/text" && "$SONDE" report "$OUT" -f md >"$TMP/r.md" && "$SONDE" report "$OUT" -f html >"$TMP/r.html" &&
		grep -q "20 launches have no record: $reason" "$TMP/text" && grep -qx '20 launches have no record: regions have host times only' "$TMP/text" &&
		grep -q '^- no GPU work was recorded in this region$' "$TMP/r.md" && grep -q '20 launches have no record: regions' "$TMP/r.html" &&
		! grep 'no GPU work was launched\|^no GPU work:' "$TMP/text" "$TMP/r.md"
}
ends_early_with_own_ids() { # of a runtime call and the driver's in it one counts
	local -x FAKE_CUPTI_IDS
	for FAKE_CUPTI_IDS in driver runtime; do ends_early _exit || return; done
}
has_records() { [ "$("$BUILD/tools/capture_dump" --count "$OUT"/*.sonde | sed -n 's/.* records=\([0-9]*\) .*/\1/p')" -ge "$1" ]; }
ends_quietly() { # CUPTI is asked soon after the program has gone quiet: what it launched before that is there, every launch counts once
	local total without
	local -x CUDA_INJECTION64_PATH=$LIB
	fresh cupti="$FAKE" collect_ms=60000
	goes_on_until "has_records 6" traced "$LOOP" "$FAKE" 1 2 150000 0 _exit >"$TMP/said"
	read -r total without <<<"$(figures launches_total launches_without_record)"
	echo "$total + $without of $(cat "$TMP/said")"
	[ "$total" -ge 6 ] && [ $((total + ${without/-/0})) = $((3 * $(sed -n 's/^steps //p' "$TMP/said"))) ]
}
ends_well() { # nothing is missing, though one launch was captured into a graph, and of each copy and allocation nobody knows
	local ids
	for ids in SHARED=yes FAKE_CUPTI_IDS=driver FAKE_CUPTI_IDS=runtime; do
		fresh cupti="$FAKE" memory=on
		(export "$ids" && cuda) && [ "$(figures launches_total launches_without_record)" = "8 -" ] || return
	done
}

ok "ways to have CUPTI work for less capture the same" levers
ok "CUDA calls that can wait are recorded with their times" calls
ok "launches say when they returned, and calls which stream and event they name" streams
ok "allocations and frees have their regions" memory
ok "idle time has its cause and memory its region" idle
ok "devices have the attributes peaks are made of" devices
ok "threads have names and marks are kept" names
ok "launches left out by the capture's selection are counted as not selected" selected
ok "reports have busy, idle, host and copy figures in every format" report
ok "every launch, copy and graph kernel has its region" all_launches
ok "a capture of sonde run is not told to use sonde run" own_advice
ok "runtime and driver calls with ids of their own are attributed alike" own_ids
ok "a program that ends by quick_exit keeps its kernels" quick
ok "kernels of late exit handlers are missing with a note" late
ok "kernels have the GPU's own durations" times
ok "200000 launches are kept at under 64 bytes each" many
ok "what is being collected when the program ends is kept" at_exit
named() { # by the name it has given CUPTI
	fresh cupti="$FAKE"
	FAKE_CUPTI_TAKEN="PyTorch Profiler" cuda && has "note another tool in this process uses CUPTI (PyTorch Profiler): sonde cannot tell which region launched a kernel" \
		"range push_pop A/B entries=1 open=0 threads=1"
}
scoped() { # PyTorch's monitor has come first: no records for anybody else
	fresh cupti="$FAKE"
	cp "$FAKE" "$TMP/libtorch_cpu.so"
	[ "$(FAKE_CUPTI_SCOPED=1 FAKE_CUPTI_TAKEN="PyTorch CUPTI monitor" LD_PRELOAD=$TMP/libtorch_cpu.so cuda)" = done ] &&
		has "note another tool in this process (probably PyTorch's monitor) uses CUPTI's newer records (V2), and CUPTI then gives none to sonde: host times only, no kernels" \
			"range push_pop A/B entries=1 open=0 threads=1" && ! dump | grep '^launch\|CUPTI cannot\|does not start\|did not accept'
}
rival() { # by the libraries in the process
	cp "$FAKE" "$TMP/libproton.so"
	fresh cupti="$FAKE"
	FAKE_CUPTI_TAKEN=1 LD_PRELOAD=$TMP/libproton.so cuda && has "note another tool in this process uses CUPTI (Triton's Proton): sonde cannot tell which region launched a kernel" || return
	stolen
}
stolen() { # noticed while the program runs, however long that takes
	local pid
	fresh cupti="$FAKE" collect_ms=1 flush_ms=5
	rm -f "$TMP/stop"
	FAKE_LOOP_STOP=$TMP/stop FAKE_CUPTI_STOLEN=1 CUDA_INJECTION64_PATH=$LIB traced "$BUILD/fake/fake_loop" "$FAKE" 0 2 1000 >"$TMP/said" &
	pid=$!
	wait_for noted "the program launched GPU work, but CUPTI gave sonde no record of it for a while: another tool in this process has taken the records; ranges are still recorded"
	touch "$TMP/stop"
	wait $pid && noted "the program launched GPU work" && has "range push_pop train/step entries=$(sed -n 's/^steps //p' "$TMP/said") open=0 threads=1"
}
noted() { "$BUILD/tools/capture_dump" "$OUT" | grep -F "note $1"; }

ok "another user of CUPTI is noticed and named" rival
ok "a subscriber of CUPTI is called as CUPTI calls it" named
ok "a user of CUPTI's V2 records is noticed and named, and ranges go on" scoped
ok "a CUPTI that is taken leaves kernels without regions, with a note" another_subscriber
ok "a missing CUPTI leaves ranges, with a note" missing
ok "CUPTI can be switched off" off
for how in _exit exec abort kill; do
	ok "launches without a record are counted when a program ends by $how" ends_early $how
done
ok "launches without a record are counted once with ids of their own" ends_early_with_own_ids
ok "what was launched before a quiet moment is there whatever comes" ends_quietly
ok "a program that ends well has a record of every launch" ends_well
