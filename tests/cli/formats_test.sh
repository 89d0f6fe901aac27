#!/usr/bin/env bash
# The exports for other viewers: they follow the rules of the programs that read them, and have the numbers of report.json.
# Runs long.
. "$(dirname "$0")/../lib.sh"
DATA=tests/data/ncu
CAPTURES="$DATA/seed_kernel $DATA/names_kernel $DATA/overlap_kernel $DATA/domains_kernel $DATA/mpi2_kernel $DATA/none_kernel $DATA/deep_kernel $DATA/seed_range_A"

fails() { # STATUS TEXT COMMAND…
	local want=$1 text=$2 rc
	shift 2
	"$@" >"$TMP/o" 2>"$TMP/e"
	rc=$?
	cat "$TMP/e"
	[ $rc = "$want" ] && grep -qF -- "$text" "$TMP/e" && [ "$(wc -l <"$TMP/e")" = 1 ]
}
report() { "$SONDE" report --deterministic "$@"; }
need() { # COMMAND NAME: whether it is here; else says what is skipped
	command -v "$1" >/dev/null && return
	echo "skip $2: no $1"
	return 1
}

# --- speedscope: https://www.speedscope.app/file-format-schema.json, the rules for sampled profiles
speedscope_rules() {
	local c
	for c in $CAPTURES; do
		report -f speedscope "$c.ncu-rep" | jq -e '
			.["$schema"] == "https://www.speedscope.app/file-format-schema.json" and
			(.shared.frames | all(.name | type == "string")) and (.activeProfileIndex < (.profiles | length)) and
			(.shared.frames | length) as $nr | .profiles | length > 0 and all(
				.type == "sampled" and (.name | type == "string") and
				(.unit | IN("none", "nanoseconds", "microseconds", "milliseconds", "seconds", "bytes")) and
				(.samples | length) == (.weights | length) and ([.samples[][]] | all(. >= 0 and . < $nr)) and
				(.weights | all(. > 0)) and .startValue == 0 and ((.weights | add // 0) - .endValue | fabs) < 1e-6)' || return
	done
}
speedscope_numbers() { # weight by stack = exclusive time by path
	report -f json $DATA/mpi2_kernel.ncu-rep | jq -c '[.aggregate.regions[] | select(.exclusive.total_ms > 0) |
		[(.path | join("/")), (.exclusive.total_ms * 1e6 | round)]] | sort' >"$TMP/a"
	report -f speedscope $DATA/mpi2_kernel.ncu-rep | jq -c '.shared.frames as $f | .profiles[.activeProfileIndex] |
		[.samples, .weights] | transpose | map({path: (.[0][:-1] | map($f[.].name) | join("/")), v: .[1]}) | group_by(.path) |
		map([.[0].path, (map(.v) | add | round)]) | sort' >"$TMP/b"
	diff "$TMP/a" "$TMP/b"
}
speedscope_kernels() { # the last frame of a sample is a kernel of that region
	report -f speedscope $DATA/mpi2_kernel.ncu-rep >"$TMP/a" && report -f json $DATA/mpi2_kernel.ncu-rep | jq -e --slurpfile s "$TMP/a" '
		($s[0].shared.frames | map(.name)) as $f | [.aggregate.regions[].kernels[].kernel_name] as $names |
		$s[0].profiles[$s[0].activeProfileIndex].samples | length > 0 and all($f[.[-1]] as $k | $names | any(contains($k)))'
}

# --- pprof
pprof_numbers() { # CAPTURE
	report -f pprof -o "$TMP/x.pb.gz" "$1" && report -f json "$1" >"$TMP/x.json" && python3 tests/cli/pprof_read.py "$TMP/x.pb.gz" "$TMP/x.json"
}
pprof_opens() { # in pprof itself: the sum over all is that of report.json
	report -f pprof -o "$TMP/x.pb.gz" examples/h200_train && go tool pprof -top -sample_index=gpu-time -unit=ns "$TMP/x.pb.gz" >"$TMP/o" &&
		grep -q "of $(report -f json examples/h200_train | jq '.aggregate.totals.total_ms * 1e6 | round')ns total" "$TMP/o"
}
pprof_utf8() { # strings of the format are UTF-8, whatever the bytes of a label
	LC_ALL=C sed 's/:A::A1/:y\xff/g' $DATA/seed_kernel.raw.csv >"$TMP/bytes.csv" && pprof_numbers "$TMP/bytes.csv"
}

# --- folded stacks
folded_rules() {
	local c
	for c in $CAPTURES; do
		report -f folded "$c.ncu-rep" | LC_ALL=C grep -vnE '^[^;]+(;[^;]+)* [0-9]+$' && return 1
		report -f folded "$c.ncu-rep" | LC_ALL=C grep -nP '[\x00-\x09\x0b-\x1f\x7f]' && return 1
	done
	return 0
}
folded_sum() { # all of a tree's lines together are the inclusive value of its roots
	[ "$(report -f folded --by dram__bytes_read.sum examples/h200_transformer.ncu-rep | awk '{s += $NF} END {printf "%.0f", s}')" = \
		"$(report -f json examples/h200_transformer.ncu-rep | jq '[.aggregate.regions[] | select(.depth == 0) | .metrics["dram__bytes_read.sum"]] | add')" ]
}

# --- Hatchet: frame, metrics, children and nothing else, all the way down
hatchet_rules() {
	local c
	for c in $CAPTURES; do
		report -f hatchet "$c.ncu-rep" | jq -e 'def ok: keys == ["children", "frame", "metrics"] and (.frame | has("name") and has("type")) and
			(.metrics | all(type == "number" or . == null)) and (.children | all(ok)); type == "array" and all(ok)' >/dev/null || return
	done
}
hatchet_roots() { # Hatchet registers the metrics of a root: each has every metric of the file
	local c
	for c in $CAPTURES examples/h200_transformer; do
		report -f hatchet "$c.ncu-rep" | jq -e '([.. | objects | select(has("frame")) | .metrics | keys[]] | unique) as $all |
			all(.[]; .metrics | keys == $all)' >/dev/null || { echo "$c"; return 1; }
	done
}
hatchet_reads() { # Hatchet itself
	local c
	for c in $CAPTURES; do
		report -f hatchet "$c.ncu-rep" >"$TMP/h.json" && python3 -c 'import hatchet, json, sys
g = hatchet.GraphFrame.from_literal(json.load(open(sys.argv[1])))
assert "time" in g.dataframe and "time (inc)" in g.inc_metrics, g.dataframe.columns
g.tree()' "$TMP/h.json" || return
	done
}
hatchet_numbers() {
	report -f json $DATA/deep_kernel.ncu-rep | jq -c '[.aggregate.regions[] | [.name, .total_ms, .exclusive.total_ms]] | sort' >"$TMP/a"
	report -f hatchet $DATA/deep_kernel.ncu-rep | jq -c '[.. | objects | select(has("frame")) |
		[.frame.name, .metrics["time (inc)"], .metrics.time]] | sort' >"$TMP/b"
	diff "$TMP/a" "$TMP/b"
}

# --- SQLite
sqlite_table() { # the table by scope, out of the database and out of JSON
	local c
	for c in $CAPTURES; do
		report -f sqlite -o "$TMP/x.db" "$c.ncu-rep" && report -f json "$c.ncu-rep" >"$TMP/x.json" || return
		sqlite3 -json "$TMP/x.db" "SELECT s.name AS scope, r.region_id AS id, r.name, r.launches, r.inclusive_ms, r.exclusive_ms, r.limiter,
			p.region_id AS parent FROM regions r JOIN scopes s ON s.id = r.scope LEFT JOIN regions p ON p.id = r.parent" |
			jq -s -c '[.[][]] | sort' >"$TMP/a"
		jq -c '. as $d | [(.scopes[], .aggregate, (.range_aggregates // [])[]) | .scope as $s |
			(.regions // (.same_as as $t | [$d.aggregate, ($d.range_aggregates // [])[]][] | select(.scope == $t).regions))[] |
			{scope: $s, id, name, launches: .kernel_count, inclusive_ms: .total_ms, exclusive_ms: .exclusive.total_ms, limiter, parent: .parent_id}] | sort' \
			"$TMP/x.json" >"$TMP/b"
		same_json "$TMP/a" "$TMP/b" || return
	done
}
same_json() { # equal but for the last digits of numbers
	jq -n -e --slurpfile a "$1" --slurpfile b "$2" 'def near($x; $y): if ($x | type) == "number" and ($y | type) == "number" then
			(($x - $y) | fabs) <= 1e-9 * (($x | fabs) + 1e-9) else $x == $y end;
		[$a[0] | paths(scalars)] as $p | ($p == [$b[0] | paths(scalars)]) and
		all($p[]; . as $k | near($a[0] | getpath($k); $b[0] | getpath($k)))' >/dev/null || { head -c 600 "$1" "$2"; return 1; }
}
sqlite_metrics() {
	report -f sqlite -o "$TMP/m.db" $DATA/mpi2_kernel.ncu-rep && report -f json $DATA/mpi2_kernel.ncu-rep >"$TMP/m.json"
	sqlite3 -json "$TMP/m.db" "SELECT region_id AS id, metric, value FROM region_metrics WHERE scope = 'aggregate' AND part = 'inclusive' AND typeof(value) = 'real'" |
		jq -c 'sort' >"$TMP/a"
	jq -c '[.aggregate.regions[] | .id as $id | .metrics | to_entries[] | select(.value != null) | {id: $id, metric: .key, value}] | sort' "$TMP/m.json" >"$TMP/b"
	same_json "$TMP/a" "$TMP/b"
}
sqlite_kernels() {
	[ "$(sqlite3 "$TMP/m.db" "SELECT k.name, k.calls, printf('%.6f', k.total_ms) FROM kernels k JOIN regions r ON r.id = k.region JOIN scopes s ON s.id = k.scope
		WHERE s.name = 'aggregate' AND r.region_id = 'A' ORDER BY k.id")" = \
		"$(jq -r '.aggregate.regions[] | select(.id == "A") | .kernels[] | "\(.kernel_name)|\(.calls)|\(.total_ms)"' "$TMP/m.json" |
			awk -F'|' '{printf "%s|%s|%.6f\n", $1, $2, $3}')" ]
}
sqlite_sound() {
	[ "$(sqlite3 "$TMP/m.db" "PRAGMA integrity_check; PRAGMA foreign_key_check; PRAGMA user_version; SELECT count(*) FROM launches; SELECT count(*) FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL")" = \
		"$(printf 'ok\n1\n58\n10')" ]
}
sqlite_entries() { # those of report.json, one by one
	local x=tests/data/kineto/h200_train.json.gz
	rm -f "$TMP/e.db"
	report -f sqlite -o "$TMP/e.db" $x && report -f json $x >"$TMP/e.json" &&
		sqlite3 "$TMP/e.db" "SELECT r.region_id || ' ' || count(*) || ' ' || round(sum(e.gpu_ms), 6) FROM entries e JOIN regions r ON r.id = e.region GROUP BY r.id" >"$TMP/e.sql" &&
		jq -r '.aggregate.regions[] | select(.entries) | "\(.id) \(.entries.count) \(((.entries.gpu_ms // [0]) | add * 1e6 | round) / 1e6 | if . == floor then "\(.).0" else . end)"' "$TMP/e.json" >"$TMP/e.txt" &&
		[ -s "$TMP/e.txt" ] && diff <(sort "$TMP/e.txt") <(sort "$TMP/e.sql")
}
sqlite_whole() { # no half-written database
	mkdir -p "$TMP/half" && echo "the old file" >"$TMP/half/x.db"
	fails 1 "No such file" report -f sqlite -o "$TMP/nosuch/x.db" $DATA/seed_kernel.ncu-rep || fails 1 "unable to open" report -f sqlite -o "$TMP/nosuch/x.db" $DATA/seed_kernel.ncu-rep || return
	report -f sqlite -o "$TMP/half/x.db" $DATA/seed_kernel.ncu-rep && [ "$(ls "$TMP/half")" = x.db ] && ! grep -q "the old file" "$TMP/half/x.db"
}

# --- SVG
svg_sound() {
	local c
	for c in $CAPTURES examples/h200_transformer; do
		report -f svg "$c.ncu-rep" >"$TMP/x.svg" && xmllint --noout "$TMP/x.svg" || return
	done
	report -f svg examples/h200_transformer.ncu-rep >"$TMP/x.svg" && grep -q 'FP32 66.9 TFLOP/s' "$TMP/x.svg" &&
		grep -q 'FP16 tensor 1.07 PFLOP/s' "$TMP/x.svg"
}
svg_inert() {
	! report -f svg $DATA/names_kernel.ncu-rep | grep -q '<script' &&
		report -f svg $DATA/names_kernel.ncu-rep | grep -q '&#60;script&#62;alert(1)&#60;/script&#62;'
}

# --- one page, one directory
page_small() { # the page without its data
	[ "$(cat src/export/html/* | wc -c)" -le 220000 ]
}
page_inert() { # nothing in the data ends its element
	report -f html $DATA/names_kernel.ncu-rep >"$TMP/x.html"
	[ "$(grep -o '<script' "$TMP/x.html" | wc -l)" = 2 ] && [ "$(grep -o '</script' "$TMP/x.html" | wc -l)" = 2 ]
}
page_data() { # the data is JSON, and says the same twice
	sed -n 's/.*id="data">\(.*\)<\/script>.*/\1/p' "$TMP/x.html" | jq -e '.reports[0].region | length == 17' &&
		report -f html $DATA/names_kernel.ncu-rep | cmp - "$TMP/x.html"
}
page_policy() { # the hashes are those of the script and the style
	local want
	want=$(cat src/export/html/style.css | openssl dgst -sha256 -binary | base64)
	grep -qF "style-src 'sha256-$want'" "$TMP/x.html" && grep -qF "default-src 'none'; script-src 'sha256-" "$TMP/x.html" &&
		! grep -q "unsafe-\|http://127" "$TMP/x.html"
}
through() { # a pipe is written to, what a link leads to is replaced
	local reader
	mkfifo "$TMP/fifo" || return
	timeout 600 cat "$TMP/fifo" >"$TMP/piped" &
	reader=$!
	report -f csv -o "$TMP/fifo" $DATA/seed_kernel.ncu-rep && [ -p "$TMP/fifo" ] || return
	echo old >"$TMP/behind" && ln -s behind "$TMP/link" && report -f csv -o "$TMP/link" $DATA/seed_kernel.ncu-rep &&
		[ -L "$TMP/link" ] && wait $reader && cmp "$TMP/behind" "$TMP/piped" && ! report -f sqlite -o "$TMP/fifo" $DATA/seed_kernel.ncu-rep && [ -p "$TMP/fifo" ]
}
ceilings_inside() { # of a region all of whose points lie far to the right
	! report -f svg examples/h200_transformer.ncu-rep --nvtx-include '[step/prefill/layer0/mlp' | grep -E '"-[0-9]'
}
directory() {
	rm -rf "$TMP/dir" && report -o "$TMP/dir" examples/h200_transformer.ncu-rep &&
		[ "$(cd "$TMP/dir" && ls -p | grep -v / | tr '\n' ' ')" = "icicle.svg report.html report.json report.md roofline.svg " ] &&
		grep -q '](icicle.svg)' "$TMP/dir/report.md" && grep -q '](roofline.svg)' "$TMP/dir/report.md" &&
		rm -rf "$TMP/dir" && report -o "$TMP/dir" $DATA/none_kernel.ncu-rep && [ "$(ls "$TMP/dir" | tr '\n' ' ')" = "report.html report.json report.md " ]
}

counted() { # two products of 256 x 1024 x 4096, and single-precision work that is far less
	report -f json examples/h200_transformer.ncu-rep | jq -e '[.aggregate.regions[] | select(.id | test("prefill/layer./mlp$"))] | length == 2 and
		all(.metrics["sm__ops_path_tensor_src_fp16.sum"] == 4 * 256 * 1024 * 4096 and .roofline.flop > 4294967296 and
			.roofline.flop < 4294967296 * 1.01 and (.roofline | has("quality") | not))'
}

uncounted() { # tensor operations that nobody counted: every format says so, and only where tensor cores worked
	local why='tensor operations were not counted: add' of=$TMP/uncounted.ncu-rep
	sed 's/sm__ops_path_tensor/sm__ops_path_others/g' examples/h200_transformer.ncu-rep >"$of"
	report -f json "$of" | jq -e --arg why "$why" '.aggregate.regions | any(.roofline.quality == "bound" and (.roofline.note | contains($why))) and
		any(.roofline.flop and (.roofline | has("quality") | not))' &&
		report -f md "$of" | grep -q "intensity: ≥ .* at ≥ .*$why" &&
		report -f svg "$of" | grep -q "≥ .* FLOP/B, ≥ .*$why" && report -f svg "$of" | grep -q '>dashed: at least this much' &&
		report -f html "$of" | grep -qF '"least":' && ! report -f html $DATA/seed_kernel.ncu-rep | grep -qF '"least":'
}

heads_differ() { # COMMAND…: of two sources that have DRAM's throughput by different names
	"$@" 2>"$TMP/e" | grep -o '"h": *"[^"]*"' | sort >"$TMP/heads" && [ "$(wc -l <"$TMP/heads")" -gt 4 ] && [ -z "$(uniq -d "$TMP/heads")" ]
}

# --- Chrome traces, of a program that really ran
trace_rules() {
	mkdir -p "$TMP/capture" && echo "output=$TMP/capture" >"$TMP/inject.conf"
	SONDE_INJECT_CONFIG=$TMP/inject.conf NVTX_INJECTION64_PATH=$PWD/$BUILD/libsonde_inject.so "$BUILD/workloads/resnet_cpu" 5 || return
	report -f perfetto "$TMP/capture" >"$TMP/trace.json" && jq -e '.traceEvents | length > 0 and
		all(.ph as $ph | (["X", "M", "b", "e", "i", "s", "f"] | index($ph)) and (.pid | type == "number") and (.tid | type == "number") and (.name | type == "string")) and
		all(.[] | select(.ph == "X"); .ts >= 0 and .dur >= 0) and
		([.[] | select(.ph == "b") | .id] | sort) == ([.[] | select(.ph == "e") | .id] | sort) and
		([.[] | select(.ph == "X" and .args.region == "step")] | length) == 5' "$TMP/trace.json"
}
trace_nests() { # complete events of one track lie inside each other or apart
	jq -r '.traceEvents[] | select(.ph == "X") | [.tid, (.ts * 1000 | round), ((.ts + .dur) * 1000 | round)] | @tsv' "$TMP/trace.json" |
		sort -k1,1n -k2,2n -k3,3nr | awk '$1 != t {n = 0; t = $1} {while (n && end[n] <= $2) n--; if (n && $3 > end[n]) bad = 1; end[++n] = $3} END {exit bad}'
}
trace_flows() { # each arrow leaves from inside a range of the calling thread and ends where a kernel starts; ranks have names
	report -f perfetto tests/data/kineto/dlrm_two_ranks.tar.gz >"$TMP/flows.json" && jq -e '.traceEvents as $all |
		[$all[] | select(.ph == "s")] as $s | [$all[] | select(.ph == "f")] as $f |
		($all | map(select(.ph == "X")) | group_by([.pid, .tid]) | map({key: "\(.[0].pid)/\(.[0].tid)", value: .}) | from_entries) as $on |
		($s | length) > 300 and ($s | map(.id)) == ($f | map(.id)) and ($s | map(.id) | unique | length) == ($s | length) and
		all(range($s | length); $s[.].ts <= $f[.].ts) and
		all($s[]; . as $e | any($on["\(.pid)/\(.tid)"][]; .cat == "nvtx" and .ts <= $e.ts and .ts + .dur >= $e.ts)) and
		all($f[]; . as $e | any($on["\(.pid)/\(.tid)"][]; .cat == "gpu" and .ts == $e.ts)) and
		all($all[] | select(.cat == "gpu"); .args | has("device") and has("stream")) and
		([$all[] | select(.name == "process_name") | .args.name] | unique) == ["rank 0 · python3", "rank 1 · python3"]' "$TMP/flows.json"
}
trace_packed() { # the same bytes, compressed: one gzip member
	report -f perfetto tests/data/kineto/dlrm_two_ranks.tar.gz -o "$TMP/flows.json.gz" && zcat "$TMP/flows.json.gz" | cmp - "$TMP/flows.json" &&
		python3 -c 'import sys, zlib; d = zlib.decompressobj(31); d.decompress(open(sys.argv[1], "rb").read()); assert d.eof and not d.unused_data' "$TMP/flows.json.gz"
}
hatchet_host() {
	report -f hatchet "$TMP/capture" | jq -e 'all(.. | objects | select(has("frame")) | .metrics;
		.time >= 0 and .["time (inc)"] >= .time and .["time (inc)"] == .["host (inc)"] and .["wall (inc)"] >= .["host (inc)"])' >/dev/null
}
trace_numbers() {
	report -f json "$TMP/capture" | jq -e --slurpfile t "$TMP/trace.json" '.aggregate.regions | all(. as $r | $r.kind == "start_end" or
		(([$t[0].traceEvents[] | select(.ph == "X" and .args.region == $r.id) | .dur] | add) / 1000 - $r.host_ms | fabs) < 1e-6)'
}

