#!/usr/bin/env bash
# Captures of programs that end normally and use NVTX correctly.
. "$(dirname "$0")/../native.sh"

whole_workload() {
	fresh
	same_with_and_without "$WORK/resnet_cpu" 5 && has \
		"process resnet_cpu" \
		"range start_end prefetch entries=6 open=0 threads=1" \
		"range push_pop step entries=5 open=0 threads=1" \
		"range push_pop step/stem entries=5 open=0 threads=1" \
		"range push_pop step/residual entries=10 open=0 threads=1" \
		"range push_pop step/residual/block.conv1 entries=10 open=0 threads=1" \
		"range push_pop step/residual/block.conv2 entries=10 open=0 threads=1" \
		"range push_pop step/head entries=5 open=0 threads=1" \
		"range push_pop io@fetch entries=10 open=0 threads=2" &&
		! dump | grep '^note' | grep -v '^note 1 mark belongs'
}

host_report() { # no GPU: what there is, and no empty columns
	fresh
	traced "$WORK/resnet_cpu" 3 && "$SONDE" report "$OUT" | tee /dev/stderr |
		grep -qE '^region +entries +host (ms|µs) +cpu (ms|µs)$' && "$SONDE" report "$OUT" -f json >"$TMP/r.json" &&
		"$SONDE" validate "$TMP/r.json" && grep -q '"cpu_ms": ' "$TMP/r.json"
}

host_selection() { # ranges without launches are selected by themselves
	fresh
	traced "$WORK/resnet_cpu" 3 && "$SONDE" report "$OUT" -f csv --nvtx-include 'block*' >"$TMP/r.csv" &&
		[ "$(awk -F, '$1 == "aggregate" {print $3}' "$TMP/r.csv" | xargs)" = "step step/residual step/residual/block.conv1 step/residual/block.conv2" ] &&
		"$SONDE" report "$OUT" --nvtx-include nope >"$TMP/nope" && grep -q '^Nothing is selected' "$TMP/nope" &&
		grep -q 'no range matches the NVTX selection; the ranges in this capture are: prefetch, step' "$TMP/nope" &&
		! grep -q '^step' "$TMP/nope" && ! "$SONDE" report "$OUT" --nvtx-include nope --strict
}

host_order() { # by host time, where there is nothing else
	fresh
	traced "$WORK/resnet_cpu" 3 && "$SONDE" report "$OUT" --sort time -f csv >"$TMP/r.csv" &&
		awk -F, 'NR == 1 {for (i = 1; i <= NF; i++) if ($i == "host_ms") h = i} $1 == "aggregate" && $6 == 1 {print $h}' "$TMP/r.csv" |
		tee /dev/stderr | sort -rgc && "$SONDE" report "$OUT" -f md >"$TMP/r.md" &&
		grep -q '^- no GPU work was launched in this region$' "$TMP/r.md" && ! grep -q limiter "$TMP/r.md"
}

domains() {
	fresh
	traced "$WORK/faults" domains 10 && has \
		"range push_pop train entries=10 open=0 threads=1" \
		"range push_pop train/opt entries=10 open=0 threads=1" \
		"range push_pop libA@registered op entries=10 open=0 threads=1" \
		"range push_pop libB@comm entries=10 open=0 threads=1"
}

wide() {
	fresh
	traced "$WORK/faults" wide && has \
		"range push_pop wide 注意力 🚀 entries=1 open=0 threads=1" \
		"range push_pop wide 注意力 🚀/ entries=1 open=0 threads=1"
}

unbalanced() {
	fresh
	traced "$WORK/faults" orphan && has \
		"range push_pop open entries=1 open=0 threads=1" \
		"range push_pop unclosed entries=1 open=1 threads=1" \
		"note 2 pops have no matching push" \
		"note 1 push was never popped" "note 1 range was never closed: it counts up to the program's last event, and may have lasted longer" \
		"note 1 end of a start/end range has no matching start"
}

stopped() { # in the middle of a step, however long it takes to get there
	local after
	for after in 0.6 2 6 20; do
		stopped_after $after && return
	done
	return 1
}
stopped_after() { # what was open contains what was in it
	fresh flush_ms=5
	traced timeout -s KILL "$1" "$WORK/resnet_cpu" 50000
	"$SONDE" report "$OUT" -f json | python3 -c '
import json, sys
rows = {r["id"]: r for r in json.load(sys.stdin)["aggregate"]["regions"]}
inside = sum(rows[i]["host_ms"] for i in rows if rows[i]["parent_id"] == "step" and rows[i]["kind"] == "push_pop")
print(rows["step"]["host_ms"], inside, rows["step"].get("cpu_ms"))
assert rows["step"]["host_ms"] >= inside > 0 and "cpu_ms" not in rows["step"]
assert "never closed" in rows["step"]["notes"][-1]' && "$SONDE" report "$OUT" -f md | grep -q '^- host: ≥ .* never closed'
}

empty_file() { # of a process that was killed before its first write
	fresh
	traced "$WORK/resnet_cpu" 1 >/dev/null && : >"$OUT/1.0.sonde" && "$SONDE" report "$OUT" | tr -s '\n ' ' ' |
		grep -q '1.0.sonde: the file is empty; it is left out'
}

