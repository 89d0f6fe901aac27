#!/usr/bin/env bash
# PC samples from a fake CUPTI (cupti/fake_warps.c has the true values). It needs no GPU, but does not prove that NVIDIA's CUPTI behaves
# the same; tests/gpu/pc_gpu.sh does.
# Mostly waits.
. "$(dirname "$0")/../native.sh"
FAKE=$PWD/$BUILD/fake/libcupti_fake.so
PC=$PWD/$BUILD/fake/fake_pc
[ -e "$FAKE" ] || skip_all "the CUPTI headers were not found when building"

sampled() { # MODE…: runs the program
	env CUDA_INJECTION64_PATH="$LIB" SONDE_INJECT_CONFIG="$CONF" NVTX_INJECTION64_PATH="$LIB" FAKE_CUPTI_LOG="$TMP/log" \
		timeout -k 1 600 "$PC" "$FAKE" "$@"
}
with_pc() { # LINES…
	rm -f "$TMP/log"
	fresh cupti="$FAKE" pc=15 cubin_bytes=100000000 "$@"
}
report() {
	settle
	"$SONDE" report "$OUT" --format json >"$TMP/report.json" && "$SONDE" validate "$TMP/report.json" >/dev/null
}
ask() { # JQ: of the report
	jq -c "$1" "$TMP/report.json"
}