if need jq "speedscope, Hatchet and HTML data"; then
	ok "speedscope profiles keep the rules of its schema" speedscope_rules
	ok "speedscope has the times of report.json" speedscope_numbers
	ok "speedscope has kernels as the ends of its stacks" speedscope_kernels
	ok "hatchet literals are frame, metrics and children all the way down" hatchet_rules
	ok "hatchet has the times of report.json" hatchet_numbers
	ok "every root of hatchet has every metric" hatchet_roots
	if python3 -c 'import hatchet' 2>/dev/null; then
		ok "hatchet reads it" hatchet_reads
	else
		echo "skip hatchet reads it: Hatchet is not installed (pip install llnl-hatchet)"
	fi
	ok "folded stacks of a metric add up to its inclusive value" folded_sum
	ok "the data of the page is JSON and the same every time" eval 'page_inert && page_data'
fi
for c in examples/h200_train examples/h200_transformer.ncu-rep $DATA/deep_kernel.ncu-rep $DATA/mpi2_kernel.ncu-rep; do
	ok "pprof has the numbers of report.json: $(basename "$c")" pprof_numbers "$c"
done
ok "pprof has UTF-8 for labels of any bytes" pprof_utf8
if need go "pprof opens it" && need jq "pprof opens it"; then ok "pprof opens it" pprof_opens; fi
ok "folded stacks are frames and a number, whatever the labels" folded_rules
ok "folded stacks" golden seed_kernel.folded report -f folded $DATA/seed_kernel.ncu-rep
hostile_boxes() { # a child may weigh more than its parent, or more than there is
	python3 - "$DATA/seed_kernel.raw.csv" "$TMP/hostile.csv" <<-'P' && report -f svg --by launch__thread_count "$TMP/hostile.csv" >"$TMP/hostile.svg" && python3 - "$TMP/hostile.svg" <<-'Q'
		import csv, sys
		rows = list(csv.reader(open(sys.argv[1])))
		ranges, at = rows[0].index(next(h for h in rows[0] if "Push/Pop" in h)), rows[0].index("launch__thread_count")
		for r in rows[2:]:
		    if ":A::A1" in r[ranges]:
		        r[at] = "1e21"
		    elif ":A:" in r[ranges]:
		        r[at] = "-9.9999e20"
		csv.writer(open(sys.argv[2], "w"), quoting=csv.QUOTE_ALL).writerows(rows)
	P
		import re, sys
		boxes = [(float(x), float(w)) for x, w in re.findall(r'<rect x="([-+.\w]*)" y="[\d.]*" width="([-+.\w]*)"', open(sys.argv[1]).read())]
		print(boxes)
		assert len(boxes) > 2 and all(x >= 0 and w >= 0 and x + w <= 1000.01 for x, w in boxes)
	Q
}
ok "no box of the icicle is wider than its parent" hostile_boxes
ok "the icicle" golden seed_kernel.svg report -f svg $DATA/seed_kernel.ncu-rep
ok "speedscope" golden seed_kernel.speedscope.json report -f speedscope --no-aggregate $DATA/seed_kernel.ncu-rep
ok "folded by what does not add up is a usage error that says what does" fails 2 "dram__bytes_read.sum" \
	report -f folded --by sm__throughput.avg.pct_of_peak_sustained_elapsed $DATA/seed_kernel.ncu-rep