starts() {
	fresh
	traced "$WORK/faults" starts && has \
		"range start_end outer entries=1 open=0 threads=1" \
		"range start_end inner entries=1 open=0 threads=1" \
		"range start_end never ended entries=1 open=1 threads=1" \
		"note 1 start/end range was never ended"
}

across() {
	fresh
	traced "$WORK/faults" cross && has "range start_end across threads entries=1 open=0 threads=1"
}

many_threads() {
	fresh
	traced "$WORK/faults" threads 50 && has \
		"range push_pop thread entries=16000 open=0 threads=320" \
		"range push_pop thread/inner entries=16000 open=0 threads=320"
}

instances() {
	fresh
	traced "$WORK/faults" plugin 10 && has \
		"range push_pop host entries=1 open=0 threads=1" \
		"range push_pop host/plugin entries=1 open=0 threads=1" \
		"range push_pop host/plugin/call entries=10 open=0 threads=1"
}

new_labels() {
	fresh
	traced "$WORK/faults" labels 140000 &&
		"$BUILD/tools/capture_dump" --count "$OUT"/*.sonde | grep -x 'ranges=140000 records=0 .*' &&
		has "range push_pop request 0 entries=1 open=0 threads=1" \
			"range push_pop request 139999 entries=1 open=0 threads=1"
}

deep() {
	fresh
	traced "$WORK/faults" deep &&
		has "note 88 pushes were left out: nested deeper than 512" \
			"range push_pop after/inner entries=1 open=0 threads=1"
}

gate_include() {
	fresh nvtx.include=residual
	traced "$WORK/resnet_cpu" 3 && has \
		"range push_pop residual entries=6 open=0 threads=1" \
		"range push_pop residual/block.conv1 entries=6 open=0 threads=1" &&
		! dump | grep -e step -e stem -e prefetch
}

gate_exclude() {
	fresh 'nvtx.exclude=resid*' 'nvtx.exclude=io@*'
	traced "$WORK/resnet_cpu" 3 && has \
		"range push_pop step/stem entries=3 open=0 threads=1" &&
		! dump | grep -e residual -e block -e io@
}

exit_ranges() {
	fresh
	traced "$WORK/faults" atexit && has "range push_pop at exit/inner entries=1 open=0 threads=1"
}

symbols() {
	[ "$(nm -D --defined-only "$LIB" | awk '{print $3}' | sort | tr '\n' ' ')" = \
		"InitializeInjection InitializeInjectionNvtx2 InitializeInjectionNvtxExtension " ] &&
		[ "$(readelf -d "$LIB" | grep -c NEEDED)" -eq 1 ]
}

no_config() {
	fresh
	[ "$(NVTX_INJECTION64_PATH=$LIB "$WORK/resnet_cpu" 2)" = "$("$WORK/resnet_cpu" 2)" ] &&
		[ -z "$(ls "$OUT")" ]
}

host_only() {
	fresh
	traced "$WORK/faults" fork && [ "$(ls "$OUT" | wc -l)" -eq 2 ]
}

size() {
	local bytes
	fresh
	traced "$WORK/pairs" 100000 && bytes=$(cat "$OUT"/*.sonde | wc -c) &&
		echo "$bytes bytes" && [ "$bytes" -le $((40 * 100000)) ]
}

overflow() {
	local got
	fresh buffer_bytes=1 flush_ms=1000
	traced "$WORK/pairs" 1000000 2 || return
	got=$("$BUILD/tools/capture_dump" --count "$OUT"/*.sonde)
	echo "$got"
	# The report says how much is missing, and nothing is doubled: entries and lost events add up.
	python3 - "$got" <<'P'
import re, sys
ranges = int(re.search(r"ranges=(\d+)", sys.argv[1])[1])
lost = re.search(r"(\d+) events were lost", sys.argv[1])
lost = int(lost[1]) if lost else 0
print(ranges, lost)
sys.exit(not (ranges <= 2000000 and 2 * ranges + lost >= 2 * 2000000 - 4000))
P
}

ok "ranges without GPU work can be selected" host_selection
ok "ranges without GPU work are sorted by host time" host_order
ok "every range of the CPU workload is recorded and its output is unchanged" whole_workload
ok "a report without GPU work shows entries, host and CPU time" host_report
ok "domains, registered strings and attributes are recorded" domains
ok "wide and empty labels are recorded" wide
ok "unbalanced pops and pushes are counted" unbalanced
ok "an empty capture in a directory is noted" empty_file
ok "a region cut off by a kill lasts as long as what was in it" stopped
ok "start/end ranges are matched by id" starts
ok "a start/end range may end on another thread" across
ok "320 threads, 16 at a time, lose nothing" many_threads
ok "several NVTX instances share one capture" instances
ok "more labels than the table holds are written out" new_labels
ok "ranges deeper than the limit are counted" deep
ok "the include gate opens inside matching ranges" gate_include
ok "the exclude gate closes inside matching ranges" gate_exclude
ok "ranges of exit handlers are recorded" exit_ranges
ok "the library exports its two entry points and needs only libc" symbols
ok "without a configuration the library leaves at once" no_config
ok "each process has a file of its own" host_only
ok "a range takes at most 40 bytes" size
ok "events lost to a full buffer are counted, the rest stays in order" overflow