truth() { # each launch has 60 + 30 + 10 samples
	with_pc
	[ "$(sampled)" = done ] && report && grep -q 'pc-period 15' "$TMP/log" &&
		[ "$(ask '[.aggregate.regions[] | [.id, .stalls.method, .stalls.samples, (.stalls.reasons[] | .reason, .samples, .not_issued)]]')" = \
			'[["A","exact",300,"long_scoreboard",180,90,"barrier",90,0,"selected",30,0],["B","exact",500,"long_scoreboard",300,150,"barrier",150,0,"selected",50,0]]' ] &&
		[ "$(ask '.pc_samples[0] | [.period_cycles, .samples, .without_launch, .dropped]')" = '[32768,900,0,0]' ] &&
		[ "$(ask '.aggregate.regions[0].kernels[0].stalls.reasons[0] | [.words, .share_pct]')" = '["waits for memory (long scoreboard)",60]' ]
}
is_off() { # nobody asked
	fresh cupti="$FAKE"
	rm -f "$TMP/log"
	[ "$(sampled)" = done ] && report && [ "$(ask '[.pc_samples, .aggregate.regions[0].stalls]')" = '[null,null]' ] &&
		! grep -qs 'pc-enable' "$TMP/log"
}
graph_stays() { # CUPTI stays for as long as it samples, also between windows
	with_pc window=time window.after_us=0 window.for_us=1000
	[ "$(sampled windows)" = done ] && ! grep -q finalize "$TMP/log"
}
partial() { # a partial report has the same
	with_pc
	[ "$(sampled)" = done ] && report && "$SONDE" report "$OUT" --partial -o "$TMP/x.sondecells" >/dev/null &&
		"$SONDE" report "$TMP/x.sondecells" --format json >"$TMP/again.json" &&
		diff <(ask '[.pc_samples, .aggregate.regions]') <(jq -c '[.pc_samples, .aggregate.regions]' "$TMP/again.json")
}
windows() { # of six steps two are asked for, and with them what is between the two
	with_pc window=entries window.label=step window.first=2 window.end=4
	[ "$(sampled windows)" = done ] && report && [ "$(ask '[.aggregate.regions[] | [.id, .stalls.samples]]')" = '[["step",200]]' ] &&
		[ "$(ask '[.pc_samples[0].samples, .coverage.launches_not_selected, .coverage.launches_total]')" = '[300,0,3]' ]
}
budget() { # it goes on with one, and every sample that is there has its launch
	with_pc budget_ppm=500000
	[ "$(sampled windows)" = done ] && report && [ "$(ask '.pc_samples[0] | .samples <= 1200 and .samples % 100 == 0')" = true ]
}
forked() { # a child never asks: the parent's samples are there, once
	with_pc
	[ "$(sampled fork)" = done ] && settle && [ "$(dump | grep -c '^pc 32768 samples=900 ')" = 1 ] &&
		[ "$(grep -c pc-disable "$TMP/log")" = 1 ]
}
on_time() { # samples come later than they were taken: the time of a drain is wide enough for it
	with_pc
	[ "$(FAKE_PC_LAG=1 sampled slowly)" = done ] && settle && dump | grep -q '^pc 32768 samples=5000 .* strays=0$'
}
contexts() { # one behind the other, as cudaDeviceReset makes them: more than there are places for at once
	with_pc
	[ "$(sampled contexts 100)" = done ] && report && [ "$(ask '[.pc_samples[0].samples, .aggregate.regions[0].stalls.samples, .losses]')" = '[10000,10000,[]]' ]
}
second_context() { # CUPTI has no reasons for the first one: those after it are sampled
	with_pc
	[ "$(FAKE_PC_REFUSALS=1 sampled contexts 3)" = done ] && report && [ "$(ask '.pc_samples[0].samples')" = 200 ] &&
		dump | grep -q 'note no PC samples: CUPTI refused to take them'
}
long_name() { # as kernel records have it: cut, so that samples find their launch
	with_pc
	[ "$(sampled long)" = done ] && report &&
		[ "$(ask '[.pc_samples[0].samples, .pc_samples[0].without_launch, (.aggregate.regions[0].kernels[0] | .stalls.samples, (.kernel_name | length))]')" = '[100,0,100,16384]' ]
}
refused() { # WHY WORDS…: one line, and everything else is there
	with_pc
	[ "$(FAKE_PC_REFUSE=$1 sampled)" = done ] && report && dump | grep -c '^launch kernel' | grep -qx 9 &&
		[ "$(ask '[.notes[] | select(startswith("no PC samples") or contains(": no PC samples"))] | length')" = 1 ] &&
		grep -q "$2" "$TMP/report.json" && [ "$(ask '.losses | length')" = 1 ]
}
broken() { # beside PM sampling CUPTI fails: it is left alone from then on, and the program and its kernels are all right
	with_pc
	[ "$(FAKE_PC_BREAK=1 sampled slowly)" = done ] && report && dump | grep -c '^launch kernel' | grep -qx 50 && ! grep -q pc-disable "$TMP/log" &&
		ask '.losses' | grep -q 'CUPTI stopped giving PC samples'
}
lost() { # dropped samples are a note, drains that found the buffer full a loss
	with_pc
	[ "$(FAKE_PC_DROP=17 FAKE_PC_FULL=1 sampled)" = done ] && report && [ "$(ask '.pc_samples[0] | [.dropped, .full_drains]')" = '[17,1]' ] &&
		grep -q '17 PC samples were dropped, by the hardware or for lack of room' "$TMP/report.json" && ask '.losses' | grep -q "1 time the hardware's buffer of PC samples was full"
}
unplaced() { # samples of a reason that CUPTI did not announce, and what does not fit when sampling ends, are counted as dropped
	with_pc
	[ "$(FAKE_PC_REASON=70 sampled)" = done ] && report && [ "$(ask '.pc_samples[0] | [.samples, .dropped]')" = '[630,270]' ] || return
	with_pc
	[ "$(FAKE_PC_HOLD=1 FAKE_PC_MANY=10000 sampled many 1)" = done ] && report && [ "$(ask '.pc_samples[0].dropped')" = $((10003 - 8192)) ] &&
		ask '.losses' | grep -q 'the last PC samples of a CUDA context are not complete'
}
cheap() { # slow drains take 2 % of a core: 50 ms each, so each waits for 2.5 s; only the last one takes what it needs
	local asked ms
	with_pc
	FAKE_PC_SLOW=50 sampled costly 3000 >"$TMP/asked" && read -r asked ms <"$TMP/asked" && report || return
	[ $(((asked - 2) * 50)) -le $((ms / 50 + 20)) ] || { echo "asked $asked times in $ms ms"; return 1; }
	[ "$(ask '.aggregate.regions[0] | .stalls.samples == 100 * .kernel_count')" = true ] && grep -q 'pipeline.native.pc=131072 takes fewer' "$TMP/report.json"
}
stopped() { # drains that stop without credit: what they leave comes later, and its time is wide enough
	with_pc
	[ "$(FAKE_PC_SLOW=10 FAKE_PC_MANY=500 sampled slowly)" = done ] && settle && dump | grep -q '^pc 32768 samples=30000 .* strays=0$'
}
race() { # a context that is destroyed while the program's end drains waits for it
	with_pc
	[ "$(FAKE_PC_SLOW=5 FAKE_PC_MANY=30000 sampled race)" = done ] && ! grep -q pc-dead "$TMP/log" && settle && dump | grep -q '^pc 32768 samples=30100 '
}
many() { # distinct instructions, more than are added up at once: all are there, and none is there twice
	with_pc
	[ "$(FAKE_PC_MANY=2000 sampled many 100)" = done ] && report && [ "$(ask '.aggregate.regions[0].stalls | [.samples, .method]')" = '[210000,"exact"]' ] &&
		[ "$(dump | grep '^pc _Z9' | cut -d' ' -f4 | sort -u | wc -l)" = 200002 ]
}
cubins() { # code with line tables, each once, and the copy is from before the program threw it away
	with_pc
	[ "$(sampled cubins 40)" = done ] && settle && [ "$(ls "$OUT/cubins" | wc -l)" = 40 ] && ! ls "$OUT/cubins" | grep -qv '^[0-9a-f]\{16\}\.cubin$' &&
		for f in "$OUT"/cubins/*; do head -c 4 "$f" | grep -q ELF || return; done
}
real_code() { # the bytes that the driver was given
	with_pc
	[ "$(sampled code tests/data/cubin/nested.cubin _Z4axpyPfif)" = done ] && settle && cmp tests/data/cubin/nested.cubin "$OUT"/cubins/*.cubin
}
lines() { # of code with a line table: nested.lines says what CUPTI finds at the two instructions of the stand-in's samples
	with_pc
	[ "$(FAKE_LONG=1 FAKE_PC_BARRIER=0x90 sampled code tests/data/cubin/nested.cubin first)" = done ] && report &&
		python3 - "$TMP/report.json" tests/data/cubin/nested.lines <<-'EOF' && "$SONDE" report "$OUT" --lines 1 | grep -q '^  /opt/demo/nested.cu:14 *70.0%  waits for memory'
			import json, sys
			table = {tuple(w[:2]): w[2] for w in map(str.split, open(sys.argv[2]))}
			want = [(table["first", "0x10"], 70, "long_scoreboard"), (table["first", "0x90"], 30, "barrier")]
			report = json.load(open(sys.argv[1]))
			kernels = [k for r in report["aggregate"]["regions"] for k in r["kernels"]]
			assert kernels
			says = [f for f in report["findings"] if f.get("kernel") == "first"][0]
			assert "70% of its PC samples are at nested.cu:14, mostly: waits for memory" in says["says"], says
			assert [e["value"] for e in says["evidence"] if e["method"] == "PC samples"] == [300], says
			for k in kernels:
			    s = k["stalls"]
			    assert abs(sum(l["samples"] for l in s["lines"]) + s["unlisted_samples"] - s["samples"]) < 1e-6 * s["samples"], s
			    assert [("%s:%d" % (l["file"], l["line"]), round(l["share_pct"], 6), l["reason"]) for l in s["lines"]] == want, s["lines"]
			    assert [c["line"] for c in s["lines"][1]["callers"]] == [6, 10, 15], s["lines"]
		EOF
}
stacks() { # the same capture for a foreign tool: two lines, each with its file and number
	"$SONDE" report "$OUT" --format pprof -o "$TMP/x.pb.gz" && python3 tests/cli/pprof_read.py "$TMP/x.pb.gz" "$TMP/report.json" 2
}
go_stacks() { # the lines have all of the kernel's time
	"$SONDE" report "$OUT" --format pprof -o "$TMP/x.pb.gz" &&
		go tool pprof -top "$TMP/x.pb.gz" 2>/dev/null | awk '/nested.cu:/ {n++; s += $2} END {exit !(n == 2 && s > 99.9)}'
}
tables() { # the same capture as a database
	rm -f "$TMP/x.db"
	"$SONDE" report "$OUT" --format sqlite -o "$TMP/x.db" && [ "$(sqlite3 "$TMP/x.db" "PRAGMA foreign_key_check;
		SELECT DISTINCT region_id, part, reason, s.samples, round(s.share_pct), s.method FROM stalls s JOIN regions r ON r.id = s.region WHERE part = 'inclusive' AND s.scope = 1;
		SELECT DISTINCT line, l.samples, reason, callers FROM lines l JOIN kernels k ON k.id = l.kernel WHERE k.scope = 1 ORDER BY 2 DESC")" = \
		"A|inclusive|long_scoreboard|180.0|60.0|exact
A|inclusive|barrier|90.0|30.0|exact
A|inclusive|selected|30.0|10.0|exact
14|210.0|long_scoreboard|
2|90.0|barrier|/opt/demo/nested.cu:6, /opt/demo/nested.cu:10, /opt/demo/nested.cu:15" ]
}
few_cubins() { # 200 MiB of it, and 8 may be kept
	with_pc cubin_bytes=8388608
	[ "$(sampled cubins 200)" = done ] && settle && [ "$(du -sb --apparent-size "$OUT/cubins" | cut -f1)" -le 8400000 ] &&
		dump | grep -q 'note the code of some kernels was not kept (limit: pipeline.native.cubins_mb)'
}
reloaded() { # a module that comes again takes no room: what comes after it is kept
	with_pc cubin_bytes=8388608
	[ "$(sampled reload 2000)" = done ] && settle && [ "$(ls "$OUT/cubins" | wc -l)" = 3 ] && ! dump | grep -q 'was not kept'
}
shared_cubins() { # threads that load the same code at the same time: each cubin is there once
	with_pc cubin_bytes=655360
	[ "$(sampled threads 8)" = done ] && settle && [ "$(ls "$OUT/cubins" | wc -l)" = 20 ]
}
many_cubins() { # more than there are places for
	with_pc
	[ "$(sampled small 16400)" = done ] && settle && [ "$(ls "$OUT/cubins" | wc -l)" = 1 ] &&
		dump | grep -q 'note the code of some kernels was not kept (limit: 16384 cubins of a process)'
}
no_cubins() {
	with_pc cubin_bytes=0
	[ "$(sampled cubins 3)" = done ] && settle && [ ! -e "$OUT/cubins" ]
}
big_cubin() { # the second of three does not fit: the third does
	with_pc cubin_bytes=8388608
	[ "$(sampled big)" = done ] && settle && [ "$(ls "$OUT/cubins" | wc -l)" = 2 ]
}
has_files() { [ "$(ls "$OUT" | grep -c sonde)" -ge "$1" ]; }
all_samples='[.pc_samples, .aggregate.totals.stalls, (.aggregate.regions[] | .id, .stalls, [.kernels[] | .name, .launches, .stalls])]'
rotated() { # files that are folded while the program runs: each sample counts once, whichever file it is in
	local name
	with_pc flush_ms=2 collect_ms=5 rotate_ms=20
	[ "$(FAKE_PC_DROP=17 goes_on_until "has_files 6" sampled loop)" = done ] && settle && name=$(basename "$OUT"/*.sonde) && report &&
		[ "$(ask '[.aggregate.regions[] | .stalls.samples == 100 * .kernel_count], .pc_samples[0].dropped')" = $'[true,true]\n17' ] &&
		"$BUILD/tools/capture_roll" "$OUT/$name" $(($(ls "$OUT" | wc -l) - 2)) && cp "$TMP/report.json" "$TMP/whole.json" && report &&
		grep -q 'its oldest files were folded' "$TMP/report.json" &&
		diff <(ask "$all_samples") <(jq -c "$all_samples" "$TMP/whole.json")
}
as_a_run() { # sonde run --lines, and a period of one's own
	rm -rf "$TMP/run"
	"$SONDE" run -q --lines -o "$TMP/run" counters=off pipeline.native.cupti="$FAKE" -- "$PC" "$FAKE" regions >/dev/null &&
		"$SONDE" report "$TMP/run" --format json | jq -e '.pc_samples[0].period_cycles == 32768 and .aggregate.regions[0].stalls.samples == 300' >/dev/null &&
		rm -rf "$TMP/run" &&
		"$SONDE" run -q -o "$TMP/run" counters=off pipeline.native.pc=65536 pipeline.native.cupti="$FAKE" -- "$PC" "$FAKE" regions >/dev/null &&
		"$SONDE" report "$TMP/run" --format json | jq -e '.pc_samples[0].period_cycles == 65536' >/dev/null
}
locally() { # capture.local: code goes to the run directory with the captures, and nothing stays
	rm -rf "$TMP/run" "$TMP/node"
	mkdir "$TMP/node"
	"$SONDE" run -q --lines -o "$TMP/run" counters=off capture.local="$TMP/node" pipeline.native.cupti="$FAKE" -- "$PC" "$FAKE" cubins 5 >/dev/null &&
		[ "$(ls "$TMP/run/native/cubins" | wc -l)" = 5 ] && [ -z "$(find "$TMP/node" -name '*.cubin')" ] && [ -z "$(ls "$TMP/node")" ]
}
local_lines() { # the captures are in an archive: their lines are those of the same captures beside their code
	rm -rf "$TMP/run" "$TMP/node"
	mkdir "$TMP/node"
	FAKE_PC_BARRIER=0x90 "$SONDE" run -q --lines -o "$TMP/run" counters=off capture.local="$TMP/node" pipeline.native.cupti="$FAKE" -- \
		"$PC" "$FAKE" code tests/data/cubin/nested.cubin first >/dev/null &&
		ls "$TMP/run/native" | grep -q 'sonde.tar$' && "$SONDE" report "$TMP/run" --format json >"$TMP/report.json" &&
		[ "$(ask '[.aggregate.regions[0].kernels[0].stalls.lines[] | [.file, .line, .samples]]')" = '[["/opt/demo/nested.cu",14,210],["/opt/demo/nested.cu",2,90]]' ] &&
		! grep -q 'copy that folder' "$TMP/report.json"
}
left_behind() { # code that was kept and is not there is said so; code without a line table, which never was, is not
	with_pc
	[ "$(sampled)" = done ] && report && ! grep -q 'cubins' "$TMP/report.json" &&
		with_pc && [ "$(sampled code tests/data/cubin/nested.cubin first)" = done ] && settle && rm -r "$OUT/cubins" && report &&
		ask '.notes' | grep -q '1 of 1 cubins with line tables and PC samples cannot be read'
}
damaged_lines() { # a line table that nobody can read is said so: -lineinfo would not help
	python3 - tests/data/cubin/nested.cubin "$TMP/damaged.cubin" <<-'EOF' && with_pc && [ "$(sampled code "$TMP/damaged.cubin" first)" = done ] && report &&
		import struct, sys
		code = bytearray(open(sys.argv[1], "rb").read())
		at, = struct.unpack_from("<Q", code, 0x28)
		size, nr, names = struct.unpack_from("<3H", code, 0x3a)
		section = lambda i: struct.unpack_from("<IIQQQQ", code, at + i * size)
		for i in range(nr):
		    name = section(names)[4] + section(i)[0]
		    if code[name : code.index(0, name)] == b".debug_line":
		        struct.pack_into("<H", code, section(i)[4] + 4, 99)  # its version
		open(sys.argv[2], "wb").write(code)
	EOF
		ask '.notes' | grep -q '1 of 1 cubins with PC samples have a line table that is damaged' &&
		"$SONDE" report "$OUT" --lines 1 | tr -s '\n ' ' ' >"$TMP/lines" && grep -q 'the line table of the code cannot be read' "$TMP/lines" && ! grep -q lineinfo "$TMP/lines" &&
		"$SONDE" report "$OUT" --lines 1 -f md | grep -q 'the line table of the code cannot be read'
}
source_notes() { # what a file was when the program ended: its text is shown for as long as it is that
	local dir status=1
	dir=$(mktemp -d /tmp/XXXX) || return # as long as /opt/demo, which is in the cubin
	cp tests/data/cubin/nested.cu "$dir/" && touch -d 2001-01-01 "$dir/nested.cu"
	LC_ALL=C sed "s|/opt/demo|$dir|" tests/data/cubin/nested.cubin >"$TMP/here.cubin"
	rm -rf "$TMP/run"
	"$SONDE" run -q --lines -o "$TMP/run" counters=off pipeline.native.cupti="$FAKE" -- "$PC" "$FAKE" code "$TMP/here.cubin" first >/dev/null &&
		grep -q "^[0-9a-f]\{32\} $dir/nested.cu$" "$TMP/run/native/sources.txt" && touch "$dir/nested.cu" &&
		"$SONDE" report "$TMP/run" --lines 1 | grep -q 'nested.cu:14 .*float v = ' && sed -i 14s/$/x/ "$dir/nested.cu" &&
		touch -d 2001-01-01 "$dir/nested.cu" && "$SONDE" report "$TMP/run" --lines 1 | grep -q 'nested.cu:14 .*(the file has changed)$' && status=0
	rm -r "$dir"
	return $status
}
bad_period() {
	! "$SONDE" run -n pipeline.native.pc=1000 -- true >"$TMP/bad" 2>&1 && grep -q 'pipeline.native.pc=1000: not on, off or a power of two' "$TMP/bad"
}
no_pm() { # it would crash the program
	! "$SONDE" run -n --lines counters.source=pm -- true >"$TMP/bad" 2>&1 && grep -q 'counters.source=pm: a GPU has no PM samples while' "$TMP/bad"
}

ok "samples are those that were planted, by region, kernel and reason" truth
ok "nothing is sampled unless it is asked for" is_off
ok "CUPTI stays between windows while it samples" graph_stays
ok "a partial report has the same stalls" partial
ok "only what is sampled in windows counts" windows
ok "a budget and PC samples go together" budget
ok "a forked child does not touch the sampling" forked
ok "samples that come late are in the time of their launches" on_time
ok "contexts one behind the other are all sampled" contexts
ok "a context that is refused does not silence the next" second_context
ok "a kernel name beyond the limit is cut as in its record" long_name
ok "without permission there is one line, and everything else" refused privileges 'may not profile the GPU'
ok "on a GPU without PC sampling there is one line" refused unsupported 'has no continuous PC sampling'
ok "beside another profiler there is one line" refused busy 'another profiler'
ok "what the hardware loses is counted" lost
ok "samples without a place are counted" unplaced
ok "drains take 2 % of a core" cheap
ok "a drain that stops leaves its samples to the next" stopped
ok "a context in use at the end is not destroyed" race
ok "many instructions are added up and all there" many
ok "code with line tables is kept once" cubins
ok "code is kept byte by byte" real_code
ok "kernels have the lines of their code" lines
ok "pprof has the lines of the kernel, with file and number" stacks
if command -v go >/dev/null; then
	ok "go tool pprof has the lines of the kernel" go_stacks
else
	skip "go tool pprof has the lines of the kernel" "there is no go here"
fi
ok "a database has stalls and lines" tables
ok "how much code is kept is bounded" few_cubins
ok "code that is too large does not keep out what follows" big_cubin
ok "code that is loaded again takes no room" reloaded
ok "code that threads load at once is kept once" shared_cubins
ok "too many cubins are noted as such" many_cubins
ok "no code is kept when none is asked for" no_cubins
ok "files that are folded keep every sample" rotated
ok "sonde run --lines takes PC samples" as_a_run
ok "code that was captured on the node's own disk is in the run directory" locally
ok "captures from the node's own disk have their lines" local_lines
ok "code that was left behind is said to be missing, code without lines is not" left_behind
ok "a damaged line table is named as such" damaged_lines
ok "source files are noted, and text is shown while they are what they were" source_notes
ok "a CUPTI that fails is left alone" broken
ok "a period that CUPTI does not know is refused" bad_period
ok "PM sampling beside PC samples is refused" no_pm