ok "folded by host times that no region has is a usage error that says what there is" fails 2 "time, launches, entries" \
	report -f folded --by host $DATA/seed_kernel.ncu-rep
ok "a format without widths refuses --by" fails 2 "--by is for -f svg, speedscope and folded" report --by launches $DATA/seed_kernel.ncu-rep
warns() { # TEXT COMMAND…: succeeds, with one line that says TEXT on standard error
	fails 0 "$@"
}
for f in folded hatchet pprof speedscope svg; do
	ok "$f without regions says why on standard error" warns "no NVTX range was open" report -f $f $DATA/none_kernel.ncu-rep
done
ok "folded stacks of no selected launch say why on standard error" warns "no launch matches the kernel selection" \
	report -f folded --kernel-include nosuch $DATA/seed_kernel.ncu-rep
ok "formats with regions say nothing on standard error" [ -z "$("$SONDE" report -f folded $DATA/seed_kernel.ncu-rep 2>&1 >/dev/null)" ]
ok "a trace without timestamps is a usage error" fails 2 "no timestamps" report -f perfetto $DATA/seed_kernel.ncu-rep
ok "a database needs a file" fails 2 "-o FILE" report -f sqlite $DATA/seed_kernel.ncu-rep
if need sqlite3 "SQLite databases" && need jq "SQLite databases"; then
	ok "sqlite reproduces the table of every scope" sqlite_table
	ok "sqlite has the metrics of report.json" sqlite_metrics
	ok "sqlite has the kernels of report.json" sqlite_kernels
	ok "sqlite has the entries of report.json" sqlite_entries
	ok "sqlite is sound, indexed and versioned" sqlite_sound
	ok "sqlite appears complete or not at all" sqlite_whole
fi
if need xmllint "SVG well-formedness"; then
	ok "svg is well-formed for every capture and knows the device's peaks" svg_sound
fi
ok "what is no file is written to, not replaced" through
ok "ceilings stay inside the roofline" ceilings_inside
ok "labels are inert in svg" svg_inert
ok "no two metrics have the same head in the page" heads_differ report -f html $DATA/seed_kernel.ncu-rep examples/h200_train
ok "no two metrics have the same head in a comparison" heads_differ "$SONDE" diff --force -f html $DATA/seed_kernel.ncu-rep examples/h200_train
ok "the page takes at most 220 kB before its data" page_small
ok "nothing in the data ends its element" page_inert
if need openssl "the policy's hashes"; then
	ok "the policy of the page names its own hashes" page_policy
fi
ok "a directory has the page and the charts, linked from report.md" directory
ok "a rate of operations has the factor that fits" \
	output_has 'DRAM traffic, at 99.9 TFLOP/s$' "$SONDE" report -f md examples/h200_transformer.ncu-rep
no_charts() { # what ncu draws as charts is no figure for people, unless asked for by name
	local x=examples/h200_transformer.ncu-rep only
	only=$(report -f md --metrics 'derived__pct_occupancy_per_*' $x | grep -c '^| derived__pct_occupancy_per_block_size')
	! report -f md --metrics all $x | grep -E 'derived__pct_occupancy_per_|derived_tempMetric' && [ "$only" -gt 0 ] &&
		report -f json --metrics all $x | grep -q derived_tempMetric0 &&
		report -f html --metrics all $x | sed -n 's/^<script type="application\/json" id="data">\(.*\)<\/script>$/\1/p' |
		jq -e '[.metrics[.region_columns[]].n | select(test("^derived_(_pct|temp)"))] == []'
}
need jq "charts' arrays" && ok "arrays for ncu's charts are in JSON, and for people only when asked for" no_charts
if need jq "a roofline without tensor operations"; then
	ok "tensor operations are those the model's sizes give" counted
	ok "a roofline without tensor operations is a lower bound in every format" uncounted
fi
if [ ! -e "$BUILD/libsonde_inject.so" ]; then
	echo "skip traces of a program: the NVTX headers were not found when building"
elif need jq "traces of a program"; then
	ok "a trace keeps Chrome's rules" trace_rules
	ok "complete events nest" trace_nests
	ok "a trace has the host times of report.json" trace_numbers
	ok "arrows lead from the host's call to the kernel" trace_flows
	ok "a trace as .json.gz is the same, compressed" trace_packed
	ok "hatchet has a time where no GPU was used" hatchet_host
fi
